/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Hyperslabs: a block of an array out of its decoded chunks
 *
 * Internal to the reader.  Threads: any.
 */

#include "reader/array.h"

/*
 * Reads @count elements from @start on (one number a dimension of @array) in C order into @out,
 * which has exactly product(@count) x element size bytes.  Chunks are loaded on at most @threads
 * threads; absent ones give the fill value.  ERR_ARGUMENT when the block leaves the array.
 */
int slab_read(struct reader *reader, struct checkout *checkout, const struct array *array,
	      const uint64_t *start, const uint64_t *count, void *out, size_t out_size,
	      size_t threads, struct error *err);
