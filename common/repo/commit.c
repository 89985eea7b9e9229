/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "repo/changes.h"
#include "repo/publish.h"

#define REBASE_ATTEMPTS 1000
#define CATCH_UP_MAX 3 /* looks before each write; more would let the busiest wait for ever */
#define METADATA_MAX (UINT64_C(64) << 20)
#define CLOCKS_MAX_APART (600 * TIME_SECOND) /* as in the public library, formats 5.3 */

enum commit_kind { COMMIT_NEW, COMMIT_AMEND, COMMIT_DETACHED };

struct commit {
	struct transaction *transaction;
	const struct commit_options *options;
	enum commit_kind kind;
	struct id12 id;
	bool log_is_written, clocks_are_checked;
	bool is_fresh;		      /* the state was read a moment ago */
	unsigned int rebases, landed; /* commits of others since we began */
	struct flush flush;
	struct buf metadata; /* JSON object of this attempt */
	uint64_t flushed_at;
	struct publication publication;
	struct state *state; /* what this attempt is based on */
};

static void commit_done(struct commit *commit)
{
	buf_done(&commit->metadata);
	state_free(commit->state);
}

/* Appends the members of @object but for @but, each followed by a comma. */
static int metadata_members(const struct json *object, const char *but, struct buf *out,
			    struct error *err)
{
	struct json key, value;

