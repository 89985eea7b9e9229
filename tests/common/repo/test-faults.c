/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/wait.h>
#include <unistd.h>

#include "common/repo/fixture.h"
#include "repo/maintain.h"

/*
 * Every operation of the store fails in turn: before it was done, after it was done, or because the
 * process ends.  Afterwards the repository opens in the old or the new state, and doing the same
 * again brings the new one.
 */

struct job {
	const char *name;
	int spec;
	/* Brings the repository into the state that the job starts from. */
	void (*prepare)(struct store *store, int spec);
	int (*run)(struct store *store, int spec, struct error *err);
	/* 0 old, 1 new; fails the test for anything else. */
	int (*look)(struct store *store, int spec);
	/* Success of the second run may be an error of this kind: it was done already. */
	int done_kind;
};

/* create */

static void prepare_nothing(struct store *store, int spec)
{
	(void)store;
	(void)spec;
}

static int run_create(struct store *store, int spec, struct error *err)
{
	return repo_create(store, spec, slice_text("{\"inline_chunk_threshold_bytes\":7}"), err);
}

static int look_create(struct store *store, int spec)
{
	CLEANUP(repo_freep) struct repo *repo = NULL;
	struct error err = ERROR_INIT;
	int r = repo_open(store, NULL, &repo, &err);

	if (r == ERR_ABSENT)
		return 0;
	assert_ok(r, &err);
	assert_int_equal(repo_spec(repo), spec);
	fixture_verify(repo);
	return 1;
}

/* commit */

static void prepare_repo(struct store *store, int spec)
{
	struct error err = ERROR_INIT;

	assert_ok(fixture_create(store, spec, &err), &err);
}

static int put_chunk(struct transaction *transaction, struct error *err)
{
	uint32_t index[] = {5, 1};

	return transaction_put_chunk(transaction, "/a", index, 2, slice_text("native chunk"), err);
}

static int run_commit(struct store *store, int spec, struct error *err)
{
	CLEANUP(repo_freep) struct repo *repo = NULL;
	CLEANUP(transaction_freep) struct transaction *transaction = NULL;
	int r;

	(void)spec;
	r = repo_open(store, NULL, &repo, err);
	if (r == 0)
		r = transaction_begin(repo, NULL, NULL, &transaction, err);
	if (r == 0)
		r = fixture_set(transaction, 0, 0, "new", err);
	if (r == 0)
		r = put_chunk(transaction, err);
	return r < 0 ? r : fixture_commit(transaction, REBASE_NO, err);
}

static int look_commit(struct store *store, int spec)
{
	CLEANUP(repo_freep) struct repo *repo = fixture_open(store);
	char location[256];

	(void)spec;
	fixture_verify(repo);
	fixture_get(repo, 0, 0, location);
	if (!location[0])
		return 0;
	assert_string_equal(location, "s3://bucket/new");
	return 1;
}

/* rebase: the transaction begins, somebody else commits, then it commits */

static int run_rebase(struct store *store, int spec, struct error *err)
{
	CLEANUP(repo_freep) struct repo *repo = NULL;
	CLEANUP(repo_freep) struct repo *other = NULL;
	CLEANUP(transaction_freep) struct transaction *ours = NULL;
	CLEANUP(transaction_freep) struct transaction *theirs = NULL;
	int r;

	(void)spec;
	r = repo_open(store, NULL, &repo, err);
	if (r == 0)
		r = repo_open(store, NULL, &other, err);
	if (r == 0)
		r = transaction_begin(repo, NULL, NULL, &ours, err);
	if (r == 0)
		r = fixture_set(ours, 0, 0, "new", err);
	if (r == 0)
		r = transaction_begin(other, NULL, NULL, &theirs, err);
	if (r == 0)
		r = fixture_set(theirs, 1, 0, "theirs", err);
	if (r == 0)
		r = fixture_commit(theirs, REBASE_NO, err);
	return r < 0 ? r : fixture_commit(ours, REBASE_DETECT, err);
}

/* branches, tags, configuration */

static struct id12 main_tip(struct repo *repo)
{
	struct repo_at at = {0};
	struct error err = ERROR_INIT;
	struct id12 id;

	assert_ok(repo_resolve(repo, &at, &id, &err), &err);
	return id;
}

static int run_reset(struct store *store, int spec, struct error *err)
{
	CLEANUP(repo_freep) struct repo *repo = NULL;
	int r = repo_open(store, NULL, &repo, err);

	(void)spec;
	return r < 0 ? r : repo_branch_reset(repo, "main", &ID12_INITIAL_SNAPSHOT, NULL, err);
}

