/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Growing arrays
 *
 * DEFINE_VEC(name, type) defines struct name { type *items; size_t n, capacity; }, name_push()
 * (appends a copy; ERR_MEMORY) and name_done() (frees the array, not what items own).
 */

#include <stdlib.h>

#include "base/error.h"

/* Grows *@items so that @need items of @item_size fit.  ERR_MEMORY, also if the size overflows. */
int vec_reserve(void **items, size_t *capacity, size_t need, size_t item_size, struct error *err);

#define DEFINE_VEC(name, type)                                                        \
	struct name {                                                                 \
		type *items;                                                          \
		size_t n;                                                             \
		size_t capacity;                                                      \
	};                                                                            \
	static inline int name##_push(struct name *vec, type item, struct error *err) \
	{                                                                             \
		int r = vec_reserve((void **)&vec->items, &vec->capacity, vec->n + 1, \
				    sizeof(type), err);                               \
		if (r < 0)                                                            \
			return r;                                                     \
		vec->items[vec->n++] = item;                                          \
		return 0;                                                             \
	}                                                                             \
	static inline void name##_done(struct name *vec)                              \
	{                                                                             \
		free(vec->items);                                                     \
		*vec = (struct name){0};                                              \
	}                                                                             \
	struct name
