/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/definition.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/time.h"

/* Writes the pointer of @at to @out, cut at its end. */
static void write_pointer(const struct place *at, char *out, size_t size)
{
	size_t used;

	if (!at->up) {
		out[0] = '\0';
		return;
	}
	write_pointer(at->up, out, size);
	used = strlen(out);
	if (at->key)
		snprintf(out + used, size - used, "/%s", at->key);
	else
		snprintf(out + used, size - used, "/%zu", at->item);
}

int definition_fail(const struct definition *definition, const struct place *at, struct error *err,
		    const char *format, ...)
{
	char pointer[200], reason[256];
	va_list args;

	va_start(args, format);
	vsnprintf(reason, sizeof(reason), format, args);
	va_end(args);
	write_pointer(at, pointer, sizeof(pointer));
	return error_set(err, ERR_FORMAT, "cannot read '%s': %s: %s", definition->file,
			 pointer[0] ? pointer : "/", reason);
}

static bool is_among(const char *names, struct slice name)
{
	for (const char *at = names; *at;) {
		size_t n = strcspn(at, " ");

		if (n == name.size && memcmp(at, name.data, n) == 0)
			return true;
		at += n + strspn(at + n, " ");
	}
	return false;
}

int definition_members(const struct definition *definition, const struct place *at,
		       const char *names, struct error *err)
{
	struct json key, value, other, ignored;

	JSON_EACH (&at->value, &key, value) {
		struct slice name = slice_of(key.span.data + 1, key.span.size - 2);
		char text[80];
		struct place member = {.up = at, .key = text, .value = value};

		snprintf(text, sizeof(text), "%.*s", (int)name.size, (const char *)name.data);
		if (!is_among(names, name))
			return definition_fail(definition, &member, err, "unknown member");
		JSON_EACH (&at->value, &other, ignored)
			if (other.span.data < key.span.data && slice_equal(other.span, key.span))
				return definition_fail(definition, &member, err, "is there twice");
	}
	return 0;
}

static const char *type_name(enum json_type type)
{
	static const char *const names[] = {"null",   "true or false", "a number",
					    "a text", "a list",	       "an object"};

	return names[type];
}

int definition_get(const struct definition *definition, const struct place *at, const char *key,
		   enum json_type type, struct place *ret_place, struct error *err)
{
	struct place member = {.up = at, .key = key};

	if (json_get(&at->value, key, &member.value) != 0)
		return DEFINITION_ABSENT;
	if (member.value.type != type)
		return definition_fail(definition, &member, err, "is not %s", type_name(type));
	*ret_place = member;
	return 0;
}

int definition_need(const struct definition *definition, const struct place *at, const char *key,
		    enum json_type type, struct place *ret_place, struct error *err)
{
	int r = definition_get(definition, at, key, type, ret_place, err);

	if (r == DEFINITION_ABSENT)
		return definition_fail(definition, at, err, "has no member '%s'", key);
	return r;
}

struct place definition_item(const struct place *at, size_t i)
{
	struct place item = {.up = at, .item = i};

	json_at(&at->value, i, &item.value);
	return item;
}

int definition_text(const struct definition *definition, const struct place *at,
		    const char **ret_text, struct error *err)
{
	CLEANUP(freep) char *text = NULL;
	struct error cause = ERROR_INIT;
	char *copy;

	if (json_dup(&at->value, &text, &cause) < 0)
		return definition_fail(definition, at, err, "is not a text");
	copy = arena_dup(definition->arena, slice_text(text), err);
	if (!copy)
		return ERR_MEMORY;
	*ret_text = copy;
	return 0;
}

int definition_number(const struct definition *definition, const struct place *at,
		      double *ret_value, struct error *err)
{
	struct error cause = ERROR_INIT;

	if (json_double(&at->value, ret_value, &cause) < 0)
		return definition_fail(definition, at, err, "is not a number");
	return 0;
}

int definition_u64(const struct definition *definition, const struct place *at, uint64_t most,
		   uint64_t *ret_value, struct error *err)
{
	struct error cause = ERROR_INIT;

	if (json_u64(&at->value, ret_value, &cause) < 0 || *ret_value > most)
		return definition_fail(definition, at, err, "is not a whole number from 0 to %llu",
				       (unsigned long long)most);
	return 0;
}

int definition_time(const struct definition *definition, const struct place *at, int64_t *ret_time,
		    struct error *err)
{
	struct error cause = ERROR_INIT;
	const char *text = NULL;
	int r = definition_text(definition, at, &text, err);

	if (r < 0)
		return r;
	/* An age would be one of the moment of loading. */
	if (strlen(text) < 10 || time_parse(text, 0, ret_time, &cause) < 0)
		return definition_fail(definition, at, err, "'%s' is not a time", text);
	return 0;
}

int definition_duration(const struct definition *definition, const struct place *at,
			int64_t *ret_duration, struct error *err)
{
	struct error cause = ERROR_INIT;
	const char *text = NULL;
	int r = definition_text(definition, at, &text, err);

	if (r < 0)
		return r;
	if (duration_parse(text, ret_duration, &cause) < 0)
		return definition_fail(definition, at, err, "'%s' is not a duration such as 6h",
				       text);
	return 0;
}

int definition_word(const struct definition *definition, const struct place *at,
		    const char *const *words, int *ret_word, struct error *err)
{
	const char *text;
	int r = definition_text(definition, at, &text, err);

	if (r < 0)
		return r;
	for (int i = 0; words[i]; i++) {
		if (strcmp(words[i], text) == 0) {
			*ret_word = i;
			return 0;
		}
	}
	return definition_fail(definition, at, err, "'%s' is not understood", text);
}
