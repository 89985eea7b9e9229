/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/pool.h"
#include "base/text.h"
#include "base/time.h"
#include "suite.h"

extern char **environ;

enum {
	RACERS = 8,
	RACE_KEYS = 10,
	RACE_STEPS = 10,
	MANY = 10001, /* one more than ten pages of 1000 */
	BIG = 20 * 1024 * 1024 + 17,
};

static struct store_suite *suite;

static void put_text(const char *key, const char *text)
{
	struct error err = ERROR_INIT;

	assert_ok(store_put(suite->store, key, slice_text(text), &err), &err);
}

static void assert_content(const char *key, struct slice want)
{
	CLEANUP(buf_done) struct buf got = BUF_INIT(BUF_NO_LIMIT);
	struct error err = ERROR_INIT;

	assert_ok(store_get_all(suite->store, key, &got, NULL, &err), &err);
	assert_int_equal(got.size, want.size);
	if (want.size)
		assert_memory_equal(got.data, want.data, want.size);
}

static void assert_text(const char *key, const char *want)
{
	assert_content(key, slice_text(want));
}

static void assert_absent(const char *key)
{
	CLEANUP(buf_done) struct buf got = BUF_INIT(BUF_NO_LIMIT);
	struct error err = ERROR_INIT;
	struct store_info info;

	assert_int_equal(store_get_all(suite->store, key, &got, NULL, &err), STORE_ABSENT);
	assert_int_equal(store_head(suite->store, key, &info, &err), STORE_ABSENT);
	assert_int_equal(got.size, 0);
}

static struct version version_of(const char *key)
{
	CLEANUP(buf_done) struct buf got = BUF_INIT(BUF_NO_LIMIT);
	struct error err = ERROR_INIT;
	struct store_info info = {0};

	assert_ok(store_get_all(suite->store, key, &got, &info, &err), &err);
	assert_true(info.version.text[0]);
	return info.version;
}

static void test_what_was_put_is_there(void **state)
{
	struct error err = ERROR_INIT;
	struct store_info info = {0};

	(void)state;
	assert_absent("plain/a");
	put_text("plain/a", "first");
	assert_text("plain/a", "first");
	put_text("plain/a", "the second is longer");
	assert_text("plain/a", "the second is longer");
	assert_ok(store_head(suite->store, "plain/a", &info, &err), &err);
	assert_int_equal(info.size, 20);
	/* The clocks of test servers run on the same machine. */
	assert_true(llabs(info.last_modified - time_now()) < TIME_HOUR);
	assert_absent("plain");
	assert_absent("plain/a/b");
}

static void test_empty_objects_are_objects(void **state)
{
	struct error err = ERROR_INIT;
	struct store_info info = {.size = 1};

	(void)state;
	put_text("empty", "");
	assert_text("empty", "");
	assert_ok(store_head(suite->store, "empty", &info, &err), &err);
	assert_int_equal(info.size, 0);
}

static struct range_case {
	const char *name;
	uint64_t offset, length;
	const char *want; /* NULL: ERR_FORMAT */
} range_cases[] = {
	{"first byte", 0, 1, "0"},
	{"middle", 3, 4, "3456"},
	{"last byte", 9, 1, "9"},
	{"all", 0, 10, "0123456789"},
	{"to the end", 4, STORE_TO_END, "456789"},
	{"one too many", 0, 11, NULL},
	{"begins at the end", 10, 1, NULL},
	{"beyond the end", 100, 5, NULL},
	{"sum overflows", UINT64_MAX - 1, 5, NULL},
};

