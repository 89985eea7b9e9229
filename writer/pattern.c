/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/pattern.h"

#include <stdio.h>

#include "base/time.h"

static int parse_lead(struct slice format, struct piece *piece, struct error *err)
{
	size_t i = 0;

	piece->unit = TIME_HOUR;
	while (i < format.size && format.data[i] >= '0' && format.data[i] <= '9' && i < 2)
		piece->width = piece->width * 10 + (format.data[i++] - '0');
	if (i + 1 == format.size && format.data[i] == 'm') {
		piece->unit = 60 * TIME_SECOND;
		i++;
	}
	if (i != format.size)
		return error_set(err, ERR_FORMAT, "the format of {lead:%.*s} is not understood",
				 (int)format.size, (const char *)format.data);
	return 0;
}

static int check_time_format(struct slice format, struct error *err)
{
	for (size_t i = 0; i < format.size; i++) {
		if (format.data[i] != '%')
			continue;
		if (++i == format.size || !memchr("YmdHMSj", format.data[i], 7))
			return error_set(err, ERR_FORMAT,
					 "the format of {init:%.*s} is not understood",
					 (int)format.size, (const char *)format.data);
	}
	return 0;
}

static int parse_field(struct slice field, const struct pattern_name *names, size_t n_names,
		       struct piece *piece, struct error *err)
{
	const uint8_t *colon = field.size ? memchr(field.data, ':', field.size) : NULL;
	struct slice name = slice_of(field.data, colon ? (size_t)(colon - field.data) : field.size);
	struct slice format =
		colon ? slice_of(colon + 1, field.size - name.size - 1) : slice_of(NULL, 0);

	if (slice_is(name, "init") && format.size > 0) {
		piece->kind = PIECE_INIT;
		piece->text = format;
		return check_time_format(format, err);
	}
	if (slice_is(name, "lead")) {
		piece->kind = PIECE_LEAD;
		return parse_lead(format, piece, err);
	}
	if (format.size == 0) {
		const struct {
			const char *name;
			enum piece_kind kind;
		} plain[] = {{"type", PIECE_TYPE}, {"level", PIECE_LEVEL}, {"url", PIECE_URL}};

		for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
			piece->kind = plain[i].kind;
			if (slice_is(name, plain[i].name))
				return 0;
		}
		for (size_t i = 0; i < n_names; i++) {
			piece->kind = PIECE_NAME;
			piece->name = &names[i];
			if (slice_is(name, names[i].name))
				return 0;
		}
	}
	return error_set(err, ERR_FORMAT, "{%.*s} is no field", (int)field.size,
			 (const char *)field.data);
}

int pattern_parse(struct slice text, const struct pattern_name *names, size_t n_names,
		  struct arena *arena, struct pattern *ret_pattern, struct error *err)
{
	struct pattern pattern = {0};
	const uint8_t *at, *end;
	char *copy = arena_dup(arena, text, err);
	int r;

	if (!copy)
		return ERR_MEMORY;
	at = (const uint8_t *)copy;
	end = at + text.size;
	/* Each piece takes at least one byte. */
	pattern.pieces = arena_zalloc(arena, text.size + 1, sizeof(*pattern.pieces), err);
	if (!pattern.pieces)
		return ERR_MEMORY;
	while (at < end) {
		struct piece *piece = &pattern.pieces[pattern.n_pieces++];
		const uint8_t *open = memchr(at, '{', (size_t)(end - at)), *close;

		if (open != at) {
			piece->text = slice_of(at, (size_t)((open ? open : end) - at));
			at += piece->text.size;
			continue;
		}
		close = memchr(at, '}', (size_t)(end - at));
		if (!close)
			return error_set(err, ERR_FORMAT, "a brace is not closed");
		r = parse_field(slice_of(at + 1, (size_t)(close - at) - 1), names, n_names, piece,
				err);
		if (r < 0)
			return r;
		at = close + 1;
	}
	*ret_pattern = pattern;
	return 0;
}

