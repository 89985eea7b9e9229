/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the targets of the decoders share: one octet of options, then a message
 *
 * All sets of inner loops must agree with each other, on errors too; whatever the bytes.
 */

#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "grib/grib.h"
#include "grib/kernels.h"

#define GRIB_TARGET_POINTS_MAX 65536

static inline struct grib_decode_options grib_target_options(uint8_t bits)
{
	return (struct grib_decode_options){
		.mode = bits & 1 ? GRIB_WMO : GRIB_GRIBBERISH,
		.type = bits & 2 ? GRIB_F32 : GRIB_F64,
		.north_up = bits & 4,
		.adjust_longitude_range = bits & 8,
		.var = bits & 16   ? GRIB_VAR_LATITUDE
		       : bits & 32 ? GRIB_VAR_LONGITUDE
				   : GRIB_VAR_NONE,
	};
}

static inline void grib_target_decode(struct slice message,
				      const struct grib_decode_options *options)
{
	static const char *const sets[] = {"portable", "avx2", "avx512"};
	struct error first = ERROR_INIT, err = ERROR_INIT;
	uint8_t *want, *have;
	uint64_t n;
	int want_result = 0;
	size_t size;

	if (grib_value_count(message, options, &n, NULL) < 0 || n > GRIB_TARGET_POINTS_MAX)
		return;
	size = (size_t)n * grib_type_size(options->type);
	want = malloc(size ? size : 1);
	have = malloc(size ? size : 1);
	for (size_t i = 0; want && have && i < sizeof(sets) / sizeof(sets[0]); i++) {
		const struct grib_kernels *kernels = grib_kernels_find(sets[i]);
		int r;

		if (!kernels)
			continue;
		grib_kernels_choose(kernels);
		r = grib_decode_direct(message, options, i ? have : want, n, i ? &err : &first);
		if (i == 0)
			want_result = r;
		else if (r != want_result || (r == 0 && memcmp(want, have, size) != 0) ||
			 strcmp(first.text, err.text) != 0)
			abort();
	}
	grib_kernels_choose(NULL);
	free(want);
	free(have);
}
