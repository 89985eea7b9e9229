/* SPDX-License-Identifier: Apache-2.0 */
#include "repo/document.h"

#include <inttypes.h>

#include "base/json.h"
#include "base/text.h"
#include "zarr/grid.h"

#define NAME_SIZE_MAX 65536

static int document_name(struct document *document, const struct json *value,
			 struct slice *ret_name, struct error *err)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT(NAME_SIZE_MAX);
	char *copy;
	int r;

	if (value->type == JSON_NULL)
		return 0;
	r = json_text(value, &text, err);
	if (r < 0)
		return error_prefix(err, "dimension_names");
	/* The public library takes an empty name for none. */
	if (text.size == 0)
		return 0;
	copy = arena_dup(&document->arena, buf_slice(&text), err);
	if (!copy)
		return ERR_MEMORY;
	*ret_name = slice_of(copy, text.size);
	return 0;
}

static int document_names(struct document *document, const struct json *root, struct error *err)
{
	struct json names, name;
	uint32_t i = 0;

	if (json_get(root, "dimension_names", &names) != 0 || names.type == JSON_NULL)
		return 0;
	if (names.type != JSON_ARRAY || json_count(&names) != document->n_dims)
		return error_set(err, ERR_FORMAT,
				 "dimension_names is no list of %u names, one a dimension",
				 document->n_dims);
	document->has_names = true;
	JSON_EACH (&names, NULL, name) {
		int r = document_name(document, &name, &document->dims[i++].name, err);

		if (r < 0)
			return r;
	}
	return 0;
}

static int document_dims(struct document *document, const struct zarr_grid *grid, struct error *err)
{
	document->is_regular = grid->is_regular;
	document->n_dims = (uint32_t)grid->n_dims;
	document->dims =
		arena_zalloc(&document->arena, grid->n_dims + 1, sizeof(*document->dims), err);
	if (!document->dims)
		return ERR_MEMORY;
	for (size_t i = 0; i < grid->n_dims; i++) {
		const struct zarr_dim *dim = &grid->dims[i];

		if (dim->n_chunks > UINT32_MAX)
			return error_set(err, ERR_FORMAT,
					 "dimension %zu has %" PRIu64 " chunks, more than 2^32 - 1",
					 i, dim->n_chunks);
		document->dims[i].length = dim->length;
		document->dims[i].n_chunks = (uint32_t)dim->n_chunks;
		document->dims[i].chunk_length = dim->chunk;
	}
	return 0;
}

static int document_array(struct document *document, const struct json *root, struct error *err)
{
	CLEANUP(zarr_grid_done) struct zarr_grid grid = {0};
	struct json shape, chunk_grid;
	int r;

	if (json_get(root, "shape", &shape) != 0)
		return error_set(err, ERR_FORMAT, "an array's document needs the member shape");
	if (json_get(root, "chunk_grid", &chunk_grid) != 0)
		return error_set(err, ERR_FORMAT,
				 "an array's document needs the member chunk_grid");
	r = zarr_grid_init(&grid, &shape, &chunk_grid, err);
	if (r == 0)
		r = document_dims(document, &grid, err);
	return r < 0 ? r : document_names(document, root, err);
}

static int document_parse(struct document *document, struct error *err)
{
	struct json root, type;
	int r;

	r = json_parse(document->bytes, &root, err);
	if (r < 0)
		return r;
	if (json_get(&root, "node_type", &type) != 0)
		return error_set(err, ERR_FORMAT, "the member node_type is missing");
	document->is_array = json_is_text(&type, "array");
	if (document->is_array)
		return document_array(document, &root, err);
	if (!json_is_text(&type, "group"))
		return error_set(err, ERR_FORMAT, "node_type is neither \"array\" nor \"group\"");
	return 0;
}

int document_init(struct document *document, struct slice bytes, struct error *err)
{
	struct document parsed = DOCUMENT_INIT;
	char *copy = arena_dup(&parsed.arena, bytes, err);
	int r;

	if (!copy)
		return ERR_MEMORY;
	parsed.bytes = slice_of(copy, bytes.size);
	r = document_parse(&parsed, err);
	if (r < 0) {
		document_done(&parsed);
		return r;
	}
	*document = parsed;
	return 0;
}

void document_done(struct document *document)
{
	arena_done(&document->arena);
	*document = DOCUMENT_INIT;
}

int document_resize(struct slice bytes, const uint64_t *shape, uint32_t n_dims, struct buf *out,
		    struct error *err)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT(4096);
	struct json root, old;
	int r;

	r = json_parse(bytes, &root, err);
	if (r < 0)
		return r;
	if (json_get(&root, "shape", &old) != 0 || json_count(&old) != n_dims)
		return error_set(err, ERR_ARGUMENT, "the array does not have %u dimensions",
				 n_dims);
	r = buf_append_byte(&text, '[', err);
	for (uint32_t i = 0; r == 0 && i < n_dims; i++)
		r = buf_printf(&text, err, "%s%" PRIu64, i ? "," : "", shape[i]);
	if (r == 0)
		r = buf_append_byte(&text, ']', err);
	if (r < 0)
		return r;
	return json_edit_replace(bytes, &old, buf_slice(&text), out, err);
}
