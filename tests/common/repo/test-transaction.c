/* SPDX-License-Identifier: Apache-2.0 */
#include "common/repo/fixture.h"
#include "repo/maintain.h"

/* What transactions promise, each on a repository in memory of either specification. */

struct setting {
	const char *name;
	void (*run)(struct store *store, int spec);
};

static int put(struct transaction *transaction, uint32_t i, uint32_t j, const char *bytes,
	       struct error *err)
{
	uint32_t index[] = {i, j};

	return transaction_put_chunk(transaction, "/a", index, 2, slice_text(bytes), err);
}

static int resize(struct transaction *transaction, uint64_t n, uint64_t m, struct error *err)
{
	uint64_t shape[] = {n, m};

	return transaction_resize(transaction, "/a", shape, 2, err);
}

static bool is_there(struct repo *repo, uint32_t i, uint32_t j)
{
	CLEANUP(transaction_freep) struct transaction *transaction = fixture_begin(repo);
	uint32_t index[] = {i, j};
	struct error err = ERROR_INIT;
	int r = transaction_has_chunk(transaction, "/a", index, 2, &err);

	assert_true(r >= 0);
	return r == 0;
}

/* Field case 6: what a shrinking array cuts off stays gone, in one commit as in three. */
static void run_shrink_and_grow(struct store *store, int spec)
{
	CLEANUP(repo_freep) struct repo *repo = fixture_open(store);
	struct error err = ERROR_INIT;

	(void)spec;
	for (int in_one = 0; in_one < 2; in_one++) {
		CLEANUP(transaction_freep) struct transaction *fill = fixture_begin(repo);
		CLEANUP(transaction_freep) struct transaction *both = NULL;

		assert_ok(fixture_set(fill, 7, 3, "far", &err), &err);
		assert_ok(fixture_set(fill, 0, 0, "near", &err), &err);
		assert_ok(fixture_commit(fill, REBASE_NO, &err), &err);
		both = fixture_begin(repo);
		assert_ok(resize(both, 4, 4, &err), &err);
		if (!in_one) {
			assert_ok(fixture_commit(both, REBASE_NO, &err), &err);
			transaction_free(both);
			both = fixture_begin(repo);
		}
		assert_ok(resize(both, 8, 4, &err), &err);
		assert_ok(fixture_commit(both, REBASE_NO, &err), &err);
		assert_false(is_there(repo, 7, 3));
		assert_true(is_there(repo, 0, 0));
	}
	fixture_verify(repo);
}

static void run_bad_input(struct store *store, int spec)
{
	CLEANUP(repo_freep) struct repo *repo = fixture_open(store);
	CLEANUP(transaction_freep) struct transaction *transaction = fixture_begin(repo);
	struct error err = ERROR_INIT;
	uint32_t index[] = {0, 0};
	struct virtual_ref ref = {.index = index, .length = 1};

	(void)spec;
	assert_int_equal(put(transaction, 8, 0, "x", &err), ERR_ARGUMENT);
	assert_string_equal(err.text, "chunk 8/0 is outside array '/a'");
	assert_int_equal(put(transaction, 0, 0, "", &err), ERR_ARGUMENT);
	ref.location = slice_text("s3://other/key");
	assert_int_equal(transaction_set_refs(transaction, "/a", &ref, 1, 2, &err), ERR_ARGUMENT);
	assert_string_equal(err.text,
			    "location 's3://other/key' is in no container of the repository");
	ref.location = slice_text("s3://bucketful/key");
	assert_int_equal(transaction_set_refs(transaction, "/a", &ref, 1, 2, &err), ERR_ARGUMENT);
	ref.location = slice_text("s3://bucket/key");
	ref.length = 0;
	assert_int_equal(transaction_set_refs(transaction, "/a", &ref, 1, 2, &err), ERR_ARGUMENT);
	assert_int_equal(
		transaction_put_document(transaction, "/a/b", slice_text(FIXTURE_GROUP), &err),
		ERR_ARGUMENT);
	assert_int_equal(
		transaction_put_document(transaction, "/a", slice_text(FIXTURE_GROUP), &err),
		ERR_ARGUMENT);
	assert_int_equal(
		transaction_put_document(transaction, "/x/../y", slice_text(FIXTURE_GROUP), &err),
		ERR_ARGUMENT);
	assert_int_equal(transaction_put_document(transaction, "/g", slice_text("{"), &err),
			 ERR_FORMAT);
	assert_int_equal(transaction_delete_node(transaction, "/none", &err), ERR_ABSENT);
	assert_true(transaction_is_empty(transaction));
	assert_int_equal(fixture_commit(transaction, REBASE_NO, &err), ERR_ARGUMENT);
	assert_int_equal(fixture_n_commits(repo), 2);
}

