/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Objects that references point at: is each there, and long enough?
 *
 * Threads: one at a time.
 */

#include "repo/source.h"

struct seen;

int seen_new(struct seen **ret_seen, struct error *err);
/* NULL is fine.  Always returns NULL. */
struct seen *seen_free(struct seen *seen);
DEFINE_CLEANUP(struct seen *, seen_free)

/* A reference needs bytes [@offset, @offset + @length) of the object at @location. */
int seen_add(struct seen *seen, const char *location, uint64_t offset, uint64_t length,
	     struct error *err);
/*
 * Asks for each object once, several at the same time, and then calls @say for what is wrong, in
 * the order in which the objects were added.  A host that does not answer, or sends everybody
 * away, a few times in a row is left alone: what it was not asked for is one finding.
 */
int seen_check(struct seen *seen, struct sources *sources,
	       void (*say)(void *argument, const char *what, const char *text), void *argument,
	       struct error *err);
