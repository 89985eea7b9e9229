/* SPDX-License-Identifier: Apache-2.0 */
#include "repo/windows.h"

#include <string.h>

int windows_init(struct windows *windows, const struct config *config, struct slice path,
		 const struct slice *names, const uint32_t *n_chunks, uint32_t n_dims,
		 struct error *err)
{
	uint64_t total = 1;
	int r;

	*windows = (struct windows){.n_dims = n_dims};
	if (n_dims > WINDOWS_DIMS_MAX)
		return error_set(err, ERR_UNSUPPORTED, "array '%.*s' has %u dimensions",
				 (int)path.size, (const char *)path.data, n_dims);
	r = config_split(config, path, names, n_dims, windows->size, err);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < n_dims; i++) {
		windows->n_chunks[i] = n_chunks[i];
		windows->n[i] = (uint32_t)(((uint64_t)n_chunks[i] + windows->size[i] - 1) /
					   windows->size[i]);
		if (windows->n[i] && __builtin_mul_overflow(total, windows->n[i], &total))
			return error_set(err, ERR_UNSUPPORTED,
					 "array '%.*s' is split into more than 2^64 manifests",
					 (int)path.size, (const char *)path.data);
	}
	return 0;
}

int windows_find(const struct windows *windows, const uint32_t *index, uint64_t *ret_window)
{
	uint64_t window = 0;

	for (uint32_t i = 0; i < windows->n_dims; i++) {
		if (index[i] >= windows->n_chunks[i])
			return -1;
		if (windows->n[i] > 1)
			window = window * windows->n[i] + index[i] / windows->size[i];
	}
	*ret_window = window;
	return 0;
}

bool windows_keep_order(const struct windows *windows)
{
	for (uint32_t i = 1; i < windows->n_dims; i++) {
		if (windows->n[i] > 1)
			return false;
	}
	return true;
}

bool windows_hold(const struct windows *windows, const struct manifest_ref *box,
		  uint64_t *ret_window)
{
	uint32_t first[WINDOWS_DIMS_MAX];

	if (box->n_extents != windows->n_dims)
		return false;
	for (uint32_t i = 0; i < windows->n_dims; i++) {
		uint32_t from = box->extents[i].from, to = box->extents[i].to;

		if (from >= to || to > windows->n_chunks[i] ||
		    from / windows->size[i] != (to - 1) / windows->size[i])
			return false;
		first[i] = from;
	}
	return windows_find(windows, first, ret_window) == 0;
}
