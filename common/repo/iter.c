/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "repo/internal.h"

/* The references of one manifest, on their way into the common order. */
struct run {
	struct manifest_ref ref;
	uint32_t place; /* in the node's list: earlier boxes hide later ones */
	bool may_be_hidden;
	struct manifest_pin *pin;
	struct manifest_array array;
	uint32_t next;
	const uint32_t *index; /* of reference next, lent */
};

DEFINE_VEC(run_list, struct run);

struct chunk_iter {
	struct checkout *checkout;
	struct snapshot_node node;
	uint32_t *prefix;
	uint32_t n_prefix;
	struct run_list runs; /* sorted by the first index that the box allows */
	size_t n_begun;	      /* of these, how many have joined the heap */
	struct run **heap;
	size_t n_heap;
	struct manifest_pin *lent; /* of an exhausted run whose last chunk is lent */
	struct chunk chunk;
	struct error failure; /* stays: a walk that went on behind it would come up short */
};

static bool box_has_prefix(const struct manifest_ref *ref, const uint32_t *prefix, uint32_t n)
{
	for (uint32_t i = 0; i < n && i < ref->n_extents; i++) {
		if (prefix[i] < ref->extents[i].from || prefix[i] >= ref->extents[i].to)
			return false;
	}
	return true;
}

static int run_compare_box(const void *a, const void *b)
{
	const struct run *x = a, *y = b;
	uint32_t n = x->ref.n_extents < y->ref.n_extents ? x->ref.n_extents : y->ref.n_extents;

	for (uint32_t i = 0; i < n; i++) {
		if (x->ref.extents[i].from != y->ref.extents[i].from)
			return x->ref.extents[i].from < y->ref.extents[i].from ? -1 : 1;
	}
	if (x->ref.n_extents != y->ref.n_extents)
		return x->ref.n_extents < y->ref.n_extents ? -1 : 1;
	return x->place < y->place ? -1 : 1;
}

static int iter_add_runs(struct chunk_iter *iter, struct error *err)
{
	for (uint32_t i = 0; i < iter->node.n_manifests; i++) {
		struct run run = {.ref = node_manifest(&iter->node, i), .place = i};
		int r;

		if (!box_has_prefix(&run.ref, iter->prefix, iter->n_prefix))
			continue;
		r = run_list_push(&iter->runs, run, err);
		if (r < 0)
			return r;
	}
	if (iter->runs.n)
		qsort(iter->runs.items, iter->runs.n, sizeof(struct run), run_compare_box);
	iter->heap = calloc(iter->runs.n + 1, sizeof(struct run *));
	return iter->heap ? 0 : error_memory(err);
}

int chunk_iter_new(struct checkout *checkout, const struct node *node, const uint32_t *prefix,
		   uint32_t n_prefix, struct chunk_iter **ret_iter, struct error *err)
{
	CLEANUP(chunk_iter_freep) struct chunk_iter *iter = NULL;
	int r;

	if (n_prefix > node->n_dims)
		return error_set(err, ERR_ARGUMENT, "the array has %u dimensions, not %u",
				 node->n_dims, n_prefix);
	iter = calloc(1, sizeof(*iter));
	if (!iter)
		return error_memory(err);
	iter->checkout = checkout_ref(checkout);
	iter->node = snapshot_node(checkout->snapshot, node->number);
	iter->prefix = calloc(n_prefix + 1, sizeof(*prefix));
	if (!iter->prefix)
		return error_memory(err);
	if (n_prefix)
		memcpy(iter->prefix, prefix, n_prefix * sizeof(*prefix));
	iter->n_prefix = n_prefix;
	r = iter_add_runs(iter, err);
	if (r < 0)
		return r;
	*ret_iter = TAKE(iter);
	return 0;
}

struct chunk_iter *chunk_iter_free(struct chunk_iter *iter)
{
	if (!iter)
		return NULL;
	for (size_t i = 0; i < iter->runs.n; i++)
		manifest_unpin(iter->runs.items[i].pin);
	manifest_unpin(iter->lent);
	run_list_done(&iter->runs);
	free(iter->heap);
	free(iter->prefix);
	checkout_free(iter->checkout);
	free(iter);
	return NULL;
}

bool chunk_iter_is_loaded(const struct chunk_iter *iter)
{
	return iter->n_begun == iter->runs.n;
}

/* Looks at the reference the run has come to: 0, or REPO_END behind the last one of the prefix. */
static int run_look(struct chunk_iter *iter, struct run *run, struct error *err)
{
	uint32_t n_dims;
	int r;

	if (run->next >= run->array.n_refs)
		return REPO_END;
	r = manifest_index(manifest_pin_get(run->pin), &run->array, run->next, &run->index, &n_dims,
			   err);
	if (r < 0)
		return r;
	if (n_dims != iter->node.n_dims)
		return error_set(
			err, ERR_FORMAT,
			"a reference of '%.*s' has %u coordinates, its array %u dimensions",
			(int)iter->node.path.size, (const char *)iter->node.path.data, n_dims,
			iter->node.n_dims);
	if (iter->n_prefix && index_compare(run->index, iter->prefix, iter->n_prefix) != 0)
		return REPO_END;
	return 0;
}

