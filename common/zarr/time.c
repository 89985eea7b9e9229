/* SPDX-License-Identifier: Apache-2.0 */
#include "zarr/time.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"

/* 2^63, the first double above int64. */
#define INT64_END 9223372036854775808.0

static const struct {
	const char *name;
	int64_t micros;
} units[] = {
	{"microsecond", 1},	   {"us", 1},
	{"millisecond", 1000},	   {"ms", 1000},
	{"second", TIME_SECOND},   {"sec", TIME_SECOND},
	{"s", TIME_SECOND},	   {"minute", 60 * TIME_SECOND},
	{"min", 60 * TIME_SECOND}, {"hour", TIME_HOUR},
	{"hr", TIME_HOUR},	   {"h", TIME_HOUR},
	{"day", TIME_DAY},	   {"d", TIME_DAY},
	{"week", 7 * TIME_DAY},
};

static const char *const calendars[] = {"proleptic_gregorian", "standard", "gregorian"};

/* Singular or plural; 0 if the word is no unit. */
static int64_t unit_micros(struct slice word)
{
	struct slice singular = word;

	if (word.size > 1 && word.data[word.size - 1] == 's')
		singular.size--;
	for (size_t i = 0; i < ARRAY_LEN(units); i++)
		if (slice_is(word, units[i].name) || slice_is(singular, units[i].name))
			return units[i].micros;
	return 0;
}

static bool is_timedelta(const struct json *attributes)
{
	struct json dtype;
	static const char prefix[] = "\"timedelta64";

	return json_get(attributes, "dtype", &dtype) == 0 && dtype.type == JSON_STRING &&
	       dtype.span.size > sizeof(prefix) &&
	       memcmp(dtype.span.data, prefix, sizeof(prefix) - 1) == 0;
}

static int check_calendar(const struct json *attributes, struct error *err)
{
	struct json calendar;

	if (json_get(attributes, "calendar", &calendar) != 0)
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(calendars); i++)
		if (json_is_text(&calendar, calendars[i]))
			return 0;
	return error_set(err, ERR_UNSUPPORTED, "calendar %.*s is not known",
			 (int)calendar.span.size, (const char *)calendar.span.data);
}

/* "DATE" or "DATE TIME" as CF has it; ages, which base would take, are none. */
static int parse_epoch(const char *text, int64_t *ret_epoch, struct error *err)
{
	if (strlen(text) < 10 || text[4] != '-')
		return error_set(err, ERR_FORMAT, "units: '%s' is not a date", text);
	if (time_parse(text, 0, ret_epoch, err) < 0) {
		error_prefix(err, "units");
		return ERR_FORMAT;
	}
	return 0;
}

int zarr_time_parse(const struct json *attributes, struct zarr_time *ret_time, struct error *err)
{
	CLEANUP(freep) char *text = NULL;
	struct zarr_time time = {0};
	struct json value;
	char *since;
	int r;

	if (json_get(attributes, "units", &value) != 0 || json_dup(&value, &text, NULL) < 0)
		return ZARR_NO_TIME;
	since = strstr(text, " since ");
	if (since)
		*since = '\0';
	time.unit = unit_micros(slice_text(text));
	time.is_duration = !since;
	if (time.unit == 0 || (!since && !is_timedelta(attributes)))
		return ZARR_NO_TIME;
	if (since) {
		r = check_calendar(attributes, err);
		if (r < 0)
			return r;
		r = parse_epoch(since + strlen(" since "), &time.epoch, err);
		if (r < 0)
			return r;
	}
	*ret_time = time;
	return 0;
}

static int out_of_range(struct error *err)
{
	return error_set(err, ERR_FORMAT, "a time outside the years -290308 to 294247");
}

static int decode_whole(const struct zarr_time *time, int64_t value, int64_t *ret_micros,
			struct error *err)
{
	int64_t micros;

	if (__builtin_mul_overflow(value, time->unit, &micros) ||
	    __builtin_add_overflow(micros, time->epoch, &micros))
		return out_of_range(err);
	*ret_micros = micros;
	return 0;
}

static int decode_real(const struct zarr_time *time, double value, int64_t *ret_micros,
		       struct error *err)
{
	double whole, micros;
	int64_t at = 0;

	if (isnan(value)) {
		*ret_micros = ZARR_NAT;
		return 0;
	}
	/* The fraction apart, so that large values keep their microseconds. */
	whole = trunc(value);
	micros = rint((value - whole) * (double)time->unit);
	if (!(fabs(whole) < INT64_END) || decode_whole(time, (int64_t)whole, &at, NULL) < 0 ||
	    __builtin_add_overflow(at, (int64_t)micros, ret_micros))
		return out_of_range(err);
	return 0;
}

