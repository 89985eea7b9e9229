/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/arena.h"
#include "base/text.h"
#include "icechunk/schema.h"
#include "icechunk/snapshot.h"

struct encoder {
	struct flat_builder flat;
	const struct snapshot_draft *draft;
	enum spec spec;
	struct error *err;
};

static int check_path(struct slice path, struct slice before, struct error *err)
{
	if (path.size == 0 || path.data[0] != '/' ||
	    (path.size > 1 && path.data[path.size - 1] == '/'))
		return error_set(err, ERR_ARGUMENT, "node path '%.*s' is not absolute",
				 (int)path.size, (const char *)path.data);
	if (!text_is_utf8(path))
		return error_set(err, ERR_ARGUMENT, "node path is not UTF-8");
	if (before.data && slice_compare(before, path) >= 0)
		return error_set(err, ERR_ARGUMENT, "node '%.*s' is there twice or out of order",
				 (int)path.size, (const char *)path.data);
	return 0;
}

static int compare_infos(const void *a, const void *b)
{
	return id12_compare(&((const struct manifest_info *)a)->id,
			    &((const struct manifest_info *)b)->id);
}

static int check_manifests(const struct snapshot_draft *draft, const struct draft_node *node,
			   struct error *err)
{
	for (uint32_t i = 0; i < node->n_manifests; i++) {
		struct manifest_info info = {.id = node->manifests[i].id};

		if (node->manifests[i].n_extents != node->n_dims)
			return error_set(err, ERR_ARGUMENT,
					 "extents of %u dimensions for an array of %u",
					 node->manifests[i].n_extents, node->n_dims);
		if (draft->n_manifests == 0 || !bsearch(&info, draft->manifests, draft->n_manifests,
							sizeof(info), compare_infos))
			return error_set(err, ERR_ARGUMENT, "a manifest is not in the list");
	}
	return 0;
}

static int check_draft(const struct snapshot_draft *draft, struct error *err)
{
	struct slice before = {0};
	int r;

	if (!text_is_utf8(draft->message))
		return error_set(err, ERR_ARGUMENT, "message is not UTF-8");
	for (uint32_t i = 1; i < draft->n_manifests; i++)
		if (compare_infos(&draft->manifests[i - 1], &draft->manifests[i]) >= 0)
			return error_set(err, ERR_ARGUMENT, "manifests are not sorted by id");
	for (uint32_t i = 0; i < draft->n_nodes; i++) {
		const struct draft_node *node = &draft->nodes[i];

		r = check_path(node->path, before, err);
		if (r < 0)
			return r;
		before = node->path;
		r = check_manifests(draft, node, err);
		if (r < 0)
			return error_prefix(err, "node '%.*s'", (int)node->path.size,
					    (const char *)node->path.data);
	}
	return 0;
}

static int put_metadata(struct encoder *e, uint32_t *ret_handle)
{
	CLEANUP(metadata_items_done) struct metadata_items items = {0};
	CLEANUP(arena_done) struct arena arena = ARENA_INIT;
	int r;

	r = metadata_items_encode(e->spec, e->draft->metadata, &arena, &items, e->err);
	if (r < 0)
		return r;
	*ret_handle = flat_put_metadata(&e->flat, items.items, items.n);
	return 0;
}

static int chunk_length(const struct draft_dimension *dimension, uint64_t *ret_length,
			struct error *err)
{
	uint64_t length = dimension->chunk_length;
	uint64_t n = 0;

	if (length == 0)
		length = dimension->n_chunks ? (dimension->length + dimension->n_chunks - 1) /
						       dimension->n_chunks
					     : 1;
	if (dimension->length > 0 && length > 0)
		n = (dimension->length - 1) / length + 1;
	if (n != dimension->n_chunks)
		return error_set(err, ERR_UNSUPPORTED,
				 "specification 1 has only chunks of equal length, not %u chunks "
				 "of %llu elements",
				 dimension->n_chunks, (unsigned long long)dimension->length);
	*ret_length = length;
	return 0;
}

