/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"

#include <ctype.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"

static bool is_alnum(uint8_t c)
{
	return text_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

void text_sanitize(char *text)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c < 0x20 || c == 0x7f)
			*text = '?';
	}
}

int text_u64(struct slice text, uint64_t *ret_value, struct error *err)
{
	uint64_t value = 0;

	if (text.size == 0)
		return error_set(err, ERR_ARGUMENT, "'' is no whole number");
	for (size_t i = 0; i < text.size; i++) {
		if (!text_is_digit(text.data[i]))
			return error_set(err, ERR_ARGUMENT, "'%.*s' is no whole number",
					 SLICE_SHOW(text));
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(text.data[i] - '0'), &value))
			return error_set(err, ERR_ARGUMENT, "'%.*s' is too large",
					 SLICE_SHOW(text));
	}
	*ret_value = value;
	return 0;
}

int text_i64(struct slice text, int64_t *ret_value, struct error *err)
{
	bool negative = text.size > 1 && text.data[0] == '-';
	uint64_t limit = (uint64_t)INT64_MAX + negative;
	uint64_t value;
	int r;

	r = text_u64(slice_sub(text, negative, SIZE_MAX), &value, err);
	if (r < 0)
		return r;
	if (value > limit)
		return error_set(err, ERR_ARGUMENT, "'%.*s' is too large", SLICE_SHOW(text));
	*ret_value = negative ? (int64_t)(0 - value) : (int64_t)value;
	return 0;
}

static size_t count_digits(struct slice text, size_t at)
{
	size_t n = 0;

	while (at + n < text.size && text_is_digit(text.data[at + n]))
		n++;
	return n;
}

static bool is_one_of(struct slice text, size_t at, const char *bytes)
{
	return at < text.size && text.data[at] && strchr(bytes, text.data[at]);
}

/* [+-] digits [. digits] [e [+-] digits], with a digit before or after the point. */
static bool is_decimal(struct slice text)
{
	size_t at = is_one_of(text, 0, "+-");
	size_t whole = count_digits(text, at);
	size_t fraction = 0;
	size_t exponent;

	at += whole;
	if (is_one_of(text, at, ".")) {
		fraction = count_digits(text, ++at);
		at += fraction;
	}
	if (whole + fraction == 0)
		return false;
	if (is_one_of(text, at, "eE")) {
		at++;
		at += is_one_of(text, at, "+-");
		exponent = count_digits(text, at);
		if (exponent == 0)
			return false;
		at += exponent;
	}
	return at == text.size;
}

static locale_t c_locale;

static void c_locale_init(void)
{
	c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

/* strtod() as the C locale has it: a program that uses the library may have set another one. */
static double read_double(const char *text)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, c_locale_init);
	return c_locale ? strtod_l(text, NULL, c_locale) : strtod(text, NULL);
}

int text_double(struct slice text, double *ret_value, struct error *err)
{
	CLEANUP(freep) char *large = NULL;
	char small[64];
	const char *digits = small;
	double value;

	if (!is_decimal(text))
		return error_set(err, ERR_ARGUMENT, "'%.*s' is no number", SLICE_SHOW(text));
	if (text.size < sizeof(small)) {
		memcpy(small, text.data, text.size);
		small[text.size] = '\0';
	} else {
		large = slice_dup(text, err);
		if (!large)
			return ERR_MEMORY;
		digits = large;
	}
	value = read_double(digits);
	if (!isfinite(value))
		return error_set(err, ERR_ARGUMENT, "'%.*s' is too large", SLICE_SHOW(text));
	*ret_value = value;
	return 0;
}

static unsigned int size_shift(uint8_t unit)
{
	switch (unit) {
	case 'K':
		return 10;
	case 'M':
		return 20;
	case 'G':
		return 30;
	default:
		return 0;
	}
}

