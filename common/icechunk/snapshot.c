/* SPDX-License-Identifier: Apache-2.0 */
#include "icechunk/snapshot.h"

#include <stdlib.h>

#include "icechunk/schema.h"
#include "icechunk/search.h"

static const struct flat_field metadata_fields[] = {
	FIELD_STRING(METADATA_NAME, "name", true),
	FIELD_BYTES(METADATA_VALUE, "value", true),
};
const struct flat_schema metadata_schema = SCHEMA("MetadataItem", metadata_fields);

uint32_t flat_put_metadata(struct flat_builder *builder, const struct metadata_item *items,
			   size_t n)
{
	size_t base = builder->gathered.n;

	for (size_t i = 0; i < n; i++) {
		uint32_t name = flat_put_string(builder, items[i].name);
		uint32_t value =
			flat_put_vector(builder, items[i].value.data, items[i].value.size, 1, 1);

		flat_table_begin(builder);
		flat_add_offset(builder, METADATA_NAME, name);
		flat_add_offset(builder, METADATA_VALUE, value);
		flat_gather(builder, flat_table_end(builder));
	}
	return flat_put_gathered(builder, base);
}

static const struct flat_field use_fields[] = {
	FIELD_ID12(USE_ID, "object_id", true),
	FIELD_VECTOR(USE_EXTENTS, 8, 4, "extents", true),
};
static const struct flat_schema use_schema = SCHEMA("ManifestRef", use_fields);

static const struct flat_field shape_fields[] = {
	FIELD_SCALAR(SHAPE_LENGTH, 8, "array_length", false),
	FIELD_SCALAR(SHAPE_N_CHUNKS, 4, "num_chunks", false),
};
static const struct flat_schema shape_schema = SCHEMA("DimensionShapeV2", shape_fields);

static const struct flat_field name_fields[] = {
	FIELD_STRING(NAME_NAME, "name", false),
};
static const struct flat_schema name_schema = SCHEMA("DimensionName", name_fields);

static const struct flat_field array_fields[] = {
	FIELD_VECTOR(DATA_SHAPE, 16, 8, "shape", true),
	FIELD_TABLES(DATA_NAMES, &name_schema, "dimension_names", false),
	FIELD_TABLES(DATA_MANIFESTS, &use_schema, "manifests", true),
	FIELD_TABLES(DATA_SHAPE_V2, &shape_schema, "shape_v2", false),
};
static const struct flat_schema array_schema = SCHEMA("ArrayNodeData", array_fields);
static const struct flat_schema group_schema = {.name = "GroupNodeData"};
static const struct flat_schema *const node_unions[] = {
	[NODE_DATA_ARRAY] = &array_schema,
	[NODE_DATA_GROUP] = &group_schema,
};

static const struct flat_field node_fields[] = {
	FIELD_ID8(NODE_ID, "id", true),
	FIELD_STRING(NODE_PATH, "path", true),
	FIELD_BYTES(NODE_USER_DATA, "user_data", true),
	FIELD_UNION(NODE_DATA_TYPE, node_unions, "node_data", true),
};
static const struct flat_schema node_schema = SCHEMA("NodeSnapshot", node_fields);

static const struct flat_field info_fields[] = {
	FIELD_ID12(INFO_ID, "id", true),
	FIELD_SCALAR(INFO_SIZE, 8, "size_bytes", false),
	FIELD_SCALAR(INFO_N_REFS, 4, "num_chunk_refs", false),
};
static const struct flat_schema info_schema = SCHEMA("ManifestFileInfoV2", info_fields);

static const struct flat_field snapshot_fields[] = {
	FIELD_ID12(SNAPSHOT_ID, "id", true),
	FIELD_ID12(SNAPSHOT_PARENT, "parent_id", false),
	FIELD_TABLES(SNAPSHOT_NODES, &node_schema, "nodes", true),
	FIELD_SCALAR(SNAPSHOT_FLUSHED_AT, 8, "flushed_at", false),
	FIELD_STRING(SNAPSHOT_MESSAGE, "message", true),
	FIELD_TABLES(SNAPSHOT_METADATA, &metadata_schema, "metadata", true),
	FIELD_VECTOR(SNAPSHOT_MANIFESTS, 32, 8, "manifest_files", true),
	FIELD_TABLES(SNAPSHOT_MANIFESTS_V2, &info_schema, "manifest_files_v2", false),
};
static const struct flat_schema snapshot_schema = SCHEMA("Snapshot", snapshot_fields);

/* struct DimensionShape of spec 1. */
struct shape1 {
	uint64_t array_length;
	uint64_t chunk_length;
};

