/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <errno.h>

static void test_prefix_keeps_the_kind_and_puts_the_phrase_in_front(void **state)
{
	struct error err = ERROR_INIT;

	(void)state;
	assert_int_equal(error_set(&err, ERR_FORMAT, "byte %d", 7), ERR_FORMAT);
	assert_int_equal(error_prefix(&err, "cannot read '%s'", "a\nb"), ERR_FORMAT);
	assert_string_equal(err.text, "cannot read 'a?b': byte 7");
}

static void test_errno_gives_the_kind(void **state)
{
	struct error err = ERROR_INIT;

	(void)state;
	assert_int_equal(error_set_errno(&err, EACCES, "cannot open 'x'"), ERR_DENIED);
	assert_string_equal(err.text, "cannot open 'x': Permission denied");
}

/* The table of docs/ARCHITECTURE.md, "Errors". */
static void test_exit_status_and_errno_follow_from_the_kind(void **state)
{
	(void)state;
	assert_int_equal(error_exit_status(ERR_ARGUMENT), 2);
	assert_int_equal(error_exit_status(ERR_THROTTLED), 75);
	assert_int_equal(error_exit_status(ERR_INTERRUPTED), 75);
	assert_int_equal(error_exit_status(ERR_TEMPORARY), 75);
	assert_int_equal(error_exit_status(ERR_FORMAT), 1);
	assert_int_equal(error_errno(ERR_DENIED), EACCES);
	assert_int_equal(error_errno(ERR_CHANGED), ESTALE);
	assert_int_equal(error_errno(ERR_TIMEOUT), ETIMEDOUT);
	assert_int_equal(error_errno(ERR_MEMORY), ENOMEM);
	/* Readers of Zarr take ENOENT for missing data: never for a failure. */
	assert_int_equal(error_errno(ERR_ABSENT), EIO);
	assert_int_equal(error_errno(ERR_NETWORK), EIO);
	assert_int_equal(error_errno(ERR_TEMPORARY), EIO);
	assert_string_equal(error_kind_name(ERR_LAST), "temporary");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_prefix_keeps_the_kind_and_puts_the_phrase_in_front),
		cmocka_unit_test(test_errno_gives_the_kind),
		cmocka_unit_test(test_exit_status_and_errno_follow_from_the_kind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
