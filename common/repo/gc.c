/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/pool.h"
#include "repo/publish.h"
#include "repo/sweep.h"

#define GC_THREADS 16

/* An object of one of the folders, as it was listed. */
struct listed {
	struct id12 id;
	uint64_t size;
	int64_t last_modified;
};
DEFINE_VEC(listed_list, struct listed);

/* What a killed writer left of an object that it had not finished. */
struct leftover {
	char key[KEY_MAX];
	uint64_t size;
	int64_t last_modified;
};

DEFINE_VEC(leftover_list, struct leftover);
DEFINE_VEC(info_list, struct manifest_info);
DEFINE_VEC(id_list, struct id12);

struct gc {
	struct repo *repo;
	const struct sweep_options *options;
	struct sweep_result result;
	struct listed_list snapshots; /* sorted by id */
	struct id_set keep_snapshots, keep_logs, keep_manifests, keep_chunks;
	struct info_list manifests; /* that are kept, once each */
	pthread_mutex_t lock;	    /* of keep_chunks */
};

static void gc_done(struct gc *gc)
{
	listed_list_done(&gc->snapshots);
	info_list_done(&gc->manifests);
	id_set_done(&gc->keep_snapshots);
	id_set_done(&gc->keep_logs);
	id_set_done(&gc->keep_manifests);
	id_set_done(&gc->keep_chunks);
	pthread_mutex_destroy(&gc->lock);
}

static int listed_compare(const void *a, const void *b)
{
	return id12_compare(&((const struct listed *)a)->id, &((const struct listed *)b)->id);
}

struct folder_listing {
	const char *folder;
	struct listed_list *list;
	struct leftover_list *leftovers; /* NULL = not asked for */
};

static int leftover_entry(void *argument, const struct store_entry *entry, struct error *err)
{
	struct leftover leftover = {.size = entry->info.size,
				    .last_modified = entry->info.last_modified};
	size_t size = strlen(entry->key);

	if (entry->is_prefix || !key_is_temporary(entry->key) || size >= sizeof(leftover.key))
		return 0;
	memcpy(leftover.key, entry->key, size + 1);
	return leftover_list_push(argument, leftover, err);
}

/* Objects whose names are neither ids nor leftovers are nobody's business. */
static int folder_entry(void *argument, const struct store_entry *entry, struct error *err)
{
	struct folder_listing *listing = argument;
	const char *name = entry->key + strlen(listing->folder) + 1;
	struct listed listed = {.size = entry->info.size,
				.last_modified = entry->info.last_modified};

	if (entry->is_prefix || strlen(entry->key) <= strlen(listing->folder))
		return 0;
	if (id12_parse(name, &listed.id, NULL) < 0)
		return listing->leftovers ? leftover_entry(listing->leftovers, entry, err) : 0;
	return listed_list_push(listing->list, listed, err);
}

static int folder_list(struct repo *repo, const char *folder, struct listed_list *list,
		       struct leftover_list *leftovers, struct error *err)
{
	struct folder_listing listing = {folder, list, leftovers};
	char prefix[KEY_MAX];
	int r;

	snprintf(prefix, sizeof(prefix), "%s/", folder);
	r = store_list(repo->store, prefix, false, folder_entry, &listing, err);
	if (r == 0 && list->n)
		qsort(list->items, list->n, sizeof(struct listed), listed_compare);
	return r;
}

static bool is_young(const struct gc *gc, int64_t last_modified)
{
	return last_modified >= gc->options->older_than;
}

/* A snapshot that was just written, or that the listing does not show yet, may be on its way. */
static bool snapshot_is_young(const struct gc *gc, const struct id12 *id)
{
	struct listed key = {.id = *id};
	const struct listed *found = gc->snapshots.n
					     ? bsearch(&key, gc->snapshots.items, gc->snapshots.n,
						       sizeof(key), listed_compare)
					     : NULL;

	return !found || is_young(gc, found->last_modified);
}

static void mark_ancestry(const struct repo_info *info, bool *keep, uint32_t tip)
{
	for (int32_t i = (int32_t)tip; i >= 0 && !keep[i]; i = info->snapshots.items[i].parent)
		keep[i] = true;
}

