/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Inside the codecs: chains within chains, and what several codecs share
 */

#include <string.h>

#include "zarr/codec.h"

extern const struct zarr_codec_ops zarr_codec_blosc;
extern const struct zarr_codec_ops zarr_codec_bytes;
extern const struct zarr_codec_ops zarr_codec_crc32c;
extern const struct zarr_codec_ops zarr_codec_gzip;
extern const struct zarr_codec_ops zarr_codec_scale_offset;
extern const struct zarr_codec_ops zarr_codec_sharding;
extern const struct zarr_codec_ops zarr_codec_transpose;
extern const struct zarr_codec_ops zarr_codec_zstd;

/* As zarr_chain_new() from the list of codecs alone; copies the fill value. */
int zarr_chain_make(const struct json *codecs, const struct zarr_array *array,
		    const struct zarr_registry *registry, struct zarr_chain **ret_chain,
		    struct error *err);
/* Most bytes that a stored chunk of this shape may have, and whether it always has as many. */
int zarr_chain_stored_size(const struct zarr_chain *chain, const uint64_t *chunk_shape,
			   uint64_t *ret_most, bool *ret_exact, struct error *err);
/* Unknown codec inside the shards of this state, or NULL. */
const char *zarr_sharding_unknown_codec(const void *state);

/* Refuses members of a configuration that are not in @names (end with NULL). */
int zarr_configuration_check(const struct json *configuration, const char *const *names,
			     struct error *err);
/* Member @name as a whole number in [least, most]; @ret_value stays as it is without one. */
int zarr_configuration_int(const struct json *configuration, const char *name, int64_t least,
			   int64_t most, int *ret_value, struct error *err);

/* What a compressor may make of @size bytes at its worst, with room for odd writers. */
static inline void zarr_compressed_size(const void *state, const struct zarr_array *array,
					uint64_t size, uint64_t *ret_most, bool *ret_exact)
{
	(void)state;
	(void)array;
	*ret_exact = false;
	if (__builtin_mul_overflow(size, 2, ret_most) ||
	    __builtin_add_overflow(*ret_most, 1024, ret_most))
		*ret_most = UINT64_MAX;
}

/* Distances in bytes between neighbours along each dimension of a C-ordered array. */
static inline void zarr_strides(size_t n_dims, const uint64_t *shape, size_t item_size,
				size_t *ret_strides)
{
	size_t stride = item_size;

	for (size_t d = n_dims; d-- > 0;) {
		ret_strides[d] = stride;
		stride *= shape[d];
	}
}

/* Copies an array of @shape between two layouts, given as distances in bytes. */
void zarr_copy_strided(size_t n_dims, const uint64_t *shape, size_t item_size, uint8_t *to,
		       const size_t *to_strides, const uint8_t *from, const size_t *from_strides);
/* Fills @size bytes with copies of one element. */
void zarr_fill_bytes(uint8_t *out, size_t size, const uint8_t *fill, size_t item_size);
