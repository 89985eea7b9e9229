/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Documents of Zarr v3 nodes, written
 *
 * The layout is that of the public zarr package (3.4): members in its order, two blanks a level,
 * text in ASCII with \u escapes, floats as Python's repr.  Parts are given as JSON text in any
 * layout.
 *
 * Threads: any.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/json.h"

/* Appends @value as Python's json.dumps(json.loads(text), indent=2) has it, @depth levels deep. */
int zarr_json_layout(const struct json *value, unsigned int depth, struct buf *out,
		     struct error *err);

/* Slices are JSON text; an empty one is a member left out, except for attributes ({}). */
struct zarr_array_document {
	size_t n_dims;
	const uint64_t *shape;
	const uint64_t *chunk_shape; /* of a regular grid */
	struct slice data_type;
	struct slice fill_value;
	struct slice codecs;
	struct slice attributes;
	struct slice dimension_names;
};

/* Appends an array's document: default chunk keys, separator "/".  ERR_FORMAT if a part is no JSON.
 */
int zarr_array_document_write(const struct zarr_array_document *document, struct buf *out,
			      struct error *err);

/* A node below a group, for consolidated metadata. */
struct zarr_member {
	struct slice path;     /* below the group: "temp", "level/temp" */
	struct slice document; /* its zarr.json; own consolidated metadata is dropped */
};

/*
 * Appends a group's document.  With @members (in the order in which they are to stand; the public
 * package sorts them by path) it has consolidated metadata; NULL for none.
 */
int zarr_group_document_write(struct slice attributes, const struct zarr_member *members,
			      size_t n_members, struct buf *out, struct error *err);

/*
 * Appends @group with consolidated metadata of @members: its own is replaced, or it gets one as
 * its last member.  Every other byte of the group, and the documents, stay.
 */
int zarr_consolidate(struct slice group, const struct zarr_member *members, size_t n_members,
		     struct buf *out, struct error *err);
