/* SPDX-License-Identifier: Apache-2.0 */

/*
 * mount-times MOUNT MESSAGES TMPFS DISK
 *
 * Times a mount that the script bench-mount has prepared: the array "field" of HRRR's grid, whose
 * chunk K is the message in MESSAGES/K, and the arrays "many" and "some" of one folder with a
 * million and 100,000 chunks.  TMPFS and DISK hold the same files.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <eccodes.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "bench/bench.h"
#include "files.h"
#include "grib/grib.h"

enum {
	POINTS = 1059 * 1799,
	N_COLD = 12,
	N_MANY = 64, /* chunks after those, read at once */
	N_THREADS_MAX = 64,
	CALLS = 2000, /* of stat or open a repetition */
	MESSAGE_MAX = 64 << 20,
};

static double values[POINTS];

static int file_path(const char *folder, const char *name, char *path, struct error *err)
{
	int n = snprintf(path, PATH_MAX, "%s/%s", folder, name);

	if (n < 0 || n >= PATH_MAX)
		return error_set(err, ERR_ARGUMENT, "the name of '%s' is too long", folder);
	return 0;
}

/* Reads the whole file into @room, as cat would. */
static int read_into(const char *path, double *room, struct error *err)
{
	CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t size = 0;
	ssize_t n;

	if (fd < 0)
		return error_set_errno(err, errno, "cannot open '%s'", path);
	do {
		n = read(fd, (char *)room + size, sizeof(values) - size);
		if (n < 0)
			return error_set_errno(err, errno, "cannot read '%s'", path);
		size += (size_t)n;
	} while (n > 0);
	if (size != sizeof(values))
		return error_set(err, ERR_FORMAT, "'%s' has %zu bytes", path, size);
	return 0;
}

static int read_file(void *argument, struct error *err)
{
	return read_into(argument, values, err);
}

static int stat_often(void *argument, struct error *err)
{
	const char *path = argument;
	struct stat status;

	for (int i = 0; i < CALLS; i++)
		if (stat(path, &status) < 0)
			return error_set_errno(err, errno, "cannot stat '%s'", path);
	return 0;
}

static int open_often(void *argument, struct error *err)
{
	const char *path = argument;

	for (int i = 0; i < CALLS; i++) {
		int fd = open(path, O_RDONLY | O_CLOEXEC);

		if (fd < 0)
			return error_set_errno(err, errno, "cannot open '%s'", path);
		close(fd);
	}
	return 0;
}

static int list_folder(void *argument, struct error *err)
{
	const char *path = argument;
	DIR *folder = opendir(path);
	size_t n = 0;

	if (!folder)
		return error_set_errno(err, errno, "cannot open '%s'", path);
	errno = 0;
	while (readdir(folder))
		n++;
	if (errno)
		error_set_errno(err, errno, "cannot list '%s'", path);
	closedir(folder);
	if (err->kind)
		return err->kind;
	return n > 2 ? 0 : error_set(err, ERR_FORMAT, "'%s' is empty", path);
}

static int decode_message(const char *path, double *ret_seconds, struct error *err)
{
	CLEANUP(buf_done) struct buf message = BUF_INIT(MESSAGE_MAX);
	size_t n = POINTS;
	codes_handle *handle;
	double start;
	int code;
	int r;

	r = test_read_file(path, &message, err);
	if (r < 0)
		return r;
	start = bench_now();
	handle = codes_handle_new_from_message(NULL, message.data, message.size);
	code = handle ? codes_get_double_array(handle, "values", values, &n) : CODES_INVALID_GRIB;
	*ret_seconds = bench_now() - start;
	if (handle)
		codes_handle_delete(handle);
	return code ? error_set(err, ERR_FORMAT, "cannot decode '%s'", path) : 0;
}

/* Each chunk is cold once only, so that every repetition takes another one. */
static int measure_cold(const char *mount, const char *messages, struct error *err)
{
	double ours[N_COLD], floor[N_COLD];

	for (int i = -1; i < N_COLD; i++) {
		int at = i < 0 ? 0 : i; /* the first one starts caches, workers and ecCodes */
		char name[64], path[PATH_MAX];
		double start;
		int r;

		snprintf(name, sizeof(name), "%d", i + 1);
		r = file_path(messages, name, path, err);
		if (r < 0)
			return r;
		r = decode_message(path, &floor[at], err);
		if (r < 0)
			return r;
		snprintf(name, sizeof(name), "field/c/%d/0/0", i + 1);
		r = file_path(mount, name, path, err);
		if (r < 0)
			return r;
		start = bench_now();
		r = read_file(path, err);
		ours[at] = bench_now() - start;
		if (r < 0)
			return r;
	}
	bench_report("cold read, decoded", bench_median(ours, N_COLD), "ecCodes in process",
		     bench_median(floor, N_COLD), 1.15);
	return 0;
}

