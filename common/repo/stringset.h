/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A set of byte strings, each kept once and named by a number
 *
 * A change set refers to locations and ETags by these numbers: many references share one.
 * Numbers begin at 1; 0 is "none".  Strings live until strings_done().
 *
 * Threads: one at a time for adding; any may read meanwhile nobody adds.
 */

#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"

struct strings {
	struct arena arena;
	struct slice *items;
	size_t n, capacity;
	uint32_t *slots; /* open addressing, number of a string or 0 */
	size_t n_slots;	 /* a power of two, or 0 */
	uint32_t last;	 /* the string asked for last: runs of one location are usual */
};

#define STRINGS_INIT ((struct strings){0})

void strings_done(struct strings *strings);
/* Number of @text, which is copied when it is new; 0 for an empty one.  ERR_MEMORY. */
int strings_add(struct strings *strings, struct slice text, uint32_t *ret_number,
		struct error *err);
/* As strings_add() without looking for an equal one: for bytes that hardly repeat. */
int strings_append(struct strings *strings, struct slice bytes, uint32_t *ret_number,
		   struct error *err);

/* Bytes of memory held. */
size_t strings_memory(const struct strings *strings);

static inline struct slice strings_get(const struct strings *strings, uint32_t number)
{
	return number ? strings->items[number - 1] : (struct slice){NULL, 0};
}