static void test_ranges(void **state)
{
	(void)state;
	put_text("range", "0123456789");
	for (size_t i = 0; i < ARRAY_LEN(range_cases); i++) {
		const struct range_case *c = &range_cases[i];
		CLEANUP(buf_done) struct buf got = BUF_INIT(BUF_NO_LIMIT);
		struct error err = ERROR_INIT;
		int r;

		assert_ok(buf_append_text(&got, "kept", &err), &err);
		r = store_get(suite->store, "range", c->offset, c->length, NULL, &got, NULL, &err);
		if (!c->want) {
			if (r != ERR_FORMAT)
				fail_msg("%s: result %d, error: %s", c->name, r, err.text);
			assert_int_equal(got.size, 4);
			continue;
		}
		if (r != 0 || got.size != 4 + strlen(c->want) ||
		    memcmp(got.data + 4, c->want, strlen(c->want)) != 0)
			fail_msg("%s: result %d, %zu bytes, error: %s", c->name, r, got.size,
				 err.text);
	}
	{
		CLEANUP(buf_done) struct buf got = BUF_INIT(BUF_NO_LIMIT);
		struct error err = ERROR_INIT;

		assert_int_equal(store_get(suite->store, "no-range", 2, 3, NULL, &got, NULL, &err),
				 STORE_ABSENT);
	}
}

static void test_ceiling_of_the_buffer_holds(void **state)
{
	CLEANUP(buf_done) struct buf got = BUF_INIT(4);
	struct error err = ERROR_INIT;

	(void)state;
	put_text("ceiling", "0123456789");
	assert_true(store_get_all(suite->store, "ceiling", &got, NULL, &err) < 0);
	assert_int_equal(got.size, 0);
}

static void test_recorded_validators(void **state)
{
	CLEANUP(buf_done) struct buf got = BUF_INIT(BUF_NO_LIMIT);
	struct store_condition condition = {0};
	struct error err = ERROR_INIT;
	struct store_info info = {0};

	(void)state;
	put_text("validated", "content");
	assert_ok(store_head(suite->store, "validated", &info, &err), &err);
	condition.not_modified_after = info.last_modified / TIME_SECOND;
	assert_ok(store_get(suite->store, "validated", 0, 3, &condition, &got, NULL, &err), &err);
	condition.not_modified_after -= 10;
	assert_int_equal(store_get(suite->store, "validated", 0, 3, &condition, &got, NULL, &err),
			 ERR_CHANGED);
	condition = (struct store_condition){.etag = "\"another\""};
	assert_int_equal(store_get(suite->store, "validated", 0, 3, &condition, &got, NULL, &err),
			 ERR_CHANGED);
	assert_int_equal(got.size, 3);
}

static void test_create_only(void **state)
{
	struct error err = ERROR_INIT;
	struct version version = {0};

	(void)state;
	assert_ok(store_replace(suite->store, "create", NULL, slice_text("one"), &version, &err),
		  &err);
	assert_string_equal(version.text, version_of("create").text);
	assert_int_equal(store_replace(suite->store, "create", NULL, slice_text("two"), NULL, &err),
			 STORE_CHANGED);
	assert_int_equal(store_replace(suite->store, "create", NULL, slice_text("one"), NULL, &err),
			 STORE_CHANGED);
	assert_text("create", "one");
}

static void test_replace_only_what_was_read(void **state)
{
	struct error err = ERROR_INIT;
	struct version first, second = {0}, third = {0};

	(void)state;
	put_text("replace", "one");
	first = version_of("replace");
	assert_ok(store_replace(suite->store, "replace", &first, slice_text("two"), &second, &err),
		  &err);
	assert_text("replace", "two");
	assert_string_equal(second.text, version_of("replace").text);
	assert_int_equal(
		store_replace(suite->store, "replace", &first, slice_text("no"), NULL, &err),
		STORE_CHANGED);
	assert_text("replace", "two");
	assert_ok(
		store_replace(suite->store, "replace", &second, slice_text("three"), &third, &err),
		&err);
	assert_ok(store_remove(suite->store, "replace", &err), &err);
	assert_int_equal(
		store_replace(suite->store, "replace", &third, slice_text("no"), NULL, &err),
		STORE_CHANGED);
	assert_absent("replace");
}

