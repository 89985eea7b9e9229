/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Thread pool
 *
 * A fixed number of threads take work in the order it came.  Threads: any may add work.
 */

#include <stddef.h>

#include "base/cleanup.h"
#include "base/error.h"

struct pool;

/* Starts @n threads (at least 1). */
int pool_new(size_t n, struct pool **ret_pool, struct error *err);
/* Ends after all queued work is done; NULL is fine.  Always returns NULL. */
struct pool *pool_free(struct pool *pool);
DEFINE_CLEANUP(struct pool *, pool_free)
/* Queues @work(@argument). */
int pool_add(struct pool *pool, void (*work)(void *argument), void *argument, struct error *err);
/*
 * Calls @work(@argument, i) for i in [0, @n) on at most @threads threads, the caller's among them,
 * and waits.  The first failure stops what has not begun and is returned.
 */
int parallel_for(size_t threads, size_t n, int (*work)(void *argument, size_t i, struct error *err),
		 void *argument, struct error *err);
