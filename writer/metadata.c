/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/metadata.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/text.h"
#include "icechunk/id.h"
#include "zarr/codec.h"
#include "zarr/document.h"
#include "zarr/metadata.h"

#define CHUNK_MAX (1U << 30)
#define LIST_MAX 4096

/* The members that define how the chunks of an array are laid out. */
static const char *const structural[] = {"data_type", "chunk_grid", "dimension_names"};

static int differs(const struct json *a, const struct json *b, const char *name, bool *ret_differs,
		   struct error *err)
{
	CLEANUP(buf_done) struct buf left = BUF_INIT(1U << 20);
	CLEANUP(buf_done) struct buf right = BUF_INIT(1U << 20);
	struct json x, y;
	bool has_x = json_get(a, name, &x) == 0, has_y = json_get(b, name, &y) == 0;
	int r = 0;

	if (has_x && has_y) {
		r = zarr_json_layout(&x, 0, &left, err);
		if (r == 0)
			r = zarr_json_layout(&y, 0, &right, err);
	}
	*ret_differs = has_x != has_y || !slice_equal(buf_slice(&left), buf_slice(&right));
	return r;
}

/* Adds "'PATH': WHAT" to the list; what does not fit is left out. */
static void mismatch(struct buf *list, const char *path, const char *what)
{
	struct error full = ERROR_INIT;

	(void)buf_printf(list, &full, "%s'%s': %s", list->size ? "; " : "", path, what);
}

static int read_chunk(struct checkout *checkout, const struct node *node, const uint32_t *index,
		      struct buf *out, struct error *err)
{
	CLEANUP(chunk_done) struct chunk chunk = {0};
	char name[ID12_TEXT_LEN + 1], key[sizeof("chunks/") + ID12_TEXT_LEN];
	int r = checkout_locate(checkout, node, index, &chunk, err);

	if (r != 0)
		return r;
	if (chunk.ref.kind == CHUNK_INLINE)
		return buf_append_slice(out, chunk.ref.data, err);
	if (chunk.ref.kind != CHUNK_NATIVE)
		return error_set(err, ERR_FORMAT, "a coordinate's chunk is a virtual reference");
	id12_format(&chunk.ref.chunk_id, name);
	snprintf(key, sizeof(key), "chunks/%s", name);
	r = store_get(repo_store(checkout_repo(checkout)), key, chunk.ref.offset, chunk.ref.length,
		      NULL, out, NULL, err);
	return r == STORE_ABSENT ? error_set(err, ERR_ABSENT, "'%s' is missing", key) : r;
}

/* A chunk of the template against the store's. */
struct comparison {
	struct checkout *checkout;
	const struct template_node_info *want;
	struct node found;
	struct transaction *transaction; /* gets what differs; NULL: only looked at */
	bool differs;
};

static int decode(const struct zarr_chain *chain, const struct template_node_info *node,
		  struct slice stored, size_t size, uint8_t **ret_bytes, struct error *err)
{
	CLEANUP(freep) uint8_t *bytes = malloc(size + 1);
	int r;

	if (!bytes)
		return error_memory(err);
	r = zarr_chain_decode(chain, node->chunk_shape, stored, bytes, size, err);
	if (r == 0)
		*ret_bytes = TAKE(bytes);
	return r;
}

/* Same values?  The two may have been compressed by different versions, with other codecs even. */
static int same_values(const struct comparison *comparison, struct slice found, struct slice want,
		       bool *ret_same, struct error *err)
{
	CLEANUP(zarr_metadata_freep) struct zarr_metadata *stored = NULL, *rendered = NULL;
	CLEANUP(zarr_chain_freep) struct zarr_chain *stored_chain = NULL, *rendered_chain = NULL;
	CLEANUP(freep) uint8_t *a = NULL, *b = NULL;
	struct error broken = ERROR_INIT;
	size_t size, stored_size;
	int r;

	*ret_same = slice_equal(found, want);
	if (*ret_same)
		return 0;
	r = zarr_metadata_new(comparison->want->document, &rendered, err);
	if (r == 0)
		r = zarr_chain_new(rendered, NULL, &rendered_chain, err);
	if (r == 0)
		r = zarr_chain_chunk_bytes(rendered_chain, comparison->want->chunk_shape, &size,
					   err);
	if (r == 0)
		r = decode(rendered_chain, comparison->want, want, size, &b, err);
	if (r < 0)
		return r;
	/* What cannot be read there is not the same. */
	if (zarr_metadata_new(comparison->found.document, &stored, &broken) < 0 ||
	    zarr_chain_new(stored, NULL, &stored_chain, &broken) < 0 ||
	    zarr_chain_chunk_bytes(stored_chain, comparison->want->chunk_shape, &stored_size,
				   &broken) < 0 ||
	    stored_size != size ||
	    decode(stored_chain, comparison->want, found, size, &a, &broken) < 0)
		return broken.kind == ERR_MEMORY ? error_memory(err) : 0;
	*ret_same = memcmp(a, b, size) == 0;
	return 0;
}

static int compare_chunk(void *argument, const uint32_t *index, struct slice stored,
			 struct error *err)
{
	struct comparison *comparison = argument;
	CLEANUP(buf_done) struct buf found = BUF_INIT(CHUNK_MAX);
	bool same = false;
	int r = 1;