static void gc_mark(const struct gc *gc, const struct repo_info *info, bool *keep)
{
	for (size_t i = 0; i < info->branches.n; i++)
		mark_ancestry(info, keep, info->branches.items[i].snapshot);
	for (size_t i = 0; i < info->tags.n; i++)
		mark_ancestry(info, keep, info->tags.items[i].snapshot);
	for (uint32_t i = 0; i < info->snapshots.n; i++) {
		if (snapshot_is_young(gc, &info->snapshots.items[i].id))
			keep[i] = true;
	}
}

static int32_t kept_ancestor(const struct repo_info *info, const bool *keep, int32_t i)
{
	int32_t root = i;

	for (; i >= 0; i = info->snapshots.items[i].parent) {
		if (keep[i])
			return i;
		root = i;
	}
	return root;
}

/* The logs of dropped ancestors, oldest first, and then the snapshot's own list. */
static int gc_prune(struct repo_info *info, const bool *keep, uint32_t snapshot, struct error *err)
{
	CLEANUP(id_list_done) struct id_list list = {0};
	const struct repo_snapshot *at = &info->snapshots.items[snapshot];
	int r = 0;

	for (uint32_t p = at->n_pruned; r == 0 && p-- > 0;)
		r = id_list_push(&list, at->pruned[p], err);
	for (int32_t i = at->parent; r == 0 && i >= 0 && !keep[i];) {
		const struct repo_snapshot *dropped = &info->snapshots.items[i];

		r = id_list_push(&list, dropped->id, err);
		for (uint32_t p = dropped->n_pruned; r == 0 && p-- > 0;)
			r = id_list_push(&list, dropped->pruned[p], err);
		i = dropped->parent;
	}
	for (size_t i = 0; i < list.n / 2; i++) {
		struct id12 spare = list.items[i];

		list.items[i] = list.items[list.n - 1 - i];
		list.items[list.n - 1 - i] = spare;
	}
	return r < 0 ? r : repo_info_set_pruned(info, snapshot, list.items, (uint32_t)list.n, err);
}

/* A young snapshot may stand on one that goes. */
static int gc_reparent(struct repo_info *info, bool *keep, struct error *err)
{
	CLEANUP(freep) int32_t *parents = calloc(info->snapshots.n + 1, sizeof(*parents));

	if (!parents)
		return error_memory(err);
	for (uint32_t i = 0; i < info->snapshots.n; i++) {
		parents[i] = info->snapshots.items[i].parent;
		if (!keep[i] || parents[i] < 0 || keep[parents[i]])
			continue;
		parents[i] = kept_ancestor(info, keep, parents[i]);
		keep[parents[i]] = true;
	}
	for (uint32_t i = 0; i < info->snapshots.n; i++) {
		int r;

		if (parents[i] == info->snapshots.items[i].parent)
			continue;
		r = gc_prune(info, keep, i, err);
		if (r < 0)
			return r;
	}
	for (uint32_t i = 0; i < info->snapshots.n; i++)
		info->snapshots.items[i].parent = parents[i];
	return 0;
}