static int look_reset(struct store *store, int spec)
{
	CLEANUP(repo_freep) struct repo *repo = fixture_open(store);
	struct id12 tip = main_tip(repo);

	(void)spec;
	fixture_verify(repo);
	return id12_equal(&tip, &ID12_INITIAL_SNAPSHOT);
}

static int run_tag(struct store *store, int spec, struct error *err)
{
	CLEANUP(repo_freep) struct repo *repo = NULL;
	struct id12 tip;
	int r = repo_open(store, NULL, &repo, err);

	(void)spec;
	if (r < 0)
		return r;
	r = repo_resolve(repo, &(struct repo_at){0}, &tip, err);
	return r < 0 ? r : repo_tag_create(repo, "v 1%", &tip, err);
}

static int look_tag(struct store *store, int spec)
{
	CLEANUP(repo_freep) struct repo *repo = fixture_open(store);
	CLEANUP(repo_summary_done) struct repo_summary summary = {0};
	struct error err = ERROR_INIT;

	(void)spec;
	assert_ok(repo_summary(repo, &summary, &err), &err);
	if (summary.n_tags)
		assert_string_equal(summary.tags[0].name, "v 1%");
	return (int)summary.n_tags;
}

static int run_config(struct store *store, int spec, struct error *err)
{
	CLEANUP(repo_freep) struct repo *repo = NULL;
	int r = repo_open(store, NULL, &repo, err);

	(void)spec;
	if (r < 0)
		return r;
	return repo_config_set(repo, slice_text("{\"inline_chunk_threshold_bytes\":99}"), err);
}

static int look_config(struct store *store, int spec)
{
	CLEANUP(repo_freep) struct repo *repo = fixture_open(store);
	CLEANUP(buf_done) struct buf config = BUF_INIT(1 << 20);
	struct error err = ERROR_INIT;

	(void)spec;
	assert_ok(repo_config_get(repo, &config, &err), &err);
	return strstr(buf_text(&config, &err), "99") != NULL;
}

/* gc and expire, on a repository with a history and rubbish */

static void prepare_history(struct store *store, int spec)
{
	struct error err = ERROR_INIT;

	prepare_repo(store, spec);
	for (uint32_t i = 0; i < 3; i++) {
		CLEANUP(repo_freep) struct repo *repo = fixture_open(store);
		CLEANUP(transaction_freep) struct transaction *transaction = fixture_begin(repo);
		uint32_t index[] = {i, 3};

		assert_ok(fixture_set(transaction, i, 0, "old", &err), &err);
		assert_ok(transaction_put_chunk(transaction, "/a", index, 2,
						slice_text("native chunk"), &err),
			  &err);
		assert_ok(fixture_commit(transaction, REBASE_NO, &err), &err);
	}
	assert_ok(store_put(store, "chunks/041061050R3GG2040G00", slice_text("rubbish"), &err),
		  &err);
}

static int sweep(struct store *store,
		 int (*what)(struct repo *repo, const struct sweep_options *options,
			     struct sweep_result *ret_result, struct error *err),
		 struct error *err)
{
	CLEANUP(repo_freep) struct repo *repo = NULL;
	struct sweep_options options = {.older_than = INT64_MAX};
	struct sweep_result result;
	int r = repo_open(store, NULL, &repo, err);

	return r < 0 ? r : what(repo, &options, &result, err);
}

static int run_expire(struct store *store, int spec, struct error *err)
{
	(void)spec;
	return sweep(store, repo_expire, err);
}

/* In spec 1 a history that is old to the tip stays whole. */
static int look_expire(struct store *store, int spec)
{
	CLEANUP(repo_freep) struct repo *repo = fixture_open(store);
	unsigned int n;

	fixture_verify(repo);
	n = fixture_n_commits(repo);
	if (spec == 1) {
		assert_int_equal(n, 5);
		return 1;
	}
	assert_true(n == 5 || n == 2);
	return n == 2;
}

static int run_gc(struct store *store, int spec, struct error *err)
{
	(void)spec;
	return sweep(store, repo_gc, err);
}

