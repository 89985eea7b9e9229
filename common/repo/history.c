/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "repo/internal.h"

#define METADATA_MAX (UINT64_C(64) << 20)

typedef int (*history_fn)(void *argument, const struct history_entry *entry, struct error *err);

static int history_call(history_fn each, void *argument, struct history_entry *entry,
			struct slice message, struct error *err)
{
	CLEANUP(freep) char *text = slice_dup(message, err);

	if (!text)
		return ERR_MEMORY;
	entry->message = text;
	return each(argument, entry, err);
}

/* The repo object holds the whole history; its parser has refused cycles. */
static int history2(const struct repo_info *info, const struct id12 *id, history_fn each,
		    void *argument, struct error *err)
{
	char name[ID12_TEXT_LEN + 1];
	uint32_t i;

	if (repo_info_find_snapshot(info, id, &i) != 0) {
		id12_format(id, name);
		return error_set(err, ERR_ABSENT, "there is no snapshot '%s'", name);
	}
	for (;;) {
		const struct repo_snapshot *at = &info->snapshots.items[i];
		CLEANUP(buf_done) struct buf metadata = BUF_INIT(METADATA_MAX);
		struct history_entry entry = {.id = at->id, .written_at = (int64_t)at->flushed_at};
		int r;

		r = metadata_items_json(SPEC_2, at->metadata, at->n_metadata, &metadata, err);
		if (r < 0)
			return r;
		entry.metadata = buf_slice(&metadata);
		if (at->parent >= 0) {
			entry.has_parent = true;
			entry.parent = info->snapshots.items[at->parent].id;
		}
		r = history_call(each, argument, &entry, at->message, err);
		if (r < 0)
			return r;
		if (at->parent < 0)
			return 0;
		i = (uint32_t)at->parent;
	}
}

static int history1_entry(const struct snapshot *snapshot, history_fn each, void *argument,
			  struct error *err)
{
	CLEANUP(buf_done) struct buf metadata = BUF_INIT(METADATA_MAX);
	const struct id12 *parent = snapshot_parent(snapshot);
	struct history_entry entry = {.id = *snapshot_id(snapshot)};
	int r;

	r = snapshot_metadata_json(snapshot, &metadata, err);
	if (r < 0)
		return r;
	entry.written_at = (int64_t)snapshot_flushed_at(snapshot);
	entry.metadata = buf_slice(&metadata);
	if (parent) {
		entry.has_parent = true;
		entry.parent = *parent;
	}
	return history_call(each, argument, &entry, snapshot_message(snapshot), err);
}

/* Follows the parents in the snapshot files.  Brent's method finds a cycle without a list. */
static int history1(struct repo *repo, const struct id12 *id, history_fn each, void *argument,
		    struct error *err)
{
	struct id12 next = *id, mark = *id;
	uint64_t steps = 0, until = 1;

	for (;;) {
		CLEANUP(snapshot_freep) struct snapshot *snapshot = NULL;
		const struct id12 *parent;
		int r;

		r = snapshot_load(repo->store, &next, &snapshot, err);
		if (r == 0)
			r = history1_entry(snapshot, each, argument, err);
		if (r < 0)
			return r;
		parent = snapshot_parent(snapshot);
		if (!parent)
			return 0;
		next = *parent;
		if (id12_equal(&next, &mark))
			return error_set(err, ERR_FORMAT, "the history is a circle of snapshots");
		if (++steps == until) {
			mark = next;
			until *= 2;
		}
	}
}

int ancestry1_collect(struct repo *repo, const struct id12 *id, struct id_set *seen,
		      struct error *err)
{
	struct id12 next = *id;

	for (;;) {
		CLEANUP(snapshot_freep) struct snapshot *snapshot = NULL;
		int r;

		r = id_set_add(seen, &next, err);
		if (r <= 0)
			return r;
		r = snapshot_load(repo->store, &next, &snapshot, err);
		if (r < 0)
			return r;
		if (!snapshot_parent(snapshot))
			return 0;
		next = *snapshot_parent(snapshot);
	}
}

int repo_history(struct repo *repo, const struct id12 *id,
		 int (*each)(void *argument, const struct history_entry *entry, struct error *err),
		 void *argument, struct error *err)
{
	CLEANUP(state_freep) struct state *state = repo_state(repo);

	if (state->info)
		return history2(state->info, id, each, argument, err);
	return history1(repo, id, each, argument, err);
}
