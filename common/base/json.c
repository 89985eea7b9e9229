/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/json-internal.h"
#include "base/text.h"

enum json_type json_type_of(uint8_t first)
{
	switch (first) {
	case '{':
		return JSON_OBJECT;
	case '[':
		return JSON_ARRAY;
	case '"':
		return JSON_STRING;
	case 't':
	case 'f':
		return JSON_BOOL;
	case 'n':
		return JSON_NULL;
	default:
		return JSON_NUMBER;
	}
}

/* Walking: the text is valid, so finding where a value ends takes no grammar. */

/* Bytes of the string that @text starts with, quotes included. */
static size_t string_size(struct slice text)
{
	for (size_t i = 1; i < text.size; i++) {
		if (text.data[i] == '\\')
			i++;
		else if (text.data[i] == '"')
			return i + 1;
	}
	return text.size;
}

static size_t nested_size(struct slice text)
{
	size_t depth = 0;
	size_t i = 0;

	while (i < text.size) {
		uint8_t c = text.data[i];

		if (c == '"') {
			i += string_size(slice_sub(text, i, SIZE_MAX));
			continue;
		}
		i++;
		if (c == '{' || c == '[')
			depth++;
		else if ((c == '}' || c == ']') && --depth == 0)
			break;
	}
	return i;
}

static size_t word_size(struct slice text)
{
	size_t i = 0;

	while (i < text.size && text.data[i] != ',' && !json_is_blank(text.data[i]))
		i++;
	return i;
}

/* Takes the value that @rest starts with. */
static struct json next_value(struct slice *rest)
{
	struct json value = {.type = json_type_of(rest->data[0])};
	size_t size;

	if (value.type == JSON_STRING)
		size = string_size(*rest);
	else if (value.type == JSON_ARRAY || value.type == JSON_OBJECT)
		size = nested_size(*rest);
	else
		size = word_size(*rest);
	value.span = slice_sub(*rest, 0, size);
	*rest = slice_sub(*rest, size, SIZE_MAX);
	return value;
}

static void skip_to(struct slice *rest, uint8_t separator)
{
	size_t n = 0;

	while (n < rest->size && (json_is_blank(rest->data[n]) || rest->data[n] == separator))
		n++;
	*rest = slice_sub(*rest, n, SIZE_MAX);
}

struct json_iter json_iter(const struct json *value)
{
	struct json_iter iter = {.is_object = value->type == JSON_OBJECT};

	if (value->type == JSON_OBJECT || value->type == JSON_ARRAY)
		iter.rest = slice_sub(value->span, 1, value->span.size - 2);
	return iter;
}

bool json_next(struct json_iter *iter, struct json *ret_key, struct json *ret_value)
{
	struct json key, value;

	skip_to(&iter->rest, ',');
	if (iter->rest.size == 0)
		return false;
	if (iter->is_object) {
		key = next_value(&iter->rest);
		skip_to(&iter->rest, ':');
		if (iter->rest.size == 0)
			return false;
		if (ret_key)
			*ret_key = key;
	}
	value = next_value(&iter->rest);
	if (ret_value)
		*ret_value = value;
	return true;
}

int json_get(const struct json *object, const char *name, struct json *ret_value)
{
	struct json key, item;
	int r = JSON_ABSENT;

	if (object->type != JSON_OBJECT)
		return JSON_ABSENT;
	JSON_EACH (object, &key, item) {
		if (!json_is_text(&key, name))
			continue;
		*ret_value = item;
		r = 0;
	}
	return r;
}

int json_path(const struct json *object, struct json *ret_value, ...)
{
	struct json value = *object;
	const char *name;
	va_list names;
	int r = 0;

	va_start(names, ret_value);
	while (r == 0 && (name = va_arg(names, const char *))) {
		struct json parent = value;

		r = json_get(&parent, name, &value);
	}
	va_end(names);
	if (r == 0)
		*ret_value = value;
	return r;
}

size_t json_count(const struct json *value)
{
	struct json_iter iter = json_iter(value);
	size_t n = 0;

	while (json_next(&iter, NULL, NULL))
		n++;
	return n;
}

int json_at(const struct json *array, size_t i, struct json *ret_value)
{
	struct json item;

	if (array->type != JSON_ARRAY)
		return JSON_ABSENT;
	JSON_EACH (array, NULL, item) {
		if (i-- > 0)
			continue;
		*ret_value = item;
		return 0;
	}
	return JSON_ABSENT;
}

