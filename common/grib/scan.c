/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "grib/describe.h"

/*
 * Scanning reads a window at each message and the headers that lie beyond it, never the data.
 * A window begins at the end mark of the message before, so a file of fields without bitmaps costs
 * one read a message.
 */

enum {
	WINDOW = 4096,
	HEADER_MAX = 1 << 20, /* of a section that is read whole */
	FIELDS_MAX = 4096,    /* of one message */
	END_LENGTH = 4,
};

DEFINE_VEC(entries, struct grib_entry);

struct scan {
	const struct grib_source *source;
	uint8_t window[WINDOW];
	uint64_t window_offset;
	size_t window_size;
	unsigned int message;
};

static int read_memory(void *context, uint64_t offset, size_t length, uint8_t *out,
		       struct error *err)
{
	const struct slice *bytes = context;

	(void)err;
	memcpy(out, bytes->data + offset, length);
	return 0;
}

struct grib_source grib_source_memory(const struct slice *bytes)
{
	return (struct grib_source){
		/* Never written through. */
		.context = (void *)(uintptr_t)bytes,
		.size = bytes->size,
		.read = read_memory,
	};
}

/* Lends bytes [@offset, @offset + @length), at most WINDOW and inside the source. */
static int look(struct scan *scan, uint64_t offset, size_t length, const uint8_t **ret_bytes,
		struct error *err)
{
	uint64_t left = scan->source->size - offset;
	int r;

	if (offset < scan->window_offset ||
	    offset + length > scan->window_offset + scan->window_size) {
		scan->window_size = 0;
		r = scan->source->read(scan->source->context, offset,
				       left < WINDOW ? (size_t)left : WINDOW, scan->window, err);
		if (r < 0)
			return r;
		scan->window_offset = offset;
		scan->window_size = left < WINDOW ? (size_t)left : WINDOW;
	}
	*ret_bytes = scan->window + (offset - scan->window_offset);
	return 0;
}

/* Copies a header section into @buf. */
static int load(struct scan *scan, uint64_t offset, uint64_t length, struct buf *buf,
		struct error *err)
{
	const uint8_t *bytes;
	uint8_t *room;
	int r;

	buf_clear(buf);
	if (length > HEADER_MAX)
		return error_set(err, ERR_FORMAT, "a header section of %" PRIu64 " bytes", length);
	r = buf_extend(buf, (size_t)length, &room, err);
	if (r < 0)
		return r;
	if (length > WINDOW)
		return scan->source->read(scan->source->context, offset, (size_t)length, room, err);
	r = look(scan, offset, (size_t)length, &bytes, err);
	if (r < 0)
		return r;
	memcpy(room, bytes, (size_t)length);
	return 0;
}

/* The header sections of the field under way. */
struct field {
	struct buf sections[8];
	bool has_bitmap;
};

static void field_done(struct field *field)
{
	for (size_t i = 0; i < ARRAY_LEN(field->sections); i++)
		buf_done(&field->sections[i]);
}

static void field_init(struct field *field)
{
	for (size_t i = 0; i < ARRAY_LEN(field->sections); i++)
		field->sections[i] = BUF_INIT(HEADER_MAX);
	field->has_bitmap = false;
}

static int add_entry(struct entries *entries, const struct grib_entry *like,
		     const struct grib_headers *headers, struct error *err)
{
	struct grib_entry entry = *like;

	if (entries->n >= FIELDS_MAX)
		return error_set(err, ERR_FORMAT, "more than %d fields", FIELDS_MAX);
	entry.field = (unsigned int)entries->n + 1;
	grib_describe(headers, &entry.info);
	return entries_push(entries, entry, err);
}

enum { SCAN_BAD = 1 };

/*
 * A wrong message is a positive result with its cause in @err; a read that failed is negative:
 * the two must not be confused.
 */
static int bad(struct error *err, uint64_t offset, const char *what)
{
	error_set(err, ERR_FORMAT, "%s at offset %" PRIu64, what, offset);
	return SCAN_BAD;
}

static int bad_message(struct error *err, const char *what)
{
	error_set(err, ERR_FORMAT, "%s", what);
	return SCAN_BAD;
}

