/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/time.h"
#include "repo/changes.h"
#include "repo/publish.h"
#include "repo/refs.h"
#include "repo/sweep.h"

int sweep_tell(const struct sweep_options *options, bool goes, const char *name, const char *reason,
	       struct error *err)
{
	return options->each ? options->each(options->argument, goes, name, reason, err) : 0;
}

/* Spec 2: everything happens in the repo object. */
struct expiry2 {
	const struct sweep_options *options;
	struct sweep_result result;
};

enum fate { FATE_KEPT, FATE_ROOT, FATE_YOUNG, FATE_BRANCH, FATE_TAG, FATE_EXPIRED };

static const char *const fate_reasons[] = {
	[FATE_KEPT] = "kept",
	[FATE_ROOT] = "the first of its history",
	[FATE_YOUNG] = "not that old",
	[FATE_BRANCH] = "a branch points at it",
	[FATE_TAG] = "a tag points at it",
	[FATE_EXPIRED] = "older than that, and nothing points at it",
};

static bool is_old(const struct sweep_options *options, uint64_t flushed_at)
{
	return (int64_t)flushed_at < options->older_than;
}

static bool ref_goes(const struct repo_info *info, const struct repo_ref *ref, bool wanted,
		     const struct sweep_options *options)
{
	const struct repo_snapshot *tip = &info->snapshots.items[ref->snapshot];

	return wanted && tip->parent >= 0 && is_old(options, tip->flushed_at);
}

/* Decides on every snapshot. */
static void fates_decide(const struct repo_info *info, const struct sweep_options *options,
			 enum fate *fates)
{
	for (size_t i = 0; i < info->snapshots.n; i++) {
		const struct repo_snapshot *snapshot = &info->snapshots.items[i];

		if (snapshot->parent < 0)
			fates[i] = FATE_ROOT;
		else
			fates[i] =
				is_old(options, snapshot->flushed_at) ? FATE_EXPIRED : FATE_YOUNG;
	}
	for (size_t i = 0; i < info->branches.n; i++) {
		const struct repo_ref *ref = &info->branches.items[i];
		bool goes = ref_goes(info, ref, options->delete_expired_branches, options) &&
			    !slice_is(ref->name, MAIN_BRANCH);

		if (!goes && fates[ref->snapshot] == FATE_EXPIRED)
			fates[ref->snapshot] = FATE_BRANCH;
	}
	for (size_t i = 0; i < info->tags.n; i++) {
		const struct repo_ref *ref = &info->tags.items[i];

		if (!ref_goes(info, ref, options->delete_expired_tags, options) &&
		    fates[ref->snapshot] == FATE_EXPIRED)
			fates[ref->snapshot] = FATE_TAG;
	}
}

static int expiry_tell(const struct expiry2 *expiry, const struct repo_info *info,
		       const enum fate *fates, struct error *err)
{
	for (size_t i = 0; i < info->snapshots.n; i++) {
		char key[KEY_MAX];
		int r;

		if (!is_old(expiry->options, info->snapshots.items[i].flushed_at))
			continue;
		key_format(key, "snapshots", &info->snapshots.items[i].id);
		r = sweep_tell(expiry->options, fates[i] == FATE_EXPIRED, key,
			       fate_reasons[fates[i]], err);
		if (r < 0)
			return r;
	}
	return 0;
}

DEFINE_VEC(pruned_list, struct id12);

/*
 * The logs that a snapshot answers for once its ancestors are skipped: for each of them, oldest
 * first, those it answered for and its own; then the snapshot's.
 */
static int pruned_collect(const struct repo_info *info, uint32_t snapshot, struct pruned_list *list,
			  struct error *err)
{
	const struct repo_snapshot *at = &info->snapshots.items[snapshot];
	int r = 0;

