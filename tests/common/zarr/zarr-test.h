/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Documents for the tests of this folder
 */

#include "test.h"
#include "zarr/metadata.h"

/* An array's document of which only some parts matter. */
#define ARRAY_DOCUMENT(shape, chunks, type, fill, codecs)                                          \
	"{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":" shape ",\"data_type\":" type       \
	",\"chunk_grid\":{\"name\":\"regular\",\"configuration\":{\"chunk_shape\":" chunks         \
	"}},\"chunk_key_encoding\":{\"name\":\"default\",\"configuration\":{\"separator\":\"/\"}}" \
	",\"fill_value\":" fill ",\"codecs\":" codecs "}"

#define BYTES_CODEC "{\"name\":\"bytes\",\"configuration\":{\"endian\":\"little\"}}"

/* Reads a document that must be fine; it borrows @text. */
static inline struct zarr_metadata *read_document(const char *text)
{
	struct error err = ERROR_INIT;
	struct zarr_metadata *metadata = NULL;

	assert_ok(zarr_metadata_new(slice_text(text), &metadata, &err), &err);
	return metadata;
}

/* Appends the bytes that pairs of hexadecimal digits stand for. */
static inline void unhex(const char *text, struct buf *out)
{
	for (; *text; text += 2) {
		char digits[3] = {text[0], text[1], '\0'};

		assert_int_equal(buf_append_byte(out, (uint8_t)strtoul(digits, NULL, 16), NULL), 0);
	}
}

/* Fails unless @bytes are what pairs of hexadecimal digits stand for. */
static inline void assert_hex(struct slice bytes, const char *text)
{
	CLEANUP(buf_done) struct buf want = BUF_INIT(BUF_NO_LIMIT);

	unhex(text, &want);
	assert_int_equal(bytes.size, want.size);
	if (want.size > 0)
		assert_memory_equal(bytes.data, want.data, want.size);
}
