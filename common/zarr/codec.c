/* SPDX-License-Identifier: Apache-2.0 */
#include "zarr/codec.h"

#include <stdlib.h>

#include "zarr/chain.h"

static const struct zarr_codec_ops *const core_codecs[] = {
	&zarr_codec_blosc,	  &zarr_codec_bytes,	&zarr_codec_crc32c,    &zarr_codec_gzip,
	&zarr_codec_scale_offset, &zarr_codec_sharding, &zarr_codec_transpose, &zarr_codec_zstd,
};

struct link {
	const struct zarr_codec_ops *ops;
	void *state;
};

struct zarr_chain {
	struct zarr_array array; /* as decoded; the shape is filled in for each chunk */
	uint8_t *fill;		 /* owned */
	char *unknown_codec;	 /* owned; then there are no links behind it */
	size_t n_arrays;	 /* links before the one that makes bytes */
	size_t n;
	struct link links[];
};

/*
 * What stands at each place of a chain for one chunk: place 0 is the decoded array, place i what
 * codec i-1 gives.
 */
struct place {
	struct zarr_array array; /* up to place n_arrays */
	uint64_t most;
	bool exact;
};

static const struct zarr_codec_ops *find_codec(struct slice name,
					       const struct zarr_registry *registry,
					       void **ret_context)
{
	*ret_context = NULL;
	for (size_t i = 0; registry && i < registry->n; i++) {
		if (!slice_is(name, registry->codecs[i].ops->name))
			continue;
		*ret_context = registry->codecs[i].context;
		return registry->codecs[i].ops;
	}
	for (size_t i = 0; i < ARRAY_LEN(core_codecs); i++)
		if (slice_is(name, core_codecs[i]->name))
			return core_codecs[i];
	return NULL;
}

/* Array to array, then one array to bytes, then bytes to bytes. */
static int check_order(const struct zarr_chain *chain, const struct zarr_codec_ops *next,
		       struct error *err)
{
	bool has_bytes = chain->n > chain->n_arrays;

	if (has_bytes && next->kind != ZARR_BYTES_TO_BYTES)
		return error_set(err, ERR_FORMAT, "codecs: '%s' stands behind '%s'", next->name,
				 chain->links[chain->n - 1].ops->name);
	if (!has_bytes && next->kind == ZARR_BYTES_TO_BYTES)
		return error_set(err, ERR_FORMAT,
				 "codecs: '%s' has no codec before it that gives bytes",
				 next->name);
	return 0;
}

static int note_unknown(struct zarr_chain *chain, struct slice name, struct error *err)
{
	chain->unknown_codec = slice_dup(name, err);
	return chain->unknown_codec ? 0 : ERR_MEMORY;
}

/* Adds the codec that @entry names.  @array is what stands before it and is moved on behind it. */
static int add_link(struct zarr_chain *chain, const struct json *entry, struct zarr_array *array,
		    const struct zarr_registry *registry, struct error *err)
{
	struct link *link = &chain->links[chain->n];
	struct zarr_array before = *array;
	struct json configuration;
	struct slice name;
	const char *inner;
	void *context;
	int r;

	r = zarr_extension_parse(entry, &name, &configuration, err);
	if (r < 0)
		return error_prefix(err, "codecs");
	link->ops = find_codec(name, registry, &context);
	if (!link->ops)
		return note_unknown(chain, name, err);
	r = check_order(chain, link->ops, err);
	if (r < 0)
		return r;
	r = link->ops->configure(&configuration, array, registry, context, &link->state, err);
	if (r < 0)
		return error_prefix(err, "codec '%s'", link->ops->name);

	chain->n++;
	if (link->ops->kind == ZARR_ARRAY_TO_ARRAY) {
		chain->n_arrays++;
		if (link->ops->encoded_array)
			link->ops->encoded_array(link->state, &before, array);
	}
	inner = link->ops == &zarr_codec_sharding ? zarr_sharding_unknown_codec(link->state) : NULL;
	return inner ? note_unknown(chain, slice_text(inner), err) : 0;
}

static int chain_alloc(const struct zarr_array *array, size_t n, struct zarr_chain **ret_chain,
		       struct error *err)
{
	struct zarr_chain *chain = calloc(1, sizeof(*chain) + n * sizeof(struct link));

	if (!chain)
		return error_memory(err);
	chain->array = *array;
	chain->fill = malloc(array->type.size);
	if (!chain->fill) {
		free(chain);
		return error_memory(err);
	}
	memcpy(chain->fill, array->fill, array->type.size);
	chain->array.fill = chain->fill;
	*ret_chain = chain;
	return 0;
}

