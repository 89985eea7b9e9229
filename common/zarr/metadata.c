/* SPDX-License-Identifier: Apache-2.0 */
#include "zarr/metadata.h"

#include <stdlib.h>

static const char *const array_members[] = {
	"attributes", "chunk_grid",	      "chunk_key_encoding", "codecs",
	"data_type",  "fill_value",	      "dimension_names",    "node_type",
	"shape",      "storage_transformers", "zarr_format"};
static const char *const group_members[] = {"attributes", "consolidated_metadata", "node_type",
					    "zarr_format"};

int zarr_extension_parse(const struct json *value, struct slice *ret_name,
			 struct json *ret_configuration, struct error *err)
{
	struct json name = *value;
	struct json configuration = {0};

	if (value->type == JSON_OBJECT && json_get(value, "name", &name) != 0)
		return error_set(err, ERR_FORMAT, "an extension without a name");
	if (name.type != JSON_STRING)
		return error_set(err, ERR_FORMAT, "an extension is neither a name nor an object");
	if (value->type == JSON_OBJECT && json_get(value, "configuration", &configuration) == 0 &&
	    configuration.type != JSON_OBJECT)
		return error_set(err, ERR_FORMAT, "configuration is not an object");

	*ret_name = slice_sub(name.span, 1, name.span.size - 2);
	*ret_configuration = configuration;
	return 0;
}

/* A member that must be there. */
static int need(const struct json *root, const char *name, struct json *ret_value,
		struct error *err)
{
	if (json_get(root, name, ret_value) != 0)
		return error_set(err, ERR_FORMAT, "there is no %s", name);
	return 0;
}

static bool is_member(const struct json *key, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (json_is_text(key, names[i]))
			return true;
	return false;
}

static bool may_be_ignored(const struct json *value)
{
	struct json flag;
	bool must = true;

	if (json_get(value, "must_understand", &flag) != 0 || json_bool(&flag, &must, NULL) < 0)
		return false;
	return !must;
}

static void find_not_understood(struct zarr_metadata *metadata)
{
	bool is_array = metadata->node == ZARR_ARRAY;
	const char *const *names = is_array ? array_members : group_members;
	size_t n = is_array ? ARRAY_LEN(array_members) : ARRAY_LEN(group_members);
	struct json key, value;

	JSON_EACH (&metadata->root, &key, value) {
		if (json_is_text(&key, "storage_transformers") && json_count(&value) == 0)
			continue;
		if (is_member(&key, names, n) && !json_is_text(&key, "storage_transformers"))
			continue;
		if (!may_be_ignored(&value)) {
			metadata->not_understood = key;
			return;
		}
	}
}

static int read_dimension_names(struct zarr_metadata *metadata, struct error *err)
{
	struct json *names = &metadata->dimension_names;
	struct json key, name;

	if (json_get(&metadata->root, "dimension_names", names) != 0 || names->type == JSON_NULL) {
		*names = (struct json){0};
		return 0;
	}
	if (names->type != JSON_ARRAY || json_count(names) != metadata->grid.n_dims)
		return error_set(err, ERR_FORMAT, "dimension_names is not a list of %zu names",
				 metadata->grid.n_dims);
	JSON_EACH (names, &key, name)
		if (name.type != JSON_STRING && name.type != JSON_NULL)
			return error_set(err, ERR_FORMAT,
					 "dimension_names holds something that is not a name");
	return 0;
}

