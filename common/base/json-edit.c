/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Writing values, and editing documents by splicing
 */

#include <math.h>

#include "base/json-internal.h"
#include "base/text.h"

/* Writing */

static int write_escape(struct buf *out, uint8_t c, struct error *err)
{
	static const char names[] = "\bb\ff\nn\rr\tt\"\"\\\\";

	for (size_t i = 0; i + 1 < sizeof(names); i += 2) {
		if ((uint8_t)names[i] == c)
			return buf_printf(out, err, "\\%c", names[i + 1]);
	}
	return buf_printf(out, err, "\\u%04x", c);
}

/* Bytes at the start of @text that a JSON string holds as they are. */
static size_t verbatim_size(struct slice text)
{
	size_t at = 0;

	while (at < text.size) {
		struct slice rest = slice_sub(text, at, SIZE_MAX);
		size_t n = json_is_plain(rest.data[0]) ? 1 : text_utf8_length(rest);

		if (n == 0 || (n == 1 && !json_is_plain(rest.data[0])))
			break;
		at += n;
	}
	return at;
}

int json_write_text(struct buf *out, struct slice text, struct error *err)
{
	int r = buf_append_byte(out, '"', err);

	while (r == 0 && text.size) {
		size_t n = verbatim_size(text);

		r = buf_append_slice(out, slice_sub(text, 0, n), err);
		text = slice_sub(text, n, SIZE_MAX);
		if (r < 0 || text.size == 0)
			break;
		r = text.data[0] < 0x80 ? write_escape(out, text.data[0], err)
					: buf_append_text(out, "\xef\xbf\xbd", err);
		text = slice_sub(text, 1, SIZE_MAX);
	}
	return r < 0 ? r : buf_append_byte(out, '"', err);
}

int json_write_double(struct buf *out, double value, struct error *err)
{
	char text[32];

	if (isnan(value))
		return buf_append_text(out, "NaN", err);
	if (isinf(value))
		return buf_append_text(out, value < 0 ? "-Infinity" : "Infinity", err);
	text_repr(value, text);
	return buf_append_text(out, text, err);
}

/* Editing */

/* Where @span begins in @document; ERR_ARGUMENT if it is no part of it. */
static int place_of(struct slice document, struct slice span, size_t *ret_offset, struct error *err)
{
	uintptr_t start = (uintptr_t)document.data;
	uintptr_t at = (uintptr_t)span.data;

	if (at < start || at - start > document.size || span.size > document.size - (at - start))
		return error_set(err, ERR_ARGUMENT, "value is no part of the document");
	*ret_offset = at - start;
	return 0;
}

int json_edit_replace(struct slice document, const struct json *value, struct slice replacement,
		      struct buf *out, struct error *err)
{
	size_t offset = 0;
	int r;

	r = place_of(document, value->span, &offset, err);
	if (r < 0)
		return r;
	r = buf_append_slice(out, slice_sub(document, 0, offset), err);
	if (r < 0)
		return r;
	r = buf_append_slice(out, replacement, err);
	if (r < 0)
		return r;
	offset += value->span.size;
	return buf_append_slice(out, slice_sub(document, offset, SIZE_MAX), err);
}

/* Copies a document member by member; @done is what was copied or left out so far. */
struct removal {
	struct slice document;
	size_t done;
	size_t end_of_last; /* where the member before ends, removed or not */
	bool kept_one;
	bool skip_to_next; /* a first member went, so the comma behind it goes too */
};

/* Copies up to @offset. */
static int removal_copy(struct removal *removal, size_t offset, struct buf *out, struct error *err)
{
	struct slice rest = slice_sub(removal->document, removal->done, offset - removal->done);

	removal->done = offset;
	return buf_append_slice(out, rest, err);
}

/* Member in bytes [@start, @end) of the document. */
static int removal_step(struct removal *removal, size_t start, size_t end, bool remove,
			struct buf *out, struct error *err)
{
	int r = 0;

	if (removal->skip_to_next)
		removal->done = start;
	removal->skip_to_next = false;
	if (remove) {
		r = removal_copy(removal, removal->kept_one ? removal->end_of_last : start, out,
				 err);
		removal->done = end;
		removal->skip_to_next = !removal->kept_one;
	} else {
		removal->kept_one = true;
	}
	removal->end_of_last = end;
	return r;
}

int json_edit_remove(struct slice document, const struct json *object, const char *name,
		     struct buf *out, struct error *err)
{
	struct removal removal = {.document = document};
	struct json key, item;
	size_t start = 0;
	int r;

	r = place_of(document, object->span, &start, err);
	if (r < 0)
		return r;
	if (object->type != JSON_OBJECT)
		return buf_append_slice(out, document, err);
	JSON_EACH (object, &key, item) {
		size_t from = (size_t)(key.span.data - document.data);
		size_t to = (size_t)(item.span.data - document.data) + item.span.size;

		r = removal_step(&removal, from, to, json_is_text(&key, name), out, err);
		if (r < 0)
			return r;
	}
	return removal_copy(&removal, document.size, out, err);
}