	/* Newest first, turned round at the end. */
	for (uint32_t p = at->n_pruned; r == 0 && p-- > 0;)
		r = pruned_list_push(list, at->pruned[p], err);
	for (int32_t i = at->parent; r == 0 && i >= 0;) {
		const struct repo_snapshot *ancestor = &info->snapshots.items[i];

		if (ancestor->parent < 0)
			break;
		r = pruned_list_push(list, ancestor->id, err);
		for (uint32_t p = ancestor->n_pruned; r == 0 && p-- > 0;)
			r = pruned_list_push(list, ancestor->pruned[p], err);
		i = ancestor->parent;
	}
	for (size_t i = 0; i < list->n / 2; i++) {
		struct id12 spare = list->items[i];

		list->items[i] = list->items[list->n - 1 - i];
		list->items[list->n - 1 - i] = spare;
	}
	return r;
}

static int32_t root_of(const struct repo_info *info, int32_t i)
{
	while (info->snapshots.items[i].parent >= 0)
		i = info->snapshots.items[i].parent;
	return i;
}

/* Gives kept snapshots whose parent goes the root of their history for a parent. */
static int expiry_reparent(struct repo_info *info, const enum fate *fates, struct error *err)
{
	CLEANUP(freep) int32_t *parents = calloc(info->snapshots.n + 1, sizeof(*parents));

	if (!parents)
		return error_memory(err);
	/* All decided on the old parents first. */
	for (uint32_t i = 0; i < info->snapshots.n; i++) {
		int32_t parent = info->snapshots.items[i].parent;

		parents[i] = parent;
		if (fates[i] != FATE_EXPIRED && parent >= 0 && fates[parent] == FATE_EXPIRED)
			parents[i] = root_of(info, parent);
	}
	for (uint32_t i = 0; i < info->snapshots.n; i++) {
		CLEANUP(pruned_list_done) struct pruned_list pruned = {0};
		int r;

		if (parents[i] == info->snapshots.items[i].parent)
			continue;
		r = pruned_collect(info, i, &pruned, err);
		if (r == 0)
			r = repo_info_set_pruned(info, i, pruned.items, (uint32_t)pruned.n, err);
		if (r < 0)
			return r;
	}
	for (uint32_t i = 0; i < info->snapshots.n; i++)
		info->snapshots.items[i].parent = parents[i];
	return 0;
}

static int expiry_delete_branches(struct expiry2 *expiry, struct repo_info *info, struct error *err)
{
	for (size_t i = info->branches.n; i-- > 0;) {
		struct repo_ref ref = info->branches.items[i];
		CLEANUP(freep) char *name = NULL;
		int r;

		if (!ref_goes(info, &ref, expiry->options->delete_expired_branches,
			      expiry->options) ||
		    slice_is(ref.name, MAIN_BRANCH))
			continue;
		name = text_printf(err, "branch %.*s", (int)ref.name.size,
				   (const char *)ref.name.data);
		if (!name)
			return ERR_MEMORY;
		r = sweep_tell(expiry->options, true, name, "its tip is older than that", err);
		if (r == 0)
			r = repo_info_delete_branch(info, ref.name, err);
		if (r < 0)
			return r;
		expiry->result.n_branches++;
	}
	return 0;
}

static int expiry_delete_tags(struct expiry2 *expiry, struct repo_info *info, struct error *err)
{
	for (size_t i = info->tags.n; i-- > 0;) {
		struct repo_ref ref = info->tags.items[i];
		CLEANUP(freep) char *name = NULL;
		int r;

		if (!ref_goes(info, &ref, expiry->options->delete_expired_tags, expiry->options))
			continue;
		name = text_printf(err, "tag %.*s", (int)ref.name.size,
				   (const char *)ref.name.data);
		if (!name)
			return ERR_MEMORY;
		r = sweep_tell(expiry->options, true, name, "its snapshot is older than that", err);
		if (r == 0)
			r = repo_info_delete_tag(info, ref.name, err);
		if (r < 0)
			return r;
		expiry->result.n_tags++;
	}
	return 0;
}

