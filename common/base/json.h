/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * JSON documents that keep their bytes
 *
 * json_parse() checks a whole text once and yields values that are spans of it.  Numbers stay
 * text until asked for.  A document is changed by splicing spans (json_edit_*), never by parsing
 * and printing it.  Grammar: RFC 8259, plus the bare words NaN, Infinity and -Infinity as numbers,
 * which Zarr writers emit; UTF-8, escaped surrogates in pairs; at most 128 levels; of a repeated
 * member the last one counts.
 *
 * Values lend the text, which must outlive them.  Threads: any may read.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

enum json_type { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json {
	enum json_type type;
	struct slice span; /* of the value alone, no blanks around it */
};

struct json_iter {
	struct slice rest;
	bool is_object;
};

enum { JSON_ABSENT = 1 };

/* Checks the whole of @text.  ERR_FORMAT names byte offset and cause ("byte 17: ..."). */
int json_parse(struct slice text, struct json *ret_value, struct error *err);

/* Member @name of an object: 0, or JSON_ABSENT (also when @object is no object). */
int json_get(const struct json *object, const char *name, struct json *ret_value);
/* As json_get() along "a", "b", "c"; end with NULL. */
int json_path(const struct json *object, struct json *ret_value, ... /* const char *, NULL */)
	__attribute__((sentinel));
/* Number of items or members; 0 for everything else. */
size_t json_count(const struct json *value);
/* Item @i of an array, or JSON_ABSENT. */
int json_at(const struct json *array, size_t i, struct json *ret_value);

/*
 * Walks an array (@ret_key untouched) or object in the order of the text; false at the end.  Either
 * may be NULL.  A whole walk costs one pass over the text, json_at() in a loop one for each item.
 */
struct json_iter json_iter(const struct json *value);
bool json_next(struct json_iter *iter, struct json *ret_key, struct json *ret_value);
/* @key is a struct json * or NULL, @item a struct json variable that is already declared. */
#define JSON_EACH(value, key, item) \
	for (struct json_iter iter_##item = json_iter(value); json_next(&iter_##item, key, &item);)

/* Appends the text of a string, escapes undone, to @out.  ERR_FORMAT if it is no string. */
int json_text(const struct json *value, struct buf *out, struct error *err);
/* New NUL-terminated text; the caller frees it.  ERR_FORMAT if no string or if it holds a NUL. */
int json_dup(const struct json *value, char **ret_text, struct error *err);
bool json_is_text(const struct json *value, const char *text);
/* Whole numbers ("3", also "3.0" and "3e0"), in range; ERR_FORMAT. */
int json_u64(const struct json *value, uint64_t *ret_value, struct error *err);
int json_i64(const struct json *value, int64_t *ret_value, struct error *err);
/* Any number, the bare words too; ERR_FORMAT beyond the range of a double ("1e999"). */
int json_double(const struct json *value, double *ret_value, struct error *err);
int json_bool(const struct json *value, bool *ret_value, struct error *err);

/* Appends a JSON string with its quotes; bytes that are no UTF-8 become U+FFFD. */
int json_write_text(struct buf *out, struct slice text, struct error *err);
/* Appends a number as text_repr(); NaN and infinities as the bare words above. */
int json_write_double(struct buf *out, double value, struct error *err);

/*
 * Writes @document to @out with the bytes of @value (a value of it) replaced by @replacement;
 * every other byte stays.
 */
int json_edit_replace(struct slice document, const struct json *value, struct slice replacement,
		      struct buf *out, struct error *err);
/* As above with each member @name of @object removed, its comma too.  Absent: a plain copy. */
int json_edit_remove(struct slice document, const struct json *object, const char *name,
		     struct buf *out, struct error *err);
