/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * JSON output, member by member
 *
 * Writes into a buf, compact or indented by two blanks a level.  The first failure sticks and
 * emit_result() tells it, so the calls in between need no checks.  Emptying the buf between calls
 * (to stream it) does no harm.
 *
 *	struct emit json = EMIT_INIT(&out, true);
 *
 *	emit_object(&json);
 *	emit_key(&json, "id");
 *	emit_text(&json, id);
 *	emit_end_object(&json);
 *	r = emit_result(&json, err);
 *
 * Threads: one at a time.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

struct emit {
	struct buf *out;
	struct error err;
	bool indent;
	bool inside;	/* something stands in the current object or array already */
	bool after_key; /* so no comma comes before the next value */
	unsigned int depth;
};

#define EMIT_INIT(buffer, indented) ((struct emit){.out = (buffer), .indent = (indented)})

void emit_object(struct emit *emit);
void emit_end_object(struct emit *emit);
void emit_array(struct emit *emit);
void emit_end_array(struct emit *emit);
/* Comes before each value of an object. */
void emit_key(struct emit *emit, const char *name);
/* Values.  Bytes that are no UTF-8 become U+FFFD; NULL text is null. */
void emit_text(struct emit *emit, const char *text);
void emit_slice(struct emit *emit, struct slice text);
void emit_u64(struct emit *emit, uint64_t value);
void emit_i64(struct emit *emit, int64_t value);
/* Spelled as text_repr(); NaN and infinities as the bare words of json.h. */
void emit_double(struct emit *emit, double value);
void emit_bool(struct emit *emit, bool value);
void emit_null(struct emit *emit);
/* A value that is JSON already, as it stands. */
void emit_raw(struct emit *emit, struct slice json);
/* 0, or the first failure. */
int emit_result(const struct emit *emit, struct error *err);
