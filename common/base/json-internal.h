/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the files of the JSON module share
 */

#include "base/json.h"

static inline bool json_is_blank(uint8_t c)
{
	return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/* A byte that a string holds as it is. */
static inline bool json_is_plain(uint8_t c)
{
	return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

static inline bool json_is_high_surrogate(int32_t unit)
{
	return unit >= 0xd800 && unit <= 0xdbff;
}

static inline bool json_is_low_surrogate(int32_t unit)
{
	return unit >= 0xdc00 && unit <= 0xdfff;
}

/* Four hex digits, or -1. */
int32_t json_read_unit(const uint8_t *at, const uint8_t *end);
/* Type of the value that begins with this byte. */
enum json_type json_type_of(uint8_t first);