int zarr_chain_make(const struct json *codecs, const struct zarr_array *array,
		    const struct zarr_registry *registry, struct zarr_chain **ret_chain,
		    struct error *err)
{
	CLEANUP(zarr_chain_freep) struct zarr_chain *chain = NULL;
	struct zarr_array at;
	struct json key, entry;
	int r;

	if (codecs->type != JSON_ARRAY)
		return error_set(err, ERR_FORMAT, "codecs is not a list");
	r = chain_alloc(array, json_count(codecs), &chain, err);
	if (r < 0)
		return r;
	at = chain->array;
	JSON_EACH (codecs, &key, entry) {
		r = add_link(chain, &entry, &at, registry, err);
		if (r < 0)
			return r;
		if (chain->unknown_codec)
			break;
	}
	if (!chain->unknown_codec && chain->n == chain->n_arrays)
		return error_set(err, ERR_FORMAT, "codecs: none of them gives bytes");
	*ret_chain = TAKE(chain);
	return 0;
}

int zarr_chain_new(const struct zarr_metadata *metadata, const struct zarr_registry *registry,
		   struct zarr_chain **ret_chain, struct error *err)
{
	CLEANUP(freep) uint8_t *fill = NULL;
	struct zarr_array array = {.type = metadata->type, .n_dims = metadata->grid.n_dims};
	int r;

	r = zarr_metadata_check(metadata, err);
	if (r < 0)
		return r;
	fill = malloc(array.type.size);
	if (!fill)
		return error_memory(err);
	r = zarr_metadata_fill(metadata, fill, err);
	if (r < 0)
		return r;
	array.fill = fill;
	return zarr_chain_make(&metadata->codecs, &array, registry, ret_chain, err);
}

struct zarr_chain *zarr_chain_free(struct zarr_chain *chain)
{
	if (!chain)
		return NULL;
	for (size_t i = 0; i < chain->n; i++)
		if (chain->links[i].state && chain->links[i].ops->free)
			chain->links[i].ops->free(chain->links[i].state);
	free(chain->unknown_codec);
	free(chain->fill);
	free(chain);
	return NULL;
}

const char *zarr_chain_unknown_codec(const struct zarr_chain *chain)
{
	return chain->unknown_codec;
}

int zarr_chain_chunk_bytes(const struct zarr_chain *chain, const uint64_t *chunk_shape,
			   size_t *ret_bytes, struct error *err)
{
	return zarr_shape_bytes(chain->array.n_dims, chunk_shape, chain->array.type.size, ret_bytes,
				err);
}

static int refuse_unknown(const struct zarr_chain *chain, struct error *err)
{
	if (!chain->unknown_codec)
		return 0;
	return error_set(err, ERR_UNSUPPORTED, "codec '%s' is not known", chain->unknown_codec);
}

/* Works out what stands at place @i from place @i - 1. */
static int next_place(const struct link *link, const struct place *before, struct place *place,
		      struct error *err)
{
	const struct zarr_codec_ops *ops = link->ops;
	const struct zarr_array *array = ops->kind == ZARR_BYTES_TO_BYTES ? NULL : &before->array;
	size_t bytes;
	int r;

	place->exact = true;
	if (ops->kind != ZARR_ARRAY_TO_ARRAY) {
		ops->encoded_size(link->state, array, before->most, &place->most, &place->exact);
		place->exact = place->exact && before->exact;
		return 0;
	}
	place->array = before->array;
	if (ops->encoded_array)
		ops->encoded_array(link->state, &before->array, &place->array);
	r = zarr_shape_bytes(place->array.n_dims, place->array.shape, place->array.type.size,
			     &bytes, err);
	place->most = bytes;
	return r < 0 ? r : 0;
}

/* All n + 1 places; the caller frees them. */
static int chain_places(const struct zarr_chain *chain, const uint64_t *chunk_shape,
			struct place **ret_places, struct error *err)
{
	CLEANUP(freep) struct place *places = calloc(chain->n + 1, sizeof(*places));
	size_t bytes;
	int r;

	if (!places)
		return error_memory(err);
	r = zarr_chain_chunk_bytes(chain, chunk_shape, &bytes, err);
	if (r < 0)
		return r;
	places[0] = (struct place){.array = chain->array, .most = bytes, .exact = true};
	/* A scalar's shape may be NULL. */
	if (chain->array.n_dims)
		memcpy(places[0].array.shape, chunk_shape,
		       chain->array.n_dims * sizeof(*chunk_shape));
	for (size_t i = 0; i < chain->n; i++) {
		r = next_place(&chain->links[i], &places[i], &places[i + 1], err);
		if (r < 0)
			return r;
	}
	*ret_places = TAKE(places);
	return 0;
}

