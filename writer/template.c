/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/template.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/text.h"
#include "writer/coordinate.h"
#include "zarr/codec.h"
#include "zarr/document.h"
#include "zarr/metadata.h"

/* A decoded coordinate chunk: 18 hours of 192,720 labels are 29 MB. */
#define CHUNK_BYTES_MAX (UINT64_C(1) << 30)
#define DOCUMENT_MAX (1U << 20)
/* Encoded chunks that are kept because every group has the same. */
#define KEPT_MAX (64U << 20)

/* A chunk of a coordinate, encoded. */
struct kept_chunk {
	uint32_t coordinate;
	uint32_t index[DATASET_DIMS_MAX];
	struct slice stored;
	struct kept_chunk *next;
};

struct template
{
	const struct dataset *dataset;
	uint64_t n;
	struct arena arena;
	struct template_node_info *nodes;
	size_t n_nodes;
	size_t *variables;     /* node of each variable */
	pthread_mutex_t mutex; /* protects what follows, and the arena after template_new() */
	struct kept_chunk *kept;
	size_t kept_bytes;
};

static bool in_group(const struct dataset_group *group, uint32_t dim)
{
	for (uint32_t i = 0; i < group->n_dims; i++)
		if (group->dims[i] == dim)
			return true;
	return false;
}

/* A coordinate belongs to every group that has all of its dimensions. */
static bool belongs(const struct dataset_coordinate *coordinate, const struct dataset_group *group)
{
	for (uint32_t i = 0; i < coordinate->n_dims; i++)
		if (!in_group(group, coordinate->dims[i]))
			return false;
	return true;
}

static bool is_dimension(const struct dataset *dataset, const struct dataset_coordinate *coordinate,
			 const struct dataset_group *group)
{
	int dim = dataset_dim(dataset, coordinate->name);

	return dim >= 0 && in_group(group, (uint32_t)dim);
}

/* Names of the coordinates that are no dimensions, sorted, with blanks between. */
static int write_coordinates(const struct dataset *dataset, const struct dataset_group *group,
			     struct buf *out, struct error *err)
{
	CLEANUP(buf_done) struct buf names = BUF_INIT(DOCUMENT_MAX);
	int r = 0;

	for (uint32_t i = 0; i < dataset->n_coordinates && r == 0; i++) {
		const struct dataset_coordinate *coordinate = &dataset->coordinates[i];

		if (!belongs(coordinate, group) || is_dimension(dataset, coordinate, group))
			continue;
		r = buf_printf(&names, err, "%s%s", names.size ? " " : "", coordinate->name);
	}
	if (r < 0 || names.size == 0)
		return r;
	r = buf_append_text(out, ", \"coordinates\": ", err);
	return r < 0 ? r : json_write_text(out, buf_slice(&names), err);
}

/* xarray keeps the fill value of floats as base64 of 8 octets, whatever the type's size. */
static int write_fill_value(struct slice data_type, struct slice fill_value, struct buf *out,
			    struct error *err)
{
	static const struct zarr_type float64 = {.kind = ZARR_FLOAT, .size = 8, .unit = 8};
	struct json type_json = {.type = JSON_STRING, .span = data_type}, fill;
	struct zarr_type type;
	uint8_t bytes[8];
	int r = zarr_type_parse(&type_json, &type, err);

	if (r < 0 || type.kind != ZARR_FLOAT)
		return r;
	r = json_parse(fill_value, &fill, err);
	if (r == 0)
		r = zarr_fill_parse(&float64, &fill, bytes, err);
	if (r == 0)
		r = buf_append_text(out, ", \"_FillValue\": \"", err);
	if (r == 0)
		r = base64_encode(slice_of(bytes, sizeof(bytes)), out, err);
	return r < 0 ? r : buf_append_text(out, "\"", err);
}

/* The attributes of the definition, then those that follow from the rest of it. */
static int write_attributes(const struct dataset *dataset, const struct dataset_group *group,
			    struct slice attributes, struct slice data_type,
			    struct slice fill_value, struct buf *out, struct error *err)
{
	struct json object = {.type = JSON_OBJECT, .span = attributes};
	bool is_empty = json_count(&object) == 0;
	CLEANUP(buf_done) struct buf more = BUF_INIT(DOCUMENT_MAX);
	size_t skip;
	int r = 0;

	if (group)
		r = write_coordinates(dataset, group, &more, err);
	if (r == 0)
		r = write_fill_value(data_type, fill_value, &more, err);
	if (r == 0)
		r = buf_append(out, attributes.data, attributes.size - 1, err);
	if (r < 0)
		return r;
	/* Without a member before it the comma in front goes. */
	skip = is_empty && more.size > 0 ? 1 : 0;
	r = buf_append_slice(out, slice_sub(buf_slice(&more), skip, more.size), err);
	return r < 0 ? r : buf_append_text(out, "}", err);
}

