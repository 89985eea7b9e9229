/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Eight threads decode at once, 10,000 messages each: same bits as one thread alone
 */

#include "test.h"

#include <pthread.h>

#include "grib/grib.h"
#include "harness/random-grib.h"

/*
 * eccodes guards its shared tables with locks of libgomp, which the thread sanitizer does not see:
 * what eccodes calls (malloc, strlen) on them looks unordered.  Its own code is not instrumented.
 */
__attribute__((visibility("default"))) const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void)
{
	return "called_from_lib:libeccodes.so\n";
}

enum { THREADS = 8, DECODES = 10000, MESSAGES = 64, POINTS_MAX = 3000, GENERAL_EVERY = 50 };

static struct sample {
	struct buf message;
	size_t n;
	double *values;
} samples[MESSAGES];

static void *decode_many(void *argument)
{
	unsigned int seed = *(const unsigned int *)argument;
	double values[POINTS_MAX];

	for (unsigned int i = 0; i < DECODES; i++) {
		const struct sample *sample = &samples[(i * 7 + seed) % MESSAGES];
		const struct grib_decode_options options = {.mode = GRIB_WMO};
		struct slice message = buf_slice(&sample->message);
		int r;

		if (i % GENERAL_EVERY == 0)
			r = grib_decode_general(message, &options, values, sample->n, NULL);
		else
			r = grib_decode(message, &options, values, sample->n, NULL);
		if (r < 0 || memcmp(values, sample->values, sample->n * sizeof(double)) != 0)
			return (void *)"failed";
	}
	return NULL;
}

static void test_threads(void **state)
{
	const struct grib_decode_options options = {.mode = GRIB_WMO};
	unsigned int seeds[THREADS];
	pthread_t threads[THREADS];
	struct error err = ERROR_INIT;

	(void)state;
	for (unsigned int i = 0; i < MESSAGES; i++) {
		struct sample *sample = &samples[i];

		sample->message = BUF_INIT(BUF_NO_LIMIT);
		assert_ok(random_grib(i, &sample->message, &sample->n, &err), &err);
		sample->values = calloc(sample->n, sizeof(double));
		assert_non_null(sample->values);
		assert_ok(grib_decode(buf_slice(&sample->message), &options, sample->values,
				      sample->n, &err),
			  &err);
	}
	for (unsigned int i = 0; i < THREADS; i++) {
		seeds[i] = i;
		assert_int_equal(pthread_create(&threads[i], NULL, decode_many, &seeds[i]), 0);
	}
	for (unsigned int i = 0; i < THREADS; i++) {
		void *failed = NULL;

		pthread_join(threads[i], &failed);
		assert_null(failed);
	}
	for (unsigned int i = 0; i < MESSAGES; i++) {
		buf_done(&samples[i].message);
		free(samples[i].values);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_threads)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