/* Names hold what URLs would decode: they come back byte for byte (field case 1). */
static void run_names(struct store *store, int spec)
{
	static const char *const names[] = {"a b", "a%20b", "c#1", "q?x", "a+b", "'\"", "\xc3\xa9"};
	CLEANUP(repo_freep) struct repo *repo = fixture_open(store);
	CLEANUP(transaction_freep) struct transaction *transaction = fixture_begin(repo);
	struct error err = ERROR_INIT;

	(void)spec;
	for (uint32_t i = 0; i < ARRAY_LEN(names); i++)
		assert_ok(fixture_set(transaction, i, 1, names[i], &err), &err);
	assert_ok(fixture_commit(transaction, REBASE_NO, &err), &err);
	for (uint32_t i = 0; i < ARRAY_LEN(names); i++) {
		char location[256], want[256];

		fixture_get(repo, i, 1, location);
		snprintf(want, sizeof(want), "s3://bucket/%s", names[i]);
		assert_string_equal(location, want);
	}
}

/* Of several changes of one chunk the last one counts, however they came. */
static void run_last_change_counts(struct store *store, int spec)
{
	CLEANUP(repo_freep) struct repo *repo = fixture_open(store);
	CLEANUP(transaction_freep) struct transaction *transaction = fixture_begin(repo);
	struct error err = ERROR_INIT;
	char location[256];
	uint32_t index[] = {3, 3};

	(void)spec;
	for (uint32_t k = 0; k < 200; k++) {
		char name[16];

		snprintf(name, sizeof(name), "%u", k);
		assert_ok(fixture_set(transaction, k * 7 % 8, k * 3 % 4, name, &err), &err);
		if (k % 5 == 0)
			transaction_has_chunk(transaction, "/a", index, 2, &err);
	}
	assert_ok(transaction_delete_chunk(transaction, "/a", index, 2, &err), &err);
	assert_ok(fixture_commit(transaction, REBASE_NO, &err), &err);
	for (uint32_t i = 0; i < 8; i++) {
		for (uint32_t j = 0; j < 4; j++) {
			char want[32] = "";

			for (uint32_t k = 0; k < 200; k++) {
				if (k * 7 % 8 == i && k * 3 % 4 == j)
					snprintf(want, sizeof(want), "s3://bucket/%u", k);
			}
			if (i == 3 && j == 3)
				want[0] = '\0';
			fixture_get(repo, i, j, location);
			assert_string_equal(location, want);
		}
	}
}

/* A lost race redoes nothing of the manifests (decision 4), and the winner's chunks stay. */
static void run_flush_once(struct store *store, int spec)
{
	CLEANUP(repo_freep) struct repo *repo = fixture_open(store);
	CLEANUP(repo_freep) struct repo *other = fixture_open(store);
	CLEANUP(transaction_freep) struct transaction *ours = fixture_begin(repo);
	struct commit_options options = {.message = "ours", .rebase = REBASE_DETECT};
	struct commit_counters counters;
	struct error err = ERROR_INIT;
	struct id12 id;
	char location[256];

	(void)spec;
	assert_ok(fixture_set(ours, 0, 0, "ours", &err), &err);
	for (uint32_t k = 0; k < 3; k++) {
		CLEANUP(transaction_freep) struct transaction *theirs = fixture_begin(other);

		assert_ok(fixture_set(theirs, 2 + 2 * k, 0, "theirs", &err), &err);
		assert_ok(fixture_commit(theirs, REBASE_NO, &err), &err);
	}
	assert_ok(transaction_commit(ours, &options, &id, &counters, &err), &err);
	assert_int_equal(counters.rebases, 1);
	assert_int_equal(counters.manifests_written, 1);
	for (uint32_t k = 0; k < 3; k++) {
		fixture_get(repo, 2 + 2 * k, 0, location);
		assert_string_equal(location, "s3://bucket/theirs");
	}
	fixture_verify(repo);
}

