/* SPDX-License-Identifier: Apache-2.0 */
#include "icechunk/txlog.h"

#include "base/text.h"
#include "test.h"

static struct error err;

static const struct id12 id = {{5}};

static struct txlog *open_draft(const struct txlog_draft *draft)
{
	CLEANUP(buf_done) struct buf payload = BUF_INIT(1 << 24);
	struct txlog *log;

	assert_ok(txlog_encode(draft, &payload, &err), &err);
	assert_ok(txlog_open(&payload, &log, &err), &err);
	return log;
}

static void assert_ids(const struct txlog *log, enum txlog_list list, const char *want)
{
	uint32_t n;
	const struct id8 *ids = txlog_ids(log, list, &n);

	assert_int_equal(n, strlen(want));
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(ids[i].bytes[0], want[i]);
}

static void assert_chunks(const struct txlog *log, uint32_t i, const uint32_t *want,
			  uint32_t n_want)
{
	uint32_t n, n_dims;

	(void)txlog_array(log, i, &n);
	assert_int_equal(n, n_want);
	for (uint32_t j = 0; j < n; j++) {
		assert_int_equal(txlog_chunk(log, i, j, &n_dims)[0], want[j]);
		assert_int_equal(n_dims, 1);
	}
}

static struct txlog *older_log(void)
{
	static const struct id8 groups[] = {{"a"}, {"c"}};
	static const struct id8 arrays[] = {{"x"}};
	static const uint32_t coords[] = {1, 3, 5}, other[] = {7};
	static const struct draft_chunks chunks[] = {
		{.node = {"x"}, .n_dims = 1, .n_chunks = 3, .coords = coords},
		{.node = {"y"}, .n_dims = 1, .n_chunks = 1, .coords = other},
	};
	struct txlog_draft draft = {.id = id, .chunks = chunks, .n_chunks = 2};

	draft.lists[TXLOG_NEW_GROUPS].ids = groups;
	draft.lists[TXLOG_NEW_GROUPS].n = 2;
	draft.lists[TXLOG_UPDATED_ARRAYS].ids = arrays;
	draft.lists[TXLOG_UPDATED_ARRAYS].n = 1;
	return open_draft(&draft);
}

static struct txlog *newer_log(void)
{
	static const struct id8 groups[] = {{"b"}, {"c"}};
	static const uint32_t coords[] = {0, 3, 6}, other[] = {8};
	static const struct draft_chunks chunks[] = {
		{.node = {"w"}, .n_dims = 1, .n_chunks = 1, .coords = other},
		{.node = {"x"}, .n_dims = 1, .n_chunks = 3, .coords = coords},
	};
	struct txlog_draft draft = {.id = id, .chunks = chunks, .n_chunks = 2};

	draft.lists[TXLOG_NEW_GROUPS].ids = groups;
	draft.lists[TXLOG_NEW_GROUPS].n = 2;
	return open_draft(&draft);
}

static void test_round_trip(void **state)
{
	static const uint32_t chunks[] = {1, 3, 5}, absent[] = {2};
	CLEANUP(txlog_freep) struct txlog *log = older_log();
	uint32_t i;

	(void)state;
	assert_true(id12_equal(txlog_id(log), &id));
	assert_ids(log, TXLOG_NEW_GROUPS, "ac");
	assert_ids(log, TXLOG_UPDATED_ARRAYS, "x");
	assert_ids(log, TXLOG_DELETED_GROUPS, "");
	assert_true(txlog_has(log, TXLOG_NEW_GROUPS, &(struct id8){"c"}));
	assert_false(txlog_has(log, TXLOG_NEW_GROUPS, &(struct id8){"b"}));
	assert_int_equal(txlog_n_arrays(log), 2);
	assert_int_equal(txlog_find_array(log, &(struct id8){"x"}, &i), 0);
	assert_chunks(log, i, chunks, 3);
	assert_true(txlog_has_chunk(log, i, &chunks[1], 1));
	assert_false(txlog_has_chunk(log, i, absent, 1));
	assert_false(txlog_has_chunk(log, i, NULL, 0));
	assert_int_equal(txlog_find_array(log, &(struct id8){"z"}, &i), SNAPSHOT_ABSENT);
	assert_int_equal(txlog_n_moves(log), 0);
	assert_false(txlog_is_empty(log));
}

static void test_empty(void **state)
{
	struct txlog_draft draft = {.id = id};
	CLEANUP(txlog_freep) struct txlog *log = open_draft(&draft);

	(void)state;
	assert_true(txlog_is_empty(log));
}

/* Scalars have one chunk without coordinates. */
static void test_scalar(void **state)
{
	static const uint32_t nothing;
	static const struct draft_chunks chunks = {
		.node = {"s"}, .n_chunks = 1, .coords = &nothing};
	struct txlog_draft draft = {.id = id, .chunks = &chunks, .n_chunks = 1};
	CLEANUP(txlog_freep) struct txlog *log = open_draft(&draft);

	(void)state;
	assert_true(txlog_has_chunk(log, 0, NULL, 0));
}

/* Sets are united (formats, section 6, "Merge"). */
static void test_merge(void **state)
{
	static const uint32_t x[] = {0, 1, 3, 5, 6}, w[] = {8}, y[] = {7};
	CLEANUP(txlog_freep) struct txlog *older = older_log();
	CLEANUP(txlog_freep) struct txlog *newer = newer_log();
	CLEANUP(txlog_freep) struct txlog *merged = NULL;
	CLEANUP(buf_done) struct buf payload = BUF_INIT(1 << 20);
	struct id12 new_id = {{6}};

	(void)state;
	assert_ok(txlog_merge(&new_id, older, newer, &payload, &err), &err);
	assert_ok(txlog_open(&payload, &merged, &err), &err);
	assert_true(id12_equal(txlog_id(merged), &new_id));
	assert_ids(merged, TXLOG_NEW_GROUPS, "abc");
	assert_ids(merged, TXLOG_UPDATED_ARRAYS, "x");
	assert_int_equal(txlog_n_arrays(merged), 3);
	assert_chunks(merged, 0, w, 1);
	assert_chunks(merged, 1, x, 5);
	assert_chunks(merged, 2, y, 1);
}

