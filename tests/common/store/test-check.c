/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "store/check.h"

/* RFC 9110, section 8.8.3.2; quotes are optional since icechunk records ETags without them. */
static void test_strong_comparison_of_etags(void **state)
{
	(void)state;
	assert_true(store_etag_equal("\"1\"", "\"1\""));
	assert_true(store_etag_equal("1", "\"1\""));
	assert_false(store_etag_equal("\"1\"", "\"2\""));
	assert_false(store_etag_equal("W/\"1\"", "\"1\""));
	assert_false(store_etag_equal("W/\"1\"", "W/\"1\""));
	assert_false(store_etag_equal("", "\"1\""));
	assert_false(store_etag_equal("\"", "\"\""));
}

static void test_a_demand_that_cannot_be_answered_fails(void **state)
{
	struct store_condition condition = {.etag = "\"1\""};
	struct store_info info = {0};
	struct error err = ERROR_INIT;

	(void)state;
	assert_int_equal(store_check_condition(&condition, &info, &err), ERR_CHANGED);
	assert_string_equal(err.text, "the object has ETag (none), recorded was \"1\"");
	condition = (struct store_condition){.not_modified_after = 5};
	assert_int_equal(store_check_condition(&condition, &info, &err), ERR_CHANGED);
	info.last_modified = 5999999;
	assert_ok(store_check_condition(&condition, &info, &err), &err);
	info.last_modified = 6000000;
	assert_int_equal(store_check_condition(&condition, &info, &err), ERR_CHANGED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_strong_comparison_of_etags),
		cmocka_unit_test(test_a_demand_that_cannot_be_answered_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
