/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the repository needs to know of a node's zarr.json: its kind and its grid
 *
 * The bytes are kept; nothing else in them is looked at (formats, section 10).
 *
 * Threads: any may read.
 */

#include "base/arena.h"
#include "icechunk/snapshot.h"

struct document {
	struct arena arena; /* everything below */
	struct slice bytes;
	bool is_array;
	uint32_t n_dims;
	struct draft_dimension *dims;
	bool has_names;
	bool is_regular; /* its chunk grid */
};

#define DOCUMENT_INIT ((struct document){.arena = ARENA_INIT})

/* Copies @bytes.  ERR_FORMAT names what is missing or wrong. */
int document_init(struct document *document, struct slice bytes, struct error *err);
void document_done(struct document *document);
/* Appends @bytes with another shape of equal rank. */
int document_resize(struct slice bytes, const uint64_t *shape, uint32_t n_dims, struct buf *out,
		    struct error *err);
