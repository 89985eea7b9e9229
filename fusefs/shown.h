/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the root of a mount shows, and since when
 *
 * A mount that follows a branch shows one snapshot after another, each an epoch, counted from 0.
 * For every file this tells in which epoch it began to be what it is now: a file that commits did
 * not touch keeps its epoch, and with it its inode, its pages and its time.
 *
 * Chunks of an array keep their epochs unless a transaction log names them; where the logs cannot
 * tell, or what the stored bytes mean has changed, all of the array's begin anew.
 *
 * Threads: constant once made, may be shared.
 */

#include "base/cleanup.h"
#include "reader/view.h"
#include "repo/touched.h"

struct shown;

/* Epoch 0.  Takes an owner of @view of its own. */
int shown_new(struct view *view, struct shown **ret_shown, struct error *err);
/*
 * The epoch after @before, showing @view.  @touched: what the commits between the two touched;
 * NULL if that is not known.
 */
int shown_next(const struct shown *before, struct view *view, const struct touched *touched,
	       struct shown **ret_shown, struct error *err);
struct shown *shown_ref(struct shown *shown);
struct shown *shown_free(struct shown *shown);
DEFINE_CLEANUP(struct shown *, shown_free)

struct view *shown_view(const struct shown *shown);
/* In which epoch the file began to be as it is. */
uint32_t shown_epoch(const struct shown *shown, const struct view_file *file);
/* When the snapshot of @epoch was written, microseconds; @epoch is not a later one. */
int64_t shown_since(const struct shown *shown, uint32_t epoch);
/*
 * Calls @each for the names in the root that this epoch changed, added or took away.
 */
void shown_changed_names(const struct shown *shown, const struct shown *before,
			 void (*each)(void *argument, const char *name), void *argument);
