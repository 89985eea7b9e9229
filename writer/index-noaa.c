/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/index.h"

#include <stdio.h>

#include "base/time.h"

#define N_FIELDS 6 /* number, offset, date, element, level, time; the rest is extra */

struct parser {
	const char *name;
	const struct index_run *run;
	struct index_rows *rows;
	struct index_facts *facts;
	uint64_t line; /* counted from 1 */
	size_t first;  /* row of the first field of the current message */
	/* The date field seen last, and whether it is the expected one: nearly always the same. */
	struct slice date;
	bool date_fits;
};

static int fail(const struct parser *p, struct error *err, const char *cause)
{
	return error_set(err, ERR_FORMAT, "cannot parse '%s': line %llu: %s", p->name,
			 (unsigned long long)p->line, cause);
}

/* Digits only; false on anything else and on overflow. */
static bool parse_digits(struct slice text, uint64_t *ret_value)
{
	uint64_t value = 0;

	if (text.size == 0)
		return false;
	for (size_t i = 0; i < text.size; i++) {
		unsigned int digit = (unsigned int)text.data[i] - '0';

		if (digit > 9)
			return false;
		if (__builtin_mul_overflow(value, 10U, &value) ||
		    __builtin_add_overflow(value, digit, &value))
			return false;
	}
	*ret_value = value;
	return true;
}

/* "12" or "12.3": message, and field of a message with several. */
static bool is_number(struct slice text)
{
	const uint8_t *dot = text.size ? memchr(text.data, '.', text.size) : NULL;
	size_t whole = dot ? (size_t)(dot - text.data) : text.size;
	uint64_t ignored;

	if (!parse_digits(slice_of(text.data, whole), &ignored))
		return false;
	return !dot || parse_digits(slice_of(dot + 1, text.size - whole - 1), &ignored);
}

/* "d=2025080100", with minutes and seconds where they are not zero, or "D=" and all 14 digits. */
static bool parse_date(struct slice text, int64_t *ret_time)
{
	struct civil civil = {0};
	int part[4] = {0}; /* day, hour, minute, second */

	if (text.size < 12 || text.size > 16 || text.size % 2 != 0 || text.data[1] != '=' ||
	    (text.data[0] != 'd' && text.data[0] != 'D'))
		return false;
	for (size_t i = 2; i < text.size; i++)
		if (text.data[i] < '0' || text.data[i] > '9')
			return false;
	for (int i = 2; i < 6; i++)
		civil.year = civil.year * 10 + (text.data[i] - '0');
	civil.month = (text.data[6] - '0') * 10 + (text.data[7] - '0');
	for (size_t i = 8; i + 1 < text.size; i += 2)
		part[(i - 8) / 2] = (text.data[i] - '0') * 10 + (text.data[i + 1] - '0');
	civil.day = part[0];
	civil.hour = part[1];
	civil.minute = part[2];
	civil.second = part[3];
	if (civil.month < 1 || civil.month > 12 || civil.day < 1 || civil.day > 31 ||
	    civil.hour > 23 || civil.minute > 59 || civil.second > 59)
		return false;
	*ret_time = time_from_civil(&civil);
	return true;
}

static int check_date(struct parser *p, struct slice date, bool *ret_fits, struct error *err)
{
	int64_t time;

	if (!slice_equal(date, p->date)) {
		if (!parse_date(date, &time))
			return fail(p, err,
				    "the date is neither d=YYYYMMDDHH nor D=YYYYMMDDHHMMSS");
		p->date = date;
		p->date_fits = !p->run->has_reference_time || time == p->run->reference_time;
	}
	*ret_fits = p->date_fits;
	if (!p->date_fits && p->facts->n_other_run++ == 0)
		snprintf(p->facts->other_run, sizeof(p->facts->other_run), "%.*s", (int)date.size,
			 (const char *)date.data);
	return 0;
}

/* Splits @line at its colons.  What follows the sixth field is the last of @fields. */
static size_t split(struct slice line, struct slice fields[N_FIELDS + 1])
{
	const uint8_t *at = line.data, *end = line.data + line.size;
	size_t n = 0;

	while (n < N_FIELDS) {
		const uint8_t *colon = memchr(at, ':', (size_t)(end - at));

		fields[n++] = slice_of(at, (size_t)((colon ? colon : end) - at));
		if (!colon)
			return n;
		at = colon + 1;
	}
	/* An empty last field and a missing one are the same. */
	while (end > at && end[-1] == ':')
		end--;
	fields[n++] = slice_of(at, (size_t)(end - at));
	return n;
}

