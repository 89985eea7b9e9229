/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/time.h"

#define NOW INT64_C(1767323045678901) /* 2026-01-02T03:04:05.678901Z */

/* Values of CPython's datetime; years beyond it from the length of 400 years, 146097 days. */
static struct civil_case {
	const char *name; /* as time_format_micros() prints it */
	int64_t time;
	struct civil civil;
} civil_cases[] = {
	{"1970-01-01T00:00:00.000000Z", 0, {1970, 1, 1}},
	{"2026-01-02T03:04:05.678901Z", NOW, {2026, 1, 2, 3, 4, 5, 678901}},
	{"2000-02-29T00:00:00.000000Z", 951782400000000, {2000, 2, 29}},
	{"1900-03-01T00:00:00.000000Z", -2203891200000000, {1900, 3, 1}},
	{"0001-01-01T00:00:00.000000Z", -62135596800000000, {1, 1, 1}},
	{"9999-12-31T23:59:59.999999Z", 253402300799999999, {9999, 12, 31, 23, 59, 59, 999999}},
	{"1969-12-31T23:59:59.999999Z", -1, {1969, 12, 31, 23, 59, 59, 999999}},
	{"2100-02-28T23:59:59.000000Z", 4107542399000000, {2100, 2, 28, 23, 59, 59}},
	{"0000-02-29T00:00:00.000000Z", -62135596800000000 - 307 * TIME_DAY, {0, 2, 29}},
	{"-0953-01-01T00:00:00.000000Z", -62135596800000000 - 348442 * TIME_DAY, {-953, 1, 1}},
	{"20000-01-01T00:00:00.000000Z",
	 45 * 146097 * TIME_DAY + 951782400000000 - 59 * TIME_DAY,
	 {20000, 1, 1}},
};

static void test_civil(void **state)
{
	const struct civil_case *c = *state;
	struct civil civil = time_civil(c->time);
	char text[TIME_TEXT_MAX];

	assert_memory_equal(&civil, &c->civil, sizeof(civil));
	assert_true(time_from_civil(&c->civil) == c->time);
	time_format_micros(c->time, text);
	assert_string_equal(text, c->name);
}

static void test_every_day_of_eight_centuries(void **state)
{
	struct civil last = {1599, 12, 31};

	(void)state;
	for (int64_t day = -135140; day <= 157112; day++) { /* 1600-01-01 to 2400-02-28 */
		struct civil civil = time_civil(day * TIME_DAY);

		assert_true(time_from_civil(&civil) == day * TIME_DAY);
		assert_true(civil.day == last.day + 1 || civil.day == 1);
		assert_true(civil.day > 1 || (civil.month - last.month + 12) % 12 == 1);
		last = civil;
	}
	assert_true(last.year == 2400 && last.month == 2 && last.day == 28);
}

static void test_the_ends_of_64_bits(void **state)
{
	int64_t ends[] = {INT64_MIN, INT64_MAX};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		struct civil civil = time_civil(ends[i]);
		char text[TIME_TEXT_MAX];

		time_format_micros(ends[i], text);
		time_format_seconds(ends[i], text);
		civil.year *= 2;
		assert_true(time_from_civil(&civil) == ends[i]);
		civil.year *= INT64_C(10000000000000);
		assert_true(time_from_civil(&civil) == ends[i]);
	}
}

static void test_format_seconds(void **state)
{
	char text[TIME_TEXT_MAX];

	(void)state;
	time_format_seconds(NOW, text);
	assert_string_equal(text, "2026-01-02T03:04:05Z");
	time_format_seconds(-1, text);
	assert_string_equal(text, "1969-12-31T23:59:59Z");
}

