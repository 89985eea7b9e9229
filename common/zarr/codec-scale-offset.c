/* SPDX-License-Identifier: Apache-2.0 */

/*
 * "scale_offset": encoded = (value - offset) * scale, decoded = value / scale + offset
 *
 * Each step is done and rounded in the array's own data type.  Of integers a value that has to be
 * rounded or does not fit is an error.  Source: zarr-extensions, codecs/scale_offset.
 */

#include <stdlib.h>

#include "zarr/chain.h"
#include "zarr/half.h"

__extension__ typedef __int128 wide;

static const char *const keys[] = {"offset", "scale", NULL};

/* A number of the array's type, in whichever form the type computes in. */
struct number {
	double real;
	float single;
	wide whole;
};

struct scale_state {
	struct number scale, offset;
	uint8_t fill[8]; /* the fill value, encoded */
};

static wide load_whole(const struct zarr_type *type, const uint8_t *bytes)
{
	uint64_t bits = 0;
	unsigned int unused = 64 - 8 * type->size;

	memcpy(&bits, bytes, type->size);
	if (type->kind == ZARR_UINT)
		return bits;
	return (int64_t)(bits << unused) >> unused;
}

static bool store_whole(const struct zarr_type *type, wide value, uint8_t *bytes)
{
	wide most = ((wide)1 << (8 * type->size - (type->kind == ZARR_INT))) - 1;
	wide least = type->kind == ZARR_INT ? -most - 1 : 0;
	uint64_t bits = (uint64_t)value;

	if (value < least || value > most)
		return false;
	memcpy(bytes, &bits, type->size);
	return true;
}

static struct number load_number(const struct zarr_type *type, const uint8_t *bytes)
{
	struct number number = {0};
	uint16_t half;

	if (type->kind != ZARR_FLOAT) {
		number.whole = load_whole(type, bytes);
	} else if (type->size == 8) {
		memcpy(&number.real, bytes, 8);
	} else if (type->size == 4) {
		memcpy(&number.single, bytes, 4);
	} else {
		memcpy(&half, bytes, 2);
		number.real = zarr_half_value(half);
	}
	return number;
}

/* The member in the array's type; @otherwise without one. */
static int read_number(const struct json *configuration, const char *name,
		       const struct zarr_type *type, const char *otherwise,
		       struct number *ret_number, struct error *err)
{
	struct json value = {JSON_NUMBER, slice_text(otherwise)};
	uint8_t bytes[8] = {0};

	json_get(configuration, name, &value);
	if (zarr_fill_parse(type, &value, bytes, NULL) < 0)
		return error_set(err, ERR_FORMAT, "%s %.*s is not a number of the array's type",
				 name, (int)value.span.size, (const char *)value.span.data);
	*ret_number = load_number(type, bytes);
	return 0;
}

static double half_round(double value)
{
	return zarr_half_value(zarr_half_bits(value));
}

static int decode_whole(const struct scale_state *state, const struct zarr_type *type,
			const uint8_t *in, uint8_t *out, struct error *err)
{
	wide value = load_whole(type, in);

	if (value % state->scale.whole != 0)
		return error_set(err, ERR_FORMAT, "a value is no multiple of the scale");
	if (!store_whole(type, value / state->scale.whole + state->offset.whole, out))
		return error_set(err, ERR_FORMAT, "a value does not fit the array's type");
	return 0;
}

static int encode_whole(const struct scale_state *state, const struct zarr_type *type,
			const uint8_t *in, uint8_t *out, struct error *err)
{
	wide value = load_whole(type, in) - state->offset.whole;

	if (__builtin_mul_overflow(value, state->scale.whole, &value) ||
	    !store_whole(type, value, out))
		return error_set(err, ERR_FORMAT, "a value does not fit the array's type");
	return 0;
}

/* @out may be @in.  Dividing by 1 changes no bit and is left out. */
static void decode_double(double scale, double offset, const uint8_t *in, uint8_t *out, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		double value;

		memcpy(&value, in + i * sizeof(value), sizeof(value));
		value = (scale == 1.0 ? value : value / scale) + offset;
		memcpy(out + i * sizeof(value), &value, sizeof(value));
	}
}

static void decode_float(float scale, float offset, const uint8_t *in, uint8_t *out, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		float value;

		memcpy(&value, in + i * sizeof(value), sizeof(value));
		value = (scale == 1.0F ? value : value / scale) + offset;
		memcpy(out + i * sizeof(value), &value, sizeof(value));
	}
}

