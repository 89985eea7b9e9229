/* SPDX-License-Identifier: Apache-2.0 */

/*
 * soak-read MOUNT PID CAP_MIB SECONDS
 *
 * Reads random chunks of a mount that the script soak has prepared, from several threads, and
 * watches the memory of process PID and its descendants.  Fails when a read fails, when a chunk
 * shows other bytes than before, or when anonymous memory passes the cap by more than 50 MiB.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"

enum {
	N_THREADS = 4,
	N_SMALL = 1000000, /* chunks of the array "many": 64 KiB of zeros each */
	SMALL_SIZE = 65536,
	SMALL_SIDE = 1000,
	N_FIELDS_MAX = 1000,
	FIELD_SIZE = 1059 * 1799 * 8,
	FIELD_OF = 200, /* one read in so many is a field */
	SLACK_MIB = 50,
	PIDS_MAX = 64,
};

struct soak {
	const char *mount;
	int n_fields;
	double end;
	atomic_ullong bytes, reads;
	atomic_bool failed;
	_Atomic uint64_t sums[N_FIELDS_MAX]; /* of each field, 0 before it was read */
};

struct reader {
	struct soak *soak;
	pthread_t thread;
	uint64_t random;
	struct error err;
	uint8_t *buffer; /* FIELD_SIZE bytes */
};

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* splitmix64: the same walk in every run. */
static uint64_t next_random(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

/* FNV-1a over 64-bit words: enough to notice a field that changed. */
static uint64_t sum_of(const uint8_t *bytes, size_t size)
{
	uint64_t sum = 0xcbf29ce484222325;

	for (size_t i = 0; i + 8 <= size; i += 8) {
		uint64_t word;

		memcpy(&word, bytes + i, 8);
		sum = (sum ^ word) * 0x100000001b3;
	}
	return sum ? sum : 1;
}

static int read_chunk(struct reader *reader, const char *path, size_t size)
{
	CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t got = 0;
	ssize_t n;

	if (fd < 0)
		return error_set_errno(&reader->err, errno, "cannot open '%s'", path);
	while (got < size && (n = read(fd, reader->buffer + got, size - got)) != 0) {
		if (n < 0)
			return error_set_errno(&reader->err, errno, "cannot read '%s'", path);
		got += (size_t)n;
	}
	if (got != size)
		return error_set(&reader->err, ERR_FORMAT, "'%s' has %zu bytes, not %zu", path, got,
				 size);
	atomic_fetch_add(&reader->soak->bytes, size);
	atomic_fetch_add(&reader->soak->reads, 1);
	return 0;
}

static int read_field(struct reader *reader)
{
	struct soak *soak = reader->soak;
	int which = (int)(next_random(&reader->random) % (uint64_t)soak->n_fields);
	uint64_t before = 0;
	char path[PATH_MAX];
	uint64_t sum;
	int r;

	snprintf(path, sizeof(path), "%s/field/c/%d/0/0", soak->mount, which);
	r = read_chunk(reader, path, FIELD_SIZE);
	if (r < 0)
		return r;
	sum = sum_of(reader->buffer, FIELD_SIZE);
	if (!atomic_compare_exchange_strong(&soak->sums[which], &before, sum) && before != sum)
		return error_set(&reader->err, ERR_FORMAT, "'%s' shows other bytes now", path);
	return 0;
}

static int read_small(struct reader *reader)
{
	static const uint8_t zeros[SMALL_SIZE];
	uint64_t which = next_random(&reader->random) % N_SMALL;
	char path[PATH_MAX];
	int r;

	snprintf(path, sizeof(path), "%s/many/c/%d/%d/0", reader->soak->mount,
		 (int)(which / SMALL_SIDE), (int)(which % SMALL_SIDE));
	r = read_chunk(reader, path, SMALL_SIZE);
	if (r < 0)
		return r;
	if (memcmp(reader->buffer, zeros, SMALL_SIZE) != 0)
		return error_set(&reader->err, ERR_FORMAT, "'%s' is not what was written", path);
	return 0;
}

static void *read_on(void *argument)
{
	struct reader *reader = argument;
	struct soak *soak = reader->soak;

	while (now() < soak->end && !atomic_load(&soak->failed)) {
		int r = next_random(&reader->random) % FIELD_OF == 0 ? read_field(reader)
								     : read_small(reader);

		if (r < 0)
			atomic_store(&soak->failed, true);
	}
	return NULL;
}

static long read_number(const char *path, const char *format)
{
	char line[256];
	long number = -1;
	FILE *file = fopen(path, "r");

	if (!file)
		return -1; /* the process has ended */
	while (number < 0 && fgets(line, sizeof(line), file))
		if (sscanf(line, format, &number) != 1)
			number = -1;
	fclose(file);
	return number;
}

/* The process and all that it has started, in @pids; returns their number. */
static int descendants(long pid, long *pids)
{
	DIR *folder = opendir("/proc");
	struct dirent *entry;
	int n = 0;

	pids[n++] = pid;
	/* A child has a higher number than its parent, but for a wrap that a minute does not see.
	 */
	while (folder && (entry = readdir(folder)) && n < PIDS_MAX) {
		long child = strtol(entry->d_name, NULL, 10);
		char path[64];
		long parent;

		if (child <= 0)
			continue;
		snprintf(path, sizeof(path), "/proc/%ld/stat", child);
		parent = read_number(path, "%*d (%*[^)]) %*c %ld");
		for (int i = 0; i < n; i++) {
			if (pids[i] == parent) {
				pids[n++] = child;
				break;
			}
		}
	}
	if (folder)
		closedir(folder);
	return n;
}

/* Anonymous and shared memory, MiB. */
static long memory_of(long pid)
{
	long pids[PIDS_MAX];
	int n = descendants(pid, pids);
	long total = 0;

	for (int i = 0; i < n; i++) {
		char path[64];
		long anonymous, shared;

		snprintf(path, sizeof(path), "/proc/%ld/status", pids[i]);
		anonymous = read_number(path, "RssAnon: %ld kB");
		shared = read_number(path, "RssShmem: %ld kB");
		total += (anonymous > 0 ? anonymous : 0) + (shared > 0 ? shared : 0);
	}
	return total / 1024;
}

static int count_fields(const char *mount, struct error *err)
{
	char path[PATH_MAX];
	int n = 0;

	do
		snprintf(path, sizeof(path), "%s/field/c/%d/0/0", mount, n);
	while (access(path, F_OK) == 0 && ++n < N_FIELDS_MAX);
	return n > 0 ? n : error_set(err, ERR_ABSENT, "there is no '%s'", path);
}

static void join(struct reader *readers, int n, struct error *err)
{
	for (int i = 0; i < n; i++) {
		pthread_join(readers[i].thread, NULL);
		free(readers[i].buffer);
		if (readers[i].err.kind && !err->kind)
			*err = readers[i].err;
	}
}

static int soak_run(struct soak *soak, long pid, long cap, struct error *err)
{
	struct reader readers[N_THREADS] = {0};
	long most = 0;
	int n;

	for (n = 0; n < N_THREADS; n++) {
		readers[n].soak = soak;
		readers[n].random = (uint64_t)n + 1;
		readers[n].buffer = malloc(FIELD_SIZE);
		if (!readers[n].buffer ||
		    pthread_create(&readers[n].thread, NULL, read_on, &readers[n]) != 0) {
			free(readers[n].buffer);
			error_memory(err);
			atomic_store(&soak->failed, true);
			break;
		}
	}
	while (now() < soak->end && !atomic_load(&soak->failed)) {
		struct timespec pause = {.tv_nsec = 200 * 1000 * 1000};
		long memory = memory_of(pid);

		most = memory > most ? memory : most;
		nanosleep(&pause, NULL);
	}
	join(readers, n, err);
	printf("%llu reads, %.1f GB, most memory %ld MiB of %ld + %d\n",
	       (unsigned long long)soak->reads, (double)soak->bytes / 1e9, most, cap, SLACK_MIB);
	if (err->kind)
		return err->kind;
	if (most > cap + SLACK_MIB)
		return error_set(err, ERR_MEMORY, "%ld MiB are more than the cap allows", most);
	return 0;
}

int main(int argc, char **argv)
{
	static struct soak soak;
	struct error err = ERROR_INIT;
	int n;

	if (argc != 5) {
		fprintf(stderr, "usage: soak-read MOUNT PID CAP_MIB SECONDS\n");
		return 2;
	}
	soak.mount = argv[1];
	n = count_fields(soak.mount, &err);
	if (n > 0) {
		soak.n_fields = n;
		soak.end = now() + strtod(argv[4], NULL);
		n = soak_run(&soak, strtol(argv[2], NULL, 10), strtol(argv[3], NULL, 10), &err);
	}
	if (n < 0) {
		fprintf(stderr, "soak-read: %s\n", err.text);
		return error_exit_status(err.kind);
	}
	return 0;
}