static int64_t load_int(const uint8_t *bytes, size_t size)
{
	uint64_t bits = 0;
	unsigned int unused = (unsigned int)(64 - 8 * size);

	memcpy(&bits, bytes, size);
	return (int64_t)(bits << unused) >> unused;
}

static double load_real(const uint8_t *bytes, size_t size)
{
	float single;
	double real;

	if (size == 4) {
		memcpy(&single, bytes, size);
		return single;
	}
	memcpy(&real, bytes, sizeof(real));
	return real;
}

static bool is_real(const struct zarr_type *type)
{
	return type->kind == ZARR_FLOAT && type->size >= 4;
}

static int bad_type(struct error *err)
{
	return error_set(err, ERR_FORMAT, "times in an array that is not one of numbers");
}

int zarr_time_decode(const struct zarr_time *time, const struct zarr_type *type,
		     const uint8_t *bytes, size_t i, int64_t *ret_micros, struct error *err)
{
	uint64_t bits = 0;
	int64_t value;

	bytes += i * type->size;
	if (is_real(type))
		return decode_real(time, load_real(bytes, type->size), ret_micros, err);
	if (type->kind == ZARR_UINT) {
		memcpy(&bits, bytes, type->size);
		return bits > INT64_MAX ? out_of_range(err)
					: decode_whole(time, (int64_t)bits, ret_micros, err);
	}
	if (type->kind != ZARR_INT)
		return bad_type(err);
	value = load_int(bytes, type->size);
	if (value == INT64_MIN) {
		*ret_micros = ZARR_NAT;
		return 0;
	}
	return decode_whole(time, value, ret_micros, err);
}

static void store_real(double value, uint8_t *bytes, size_t size)
{
	float single = (float)value;

	if (size == 4)
		memcpy(bytes, &single, size);
	else
		memcpy(bytes, &value, size);
}

static int store_whole(int64_t value, const struct zarr_type *type, uint8_t *bytes,
		       struct error *err)
{
	bool is_signed = type->kind == ZARR_INT;

	memcpy(bytes, &value, type->size);
	if ((!is_signed && value < 0) ||
	    (type->size < 8 && is_signed && load_int(bytes, type->size) != value) ||
	    (type->size < 8 && !is_signed && (uint64_t)value >> 8 * type->size != 0))
		return error_set(err, ERR_ARGUMENT, "a time does not fit the array's type");
	return 0;
}

int zarr_time_encode(const struct zarr_time *time, const struct zarr_type *type, int64_t micros,
		     uint8_t *bytes, size_t i, struct error *err)
{
	bool is_nat = micros == ZARR_NAT;
	int64_t delta = 0;
	int64_t whole, rest;

	bytes += i * type->size;
	if (!is_nat && __builtin_sub_overflow(micros, time->epoch, &delta))
		return error_set(err, ERR_ARGUMENT, "a time too far from the array's epoch");
	whole = delta / time->unit;
	rest = delta % time->unit;
	if (is_real(type)) {
		store_real(is_nat ? NAN : (double)whole + (double)rest / (double)time->unit, bytes,
			   type->size);
		return 0;
	}
	if (type->kind != ZARR_INT && type->kind != ZARR_UINT)
		return bad_type(err);
	if (rest != 0)
		return error_set(err, ERR_ARGUMENT, "a time between two units of the array");
	return store_whole(is_nat ? INT64_MIN : whole, type, bytes, err);
}

void zarr_time_label(int64_t micros, char text[TIME_TEXT_MAX])
{
	struct civil civil;
	int n;

	if (micros == ZARR_NAT) {
		snprintf(text, TIME_TEXT_MAX, "NaT");
		return;
	}
	civil = time_civil(micros);
	n = snprintf(text, TIME_TEXT_MAX, "%04" PRId64 "-%02d-%02dT%02d:%02d:%02d", civil.year,
		     civil.month, civil.day, civil.hour, civil.minute, civil.second);
	if (civil.microsecond != 0)
		snprintf(text + n, TIME_TEXT_MAX - (size_t)n, ".%06d", civil.microsecond);
}

void zarr_duration_label(int64_t micros, char text[TIME_TEXT_MAX])
{
	static const struct {
		int64_t micros;
		const char *suffix;
	} steps[] = {{TIME_HOUR, "h"}, {60 * TIME_SECOND, "m"}, {TIME_SECOND, "s"}, {1, "us"}};
	size_t i = 0;

	if (micros == ZARR_NAT) {
		snprintf(text, TIME_TEXT_MAX, "NaT");
		return;
	}
	while (micros % steps[i].micros != 0)
		i++;
	snprintf(text, TIME_TEXT_MAX, "%" PRId64 "%s", micros / steps[i].micros, steps[i].suffix);
}
