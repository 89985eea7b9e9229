/* SPDX-License-Identifier: Apache-2.0 */

/*
 * "sharding_indexed": a chunk made of inner chunks, with an index of where each of them lies
 *
 * The index is an array of two 64-bit numbers (offset, size) for each inner chunk, both 2^64 - 1
 * where there is none, at the end of the shard or at its start.
 * Source: Zarr v3 specification, codecs/sharding-indexed.
 */

#include <stdlib.h>

#include "zarr/chain.h"

/*
 * Inner chunks may share bytes, but an index that sends every one of a million of them to the whole
 * shard is an attack: together they may have this many times its bytes, beyond the first ones.
 */
#define SHARED_MOST 16
#define SHARED_FREE (UINT64_C(64) << 20)

static const char *const keys[] = {"chunk_shape", "codecs", "index_codecs", "index_location", NULL};

struct sharding_state {
	uint64_t inner[ZARR_DIMS_MAX];
	struct zarr_chain *chain;
	struct zarr_chain *index_chain;
	bool index_at_start;
};

/* One shard: how many inner chunks along each dimension, and what they and the index need. */
struct shard {
	const struct sharding_state *state;
	const struct zarr_array *array;
	uint64_t counts[ZARR_DIMS_MAX + 1]; /* and 2: the shape of the index */
	size_t n_inner;
	size_t inner_bytes;
	size_t index_bytes;  /* decoded */
	size_t index_stored; /* encoded */
	size_t strides[ZARR_DIMS_MAX];
	size_t inner_strides[ZARR_DIMS_MAX];
};

static void sharding_free(void *opaque)
{
	struct sharding_state *state = opaque;

	zarr_chain_free(state->chain);
	zarr_chain_free(state->index_chain);
	free(state);
}
DEFINE_CLEANUP(struct sharding_state *, sharding_free)

static int read_inner_shape(const struct json *configuration, size_t n_dims, uint64_t *inner,
			    struct error *err)
{
	struct json shape, key, item;
	size_t n = 0;

	if (json_get(configuration, "chunk_shape", &shape) != 0 || shape.type != JSON_ARRAY ||
	    json_count(&shape) != n_dims)
		return error_set(err, ERR_FORMAT, "chunk_shape is not a list of %zu sizes", n_dims);
	JSON_EACH (&shape, &key, item) {
		if (json_u64(&item, &inner[n], NULL) < 0 || inner[n] == 0)
			return error_set(err, ERR_FORMAT,
					 "chunk_shape holds something that is no size");
		n++;
	}
	return 0;
}

static int read_chains(const struct json *configuration, const struct zarr_array *array,
		       const struct zarr_registry *registry, struct sharding_state *state,
		       struct error *err)
{
	static const uint8_t none[8] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
	struct zarr_array index = {.type = {ZARR_UINT, 8, 8}, .n_dims = array->n_dims + 1};
	struct json codecs, index_codecs;
	int r;

	if (json_get(configuration, "codecs", &codecs) != 0 ||
	    json_get(configuration, "index_codecs", &index_codecs) != 0)
		return error_set(err, ERR_FORMAT, "there are no codecs or no index_codecs");
	if (index.n_dims > ZARR_DIMS_MAX)
		return error_set(err, ERR_UNSUPPORTED, "shards of %d dimensions", ZARR_DIMS_MAX);
	r = zarr_chain_make(&codecs, array, registry, &state->chain, err);
	if (r < 0)
		return r;
	index.fill = none;
	r = zarr_chain_make(&index_codecs, &index, registry, &state->index_chain, err);
	return r < 0 ? error_prefix(err, "index_codecs") : 0;
}

static int sharding_configure(const struct json *configuration, const struct zarr_array *array,
			      const struct zarr_registry *registry, void *context, void **ret_state,
			      struct error *err)
{
	CLEANUP(sharding_freep) struct sharding_state *state = calloc(1, sizeof(*state));
	struct json location;
	int r;

	(void)context;
	if (!state)
		return error_memory(err);
	if ((r = zarr_configuration_check(configuration, keys, err)) < 0 ||
	    (r = read_inner_shape(configuration, array->n_dims, state->inner, err)) < 0 ||
	    (r = read_chains(configuration, array, registry, state, err)) < 0)
		return r;
	if (json_get(configuration, "index_location", &location) == 0) {
		state->index_at_start = json_is_text(&location, "start");
		if (!state->index_at_start && !json_is_text(&location, "end"))
			return error_set(err, ERR_FORMAT,
					 "index_location is neither 'start' nor 'end'");
	}
	*ret_state = TAKE(state);
	return 0;
}

const char *zarr_sharding_unknown_codec(const void *opaque)
{
	const struct sharding_state *state = opaque;
	const char *unknown = zarr_chain_unknown_codec(state->chain);

	return unknown ? unknown : zarr_chain_unknown_codec(state->index_chain);
}

