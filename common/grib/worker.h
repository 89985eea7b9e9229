/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Decoding in worker processes, for programs that must outlive what eccodes does
 *
 * A small process, started early, forks a worker when the first message needs eccodes.  Workers
 * get messages and give values through shared memory, have no sockets, may start no program,
 * open files for reading only, and are limited in memory and time.  A crash, a hang or a worker out
 * of memory is the error of that one message; the next one gets a new worker.  Messages with a
 * direct decoder are decoded in the calling thread.
 *
 * Threads: grib_workers_decode() from any number of them; one waits when all workers are busy.
 */

#include "base/cleanup.h"
#include "grib/grib.h"

struct grib_workers;

struct grib_worker_options {
	unsigned int n;	     /* workers at most; 0: 1 */
	int64_t time_limit;  /* of one decode, microseconds; 0: 30 seconds */
	uint64_t memory_max; /* of a worker, message and values included; 0: 4 GiB */
	/* For tests: called in the worker before each decode; NULL otherwise. */
	void (*before)(struct slice message);
};

/*
 * Starts the process that will fork workers.  Call before threads start and after the program
 * went to the background: what is forked is a copy of the caller.  It ends with the caller.
 */
int grib_workers_start(const struct grib_worker_options *options, struct grib_workers **ret_workers,
		       struct error *err);

/* Ends all workers; no decode may be under way.  NULL is fine.  Always returns NULL. */
struct grib_workers *grib_workers_free(struct grib_workers *workers);
DEFINE_CLEANUP(struct grib_workers *, grib_workers_free)

/*
 * As grib_decode(), with eccodes in a worker.  @deadline is on the monotonic clock of base/time.h,
 * waiting for a worker included; 0: none but the time limit.  More errors: ERR_TIMEOUT, ERR_FORMAT
 * when the worker ended over this message.
 */
int grib_workers_decode(struct grib_workers *workers, struct slice message,
			const struct grib_decode_options *options, int64_t deadline, void *out,
			size_t n, struct error *err);

struct grib_worker_counts {
	uint64_t started; /* workers */
	uint64_t crashed;
	uint64_t timed_out;
	uint64_t decoded; /* messages that a worker answered, errors too */
};

struct grib_worker_counts grib_workers_counts(struct grib_workers *workers);