	if (comparison->found.document.data)
		r = read_chunk(comparison->checkout, &comparison->found, index, &found, err);
	if (r == 0)
		r = same_values(comparison, buf_slice(&found), stored, &same, err);
	if (r < 0)
		return r;
	if (same)
		return 0;
	comparison->differs = true;
	if (!comparison->transaction)
		return 0;
	return transaction_put_chunk(comparison->transaction, comparison->want->path, index,
				     comparison->want->n_dims, stored, err);
}

static int guard_array(struct template *template, struct checkout *checkout,
		       const struct template_node_info *want, const struct node *found,
		       const struct dataset *dataset, struct buf *list, struct error *err)
{
	struct json a, b;
	int r = json_parse(found->document, &a, err);

	if (r == 0)
		r = json_parse(want->document, &b, err);
	for (size_t i = 0; i < ARRAY_LEN(structural) && r == 0; i++) {
		bool other;

		r = differs(&a, &b, structural[i], &other, err);
		if (r == 0 && other)
			mismatch(list, want->path, structural[i]);
	}
	if (r < 0 || want->kind != TEMPLATE_COORDINATE || want->n_dims != 1 || want->spans_append)
		return r;
	if (dataset_dim(dataset, dataset->coordinates[want->item].name) >= 0) {
		struct comparison comparison = {
			.checkout = checkout, .want = want, .found = *found};
		uint64_t length = 0;
		uint32_t chunks;

		if (found->n_dims == 1)
			checkout_dim(checkout, found, 0, &length, &chunks);
		if (length != want->shape[0])
			comparison.differs = true;
		else
			r = template_chunks(template, want, compare_chunk, &comparison, err);
		if (r == 0 && comparison.differs)
			mismatch(list, want->path, "values");
	}
	return r;
}

static const struct template_node_info *template_find(struct template *template, struct slice path)
{
	for (size_t i = 0; i < template_n_nodes(template); i++)
		if (slice_is(path, template_node(template, i)->path))
			return template_node(template, i);
	return NULL;
}

static int guard_node(struct template *template, struct checkout *checkout, uint32_t number,
		      const struct dataset *dataset, struct buf *list, struct error *err)
{
	const struct template_node_info *want;
	struct node found;

	checkout_node(checkout, number, &found);
	want = template_find(template, found.path);
	if (!want || (want->kind != TEMPLATE_GROUP) != found.is_array) {
		CLEANUP(freep) char *path = slice_dup(found.path, err);

		if (!path)
			return ERR_MEMORY;
		mismatch(list, path, "is in the store only");
		return 0;
	}
	return found.is_array ? guard_array(template, checkout, want, &found, dataset, list, err)
			      : 0;
}

int metadata_guard(struct template *template, struct checkout *checkout, bool allow_new,
		   struct error *err)
{
	const struct dataset *dataset = template_dataset(template);
	CLEANUP(buf_done) struct buf list = BUF_INIT(LIST_MAX);
	int r = 0;

	for (uint32_t i = 0; i < checkout_n_nodes(checkout) && r == 0; i++)
		r = guard_node(template, checkout, i, dataset, &list, err);
	for (size_t i = 0; i < template_n_nodes(template) && r == 0 && !allow_new; i++) {
		struct node found;

		if (checkout_find(checkout, template_node(template, i)->path, &found) != 0)
			mismatch(&list, template_node(template, i)->path,
				 "is in the definition only");
	}
	if (r < 0 || list.size == 0)
		return r;
	return error_set(err, ERR_CONFLICT, "the store does not fit the definition: %.*s",
			 (int)(list.size < 400 ? list.size : 400), (const char *)list.data);
}

static int check_length(const struct template_node_info *want, struct checkout *checkout,
			const struct node *found, struct error *err)
{
	for (uint32_t d = 0; want->spans_append && d < found->n_dims && d < want->n_dims; d++) {
		uint64_t length;
		uint32_t chunks;

		checkout_dim(checkout, found, d, &length, &chunks);
		if (length > want->shape[d])
			return error_set(err, ERR_CONFLICT,
					 "'%s' has %llu labels, more than the %llu asked for",
					 want->path, (unsigned long long)length,
					 (unsigned long long)want->shape[d]);
	}
	return 0;
}

static int write_node(struct template *template, const struct template_node_info *want,
		      struct transaction *transaction, struct error *err)
{
	struct comparison comparison = {.checkout = transaction_base(transaction),
					.want = want,
					.transaction = transaction};
	bool exists = checkout_find(comparison.checkout, want->path, &comparison.found) == 0;
	int r = 0;

	if (!exists)
		comparison.found = (struct node){0};
	if (exists && comparison.found.is_array)
		r = check_length(want, comparison.checkout, &comparison.found, err);
	if (r < 0)
		return r;
	if (!exists || !slice_equal(comparison.found.document, want->document))
		r = transaction_put_document(transaction, want->path, want->document, err);
	if (r == 0 && want->kind == TEMPLATE_COORDINATE)
		r = template_chunks(template, want, compare_chunk, &comparison, err);
	return r;
}

int metadata_write(struct template *template, struct transaction *transaction, struct error *err)
{
	int r = 0;

	for (size_t i = 0; i < template_n_nodes(template) && r == 0; i++)
		r = write_node(template, template_node(template, i), transaction, err);
	return r;
}
