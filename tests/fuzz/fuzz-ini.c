/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A section, a line feed, a key, a line feed, and a configuration file of the AWS tools
 */

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "fuzz.h"
#include "net/ini.h"

/* The line at the start of @rest, which then begins behind it. */
static char *take_line(struct slice *rest)
{
	const uint8_t *end = rest->size ? memchr(rest->data, '\n', rest->size) : NULL;
	size_t size = end ? (size_t)(end - rest->data) : rest->size;
	char *line = slice_dup(slice_of(rest->data, size), NULL);

	*rest = slice_sub(*rest, size + (end != NULL), SIZE_MAX);
	return line;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice rest = slice_of(data, size);
	CLEANUP(freep) char *section = take_line(&rest);
	CLEANUP(freep) char *key = take_line(&rest);
	CLEANUP(freep) char *text = slice_dup(rest, NULL);
	CLEANUP(freep) char *value = NULL;

	if (!section || !key || !text)
		abort();
	value = ini_get(slice_of(text, rest.size), section, key);
	if (value && (strchr(value, '\n') || !ini_has_section(slice_of(text, rest.size), section)))
		abort();
	return 0;
}
