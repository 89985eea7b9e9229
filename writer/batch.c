/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/batch.h"

#include <stdlib.h>

#include "base/json.h"
#include "base/text.h"
#include "base/time.h"
#include "writer/template.h"

struct batch {
	const struct dataset *dataset;
	const struct selection *selection;
	struct targets *targets;
	bool overwrite;
	struct transaction **transactions; /* of each target */
	uint64_t *lengths;		   /* of each target's append dimension */
};

static int check_identity(const struct dataset *dataset, struct checkout *checkout,
			  struct error *err)
{
	struct node root;
	struct json document, id;
	int r = checkout_find(checkout, "/", &root);

	if (r == REPO_ABSENT)
		return error_set(err, ERR_CONFLICT, "the store holds no dataset");
	r = json_parse(root.document, &document, err);
	if (r < 0)
		return r;
	if (json_path(&document, &id, "attributes", "dataset_id", NULL) != 0 ||
	    !json_is_text(&id, dataset->id))
		return error_set(err, ERR_CONFLICT, "the store holds another dataset than '%s'",
				 dataset->id);
	return 0;
}

int store_length(const struct dataset *dataset, struct checkout *checkout, uint64_t *ret_length,
		 struct error *err)
{
	const char *name = dataset->dims[dataset->append].name;
	uint64_t length = 0;
	int r = check_identity(dataset, checkout, err);

	for (uint32_t g = 0; g < dataset->n_groups && r == 0; g++) {
		const char *group = dataset->groups[g].path;
		CLEANUP(freep)
		char *path = text_printf(err, "/%s%s%s", group, group[0] ? "/" : "", name);
		struct node node;
		uint64_t found = 0;
		uint32_t chunks;

		if (!path)
			return ERR_MEMORY;
		/* A group that the definition has gained is filled by a backfill, not here. */
		if (checkout_find(checkout, path, &node) != 0)
			return error_set(err, ERR_CONFLICT, "the store has no '%s'", path);
		if (node.n_dims != 1)
			return error_set(err, ERR_CONFLICT, "'%s' has %u dimensions", path,
					 node.n_dims);
		checkout_dim(checkout, &node, 0, &found, &chunks);
		if (g > 0 && found != length)
			return error_set(err, ERR_CONFLICT,
					 "'%s' has %llu labels, the root %llu: the store must be "
					 "repaired by hand",
					 path, (unsigned long long)found,
					 (unsigned long long)length);
		length = found;
	}
	if (r == 0)
		*ret_length = length;
	return r;
}

int batch_new(const struct dataset *dataset, const struct selection *selection,
	      struct targets *targets, const char *branch, bool overwrite, struct batch **ret_batch,
	      struct error *err)
{
	CLEANUP(batch_freep) struct batch *batch = calloc(1, sizeof(*batch));

	if (!batch)
		return error_memory(err);
	batch->dataset = dataset;
	batch->selection = selection;
	batch->targets = targets;
	batch->overwrite = overwrite;
	batch->transactions = calloc(targets->n, sizeof(*batch->transactions));
	batch->lengths = calloc(targets->n, sizeof(*batch->lengths));
	if (!batch->transactions || !batch->lengths)
		return error_memory(err);
	for (size_t i = 0; i < targets->n; i++) {
		int r = transaction_begin(targets->items[i].repo, branch, NULL,
					  &batch->transactions[i], err);

		if (r == 0)
			r = store_length(dataset, transaction_base(batch->transactions[i]),
					 &batch->lengths[i], err);
		if (r < 0)
			return error_prefix(err, "%s", targets->items[i].role);
	}
	*ret_batch = TAKE(batch);
	return 0;
}

struct batch *batch_free(struct batch *batch)
{
	if (!batch)
		return NULL;
	for (size_t i = 0; batch->transactions && i < batch->targets->n; i++)
		transaction_free(batch->transactions[i]);
	free(batch->transactions);
	free(batch->lengths);
	free(batch);
	return NULL;
}

struct chunk_put {
	struct transaction *transaction;
	const struct template_node_info *node;
};

static int put_chunk(void *argument, const uint32_t *index, struct slice stored, struct error *err)
{
	const struct chunk_put *put = argument;

	return transaction_put_chunk(put->transaction, put->node->path, index, put->node->n_dims,
				     stored, err);
}

/*
 * Makes the append dimension of one target @length long: only what spans it is written.  Writing
 * the rest again could drop chunks that equal their fill value.
 */
static int grow(struct batch *batch, size_t target, uint64_t length, struct error *err)
{
	CLEANUP(template_freep) struct template *template = NULL;
	struct chunk_put put = {.transaction = batch->transactions[target]};
	int r = template_new(batch->dataset, length, &template, err);

	for (size_t i = 0; r == 0 && i < template_n_nodes(template); i++) {
		put.node = template_node(template, i);
		if (!put.node->spans_append)
			continue;
		r = transaction_put_document(put.transaction, put.node->path, put.node->document,
					     err);
		if (r == 0 && put.node->kind == TEMPLATE_COORDINATE)
			r = template_chunks(template, put.node, put_chunk, &put, err);
	}
	if (r == 0)
		batch->lengths[target] = length;
	return r;
}

