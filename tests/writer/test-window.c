/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/window.h"

#include "base/time.h"
#include "test.h"

static enum step_type step_of(const char *name)
{
	static const char *const names[] = {"instant", "accum", "avg", "max", "min"};

	for (int i = 0; i < 5; i++)
		if (strcmp(names[i], name) == 0)
			return (enum step_type)i;
	fail_msg("step type '%s'", name);
	return STEP_INSTANT;
}

static int64_t reset_of(const char *text)
{
	int days, hours;

	if (strcmp(text, "None") == 0)
		return 0;
	if (strcmp(text, "max") == 0)
		return TIME_FOREVER;
	assert_int_equal(sscanf(text, "%d days %d:", &days, &hours), 2);
	return days * TIME_DAY + hours * TIME_HOUR;
}

/* Every row of data/golden/noaa_window_strings.tsv, which the reference system's function wrote. */
static void test_golden(void **state)
{
	char line[512];
	FILE *file;
	int n = 0;

	(void)state;
	if (!test_data("."))
		skip();
	file = fopen(test_data("golden/noaa_window_strings.tsv"), "r");
	assert_non_null(file);
	assert_non_null(fgets(line, sizeof(line), file));
	while (fgets(line, sizeof(line), file)) {
		char *at = line, *fields[5], text[WINDOW_TEXT_MAX];
		struct error err = ERROR_INIT;

		for (int i = 0; i < 5; i++)
			fields[i] = strsep(&at, "\t\n");
		assert_ok(window_text(step_of(fields[1]), reset_of(fields[2]),
				      atoi(fields[3]) * TIME_HOUR, text, &err),
			  &err);
		if (strcmp(text, fields[4]) != 0)
			fail_msg("%s at %s h: '%s', not '%s'", fields[0], fields[3], text,
				 fields[4]);
		n++;
	}
	fclose(file);
	assert_true(n > 100);
}

/* Sub-hourly products (HRRR subh) count minutes from the start: docs, "Sidecar indexes". */
static struct minute_case {
	const char *name;
	enum step_type step;
	int64_t reset, lead;
	const char *want, *error;
} cases[] = {
	{"instant", STEP_INSTANT, 0, 735 * 60 * TIME_SECOND, "735 min fcst"},
	{"window", STEP_AVG, 900 * TIME_SECOND, 735 * 60 * TIME_SECOND, "720-735 min ave fcst"},
	{"window ending at a whole hour", STEP_AVG, 900 * TIME_SECOND, TIME_HOUR,
	 "45-60 min ave fcst"},
	{"before the start", STEP_INSTANT, 0, -TIME_HOUR, NULL,
	 "a lead time of -3600 s has no text"},
	{"no window", STEP_MAX, 0, TIME_HOUR, NULL, "a window that never began has no text"},
};

static void test_minutes(void **state)
{
	const struct minute_case *c = *state;
	char text[WINDOW_TEXT_MAX];
	struct error err = ERROR_INIT;
	int r = window_text(c->step, c->reset, c->lead, text, &err);

	if (c->error) {
		assert_int_equal(r, ERR_ARGUMENT);
		assert_string_equal(err.text, c->error);
		return;
	}
	assert_ok(r, &err);
	assert_string_equal(text, c->want);
}

int main(void)
{
	const struct CMUnitTest golden[] = {cmocka_unit_test(test_golden)};
	int failed = RUN_CASES(test_minutes, cases);

	return failed + cmocka_run_group_tests(golden, NULL, NULL);
}
