/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Patterns of texts that name source files
 *
 * Text with fields in braces:
 *   {init:%Y%m%d}  reference time; %Y %m %d %H %M %S %j
 *   {type}         text of the file's type
 *   {lead} {lead:03} {lead:03m}  lead time in hours or minutes, padded with zeros
 *   {level}        a level's number
 *   {NAME}         a name of the definition: one text for each label of a dimension
 *   {url}          the file's URL
 *
 * Threads: any may use a pattern that was made.
 */

#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"

/* What holds of a name for append labels in [from, until). */
struct name_era {
	int64_t from, until;
	const char **texts; /* NULL: there is no file of this label */
};

/* One text for each label of a dimension. */
struct pattern_name {
	const char *name;
	uint32_t dim;
	struct name_era *eras; /* in order, covering all time */
	size_t n_eras;
};

enum piece_kind {
	PIECE_TEXT,
	PIECE_INIT,
	PIECE_TYPE,
	PIECE_LEAD,
	PIECE_LEVEL,
	PIECE_NAME,
	PIECE_URL
};

struct piece {
	enum piece_kind kind;
	struct slice text; /* literal; format of a time */
	int width;	   /* of a lead */
	int64_t unit;	   /* of a lead, microseconds */
	const struct pattern_name *name;
};

struct pattern {
	struct piece *pieces;
	size_t n_pieces;
};

/* What the fields of a pattern stand for; a pattern that uses an absent one is our own mistake. */
struct pattern_values {
	int64_t label; /* along the append dimension */
	int64_t init, lead;
	const char *type;
	const double *level;
	const uint32_t *labels; /* place along each dimension of the dataset */
	const char *url;
};

/*
 * Makes a pattern of @text; everything lives in @arena, @names must outlive it.  ERR_FORMAT names
 * the field that cannot be understood.
 */
int pattern_parse(struct slice text, const struct pattern_name *names, size_t n_names,
		  struct arena *arena, struct pattern *ret_pattern, struct error *err);
/* Appends the text.  ERR_ARGUMENT: a lead that is no whole number of units, or negative. */
int pattern_expand(const struct pattern *pattern, const struct pattern_values *values,
		   struct buf *out, struct error *err);
/* Text of a name for files of append label @label and place @place along its dimension, or NULL. */
const char *pattern_name_text(const struct pattern_name *name, int64_t label, uint32_t place);
/* Does the pattern have a field of this kind? */
int pattern_uses(const struct pattern *pattern, enum piece_kind kind);
/* Appends a level as indexes spell it: 1000, 0.01. */
int pattern_level(double level, struct buf *out, struct error *err);