static int shard_init(struct shard *shard, const struct sharding_state *state,
		      const struct zarr_array *array, struct error *err)
{
	uint64_t stored;
	bool exact;
	int r;

	*shard = (struct shard){.state = state, .array = array};
	for (size_t d = 0; d < array->n_dims; d++) {
		if (array->shape[d] % state->inner[d] != 0)
			return error_set(err, ERR_FORMAT,
					 "chunk_shape: %ju does not divide the shard's %ju",
					 (uintmax_t)state->inner[d], (uintmax_t)array->shape[d]);
		shard->counts[d] = array->shape[d] / state->inner[d];
	}
	shard->counts[array->n_dims] = 2;
	r = zarr_chain_chunk_bytes(state->index_chain, shard->counts, &shard->index_bytes, err);
	if (r < 0)
		return r;
	r = zarr_chain_stored_size(state->index_chain, shard->counts, &stored, &exact, err);
	if (r < 0)
		return r;
	if (!exact)
		return error_set(err, ERR_FORMAT,
				 "index_codecs: the size of the index is not fixed");
	r = zarr_chain_chunk_bytes(state->chain, state->inner, &shard->inner_bytes, err);
	if (r < 0)
		return r;
	shard->index_stored = stored;
	shard->n_inner = shard->index_bytes / 16;
	zarr_strides(array->n_dims, array->shape, array->type.size, shard->strides);
	zarr_strides(array->n_dims, state->inner, array->type.size, shard->inner_strides);
	return 0;
}

static void sharding_encoded_size(const void *opaque, const struct zarr_array *array, uint64_t size,
				  uint64_t *ret_most, bool *ret_exact)
{
	const struct sharding_state *state = opaque;
	struct shard shard;
	uint64_t inner;
	bool exact;

	(void)size;
	*ret_exact = false;
	*ret_most = UINT64_MAX;
	if (shard_init(&shard, state, array, NULL) < 0 ||
	    zarr_chain_stored_size(state->chain, state->inner, &inner, &exact, NULL) < 0 ||
	    __builtin_mul_overflow(inner, shard.n_inner, &inner) ||
	    __builtin_add_overflow(inner, shard.index_stored, &inner))
		return;
	*ret_most = inner;
}

/* Where inner chunk @i begins in the decoded shard. */
static size_t inner_place(const struct shard *shard, size_t i)
{
	size_t place = 0;

	for (size_t d = shard->array->n_dims; d-- > 0;) {
		place += i % shard->counts[d] * shard->state->inner[d] * shard->strides[d];
		i /= shard->counts[d];
	}
	return place;
}

static int decode_index(const struct shard *shard, struct slice encoded, uint8_t **ret_index,
			struct error *err)
{
	CLEANUP(freep) uint8_t *index = NULL;
	size_t at;
	int r;

	/* The stored index is as large as the decoded one, or larger: no more is allocated than
	 * came. */
	if (encoded.size < shard->index_stored || shard->index_stored < shard->index_bytes)
		return error_set(err, ERR_FORMAT, "%zu bytes, the index alone has %zu",
				 encoded.size, shard->index_stored);
	index = malloc(shard->index_bytes + 1);
	if (!index)
		return error_memory(err);
	at = shard->state->index_at_start ? 0 : encoded.size - shard->index_stored;
	r = zarr_chain_decode(shard->state->index_chain, shard->counts,
			      slice_sub(encoded, at, shard->index_stored), index,
			      shard->index_bytes, err);
	if (r < 0)
		return error_prefix(err, "index");
	*ret_index = TAKE(index);
	return 0;
}

static uint64_t get_u64(const uint8_t *bytes)
{
	uint64_t value = 0;

	for (size_t i = 8; i-- > 0;)
		value = value << 8 | bytes[i];
	return value;
}