/* Strings */

static size_t encode_utf8(uint32_t c, uint8_t out[4])
{
	if (c < 0x80) {
		out[0] = (uint8_t)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (uint8_t)(0xc0 | c >> 6);
		out[1] = (uint8_t)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (uint8_t)(0xe0 | c >> 12);
		out[1] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
		out[2] = (uint8_t)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (uint8_t)(0xf0 | c >> 18);
	out[1] = (uint8_t)(0x80 | (c >> 12 & 0x3f));
	out[2] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
	out[3] = (uint8_t)(0x80 | (c & 0x3f));
	return 4;
}

/* Undoes \uXXXX, or a pair of them, whose first hex digit @at stands on; @ret_used has its bytes.
 */
static uint32_t unescape_unicode(struct slice text, size_t at, size_t *ret_used)
{
	const uint8_t *end = text.data + text.size;
	int32_t unit = json_read_unit(text.data + at, end);
	int32_t low;

	*ret_used = 4;
	if (!json_is_high_surrogate(unit) || text.size - at < 10)
		return unit < 0 ? 0xfffd : (uint32_t)unit;
	low = json_read_unit(text.data + at + 6, end);
	*ret_used = 10;
	return 0x10000 + ((uint32_t)(unit - 0xd800) << 10) + (uint32_t)(low - 0xdc00);
}

static uint8_t unescape_byte(uint8_t c)
{
	switch (c) {
	case 'b':
		return '\b';
	case 'f':
		return '\f';
	case 'n':
		return '\n';
	case 'r':
		return '\r';
	case 't':
		return '\t';
	default:
		return c;
	}
}

/* Takes a run of plain bytes, or one escape undone into @small; the result lends either. */
static struct slice next_piece(struct slice *rest, uint8_t small[4])
{
	struct slice piece;
	size_t n = 0;

	while (n < rest->size && rest->data[n] != '\\')
		n++;
	if (n > 0 || rest->size < 2) {
		piece = slice_sub(*rest, 0, n ? n : rest->size);
		n = piece.size;
	} else if (rest->data[1] == 'u') {
		uint32_t c = unescape_unicode(*rest, 2, &n);

		piece = slice_of(small, encode_utf8(c, small));
		n += 2;
	} else {
		small[0] = unescape_byte(rest->data[1]);
		piece = slice_of(small, 1);
		n = 2;
	}
	*rest = slice_sub(*rest, n, SIZE_MAX);
	return piece;
}

/* What stands between the quotes. */
static struct slice string_body(const struct json *value)
{
	return slice_sub(value->span, 1, value->span.size - 2);
}

int json_text(const struct json *value, struct buf *out, struct error *err)
{
	struct slice rest;
	uint8_t small[4];

	if (value->type != JSON_STRING)
		return error_set(err, ERR_FORMAT, "'%.*s' is no string", SLICE_SHOW(value->span));
	rest = string_body(value);
	while (rest.size) {
		int r = buf_append_slice(out, next_piece(&rest, small), err);

		if (r < 0)
			return r;
	}
	return 0;
}

int json_dup(const struct json *value, char **ret_text, struct error *err)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT(BUF_NO_LIMIT);
	size_t size;
	int r;

	r = json_text(value, &text, err);
	if (r < 0)
		return r;
	if (text.size && memchr(text.data, 0, text.size))
		return error_set(err, ERR_FORMAT, "%.*s holds a NUL character",
				 SLICE_SHOW(value->span));
	if (!buf_text(&text, err))
		return ERR_MEMORY;
	*ret_text = (char *)buf_take(&text, &size);
	return 0;
}

bool json_is_text(const struct json *value, const char *text)
{
	struct slice want = slice_text(text);
	struct slice rest;
	uint8_t small[4];

	if (value->type != JSON_STRING)
		return false;
	rest = string_body(value);
	/* Escapes are longer than what they stand for. */
	if (rest.size < want.size)
		return false;
	while (rest.size) {
		struct slice piece = next_piece(&rest, small);

		if (!slice_equal(piece, slice_sub(want, 0, piece.size)))
			return false;
		want = slice_sub(want, piece.size, SIZE_MAX);
	}
	return want.size == 0;
}

/* Numbers */

