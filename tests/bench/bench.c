/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

double bench_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int compare_times(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

double bench_median(double *times, unsigned int n)
{
	qsort(times, n, sizeof(*times), compare_times);
	return n % 2 ? times[n / 2] : (times[n / 2 - 1] + times[n / 2]) / 2;
}

static int time_once(bench_fn function, void *argument, double *ret_seconds, struct error *err)
{
	double start = bench_now();
	int r = function(argument, err);

	*ret_seconds = bench_now() - start;
	return r;
}

static const char *format_seconds(double seconds, char *text, size_t size)
{
	if (seconds >= 1)
		snprintf(text, size, "%.3g s", seconds);
	else if (seconds >= 1e-3)
		snprintf(text, size, "%.3g ms", seconds * 1e3);
	else
		snprintf(text, size, "%.3g us", seconds * 1e6);
	return text;
}

void bench_report(const char *name, double ours, const char *floor_name, double floor,
		  double target)
{
	char ours_text[32], floor_text[32];
	double ratio = ours / floor;

	printf("%s: %s, %s %s, %.2f x", name, format_seconds(ours, ours_text, sizeof(ours_text)),
	       floor_name, format_seconds(floor, floor_text, sizeof(floor_text)), ratio);
	if (target > 0)
		printf(" (target %.2f%s)", target, ratio > target ? ", missed" : "");
	printf("\n");
	fflush(stdout);
}

int bench_run(const struct bench *bench, struct error *err)
{
	double ours[BENCH_REPETITIONS_MAX], floor[BENCH_REPETITIONS_MAX];
	double per = bench->per > 0 ? bench->per : 1;

	if (bench->n < 1 || bench->n > BENCH_REPETITIONS_MAX)
		return error_set(err, ERR_ARGUMENT, "%u repetitions", bench->n);
	for (unsigned int i = 0; i < bench->warm_up + bench->n; i++) {
		unsigned int at = i < bench->warm_up ? 0 : i - bench->warm_up;
		int r = time_once(bench->floor, bench->floor_argument, &floor[at], err);

		if (r < 0)
			return r;
		r = time_once(bench->ours, bench->ours_argument, &ours[at], err);
		if (r < 0)
			return r;
	}
	bench_report(bench->name, bench_median(ours, bench->n) / per, bench->floor_name,
		     bench_median(floor, bench->n) / per, bench->target);
	return 0;
}
