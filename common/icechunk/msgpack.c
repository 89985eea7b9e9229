/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "icechunk/members.h"
#include "icechunk/value.h"

#define DEPTH_MAX 128 /* as base/json.h */

struct reader {
	struct slice rest;
	struct buf *out;
	unsigned int depth;
	struct error *err;
};

static int broken(struct reader *r, const char *what)
{
	return error_set(r->err, ERR_FORMAT, "broken MessagePack value: %s", what);
}

/* Takes a big-endian number of @size bytes. */
static int take_uint(struct reader *r, size_t size, uint64_t *ret_value)
{
	uint64_t value = 0;

	if (size > r->rest.size)
		return broken(r, "ends too early");
	for (size_t i = 0; i < size; i++)
		value = value << 8 | r->rest.data[i];
	r->rest = slice_sub(r->rest, size, SIZE_MAX);
	*ret_value = value;
	return 0;
}

static int write_uint(struct reader *r, size_t size)
{
	uint64_t value = 0;
	int ret = take_uint(r, size, &value);

	return ret < 0 ? ret : buf_printf(r->out, r->err, "%" PRIu64, value);
}

static int write_int(struct reader *r, size_t size)
{
	unsigned int shift = 64 - 8 * (unsigned int)size;
	uint64_t value = 0;
	int ret = take_uint(r, size, &value);

	if (ret < 0)
		return ret;
	return buf_printf(r->out, r->err, "%" PRId64, (int64_t)(value << shift) >> shift);
}

static int write_float(struct reader *r, size_t size)
{
	uint64_t bits = 0;
	uint32_t bits32;
	float single;
	double value;
	int ret = take_uint(r, size, &bits);

	if (ret < 0)
		return ret;
	if (size == 4) {
		bits32 = (uint32_t)bits;
		memcpy(&single, &bits32, 4);
		value = single;
	} else {
		memcpy(&value, &bits, 8);
	}
	return json_write_double(r->out, value, r->err);
}

static int write_text(struct reader *r, uint64_t size)
{
	struct slice text = slice_sub(r->rest, 0, size);

	if (text.size < size)
		return broken(r, "ends too early");
	if (!text_is_utf8(text))
		return broken(r, "text is not UTF-8");
	r->rest = slice_sub(r->rest, size, SIZE_MAX);
	return json_write_text(r->out, text, r->err);
}

/* Texts, arrays and maps of more than what fits in their first byte. */
static int write_long_text(struct reader *r, size_t size_of_size)
{
	uint64_t size = 0;
	int ret = take_uint(r, size_of_size, &size);

	return ret < 0 ? ret : write_text(r, size);
}

static int write_value(struct reader *r);

static int write_separator(struct reader *r, uint64_t i)
{
	return i ? buf_append_byte(r->out, ',', r->err) : 0;
}

static int write_array(struct reader *r, uint64_t n)
{
	int ret = buf_append_byte(r->out, '[', r->err);

	for (uint64_t i = 0; ret == 0 && i < n; i++) {
		ret = write_separator(r, i);
		if (ret == 0)
			ret = write_value(r);
	}
	return ret < 0 ? ret : buf_append_byte(r->out, ']', r->err);
}

static int write_key(struct reader *r)
{
	uint8_t first = r->rest.size ? r->rest.data[0] : 0;

	if ((first & 0xe0) != 0xa0 && (first < 0xd9 || first > 0xdb))
		return broken(r, "map key that is no text");
	return write_value(r);
}

static int write_map(struct reader *r, uint64_t n)
{
	int ret = buf_append_byte(r->out, '{', r->err);

	for (uint64_t i = 0; ret == 0 && i < n; i++) {
		ret = write_separator(r, i);
		if (ret == 0)
			ret = write_key(r);
		if (ret == 0)
			ret = buf_append_byte(r->out, ':', r->err);
		if (ret == 0)
			ret = write_value(r);
	}
	return ret < 0 ? ret : buf_append_byte(r->out, '}', r->err);
}

