/* SPDX-License-Identifier: Apache-2.0 */
#include "base/emit.h"

#include <inttypes.h>

#include "base/json.h"

static void put(struct emit *emit, const char *text)
{
	if (emit->err.kind == 0)
		buf_append_text(emit->out, text, &emit->err);
}

static void new_line(struct emit *emit)
{
	if (!emit->indent)
		return;
	put(emit, "\n");
	for (unsigned int i = 0; i < emit->depth; i++)
		put(emit, "  ");
}

/* Comes before each value and each key. */
static void separate(struct emit *emit)
{
	if (!emit->after_key) {
		if (emit->inside)
			put(emit, ",");
		if (emit->depth > 0)
			new_line(emit);
	}
	emit->after_key = false;
	emit->inside = true;
}

static void begin(struct emit *emit, const char *bracket)
{
	separate(emit);
	put(emit, bracket);
	emit->depth++;
	emit->inside = false;
}

static void end(struct emit *emit, const char *bracket)
{
	emit->depth--;
	if (emit->inside)
		new_line(emit);
	put(emit, bracket);
	emit->inside = true;
}

void emit_object(struct emit *emit)
{
	begin(emit, "{");
}

void emit_end_object(struct emit *emit)
{
	end(emit, "}");
}

void emit_array(struct emit *emit)
{
	begin(emit, "[");
}

void emit_end_array(struct emit *emit)
{
	end(emit, "]");
}

void emit_key(struct emit *emit, const char *name)
{
	emit_text(emit, name);
	put(emit, emit->indent ? ": " : ":");
	emit->after_key = true;
}

void emit_text(struct emit *emit, const char *text)
{
	if (text)
		emit_slice(emit, slice_text(text));
	else
		emit_null(emit);
}

void emit_slice(struct emit *emit, struct slice text)
{
	separate(emit);
	if (emit->err.kind == 0)
		json_write_text(emit->out, text, &emit->err);
}

void emit_u64(struct emit *emit, uint64_t value)
{
	separate(emit);
	if (emit->err.kind == 0)
		buf_printf(emit->out, &emit->err, "%" PRIu64, value);
}

void emit_i64(struct emit *emit, int64_t value)
{
	separate(emit);
	if (emit->err.kind == 0)
		buf_printf(emit->out, &emit->err, "%" PRId64, value);
}

void emit_double(struct emit *emit, double value)
{
	separate(emit);
	if (emit->err.kind == 0)
		json_write_double(emit->out, value, &emit->err);
}

void emit_bool(struct emit *emit, bool value)
{
	separate(emit);
	put(emit, value ? "true" : "false");
}

void emit_null(struct emit *emit)
{
	separate(emit);
	put(emit, "null");
}

void emit_raw(struct emit *emit, struct slice json)
{
	separate(emit);
	if (emit->err.kind == 0)
		buf_append_slice(emit->out, json, &emit->err);
}

int emit_result(const struct emit *emit, struct error *err)
{
	if (err && emit->err.kind)
		*err = emit->err;
	return emit->err.kind;
}