static int read_array(struct zarr_metadata *metadata, struct error *err)
{
	struct json shape, grid, keys;
	bool has_keys;
	int r;

	if ((r = need(&metadata->root, "shape", &shape, err)) < 0 ||
	    (r = need(&metadata->root, "chunk_grid", &grid, err)) < 0 ||
	    (r = need(&metadata->root, "data_type", &metadata->data_type, err)) < 0 ||
	    (r = need(&metadata->root, "fill_value", &metadata->fill_value, err)) < 0 ||
	    (r = need(&metadata->root, "codecs", &metadata->codecs, err)) < 0)
		return r;
	if (metadata->codecs.type != JSON_ARRAY)
		return error_set(err, ERR_FORMAT, "codecs is not a list");

	r = zarr_grid_init(&metadata->grid, &shape, &grid, err);
	if (r < 0)
		return r;
	/* Writers through other libraries leave it out; Icechunk itself does not look. */
	has_keys = json_get(&metadata->root, "chunk_key_encoding", &keys) == 0;
	r = zarr_keys_parse(has_keys ? &keys : NULL, &metadata->keys, err);
	if (r < 0)
		return r;
	r = zarr_type_parse(&metadata->data_type, &metadata->type, err);
	if (r < 0)
		return r;
	return read_dimension_names(metadata, err);
}

static int read_node(struct zarr_metadata *metadata, struct error *err)
{
	struct json value;
	uint64_t format;
	int r;

	if (metadata->root.type != JSON_OBJECT)
		return error_set(err, ERR_FORMAT, "the document is not an object");
	r = need(&metadata->root, "zarr_format", &value, err);
	if (r < 0)
		return r;
	if (json_u64(&value, &format, NULL) < 0 || format != 3)
		return error_set(err, ERR_FORMAT, "zarr_format is not 3");
	r = need(&metadata->root, "node_type", &value, err);
	if (r < 0)
		return r;
	if (json_is_text(&value, "array"))
		metadata->node = ZARR_ARRAY;
	else if (json_is_text(&value, "group"))
		metadata->node = ZARR_GROUP;
	else
		return error_set(err, ERR_FORMAT, "node_type is neither 'array' nor 'group'");

	if (json_get(&metadata->root, "attributes", &metadata->attributes) != 0)
		metadata->attributes = (struct json){0};
	else if (metadata->attributes.type != JSON_OBJECT)
		return error_set(err, ERR_FORMAT, "attributes is not an object");
	find_not_understood(metadata);
	return metadata->node == ZARR_ARRAY ? read_array(metadata, err) : 0;
}

int zarr_metadata_new(struct slice document, struct zarr_metadata **ret_metadata, struct error *err)
{
	CLEANUP(zarr_metadata_freep)
	struct zarr_metadata *metadata = calloc(1, sizeof(*metadata));
	int r;

	if (!metadata)
		return error_memory(err);
	metadata->document = document;
	r = json_parse(document, &metadata->root, err);
	if (r < 0)
		return r;
	r = read_node(metadata, err);
	if (r < 0)
		return r;
	*ret_metadata = TAKE(metadata);
	return 0;
}

struct zarr_metadata *zarr_metadata_free(struct zarr_metadata *metadata)
{
	if (metadata)
		zarr_grid_done(&metadata->grid);
	free(metadata);
	return NULL;
}

int zarr_metadata_check(const struct zarr_metadata *array, struct error *err)
{
	const struct json *key = &array->not_understood;

	if (zarr_has(key))
		return error_set(err, ERR_UNSUPPORTED, "member %.*s is not understood",
				 (int)key->span.size, (const char *)key->span.data);
	if (array->type.kind == ZARR_OPAQUE)
		return error_set(err, ERR_UNSUPPORTED, "data_type %.*s is not known",
				 (int)array->data_type.span.size,
				 (const char *)array->data_type.span.data);
	return 0;
}

int zarr_metadata_fill(const struct zarr_metadata *array, uint8_t *out, struct error *err)
{
	return zarr_fill_parse(&array->type, &array->fill_value, out, err);
}

int zarr_metadata_chunk_bytes(const struct zarr_metadata *array, const uint32_t *index,
			      size_t *ret_bytes, struct error *err)
{
	uint64_t shape[ZARR_DIMS_MAX];

	zarr_grid_chunk_shape(&array->grid, index, shape);
	return zarr_shape_bytes(array->grid.n_dims, shape, array->type.size, ret_bytes, err);
}
