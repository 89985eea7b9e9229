/* SPDX-License-Identifier: Apache-2.0 */

/*
 * latency MOUNT LIMIT: how long stat, a listing, statfs and a status file take on a mount; fails
 * when the 99th of a hundred takes LIMIT microseconds or longer
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <time.h>
#include <unistd.h>

enum { N = 1000 };

static double now_us(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e6 + (double)time.tv_nsec * 1e-3;
}

/* A name that the kernel does not know yet: it has to ask. */
static int do_stat(void)
{
	static int n;
	char name[64];
	struct stat st;

	snprintf(name, sizeof(name), "grib/t/c/0/1/0/%d", ++n);
	errno = 0;
	return stat(name, &st) < 0 && errno == ENOENT ? 0 : -1;
}

static int do_list(void)
{
	DIR *folder = opendir("grib/t/c/0");

	if (!folder)
		return -1;
	while (readdir(folder))
		;
	return closedir(folder);
}

static int do_statfs(void)
{
	struct statfs st;

	return statfs(".", &st);
}

static int do_status(void)
{
	char text[16384];
	int fd = open(".refmt/stats", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));

	if (fd >= 0)
		close(fd);
	return n > 0 ? 0 : -1;
}

static const struct {
	const char *name;
	int (*run)(void);
} measures[] = {
	{"stat", do_stat},
	{"list", do_list},
	{"statfs", do_statfs},
	{"status", do_status},
};

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	static double times[N];
	int failed = 0;

	if (argc != 3 || chdir(argv[1]) < 0) {
		fprintf(stderr, "usage: latency MOUNT LIMIT\n");
		return 2;
	}
	for (size_t m = 0; m < sizeof(measures) / sizeof(measures[0]); m++) {
		for (int i = 0; i < N; i++) {
			double start = now_us();

			if (measures[m].run() < 0) {
				perror(measures[m].name);
				return 1;
			}
			times[i] = now_us() - start;
		}
		qsort(times, N, sizeof(times[0]), compare);
		printf("%s: median %.0f us, p99 %.0f us\n", measures[m].name, times[N / 2],
		       times[N * 99 / 100]);
		failed |= times[N * 99 / 100] >= strtod(argv[2], NULL);
	}
	return failed;
}
