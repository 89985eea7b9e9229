/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What every unit test includes: cmocka, and tables whose rows are reported one by one
 *
 * Tests print nothing themselves.  Exit status 77 means "skipped": test_skip() says why.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"

#define TEST_CASES_MAX 1024

/* Runs @function once a row; each row is a struct whose first member is its name. */
#define RUN_CASES(function, cases) \
	test_run_cases(#function, function, (cases), sizeof((cases)[0]), ARRAY_LEN(cases))

static inline int test_run_cases(const char *group, CMUnitTestFunction function, void *cases,
				 size_t size, size_t n)
{
	static struct CMUnitTest tests[TEST_CASES_MAX];

	if (n > TEST_CASES_MAX)
		abort();
	for (size_t i = 0; i < n; i++) {
		char *row = (char *)cases + i * size;

		tests[i] = (struct CMUnitTest){
			.name = *(const char **)row,
			.test_func = function,
			.initial_state = row,
		};
	}
	return _cmocka_run_group_tests(group, tests, n, NULL, NULL);
}

/* Path below the folder of test data (REFMT_TEST_DATA), or NULL when there is none. */
static inline const char *test_data(const char *name)
{
	static char path[4096];
	const char *root = getenv("REFMT_TEST_DATA");

	if (!root || !root[0])
		return NULL;
	snprintf(path, sizeof(path), "%s/%s", root, name);
	return path;
}

/* Ends the program as skipped, with the reason on standard output. */
static inline void test_skip(const char *reason)
{
	printf("SKIP: %s\n", reason);
	exit(77);
}

/* Fails the test with the error's text unless @r is 0. */
#define assert_ok(r, err)                                                  \
	do {                                                               \
		int r_ = (r);                                              \
		if (r_ != 0)                                               \
			fail_msg("result %d, error: %s", r_, (err)->text); \
	} while (0)
