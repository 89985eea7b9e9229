/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/pool.h"
#include "repo/changes.h"

#define LOG_THREADS 16
#define CONFLICTS_SHOWN 3

/* One log to be looked at; several may belong to one commit (pruned ancestors come first). */
struct step {
	struct id12 log;
	struct id12 commit;
	bool is_last; /* of its commit: its own log */

	struct txlog *txlog;
};
DEFINE_VEC(step_list, struct step);

struct replay {
	struct transaction *transaction;
	enum rebase_mode mode;
	struct step_list steps; /* oldest first, once collected */
	unsigned int n_conflicts;
	char text[384]; /* the first of them */
};

static void replay_done(struct replay *replay)
{
	for (size_t i = 0; i < replay->steps.n; i++)
		txlog_free(replay->steps.items[i].txlog);
	step_list_done(&replay->steps);
}

static int rewritten(const struct replay *replay, struct error *err)
{
	char base[ID12_TEXT_LEN + 1];

	id12_format(checkout_id(replay->transaction->base), base);
	return error_set(err, ERR_CONFLICT,
			 "branch '%s' was rewritten: snapshot %s is no longer in its history",
			 replay->transaction->branch, base);
}

/* Newest first; turned round afterwards. */
static int collect2(struct replay *replay, const struct repo_info *info, const struct id12 *tip,
		    struct error *err)
{
	const struct id12 *base = checkout_id(replay->transaction->base);
	uint32_t i;

	if (repo_info_find_snapshot(info, tip, &i) != 0)
		return rewritten(replay, err);
	for (;;) {
		const struct repo_snapshot *at = &info->snapshots.items[i];
		struct step step = {.log = at->id, .commit = at->id, .is_last = true};
		int r;

		if (id12_equal(&at->id, base))
			return 0;
		if (at->parent < 0)
			return rewritten(replay, err);
		r = step_list_push(&replay->steps, step, err);
		for (uint32_t p = at->n_pruned; r == 0 && p-- > 0;) {
			step = (struct step){.log = at->pruned[p], .commit = at->id};
			r = step_list_push(&replay->steps, step, err);
		}
		if (r < 0)
			return r;
		i = (uint32_t)at->parent;
	}
}

static int collect1(struct replay *replay, const struct id12 *tip, struct error *err)
{
	const struct id12 *base = checkout_id(replay->transaction->base);
	CLEANUP(id_set_done) struct id_set seen = ID_SET_INIT;
	struct id12 next = *tip;

	while (!id12_equal(&next, base)) {
		CLEANUP(snapshot_freep) struct snapshot *snapshot = NULL;
		struct step step = {.log = next, .commit = next, .is_last = true};
		int r;

		r = id_set_add(&seen, &next, err);
		if (r == 1)
			r = snapshot_load(replay->transaction->repo->store, &next, &snapshot, err);
		else if (r == 0)
			return rewritten(replay, err);
		if (r == 0)
			r = step_list_push(&replay->steps, step, err);
		if (r < 0)
			return r;
		if (!snapshot_parent(snapshot))
			return rewritten(replay, err);
		next = *snapshot_parent(snapshot);
	}
	return 0;
}

static void turn_round(struct step_list *steps)
{
	for (size_t i = 0; i < steps->n / 2; i++) {
		struct step spare = steps->items[i];

		steps->items[i] = steps->items[steps->n - 1 - i];
		steps->items[steps->n - 1 - i] = spare;
	}
}

static int load_log(void *argument, size_t i, struct error *err)
{
	struct replay *replay = argument;
	struct step *step = &replay->steps.items[i];
	char name[ID12_TEXT_LEN + 1];
	int r;

	r = txlog_load(replay->transaction->repo->store, &step->log, &step->txlog, err);
	if (r != REPO_ABSENT)
		return r;
	id12_format(&step->log, name);
	return error_set(err, ERR_CONFLICT,
			 "what snapshot %s changed is not recorded, so that it may conflict", name);
}

