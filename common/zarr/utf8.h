/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Code points of text that is known to be valid UTF-8 (as the JSON reader gives it)
 */

#include <stddef.h>
#include <stdint.h>

/* Takes one code point off the front of @at. */
static inline uint32_t utf8_next(const uint8_t **at)
{
	const uint8_t *s = *at;
	size_t n = s[0] < 0x80 ? 1 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	uint32_t code = n == 1 ? s[0] : s[0] & (0xffU >> (n + 1));

	for (size_t i = 1; i < n; i++)
		code = code << 6 | (s[i] & 0x3f);
	*at += n;
	return code;
}
