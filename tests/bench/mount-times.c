/* SPDX-License-Identifier: Apache-2.0 */

/*
 * mount-times MOUNT MESSAGES TMPFS DISK
 *
 * Times a mount that the script bench-mount has prepared: the array "field" of HRRR's grid, whose
 * chunk K is the message in MESSAGES/K, and the array "many" of one folder with many chunks.
 * TMPFS and DISK hold the same files.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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

enum {
	POINTS = 1059 * 1799,
	N_COLD = 12,
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

/* Reads the whole file at the path @argument, as cat would. */
static int read_file(void *argument, struct error *err)
{
	const char *path = argument;
	CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t size = 0;
	ssize_t n;

	if (fd < 0)
		return error_set_errno(err, errno, "cannot open '%s'", path);
	do {
		n = read(fd, (char *)values + size, sizeof(values) - size);
		if (n < 0)
			return error_set_errno(err, errno, "cannot read '%s'", path);
		size += (size_t)n;
	} while (n > 0);
	if (size != sizeof(values))
		return error_set(err, ERR_FORMAT, "'%s' has %zu bytes", path, size);
	return 0;
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
	CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t n = POINTS;
	codes_handle *handle;
	struct stat status;
	uint8_t *bytes;
	double start;
	int code;
	int r;

	if (fd < 0 || fstat(fd, &status) < 0)
		return error_set_errno(err, errno, "cannot open '%s'", path);
	r = buf_extend(&message, (size_t)status.st_size, &bytes, err);
	if (r < 0)
		return r;
	if (read(fd, bytes, message.size) != (ssize_t)message.size)
		return error_set_errno(err, errno, "cannot read '%s'", path);

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
		{"warm read", "tmpfs", read_file, read_file, ours, memory, 2, 25, 1, 1.1},
		{"stat", "disk", stat_often, stat_often, ours, plain, 2, 25, CALLS, 2},
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

static int measure_listing(const char *mount, const char *tmpfs, struct error *err)
{
	char ours[PATH_MAX], memory[PATH_MAX];
	const struct bench first = {"list a folder of 100,000 chunks, first",
				    "tmpfs",
				    list_folder,
				    list_folder,
				    ours,
				    memory,
				    0,
				    1,
				    1,
				    2};
	struct bench again = first;
	int r;

	if ((r = file_path(mount, "many/c", ours, err)) < 0 ||
	    (r = file_path(tmpfs, "many/c", memory, err)) < 0)
		return r;
	r = bench_run(&first, err);
	if (r < 0)
		return r;
	again.name = "list it again";
	again.n = 11;
	return bench_run(&again, err);
}

int main(int argc, char **argv)
{
	struct error err = ERROR_INIT;

	if (argc != 5) {
		fprintf(stderr, "usage: mount-times MOUNT MESSAGES TMPFS DISK\n");
		return 2;
	}
	if (measure_cold(argv[1], argv[2], &err) < 0 ||
	    measure_warm(argv[1], argv[3], argv[4], &err) < 0 ||
	    measure_listing(argv[1], argv[3], &err) < 0) {
		fprintf(stderr, "mount-times: %s\n", err.text);
		return error_exit_status(err.kind);
	}
	return 0;
}
