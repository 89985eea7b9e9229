/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/fetch.h"

#include <pthread.h>
#include <unistd.h>

#include "store/drivers.h"
#include "test.h"

#define OBJECT_SIZE 100000

static uint8_t pattern(uint64_t i)
{
	return (uint8_t)(i * 31 + i / 251);
}

/* A store that takes its time, so that fetches are under way together. */
struct slow_store {
	struct store store;
	struct store *inner;
};

static int slow_get(struct store *store, const char *key, uint64_t offset, uint64_t length,
		    const struct store_condition *condition, struct buf *out,
		    struct store_info *ret_info, struct error *err)
{
	usleep(50000);
	return store_get(((struct slow_store *)store)->inner, key, offset, length, condition, out,
			 ret_info, err);
}

static const struct store_ops slow_ops = {.name = "slow", .get = slow_get};

struct fixture {
	struct store *memory, *counter;
	struct slow_store slow;
	struct fetcher *fetcher;
};

static void fixture_init(struct fixture *f, const struct fetch_limits *limits)
{
	static uint8_t bytes[OBJECT_SIZE];
	struct error err = ERROR_INIT;

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = pattern(i);
	assert_ok(store_memory_new(&f->memory, &err), &err);
	assert_ok(store_put(f->memory, "object", slice_of(bytes, sizeof(bytes)), &err), &err);
	assert_ok(store_counter_new(f->memory, &f->counter, &err), &err);
	f->slow = (struct slow_store){{&slow_ops, (char *)"slow:"}, f->counter};
	assert_ok(fetcher_new(limits, &f->fetcher, &err), &err);
}

static void fixture_done(struct fixture *f)
{
	fetcher_free(f->fetcher);
	store_free(f->counter);
	store_free(f->memory);
}

struct job {
	struct fixture *fixture;
	pthread_barrier_t *start;
	uint64_t offset, length;
	int result;
	struct error err;
	bool right;
};

static void *job_run(void *argument)
{
	CLEANUP(buf_done) struct buf out = BUF_INIT(OBJECT_SIZE);
	struct job *job = argument;

	pthread_barrier_wait(job->start);
	job->result = fetcher_get(job->fixture->fetcher, &job->fixture->slow.store, "object",
				  job->offset, job->length, NULL, &out, &job->err);
	job->right = job->result == 0 && out.size == job->length;
	for (uint64_t i = 0; job->right && i < out.size; i++)
		job->right = out.data[i] == pattern(job->offset + i);
	return NULL;
}

/* Runs all jobs at once. */
static void jobs_run(struct fixture *f, struct job *jobs, size_t n)
{
	pthread_barrier_t start;
	pthread_t threads[64];

	pthread_barrier_init(&start, NULL, (unsigned int)n);
	for (size_t i = 0; i < n; i++) {
		jobs[i].fixture = f;
		jobs[i].start = &start;
		assert_int_equal(pthread_create(&threads[i], NULL, job_run, &jobs[i]), 0);
	}
	for (size_t i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&start);
}

static void test_neighbours_become_one_request(void **state)
{
	const struct fetch_limits limits = {.gap = 100, .size = 50000, .wait_us = 200000};
	struct fixture f;
	struct job jobs[16] = {0};

	(void)state;
	fixture_init(&f, &limits);
	for (size_t i = 0; i < ARRAY_LEN(jobs); i++) {
		jobs[i].offset = (ARRAY_LEN(jobs) - 1 - i) * 1000;
		jobs[i].length = 950;
	}
	jobs_run(&f, jobs, ARRAY_LEN(jobs));
	for (size_t i = 0; i < ARRAY_LEN(jobs); i++)
		assert_true(jobs[i].right);
	/* The first to come does not wait and may leave a hole; all others are one or two. */
	assert_in_range(store_counter_get(f.counter).get, 1, 3);
	fixture_done(&f);
}

static void test_gap_and_size_limits_hold(void **state)
{
	const struct fetch_limits limits = {.gap = 10, .size = 2000, .wait_us = 200000};
	struct fixture f;
	struct job jobs[9] = {0};

	(void)state;
	fixture_init(&f, &limits);
	/* Eight ranges in four touching pairs, far from each other; and one to be under way. */
	for (size_t i = 0; i < 8; i++) {
		jobs[i].offset = i / 2 * 10000 + i % 2 * 1000;
		jobs[i].length = 1000;
	}
	jobs[8].offset = 90000;
	jobs[8].length = 1000;
	jobs_run(&f, jobs, ARRAY_LEN(jobs));
	for (size_t i = 0; i < ARRAY_LEN(jobs); i++)
		assert_true(jobs[i].right);
	assert_in_range(store_counter_get(f.counter).get, 5, 6);
	fixture_done(&f);
}

/* A reference beyond the end of the object must not fail its neighbours. */
static void test_one_bad_range_fails_alone(void **state)
{
	const struct fetch_limits limits = {.gap = 100000, .size = 200000, .wait_us = 200000};
	struct fixture f;
	struct job jobs[4] = {
		{.offset = 0, .length = 1000},
		{.offset = 1000, .length = 1000},
		{.offset = OBJECT_SIZE - 10, .length = 20},
		{.offset = 5000, .length = 1000},
	};

	(void)state;
	fixture_init(&f, &limits);
	jobs_run(&f, jobs, ARRAY_LEN(jobs));
	assert_true(jobs[0].right && jobs[1].right && jobs[3].right);
	assert_true(jobs[2].result < 0);
	fixture_done(&f);
}

static void test_damaged_ranges_are_errors(void **state)
{
	CLEANUP(buf_done) struct buf out = BUF_INIT(OBJECT_SIZE);
	const struct fetch_limits limits = {0};
	struct error err = ERROR_INIT;
	struct fixture f;

	(void)state;
	fixture_init(&f, &limits);
	assert_int_equal(fetcher_get(f.fetcher, f.counter, "object", 5, 0, NULL, &out, &err),
			 ERR_FORMAT);
	assert_int_equal(
		fetcher_get(f.fetcher, f.counter, "object", UINT64_MAX, 2, NULL, &out, &err),
		ERR_FORMAT);
	/* Beyond the ceiling of the caller: nothing is asked for. */
	assert_int_equal(
		fetcher_get(f.fetcher, f.counter, "object", 0, UINT64_C(1) << 40, NULL, &out, &err),
		ERR_FORMAT);
	assert_int_equal(fetcher_get(f.fetcher, f.counter, "nothing", 0, 1, NULL, &out, &err),
			 STORE_ABSENT);
	assert_int_equal(store_counter_get(f.counter).get, 1);
	fixture_done(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_neighbours_become_one_request),
		cmocka_unit_test(test_gap_and_size_limits_hold),
		cmocka_unit_test(test_one_bad_range_fails_alone),
		cmocka_unit_test(test_damaged_ranges_are_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