static void test_copy_only_what_was_read(void **state)
{
	struct error err = ERROR_INIT;
	struct version first, wrong;

	(void)state;
	put_text("copy/from", "one");
	first = version_of("copy/from");
	assert_ok(store_copy(suite->store, "copy/from", &first, "copy/to it", &err), &err);
	assert_text("copy/to it", "one");
	put_text("copy/from", "two!");
	wrong = first;
	assert_int_equal(store_copy(suite->store, "copy/from", &wrong, "copy/other", &err),
			 STORE_CHANGED);
	assert_absent("copy/other");
	assert_text("copy/to it", "one");
	assert_int_equal(store_copy(suite->store, "copy/none", &wrong, "copy/other", &err),
			 STORE_ABSENT);
}

static void test_remove(void **state)
{
	struct error err = ERROR_INIT;

	(void)state;
	put_text("remove/a", "x");
	assert_ok(store_remove(suite->store, "remove/a", &err), &err);
	assert_absent("remove/a");
	assert_ok(store_remove(suite->store, "remove/a", &err), &err);
	assert_ok(store_remove(suite->store, "remove/never/was", &err), &err);
}

static void test_remove_many(void **state)
{
	static const char *const keys[] = {"batch/a", "batch/b & <c>", "batch/never",
					   "batch/d\"'+%"};
	struct error err = ERROR_INIT;

	(void)state;
	put_text(keys[0], "1");
	put_text(keys[1], "2");
	put_text(keys[3], "3");
	put_text("batch/kept", "4");
	assert_ok(store_remove_many(suite->store, keys, ARRAY_LEN(keys), &err), &err);
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		assert_absent(keys[i]);
	assert_text("batch/kept", "4");
}

/* Names that some client or server somewhere decodes, normalises or cuts. */
static const char *const odd_keys[] = {
	"odd/a b",
	"odd/a%20b",
	"odd/a+b",
	"odd/c",
	"odd/c#1",
	"odd/q",
	"odd/q?x=1&y",
	"odd/quote'\"`",
	"odd/percent%",
	"odd/%2e%2e",
	"odd/semi;colon,comma=equals@at",
	"odd/(round)[square]{curly}<angle>",
	"odd/dollar$star*bang!tilde~caret^pipe|",
	"odd/gr\xc3\xbc\xc3\x9f-\xe6\x97\xa5\xe6\x9c\xac-\xf0\x9f\xa7\x8a",
	"odd/.hidden",
	"odd/trailing.",
	"odd/UPPER",
	"odd/upper",
	"odd/back\\slash",
	"odd/colon:colon",
	"odd/...",
	"odd/branch.a%2Fb/ref.json",
};

struct listing {
	char **keys;
	size_t n;
	size_t prefixes;
};

static int listing_add(void *argument, const struct store_entry *entry, struct error *err)
{
	struct listing *listing = argument;

	listing->keys = realloc(listing->keys, (listing->n + 1) * sizeof(char *));
	listing->keys[listing->n] = text_dup(entry->key, err);
	listing->n++;
	listing->prefixes += entry->is_prefix;
	return 0;
}

static void listing_done(struct listing *listing)
{
	for (size_t i = 0; i < listing->n; i++)
		free(listing->keys[i]);
	free(listing->keys);
}

static size_t listing_count(const struct listing *listing, const char *key)
{
	size_t n = 0;

	for (size_t i = 0; i < listing->n; i++)
		n += strcmp(listing->keys[i], key) == 0;
	return n;
}

/* Azure takes a backslash for a slash; the driver must refuse it. */
static bool name_is_possible(const char *key)
{
	return strcmp(suite->store->ops->name, "azure") != 0 || !strchr(key, '\\');
}

static void test_odd_names_are_names(void **state)
{
	CLEANUP(listing_done) struct listing listing = {0};
	struct error err = ERROR_INIT;
	size_t n = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(odd_keys); i++) {
		if (!name_is_possible(odd_keys[i]))
			assert_int_equal(
				store_put(suite->store, odd_keys[i], slice_text("x"), &err),
				ERR_ARGUMENT);
		else
			put_text(odd_keys[i], odd_keys[i]), n++;
	}
	for (size_t i = 0; i < ARRAY_LEN(odd_keys); i++)
		if (name_is_possible(odd_keys[i]))
			assert_text(odd_keys[i], odd_keys[i]);
	assert_ok(store_list(suite->store, "odd/", false, listing_add, &listing, &err), &err);
	for (size_t i = 0; i < ARRAY_LEN(odd_keys); i++)
		if (name_is_possible(odd_keys[i]) && listing_count(&listing, odd_keys[i]) != 1)
			fail_msg("'%s' is not listed once", odd_keys[i]);
	assert_int_equal(listing.n, n);
	for (size_t i = 0; i < ARRAY_LEN(odd_keys); i++) {
		if (!name_is_possible(odd_keys[i]))
			continue;
		assert_ok(store_remove(suite->store, odd_keys[i], &err), &err);
		assert_absent(odd_keys[i]);
	}
}

