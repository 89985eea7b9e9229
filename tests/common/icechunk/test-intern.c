/* SPDX-License-Identifier: Apache-2.0 */
#include "icechunk/intern.h"

#include "test.h"

static struct error err;

static uint32_t number_of(struct intern *intern, const char *text)
{
	uint32_t number;

	assert_ok(intern_text(intern, slice_text(text), &number, &err), &err);
	return number;
}

static void test_equal_texts_have_one_number(void **state)
{
	CLEANUP(intern_done) struct intern intern = INTERN_INIT;

	(void)state;
	assert_int_equal(number_of(&intern, "a"), 0);
	assert_int_equal(number_of(&intern, "b"), 1);
	assert_int_equal(number_of(&intern, "a"), 0);
	assert_int_equal(number_of(&intern, ""), 2);
	assert_int_equal(number_of(&intern, ""), 2);
	assert_int_equal(intern.texts.n, 3);
}

static void test_many(void **state)
{
	CLEANUP(intern_done) struct intern intern = INTERN_INIT;
	char text[40];

	(void)state;
	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < 20000; i++) {
			snprintf(text, sizeof(text), "s3://bucket/path/file-%u", i);
			assert_int_equal(number_of(&intern, text), i);
		}
	}
	assert_int_equal(intern.texts.n, 20000);
	assert_true(intern_memory(&intern) > 20000 * 20);
}

static void test_forget(void **state)
{
	CLEANUP(intern_done) struct intern intern = INTERN_INIT;

	(void)state;
	assert_int_equal(number_of(&intern, "a"), 0);
	assert_int_equal(number_of(&intern, "b"), 1);
	intern_forget_last(&intern);
	assert_int_equal(number_of(&intern, "c"), 1);
	assert_int_equal(number_of(&intern, "a"), 0);
	assert_int_equal(number_of(&intern, "b"), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equal_texts_have_one_number),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_forget),
	};

	return cmocka_run_group_tests_name("interned texts", tests, NULL, NULL);
}
