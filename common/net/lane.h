/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Lanes: what is known about one bucket's traffic
 *
 * Each bucket has its own concurrency, its own request rate once it has asked for fewer requests,
 * and its own measure of how long answers take.  One slow or throttling bucket never slows
 * another.
 *
 * Threads: any.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct lane;
struct waiter;

/* The lane called @name ("s3 bucket at host"); lives until the process ends.  NULL: ERR_MEMORY. */
struct lane *lane_get(const char *name, struct error *err);

/*
 * Waits for a turn to send one request.  ERR_TIMEOUT at @deadline (monotonic microseconds),
 * ERR_THROTTLED when the lane is held back beyond it, ERR_INTERRUPTED when cancelled.
 * Every turn ends with lane_leave().
 */
int lane_enter(struct lane *lane, int64_t deadline, struct error *err);
/* A second request beside one that has a turn: only if there is room now. */
bool lane_try_enter(struct lane *lane);

enum lane_result {
	LANE_GOOD,	/* a right answer */
	LANE_BAD,	/* a wrong one or none */
	LANE_THROTTLED, /* the other side asks for fewer requests */
};
void lane_leave(struct lane *lane, enum lane_result result);

/* Nobody sends before @pause_us from now. */
void lane_pause(struct lane *lane, int64_t pause_us);

/* An answer of about @size bytes took @elapsed_us; also what was given up after that time. */
void lane_measure(struct lane *lane, uint64_t size, int64_t elapsed_us);
/* After how long an answer of about @size bytes is overdue: the 99th percentile. */
int64_t lane_overdue(struct lane *lane, uint64_t size);
/* May a second request be sent?  At most one in twenty requests, so that trouble is not doubled. */
bool lane_take_hedge(struct lane *lane);

struct lane_counts {
	uint64_t requests, good, bad, throttled, hedges;
	uint32_t in_flight, limit; /* requests at once: now, at most */
	double rate_limit;	   /* requests a second, 0 = not limited */
};
struct lane_counts lane_counts(struct lane *lane);
