/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Codecs and chains of codecs
 *
 * A codec is a constant table of functions; a chain is what an array's member "codecs" makes of
 * them, applied in the order of the document to encode and in reverse to decode.  Codecs of other
 * layers join by a registry, so that this layer knows no format of weather data.
 *
 * Decoding is bounded: the size of a decoded chunk is known before (chunk shape x element size),
 * sizes in between follow from it, and no more is ever written.
 *
 * Threads: a chain is constant once made and may be shared.
 *
 * Source: Zarr core specification v3.1, "Codecs", and the specifications of each codec.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "zarr/metadata.h"

enum zarr_codec_kind { ZARR_ARRAY_TO_ARRAY, ZARR_ARRAY_TO_BYTES, ZARR_BYTES_TO_BYTES };

struct zarr_registry;

/*
 * A chunk's array at one place of a chain: elements in C order, little-endian.  @fill is one
 * element.  While a codec is configured the shape is not known yet and zero.
 */
struct zarr_array {
	struct zarr_type type;
	size_t n_dims;
	uint64_t shape[ZARR_DIMS_MAX];
	const uint8_t *fill;
};

struct zarr_codec_ops {
	const char *name;
	enum zarr_codec_kind kind;
	/* decode() may be called with @out at the first byte of @encoded, of equal size. */
	bool in_place;

	/*
	 * Reads the configuration (empty span: none) for elements as @array describes them.
	 * @context is what the registry holds beside the table.  An unknown key is ERR_FORMAT.
	 * @ret_state stays NULL where there is nothing to remember.
	 */
	int (*configure)(const struct json *configuration, const struct zarr_array *array,
			 const struct zarr_registry *registry, void *context, void **ret_state,
			 struct error *err);
	/* Optional; NULL state is never given. */
	void (*free)(void *state);

	/* Array to array only, optional (the same): what the array is behind this codec, encoded.
	 */
	void (*encoded_array)(const void *state, const struct zarr_array *decoded,
			      struct zarr_array *ret_encoded);
	/*
	 * Most bytes that @size bytes of @array may have when encoded, and whether it is always
	 * that many.  Optional for array to array (the same).  @array is NULL for bytes to bytes.
	 */
	void (*encoded_size)(const void *state, const struct zarr_array *array, uint64_t size,
			     uint64_t *ret_most, bool *ret_exact);

	/*
	 * Decodes @encoded to @out, which has room for @room bytes; an array (@array describes what
	 * is decoded) has exactly that many.  @ret_size says how many were written.  ERR_FORMAT for
	 * damaged bytes, too many or (arrays) too few.  Called from many threads at once.
	 */
	int (*decode)(const void *state, const struct zarr_array *array, struct slice encoded,
		      uint8_t *out, size_t room, size_t *ret_size, struct error *err);
	/* Appends @decoded, encoded, to @out.  Optional: a codec without it only reads. */
	int (*encode)(const void *state, const struct zarr_array *array, struct slice decoded,
		      struct buf *out, struct error *err);
};

#define ZARR_REGISTRY_MAX 8

/* Codecs beside those of this layer; they win over these.  Copied by zarr_chain_new(). */
struct zarr_registry {
	size_t n;
	struct {
		const struct zarr_codec_ops *ops;
		void *context; /* handed to configure(); outlives the chain */
	} codecs[ZARR_REGISTRY_MAX];
};

struct zarr_chain;

/*
 * Makes the chain of an array.  A codec that nobody knows is no error: see
 * zarr_chain_unknown_codec().  ERR_FORMAT for a bad configuration or order; ERR_UNSUPPORTED as
 * zarr_metadata_check().  @registry may be NULL.  The result keeps nothing of @array.
 */
int zarr_chain_new(const struct zarr_metadata *array, const struct zarr_registry *registry,
		   struct zarr_chain **ret_chain, struct error *err);
/* Frees the chain; NULL is fine.  Always returns NULL. */
struct zarr_chain *zarr_chain_free(struct zarr_chain *chain);
DEFINE_CLEANUP(struct zarr_chain *, zarr_chain_free)

/* Name of the first codec of the chain that nobody knows, inside shards too; NULL if all are known.
 */
const char *zarr_chain_unknown_codec(const struct zarr_chain *chain);
/* Bytes of a decoded chunk of this shape (one length per dimension).  ERR_FORMAT on overflow. */
int zarr_chain_chunk_bytes(const struct zarr_chain *chain, const uint64_t *chunk_shape,
			   size_t *ret_bytes, struct error *err);
/*
 * Decodes one stored chunk.  @out has exactly zarr_chain_chunk_bytes() bytes, @size of them; its
 * content is undefined after an error.  ERR_FORMAT for damaged bytes, ERR_UNSUPPORTED for an
 * unknown codec, ERR_MEMORY, and what a registered codec gives.
 */
int zarr_chain_decode(const struct zarr_chain *chain, const uint64_t *chunk_shape,
		      struct slice stored, uint8_t *out, size_t size, struct error *err);
/* Appends the stored form of a chunk to @out.  ERR_UNSUPPORTED if a codec only reads. */
int zarr_chain_encode(const struct zarr_chain *chain, const uint64_t *chunk_shape,
		      struct slice decoded, struct buf *out, struct error *err);
