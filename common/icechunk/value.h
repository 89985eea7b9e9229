/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Metadata and configuration values: FlexBuffers and MessagePack to JSON text and back
 *
 * Files of spec 1 hold metadata values as MessagePack, files of spec 2 and the repo object as
 * FlexBuffers.  Everything above works on JSON text (base/json.h).  Whole numbers keep all 64 bits;
 * floats are written as the shortest text that reads back as the same double.
 *
 * JSON members keep their order towards JSON and are sorted by name towards FlexBuffers and
 * MessagePack, as the public library sorts them; of a repeated member the last one counts.
 *
 * Threads: any.
 */

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/json.h"
#include "base/vec.h"
#include "icechunk/envelope.h"

/*
 * Appends the JSON text of a FlexBuffers document to @out, whose ceiling bounds documents that
 * share parts again and again.  All types are read; blobs become arrays of numbers.  ERR_FORMAT.
 */
int flex_to_json(struct slice flex, struct buf *out, struct error *err);

/*
 * Appends @value as a FlexBuffers document, with the widths and typed vectors that the public
 * library chooses.  ERR_FORMAT for numbers that no double can hold.
 */
int json_to_flex(const struct json *value, struct buf *out, struct error *err);

/* Appends the JSON text of one MessagePack value; bytes after it are ERR_FORMAT. */
int msgpack_to_json(struct slice msgpack, struct buf *out, struct error *err);

/* Appends @value as MessagePack in the smallest forms; floats have 8 bytes. */
int json_to_msgpack(const struct json *value, struct buf *out, struct error *err);

/* One named value, still encoded; lends what it was taken from. */
struct metadata_item {
	struct slice name;
	struct slice value;
};

/* Appends the JSON text of @value, encoded as files of @spec encode metadata values. */
int metadata_value_to_json(enum spec spec, struct slice value, struct buf *out, struct error *err);

DEFINE_VEC(metadata_items, struct metadata_item);

/* Appends @n items as one JSON object. */
int metadata_items_json(enum spec spec, const struct metadata_item *items, uint32_t n,
			struct buf *out, struct error *err);

/*
 * Appends the members of a JSON object (NULL: none) as items, sorted by name; names and values live
 * in
 * @arena.  ERR_ARGUMENT if it is no object.
 */
int metadata_items_encode(enum spec spec, const struct json *object, struct arena *arena,
			  struct metadata_items *out, struct error *err);

/* The reverse of metadata_value_to_json(). */
int json_to_metadata_value(enum spec spec, const struct json *value, struct buf *out,
			   struct error *err);