static int commit_over(struct repo *repo, struct repo *other, enum rebase_mode mode,
		       struct error *err)
{
	CLEANUP(transaction_freep) struct transaction *ours = fixture_begin(repo);
	CLEANUP(transaction_freep) struct transaction *theirs = fixture_begin(other);

	assert_ok(fixture_set(ours, 1, 1, "ours", err), err);
	assert_ok(fixture_set(ours, 5, 1, "ours", err), err);
	assert_ok(fixture_set(theirs, 1, 1, "theirs", err), err);
	assert_ok(fixture_commit(theirs, REBASE_NO, err), err);
	return fixture_commit(ours, mode, err);
}

static void run_solver(struct store *store, int spec)
{
	CLEANUP(repo_freep) struct repo *repo = fixture_open(store);
	CLEANUP(repo_freep) struct repo *other = fixture_open(store);
	struct error err = ERROR_INIT;
	char location[256];

	(void)spec;
	assert_int_equal(commit_over(repo, other, REBASE_NO, &err), ERR_CONFLICT);
	assert_int_equal(commit_over(repo, other, REBASE_DETECT, &err), ERR_CONFLICT);
	assert_non_null(strstr(err.text, "chunk 1/1 of '/a' was written by both"));
	fixture_get(repo, 5, 1, location);
	assert_string_equal(location, "");
	assert_ok(commit_over(repo, other, REBASE_THEIRS, &err), &err);
	fixture_get(repo, 1, 1, location);
	assert_string_equal(location, "s3://bucket/theirs");
	fixture_get(repo, 5, 1, location);
	assert_string_equal(location, "s3://bucket/ours");
	assert_ok(commit_over(repo, other, REBASE_OURS, &err), &err);
	fixture_get(repo, 1, 1, location);
	assert_string_equal(location, "s3://bucket/ours");
	fixture_verify(repo);
}

static void run_document_conflicts(struct store *store, int spec)
{
	CLEANUP(repo_freep) struct repo *repo = fixture_open(store);
	CLEANUP(repo_freep) struct repo *other = fixture_open(store);
	CLEANUP(transaction_freep) struct transaction *chunks = fixture_begin(repo);
	CLEANUP(transaction_freep) struct transaction *node = fixture_begin(repo);
	CLEANUP(transaction_freep) struct transaction *theirs = fixture_begin(other);
	struct error err = ERROR_INIT;

	(void)spec;
	assert_ok(fixture_set(chunks, 0, 0, "x", &err), &err);
	assert_ok(transaction_put_document(node, "/new", slice_text(FIXTURE_GROUP), &err), &err);
	assert_ok(resize(theirs, 9, 4, &err), &err);
	assert_ok(transaction_put_document(theirs, "/new", slice_text(FIXTURE_GROUP), &err), &err);
	assert_ok(fixture_commit(theirs, REBASE_NO, &err), &err);
	assert_int_equal(fixture_commit(chunks, REBASE_OURS, &err), ERR_CONFLICT);
	assert_non_null(strstr(err.text, "the document of '/a' was changed"));
	assert_int_equal(fixture_commit(node, REBASE_OURS, &err), ERR_CONFLICT);
	assert_non_null(strstr(err.text, "node '/new' was created by both"));
}

