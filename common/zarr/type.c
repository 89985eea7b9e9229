/* SPDX-License-Identifier: Apache-2.0 */
#include "zarr/type.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/text.h"
#include "zarr/half.h"
#include "zarr/metadata.h"
#include "zarr/utf8.h"

static const struct {
	const char *name;
	struct zarr_type type;
} known_types[] = {
	{"bool", {ZARR_BOOL, 1, 1}},
	{"int8", {ZARR_INT, 1, 1}},
	{"int16", {ZARR_INT, 2, 2}},
	{"int32", {ZARR_INT, 4, 4}},
	{"int64", {ZARR_INT, 8, 8}},
	{"uint8", {ZARR_UINT, 1, 1}},
	{"uint16", {ZARR_UINT, 2, 2}},
	{"uint32", {ZARR_UINT, 4, 4}},
	{"uint64", {ZARR_UINT, 8, 8}},
	{"float16", {ZARR_FLOAT, 2, 2}},
	{"float32", {ZARR_FLOAT, 4, 4}},
	{"float64", {ZARR_FLOAT, 8, 8}},
	{"complex64", {ZARR_COMPLEX, 8, 4}},
	{"complex128", {ZARR_COMPLEX, 16, 8}},
	{"numpy.datetime64", {ZARR_TIME, 8, 8}},
	{"numpy.timedelta64", {ZARR_TIME, 8, 8}},
};

/* Types whose configuration says how long they are. */
static const struct {
	const char *name;
	enum zarr_kind kind;
	uint32_t unit;
} sized_types[] = {
	{"raw_bytes", ZARR_RAW, 1},
	{"null_terminated_bytes", ZARR_RAW, 1},
	{"fixed_length_utf32", ZARR_UTF32, 4},
};

/* "r16" is two raw bytes. */
static bool raw_type(struct slice name, struct zarr_type *ret_type)
{
	uint64_t bits;

	if (name.size < 2 || name.data[0] != 'r' || name.data[1] == '0')
		return false;
	if (text_u64(slice_sub(name, 1, name.size), &bits, NULL) < 0)
		return false;
	if (bits == 0 || bits % 8 != 0 || bits / 8 > ZARR_TYPE_SIZE_MAX)
		return false;
	*ret_type = (struct zarr_type){ZARR_RAW, (uint32_t)(bits / 8), 1};
	return true;
}

static bool sized_type(struct slice name, const struct json *configuration,
		       struct zarr_type *ret_type)
{
	struct json length;
	uint64_t size;

	for (size_t i = 0; i < ARRAY_LEN(sized_types); i++) {
		if (!slice_is(name, sized_types[i].name))
			continue;
		if (!zarr_has(configuration) ||
		    json_get(configuration, "length_bytes", &length) != 0 ||
		    json_u64(&length, &size, NULL) < 0)
			return false;
		if (size == 0 || size > ZARR_TYPE_SIZE_MAX || size % sized_types[i].unit != 0)
			return false;
		*ret_type = (struct zarr_type){sized_types[i].kind, (uint32_t)size,
					       sized_types[i].unit};
		return true;
	}
	return false;
}

int zarr_type_parse(const struct json *data_type, struct zarr_type *ret_type, struct error *err)
{
	struct json configuration;
	struct zarr_type type = {0};
	struct slice name;
	int r;

	r = zarr_extension_parse(data_type, &name, &configuration, err);
	if (r < 0)
		return error_prefix(err, "data_type");

	for (size_t i = 0; i < ARRAY_LEN(known_types); i++)
		if (slice_is(name, known_types[i].name))
			type = known_types[i].type;
	if (type.size == 0 && !raw_type(name, &type))
		sized_type(name, &configuration, &type);

	*ret_type = type;
	return 0;
}

static void put_bits(uint8_t *out, uint64_t bits, size_t size)
{
	for (size_t i = 0; i < size; i++)
		out[i] = (uint8_t)(bits >> 8 * i);
}

static void put_float(uint8_t *out, double value, size_t size)
{
	float single = (float)value;
	uint32_t bits32;
	uint64_t bits64;

	if (size == 2) {
		put_bits(out, zarr_half_bits(value), size);
	} else if (size == 4) {
		memcpy(&bits32, &single, sizeof(bits32));
		put_bits(out, isnan(value) ? 0x7fc00000 : bits32, size);
	} else {
		memcpy(&bits64, &value, sizeof(bits64));
		put_bits(out, isnan(value) ? UINT64_C(0x7ff8000000000000) : bits64, size);
	}
}

static int bad_fill(const struct json *value, const char *wanted, struct error *err)
{
	return error_set(err, ERR_FORMAT, "fill_value %.*s is not %s",
			 (int)(value->span.size < 60 ? value->span.size : 60),
			 (const char *)value->span.data, wanted);
}

/* "0x7fc00000" with exactly the digits of the type. */
static int fill_hex(const struct json *value, uint8_t *out, size_t size, struct error *err)
{
	struct slice digits = slice_sub(value->span, 3, value->span.size - 4);
	uint64_t bits = 0;

	if (digits.size != 2 * size)
		return bad_fill(value, "as long as the type", err);
	for (size_t i = 0; i < digits.size; i++) {
		int c = tolower(digits.data[i]);

		if (!isxdigit(c))
			return bad_fill(value, "hexadecimal", err);
		bits = bits << 4 | (uint64_t)(isdigit(c) ? c - '0' : c - 'a' + 10);
	}
	put_bits(out, bits, size);
	return 0;
}

