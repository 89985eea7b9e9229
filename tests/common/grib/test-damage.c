/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Mutated real messages through a worker: an error or values each time, in time, and this
 * process lives.  Their packing is JPEG 2000, which only eccodes decodes.  REFMT_TEST_MUTATIONS
 * sets how many.
 */

#include "test.h"

#include <stdlib.h>

#include "base/time.h"
#include "grib/worker.h"

enum { MUTATIONS = 300, MESSAGE_MAX = 200000, LIMIT_SECONDS = 5 };

static uint64_t state = 1;

/* SplitMix64. */
static uint64_t next(void)
{
	uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* Some octets of sections 5 to 7 changed, or the end cut. */
static size_t mutate(uint8_t *bytes, size_t size, size_t from)
{
	unsigned int n = 1 + next() % 8;

	for (unsigned int i = 0; i < n; i++) {
		/* Half of them where the headers of the packed data are. */
		size_t span = next() % 2 && size - from > 400 ? 400 : size - from;

		bytes[from + next() % span] = (uint8_t)next();
	}
	return next() % 8 == 0 ? from + next() % (size - from) : size;
}

static void test_mutations(void **unused)
{
	const char *given = getenv("REFMT_TEST_MUTATIONS");
	long mutations = given && given[0] ? strtol(given, NULL, 10) : MUTATIONS;
	const char *path = test_data("grib/gfswave.t18z.atlocn.0p16.f001.grib2");
	const struct grib_worker_options limits = {.time_limit = LIMIT_SECONDS * TIME_SECOND};
	CLEANUP(grib_workers_freep) struct grib_workers *workers = NULL;
	static uint8_t original[MESSAGE_MAX];
	struct error err = ERROR_INIT;
	int edition;
	uint64_t length;
	FILE *file;

	(void)unused;
	assert_ok(grib_workers_start(&limits, &workers, &err), &err);
	file = fopen(path, "rb");
	assert_non_null(file);
	assert_int_equal(fread(original, 1, MESSAGE_MAX, file), MESSAGE_MAX);
	fclose(file);
	assert_ok(grib_header(slice_of(original, 16), &edition, &length, &err), &err);
	for (long i = 0; i < mutations; i++) {
		const struct grib_decode_options options = {.mode = i % 2 ? GRIB_WMO
									  : GRIB_GRIBBERISH};
		uint8_t *bytes = malloc(length);
		int64_t begin = time_monotonic();
		double *values;
		uint64_t n;
		size_t size;

		memcpy(bytes, original, length);
		/* Sections 0, 1, 3 and 4 are as they were: nothing of them reaches eccodes. */
		size = mutate(bytes, length, 143);
		if (grib_value_count(slice_of(bytes, size), &options, &n, NULL) == 0 &&
		    n < 1000000) {
			values = malloc(n * sizeof(double));
			grib_workers_decode(workers, slice_of(bytes, size), &options, 0, values, n,
					    NULL);
			free(values);
		}
		free(bytes);
		assert_true(time_monotonic() - begin < 2 * LIMIT_SECONDS * TIME_SECOND);
	}
	assert_true(grib_workers_counts(workers).decoded > (uint64_t)mutations / 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_mutations)};

	if (!test_data("grib"))
		test_skip("no real messages, REFMT_TEST_DATA names no folder with them");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
