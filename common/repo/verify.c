/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/json.h"
#include "base/pool.h"
#include "base/vec.h"
#include "repo/internal.h"
#include "repo/location.h"
#include "repo/maintain.h"
#include "repo/stringset.h"

#define VERIFY_THREADS 16

/* A stored object whose name is an id. */
struct stored {
	struct id12 id;
	uint64_t size;
	bool is_used;
};
DEFINE_VEC(stored_list, struct stored);

/* A manifest as one array uses it. */
struct use {
	struct manifest_info info;
	struct id8 node;
	char *path;
	uint32_t n_dims;
	struct extent *extents; /* none: everything */
	uint32_t *n_chunks;
};
DEFINE_VEC(use_list, struct use);

/* One object of a container, with how far references reach into it. */
struct reach {
	uint64_t end;
};
DEFINE_VEC(reach_list, struct reach);

struct verify {
	struct repo *repo;
	const struct verify_options *options;
	const struct config *config;
	struct verify_result result;
	pthread_mutex_t lock; /* of all below while threads run, and of findings */
	struct stored_list snapshots, logs, manifests, chunks; /* sorted by id */
	struct use_list uses;				       /* sorted by manifest */
	struct id_set seen;				       /* uses, by a hash */
	size_t *starts; /* where each manifest's uses begin, then the end */
	size_t n_manifests;
	struct strings locations;
	struct reach_list reaches; /* one a location */
	uint64_t done, total;
};

static void verify_done(struct verify *verify)
{
	for (size_t i = 0; i < verify->uses.n; i++) {
		free(verify->uses.items[i].path);
		free(verify->uses.items[i].extents);
		free(verify->uses.items[i].n_chunks);
	}
	use_list_done(&verify->uses);
	stored_list_done(&verify->snapshots);
	stored_list_done(&verify->logs);
	stored_list_done(&verify->manifests);
	stored_list_done(&verify->chunks);
	id_set_done(&verify->seen);
	free(verify->starts);
	strings_done(&verify->locations);
	reach_list_done(&verify->reaches);
	pthread_mutex_destroy(&verify->lock);
}

/* Tells of one finding; called with the lock held or by the only thread. */
static int tell(struct verify *verify, bool is_error, const char *object, const char *text,
		struct error *err)
{
	struct finding finding = {is_error, object, text};

	*(is_error ? &verify->result.n_errors : &verify->result.n_remarks) += 1;
	return verify->options->each
		       ? verify->options->each(verify->options->argument, &finding, err)
		       : 0;
}

static int found(struct verify *verify, bool is_error, const char *object, struct error *err,
		 const char *format, ...) __attribute__((format(printf, 5, 6)));

static int found(struct verify *verify, bool is_error, const char *object, struct error *err,
		 const char *format, ...)
{
	char text[512];
	va_list args;
	int r;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	pthread_mutex_lock(&verify->lock);
	r = tell(verify, is_error, object, text, err);
	pthread_mutex_unlock(&verify->lock);
	return r;
}

/* A failure to read becomes a finding, except for what makes the whole check worthless. */
static int found_failure(struct verify *verify, const char *object, const struct error *failure,
			 struct error *err)
{
	if (failure->kind != ERR_MEMORY && failure->kind != ERR_INTERRUPTED)
		return found(verify, true, object, err, "%s", failure->text);
	if (err)
		*err = *failure;
	return failure->kind;
}

static void progress(struct verify *verify, uint64_t done)
{
	pthread_mutex_lock(&verify->lock);
	verify->done += done;
	if (verify->options->progress)
		verify->options->progress(verify->options->argument, verify->done, verify->total);
	pthread_mutex_unlock(&verify->lock);
}

/* What is stored */

static int stored_compare(const void *a, const void *b)
{
	return id12_compare(&((const struct stored *)a)->id, &((const struct stored *)b)->id);
}

struct listing {
	struct verify *verify;
	const char *folder;
	struct stored_list *list;
};

static int listing_add(void *argument, const struct store_entry *entry, struct error *err)
{
	struct listing *listing = argument;
	struct stored stored = {.size = entry->info.size};
	const char *name = entry->key + strlen(listing->folder) + 1;

	if (entry->is_prefix || strlen(entry->key) <= strlen(listing->folder))
		return 0;
	if (id12_parse(name, &stored.id, NULL) < 0)
		return found(listing->verify, false, entry->key, err, "%s",
			     key_is_temporary(entry->key) ? "a killed writer left it unfinished"
							  : "its name is no id");
	return stored_list_push(listing->list, stored, err);
}

