/* SPDX-License-Identifier: Apache-2.0 */

/*
 * "blosc": chunks of c-blosc 1
 *
 * A chunk begins with a header of 16 bytes: version, version of the compressor, flags, type size,
 * then decoded size, block size and stored size as 32-bit little-endian numbers (c-blosc,
 * README_CHUNK_FORMAT.rst).  These are checked against what is known before the library sees them.
 */

#include <blosc.h>
#include <stdlib.h>

#include "zarr/chain.h"

static const char *const keys[] = {"typesize", "cname", "clevel", "shuffle", "blocksize", NULL};
static const char *const shuffles[] = {"noshuffle", "shuffle", "bitshuffle"};
static const char *const compressors[] = {"blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"};

struct blosc_state {
	const char *cname;
	int clevel;
	int shuffle;
	int type_size;
	int block_size;
};

/* Which of @names the member is; @index keeps its value without the member. */
static int read_choice(const struct json *configuration, const char *name, const char *const *names,
		       size_t n, int *index, struct error *err)
{
	struct json value;

	if (json_get(configuration, name, &value) != 0 || value.type == JSON_NULL)
		return 0;
	for (size_t i = 0; i < n; i++) {
		if (json_is_text(&value, names[i])) {
			*index = (int)i;
			return 0;
		}
	}
	return error_set(err, ERR_FORMAT, "%s %.*s is not known", name, (int)value.span.size,
			 (const char *)value.span.data);
}

static int blosc_read(const struct json *configuration, const struct zarr_array *array,
		      struct blosc_state *state, struct error *err)
{
	int compressor = ARRAY_LEN(compressors) - 1;
	int r;

	/* What the public package takes for a member that is absent. */
	*state = (struct blosc_state){.clevel = 5, .type_size = (int)array->type.size};
	state->shuffle = array->type.size == 1 ? BLOSC_BITSHUFFLE : BLOSC_SHUFFLE;
	if ((r = zarr_configuration_check(configuration, keys, err)) < 0 ||
	    (r = read_choice(configuration, "cname", compressors, ARRAY_LEN(compressors),
			     &compressor, err)) < 0 ||
	    (r = read_choice(configuration, "shuffle", shuffles, ARRAY_LEN(shuffles),
			     &state->shuffle, err)) < 0 ||
	    (r = zarr_configuration_int(configuration, "clevel", 0, 9, &state->clevel, err)) < 0 ||
	    (r = zarr_configuration_int(configuration, "typesize", 1, INT32_MAX, &state->type_size,
					err)) < 0 ||
	    (r = zarr_configuration_int(configuration, "blocksize", 0, INT32_MAX,
					&state->block_size, err)) < 0)
		return r;
	state->cname = compressors[compressor];
	return 0;
}

static int blosc_configure(const struct json *configuration, const struct zarr_array *array,
			   const struct zarr_registry *registry, void *context, void **ret_state,
			   struct error *err)
{
	CLEANUP(freep) struct blosc_state *state = malloc(sizeof(*state));
	int r;

	(void)registry;
	(void)context;
	if (!state)
		return error_memory(err);
	r = blosc_read(configuration, array, state, err);
	if (r < 0)
		return r;
	*ret_state = TAKE(state);
	return 0;
}

static uint32_t get_u32(const uint8_t *bytes)
{
	return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
	       (uint32_t)bytes[3] << 24;
}

static int check_header(struct slice encoded, size_t room, size_t *ret_size, struct error *err)
{
	uint32_t n_bytes, block_size, stored;
	size_t validated;

	if (encoded.size < BLOSC_MIN_HEADER_LENGTH)
		return error_set(err, ERR_FORMAT, "%zu bytes have no header", encoded.size);
	n_bytes = get_u32(encoded.data + 4);
	block_size = get_u32(encoded.data + 8);
	stored = get_u32(encoded.data + 12);
	if (stored != encoded.size)
		return error_set(err, ERR_FORMAT, "%zu bytes, the header says %u", encoded.size,
				 stored);
	if (n_bytes > room)
		return error_set(err, ERR_FORMAT, "%u bytes when decoded, at most %zu fit", n_bytes,
				 room);
	if (n_bytes > 0 && (block_size == 0 || block_size > n_bytes))
		return error_set(err, ERR_FORMAT, "blocks of %u bytes in a chunk of %u", block_size,
				 n_bytes);
	if (blosc_cbuffer_validate(encoded.data, encoded.size, &validated) != 0 ||
	    validated != n_bytes)
		return error_set(err, ERR_FORMAT, "damaged header");
	*ret_size = n_bytes;
	return 0;
}

static int blosc_decode(const void *state, const struct zarr_array *array, struct slice encoded,
			uint8_t *out, size_t room, size_t *ret_size, struct error *err)
{
	size_t size = 0;
	int r;

	(void)state;
	(void)array;
	r = check_header(encoded, room, &size, err);
	if (r < 0)
		return r;
	if (size > 0 && blosc_decompress_ctx(encoded.data, out, size, 1) != (int)size)
		return error_set(err, ERR_FORMAT, "damaged chunk");
	*ret_size = size;
	return 0;
}

static int blosc_encode(const void *opaque, const struct zarr_array *array, struct slice decoded,
			struct buf *out, struct error *err)
{
	const struct blosc_state *state = opaque;
	size_t most = decoded.size + BLOSC_MAX_OVERHEAD;
	uint8_t *to;
	int n, r;

	(void)array;
	if (decoded.size > BLOSC_MAX_BUFFERSIZE)
		return error_set(err, ERR_UNSUPPORTED, "chunks above 2 GiB");
	r = buf_extend(out, most, &to, err);
	if (r < 0)
		return r;
	n = blosc_compress_ctx(state->clevel, state->shuffle, (size_t)state->type_size,
			       decoded.size, decoded.data, to, most, state->cname,
			       (size_t)state->block_size, 1);
	out->size -= n > 0 ? most - (size_t)n : most;
	if (n <= 0)
		return error_set(err, ERR_UNSUPPORTED, "cannot compress with '%s'", state->cname);
	return 0;
}

const struct zarr_codec_ops zarr_codec_blosc = {
	.name = "blosc",
	.kind = ZARR_BYTES_TO_BYTES,
	.configure = blosc_configure,
	.free = free,
	.encoded_size = zarr_compressed_size,
	.decode = blosc_decode,
	.encode = blosc_encode,
};