int zarr_chain_stored_size(const struct zarr_chain *chain, const uint64_t *chunk_shape,
			   uint64_t *ret_most, bool *ret_exact, struct error *err)
{
	CLEANUP(freep) struct place *places = NULL;
	int r;

	r = chain_places(chain, chunk_shape, &places, err);
	if (r < 0)
		return r;
	*ret_most = places[chain->n].most;
	*ret_exact = places[chain->n].exact;
	return 0;
}

/* Undoes codec @i: @encoded, at place i + 1, becomes place i at @out. */
static int decode_link(const struct zarr_chain *chain, size_t i, const struct place *place,
		       struct slice encoded, uint8_t *out, size_t *ret_size, struct error *err)
{
	const struct link *link = &chain->links[i];
	const struct zarr_array *array = i <= chain->n_arrays ? &place->array : NULL;
	int r;

	r = link->ops->decode(link->state, array, encoded, out, place->most, ret_size, err);
	if (r < 0)
		return error_prefix(err, "codec '%s'", link->ops->name);
	if (place->exact && *ret_size != place->most)
		return error_set(err, ERR_FORMAT, "codec '%s': %zu bytes, not %ju", link->ops->name,
				 *ret_size, (uintmax_t)place->most);
	return 0;
}

/* How many codecs at the front of the chain work in place: what they read may lie in the result. */
static size_t in_place_front(const struct zarr_chain *chain)
{
	size_t n = 0;

	while (n < chain->n && chain->links[n].ops->in_place)
		n++;
	return n;
}

int zarr_chain_decode(const struct zarr_chain *chain, const uint64_t *chunk_shape,
		      struct slice stored, uint8_t *out, size_t size, struct error *err)
{
	CLEANUP(freep) struct place *places = NULL;
	CLEANUP(freep) uint8_t *held = NULL; /* where @at points to, unless to @stored or @out */
	struct slice at = stored;
	size_t front = in_place_front(chain);
	int r;

	r = refuse_unknown(chain, err);
	if (r < 0)
		return r;
	r = chain_places(chain, chunk_shape, &places, err);
	if (r < 0)
		return r;
	if (places[0].most != size)
		return error_set(err, ERR_ARGUMENT, "a chunk has %ju bytes, not %zu",
				 (uintmax_t)places[0].most, size);

	for (size_t i = chain->n; i-- > 0;) {
		CLEANUP(freep) uint8_t *fresh = NULL;
		uint8_t *to = out;
		size_t n;

		if (i > front) {
			to = fresh = places[i].most < SIZE_MAX ? malloc(places[i].most + 1) : NULL;
			if (!fresh)
				return error_memory(err);
		}
		r = decode_link(chain, i, &places[i], at, to, &n, err);
		if (r < 0)
			return r;
		free(held);
		held = TAKE(fresh);
		at = slice_of(to, n);
	}
	return 0;
}

int zarr_chain_encode(const struct zarr_chain *chain, const uint64_t *chunk_shape,
		      struct slice decoded, struct buf *out, struct error *err)
{
	CLEANUP(freep) struct place *places = NULL;
	CLEANUP(buf_done) struct buf held = BUF_INIT(BUF_NO_LIMIT);
	int r;

	r = refuse_unknown(chain, err);
	if (r < 0)
		return r;
	r = chain_places(chain, chunk_shape, &places, err);
	if (r < 0)
		return r;
	if (places[0].most != decoded.size)
		return error_set(err, ERR_ARGUMENT, "a chunk has %ju bytes, not %zu",
				 (uintmax_t)places[0].most, decoded.size);

	for (size_t i = 0; i < chain->n; i++) {
		CLEANUP(buf_done) struct buf next = BUF_INIT(BUF_NO_LIMIT);
		const struct link *link = &chain->links[i];
		const struct zarr_array *array = i <= chain->n_arrays ? &places[i].array : NULL;
		bool is_last = i + 1 == chain->n;

		if (!link->ops->encode)
			return error_set(err, ERR_UNSUPPORTED, "codec '%s' only reads",
					 link->ops->name);
		r = link->ops->encode(link->state, array, i == 0 ? decoded : buf_slice(&held),
				      is_last ? out : &next, err);
		if (r < 0)
			return error_prefix(err, "codec '%s'", link->ops->name);
		buf_done(&held);
		held = next;
		next = BUF_INIT(BUF_NO_LIMIT);
	}
	return 0;
}