static int list_folder(struct verify *verify, const char *folder, struct stored_list *list,
		       struct error *err)
{
	struct listing listing = {verify, folder, list};
	char prefix[KEY_MAX];
	int r;

	snprintf(prefix, sizeof(prefix), "%s/", folder);
	r = store_list(verify->repo->store, prefix, false, listing_add, &listing, err);
	if (r == 0 && list->n)
		qsort(list->items, list->n, sizeof(struct stored), stored_compare);
	return r;
}

static struct stored *stored_find(const struct stored_list *list, const struct id12 *id)
{
	struct stored key = {.id = *id};

	return list->n ? bsearch(&key, list->items, list->n, sizeof(key), stored_compare) : NULL;
}

static void stored_use(struct stored_list *list, const struct id12 *id)
{
	struct stored *stored = stored_find(list, id);

	if (stored)
		stored->is_used = true;
}

static int tell_orphans(struct verify *verify, const char *folder, const struct stored_list *list,
			struct error *err)
{
	for (size_t i = 0; i < list->n; i++) {
		char key[KEY_MAX];
		int r;

		if (list->items[i].is_used)
			continue;
		verify->result.n_orphans++;
		key_format(key, folder, &list->items[i].id);
		r = found(verify, false, key, err, "nothing refers to it (%" PRIu64 " bytes)",
			  list->items[i].size);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Snapshots */

/* Notes that a node uses a manifest in this way; once for all snapshots that do. */
static int add_use(struct verify *verify, const struct snapshot *snapshot,
		   const struct snapshot_node *node, const struct manifest_ref *ref,
		   const char *key, struct error *err)
{
	CLEANUP(buf_done) struct buf signature = BUF_INIT(65536);
	struct use use = {.node = node->id, .n_dims = node->n_dims};
	uint8_t digest[SHA256_SIZE];
	struct id12 id;
	char name[ID12_TEXT_LEN + 1];
	int r;

	if (snapshot_find_manifest(snapshot, &ref->id, &use.info) != 0) {
		id12_format(&ref->id, name);
		return found(verify, true, key, err,
			     "'%.*s' uses manifest %s, which is not in the list",
			     (int)node->path.size, (const char *)node->path.data, name);
	}
	use.n_chunks = calloc(node->n_dims + 1, sizeof(*use.n_chunks));
	use.extents = calloc(ref->n_extents + 1, sizeof(*use.extents));
	use.path = slice_dup(node->path, err);
	r = use.n_chunks && use.extents && use.path ? 0 : error_memory(err);
	for (uint32_t i = 0; r == 0 && i < node->n_dims; i++)
		use.n_chunks[i] = node_dimension(node, i).n_chunks;
	if (r == 0)
		memcpy(use.extents, ref->extents, ref->n_extents * sizeof(*use.extents));
	if (r == 0)
		r = buf_append(&signature, &use.info.id, sizeof(use.info.id), err);
	if (r == 0)
		r = buf_append(&signature, &use.node, sizeof(use.node), err);
	if (r == 0)
		r = buf_append(&signature, use.extents, ref->n_extents * sizeof(*use.extents), err);
	if (r == 0)
		r = buf_append(&signature, use.n_chunks, node->n_dims * sizeof(*use.n_chunks), err);
	if (r == 0)
		r = sha256(buf_slice(&signature), digest, err);
	if (r == 0) {
		memcpy(id.bytes, digest, sizeof(id.bytes));
		r = id_set_add(&verify->seen, &id, err);
	}
	if (r == 1)
		r = use_list_push(&verify->uses, use, err);
	else
		r = r < 0 ? r : 1;
	if (r != 0) {
		free(use.path);
		free(use.extents);
		free(use.n_chunks);
	}
	return r < 0 ? r : 0;
}

static int check_boxes(struct verify *verify, const struct snapshot_node *node, const char *key,
		       struct error *err)
{
	for (uint32_t i = 1; i < node->n_manifests; i++) {
		struct manifest_ref a = node_manifest(node, i);

		for (uint32_t j = 0; j < i; j++) {
			struct manifest_ref b = node_manifest(node, j);
			bool apart = false;

			for (uint32_t d = 0; d < node->n_dims; d++)
				apart |= a.extents[d].to <= b.extents[d].from ||
					 b.extents[d].to <= a.extents[d].from;
			if (!apart)
				return found(verify, false, key, err,
					     "manifests of '%.*s' overlap; the first one counts",
					     (int)node->path.size, (const char *)node->path.data);
		}
	}
	return 0;
}

/* Is the node in a group, as the tree of paths asks?  Its parent may be implied. */
static int check_parent(struct verify *verify, const struct snapshot *snapshot,
			const struct snapshot_node *node, const char *key, struct error *err)
{
	struct slice path = node->path;
	uint32_t i;

	while (path.size > 1) {
		while (path.size > 1 && path.data[path.size - 1] != '/')
			path.size--;
		path.size -= path.size > 1;
		if (snapshot_find(snapshot, path, &i) != 0)
			continue;
		if (snapshot_node(snapshot, i).type == NODE_ARRAY)
			return found(verify, true, key, err, "'%.*s' is inside array '%.*s'",
				     (int)node->path.size, (const char *)node->path.data,
				     (int)path.size, (const char *)path.data);
		return 0;
	}
	return 0;
}

static int check_nodes(struct verify *verify, const struct snapshot *snapshot, const char *key,
		       struct error *err)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < snapshot_n_nodes(snapshot); i++) {
		struct snapshot_node node = snapshot_node(snapshot, i);
		struct json document;
		struct error failure = ERROR_INIT;