static void put_u64(uint8_t *bytes, uint64_t value)
{
	for (size_t i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(value >> 8 * i);
}

static int check_index(const struct shard *shard, const uint8_t *index, size_t stored,
		       struct error *err)
{
	uint64_t left = SHARED_FREE + SHARED_MOST * (uint64_t)stored;

	for (size_t i = 0; i < shard->n_inner; i++) {
		uint64_t offset = get_u64(index + 16 * i);
		uint64_t size = get_u64(index + 16 * i + 8);

		if (offset == UINT64_MAX && size == UINT64_MAX)
			continue;
		if (offset > stored || size > stored - offset)
			return error_set(err, ERR_FORMAT, "inner chunk %zu lies outside the shard",
					 i);
		if (size > left)
			return error_set(err, ERR_FORMAT, "the inner chunks overlap too often");
		left -= size;
	}
	return 0;
}

static int decode_inner(const struct shard *shard, size_t i, const uint8_t *entry,
			struct slice encoded, uint8_t *scratch, struct error *err)
{
	uint64_t offset = get_u64(entry);
	uint64_t size = get_u64(entry + 8);
	int r;

	if (offset == UINT64_MAX && size == UINT64_MAX) {
		zarr_fill_bytes(scratch, shard->inner_bytes, shard->array->fill,
				shard->array->type.size);
		return 0;
	}
	r = zarr_chain_decode(shard->state->chain, shard->state->inner,
			      slice_sub(encoded, offset, size), scratch, shard->inner_bytes, err);
	return r < 0 ? error_prefix(err, "inner chunk %zu", i) : 0;
}

static int sharding_decode(const void *state, const struct zarr_array *array, struct slice encoded,
			   uint8_t *out, size_t room, size_t *ret_size, struct error *err)
{
	CLEANUP(freep) uint8_t *index = NULL;
	CLEANUP(freep) uint8_t *scratch = NULL;
	struct shard shard;
	int r;

	r = shard_init(&shard, state, array, err);
	if (r < 0)
		return r;
	r = decode_index(&shard, encoded, &index, err);
	if (r < 0)
		return r;
	r = check_index(&shard, index, encoded.size, err);
	if (r < 0)
		return r;
	if (shard.n_inner > 0 && !(scratch = malloc(shard.inner_bytes + 1)))
		return error_memory(err);
	for (size_t i = 0; i < shard.n_inner; i++) {
		r = decode_inner(&shard, i, index + 16 * i, encoded, scratch, err);
		if (r < 0)
			return r;
		zarr_copy_strided(array->n_dims, shard.state->inner, array->type.size,
				  out + inner_place(&shard, i), shard.strides, scratch,
				  shard.inner_strides);
	}
	*ret_size = room;
	return 0;
}

static bool is_all_fill(const struct shard *shard, const uint8_t *bytes)
{
	size_t size = shard->array->type.size;

	if (memcmp(bytes, shard->array->fill, size) != 0)
		return false;
	return memcmp(bytes, bytes + size, shard->inner_bytes - size) == 0;
}

/* Appends inner chunk @i to @out and notes in @entry where; @base is where the shard begins. */
static int encode_inner(const struct shard *shard, size_t i, struct slice decoded, size_t base,
			uint8_t *scratch, uint8_t *entry, struct buf *out, struct error *err)
{
	size_t begin = out->size;
	int r;

	zarr_copy_strided(shard->array->n_dims, shard->state->inner, shard->array->type.size,
			  scratch, shard->inner_strides, decoded.data + inner_place(shard, i),
			  shard->strides);
	if (is_all_fill(shard, scratch)) {
		memset(entry, 0xff, 16);
		return 0;
	}
	r = zarr_chain_encode(shard->state->chain, shard->state->inner,
			      slice_of(scratch, shard->inner_bytes), out, err);
	if (r < 0)
		return error_prefix(err, "inner chunk %zu", i);
	put_u64(entry, begin - base);
	put_u64(entry + 8, out->size - begin);
	return 0;
}

static int sharding_encode(const void *state, const struct zarr_array *array, struct slice decoded,
			   struct buf *out, struct error *err)
{
	CLEANUP(buf_done) struct buf index = BUF_INIT(BUF_NO_LIMIT);
	CLEANUP(freep) uint8_t *entries = NULL;
	CLEANUP(freep) uint8_t *scratch = NULL;
	size_t base = out->size;
	struct shard shard;
	uint8_t *room;
	int r;

	r = shard_init(&shard, state, array, err);
	if (r < 0)
		return r;
	entries = malloc(shard.index_bytes + 1);
	if (!entries || (shard.n_inner > 0 && !(scratch = malloc(shard.inner_bytes + 1))))
		return error_memory(err);
	if (shard.state->index_at_start) {
		r = buf_extend(out, shard.index_stored, &room, err);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < shard.n_inner; i++) {
		r = encode_inner(&shard, i, decoded, base, scratch, entries + 16 * i, out, err);
		if (r < 0)
			return r;
	}
	r = zarr_chain_encode(shard.state->index_chain, shard.counts,
			      slice_of(entries, shard.index_bytes), &index, err);
	if (r < 0)
		return error_prefix(err, "index");
	if (!shard.state->index_at_start)
		return buf_append_slice(out, buf_slice(&index), err);
	memcpy(out->data + base, index.data, shard.index_stored);
	return 0;
}

const struct zarr_codec_ops zarr_codec_sharding = {
	.name = "sharding_indexed",
	.kind = ZARR_ARRAY_TO_BYTES,
	.configure = sharding_configure,
	.free = sharding_free,
	.encoded_size = sharding_encoded_size,
	.decode = sharding_decode,
	.encode = sharding_encode,
};
