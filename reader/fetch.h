/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Fetching ranges, neighbouring ones of one object as one request
 *
 * A fetch that comes while others are under way waits a moment for neighbours.  What then lies in
 * one object with gaps below the limit becomes one request; the threads that asked for the heads of
 * different requests send them side by side.  A merged request that fails is repeated range by
 * range, so that one bad reference does not fail its neighbours.
 *
 * Threads: may be shared.
 */

#include "store/store.h"

struct fetcher;

struct fetch_limits {
	uint64_t gap;	  /* most bytes between two ranges that are fetched together */
	uint64_t size;	  /* most bytes of a merged request */
	uint32_t wait_us; /* how long to wait for neighbours; 0 = not at all */
};

int fetcher_new(const struct fetch_limits *limits, struct fetcher **ret_fetcher, struct error *err);
struct fetcher *fetcher_free(struct fetcher *fetcher);
DEFINE_CLEANUP(struct fetcher *, fetcher_free)

/*
 * Appends exactly @length bytes from @offset on of object @key in @store to @out.  Returns 0,
 * STORE_ABSENT, or an error; ERR_CHANGED when @condition (may be NULL) fails.
 */
int fetcher_get(struct fetcher *fetcher, struct store *store, const char *key, uint64_t offset,
		uint64_t length, const struct store_condition *condition, struct buf *out,
		struct error *err);

struct fetch_counters {
	uint64_t requests, bytes;
};
struct fetch_counters fetcher_counters(const struct fetcher *fetcher);
