/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Tables for people: columns as wide as their widest cell
 *
 * Cells are added row by row.  Control characters in them, which may come from outside, are shown
 * as '?'.  Failures stick and table_print() tells them.  Threads: one at a time.
 */

#include "base/buf.h"
#include "base/vec.h"
#include "cli/output.h"

#define TABLE_COLUMNS_MAX 16

DEFINE_VEC(table_cells, size_t);

struct table {
	const char *columns; /* one letter a column: 'l' left, 'r' right */
	struct buf text;
	struct table_cells ends; /* of each cell in the text */
	size_t widths[TABLE_COLUMNS_MAX];
	struct error err;
};

/* For CLEANUP(table_done).  @alignments lives as long as the table; at most TABLE_COLUMNS_MAX. */
#define TABLE_INIT(alignments) ((struct table){.columns = (alignments), .text = {.max = SIZE_MAX}})

void table_done(struct table *table);
void table_cell(struct table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Writes the rows, two blanks between columns and none at the end of a line. */
int table_print(const struct table *table, struct output *out, struct error *err);
