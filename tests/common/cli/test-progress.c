/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/log.h"
#include "base/pool.h"
#include "base/time.h"
#include "capture.h"
#include "cli/progress.h"

#define MIN (60 * TIME_SECOND)

static struct line_case {
	const char *name; /* the line */
	struct progress_counts counts;
	uint64_t total;
	int64_t elapsed;
	size_t width;
} line_cases[] = {
	{"commit  0/400 files", {0, 0, 0}, 400, 0, 79},
	{"commit  0 files", {0, 0, 0}, 0, MIN, 79},
	{"commit  0/400 files  3 refs", {0, 3, 0}, 400, MIN, 79},
	{"commit  123/400 files  21,500 refs  1.2 GiB  35 files/s  0:07 left",
	 {123, 21500, 1288490189},
	 400,
	 123 * TIME_SECOND / 35,
	 79},
	{"commit  400/400 files  40 files/s", {400, 0, 0}, 400, 10 * TIME_SECOND, 79},
	{"commit  7 files  1023 B  0.1 files/s", {7, 0, 1023}, 0, MIN, 79},
	{"commit  1/1,000 files  1.0 KiB  0.0 files/s  16:39:00 left", {1, 0, 1024}, 1000, MIN, 79},
	{"commit  61/62 files  1.0 files/s  0:01 left", {61, 0, 0}, 62, 61 * TIME_SECOND, 79},
	{"commit  1/18,446,744,073,709,551,615 files  1.0 files/s",
	 {1, 0, 0},
	 UINT64_MAX,
	 TIME_SECOND,
	 79},
	{"commit  12", {123, 0, 0}, 400, TIME_SECOND, 10},
};

static void test_line(void **state)
{
	const struct line_case *c = *state;
	char text[80];

	progress_format("commit", &c->counts, c->total, c->elapsed, c->width, text);
	assert_string_equal(text, c->name);
}

static int show(void *argument)
{
	(void)argument;
	progress_start("commit", 3, true);
	progress_add(1, 0, 0); /* drawn */
	progress_add(1, 0, 0); /* too soon */
	log_event(LOG_WARNING, "w", "a line");
	progress_finish();
	log_event(LOG_WARNING, "w", "another");
	progress_finish();
	return 0;
}

static void test_the_line_is_drawn_and_cleared(void **state)
{
	struct captured got;
	const char *rest;

	(void)state;
	capture(show, NULL, -1, &got);
	assert_true(strncmp(got.err, "\r\x1b[Kcommit  1/3 files", 21) == 0);
	rest = strstr(got.err, "left");
	assert_non_null(rest);
	assert_string_equal(rest + 4, "\r\x1b[Kwarning: a line\nwarning: another\n");
}

static int add_one(void *argument, size_t i, struct error *err)
{
	(void)argument;
	(void)err;
	progress_add(1, 0, 0);
	if (i % 100 == 0)
		log_event(LOG_ERROR, "e", "line");
	return 0;
}

static int show_from_threads(void *argument)
{
	(void)argument;
	progress_start("commit", 0, true);
	parallel_for(4, 1000, add_one, NULL, NULL);
	progress_finish();
	return 0;
}

static void test_threads_may_add_and_log(void **state)
{
	struct captured got;
	size_t n = 0;

	(void)state;
	capture(show_from_threads, NULL, -1, &got);
	assert_int_equal(got.status, 0);
	for (const char *at = got.err; (at = strstr(at, "error: line\n")); at++)
		n++;
	assert_int_equal(n, 10);
}

static int show_nothing(void *argument)
{
	(void)argument;
	progress_start("commit", 3, false);
	progress_add(1, 1, 1);
	progress_finish();
	return 0;
}

static void test_nothing_is_drawn_unless_shown(void **state)
{
	struct captured got;

	(void)state;
	capture(show_nothing, NULL, -1, &got);
	assert_string_equal(got.err, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_line_is_drawn_and_cleared),
		cmocka_unit_test(test_threads_may_add_and_log),
		cmocka_unit_test(test_nothing_is_drawn_unless_shown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) + RUN_CASES(test_line, line_cases);
}
