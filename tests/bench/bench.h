/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Benchmarks: each measure stands beside its floor, the least that the same work can cost on this
 * machine, measured in the same run
 *
 * Ours and the floor are run in turn, so that a slow moment of the machine hits both; what counts
 * is the median.  One line a measure:
 *
 *   warm read: 1.62 ms, tmpfs 1.58 ms, 1.03 x (target 1.10)
 */

#include "base/error.h"

/* One repetition of what is timed; negative fails the benchmark. */
typedef int (*bench_fn)(void *argument, struct error *err);

struct bench {
	const char *name;
	const char *floor_name;
	bench_fn ours, floor;
	void *ours_argument, *floor_argument;
	unsigned int warm_up; /* repetitions that do not count */
	unsigned int n;	      /* repetitions that count, at most BENCH_REPETITIONS_MAX */
	double per;	      /* a repetition does the work this many times; 0 is 1 */
	double target;	      /* ours at most this many times the floor; 0: no target */
};

enum { BENCH_REPETITIONS_MAX = 1000 };

/* Runs the measure and prints its line to standard output. */
int bench_run(const struct bench *bench, struct error *err);

/* Prints a line for times measured otherwise, in seconds. */
void bench_report(const char *name, double ours, const char *floor_name, double floor,
		  double target);

/* Seconds on a clock that only goes forward. */
double bench_now(void);
/* Sorts @times and returns the one in the middle. */
double bench_median(double *times, unsigned int n);
