/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "repo/internal.h"
#include "repo/preload.h"

#define LOOKED_AT_MAX 65536 /* bytes of a manifest that is loaded to count references */

int repo_checkout(struct repo *repo, const struct id12 *id, struct checkout **ret_checkout,
		  struct error *err)
{
	CLEANUP(snapshot_freep) struct snapshot *snapshot = NULL;
	struct checkout *checkout;
	int r;

	r = snapshot_load(repo->store, id, &snapshot, err);
	if (r < 0)
		return r;
	checkout = calloc(1, sizeof(*checkout));
	if (!checkout)
		return error_memory(err);
	atomic_init(&checkout->owners, 1);
	checkout->repo = repo;
	checkout->snapshot = TAKE(snapshot);
	pthread_mutex_init(&checkout->lock, NULL);
	*ret_checkout = checkout;
	if (repo->options.preload)
		preload_start(checkout);
	return 0;
}

struct checkout *checkout_ref(struct checkout *checkout)
{
	atomic_fetch_add(&checkout->owners, 1);
	return checkout;
}

struct checkout *checkout_free(struct checkout *checkout)
{
	if (!checkout || atomic_fetch_sub(&checkout->owners, 1) > 1)
		return NULL;
	snapshot_free(checkout->snapshot);
	id_set_done(&checkout->shared);
	pthread_mutex_destroy(&checkout->lock);
	free(checkout);
	return NULL;
}

struct repo *checkout_repo(struct checkout *checkout)
{
	return checkout->repo;
}

const struct id12 *checkout_id(const struct checkout *checkout)
{
	return snapshot_id(checkout->snapshot);
}

int64_t checkout_flushed_at(const struct checkout *checkout)
{
	return (int64_t)snapshot_flushed_at(checkout->snapshot);
}

uint32_t checkout_n_nodes(const struct checkout *checkout)
{
	return snapshot_n_nodes(checkout->snapshot);
}

void checkout_node(const struct checkout *checkout, uint32_t number, struct node *ret_node)
{
	struct snapshot_node node = snapshot_node(checkout->snapshot, number);

	*ret_node = (struct node){
		.number = number,
		.id = node.id,
		.is_array = node.type == NODE_ARRAY,
		.path = node.path,
		.document = node.document,
		.n_dims = node.n_dims,
	};
}

int checkout_find(const struct checkout *checkout, const char *path, struct node *ret_node)
{
	uint32_t i;

	if (snapshot_find(checkout->snapshot, slice_text(path), &i) != 0)
		return REPO_ABSENT;
	checkout_node(checkout, i, ret_node);
	return 0;
}

void checkout_dim(const struct checkout *checkout, const struct node *node, uint32_t dim,
		  uint64_t *ret_length, uint32_t *ret_chunks)
{
	struct snapshot_node stored = snapshot_node(checkout->snapshot, node->number);
	struct dimension dimension = node_dimension(&stored, dim);

	*ret_length = dimension.length;
	*ret_chunks = dimension.n_chunks;
}

uint32_t checkout_n_manifests(const struct checkout *checkout, const struct node *node)
{
	return snapshot_node(checkout->snapshot, node->number).n_manifests;
}

static uint64_t hash_mix(uint64_t hash, const void *data, size_t size)
{
	const uint8_t *bytes = data;
	uint64_t word;

	hash ^= size;
	for (; size >= 8; bytes += 8, size -= 8) {
		memcpy(&word, bytes, 8);
		hash = (hash ^ word) * 0xff51afd7ed558ccdu;
		hash ^= hash >> 32;
	}
	word = 0;
	if (size)
		memcpy(&word, bytes, size);
	hash = (hash ^ word) * 0xc4ceb9fe1a85ec53u;
	return hash ^ (hash >> 29);
}

uint64_t checkout_epoch(const struct checkout *checkout, const struct node *node)
{
	struct snapshot_node stored = snapshot_node(checkout->snapshot, node->number);
	uint64_t hash = hash_mix(0, stored.document.data, stored.document.size);

	for (uint32_t i = 0; i < stored.n_manifests; i++) {
		struct manifest_ref ref = node_manifest(&stored, i);

		/* One manifest may serve several arrays: the node is part of what it answers. */
		if (i == 0)
			hash = hash_mix(hash, stored.id.bytes, sizeof(stored.id.bytes));
		hash = hash_mix(hash, ref.id.bytes, sizeof(ref.id.bytes));
		hash = hash_mix(hash, ref.extents, ref.n_extents * sizeof(*ref.extents));
	}
	return hash;
}

static bool node_has_chunk(const struct snapshot_node *node, const uint32_t *index)
{
	for (uint32_t i = 0; i < node->n_dims; i++) {
		if (index[i] >= node_dimension(node, i).n_chunks)
			return false;
	}
	return true;
}

static int checkout_manifest(struct checkout *checkout, const struct manifest_ref *ref,
			     struct manifest_info *ret_info, struct error *err)
{
	char name[ID12_TEXT_LEN + 1];

	if (snapshot_find_manifest(checkout->snapshot, &ref->id, ret_info) == 0)
		return 0;
	id12_format(&ref->id, name);
	return error_set(err, ERR_FORMAT, "manifest %s is not in its snapshot's list", name);
}

int checkout_pin(struct checkout *checkout, const struct manifest_ref *ref,
		 struct manifest_pin **ret_pin, struct error *err)
{
	struct manifest_info info;
	int r;

	r = checkout_manifest(checkout, ref, &info, err);
	if (r < 0)
		return r;
	return manifest_cache_get(checkout->repo->cache, &info, ret_pin, err);
}

