/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Arena: many small allocations that are freed together
 *
 * Threads: one at a time.
 */

#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"

struct arena_block;

struct arena {
	struct arena_block *head;
	size_t used;  /* of the head block */
	size_t total; /* bytes taken from the system */
};

#define ARENA_INIT ((struct arena){0})

/* Frees everything; for CLEANUP(arena_done). */
void arena_done(struct arena *arena);
/* @size bytes aligned for any type, or NULL with ERR_MEMORY.  They live until arena_done(). */
void *arena_alloc(struct arena *arena, size_t size, struct error *err);
/* As arena_alloc() for @n items, zeroed; an overflowing product is ERR_MEMORY. */
void *arena_zalloc(struct arena *arena, size_t n, size_t size, struct error *err);
/* NUL-terminated copy. */
char *arena_dup(struct arena *arena, struct slice bytes, struct error *err);
