/* SPDX-License-Identifier: Apache-2.0 */

/*
 * "zstd": RFC 8878
 *
 * The decoder writes straight into the bounded result: frames without a content size need no
 * window of their own then, and a frame that would give more fails.
 */

#include <stdlib.h>
#include <zstd.h>

#include "zarr/chain.h"

static const char *const keys[] = {"level", "checksum", NULL};

struct zstd_state {
	int level;
	bool checksum;
};

static int zstd_configure(const struct json *configuration, const struct zarr_array *array,
			  const struct zarr_registry *registry, void *context, void **ret_state,
			  struct error *err)
{
	CLEANUP(freep) struct zstd_state *state = calloc(1, sizeof(*state));
	struct json checksum;
	int r;

	(void)array;
	(void)registry;
	(void)context;
	if (!state)
		return error_memory(err);
	r = zarr_configuration_check(configuration, keys, err);
	if (r < 0)
		return r;
	r = zarr_configuration_int(configuration, "level", -131072, 22, &state->level, err);
	if (r < 0)
		return r;
	if (json_get(configuration, "checksum", &checksum) == 0) {
		r = json_bool(&checksum, &state->checksum, err);
		if (r < 0)
			return error_prefix(err, "checksum");
	}
	*ret_state = TAKE(state);
	return 0;
}

static void free_decoder(ZSTD_DCtx **decoder)
{
	ZSTD_freeDCtx(*decoder);
}

static void free_encoder(ZSTD_CCtx **encoder)
{
	ZSTD_freeCCtx(*encoder);
}

static int zstd_decode(const void *state, const struct zarr_array *array, struct slice encoded,
		       uint8_t *out, size_t room, size_t *ret_size, struct error *err)
{
	CLEANUP(free_decoder) ZSTD_DCtx *decoder = ZSTD_createDCtx();
	size_t n;

	(void)state;
	(void)array;
	if (!decoder)
		return error_memory(err);
	if (encoded.size == 0)
		return error_set(err, ERR_FORMAT, "no bytes");
	n = ZSTD_decompressDCtx(decoder, out, room, encoded.data, encoded.size);
	if (ZSTD_isError(n))
		return error_set(err, ERR_FORMAT, "%s", ZSTD_getErrorName(n));
	*ret_size = n;
	return 0;
}

static int zstd_encode(const void *opaque, const struct zarr_array *array, struct slice decoded,
		       struct buf *out, struct error *err)
{
	CLEANUP(free_encoder) ZSTD_CCtx *encoder = ZSTD_createCCtx();
	const struct zstd_state *state = opaque;
	size_t most = ZSTD_compressBound(decoded.size);
	uint8_t *to;
	size_t n;
	int r;

	(void)array;
	if (!encoder)
		return error_memory(err);
	r = buf_extend(out, most, &to, err);
	if (r < 0)
		return r;
	ZSTD_CCtx_setParameter(encoder, ZSTD_c_compressionLevel, state->level);
	ZSTD_CCtx_setParameter(encoder, ZSTD_c_checksumFlag, state->checksum);
	n = ZSTD_compress2(encoder, to, most, decoded.data, decoded.size);
	out->size -= ZSTD_isError(n) ? most : most - n;
	if (ZSTD_isError(n))
		return error_set(err, ERR_MEMORY, "%s", ZSTD_getErrorName(n));
	return 0;
}

const struct zarr_codec_ops zarr_codec_zstd = {
	.name = "zstd",
	.kind = ZARR_BYTES_TO_BYTES,
	.configure = zstd_configure,
	.free = free,
	.encoded_size = zarr_compressed_size,
	.decode = zstd_decode,
	.encode = zstd_encode,
};
