/* SPDX-License-Identifier: Apache-2.0 */
#include "common/repo/fixture.h"

/*
 * A store whose clock is more than 600 seconds from ours is refused (formats, 5.3; the limit is the
 * public library's), since others would take the snapshot for newer or older than it is.
 */

struct clock {
	const char *name;
	int64_t ahead; /* seconds that the store's clock is ahead of ours */
	bool is_refused;
};

static struct clock clocks[] = {
	{"equal", 0, false},	  {"a little ahead", 580, false}, {"a little behind", -580, false},
	{"far ahead", 620, true}, {"far behind", -620, true},
};

static const struct store_ops *real_ops;
static struct store_ops shifted_ops;
static int64_t shift; /* microseconds */

static int shifted_head(struct store *store, const char *key, struct store_info *ret_info,
			struct error *err)
{
	int r = real_ops->head(store, key, ret_info, err);

	if (r == 0 && ret_info->last_modified)
		ret_info->last_modified += shift;
	return r;
}

static void test_clock(void **state)
{
	const struct clock *clock = *state;
	CLEANUP(store_freep) struct store *store = NULL;
	CLEANUP(repo_freep) struct repo *repo = NULL;
	CLEANUP(transaction_freep) struct transaction *transaction = NULL;
	struct error err = ERROR_INIT;
	int r;

	assert_ok(store_memory_new(&store, &err), &err);
	assert_ok(fixture_create(store, 2, &err), &err);
	real_ops = store->ops;
	shifted_ops = *real_ops;
	shifted_ops.head = shifted_head;
	shift = clock->ahead * 1000000;
	store->ops = &shifted_ops;
	repo = fixture_open(store);
	transaction = fixture_begin(repo);
	assert_ok(fixture_set(transaction, 0, 0, "x", &err), &err);
	r = fixture_commit(transaction, REBASE_NO, &err);
	assert_int_equal(r, clock->is_refused ? ERR_UNSUPPORTED : 0);
	if (r < 0)
		assert_non_null(strstr(err.text, "the clocks disagree"));
	assert_int_equal(fixture_n_commits(repo), clock->is_refused ? 2 : 3);
}

int main(void)
{
	return RUN_CASES(test_clock, clocks);
}
