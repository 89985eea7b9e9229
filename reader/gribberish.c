/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/gribberish.h"

#include <stdlib.h>

#include "base/time.h"

struct gribberish_state {
	struct gribberish_context *context;
	struct grib_decode_options options;
};

static int gribberish_member(struct gribberish_state *state, const struct json *key,
			     const struct json *value, struct error *err)
{
	CLEANUP(freep) char *text = NULL;
	int r;

	if (json_is_text(key, "north_up"))
		return json_bool(value, &state->options.north_up, err);
	if (json_is_text(key, "adjust_longitude_range"))
		return json_bool(value, &state->options.adjust_longitude_range, err);
	if (!json_is_text(key, "var"))
		return error_set(err, ERR_FORMAT, "unknown member %.*s", (int)key->span.size,
				 (const char *)key->span.data);
	if (value->type == JSON_NULL)
		return 0;
	r = json_dup(value, &text, err);
	if (r < 0)
		return r;
	state->options.var = grib_var_from_text(text);
	return 0;
}

static int gribberish_type(const struct zarr_type *type, enum grib_type *ret_type,
			   struct error *err)
{
	if (type->kind != ZARR_FLOAT || (type->size != 4 && type->size != 8))
		return error_set(err, ERR_UNSUPPORTED,
				 "gribberish gives float32 or float64, not this data type");
	*ret_type = type->size == 4 ? GRIB_F32 : GRIB_F64;
	return 0;
}

static int gribberish_configure(const struct json *configuration, const struct zarr_array *array,
				const struct zarr_registry *registry, void *context,
				void **ret_state, struct error *err)
{
	CLEANUP(freep) struct gribberish_state *state = calloc(1, sizeof(*state));
	struct json key, value;
	int r;

	(void)registry;
	if (!state)
		return error_memory(err);
	state->context = context;
	state->options.mode = state->context->mode;
	r = gribberish_type(&array->type, &state->options.type, err);
	if (r < 0)
		return r;
	JSON_EACH (configuration, &key, value) {
		r = gribberish_member(state, &key, &value, err);
		if (r < 0)
			return r;
	}
	*ret_state = TAKE(state);
	return 0;
}

/*
 * The size of a message says nothing about that of its field; but no packing takes more than four
 * octets a point and one bit of a bitmap, and headers are small.  Bounds what compressors behind
 * this codec may inflate to.
 */
#define MESSAGE_HEADERS_MAX (UINT64_C(1) << 20)

static void gribberish_encoded_size(const void *state, const struct zarr_array *array,
				    uint64_t size, uint64_t *ret_most, bool *ret_exact)
{
	(void)state;
	(void)array;
	if (__builtin_mul_overflow(size, UINT64_C(2), ret_most) ||
	    __builtin_add_overflow(*ret_most, MESSAGE_HEADERS_MAX, ret_most))
		*ret_most = UINT64_MAX;
	*ret_exact = false;
}

static int gribberish_decode(const void *opaque, const struct zarr_array *array,
			     struct slice encoded, uint8_t *out, size_t room, size_t *ret_size,
			     struct error *err)
{
	const struct gribberish_state *state = opaque;
	struct gribberish_context *context = state->context;
	size_t n = room / grib_type_size(state->options.type);
	int r;

	(void)array;
	atomic_fetch_add(&context->decodes, 1);
	if (context->workers)
		r = grib_workers_decode(context->workers, encoded, &state->options,
					time_monotonic() + (int64_t)context->timeout_ms * 1000, out,
					n, err);
	else
		r = grib_decode(encoded, &state->options, out, n, err);
	if (r < 0)
		return r;
	*ret_size = room;
	return 0;
}

const struct zarr_codec_ops gribberish_codec = {
	.name = "gribberish",
	.kind = ZARR_ARRAY_TO_BYTES,
	.configure = gribberish_configure,
	.free = free,
	.encoded_size = gribberish_encoded_size,
	.decode = gribberish_decode,
};