static int measure_warm(const char *mount, const char *tmpfs, const char *disk, struct error *err)
{
	static const char chunk[] = "field/c/1/0/0";
	char ours[PATH_MAX], memory[PATH_MAX], plain[PATH_MAX];
	const struct bench measures[] = {
		{"warm read", "tmpfs", read_file, read_file, ours, memory, 2, 25, 1, 1.05},
		{"stat", "disk", stat_often, stat_often, ours, plain, 2, 25, CALLS, 1.1},
		{"open and close", "disk", open_often, open_often, ours, plain, 2, 25, CALLS, 2},
	};
	int r;

	if ((r = file_path(mount, chunk, ours, err)) < 0 ||
	    (r = file_path(tmpfs, chunk, memory, err)) < 0 ||
	    (r = file_path(disk, chunk, plain, err)) < 0)
		return r;
	for (size_t i = 0; i < ARRAY_LEN(measures); i++) {
		r = bench_run(&measures[i], err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- 64 chunks on all cores ---- */

struct many {
	const char *folder;
	int (*take)(const char *folder, int number, double *room, struct error *err);
	atomic_int next;
};

struct taker {
	struct many *many;
	double *room;
	struct error err;
};

static int take_chunk(const char *mount, int number, double *room, struct error *err)
{
	char name[64], path[PATH_MAX];

	snprintf(name, sizeof(name), "field/c/%d/0/0", number);
	if (file_path(mount, name, path, err) < 0)
		return err->kind;
	return read_into(path, room, err);
}

/* The floor: the message read from a file and decoded where it is wanted. */
static int take_message(const char *messages, int number, double *room, struct error *err)
{
	CLEANUP(buf_done) struct buf message = BUF_INIT(MESSAGE_MAX);
	const struct grib_decode_options options = {.north_up = true};
	char name[64], path[PATH_MAX];
	int r;

	snprintf(name, sizeof(name), "%d", number);
	r = file_path(messages, name, path, err);
	if (r == 0)
		r = test_read_file(path, &message, err);
	return r < 0 ? r : grib_decode(buf_slice(&message), &options, room, POINTS, err);
}

static void *take_on(void *argument)
{
	struct taker *taker = argument;
	int i;

	while ((i = atomic_fetch_add(&taker->many->next, 1)) < N_MANY)
		if (taker->many->take(taker->many->folder, N_COLD + 2 + i, taker->room,
				      &taker->err) < 0)
			break;
	return NULL;
}

static int take_all(struct many *many, int n_threads, double *ret_seconds, struct error *err)
{
	struct taker takers[N_THREADS_MAX] = {0};
	pthread_t threads[N_THREADS_MAX];
	double start = bench_now();
	int n;

	for (n = 0; n < n_threads && !err->kind; n++) {
		takers[n].many = many;
		takers[n].room = malloc(sizeof(values));
		if (!takers[n].room ||
		    pthread_create(&threads[n], NULL, take_on, &takers[n]) != 0) {
			free(takers[n].room);
			error_memory(err);
			break;
		}
	}
	for (int i = 0; i < n; i++) {
		pthread_join(threads[i], NULL);
		free(takers[i].room);
		if (takers[i].err.kind && !err->kind)
			*err = takers[i].err;
	}
	*ret_seconds = bench_now() - start;
	return err->kind;
}

/* At most 1 / 0.9 of what the decoding alone takes. */
static int measure_cores(const char *mount, const char *messages, struct error *err)
{
	struct many ours = {.folder = mount, .take = take_chunk};
	struct many floor = {.folder = messages, .take = take_message};
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	int n_threads = cores < 1 ? 1 : cores > N_THREADS_MAX ? N_THREADS_MAX : (int)cores;
	double ours_seconds, floor_seconds;
	int r;

	r = take_all(&floor, n_threads, &floor_seconds, err);
	if (r == 0)
		r = take_all(&ours, n_threads, &ours_seconds, err);
	if (r == 0)
		bench_report("64 cold chunks, a thread a core", ours_seconds, "decoding in process",
			     floor_seconds, 1 / 0.9);
	return r;
}

/* ---- listing ---- */

/* As people list: ls asks for each file's status and attributes. */
static int list_long(void *argument, struct error *err)
{
	char command[PATH_MAX + 64];

	snprintf(command, sizeof(command), "ls -l '%s' >/dev/null", (const char *)argument);
	return system(command) == 0 ? 0 : error_set(err, ERR_FORMAT, "'%s' failed", command);
}

static int measure_listing(const char *mount, const char *tmpfs, const char *folder,
			   const char *names[2], bench_fn list, const double targets[2],
			   struct error *err)
{
	char ours[PATH_MAX], memory[PATH_MAX];
	struct bench bench = {names[0], "tmpfs", list, list, ours, memory, 0, 1, 1, targets[0]};
	int r;

	if ((r = file_path(mount, folder, ours, err)) < 0 ||
	    (r = file_path(tmpfs, folder, memory, err)) < 0)
		return r;
	r = bench_run(&bench, err);
	if (r < 0)
		return r;
	bench.name = names[1];
	bench.target = targets[1];
	bench.n = 7;
	return bench_run(&bench, err);
}

static int measure_listings(const char *mount, const char *tmpfs, struct error *err)
{
	int r;

	r = measure_listing(
		mount, tmpfs, "many/c",
		(const char *[2]){"list a folder of a million chunks, first", "list it again"},
		list_folder, (const double[2]){1.3, 0.3}, err);
	if (r < 0)
		return r;
	return measure_listing(mount, tmpfs, "some/c",
			       (const char *[2]){"ls -l of 100,000 chunks, first", "ls -l again"},
			       list_long, (const double[2]){1.5, 0.6}, err);
}

int main(int argc, char **argv)
{
	struct error err = ERROR_INIT;

	if (argc != 5) {
		fprintf(stderr, "usage: mount-times MOUNT MESSAGES TMPFS DISK\n");
		return 2;
	}
	if (measure_cold(argv[1], argv[2], &err) < 0 || measure_cores(argv[1], argv[2], &err) < 0 ||
	    measure_warm(argv[1], argv[3], argv[4], &err) < 0 ||
	    measure_listings(argv[1], argv[3], &err) < 0) {
		fprintf(stderr, "mount-times: %s\n", err.text);
		return error_exit_status(err.kind);
	}
	return 0;
}