static int scan_section(struct scan *scan, uint64_t pos, uint64_t end, struct field *field,
			int discipline, const struct grib_entry *like, struct entries *entries,
			uint64_t *ret_length, struct error *err)
{
	const uint8_t *bytes;
	uint64_t length;
	uint8_t number;
	int r;

	if (end - pos < 5)
		return bad(err, pos, "a section is cut");
	r = look(scan, pos, 5, &bytes, err);
	if (r < 0)
		return r;
	length = be32(bytes);
	number = bytes[4];
	if (length < 5 || length > end - pos)
		return bad(err, pos, "a section has a wrong length");
	if (number < 1 || number > 7)
		return bad(err, pos, "a section has a wrong number");
	if (number <= 5) {
		if (length > HEADER_MAX)
			return bad(err, pos, "a header section is too long");
		r = load(scan, pos, length, &field->sections[number], err);
		if (r < 0)
			return r;
	}
	if (number == 6 && length >= 6) {
		r = look(scan, pos, 6, &bytes, err);
		if (r < 0)
			return r;
		field->has_bitmap = bytes[5] != 255;
	}
	*ret_length = length;
	if (number != 7)
		return 0;
	return add_entry(entries, like,
			 &(struct grib_headers){
				 .edition = 2,
				 .discipline = discipline,
				 .s1 = buf_slice(&field->sections[1]),
				 .s3 = buf_slice(&field->sections[3]),
				 .s4 = buf_slice(&field->sections[4]),
				 .s5 = buf_slice(&field->sections[5]),
				 .has_bitmap = field->has_bitmap,
			 },
			 err);
}

static int scan_edition_2(struct scan *scan, const struct grib_entry *like, struct entries *entries,
			  struct error *err)
{
	uint64_t pos = like->offset + 16, end = like->offset + like->length - END_LENGTH;
	CLEANUP(field_done) struct field field;
	const uint8_t *bytes;
	int discipline, r;

	field_init(&field);
	r = look(scan, like->offset, 16, &bytes, err);
	if (r < 0)
		return r;
	discipline = bytes[6];
	while (pos < end) {
		uint64_t length;

		r = scan_section(scan, pos, end, &field, discipline, like, entries, &length, err);
		if (r != 0)
			return r;
		pos += length;
	}
	if (entries->n == 0)
		return bad_message(err, "it holds no field");
	return 0;
}

/* The first three sections of edition 1 in order, as flags say which are there. */
static int scan_edition_1(struct scan *scan, const struct grib_entry *like, struct entries *entries,
			  struct error *err)
{
	uint64_t pos = like->offset + 8, end = like->offset + like->length - END_LENGTH;
	static const uint8_t flags[] = {0, 0, 0x80, 0x40, 0};
	static const uint8_t least[] = {0, 28, 6, 6, 11};
	CLEANUP(field_done) struct field field;
	uint8_t present = 0;
	int r;

	field_init(&field);
	for (int number = 1; number <= 4; number++) {
		const uint8_t *bytes;
		uint64_t length;

		if (flags[number] && !(present & flags[number]))
			continue;
		if (end < pos || end - pos < least[number])
			return bad(err, pos, "a section is cut");
		r = look(scan, pos, 3, &bytes, err);
		if (r < 0)
			return r;
		length = be24(bytes);
		/* The data section of a message counted in 120s has another length. */
		if (number < 4 && (length < least[number] || length > end - pos))
			return bad(err, pos, "a section has a wrong length");
		if (number != 3) {
			r = load(scan, pos, number == 4 || length > WINDOW ? least[number] : length,
				 &field.sections[number], err);
			if (r < 0)
				return r;
		}
		if (number == 1)
			present = *OCTET(buf_slice(&field.sections[1]), 8);
		pos += length;
	}
	return add_entry(entries, like,
			 &(struct grib_headers){
				 .edition = 1,
				 .s1 = buf_slice(&field.sections[1]),
				 .s3 = buf_slice(&field.sections[2]),
				 .s5 = buf_slice(&field.sections[4]),
				 .has_bitmap = present & 0x40,
			 },
			 err);
}

/* The true length of an edition 1 message counted in units of 120 octets: the data section tells.
 */
static int large_length(struct scan *scan, uint64_t offset, uint64_t *length, struct error *err)
{
	static const uint8_t flags[] = {0, 0x80, 0x40};
	uint64_t pos = offset + 8;
	uint8_t present = 0;
	const uint8_t *bytes;
	int r;

	for (int i = 0; i < 4; i++) {
		if (i > 0 && i < 3 && !(present & flags[i]))
			continue;
		if (scan->source->size < 8 || pos > scan->source->size - 8)
			return bad(err, pos, "a section is cut");
		r = look(scan, pos, 8, &bytes, err);
		if (r < 0)
			return r;
		if (i == 0)
			present = bytes[7];
		if (i < 3)
			pos += be24(bytes);
		else if (be24(bytes) < 120 && *length > be24(bytes))
			*length = *length - be24(bytes) + END_LENGTH;
	}
	return 0;
}

