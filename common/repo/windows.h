/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The manifest windows of one array (formats, section 8.3)
 *
 * Each axis is cut into windows of equal size, the last one shorter; a window of the array is a
 * window on each axis, numbered row-major.
 *
 * Threads: any may read.
 */

#include "icechunk/config.h"

#define WINDOWS_DIMS_MAX 64

struct windows {
	uint32_t n_dims;
	uint32_t n_chunks[WINDOWS_DIMS_MAX];
	uint32_t size[WINDOWS_DIMS_MAX]; /* chunks of one window */
	uint32_t n[WINDOWS_DIMS_MAX];	 /* windows on the axis */
};

/* By the rules of @config for the array at @path.  @names as config_split() takes them. */
int windows_init(struct windows *windows, const struct config *config, struct slice path,
		 const struct slice *names, const uint32_t *n_chunks, uint32_t n_dims,
		 struct error *err);
/* The window of a chunk, or -1 for a chunk outside the array. */
int windows_find(const struct windows *windows, const uint32_t *index, uint64_t *ret_window);
/* Is the order of windows, then indices, the plain order of indices? */
bool windows_keep_order(const struct windows *windows);
/* Does the box lie in one window?  Its number then is @ret_window. */
bool windows_hold(const struct windows *windows, const struct manifest_ref *box,
		  uint64_t *ret_window);
