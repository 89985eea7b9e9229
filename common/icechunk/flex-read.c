/* SPDX-License-Identifier: Apache-2.0 */
#include "icechunk/value.h"

#include <inttypes.h>

#include "base/text.h"
#include "icechunk/flex.h"

#define DEPTH_MAX 128 /* as base/json.h */

/* One value: the slot that holds it or the offset to it. */
struct slot {
	size_t at;
	size_t width; /* bytes of the slot */
	enum flex_type type;
	size_t target_width; /* bytes of elements and lengths, where the slot holds an offset */
};

struct reader {
	struct slice flex;
	struct buf *out;
	unsigned int depth;
	struct error *err;
};

static int broken(struct reader *r, const char *what)
{
	return error_set(r->err, ERR_FORMAT, "broken FlexBuffers value: %s", what);
}

static bool has(const struct reader *r, size_t at, size_t size)
{
	return at <= r->flex.size && size <= r->flex.size - at;
}

static uint64_t load_uint(const struct reader *r, size_t at, size_t width)
{
	uint64_t value = 0;

	memcpy(&value, r->flex.data + at, width);
	return value;
}

static int64_t load_int(const struct reader *r, size_t at, size_t width)
{
	unsigned int shift = 64 - 8 * (unsigned int)width;

	return (int64_t)(load_uint(r, at, width) << shift) >> shift;
}

/* Follows the offset in a slot: targets lie before it. */
static int follow(struct reader *r, const struct slot *slot, size_t *ret_at)
{
	uint64_t offset = load_uint(r, slot->at, slot->width);

	if (offset > slot->at)
		return broken(r, "offset before the start");
	*ret_at = slot->at - (size_t)offset;
	return 0;
}

static int write_number(struct reader *r, enum flex_type type, size_t at, size_t width)
{
	float single;
	double value;

	if (!has(r, at, width))
		return broken(r, "number beyond the end");
	if (type == FLEX_INT)
		return buf_printf(r->out, r->err, "%" PRId64, load_int(r, at, width));
	if (type == FLEX_UINT)
		return buf_printf(r->out, r->err, "%" PRIu64, load_uint(r, at, width));
	if (width < 4)
		return broken(r, "float of less than 4 bytes");
	if (width == 4) {
		memcpy(&single, r->flex.data + at, 4);
		value = single;
	} else {
		memcpy(&value, r->flex.data + at, 8);
	}
	return json_write_double(r->out, value, r->err);
}

static int write_text(struct reader *r, struct slice text)
{
	if (!text_is_utf8(text))
		return broken(r, "text is not UTF-8");
	return json_write_text(r->out, text, r->err);
}

static int write_key(struct reader *r, size_t at)
{
	const uint8_t *end = NULL;

	if (has(r, at, 1))
		end = memchr(r->flex.data + at, '\0', r->flex.size - at);
	if (!end)
		return broken(r, "key without end");
	return write_text(r, slice_of(r->flex.data + at, (size_t)(end - r->flex.data) - at));
}

/* The count in front of a vector, string or map, after checking that all elements are there. */
static int load_count(struct reader *r, size_t at, size_t width, size_t element, size_t *ret_count)
{
	uint64_t count;

	if (at < width || !has(r, at - width, width))
		return broken(r, "length outside");
	count = load_uint(r, at - width, width);
	if (count > r->flex.size || !has(r, at, (size_t)count * element))
		return broken(r, "longer than the buffer");
	*ret_count = (size_t)count;
	return 0;
}

static int write_value(struct reader *r, const struct slot *slot);

static int write_separator(struct reader *r, size_t i)
{
	return i ? buf_append_byte(r->out, ',', r->err) : 0;
}

static int write_typed_vector(struct reader *r, size_t at, size_t width, size_t count,
			      enum flex_type type)
{
	int ret = buf_append_byte(r->out, '[', r->err);

	for (size_t i = 0; ret == 0 && i < count; i++) {
		struct slot item = {at + i * width, width, type, type == FLEX_KEY ? 1 : width};

		ret = write_separator(r, i);
		if (ret == 0)
			ret = write_value(r, &item);
	}
	return ret < 0 ? ret : buf_append_byte(r->out, ']', r->err);
}

/* Value @i of an untyped vector or map whose types follow the values. */
static int write_item(struct reader *r, size_t at, size_t width, size_t count, size_t i)
{
	uint8_t packed = r->flex.data[at + count * width + i];
	struct slot item = {at + i * width, width, packed >> 2, (size_t)1 << (packed & 3)};

	return write_value(r, &item);
}

static int write_vector(struct reader *r, size_t at, size_t width)
{
	size_t count = 0;
	int ret;

	ret = load_count(r, at, width, width + 1, &count);
	if (ret == 0)
		ret = buf_append_byte(r->out, '[', r->err);
	for (size_t i = 0; ret == 0 && i < count; i++) {
		ret = write_separator(r, i);
		if (ret == 0)
			ret = write_item(r, at, width, count, i);
	}
	return ret < 0 ? ret : buf_append_byte(r->out, ']', r->err);
}

/* In front of a map's values: offset of its keys, their width, the count. */
static int find_keys(struct reader *r, size_t at, size_t width, size_t count, struct slot *ret_keys)
{
	struct slot keys = {.width = width};
	uint64_t key_width;
	size_t key_count;
	int ret;

	if (at < 3 * width)
		return broken(r, "map without keys");
	keys.at = at - 3 * width;
	key_width = load_uint(r, at - 2 * width, width);
	if (key_width != 1 && key_width != 2 && key_width != 4 && key_width != 8)
		return broken(r, "width of map keys");
	ret = follow(r, &keys, &ret_keys->at);
	if (ret < 0)
		return ret;
	ret_keys->width = (size_t)key_width;
	ret = load_count(r, ret_keys->at, ret_keys->width, ret_keys->width, &key_count);
	if (ret < 0)
		return ret;
	return key_count == count ? 0 : broken(r, "map with another number of keys than values");
}

