/* SPDX-License-Identifier: Apache-2.0 */
#include "base/pool.h"
#include "common/repo/fixture.h"

/*
 * Threads that need one manifest: one loads it.  A budget that holds no manifest at all changes
 * nothing but the number of loads.
 */

#define THREADS 8
#define LOOKUPS 400

struct shared {
	struct checkout *checkout;
	struct node node;
};

static int look_up(void *argument, size_t i, struct error *err)
{
	struct shared *shared = argument;
	CLEANUP(freep) struct chunk *chunk = calloc(1, sizeof(*chunk));
	uint32_t index[] = {(uint32_t)(i * 5 % 8), (uint32_t)(i % 4)};
	int r;

	if (!chunk)
		return error_memory(err);
	r = checkout_locate(shared->checkout, &shared->node, index, chunk, err);
	if (r != 0)
		return r < 0 ? r : error_set(err, ERR_ABSENT, "chunk %zu is absent", i);
	r = chunk->ref.offset == 10 ? 0 : error_set(err, ERR_FORMAT, "another chunk");
	chunk_done(chunk);
	return r;
}

static void fill(struct store *store)
{
	CLEANUP(repo_freep) struct repo *repo = NULL;
	CLEANUP(transaction_freep) struct transaction *transaction = NULL;
	struct error err = ERROR_INIT;

	assert_ok(fixture_create(store, 2, &err), &err);
	repo = fixture_open(store);
	transaction = fixture_begin(repo);
	for (uint32_t i = 0; i < 32; i++)
		assert_ok(fixture_set(transaction, i / 4, i % 4, "x", &err), &err);
	assert_ok(fixture_commit(transaction, REBASE_NO, &err), &err);
}

static uint64_t loads_with(uint64_t budget)
{
	CLEANUP(store_freep) struct store *store = NULL;
	CLEANUP(repo_freep) struct repo *repo = NULL;
	CLEANUP(checkout_freep) struct checkout *checkout = NULL;
	struct repo_options options = {.manifest_budget = budget};
	struct shared shared = {0};
	struct error err = ERROR_INIT;
	struct id12 id;

	assert_ok(store_memory_new(&store, &err), &err);
	fill(store);
	assert_ok(repo_open(store, &options, &repo, &err), &err);
	assert_ok(repo_resolve(repo, &(struct repo_at){0}, &id, &err), &err);
	assert_ok(repo_checkout(repo, &id, &checkout, &err), &err);
	shared.checkout = checkout;
	assert_int_equal(checkout_find(checkout, "/a", &shared.node), 0);
	assert_ok(parallel_for(THREADS, LOOKUPS, look_up, &shared, &err), &err);
	return repo_counters(repo).manifest_loads;
}

static void test_single_flight(void **state)
{
	(void)state;
	assert_int_equal(loads_with(0), 4); /* a manifest for each window of two rows */
}

static void test_no_room(void **state)
{
	(void)state;
	assert_true(loads_with(1) >= 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_single_flight),
		cmocka_unit_test(test_no_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