static int gc_remember(struct gc *gc, const struct repo_info *info, const bool *keep,
		       struct error *err)
{
	id_set_done(&gc->keep_snapshots);
	id_set_done(&gc->keep_logs);
	for (uint32_t i = 0; i < info->snapshots.n; i++) {
		const struct repo_snapshot *snapshot = &info->snapshots.items[i];
		int r;

		if (!keep[i])
			continue;
		r = id_set_add(&gc->keep_snapshots, &snapshot->id, err);
		if (r >= 0)
			r = id_set_add(&gc->keep_logs, &snapshot->id, err);
		for (uint32_t p = 0; r >= 0 && p < snapshot->n_pruned; p++)
			r = id_set_add(&gc->keep_logs, &snapshot->pruned[p], err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int gc_update(void *argument, struct repo_info *info, uint64_t now,
		     struct repo_update *ret_update, struct error *err)
{
	struct gc *gc = argument;
	CLEANUP(freep) bool *keep = calloc(info->snapshots.n + 1, sizeof(*keep));
	bool any = false;
	int r;

	(void)now;
	if (!keep)
		return error_memory(err);
	gc_mark(gc, info, keep);
	r = gc_reparent(info, keep, err);
	if (r == 0)
		r = gc_remember(gc, info, keep, err);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < info->snapshots.n; i++)
		any |= !keep[i];
	if (gc->options->dry_run || !any)
		return PUBLISH_NOTHING;
	*ret_update = (struct repo_update){.type = UPDATE_GC_RAN};
	return repo_info_remove_snapshots(info, keep, err);
}

/* Decides which snapshots stay; in spec 2 the others leave the repo object first. */
static int gc_roots(struct gc *gc, struct error *err)
{
	struct publication publication = {
		.update = gc_update, .argument = gc, .any_status = gc->options->dry_run};
	CLEANUP(ref1_list_free) struct ref1_list refs = {0};
	int r;

	if (gc->repo->spec == SPEC_2) {
		r = publish(gc->repo, &publication, err);
		return r < 0 ? r : 0;
	}
	r = ref1_list_load(gc->repo, &refs, err);
	for (size_t i = 0; r == 0 && i < refs.n; i++) {
		const struct ref1 *ref = &refs.items[i];
		struct id12 tip;

		if (ref->deleted)
			continue;
		r = ref1_load(gc->repo, ref->kind, ref->name, &tip, NULL, NULL, err);
		if (r == 0)
			r = ancestry1_collect(gc->repo, &tip, &gc->keep_snapshots, err);
		else if (r > 0)
			r = 0;
	}
	return r;
}

static bool log_is_kept(const struct gc *gc, const struct id12 *id)
{
	/* Spec 1 has no list of logs: each belongs to the snapshot of its name. */
	return id_set_has(&gc->keep_logs, id) || id_set_has(&gc->keep_snapshots, id);
}

static int gc_add_snapshot(struct gc *gc, const struct id12 *id, struct error *err)
{
	CLEANUP(snapshot_freep) struct snapshot *snapshot = NULL;
	int r;

	r = snapshot_load(gc->repo->store, id, &snapshot, err);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < snapshot_n_manifests(snapshot); i++) {
		struct manifest_info info = snapshot_manifest(snapshot, i);

		r = id_set_add(&gc->keep_manifests, &info.id, err);
		if (r > 0)
			r = info_list_push(&gc->manifests, info, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int gc_collect_snapshots(struct gc *gc, struct error *err)
{
	for (size_t i = 0; i < gc->keep_snapshots.n_slots; i++) {
		int r;

		if (!gc->keep_snapshots.used[i])
			continue;
		r = gc_add_snapshot(gc, &gc->keep_snapshots.slots[i], err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int gc_keep_chunk(struct gc *gc, const struct id12 *id, struct error *err)
{
	int r;

	pthread_mutex_lock(&gc->lock);
	r = id_set_add(&gc->keep_chunks, id, err);
	pthread_mutex_unlock(&gc->lock);
	return r < 0 ? r : 0;
}

static int gc_add_array(struct gc *gc, const struct manifest *manifest,
			const struct manifest_array *array, struct error *err)
{
	struct manifest_iter iter;
	int r;

	manifest_iter_init(&iter, manifest, array, 0);
	while ((r = manifest_iter_next(&iter, err)) == 0) {
		if (iter.ref.kind == CHUNK_NATIVE)
			r = gc_keep_chunk(gc, &iter.ref.chunk_id, err);
		if (r < 0)
			return r;
	}
	return r < 0 ? r : 0;
}

static int gc_add_manifest(void *argument, size_t i, struct error *err)
{
	struct gc *gc = argument;
	const struct manifest_info *info = &gc->manifests.items[i];
	CLEANUP(manifest_freep) struct manifest *manifest = NULL;
	int r;

	/* Without it nobody knows which chunks are in use: better nothing goes. */
	r = manifest_load(gc->repo->store, &info->id, info, &manifest, err);
	for (uint32_t a = 0; r == 0 && a < manifest_n_arrays(manifest); a++) {
		struct manifest_array array = manifest_array(manifest, a);

		r = gc_add_array(gc, manifest, &array, err);
	}
	return r;
}

/* One folder's turn: what goes, and how it is counted. */
struct sweep_folder {
	const char *name;
	bool (*is_kept)(const struct gc *gc, const struct id12 *id);
	size_t counter; /* offset in struct sweep_result */
};

static bool snapshot_is_kept(const struct gc *gc, const struct id12 *id)
{
	return id_set_has(&gc->keep_snapshots, id);
}

static bool manifest_is_kept(const struct gc *gc, const struct id12 *id)
{
	return id_set_has(&gc->keep_manifests, id);
}

static bool chunk_is_kept(const struct gc *gc, const struct id12 *id)
{
	return id_set_has(&gc->keep_chunks, id);
}

static const struct sweep_folder folders[] = {
	{"snapshots", snapshot_is_kept, offsetof(struct sweep_result, n_snapshots)},
	{"transactions", log_is_kept, offsetof(struct sweep_result, n_transactions)},
	{"manifests", manifest_is_kept, offsetof(struct sweep_result, n_manifests)},
	{"chunks", chunk_is_kept, offsetof(struct sweep_result, n_chunks)},
};

struct sweeping {
	struct gc *gc;
	const char *folder;
	struct id_list going;
};

static int sweep_remove(void *argument, size_t i, struct error *err)
{
	struct sweeping *sweeping = argument;
	char key[KEY_MAX];

	key_format(key, sweeping->folder, &sweeping->going.items[i]);
	return store_remove(sweeping->gc->repo->store, key, err);
}

static int sweep_look(struct sweeping *sweeping, const struct sweep_folder *folder,
		      const struct listed *listed, struct error *err)
{
	struct gc *gc = sweeping->gc;
	bool young = is_young(gc, listed->last_modified);
	char key[KEY_MAX];
	int r;

	if (folder->is_kept(gc, &listed->id))
		return 0;
	key_format(key, folder->name, &listed->id);
	r = sweep_tell(gc->options, !young, key,
		       young ? "nothing refers to it, but it is not that old"
			     : "nothing refers to it",
		       err);
	if (r < 0 || young)
		return r;
	*(uint64_t *)((char *)&gc->result + folder->counter) += 1;
	gc->result.bytes += listed->size;
	return id_list_push(&sweeping->going, listed->id, err);
}

/* The local driver renames a file when it is whole; killed before that, it leaves the file. */
static int sweep_leftovers(struct gc *gc, const struct leftover_list *list, struct error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < list->n; i++) {
		const struct leftover *leftover = &list->items[i];

		if (is_young(gc, leftover->last_modified))
			continue;
		r = sweep_tell(gc->options, true, leftover->key, "a killed writer left it", err);
		if (r == 0 && !gc->options->dry_run)
			r = store_remove(gc->repo->store, leftover->key, err);
		if (r == 0) {
			gc->result.n_leftovers++;
			gc->result.bytes += leftover->size;
		}
	}
	return r;
}

static int gc_sweep_root(struct gc *gc, struct error *err)
{
	CLEANUP(leftover_list_done) struct leftover_list leftovers = {0};
	int r = store_list(gc->repo->store, "repo#", true, leftover_entry, &leftovers, err);

	return r < 0 ? r : sweep_leftovers(gc, &leftovers, err);
}

static int gc_sweep(struct gc *gc, const struct sweep_folder *folder, struct error *err)
{
	CLEANUP(listed_list_done) struct listed_list list = {0};
	CLEANUP(leftover_list_done) struct leftover_list leftovers = {0};
	struct sweeping sweeping = {.gc = gc, .folder = folder->name};
	int r;

	r = folder_list(gc->repo, folder->name, &list, &leftovers, err);
	for (size_t i = 0; r == 0 && i < list.n; i++)
		r = sweep_look(&sweeping, folder, &list.items[i], err);
	if (r == 0 && !gc->options->dry_run)
		r = parallel_for(GC_THREADS, sweeping.going.n, sweep_remove, &sweeping, err);
	id_list_done(&sweeping.going);
	return r < 0 ? r : sweep_leftovers(gc, &leftovers, err);
}

static int gc_run(struct gc *gc, struct error *err)
{
	int r;

	r = folder_list(gc->repo, "snapshots", &gc->snapshots, NULL, err);
	if (r == 0)
		r = gc_roots(gc, err);
	if (r == 0)
		r = gc_collect_snapshots(gc, err);
	if (r == 0)
		r = parallel_for(GC_THREADS, gc->manifests.n, gc_add_manifest, gc, err);
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(folders); i++)
		r = gc_sweep(gc, &folders[i], err);
	return r < 0 ? r : gc_sweep_root(gc, err);
}

int repo_gc(struct repo *repo, const struct sweep_options *options, struct sweep_result *ret_result,
	    struct error *err)
{
	CLEANUP(gc_done)
	struct gc gc = {.repo = repo, .options = options, .lock = PTHREAD_MUTEX_INITIALIZER};
	CLEANUP(state_freep) struct state *state = repo_state(repo);
	int r;

	r = options->dry_run ? 0 : state_check_writable(repo, state, err);
	if (r == 0)
		r = gc_run(&gc, err);
	if (r == 0)
		*ret_result = gc.result;
	return r;
}