static int write_names(const struct dataset *dataset, const uint32_t *dims, uint32_t n,
		       struct buf *out, struct error *err)
{
	int r = buf_append_text(out, "[", err);

	for (uint32_t i = 0; i < n && r == 0; i++) {
		r = buf_append_text(out, i ? ", " : "", err);
		if (r == 0)
			r = json_write_text(out, slice_text(dataset->dims[dims[i]].name), err);
	}
	return r < 0 ? r : buf_append_text(out, "]", err);
}

/* Keeps @document in the template. */
static int keep_document(struct template *template, struct template_node_info *node,
			 const struct buf *document, struct error *err)
{
	char *copy = arena_dup(&template->arena, buf_slice(document), err);

	if (!copy)
		return ERR_MEMORY;
	node->document = slice_of(copy, document->size);
	return 0;
}

static int set_path(struct template *template, struct template_node_info *node, const char *group,
		    const char *name, struct error *err)
{
	CLEANUP(freep)
	char *path = text_printf(err, "%s%s%s%s", group[0] ? "/" : "", group,
				 name[0] || !group[0] ? "/" : "", name);

	if (!path)
		return ERR_MEMORY;
	node->path = arena_dup(&template->arena, slice_text(path), err);
	return node->path ? 0 : ERR_MEMORY;
}

static void set_shape(const struct template *template, struct template_node_info *node,
		      const uint32_t *dims, uint32_t n, const uint64_t *chunks)
{
	const struct dataset *dataset = template->dataset;

	node->n_dims = n;
	for (uint32_t i = 0; i < n; i++) {
		const struct dataset_dim *dim = &dataset->dims[dims[i]];
		bool is_append = dims[i] == dataset->append;

		node->shape[i] = is_append ? template->n : dim->size;
		node->chunk_shape[i] = chunks ? chunks[i] : dim->chunk;
		node->spans_append |= is_append;
	}
}

struct array_parts {
	const struct dataset_group *group; /* NULL: no attribute that lists coordinates */
	const uint32_t *dims;
	struct slice data_type, fill_value, codecs, attributes;
};

static int render_array(struct template *template, struct template_node_info *node,
			const struct array_parts *parts, struct error *err)
{
	CLEANUP(buf_done) struct buf attributes = BUF_INIT(DOCUMENT_MAX);
	CLEANUP(buf_done) struct buf names = BUF_INIT(DOCUMENT_MAX);
	CLEANUP(buf_done) struct buf document = BUF_INIT(DOCUMENT_MAX);
	struct zarr_array_document array = {.n_dims = node->n_dims,
					    .shape = node->shape,
					    .chunk_shape = node->chunk_shape,
					    .data_type = parts->data_type,
					    .fill_value = parts->fill_value,
					    .codecs = parts->codecs};
	int r = write_attributes(template->dataset, parts->group, parts->attributes,
				 parts->data_type, parts->fill_value, &attributes, err);

	/* The public package leaves the names of a scalar's dimensions out. */
	if (r == 0 && node->n_dims > 0)
		r = write_names(template->dataset, parts->dims, node->n_dims, &names, err);
	if (r < 0)
		return r;
	array.attributes = buf_slice(&attributes);
	array.dimension_names = buf_slice(&names);
	r = zarr_array_document_write(&array, &document, err);
	if (r < 0)
		return error_prefix(err, "cannot render '%s'", node->path);
	return keep_document(template, node, &document, err);
}

static int render_group(struct template *template, uint32_t g, struct error *err)
{
	struct template_node_info *node = &template->nodes[template->n_nodes++];
	CLEANUP(buf_done) struct buf document = BUF_INIT(DOCUMENT_MAX);
	int r;

	node->kind = TEMPLATE_GROUP;
	node->group = g;
	r = set_path(template, node, template->dataset->groups[g].path, "", err);
	if (r == 0)
		r = zarr_group_document_write(template->dataset->attributes, NULL, 0, &document,
					      err);
	return r < 0 ? r : keep_document(template, node, &document, err);
}

static int render_coordinate(struct template *template, uint32_t g, uint32_t c, struct error *err)
{
	const struct dataset_coordinate *coordinate = &template->dataset->coordinates[c];
	struct template_node_info *node = &template->nodes[template->n_nodes++];
	struct array_parts parts = {.dims = coordinate->dims,
				    .data_type = coordinate->data_type,
				    .fill_value = coordinate->fill_value,
				    .codecs = coordinate->codecs,
				    .attributes = coordinate->attributes};
	int r;

	node->kind = TEMPLATE_COORDINATE;
	node->group = g;
	node->item = c;
	r = set_path(template, node, template->dataset->groups[g].path, coordinate->name, err);
	if (r < 0)
		return r;
	set_shape(template, node, coordinate->dims, coordinate->n_dims, coordinate->chunks);
	return render_array(template, node, &parts, err);
}