static int expiry_update(void *argument, struct repo_info *info, uint64_t now,
			 struct repo_update *ret_update, struct error *err)
{
	struct expiry2 *expiry = argument;
	CLEANUP(freep) enum fate *fates = calloc(info->snapshots.n + 1, sizeof(*fates));
	CLEANUP(freep) bool *keep = calloc(info->snapshots.n + 1, sizeof(*keep));
	int r;

	(void)now;
	if (!fates || !keep)
		return error_memory(err);
	expiry->result = (struct sweep_result){0};
	fates_decide(info, expiry->options, fates);
	for (size_t i = 0; i < info->snapshots.n; i++) {
		keep[i] = fates[i] != FATE_EXPIRED;
		expiry->result.n_snapshots += !keep[i];
	}
	r = expiry_tell(expiry, info, fates, err);
	if (r == 0)
		r = expiry_reparent(info, fates, err);
	if (r == 0)
		r = expiry_delete_branches(expiry, info, err);
	if (r == 0)
		r = expiry_delete_tags(expiry, info, err);
	if (r < 0)
		return r;
	if (expiry->options->dry_run || (expiry->result.n_snapshots == 0 &&
					 expiry->result.n_branches + expiry->result.n_tags == 0))
		return PUBLISH_NOTHING;
	*ret_update = (struct repo_update){.type = UPDATE_EXPIRATION_RAN};
	return repo_info_remove_snapshots(info, keep, err);
}

/* Spec 1: every reference by itself; snapshot files are written again with another parent. */
struct expiry1 {
	struct repo *repo;
	const struct sweep_options *options;
	struct sweep_result result;
	struct id_set expired; /* counted once, however many references lead there */
};

/* The oldest snapshot of a history that is not expired, and the root. */
struct walk1 {
	struct expiry1 *expiry;
	bool any_kept;
	struct id12 oldest_kept, root;
	bool oldest_has_parent;
	struct id12 oldest_parent;
};

static int walk1_entry(void *argument, const struct history_entry *entry, struct error *err)
{
	struct walk1 *walk = argument;

	(void)err;
	if (!is_old(walk->expiry->options, (uint64_t)entry->written_at)) {
		walk->any_kept = true;
		walk->oldest_kept = entry->id;
		walk->oldest_has_parent = entry->has_parent;
		walk->oldest_parent = entry->parent;
	}
	walk->root = entry->id;
	return 0;
}

/* Tells of what lies between the oldest kept snapshot and the root. */
static int walk1_tell(void *argument, const struct history_entry *entry, struct error *err)
{
	struct walk1 *walk = argument;
	struct expiry1 *expiry = walk->expiry;
	char key[KEY_MAX];
	int r;

	if (!entry->has_parent || !is_old(expiry->options, (uint64_t)entry->written_at))
		return 0;
	r = id_set_add(&expiry->expired, &entry->id, err);
	if (r <= 0)
		return r;
	expiry->result.n_snapshots++;
	key_format(key, "snapshots", &entry->id);
	return sweep_tell(expiry->options, true, key, fate_reasons[FATE_EXPIRED], err);
}

/* Writes the snapshot again under its id, with @parent. */
static int snapshot1_reparent(struct repo *repo, const struct id12 *id, const struct id12 *parent,
			      struct error *err)
{
	CLEANUP(buf_done) struct buf metadata = BUF_INIT(CONFIG_TEXT_MAX);
	CLEANUP(buf_done) struct buf file = BUF_INIT(OBJECT_MAX);
	CLEANUP(state_freep) struct state *state = repo_state(repo);
	struct transaction unchanged = {.repo = repo};
	struct json value;
	char key[KEY_MAX];
	int r;

	r = repo_checkout(repo, id, &unchanged.base, err);
	if (r < 0)
		return r;
	r = state_config(repo, state, &unchanged.config, err);
	if (r == 0)
		r = snapshot_metadata_json(unchanged.base->snapshot, &metadata, err);
	if (r == 0)
		r = json_parse(buf_slice(&metadata), &value, err);
	if (r == 0)
		r = flush_snapshot(&unchanged, id, parent,
				   snapshot_flushed_at(unchanged.base->snapshot),
				   snapshot_message(unchanged.base->snapshot), &value, &file, err);
	checkout_free(unchanged.base);
	if (r < 0)
		return r;
	key_format(key, "snapshots", id);
	return store_put(repo->store, key, buf_slice(&file), err);
}

