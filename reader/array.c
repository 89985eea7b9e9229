/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/array.h"

#include <stdlib.h>

#include "base/hash.h"
#include "zarr/view.h"

/* Two arrays whose stored bytes mean the same have the same identity. */
static int array_identify(struct array *array, struct error *err)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT(BUF_NO_LIMIT);
	const struct zarr_metadata *metadata = array->metadata;
	const struct slice parts[] = {
		metadata->codecs.span,
		metadata->data_type.span,
		metadata->fill_value.span,
	};
	int r;

	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		r = buf_append_slice(&text, parts[i], err);
		if (r == 0)
			r = buf_append_byte(&text, '\n', err);
		if (r < 0)
			return r;
	}
	return sha256(buf_slice(&text), array->identity, err);
}

static int array_open(struct reader *reader, struct array *array, struct error *err)
{
	int r;

	r = zarr_metadata_new(array->node.document, &array->metadata, err);
	if (r < 0)
		return r;
	if (array->metadata->node != ZARR_ARRAY)
		return error_set(err, ERR_FORMAT, "the document is not an array's");
	if (array->metadata->grid.n_dims != array->node.n_dims)
		return error_set(err, ERR_FORMAT,
				 "the document has %zu dimensions, the snapshot %u",
				 array->metadata->grid.n_dims, array->node.n_dims);
	r = array_identify(array, err);
	if (r < 0)
		return r;
	array->must_decode = zarr_must_decode(array->metadata);
	r = zarr_metadata_check(array->metadata, &array->cannot_decode);
	if (r == 0)
		r = zarr_chain_new(array->metadata, reader_registry(reader), &array->chain,
				   &array->cannot_decode);
	if (r == ERR_MEMORY)
		return error_memory(err);
	if (array->chain)
		array->unknown_codec = zarr_chain_unknown_codec(array->chain);
	return 0;
}

int array_new(struct reader *reader, const struct node *node, struct array **ret_array,
	      struct error *err)
{
	CLEANUP(array_freep) struct array *array = calloc(1, sizeof(*array));
	int r;

	if (!array)
		return error_memory(err);
	array->node = *node;
	r = array_open(reader, array, err);
	if (r < 0)
		return error_prefix(err, "cannot use array '%.*s'", (int)node->path.size,
				    (const char *)node->path.data);
	*ret_array = TAKE(array);
	return 0;
}

struct array *array_free(struct array *array)
{
	if (!array)
		return NULL;
	zarr_chain_free(array->chain);
	zarr_metadata_free(array->metadata);
	free(array);
	return NULL;
}
