/* SPDX-License-Identifier: Apache-2.0 */
#include "fusefs/heap.h"

#include <fcntl.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Bytes answered between two looks; a look costs some ten microseconds. */
enum { STEP = 16 << 20 };

/* Bytes of memory that are no file's and shared with nobody; 0 if the kernel does not say. */
static uint64_t own_memory(void)
{
	CLEANUP(closep) int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	unsigned long long resident, shared;
	char text[128];
	ssize_t n;

	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	if (sscanf(text, "%*u %llu %llu", &resident, &shared) != 2 || shared > resident)
		return 0;
	return (resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE);
}

void heap_settle(uint64_t before, uint64_t after, uint64_t limit)
{
	static atomic_flag busy = ATOMIC_FLAG_INIT;

	if (before / STEP == after / STEP || own_memory() <= limit ||
	    atomic_flag_test_and_set(&busy))
		return;
	malloc_trim(0);
	atomic_flag_clear(&busy);
}
