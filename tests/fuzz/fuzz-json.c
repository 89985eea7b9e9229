/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A JSON text.  Whatever was parsed can be walked, edited and written again.
 */

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "fuzz.h"

#define MEMBERS_EDITED 8

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void try_string(const struct json *value)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT(BUF_NO_LIMIT);
	CLEANUP(buf_done) struct buf written = BUF_INIT(BUF_NO_LIMIT);
	CLEANUP(buf_done) struct buf again = BUF_INIT(BUF_NO_LIMIT);
	struct json parsed;

	require(json_text(value, &text, NULL) == 0);
	require(json_write_text(&written, buf_slice(&text), NULL) == 0);
	require(json_parse(buf_slice(&written), &parsed, NULL) == 0);
	require(json_text(&parsed, &again, NULL) == 0);
	require(slice_equal(buf_slice(&text), buf_slice(&again)));
	require(memchr(text.data ? text.data : (uint8_t *)"", 0, text.size) ||
		json_is_text(value, buf_text(&text, NULL)));
}

static void try_number(const struct json *value)
{
	CLEANUP(buf_done) struct buf written = BUF_INIT(BUF_NO_LIMIT);
	double number, again;
	struct json parsed;
	uint64_t u64;
	int64_t i64;

	if (json_u64(value, &u64, NULL) == 0 && json_i64(value, &i64, NULL) == 0)
		require(u64 == (uint64_t)i64);
	if (json_double(value, &number, NULL) < 0)
		return;
	require(json_write_double(&written, number, NULL) == 0);
	require(json_parse(buf_slice(&written), &parsed, NULL) == 0);
	require(json_double(&parsed, &again, NULL) == 0);
	require(memcmp(&number, &again, sizeof(number)) == 0 || number != number);
}

static void try_value(const struct json *value)
{
	struct json parsed, key, item;
	size_t n = 0;

	if (value->type == JSON_STRING)
		try_string(value);
	if (value->type == JSON_NUMBER)
		try_number(value);
	JSON_EACH (value, &key, item) {
		if (value->type == JSON_OBJECT)
			try_string(&key);
		try_value(&item);
		n++;
	}
	require(n == json_count(value));
	require(json_parse(value->span, &parsed, NULL) == 0 && parsed.type == value->type &&
		slice_equal(parsed.span, value->span));
}

static void try_replace(struct slice text, const struct json *item)
{
	CLEANUP(buf_done) struct buf out = BUF_INIT(BUF_NO_LIMIT);
	size_t before = (size_t)(item->span.data - text.data);
	size_t after = text.size - before - item->span.size;
	struct json root;

	require(json_edit_replace(text, item, slice_text("null"), &out, NULL) == 0);
	require(json_parse(buf_slice(&out), &root, NULL) == 0);
	require(out.size == before + 4 + after && memcmp(out.data, text.data, before) == 0 &&
		memcmp(out.data + before + 4, text.data + text.size - after, after) == 0);
}

static void try_remove(struct slice text, const struct json *root, const struct json *key)
{
	CLEANUP(buf_done) struct buf out = BUF_INIT(BUF_NO_LIMIT);
	char *name = NULL;
	struct json edited, item;

	if (json_dup(key, &name, NULL) < 0)
		return;
	require(json_edit_remove(text, root, name, &out, NULL) == 0);
	require(json_parse(buf_slice(&out), &edited, NULL) == 0);
	require(json_get(&edited, name, &item) == JSON_ABSENT);
	require(json_count(&edited) < json_count(root));
	free(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice text = slice_of(data, size);
	struct json root, key, item;
	size_t n = 0;

	if (json_parse(text, &root, NULL) < 0)
		return 0;
	try_value(&root);
	JSON_EACH (&root, &key, item) {
		if (n++ == MEMBERS_EDITED)
			break;
		try_replace(text, &item);
		if (root.type == JSON_OBJECT)
			try_remove(text, &root, &key);
	}
	return 0;
}