/* The start of a message is the end of the one before it. */
static int close_message(struct parser *p, uint64_t end, struct error *err)
{
	struct index_row *rows = p->rows->items;
	uint64_t start = rows[p->first].offset;

	if (end < start) {
		char cause[96];

		snprintf(cause, sizeof(cause), "offset %llu is below the previous line's",
			 (unsigned long long)end);
		return fail(p, err, cause);
	}
	for (size_t i = p->first; i < p->rows->n; i++)
		rows[i].length = end - start;
	return 0;
}

static int parse_line(struct parser *p, struct slice line, struct error *err)
{
	struct slice fields[N_FIELDS + 1] = {0};
	struct index_row row = {0};
	bool fits;
	int r;

	if (split(line, fields) < N_FIELDS)
		return fail(p, err, "fewer than 6 fields");
	if (!is_number(fields[0]))
		return fail(p, err, "the message number is no number");
	if (!parse_digits(fields[1], &row.offset))
		return fail(p, err, "the offset is no number");
	r = check_date(p, fields[2], &fits, err);
	if (r < 0)
		return r;
	row.element = fields[3];
	row.level = fields[4];
	row.time = fields[5];
	row.extra = fields[6];
	if (p->facts->n_lines++ > 0) {
		if (row.offset == p->rows->items[p->first].offset) {
			row.is_later_field = true;
			p->facts->n_later_fields++;
		} else {
			r = close_message(p, row.offset, err);
			if (r < 0)
				return r;
			p->first = p->rows->n;
		}
	}
	return index_rows_push(p->rows, row, err);
}

/* A last line without its line feed may have lost more than that: its end must be one we know. */
static bool looks_whole(struct slice line)
{
	struct slice fields[N_FIELDS + 1] = {0};
	struct slice time;

	if (split(line, fields) < N_FIELDS)
		return false;
	if (line.data[line.size - 1] == ':' || fields[6].size > 0)
		return true;
	time = fields[5];
	return slice_is(time, "anl") ||
	       (time.size > 5 && memcmp(time.data + time.size - 5, " fcst", 5) == 0);
}

static int close_last(struct parser *p, uint64_t file_size, struct error *err)
{
	uint64_t start = p->rows->items[p->first].offset;

	if (file_size == INDEX_SIZE_UNKNOWN)
		return 0;
	if (start >= file_size)
		return error_set(err, ERR_FORMAT,
				 "cannot parse '%s': offset %llu lies beyond the file's %llu bytes",
				 p->name, (unsigned long long)start, (unsigned long long)file_size);
	return close_message(p, file_size, err);
}

int noaa_index_parse(const char *name, struct slice text, uint64_t file_size,
		     const struct index_run *run, struct index_rows *rows,
		     struct index_facts *ret_facts, struct error *err)
{
	struct parser p = {.name = name, .run = run, .rows = rows, .facts = ret_facts};
	const uint8_t *at = text.data, *end = text.data + text.size;
	int r;

	*ret_facts = (struct index_facts){0};
	p.first = rows->n;
	if (text.size > 0 && text.data[0] == 0x80)
		return error_set(err, ERR_FORMAT, "cannot parse '%s': a cache of cfgrib, no index",
				 name);
	while (at < end) {
		const uint8_t *feed = memchr(at, '\n', (size_t)(end - at));
		struct slice line = slice_of(at, (size_t)((feed ? feed : end) - at));

		p.line++;
		at = feed ? feed + 1 : end;
		if (line.size > 0 && line.data[line.size - 1] == '\r')
			line.size--;
		if (line.size == 0)
			continue;
		if (!feed && !looks_whole(line))
			return fail(&p, err, "the last line is cut short");
		r = parse_line(&p, line, err);
		if (r < 0)
			return r;
	}
	if (ret_facts->n_lines == 0)
		return error_set(err, ERR_FORMAT, "cannot parse '%s': no line in it", name);
	return close_last(&p, file_size, err);
}