static void test_names_that_are_no_file_names(void **state)
{
	CLEANUP(buf_done) struct buf got = BUF_INIT(BUF_NO_LIMIT);
	struct error err = ERROR_INIT;

	(void)state;
	if (!suite->plain_names)
		return;
	put_text("nested/a", "x");
	assert_int_equal(store_get_all(suite->store, "nested//a", &got, NULL, &err), ERR_ARGUMENT);
	assert_int_equal(store_get_all(suite->store, "nested/../nested/a", &got, NULL, &err),
			 ERR_DENIED);
	assert_int_equal(store_put(suite->store, "nested/a/", slice_text("x"), &err), ERR_ARGUMENT);
	assert_int_equal(store_remove(suite->store, "../x", &err), ERR_DENIED);
}

static void test_list_and_delimiter(void **state)
{
	CLEANUP(listing_done) struct listing all = {0};
	CLEANUP(listing_done) struct listing level = {0};
	CLEANUP(listing_done) struct listing part = {0};
	CLEANUP(listing_done) struct listing none = {0};
	struct error err = ERROR_INIT;

	(void)state;
	put_text("list/a", "1");
	put_text("list/b/c", "2");
	put_text("list/b/d/e", "3");
	put_text("list/bb", "4");
	put_text("list2", "5");
	assert_ok(store_list(suite->store, "list/", false, listing_add, &all, &err), &err);
	assert_int_equal(all.n, 4);
	assert_int_equal(listing_count(&all, "list/b/d/e"), 1);
	assert_ok(store_list(suite->store, "list/", true, listing_add, &level, &err), &err);
	assert_int_equal(level.n, 3);
	assert_int_equal(level.prefixes, 1);
	assert_int_equal(listing_count(&level, "list/b/"), 1);
	assert_ok(store_list(suite->store, "list/b", true, listing_add, &part, &err), &err);
	assert_int_equal(part.n, 2);
	assert_ok(store_list(suite->store, "nothing/here", false, listing_add, &none, &err), &err);
	assert_int_equal(none.n, 0);
	assert_ok(store_remove(suite->store, "list/b/c", &err), &err);
	assert_ok(store_remove(suite->store, "list/b/d/e", &err), &err);
	listing_done(&level);
	level = (struct listing){0};
	assert_ok(store_list(suite->store, "list/", true, listing_add, &level, &err), &err);
	assert_int_equal(level.prefixes, 0);
}

static int list_stop(void *argument, const struct store_entry *entry, struct error *err)
{
	(void)entry;
	++*(int *)argument;
	return error_set(err, ERR_INTERRUPTED, "enough");
}

static void test_callback_ends_the_listing(void **state)
{
	struct error err = ERROR_INIT;
	int calls = 0;

	(void)state;
	put_text("stop/a", "1");
	put_text("stop/b", "1");
	assert_int_equal(store_list(suite->store, "stop/", false, list_stop, &calls, &err),
			 ERR_INTERRUPTED);
	assert_int_equal(calls, 1);
}

static int put_one_of_many(void *argument, size_t i, struct error *err)
{
	char key[32];

	(void)argument;
	snprintf(key, sizeof(key), "many/%05zu", i);
	return store_put(suite->store, key, slice_of(key, i % 7), err);
}

static int remove_one_of_many(void *argument, size_t i, struct error *err)
{
	char key[32];

	(void)argument;
	snprintf(key, sizeof(key), "many/%05zu", i);
	return store_remove(suite->store, key, err);
}

