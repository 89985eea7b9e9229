/* SPDX-License-Identifier: Apache-2.0 */

/*
 * 10,000 random messages: every direct decoder, with every set of inner loops, gives the bits
 * that eccodes's integers give, in both types and in every order of the points
 */

#include "test.h"

#include "grib/grib.h"
#include "grib/kernels.h"
#include "harness/random-grib.h"

enum { MESSAGES = 10000, ROWS = 50, POINTS_MAX = 3000 };

static struct row {
	const char *name;
	unsigned int first;
} rows[ROWS];

static void decode_each_way(struct slice message, const struct grib_decode_options *options,
			    size_t n, unsigned int seed)
{
	static const char *const sets[] = {"portable", "avx2", "avx512"};
	static double want[POINTS_MAX], have[POINTS_MAX];
	size_t size = n * grib_type_size(options->type);
	struct error err = ERROR_INIT;

	assert_ok(grib_decode_general(message, options, want, n, &err), &err);
	for (size_t i = 0; i < ARRAY_LEN(sets); i++) {
		const struct grib_kernels *kernels = grib_kernels_find(sets[i]);

		if (!kernels)
			continue;
		grib_kernels_choose(kernels);
		memset(have, 0xa5, sizeof(have));
		assert_ok(grib_decode_direct(message, options, have, n, &err), &err);
		if (memcmp(want, have, size) != 0)
			fail_msg("message %u, %s loops", seed, sets[i]);
		grib_kernels_choose(NULL);
	}
}

static void test_direct(void **state)
{
	const struct row *row = *state;

	for (unsigned int i = 0; i < MESSAGES / ROWS; i++) {
		CLEANUP(buf_done) struct buf message = BUF_INIT(BUF_NO_LIMIT);
		unsigned int seed = row->first + i;
		struct grib_decode_options options = {
			.mode = GRIB_WMO,
			.type = seed % 2 ? GRIB_F32 : GRIB_F64,
			.north_up = seed % 3 == 0,
			.adjust_longitude_range = seed % 5 == 0,
		};
		struct error err = ERROR_INIT;
		size_t n;

		assert_ok(random_grib(seed, &message, &n, &err), &err);
		decode_each_way(buf_slice(&message), &options, n, seed);
	}
}

int main(void)
{
	static char names[ROWS][32];

	for (unsigned int i = 0; i < ROWS; i++) {
		snprintf(names[i], sizeof(names[i]), "messages from %u on", i * (MESSAGES / ROWS));
		rows[i] = (struct row){names[i], i * (MESSAGES / ROWS)};
	}
	return RUN_CASES(test_direct, rows);
}
