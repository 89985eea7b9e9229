/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Documents as the decoded view shows them
 *
 * An array is shown decoded if its chain has gribberish or scale_offset anywhere, and all of its
 * codecs are known: its chunks are then plain little-endian elements, and its document says so.
 * Every other byte of a document stays as it is stored.
 *
 * Threads: any.
 */

#include <stdbool.h>

#include "base/buf.h"
#include "base/error.h"
#include "zarr/codec.h"
#include "zarr/metadata.h"

/* Does the chain have a codec that plain Zarr readers lack (inside shards too)? */
bool zarr_must_decode(const struct zarr_metadata *array);

/*
 * Appends the document as the decoded view shows it: of every array that is shown decoded, also
 * inside consolidated metadata, the member codecs is replaced by "bytes", little-endian.  A plain
 * copy if there is none.  @ret_changed (may be NULL) says whether anything was.
 */
int zarr_decoded_document(const struct zarr_metadata *metadata,
			  const struct zarr_registry *registry, struct buf *out, bool *ret_changed,
			  struct error *err);
