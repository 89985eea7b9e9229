/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/schedule.h"

#include <string.h>

#include "base/text.h"
#include "base/time.h"

static int fail(const char *text, struct error *err)
{
	return error_set(err, ERR_ARGUMENT, "'%s' is not a schedule of the form \"M H * * *\"",
			 text);
}

/* One or two digits, at most @most; -1 otherwise. */
static int number(struct slice text, int most)
{
	int value = 0;

	if (text.size < 1 || text.size > 2)
		return -1;
	for (size_t i = 0; i < text.size; i++) {
		if (text.data[i] < '0' || text.data[i] > '9')
			return -1;
		value = value * 10 + (text.data[i] - '0');
	}
	return value <= most ? value : -1;
}

/* Cuts @text at @mark; false if it is not there. */
static int cut(struct slice text, char mark, struct slice *ret_head, struct slice *ret_tail)
{
	const uint8_t *at = text.size ? memchr(text.data, mark, text.size) : NULL;

	if (!at)
		return 0;
	*ret_head = slice_of(text.data, (size_t)(at - text.data));
	*ret_tail = slice_of(at + 1, text.size - ret_head->size - 1);
	return 1;
}

static uint32_t every(int first, int last, int step)
{
	uint32_t hours = 0;

	for (int h = first; h <= last; h += step)
		hours |= UINT32_C(1) << h;
	return hours;
}

/* 0 if the text cannot be understood. */
static uint32_t parse_hours(struct slice text)
{
	struct slice head, tail, first, last;
	uint32_t hours = 0;

	if (slice_is(text, "*"))
		return every(0, 23, 1);
	if (cut(text, '/', &head, &tail)) {
		int step = number(tail, 23), a = 0, b = 23;

		if (!slice_is(head, "*")) {
			if (!cut(head, '-', &first, &last))
				return 0;
			a = number(first, 23);
			b = number(last, 23);
		}
		return step > 0 && a >= 0 && b >= a ? every(a, b, step) : 0;
	}
	while (cut(text, ',', &head, &tail)) {
		int h = number(head, 23);

		if (h < 0)
			return 0;
		hours |= UINT32_C(1) << h;
		text = tail;
	}
	return number(text, 23) < 0 ? 0 : hours | UINT32_C(1) << number(text, 23);
}

int schedule_parse(const char *text, struct schedule *ret_schedule, struct error *err)
{
	struct slice rest = slice_text(text), minute, hours;
	struct schedule schedule;

	if (!cut(rest, ' ', &minute, &rest) || !cut(rest, ' ', &hours, &rest) ||
	    !slice_is(rest, "* * *"))
		return fail(text, err);
	schedule.minute = number(minute, 59);
	schedule.hours = parse_hours(hours);
	if (schedule.minute < 0 || schedule.hours == 0)
		return fail(text, err);
	*ret_schedule = schedule;
	return 0;
}

int64_t schedule_fire(const struct schedule *schedule, int64_t now)
{
	int64_t into = now % TIME_HOUR;
	int64_t fire =
		now - (into < 0 ? into + TIME_HOUR : into) + schedule->minute * 60 * TIME_SECOND;

	if (fire > now)
		fire -= TIME_HOUR;
	while (!(schedule->hours >> time_civil(fire).hour & 1))
		fire -= TIME_HOUR;
	return fire;
}