		if (json_parse(node.document, &document, &failure) < 0)
			r = found(verify, true, key, err, "zarr.json of '%.*s': %s",
				  (int)node.path.size, (const char *)node.path.data, failure.text);
		if (r == 0)
			r = check_parent(verify, snapshot, &node, key, err);
		if (r == 0)
			r = check_boxes(verify, &node, key, err);
		for (uint32_t m = 0; r == 0 && m < node.n_manifests; m++) {
			struct manifest_ref ref = node_manifest(&node, m);

			r = add_use(verify, snapshot, &node, &ref, key, err);
		}
	}
	return r;
}

static int check_log(struct verify *verify, const struct id12 *id, bool may_lack, struct error *err)
{
	CLEANUP(txlog_freep) struct txlog *log = NULL;
	struct error failure = ERROR_INIT;
	char key[KEY_MAX];
	int r;

	stored_use(&verify->logs, id);
	key_format(key, "transactions", id);
	r = txlog_load(verify->repo->store, id, &log, &failure);
	if (r == REPO_ABSENT)
		return may_lack ? 0
				: found(verify, true, key, err,
					"it is missing: what was committed cannot be rebased on");
	return r < 0 ? found_failure(verify, key, &failure, err) : 0;
}

/* One snapshot with all it says.  @listed is its entry in the repo object, NULL in spec 1. */
static int check_snapshot(struct verify *verify, const struct id12 *id,
			  const struct repo_snapshot *listed, struct error *err)
{
	CLEANUP(snapshot_freep) struct snapshot *snapshot = NULL;
	struct error failure = ERROR_INIT;
	char key[KEY_MAX];
	int r;

	stored_use(&verify->snapshots, id);
	key_format(key, "snapshots", id);
	r = snapshot_load(verify->repo->store, id, &snapshot, &failure);
	verify->result.n_snapshots++;
	if (r < 0)
		return found_failure(verify, key, &failure, err);
	r = 0;
	if (listed && listed->flushed_at != snapshot_flushed_at(snapshot))
		r = found(verify, true, key, err,
			  "its time is not the one that the repo object has");
	if (r == 0 && listed && !slice_equal(listed->message, snapshot_message(snapshot)))
		r = found(verify, true, key, err,
			  "its message is not the one that the repo object has");
	if (r == 0)
		r = check_nodes(verify, snapshot, key, err);
	/* Spec 1 writes no log for the first snapshot, and migration adds none. */
	if (r == 0)
		r = check_log(verify, id,
			      snapshot_spec(snapshot) == SPEC_1 && !snapshot_parent(snapshot), err);
	return r;
}

static int check_times(struct verify *verify, const struct repo_info *info, struct error *err)
{
	for (size_t i = 0; i < info->snapshots.n; i++) {
		const struct repo_snapshot *snapshot = &info->snapshots.items[i];
		char key[KEY_MAX];
		int r;

		if (snapshot->parent < 0 ||
		    snapshot->flushed_at > info->snapshots.items[snapshot->parent].flushed_at)
			continue;
		key_format(key, "snapshots", &snapshot->id);
		r = found(verify, false, key, err, "it is not younger than its parent");
		if (r < 0)
			return r;
	}
	return 0;
}