static int expire_history1(struct expiry1 *expiry, const struct id12 *tip, bool *ret_tip_is_old,
			   struct error *err)
{
	struct walk1 walk = {.expiry = expiry};
	int r;

	r = repo_history(expiry->repo, tip, walk1_entry, &walk, err);
	if (r < 0)
		return r;
	*ret_tip_is_old = !walk.any_kept && !id12_equal(tip, &walk.root);
	if (!walk.any_kept || !walk.oldest_has_parent ||
	    id12_equal(&walk.oldest_parent, &walk.root))
		return 0;
	r = repo_history(expiry->repo, &walk.oldest_parent, walk1_tell, &walk, err);
	if (r < 0 || expiry->options->dry_run)
		return r;
	return snapshot1_reparent(expiry->repo, &walk.oldest_kept, &walk.root, err);
}

static int expire_ref1(struct expiry1 *expiry, const struct ref1 *ref, struct error *err)
{
	bool is_branch = ref->kind == REF1_BRANCH, tip_is_old, wanted;
	CLEANUP(freep) char *name = NULL;
	struct id12 tip;
	int r;

	r = ref1_load(expiry->repo, ref->kind, ref->name, &tip, NULL, NULL, err);
	if (r != 0)
		return r < 0 ? r : 0;
	r = expire_history1(expiry, &tip, &tip_is_old, err);
	if (r < 0 || !tip_is_old)
		return r;
	wanted = is_branch ? expiry->options->delete_expired_branches &&
				     strcmp(ref->name, MAIN_BRANCH) != 0
			   : expiry->options->delete_expired_tags;
	name = text_printf(err, "%s %s", is_branch ? "branch" : "tag", ref->name);
	if (!name)
		return ERR_MEMORY;
	r = sweep_tell(expiry->options, wanted, name,
		       wanted ? "its tip is older than that"
			      : "its tip is older than that, and holds its history",
		       err);
	if (r < 0 || !wanted)
		return r;
	*(is_branch ? &expiry->result.n_branches : &expiry->result.n_tags) += 1;
	if (expiry->options->dry_run)
		return 0;
	return is_branch ? repo_branch_delete(expiry->repo, ref->name, err)
			 : repo_tag_delete(expiry->repo, ref->name, err);
}

static int expire1(struct repo *repo, const struct sweep_options *options,
		   struct sweep_result *ret_result, struct error *err)
{
	CLEANUP(ref1_list_free) struct ref1_list refs = {0};
	struct expiry1 expiry = {.repo = repo, .options = options, .expired = ID_SET_INIT};
	int r;

	r = ref1_list_load(repo, &refs, err);
	for (size_t i = 0; r == 0 && i < refs.n; i++) {
		if (!refs.items[i].deleted)
			r = expire_ref1(&expiry, &refs.items[i], err);
	}
	id_set_done(&expiry.expired);
	if (r == 0)
		*ret_result = expiry.result;
	return r;
}

int repo_expire(struct repo *repo, const struct sweep_options *options,
		struct sweep_result *ret_result, struct error *err)
{
	struct expiry2 expiry = {.options = options};
	struct publication publication = {.update = expiry_update, .argument = &expiry};
	CLEANUP(state_freep) struct state *state = repo_state(repo);
	int r;

	r = options->dry_run ? 0 : state_check_writable(repo, state, err);
	if (r < 0)
		return r;
	if (repo->spec == SPEC_1)
		return expire1(repo, options, ret_result, err);
	publication.any_status = options->dry_run;
	r = publish(repo, &publication, err);
	if (r < 0)
		return r;
	*ret_result = expiry.result;
	return 0;
}
