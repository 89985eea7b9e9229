/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Points in time as microseconds since 1970-01-01T00:00:00Z (proleptic Gregorian, no leap
 * seconds), RFC 3339 text, ages, and the monotonic clock for deadlines.  UTC everywhere.
 *
 * Threads: any.
 */

#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

#define TIME_SECOND INT64_C(1000000)
#define TIME_HOUR (3600 * TIME_SECOND)
#define TIME_DAY (24 * TIME_HOUR)
#define TIME_TEXT_MAX 40 /* room for the texts below with their NUL */

struct civil {
	int64_t year;
	int month, day, hour, minute, second; /* 1-12, 1-31, 0-23 ... */
	int microsecond;
};

/* Wall clock. */
int64_t time_now(void);
/* Monotonic clock in microseconds, for deadlines; its zero means nothing. */
int64_t time_monotonic(void);
struct civil time_civil(int64_t time);
/* Fields must be in the ranges above; a year that 64 bits cannot hold gives INT64_MIN or INT64_MAX.
 */
int64_t time_from_civil(const struct civil *civil);
/* "2026-01-02T03:04:05.678901Z" */
void time_format_micros(int64_t time, char text[TIME_TEXT_MAX]);
/* "2026-01-02T03:04:05Z" */
void time_format_seconds(int64_t time, char text[TIME_TEXT_MAX]);
/*
 * Parses RFC 3339 ("2026-01-02T03:04:05.678Z", "+01:00" offsets, a blank for the T, no zone = UTC;
 * minutes or seconds may be missing; digits after the sixth are cut off), a date alone (00:00Z), or
 * an age such as "7d", "12h", "30m", "10s" counted back from @now.  ERR_ARGUMENT.
 */
int time_parse(const char *text, int64_t now, int64_t *ret_time, struct error *err);
/* Parses a duration "48h", "-6h", "30m", "2d", "45s" into microseconds.  ERR_ARGUMENT. */
int duration_parse(const char *text, int64_t *ret_duration, struct error *err);
