/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Sidecar indexes.  The first byte chooses the format and whether the file's size is known; what
 * parses must lie within the file and keep its order.
 */

#include "fuzz.h"
#include "writer/index.h"

#define FILE_SIZE 100000

static void check_rows(const struct index_rows *rows, bool is_noaa, bool has_size)
{
	for (size_t i = 0; i < rows->n; i++) {
		const struct index_row *row = &rows->items[i];

		if (has_size && (row->length == 0 || row->offset + row->length > FILE_SIZE))
			abort();
		if (is_noaa && i > 0 && row->offset < rows->items[i - 1].offset)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct index_run run = {.has_reference_time = true, .step = slice_text("6")};
	struct index_rows rows = {0};
	struct index_facts facts;
	struct error err = ERROR_INIT;
	bool is_noaa, has_size;
	int r;

	if (size == 0)
		return 0;
	is_noaa = data[0] & 1;
	has_size = data[0] & 2;
	r = (is_noaa ? noaa_index_parse : ecmwf_index_parse)(
		"fuzz", slice_of(data + 1, size - 1), has_size ? FILE_SIZE : INDEX_SIZE_UNKNOWN,
		&run, &rows, &facts, &err);
	if (r == 0)
		check_rows(&rows, is_noaa, has_size);
	index_rows_done(&rows);
	return 0;
}
