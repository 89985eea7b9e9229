/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "repo/changes.h"

DEFINE_VEC(draft_list, struct draft_node);
DEFINE_VEC(info_list, struct manifest_info);
DEFINE_VEC(id8_list, struct id8);
DEFINE_VEC(logged_moves, struct txlog_move);

/* A snapshot being put together: the base's nodes with the changes applied. */
struct assembly {
	struct transaction *transaction;
	struct arena arena;
	struct info_list base; /* what the base lists, sorted by id */
	bool *used;	       /* one an entry of base */
	struct info_list infos;
	struct draft_list nodes;
	const struct move **moves; /* sorted by source */
};

static void assembly_done(struct assembly *assembly)
{
	arena_done(&assembly->arena);
	info_list_done(&assembly->base);
	info_list_done(&assembly->infos);
	draft_list_done(&assembly->nodes);
	free(assembly->used);
	free(assembly->moves);
}

static int info_compare(const void *a, const void *b)
{
	return id12_compare(&((const struct manifest_info *)a)->id,
			    &((const struct manifest_info *)b)->id);
}

static int move_compare_from(const void *a, const void *b)
{
	return strcmp((*(const struct move *const *)a)->from,
		      (*(const struct move *const *)b)->from);
}

static int assembly_init(struct assembly *assembly, struct error *err)
{
	const struct snapshot *snapshot = assembly->transaction->base->snapshot;
	const struct move_list *moves = &assembly->transaction->moves;

	for (uint32_t i = 0; i < snapshot_n_manifests(snapshot); i++) {
		int r = info_list_push(&assembly->base, snapshot_manifest(snapshot, i), err);

		if (r < 0)
			return r;
	}
	if (assembly->base.n)
		qsort(assembly->base.items, assembly->base.n, sizeof(struct manifest_info),
		      info_compare);
	assembly->used = calloc(assembly->base.n + 1, sizeof(*assembly->used));
	assembly->moves = calloc(moves->n + 1, sizeof(*assembly->moves));
	if (!assembly->used || !assembly->moves)
		return error_memory(err);
	for (size_t i = 0; i < moves->n; i++)
		assembly->moves[i] = &moves->items[i];
	qsort(assembly->moves, moves->n, sizeof(*assembly->moves), move_compare_from);
	return 0;
}

/* The path that a node of the base has now. */
static struct slice assembly_path(const struct assembly *assembly, struct slice from)
{
	size_t begin = 0, end = assembly->transaction->moves.n;

	while (begin < end) {
		size_t middle = begin + (end - begin) / 2;
		const struct move *move = assembly->moves[middle];
		int order = slice_compare(slice_text(move->from), from);

		if (order == 0)
			return slice_text(move->to);
		if (order < 0)
			begin = middle + 1;
		else
			end = middle;
	}
	return from;
}

static int assembly_keep_manifest(struct assembly *assembly, const struct id12 *id,
				  struct error *err)
{
	struct manifest_info key = {.id = *id};
	struct manifest_info *found = assembly->base.n
					      ? bsearch(&key, assembly->base.items,
							assembly->base.n, sizeof(key), info_compare)
					      : NULL;
	char name[ID12_TEXT_LEN + 1];

	if (found) {
		assembly->used[found - assembly->base.items] = true;
		return 0;
	}
	id12_format(id, name);
	return error_set(err, ERR_FORMAT, "manifest %s is not in its snapshot's list", name);
}

static int assembly_base_manifests(struct assembly *assembly, const struct snapshot_node *node,
				   struct draft_node *draft, struct error *err)
{
	struct manifest_ref *refs =
		arena_zalloc(&assembly->arena, node->n_manifests + 1, sizeof(*refs), err);

	if (!refs)
		return ERR_MEMORY;
	for (uint32_t i = 0; i < node->n_manifests; i++) {
		int r;

		refs[i] = node_manifest(node, i);
		r = assembly_keep_manifest(assembly, &refs[i].id, err);
		if (r < 0)
			return r;
	}
	draft->manifests = refs;
	draft->n_manifests = node->n_manifests;
	return 0;
}

static int assembly_plan_manifests(struct assembly *assembly, const struct edit *edit,
				   struct draft_node *draft, struct error *err)
{
	struct manifest_ref *refs =
		arena_zalloc(&assembly->arena, edit->plan.n + 1, sizeof(*refs), err);