static int check_leftovers(struct verify *verify, struct error *err)
{
	struct store_info info;
	int r = store_head(verify->repo->store, "refs/branch.main/ref.json", &info, err);

	if (r != 0)
		return r < 0 ? r : 0;
	return found(verify, false, "refs/branch.main/ref.json", err,
		     "left over from specification 1: old programs would still commit there");
}

static int check_all2(struct verify *verify, const struct repo_info *info, struct error *err)
{
	int r = check_leftovers(verify, err);

	if (r == 0)
		r = check_times(verify, info, err);
	for (size_t i = 0; r == 0 && i < info->snapshots.n; i++) {
		const struct repo_snapshot *snapshot = &info->snapshots.items[i];

		r = check_snapshot(verify, &snapshot->id, snapshot, err);
		for (uint32_t p = 0; r == 0 && p < snapshot->n_pruned; p++)
			r = check_log(verify, &snapshot->pruned[p], true, err);
	}
	return r;
}

/* Spec 1: from each reference back to the root, or to where a snapshot cannot be read. */
static int check_history1(struct verify *verify, const struct id12 *tip, struct id_set *seen,
			  struct error *err)
{
	CLEANUP(id_set_done) struct id_set walked = ID_SET_INIT;
	struct id12 next = *tip;

	for (;;) {
		CLEANUP(snapshot_freep) struct snapshot *snapshot = NULL;
		struct error failure = ERROR_INIT;
		char key[KEY_MAX];
		int r;

		key_format(key, "snapshots", &next);
		if (id_set_has(&walked, &next))
			return found(verify, true, key, err, "the snapshot is its own ancestor");
		r = id_set_add(&walked, &next, err);
		if (r >= 0)
			r = id_set_add(seen, &next, err);
		if (r <= 0)
			return r;
		r = check_snapshot(verify, &next, NULL, err);
		if (r < 0 || snapshot_load(verify->repo->store, &next, &snapshot, &failure) < 0 ||
		    !snapshot_parent(snapshot))
			return r;
		next = *snapshot_parent(snapshot);
	}
}

static int check_all1(struct verify *verify, struct error *err)
{
	CLEANUP(ref1_list_free) struct ref1_list refs = {0};
	CLEANUP(id_set_done) struct id_set seen = ID_SET_INIT;
	int r;

	r = ref1_list_load(verify->repo, &refs, err);
	for (size_t i = 0; r == 0 && i < refs.n; i++) {
		const struct ref1 *ref = &refs.items[i];
		struct error failure = ERROR_INIT;
		struct id12 tip;

		if (ref->deleted)
			continue;
		r = ref1_load(verify->repo, ref->kind, ref->name, &tip, NULL, NULL, &failure);
		if (r < 0)
			r = found_failure(verify, ref->key, &failure, err);
		else if (r == 0)
			r = check_history1(verify, &tip, &seen, err);
		else
			r = 0;
	}
	return r;
}

/* Manifests */

static int check_native(struct verify *verify, const struct use *use, const char *key,
			const struct chunk_ref *ref, struct error *err)
{
	struct stored *stored = stored_find(&verify->chunks, &ref->chunk_id);
	char name[ID12_TEXT_LEN + 1];

	id12_format(&ref->chunk_id, name);
	if (!stored)
		return found(verify, true, key, err, "'%s' needs chunks/%s, which is missing",
			     use->path, name);
	if (ref->offset > stored->size || ref->length > stored->size - ref->offset)
		return found(verify, true, key, err,
			     "'%s' needs bytes up to %" PRIu64 " of chunks/%s, which has %" PRIu64,
			     use->path, ref->offset + ref->length, name, stored->size);
	pthread_mutex_lock(&verify->lock);
	stored->is_used = true;
	verify->result.n_chunks++;
	pthread_mutex_unlock(&verify->lock);
	return 0;
}

static bool is_registered(const struct verify *verify, struct slice text)
{
	const struct config_values *values = config_values(verify->config);
	struct location location;

	if (location_split(text, &location, NULL) < 0)
		return false;
	for (uint32_t i = 0; i < values->n_containers; i++) {
		const struct container *container = &values->containers[i];

		if (container->invalid)
			continue;
		if (location_scheme_is(&location, "vcc")
			    ? container->name && slice_is(location.authority, container->name)
			    : location_covers(slice_text(container->url_prefix), text))
			return true;
	}
	return false;
}

