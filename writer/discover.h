/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Discovery: which pending source files are there now
 *
 * Threads: one discovery at a time for each list of files.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "store/store.h"
#include "writer/dataset.h"
#include "writer/source-file.h"

/*
 * Finds out which of the files @pending (places in @files) are there: the data object, and its
 * index if the kind has one.  Sets size, time and version of those, and marks them in @ready (one
 * flag for each pending file; the rest are cleared).  @source is the store of the container.
 *
 * By listing: one listing for each folder and append position, of the longest prefix that the
 * pending files there have in common.
 */
int discover(const struct dataset *dataset, struct store *source, struct source_files *files,
	     const size_t *pending, size_t n_pending, bool *ready, struct error *err);

/* The key of a URL in the store of its container. */
const char *discover_key(const char *url);