static int write_long(struct reader *r, size_t size_of_n,
		      int (*write)(struct reader *r, uint64_t n))
{
	uint64_t n = 0;
	int ret = take_uint(r, size_of_n, &n);

	return ret < 0 ? ret : write(r, n);
}

/* Values whose first byte holds the kind alone. */
static int write_kind(struct reader *r, uint8_t kind)
{
	switch (kind) {
	case 0xc0:
		return buf_append_text(r->out, "null", r->err);
	case 0xc2:
		return buf_append_text(r->out, "false", r->err);
	case 0xc3:
		return buf_append_text(r->out, "true", r->err);
	case 0xca:
	case 0xcb:
		return write_float(r, kind == 0xca ? 4 : 8);
	case 0xcc:
	case 0xcd:
	case 0xce:
	case 0xcf:
		return write_uint(r, (size_t)1 << (kind - 0xcc));
	case 0xd0:
	case 0xd1:
	case 0xd2:
	case 0xd3:
		return write_int(r, (size_t)1 << (kind - 0xd0));
	case 0xd9:
	case 0xda:
	case 0xdb:
		return write_long_text(r, (size_t)1 << (kind - 0xd9));
	case 0xdc:
	case 0xdd:
		return write_long(r, kind == 0xdc ? 2 : 4, write_array);
	case 0xde:
	case 0xdf:
		return write_long(r, kind == 0xde ? 2 : 4, write_map);
	default:
		return broken(r, "a kind that JSON does not have");
	}
}

static int write_first(struct reader *r, uint8_t first)
{
	if (first <= 0x7f)
		return buf_printf(r->out, r->err, "%d", first);
	if (first >= 0xe0)
		return buf_printf(r->out, r->err, "%d", (int8_t)first);
	if (first <= 0x8f)
		return write_map(r, first & 0x0f);
	if (first <= 0x9f)
		return write_array(r, first & 0x0f);
	if (first <= 0xbf)
		return write_text(r, first & 0x1f);
	return write_kind(r, first);
}

static int write_value(struct reader *r)
{
	uint64_t first = 0;
	int ret = take_uint(r, 1, &first);

	if (ret < 0)
		return ret;
	if (r->depth >= DEPTH_MAX)
		return broken(r, "too deep");
	r->depth++;
	ret = write_first(r, (uint8_t)first);
	r->depth--;
	return ret;
}

int msgpack_to_json(struct slice msgpack, struct buf *out, struct error *err)
{
	struct reader reader = {.rest = msgpack, .out = out, .err = err};
	int r = write_value(&reader);

	if (r < 0)
		return r;
	return reader.rest.size ? broken(&reader, "more bytes after its end") : 0;
}

struct writer {
	struct buf *out;
	struct arena arena;
	struct error *err;
};

static int put(struct writer *w, uint8_t kind, uint64_t value, size_t size)
{
	int r = buf_append_byte(w->out, kind, w->err);

	for (size_t i = size; r == 0 && i > 0; i--)
		r = buf_append_byte(w->out, (uint8_t)(value >> (8 * (i - 1))), w->err);
	return r;
}

static int put_uint(struct writer *w, uint64_t value)
{
	if (value <= 0x7f)
		return put(w, (uint8_t)value, 0, 0);
	if (value <= UINT8_MAX)
		return put(w, 0xcc, value, 1);
	if (value <= UINT16_MAX)
		return put(w, 0xcd, value, 2);
	if (value <= UINT32_MAX)
		return put(w, 0xce, value, 4);
	return put(w, 0xcf, value, 8);
}