static void run_amend(struct store *store, int spec)
{
	CLEANUP(repo_freep) struct repo *repo = fixture_open(store);
	CLEANUP(transaction_freep) struct transaction *first = fixture_begin(repo);
	CLEANUP(transaction_freep) struct transaction *second = NULL;
	struct commit_options options = {.message = "amended", .amend = true};
	struct error err = ERROR_INIT;
	struct id12 id;
	char location[256];
	int r;

	assert_ok(fixture_set(first, 0, 0, "first", &err), &err);
	assert_ok(fixture_commit(first, REBASE_NO, &err), &err);
	second = fixture_begin(repo);
	assert_ok(fixture_set(second, 0, 1, "second", &err), &err);
	r = transaction_commit(second, &options, &id, NULL, &err);
	if (spec == 1) {
		assert_int_equal(r, ERR_UNSUPPORTED);
		return;
	}
	assert_ok(r, &err);
	assert_int_equal(fixture_n_commits(repo), 3);
	fixture_get(repo, 0, 0, location);
	assert_string_equal(location, "s3://bucket/first");
	fixture_get(repo, 0, 1, location);
	assert_string_equal(location, "s3://bucket/second");
	fixture_verify(repo);
}

static void run_move(struct store *store, int spec)
{
	CLEANUP(repo_freep) struct repo *repo = fixture_open(store);
	CLEANUP(transaction_freep) struct transaction *move = fixture_begin(repo);
	CLEANUP(checkout_freep) struct checkout *checkout = NULL;
	struct error err = ERROR_INIT;
	struct node node;
	struct id12 id;

	if (spec == 1) {
		assert_int_equal(transaction_move(move, "/a", "/b", &err), ERR_UNSUPPORTED);
		return;
	}
	assert_int_equal(transaction_move(move, "/", "/b", &err), ERR_ARGUMENT);
	assert_int_equal(transaction_move(move, "/a", "/none/b", &err), ERR_ARGUMENT);
	assert_ok(transaction_move(move, "/a", "/b", &err), &err);
	assert_int_equal(fixture_set(move, 0, 0, "x", &err), ERR_ARGUMENT);
	assert_ok(transaction_move(move, "/b", "/c-d", &err), &err);
	assert_ok(fixture_commit(move, REBASE_NO, &err), &err);
	assert_ok(repo_resolve(repo, &(struct repo_at){0}, &id, &err), &err);
	assert_ok(repo_checkout(repo, &id, &checkout, &err), &err);
	assert_int_equal(checkout_find(checkout, "/c-d", &node), 0);
	assert_int_equal(checkout_find(checkout, "/a", &node), REPO_ABSENT);
	assert_int_equal(checkout_find(checkout, "/b", &node), REPO_ABSENT);
	fixture_verify(repo);
}

/* Locating a chunk reads at most one manifest, and none the second time; mounting costs two reads.
 */
static void run_counts(struct store *store, int spec)
{
	CLEANUP(repo_freep) struct repo *filled = fixture_open(store);
	CLEANUP(transaction_freep) struct transaction *fill = fixture_begin(filled);
	CLEANUP(store_freep) struct store *counted = NULL;
	CLEANUP(repo_freep) struct repo *repo = NULL;
	CLEANUP(checkout_freep) struct checkout *checkout = NULL;
	CLEANUP(freep) struct chunk *chunk = calloc(1, sizeof(*chunk));
	struct error err = ERROR_INIT;
	uint32_t index[] = {6, 2};
	struct node node;
	struct id12 id;

	assert_non_null(chunk);
	for (uint32_t i = 0; i < 8; i++)
		assert_ok(fixture_set(fill, i, 2, "x", &err), &err);
	assert_ok(fixture_commit(fill, REBASE_NO, &err), &err);
	assert_ok(store_counter_new(store, &counted, &err), &err);
	assert_ok(repo_open(counted, NULL, &repo, &err), &err);
	assert_ok(repo_resolve(repo, &(struct repo_at){0}, &id, &err), &err);
	assert_ok(repo_checkout(repo, &id, &checkout, &err), &err);
	if (spec == 2)
		assert_int_equal(store_counter_get(counted).get, 2);
	assert_int_equal(checkout_find(checkout, "/a", &node), 0);
	store_counter_reset(counted);
	for (int i = 0; i < 2; i++) {
		assert_ok(checkout_locate(checkout, &node, index, chunk, &err), &err);
		chunk_done(chunk);
		assert_int_equal(store_counter_get(counted).get, 1);
	}
	assert_int_equal(store_counter_get(counted).head + store_counter_get(counted).list, 0);
}