	if (!refs)
		return ERR_MEMORY;
	draft->manifests = refs;
	for (size_t i = 0; i < edit->plan.n; i++) {
		const struct planned *planned = &edit->plan.items[i];
		const struct flushed *flushed = &edit->flushed.items[planned->flushed];
		int r;

		if (planned->is_kept) {
			refs[draft->n_manifests++] = planned->ref;
			r = assembly_keep_manifest(assembly, &planned->ref.id, err);
		} else if (!flushed->is_empty) {
			refs[draft->n_manifests++] = (struct manifest_ref){
				flushed->info.id, flushed->extents, edit->n_dims};
			r = info_list_push(&assembly->infos, flushed->info, err);
		} else {
			continue;
		}
		if (r < 0)
			return r;
	}
	return 0;
}

static int assembly_base_dims(struct assembly *assembly, const struct snapshot_node *node,
			      struct draft_node *draft, struct error *err)
{
	struct draft_dimension *dims =
		arena_zalloc(&assembly->arena, node->n_dims + 1, sizeof(*dims), err);

	if (!dims)
		return ERR_MEMORY;
	for (uint32_t i = 0; i < node->n_dims; i++) {
		struct dimension dimension = node_dimension(node, i);

		dims[i] = (struct draft_dimension){dimension.length, dimension.n_chunks,
						   node_chunk_length(node, i),
						   node_dimension_name(node, i)};
	}
	draft->dimensions = dims;
	draft->n_dims = node->n_dims;
	draft->has_names = node->has_names;
	return 0;
}

static void draft_set_document(struct draft_node *draft, const struct document *document)
{
	draft->document = document->bytes;
	draft->dimensions = document->dims;
	draft->n_dims = document->n_dims;
	draft->has_names = document->has_names;
}

static int assembly_add_base(struct assembly *assembly, const struct snapshot_node *node,
			     struct error *err)
{
	struct slice path = assembly_path(assembly, node->path);
	const struct edit *edit = transaction_edit(assembly->transaction, path);
	struct draft_node draft = {
		.id = node->id, .type = node->type, .path = path, .document = node->document};
	int r = 0;

	if (edit && edit->has_document)
		draft_set_document(&draft, &edit->document);
	else
		r = assembly_base_dims(assembly, node, &draft, err);
	if (r == 0 && edit && edit->has_windows && edit_has_effect(edit))
		r = assembly_plan_manifests(assembly, edit, &draft, err);
	else if (r == 0)
		r = assembly_base_manifests(assembly, node, &draft, err);
	return r < 0 ? r : draft_list_push(&assembly->nodes, draft, err);
}

static int assembly_add_new(struct assembly *assembly, const struct edit *edit, struct error *err)
{
	struct draft_node draft = {
		.id = edit->id,
		.type = edit->is_array ? NODE_ARRAY : NODE_GROUP,
		.path = slice_text(edit->path),
	};
	int r = 0;

	draft_set_document(&draft, &edit->document);
	if (edit->is_array)
		r = assembly_plan_manifests(assembly, edit, &draft, err);
	return r < 0 ? r : draft_list_push(&assembly->nodes, draft, err);
}

static int draft_compare(const void *a, const void *b)
{
	return slice_compare(((const struct draft_node *)a)->path,
			     ((const struct draft_node *)b)->path);
}

static int assembly_add_nodes(struct assembly *assembly, struct error *err)
{
	const struct transaction *transaction = assembly->transaction;
	const struct snapshot *snapshot = transaction->base->snapshot;
	uint32_t at;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < snapshot_n_nodes(snapshot); i++) {
		struct snapshot_node node = snapshot_node(snapshot, i);

		if (!transaction_removes(transaction, &node.id, &at))
			r = assembly_add_base(assembly, &node, err);
	}
	for (size_t i = 0; r == 0 && i < transaction->edits.n; i++) {
		if (transaction->edits.items[i]->is_new)
			r = assembly_add_new(assembly, transaction->edits.items[i], err);
	}
	if (assembly->nodes.n)
		qsort(assembly->nodes.items, assembly->nodes.n, sizeof(struct draft_node),
		      draft_compare);
	return r;
}

