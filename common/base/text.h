/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Text: numbers with every wrong input refused, percent encoding, UTF-8
 *
 * Threads: any.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

/* The two arguments of "%.*s" that show @slice in a message, at most 200 bytes of it. */
#define SLICE_SHOW(slice) (int)((slice).size < 200 ? (slice).size : 200), (const char *)(slice).data

static inline bool text_is_digit(uint8_t c)
{
	return c >= '0' && c <= '9';
}

/* Value of a hex digit of either case, or -1. */
int text_hex_value(uint8_t c);
/* Control characters, which could add lines or terminal codes to a message, become '?'. */
void text_sanitize(char *text);

/* Decimal digits only, no sign, no blanks; ERR_ARGUMENT names the text.  Overflow is an error. */
int text_u64(struct slice text, uint64_t *ret_value, struct error *err);
/* As text_u64() with an optional '-' in front. */
int text_i64(struct slice text, int64_t *ret_value, struct error *err);
/* A finite decimal number, whole text; ERR_ARGUMENT.  Locale has no influence. */
int text_double(struct slice text, double *ret_value, struct error *err);
/* "64M", "1G", "512" with K, M, G (1024); ERR_ARGUMENT. */
int text_size(struct slice text, uint64_t *ret_value, struct error *err);

bool text_starts(const char *text, const char *prefix);
bool text_ends(const char *text, const char *suffix);
/* Valid UTF-8 (no surrogates, no overlong forms)? */
bool text_is_utf8(struct slice text);
/* Bytes of the valid UTF-8 character that @text starts with, 0 if there is none. */
size_t text_utf8_length(struct slice text);
/* Characters of a UTF-8 text, each of which is taken to be one column wide. */
size_t text_width(struct slice text);
/* Appends @text with every byte outside @keep (and ASCII letters and digits) as %XX. */
int text_percent_encode(struct slice text, const char *keep, struct buf *out, struct error *err);
/* Appends @text with %XX undone once; ERR_FORMAT on a broken escape. */
int text_percent_decode(struct slice text, struct buf *out, struct error *err);
/* Hex digits of @n bytes, lower case, NUL at the end; @out has 2n+1 bytes. */
void text_hex(const uint8_t *bytes, size_t n, char *out);
/* New text, or NULL with ERR_MEMORY; the caller frees it. */
char *text_printf(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *text_dup(const char *text, struct error *err);
/* Shortest decimal text that reads back as the same double, spelled as Python's repr()
 * ("1.0", "1e-05", "1e+16", "nan", "inf"); @out has 32 bytes. */
void text_repr(double value, char out[32]);