static int render_variable(struct template *template, uint32_t v, struct error *err)
{
	const struct dataset_variable *variable = &template->dataset->variables[v];
	const struct dataset_group *group = &template->dataset->groups[variable->group];
	struct template_node_info *node = &template->nodes[template->n_nodes++];
	struct array_parts parts = {.group = group,
				    .dims = group->dims,
				    .data_type = variable->data_type,
				    .fill_value = variable->fill_value,
				    .codecs = variable->codecs,
				    .attributes = variable->attributes};
	int r;

	node->kind = TEMPLATE_VARIABLE;
	node->group = variable->group;
	node->item = v;
	r = set_path(template, node, group->path, variable->name, err);
	if (r < 0)
		return r;
	set_shape(template, node, group->dims, group->n_dims, NULL);
	return render_array(template, node, &parts, err);
}

static int by_path(const void *a, const void *b)
{
	const struct template_node_info *x = a, *y = b;

	return strcmp(x->path, y->path);
}

static int render_members(struct template *template, uint32_t g, struct error *err)
{
	const struct dataset *dataset = template->dataset;
	size_t first = template->n_nodes;
	int r = 0;

	for (uint32_t c = 0; c < dataset->n_coordinates && r == 0; c++)
		if (belongs(&dataset->coordinates[c], &dataset->groups[g]))
			r = render_coordinate(template, g, c, err);
	for (uint32_t v = 0; v < dataset->n_variables && r == 0; v++)
		if (dataset->variables[v].group == g)
			r = render_variable(template, v, err);
	qsort(template->nodes + first, template->n_nodes - first, sizeof(*template->nodes),
	      by_path);
	return r;
}

int template_new(const struct dataset *dataset, uint64_t n, struct template **ret_template,
		 struct error *err)
{
	CLEANUP(template_freep) struct template *template = calloc(1, sizeof(*template));
	size_t most =
		dataset->n_groups * (1 + (size_t)dataset->n_coordinates) + dataset->n_variables;
	int r = 0;

	if (!template)
		return error_memory(err);
	pthread_mutex_init(&template->mutex, NULL);
	template->dataset = dataset;
	template->n = n;
	template->nodes = arena_zalloc(&template->arena, most, sizeof(*template->nodes), err);
	template->variables = arena_zalloc(&template->arena, dataset->n_variables,
					   sizeof(*template->variables), err);
	if (!template->nodes || !template->variables)
		return ERR_MEMORY;
	for (uint32_t g = 0; g < dataset->n_groups && r == 0; g++) {
		r = render_group(template, g, err);
		if (r == 0)
			r = render_members(template, g, err);
	}
	if (r < 0)
		return r;
	for (size_t i = 0; i < template->n_nodes; i++)
		if (template->nodes[i].kind == TEMPLATE_VARIABLE)
			template->variables[template->nodes[i].item] = i;
	*ret_template = TAKE(template);
	return 0;
}

struct template *template_free(struct template *template)
{
	if (template) {
		pthread_mutex_destroy(&template->mutex);
		arena_done(&template->arena);
		free(template);
	}
	return NULL;
}

size_t template_n_nodes(const struct template *template)
{
	return template->n_nodes;
}

const struct template_node_info *template_node(const struct template *template, size_t i)
{
	return &template->nodes[i];
}

const struct template_node_info *template_variable(const struct template *template,
						   uint32_t variable)
{
	return &template->nodes[template->variables[variable]];
}

uint64_t template_length(const struct template *template)
{
	return template->n;
}

static int member_by_path(const void *a, const void *b)
{
	const struct zarr_member *x = a, *y = b;

	return slice_compare(x->path, y->path);
}

int template_consolidated(const struct template *template, struct buf *out, struct error *err)
{
	size_t n = template->n_nodes - 1;
	CLEANUP(freep) struct zarr_member *members = calloc(n + 1, sizeof(*members));

	if (!members)
		return error_memory(err);
	for (size_t i = 0; i < n; i++) {
		members[i].path = slice_text(template->nodes[i + 1].path + 1);
		members[i].document = template->nodes[i + 1].document;
	}
	qsort(members, n, sizeof(*members), member_by_path);
	return zarr_group_document_write(template->dataset->attributes, members, n, out, err);
}

/* One chunk after another, in the order of their indexes. */
static bool next_chunk(const struct template_node_info *node, uint32_t *index)
{
	for (uint32_t d = node->n_dims; d-- > 0;) {
		uint64_t n = (node->shape[d] + node->chunk_shape[d] - 1) / node->chunk_shape[d];

		if (++index[d] < n)
			return true;
		index[d] = 0;
	}
	return false;
}

