/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Thread pool
 *
 * A fixed number of threads take work in the order it came.  Threads: any may add work, work too.
 */

#include <pthread.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/error.h"

struct pool;

/* pthread_create() of a thread that leaves SIGTERM, SIGINT and their kind to the others.
 * ERR_MEMORY. */
int thread_start(pthread_t *ret_thread, void *(*run)(void *argument), void *argument,
		 struct error *err);

/* Starts @n threads (at least 1). */
int pool_new(size_t n, struct pool **ret_pool, struct error *err);
/* Ends after all queued work is done; NULL is fine.  Always returns NULL. */
struct pool *pool_free(struct pool *pool);
DEFINE_CLEANUP(struct pool *, pool_free)
/* Queues @work(@argument). */
int pool_add(struct pool *pool, void (*work)(void *argument), void *argument, struct error *err);
/*
 * Calls @work(@argument, i) for i in [0, @n) on at most @threads threads, the caller's among them,
 * and waits.  A failure stops what has not begun; of several, that of the lowest @i is returned.
 * Threads that cannot be started are done without.
 */
int parallel_for(size_t threads, size_t n, int (*work)(void *argument, size_t i, struct error *err),
		 void *argument, struct error *err);