static int seen_one_of_many(void *argument, const struct store_entry *entry, struct error *err)
{
	uint8_t *seen = argument;
	unsigned int i;

	if (sscanf(entry->key, "many/%5u", &i) != 1 || i >= MANY)
		return error_set(err, ERR_FORMAT, "listed '%s'", entry->key);
	if (entry->info.size != i % 7)
		return error_set(err, ERR_FORMAT, "'%s' has the wrong size", entry->key);
	seen[i]++;
	return 0;
}

static void test_list_of_many_keys(void **state)
{
	static uint8_t seen[MANY];
	size_t n = suite->options.page ? 10 * suite->options.page + 1 : MANY;
	struct error err = ERROR_INIT;

	(void)state;
	assert_ok(parallel_for(16, n, put_one_of_many, NULL, &err), &err);
	assert_ok(store_list(suite->store, "many/", false, seen_one_of_many, seen, &err), &err);
	for (size_t i = 0; i < MANY; i++)
		assert_int_equal(seen[i], i < n);
	assert_ok(parallel_for(16, n, remove_one_of_many, NULL, &err), &err);
}

/* Large enough that object stores take it in parts. */
static void test_big_object(void **state)
{
	CLEANUP(freep) uint8_t *bytes = malloc(BIG);
	CLEANUP(buf_done) struct buf got = BUF_INIT(BIG);
	struct error err = ERROR_INIT;
	struct version version = {0};

	(void)state;
	assert_non_null(bytes);
	for (size_t i = 0; i < BIG; i++)
		bytes[i] = (uint8_t)(i * 2654435761u >> 13);
	assert_ok(store_put(suite->store, "big", slice_of(bytes, BIG), &err), &err);
	assert_content("big", slice_of(bytes, BIG));
	assert_ok(store_get(suite->store, "big", BIG - 1000, 1000, NULL, &got, NULL, &err), &err);
	assert_memory_equal(got.data, bytes + BIG - 1000, 1000);
	version = version_of("big");
	bytes[0] ^= 1;
	assert_ok(
		store_replace(suite->store, "big", &version, slice_of(bytes, BIG), &version, &err),
		&err);
	assert_content("big", slice_of(bytes, BIG));
	assert_string_equal(version.text, version_of("big").text);
	assert_int_equal(store_replace(suite->store, "big", NULL, slice_of(bytes, BIG), NULL, &err),
			 STORE_CHANGED);
	assert_ok(store_remove(suite->store, "big", &err), &err);
}

/* One racer: tries to create each key, then counts up; prints nothing, its results are objects. */
static int race(struct store *store, unsigned int racer, struct error *err)
{
	char key[64], text[32];
	int r;

	for (unsigned int i = 0; i < RACE_KEYS; i++) {
		snprintf(key, sizeof(key), "race/create-%u", i);
		snprintf(text, sizeof(text), "%u", racer);
		r = store_replace(store, key, NULL, slice_text(text), NULL, err);
		if (r < 0)
			return r;
		if (r == STORE_CHANGED)
			continue;
		snprintf(key, sizeof(key), "race/won-%u-by-%u", i, racer);
		r = store_put(store, key, slice_text(""), err);
		if (r < 0)
			return r;
	}
	for (unsigned int done = 0; done < RACE_STEPS;) {
		CLEANUP(buf_done) struct buf got = BUF_INIT(100);
		struct store_info info;

		r = store_get_all(store, "race/counter", &got, &info, err);
		if (r != 0)
			return r;
		snprintf(text, sizeof(text), "%d", atoi(buf_text(&got, err)) + 1);
		r = store_replace(store, "race/counter", &info.version, slice_text(text), NULL,
				  err);
		if (r < 0)
			return r;
		done += r == 0;
	}
	return 0;
}

static int race_thread(void *argument, size_t i, struct error *err)
{
	(void)argument;
	return race(suite->store, (unsigned int)i, err);
}

