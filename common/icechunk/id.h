/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Icechunk ids
 *
 * Snapshots, manifests and chunks are named by 12 random bytes, nodes by 8.  As text, ids are
 * Crockford base32: upper case, most significant bit first, no padding, the last character filled
 * with zero bits (Icechunk specification, "Object ids").
 *
 * Threads: any.
 */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"

#define ID12_TEXT_LEN 20
#define ID8_TEXT_LEN 13

struct id12 {
	uint8_t bytes[12];
};

struct id8 {
	uint8_t bytes[8];
};

/* 1CECHNKREP0F1RSTCMT0: the id that the first snapshot of a new repository has. */
extern const struct id12 ID12_INITIAL_SNAPSHOT;

/* Parses the one canonical spelling, as it stands in object keys.  ERR_ARGUMENT. */
int id12_parse(const char *text, struct id12 *ret_id, struct error *err);
int id8_parse(const char *text, struct id8 *ret_id, struct error *err);

/*
 * As id12_parse(), but takes what the public library takes too: lower case, I and L for 1, O for 0,
 * any surplus bits in the last character.  For what people type and for spec 1 reference files.
 */
int id12_parse_lenient(const char *text, struct id12 *ret_id, struct error *err);

/* Writes the text and a NUL. */
void id12_format(const struct id12 *id, char text[ID12_TEXT_LEN + 1]);
void id8_format(const struct id8 *id, char text[ID8_TEXT_LEN + 1]);

/* A new random id. */
int id12_new(struct id12 *ret_id, struct error *err);
int id8_new(struct id8 *ret_id, struct error *err);

/* Order of the bytes, which is the order of the texts. */
static inline int id12_compare(const struct id12 *a, const struct id12 *b)
{
	return memcmp(a->bytes, b->bytes, sizeof(a->bytes));
}

static inline int id8_compare(const struct id8 *a, const struct id8 *b)
{
	return memcmp(a->bytes, b->bytes, sizeof(a->bytes));
}

static inline bool id12_equal(const struct id12 *a, const struct id12 *b)
{
	return id12_compare(a, b) == 0;
}

static inline bool id8_equal(const struct id8 *a, const struct id8 *b)
{
	return id8_compare(a, b) == 0;
}
