/* SPDX-License-Identifier: Apache-2.0 */
#include "net/ini.h"

#include <ctype.h>
#include <stdlib.h>
#include <strings.h>

static struct slice ini_trim(struct slice text)
{
	while (text.size && isspace(text.data[0]))
		text = slice_sub(text, 1, text.size);
	while (text.size && isspace(text.data[text.size - 1]))
		text.size--;
	return text;
}

static struct slice ini_line(struct slice *text)
{
	const uint8_t *end = memchr(text->data, '\n', text->size);
	struct slice line = slice_of(text->data, end ? (size_t)(end - text->data) : text->size);

	*text = slice_sub(*text, line.size + (end != NULL), text->size);
	return line;
}

/* The name in "[ name ]" with runs of blanks as one, as in "[profile  x]". */
static bool ini_section_is(struct slice line, const char *section)
{
	const uint8_t *end = memchr(line.data, ']', line.size);
	struct slice name;

	if (!end)
		return false;
	name = ini_trim(slice_of(line.data + 1, (size_t)(end - line.data - 1)));
	for (; name.size; name = slice_sub(name, 1, name.size), section++) {
		if (isspace(name.data[0]) && name.size > 1 && isspace(name.data[1])) {
			section--;
			continue;
		}
		if (!*section || (isspace(name.data[0]) ? ' ' : name.data[0]) != (uint8_t)*section)
			return false;
	}
	return !*section;
}

/* A comment behind a value begins with a blank and the mark. */
static struct slice ini_value(struct slice value)
{
	for (size_t i = 1; i < value.size; i++)
		if ((value.data[i] == '#' || value.data[i] == ';') && isspace(value.data[i - 1]))
			return ini_trim(slice_sub(value, 0, i));
	return ini_trim(value);
}

static bool ini_find(struct slice text, const char *section, const char *key,
		     struct slice *ret_value)
{
	bool inside = false, found = false;

	while (text.size) {
		struct slice line = ini_line(&text);
		const uint8_t *equals;
		struct slice name;

		if (!line.size || line.data[0] == '#' || line.data[0] == ';' ||
		    isspace(line.data[0]))
			continue;
		if (line.data[0] == '[') {
			inside = ini_section_is(line, section);
			found |= inside && !key;
			continue;
		}
		equals = memchr(line.data, '=', line.size);
		if (!inside || !key || !equals)
			continue;
		name = ini_trim(slice_of(line.data, (size_t)(equals - line.data)));
		if (name.size != strlen(key) ||
		    strncasecmp((const char *)name.data, key, name.size) != 0)
			continue;
		*ret_value =
			ini_value(slice_sub(line, (size_t)(equals - line.data) + 1, line.size));
		found = true;
	}
	return found;
}

char *ini_get(struct slice text, const char *section, const char *key)
{
	struct slice value;

	if (!ini_find(text, section, key, &value) || !value.size)
		return NULL;
	return slice_dup(value, NULL);
}

bool ini_has_section(struct slice text, const char *section)
{
	return ini_find(text, section, NULL, NULL);
}
