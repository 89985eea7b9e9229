/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A budget of memory for contents and the buffers that they are made in
 *
 * Internal to the reader.  Shared by counting owners, because contents may outlive the reader.
 * Threads: may be shared.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct memory;

int memory_new(uint64_t max, struct memory **ret_memory, struct error *err);
struct memory *memory_ref(struct memory *memory);
/* One owner less; NULL is fine.  Always returns NULL. */
struct memory *memory_free(struct memory *memory);
/*
 * Takes @bytes if they are left; whoever needs more than there is at all gets them when nobody else
 * has any.  False if not.
 */
bool memory_take(struct memory *memory, uint64_t bytes);
/* Waits until somebody gives back, or @deadline (time_monotonic()) has passed: then false. */
bool memory_wait(struct memory *memory, uint64_t bytes, int64_t deadline);
void memory_give(struct memory *memory, uint64_t bytes);
uint64_t memory_used(struct memory *memory);
