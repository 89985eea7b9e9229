/* SPDX-License-Identifier: Apache-2.0 */
#include "refmt.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/text.h"
#include "base/time.h"
#include "reader/array.h"
#include "reader/open.h"
#include "reader/slab.h"

/* One struct in two headers: the public one includes nothing of ours. */
_Static_assert(sizeof(struct refmt_error) == sizeof(struct error), "same layout");
_Static_assert(offsetof(struct refmt_error, text) == offsetof(struct error, text), "same layout");
_Static_assert(REFMT_ERR_ARGUMENT == (int)ERR_ARGUMENT && REFMT_ERR_TEMPORARY == (int)ERR_LAST,
	       "same kinds");

/* What is made for a node when it is first asked for. */
struct entry {
	struct array *array;
	char *path;
	char *data_type;
	uint64_t *shape;
};

struct refmt_dataset {
	struct opened opened;
	char snapshot[ID12_TEXT_LEN + 1];
	pthread_mutex_t mutex; /* of entries */
	struct entry *entries; /* one a node */
};

static struct error *inner(struct refmt_error *err)
{
	return (struct error *)err;
}

/* Copies of the lists with the types of the layer below; the caller frees them. */
static int source_lists(const struct refmt_options *options, struct allowance **ret_allow,
			struct mirror **ret_mirrors, struct error *err)
{
	struct allowance *allow = calloc(options->n_allow + 1, sizeof(*allow));
	struct mirror *mirrors = calloc(options->n_mirrors + 1, sizeof(*mirrors));

	*ret_allow = allow;
	*ret_mirrors = mirrors;
	if (!allow || !mirrors)
		return error_memory(err);
	for (size_t i = 0; i < options->n_allow; i++)
		allow[i] = (struct allowance){
			.prefix = options->allow[i].prefix,
			.credential = options->allow[i].credential ? options->allow[i].credential
								   : "anonymous",
		};
	for (size_t i = 0; i < options->n_mirrors; i++)
		mirrors[i] = (struct mirror){options->mirrors[i].prefix, options->mirrors[i].url};
	return 0;
}

static int dataset_open(struct refmt_dataset *dataset, const char *url,
			const struct refmt_options *options, struct error *err)
{
	CLEANUP(freep) struct allowance *allow = NULL;
	CLEANUP(freep) struct mirror *mirrors = NULL;
	struct open_options open = {
		.store =
			{
				.endpoint_url = options->endpoint_url,
				.region = options->region,
				.profile = options->profile,
				.anonymous = options->anonymous,
				.path_style = options->path_style,
				.allow_private = true, /* the user named the repository himself */
				.timeout_ms = options->timeout_ms,
			},
		.repo = {.manifest_budget = options->cache_size / 2},
		.at =
			{
				.branch = options->branch,
				.tag = options->tag,
				.snapshot = options->snapshot,
				.has_as_of = options->as_of != NULL,
			},
		.reader =
			{
				.decode = options->decode == REFMT_DECODE_GRIBBERISH
						  ? READER_DECODE_GRIBBERISH
						  : READER_DECODE_WMO,
				.cache_size = options->cache_size / 2,
				.timeout_ms = options->timeout_ms,
			},
	};
	int r;

	r = source_lists(options, &allow, &mirrors, err);
	if (r == 0 && options->as_of)
		r = time_parse(options->as_of, time_now(), &open.at.as_of, err);
	if (r < 0)
		return r;
	open.reader.sources = (struct source_options){
		.allow = allow,
		.n_allow = options->n_allow,
		.mirrors = mirrors,
		.n_mirrors = options->n_mirrors,
		.no_default_allow = options->no_default_allow,
		.no_virtual = options->no_virtual,
		.percent_locations = options->percent_locations,
	};
	r = opened_init(&dataset->opened, url, &open, err);
	if (r < 0)
		return r;
	id12_format(checkout_id(dataset->opened.checkout), dataset->snapshot);
	dataset->entries =
		calloc(checkout_n_nodes(dataset->opened.checkout) + 1u, sizeof(*dataset->entries));
	return dataset->entries ? 0 : error_memory(err);
}

int refmt_open(const char *url, const struct refmt_options *options,
	       struct refmt_dataset **ret_dataset, struct refmt_error *err)
{
	const struct refmt_options defaults = {0};
	struct refmt_dataset *dataset = calloc(1, sizeof(*dataset));
	int r;

	if (!dataset)
		return error_memory(inner(err));
	pthread_mutex_init(&dataset->mutex, NULL);
	r = dataset_open(dataset, url, options ? options : &defaults, inner(err));
	if (r < 0) {
		refmt_close(dataset);
		return r;
	}
	*ret_dataset = dataset;
	return 0;
}