static void decode_half(double scale, double offset, const uint8_t *in, uint8_t *out, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint16_t bits;

		memcpy(&bits, in + i * sizeof(bits), sizeof(bits));
		bits = zarr_half_bits(half_round(zarr_half_value(bits) / scale) + offset);
		memcpy(out + i * sizeof(bits), &bits, sizeof(bits));
	}
}

static int scale_decode(const void *opaque, const struct zarr_array *array, struct slice encoded,
			uint8_t *out, size_t room, size_t *ret_size, struct error *err)
{
	const struct scale_state *state = opaque;
	const struct zarr_type *type = &array->type;
	size_t n = room / type->size;

	if (encoded.size != room)
		return error_set(err, ERR_FORMAT, "%zu bytes, a chunk has %zu", encoded.size, room);
	*ret_size = room;
	if (type->kind == ZARR_FLOAT) {
		if (type->size == 8)
			decode_double(state->scale.real, state->offset.real, encoded.data, out, n);
		else if (type->size == 4)
			decode_float(state->scale.single, state->offset.single, encoded.data, out,
				     n);
		else
			decode_half(state->scale.real, state->offset.real, encoded.data, out, n);
		return 0;
	}
	for (size_t i = 0; i < n; i++) {
		size_t at = i * type->size;
		int r = decode_whole(state, type, encoded.data + at, out + at, err);

		if (r < 0)
			return r;
	}
	return 0;
}

static int encode_one(const struct scale_state *state, const struct zarr_type *type,
		      const uint8_t *in, uint8_t *out, struct error *err)
{
	struct number number = load_number(type, in);
	uint16_t half;

	if (type->kind != ZARR_FLOAT)
		return encode_whole(state, type, in, out, err);
	if (type->size == 8) {
		number.real = (number.real - state->offset.real) * state->scale.real;
		memcpy(out, &number.real, 8);
	} else if (type->size == 4) {
		number.single = (number.single - state->offset.single) * state->scale.single;
		memcpy(out, &number.single, 4);
	} else {
		number.real = half_round(number.real - state->offset.real) * state->scale.real;
		half = zarr_half_bits(number.real);
		memcpy(out, &half, 2);
	}
	return 0;
}

static int scale_encode(const void *opaque, const struct zarr_array *array, struct slice decoded,
			struct buf *out, struct error *err)
{
	size_t step = array->type.size;
	uint8_t *to;
	int r;

	r = buf_extend(out, decoded.size, &to, err);
	for (size_t at = 0; r == 0 && at < decoded.size; at += step)
		r = encode_one(opaque, &array->type, decoded.data + at, to + at, err);
	return r;
}

static bool is_zero(const struct zarr_type *type, const struct number *number)
{
	if (type->kind != ZARR_FLOAT)
		return number->whole == 0;
	return type->size == 4 ? number->single == 0.0F : number->real == 0.0;
}

static int scale_configure(const struct json *configuration, const struct zarr_array *array,
			   const struct zarr_registry *registry, void *context, void **ret_state,
			   struct error *err)
{
	CLEANUP(freep) struct scale_state *state = calloc(1, sizeof(*state));
	const struct zarr_type *type = &array->type;
	int r;

	(void)registry;
	(void)context;
	if (!state)
		return error_memory(err);
	if (type->kind != ZARR_INT && type->kind != ZARR_UINT && type->kind != ZARR_FLOAT)
		return error_set(err, ERR_FORMAT, "the array is not one of numbers");
	if ((r = zarr_configuration_check(configuration, keys, err)) < 0 ||
	    (r = read_number(configuration, "scale", type, "1", &state->scale, err)) < 0 ||
	    (r = read_number(configuration, "offset", type, "0", &state->offset, err)) < 0)
		return r;
	if (is_zero(type, &state->scale))
		return error_set(err, ERR_FORMAT, "the scale is zero");
	r = encode_one(state, type, array->fill, state->fill, err);
	if (r < 0)
		return error_prefix(err, "fill_value");
	*ret_state = TAKE(state);
	return 0;
}

/* Only the fill value differs; it matters where shards stand behind this codec. */
static void scale_encoded_array(const void *opaque, const struct zarr_array *decoded,
				struct zarr_array *ret_encoded)
{
	const struct scale_state *state = opaque;

	*ret_encoded = *decoded;
	ret_encoded->fill = state->fill;
}

const struct zarr_codec_ops zarr_codec_scale_offset = {
	.name = "scale_offset",
	.kind = ZARR_ARRAY_TO_ARRAY,
	.in_place = true,
	.configure = scale_configure,
	.free = free,
	.encoded_array = scale_encoded_array,
	.decode = scale_decode,
	.encode = scale_encode,
};
