/* SPDX-License-Identifier: Apache-2.0 */
#include "fusefs/number.h"

int number_total(const uint32_t *chunks, uint32_t n_dims, uint64_t *ret_total, struct error *err)
{
	uint64_t level = 1, total = 1;

	for (uint32_t dim = 0; dim < n_dims; dim++) {
		if (__builtin_mul_overflow(level, (uint64_t)chunks[dim], &level) ||
		    __builtin_add_overflow(total, level, &total) || total > NUMBER_MAX)
			return error_set(err, ERR_UNSUPPORTED,
					 "a grid of more than 2^%d chunks cannot be shown as files",
					 NUMBER_BITS);
	}
	*ret_total = total;
	return 0;
}

uint64_t number_of(const uint32_t *chunks, uint32_t n_dims, const uint32_t *index, uint32_t depth)
{
	uint64_t level = 1, before = 0, place = 0;

	for (uint32_t dim = 0; dim < depth && dim < n_dims; dim++) {
		before += level;
		level *= chunks[dim];
		place = place * chunks[dim] + index[dim];
	}
	return before + place;
}

void number_split(const uint32_t *chunks, uint32_t n_dims, uint64_t number, uint32_t *ret_index,
		  uint32_t *ret_depth)
{
	uint64_t level = 1;
	uint32_t depth = 0;

	while (depth < n_dims && number >= level) {
		number -= level;
		level *= chunks[depth++];
	}
	*ret_depth = depth;
	while (depth-- > 0) {
		ret_index[depth] = (uint32_t)(number % chunks[depth]);
		number /= chunks[depth];
	}
}
