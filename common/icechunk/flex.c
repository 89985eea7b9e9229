/* SPDX-License-Identifier: Apache-2.0 */
#include "icechunk/value.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "base/vec.h"
#include "icechunk/members.h"

/* FlexBuffers, as FlatBuffers' "FlexBuffers" page describes them. */
enum flex_type {
	FLEX_NULL = 0,
	FLEX_INT = 1,
	FLEX_UINT = 2,
	FLEX_FLOAT = 3,
	FLEX_KEY = 4,
	FLEX_STRING = 5,
	FLEX_INDIRECT_INT = 6,
	FLEX_INDIRECT_UINT = 7,
	FLEX_INDIRECT_FLOAT = 8,
	FLEX_MAP = 9,
	FLEX_VECTOR = 10,
	FLEX_VECTOR_INT = 11, /* typed vectors are 10 + the type of their elements */
	FLEX_VECTOR_STRING = 15,
	FLEX_VECTOR_INT_2 = 16, /* to 24: 2, 3, 4 times Int, UInt, Float */
	FLEX_VECTOR_FLOAT_4 = 24,
	FLEX_BLOB = 25,
	FLEX_BOOL = 26,
	FLEX_VECTOR_BOOL = 36,
};

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

/*
 * Writing: children first; a value waits on the stack until its vector is written, and its width is
 * known only then.
 */
struct item {
	enum flex_type type;
	unsigned int
		bits; /* log2 of the least width: of a scalar's slot, or of the target's parts */
	union {
		int64_t i;
		uint64_t u;
		double f;
	} as; /* u: position, of types that are stored by offset */
};

DEFINE_VEC(items, struct item);

/* Keys that were written, to write each once. */
#define SHARED_KEYS_MAX 256

struct key {
	struct slice name;
	size_t at;
};

struct writer {
	struct buf *out;
	size_t start; /* of the document in out */
	struct items stack;
	struct arena arena;
	struct key keys[SHARED_KEYS_MAX];
	size_t n_keys;
	struct error *err;
};

static unsigned int width_bits(uint64_t value)
{
	return value <= UINT8_MAX ? 0 : value <= UINT16_MAX ? 1 : value <= UINT32_MAX ? 2 : 3;
}

static unsigned int width_bits_signed(int64_t value)
{
	return width_bits((uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0));
}

static size_t written(const struct writer *w)
{
	return w->out->size - w->start;
}

static bool is_inline(enum flex_type type)
{
	return type <= FLEX_FLOAT || type == FLEX_BOOL;
}

static int pad(struct writer *w, unsigned int bits)
{
	static const uint8_t zeros[8];
	size_t width = (size_t)1 << bits;

	return buf_append(w->out, zeros, -written(w) & (width - 1), w->err);
}

static int put_uint(struct writer *w, uint64_t value, unsigned int bits)
{
	return buf_append(w->out, &value, (size_t)1 << bits, w->err);
}

static int put_offset(struct writer *w, uint64_t target, unsigned int bits)
{
	return put_uint(w, written(w) - target, bits);
}

static int put_slot(struct writer *w, const struct item *item, unsigned int bits)
{
	float single = (float)item->as.f;

	if (!is_inline(item->type))
		return put_offset(w, item->as.u, bits);
	if (item->type == FLEX_FLOAT && bits == 2)
		return buf_append(w->out, &single, sizeof(single), w->err);
	return put_uint(w, item->as.u, bits);
}

/* Width that a slot needs as element @index of a vector that is written now. */
static unsigned int slot_bits(const struct writer *w, const struct item *item, size_t index)
{
	unsigned int bits = 0;

	if (is_inline(item->type))
		return item->bits;
	for (; bits < 3; bits++) {
		size_t width = (size_t)1 << bits;
		size_t at = written(w) + (-written(w) & (width - 1)) + index * width;

		if (width_bits(at - item->as.u) <= bits)
			break;
	}
	return bits;
}

static uint8_t packed_type(const struct item *item, unsigned int slot_width_bits)
{
	unsigned int bits = item->bits;

	if (is_inline(item->type) && bits < slot_width_bits)
		bits = slot_width_bits;
	return (uint8_t)((unsigned int)item->type << 2 | bits);
}

