/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Input of the targets of one packing: an octet of options, columns, rows, scanning mode, values
 * less than points (an octet each), octets 12 and on of section 5, then, if the options say so, a
 * bitmap, then the data
 */

#include "grib-target.h"
#include "harness/make-grib.h"

static inline void grib_packing_decode(unsigned int packing, size_t section_5, const uint8_t *data,
				       size_t size)
{
	struct make_grib spec = {.year = 2026, .month = 1, .day = 1};
	size_t rest = section_5 - 11, points, bitmap = 0;
	struct buf s5 = BUF_INIT(256), message = BUF_INIT(BUF_NO_LIMIT);
	struct grib_decode_options options;
	uint32_t n;

	if (size < 5 + rest)
		return;
	options = grib_target_options(data[0] & 15);
	spec.grid = make_grid_global(data[1] + 1U, data[2] + 1U);
	spec.grid.scan = data[3];
	points = (size_t)spec.grid.ni * spec.grid.nj;
	n = data[4] < points ? (uint32_t)(points - data[4]) : 0;
	make_be(&s5, packing, 2, NULL);
	buf_append(&s5, data + 5, rest, NULL);
	if (data[0] & 64)
		bitmap = (points + 7) / 8;
	if (bitmap > size - 5 - rest)
		bitmap = 0;
	make_grib_around(&spec, n, buf_slice(&s5), slice_of(data + 5 + rest, bitmap),
			 slice_of(data + 5 + rest + bitmap, size - 5 - rest - bitmap), &message,
			 NULL);
	grib_target_decode(buf_slice(&message), &options);
	buf_done(&message);
	buf_done(&s5);
}