bool store_suite_child(int argc, char **argv, const struct store_options *options, int *ret_status)
{
	CLEANUP(store_freep) struct store *store = NULL;
	struct error err = ERROR_INIT;
	int r;

	if (argc != 4 || strcmp(argv[1], "--racer") != 0)
		return false;
	r = store_open(argv[3], options, &store, &err);
	if (r == 0)
		r = race(store, (unsigned int)atoi(argv[2]), &err);
	if (r != 0)
		fprintf(stderr, "racer %s: result %d, %s\n", argv[2], r, err.text);
	*ret_status = r != 0;
	return true;
}

static void race_processes(void)
{
	pid_t racers[RACERS];

	for (unsigned int i = 0; i < RACERS; i++) {
		char number[16];
		char program[] = "/proc/self/exe", option[] = "--racer";
		char *url = strdup(suite->url);
		char *argv[] = {program, option, number, url, NULL};

		snprintf(number, sizeof(number), "%u", i);
		assert_int_equal(posix_spawn(&racers[i], program, NULL, NULL, argv, environ), 0);
		free(url);
	}
	for (unsigned int i = 0; i < RACERS; i++) {
		int status = -1;

		assert_int_equal(waitpid(racers[i], &status, 0), racers[i]);
		assert_int_equal(status, 0);
	}
}

static void test_one_winner_of_every_race(void **state)
{
	CLEANUP(listing_done) struct listing won = {0};
	struct error err = ERROR_INIT;
	char key[64];

	(void)state;
	put_text("race/counter", "0");
	if (suite->url)
		race_processes();
	else
		assert_ok(parallel_for(RACERS, RACERS, race_thread, NULL, &err), &err);
	snprintf(key, sizeof(key), "%d", RACERS * RACE_STEPS);
	assert_text("race/counter", key);
	assert_ok(store_list(suite->store, "race/won-", false, listing_add, &won, &err), &err);
	assert_int_equal(won.n, RACE_KEYS);
	for (size_t i = 0; i < won.n; i++) {
		CLEANUP(buf_done) struct buf got = BUF_INIT(100);
		unsigned int i_key, racer;

		assert_int_equal(sscanf(won.keys[i], "race/won-%u-by-%u", &i_key, &racer), 2);
		snprintf(key, sizeof(key), "race/create-%u", i_key);
		assert_ok(store_get_all(suite->store, key, &got, NULL, &err), &err);
		assert_int_equal(atoi(buf_text(&got, &err)), racer);
	}
}

static void test_read_only_refuses_writes(void **state)
{
	struct error err = ERROR_INIT;

	(void)state;
	put_text("kept", "x");
	suite->store->read_only = true;
	assert_int_equal(store_put(suite->store, "kept", slice_text("y"), &err), ERR_READ_ONLY);
	assert_int_equal(store_replace(suite->store, "new", NULL, slice_text("y"), NULL, &err),
			 ERR_READ_ONLY);
	assert_int_equal(store_remove(suite->store, "kept", &err), ERR_READ_ONLY);
	assert_int_equal(store_copy(suite->store, "kept", NULL, "new", &err), ERR_READ_ONLY);
	assert_false(store_is_writable(suite->store));
	suite->store->read_only = false;
	assert_text("kept", "x");
}

int store_suite_run(struct store_suite *under_test)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_was_put_is_there),
		cmocka_unit_test(test_empty_objects_are_objects),
		cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_ceiling_of_the_buffer_holds),
		cmocka_unit_test(test_recorded_validators),
		cmocka_unit_test(test_create_only),
		cmocka_unit_test(test_replace_only_what_was_read),
		cmocka_unit_test(test_copy_only_what_was_read),
		cmocka_unit_test(test_remove),
		cmocka_unit_test(test_remove_many),
		cmocka_unit_test(test_odd_names_are_names),
		cmocka_unit_test(test_names_that_are_no_file_names),
		cmocka_unit_test(test_list_and_delimiter),
		cmocka_unit_test(test_callback_ends_the_listing),
		cmocka_unit_test(test_list_of_many_keys),
		cmocka_unit_test(test_big_object),
		cmocka_unit_test(test_one_winner_of_every_race),
		cmocka_unit_test(test_read_only_refuses_writes),
	};

	suite = under_test;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