struct vector {
	const struct item *items; /* every @step-th counts */
	size_t n;
	size_t step;
	enum flex_type type;
	const struct item *keys; /* of a map */
	bool typed;
	bool fixed;
};

static unsigned int vector_bits(const struct writer *w, const struct vector *v)
{
	unsigned int bits = v->fixed ? 0 : width_bits(v->n);
	size_t prefix = v->keys ? 3 : 1;

	if (v->keys && slot_bits(w, v->keys, 0) > bits)
		bits = slot_bits(w, v->keys, 0);
	for (size_t i = 0; i < v->n; i++) {
		unsigned int need = slot_bits(w, &v->items[i * v->step], i + prefix);

		if (need > bits)
			bits = need;
	}
	return bits;
}

static int put_vector_head(struct writer *w, const struct vector *v, unsigned int bits)
{
	int r = pad(w, bits);

	if (r == 0 && v->keys)
		r = put_offset(w, v->keys->as.u, bits);
	if (r == 0 && v->keys)
		r = put_uint(w, UINT64_C(1) << v->keys->bits, bits);
	if (r == 0 && !v->fixed)
		r = put_uint(w, v->n, bits);
	return r;
}

static int put_vector(struct writer *w, const struct vector *v, struct item *ret_item)
{
	unsigned int bits = vector_bits(w, v);
	int r = put_vector_head(w, v, bits);
	size_t at = written(w);

	for (size_t i = 0; r == 0 && i < v->n; i++)
		r = put_slot(w, &v->items[i * v->step], bits);
	for (size_t i = 0; r == 0 && !v->typed && i < v->n; i++)
		r = buf_append_byte(w->out, packed_type(&v->items[i * v->step], bits), w->err);
	if (r < 0)
		return r;
	*ret_item = (struct item){.type = v->type, .bits = bits, .as.u = at};
	return 0;
}

static int put_value(struct writer *w, const struct json *value);

/* Takes the items above @base from the stack and puts the vector of them there. */
static int end_vector(struct writer *w, size_t base, const struct vector *v)
{
	struct item item = {0};
	int r = put_vector(w, v, &item);

	if (r < 0)
		return r;
	w->stack.n = base;
	return items_push(&w->stack, item, w->err);
}

/* The vector type for items that are all of one type, as the public library chooses it. */
static void choose_vector_type(struct vector *v)
{
	enum flex_type first = v->n ? v->items[0].type : FLEX_NULL;

	v->type = FLEX_VECTOR;
	for (size_t i = 0; i < v->n; i++)
		if (v->items[i].type != first)
			return;
	if (first == FLEX_BOOL) {
		v->type = FLEX_VECTOR_BOOL;
		v->typed = true;
	} else if (first >= FLEX_INT && first <= FLEX_FLOAT) {
		v->typed = true;
		v->fixed = v->n >= 2 && v->n <= 4;
		v->type = v->fixed ? FLEX_VECTOR_INT_2 + 3 * (v->n - 2) + (first - FLEX_INT)
				   : FLEX_VECTOR_INT + (first - FLEX_INT);
	}
}

static int put_array(struct writer *w, const struct json *array)
{
	size_t base = w->stack.n;
	struct vector v = {.step = 1};
	struct json item;

	JSON_EACH (array, NULL, item) {
		int r = put_value(w, &item);

		if (r < 0)
			return r;
	}
	v.items = w->stack.items + base;
	v.n = w->stack.n - base;
	choose_vector_type(&v);
	return end_vector(w, base, &v);
}

static int put_key(struct writer *w, struct slice name)
{
	struct item item = {.type = FLEX_KEY, .as.u = written(w)};
	int r;

	for (size_t i = 0; i < w->n_keys; i++) {
		if (!slice_equal(w->keys[i].name, name))
			continue;
		item.as.u = w->keys[i].at;
		return items_push(&w->stack, item, w->err);
	}
	r = buf_append_slice(w->out, name, w->err);
	if (r == 0)
		r = buf_append_byte(w->out, '\0', w->err);
	if (r < 0)
		return r;
	if (w->n_keys < SHARED_KEYS_MAX)
		w->keys[w->n_keys++] = (struct key){name, item.as.u};
	return items_push(&w->stack, item, w->err);
}