static struct txlog *log_of_moves(const struct txlog_move *moves, uint32_t n)
{
	struct txlog_draft draft = {.id = id, .moves = moves, .n_moves = n};

	return open_draft(&draft);
}

/* Moves of one node are composed; where a node is back at its place there is none. */
static void test_merge_of_moves(void **state)
{
	const struct txlog_move first[] = {
		{slice_text("/a"), slice_text("/b"), {"1"}, NODE_GROUP},
		{slice_text("/c"), slice_text("/d"), {"2"}, NODE_ARRAY},
	};
	const struct txlog_move second[] = {
		{slice_text("/b"), slice_text("/a"), {"1"}, NODE_GROUP},
		{slice_text("/x"), slice_text("/e"), {"3"}, NODE_GROUP},
		{slice_text("/d"), slice_text("/f"), {"2"}, NODE_ARRAY},
	};
	CLEANUP(txlog_freep) struct txlog *older = log_of_moves(first, 2);
	CLEANUP(txlog_freep) struct txlog *newer = log_of_moves(second, 3);
	CLEANUP(txlog_freep) struct txlog *merged = NULL;
	CLEANUP(buf_done) struct buf payload = BUF_INIT(1 << 20);
	struct txlog_move move;

	(void)state;
	assert_ok(txlog_merge(&id, older, newer, &payload, &err), &err);
	assert_ok(txlog_open(&payload, &merged, &err), &err);
	assert_int_equal(txlog_n_moves(merged), 2);
	move = txlog_move(merged, 0);
	assert_true(slice_is(move.from, "/x") && slice_is(move.to, "/e"));
	move = txlog_move(merged, 1);
	assert_true(slice_is(move.from, "/c") && slice_is(move.to, "/f"));
	assert_int_equal(move.type, NODE_ARRAY);
	assert_int_equal(move.node.bytes[0], '2');
}

/* The order of the formats (section 3.5): /a < /a/b < /a-b < /ab. */
static void test_order_of_segments(void **state)
{
	static const char *const order[] = {"/", "/a", "/a/b", "/a/b/c", "/a-b", "/ab", "/b"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(order); i++)
		for (size_t j = 0; j < ARRAY_LEN(order); j++) {
			int got = path_compare_segments(slice_text(order[i]), slice_text(order[j]));

			assert_int_equal((got > 0) - (got < 0), (i > j) - (i < j));
		}
}

static void test_refuses_wrong_order(void **state)
{
	static const struct id8 ids[] = {{"b"}, {"a"}};
	CLEANUP(buf_done) struct buf out = BUF_INIT(1 << 20);
	struct txlog_draft draft = {.id = id};

	(void)state;
	draft.lists[TXLOG_NEW_ARRAYS].ids = ids;
	draft.lists[TXLOG_NEW_ARRAYS].n = 2;
	assert_int_equal(txlog_encode(&draft, &out, &err), ERR_ARGUMENT);
	assert_string_equal(err.text, "node ids are not sorted");
}

/* The public library's verifier takes 50 million tables and 2^31 visited bytes. */
static void test_refuses_more_than_readers_take(void **state)
{
	CLEANUP(buf_done) struct buf out = BUF_INIT(1 << 20);
	struct draft_chunks chunks = {.node = {"x"}, .n_dims = 0, .n_chunks = 50000000};
	struct txlog_draft draft = {.id = id, .chunks = &chunks, .n_chunks = 1};

	(void)state;
	assert_int_equal(txlog_encode(&draft, &out, &err), ERR_UNSUPPORTED);
	assert_string_equal(err.text,
			    "50000000 chunks in one transaction log, which readers refuse: "
			    "commit fewer at once");
	chunks.n_dims = 4;
	chunks.n_chunks = 47000000;
	assert_int_equal(txlog_encode(&draft, &out, &err), ERR_UNSUPPORTED);
}

/* Written by somebody else, such a log would hide changes from a search. */
static void test_refuses_to_read_wrong_order(void **state)
{
	static const uint32_t coords[] = {3, 1};
	static const struct draft_chunks chunks = {
		.node = {"x"}, .n_dims = 1, .n_chunks = 2, .coords = coords};
	CLEANUP(buf_done) struct buf payload = BUF_INIT(1 << 20);
	struct txlog_draft draft = {.id = id, .chunks = &chunks, .n_chunks = 1};
	struct txlog *log;

	(void)state;
	assert_ok(txlog_encode(&draft, &payload, &err), &err);
	assert_int_equal(txlog_open(&payload, &log, &err), ERR_FORMAT);
	assert_string_equal(err.text, "chunks of the transaction log are out of order");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_scalar),
		cmocka_unit_test(test_merge),
		cmocka_unit_test(test_merge_of_moves),
		cmocka_unit_test(test_order_of_segments),
		cmocka_unit_test(test_refuses_wrong_order),
		cmocka_unit_test(test_refuses_more_than_readers_take),
		cmocka_unit_test(test_refuses_to_read_wrong_order),
	};

	return cmocka_run_group_tests_name("transaction logs", tests, NULL, NULL);
}