struct snapshot {
	struct buf payload;
	struct slice flat;
	enum spec spec;
	uint32_t root;
	uint32_t nodes; /* positions of vectors */
	uint32_t metadata;
	uint32_t manifests;    /* spec 1's list */
	uint32_t manifests_v2; /* 0: spec 1's list counts */
	bool manifests_sorted;
};

static const void *lend(const struct snapshot *s, uint32_t pos)
{
	return s->flat.data + pos;
}

static int chunks_of_shape1(const struct shape1 *shape, uint32_t *ret_n, struct error *err)
{
	uint64_t n = 0;

	if (shape->array_length > 0) {
		if (shape->chunk_length == 0)
			return error_set(err, ERR_FORMAT, "an axis has chunks of length 0");
		n = (shape->array_length - 1) / shape->chunk_length + 1;
	}
	if (n > UINT32_MAX)
		return error_set(err, ERR_FORMAT, "an axis has more than 2^32 chunks");
	*ret_n = (uint32_t)n;
	return 0;
}

static int check_shapes(const struct snapshot *s, uint32_t data, struct error *err)
{
	uint32_t shape = flat_child(s->flat, data, DATA_SHAPE);
	uint32_t n, ignored;
	int r = 0;

	if (flat_child(s->flat, data, DATA_SHAPE_V2))
		return 0;
	n = flat_count(s->flat, shape);
	for (uint32_t i = 0; r == 0 && i < n; i++)
		r = chunks_of_shape1(lend(s, shape + 4 + 16 * i), &ignored, err);
	return r;
}

static int check_array(const struct snapshot *s, const struct snapshot_node *node,
		       struct error *err)
{
	int r;

	r = check_shapes(s, node->_data, err);
	if (r < 0)
		return r;
	if (node->has_names &&
	    flat_count(s->flat, flat_child(s->flat, node->_data, DATA_NAMES)) != node->n_dims)
		return error_set(err, ERR_FORMAT, "names for another number of dimensions");
	for (uint32_t i = 0; i < node->n_manifests; i++) {
		struct manifest_ref ref = node_manifest(node, i);

		if (ref.n_extents != node->n_dims && ref.n_extents != 0)
			return error_set(err, ERR_FORMAT,
					 "extents of %u dimensions for an array of %u",
					 ref.n_extents, node->n_dims);
	}
	return 0;
}

static int check_nodes(const struct snapshot *s, struct error *err)
{
	struct slice before = {0};
	int r;

	for (uint32_t i = 0; i < snapshot_n_nodes(s); i++) {
		struct snapshot_node node = snapshot_node(s, i);

		if (node.path.size == 0 || node.path.data[0] != '/')
			return error_set(err, ERR_FORMAT, "node path '%.*s' does not begin with /",
					 (int)node.path.size, (const char *)node.path.data);
		if (i > 0 && slice_compare(before, node.path) >= 0)
			return error_set(err, ERR_FORMAT,
					 "node '%.*s' is there twice or out of order",
					 (int)node.path.size, (const char *)node.path.data);
		before = node.path;
		r = node.type == NODE_ARRAY ? check_array(s, &node, err) : 0;
		if (r < 0)
			return error_prefix(err, "array '%.*s'", (int)node.path.size,
					    (const char *)node.path.data);
	}
	return 0;
}

static bool manifests_are_sorted(const struct snapshot *s)
{
	uint32_t n = snapshot_n_manifests(s);

	for (uint32_t i = 1; i < n; i++) {
		struct manifest_info a = snapshot_manifest(s, i - 1), b = snapshot_manifest(s, i);

		if (id12_compare(&a.id, &b.id) >= 0)
			return false;
	}
	return true;
}

int snapshot_open(struct buf *payload, enum spec spec, struct snapshot **ret_snapshot,
		  struct error *err)
{
	CLEANUP(snapshot_freep) struct snapshot *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return error_memory(err);
	s->payload = flat_take(payload);
	s->flat = buf_slice(&s->payload);
	s->spec = spec;
	r = flat_verify(s->flat, &snapshot_schema, err);
	if (r < 0)
		return r;
	s->root = flat_root(s->flat);
	s->nodes = flat_child(s->flat, s->root, SNAPSHOT_NODES);
	s->metadata = flat_child(s->flat, s->root, SNAPSHOT_METADATA);
	s->manifests = flat_child(s->flat, s->root, SNAPSHOT_MANIFESTS);
	s->manifests_v2 = flat_child(s->flat, s->root, SNAPSHOT_MANIFESTS_V2);
	s->manifests_sorted = manifests_are_sorted(s);
	r = check_nodes(s, err);
	if (r < 0)
		return r;
	*ret_snapshot = TAKE(s);
	return 0;
}