/* Spec 1 stores (length, chunk length) as structs. */
static int put_shape1(struct encoder *e, const struct draft_node *node, uint32_t *ret_handle)
{
	CLEANUP(freep) uint64_t *shape = calloc(node->n_dims + 1, 2 * sizeof(*shape));
	int r = 0;

	if (!shape)
		return error_memory(e->err);
	for (uint32_t i = 0; r == 0 && i < node->n_dims; i++) {
		shape[2 * i] = node->dimensions[i].length;
		r = chunk_length(&node->dimensions[i], &shape[2 * i + 1], e->err);
	}
	*ret_handle = flat_put_vector(&e->flat, shape, node->n_dims, 16, 8);
	return r;
}

static uint32_t put_shape2(struct encoder *e, const struct draft_node *node)
{
	size_t base = e->flat.gathered.n;

	for (uint32_t i = 0; i < node->n_dims; i++) {
		flat_table_begin(&e->flat);
		flat_add_u64(&e->flat, SHAPE_LENGTH, node->dimensions[i].length);
		flat_add_u32(&e->flat, SHAPE_N_CHUNKS, node->dimensions[i].n_chunks);
		flat_gather(&e->flat, flat_table_end(&e->flat));
	}
	return flat_put_gathered(&e->flat, base);
}

static uint32_t put_names(struct encoder *e, const struct draft_node *node)
{
	size_t base = e->flat.gathered.n;

	if (!node->has_names)
		return 0;
	for (uint32_t i = 0; i < node->n_dims; i++) {
		struct slice name = node->dimensions[i].name;
		uint32_t text = name.data ? flat_put_string(&e->flat, name) : 0;

		flat_table_begin(&e->flat);
		flat_add_offset(&e->flat, NAME_NAME, text);
		flat_gather(&e->flat, flat_table_end(&e->flat));
	}
	return flat_put_gathered(&e->flat, base);
}

static uint32_t put_manifests(struct encoder *e, const struct draft_node *node)
{
	size_t base = e->flat.gathered.n;

	for (uint32_t i = 0; i < node->n_manifests; i++) {
		const struct manifest_ref *ref = &node->manifests[i];
		uint32_t extents = flat_put_vector(&e->flat, ref->extents, ref->n_extents,
						   sizeof(struct extent), 4);

		flat_table_begin(&e->flat);
		flat_add(&e->flat, USE_ID, ref->id.bytes, sizeof(ref->id.bytes), 1);
		flat_add_offset(&e->flat, USE_EXTENTS, extents);
		flat_gather(&e->flat, flat_table_end(&e->flat));
	}
	return flat_put_gathered(&e->flat, base);
}

static int put_array(struct encoder *e, const struct draft_node *node, uint32_t *ret_handle)
{
	uint32_t manifests = put_manifests(e, node), names = put_names(e, node);
	uint32_t shape = 0, shape2 = 0;
	int r;

	if (e->spec == SPEC_1) {
		r = put_shape1(e, node, &shape);
		if (r < 0)
			return r;
	} else {
		shape2 = put_shape2(e, node);
		shape = flat_put_vector(&e->flat, NULL, 0, 16, 8);
	}
	flat_table_begin(&e->flat);
	flat_add_offset(&e->flat, DATA_SHAPE, shape);
	flat_add_offset(&e->flat, DATA_NAMES, names);
	flat_add_offset(&e->flat, DATA_MANIFESTS, manifests);
	flat_add_offset(&e->flat, DATA_SHAPE_V2, shape2);
	*ret_handle = flat_table_end(&e->flat);
	return 0;
}

static uint32_t put_group(struct encoder *e)
{
	flat_table_begin(&e->flat);
	return flat_table_end(&e->flat);
}

static int put_node(struct encoder *e, const struct draft_node *node)
{
	uint32_t path = flat_put_string(&e->flat, node->path);
	uint32_t document =
		flat_put_vector(&e->flat, node->document.data, node->document.size, 1, 1);
	uint32_t data = 0;
	int r = 0;

	if (node->type == NODE_ARRAY)
		r = put_array(e, node, &data);
	else
		data = put_group(e);
	if (r < 0)
		return error_prefix(e->err, "array '%.*s'", (int)node->path.size,
				    (const char *)node->path.data);
	flat_table_begin(&e->flat);
	flat_add_offset(&e->flat, NODE_PATH, path);
	flat_add_offset(&e->flat, NODE_USER_DATA, document);
	flat_add_offset(&e->flat, NODE_DATA, data);
	flat_add(&e->flat, NODE_ID, node->id.bytes, sizeof(node->id.bytes), 1);
	flat_add_u8(&e->flat, NODE_DATA_TYPE,
		    node->type == NODE_ARRAY ? NODE_DATA_ARRAY : NODE_DATA_GROUP);
	flat_gather(&e->flat, flat_table_end(&e->flat));
	return 0;
}

