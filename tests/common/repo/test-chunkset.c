/* SPDX-License-Identifier: Apache-2.0 */
#include "repo/chunkset.h"
#include "repo/location.h"
#include "repo/stringset.h"
#include "test.h"

/* The sorted vector against plain bookkeeping, in the orders that sorting meets. */

#define KEYS 2000

struct order {
	const char *name;
	uint32_t (*key)(uint32_t i, uint32_t n);
	uint32_t n;
	uint32_t find_every; /* lookups in between make runs; 0 = none */
};

static uint32_t rising(uint32_t i, uint32_t n)
{
	(void)n;
	return i % KEYS;
}

static uint32_t falling(uint32_t i, uint32_t n)
{
	return (n - 1 - i) % KEYS;
}

static uint32_t scattered(uint32_t i, uint32_t n)
{
	(void)n;
	return i * 2654435761u >> 7 & 1023;
}

static uint32_t same(uint32_t i, uint32_t n)
{
	(void)n;
	return i % 3;
}

static struct order orders[] = {
	{"rising", rising, 1500, 0},
	{"rising, with lookups", rising, 1500, 7},
	{"falling", falling, 1500, 0},
	{"falling, with lookups", falling, 1500, 11},
	{"scattered", scattered, 20000, 0},
	{"scattered, with lookups", scattered, 20000, 17},
	{"few keys", same, 9000, 0},
	{"few keys, with lookups", same, 9000, 100},
	{"one", rising, 1, 0},
};

static void check_find(struct chunkset *set, const uint32_t *newest, uint32_t key)
{
	uint32_t index[] = {key % 7, key};
	struct change *change = NULL;
	struct error err = ERROR_INIT;

	assert_ok(chunkset_find(set, key % 5, index, &change, &err), &err);
	if (newest[key] == 0)
		assert_null(change);
	else
		assert_int_equal(change->length, newest[key]);
}

static void test_order(void **state)
{
	const struct order *order = *state;
	static uint32_t newest[KEYS];
	struct error err = ERROR_INIT;
	struct chunkset set;
	size_t want = 0;

	memset(newest, 0, sizeof(newest));
	chunkset_init(&set, 2);
	for (uint32_t i = 0; i < order->n; i++) {
		uint32_t key = order->key(i, order->n), index[] = {key % 7, key};
		struct change *change;

		assert_ok(chunkset_add(&set, key % 5, index, CHANGE_VIRTUAL, &change, &err), &err);
		change->length = newest[key] = i + 1;
		if (order->find_every && i % order->find_every == 0)
			check_find(&set, newest, i % KEYS);
	}
	for (uint32_t key = 0; key < KEYS; key++)
		want += newest[key] != 0;
	assert_ok(chunkset_settle(&set, &err), &err);
	assert_int_equal(set.n, want);
	for (size_t i = 1; i < set.n; i++) {
		const struct change *a = chunkset_at(&set, i - 1), *b = chunkset_at(&set, i);

		assert_true(a->window < b->window ||
			    (a->window == b->window &&
			     (a->index[0] < b->index[0] ||
			      (a->index[0] == b->index[0] && a->index[1] < b->index[1]))));
		assert_int_equal(b->length, newest[b->index[1]]);
	}
	for (uint32_t key = 0; key < KEYS; key++)
		check_find(&set, newest, key);
	chunkset_done(&set);
}

static struct cover {
	const char *name;
	const char *prefix, *text;
	bool want;
} covers[] = {
	{"below", "s3://b/data/", "s3://b/data/x", true},
	{"without the last slash", "s3://b/data", "s3://b/data/x", true},
	{"itself", "s3://b/data/", "s3://b/data", true},
	{"not at a boundary", "s3://b/data", "s3://b/database", false},
	{"a parent", "s3://b/", "s3://b/data/x", true},
	{"another bucket", "s3://b/", "s3://bc/x", false},
	{"scheme in another case", "S3://b/", "s3://b/x", true},
	{"every file", "file:///", "file:///x/y", true},
	{"a file", "file:///srv/v/", "file:///srv/v/a b", true},
	{"a neighbour file", "file:///srv/v/", "file:///srv/vv/a", false},
	{"shorter than the prefix", "s3://b/data/", "s3://b/da", false},
};

static void test_cover(void **state)
{
	const struct cover *cover = *state;

	assert_int_equal(location_covers(slice_text(cover->prefix), slice_text(cover->text)),
			 cover->want);
}

static struct stored {
	const char *name;
	const char *text;
	const char *want; /* NULL: refused */
} stored[] = {
	{"scheme in lower case", "S3://Bucket/A%20b#c?d", "s3://Bucket/A%20b#c?d"},
	{"blanks stay", "file:///srv/a b", "file:///srv/a b"},
	{"no scheme", "/srv/a", NULL},
	{"no bucket", "s3:///key", NULL},
	{"a file above", "file:///srv/../etc", NULL},
	{"a relative file", "file://host/x", NULL},
	{"dots are names in a bucket", "s3://b/a/../c", "s3://b/a/../c"},
};

static void test_stored(void **state)
{
	const struct stored *row = *state;
	CLEANUP(buf_done) struct buf out = BUF_INIT(256);
	struct error err = ERROR_INIT;
	int r = location_store(slice_text(row->text), &out, &err);

	assert_int_equal(r, row->want ? 0 : ERR_ARGUMENT);
	if (row->want)
		assert_true(slice_is(buf_slice(&out), row->want));
}

static void test_strings(void **state)
{
	struct strings strings = STRINGS_INIT;
	struct error err = ERROR_INIT;
	uint32_t number;
	char text[32];

	(void)state;
	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < 5000; i++) {
			snprintf(text, sizeof(text), "location %u", i);
			assert_ok(strings_add(&strings, slice_text(text), &number, &err), &err);
			assert_int_equal(number, i + 1);
			assert_true(slice_is(strings_get(&strings, number), text));
		}
	}
	assert_int_equal(strings.n, 5000);
	assert_ok(strings_add(&strings, (struct slice){0}, &number, &err), &err);
	assert_int_equal(number, 0);
	strings_done(&strings);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_strings)};

	return RUN_CASES(test_order, orders) + RUN_CASES(test_cover, covers) +
	       RUN_CASES(test_stored, stored) + cmocka_run_group_tests(tests, NULL, NULL);
}
