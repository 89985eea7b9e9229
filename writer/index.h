/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Sidecar indexes of GRIB files: NOAA's .idx and ECMWF's .index
 *
 * An index is a claim about another file: which fields it has and where their messages lie.  Both
 * formats become rows of one shape.  What a row says is not compared with the file here; only the
 * claims that contradict each other, or the file's size, are refused.
 *
 * Rows lend the text, which must outlive them.  Threads: an index belongs to one at a time.
 *
 * Source: docs, "Sidecar indexes"; wgrib2's inventory and ECMWF's open data index.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/vec.h"

#define INDEX_SIZE_UNKNOWN UINT64_MAX
/* Real indexes end near 200 kB; ensembles in one file near 10 MB. */
#define INDEX_FILE_MAX (64U << 20)

/* One field.  Texts are as the index spells them, empty where it says nothing. */
struct index_row {
	uint64_t offset;      /* of the message in the file, bytes */
	uint64_t length;      /* of the message, bytes; 0 if it cannot be known */
	bool is_later_field;  /* not the first field of its message */
	struct slice element; /* NOAA: element; ECMWF: param */
	struct slice level;   /* NOAA: level; ECMWF: levtype */
	struct slice time;    /* NOAA: time; ECMWF: levelist */
	struct slice extra;   /* NOAA: what follows the time, no colon at the end; ECMWF: number */
};

DEFINE_VEC(index_rows, struct index_row);

/* What the rows of a file have to say about their run; empty texts are not compared. */
struct index_run {
	bool has_reference_time;
	int64_t reference_time;				/* microseconds since 1970 */
	struct slice class, stream, type, step, expver; /* ECMWF */
};

/* What is common to all rows. */
struct index_facts {
	uint64_t n_lines;     /* rows in the text, the rows of another run among them */
	uint64_t n_other_run; /* rows left out because they are of another run */
	char other_run[160];  /* what the first of these is: "d=2025073100", "class=od" */
	uint64_t n_later_fields;
};

/*
 * Parses the text of a NOAA .idx.  @name is what messages call it.  @file_size is that of the GRIB
 * file, or INDEX_SIZE_UNKNOWN: the last message then has length 0.  Rows are appended to @rows in
 * the order of the text.
 *
 * ERR_FORMAT: a line that cannot be read, offsets that fall, a message that does not lie within the
 * file, a last line that is cut short, no line at all.
 */
int noaa_index_parse(const char *name, struct slice text, uint64_t file_size,
		     const struct index_run *run, struct index_rows *rows,
		     struct index_facts *ret_facts, struct error *err);

/*
 * Parses the text of an ECMWF .index, one JSON object a line.  Rows are appended in the order of
 * the text; members that are numbers become their text ("500"), with no fraction of zeros.
 *
 * ERR_FORMAT as above; here ranges are explicit and may come in any order, but none overlaps
 * another: two rows with one range name one message.
 */
int ecmwf_index_parse(const char *name, struct slice text, uint64_t file_size,
		      const struct index_run *run, struct index_rows *rows,
		      struct index_facts *ret_facts, struct error *err);