static void conflict(struct replay *replay, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void conflict(struct replay *replay, const char *format, ...)
{
	size_t used = strlen(replay->text);
	va_list args;

	if (replay->n_conflicts++ >= CONFLICTS_SHOWN || used + 4 > sizeof(replay->text))
		return;
	if (used)
		used += (size_t)snprintf(replay->text + used, sizeof(replay->text) - used, "; ");
	va_start(args, format);
	vsnprintf(replay->text + used, sizeof(replay->text) - used, format, args);
	va_end(args);
}

static bool log_creates(const struct txlog *log)
{
	uint32_t groups, arrays;

	txlog_ids(log, TXLOG_NEW_GROUPS, &groups);
	txlog_ids(log, TXLOG_NEW_ARRAYS, &arrays);
	return groups || arrays;
}

static bool log_deletes(const struct txlog *log, const struct id8 *id)
{
	return txlog_has(log, TXLOG_DELETED_ARRAYS, id) || txlog_has(log, TXLOG_DELETED_GROUPS, id);
}

static bool log_deletes_any(const struct txlog *log)
{
	uint32_t groups, arrays;

	txlog_ids(log, TXLOG_DELETED_GROUPS, &groups);
	txlog_ids(log, TXLOG_DELETED_ARRAYS, &arrays);
	return groups || arrays;
}

/* The node at @path at that commit, unless this transaction deletes it. */
static bool there_is(const struct replay *replay, const struct snapshot *snapshot,
		     struct slice path, enum node_type *ret_type)
{
	struct snapshot_node node;
	uint32_t i, at;

	if (snapshot_find(snapshot, path, &i) != 0)
		return false;
	node = snapshot_node(snapshot, i);
	*ret_type = node.type;
	return !transaction_removes(replay->transaction, &node.id, &at);
}

static void check_new_node(struct replay *replay, const struct snapshot *snapshot,
			   const struct edit *edit)
{
	struct slice path = slice_text(edit->path);
	enum node_type type;

	if (there_is(replay, snapshot, path, &type))
		conflict(replay, "node '%s' was created by both", edit->path);
	while (path.size > 1) {
		while (path.data[path.size - 1] != '/')
			path.size--;
		path.size -= path.size > 1;
		if (there_is(replay, snapshot, path, &type) && type == NODE_ARRAY)
			conflict(replay, "'%s' would be inside array '%.*s'", edit->path,
				 (int)path.size, (const char *)path.data);
	}
}

/* Only a log that creates nodes can stand in the way of ours: else the snapshot is not needed. */
static int check_new_nodes(struct replay *replay, const struct step *step, struct error *err)
{
	const struct edit_list *edits = &replay->transaction->edits;
	CLEANUP(snapshot_freep) struct snapshot *snapshot = NULL;

	if (!log_creates(step->txlog))
		return 0;
	for (size_t i = 0; i < edits->n; i++) {
		if (!edits->items[i]->is_new)
			continue;
		if (!snapshot) {
			int r = snapshot_load(replay->transaction->repo->store, &step->commit,
					      &snapshot, err);

			if (r < 0)
				return r;
		}
		check_new_node(replay, snapshot, edits->items[i]);
	}
	return 0;
}

static void check_document_update(struct replay *replay, const struct txlog *log,
				  const struct edit *edit)
{
	if (!edit->has_document)
		return;
	if (log_deletes(log, &edit->id))
		conflict(replay, "'%s' was deleted, its document changed here", edit->path);
	else if (txlog_has(log, TXLOG_UPDATED_ARRAYS, &edit->id) ||
		 txlog_has(log, TXLOG_UPDATED_GROUPS, &edit->id))
		conflict(replay, "the document of '%s' was changed by both", edit->path);
}

static void conflict_chunk(struct replay *replay, const struct edit *edit, const uint32_t *index)
{
	char text[96] = "";
	size_t used = 0;

	for (uint32_t i = 0; i < edit->n_dims && used < sizeof(text) - 12; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%" PRIu32,
					 i ? "/" : "", index[i]);
	conflict(replay, "chunk %s of '%s' was written by both", text, edit->path);
}

/* Withdraws a change in favour of theirs; the manifest made with it is worth nothing. */
static void drop_change(struct edit *edit, struct change *change)
{
	change->order |= CHANGE_DROPPED;
	for (size_t i = 0; i < edit->flushed.n; i++) {
		struct flushed *flushed = &edit->flushed.items[i];

		if (flushed->has_changes && flushed->window == change->window)
			flushed->is_done = false;
	}
}

/* Calls for each chunk that both touched; @drop withdraws ours. */
static int each_common_chunk(struct replay *replay, const struct txlog *log, struct edit *edit,
			     bool drop, struct error *err)
{
	uint32_t array, n_chunks, n_dims;

	if (txlog_find_array(log, &edit->id, &array) != 0)
		return 0;
	txlog_array(log, array, &n_chunks);
	for (uint32_t i = 0; i < n_chunks; i++) {
		const uint32_t *index = txlog_chunk(log, array, i, &n_dims);
		struct change *change = NULL;
		uint64_t window;
		int r;

		if (n_dims != edit->n_dims)
			continue;
		if (windows_find(&edit->windows, index, &window) < 0)
			window = WINDOW_OUTSIDE;
		r = chunkset_find(&edit->chunks, window, index, &change, err);
		if (r < 0)
			return r;
		if (change && drop)
			drop_change(edit, change);
		else if (change)
			conflict_chunk(replay, edit, index);
	}
	return 0;
}

static int check_chunks(struct replay *replay, const struct txlog *log, struct edit *edit,
			struct error *err)
{
	if (!edit->has_windows || edit->chunks.n == 0)
		return 0;
	if (log_deletes(log, &edit->id))
		conflict(replay, "array '%s' was deleted, its chunks changed here", edit->path);
	else if (txlog_has(log, TXLOG_UPDATED_ARRAYS, &edit->id))
		conflict(replay, "the document of '%s' was changed, its chunks changed here",
			 edit->path);
	else if (replay->mode == REBASE_DETECT)
		return each_common_chunk(replay, log, edit, false, err);
	return 0;
}

static void check_deletes(struct replay *replay, const struct txlog *log)
{
	const struct removed_list *removed = &replay->transaction->removed;
	uint32_t array;

	for (size_t i = 0; replay->mode == REBASE_DETECT && i < removed->n; i++) {
		const struct id8 *id = &removed->items[i].id;

		if (txlog_has(log, TXLOG_UPDATED_ARRAYS, id) ||
		    txlog_has(log, TXLOG_UPDATED_GROUPS, id) ||
		    txlog_find_array(log, id, &array) == 0)
			conflict(replay, "'%s' was changed, and deleted here",
				 removed->items[i].path);
	}
}

static int check_step(struct replay *replay, const struct step *step, struct error *err)
{
	struct transaction *transaction = replay->transaction;
	const struct txlog *log = step->txlog;
	int r;

	if (txlog_n_moves(log))
		conflict(replay, "nodes were moved");
	if (transaction->moves.n && (log_creates(log) || log_deletes_any(log)))
		conflict(replay, "nodes were created or deleted, and moved here");
	r = check_new_nodes(replay, step, err);
	for (size_t i = 0; r == 0 && i < transaction->edits.n; i++) {
		struct edit *edit = transaction->edits.items[i];

		if (edit->is_new)
			continue;
		check_document_update(replay, log, edit);
		r = check_chunks(replay, log, edit, err);
	}
	check_deletes(replay, log);
	return r;
}

static int drop_chunks(struct replay *replay, const struct txlog *log, struct error *err)
{
	const struct edit_list *edits = &replay->transaction->edits;
	int r = 0;

	for (size_t i = 0; r == 0 && i < edits->n; i++) {
		struct edit *edit = edits->items[i];

		if (!edit->is_new && edit->has_windows && edit->chunks.n)
			r = each_common_chunk(replay, log, edit, true, err);
	}
	return r;
}

static int replay_step(struct replay *replay, const struct step *step, struct error *err)
{
	int r;

	r = check_step(replay, step, err);
	if (r < 0)
		return r;
	if (replay->n_conflicts)
		return error_set(err, ERR_CONFLICT, "branch '%s' has moved on: %s%s",
				 replay->transaction->branch, replay->text,
				 replay->n_conflicts > CONFLICTS_SHOWN ? "; and more" : "");
	return replay->mode == REBASE_THEIRS ? drop_chunks(replay, step->txlog, err) : 0;
}

static int set_base(struct transaction *transaction, const struct id12 *id, struct error *err)
{
	struct checkout *base;
	int r = repo_checkout(transaction->repo, id, &base, err);

	if (r < 0)
		return r;
	checkout_free(transaction->base);
	transaction->base = base;
	return 0;
}

static int replay_collect(struct replay *replay, const struct id12 *tip, struct error *err)
{
	CLEANUP(state_freep) struct state *state = repo_state(replay->transaction->repo);
	int r;

	if (state->info)
		r = collect2(replay, state->info, tip, err);
	else
		r = collect1(replay, tip, err);
	if (r < 0)
		return r;
	turn_round(&replay->steps);
	return parallel_for(LOG_THREADS, replay->steps.n, load_log, replay, err);
}

int rebase(struct transaction *transaction, const struct id12 *tip, enum rebase_mode mode,
	   unsigned int *ret_n_commits, struct error *err)
{
	CLEANUP(replay_done) struct replay replay = {.transaction = transaction, .mode = mode};
	struct error ignored = ERROR_INIT;
	const struct id12 *good = NULL;
	int r;

	*ret_n_commits = 0;
	r = replay_collect(&replay, tip, err);
	for (size_t i = 0; r == 0 && i < replay.steps.n; i++) {
		r = replay_step(&replay, &replay.steps.items[i], err);
		if (r == 0 && replay.steps.items[i].is_last) {
			good = &replay.steps.items[i].commit;
			++*ret_n_commits;
		}
	}
	if (r == 0)
		return set_base(transaction, tip, err);
	if (good && set_base(transaction, good, &ignored) < 0)
		log_event(LOG_DEBUG, "rebase", "%s", ignored.text);
	return r;
}