/* Every manifest that a node refers to, once, sorted by id. */
static int assembly_list_manifests(struct assembly *assembly, struct error *err)
{
	for (size_t i = 0; i < assembly->base.n; i++) {
		int r;

		if (!assembly->used[i])
			continue;
		r = info_list_push(&assembly->infos, assembly->base.items[i], err);
		if (r < 0)
			return r;
	}
	if (assembly->infos.n)
		qsort(assembly->infos.items, assembly->infos.n, sizeof(struct manifest_info),
		      info_compare);
	return 0;
}

int flush_snapshot(struct transaction *transaction, const struct id12 *id,
		   const struct id12 *parent, uint64_t flushed_at, struct slice message,
		   const struct json *metadata, struct buf *out, struct error *err)
{
	CLEANUP(assembly_done)
	struct assembly assembly = {.transaction = transaction, .arena = ARENA_INIT};
	CLEANUP(buf_done) struct buf payload = BUF_INIT(SNAPSHOT_PAYLOAD_MAX);
	struct snapshot_draft draft = {
		.id = *id, .flushed_at = flushed_at, .message = message, .metadata = metadata};
	struct envelope_options options = {
		.spec = (enum spec)transaction->repo->spec,
		.level = config_values(transaction->config)->compression_level,
	};
	struct slice piece;
	int r;

	r = assembly_init(&assembly, err);
	if (r == 0)
		r = assembly_add_nodes(&assembly, err);
	if (r == 0)
		r = assembly_list_manifests(&assembly, err);
	if (r < 0)
		return r;
	if (transaction->repo->spec == SPEC_1)
		draft.parent = parent;
	draft.nodes = assembly.nodes.items;
	draft.n_nodes = (uint32_t)assembly.nodes.n;
	draft.manifests = assembly.infos.items;
	draft.n_manifests = (uint32_t)assembly.infos.n;
	r = snapshot_encode(&draft, options.spec, &payload, err);
	if (r < 0)
		return r;
	piece = buf_slice(&payload);
	return envelope_seal(&piece, 1, FILE_SNAPSHOT, &options, out, err);
}

/* A transaction log being put together. */
struct logging {
	struct transaction *transaction;
	struct id8_list lists[TXLOG_N_LISTS];
	struct draft_chunks *chunks;
	size_t n_chunks;
	struct ordered_chunks *ordered; /* one an entry of chunks */
	struct logged_moves moves;
};

/* The changes of one array in the plain order of indices. */
struct ordered_chunks {
	const struct chunkset *chunks;
	uint32_t *order; /* NULL: as they are */
};

static void logging_done(struct logging *logging)
{
	for (int i = 0; i < TXLOG_N_LISTS; i++)
		id8_list_done(&logging->lists[i]);
	for (size_t i = 0; logging->ordered && i < logging->n_chunks; i++)
		free(logging->ordered[i].order);
	free(logging->ordered);
	free(logging->chunks);
	logged_moves_done(&logging->moves);
}

static const uint32_t *ordered_next(void *argument, size_t i, uint32_t *ret_n_dims)
{
	const struct ordered_chunks *ordered = argument;

	*ret_n_dims = ordered->chunks->n_dims;
	return chunkset_at(ordered->chunks, ordered->order ? ordered->order[i] : i)->index;
}

static int ordered_compare(const void *a, const void *b, void *argument)
{
	const struct chunkset *chunks = argument;

	return index_compare(chunkset_at(chunks, *(const uint32_t *)a)->index,
			     chunkset_at(chunks, *(const uint32_t *)b)->index, chunks->n_dims);
}

static int ordered_init(struct ordered_chunks *ordered, const struct edit *edit, struct error *err)
{
	const struct change *last = chunkset_at(&edit->chunks, edit->chunks.n - 1);

	ordered->chunks = &edit->chunks;
	if (windows_keep_order(&edit->windows) && last->window != WINDOW_OUTSIDE)
		return 0;
	ordered->order = calloc(edit->chunks.n + 1, sizeof(*ordered->order));
	if (!ordered->order)
		return error_memory(err);
	for (size_t i = 0; i < edit->chunks.n; i++)
		ordered->order[i] = (uint32_t)i;
	qsort_r(ordered->order, edit->chunks.n, sizeof(*ordered->order), ordered_compare,
		(void *)&edit->chunks);
	return 0;
}