static int day_of_year(const struct civil *civil)
{
	struct civil first = {.year = civil->year, .month = 1, .day = 1};
	struct civil day = {.year = civil->year, .month = civil->month, .day = civil->day};

	return (int)((time_from_civil(&day) - time_from_civil(&first)) / TIME_DAY) + 1;
}

static int expand_time(struct slice format, int64_t time, struct buf *out, struct error *err)
{
	struct civil civil = time_civil(time);
	int r = 0;

	for (size_t i = 0; i < format.size && r == 0; i++) {
		if (format.data[i] != '%') {
			r = buf_append_byte(out, format.data[i], err);
			continue;
		}
		switch (format.data[++i]) {
		case 'Y':
			r = buf_printf(out, err, "%04lld", (long long)civil.year);
			break;
		case 'm':
			r = buf_printf(out, err, "%02d", civil.month);
			break;
		case 'd':
			r = buf_printf(out, err, "%02d", civil.day);
			break;
		case 'H':
			r = buf_printf(out, err, "%02d", civil.hour);
			break;
		case 'M':
			r = buf_printf(out, err, "%02d", civil.minute);
			break;
		case 'S':
			r = buf_printf(out, err, "%02d", civil.second);
			break;
		default: /* 'j', the last that check_time_format() lets through */
			r = buf_printf(out, err, "%03d", day_of_year(&civil));
		}
	}
	return r;
}

static int expand_lead(const struct piece *piece, int64_t lead, struct buf *out, struct error *err)
{
	if (lead < 0 || lead % piece->unit != 0)
		return error_set(err, ERR_ARGUMENT,
				 "a lead time of %lld s is no whole number of %s",
				 (long long)(lead / TIME_SECOND),
				 piece->unit == TIME_HOUR ? "hours" : "minutes");
	return buf_printf(out, err, "%0*lld", piece->width, (long long)(lead / piece->unit));
}

int pattern_level(double level, struct buf *out, struct error *err)
{
	char text[32];

	/* %g as the reference system has it: an integer and a float spell a level alike. */
	snprintf(text, sizeof(text), "%g", level);
	return buf_append_text(out, text, err);
}

const char *pattern_name_text(const struct pattern_name *name, int64_t label, uint32_t place)
{
	size_t i = 0;

	while (i + 1 < name->n_eras && label >= name->eras[i].until)
		i++;
	return name->eras[i].texts[place];
}

static int expand_name(const struct pattern_name *name, const struct pattern_values *values,
		       struct buf *out, struct error *err)
{
	const char *text = pattern_name_text(name, values->label, values->labels[name->dim]);

	return text ? buf_append_text(out, text, err)
		    : error_set(err, ERR_ARGUMENT, "{%s} has no text there", name->name);
}

int pattern_expand(const struct pattern *pattern, const struct pattern_values *values,
		   struct buf *out, struct error *err)
{
	int r = 0;

	for (size_t i = 0; i < pattern->n_pieces && r == 0; i++) {
		const struct piece *piece = &pattern->pieces[i];

		switch (piece->kind) {
		case PIECE_TEXT:
			r = buf_append_slice(out, piece->text, err);
			break;
		case PIECE_INIT:
			r = expand_time(piece->text, values->init, out, err);
			break;
		case PIECE_TYPE:
			r = buf_append_text(out, values->type, err);
			break;
		case PIECE_LEAD:
			r = expand_lead(piece, values->lead, out, err);
			break;
		case PIECE_LEVEL:
			r = pattern_level(*values->level, out, err);
			break;
		case PIECE_NAME:
			r = expand_name(piece->name, values, out, err);
			break;
		case PIECE_URL:
			r = buf_append_text(out, values->url, err);
			break;
		}
	}
	return r;
}

int pattern_uses(const struct pattern *pattern, enum piece_kind kind)
{
	for (size_t i = 0; i < pattern->n_pieces; i++)
		if (pattern->pieces[i].kind == kind)
			return 1;
	return 0;
}
