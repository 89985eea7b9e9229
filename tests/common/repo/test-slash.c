/* SPDX-License-Identifier: Apache-2.0 */
#include "common/repo/fixture.h"

/*
 * Old repositories at the root of a bucket, with keys that begin with a slash (formats, 1.4): read,
 * never written.  A store in memory stands for the bucket.
 */

struct bucket {
	const char *name;
	const char *url;
	int spec;
	bool has_plain; /* a repository without slashes is there too, and counts */
	int want;
};

static struct bucket buckets[] = {
	{"slashes 1", "s3://bucket", 1, false, 0},
	{"slashes 2", "s3://bucket", 2, false, 0},
	{"slash at the end", "s3://bucket/", 2, false, 0},
	{"both", "s3://bucket", 2, true, 0},
	{"below a prefix", "s3://bucket/prefix", 2, false, ERR_ABSENT},
};

/* Calls the store in memory by the name and URL of a bucket. */
static struct store_ops s3_ops;

static void become_s3(struct store *store, const char *url)
{
	s3_ops = *store->ops;
	s3_ops.name = "s3";
	store->ops = &s3_ops;
	free(store->url);
	store->url = strdup(url);
	assert_non_null(store->url);
}

struct copying {
	struct store *from, *to;
};

static int copy_slashed(void *argument, const struct store_entry *entry, struct error *err)
{
	CLEANUP(buf_done) struct buf bytes = BUF_INIT(1 << 20);
	struct copying *copying = argument;
	char key[256];
	int r;

	snprintf(key, sizeof(key), "/%s", entry->key);
	r = store_get_all(copying->from, entry->key, &bytes, NULL, err);
	return r < 0 ? r : store_put(copying->to, key, buf_slice(&bytes), err);
}

static void set_and_commit(struct store *store, const char *text)
{
	CLEANUP(repo_freep) struct repo *repo = fixture_open(store);
	CLEANUP(transaction_freep) struct transaction *transaction = fixture_begin(repo);
	struct error err = ERROR_INIT;

	assert_ok(fixture_set(transaction, 3, 1, text, &err), &err);
	assert_ok(fixture_commit(transaction, REBASE_NO, &err), &err);
}

static void test_bucket(void **state)
{
	const struct bucket *bucket = *state;
	CLEANUP(store_freep) struct store *plain = NULL;
	CLEANUP(store_freep) struct store *store = NULL;
	CLEANUP(repo_freep) struct repo *repo = NULL;
	CLEANUP(transaction_freep) struct transaction *transaction = NULL;
	struct copying copying;
	struct error err = ERROR_INIT;
	char location[256];

	assert_ok(store_memory_new(&plain, &err), &err);
	assert_ok(store_memory_new(&store, &err), &err);
	assert_ok(fixture_create(plain, bucket->spec, &err), &err);
	set_and_commit(plain, "slashed");
	if (bucket->has_plain) {
		assert_ok(fixture_create(store, bucket->spec, &err), &err);
		set_and_commit(store, "plain");
	}
	copying = (struct copying){plain, store};
	assert_ok(store_list(plain, "", false, copy_slashed, &copying, &err), &err);
	become_s3(store, bucket->url);

	assert_int_equal(repo_open(store, NULL, &repo, &err), bucket->want);
	if (bucket->want)
		return;
	assert_int_equal(repo_spec(repo), bucket->spec);
	fixture_get(repo, 3, 1, location);
	assert_string_equal(location,
			    bucket->has_plain ? "s3://bucket/plain" : "s3://bucket/slashed");
	assert_int_equal(fixture_n_commits(repo), 3);
	fixture_verify(repo);
	if (bucket->has_plain)
		return;
	assert_int_equal(transaction_begin(repo, NULL, NULL, &transaction, &err), ERR_READ_ONLY);
	assert_string_equal(err.text + strlen(err.text) - strlen("cannot be written to"),
			    "cannot be written to");
}

int main(void)
{
	return RUN_CASES(test_bucket, buckets);
}