static int logging_add_edit(struct logging *logging, struct edit *edit, struct error *err)
{
	enum txlog_list list;
	int r;

	if (edit->is_array)
		list = edit->is_new ? TXLOG_NEW_ARRAYS : TXLOG_UPDATED_ARRAYS;
	else
		list = edit->is_new ? TXLOG_NEW_GROUPS : TXLOG_UPDATED_GROUPS;
	if (edit->has_document) {
		r = id8_list_push(&logging->lists[list], edit->id, err);
		if (r < 0)
			return r;
	}
	if (!edit->is_array || !edit->has_windows || edit->chunks.n == 0)
		return 0;
	r = chunkset_settle(&edit->chunks, err);
	if (r < 0 || edit->chunks.n == 0)
		return r;
	r = ordered_init(&logging->ordered[logging->n_chunks], edit, err);
	if (r < 0)
		return r;
	logging->chunks[logging->n_chunks] = (struct draft_chunks){
		.node = edit->id,
		.n_dims = edit->n_dims,
		.n_chunks = edit->chunks.n,
		.next = ordered_next,
		.argument = &logging->ordered[logging->n_chunks],
	};
	logging->n_chunks++;
	return 0;
}

static int logging_add_moves(struct logging *logging, struct error *err)
{
	const struct move_list *moves = &logging->transaction->moves;

	for (size_t i = 0; i < moves->n; i++) {
		const struct move *move = &moves->items[i];
		struct txlog_move logged = {slice_text(move->from), slice_text(move->to), move->id,
					    move->type};
		int r;

		if (strcmp(move->from, move->to) == 0)
			continue;
		r = logged_moves_push(&logging->moves, logged, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int id8_sort(const void *a, const void *b)
{
	return id8_compare(a, b);
}

static int draft_chunks_sort(const void *a, const void *b)
{
	return id8_compare(&((const struct draft_chunks *)a)->node,
			   &((const struct draft_chunks *)b)->node);
}

static int logged_move_sort(const void *a, const void *b)
{
	return path_compare_segments(((const struct txlog_move *)a)->to,
				     ((const struct txlog_move *)b)->to);
}

static int logging_fill(struct logging *logging, struct error *err)
{
	struct transaction *transaction = logging->transaction;
	int r;

	logging->chunks = calloc(transaction->edits.n + 1, sizeof(*logging->chunks));
	logging->ordered = calloc(transaction->edits.n + 1, sizeof(*logging->ordered));
	if (!logging->chunks || !logging->ordered)
		return error_memory(err);
	for (size_t i = 0; i < transaction->edits.n; i++) {
		r = logging_add_edit(logging, transaction->edits.items[i], err);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < transaction->removed.n; i++) {
		const struct removed *removed = &transaction->removed.items[i];

		r = id8_list_push(
			&logging->lists[removed->type == NODE_ARRAY ? TXLOG_DELETED_ARRAYS
								    : TXLOG_DELETED_GROUPS],
			removed->id, err);
		if (r < 0)
			return r;
	}
	return logging_add_moves(logging, err);
}

int flush_log(struct transaction *transaction, const struct id12 *id, struct buf *out,
	      struct error *err)
{
	CLEANUP(logging_done) struct logging logging = {.transaction = transaction};
	struct txlog_draft draft = {.id = *id};
	int r;

	r = logging_fill(&logging, err);
	if (r < 0)
		return r;
	for (int i = 0; i < TXLOG_N_LISTS; i++) {
		if (logging.lists[i].n)
			qsort(logging.lists[i].items, logging.lists[i].n, sizeof(struct id8),
			      id8_sort);
		draft.lists[i].ids = logging.lists[i].items;
		draft.lists[i].n = (uint32_t)logging.lists[i].n;
	}
	qsort(logging.chunks, logging.n_chunks, sizeof(*logging.chunks), draft_chunks_sort);
	if (logging.moves.n)
		qsort(logging.moves.items, logging.moves.n, sizeof(struct txlog_move),
		      logged_move_sort);
	draft.chunks = logging.chunks;
	draft.n_chunks = (uint32_t)logging.n_chunks;
	draft.moves = logging.moves.items;
	draft.n_moves = (uint32_t)logging.moves.n;
	return txlog_encode(&draft, out, err);
}