void refmt_close(struct refmt_dataset *dataset)
{
	if (!dataset)
		return;
	for (uint32_t i = 0; dataset->entries && i < checkout_n_nodes(dataset->opened.checkout);
	     i++) {
		array_free(dataset->entries[i].array);
		free(dataset->entries[i].path);
		free(dataset->entries[i].data_type);
		free(dataset->entries[i].shape);
	}
	free(dataset->entries);
	opened_done(&dataset->opened);
	pthread_mutex_destroy(&dataset->mutex);
	free(dataset);
}

const char *refmt_snapshot(const struct refmt_dataset *dataset)
{
	return dataset->snapshot;
}

size_t refmt_n_nodes(const struct refmt_dataset *dataset)
{
	return checkout_n_nodes(dataset->opened.checkout);
}

/* Fills what @entry lacks.  Under the mutex. */
static int entry_fill(struct refmt_dataset *dataset, const struct node *node, struct entry *entry,
		      struct error *err)
{
	struct slice name;
	int r;

	if (!entry->path) {
		entry->path = slice_dup(node->path, err);
		if (!entry->path)
			return ERR_MEMORY;
	}
	if (!node->is_array || entry->array)
		return 0;
	if (!entry->shape) {
		entry->shape = calloc(node->n_dims + 1u, sizeof(*entry->shape));
		if (!entry->shape)
			return error_memory(err);
		for (uint32_t dim = 0; dim < node->n_dims; dim++) {
			uint32_t chunks;

			checkout_dim(dataset->opened.checkout, node, dim, &entry->shape[dim],
				     &chunks);
		}
	}
	r = array_new(dataset->opened.reader, node, &entry->array, err);
	if (r < 0)
		return r;
	r = zarr_extension_parse(&entry->array->metadata->data_type, &name, &(struct json){0}, err);
	if (r < 0)
		return r;
	entry->data_type = slice_dup(name, err);
	return entry->data_type ? 0 : ERR_MEMORY;
}

static int dataset_entry(struct refmt_dataset *dataset, const struct node *node,
			 struct entry **ret_entry, struct error *err)
{
	struct entry *entry = &dataset->entries[node->number];
	int r;

	pthread_mutex_lock(&dataset->mutex);
	r = entry_fill(dataset, node, entry, err);
	pthread_mutex_unlock(&dataset->mutex);
	if (r == 0)
		*ret_entry = entry;
	return r;
}

static int describe(struct refmt_dataset *dataset, const struct node *node,
		    struct refmt_node *ret_node, struct error *err)
{
	struct entry *entry = NULL;
	int r;

	r = dataset_entry(dataset, node, &entry, err);
	if (r < 0)
		return r;
	*ret_node = (struct refmt_node){
		.path = entry->path,
		.is_array = node->is_array,
		.n_dims = node->n_dims,
		.shape = entry->shape,
		.data_type = entry->data_type,
		.item_size = entry->array ? entry->array->metadata->type.size : 0,
	};
	return 0;
}

int refmt_node(struct refmt_dataset *dataset, size_t number, struct refmt_node *ret_node,
	       struct refmt_error *err)
{
	struct node node;

	if (number >= checkout_n_nodes(dataset->opened.checkout))
		return error_set(inner(err), ERR_ARGUMENT, "node %zu of %u", number,
				 checkout_n_nodes(dataset->opened.checkout));
	checkout_node(dataset->opened.checkout, (uint32_t)number, &node);
	return describe(dataset, &node, ret_node, inner(err));
}

int refmt_find(struct refmt_dataset *dataset, const char *path, struct refmt_node *ret_node,
	       struct refmt_error *err)
{
	struct node node;

	if (checkout_find(dataset->opened.checkout, path, &node) != 0)
		return REFMT_ABSENT;
	return describe(dataset, &node, ret_node, inner(err));
}

static int no_node(const char *path, struct error *err)
{
	return error_set(err, ERR_ABSENT, "there is no node '%s'", path);
}

int refmt_document(struct refmt_dataset *dataset, const char *path, char **ret_text,
		   size_t *ret_size, struct refmt_error *err)
{
	struct node node;
	char *text;

	if (checkout_find(dataset->opened.checkout, path, &node) != 0)
		return no_node(path, inner(err));
	text = slice_dup(node.document, inner(err));
	if (!text)
		return ERR_MEMORY;
	*ret_text = text;
	*ret_size = node.document.size;
	return 0;
}

