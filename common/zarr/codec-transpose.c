/* SPDX-License-Identifier: Apache-2.0 */

/*
 * "transpose": dimension j of the encoded array is dimension order[j] of the decoded one
 */

#include <stdlib.h>

#include "zarr/chain.h"

static const char *const keys[] = {"order", NULL};

struct transpose_state {
	size_t n_dims;
	uint8_t order[ZARR_DIMS_MAX];
};

static int read_order(const struct json *order, struct transpose_state *state, struct error *err)
{
	bool seen[ZARR_DIMS_MAX] = {false};
	struct json key, item;
	size_t n = 0;
	uint64_t d;

	if (order->type != JSON_ARRAY || json_count(order) != state->n_dims)
		return error_set(err, ERR_FORMAT, "order is not a list of %zu dimensions",
				 state->n_dims);
	JSON_EACH (order, &key, item) {
		if (json_u64(&item, &d, NULL) < 0 || d >= state->n_dims || seen[d])
			return error_set(err, ERR_FORMAT,
					 "order does not name each dimension once");
		seen[d] = true;
		state->order[n++] = (uint8_t)d;
	}
	return 0;
}

static int transpose_configure(const struct json *configuration, const struct zarr_array *array,
			       const struct zarr_registry *registry, void *context,
			       void **ret_state, struct error *err)
{
	CLEANUP(freep) struct transpose_state *state = calloc(1, sizeof(*state));
	struct json order;
	int r;

	(void)registry;
	(void)context;
	if (!state)
		return error_memory(err);
	state->n_dims = array->n_dims;
	r = zarr_configuration_check(configuration, keys, err);
	if (r < 0)
		return r;
	if (json_get(configuration, "order", &order) != 0)
		return error_set(err, ERR_FORMAT, "there is no order");
	r = read_order(&order, state, err);
	if (r < 0)
		return r;
	*ret_state = TAKE(state);
	return 0;
}

static void transpose_encoded_array(const void *opaque, const struct zarr_array *decoded,
				    struct zarr_array *ret_encoded)
{
	const struct transpose_state *state = opaque;

	*ret_encoded = *decoded;
	for (size_t j = 0; j < state->n_dims; j++)
		ret_encoded->shape[j] = decoded->shape[state->order[j]];
}

/* Distances in the encoded array between neighbours along each dimension of the decoded one. */
static void encoded_strides(const struct transpose_state *state, const struct zarr_array *decoded,
			    size_t *ret_strides)
{
	size_t strides[ZARR_DIMS_MAX];
	struct zarr_array encoded;

	transpose_encoded_array(state, decoded, &encoded);
	zarr_strides(encoded.n_dims, encoded.shape, encoded.type.size, strides);
	for (size_t j = 0; j < state->n_dims; j++)
		ret_strides[state->order[j]] = strides[j];
}

static int transpose_decode(const void *state, const struct zarr_array *array, struct slice encoded,
			    uint8_t *out, size_t room, size_t *ret_size, struct error *err)
{
	size_t to[ZARR_DIMS_MAX], from[ZARR_DIMS_MAX];

	if (encoded.size != room)
		return error_set(err, ERR_FORMAT, "%zu bytes, a chunk has %zu", encoded.size, room);
	zarr_strides(array->n_dims, array->shape, array->type.size, to);
	encoded_strides(state, array, from);
	if (room > 0)
		zarr_copy_strided(array->n_dims, array->shape, array->type.size, out, to,
				  encoded.data, from);
	*ret_size = room;
	return 0;
}

static int transpose_encode(const void *state, const struct zarr_array *array, struct slice decoded,
			    struct buf *out, struct error *err)
{
	size_t to[ZARR_DIMS_MAX], from[ZARR_DIMS_MAX];
	uint8_t *bytes;
	int r;

	r = buf_extend(out, decoded.size, &bytes, err);
	if (r < 0)
		return r;
	zarr_strides(array->n_dims, array->shape, array->type.size, from);
	encoded_strides(state, array, to);
	if (decoded.size > 0)
		zarr_copy_strided(array->n_dims, array->shape, array->type.size, bytes, to,
				  decoded.data, from);
	return 0;
}

const struct zarr_codec_ops zarr_codec_transpose = {
	.name = "transpose",
	.kind = ZARR_ARRAY_TO_ARRAY,
	.configure = transpose_configure,
	.free = free,
	.encoded_array = transpose_encoded_array,
	.decode = transpose_decode,
	.encode = transpose_encode,
};
