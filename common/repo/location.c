/* SPDX-License-Identifier: Apache-2.0 */
#include "repo/location.h"

#include <strings.h>

static size_t slice_find(struct slice text, const char *any)
{
	for (size_t i = 0; i < text.size; i++) {
		if (text.data[i] && strchr(any, text.data[i]))
			return i;
	}
	return text.size;
}

static bool is_scheme(struct slice text)
{
	for (size_t i = 0; i < text.size; i++) {
		uint8_t c = text.data[i];
		bool is_letter = (c | 0x20) >= 'a' && (c | 0x20) <= 'z';

		if (!is_letter && (i == 0 || !((c >= '0' && c <= '9') || strchr("+-.", c))))
			return false;
	}
	return text.size > 0;
}

int location_split(struct slice text, struct location *ret_location, struct error *err)
{
	struct location location;
	struct slice rest;
	size_t colon = slice_find(text, ":"), end;

	location.scheme = slice_sub(text, 0, colon);
	rest = slice_sub(text, colon, SIZE_MAX);
	if (rest.size < 3 || memcmp(rest.data, "://", 3) != 0 || !is_scheme(location.scheme))
		return error_set(err, ERR_FORMAT, "location '%.*s' has no scheme", (int)text.size,
				 (const char *)text.data);
	rest = slice_sub(rest, 3, SIZE_MAX);
	end = slice_find(rest, "/?#");
	location.authority = slice_sub(rest, 0, end);
	rest = slice_sub(rest, end, SIZE_MAX);
	if (rest.size && rest.data[0] == '/')
		rest = slice_sub(rest, 1, SIZE_MAX);
	location.key = rest;
	if (location.authority.size == 0 && !location_scheme_is(&location, "file"))
		return error_set(err, ERR_FORMAT, "location '%.*s' names no bucket or host",
				 (int)text.size, (const char *)text.data);
	*ret_location = location;
	return 0;
}

bool location_scheme_is(const struct location *location, const char *scheme)
{
	return location->scheme.size == strlen(scheme) &&
	       strncasecmp((const char *)location->scheme.data, scheme, location->scheme.size) == 0;
}

bool location_has_dots(const struct location *location)
{
	struct slice rest = location->key;

	for (;;) {
		size_t end = slice_find(rest, "/");
		struct slice segment = slice_sub(rest, 0, end);

		if (segment.size == 0 || slice_is(segment, ".") || slice_is(segment, ".."))
			return true;
		if (end == rest.size)
			return false;
		rest = slice_sub(rest, end + 1, SIZE_MAX);
	}
}

bool location_covers(struct slice prefix, struct slice text)
{
	size_t colon = slice_find(prefix, ":");

	while (prefix.size > colon + 3 && prefix.data[prefix.size - 1] == '/')
		prefix.size--;
	if (text.size < prefix.size || colon > prefix.size ||
	    strncasecmp((const char *)prefix.data, (const char *)text.data, colon) != 0)
		return false;
	if (memcmp(prefix.data + colon, text.data + colon, prefix.size - colon) != 0)
		return false;
	/* "file:///" has no more than its slashes; everything absolute is below it. */
	return text.size == prefix.size || text.data[prefix.size] == '/' ||
	       (prefix.size == colon + 3 && prefix.size > 3);
}

int location_store(struct slice text, struct buf *out, struct error *err)
{
	struct location location;
	int r;

	if (text.size && memchr(text.data, 0, text.size))
		return error_set(err, ERR_ARGUMENT, "location '%s' holds a NUL byte",
				 (const char *)text.data);
	r = location_split(text, &location, err);
	if (r < 0)
		return err ? (err->kind = ERR_ARGUMENT) : ERR_ARGUMENT;
	if (location_scheme_is(&location, "file") &&
	    (location.authority.size || location_has_dots(&location)))
		return error_set(err, ERR_ARGUMENT,
				 "location '%.*s' is no absolute path without '.', '..' and '//'",
				 (int)text.size, (const char *)text.data);
	for (size_t i = 0; i < location.scheme.size; i++) {
		uint8_t c = location.scheme.data[i];

		r = buf_append_byte(out, c >= 'A' && c <= 'Z' ? c | 0x20 : c, err);
		if (r < 0)
			return r;
	}
	return buf_append_slice(out, slice_sub(text, location.scheme.size, SIZE_MAX), err);
}
