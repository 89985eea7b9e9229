/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/arena.h"
#include "base/emit.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/pool.h"
#include "base/regex.h"
#include "base/text.h"
#include "base/vec.h"

/* The linker sends the library's allocations through these (--wrap); the n-th one fails. */
void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *block, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *block, size_t size);

static unsigned int failing; /* 0: none */
static unsigned int calls;

static bool fails(void)
{
	return failing && ++calls == failing;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *block, size_t size)
{
	return fails() ? NULL : __real_realloc(block, size);
}

DEFINE_VEC(numbers, int);

static int use_buf(struct error *err)
{
	CLEANUP(buf_done) struct buf buf = BUF_INIT(BUF_NO_LIMIT);

	for (int i = 0; i < 200; i++) {
		int r = buf_append_text(&buf, "0123456789", err);

		if (r < 0)
			return r;
	}
	return buf_text(&buf, err) ? 0 : ERR_MEMORY;
}

static int use_vec(struct error *err)
{
	CLEANUP(numbers_done) struct numbers numbers = {0};
	int r = 0;

	for (int i = 0; r == 0 && i < 100; i++)
		r = numbers_push(&numbers, i, err);
	return r;
}

static int use_arena(struct error *err)
{
	CLEANUP(arena_done) struct arena arena = ARENA_INIT;

	for (int i = 0; i < 3; i++) {
		if (!arena_zalloc(&arena, 50000, 1, err))
			return ERR_MEMORY;
	}
	return arena_dup(&arena, slice_text("x"), err) ? 0 : ERR_MEMORY;
}

static int use_json(struct error *err)
{
	const char *text = "{\"a\":\"\\u0041\",\"n\":0.10000000000000000000000000000000000000000"
			   "0000000000000000000000000000000}";
	CLEANUP(buf_done) struct buf out = BUF_INIT(BUF_NO_LIMIT);
	CLEANUP(freep) char *name = NULL;
	struct json root, value;
	double number;
	int r;

	r = json_parse(slice_text(text), &root, err);
	if (r < 0)
		return r;
	json_get(&root, "a", &value);
	r = json_dup(&value, &name, err);
	if (r < 0)
		return r;
	r = json_edit_replace(slice_text(text), &value, slice_text("7"), &out, err);
	if (r < 0)
		return r;
	json_get(&root, "n", &value);
	return json_double(&value, &number, err);
}

static int use_emit(struct error *err)
{
	CLEANUP(buf_done) struct buf out = BUF_INIT(BUF_NO_LIMIT);
	struct emit json = EMIT_INIT(&out, true);

	emit_array(&json);
	for (int i = 0; i < 100; i++)
		emit_text(&json, "some text");
	emit_end_array(&json);
	return emit_result(&json, err);
}

static int use_text(struct error *err)
{
	CLEANUP(buf_done) struct buf out = BUF_INIT(BUF_NO_LIMIT);
	CLEANUP(freep) char *copy = text_dup("x", err);
	int r;

	if (!copy)
		return ERR_MEMORY;
	r = text_percent_encode(slice_text("a b"), "", &out, err);
	if (r < 0)
		return r;
	return base64_encode(slice_text("0123456789012345678901234567890123456789012345"), &out,
			     err);
}

static int use_regex(struct error *err)
{
	CLEANUP(regex_freep) struct regex *regex = NULL;
	bool found;
	int r = regex_new(slice_text("^a[[:alpha:]]+$"), &regex, err);

	return r < 0 ? r : regex_search(regex, slice_text("abc"), &found, err);
}

static void do_nothing(void *argument)
{
	(void)argument;
}

static int use_pool(struct error *err)
{
	CLEANUP(pool_freep) struct pool *pool = NULL;
	int r = pool_new(2, &pool, err);

	return r < 0 ? r : pool_add(pool, do_nothing, NULL, err);
}

static struct memory_case {
	const char *name;
	int (*use)(struct error *err);
} cases[] = {
	{"buf", use_buf},   {"vec", use_vec},	{"arena", use_arena}, {"json", use_json},
	{"emit", use_emit}, {"text", use_text}, {"regex", use_regex}, {"pool", use_pool},
};

/* Each failure is told as such, and the leak checker sees that nothing stays behind. */
static void test_each_failing_allocation_is_told(void **state)
{
	const struct memory_case *c = *state;
	unsigned int n = 0;
	int r;

	do {
		struct error err = ERROR_INIT;

		failing = ++n;
		calls = 0;
		r = c->use(&err);
		failing = 0;
		assert_true(r == 0 || r == ERR_MEMORY);
		assert_int_equal(err.kind, r);
	} while (r < 0);
	assert_true(n > 1); /* or the loop has tested nothing */
}

int main(void)
{
	return RUN_CASES(test_each_failing_allocation_is_told, cases);
}