static int put_nodes(struct encoder *e, uint32_t *ret_handle)
{
	size_t base = e->flat.gathered.n;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < e->draft->n_nodes; i++)
		r = put_node(e, &e->draft->nodes[i]);
	*ret_handle = flat_put_gathered(&e->flat, base);
	return r;
}

static int put_infos1(struct encoder *e, uint32_t *ret_handle)
{
	uint32_t n = e->draft->n_manifests;
	CLEANUP(freep) struct info1 *infos = calloc((size_t)n + 1, sizeof(*infos));

	if (!infos)
		return error_memory(e->err);
	for (uint32_t i = 0; i < n; i++) {
		const struct manifest_info *info = &e->draft->manifests[i];

		infos[i].id = info->id;
		infos[i].size = info->size;
		infos[i].n_refs = info->n_refs;
	}
	*ret_handle = flat_put_vector(&e->flat, infos, n, sizeof(*infos), 8);
	return 0;
}

static uint32_t put_infos2(struct encoder *e)
{
	size_t base = e->flat.gathered.n;

	for (uint32_t i = 0; i < e->draft->n_manifests; i++) {
		const struct manifest_info *info = &e->draft->manifests[i];

		flat_table_begin(&e->flat);
		flat_add_u64(&e->flat, INFO_SIZE, info->size);
		flat_add_u32(&e->flat, INFO_N_REFS, info->n_refs);
		flat_add(&e->flat, INFO_ID, info->id.bytes, sizeof(info->id.bytes), 1);
		flat_gather(&e->flat, flat_table_end(&e->flat));
	}
	return flat_put_gathered(&e->flat, base);
}

/* Both lists: the one of the other specification is empty or absent. */
static int put_infos(struct encoder *e, uint32_t *ret_infos, uint32_t *ret_infos2)
{
	if (e->spec == SPEC_1)
		return put_infos1(e, ret_infos);
	*ret_infos2 = put_infos2(e);
	*ret_infos = flat_put_vector(&e->flat, NULL, 0, sizeof(struct info1), 8);
	return 0;
}

static int put_root(struct encoder *e, uint32_t *ret_root)
{
	const struct snapshot_draft *draft = e->draft;
	uint32_t nodes = 0, metadata = 0, infos = 0, infos2 = 0, message;
	int r;

	r = put_nodes(e, &nodes);
	if (r == 0)
		r = put_metadata(e, &metadata);
	if (r == 0)
		r = put_infos(e, &infos, &infos2);
	if (r < 0)
		return r;
	message = flat_put_string(&e->flat, draft->message);
	flat_table_begin(&e->flat);
	flat_add_u64(&e->flat, SNAPSHOT_FLUSHED_AT, draft->flushed_at);
	flat_add_offset(&e->flat, SNAPSHOT_NODES, nodes);
	flat_add_offset(&e->flat, SNAPSHOT_MESSAGE, message);
	flat_add_offset(&e->flat, SNAPSHOT_METADATA, metadata);
	flat_add_offset(&e->flat, SNAPSHOT_MANIFESTS, infos);
	flat_add_offset(&e->flat, SNAPSHOT_MANIFESTS_V2, infos2);
	if (e->spec == SPEC_1 && draft->parent)
		flat_add(&e->flat, SNAPSHOT_PARENT, draft->parent->bytes, 12, 1);
	flat_add(&e->flat, SNAPSHOT_ID, draft->id.bytes, 12, 1);
	*ret_root = flat_table_end(&e->flat);
	return 0;
}

int snapshot_encode(const struct snapshot_draft *draft, enum spec spec, struct buf *out,
		    struct error *err)
{
	struct encoder e = {.flat = FLAT_BUILDER_INIT, .draft = draft, .spec = spec, .err = err};
	uint32_t root;
	int r;

	r = check_draft(draft, err);
	if (r == 0)
		r = put_root(&e, &root);
	if (r == 0)
		r = flat_builder_end(&e.flat, root, out, err);
	flat_builder_done(&e.flat);
	return r;
}
