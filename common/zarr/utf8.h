/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Code points of text that is known to be valid UTF-8 (as the JSON reader gives it)
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/* Takes one code point off the front of @rest; false at its end. */
static inline bool utf8_next(struct slice *rest, uint32_t *ret_code)
{
	const uint8_t *s = rest->data;
	uint32_t code;
	size_t n;

	if (rest->size == 0)
		return false;
	n = s[0] < 0x80 ? 1 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	code = n == 1 ? s[0] : s[0] & (0xffU >> (n + 1));
	for (size_t i = 1; i < n; i++)
		code = code << 6 | (s[i] & 0x3f);
	*rest = slice_sub(*rest, n, rest->size);
	*ret_code = code;
	return true;
}
