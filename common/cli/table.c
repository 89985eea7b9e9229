/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/table.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/text.h"

void table_done(struct table *table)
{
	buf_done(&table->text);
	table_cells_done(&table->ends);
}

static size_t column_of(const struct table *table, size_t cell)
{
	return cell % strlen(table->columns);
}

static int add_cell(struct table *table, const char *text)
{
	size_t *widest = &table->widths[column_of(table, table->ends.n)];
	size_t width = text_width(slice_text(text));
	int r;

	r = buf_append_text(&table->text, text, &table->err);
	if (r < 0)
		return r;
	if (width > *widest)
		*widest = width;
	return table_cells_push(&table->ends, table->text.size, &table->err);
}

void table_cell(struct table *table, const char *format, ...)
{
	CLEANUP(freep) char *text = NULL;
	va_list args;
	int n;

	va_start(args, format);
	n = vasprintf(&text, format, args);
	va_end(args);
	if (table->err.kind)
		return;
	if (n < 0) {
		text = NULL;
		error_memory(&table->err);
		return;
	}
	text_sanitize(text);
	add_cell(table, text);
}

/* Blanks wait in @pending until something follows them in the line. */
static void print_cell(const struct table *table, size_t cell, struct output *out, size_t *pending)
{
	size_t start = cell ? table->ends.items[cell - 1] : 0;
	struct slice text =
		slice_sub(buf_slice(&table->text), start, table->ends.items[cell] - start);
	size_t column = column_of(table, cell);
	size_t padding = table->widths[column] - text_width(text);

	if (table->columns[column] == 'r')
		*pending += padding;
	if (text.size) {
		output_printf(out, "%*s%.*s", (int)*pending, "", (int)text.size,
			      (const char *)text.data);
		*pending = 0;
	}
	if (table->columns[column] == 'l')
		*pending += padding;
	*pending += 2;
	if (table->columns[column + 1])
		return;
	output_text(out, "\n");
	*pending = 0;
}

int table_print(const struct table *table, struct output *out, struct error *err)
{
	size_t pending = 0;

	if (table->err.kind) {
		*err = table->err;
		return table->err.kind;
	}
	for (size_t cell = 0; cell < table->ends.n; cell++)
		print_cell(table, cell, out, &pending);
	return 0;
}
