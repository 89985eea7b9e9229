/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A document, a NUL byte, and the bytes of one stored chunk
 */

#include <stdlib.h>

#include "fuzz.h"
#include "zarr/codec.h"
#include "zarr/document.h"
#include "zarr/time.h"
#include "zarr/view.h"

#define CHUNK_MAX (1U << 20)

static int plain_configure(const struct json *configuration, const struct zarr_array *array,
			   const struct zarr_registry *registry, void *context, void **ret_state,
			   struct error *err)
{
	(void)configuration;
	(void)array;
	(void)registry;
	(void)context;
	(void)ret_state;
	(void)err;
	return 0;
}

static void plain_encoded_size(const void *state, const struct zarr_array *array, uint64_t size,
			       uint64_t *ret_most, bool *ret_exact)
{
	(void)state;
	(void)array;
	*ret_most = size < UINT64_MAX / 2 ? size + 100 : size;
	*ret_exact = false;
}

/* Stands for a codec from outside. */
static int plain_decode(const void *state, const struct zarr_array *array, struct slice encoded,
			uint8_t *out, size_t room, size_t *ret_size, struct error *err)
{
	(void)state;
	(void)array;
	(void)err;
	for (size_t i = 0; i < room; i++)
		out[i] = encoded.size ? encoded.data[i % encoded.size] : 0;
	*ret_size = room;
	return 0;
}

static const struct zarr_codec_ops gribberish = {
	.name = "gribberish",
	.kind = ZARR_ARRAY_TO_BYTES,
	.configure = plain_configure,
	.encoded_size = plain_encoded_size,
	.decode = plain_decode,
};
static const struct zarr_registry registry = {.n = 1, .codecs = {{&gribberish, NULL}}};

static void try_document(const struct zarr_metadata *metadata)
{
	CLEANUP(buf_done) struct buf shown = BUF_INIT(BUF_NO_LIMIT);
	CLEANUP(buf_done) struct buf laid_out = BUF_INIT(1U << 24);
	struct zarr_time time;
	struct error err = ERROR_INIT;

	zarr_decoded_document(metadata, &registry, &shown, NULL, &err);
	zarr_json_layout(&metadata->root, 0, &laid_out, &err);
	zarr_time_parse(&metadata->attributes, &time, &err);
}

/* The first and the last chunk's keys read back as they were written. */
static void try_keys(const struct zarr_metadata *array)
{
	uint32_t index[ZARR_DIMS_MAX], again[ZARR_DIMS_MAX];
	CLEANUP(buf_done) struct buf key = BUF_INIT(BUF_NO_LIMIT);
	struct error err = ERROR_INIT;

	for (size_t d = 0; d < array->grid.n_dims; d++) {
		uint64_t n = array->grid.dims[d].n_chunks;

		if (n == 0)
			return;
		index[d] = (uint32_t)(n > UINT32_MAX ? UINT32_MAX : n - 1);
	}
	if (zarr_key_write(&array->keys, array->grid.n_dims, index, &key, &err) < 0 ||
	    zarr_key_parse(&array->keys, array->grid.n_dims, buf_slice(&key), again) != 0 ||
	    memcmp(index, again, array->grid.n_dims * sizeof(*index)) != 0)
		abort();
}

static void try_chunk(const struct zarr_metadata *array, struct slice stored)
{
	CLEANUP(zarr_chain_freep) struct zarr_chain *chain = NULL;
	CLEANUP(buf_done) struct buf again = BUF_INIT(BUF_NO_LIMIT);
	CLEANUP(freep) uint8_t *out = NULL;
	uint32_t index[ZARR_DIMS_MAX] = {0};
	uint64_t shape[ZARR_DIMS_MAX];
	struct error err = ERROR_INIT;
	size_t size;

	if (zarr_chain_new(array, &registry, &chain, &err) < 0 ||
	    !zarr_grid_holds(&array->grid, index))
		return;
	zarr_grid_chunk_shape(&array->grid, index, shape);
	if (zarr_chain_chunk_bytes(chain, shape, &size, &err) < 0 || size > CHUNK_MAX)
		return;
	out = malloc(size + 1);
	if (!out || zarr_chain_decode(chain, shape, stored, out, size, &err) < 0)
		return;
	zarr_chain_encode(chain, shape, slice_of(out, size), &again, &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(zarr_metadata_freep) struct zarr_metadata *metadata = NULL;
	const uint8_t *end = size ? memchr(data, '\0', size) : NULL;
	size_t n = end ? (size_t)(end - data) : size;
	struct error err = ERROR_INIT;

	if (zarr_metadata_new(slice_of(data, n), &metadata, &err) < 0)
		return 0;
	try_document(metadata);
	if (metadata->node == ZARR_ARRAY) {
		try_keys(metadata);
		try_chunk(metadata, end ? slice_of(end + 1, size - n - 1) : slice_of(NULL, 0));
	}
	return 0;
}
