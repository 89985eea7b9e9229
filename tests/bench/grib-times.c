/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Decoding beside eccodes in this process and gribberish in another, message by message
 *
 *   grib-times FOLDER [GRIBBERISH]
 *
 * FOLDER holds the real messages; GRIBBERISH lines "file number seconds" of the other library.
 * Ours and eccodes are run in turn; what counts is the median of the thread's processor time, which
 * other programs on the machine change little.  The last columns: how many times writing the output
 * once (a field of one value cannot be faster than that), float32 beside float64, how many times
 * one thread's rate two threads reach, and how many times they do when all they do is write.
 */

#include <eccodes.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "bench.h"
#include "files.h"
#include "grib/grib.h"

enum { WARM_UP = 2, REPEAT = 25 };

static const struct row {
	const char *name, *file;
	unsigned int message;
	double eccodes, gribberish; /* times faster at least; 0: no target */
} rows[] = {
	{"5.3 TMP", "hrrr.t06z.wrfsfcf01-TMP.grib2", 1, 3, 4},
	{"5.3 HPBL", "hrrr.t00z.wrfsfcf00-HPBL.grib2", 1, 3, 5},
	{"5.3 + bitmap SBT123", "hrrr.t00z.wrfprsf00-space.grib2", 1, 6, 4},
	{"5.3 missing NBM", "nbm-multilevel-tcdc.grib2", 1, 1.8, 4},
	{"5.0 10 bit", "hrrr.t06z.wrfsfcf01-UGRD.grib2", 1, 1.8, 15},
	{"5.0 11 bit", "hrrr.t06z.wrfsfcf01-missing-zeros.grib2", 1, 1.8, 15},
	{"constant", "hrrr.t06z.wrfsfcf01-CFRZR.grib2", 1, 2.5, 0},
	{"5.42 T500", "aifs-single-t500.grib2", 1, 1.12, 1.3},
	{"5.42 + bitmap wave", "aifs-single-wave.grib2", 4, 1.7, 1.6},
	{"5.42 + bitmap SWELL", "meteofrance.mfwam.arome-SWELL.grib2", 1, 2, 1.6},
	{"5.41 MRMS", "MRMS_MergedReflectivityQCComposite_00.50_20220704-110040.grib2", 1, 1.4, 1},
	{"5.40 gfswave", "gfswave.t18z.atlocn.0p16.f001.grib2", 1, 1.05, 0.95},
	{"GRIB1 ERA5", "era5-levels-members.grib", 1, 10, 1.3},
};

struct job {
	struct slice message;
	struct grib_decode_options options;
	void *values;
	size_t n;
};

static int ours(const struct job *job, struct error *err)
{
	return grib_decode(job->message, &job->options, job->values, job->n, err);
}

static int theirs(const struct job *job, struct error *err)
{
	codes_handle *handle =
		codes_handle_new_from_message(NULL, job->message.data, job->message.size);
	size_t n = job->n;
	int code;

	if (!handle)
		return error_set(err, ERR_FORMAT, "eccodes cannot read the message");
	codes_set_double(handle, "missingValue", NAN);
	code = codes_get_double_array(handle, "values", job->values, &n);
	codes_handle_delete(handle);
	return code ? error_set(err, ERR_FORMAT, "eccodes: %s", codes_get_error_message(code)) : 0;
}

struct wanted {
	unsigned int message;
	uint64_t offset, length;
};

static int find(void *context, const struct grib_entry *entry, struct error *err)
{
	struct wanted *wanted = context;

	(void)err;
	if (entry->message == wanted->message && entry->field == 1) {
		wanted->offset = entry->offset;
		wanted->length = entry->length;
	}
	return 0;
}

static double gribberish_seconds(const char *path, const struct row *row)
{
	FILE *file = path ? fopen(path, "r") : NULL;
	char name[256];
	unsigned int message;
	double seconds = 0, found = 0;

	while (file && fscanf(file, "%255s %u %lf", name, &message, &seconds) == 3)
		if (strcmp(name, row->file) == 0 && message == row->message)
			found = seconds;
	if (file)
		fclose(file);
	return found;
}

static double thread_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int timed(int (*run)(const struct job *job, struct error *err), const struct job *job,
		 double *ret_seconds, struct error *err)
{
	double begin = thread_now();
	int r = run(job, err);

	*ret_seconds = thread_now() - begin;
	return r;
}

/* The floor of all decoding: the output is written once. */
static int fill(const struct job *job, struct error *err)
{
	(void)err;
	memset(job->values, 1, job->n * sizeof(double));
	__asm__ volatile("" : : "r"(job->values) : "memory");
	return 0;
}