/* Notes the location; one that is new is checked against the containers. */
static int check_virtual(struct verify *verify, const char *key, const struct chunk_ref *ref,
			 struct error *err)
{
	struct strings *locations = &verify->locations;
	struct reach reach = {.end = 0};
	size_t before;
	uint32_t number;
	bool is_new;
	int r;

	pthread_mutex_lock(&verify->lock);
	before = locations->n;
	r = strings_add(locations, ref->location, &number, err);
	is_new = locations->n > before;
	if (r == 0 && is_new)
		r = reach_list_push(&verify->reaches, reach, err);
	if (r == 0 && verify->reaches.items[number - 1].end < ref->offset + ref->length)
		verify->reaches.items[number - 1].end = ref->offset + ref->length;
	pthread_mutex_unlock(&verify->lock);
	if (r < 0 || !is_new || is_registered(verify, ref->location))
		return r;
	return found(verify, true, key, err, "location '%.*s' is in no container",
		     (int)ref->location.size, (const char *)ref->location.data);
}

static bool index_is_in(const struct use *use, const uint32_t *index, bool *ret_in_grid)
{
	bool in_box = true;

	*ret_in_grid = true;
	for (uint32_t i = 0; i < use->n_dims; i++) {
		if (index[i] < use->extents[i].from || index[i] >= use->extents[i].to)
			in_box = false;
		if (index[i] >= use->n_chunks[i])
			*ret_in_grid = false;
	}
	return in_box;
}

struct counts {
	uint64_t out_of_box, out_of_grid;
};

static int check_ref(struct verify *verify, const struct use *use, const char *key,
		     const struct chunk_ref *ref, struct counts *counts, struct error *err)
{
	bool in_grid;

	if (ref->n_dims != use->n_dims)
		return found(verify, true, key, err,
			     "a reference of '%s' has %u coordinates, the array %u dimensions",
			     use->path, ref->n_dims, use->n_dims);
	counts->out_of_box += !index_is_in(use, ref->index, &in_grid);
	counts->out_of_grid += !in_grid;
	if (ref->kind == CHUNK_NATIVE)
		return check_native(verify, use, key, ref, err);
	return ref->kind == CHUNK_VIRTUAL ? check_virtual(verify, key, ref, err) : 0;
}

static int check_use(struct verify *verify, const struct manifest *manifest, const struct use *use,
		     const char *key, struct error *err)
{
	struct manifest_array array;
	struct counts counts = {0};
	struct error failure = ERROR_INIT;
	struct manifest_iter iter;
	int r = 0;

	if (manifest_find_array(manifest, &use->node, &array) != 0)
		return found(verify, true, key, err, "it holds nothing of '%s'", use->path);
	manifest_iter_init(&iter, manifest, &array, 0);
	for (uint32_t i = 0; r == 0 && i < array.n_refs; i++) {
		if (manifest_iter_next(&iter, &failure) < 0)
			return found_failure(verify, key, &failure, err);
		r = check_ref(verify, use, key, &iter.ref, &counts, err);
	}
	pthread_mutex_lock(&verify->lock);
	verify->result.n_refs += array.n_refs;
	pthread_mutex_unlock(&verify->lock);
	if (r == 0 && counts.out_of_box)
		r = found(verify, true, key, err,
			  "%" PRIu64 " references of '%s' are outside the extents of its snapshot",
			  counts.out_of_box, use->path);
	if (r == 0 && counts.out_of_grid)
		r = found(verify, false, key, err, "%" PRIu64 " references are outside array '%s'",
			  counts.out_of_grid, use->path);
	return r;
}

/* The uses of one manifest lie next to each other. */
static int check_manifest(void *argument, size_t i, struct error *err)
{
	struct verify *verify = argument;
	const struct use *uses = &verify->uses.items[verify->starts[i]];
	size_t n = verify->starts[i + 1] - verify->starts[i];
	CLEANUP(manifest_freep) struct manifest *manifest = NULL;
	struct error failure = ERROR_INIT;
	char key[KEY_MAX];
	int r;

	key_format(key, "manifests", &uses[0].info.id);
	r = manifest_load(verify->repo->store, &uses[0].info.id, &uses[0].info, &manifest,
			  &failure);
	if (r == 0)
		r = manifest_verify(manifest, &failure);
	if (r < 0)
		return found_failure(verify, key, &failure, err);
	r = 0;
	if (manifest_n_refs(manifest) != uses[0].info.n_refs)
		r = found(verify, true, key, err,
			  "it holds %" PRIu64 " references, its snapshot says %" PRIu32,
			  manifest_n_refs(manifest), uses[0].info.n_refs);
	for (size_t u = 0; r == 0 && u < n; u++)
		r = check_use(verify, manifest, &uses[u], key, err);
	progress(verify, 1);
	return r;
}

