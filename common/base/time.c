/* SPDX-License-Identifier: Apache-2.0 */
#include "base/time.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#include "base/text.h"

static int64_t clock_micros(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return now.tv_sec * TIME_SECOND + now.tv_nsec / 1000;
}

int64_t time_now(void)
{
	return clock_micros(CLOCK_REALTIME);
}

int64_t time_monotonic(void)
{
	return clock_micros(CLOCK_MONOTONIC);
}

static int64_t floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

/*
 * Both conversions count years from 1 March, so that the leap day ends a year, and in eras of 400
 * years, which have 146097 days.  The months from March on begin at day (153 m + 2) / 5.
 * Day 0 is 1970-01-01, which is day 719468 from 0000-03-01.
 */
#define YEAR_LIMIT 300000 /* beyond what 64 bits of microseconds hold */
#define DAYS_OF_ERA 146097
#define DAYS_TO_1970 719468

static int64_t days_from_civil(int64_t year, int month, int day)
{
	int64_t shifted = month > 2 ? year : year - 1;
	int64_t era = floor_div(shifted, 400);
	int64_t year_of_era = shifted - era * 400;
	int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
	int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;

	return era * DAYS_OF_ERA + day_of_era - DAYS_TO_1970;
}

static void civil_from_days(int64_t days, struct civil *civil)
{
	int64_t era = floor_div(days + DAYS_TO_1970, DAYS_OF_ERA);
	int64_t day_of_era = days + DAYS_TO_1970 - era * DAYS_OF_ERA;
	int64_t year_of_era =
		(day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
	int64_t day_of_year =
		day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
	int month = (int)((5 * day_of_year + 2) / 153);

	civil->day = (int)(day_of_year - (153 * month + 2) / 5) + 1;
	civil->month = month < 10 ? month + 3 : month - 9;
	civil->year = year_of_era + era * 400 + (civil->month <= 2);
}

struct civil time_civil(int64_t time)
{
	int64_t days = floor_div(time, TIME_DAY);
	int64_t rest = time % TIME_DAY + (time % TIME_DAY < 0 ? TIME_DAY : 0);
	struct civil civil = {
		.hour = (int)(rest / TIME_HOUR),
		.minute = (int)(rest / (60 * TIME_SECOND) % 60),
		.second = (int)(rest / TIME_SECOND % 60),
		.microsecond = (int)(rest % TIME_SECOND),
	};

	civil_from_days(days, &civil);
	return civil;
}

int64_t time_from_civil(const struct civil *civil)
{
	int64_t seconds = INT64_C(3600) * civil->hour + INT64_C(60) * civil->minute + civil->second;
	int64_t days, time;

	if (civil->year > YEAR_LIMIT)
		return INT64_MAX;
	if (civil->year < -YEAR_LIMIT)
		return INT64_MIN;
	days = days_from_civil(civil->year, civil->month, civil->day);
	if (__builtin_mul_overflow(days, TIME_DAY, &time) ||
	    __builtin_add_overflow(time, seconds * TIME_SECOND + civil->microsecond, &time))
		return days < 0 ? INT64_MIN : INT64_MAX;
	return time;
}

static void format_date_and_clock(const struct civil *civil, char text[TIME_TEXT_MAX])
{
	int width = civil->year < 0 ? 5 : 4;

	snprintf(text, TIME_TEXT_MAX - sizeof(".000000Z"), "%0*" PRId64 "-%02u-%02uT%02u:%02u:%02u",
		 width, civil->year, (uint8_t)civil->month, (uint8_t)civil->day,
		 (uint8_t)civil->hour, (uint8_t)civil->minute, (uint8_t)civil->second);
}

void time_format_micros(int64_t time, char text[TIME_TEXT_MAX])
{
	struct civil civil = time_civil(time);

	format_date_and_clock(&civil, text);
	sprintf(text + strlen(text), ".%06uZ", (unsigned int)civil.microsecond % 1000000);
}

void time_format_seconds(int64_t time, char text[TIME_TEXT_MAX])
{
	struct civil civil = time_civil(time);

	format_date_and_clock(&civil, text);
	strcat(text, "Z");
}

/* Exactly @digits digits. */
static bool take_number(const char **at, int digits, int *ret_number)
{
	int number = 0;

	for (; digits > 0; digits--, (*at)++) {
		if (!text_is_digit((uint8_t) * *at))
			return false;
		number = number * 10 + (**at - '0');
	}
	*ret_number = number;
	return true;
}

static bool take_one_of(const char **at, const char *bytes)
{
	if (!**at || !strchr(bytes, **at))
		return false;
	(*at)++;
	return true;
}

static int days_of_month(int year, int month)
{
	static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	return days[month - 1] + (month == 2 && leap);
}

static bool take_date(const char **at, struct civil *civil)
{
	int year;

	if (!take_number(at, 4, &year) || !take_one_of(at, "-"))
		return false;
	if (!take_number(at, 2, &civil->month) || !take_one_of(at, "-"))
		return false;
	if (civil->month < 1 || civil->month > 12 || !take_number(at, 2, &civil->day))
		return false;
	civil->year = year;
	return civil->day >= 1 && civil->day <= days_of_month(year, civil->month);
}

/* Digits after the sixth are cut off. */
static bool take_fraction(const char **at, int *ret_microsecond)
{
	int micros = 0;
	int scale = 100000;

	if (!text_is_digit((uint8_t) * *at))
		return false;
	for (; text_is_digit((uint8_t) * *at); (*at)++, scale /= 10)
		micros += (**at - '0') * scale;
	*ret_microsecond = micros;
	return true;
}

static bool take_clock(const char **at, struct civil *civil)
{
	if (!take_number(at, 2, &civil->hour) || civil->hour > 23)
		return false;
	if (!take_one_of(at, ":"))
		return true;
	if (!take_number(at, 2, &civil->minute) || civil->minute > 59)
		return false;
	if (!take_one_of(at, ":"))
		return true;
	if (!take_number(at, 2, &civil->second) || civil->second > 59)
		return false;
	return !take_one_of(at, ".") || take_fraction(at, &civil->microsecond);
}

/* Nothing, Z, or +HH:MM; @ret_offset is in microseconds east. */
static bool take_zone(const char **at, int64_t *ret_offset)
{
	bool west = **at == '-';
	int hours, minutes;

	*ret_offset = 0;
	if (!take_one_of(at, "+-")) {
		take_one_of(at, "Zz");
		return true;
	}
	if (!take_number(at, 2, &hours) || !take_one_of(at, ":") || !take_number(at, 2, &minutes) ||
	    hours > 23 || minutes > 59)
		return false;
	*ret_offset = (hours * 60 + minutes) * 60 * TIME_SECOND * (west ? -1 : 1);
	return true;
}

static bool parse_rfc3339(const char *text, int64_t *ret_time)
{
	struct civil civil = {0};
	int64_t offset = 0;

	if (!take_date(&text, &civil))
		return false;
	if (take_one_of(&text, "Tt ") && !(take_clock(&text, &civil) && take_zone(&text, &offset)))
		return false;
	if (*text)
		return false;
	*ret_time = time_from_civil(&civil) - offset;
	return true;
}

static int64_t unit_micros(char unit)
{
	switch (unit) {
	case 's':
		return TIME_SECOND;
	case 'm':
		return 60 * TIME_SECOND;
	case 'h':
		return TIME_HOUR;
	case 'd':
		return TIME_DAY;
	default:
		return 0;
	}
}

int duration_parse(const char *text, int64_t *ret_duration, struct error *err)
{
	size_t size = strlen(text);
	int64_t unit = size ? unit_micros(text[size - 1]) : 0;
	struct slice digits = slice_of(text, size ? size - 1 : 0);
	int64_t duration;

	if (digits.size && digits.data[0] == '+')
		digits = slice_sub(digits, 1, SIZE_MAX);
	if (unit == 0 || text_i64(digits, &duration, NULL) < 0 || strncmp(text, "+-", 2) == 0 ||
	    __builtin_mul_overflow(duration, unit, &duration))
		return error_set(err, ERR_ARGUMENT, "'%s' is no duration such as 48h, 2d or 30m",
				 text);
	*ret_duration = duration;
	return 0;
}

int time_parse(const char *text, int64_t now, int64_t *ret_time, struct error *err)
{
	int64_t age, time;

	if (parse_rfc3339(text, ret_time))
		return 0;
	if (!text_is_digit((uint8_t)*text) || duration_parse(text, &age, NULL) < 0 ||
	    __builtin_sub_overflow(now, age, &time))
		return error_set(err, ERR_ARGUMENT,
				 "'%s' is no time such as 2026-01-02T03:04:05Z, 2026-01-02 or 7d",
				 text);
	*ret_time = time;
	return 0;
}