/* Collects the fields of the message at like->offset and sets its length; SCAN_BAD. */
static int scan_message(struct scan *scan, struct grib_entry *like, struct entries *entries,
			struct error *err)
{
	uint64_t left = scan->source->size - like->offset;
	const uint8_t *bytes;
	int edition, r;

	r = look(scan, like->offset, left < 16 ? (size_t)left : 16, &bytes, err);
	if (r < 0)
		return r;
	if (grib_header(slice_of(bytes, left < 16 ? (size_t)left : 16), &edition, &like->length,
			err) < 0)
		return SCAN_BAD;
	if (edition == 1 && (bytes[4] & 0x80)) {
		r = large_length(scan, like->offset, &like->length, err);
		if (r != 0)
			return r;
	}
	if (like->length < 20 || like->length > left)
		return bad_message(err, "its length in section 0 is wrong");
	if (edition == 1)
		r = scan_edition_1(scan, like, entries, err);
	else
		r = scan_edition_2(scan, like, entries, err);
	if (r != 0)
		return r;
	/* Looked at last: the window then holds the beginning of what follows. */
	r = look(scan, like->offset + like->length - END_LENGTH, END_LENGTH, &bytes, err);
	if (r < 0)
		return r;
	if (memcmp(bytes, "7777", END_LENGTH) != 0)
		return bad_message(err, "no 7777 at its end");
	return 0;
}

enum { SCAN_END = 1 };

/* The next "GRIB" with a known edition from *@offset on, or SCAN_END. */
static int find_message(struct scan *scan, uint64_t *offset, struct error *err)
{
	while (scan->source->size >= 8 && *offset <= scan->source->size - 8) {
		uint64_t left = scan->source->size - *offset;
		size_t n = left < WINDOW ? (size_t)left : WINDOW;
		uint64_t in_window = scan->window_offset + scan->window_size;
		const uint8_t *bytes, *found;
		int r;

		/* What is there already is looked at first. */
		if (*offset >= scan->window_offset && *offset + 8 <= in_window)
			n = (size_t)(in_window - *offset);
		r = look(scan, *offset, n, &bytes, err);
		if (r < 0)
			return r;
		found = memmem(bytes, n, "GRIB", 4);
		if (found && (size_t)(found - bytes) + 8 <= n) {
			*offset += (uint64_t)(found - bytes);
			if (found[7] == 1 || found[7] == 2)
				return 0;
			*offset += 4;
		} else {
			*offset += n - 7;
		}
	}
	return SCAN_END;
}

static int report(const struct entries *entries, uint64_t length,
		  int (*each)(void *context, const struct grib_entry *entry, struct error *err),
		  void *context, struct error *err)
{
	for (size_t i = 0; i < entries->n; i++) {
		struct grib_entry *entry = &entries->items[i];
		int r;

		entry->length = length;
		entry->n_fields = (unsigned int)entries->n;
		r = each(context, entry, err);
		if (r < 0)
			return r;
	}
	return 0;
}

int grib_scan(const struct grib_source *source,
	      int (*each)(void *context, const struct grib_entry *entry, struct error *err),
	      void *context, struct error *err)
{
	struct scan scan = {.source = source};
	uint64_t offset = 0;
	int r;

	for (;;) {
		CLEANUP(entries_done) struct entries entries = {0};
		struct grib_entry like = {0};
		struct error cause = ERROR_INIT;

		r = find_message(&scan, &offset, err);
		if (r != 0)
			return r < 0 ? r : 0;
		like.offset = offset;
		like.message = scan.message + 1;
		r = scan_message(&scan, &like, &entries, &cause);
		if (r < 0)
			return error_set(err, r, "%s", cause.text);
		if (r == SCAN_BAD) {
			like.bad = cause.text;
			like.length = 0;
			r = each(context, &like, err);
			offset += 4;
		} else {
			scan.message++;
			r = report(&entries, like.length, each, context, err);
			offset += like.length;
		}
		if (r < 0)
			return r;
	}
}

int grib_write_idx_line(const struct grib_entry *entry, struct buf *out, struct error *err)
{
	const struct grib_info *info = &entry->info;
	char number[32];

	if (entry->n_fields > 1)
		snprintf(number, sizeof(number), "%u.%u", entry->message, entry->field);
	else
		snprintf(number, sizeof(number), "%u", entry->message);
	return buf_printf(out, err, "%s:%" PRIu64 ":%s:%s:%s:%s:%s\n", number, entry->offset,
			  info->date, info->parameter, info->level, info->time, info->extra);
}