static int look_gc(struct store *store, int spec)
{
	CLEANUP(repo_freep) struct repo *repo = fixture_open(store);
	struct store_info info;
	struct error err = ERROR_INIT;
	int r;

	(void)spec;
	fixture_verify(repo);
	assert_int_equal(fixture_n_commits(repo), 5);
	r = store_head(store, "chunks/041061050R3GG2040G00", &info, &err);
	assert_true(r >= 0);
	return r == STORE_ABSENT;
}

static struct job jobs[] = {
	{"create 2", 2, prepare_nothing, run_create, look_create, ERR_CONFLICT},
	{"create 1", 1, prepare_nothing, run_create, look_create, ERR_CONFLICT},
	{"commit 2", 2, prepare_repo, run_commit, look_commit, 0},
	{"commit 1", 1, prepare_repo, run_commit, look_commit, 0},
	{"rebase 2", 2, prepare_repo, run_rebase, look_commit, 0},
	{"rebase 1", 1, prepare_repo, run_rebase, look_commit, 0},
	{"branch reset 2", 2, prepare_repo, run_reset, look_reset, 0},
	{"branch reset 1", 1, prepare_repo, run_reset, look_reset, 0},
	{"tag 2", 2, prepare_repo, run_tag, look_tag, ERR_CONFLICT},
	{"tag 1", 1, prepare_repo, run_tag, look_tag, ERR_CONFLICT},
	{"config 2", 2, prepare_repo, run_config, look_config, 0},
	{"config 1", 1, prepare_repo, run_config, look_config, 0},
	{"expire 2", 2, prepare_history, run_expire, look_expire, 0},
	{"expire 1", 1, prepare_history, run_expire, look_expire, 0},
	{"gc 2", 2, prepare_history, run_gc, look_gc, 0},
	{"gc 1", 1, prepare_history, run_gc, look_gc, 0},
};

/* Runs the job in a child, which may be ended by the fault; true if it came to its end. */
static bool run_in_child(const struct job *job, struct store *disk, unsigned int nth)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		struct error err = ERROR_INIT;
		struct store *flaky = NULL;

		if (store_fault_new(disk, nth, FAULT_EXIT, &flaky, &err) < 0)
			_exit(1);
		_exit(job->run(flaky, job->spec, &err) < 0 ? 2 : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_true(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 99);
	return WEXITSTATUS(status) == 0;
}

/* True if the job came to its end without meeting the fault. */
static bool run_faulty(const struct job *job, struct store *disk, unsigned int nth,
		       enum fault_kind kind)
{
	CLEANUP(store_freep) struct store *flaky = NULL;
	struct error err = ERROR_INIT;
	int r;

	if (kind == FAULT_EXIT)
		return run_in_child(job, disk, nth);
	assert_ok(store_fault_new(disk, nth, kind, &flaky, &err), &err);
	r = job->run(flaky, job->spec, &err);
	/* A success is one, whether the fault was met or not. */
	if (r == 0)
		assert_int_equal(job->look(disk, job->spec), 1);
	return store_fault_count(flaky) < nth;
}

/* A process that ends leaves its memory behind, so that fault needs a folder. */
static struct store *new_disk(enum fault_kind kind, char folder[256])
{
	struct error err = ERROR_INIT;
	struct store *disk = NULL;

	folder[0] = '\0';
	if (kind == FAULT_EXIT) {
		fixture_folder(folder);
		assert_ok(store_local_new(folder, &disk, &err), &err);
	} else {
		assert_ok(store_memory_new(&disk, &err), &err);
	}
	return disk;
}

static void test_every_operation(const struct job *job, enum fault_kind kind)
{
	bool ended = false;
	unsigned int nth;

	for (nth = 1; !ended; nth++) {
		char folder[256];
		CLEANUP(store_freep) struct store *disk = new_disk(kind, folder);
		struct error err = ERROR_INIT;
		int r;

		job->prepare(disk, job->spec);
		ended = run_faulty(job, disk, nth, kind);
		job->look(disk, job->spec);
		r = job->run(disk, job->spec, &err);
		if (r != job->done_kind)
			assert_ok(r, &err);
		assert_int_equal(job->look(disk, job->spec), 1);
		if (folder[0])
			fixture_remove(folder);
		assert_true(nth < 200);
	}
	assert_true(nth > 4); /* or the loop has tested nothing */
}

static void test_job(void **state)
{
	const struct job *job = *state;

	test_every_operation(job, FAULT_FAIL_BEFORE);
	test_every_operation(job, FAULT_FAIL_AFTER);
	test_every_operation(job, FAULT_EXIT);
}

int main(void)
{
	return RUN_CASES(test_job, jobs);
}
