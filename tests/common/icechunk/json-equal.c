/* SPDX-License-Identifier: Apache-2.0 */
#include "json-equal.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#define FLAGS (JSON_DECODE_ANY | JSON_ALLOW_NUL)

static json_t *load(const void *text, size_t size)
{
	json_error_t error;
	json_t *value = json_loadb(text, size, FLAGS, &error);

	if (!value)
		fprintf(stderr, "%s in: %.*s\n", error.text, (int)size, (const char *)text);
	return value;
}

/* Both texts with sorted members, so that a person sees the difference. */
static void show(const char *what, const json_t *value)
{
	char *text = json_dumps(value, JSON_SORT_KEYS | JSON_INDENT(1) | JSON_ENCODE_ANY);

	fprintf(stderr, "%s: %s\n", what, text ? text : "?");
	free(text);
}

bool json_texts_equal(const void *a, size_t a_size, const void *b, size_t b_size)
{
	json_t *x = load(a, a_size), *y = load(b, b_size);
	bool equal = x && y && json_equal(x, y);

	if (!equal && x && y) {
		show("got", x);
		show("want", y);
	}
	json_decref(x);
	json_decref(y);
	return equal;
}
