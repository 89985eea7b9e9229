/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/template.h"

#include <stdlib.h>

#include "base/text.h"
#include "base/vec.h"
#include "store/drivers.h"
#include "zarr/codec.h"
#include "zarr/grid.h"
#include "zarr/metadata.h"

#define FILE_MAX (1U << 30)

/* A file of the tree. */
typedef int (*file_fn)(void *argument, const struct template_node_info *node, const char *key,
		       struct slice bytes, struct error *err);

struct walk {
	const struct template_node_info *node;
	file_fn each;
	void *argument;
};

static int chunk_file(void *argument, const uint32_t *index, struct slice stored, struct error *err)
{
	const struct walk *walk = argument;
	const struct zarr_keys keys = {.separator = '/'};
	CLEANUP(buf_done) struct buf key = BUF_INIT(4096);
	const char *text;
	int r = buf_printf(&key, err, "%s/", walk->node->path + 1);

	if (r == 0)
		r = zarr_key_write(&keys, walk->node->n_dims, index, &key, err);
	if (r < 0)
		return r;
	text = buf_text(&key, err);
	return text ? walk->each(walk->argument, walk->node, text, stored, err) : ERR_MEMORY;
}

static int document_file(struct template *template, size_t i, const struct walk *walk,
			 struct error *err)
{
	CLEANUP(buf_done) struct buf root = BUF_INIT(BUF_NO_LIMIT);
	CLEANUP(freep) char *key = NULL;
	int r;

	if (i == 0) {
		r = template_consolidated(template, &root, err);
		return r < 0 ? r
			     : walk->each(walk->argument, walk->node, "zarr.json", buf_slice(&root),
					  err);
	}
	key = text_printf(err, "%s/zarr.json", walk->node->path + 1);
	return key ? walk->each(walk->argument, walk->node, key, walk->node->document, err)
		   : ERR_MEMORY;
}

static int walk_tree(const struct dataset *dataset, file_fn each, void *argument, struct error *err)
{
	CLEANUP(template_freep) struct template *template = NULL;
	struct walk walk = {.each = each, .argument = argument};
	int r = template_new(dataset, 1, &template, err);

	for (size_t i = 0; r == 0 && i < template_n_nodes(template); i++) {
		walk.node = template_node(template, i);
		r = document_file(template, i, &walk, err);
		if (r == 0 && walk.node->kind == TEMPLATE_COORDINATE)
			r = template_chunks(template, walk.node, chunk_file, &walk, err);
	}
	return r;
}

static int write_file(void *argument, const struct template_node_info *node, const char *key,
		      struct slice bytes, struct error *err)
{
	(void)node;
	return store_put(argument, key, bytes, err);
}

int template_write(const struct dataset *dataset, const char *folder, struct error *err)
{
	CLEANUP(store_freep) struct store *store = NULL;
	int r = store_local_new(folder, &store, err);

	return r < 0 ? r : walk_tree(dataset, write_file, store, err);
}

struct check {
	const struct dataset *dataset;
	struct store *store;
	void (*each)(void *argument, const char *key, const char *what);
	void *argument;
	char **keys; /* of the rendered tree */
	size_t n_keys, capacity;
	bool differs;
};

static void report(struct check *check, const char *key, const char *what)
{
	check->differs = true;
	check->each(check->argument, key, what);
}

/* Do the two stored forms of a chunk decode to the same bytes? */
static int same_values(const struct template_node_info *node, struct slice a, struct slice b,
		       bool *ret_same, struct error *err)
{
	CLEANUP(zarr_metadata_freep) struct zarr_metadata *metadata = NULL;
	CLEANUP(zarr_chain_freep) struct zarr_chain *chain = NULL;
	CLEANUP(freep) uint8_t *left = NULL, *right = NULL;
	struct error broken = ERROR_INIT;
	size_t size;
	int r = zarr_metadata_new(node->document, &metadata, err);

	if (r == 0)
		r = zarr_chain_new(metadata, NULL, &chain, err);
	if (r == 0)
		r = zarr_chain_chunk_bytes(chain, node->chunk_shape, &size, err);
	if (r < 0)
		return r;
	left = malloc(size + 1);
	right = malloc(size + 1);
	if (!left || !right)
		return error_memory(err);
	r = zarr_chain_decode(chain, node->chunk_shape, a, left, size, err);
	if (r < 0)
		return r;
	*ret_same = zarr_chain_decode(chain, node->chunk_shape, b, right, size, &broken) == 0 &&
		    memcmp(left, right, size) == 0;
	return 0;
}

static int keep_key(struct check *check, const char *key, struct error *err)
{
	int r = vec_reserve((void **)&check->keys, &check->capacity, check->n_keys + 1,
			    sizeof(*check->keys), err);

	if (r < 0)
		return r;
	check->keys[check->n_keys] = text_dup(key, err);
	return check->keys[check->n_keys++] ? 0 : ERR_MEMORY;
}

static int check_file(void *argument, const struct template_node_info *node, const char *key,
		      struct slice bytes, struct error *err)
{
	struct check *check = argument;
	CLEANUP(buf_done) struct buf found = BUF_INIT(FILE_MAX);
	bool is_document = text_ends(key, "zarr.json"), same;
	int r = keep_key(check, key, err);

	if (r == 0)
		r = store_get_all(check->store, key, &found, NULL, err);
	if (r < 0)
		return r;
	if (r == STORE_ABSENT) {
		if (is_document ||
		    check->dataset->coordinates[node->item].kind != COORDINATE_PROJECTED)
			report(check, key, "is missing");
		return 0;
	}
	same = slice_equal(bytes, buf_slice(&found));
	if (!same && !is_document) {
		r = same_values(node, bytes, buf_slice(&found), &same, err);
		if (r < 0)
			return r;
	}
	if (!same)
		report(check, key, "differs");
	return 0;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int check_surplus(void *argument, const struct store_entry *entry, struct error *err)
{
	struct check *check = argument;

	(void)err;
	if (!bsearch(&entry->key, check->keys, check->n_keys, sizeof(*check->keys), by_text))
		report(check, entry->key, "does not belong there");
	return 0;
}

int template_check(const struct dataset *dataset, const char *folder,
		   void (*each)(void *argument, const char *key, const char *what), void *argument,
		   struct error *err)
{
	CLEANUP(store_freep) struct store *store = NULL;
	struct check check = {.dataset = dataset, .each = each, .argument = argument};
	int r = store_local_new(folder, &store, err);

	if (r < 0)
		return r;
	check.store = store;
	r = walk_tree(dataset, check_file, &check, err);
	if (r == 0) {
		qsort(check.keys, check.n_keys, sizeof(*check.keys), by_text);
		r = store_list(store, "", false, check_surplus, &check, err);
	}
	for (size_t i = 0; i < check.n_keys; i++)
		free(check.keys[i]);
	free(check.keys);
	if (r < 0)
		return r;
	return check.differs ? TEMPLATE_DIFFERS : 0;
}