static int put_negative(struct writer *w, int64_t value)
{
	if (value >= -32)
		return put(w, (uint8_t)value, 0, 0);
	if (value >= INT8_MIN)
		return put(w, 0xd0, (uint64_t)value, 1);
	if (value >= INT16_MIN)
		return put(w, 0xd1, (uint64_t)value, 2);
	if (value >= INT32_MIN)
		return put(w, 0xd2, (uint64_t)value, 4);
	return put(w, 0xd3, (uint64_t)value, 8);
}

static int put_number(struct writer *w, const struct json *value)
{
	struct json_number number;
	uint64_t bits;
	int r = json_number(value, &number, w->err);

	if (r < 0)
		return r;
	switch (number.kind) {
	case NUMBER_UNSIGNED:
		return put_uint(w, number.u);
	case NUMBER_NEGATIVE:
		return put_negative(w, number.i);
	default:
		memcpy(&bits, &number.f, sizeof(bits));
		return put(w, 0xcb, bits, 8);
	}
}

static int put_text(struct writer *w, struct slice text)
{
	int r;

	if (text.size <= 31)
		r = put(w, (uint8_t)(0xa0 | text.size), 0, 0);
	else if (text.size <= UINT8_MAX)
		r = put(w, 0xd9, text.size, 1);
	else if (text.size <= UINT16_MAX)
		r = put(w, 0xda, text.size, 2);
	else if (text.size <= UINT32_MAX)
		r = put(w, 0xdb, text.size, 4);
	else
		return error_set(w->err, ERR_FORMAT, "text of more than 4 GiB");
	return r < 0 ? r : buf_append_slice(w->out, text, w->err);
}

static int put_string(struct writer *w, const struct json *value)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT(BUF_NO_LIMIT);
	int r = json_text(value, &text, w->err);

	return r < 0 ? r : put_text(w, buf_slice(&text));
}

/* @small is the kind whose low 4 bits hold the count, @large the one with 2 bytes. */
static int put_count(struct writer *w, uint8_t small, uint8_t large, size_t n)
{
	if (n <= 15)
		return put(w, (uint8_t)(small | n), 0, 0);
	if (n <= UINT16_MAX)
		return put(w, large, n, 2);
	if (n <= UINT32_MAX)
		return put(w, large + 1, n, 4);
	return error_set(w->err, ERR_FORMAT, "more than 2^32 items");
}

static int put_value(struct writer *w, const struct json *value);

static int put_array(struct writer *w, const struct json *array)
{
	struct json item;
	int r = put_count(w, 0x90, 0xdc, json_count(array));

	if (r < 0)
		return r;
	JSON_EACH (array, NULL, item) {
		r = put_value(w, &item);
		if (r < 0)
			return r;
	}
	return 0;
}

static int put_object(struct writer *w, const struct json *object)
{
	CLEANUP(json_members_done) struct json_members members = {0};
	int r = json_members_sorted(object, &w->arena, &members, w->err);

	if (r == 0)
		r = put_count(w, 0x80, 0xde, members.n);
	for (size_t i = 0; r == 0 && i < members.n; i++) {
		r = put_text(w, members.items[i].name);
		if (r == 0)
			r = put_value(w, &members.items[i].value);
	}
	return r;
}

static int put_value(struct writer *w, const struct json *value)
{
	bool yes = false;

	switch (value->type) {
	case JSON_NULL:
		return put(w, 0xc0, 0, 0);
	case JSON_BOOL:
		(void)json_bool(value, &yes, NULL);
		return put(w, yes ? 0xc3 : 0xc2, 0, 0);
	case JSON_NUMBER:
		return put_number(w, value);
	case JSON_STRING:
		return put_string(w, value);
	case JSON_ARRAY:
		return put_array(w, value);
	case JSON_OBJECT:
		return put_object(w, value);
	}
	return 0;
}

int json_to_msgpack(const struct json *value, struct buf *out, struct error *err)
{
	struct writer w = {.out = out, .arena = ARENA_INIT, .err = err};
	int r = put_value(&w, value);

	arena_done(&w.arena);
	return r;
}