/* The references of one variable, gathered from all files of a call. */
struct gathered {
	struct virtual_ref *refs;
	uint32_t *indexes; /* n_dims numbers a reference */
	size_t n;
};

static void set_validator(const struct dataset *dataset, const struct source_file *file,
			  struct virtual_ref *ref)
{
	if (dataset->record == RECORD_LAST_MODIFIED && file->last_modified > 0)
		ref->last_modified = (uint32_t)(file->last_modified / TIME_SECOND);
	if (dataset->record == RECORD_ETAG && file->etag[0])
		ref->etag = slice_text(file->etag);
}

static bool is_same_ref(const struct chunk *chunk, const struct virtual_ref *ref)
{
	return chunk->ref.kind == CHUNK_VIRTUAL && chunk->ref.offset == ref->offset &&
	       chunk->ref.length == ref->length && slice_equal(chunk->ref.location, ref->location);
}

/* Leaves out of @gathered what the store says already. */
static int drop_unchanged(struct batch *batch, size_t target, const char *path,
			  struct gathered *gathered, struct error *err)
{
	struct checkout *base = transaction_base(batch->transactions[target]);
	struct node node;
	size_t kept = 0;

	if (checkout_find(base, path, &node) != 0)
		return 0;
	for (size_t i = 0; i < gathered->n; i++) {
		CLEANUP(chunk_done) struct chunk chunk = {0};
		struct virtual_ref *ref = &gathered->refs[i];
		int r = checkout_locate(base, &node, ref->index, &chunk, err);

		if (r < 0)
			return r;
		if (r == REPO_ABSENT || !is_same_ref(&chunk, ref))
			gathered->refs[kept++] = *ref;
	}
	gathered->n = kept;
	return 0;
}

static int set_variable(struct batch *batch, uint32_t variable, struct gathered *gathered,
			struct error *err)
{
	const struct dataset *dataset = batch->dataset;
	uint32_t n_dims = dataset->groups[dataset->variables[variable].group].n_dims;
	CLEANUP(freep) char *path = text_printf(err, "/%s", dataset->variables[variable].path);

	if (!path)
		return ERR_MEMORY;
	for (size_t t = 0; t < batch->targets->n; t++) {
		struct gathered mine = *gathered;
		int r = 0;

		if (batch->overwrite)
			r = drop_unchanged(batch, t, path, &mine, err);
		if (r == 0 && mine.n > 0)
			r = transaction_set_refs(batch->transactions[t], path, mine.refs, mine.n,
						 n_dims, err);
		if (r < 0)
			return error_prefix(err, "cannot set references of '%s'", path);
	}
	return 0;
}

/* A reference of the files of a call, by numbers. */
struct origin {
	uint32_t file, ref;
};

/* Fills @gathered with the references @origins, all of @variable. */
static void gather(const struct dataset *dataset, const struct batch_file *files,
		   const struct origin *origins, size_t n, uint32_t variable,
		   struct gathered *gathered)
{
	uint32_t n_dims = dataset->groups[dataset->variables[variable].group].n_dims;

	gathered->n = n;
	for (size_t i = 0; i < n; i++) {
		const struct source_file *file = files[origins[i].file].file;
		const struct file_ref *from =
			&files[origins[i].file].refs.refs.items[origins[i].ref];
		uint32_t *index = gathered->indexes + i * n_dims;

		source_file_cell(dataset, file, variable, from->level, index);
		gathered->refs[i] = (struct virtual_ref){.index = index,
							 .location = slice_text(file->url),
							 .offset = from->offset,
							 .length = from->length};
		set_validator(dataset, file, &gathered->refs[i]);
	}
}

static int delete_cell(struct batch *batch, const struct source_file *file, uint32_t variable,
		       uint32_t level, struct error *err)
{
	const struct dataset *dataset = batch->dataset;
	uint32_t n_dims = dataset->groups[dataset->variables[variable].group].n_dims;
	CLEANUP(freep) char *path = text_printf(err, "/%s", dataset->variables[variable].path);
	uint32_t index[DATASET_DIMS_MAX];

	if (!path)
		return ERR_MEMORY;
	source_file_cell(dataset, file, variable, level, index);
	for (size_t t = 0; t < batch->targets->n; t++) {
		int r = transaction_has_chunk(batch->transactions[t], path, index, n_dims, err);

		if (r == 0)
			r = transaction_delete_chunk(batch->transactions[t], path, index, n_dims,
						     err);
		if (r < 0)
			return r;
	}
	return 0;
}

static bool has_ref(const struct file_ref_list *refs, uint32_t variable, uint32_t level)
{
	for (size_t i = 0; i < refs->n; i++)
		if (refs->items[i].variable == variable &&
		    (refs->items[i].level == level || refs->items[i].level == NO_LEVEL))
			return true;
	return false;
}

