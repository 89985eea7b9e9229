/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the encoders of values need of JSON: members sorted by name, and numbers told apart
 *
 * Internal to this folder.  Threads: any.
 */

#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/json.h"
#include "base/vec.h"

struct json_member {
	struct slice name; /* escapes undone */
	struct json value;
};

DEFINE_VEC(json_members, struct json_member);

/*
 * Appends the members of @object sorted by the bytes of their names; of a repeated one the last.
 * Names live in @arena.
 */
int json_members_sorted(const struct json *object, struct arena *arena, struct json_members *out,
			struct error *err);

struct json_number {
	enum { NUMBER_UNSIGNED, NUMBER_NEGATIVE, NUMBER_FLOAT } kind;
	union {
		uint64_t u;
		int64_t i;
		double f;
	};
};

/*
 * Whole numbers without fraction and exponent that 64 bits hold are integers, all others floats,
 * "-0" too, as the public library's parser has it.  ERR_FORMAT beyond a double.
 */
int json_number(const struct json *value, struct json_number *ret_number, struct error *err);