	JSON_EACH (object, &key, value) {
		int r;

		if (json_is_text(&key, but))
			continue;
		r = buf_append_slice(out, key.span, err);
		if (r == 0)
			r = buf_append_byte(out, ':', err);
		if (r == 0)
			r = buf_append_slice(out, value.span, err);
		if (r == 0)
			r = buf_append_byte(out, ',', err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* What the caller gave, with the number of rebases where a solver is at work (formats, 7.6). */
static int commit_set_metadata(struct commit *commit, struct error *err)
{
	struct slice given = commit->options->metadata;
	struct buf *out = &commit->metadata;
	struct json object, ours = {.type = JSON_NULL};
	int r;

	buf_clear(out);
	r = json_parse(given.size ? given : slice_text("{}"), &object, err);
	if (r < 0)
		return error_prefix(err, "metadata");
	if (object.type != JSON_OBJECT)
		return error_set(err, ERR_ARGUMENT, "metadata is no JSON object");
	if (commit->options->rebase == REBASE_NO || commit->kind != COMMIT_NEW)
		return buf_append_slice(out, object.span, err);
	json_get(&object, "__icechunk", &ours);
	r = buf_append_byte(out, '{', err);
	if (r == 0)
		r = metadata_members(&object, "__icechunk", out, err);
	if (r == 0)
		r = buf_append_text(out, "\"__icechunk\":{", err);
	if (r == 0 && ours.type == JSON_OBJECT)
		r = metadata_members(&ours, "rebase_attempts", out, err);
	if (r == 0)
		r = buf_printf(out, err, "\"rebase_attempts\":%u}}", commit->rebases);
	return r;
}

static int commit_seal(const struct commit *commit, enum file_type type, struct slice payload,
		       struct buf *out, struct error *err)
{
	const struct transaction *transaction = commit->transaction;
	struct envelope_options options = {
		.spec = (enum spec)transaction->repo->spec,
		.level = config_values(transaction->config)->compression_level,
	};

	return envelope_seal(&payload, 1, type, &options, out, err);
}

/* An amend replaces the tip: its log says what both changed. */
static int commit_merge_log(const struct commit *commit, struct buf *payload, struct error *err)
{
	const struct transaction *transaction = commit->transaction;
	CLEANUP(txlog_freep) struct txlog *older = NULL;
	CLEANUP(txlog_freep) struct txlog *newer = NULL;
	char name[ID12_TEXT_LEN + 1];
	int r;

	r = txlog_open(payload, &newer, err);
	if (r < 0)
		return r;
	r = txlog_load(transaction->repo->store, checkout_id(transaction->base), &older, err);
	if (r == REPO_ABSENT) {
		id12_format(checkout_id(transaction->base), name);
		return error_set(err, ERR_UNSUPPORTED,
				 "snapshot %s has no transaction log and cannot be amended", name);
	}
	return r < 0 ? r : txlog_merge(&commit->id, older, newer, payload, err);
}

/*
 * The log does not depend on the base, so one serves every attempt.  It is also the object that
 * proves the store's write conditions, before anything else is written.
 */
static int commit_write_log(struct commit *commit, struct error *err)
{
	CLEANUP(buf_done) struct buf payload = BUF_INIT(TXLOG_PAYLOAD_MAX);
	CLEANUP(buf_done) struct buf file = BUF_INIT(OBJECT_MAX);
	struct store *store = commit->transaction->repo->store;
	char key[KEY_MAX];
	int r;

	if (commit->log_is_written)
		return 0;
	r = flush_log(commit->transaction, &commit->id, &payload, err);
	if (r == 0 && commit->kind == COMMIT_AMEND)
		r = commit_merge_log(commit, &payload, err);
	if (r == 0)
		r = commit_seal(commit, FILE_TRANSACTION_LOG, buf_slice(&payload), &file, err);
	if (r < 0)
		return r;
	key_format(key, "transactions", &commit->id);
	if (conditions_are_proven(store))
		r = store_put(store, key, buf_slice(&file), err);
	else
		r = conditions_prove(store, key, buf_slice(&file), err);
	commit->log_is_written = r == 0;
	commit->flush.bytes += file.size;
	return r;
}

static void commit_remove(const struct commit *commit, const char *folder)
{
	struct error ignored = ERROR_INIT;
	char key[KEY_MAX];

	key_format(key, folder, &commit->id);
	store_remove(commit->transaction->repo->store, key, &ignored);
}

/* Other writers would take a snapshot of the future, or the past, for newer or older than it is. */
static int commit_check_clocks(struct commit *commit, const char *key, struct error *err)
{
	struct store *store = commit->transaction->repo->store;
	char here[TIME_TEXT_MAX], there[TIME_TEXT_MAX];
	struct store_info info = {0};
	int64_t apart;
	int r;

	if (commit->clocks_are_checked)
		return 0;
	r = store_head(store, key, &info, err);
	if (r == STORE_ABSENT)
		return error_set(err, ERR_NETWORK, "'%s' is gone right after it was written", key);
	if (r < 0)
		return r;
	commit->clocks_are_checked = true;
	apart = info.last_modified - (int64_t)commit->flushed_at;
	if (info.last_modified == 0 || (apart <= CLOCKS_MAX_APART && apart >= -CLOCKS_MAX_APART))
		return 0;
	commit_remove(commit, "snapshots");
	commit_remove(commit, "transactions");
	commit->log_is_written = false;
	time_format_seconds((int64_t)commit->flushed_at, here);
	time_format_seconds(info.last_modified, there);
	return error_set(err, ERR_UNSUPPORTED, "the clocks disagree: here it is %s, at '%s' %s",
			 here, store->url, there);
}

static int commit_write_snapshot(struct commit *commit, struct error *err)
{
	struct transaction *transaction = commit->transaction;
	CLEANUP(buf_done) struct buf file = BUF_INIT(OBJECT_MAX);
	uint64_t after = (uint64_t)checkout_flushed_at(transaction->base) + 1;
	struct json metadata;
	char key[KEY_MAX];
	int r;

	/* Times in a history grow strictly, whatever the clock does. */
	commit->flushed_at = (uint64_t)time_now();
	if (commit->flushed_at < after)
		commit->flushed_at = after;
	r = commit_set_metadata(commit, err);
	if (r == 0)
		r = json_parse(buf_slice(&commit->metadata), &metadata, err);
	if (r == 0)
		r = flush_snapshot(transaction, &commit->id, checkout_id(transaction->base),
				   commit->flushed_at, slice_text(commit->options->message),
				   &metadata, &file, err);
	if (r < 0)
		return r;
	key_format(key, "snapshots", &commit->id);
	r = store_put(transaction->repo->store, key, buf_slice(&file), err);
	commit->flush.bytes += file.size;
	return r < 0 ? r : commit_check_clocks(commit, key, err);
}

/* Where the branch is, in the state of this attempt. */
static int commit_tip(const struct commit *commit, struct id12 *ret_tip, struct error *err)
{
	struct repo_at at = {.branch = commit->transaction->branch};

	return repo_resolve(commit->transaction->repo, &at, ret_tip, err);
}

static int commit_refresh(struct commit *commit, struct error *err)
{
	struct repo *repo = commit->transaction->repo;
	int r;

	r = repo_refresh(repo, err);
	if (r < 0)
		return r;
	state_free(commit->state);
	commit->state = repo_state(repo);
	return state_check_writable(repo, commit->state, err);
}

static int moved_on(const struct commit *commit, const struct id12 *tip, struct error *err)
{
	char is[ID12_TEXT_LEN + 1], should[ID12_TEXT_LEN + 1];

	id12_format(tip, is);
	id12_format(checkout_id(commit->transaction->base), should);
	return error_set(err, ERR_CONFLICT, "branch '%s' has moved on from %s to %s",
			 commit->transaction->branch, should, is);
}

/* Puts the changes on top of the branch as it is now. */
static int commit_catch_up(struct commit *commit, bool *ret_moved, struct error *err)
{
	unsigned int most = commit->options->rebase_attempts ? commit->options->rebase_attempts
							     : REBASE_ATTEMPTS;
	struct transaction *transaction = commit->transaction;
	unsigned int landed;
	struct id12 tip;
	int r;

	*ret_moved = false;
	if (commit->kind == COMMIT_DETACHED)
		return 0;
	r = commit_tip(commit, &tip, err);
	if (r < 0 || id12_equal(&tip, checkout_id(transaction->base)))
		return r;
	if (commit->options->rebase == REBASE_NO || commit->kind == COMMIT_AMEND)
		return moved_on(commit, &tip, err);
	if (commit->rebases == most)
		return error_set(err, ERR_CONFLICT,
				 "branch '%s' has moved on again after %u rebases",
				 transaction->branch, most);
	*ret_moved = true;
	commit->rebases++;
	/* Withdrawn changes must not stand in the log. */
	if (commit->options->rebase == REBASE_THEIRS)
		commit->log_is_written = false;
	r = rebase(transaction, &tip, commit->options->rebase, &landed, err);
	commit->landed += landed;
	return r;
}

/*
 * As long as others land while it reads what they wrote: a look at the state costs less than a
 * snapshot that is written for nothing.
 */
static int commit_catch_up_fully(struct commit *commit, bool *ret_moved, struct error *err)
{
	bool locked = commit->transaction->repo->store->ops->locked, moved;
	int r;

	*ret_moved = false;
	for (int i = 0; i < CATCH_UP_MAX; i++) {
		r = commit_catch_up(commit, &moved, err);
		if (r < 0 || !moved)
			return r;
		*ret_moved = true;
		if (locked)
			return 0;
		r = commit_refresh(commit, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int commit_insert(struct commit *commit, struct repo_info *info, int32_t parent,
			 const struct id12 *pruned, uint32_t n_pruned, uint32_t *ret_i,
			 struct error *err)
{
	struct repo_snapshot snapshot = {
		.id = commit->id,
		.parent = parent,
		.flushed_at = commit->flushed_at,
		.message = slice_text(commit->options->message),
		.pruned = pruned,
		.n_pruned = n_pruned,
	};
	struct json metadata;
	int r;

	r = json_parse(buf_slice(&commit->metadata), &metadata, err);
	if (r == 0)
		r = repo_info_items(info, &metadata, &snapshot.metadata, &snapshot.n_metadata, err);
	return r < 0 ? r : repo_info_insert_snapshot(info, &snapshot, ret_i, err);
}

static int commit_update(void *argument, struct repo_info *info, uint64_t now,
			 struct repo_update *ret_update, struct error *err)
{
	struct commit *commit = argument;
	const struct transaction *transaction = commit->transaction;
	struct slice branch = slice_text(transaction->branch);
	const struct repo_snapshot *base;
	uint32_t b, i, at;
	bool amends = commit->kind == COMMIT_AMEND;
	int r;

	(void)now;
	if (repo_info_find_branch(info, branch, &b) != 0)
		return error_set(err, ERR_ABSENT, "there is no branch '%s'", transaction->branch);
	if (repo_info_find_snapshot(info, checkout_id(transaction->base), &i) != 0)
		return error_set(err, ERR_CONFLICT, "the base snapshot was removed meanwhile");
	base = &info->snapshots.items[i];
	if (commit->kind != COMMIT_DETACHED && info->branches.items[b].snapshot != i)
		return PUBLISH_LOST;
	if (amends && base->parent < 0)
		return error_set(err, ERR_ARGUMENT, "the first snapshot cannot be amended");
	*ret_update = (struct repo_update){
		.type = commit->kind == COMMIT_NEW ? UPDATE_NEW_COMMIT
			: amends		   ? UPDATE_COMMIT_AMENDED
						   : UPDATE_NEW_DETACHED_SNAPSHOT,
		.snapshot = commit->id,
	};
	if (commit->kind != COMMIT_DETACHED)
		ret_update->name = branch;
	if (amends)
		ret_update->previous = base->id;
	r = commit_insert(commit, info, amends ? base->parent : (int32_t)i,
			  amends ? base->pruned : NULL, amends ? base->n_pruned : 0, &at, err);
	if (r < 0 || commit->kind == COMMIT_DETACHED)
		return r;
	return repo_info_set_branch(info, branch, at, err);
}

static int commit_publish(struct commit *commit, struct error *err)
{
	struct transaction *transaction = commit->transaction;
	struct id12 actual;

	if (transaction->repo->spec == SPEC_2)
		return publish_once(transaction->repo, commit->state, &commit->publication, err);
	if (commit->kind == COMMIT_DETACHED)
		return 0;
	return publish_branch1(transaction->repo, transaction->branch,
			       checkout_id(transaction->base), &commit->id, &actual, err);
}

/*
 * The last part, under the lock of stores that have one: there nobody can come in between, so what
 * is cheap to redo is redone here.  PUBLISH_LOST when it has to start over.
 */
static int commit_finish(void *argument, struct error *err)
{
	struct commit *commit = argument;
	bool moved, needs_manifests = false;
	int r;

	if (!commit->is_fresh) {
		r = commit_refresh(commit, err);
		if (r < 0)
			return r;
		if (publish_landed(&commit->publication, commit->state))
			return 0;
	}
	r = commit_catch_up_fully(commit, &moved, err);
	if (r == 0 && moved)
		r = flush_is_needed(commit->transaction, &needs_manifests, err);
	if (r < 0)
		return r;
	if (needs_manifests)
		return PUBLISH_LOST;
	r = commit_write_log(commit, err);
	if (r == 0)
		r = commit_write_snapshot(commit, err);
	return r < 0 ? r : commit_publish(commit, err);
}

static int commit_attempt(struct commit *commit, struct error *err)
{
	struct store *store = commit->transaction->repo->store;
	uint64_t written = commit->flush.written;
	bool moved;
	int r;

	r = commit_refresh(commit, err);
	if (r == 0 && publish_landed(&commit->publication, commit->state))
		return 0;
	if (r == 0)
		r = commit_catch_up(commit, &moved, err);
	if (r == 0)
		r = commit_write_log(commit, err);
	if (r == 0)
		r = flush_manifests(&commit->flush, err);
	if (r < 0)
		return r;
	/* With a lock the state may only be trusted below it; else it is as old as what was
	 * written. */
	commit->is_fresh = !store->ops->locked && commit->flush.written == written;
	return store_locked(store, commit_finish, commit, err);
}

/* One attempt, timed; @ret_round seconds. */
static int commit_timed(struct commit *commit, double *ret_round, struct error *err)
{
	int64_t start = time_monotonic();
	int r = commit_attempt(commit, err);

	*ret_round = (double)(time_monotonic() - start) / 1e6;
	return r;
}

static int commit_loop(struct commit *commit, struct error *err)
{
	const struct config_retries *retries =
		&config_values(commit->transaction->config)->update_retries;
	struct repo *repo = commit->transaction->repo;
	unsigned int attempts = publish_attempts(retries);
	/* A store with a lock has a queue already. */
	bool takes_turns = !repo->store->ops->locked;

	if (takes_turns)
		contention_enter(&repo->contention);
	for (unsigned int i = 1;; i++) {
		unsigned int rebases = commit->rebases;
		double round;
		int r = commit_timed(commit, &round, err);

		if (r == 0 && takes_turns)
			contention_won(&repo->contention, round, commit->landed);
		if (r != PUBLISH_LOST)
			return r;
		/* Rebases have their own limit; this one is for races lost for other reasons. */
		attempts += commit->rebases - rebases;
		if (i >= attempts)
			return error_set(err, ERR_CONFLICT,
					 "branch '%s' cannot be updated after %u attempts",
					 commit->transaction->branch, i);
		if (takes_turns)
			contention_lost(&repo->contention, round, i, commit->landed);
	}
}

static int commit_check(const struct commit *commit, struct error *err)
{
	const struct transaction *transaction = commit->transaction;

	if (transaction->done)
		return error_set(err, ERR_ARGUMENT, "the transaction is committed already");
	if (transaction_is_empty(transaction) && !commit->options->allow_empty)
		return error_set(err, ERR_ARGUMENT, "there is nothing to commit");
	if (commit->kind == COMMIT_AMEND && transaction->repo->spec == SPEC_1)
		return error_set(err, ERR_UNSUPPORTED, "specification 1 cannot amend");
	return 0;
}

static int commit_run(struct transaction *transaction, const struct commit_options *options,
		      enum commit_kind kind, struct id12 *ret_id,
		      struct commit_counters *ret_counters, struct error *err)
{
	CLEANUP(commit_done)
	struct commit commit = {
		.transaction = transaction,
		.options = options,
		.kind = kind,
		.flush = {.transaction = transaction},
		.metadata = BUF_INIT(METADATA_MAX),
	};
	int r;

	commit.publication = (struct publication){.update = commit_update, .argument = &commit};
	r = commit_check(&commit, err);
	if (r == 0)
		r = id12_new(&commit.id, err);
	if (r == 0)
		r = commit_loop(&commit, err);
	if (r < 0)
		return r;
	transaction->done = true;
	*ret_id = commit.id;
	if (ret_counters)
		*ret_counters = (struct commit_counters){commit.rebases, commit.flush.written,
							 commit.flush.reused, commit.flush.bytes};
	return 0;
}

int transaction_commit(struct transaction *transaction, const struct commit_options *options,
		       struct id12 *ret_id, struct commit_counters *ret_counters, struct error *err)
{
	return commit_run(transaction, options, options->amend ? COMMIT_AMEND : COMMIT_NEW, ret_id,
			  ret_counters, err);
}

int transaction_flush(struct transaction *transaction, const struct commit_options *options,
		      struct id12 *ret_id, struct error *err)
{
	return commit_run(transaction, options, COMMIT_DETACHED, ret_id, NULL, err);
}
