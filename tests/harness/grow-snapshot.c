/* SPDX-License-Identifier: Apache-2.0 */

/*
 * grow-snapshot REPOSITORY ARRAY
 *
 * Rewrites the newest snapshot of a local repository in place so that ARRAY, which has manifests
 * for a few rows of its first dimension, says to have one for each row, as large as the first.
 *
 * A repository of a thousand million references takes half an hour and fifteen gigabytes to write.
 * What a mount does with one depends on its snapshot and on the few manifests that are looked into;
 * those that are added here do not exist.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "icechunk/envelope.h"
#include "icechunk/snapshot.h"
#include "repo/repo.h"
#include "store/drivers.h"

struct growth {
	struct arena arena;
	const struct snapshot *old;
	struct draft_node *nodes;
	struct manifest_info *infos;
	uint32_t n_infos;
};

static void growth_done(struct growth *growth)
{
	arena_done(&growth->arena);
}

static int compare_infos(const void *a, const void *b)
{
	return id12_compare(&((const struct manifest_info *)a)->id,
			    &((const struct manifest_info *)b)->id);
}

/* The node as it stands. */
static int copy_node(struct growth *growth, const struct snapshot_node *node,
		     struct draft_node *draft, struct error *err)
{
	struct draft_dimension *dimensions =
		arena_zalloc(&growth->arena, node->n_dims + 1, sizeof(*dimensions), err);
	struct manifest_ref *refs =
		arena_zalloc(&growth->arena, node->n_manifests + 1, sizeof(*refs), err);

	if (!dimensions || !refs)
		return ERR_MEMORY;
	for (uint32_t i = 0; i < node->n_dims; i++) {
		struct dimension dimension = node_dimension(node, i);

		dimensions[i] = (struct draft_dimension){.length = dimension.length,
							 .n_chunks = dimension.n_chunks,
							 .name = node_dimension_name(node, i)};
	}
	for (uint32_t i = 0; i < node->n_manifests; i++)
		refs[i] = node_manifest(node, i);
	*draft = (struct draft_node){
		.id = node->id,
		.type = node->type,
		.path = node->path,
		.document = node->document,
		.dimensions = dimensions,
		.n_dims = node->n_dims,
		.has_names = node->has_names,
		.manifests = refs,
		.n_manifests = node->n_manifests,
	};
	return 0;
}

static int add_row(struct growth *growth, const struct manifest_ref *pattern, uint32_t row,
		   struct manifest_ref *ret_ref, struct error *err)
{
	struct extent *extents =
		arena_zalloc(&growth->arena, pattern->n_extents, sizeof(*extents), err);
	struct manifest_info info;
	int r;

	if (!extents)
		return ERR_MEMORY;
	r = snapshot_find_manifest(growth->old, &pattern->id, &info);
	if (r != 0)
		return error_set(err, ERR_FORMAT, "the snapshot does not list its manifest");
	r = id12_new(&info.id, err);
	if (r < 0)
		return r;
	memcpy(extents, pattern->extents, pattern->n_extents * sizeof(*extents));
	extents[0] = (struct extent){row, row + 1};
	*ret_ref = (struct manifest_ref){info.id, extents, pattern->n_extents};
	growth->infos[growth->n_infos++] = info;
	return 0;
}

/* A manifest for each row that has none. */
static int grow(struct growth *growth, struct draft_node *node, struct error *err)
{
	uint32_t n_rows = node->dimensions[0].n_chunks, n_old = node->n_manifests;
	struct manifest_ref *refs = arena_zalloc(&growth->arena, n_rows, sizeof(*refs), err);
	uint32_t next = 0;

	if (!refs)
		return ERR_MEMORY;
	for (uint32_t row = 0; row < n_rows; row++) {
		if (next < n_old && node->manifests[next].extents[0].from == row) {
			refs[row] = node->manifests[next++];
		} else {
			int r = add_row(growth, &node->manifests[0], row, &refs[row], err);

			if (r < 0)
				return r;
		}
	}
	if (next < n_old)
		return error_set(err, ERR_ARGUMENT, "a manifest has more than one row");
	node->manifests = refs;
	node->n_manifests = n_rows;
	return 0;
}

