/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <signal.h>
#include <stdatomic.h>

#include "base/pool.h"

struct order {
	size_t seen[100];
	size_t n;
};

struct step {
	struct order *order;
	size_t i;
};

static void note(void *argument)
{
	struct step *step = argument;

	step->order->seen[step->order->n++] = step->i;
}

static void test_one_thread_keeps_the_order(void **state)
{
	struct order order = {.n = 0};
	struct error err = ERROR_INIT;
	struct step steps[100];
	struct pool *pool;

	(void)state;
	assert_ok(pool_new(1, &pool, &err), &err);
	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		steps[i] = (struct step){&order, i};
		assert_ok(pool_add(pool, note, &steps[i], &err), &err);
	}
	pool_free(pool);
	assert_int_equal(order.n, ARRAY_LEN(steps));
	for (size_t i = 0; i < order.n; i++)
		assert_int_equal(order.seen[i], i);
}

struct tree {
	struct pool *pool;
	atomic_int leaves;
};

struct branch {
	struct tree *tree;
	int depth;
};

/* Adds more work while the pool may already be ending. */
static void grow(void *argument)
{
	CLEANUP(freep) struct branch *branch = argument;

	if (branch->depth == 0) {
		atomic_fetch_add(&branch->tree->leaves, 1);
		return;
	}
	for (int i = 0; i < 2; i++) {
		struct branch *next = malloc(sizeof(*next));

		*next = (struct branch){branch->tree, branch->depth - 1};
		pool_add(branch->tree->pool, grow, next, NULL);
	}
}

static void test_work_may_add_work(void **state)
{
	struct tree tree = {.leaves = 0};
	struct branch *root = malloc(sizeof(*root));
	struct error err = ERROR_INIT;

	(void)state;
	assert_ok(pool_new(4, &tree.pool, &err), &err);
	*root = (struct branch){&tree, 8};
	assert_ok(pool_add(tree.pool, grow, root, &err), &err);
	pool_free(tree.pool);
	assert_int_equal(tree.leaves, 256);
}

static void test_no_thread_is_one(void **state)
{
	struct order order = {.n = 0};
	struct step step = {&order, 3};
	struct error err = ERROR_INIT;
	struct pool *pool;

	(void)state;
	assert_ok(pool_new(0, &pool, &err), &err);
	assert_ok(pool_add(pool, note, &step, &err), &err);
	assert_null(pool_free(pool));
	assert_int_equal(order.n, 1);
	assert_null(pool_free(NULL));
}

static struct loop_case {
	const char *name;
	size_t threads, n;
	size_t fail_from; /* indexes from here on fail */
} loop_cases[] = {
	{"nothing to do", 4, 0, SIZE_MAX},
	{"one thread", 1, 1000, SIZE_MAX},
	{"no thread", 0, 10, SIZE_MAX},
	{"more threads than work", 8, 3, SIZE_MAX},
	{"more threads than can be", 1000, 1000, SIZE_MAX},
	{"first fails", 4, 1000, 0},
	{"all from the middle fail", 4, 1000, 500},
	{"last fails", 4, 1000, 999},
};

struct counts {
	size_t fail_from;
	atomic_int calls[1000];
};

static int count(void *argument, size_t i, struct error *err)
{
	struct counts *counts = argument;

	atomic_fetch_add(&counts->calls[i], 1);
	if (i >= counts->fail_from)
		return error_set(err, ERR_FORMAT, "item %zu", i);
	return 0;
}

static void test_parallel_for(void **state)
{
	const struct loop_case *c = *state;
	bool fails = c->fail_from < c->n;
	static struct counts counts;
	struct error err = ERROR_INIT;
	char want[40];

	memset(&counts, 0, sizeof(counts));
	counts.fail_from = c->fail_from;
	assert_int_equal(parallel_for(c->threads, c->n, count, &counts, &err),
			 fails ? ERR_FORMAT : 0);
	for (size_t i = 0; i < (fails ? c->fail_from : c->n); i++)
		assert_int_equal(counts.calls[i], 1);
	snprintf(want, sizeof(want), "item %zu", c->fail_from);
	assert_string_equal(err.text, fails ? want : "");
}

static int read_mask(void *argument, size_t i, struct error *err)
{
	sigset_t *masks = argument;

	(void)err;
	pthread_sigmask(SIG_BLOCK, NULL, &masks[i]);
	return 0;
}

static void *read_own_mask(void *argument)
{
	read_mask(argument, 0, NULL);
	return NULL;
}

static void test_threads_leave_signals_to_others(void **state)
{
	struct error err = ERROR_INIT;
	pthread_t thread;
	sigset_t mask;

	(void)state;
	assert_ok(thread_start(&thread, read_own_mask, &mask, &err), &err);
	pthread_join(thread, NULL);
	assert_true(sigismember(&mask, SIGTERM) && sigismember(&mask, SIGINT));
	assert_false(sigismember(&mask, SIGSEGV));
	assert_ok(parallel_for(1, 1, read_mask, &mask, &err), &err);
	assert_false(sigismember(&mask, SIGTERM));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_thread_keeps_the_order),
		cmocka_unit_test(test_work_may_add_work),
		cmocka_unit_test(test_no_thread_is_one),
		cmocka_unit_test(test_threads_leave_signals_to_others),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	return failed + RUN_CASES(test_parallel_for, loop_cases);
}
