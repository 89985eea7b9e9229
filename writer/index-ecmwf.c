/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/index.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/time.h"

/* The members that we look at, in the order of member_names. */
enum member {
	M_CLASS,
	M_STREAM,
	M_TYPE,
	M_STEP,
	M_EXPVER,
	M_DATE,
	M_TIME,
	M_PARAM,
	M_LEVTYPE,
	M_LEVELIST,
	M_NUMBER,
	M_OFFSET,
	M_LENGTH,
	N_MEMBERS
};

#define MEMBER(text)                   \
	{                              \
		text, sizeof(text) - 1 \
	}

static const struct {
	const char *name;
	size_t size;
} member_names[N_MEMBERS] = {
	MEMBER("class"),   MEMBER("stream"),   MEMBER("type"),	 MEMBER("step"),
	MEMBER("expver"),  MEMBER("date"),     MEMBER("time"),	 MEMBER("param"),
	MEMBER("levtype"), MEMBER("levelist"), MEMBER("number"), MEMBER("_offset"),
	MEMBER("_length"),
};

struct parser {
	const char *name;
	const struct index_run *run;
	struct index_facts *facts;
	uint64_t file_size;
	uint64_t line; /* counted from 1 */
	char date[32]; /* of the expected reference time, YYYYMMDD */
	int hour_minute;
};

static int fail(const struct parser *p, struct error *err, const char *cause)
{
	return error_set(err, ERR_FORMAT, "cannot parse '%s': line %llu: %s", p->name,
			 (unsigned long long)p->line, cause);
}

/*
 * Text of a string or number: other producers write "step": 0 where ECMWF writes "0".  Names of
 * this format hold no escapes; one that does is nobody's name, so its raw spelling may stand.
 */
static struct slice plain_text(const struct json *value)
{
	struct slice text = value->span;

	if (value->type == JSON_STRING)
		return slice_of(text.data + 1, text.size - 2);
	if (value->type != JSON_NUMBER)
		return slice_of(NULL, 0);
	if (memchr(text.data, '.', text.size)) {
		while (text.data[text.size - 1] == '0')
			text.size--;
		if (text.data[text.size - 1] == '.')
			text.size--;
	}
	return text;
}

/* One walk over the row finds them all; of a repeated member the last one counts. */
static void read_members(const struct json *row, struct json members[N_MEMBERS])
{
	struct json key, value;

	memset(members, 0, N_MEMBERS * sizeof(*members));
	JSON_EACH (row, &key, value) {
		struct slice name = slice_of(key.span.data + 1, key.span.size - 2);

		for (int i = 0; i < N_MEMBERS; i++) {
			if (name.size == member_names[i].size &&
			    memcmp(name.data, member_names[i].name, name.size) == 0) {
				members[i] = value;
				break;
			}
		}
	}
}

/* Digits as a number; -1 for anything else. */
static int small_number(struct slice text)
{
	int value = 0;

	if (text.size == 0 || text.size > 6)
		return -1;
	for (size_t i = 0; i < text.size; i++) {
		if (text.data[i] < '0' || text.data[i] > '9')
			return -1;
		value = value * 10 + (text.data[i] - '0');
	}
	return value;
}

static void note_other(struct parser *p, enum member which, struct slice found)
{
	if (p->facts->n_other_run++ == 0)
		snprintf(p->facts->other_run, sizeof(p->facts->other_run), "%s=%.*s",
			 member_names[which].name, (int)(found.size < 100 ? found.size : 100),
			 (const char *)found.data);
}

/* Is the row of the run that is wanted?  A member that it does not have is not compared. */
static bool fits_run(struct parser *p, const struct json members[N_MEMBERS])
{
	/* In the order of the members that they are compared with. */
	const struct slice want[] = {p->run->class, p->run->stream, p->run->type, p->run->step,
				     p->run->expver};

	if (p->run->has_reference_time) {
		struct slice date = plain_text(&members[M_DATE]);
		struct slice time = plain_text(&members[M_TIME]);

		if (date.size > 0 && !slice_is(date, p->date)) {
			note_other(p, M_DATE, date);
			return false;
		}
		if (time.size > 0 && small_number(time) != p->hour_minute) {
			note_other(p, M_TIME, time);
			return false;
		}
	}
	for (size_t i = 0; i < ARRAY_LEN(want); i++) {
		struct slice found = plain_text(&members[i]);

		if (want[i].size > 0 && found.size > 0 && !slice_equal(found, want[i])) {
			note_other(p, (enum member)i, found);
			return false;
		}
	}
	return true;
}