static int write_member(struct reader *r, const struct slot *keys, size_t i)
{
	struct slot key = {keys->at + i * keys->width, keys->width, FLEX_KEY, 1};
	size_t at = 0;
	int ret;

	ret = follow(r, &key, &at);
	if (ret == 0)
		ret = write_key(r, at);
	return ret < 0 ? ret : buf_append_byte(r->out, ':', r->err);
}

static int write_map(struct reader *r, size_t at, size_t width)
{
	struct slot keys = {0};
	size_t count = 0;
	int ret;

	ret = load_count(r, at, width, width + 1, &count);
	if (ret == 0)
		ret = find_keys(r, at, width, count, &keys);
	if (ret == 0)
		ret = buf_append_byte(r->out, '{', r->err);
	for (size_t i = 0; ret == 0 && i < count; i++) {
		ret = write_separator(r, i);
		if (ret == 0)
			ret = write_member(r, &keys, i);
		if (ret == 0)
			ret = write_item(r, at, width, count, i);
	}
	return ret < 0 ? ret : buf_append_byte(r->out, '}', r->err);
}

static int write_string(struct reader *r, size_t at, size_t width)
{
	size_t count;
	int ret;

	ret = load_count(r, at, width, 1, &count);
	return ret < 0 ? ret : write_text(r, slice_of(r->flex.data + at, count));
}

static int write_fixed_vector(struct reader *r, enum flex_type type, size_t at, size_t width)
{
	size_t count = 2 + (size_t)(type - FLEX_VECTOR_INT_2) / 3;
	enum flex_type item = FLEX_INT + (type - FLEX_VECTOR_INT_2) % 3;

	if (!has(r, at, count * width))
		return broken(r, "vector beyond the end");
	return write_typed_vector(r, at, width, count, item);
}

static int write_counted_vector(struct reader *r, enum flex_type type, size_t at, size_t width)
{
	static const enum flex_type items[] = {FLEX_INT, FLEX_UINT, FLEX_FLOAT, FLEX_KEY,
					       FLEX_STRING};
	enum flex_type item = type == FLEX_VECTOR_BOOL ? FLEX_BOOL
			      : type == FLEX_BLOB      ? FLEX_UINT
						       : items[type - FLEX_VECTOR_INT];
	size_t element = type == FLEX_BLOB ? 1 : width;
	size_t count;
	int ret;

	ret = load_count(r, at, width, element, &count);
	return ret < 0 ? ret : write_typed_vector(r, at, element, count, item);
}

/* Values that the slot leads to. */
static int write_target(struct reader *r, const struct slot *slot)
{
	size_t width = slot->target_width;
	enum flex_type type = slot->type;
	size_t at = 0;
	int ret;

	ret = follow(r, slot, &at);
	if (ret < 0)
		return ret;
	if (type == FLEX_KEY)
		return write_key(r, at);
	if (type == FLEX_STRING)
		return write_string(r, at, width);
	if (type >= FLEX_INDIRECT_INT && type <= FLEX_INDIRECT_FLOAT)
		return write_number(r, FLEX_INT + (type - FLEX_INDIRECT_INT), at, width);
	if (type == FLEX_MAP)
		return write_map(r, at, width);
	if (type == FLEX_VECTOR)
		return write_vector(r, at, width);
	if (type >= FLEX_VECTOR_INT_2 && type <= FLEX_VECTOR_FLOAT_4)
		return write_fixed_vector(r, type, at, width);
	if ((type >= FLEX_VECTOR_INT && type <= FLEX_VECTOR_STRING) || type == FLEX_BLOB ||
	    type == FLEX_VECTOR_BOOL)
		return write_counted_vector(r, type, at, width);
	return broken(r, "unknown type");
}

static int write_value(struct reader *r, const struct slot *slot)
{
	int ret;

	if (!has(r, slot->at, slot->width))
		return broken(r, "value beyond the end");
	switch (slot->type) {
	case FLEX_NULL:
		return buf_append_text(r->out, "null", r->err);
	case FLEX_BOOL:
		return buf_append_text(
			r->out, load_uint(r, slot->at, slot->width) ? "true" : "false", r->err);
	case FLEX_INT:
	case FLEX_UINT:
	case FLEX_FLOAT:
		return write_number(r, slot->type, slot->at, slot->width);
	default:
		break;
	}
	if (r->depth >= DEPTH_MAX)
		return broken(r, "too deep");
	r->depth++;
	ret = write_target(r, slot);
	r->depth--;
	return ret;
}

int flex_to_json(struct slice flex, struct buf *out, struct error *err)
{
	struct reader reader = {.flex = flex, .out = out, .err = err};
	struct slot root;
	uint8_t packed;
	size_t width;

	if (flex.size < 3)
		return broken(&reader, "shorter than 3 bytes");
	width = flex.data[flex.size - 1];
	packed = flex.data[flex.size - 2];
	if (width != 1 && width != 2 && width != 4 && width != 8)
		return broken(&reader, "width of the root");
	if (flex.size < width + 2)
		return broken(&reader, "shorter than its root");
	root = (struct slot){flex.size - 2 - width, width, packed >> 2, (size_t)1 << (packed & 3)};
	return write_value(&reader, &root);
}