static int fill_float(const struct json *value, uint8_t *out, size_t size, struct error *err)
{
	double number;

	if (json_is_text(value, "NaN"))
		number = NAN;
	else if (json_is_text(value, "Infinity"))
		number = INFINITY;
	else if (json_is_text(value, "-Infinity"))
		number = -INFINITY;
	else if (value->type == JSON_STRING && value->span.size > 4 && value->span.data[1] == '0' &&
		 value->span.data[2] == 'x')
		return fill_hex(value, out, size, err);
	else if (value->type != JSON_NUMBER || json_double(value, &number, NULL) < 0)
		return bad_fill(value, "a number of the type", err);
	put_float(out, number, size);
	return 0;
}

static int fill_int(const struct json *value, uint8_t *out, size_t size, struct error *err)
{
	int64_t most = (int64_t)(UINT64_MAX >> (65 - 8 * size));
	int64_t number;

	if (json_i64(value, &number, NULL) < 0 || number > most || number < -most - 1)
		return bad_fill(value, "a whole number in the range of the type", err);
	put_bits(out, (uint64_t)number, size);
	return 0;
}

static int fill_uint(const struct json *value, uint8_t *out, size_t size, struct error *err)
{
	uint64_t number;

	if (json_u64(value, &number, NULL) < 0 || number > UINT64_MAX >> (64 - 8 * size))
		return bad_fill(value, "a whole number in the range of the type", err);
	put_bits(out, number, size);
	return 0;
}

static int fill_bool(const struct json *value, uint8_t *out, struct error *err)
{
	bool truth;

	if (json_bool(value, &truth, NULL) < 0)
		return bad_fill(value, "true or false", err);
	*out = truth;
	return 0;
}

static int fill_complex(const struct zarr_type *type, const struct json *value, uint8_t *out,
			struct error *err)
{
	struct json part;

	if (value->type != JSON_ARRAY || json_count(value) != 2)
		return bad_fill(value, "a pair of numbers", err);
	for (size_t i = 0; i < 2; i++) {
		int r;

		json_at(value, i, &part);
		r = fill_float(&part, out + i * type->unit, type->unit, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int fill_octets(const struct json *value, uint8_t *out, size_t size, struct error *err)
{
	struct json key, item;
	uint64_t octet;
	size_t n = 0;

	if (json_count(value) != size)
		return bad_fill(value, "as long as the type", err);
	JSON_EACH (value, &key, item) {
		if (json_u64(&item, &octet, NULL) < 0 || octet > 255)
			return bad_fill(value, "a list of octets", err);
		out[n++] = (uint8_t)octet;
	}
	return 0;
}

/* Base64, as the public package writes raw types; zeros follow a shorter text. */
static int fill_raw(const struct json *value, uint8_t *out, size_t size, struct error *err)
{
	CLEANUP(buf_done) struct buf bytes = BUF_INIT(size);
	struct slice text;

	if (value->type == JSON_ARRAY)
		return fill_octets(value, out, size, err);
	if (value->type != JSON_STRING)
		return bad_fill(value, "base64 or a list of octets", err);
	text = slice_sub(value->span, 1, value->span.size - 2);
	if (base64_decode(text, &bytes, NULL) < 0)
		return bad_fill(value, "base64 that fits the type", err);
	memset(out, 0, size);
	if (bytes.size > 0)
		memcpy(out, bytes.data, bytes.size);
	return 0;
}

static int fill_utf32(const struct json *value, uint8_t *out, size_t size, struct error *err)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT(size); /* UTF-8 is never longer than UTF-32 */
	struct slice rest;
	uint32_t code;
	size_t n = 0;

	if (json_text(value, &text, NULL) < 0 || !text_is_utf8(buf_slice(&text)))
		return bad_fill(value, "text that fits the type", err);
	memset(out, 0, size);
	for (rest = buf_slice(&text); utf8_next(&rest, &code); n += 4) {
		if (n == size)
			return bad_fill(value, "text that fits the type", err);
		put_bits(out + n, code, 4);
	}
	return 0;
}

int zarr_fill_parse(const struct zarr_type *type, const struct json *fill_value, uint8_t *out,
		    struct error *err)
{
	switch (type->kind) {
	case ZARR_BOOL:
		return fill_bool(fill_value, out, err);
	case ZARR_INT:
		return fill_int(fill_value, out, type->size, err);
	case ZARR_UINT:
		return fill_uint(fill_value, out, type->size, err);
	case ZARR_FLOAT:
		return fill_float(fill_value, out, type->size, err);
	case ZARR_COMPLEX:
		return fill_complex(type, fill_value, out, err);
	case ZARR_RAW:
		return fill_raw(fill_value, out, type->size, err);
	case ZARR_UTF32:
		return fill_utf32(fill_value, out, type->size, err);
	case ZARR_TIME:
		if (!json_is_text(fill_value, "NaT"))
			return fill_int(fill_value, out, type->size, err);
		put_bits(out, (uint64_t)INT64_MIN, type->size);
		return 0;
	case ZARR_OPAQUE:
		break;
	}
	return error_set(err, ERR_UNSUPPORTED, "fill_value of a data type that is not known");
}
