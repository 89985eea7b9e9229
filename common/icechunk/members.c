/* SPDX-License-Identifier: Apache-2.0 */
#include "icechunk/members.h"

#include "base/cleanup.h"
#include "base/text.h"

static int push_member(const struct json *key, const struct json *value, struct arena *arena,
		       struct json_members *out, struct error *err)
{
	CLEANUP(buf_done) struct buf name = BUF_INIT(BUF_NO_LIMIT);
	struct json_member member = {.value = *value};
	char *copy;
	int r;

	r = json_text(key, &name, err);
	if (r < 0)
		return r;
	copy = arena_dup(arena, buf_slice(&name), err);
	if (!copy)
		return ERR_MEMORY;
	member.name = slice_of(copy, name.size);
	return json_members_push(out, member, err);
}

/* Values lie in one text: of two equal names, the one further back comes last. */
static int compare_members(const void *a, const void *b)
{
	const struct json_member *x = a, *y = b;
	int order = slice_compare(x->name, y->name);

	if (order)
		return order;
	return x->value.span.data < y->value.span.data ? -1 : 1;
}

static void drop_repeated(struct json_members *members)
{
	size_t n = 0;

	for (size_t i = 0; i < members->n; i++) {
		if (i + 1 < members->n &&
		    slice_equal(members->items[i].name, members->items[i + 1].name))
			continue;
		members->items[n++] = members->items[i];
	}
	members->n = n;
}

int json_members_sorted(const struct json *object, struct arena *arena, struct json_members *out,
			struct error *err)
{
	struct json key, value;

	JSON_EACH (object, &key, value) {
		int r = push_member(&key, &value, arena, out, err);

		if (r < 0)
			return r;
	}
	if (out->n > 1)
		qsort(out->items, out->n, sizeof(out->items[0]), compare_members);
	drop_repeated(out);
	return 0;
}

static bool is_whole(struct slice text)
{
	for (size_t i = 0; i < text.size; i++)
		if (text.data[i] < '0' || text.data[i] > '9')
			return false;
	return text.size > 0;
}

int json_number(const struct json *value, struct json_number *ret_number, struct error *err)
{
	struct slice span = value->span;
	bool negative = span.size > 0 && span.data[0] == '-';
	struct json_number number = {.kind = NUMBER_FLOAT};
	double f;
	int r;

	if (is_whole(slice_sub(span, negative, SIZE_MAX))) {
		if (!negative && text_u64(span, &number.u, NULL) == 0)
			number.kind = NUMBER_UNSIGNED;
		if (negative && text_i64(span, &number.i, NULL) == 0 && number.i != 0)
			number.kind = NUMBER_NEGATIVE;
	}
	if (number.kind == NUMBER_FLOAT) {
		r = json_double(value, &f, err);
		if (r < 0)
			return r;
		number.f = f;
	}
	*ret_number = number;
	return 0;
}