struct snapshot *snapshot_free(struct snapshot *snapshot)
{
	if (!snapshot)
		return NULL;
	buf_done(&snapshot->payload);
	free(snapshot);
	return NULL;
}

enum spec snapshot_spec(const struct snapshot *snapshot)
{
	return snapshot->spec;
}

const struct id12 *snapshot_id(const struct snapshot *s)
{
	return lend(s, flat_field(s->flat, s->root, SNAPSHOT_ID));
}

const struct id12 *snapshot_parent(const struct snapshot *s)
{
	uint32_t field = flat_field(s->flat, s->root, SNAPSHOT_PARENT);

	return field && s->spec == SPEC_1 ? lend(s, field) : NULL;
}

uint64_t snapshot_flushed_at(const struct snapshot *s)
{
	return flat_get_u64(s->flat, s->root, SNAPSHOT_FLUSHED_AT);
}

struct slice snapshot_message(const struct snapshot *s)
{
	return flat_get_bytes(s->flat, s->root, SNAPSHOT_MESSAGE);
}

size_t snapshot_memory(const struct snapshot *s)
{
	return sizeof(*s) + s->payload.capacity;
}

uint32_t snapshot_n_metadata(const struct snapshot *s)
{
	return flat_count(s->flat, s->metadata);
}

struct metadata_item snapshot_metadata(const struct snapshot *s, uint32_t i)
{
	uint32_t item = flat_item(s->flat, s->metadata, i);

	return (struct metadata_item){flat_get_bytes(s->flat, item, METADATA_NAME),
				      flat_get_bytes(s->flat, item, METADATA_VALUE)};
}

int snapshot_metadata_json(const struct snapshot *s, struct buf *out, struct error *err)
{
	CLEANUP(metadata_items_done) struct metadata_items items = {0};

	for (uint32_t i = 0; i < snapshot_n_metadata(s); i++) {
		int r = metadata_items_push(&items, snapshot_metadata(s, i), err);

		if (r < 0)
			return r;
	}
	return metadata_items_json(s->spec, items.items, (uint32_t)items.n, out, err);
}

uint32_t snapshot_n_nodes(const struct snapshot *s)
{
	return flat_count(s->flat, s->nodes);
}

struct snapshot_node snapshot_node(const struct snapshot *s, uint32_t i)
{
	uint32_t at = flat_item(s->flat, s->nodes, i);
	struct snapshot_node node = {
		.path = flat_get_bytes(s->flat, at, NODE_PATH),
		.document = flat_get_bytes(s->flat, at, NODE_USER_DATA),
		._snapshot = s,
	};
	uint32_t data = flat_child(s->flat, at, NODE_DATA);
	uint32_t shape;

	memcpy(&node.id, lend(s, flat_field(s->flat, at, NODE_ID)), sizeof(node.id));
	if (flat_get_u8(s->flat, at, NODE_DATA_TYPE, 0) != NODE_DATA_ARRAY)
		return node;
	shape = flat_child(s->flat, data, DATA_SHAPE_V2);
	if (!shape)
		shape = flat_child(s->flat, data, DATA_SHAPE);
	node.type = NODE_ARRAY;
	node.n_dims = flat_count(s->flat, shape);
	node.has_names = flat_child(s->flat, data, DATA_NAMES) != 0;
	node.n_manifests = flat_count(s->flat, flat_child(s->flat, data, DATA_MANIFESTS));
	node._data = data;
	return node;
}

static int compare_path(const void *snapshot, uint32_t i, const void *path)
{
	const struct snapshot *s = snapshot;
	uint32_t at = flat_item(s->flat, s->nodes, i);

	return slice_compare(flat_get_bytes(s->flat, at, NODE_PATH), *(const struct slice *)path);
}

int snapshot_find(const struct snapshot *s, struct slice path, uint32_t *ret_index)
{
	return search_sorted(s, snapshot_n_nodes(s), &path, compare_path, ret_index)
		       ? 0
		       : SNAPSHOT_ABSENT;
}

int snapshot_find_id(const struct snapshot *s, const struct id8 *id, uint32_t *ret_index)
{
	for (uint32_t i = 0; i < snapshot_n_nodes(s); i++) {
		uint32_t at = flat_item(s->flat, s->nodes, i);

		if (!id8_equal(lend(s, flat_field(s->flat, at, NODE_ID)), id))
			continue;
		*ret_index = i;
		return 0;
	}
	return SNAPSHOT_ABSENT;
}

bool path_is_below(struct slice path, struct slice ancestor)
{
	if (slice_is(ancestor, "/"))
		return true;
	if (path.size < ancestor.size || memcmp(path.data, ancestor.data, ancestor.size) != 0)
		return false;
	return path.size == ancestor.size || path.data[ancestor.size] == '/';
}

