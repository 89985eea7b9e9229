/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The chunk changes of one array: a sorted vector
 *
 * Changes are fixed-size records of 40 bytes and 4 a dimension, in blocks that never move, so that
 * memory does not double while a set grows.  They are ordered by manifest window, then by index; of
 * several changes to one chunk the last one counts.  Changes that come in order cost nothing
 * to sort; others are sorted in place when the set is next read.
 *
 * Threads: one at a time.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "icechunk/id.h"

enum change_kind {
	CHANGE_DELETE,
	CHANGE_INLINE,	    /* text = bytes */
	CHANGE_NATIVE,	    /* chunk_id, length */
	CHANGE_VIRTUAL,	    /* text = location, offset, length, etag or last_modified */
	CHANGE_DROPPED = 7, /* withdrawn; goes at the next sort */
};

#define WINDOW_OUTSIDE UINT64_MAX /* of changes outside the array, which only the log tells */

struct change {
	uint64_t window; /* number of the manifest window */
	uint64_t offset, length;
	union {
		struct {
			uint32_t text, etag; /* numbers in the transaction's strings */
			uint32_t last_modified;
		};
		struct id12 chunk_id;
	};
	uint32_t order; /* kind in the low 3 bits, above it the order of arrival */
	uint32_t index[];
};

struct chunkset {
	uint32_t n_dims;
	size_t stride;
	uint8_t **blocks;
	size_t n_blocks, blocks_capacity;
	size_t first_capacity; /* records that the first block has room for; the others are whole */
	size_t n;
	uint32_t arrived;
	size_t *runs; /* where each sorted run begins; it ends where the next does, or at n_sorted
		       */
	size_t n_runs, runs_capacity;
	size_t n_sorted; /* what comes after is in order of arrival */
};

void chunkset_init(struct chunkset *set, uint32_t n_dims);
void chunkset_done(struct chunkset *set);

static inline enum change_kind change_kind(const struct change *change)
{
	return (enum change_kind)(change->order & 7);
}

/*
 * Adds a change of the chunk at @index in @window; the caller fills in the rest of the record,
 * which is lent until the set is next touched.  ERR_MEMORY.
 */
int chunkset_add(struct chunkset *set, uint64_t window, const uint32_t *index,
		 enum change_kind kind, struct change **ret_change, struct error *err);
/* Bytes of memory held. */
size_t chunkset_memory(const struct chunkset *set);
/* Forgets what was added since there were @n records; no lookup was made in between. */
void chunkset_truncate(struct chunkset *set, size_t n);
/* Looks for the change of one chunk; NULL if there is none (or it was dropped). */
int chunkset_find(struct chunkset *set, uint64_t window, const uint32_t *index,
		  struct change **ret_change, struct error *err);
/* Sorts everything into one run without duplicates.  Afterwards chunkset_at() is in order. */
int chunkset_settle(struct chunkset *set, struct error *err);
/* Record @i, below n. */
struct change *chunkset_at(const struct chunkset *set, size_t i);
/*
 * Calls @window_of for each change to number its window anew.  Negative: the chunk is no longer in
 * the array; what was there is gone for good, and the change only a trace for the log.
 */
int chunkset_renumber(struct chunkset *set,
		      int (*window_of)(void *argument, const uint32_t *index, uint64_t *ret_window),
		      void *argument, struct error *err);