static struct time_case {
	const char *name; /* the text */
	int want;
	int64_t value;
} time_cases[] = {
	{"2026-01-02T03:04:05.678901Z", 0, NOW},
	{"2026-01-02t03:04:05.678901z", 0, NOW},
	{"2026-01-02 03:04:05.678901", 0, NOW},
	{"2026-01-02T03:04:05.678901999999", 0, NOW},
	{"2026-01-02T03:04:05.6Z", 0, NOW - 78901},
	{"2026-01-02T03:04:05Z", 0, NOW - 678901},
	{"2026-01-02T03:04Z", 0, NOW - 5678901},
	{"2026-01-02T03", 0, NOW - 245678901},
	{"2026-01-02", 0, 1767312000000000},
	{"2026-01-02T04:04:05.678901+01:00", 0, NOW},
	{"2026-01-01T21:34:05.678901-05:30", 0, NOW},
	{"2026-01-02T03:04:05.678901+00:00", 0, NOW},
	{"2024-02-29", 0, 1709164800000000},
	{"0000-01-01", 0, -62167219200000000},
	{"7d", 0, NOW - 7 * TIME_DAY},
	{"12h", 0, NOW - 12 * TIME_HOUR},
	{"30m", 0, NOW - 1800 * TIME_SECOND},
	{"10s", 0, NOW - 10 * TIME_SECOND},
	{"0s", 0, NOW},
	{"", ERR_ARGUMENT},
	{"now", ERR_ARGUMENT},
	{"7", ERR_ARGUMENT},
	{"d", ERR_ARGUMENT},
	{"-7d", ERR_ARGUMENT},
	{"+7d", ERR_ARGUMENT},
	{"7w", ERR_ARGUMENT},
	{"1.5d", ERR_ARGUMENT},
	{"99999999999d", ERR_ARGUMENT},
	{"2026", ERR_ARGUMENT},
	{"2026-1-2", ERR_ARGUMENT},
	{"2026-01-02T", ERR_ARGUMENT},
	{"2026-01-02 ", ERR_ARGUMENT},
	{"2026-01-02Z", ERR_ARGUMENT},
	{"2026-01-02T03:", ERR_ARGUMENT},
	{"2026-01-02T03:04:", ERR_ARGUMENT},
	{"2026-01-02T03:04:05.", ERR_ARGUMENT},
	{"2026-01-02T03:04:05.Z", ERR_ARGUMENT},
	{"2026-01-02T03:04:05Zx", ERR_ARGUMENT},
	{"2026-01-02T03:04:05+01", ERR_ARGUMENT},
	{"2026-01-02T03:04:05+24:00", ERR_ARGUMENT},
	{"2026-01-02T24:00", ERR_ARGUMENT},
	{"2026-01-02T03:60", ERR_ARGUMENT},
	{"2026-01-02T03:04:60", ERR_ARGUMENT},
	{"2026-13-01", ERR_ARGUMENT},
	{"2026-00-01", ERR_ARGUMENT},
	{"2026-04-31", ERR_ARGUMENT},
	{"2026-04-00", ERR_ARGUMENT},
	{"2025-02-29", ERR_ARGUMENT},
	{"1900-02-29", ERR_ARGUMENT},
	{"20260102", ERR_ARGUMENT},
};

static void test_parse(void **state)
{
	const struct time_case *c = *state;
	struct error err = ERROR_INIT;
	int64_t time = 7;

	assert_int_equal(time_parse(c->name, NOW, &time, &err), c->want);
	assert_true(time == (c->want ? 7 : c->value));
}

static struct time_case duration_cases[] = {
	{"48h", 0, 48 * TIME_HOUR},
	{"0h", 0, 0},
	{"30m", 0, 1800 * TIME_SECOND},
	{"2d", 0, 2 * TIME_DAY},
	{"45s", 0, 45 * TIME_SECOND},
	{"-6h", 0, -6 * TIME_HOUR},
	{"+6h", 0, 6 * TIME_HOUR},
	{"", ERR_ARGUMENT},
	{"h", ERR_ARGUMENT},
	{"-h", ERR_ARGUMENT},
	{"+-6h", ERR_ARGUMENT},
	{"--6h", ERR_ARGUMENT},
	{"6", ERR_ARGUMENT},
	{"6 h", ERR_ARGUMENT},
	{"6H", ERR_ARGUMENT},
	{"6hh", ERR_ARGUMENT},
	{"106751992d", ERR_ARGUMENT}, /* 2^63 us are 106751991.2 days */
};

static void test_duration(void **state)
{
	const struct time_case *c = *state;
	struct error err = ERROR_INIT;
	int64_t duration = 7;

	assert_int_equal(duration_parse(c->name, &duration, &err), c->want);
	assert_true(duration == (c->want ? 7 : c->value));
}

static void test_messages(void **state)
{
	struct error err = ERROR_INIT;
	int64_t value;

	(void)state;
	time_parse("soon", NOW, &value, &err);
	assert_string_equal(err.text,
			    "'soon' is no time such as 2026-01-02T03:04:05Z, 2026-01-02 or 7d");
	duration_parse("long", &value, &err);
	assert_string_equal(err.text, "'long' is no duration such as 48h, 2d or 30m");
}

static void test_clocks(void **state)
{
	int64_t first = time_monotonic();

	(void)state;
	assert_true(time_monotonic() >= first);
	assert_true(time_now() > NOW - 2 * 365 * TIME_DAY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_day_of_eight_centuries),
		cmocka_unit_test(test_the_ends_of_64_bits),
		cmocka_unit_test(test_format_seconds),
		cmocka_unit_test(test_messages),
		cmocka_unit_test(test_clocks),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	failed += RUN_CASES(test_civil, civil_cases);
	failed += RUN_CASES(test_parse, time_cases);
	failed += RUN_CASES(test_duration, duration_cases);
	return failed;
}