int text_size(struct slice text, uint64_t *ret_value, struct error *err)
{
	unsigned int shift = text.size ? size_shift(text.data[text.size - 1]) : 0;
	uint64_t value;

	if (text_u64(slice_sub(text, 0, text.size - (shift > 0)), &value, NULL) < 0)
		return error_set(err, ERR_ARGUMENT, "'%.*s' is no size such as 512, 64K, 64M or 1G",
				 SLICE_SHOW(text));
	if (value > UINT64_MAX >> shift)
		return error_set(err, ERR_ARGUMENT, "'%.*s' is too large", SLICE_SHOW(text));
	*ret_value = value << shift;
	return 0;
}

bool text_starts(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool text_ends(const char *text, const char *suffix)
{
	size_t size = strlen(text);
	size_t end = strlen(suffix);

	return size >= end && strcmp(text + size - end, suffix) == 0;
}

static bool is_continuation(uint8_t byte)
{
	return (byte & 0xc0) == 0x80;
}

/* Table 3-7 of the Unicode standard: only the second byte's range depends on the first. */
static bool is_second(uint8_t first, uint8_t second)
{
	switch (first) {
	case 0xe0:
		return second >= 0xa0 && second <= 0xbf;
	case 0xed:
		return second >= 0x80 && second <= 0x9f;
	case 0xf0:
		return second >= 0x90 && second <= 0xbf;
	case 0xf4:
		return second >= 0x80 && second <= 0x8f;
	default:
		return is_continuation(second);
	}
}

size_t text_utf8_length(struct slice text)
{
	size_t length;
	uint8_t first;

	if (text.size == 0)
		return 0;
	first = text.data[0];
	if (first < 0x80)
		return 1;
	if (first < 0xc2 || first > 0xf4)
		return 0;
	length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
	if (text.size < length || !is_second(first, text.data[1]))
		return 0;
	for (size_t i = 2; i < length; i++) {
		if (!is_continuation(text.data[i]))
			return 0;
	}
	return length;
}

/* Number of leading bytes that are ASCII, to a multiple of eight. */
static size_t count_ascii(struct slice text)
{
	size_t at = 0;
	uint64_t word;

	for (; text.size - at >= sizeof(word); at += sizeof(word)) {
		memcpy(&word, text.data + at, sizeof(word));
		if (word & UINT64_C(0x8080808080808080))
			break;
	}
	return at;
}

bool text_is_utf8(struct slice text)
{
	size_t at = count_ascii(text);

	while (at < text.size) {
		size_t n = text_utf8_length(slice_sub(text, at, SIZE_MAX));

		if (n == 0)
			return false;
		at += n;
		/* Most texts are ASCII but for a few places. */
		if (n > 1)
			at += count_ascii(slice_sub(text, at, SIZE_MAX));
	}
	return true;
}

size_t text_width(struct slice text)
{
	size_t width = 0;

	for (size_t i = 0; i < text.size; i++)
		width += !is_continuation(text.data[i]);
	return width;
}

int text_percent_encode(struct slice text, const char *keep, struct buf *out, struct error *err)
{
	int r = 0;

	for (size_t i = 0; i < text.size && r == 0; i++) {
		uint8_t c = text.data[i];

		if (is_alnum(c) || (c && strchr(keep, c)))
			r = buf_append_byte(out, c, err);
		else
			r = buf_printf(out, err, "%%%02X", c);
	}
	return r;
}

int text_hex_value(uint8_t c)
{
	if (text_is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

int text_percent_decode(struct slice text, struct buf *out, struct error *err)
{
	int r = 0;

	for (size_t i = 0; i < text.size && r == 0; i++) {
		int high, low;

		if (text.data[i] != '%') {
			r = buf_append_byte(out, text.data[i], err);
			continue;
		}
		high = i + 1 < text.size ? text_hex_value(text.data[i + 1]) : -1;
		low = i + 2 < text.size ? text_hex_value(text.data[i + 2]) : -1;
		if (high < 0 || low < 0)
			return error_set(err, ERR_FORMAT,
					 "'%.*s' has a broken %% escape at byte %zu",
					 SLICE_SHOW(text), i);
		r = buf_append_byte(out, (uint8_t)(high << 4 | low), err);
		i += 2;
	}
	return r;
}

void text_hex(const uint8_t *bytes, size_t n, char *out)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		*out++ = digits[bytes[i] >> 4];
		*out++ = digits[bytes[i] & 15];
	}
	*out = '\0';
}

char *text_printf(struct error *err, const char *format, ...)
{
	va_list args;
	char *text;
	int n;

	va_start(args, format);
	n = vasprintf(&text, format, args);
	va_end(args);
	if (n < 0) {
		error_memory(err);
		return NULL;
	}
	return text;
}

char *text_dup(const char *text, struct error *err)
{
	return slice_dup(slice_text(text), err);
}

/* A positive finite number as 0.D1D2D3... * 10^point. */
struct decimal {
	char digits[18];
	int n; /* digits, no zeros at the end but for the number 0 */
	int point;
};

static bool decimal_is(const struct decimal *decimal, double value)
{
	char text[40];

	snprintf(text, sizeof(text), "%se%d", decimal->digits, decimal->point - decimal->n);
	return read_double(text) == value;
}

/* The @n digits nearest to @value.  The locale's decimal point is skipped. */
static struct decimal decimal_nearest(double value, int n)
{
	struct decimal decimal = {0};
	const char *next;
	char text[40];

	snprintf(text, sizeof(text), "%.*e", n - 1, value);
	for (next = text; *next != 'e'; next++) {
		if (text_is_digit((uint8_t)*next))
			decimal.digits[decimal.n++] = *next;
	}
	decimal.point = atoi(next + 1) + 1;
	return decimal;
}

/* Adds one to the last digit. */
static void decimal_increment(struct decimal *decimal)
{
	int i = decimal->n - 1;

	for (; i >= 0 && decimal->digits[i] == '9'; i--)
		decimal->digits[i] = '0';
	if (i >= 0) {
		decimal->digits[i]++;
		return;
	}
	decimal->digits[0] = '1';
	decimal->point++;
}

/*
 * Do @n digits read back as @value?  Above a power of two numbers lie twice as far apart as below
 * it, so the digits above may do where the nearest, which are below, do not.
 */
static bool decimal_round(double value, int n, struct decimal *ret_decimal)
{
	*ret_decimal = decimal_nearest(value, n);
	if (decimal_is(ret_decimal, value))
		return true;
	decimal_increment(ret_decimal);
	return decimal_is(ret_decimal, value);
}

/*
 * Any 15 digits survive a normal number, so what reads back with fewer shows as zeros at the end
 * of 15; below DBL_MIN that no longer holds.
 */
static struct decimal decimal_shortest(double value)
{
	struct decimal decimal;
	int n = value < DBL_MIN ? 1 : 15;

	while (!decimal_round(value, n, &decimal) && n < 17)
		n++;
	while (decimal.n > 1 && decimal.digits[decimal.n - 1] == '0')
		decimal.n--;
	decimal.digits[decimal.n] = '\0';
	return decimal;
}

static void print_scientific(const struct decimal *decimal, char *out)
{
	int exponent = decimal->point - 1;

	*out++ = decimal->digits[0];
	if (decimal->n > 1)
		*out++ = '.';
	sprintf(out, "%se%c%02d", decimal->digits + 1, exponent < 0 ? '-' : '+', abs(exponent));
}

/* From the digit before the point, or the first one, to at least one digit behind it. */
static void print_fixed(const struct decimal *decimal, char *out)
{
	int at = decimal->point > 0 ? 0 : decimal->point - 1;
	int end = decimal->n > decimal->point ? decimal->n : decimal->point + 1;

	for (; at < end; at++) {
		if (at == decimal->point)
			*out++ = '.';
		*out++ = at >= 0 && at < decimal->n ? decimal->digits[at] : '0';
	}
	*out = '\0';
}

void text_repr(double value, char out[32])
{
	struct decimal decimal;

	if (isnan(value)) {
		strcpy(out, "nan");
		return;
	}
	if (signbit(value))
		*out++ = '-';
	if (isinf(value)) {
		strcpy(out, "inf");
		return;
	}
	decimal = decimal_shortest(fabs(value));
	if (decimal.point > 16 || decimal.point < -3)
		print_scientific(&decimal, out);
	else
		print_fixed(&decimal, out);
}
