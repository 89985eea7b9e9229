/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Numbers for the files of one array's grid
 *
 * Every folder and chunk that a grid can have gets a number by arithmetic alone, so that nothing is
 * kept for what the kernel merely knows.  Level k has one entry for each choice of the first k
 * chunk coordinates; entries are numbered level by level, within a level in C order.  Level 0 is
 * the folder "c", level n_dims are the chunks.
 *
 * Threads: any; plain values.
 */

#include <stdint.h>

#include "base/error.h"

#define NUMBER_BITS 41 /* of an inode number; the rest names the slot */
#define NUMBER_MAX ((UINT64_C(1) << NUMBER_BITS) - 1)

/* How many numbers the grid with @chunks[@n_dims] needs.  ERR_UNSUPPORTED beyond NUMBER_MAX. */
int number_total(const uint32_t *chunks, uint32_t n_dims, uint64_t *ret_total, struct error *err);
/* Number of the entry of level @depth with the first @depth coordinates of @index. */
uint64_t number_of(const uint32_t *chunks, uint32_t n_dims, const uint32_t *index, uint32_t depth);
/* The inverse: @number must be below the total. */
void number_split(const uint32_t *chunks, uint32_t n_dims, uint64_t number, uint32_t *ret_index,
		  uint32_t *ret_depth);
