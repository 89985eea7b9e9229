/* SPDX-License-Identifier: Apache-2.0 */
#include "fusefs/confine.h"

#include <errno.h>
#include <seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>

#include "base/cleanup.h"

/*
 * A list of what is refused, not of what is allowed: what curl, TLS libraries, resolvers and their
 * plugins call differs from system to system, and a refusal there would look like a dead network.
 */
static const int refused[] = {
	SCMP_SYS(acct),
	SCMP_SYS(add_key),
	SCMP_SYS(bpf),
	SCMP_SYS(chroot),
	SCMP_SYS(clock_adjtime),
	SCMP_SYS(clock_settime),
	SCMP_SYS(delete_module),
	SCMP_SYS(finit_module),
	SCMP_SYS(fsmount),
	SCMP_SYS(fsopen),
	SCMP_SYS(init_module),
	SCMP_SYS(ioperm),
	SCMP_SYS(iopl),
	SCMP_SYS(kexec_file_load),
	SCMP_SYS(kexec_load),
	SCMP_SYS(keyctl),
	SCMP_SYS(mknod),
	SCMP_SYS(mknodat),
	SCMP_SYS(mount),
	SCMP_SYS(mount_setattr),
	SCMP_SYS(move_mount),
	SCMP_SYS(name_to_handle_at),
	SCMP_SYS(open_by_handle_at),
	SCMP_SYS(open_tree),
	SCMP_SYS(perf_event_open),
	SCMP_SYS(pidfd_getfd),
	SCMP_SYS(pivot_root),
	SCMP_SYS(process_vm_readv),
	SCMP_SYS(process_vm_writev),
	SCMP_SYS(quotactl),
	SCMP_SYS(reboot),
	SCMP_SYS(request_key),
	SCMP_SYS(setgid),
	SCMP_SYS(setgroups),
	SCMP_SYS(sethostname),
	SCMP_SYS(setns),
	SCMP_SYS(setregid),
	SCMP_SYS(setresgid),
	SCMP_SYS(setresuid),
	SCMP_SYS(setreuid),
	SCMP_SYS(settimeofday),
	SCMP_SYS(setuid),
	SCMP_SYS(swapoff),
	SCMP_SYS(swapon),
	SCMP_SYS(umount2),
	SCMP_SYS(unshare),
	SCMP_SYS(userfaultfd),
};

static const int programs[] = {SCMP_SYS(execve), SCMP_SYS(execveat)};

static void filter_freep(scmp_filter_ctx *filter)
{
	if (*filter)
		seccomp_release(*filter);
}

static int refuse(scmp_filter_ctx filter, const int *calls, size_t n)
{
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++)
		r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), calls[i], 0);
	return r;
}

int confine(bool may_start_programs, struct error *err)
{
	CLEANUP(filter_freep) scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	int r;

	if (!filter)
		return error_memory(err);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return error_set_errno(err, errno, "cannot give up gaining privileges");
	r = refuse(filter, refused, ARRAY_LEN(refused));
	/* The sanitizers' leak check looks at its process with ptrace. */
#if !defined(__SANITIZE_ADDRESS__)
	if (r == 0)
		r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ptrace), 0);
#endif
	if (r == 0 && !may_start_programs)
		r = refuse(filter, programs, ARRAY_LEN(programs));
	if (r == 0)
		r = seccomp_load(filter);
	if (r < 0)
		return error_set_errno(err, -r, "cannot set the system call filter");
	return 0;
}
