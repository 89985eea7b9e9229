/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Documents of Zarr v3 nodes (zarr.json), read
 *
 * The document keeps its bytes; everything here is a span of it or a number read from it.  Reading
 * is lenient where passing a node through does not need the answer: an unknown data type, codec,
 * extension or storage transformer, or a fill value that its type cannot have, is an error of
 * zarr_metadata_check() and zarr_metadata_fill(), not of opening the node.
 *
 * Source: Zarr core specification v3.1, "Metadata".
 *
 * Threads: any may read.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/json.h"
#include "zarr/grid.h"
#include "zarr/type.h"

enum zarr_node { ZARR_GROUP, ZARR_ARRAY };

/* Members that the document does not have are values with an empty span (see zarr_has()). */
struct zarr_metadata {
	struct slice document; /* borrowed */
	struct json root;
	enum zarr_node node;
	struct json attributes;

	/* Arrays only. */
	struct json data_type;
	struct zarr_type type;
	struct json fill_value;
	struct zarr_grid grid;
	struct zarr_keys keys;
	struct json codecs;	     /* an array of objects or names, not looked into yet */
	struct json dimension_names; /* an array of n_dims names or nulls */
	struct json not_understood;  /* key of the first member that a reader has to understand and
				      * we do not; storage_transformers unless empty */
};

static inline bool zarr_has(const struct json *member)
{
	return member->span.size > 0;
}

/*
 * Reads a document.  Borrows @document, which must outlive the result.  ERR_FORMAT names the
 * member; ERR_UNSUPPORTED for a chunk grid or key encoding that we do not know.
 */
int zarr_metadata_new(struct slice document, struct zarr_metadata **ret_metadata,
		      struct error *err);
/* Frees it; NULL is fine.  Always returns NULL. */
struct zarr_metadata *zarr_metadata_free(struct zarr_metadata *metadata);
DEFINE_CLEANUP(struct zarr_metadata *, zarr_metadata_free)

/* 0 if elements of the array can be made sense of; else ERR_UNSUPPORTED naming what stands in the
 * way. */
int zarr_metadata_check(const struct zarr_metadata *array, struct error *err);
/* Writes the fill value to @out (type.size bytes, little-endian).  ERR_FORMAT, ERR_UNSUPPORTED. */
int zarr_metadata_fill(const struct zarr_metadata *array, uint8_t *out, struct error *err);
/* Bytes of one decoded chunk: chunk shape x element size.  @index is in the grid. */
int zarr_metadata_chunk_bytes(const struct zarr_metadata *array, const uint32_t *index,
			      size_t *ret_bytes, struct error *err);

/*
 * Reads one named extension: text, or an object with name and configuration.  @ret_name lends the
 * bytes between the quotes (names hold no escapes); @ret_configuration has an empty span when
 * there is none.  ERR_FORMAT.
 */
int zarr_extension_parse(const struct json *value, struct slice *ret_name,
			 struct json *ret_configuration, struct error *err);