static int read_range(struct parser *p, const struct json members[N_MEMBERS], struct index_row *row,
		      struct error *err)
{
	const struct json *offset = &members[M_OFFSET], *length = &members[M_LENGTH];
	uint64_t end;

	if (offset->span.size == 0 || length->span.size == 0)
		return fail(p, err, "no _offset or no _length");
	if (json_u64(offset, &row->offset, err) < 0 || json_u64(length, &row->length, err) < 0)
		return fail(p, err, "_offset or _length is no number");
	if (row->length == 0)
		return fail(p, err, "the range is empty");
	if (__builtin_add_overflow(row->offset, row->length, &end) ||
	    (p->file_size != INDEX_SIZE_UNKNOWN && end > p->file_size)) {
		char cause[96];

		snprintf(cause, sizeof(cause), "range at %llu ends beyond the file",
			 (unsigned long long)row->offset);
		return fail(p, err, cause);
	}
	return 0;
}

static int parse_line(struct parser *p, struct slice line, struct index_rows *rows,
		      struct error *err)
{
	struct json members[N_MEMBERS];
	struct index_row row = {0};
	struct json json;
	int r;

	r = json_parse(line, &json, err);
	if (r < 0)
		return error_prefix(err, "cannot parse '%s': line %llu", p->name,
				    (unsigned long long)p->line);
	if (json.type != JSON_OBJECT)
		return fail(p, err, "no JSON object");
	p->facts->n_lines++;
	read_members(&json, members);
	r = read_range(p, members, &row, err);
	if (r < 0)
		return r;
	if (!fits_run(p, members))
		return 0;
	row.element = plain_text(&members[M_PARAM]);
	row.level = plain_text(&members[M_LEVTYPE]);
	row.time = plain_text(&members[M_LEVELIST]);
	row.extra = plain_text(&members[M_NUMBER]);
	/* The control member has no number or number 0. */
	if (slice_is(row.extra, "0"))
		row.extra = slice_of(NULL, 0);
	return index_rows_push(rows, row, err);
}

static int by_place(const void *a, const void *b)
{
	const struct index_row *x = a, *y = b;

	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return (x->length > y->length) - (x->length < y->length);
}

/* Messages lie side by side.  Two rows may name one of them; more in common is no index. */
static int check_overlaps(const char *name, const struct index_rows *rows, size_t first,
			  struct error *err)
{
	size_t n = rows->n - first;
	CLEANUP(freep) struct index_row *sorted = calloc(n + 1, sizeof(*sorted));

	if (!sorted)
		return error_memory(err);
	if (n > 0)
		memcpy(sorted, rows->items + first, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), by_place);
	for (size_t i = 1; i < n; i++) {
		const struct index_row *before = &sorted[i - 1], *row = &sorted[i];

		if (row->offset < before->offset + before->length && by_place(before, row) != 0)
			return error_set(err, ERR_FORMAT,
					 "cannot parse '%s': the ranges at %llu and %llu overlap",
					 name, (unsigned long long)before->offset,
					 (unsigned long long)row->offset);
	}
	return 0;
}

int ecmwf_index_parse(const char *name, struct slice text, uint64_t file_size,
		      const struct index_run *run, struct index_rows *rows,
		      struct index_facts *ret_facts, struct error *err)
{
	struct parser p = {.name = name, .run = run, .facts = ret_facts, .file_size = file_size};
	const uint8_t *at = text.data, *end = text.data + text.size;
	struct civil civil = time_civil(run->reference_time);
	size_t first = rows->n;
	int r;

	*ret_facts = (struct index_facts){0};
	snprintf(p.date, sizeof(p.date), "%04d%02d%02d", (int)(civil.year % 10000),
		 civil.month % 100, civil.day % 100);
	p.hour_minute = civil.hour * 100 + civil.minute;
	while (at < end) {
		const uint8_t *feed = memchr(at, '\n', (size_t)(end - at));
		struct slice line = slice_of(at, (size_t)((feed ? feed : end) - at));

		p.line++;
		at = feed ? feed + 1 : end;
		if (line.size > 0 && line.data[line.size - 1] == '\r')
			line.size--;
		if (line.size == 0)
			continue;
		r = parse_line(&p, line, rows, err);
		if (r < 0)
			return r;
	}
	if (ret_facts->n_lines == 0)
		return error_set(err, ERR_FORMAT, "cannot parse '%s': no line in it", name);
	return check_overlaps(name, rows, first, err);
}