static int put_object(struct writer *w, const struct json *object)
{
	CLEANUP(json_members_done) struct json_members members = {0};
	size_t base = w->stack.n;
	struct item keys = {0};
	struct vector v;
	int r;

	r = json_members_sorted(object, &w->arena, &members, w->err);
	for (size_t i = 0; r == 0 && i < members.n; i++) {
		if (memchr(members.items[i].name.data, '\0', members.items[i].name.size))
			return error_set(w->err, ERR_FORMAT, "a member's name holds a NUL");
		r = put_key(w, members.items[i].name);
		if (r == 0)
			r = put_value(w, &members.items[i].value);
	}
	if (r < 0)
		return r;
	v = (struct vector){.items = w->stack.items + base,
			    .n = members.n,
			    .step = 2,
			    .type = FLEX_VECTOR_INT + (FLEX_KEY - FLEX_INT),
			    .typed = true};
	r = put_vector(w, &v, &keys);
	if (r < 0)
		return r;
	v.items = w->stack.items + base + 1;
	v.type = FLEX_MAP;
	v.typed = false;
	v.keys = &keys;
	return end_vector(w, base, &v);
}

static int put_string(struct writer *w, const struct json *string)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT(BUF_NO_LIMIT);
	struct item item = {.type = FLEX_STRING};
	int r;

	r = json_text(string, &text, w->err);
	if (r < 0)
		return r;
	item.bits = width_bits(text.size);
	r = pad(w, item.bits);
	if (r == 0)
		r = put_uint(w, text.size, item.bits);
	item.as.u = written(w);
	if (r == 0)
		r = buf_append(w->out, text.data, text.size, w->err);
	if (r == 0)
		r = buf_append_byte(w->out, '\0', w->err);
	return r < 0 ? r : items_push(&w->stack, item, w->err);
}

static int put_number(struct writer *w, const struct json *number)
{
	struct json_number n;
	struct item item = {0};
	int r;

	r = json_number(number, &n, w->err);
	if (r < 0)
		return r;
	switch (n.kind) {
	case NUMBER_UNSIGNED:
		item = (struct item){FLEX_UINT, width_bits(n.u), {.u = n.u}};
		break;
	case NUMBER_NEGATIVE:
		item = (struct item){FLEX_INT, width_bits_signed(n.i), {.i = n.i}};
		break;
	case NUMBER_FLOAT:
		item = (struct item){FLEX_FLOAT, (double)(float)n.f == n.f ? 2 : 3, {.f = n.f}};
		break;
	}
	return items_push(&w->stack, item, w->err);
}

static int put_value(struct writer *w, const struct json *value)
{
	bool yes = false;

	switch (value->type) {
	case JSON_NULL:
		return items_push(&w->stack, (struct item){.type = FLEX_NULL}, w->err);
	case JSON_BOOL:
		(void)json_bool(value, &yes, NULL);
		return items_push(&w->stack, (struct item){.type = FLEX_BOOL, .as.u = yes}, w->err);
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

static int put_root(struct writer *w, const struct json *value)
{
	struct item root;
	unsigned int bits;
	int r;

	r = put_value(w, value);
	if (r < 0)
		return r;
	root = w->stack.items[0];
	bits = slot_bits(w, &root, 0);
	r = pad(w, bits);
	if (r == 0)
		r = put_slot(w, &root, bits);
	if (r == 0)
		r = buf_append_byte(w->out, packed_type(&root, 0), w->err);
	return r < 0 ? r : buf_append_byte(w->out, (uint8_t)(1U << bits), w->err);
}

int json_to_flex(const struct json *value, struct buf *out, struct error *err)
{
	struct writer *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return error_memory(err);
	w->out = out;
	w->start = out->size;
	w->err = err;
	r = put_root(w, value);
	items_done(&w->stack);
	arena_done(&w->arena);
	free(w);
	return r;
}
