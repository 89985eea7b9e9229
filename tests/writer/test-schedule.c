/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/schedule.h"

#include "base/time.h"
#include "test.h"

/* The examples of the reference system's tests, and the forms that it refuses. */
static struct fire_case {
	const char *name;
	const char *schedule;
	const char *now, *fire; /* fire NULL: refused */
} cases[] = {
	{"every hour", "50 * * * *", "2026-08-21T23:12", "2026-08-21T22:50"},
	{"list, over midnight", "53 1,7,13,19 * * *", "2026-08-21T01:00", "2026-08-20T19:53"},
	{"range with a step", "17 1-23/3 * * *", "2026-08-21T01:00", "2026-08-20T22:17"},
	{"step", "13 */6 * * *", "2026-08-21T07:00", "2026-08-21T06:13"},
	{"the fire itself", "50 0,6,12,18 * * *", "2026-08-21T06:50", "2026-08-21T06:50"},
	{"a second before", "50 0,6,12,18 * * *", "2026-08-21T06:49:59", "2026-08-21T00:50"},
	{"one hour alone", "5 3 * * *", "2026-08-21T03:04", "2026-08-20T03:05"},
	{"before 1970", "0 0 * * *", "1969-12-31T23:00", "1969-12-31T00:00"},
	{"minute too large", "60 * * * *", NULL, NULL},
	{"no minute", "* * * * *", NULL, NULL},
	{"range without step", "0 1-5 * * *", NULL, NULL},
	{"step in a list", "0 1,2-6/2 * * *", NULL, NULL},
	{"step of 0", "0 */0 * * *", NULL, NULL},
	{"hour too large", "0 24 * * *", NULL, NULL},
	{"day", "0 1 1 * *", NULL, NULL},
	{"four fields", "0 1 * *", NULL, NULL},
	{"empty", "", NULL, NULL},
};

static void test_fire(void **state)
{
	const struct fire_case *c = *state;
	struct error err = ERROR_INIT;
	struct schedule schedule;
	int64_t now, fire;
	int r = schedule_parse(c->schedule, &schedule, &err);

	if (!c->fire) {
		assert_int_equal(r, ERR_ARGUMENT);
		return;
	}
	assert_ok(r, &err);
	assert_ok(time_parse(c->now, 0, &now, &err), &err);
	assert_ok(time_parse(c->fire, 0, &fire, &err), &err);
	assert_int_equal(schedule_fire(&schedule, now), fire);
}

int main(void)
{
	return RUN_CASES(test_fire, cases);
}
