/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Every repository of the test data against its expected/ file, which an independent decoder made
 * and the public library confirmed (data/icechunk/README.md).
 */

#include "base/text.h"
#include "dump.h"
#include "files.h"
#include "icechunk/value.h"
#include "test.h"

static struct repository {
	const char *name; /* of the folder; the expected file has - for / */
} repositories[] = {
	{"expire-repo-v1-by-1.1.21"},
	{"expire-repo-v1-by-2.0.5"},
	{"expire-repo-v1-by-working-copy"},
	{"expire-repo-v2-by-2.0.5"},
	{"expire-repo-v2-by-working-copy"},
	{"generated/features-v1"},
	{"generated/features-v2"},
	{"generated/foreign-writer-v1"},
	{"generated/foreign-writer-v2"},
	{"generated/opslog-v2"},
	{"split-repo-v1"},
	{"split-repo-v2"},
	{"split-repo-v2-migrated"},
	{"test-repo-v1"},
	{"test-repo-v2"},
	{"test-repo-v2-migrated"},
};

static char *folder_of(const struct repository *repository)
{
	struct error err = ERROR_INIT;

	return text_printf(&err, "%s/%s", test_data("icechunk"), repository->name);
}

static struct buf read_expected(const struct repository *repository)
{
	struct error err = ERROR_INIT;
	CLEANUP(freep) char *name = text_dup(repository->name, &err);
	CLEANUP(freep) char *path = NULL;

	for (char *c = name; *c; c++)
		if (*c == '/')
			*c = '-';
	path = text_printf(&err, "%s/expected/%s.json", test_data("icechunk"), name);
	return read_file(path);
}

/*
 * Compares the members of @want that @got has.  Where the file has no list, @got shows an empty
 * one, and
 * @want either null or nothing.
 */
static void assert_members_equal(struct slice got, const struct json *want)
{
	struct json have, key, value, ours;
	struct error err = ERROR_INIT;

	assert_ok(json_parse(got, &have, &err), &err);
	JSON_EACH (&have, &key, ours) {
		CLEANUP(freep) char *name = NULL;

		assert_ok(json_dup(&key, &name, &err), &err);
		if (json_get(want, name, &value) != 0 || value.type == JSON_NULL)
			assert_true(slice_is(ours.span, "[]") || slice_is(ours.span, "null"));
		else
			assert_json_equal(ours.span, value.span);
	}
}

/* Calls @dump for each member of the expected member @name and compares. */
static void each_member(const struct repository *repository, const char *name,
			void (*dump)(const char *folder, const char *id, struct buf *out))
{
	CLEANUP(buf_done) struct buf expected = read_expected(repository);
	struct json root, members, key, value;
	struct error err = ERROR_INIT;
	CLEANUP(freep) char *folder = folder_of(repository);

	assert_ok(json_parse(buf_slice(&expected), &root, &err), &err);
	assert_int_equal(json_get(&root, name, &members), 0);
	assert_true(json_count(&members) > 0);
	JSON_EACH (&members, &key, value) {
		CLEANUP(buf_done) struct buf got = BUF_INIT(BUF_NO_LIMIT);
		CLEANUP(freep) char *id = NULL;

		assert_ok(json_dup(&key, &id, &err), &err);
		dump(folder, id, &got);
		assert_members_equal(buf_slice(&got), &value);
	}
}

static void test_snapshots(void **state)
{
	each_member(*state, "snapshots", dump_snapshot);
}

static void test_transactions(void **state)
{
	each_member(*state, "transactions", dump_transaction);
}

static void test_repo_object(void **state)
{
	const struct repository *repository = *state;
	CLEANUP(buf_done) struct buf expected = read_expected(repository);
	CLEANUP(buf_done) struct buf got = BUF_INIT(BUF_NO_LIMIT);
	CLEANUP(freep) char *folder = folder_of(repository);
	struct json root, infos;
	struct error err = ERROR_INIT;

	assert_ok(json_parse(buf_slice(&expected), &root, &err), &err);
	if (json_get(&root, "snapshot_infos", &infos) != 0)
		return; /* spec 1 has no repo object */
	dump_repo(folder, &got);
	assert_members_equal(buf_slice(&got), &root);
}

int main(void)
{
	int failed;

	if (!test_data("icechunk"))
		test_skip("no test data");
	failed = RUN_CASES(test_snapshots, repositories);
	failed += RUN_CASES(test_transactions, repositories);
	return failed + RUN_CASES(test_repo_object, repositories);
}