static int use_compare(const void *a, const void *b)
{
	const struct use *x = a, *y = b;
	int order = id12_compare(&x->info.id, &y->info.id);

	return order ? order : id8_compare(&x->node, &y->node);
}

static int group_uses(struct verify *verify, struct error *err)
{
	const struct use_list *uses = &verify->uses;

	if (uses->n)
		qsort(uses->items, uses->n, sizeof(struct use), use_compare);
	verify->starts = calloc(uses->n + 2, sizeof(*verify->starts));
	if (!verify->starts)
		return error_memory(err);
	for (size_t i = 0; i < uses->n; i++) {
		if (i && id12_equal(&uses->items[i].info.id, &uses->items[i - 1].info.id))
			continue;
		verify->starts[verify->n_manifests++] = i;
		stored_use(&verify->manifests, &uses->items[i].info.id);
	}
	verify->starts[verify->n_manifests] = uses->n;
	verify->result.n_manifests = verify->n_manifests;
	return 0;
}

/* Virtual locations */

static int check_location(void *argument, size_t i, struct error *err)
{
	struct verify *verify = argument;
	struct slice text = strings_get(&verify->locations, (uint32_t)i + 1);
	CLEANUP(freep) char *name = slice_dup(text, err);
	struct error failure = ERROR_INIT;
	struct store_info info = {0};
	struct source source;
	int r;

	if (!name)
		return ERR_MEMORY;
	r = sources_find(verify->options->deep, text, &source, &failure);
	if (r == 0) {
		r = store_head(source.store, source.key, &info, &failure);
		free(source.key);
	}
	progress(verify, 1);
	if (r < 0)
		return found_failure(verify, name, &failure, err);
	if (r == STORE_ABSENT)
		return found(verify, true, name, err, "there is no such object");
	if (info.size < verify->reaches.items[i].end)
		return found(verify, true, name, err,
			     "it has %" PRIu64 " bytes, references go up to %" PRIu64, info.size,
			     verify->reaches.items[i].end);
	return 0;
}

static int verify_objects(struct verify *verify, struct error *err)
{
	CLEANUP(state_freep) struct state *state = repo_state(verify->repo);
	int r;

	r = state_config(verify->repo, state, &verify->config, err);
	if (r == 0)
		r = list_folder(verify, "snapshots", &verify->snapshots, err);
	if (r == 0)
		r = list_folder(verify, "transactions", &verify->logs, err);
	if (r == 0)
		r = list_folder(verify, "manifests", &verify->manifests, err);
	if (r == 0)
		r = list_folder(verify, "chunks", &verify->chunks, err);
	if (r == 0)
		r = state->info ? check_all2(verify, state->info, err) : check_all1(verify, err);
	if (r == 0)
		r = group_uses(verify, err);
	if (r < 0)
		return r;
	verify->total = verify->n_manifests;
	r = parallel_for(VERIFY_THREADS, verify->n_manifests, check_manifest, verify, err);
	if (r < 0 || !verify->options->deep)
		return r;
	verify->total += verify->locations.n;
	return parallel_for(VERIFY_THREADS, verify->locations.n, check_location, verify, err);
}

int repo_verify(struct repo *repo, const struct verify_options *options,
		struct verify_result *ret_result, struct error *err)
{
	CLEANUP(verify_done)
	struct verify verify = {
		.repo = repo,
		.options = options,
		.lock = PTHREAD_MUTEX_INITIALIZER,
	};
	int r;

	r = verify_objects(&verify, err);
	if (r == 0)
		r = tell_orphans(&verify, "snapshots", &verify.snapshots, err);
	if (r == 0)
		r = tell_orphans(&verify, "transactions", &verify.logs, err);
	if (r == 0)
		r = tell_orphans(&verify, "manifests", &verify.manifests, err);
	if (r == 0)
		r = tell_orphans(&verify, "chunks", &verify.chunks, err);
	if (r == 0)
		*ret_result = verify.result;
	return r;
}
