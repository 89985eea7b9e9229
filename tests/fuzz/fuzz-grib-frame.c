/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A file of messages: scanned, described, and its first bytes taken for a message
 */

#include <stdlib.h>

#include "fuzz.h"
#include "grib/grib.h"

static int on_entry(void *context, const struct grib_entry *entry, struct error *err)
{
	const struct slice *whole = context;
	struct buf line = BUF_INIT(4096);

	if (entry->offset > whole->size || entry->length > whole->size - entry->offset)
		abort();
	if (!entry->bad && grib_write_idx_line(entry, &line, err) < 0)
		abort();
	buf_done(&line);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice whole = slice_of(data, size);
	struct grib_source source = grib_source_memory(&whole);
	struct grib_decode_options options = {.mode = size % 2 ? GRIB_WMO : GRIB_GRIBBERISH};
	struct grib_info info;
	uint64_t n;

	grib_scan(&source, on_entry, &whole, NULL);
	grib_inspect(whole, &info, NULL);
	grib_value_count(whole, &options, &n, NULL);
	grib_needs_eccodes(whole, &options);
	return 0;
}
