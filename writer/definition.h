/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reading JSON whose every member is known
 *
 * What the loader of definitions is made of: values of a wanted type, or an error that names the
 * file, the place as a JSON pointer (RFC 6901) and the reason.
 *
 * Threads: one at a time.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"

struct definition {
	const char *file; /* what messages call it */
	struct arena *arena;
};

/* A value and the way to it. */
struct place {
	const struct place *up;
	const char *key; /* NULL: an item */
	size_t item;
	struct json value;
};

enum { DEFINITION_ABSENT = 1 };

/* "cannot read 'FILE': /a/3/b: REASON"; returns ERR_FORMAT. */
int definition_fail(const struct definition *definition, const struct place *at, struct error *err,
		    const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Every member of @at has one of the names in @names (separated by blanks), and none is there
 * twice.
 */
int definition_members(const struct definition *definition, const struct place *at,
		       const char *names, struct error *err);
/* Member @key of @at: 0, DEFINITION_ABSENT, or an error when it is not of @type. */
int definition_get(const struct definition *definition, const struct place *at, const char *key,
		   enum json_type type, struct place *ret_place, struct error *err);
/* As above, but it must be there. */
int definition_need(const struct definition *definition, const struct place *at, const char *key,
		    enum json_type type, struct place *ret_place, struct error *err);
/* Item @i of the array @at; the caller checks the count. */
struct place definition_item(const struct place *at, size_t i);
/* The value of a place, in the arena. */
int definition_text(const struct definition *definition, const struct place *at,
		    const char **ret_text, struct error *err);
int definition_number(const struct definition *definition, const struct place *at,
		      double *ret_value, struct error *err);
int definition_u64(const struct definition *definition, const struct place *at, uint64_t most,
		   uint64_t *ret_value, struct error *err);
int definition_time(const struct definition *definition, const struct place *at, int64_t *ret_time,
		    struct error *err);
int definition_duration(const struct definition *definition, const struct place *at,
			int64_t *ret_duration, struct error *err);
/* Place among @words (ended by NULL). */
int definition_word(const struct definition *definition, const struct place *at,
		    const char *const *words, int *ret_word, struct error *err);