static int no_number(const struct json *value, const char *what, struct error *err)
{
	return error_set(err, ERR_FORMAT, "'%.*s' is %s", SLICE_SHOW(value->span), what);
}

static bool is_negative(struct slice number)
{
	return number.size && number.data[0] == '-';
}

/* Far from overflow, and far beyond what any mantissa could make up for. */
#define EXPONENT_LIMIT (INT64_MAX / 2)

/* The number after 'e', which @at stands on, or 0 at the end of the text. */
static int64_t read_exponent(struct slice text, size_t at)
{
	struct slice digits = slice_sub(text, at + 1, SIZE_MAX);
	int64_t value;

	if (at >= text.size)
		return 0;
	if (digits.size && digits.data[0] == '+')
		digits = slice_sub(digits, 1, SIZE_MAX);
	if (text_i64(digits, &value, NULL) < 0 || value > EXPONENT_LIMIT || value < -EXPONENT_LIMIT)
		return is_negative(digits) ? -EXPONENT_LIMIT : EXPONENT_LIMIT;
	return value;
}

static size_t mantissa_size(struct slice text)
{
	size_t i = 0;

	while (i < text.size && text.data[i] != 'e' && text.data[i] != 'E')
		i++;
	return i;
}

/* @digits (a point among them is skipped) times ten to the power of @zeros; false on overflow. */
static bool multiply_out(struct slice digits, int64_t zeros, uint64_t *ret_value)
{
	uint64_t value = 0;

	for (size_t i = 0; i < digits.size; i++) {
		if (!text_is_digit(digits.data[i]))
			continue;
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(digits.data[i] - '0'), &value))
			return false;
	}
	for (; value > 0 && zeros > 0; zeros--) {
		if (__builtin_mul_overflow(value, 10, &value))
			return false;
	}
	*ret_value = value;
	return true;
}

/* The whole number without its sign. */
static int read_whole(const struct json *value, uint64_t *ret_value, struct error *err)
{
	struct slice number = slice_sub(value->span, is_negative(value->span), SIZE_MAX);
	struct slice digits = slice_sub(number, 0, mantissa_size(number));
	int64_t zeros = read_exponent(number, digits.size);
	const uint8_t *point;

	if (value->type != JSON_NUMBER || !number.size || !text_is_digit(number.data[0]))
		return no_number(value, "no whole number", err);
	point = memchr(digits.data, '.', digits.size);
	if (point)
		zeros -= digits.data + digits.size - point - 1;
	while (digits.size && strchr("0.", digits.data[digits.size - 1]))
		zeros += digits.data[--digits.size] == '0';
	if (digits.size && zeros < 0)
		return no_number(value, "no whole number", err);
	if (!multiply_out(digits, zeros, ret_value))
		return no_number(value, "out of range", err);
	return 0;
}

int json_u64(const struct json *value, uint64_t *ret_value, struct error *err)
{
	uint64_t magnitude;
	int r = read_whole(value, &magnitude, err);

	if (r < 0)
		return r;
	if (magnitude > 0 && is_negative(value->span))
		return no_number(value, "out of range", err);
	*ret_value = magnitude;
	return 0;
}

int json_i64(const struct json *value, int64_t *ret_value, struct error *err)
{
	bool negative = is_negative(value->span);
	uint64_t magnitude;
	int r = read_whole(value, &magnitude, err);

	if (r < 0)
		return r;
	if (magnitude > (uint64_t)INT64_MAX + negative)
		return no_number(value, "out of range", err);
	*ret_value = negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
	return 0;
}

int json_double(const struct json *value, double *ret_value, struct error *err)
{
	int r;

	if (value->type != JSON_NUMBER)
		return no_number(value, "no number", err);
	if (slice_is(value->span, "NaN")) {
		*ret_value = NAN;
		return 0;
	}
	if (slice_is(value->span, "Infinity") || slice_is(value->span, "-Infinity")) {
		*ret_value = is_negative(value->span) ? -INFINITY : INFINITY;
		return 0;
	}
	r = text_double(value->span, ret_value, err);
	return r == ERR_ARGUMENT ? no_number(value, "out of range", err) : r;
}

int json_bool(const struct json *value, bool *ret_value, struct error *err)
{
	if (value->type != JSON_BOOL)
		return no_number(value, "neither true nor false", err);
	*ret_value = value->span.data[0] == 't';
	return 0;
}