/* Cells that the file should fill and has no message for lose what they refer to. */
static int delete_missing(struct batch *batch, const struct batch_file *from, struct error *err)
{
	const struct dataset *dataset = batch->dataset;

	for (uint32_t v = 0; v < dataset->n_variables; v++) {
		int level = dataset->groups[dataset->variables[v].group].level;
		uint64_t n = level >= 0 ? dataset->dims[level].size : 1;

		if (!batch->selection->variables[v] || !source_file_holds(dataset, from->file, v))
			continue;
		for (uint64_t l = 0; l < n; l++) {
			int r = 0;

			if (!has_ref(&from->refs.refs, v, level >= 0 ? (uint32_t)l : NO_LEVEL))
				r = delete_cell(batch, from->file, v,
						level >= 0 ? (uint32_t)l : NO_LEVEL, err);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

/*
 * Sorts the references of all files by variable, keeping their order: those of variable v are
 * origins [starts[v], starts[v + 1]).
 */
static int sort_refs(const struct dataset *dataset, const struct batch_file *files, size_t n,
		     size_t **ret_starts, struct origin **ret_origins, size_t *ret_most,
		     struct error *err)
{
	CLEANUP(freep) size_t *starts = calloc((size_t)dataset->n_variables + 2, sizeof(*starts));
	CLEANUP(freep) struct origin *origins = NULL;
	size_t most = 0;

	if (!starts)
		return error_memory(err);
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < files[i].refs.refs.n; k++)
			starts[files[i].refs.refs.items[k].variable + 2]++;
	for (uint32_t v = 0; v < dataset->n_variables; v++) {
		if (starts[v + 2] > most)
			most = starts[v + 2];
		starts[v + 2] += starts[v + 1];
	}
	origins = calloc(starts[dataset->n_variables + 1] + 1, sizeof(*origins));
	if (!origins)
		return error_memory(err);
	/* While it is filled, entry v + 1 says where the next one of variable v goes. */
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < files[i].refs.refs.n; k++)
			origins[starts[files[i].refs.refs.items[k].variable + 1]++] =
				(struct origin){(uint32_t)i, (uint32_t)k};
	*ret_starts = TAKE(starts);
	*ret_origins = TAKE(origins);
	*ret_most = most;
	return 0;
}

static int grow_all(struct batch *batch, const struct batch_file *files, size_t n,
		    struct error *err)
{
	uint64_t needed = 0;

	for (size_t i = 0; i < n; i++)
		if (files[i].file->position + 1 > needed)
			needed = files[i].file->position + 1;
	for (size_t t = 0; t < batch->targets->n; t++) {
		int r = needed > batch->lengths[t] ? grow(batch, t, needed, err) : 0;

		if (r < 0)
			return error_prefix(err, "cannot extend the %s",
					    batch->targets->items[t].role);
	}
	return 0;
}

int batch_add(struct batch *batch, const struct batch_file *files, size_t n, struct error *err)
{
	CLEANUP(freep) size_t *starts = NULL;
	CLEANUP(freep) struct origin *origins = NULL;
	CLEANUP(freep) struct virtual_ref *refs = NULL;
	CLEANUP(freep) uint32_t *indexes = NULL;
	struct gathered gathered;
	size_t most = 0;
	int r = sort_refs(batch->dataset, files, n, &starts, &origins, &most, err);

	if (r < 0)
		return r;
	refs = calloc(most + 1, sizeof(*refs));
	indexes = calloc((most + 1) * DATASET_DIMS_MAX, sizeof(*indexes));
	if (!refs || !indexes)
		return error_memory(err);
	r = grow_all(batch, files, n, err);
	for (uint32_t v = 0; r == 0 && v < batch->dataset->n_variables; v++) {
		if (starts[v + 1] == starts[v])
			continue;
		gathered = (struct gathered){refs, indexes, 0};
		gather(batch->dataset, files, origins + starts[v], starts[v + 1] - starts[v], v,
		       &gathered);
		r = set_variable(batch, v, &gathered, err);
	}
	for (size_t i = 0; r == 0 && batch->overwrite && i < n; i++)
		r = delete_missing(batch, &files[i], err);
	return r;
}

int batch_commit(struct batch *batch, const char *message, bool *ret_committed, struct error *err)
{
	struct commit_options options = {.message = message, .rebase = REBASE_DETECT};

	*ret_committed = false;
	/* Replicas first: the primary decides what is done, so that a crash in between is made
	 * good. */
	for (size_t i = batch->targets->n; i-- > 0;) {
		struct id12 id;
		int r;

		if (transaction_is_empty(batch->transactions[i]))
			continue;
		r = transaction_commit(batch->transactions[i], &options, &id, NULL, err);
		if (r < 0)
			return error_prefix(err, "cannot commit to the %s",
					    batch->targets->items[i].role);
		*ret_committed = true;
	}
	return 0;
}
