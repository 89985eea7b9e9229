/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/vec.h"
#include "icechunk/flex.h"
#include "icechunk/members.h"
#include "icechunk/value.h"

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

/* What stands on the stack from @base on; NULL for nothing. */
static const struct item *items_from(const struct writer *w, size_t base)
{
	return base < w->stack.n ? &w->stack.items[base] : NULL;
}

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
	v.items = items_from(w, base);
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
	v = (struct vector){.items = items_from(w, base),
			    .n = members.n,
			    .step = 2,
			    .type = FLEX_VECTOR_INT + (FLEX_KEY - FLEX_INT),
			    .typed = true};
	r = put_vector(w, &v, &keys);
	if (r < 0)
		return r;
	v.items = items_from(w, base + 1);
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