struct dimension node_dimension(const struct snapshot_node *node, uint32_t i)
{
	const struct snapshot *s = node->_snapshot;
	uint32_t v2 = flat_child(s->flat, node->_data, DATA_SHAPE_V2);
	struct dimension dimension = {0};
	const struct shape1 *shape;

	if (v2) {
		uint32_t table = flat_item(s->flat, v2, i);

		dimension.length = flat_get_u64(s->flat, table, SHAPE_LENGTH);
		dimension.n_chunks = flat_get_u32(s->flat, table, SHAPE_N_CHUNKS);
		return dimension;
	}
	shape = lend(s, flat_child(s->flat, node->_data, DATA_SHAPE) + 4 + 16 * i);
	dimension.length = shape->array_length;
	/* Was checked when the snapshot was opened. */
	(void)chunks_of_shape1(shape, &dimension.n_chunks, NULL);
	return dimension;
}

struct slice node_dimension_name(const struct snapshot_node *node, uint32_t i)
{
	const struct snapshot *s = node->_snapshot;
	struct slice name;

	if (!node->has_names)
		return (struct slice){0};
	name = flat_get_bytes(s->flat,
			      flat_item(s->flat, flat_child(s->flat, node->_data, DATA_NAMES), i),
			      NAME_NAME);
	return name.size > 0 ? name : (struct slice){0};
}

uint64_t node_chunk_length(const struct snapshot_node *node, uint32_t i)
{
	const struct snapshot *s = node->_snapshot;
	const struct shape1 *shape;

	if (flat_child(s->flat, node->_data, DATA_SHAPE_V2))
		return 0;
	shape = lend(s, flat_child(s->flat, node->_data, DATA_SHAPE) + 4 + 16 * i);
	return shape->chunk_length;
}

struct manifest_ref node_manifest(const struct snapshot_node *node, uint32_t i)
{
	const struct snapshot *s = node->_snapshot;
	uint32_t use = flat_item(s->flat, flat_child(s->flat, node->_data, DATA_MANIFESTS), i);
	uint32_t extents = flat_child(s->flat, use, USE_EXTENTS);
	struct manifest_ref ref = {.extents = lend(s, extents + 4),
				   .n_extents = flat_count(s->flat, extents)};

	memcpy(&ref.id, lend(s, flat_field(s->flat, use, USE_ID)), sizeof(ref.id));
	return ref;
}

bool manifest_ref_holds(const struct manifest_ref *ref, const uint32_t *index)
{
	for (uint32_t i = 0; i < ref->n_extents; i++)
		if (index[i] < ref->extents[i].from || index[i] >= ref->extents[i].to)
			return false;
	return true;
}

uint32_t snapshot_n_manifests(const struct snapshot *s)
{
	return flat_count(s->flat, s->manifests_v2 ? s->manifests_v2 : s->manifests);
}

struct manifest_info snapshot_manifest(const struct snapshot *s, uint32_t i)
{
	struct manifest_info info = {0};
	uint32_t table;

	if (!s->manifests_v2) {
		const struct info1 *stored = lend(s, s->manifests + 4 + 32 * i);

		return (struct manifest_info){stored->id, stored->size, stored->n_refs};
	}
	table = flat_item(s->flat, s->manifests_v2, i);
	memcpy(&info.id, lend(s, flat_field(s->flat, table, INFO_ID)), sizeof(info.id));
	info.size = flat_get_u64(s->flat, table, INFO_SIZE);
	info.n_refs = flat_get_u32(s->flat, table, INFO_N_REFS);
	return info;
}

static int find_manifest_linear(const struct snapshot *s, const struct id12 *id,
				struct manifest_info *ret_info)
{
	for (uint32_t i = 0; i < snapshot_n_manifests(s); i++) {
		struct manifest_info info = snapshot_manifest(s, i);

		if (!id12_equal(&info.id, id))
			continue;
		*ret_info = info;
		return 0;
	}
	return SNAPSHOT_ABSENT;
}

static int compare_manifest(const void *snapshot, uint32_t i, const void *id)
{
	struct manifest_info info = snapshot_manifest(snapshot, i);

	return id12_compare(&info.id, id);
}

int snapshot_find_manifest(const struct snapshot *s, const struct id12 *id,
			   struct manifest_info *ret_info)
{
	uint32_t i;

	if (!s->manifests_sorted)
		return find_manifest_linear(s, id, ret_info);
	if (!search_sorted(s, snapshot_n_manifests(s), id, compare_manifest, &i))
		return SNAPSHOT_ABSENT;
	*ret_info = snapshot_manifest(s, i);
	return 0;
}
