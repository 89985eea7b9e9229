/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Binary search in what is sorted but no plain array
 *
 * Internal to this folder.
 */

#include <stdbool.h>
#include <stdint.h>

/*
 * Finds @key among @n items: @compare gives the order of item @i of @items against @key.  True with
 * the item's number, or false with the number where it would stand.
 */
static inline bool search_sorted(const void *items, uint32_t n, const void *key,
				 int (*compare)(const void *items, uint32_t i, const void *key),
				 uint32_t *ret_i)
{
	uint32_t low = 0, high = n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		int order = compare(items, middle, key);

		if (order == 0) {
			*ret_i = middle;
			return true;
		}
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	*ret_i = low;
	return false;
}