static int dataset_array(struct refmt_dataset *dataset, const char *path,
			 const struct array **ret_array, struct error *err)
{
	struct entry *entry;
	struct node node;
	int r;

	if (checkout_find(dataset->opened.checkout, path, &node) != 0)
		return no_node(path, err);
	if (!node.is_array)
		return error_set(err, ERR_ARGUMENT, "'%s' is a group", path);
	r = dataset_entry(dataset, &node, &entry, err);
	if (r == 0)
		*ret_array = entry->array;
	return r;
}

static int chunk_fill(const struct chunk_ref *ref, struct refmt_chunk *ret_chunk, struct error *err)
{
	struct refmt_chunk chunk = {
		.offset = ref->offset,
		.length = ref->length,
		.last_modified = ref->last_modified,
	};
	char id[ID12_TEXT_LEN + 1];

	switch (ref->kind) {
	case CHUNK_NATIVE:
		chunk.kind = REFMT_CHUNK_NATIVE;
		id12_format(&ref->chunk_id, id);
		chunk.location = text_dup(id, err);
		break;
	case CHUNK_VIRTUAL:
		chunk.kind = REFMT_CHUNK_VIRTUAL;
		chunk.location = slice_dup(ref->location, err);
		break;
	default:
		chunk.kind = REFMT_CHUNK_INLINE;
		break;
	}
	if (ref->etag.data && chunk.location)
		chunk.etag = slice_dup(ref->etag, err);
	if ((chunk.kind != REFMT_CHUNK_INLINE && !chunk.location) ||
	    (ref->etag.data && !chunk.etag)) {
		refmt_chunk_done(&chunk);
		return ERR_MEMORY;
	}
	*ret_chunk = chunk;
	return 0;
}

int refmt_locate(struct refmt_dataset *dataset, const char *path, const uint32_t *index,
		 struct refmt_chunk *ret_chunk, struct refmt_error *err)
{
	CLEANUP(chunk_done) struct chunk chunk;
	const struct array *array = NULL;
	int r;

	chunk.pin = NULL;
	r = dataset_array(dataset, path, &array, inner(err));
	if (r < 0)
		return r;
	r = checkout_locate(dataset->opened.checkout, &array->node, index, &chunk, inner(err));
	if (r != 0)
		return r == REPO_ABSENT ? REFMT_ABSENT : r;
	return chunk_fill(&chunk.ref, ret_chunk, inner(err));
}

void refmt_chunk_done(struct refmt_chunk *chunk)
{
	free(chunk->location);
	free(chunk->etag);
	chunk->location = NULL;
	chunk->etag = NULL;
}

static int dataset_load(struct refmt_dataset *dataset, const char *path, const uint32_t *index,
			enum chunk_form form, uint8_t **ret_bytes, size_t *ret_size,
			struct error *err)
{
	CLEANUP(content_freep) struct content *content = NULL;
	const struct array *array = NULL;
	char *bytes;
	int r;

	r = dataset_array(dataset, path, &array, err);
	if (r < 0)
		return r;
	r = reader_load(dataset->opened.reader, dataset->opened.checkout, array, index, form, 0,
			&content, err);
	if (r < 0)
		return error_prefix(err, "cannot read array '%s'", path);
	if (r == REPO_ABSENT)
		return REFMT_ABSENT;
	bytes = slice_dup(content->bytes, err);
	if (!bytes)
		return ERR_MEMORY;
	*ret_bytes = (uint8_t *)bytes;
	*ret_size = content->bytes.size;
	return 0;
}

int refmt_fetch(struct refmt_dataset *dataset, const char *path, const uint32_t *index,
		uint8_t **ret_bytes, size_t *ret_size, struct refmt_error *err)
{
	return dataset_load(dataset, path, index, CHUNK_STORED, ret_bytes, ret_size, inner(err));
}

int refmt_read_chunk(struct refmt_dataset *dataset, const char *path, const uint32_t *index,
		     uint8_t **ret_bytes, size_t *ret_size, struct refmt_error *err)
{
	return dataset_load(dataset, path, index, CHUNK_DECODED, ret_bytes, ret_size, inner(err));
}

int refmt_read(struct refmt_dataset *dataset, const char *path, const uint64_t *start,
	       const uint64_t *count, void *out, size_t out_size, struct refmt_error *err)
{
	const struct array *array = NULL;
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	int r;

	r = dataset_array(dataset, path, &array, inner(err));
	if (r < 0)
		return r;
	return slab_read(dataset->opened.reader, dataset->opened.checkout, array, start, count, out,
			 out_size, cores > 0 ? (size_t)cores : 1, inner(err));
}
