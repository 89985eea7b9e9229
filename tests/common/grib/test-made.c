/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Fields made by an encoder of the tests come back: within the rounding it was asked for, and
 * with the same bits by the direct decoder and by eccodes
 */

#include "test.h"

#include <math.h>

#include "grib/grib.h"
#include "harness/make-grib.h"

enum { NI = 83, NJ = 61 };

static struct made_case {
	const char *name;
	enum make_packing packing;
	int edition;
	int decimal_scale, binary_scale;
	bool missing, constant, lambert;
} cases[] = {
	{"simple", MAKE_SIMPLE, .decimal_scale = 2},
	{"simple with a bitmap", MAKE_SIMPLE, .decimal_scale = 2, .missing = true},
	{"simple, binary scale", MAKE_SIMPLE, .binary_scale = -4},
	{"simple, 32 bits", MAKE_SIMPLE, .decimal_scale = 7},
	{"constant", MAKE_SIMPLE, .decimal_scale = 1, .constant = true},
	{"constant with a bitmap", MAKE_CCSDS, .constant = true, .missing = true},
	{"complex", MAKE_COMPLEX, .decimal_scale = 3},
	{"complex with a bitmap", MAKE_COMPLEX, .decimal_scale = 1, .missing = true},
	{"spatial differences", MAKE_SPATIAL, .decimal_scale = 2, .lambert = true},
	{"spatial differences with a bitmap", MAKE_SPATIAL, .decimal_scale = 2, .missing = true},
	{"PNG of 16 bits", MAKE_PNG, .decimal_scale = 1},
	{"PNG of 24 bits with a bitmap", MAKE_PNG, .decimal_scale = 4, .missing = true},
	{"PNG of 32 bits", MAKE_PNG, .decimal_scale = 6},
	{"CCSDS of 16 bits", MAKE_CCSDS, .decimal_scale = 2, .missing = true},
	{"CCSDS of 32 bits", MAKE_CCSDS, .decimal_scale = 7},
	{"edition 1", MAKE_SIMPLE, 1, .decimal_scale = 2},
	{"edition 1 with a bitmap", MAKE_SIMPLE, 1, .decimal_scale = -1, .missing = true},
	{"edition 1, constant", MAKE_SIMPLE, 1, .constant = true},
};

static void fill(const struct made_case *c, float *values)
{
	for (int j = 0; j < NJ; j++)
		for (int i = 0; i < NI; i++) {
			float *value = &values[j * NI + i];

			*value = c->constant ? 21.5F
					     : 80.0F * sinf((float)i * 0.11F) +
						       55.0F * cosf((float)j * 0.23F);
			if (c->missing && (i * 7 + j * j) % 11 < 3)
				*value = NAN;
		}
}

static void test_made(void **state)
{
	const struct made_case *c = *state;
	struct make_grib spec = {
		.edition = c->edition,
		.level = {.type = 103, .value = 2},
		.year = 2026,
		.month = 1,
		.day = 2,
		.lead_minutes = 360,
		.grid = make_grid_global(NI, NJ),
		.packing = c->packing,
		.decimal_scale = c->decimal_scale,
		.binary_scale = c->binary_scale,
	};
	CLEANUP(buf_done) struct buf message = BUF_INIT(BUF_NO_LIMIT);
	double tolerance = pow(10, -c->decimal_scale) * ldexp(1, c->binary_scale) * 0.5 + 2e-5;
	struct grib_decode_options options = {.mode = GRIB_WMO};
	static double direct[NI * NJ], general[NI * NJ];
	static float values[NI * NJ], narrow[NI * NJ];
	struct error err = ERROR_INIT;

	if (c->lambert) {
		spec.grid = make_grid_hrrr;
		spec.grid.ni = NI;
		spec.grid.nj = NJ;
	}
	fill(c, values);
	assert_ok(make_grib_field(&spec, values, &message, &err), &err);
	assert_false(grib_needs_eccodes(buf_slice(&message), &options));
	assert_ok(grib_decode_direct(buf_slice(&message), &options, direct, NI * NJ, &err), &err);
	assert_ok(grib_decode_general(buf_slice(&message), &options, general, NI * NJ, &err), &err);
	assert_memory_equal(direct, general, sizeof(direct));
	options.type = GRIB_F32;
	assert_ok(grib_decode_direct(buf_slice(&message), &options, narrow, NI * NJ, &err), &err);
	for (int i = 0; i < NI * NJ; i++) {
		float rounded = (float)direct[i];

		assert_memory_equal(&narrow[i], &rounded, sizeof(rounded));
		assert_int_equal(isnan(direct[i]), isnan(values[i]));
		if (!isnan(values[i]) && fabs(direct[i] - values[i]) > tolerance)
			fail_msg("point %d is %.9g, not %.9g", i, direct[i], (double)values[i]);
	}
}

int main(void)
{
	return RUN_CASES(test_made, cases);
}