/* The first manifest whose box holds the index answers alone: 0 or REPO_ABSENT. */
static int node_manifest_of(const struct snapshot_node *node, const uint32_t *index,
			    struct manifest_ref *ret_ref)
{
	if (!node_has_chunk(node, index))
		return REPO_ABSENT;
	for (uint32_t i = 0; i < node->n_manifests; i++) {
		*ret_ref = node_manifest(node, i);
		if (manifest_ref_holds(ret_ref, index))
			return 0;
	}
	return REPO_ABSENT;
}

/* Takes over @pin. */
static int locate_in(struct manifest_pin *pin, const struct snapshot_node *node,
		     const struct manifest_ref *ref, const uint32_t *index, struct chunk *ret_chunk,
		     struct error *err)
{
	struct manifest_array array;
	int r;

	r = manifest_find_array(manifest_pin_get(pin), &node->id, &array);
	if (r == 0)
		r = manifest_find(manifest_pin_get(pin), &array, index, node->n_dims,
				  ref->n_extents ? ref->extents : NULL, &ret_chunk->ref, err);
	if (r == 0) {
		ret_chunk->manifest = ref->id;
		ret_chunk->pin = pin;
		return 0;
	}
	manifest_unpin(pin);
	return r == MANIFEST_ABSENT ? REPO_ABSENT : r;
}

int checkout_locate(struct checkout *checkout, const struct node *node, const uint32_t *index,
		    struct chunk *ret_chunk, struct error *err)
{
	struct snapshot_node stored = snapshot_node(checkout->snapshot, node->number);
	struct manifest_ref ref;
	struct manifest_pin *pin;
	int r;

	r = node_manifest_of(&stored, index, &ref);
	if (r == 0)
		r = checkout_pin(checkout, &ref, &pin, err);
	if (r != 0)
		return r;
	return locate_in(pin, &stored, &ref, index, ret_chunk, err);
}

int checkout_try_locate(struct checkout *checkout, const struct node *node, const uint32_t *index,
			struct chunk *ret_chunk, struct error *err)
{
	struct snapshot_node stored = snapshot_node(checkout->snapshot, node->number);
	struct manifest_ref ref;
	struct manifest_pin *pin;
	int r;

	r = node_manifest_of(&stored, index, &ref);
	if (r == 0)
		r = manifest_cache_peek(checkout->repo->cache, &ref.id, &pin);
	if (r != 0)
		return r;
	return locate_in(pin, &stored, &ref, index, ret_chunk, err);
}

void chunk_done(struct chunk *chunk)
{
	chunk->pin = manifest_unpin(chunk->pin);
}

/* Finds the manifests that several nodes refer to, once. */
static int checkout_find_shared(struct checkout *checkout, struct error *err)
{
	CLEANUP(id_set_done) struct id_set seen = ID_SET_INIT;
	int r = 0;

	for (uint32_t i = 0; r >= 0 && i < snapshot_n_nodes(checkout->snapshot); i++) {
		struct snapshot_node node = snapshot_node(checkout->snapshot, i);

		for (uint32_t m = 0; r >= 0 && m < node.n_manifests; m++) {
			struct manifest_ref ref = node_manifest(&node, m);

			r = id_set_add(&seen, &ref.id, err);
			if (r == 0)
				r = id_set_add(&checkout->shared, &ref.id, err);
		}
	}
	checkout->shared_is_known = r >= 0;
	return r < 0 ? r : 0;
}

static int checkout_manifest_is_shared(struct checkout *checkout, const struct id12 *id,
				       bool *ret_shared, struct error *err)
{
	int r = 0;

	pthread_mutex_lock(&checkout->lock);
	if (!checkout->shared_is_known)
		r = checkout_find_shared(checkout, err);
	*ret_shared = id_set_has(&checkout->shared, id);
	pthread_mutex_unlock(&checkout->lock);
	return r;
}

/* Can only references of this node be in the manifest?  Small ones are looked at rather. */
static bool manifest_is_own(const struct manifest_ref *ref, const struct manifest_info *info,
			    bool shared)
{
	uint64_t volume = 1;

	for (uint32_t i = 0; i < ref->n_extents; i++) {
		if (__builtin_mul_overflow(volume, ref->extents[i].to - ref->extents[i].from,
					   &volume))
			volume = UINT64_MAX;
	}
	return !shared && info->size > LOOKED_AT_MAX && info->n_refs <= volume;
}

int checkout_count_refs(struct checkout *checkout, const struct node *node, uint64_t *ret_n,
			struct error *err)
{
	struct snapshot_node stored = snapshot_node(checkout->snapshot, node->number);
	uint64_t n = 0;

	for (uint32_t i = 0; i < stored.n_manifests; i++) {
		struct manifest_ref ref = node_manifest(&stored, i);
		CLEANUP(manifest_unpinp) struct manifest_pin *pin = NULL;
		struct manifest_array array;
		struct manifest_info info;
		bool shared;
		int r;

		r = checkout_manifest_is_shared(checkout, &ref.id, &shared, err);
		if (r < 0)
			return r;
		if (snapshot_find_manifest(checkout->snapshot, &ref.id, &info) == 0 &&
		    manifest_is_own(&ref, &info, shared)) {
			n += info.n_refs;
			continue;
		}
		r = checkout_pin(checkout, &ref, &pin, err);
		if (r < 0)
			return r;
		manifest_find_array(manifest_pin_get(pin), &stored.id, &array);
		n += array.n_refs;
	}
	*ret_n = n;
	return 0;
}