static int encode_chunk(const struct template *template, const struct template_node_info *node,
			const struct zarr_metadata *metadata, const struct zarr_chain *chain,
			const uint32_t *index, uint8_t *decoded, size_t size, struct buf *stored,
			struct error *err)
{
	const struct dataset_coordinate *coordinate = &template->dataset->coordinates[node->item];
	uint64_t start[DATASET_DIMS_MAX];
	uint8_t fill[16] = {0};
	size_t item = metadata->type.size;
	int r;

	if (item > sizeof(fill))
		return error_set(err, ERR_UNSUPPORTED, "'%s' has large elements", node->path);
	r = zarr_metadata_fill(metadata, fill, err);
	if (r < 0)
		return r;
	for (size_t at = 0; at + item <= size; at += item)
		memcpy(decoded + at, fill, item);
	for (uint32_t d = 0; d < node->n_dims; d++)
		start[d] = index[d] * node->chunk_shape[d];
	r = coordinate_fill(template->dataset, coordinate, &metadata->type, start,
			    node->chunk_shape, node->shape, decoded, err);
	if (r < 0)
		return r;
	return zarr_chain_encode(chain, node->chunk_shape, slice_of(decoded, size), stored, err);
}

static bool find_kept(struct template *template, const struct template_node_info *node,
		      const uint32_t *index, struct slice *ret_stored)
{
	const struct kept_chunk *found = NULL;

	pthread_mutex_lock(&template->mutex);
	for (const struct kept_chunk *at = template->kept; at && !found; at = at->next)
		if (at->coordinate == node->item &&
		    memcmp(at->index, index, node->n_dims * sizeof(*index)) == 0)
			found = at;
	if (found)
		*ret_stored = found->stored;
	pthread_mutex_unlock(&template->mutex);
	return found != NULL;
}

/* Other groups have the coordinate, too; encoding it again could be dear. */
static int keep_chunk(struct template *template, const struct template_node_info *node,
		      const uint32_t *index, struct slice stored, struct error *err)
{
	struct kept_chunk *kept = NULL;
	char *copy = NULL;
	bool fits;

	pthread_mutex_lock(&template->mutex);
	fits = template->dataset->n_groups > 1 && stored.size <= KEPT_MAX - template->kept_bytes;
	if (fits) {
		kept = arena_zalloc(&template->arena, 1, sizeof(*kept), err);
		copy = arena_dup(&template->arena, stored, err);
	}
	if (kept && copy) {
		kept->coordinate = node->item;
		memcpy(kept->index, index, node->n_dims * sizeof(*index));
		kept->stored = slice_of(copy, stored.size);
		kept->next = template->kept;
		template->kept = kept;
		template->kept_bytes += stored.size;
	}
	pthread_mutex_unlock(&template->mutex);
	return fits && (!kept || !copy) ? ERR_MEMORY : 0;
}

int template_chunks(struct template *template, const struct template_node_info *node,
		    int (*each)(void *argument, const uint32_t *index, struct slice stored,
				struct error *err),
		    void *argument, struct error *err)
{
	CLEANUP(zarr_metadata_freep) struct zarr_metadata *metadata = NULL;
	CLEANUP(zarr_chain_freep) struct zarr_chain *chain = NULL;
	CLEANUP(freep) uint8_t *decoded = NULL;
	uint32_t index[DATASET_DIMS_MAX] = {0};
	size_t size;
	int r = zarr_metadata_new(node->document, &metadata, err);

	if (r == 0)
		r = zarr_chain_new(metadata, NULL, &chain, err);
	if (r == 0)
		r = zarr_chain_chunk_bytes(chain, node->chunk_shape, &size, err);
	if (r < 0)
		return error_prefix(err, "cannot render '%s'", node->path);
	if (size > CHUNK_BYTES_MAX)
		return error_set(err, ERR_FORMAT, "a chunk of '%s' has %zu bytes", node->path,
				 size);
	for (uint32_t d = 0; d < node->n_dims; d++)
		if (node->shape[d] == 0)
			return 0;
	decoded = malloc(size ? size : 1);
	if (!decoded)
		return error_memory(err);
	do {
		CLEANUP(buf_done) struct buf encoded = BUF_INIT(BUF_NO_LIMIT);
		struct slice stored;

		if (!find_kept(template, node, index, &stored)) {
			r = encode_chunk(template, node, metadata, chain, index, decoded, size,
					 &encoded, err);
			stored = buf_slice(&encoded);
			if (r == 0)
				r = keep_chunk(template, node, index, stored, err);
		}
		if (r < 0)
			return error_prefix(err, "cannot render '%s'", node->path);
		r = each(argument, index, stored, err);
		if (r < 0)
			return r;
	} while (next_chunk(node, index));
	return 0;
}

const struct dataset *template_dataset(const struct template *template)
{
	return template->dataset;
}