static int encode(struct growth *growth, const char *array, struct buf *out, struct error *err)
{
	uint32_t n_nodes = snapshot_n_nodes(growth->old), n_old = snapshot_n_manifests(growth->old);
	struct snapshot_draft draft = {
		.id = *snapshot_id(growth->old),
		.flushed_at = snapshot_flushed_at(growth->old),
		.message = snapshot_message(growth->old),
		.n_nodes = n_nodes,
	};
	uint32_t index;
	int r = 0;

	if (snapshot_find(growth->old, slice_text(array), &index) != 0 ||
	    snapshot_node(growth->old, index).n_manifests == 0)
		return error_set(err, ERR_ARGUMENT, "no array '%s' with references", array);
	growth->nodes = arena_zalloc(&growth->arena, n_nodes, sizeof(*growth->nodes), err);
	if (!growth->nodes)
		return ERR_MEMORY;
	for (uint32_t i = 0; r == 0 && i < n_nodes; i++) {
		struct snapshot_node node = snapshot_node(growth->old, i);

		r = copy_node(growth, &node, &growth->nodes[i], err);
	}
	if (r < 0)
		return r;
	growth->infos =
		arena_zalloc(&growth->arena, n_old + growth->nodes[index].dimensions[0].n_chunks,
			     sizeof(*growth->infos), err);
	if (!growth->infos)
		return ERR_MEMORY;
	for (uint32_t i = 0; i < n_old; i++)
		growth->infos[growth->n_infos++] = snapshot_manifest(growth->old, i);
	r = grow(growth, &growth->nodes[index], err);
	if (r < 0)
		return r;
	qsort(growth->infos, growth->n_infos, sizeof(*growth->infos), compare_infos);
	draft.nodes = growth->nodes;
	draft.manifests = growth->infos;
	draft.n_manifests = growth->n_infos;
	return snapshot_encode(&draft, SPEC_2, out, err);
}

static int find_newest(struct store *store, char *key, size_t size, struct error *err)
{
	CLEANUP(repo_freep) struct repo *repo = NULL;
	char text[ID12_TEXT_LEN + 1];
	struct id12 id;
	int r;

	r = repo_open(store, NULL, &repo, err);
	if (r == 0)
		r = repo_resolve(repo, &(struct repo_at){0}, &id, err);
	if (r < 0)
		return r;
	id12_format(&id, text);
	snprintf(key, size, "snapshots/%s", text);
	return 0;
}

static int rewrite(const char *repository, const char *array, struct error *err)
{
	CLEANUP(growth_done) struct growth growth = {.arena = ARENA_INIT};
	CLEANUP(buf_done) struct buf file = BUF_INIT(BUF_NO_LIMIT);
	CLEANUP(buf_done) struct buf payload = BUF_INIT(BUF_NO_LIMIT);
	CLEANUP(buf_done) struct buf grown = BUF_INIT(BUF_NO_LIMIT);
	CLEANUP(buf_done) struct buf sealed = BUF_INIT(BUF_NO_LIMIT);
	CLEANUP(snapshot_freep) struct snapshot *snapshot = NULL;
	CLEANUP(store_freep) struct store *store = NULL;
	struct envelope_options options = {.spec = SPEC_2};
	struct slice piece;
	char key[64];
	int r;

	r = store_local_new(repository, &store, err);
	if (r == 0)
		r = find_newest(store, key, sizeof(key), err);
	if (r == 0)
		r = store_get_all(store, key, &file, NULL, err);
	if (r == 0)
		r = envelope_open(buf_slice(&file), FILE_SNAPSHOT, &payload, NULL, err);
	if (r == 0)
		r = snapshot_open(&payload, SPEC_2, &snapshot, err);
	growth.old = snapshot;
	if (r == 0)
		r = encode(&growth, array, &grown, err);
	if (r < 0)
		return r;
	piece = buf_slice(&grown);
	r = envelope_seal(&piece, 1, FILE_SNAPSHOT, &options, &sealed, err);
	return r < 0 ? r : store_put(store, key, buf_slice(&sealed), err);
}

int main(int argc, char **argv)
{
	struct error err = ERROR_INIT;

	if (argc != 3) {
		fprintf(stderr, "usage: grow-snapshot REPOSITORY ARRAY\n");
		return 2;
	}
	if (rewrite(argv[1], argv[2], &err) < 0) {
		fprintf(stderr, "grow-snapshot: %s\n", err.text);
		return error_exit_status(err.kind);
	}
	return 0;
}