struct many {
	int (*run)(const struct job *job, struct error *err);
	struct job job;
};

static void *run_many(void *argument)
{
	struct many *many = argument;

	for (int i = 0; i < REPEAT; i++)
		if (many->run(&many->job, NULL) < 0)
			break;
	return NULL;
}

/*
 * How many times one thread's rate two threads reach, the best of three rounds: other programs can
 * only make it worse.  0 when there is no memory or thread for it.
 */
static double two_threads(int (*run)(const struct job *job, struct error *err),
			  const struct job *job)
{
	struct many first = {run, *job}, second = first;
	CLEANUP(freep) void *values = calloc(job->n, sizeof(double));
	double alone = INFINITY, both = INFINITY;

	second.job.values = values;
	if (!values || run(&second.job, NULL) < 0)
		return 0;
	for (int round = 0; round < 3; round++) {
		double begin = bench_now();
		pthread_t thread;

		run_many(&first);
		alone = fmin(alone, bench_now() - begin);
		begin = bench_now();
		if (pthread_create(&thread, NULL, run_many, &second) != 0)
			return 0;
		run_many(&first);
		pthread_join(thread, NULL);
		both = fmin(both, bench_now() - begin);
	}
	return 2 * alone / both;
}

static double floor_seconds(const struct job *job)
{
	double times[REPEAT];

	for (int i = 0; i < REPEAT; i++)
		timed(fill, job, &times[i], NULL);
	return bench_median(times, REPEAT);
}

static void print_ratio(double ratio, double target)
{
	if (ratio == 0)
		printf("%8s        ", "-");
	else if (target == 0)
		printf("%8.2f        ", ratio);
	else
		printf("%8.2f (%5.2f)%s", ratio, target, ratio < target ? "!" : " ");
}

static int measure(const struct row *row, struct job *job, const char *gribberish,
		   struct error *err)
{
	struct job narrow = *job;
	double mine[REPEAT], other[REPEAT], float32[REPEAT], median, theirs_median, gribberish_time;
	int r;

	narrow.options.type = GRIB_F32;
	for (int i = -WARM_UP; i < REPEAT; i++) {
		double a, b, c;

		r = timed(theirs, job, &b, err);
		if (r < 0)
			return r;
		r = timed(ours, &narrow, &c, err);
		if (r < 0)
			return r;
		r = timed(ours, job, &a, err);
		if (r < 0)
			return r;
		if (i >= 0) {
			mine[i] = a;
			other[i] = b;
			float32[i] = c;
		}
	}
	median = bench_median(mine, REPEAT);
	theirs_median = bench_median(other, REPEAT);
	gribberish_time = gribberish_seconds(gribberish, row);
	printf("%-20s %9.3f", row->name, median * 1e3);
	print_ratio(theirs_median / median, row->eccodes);
	print_ratio(gribberish_time / median, row->gribberish);
	printf("%8.1f %8.2f %8.2f %8.2f\n", median / floor_seconds(job),
	       bench_median(float32, REPEAT) / median, two_threads(ours, job),
	       two_threads(fill, job));
	return 0;
}

static int run_row(const char *folder, const struct row *row, const char *gribberish,
		   struct error *err)
{
	CLEANUP(buf_done) struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
	struct wanted wanted = {.message = row->message};
	CLEANUP(freep) void *values = NULL;
	struct grib_source source;
	struct slice whole;
	struct job job = {0};
	char path[4096];
	uint64_t n;
	int r;

	snprintf(path, sizeof(path), "%s/%s", folder, row->file);
	r = test_read_file(path, &bytes, err);
	if (r < 0)
		return r;
	whole = buf_slice(&bytes);
	source = grib_source_memory(&whole);
	r = grib_scan(&source, find, &wanted, err);
	if (r < 0)
		return r;
	job.message = slice_sub(whole, wanted.offset, wanted.length);
	r = grib_value_count(job.message, &job.options, &n, err);
	if (r < 0)
		return r;
	job.n = n;
	job.values = values = calloc(n, sizeof(double));
	if (!values)
		return error_memory(err);
	return measure(row, &job, gribberish, err);
}

int main(int argc, char **argv)
{
	struct error err = ERROR_INIT;

	if (argc < 2)
		return 2;
	printf("%-20s %9s %16s %16s %8s %8s %8s %8s\n", "", "ms", "x eccodes (min)", "x gribberish",
	       "x memset", "f32/f64", "threads", "(memset)");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (run_row(argv[1], &rows[i], argc > 2 ? argv[2] : NULL, &err) < 0) {
			fprintf(stderr, "%s: %s\n", rows[i].name, err.text);
			return 1;
		}
	return 0;
}
