/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the builder of a manifest asks of one that it follows
 *
 * Internal to this folder.  Threads: as in manifest.h.
 */

#include "icechunk/manifest.h"

/* The dictionary of locations; no data if locations are plain. */
struct slice manifest_dictionary(const struct manifest *manifest);
/* All of the manifest, which lends the slices of its references. */
struct slice manifest_bytes(const struct manifest *manifest);

/* The text of a location that @manifest has stored as @stored.  ERR_FORMAT. */
int manifest_decompress(const struct manifest *manifest, struct slice stored,
			uint8_t scratch[MANIFEST_SCRATCH], struct slice *ret_text,
			struct error *err);
/* Its length, or 0 where that cannot be told without decompressing. */
size_t manifest_stored_length(struct slice stored);
