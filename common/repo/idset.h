/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A set of 12-byte ids, for walks over what a repository refers to
 *
 * Threads: one at a time.
 */

#include <stdbool.h>
#include <stddef.h>

#include "icechunk/id.h"

struct id_set {
	struct id12 *slots;
	bool *used;
	size_t n, n_slots; /* n_slots is a power of two, or 0 */
};

#define ID_SET_INIT ((struct id_set){0})

void id_set_done(struct id_set *set);
bool id_set_has(const struct id_set *set, const struct id12 *id);
/* Adds @id: 1 if it is new, 0 if it was there, or ERR_MEMORY. */
int id_set_add(struct id_set *set, const struct id12 *id, struct error *err);
