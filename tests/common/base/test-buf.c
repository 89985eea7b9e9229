/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/arena.h"
#include "base/random.h"
#include "base/vec.h"

DEFINE_VEC(numbers, uint32_t);

static void test_nothing_grows_beyond_the_ceiling(void **state)
{
	CLEANUP(buf_done) struct buf buf = BUF_INIT(5);
	struct error err = ERROR_INIT;
	uint8_t *bytes;

	(void)state;
	assert_ok(buf_append_text(&buf, "abc", &err), &err);
	assert_int_equal(buf_append_text(&buf, "def", &err), ERR_FORMAT);
	assert_string_equal(err.text, "larger than 5 bytes");
	assert_int_equal(buf_reserve(&buf, SIZE_MAX, &err), ERR_FORMAT);
	assert_int_equal(buf_extend(&buf, 3, &bytes, &err), ERR_FORMAT);
	assert_ok(buf_extend(&buf, 2, &bytes, &err), &err);
	memcpy(bytes, "de", 2);
	assert_true(slice_is(buf_slice(&buf), "abcde"));
	assert_string_equal(buf_text(&buf, &err), "abcde");
	assert_int_equal(buf.size, 5);
}

static void test_printf_up_to_the_ceiling(void **state)
{
	CLEANUP(buf_done) struct buf buf = BUF_INIT(300);
	struct error err = ERROR_INIT;

	(void)state;
	assert_ok(buf_printf(&buf, &err, "%300d", 7), &err);
	assert_int_equal(buf_printf(&buf, &err, "%d", 7), ERR_FORMAT);
	assert_int_equal(buf.size, 300);
}

static void test_printf_of_any_length(void **state)
{
	CLEANUP(buf_done) struct buf buf = BUF_INIT(BUF_NO_LIMIT);
	struct error err = ERROR_INIT;

	(void)state;
	for (int width = 250; width < 260; width++) {
		buf_clear(&buf);
		assert_ok(buf_printf(&buf, &err, "%*d|", width, 7), &err);
		assert_int_equal(buf.size, width + 1);
		assert_string_equal(buf_text(&buf, &err) + width - 1, "7|");
	}
}

static void test_take_moves_the_bytes_out(void **state)
{
	CLEANUP(buf_done) struct buf buf = BUF_INIT(10);
	struct error err = ERROR_INIT;
	CLEANUP(freep) uint8_t *bytes = NULL;
	size_t size;

	(void)state;
	assert_ok(buf_append_byte(&buf, 'x', &err), &err);
	bytes = buf_take(&buf, &size);
	assert_int_equal(size, 1);
	assert_int_equal(bytes[0], 'x');
	assert_int_equal(buf.size, 0);
	assert_ok(buf_append_byte(&buf, 'y', &err), &err);
}

static void test_slices(void **state)
{
	struct slice text = slice_text("hello");
	struct slice none = {NULL, 0};
	struct error err = ERROR_INIT;
	CLEANUP(freep) char *copy = slice_dup(none, &err);

	(void)state;
	assert_true(slice_is(slice_sub(text, 1, 3), "ell"));
	assert_true(slice_is(slice_sub(text, 1, SIZE_MAX), "ello"));
	assert_true(slice_is(slice_sub(text, SIZE_MAX, 1), ""));
	assert_true(slice_is(slice_sub(none, 3, 1), ""));
	assert_string_equal(copy, "");
	assert_true(slice_compare(text, slice_text("hell")) > 0);
	assert_true(slice_compare(slice_text("a\xff"), slice_text("b")) < 0);
	assert_true(slice_compare(none, slice_text("")) == 0);
	assert_true(slice_equal(none, slice_text("")));
	assert_false(slice_equal(none, text));
}

static void test_vectors_grow(void **state)
{
	struct numbers numbers = {0};
	struct error err = ERROR_INIT;
	void *items = NULL;
	size_t capacity = 0;

	(void)state;
	for (uint32_t i = 0; i < 1000; i++)
		assert_ok(numbers_push(&numbers, i, &err), &err);
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(numbers.items[i], i);
	numbers_done(&numbers);
	assert_int_equal(vec_reserve(&items, &capacity, SIZE_MAX, 8, &err), ERR_MEMORY);
	assert_null(items);
}

static void test_arena_aligns_and_keeps(void **state)
{
	CLEANUP(arena_done) struct arena arena = ARENA_INIT;
	struct error err = ERROR_INIT;
	char *texts[500];
	uint64_t *zeros;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		char text[20];

		snprintf(text, sizeof(text), "text %zu", i);
		texts[i] = arena_dup(&arena, slice_text(text), &err);
		assert_int_equal((uintptr_t)arena_alloc(&arena, i * 7, &err) % 16, 0);
	}
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		assert_int_equal(strtoul(texts[i] + 5, NULL, 10), i);
	zeros = arena_zalloc(&arena, 100000, sizeof(*zeros), &err);
	assert_non_null(zeros);
	assert_int_equal(zeros[0] | zeros[99999], 0);
	assert_null(arena_zalloc(&arena, SIZE_MAX / 2, 3, &err));
	assert_null(arena_alloc(&arena, SIZE_MAX, &err));
	assert_int_equal(err.kind, ERR_MEMORY);
}

static void test_random(void **state)
{
	uint8_t a[32] = {0}, b[32] = {0};
	struct error err = ERROR_INIT;

	(void)state;
	assert_ok(random_bytes(a, sizeof(a), &err), &err);
	assert_ok(random_bytes(b, sizeof(b), &err), &err);
	assert_memory_not_equal(a, b, sizeof(a));
	for (int i = 0; i < 1000; i++) {
		double unit = random_unit();

		assert_true(unit >= 0 && unit < 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_grows_beyond_the_ceiling),
		cmocka_unit_test(test_printf_up_to_the_ceiling),
		cmocka_unit_test(test_printf_of_any_length),
		cmocka_unit_test(test_take_moves_the_bytes_out),
		cmocka_unit_test(test_slices),
		cmocka_unit_test(test_vectors_grow),
		cmocka_unit_test(test_arena_aligns_and_keeps),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
