/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Deadlines: requests that are answered with ETIMEDOUT when their time is over
 *
 * Threads: may be shared.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

struct deadlines;

/* Embedded in a request. */
struct deadline {
	struct deadlines *deadlines; /* NULL: none was set */
	fuse_req_t req;
	int64_t at;
	bool over; /* answered */
	struct deadline *newer, *older;
};

/* Starts the thread that watches.  Each request gets @duration microseconds. */
int deadlines_new(int64_t duration, void (*timed_out)(void *argument), void *argument,
		  struct deadlines **ret_deadlines, struct error *err);
/* No deadline may be set.  NULL is fine.  Always returns NULL. */
struct deadlines *deadlines_free(struct deadlines *deadlines);
DEFINE_CLEANUP(struct deadlines *, deadlines_free)

/* From now on @req is answered when the time is over.  @deadline stays where it is. */
void deadline_set(struct deadlines *deadlines, struct deadline *deadline, fuse_req_t req);
/* Takes the deadline back; false if it is over: the request was answered. */
bool deadline_claim(struct deadline *deadline);