static bool run_overlaps_earlier(const struct chunk_iter *iter, const struct run *run)
{
	for (uint32_t i = 0; i < run->place; i++) {
		struct manifest_ref other = node_manifest(&iter->node, i);
		bool apart = false;

		for (uint32_t d = 0; d < other.n_extents && d < run->ref.n_extents; d++)
			apart |= other.extents[d].to <= run->ref.extents[d].from ||
				 other.extents[d].from >= run->ref.extents[d].to;
		if (!apart)
			return true;
	}
	return false;
}

static bool run_before(const struct chunk_iter *iter, const struct run *a, const struct run *b)
{
	int order = index_compare(a->index, b->index, iter->node.n_dims);

	return order ? order < 0 : a->place < b->place;
}

static void heap_sift(struct chunk_iter *iter, size_t root)
{
	struct run **heap = iter->heap;

	for (;;) {
		size_t child = 2 * root + 1;
		struct run *spare;

		if (child >= iter->n_heap)
			return;
		if (child + 1 < iter->n_heap && run_before(iter, heap[child + 1], heap[child]))
			child++;
		if (!run_before(iter, heap[child], heap[root]))
			return;
		spare = heap[root];
		heap[root] = heap[child];
		heap[child] = spare;
		root = child;
	}
}

static void heap_push(struct chunk_iter *iter, struct run *run)
{
	size_t at = iter->n_heap++;

	while (at && run_before(iter, run, iter->heap[(at - 1) / 2])) {
		iter->heap[at] = iter->heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	iter->heap[at] = run;
}

/* Loads the run's manifest and lets it join in, unless it has nothing to say. */
static int run_begin(struct chunk_iter *iter, struct run *run, struct error *err)
{
	const struct manifest *manifest;
	int r;

	r = checkout_pin(iter->checkout, &run->ref, &run->pin, err);
	if (r < 0)
		return r;
	manifest = manifest_pin_get(run->pin);
	manifest_find_array(manifest, &iter->node.id, &run->array);
	if (run->array.n_refs && iter->n_prefix) {
		r = manifest_lower_bound(manifest, &run->array, iter->prefix, iter->n_prefix,
					 &run->next, err);
		if (r < 0)
			return r;
	}
	run->may_be_hidden = run_overlaps_earlier(iter, run);
	r = run_look(iter, run, err);
	if (r == 0)
		heap_push(iter, run);
	else
		run->pin = manifest_unpin(run->pin);
	return r < 0 ? r : 0;
}

/* May a run that has not begun hold an index that is not behind the heap's first? */
static bool iter_needs_run(const struct chunk_iter *iter, const struct run *run)
{
	const struct run *first = iter->heap[0];

	if (iter->n_heap == 0)
		return true;
	for (uint32_t i = 0; i < run->ref.n_extents; i++) {
		if (run->ref.extents[i].from != first->index[i])
			return run->ref.extents[i].from < first->index[i];
	}
	return true;
}

static bool run_shows(const struct chunk_iter *iter, const struct run *run)
{
	if (!manifest_ref_holds(&run->ref, run->index))
		return false;
	for (uint32_t i = 0; i < iter->node.n_dims; i++) {
		if (run->index[i] >= node_dimension(&iter->node, i).n_chunks)
			return false;
	}
	for (uint32_t i = 0; run->may_be_hidden && i < run->place; i++) {
		struct manifest_ref other = node_manifest(&iter->node, i);

		if (manifest_ref_holds(&other, run->index))
			return false;
	}
	return true;
}

/* Moves the heap's first run on by one reference. */
static int iter_advance(struct chunk_iter *iter, struct error *err)
{
	struct run *run = iter->heap[0];
	int r;

	run->next++;
	r = run_look(iter, run, err);
	if (r < 0)
		return r;
	if (r == REPO_END) {
		iter->heap[0] = iter->heap[--iter->n_heap];
		manifest_unpin(iter->lent);
		iter->lent = TAKE(run->pin);
	}
	heap_sift(iter, 0);
	return 0;
}

static int iter_next(struct chunk_iter *iter, const uint32_t **ret_index,
		     const struct chunk **ret_chunk, struct error *err)
{
	for (;;) {
		struct run *run;
		bool shows;
		int r;

		while (iter->n_begun < iter->runs.n &&
		       iter_needs_run(iter, &iter->runs.items[iter->n_begun])) {
			r = run_begin(iter, &iter->runs.items[iter->n_begun++], err);
			if (r < 0)
				return r;
		}
		if (iter->n_heap == 0)
			return REPO_END;
		run = iter->heap[0];
		shows = run_shows(iter, run);
		if (shows) {
			iter->chunk.manifest = run->ref.id;
			iter->chunk.pin = run->pin;
			r = manifest_ref(manifest_pin_get(run->pin), &run->array, run->next,
					 &iter->chunk.ref, err);
			if (r < 0)
				return r;
		}
		r = iter_advance(iter, err);
		if (r < 0)
			return r;
		if (shows) {
			*ret_index = iter->chunk.ref.index;
			*ret_chunk = &iter->chunk;
			return 0;
		}
	}
}

int chunk_iter_next(struct chunk_iter *iter, const uint32_t **ret_index,
		    const struct chunk **ret_chunk, struct error *err)
{
	int r = iter->failure.kind;

	if (r == 0)
		r = iter_next(iter, ret_index, ret_chunk, &iter->failure);
	if (r < 0 && err)
		*err = iter->failure;
	return r;
}
