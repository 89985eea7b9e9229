/* SPDX-License-Identifier: Apache-2.0 */
#include "grib/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/landlock.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Sanitizers reserve terabytes of addresses. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_SHADOW_MEMORY 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_SHADOW_MEMORY 1
#endif
#endif

enum { FILES_MAX = 64 };

/* Bytes of addresses in use. */
static uint64_t address_space(void)
{
	unsigned long pages = 0;
	FILE *file = fopen("/proc/self/statm", "re");

	if (!file)
		return 0;
	if (fscanf(file, "%lu", &pages) != 1)
		pages = 0;
	fclose(file);
	return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static int limit(int resource, uint64_t value)
{
	struct rlimit limit = {.rlim_cur = value, .rlim_max = value};

	return setrlimit(resource, &limit);
}

static int set_limits(uint64_t memory_max)
{
	uint64_t most;

	if (limit(RLIMIT_CORE, 0) < 0 || limit(RLIMIT_FSIZE, 0) < 0 ||
	    limit(RLIMIT_NOFILE, FILES_MAX) < 0)
		return -1;
#ifdef HAS_SHADOW_MEMORY
	(void)most;
	(void)memory_max;
	(void)address_space;
	return 0;
#else
	if (__builtin_add_overflow(address_space(), memory_max, &most))
		return -1;
	return limit(RLIMIT_AS, most);
#endif
}

/* What eccodes, its libraries, the allocator and an abort need. */
static const int allowed[] = {
	SCMP_SYS(access),
	SCMP_SYS(brk),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(clock_nanosleep),
	SCMP_SYS(close),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
	SCMP_SYS(faccessat),
	SCMP_SYS(faccessat2),
	SCMP_SYS(fcntl),
	SCMP_SYS(fstat),
	SCMP_SYS(futex),
	SCMP_SYS(getcwd),
	SCMP_SYS(getpid),
	SCMP_SYS(getrandom),
	SCMP_SYS(gettid),
	SCMP_SYS(gettimeofday),
	SCMP_SYS(lseek),
	SCMP_SYS(lstat),
	SCMP_SYS(madvise),
	SCMP_SYS(mremap),
	SCMP_SYS(munmap),
	SCMP_SYS(nanosleep),
	SCMP_SYS(newfstatat),
	SCMP_SYS(pread64),
	SCMP_SYS(read),
	SCMP_SYS(readlink),
	SCMP_SYS(readv),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(sched_getaffinity),
	SCMP_SYS(sched_yield),
	SCMP_SYS(sigaltstack),
	SCMP_SYS(stat),
	SCMP_SYS(statx),
	SCMP_SYS(sysinfo),
	SCMP_SYS(tgkill),
	SCMP_SYS(time),
	SCMP_SYS(uname),
	SCMP_SYS(write),
	SCMP_SYS(writev),
};

static void filter_freep(scmp_filter_ctx *filter)
{
	if (*filter)
		seccomp_release(*filter);
}

/* Opening for reading, and memory that holds no code. */
static int allow_with_limits(scmp_filter_ctx filter)
{
	const scmp_datum_t writing = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND;

	if (seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1,
			     SCMP_A2(SCMP_CMP_MASKED_EQ, writing, 0)) < 0 ||
	    seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(open), 1,
			     SCMP_A1(SCMP_CMP_MASKED_EQ, writing, 0)) < 0 ||
	    seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1,
			     SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0)) < 0 ||
	    seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1,
			     SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0)) < 0)
		return -1;
	return 0;
}

static int allow_reading_below(int rules, const char *folder, size_t length)
{
	struct landlock_path_beneath_attr rule = {.allowed_access = LANDLOCK_ACCESS_FS_READ_FILE |
								    LANDLOCK_ACCESS_FS_READ_DIR};
	CLEANUP(closep) int fd = -1;
	char path[PATH_MAX];

	if (length >= sizeof(path))
		return -1;
	memcpy(path, folder, length);
	path[length] = '\0';
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	/* What is not there need not be read. */
	if (fd < 0)
		return 0;
	rule.parent_fd = fd;
	return (int)syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
}

/* Leaves of all files those below @folders readable, where the kernel has Landlock. */
static int restrict_files(const char *folders)
{
	struct landlock_ruleset_attr every = {
		/* What its first version knows. */
		.handled_access_fs = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1,
	};
	CLEANUP(closep)
	int rules = (int)syscall(SYS_landlock_create_ruleset, &every, sizeof(every), 0);

	if (rules < 0)
		return 0;
	for (const char *p = folders; *p; p += *p == ':') {
		size_t length = strcspn(p, ":");

		if (allow_reading_below(rules, p, length) < 0)
			return -1;
		p += length;
	}
	return (int)syscall(SYS_landlock_restrict_self, rules, 0);
}

int grib_sandbox_enter(uint64_t memory_max, const char *folders)
{
	CLEANUP(filter_freep) scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));

	if (!filter || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(allowed); i++)
		/* A call that this architecture does not have needs no rule. */
		if (seccomp_rule_add(filter, SCMP_ACT_ALLOW, allowed[i], 0) < 0 && allowed[i] >= 0)
			return -1;
	if (allow_with_limits(filter) < 0 || set_limits(memory_max) < 0 ||
	    restrict_files(folders) < 0)
		return -1;
	return seccomp_load(filter) < 0 ? -1 : 0;
}
