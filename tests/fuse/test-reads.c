/* SPDX-License-Identifier: Apache-2.0 */

/*
 * test-reads FILE PLAIN BROKEN: reads FILE of a mount in ways that scripts cannot; PLAIN has the
 * same bytes, reading BROKEN fails.
 */

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *file, *plain, *broken;
static uint8_t *want;
static size_t want_size;

static _Noreturn void fail(const char *what)
{
	fprintf(stderr, "FAILED: %s\n", what);
	exit(1);
}

static void check(int ok, const char *what)
{
	if (!ok)
		fail(what);
}

static void load_plain(void)
{
	struct stat st;
	int fd = open(plain, O_RDONLY | O_CLOEXEC);

	check(fd >= 0 && fstat(fd, &st) == 0, "plain file");
	want_size = (size_t)st.st_size;
	want = malloc(want_size);
	check(want && read(fd, want, want_size) == (ssize_t)want_size, "plain bytes");
	close(fd);
}

static void test_pread(void)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	uint8_t bytes[64];

	check(fd >= 0, "open");
	for (size_t at = 0; at < want_size; at += 13) {
		size_t n = want_size - at < sizeof(bytes) ? want_size - at : sizeof(bytes);

		check(pread(fd, bytes, sizeof(bytes), (off_t)at) == (ssize_t)n, "pread");
		check(memcmp(bytes, want + at, n) == 0, "bytes of pread");
	}
	check(pread(fd, bytes, 1, (off_t)want_size) == 0, "pread at the end");
	check(pread(fd, bytes, 1, INT64_MAX - 4096) == 0, "pread far beyond the end");
	close(fd);
}

static void test_mmap(void)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	uint8_t *bytes = mmap(NULL, want_size, PROT_READ, MAP_SHARED, fd, 0);

	check(bytes != MAP_FAILED, "mmap");
	check(memcmp(bytes, want, want_size) == 0, "bytes of mmap");
	munmap(bytes, want_size);
	close(fd);
}

static void test_direct(void)
{
	int fd = open(file, O_RDONLY | O_DIRECT | O_CLOEXEC);
	void *bytes;
	ssize_t n;

	check(fd >= 0, "open with O_DIRECT");
	check(posix_memalign(&bytes, 4096, 1 << 20) == 0, "memory");
	n = read(fd, bytes, 1 << 20);
	check(n == (ssize_t)want_size && memcmp(bytes, want, want_size) == 0, "bytes of O_DIRECT");
	free(bytes);
	close(fd);
}

static sigjmp_buf after_fault;

static void on_fault(int number)
{
	(void)number;
	siglongjmp(after_fault, 1);
}

/* A page that cannot be read is SIGBUS, never zeros. */
static void test_mmap_of_broken(void)
{
	const struct sigaction action = {.sa_handler = on_fault};
	int fd = open(broken, O_RDONLY | O_CLOEXEC);
	const volatile uint8_t *bytes;

	check(fd >= 0, "open of a broken file");
	bytes = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	check(bytes != MAP_FAILED, "mmap of a broken file");
	sigaction(SIGBUS, &action, NULL);
	if (sigsetjmp(after_fault, 1) == 0) {
		fprintf(stderr, "read %d\n", bytes[0]);
		fail("no SIGBUS");
	}
	munmap((void *)(uintptr_t)bytes, 4096);
	close(fd);
}

static void test_read_of_broken(void)
{
	int fd = open(broken, O_RDONLY | O_CLOEXEC);
	uint8_t bytes[16];

	errno = 0;
	check(read(fd, bytes, sizeof(bytes)) == -1 && errno == EIO, "EIO");
	errno = 0;
	check(pread(fd, bytes, 1, 8) == -1 && errno == EIO, "EIO in the middle");
	close(fd);
}

int main(int argc, char **argv)
{
	check(argc == 4, "usage: test-reads FILE PLAIN BROKEN");
	file = argv[1];
	plain = argv[2];
	broken = argv[3];
	load_plain();
	test_pread();
	test_mmap();
	test_direct();
	test_read_of_broken();
	test_mmap_of_broken();
	free(want);
	return 0;
}