/* 64 bytes a reference of 4 dimensions, and one copy of each location; 170 references to one. */
static void run_memory(struct store *store, int spec)
{
	enum { N = 340000, TO_ONE = 170, TEXT = 63 };
	CLEANUP(repo_freep) struct repo *repo = fixture_open(store);
	CLEANUP(transaction_freep) struct transaction *transaction = fixture_begin(repo);
	struct error err = ERROR_INIT;
	size_t before;

	(void)spec;
	assert_ok(transaction_put_document(transaction, "/big",
					   fixture_array("[1000,1000,2,2]", "[1,1,1,1]"), &err),
		  &err);
	before = transaction_memory(transaction);
	for (uint32_t i = 0; i < N; i++) {
		uint32_t index[] = {i / 4000, i / 4 % 1000, i / 2 % 2, i % 2};
		char text[TEXT + 1];
		struct virtual_ref ref = {.index = index, .offset = i, .length = 1};

		snprintf(text, sizeof(text), "s3://bucket/some/path/of/usual/length/file-%020u",
			 i / TO_ONE);
		ref.location = slice_text(text);
		assert_ok(transaction_set_refs(transaction, "/big", &ref, 1, 4, &err), &err);
	}
	assert_true(transaction_memory(transaction) - before <=
		    (size_t)N * 64 + (size_t)N / TO_ONE * TEXT);
}

/* Read-only and offline repositories are read as ever; every write fails with the reason. */
static void run_status(struct store *store, int spec)
{
	CLEANUP(repo_freep) struct repo *repo = fixture_open(store);
	CLEANUP(transaction_freep) struct transaction *transaction = fixture_begin(repo);
	CLEANUP(transaction_freep) struct transaction *late = NULL;
	bool off = false;
	struct error err = ERROR_INIT;
	struct id12 tip;
	int r = repo_set_status(repo, "read_only", "moving house", &err);

	if (spec == 1) {
		assert_int_equal(r, ERR_UNSUPPORTED);
		return;
	}
	assert_ok(r, &err);
	assert_ok(fixture_set(transaction, 0, 0, "x", &err), &err);
	assert_int_equal(fixture_commit(transaction, REBASE_DETECT, &err), ERR_READ_ONLY);
	assert_non_null(strstr(err.text, "moving house"));
	assert_int_equal(transaction_begin(repo, NULL, NULL, &late, &err), ERR_READ_ONLY);
	assert_ok(repo_resolve(repo, &(struct repo_at){0}, &tip, &err), &err);
	assert_int_equal(repo_tag_create(repo, "t", &tip, &err), ERR_READ_ONLY);
	fixture_verify(repo);
	assert_ok(repo_set_status(repo, "online", NULL, &err), &err);
	assert_ok(repo_set_feature(repo, 4, &off, &err), &err);
	assert_int_equal(repo_tag_create(repo, "t", &tip, &err), ERR_DENIED);
	assert_ok(repo_set_feature(repo, 4, NULL, &err), &err);
	assert_ok(repo_tag_create(repo, "t", &tip, &err), &err);
	assert_ok(repo_set_metadata(repo, slice_text("{\"owner\":\"us\"}"), &err), &err);
	assert_ok(fixture_commit(transaction, REBASE_DETECT, &err), &err);
}

static struct setting settings[] = {
	{"shrink and grow", run_shrink_and_grow},
	{"bad input", run_bad_input},
	{"names", run_names},
	{"last change counts", run_last_change_counts},
	{"flush once", run_flush_once},
	{"solver", run_solver},
	{"document conflicts", run_document_conflicts},
	{"amend", run_amend},
	{"move", run_move},
	{"counts", run_counts},
	{"memory", run_memory},
	{"status and features", run_status},
};

static void test_setting(void **state)
{
	const struct setting *setting = *state;

	for (int spec = 1; spec <= 2; spec++) {
		CLEANUP(store_freep) struct store *store = NULL;
		struct error err = ERROR_INIT;

		assert_ok(store_memory_new(&store, &err), &err);
		assert_ok(fixture_create(store, spec, &err), &err);
		setting->run(store, spec);
	}
}

int main(void)
{
	return RUN_CASES(test_setting, settings);
}
