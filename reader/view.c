/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/view.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <uthash.h>

#include "base/arena.h"
#include "base/log.h"
#include "base/text.h"
#include "base/vec.h"
#include "reader/array.h"
#include "zarr/document.h"
#include "zarr/view.h"

#define NO_NODE UINT32_MAX
#define DOCUMENT_NAME "zarr.json"
#define DOCUMENT_MAX (UINT64_C(256) << 20)

/* A group or array, stored or only implied by a path below it. */
struct folder {
	struct slice path;
	struct slice name;
	uint32_t node; /* NO_NODE if implied */
	uint32_t parent;
	uint32_t first_child, n_children; /* places in view->children, in the order of names */

	/* Made when first needed, then constant until the view ends; under view->mutex. */
	struct array *array;
	struct error array_error;
	bool array_tried;
	struct content *document; /* as this view shows it */
};

DEFINE_VEC(folder_vec, struct folder);

struct view {
	struct reader *reader;
	struct checkout *checkout;
	enum view_mode mode;
	bool consolidated;
	uint32_t owners; /* atomic */
	struct folder_vec folders;
	uint32_t *children; /* numbers of folders */
	pthread_mutex_t mutex;
};

/* ---- the folders ---- */

/* Finds folders by path while they are made. */
struct folder_name {
	struct slice path;
	uint32_t number;
	UT_hash_handle hh;
};

struct builder {
	struct view *view;
	struct arena arena;
	struct folder_name *names;
};

static struct slice last_component(struct slice path)
{
	size_t i = path.size;

	while (i > 0 && path.data[i - 1] != '/')
		i--;
	return slice_sub(path, i, path.size - i);
}

static struct slice parent_path(struct slice path)
{
	size_t i = path.size;

	while (i > 0 && path.data[i - 1] != '/')
		i--;
	return (struct slice){path.data, i > 1 ? i - 1 : 1};
}

/* Folders nest to this depth; a path from outside must not decide how deep we recurse. */
#define DEPTH_MAX 256

/* Can a folder entry have this name? */
static bool name_shows(struct slice name)
{
	return name.size > 0 && name.size <= VIEW_NAME_MAX && !slice_is(name, ".") &&
	       !slice_is(name, "..") && !memchr(name.data, '\0', name.size);
}

static bool path_shows(struct slice path)
{
	size_t start = 1, depth = 0;

	if (path.size == 0 || path.data[0] != '/')
		return false;
	if (path.size == 1)
		return true;
	for (size_t i = 1; i <= path.size; i++) {
		if (i < path.size && path.data[i] != '/')
			continue;
		if (!name_shows(slice_sub(path, start, i - start)) || ++depth > DEPTH_MAX)
			return false;
		start = i + 1;
	}
	return true;
}

static struct folder_name *builder_find(struct builder *builder, struct slice path)
{
	struct folder_name *found;

	HASH_FIND(hh, builder->names, path.data, path.size, found);
	return found;
}

/* Adds the folder at @path and those above it that are not there yet. */
static int builder_add(struct builder *builder, struct slice path, uint32_t *ret_number,
		       struct error *err)
{
	struct folder_name *name = builder_find(builder, path);
	struct folder folder = {.path = path, .name = last_component(path), .node = NO_NODE};
	int r;

	if (name) {
		*ret_number = name->number;
		return 0;
	}
	if (path.size > 1) {
		r = builder_add(builder, parent_path(path), &folder.parent, err);
		if (r < 0)
			return r;
	}
	name = arena_zalloc(&builder->arena, 1, sizeof(*name), err);
	if (!name)
		return ERR_MEMORY;
	name->path = path;
	name->number = (uint32_t)builder->view->folders.n;
	HASH_ADD_KEYPTR(hh, builder->names, path.data, path.size, name);
	*ret_number = name->number;
	return folder_vec_push(&builder->view->folders, folder, err);
}

static int compare_children(const void *a, const void *b, void *argument)
{
	const struct folder *folders = argument;
	const struct folder *x = &folders[*(const uint32_t *)a];
	const struct folder *y = &folders[*(const uint32_t *)b];

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	return slice_compare(x->name, y->name);
}

static int view_sort_children(struct view *view, struct error *err)
{
	size_t n = view->folders.n - 1; /* the root is nobody's child */

	view->children = malloc((n ? n : 1) * sizeof(*view->children));
	if (!view->children)
		return error_memory(err);
	for (size_t i = 0; i < n; i++)
		view->children[i] = (uint32_t)i + 1;
	qsort_r(view->children, n, sizeof(*view->children), compare_children, view->folders.items);
	for (size_t i = n; i-- > 0;) {
		struct folder *parent =
			&view->folders.items[view->folders.items[view->children[i]].parent];

		parent->first_child = (uint32_t)i;
		parent->n_children++;
	}
	return 0;
}

static int builder_run(struct builder *builder, struct error *err)
{
	struct view *view = builder->view;
	uint32_t n = checkout_n_nodes(view->checkout);
	uint32_t number;
	int r;

	r = builder_add(builder, slice_text("/"), &number, err);
	for (uint32_t i = 0; i < n && r == 0; i++) {
		struct node node;

		checkout_node(view->checkout, i, &node);
		if (!path_shows(node.path)) {
			log_event(LOG_WARNING, "hidden",
				  "node '%.*s' has a name that no folder can have",
				  (int)node.path.size, (const char *)node.path.data);
			continue;
		}
		r = builder_add(builder, node.path, &number, err);
		if (r == 0)
			view->folders.items[number].node = i;
	}
	if (r == 0)
		r = view_sort_children(view, err);
	return r;
}

int view_new(struct reader *reader, struct checkout *checkout, enum view_mode mode,
	     struct view **ret_view, struct error *err)
{
	CLEANUP(view_freep) struct view *view = calloc(1, sizeof(*view));
	struct builder builder = {.view = view, .arena = ARENA_INIT};
	int r;

	if (!view)
		return error_memory(err);
	view->reader = reader;
	view->checkout = checkout_ref(checkout);
	view->mode = mode;
	view->owners = 1;
	pthread_mutex_init(&view->mutex, NULL);
	r = builder_run(&builder, err);
	HASH_CLEAR(hh, builder.names);
	arena_done(&builder.arena);
	if (r < 0)
		return r;
	*ret_view = TAKE(view);
	return 0;
}

void view_consolidate(struct view *view)
{
	view->consolidated = true;
}

struct view *view_ref(struct view *view)
{
	__atomic_add_fetch(&view->owners, 1, __ATOMIC_RELAXED);
	return view;
}

struct view *view_free(struct view *view)
{
	if (!view || __atomic_sub_fetch(&view->owners, 1, __ATOMIC_ACQ_REL) > 0)
		return NULL;
	for (size_t i = 0; i < view->folders.n; i++) {
		array_free(view->folders.items[i].array);
		content_free(view->folders.items[i].document);
	}
	folder_vec_done(&view->folders);
	free(view->children);
	checkout_free(view->checkout);
	pthread_mutex_destroy(&view->mutex);
	free(view);
	return NULL;
}

struct checkout *view_checkout(const struct view *view)
{
	return view->checkout;
}

enum view_mode view_mode(const struct view *view)
{
	return view->mode;
}

struct slice view_path(const struct view *view, uint32_t folder)
{
	return view->folders.items[folder].path;
}

struct view_file view_root(void)
{
	return (struct view_file){.kind = VIEW_FOLDER};
}

static const struct folder *folder_find(const struct view *view, uint32_t parent, struct slice name,
					uint32_t *ret_number)
{
	const struct folder *folders = view->folders.items;
	uint32_t low = folders[parent].first_child;
	uint32_t high = low + folders[parent].n_children;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		uint32_t number = view->children[middle];
		int order = slice_compare(name, folders[number].name);

		if (order == 0) {
			*ret_number = number;
			return &folders[number];
		}
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

bool view_node(const struct view *view, uint32_t number, struct node *ret_node)
{
	const struct folder *folder = &view->folders.items[number];

	if (folder->node == NO_NODE)
		return false;
	checkout_node(view->checkout, folder->node, ret_node);
	return true;
}

uint32_t view_n_folders(const struct view *view)
{
	return (uint32_t)view->folders.n;
}

int view_find(const struct view *view, struct slice path, uint32_t *ret_folder)
{
	uint32_t number = 0;
	size_t start = 1, end;

	while (start < path.size) {
		for (end = start; end < path.size && path.data[end] != '/'; end++)
			;
		if (!folder_find(view, number, slice_sub(path, start, end - start), &number))
			return VIEW_ABSENT;
		start = end + 1;
	}
	*ret_folder = number;
	return 0;
}

uint32_t view_folder_parent(const struct view *view, uint32_t folder)
{
	return view->folders.items[folder].parent;
}

static bool folder_is_array(const struct view *view, uint32_t number)
{
	struct node node;

	return view_node(view, number, &node) && node.is_array;
}

/*
 * The array of a folder, made when first asked for.  Its failure is remembered: the document of a
 * snapshot does not get better.
 */
static int folder_array(struct view *view, uint32_t number, const struct array **ret_array,
			struct error *err)
{
	struct folder *folder = &view->folders.items[number];
	struct node node;
	int r = 0;

	pthread_mutex_lock(&view->mutex);
	if (!folder->array_tried) {
		view_node(view, number, &node);
		r = array_new(view->reader, &node, &folder->array, &folder->array_error);
		/* Memory comes back; the document stays as it is. */
		folder->array_tried = r != ERR_MEMORY;
	}
	if (folder->array) {
		*ret_array = folder->array;
		r = 0;
	} else {
		r = folder->array_error.kind;
		if (err)
			*err = folder->array_error;
	}
	pthread_mutex_unlock(&view->mutex);
	return r;
}

/* ---- how chunks are shown ---- */

/* Is an array whose chunks this view decodes; one with an unknown codec is too, and fails. */
static bool shows_decoded(const struct view *view, const struct array *array)
{
	return view->mode == VIEW_DECODED && array->must_decode;
}

static enum chunk_form form_of(const struct view *view, const struct array *array)
{
	return shows_decoded(view, array) ? CHUNK_DECODED : CHUNK_STORED;
}

/* Size of a chunk file when only the grid is known: computed, or 1 where it cannot be. */
static uint64_t computed_size(const struct view *view, const struct array *array,
			      const uint32_t *index)
{
	uint64_t shape[ZARR_DIMS_MAX];
	size_t size;

	if (!array->chain || !shows_decoded(view, array) ||
	    !zarr_grid_holds(&array->metadata->grid, index))
		return 1;
	zarr_grid_chunk_shape(&array->metadata->grid, index, shape);
	if (zarr_chain_chunk_bytes(array->chain, shape, &size, NULL) < 0)
		return 1;
	return size;
}

static void chunk_attr(const struct view *view, const struct array *array,
		       const struct chunk *chunk, const uint32_t *index, struct view_attr *ret_attr)
{
	*ret_attr = (struct view_attr){
		.size = shows_decoded(view, array) ? computed_size(view, array, index)
						   : chunk->ref.length,
		.mtime = checkout_flushed_at(view->checkout),
	};
	ret_attr->has_time = chunk->ref.kind == CHUNK_VIRTUAL && chunk->ref.last_modified;
	if (ret_attr->has_time)
		ret_attr->mtime = (int64_t)chunk->ref.last_modified * 1000000;
}

/* Whether it may be followed can change with no snapshot: an address that resolves anew. */
static bool is_permitted(const struct view *view, const struct chunk *chunk)
{
	return reader_permits(view->reader, chunk, NULL) == 0;
}

static void unknown_attr(struct view *view, const struct array *array, const uint32_t *index,
			 struct view_attr *ret_attr)
{
	*ret_attr = (struct view_attr){
		.unknown = true,
		.size = computed_size(view, array, index),
		.mtime = checkout_flushed_at(view->checkout),
	};
}

static void folder_attr(const struct view *view, struct view_attr *ret_attr)
{
	*ret_attr = (struct view_attr){
		.is_folder = true,
		.mtime = checkout_flushed_at(view->checkout),
	};
}

/* A chunk that the grid holds: there, proven absent, or there with unknown attributes. */
static int chunk_stat(struct view *view, const struct array *array, const uint32_t *index,
		      bool may_wait, struct view_attr *ret_attr)
{
	CLEANUP(chunk_done) struct chunk chunk;
	struct error err = ERROR_INIT;
	int r;

	chunk.pin = NULL;
	r = (may_wait ? checkout_locate : checkout_try_locate)(view->checkout, &array->node, index,
							       &chunk, &err);
	if (r == REPO_ABSENT)
		return VIEW_ABSENT;
	if (r == REPO_WOULD_LOAD)
		return VIEW_WOULD_WAIT;
	if (r < 0) {
		log_event(LOG_DEBUG, "manifest", "%s", err.text);
		unknown_attr(view, array, index, ret_attr);
		return 0;
	}
	chunk_attr(view, array, &chunk, index, ret_attr);
	ret_attr->unknown = !is_permitted(view, &chunk);
	return 0;
}

/* ---- documents ---- */

/* Appends the document of a node as the view shows it. */
static int document_show(const struct view *view, const struct node *node, struct buf *out,
			 struct error *err)
{
	CLEANUP(zarr_metadata_freep) struct zarr_metadata *metadata = NULL;

	/* What cannot be read as Zarr is passed through: the reader above says what is wrong. */
	if (view->mode == VIEW_DECODED && zarr_metadata_new(node->document, &metadata, NULL) == 0)
		return zarr_decoded_document(metadata, reader_registry(view->reader), out, NULL,
					     err);
	return buf_append_slice(out, node->document, err);
}

DEFINE_VEC(members, struct zarr_member);

/* All stored nodes below the root, in the order of their paths. */
static int collect_members(const struct view *view, struct arena *arena, struct members *members,
			   struct error *err)
{
	uint32_t n = checkout_n_nodes(view->checkout);
	int r = 0;

	for (uint32_t i = 0; i < n && r == 0; i++) {
		CLEANUP(buf_done) struct buf shown = BUF_INIT(DOCUMENT_MAX);
		struct zarr_member member;
		struct node node;
		uint8_t *copy;

		checkout_node(view->checkout, i, &node);
		if (node.path.size <= 1)
			continue;
		r = document_show(view, &node, &shown, err);
		if (r < 0)
			return r;
		copy = arena_alloc(arena, shown.size, err);
		if (!copy)
			return ERR_MEMORY;
		memcpy(copy, shown.data, shown.size);
		member.path = slice_sub(node.path, 1, node.path.size - 1);
		member.document = slice_of(copy, shown.size);
		r = members_push(members, member, err);
	}
	return r;
}

static int document_consolidate(const struct view *view, struct slice root, struct buf *out,
				struct error *err)
{
	struct arena arena = ARENA_INIT;
	struct members members = {0};
	int r;

	r = collect_members(view, &arena, &members, err);
	if (r == 0)
		r = zarr_consolidate(root, members.items, members.n, out, err);
	members_done(&members);
	arena_done(&arena);
	return r;
}

static int document_make(struct view *view, uint32_t number, struct content **ret_content,
			 struct error *err)
{
	CLEANUP(buf_done) struct buf shown = BUF_INIT(DOCUMENT_MAX);
	CLEANUP(buf_done) struct buf consolidated = BUF_INIT(DOCUMENT_MAX);
	struct node node;
	uint8_t *bytes;
	size_t size;
	int r;

	view_node(view, number, &node);
	r = document_show(view, &node, &shown, err);
	if (r == 0 && number == 0 && view->consolidated && !node.is_array) {
		r = document_consolidate(view, buf_slice(&shown), &consolidated, err);
		buf_done(&shown);
		shown = consolidated;
		consolidated = BUF_INIT(DOCUMENT_MAX);
	}
	if (r < 0)
		return error_prefix(err, "cannot show the document of '%.*s'", (int)node.path.size,
				    (const char *)node.path.data);
	bytes = buf_take(&shown, &size);
	*ret_content = content_new(bytes, size, err);
	if (!*ret_content) {
		free(bytes);
		return ERR_MEMORY;
	}
	return 0;
}

static int document_load(struct view *view, uint32_t number, struct content **ret_content,
			 struct error *err)
{
	struct folder *folder = &view->folders.items[number];
	int r = 0;

	pthread_mutex_lock(&view->mutex);
	if (!folder->document)
		r = document_make(view, number, &folder->document, err);
	if (r == 0)
		*ret_content = content_ref(folder->document);
	pthread_mutex_unlock(&view->mutex);
	return r;
}

static int document_stat(struct view *view, uint32_t number, struct view_attr *ret_attr,
			 struct error *err)
{
	CLEANUP(content_freep) struct content *content = NULL;
	int r;

	r = document_load(view, number, &content, err);
	if (r < 0)
		return r;
	*ret_attr = (struct view_attr){
		.size = content->bytes.size,
		.mtime = checkout_flushed_at(view->checkout),
	};
	return 0;
}

/* ---- lookup ---- */

static uint32_t grid_chunks(const struct view *view, const struct array *array, uint32_t dim)
{
	uint64_t length;
	uint32_t chunks;

	checkout_dim(view->checkout, &array->node, dim, &length, &chunks);
	return chunks;
}

/* Keys with '/' between the coordinates have a folder a coordinate; others are one name. */
static bool keys_nest(const struct array *array)
{
	return array->metadata->keys.separator == '/' && array->node.n_dims > 0;
}

static int lookup_chunk(struct view *view, const struct array *array, struct view_file *file,
			bool may_wait, struct view_attr *ret_attr)
{
	file->kind = VIEW_CHUNK;
	file->depth = array->node.n_dims;
	for (uint32_t dim = 0; dim < array->node.n_dims; dim++)
		if (file->index[dim] >= grid_chunks(view, array, dim))
			return VIEW_ABSENT;
	return chunk_stat(view, array, file->index, may_wait, ret_attr);
}

/* One more coordinate below @above, which has depth numbers of its index set. */
static int lookup_coordinate(struct view *view, const struct array *array,
			     const struct view_file *above, const char *name, bool may_wait,
			     struct view_file *ret_file, struct view_attr *ret_attr)
{
	struct view_file file = *above;
	uint32_t coordinate;

	if (zarr_coordinate_parse(slice_text(name), &coordinate) != 0 ||
	    coordinate >= grid_chunks(view, array, above->depth))
		return VIEW_ABSENT;
	file.kind = VIEW_GRID;
	file.index[file.depth++] = coordinate;
	if (file.depth == array->node.n_dims) {
		int r = lookup_chunk(view, array, &file, may_wait, ret_attr);

		if (r != 0)
			return r;
	} else {
		folder_attr(view, ret_attr);
	}
	*ret_file = file;
	return 0;
}

/* What the chunk keys put into the folder of the array itself. */
static int lookup_key(struct view *view, const struct array *array, const struct view_file *folder,
		      const char *name, bool may_wait, struct view_file *ret_file,
		      struct view_attr *ret_attr)
{
	struct view_file file = {.kind = VIEW_GRID, .folder = folder->folder};
	int r;

	if (keys_nest(array)) {
		if (array->metadata->keys.is_v2)
			return lookup_coordinate(view, array, &file, name, may_wait, ret_file,
						 ret_attr);
		if (strcmp(name, "c") != 0)
			return VIEW_ABSENT;
		folder_attr(view, ret_attr);
		*ret_file = file;
		return 0;
	}
	if (zarr_key_parse(&array->metadata->keys, array->node.n_dims, slice_text(name),
			   file.index) != 0)
		return VIEW_ABSENT;
	r = lookup_chunk(view, array, &file, may_wait, ret_attr);
	if (r == 0)
		*ret_file = file;
	return r;
}

static int lookup_in_folder(struct view *view, const struct view_file *folder, const char *name,
			    bool may_wait, struct view_file *ret_file, struct view_attr *ret_attr,
			    struct error *err)
{
	const struct folder *here = &view->folders.items[folder->folder];
	const struct array *array;
	uint32_t child;
	int r;

	if (strcmp(name, DOCUMENT_NAME) == 0 && here->node != NO_NODE) {
		r = document_stat(view, folder->folder, ret_attr, err);
		if (r < 0)
			return r;
		*ret_file = (struct view_file){.kind = VIEW_DOCUMENT, .folder = folder->folder};
		return 0;
	}
	if (folder_find(view, folder->folder, slice_text(name), &child)) {
		*ret_file = (struct view_file){.kind = VIEW_FOLDER, .folder = child};
		folder_attr(view, ret_attr);
		return 0;
	}
	if (!folder_is_array(view, folder->folder))
		return VIEW_ABSENT;
	r = folder_array(view, folder->folder, &array, err);
	if (r < 0)
		return r;
	return lookup_key(view, array, folder, name, may_wait, ret_file, ret_attr);
}

static int lookup(struct view *view, const struct view_file *folder, const char *name,
		  bool may_wait, struct view_file *ret_file, struct view_attr *ret_attr,
		  struct error *err)
{
	const struct array *array;
	int r;

	if (strlen(name) > VIEW_NAME_MAX)
		return VIEW_ABSENT;
	switch (folder->kind) {
	case VIEW_FOLDER:
		return lookup_in_folder(view, folder, name, may_wait, ret_file, ret_attr, err);
	case VIEW_GRID:
		r = folder_array(view, folder->folder, &array, err);
		if (r < 0)
			return r;
		return lookup_coordinate(view, array, folder, name, may_wait, ret_file, ret_attr);
	default:
		return VIEW_ABSENT;
	}
}

int view_lookup(struct view *view, const struct view_file *folder, const char *name,
		struct view_file *ret_file, struct view_attr *ret_attr, struct error *err)
{
	return lookup(view, folder, name, true, ret_file, ret_attr, err);
}

int view_try_lookup(struct view *view, const struct view_file *folder, const char *name,
		    struct view_file *ret_file, struct view_attr *ret_attr, struct error *err)
{
	return lookup(view, folder, name, false, ret_file, ret_attr, err);
}

static int file_stat(struct view *view, const struct view_file *file, bool may_wait,
		     struct view_attr *ret_attr, struct error *err)
{
	const struct array *array;
	int r;

	switch (file->kind) {
	case VIEW_DOCUMENT:
		return document_stat(view, file->folder, ret_attr, err);
	case VIEW_CHUNK:
		r = folder_array(view, file->folder, &array, err);
		if (r < 0)
			return r;
		return chunk_stat(view, array, file->index, may_wait, ret_attr);
	default:
		folder_attr(view, ret_attr);
		return 0;
	}
}

int view_stat(struct view *view, const struct view_file *file, struct view_attr *ret_attr,
	      struct error *err)
{
	return file_stat(view, file, true, ret_attr, err);
}

int view_try_stat(struct view *view, const struct view_file *file, struct view_attr *ret_attr,
		  struct error *err)
{
	return file_stat(view, file, false, ret_attr, err);
}

int view_walk(struct view *view, const char *path, struct view_file *ret_file,
	      struct view_attr *ret_attr, struct error *err)
{
	struct view_file file = view_root();
	struct view_attr attr;
	int r;

	folder_attr(view, &attr);
	while (*path) {
		char name[VIEW_NAME_MAX + 1];
		size_t n = strcspn(path, "/");

		if (n > VIEW_NAME_MAX)
			return VIEW_ABSENT;
		if (n > 0) {
			memcpy(name, path, n);
			name[n] = '\0';
			r = view_lookup(view, &file, name, &file, &attr, err);
			if (r != 0)
				return r;
		}
		path += n;
		path += *path == '/';
	}
	*ret_file = file;
	*ret_attr = attr;
	return 0;
}

struct view_file view_parent(const struct view *view, const struct view_file *file)
{
	struct view_file parent = *file;
	const struct folder *folder = &view->folders.items[file->folder];
	const struct array *array = folder->array;

	switch (file->kind) {
	case VIEW_FOLDER:
		return (struct view_file){.kind = VIEW_FOLDER, .folder = folder->parent};
	case VIEW_DOCUMENT:
		return (struct view_file){.kind = VIEW_FOLDER, .folder = file->folder};
	default:
		/* Such a file was looked up, so its array is there. */
		if (!array || !keys_nest(array) || file->depth == 0 ||
		    (file->depth == 1 && array->metadata->keys.is_v2))
			return (struct view_file){.kind = VIEW_FOLDER, .folder = file->folder};
		parent.kind = VIEW_GRID;
		parent.depth = file->depth - 1;
		parent.index[parent.depth] = 0;
		return parent;
	}
}

static void chunk_name(const struct array *array, const struct view_file *file,
		       char name[VIEW_NAME_MAX + 1])
{
	CLEANUP(buf_done) struct buf key = BUF_INIT(VIEW_NAME_MAX);

	name[0] = '\0';
	if (zarr_key_write(&array->metadata->keys, array->node.n_dims, file->index, &key, NULL) < 0)
		return;
	memcpy(name, key.data, key.size);
	name[key.size] = '\0';
}

void view_name(const struct view *view, const struct view_file *file, char name[VIEW_NAME_MAX + 1])
{
	const struct folder *folder = &view->folders.items[file->folder];

	switch (file->kind) {
	case VIEW_FOLDER:
		memcpy(name, folder->name.data, folder->name.size);
		name[folder->name.size] = '\0';
		break;
	case VIEW_DOCUMENT:
		strcpy(name, DOCUMENT_NAME);
		break;
	default:
		if (folder->array && !keys_nest(folder->array))
			chunk_name(folder->array, file, name);
		else if (file->depth == 0)
			strcpy(name, "c");
		else
			snprintf(name, VIEW_NAME_MAX + 1, "%u", file->index[file->depth - 1]);
		break;
	}
}

void view_path_below(const struct view *view, const struct view_file *file,
		     char path[VIEW_NAME_MAX + 1])
{
	const struct array *array = view->folders.items[file->folder].array;
	size_t used = 0;

	path[0] = '\0';
	if (file->kind == VIEW_FOLDER)
		return;
	if (file->kind == VIEW_DOCUMENT || !array || !keys_nest(array)) {
		view_name(view, file, path);
		return;
	}
	if (!array->metadata->keys.is_v2)
		used = (size_t)snprintf(path, VIEW_NAME_MAX + 1, "c");
	for (uint32_t i = 0; i < file->depth && used < VIEW_NAME_MAX; i++)
		used += (size_t)snprintf(path + used, VIEW_NAME_MAX + 1 - used, "%s%u",
					 used ? "/" : "", file->index[i]);
}

/* ---- listing ---- */

enum iter_stage { ITER_DOCUMENT, ITER_KEYS, ITER_CHILDREN, ITER_DONE };

struct view_iter {
	struct view *view;
	struct view_file folder;
	enum iter_stage stage;
	const struct array *array; /* NULL for groups */
	struct error array_error;  /* why an array's keys cannot be listed */
	uint32_t next;		   /* coordinate or child */
	struct chunk_iter *chunks; /* where the level lists references */
	bool names_only;
	/* Neighbours mostly lie in one object: whether it may be followed is asked once. */
	struct buf location;
	bool not_permitted;
};

int view_iter_new(struct view *view, const struct view_file *folder, struct view_iter **ret_iter,
		  struct error *err)
{
	CLEANUP(view_iter_freep) struct view_iter *iter = calloc(1, sizeof(*iter));

	if (!iter)
		return error_memory(err);
	if (folder->kind != VIEW_FOLDER && folder->kind != VIEW_GRID)
		return error_set(err, ERR_ARGUMENT, "not a folder");
	iter->view = view_ref(view);
	iter->location = BUF_INIT(BUF_NO_LIMIT);
	iter->folder = *folder;
	iter->stage = folder->kind == VIEW_FOLDER ? ITER_DOCUMENT : ITER_KEYS;
	if (folder_is_array(view, folder->folder) &&
	    folder_array(view, folder->folder, &iter->array, &iter->array_error) < 0 &&
	    folder->kind == VIEW_GRID) {
		if (err)
			*err = iter->array_error;
		return iter->array_error.kind;
	}
	*ret_iter = TAKE(iter);
	return 0;
}

struct view_iter *view_iter_free(struct view_iter *iter)
{
	if (!iter)
		return NULL;
	chunk_iter_free(iter->chunks);
	buf_done(&iter->location);
	view_free(iter->view);
	free(iter);
	return NULL;
}

void view_iter_set_names_only(struct view_iter *iter, bool names_only)
{
	iter->names_only = names_only;
}

static int iter_document(struct view_iter *iter, struct view_entry *ret_entry, struct error *err)
{
	const struct folder *folder = &iter->view->folders.items[iter->folder.folder];
	int r;

	iter->stage = ITER_KEYS;
	if (folder->node == NO_NODE)
		return VIEW_END;
	strcpy(ret_entry->name, DOCUMENT_NAME);
	ret_entry->file = (struct view_file){
		.kind = VIEW_DOCUMENT,
		.folder = iter->folder.folder,
	};
	r = document_stat(iter->view, iter->folder.folder, &ret_entry->attr, err);
	if (r < 0)
		return r;
	ret_entry->has_attr = true;
	return 0;
}

bool view_iter_is_ready(const struct view_iter *iter)
{
	const struct array *array = iter->array;
	uint32_t depth = iter->folder.kind == VIEW_GRID ? iter->folder.depth : 0;

	if (iter->stage > ITER_KEYS || !array)
		return true;
	if (iter->chunks)
		return chunk_iter_is_loaded(iter->chunks);
	/* Grid arithmetic, or references that nobody has looked at. */
	return keys_nest(array) && (iter->folder.kind == VIEW_GRID ? depth + 1 < array->node.n_dims
								   : !array->metadata->keys.is_v2);
}

static bool iter_permits(struct view_iter *iter, const struct chunk *chunk)
{
	if (chunk->ref.kind != CHUNK_VIRTUAL)
		return true;
	if (!slice_equal(buf_slice(&iter->location), chunk->ref.location)) {
		iter->not_permitted = !is_permitted(iter->view, chunk);
		buf_clear(&iter->location);
		/* Without memory it is asked for again. */
		if (buf_append_slice(&iter->location, chunk->ref.location, NULL) < 0)
			buf_clear(&iter->location);
	}
	return !iter->not_permitted;
}

/* As "%u", which is what listing a large folder would spend its time on. */
static void write_number(uint32_t number, char *out)
{
	char digits[10];
	size_t n = 0;

	do
		digits[n++] = (char)('0' + number % 10);
	while (number /= 10);
	while (n > 0)
		*out++ = digits[--n];
	*out = '\0';
}

/* The next reference of the level, as a chunk file. */
static int iter_chunk(struct view_iter *iter, struct view_entry *ret_entry, struct error *err)
{
	const struct array *array = iter->array;
	const struct chunk *chunk;
	const uint32_t *index;
	int r;

	if (!iter->chunks) {
		r = chunk_iter_new(iter->view->checkout, &array->node, iter->folder.index,
				   iter->folder.kind == VIEW_GRID ? iter->folder.depth : 0,
				   &iter->chunks, err);
		if (r < 0)
			return r;
	}
	do {
		r = chunk_iter_next(iter->chunks, &index, &chunk, err);
		if (r != 0)
			return r == REPO_END ? VIEW_END : r;
		/* A reference that the grid does not hold cannot be looked up by a key either. */
	} while (!zarr_grid_holds(&array->metadata->grid, index));
	ret_entry->file = (struct view_file){
		.kind = VIEW_CHUNK,
		.folder = iter->folder.folder,
		.depth = array->node.n_dims,
	};
	memcpy(ret_entry->file.index, index, array->node.n_dims * sizeof(*index));
	if (keys_nest(array))
		write_number(index[array->node.n_dims - 1], ret_entry->name);
	else
		chunk_name(array, &ret_entry->file, ret_entry->name);
	ret_entry->has_attr = !iter->names_only;
	if (ret_entry->has_attr) {
		chunk_attr(iter->view, array, chunk, index, &ret_entry->attr);
		ret_entry->attr.unknown = !iter_permits(iter, chunk);
	} else {
		ret_entry->attr.is_folder = false;
	}
	return 0;
}

static void entry_grid(struct view_iter *iter, struct view_entry *ret_entry)
{
	ret_entry->file.kind = VIEW_GRID;
	folder_attr(iter->view, &ret_entry->attr);
	ret_entry->has_attr = true;
}

/* The folder "c" of an array, once. */
static int iter_root_key(struct view_iter *iter, struct view_entry *ret_entry)
{
	if (iter->next++ > 0)
		return VIEW_END;
	ret_entry->file = (struct view_file){.folder = iter->folder.folder};
	strcpy(ret_entry->name, "c");
	entry_grid(iter, ret_entry);
	return 0;
}

/* Grid arithmetic: the next coordinate of a level above the last. */
static int iter_coordinate(struct view_iter *iter, uint32_t depth, struct view_entry *ret_entry)
{
	if (iter->next >= grid_chunks(iter->view, iter->array, depth))
		return VIEW_END;
	ret_entry->file = iter->folder;
	ret_entry->file.depth = depth + 1;
	ret_entry->file.index[depth] = iter->next;
	write_number(iter->next++, ret_entry->name);
	entry_grid(iter, ret_entry);
	return 0;
}

static int iter_keys(struct view_iter *iter, struct view_entry *ret_entry, struct error *err)
{
	const struct array *array = iter->array;
	uint32_t depth = iter->folder.kind == VIEW_GRID ? iter->folder.depth : 0;

	if (!array) {
		/* An array that cannot be understood must not look like an empty one. */
		if (iter->array_error.kind < 0) {
			if (err)
				*err = iter->array_error;
			return iter->array_error.kind;
		}
		return VIEW_END;
	}
	if (!keys_nest(array) || (depth + 1 == array->node.n_dims &&
				  (iter->folder.kind == VIEW_GRID || array->metadata->keys.is_v2)))
		return iter_chunk(iter, ret_entry, err);
	if (iter->folder.kind == VIEW_FOLDER && !array->metadata->keys.is_v2)
		return iter_root_key(iter, ret_entry);
	return iter_coordinate(iter, depth, ret_entry);
}

static int iter_child(struct view_iter *iter, struct view_entry *ret_entry)
{
	const struct view *view = iter->view;
	const struct folder *folder = &view->folders.items[iter->folder.folder];
	uint32_t number;

	if (iter->next >= folder->n_children)
		return VIEW_END;
	number = view->children[folder->first_child + iter->next++];
	ret_entry->file = (struct view_file){.kind = VIEW_FOLDER, .folder = number};
	view_name(view, &ret_entry->file, ret_entry->name);
	folder_attr(view, &ret_entry->attr);
	ret_entry->has_attr = true;
	return 0;
}

int view_iter_next(struct view_iter *iter, struct view_entry *ret_entry, struct error *err)
{
	int r = VIEW_END;

	if (iter->stage == ITER_DOCUMENT) {
		r = iter_document(iter, ret_entry, err);
		if (r != VIEW_END)
			return r;
	}
	if (iter->stage == ITER_KEYS) {
		r = iter_keys(iter, ret_entry, err);
		if (r != VIEW_END)
			return r;
		iter->stage = iter->folder.kind == VIEW_FOLDER ? ITER_CHILDREN : ITER_DONE;
		iter->next = 0;
	}
	if (iter->stage == ITER_CHILDREN) {
		r = iter_child(iter, ret_entry);
		if (r == VIEW_END)
			iter->stage = ITER_DONE;
	}
	return r;
}

/* ---- content ---- */

int view_load(struct view *view, const struct view_file *file, int64_t deadline,
	      struct content **ret_content, struct error *err)
{
	const struct array *array;
	int r;

	if (file->kind == VIEW_DOCUMENT)
		return document_load(view, file->folder, ret_content, err);
	if (file->kind != VIEW_CHUNK)
		return error_set(err, ERR_ARGUMENT, "a folder has no content");
	r = folder_array(view, file->folder, &array, err);
	if (r < 0)
		return r;
	r = reader_load(view->reader, view->checkout, array, file->index, form_of(view, array),
			deadline, ret_content, err);
	/* It was there when it was looked up: what shows as a file never reads as nothing. */
	if (r == REPO_ABSENT)
		return error_set(err, ERR_ABSENT, "the chunk has no reference");
	return r;
}

int view_try_load(struct view *view, const struct view_file *file, struct content **ret_content,
		  struct error *err)
{
	const struct array *array;
	int r;

	if (file->kind != VIEW_CHUNK)
		return view_load(view, file, 0, ret_content, err);
	r = folder_array(view, file->folder, &array, err);
	if (r < 0)
		return r;
	r = reader_try_load(view->reader, view->checkout, array, file->index, form_of(view, array),
			    ret_content, err);
	if (r == REPO_ABSENT)
		return error_set(err, ERR_ABSENT, "the chunk has no reference");
	return r == REPO_WOULD_LOAD ? VIEW_WOULD_WAIT : r;
}

static int describe_place(const struct chunk_ref *ref, struct view_chunk *ret_chunk,
			  struct error *err)
{
	char name[ID12_TEXT_LEN + 1];

	ret_chunk->offset = ref->offset;
	ret_chunk->length = ref->length;
	switch (ref->kind) {
	case CHUNK_NATIVE:
		ret_chunk->kind = "native";
		id12_format(&ref->chunk_id, name);
		ret_chunk->location = text_printf(err, "chunks/%s", name);
		return ret_chunk->location ? 0 : ERR_MEMORY;
	case CHUNK_VIRTUAL:
		ret_chunk->kind = "virtual";
		ret_chunk->location = slice_dup(ref->location, err);
		return ret_chunk->location ? 0 : ERR_MEMORY;
	default:
		ret_chunk->kind = "inline";
		return 0;
	}
}

static void describe_state(struct view *view, const struct array *array, const struct chunk *chunk,
			   const uint32_t *index, struct view_chunk *ret_chunk)
{
	struct error failure = ERROR_INIT;

	if (shows_decoded(view, array) && array->unknown_codec)
		snprintf(ret_chunk->state, sizeof(ret_chunk->state), "unknown-codec %.200s",
			 array->unknown_codec);
	else if (reader_permits(view->reader, chunk, &failure) < 0 ||
		 reader_failure(view->reader, array, chunk, index, form_of(view, array), &failure) <
			 0)
		snprintf(ret_chunk->state, sizeof(ret_chunk->state), "failed: %.240s",
			 failure.text);
	else
		strcpy(ret_chunk->state, "present");
}

int view_describe(struct view *view, const struct view_file *file, struct view_chunk *ret_chunk,
		  struct error *err)
{
	CLEANUP(chunk_done) struct chunk chunk;
	struct view_chunk described = {0};
	const struct array *array;
	int r;

	chunk.pin = NULL;
	if (file->kind != VIEW_CHUNK)
		return VIEW_ABSENT;
	r = folder_array(view, file->folder, &array, err);
	if (r < 0)
		return r;
	id12_format(checkout_id(view->checkout), described.snapshot);
	r = checkout_locate(view->checkout, &array->node, file->index, &chunk, err);
	if (r == REPO_ABSENT)
		return VIEW_ABSENT;
	if (r < 0) {
		strcpy(described.state, "manifest-unavailable");
		*ret_chunk = described;
		return 0;
	}
	id12_format(&chunk.manifest, described.manifest);
	describe_state(view, array, &chunk, file->index, &described);
	r = describe_place(&chunk.ref, &described, err);
	if (r < 0)
		return r;
	*ret_chunk = described;
	return 0;
}

void view_chunk_done(struct view_chunk *chunk)
{
	free(chunk->location);
	chunk->location = NULL;
}

const char *view_unknown_codec(struct view *view, const struct view_file *file)
{
	const struct array *array = NULL;

	if (!folder_is_array(view, file->folder) ||
	    folder_array(view, file->folder, &array, NULL) < 0)
		return NULL;
	return shows_decoded(view, array) ? array->unknown_codec : NULL;
}

/* The shape may grow and shrink; where a chunk lies and how large it is must stay. */
static bool same_grid(const struct zarr_metadata *a, const struct zarr_metadata *b)
{
	if (a->grid.n_dims != b->grid.n_dims || a->keys.is_v2 != b->keys.is_v2 ||
	    a->keys.separator != b->keys.separator)
		return false;
	for (size_t i = 0; i < a->grid.n_dims; i++)
		if (a->grid.dims[i].chunk == 0 || a->grid.dims[i].chunk != b->grid.dims[i].chunk)
			return false;
	return true;
}

bool view_chunks_alike(struct view *view, uint32_t folder, struct view *other,
		       uint32_t other_folder)
{
	const struct array *a = NULL, *b = NULL;
	struct node node, other_node;

	if (!view_node(view, folder, &node) || !view_node(other, other_folder, &other_node) ||
	    !node.is_array || !other_node.is_array ||
	    memcmp(&node.id, &other_node.id, sizeof(node.id)) != 0 ||
	    folder_array(view, folder, &a, NULL) < 0 ||
	    folder_array(other, other_folder, &b, NULL) < 0)
		return false;
	return memcmp(a->identity, b->identity, sizeof(a->identity)) == 0 &&
	       same_grid(a->metadata, b->metadata);
}

uint64_t view_epoch(const struct view *view, const struct view_file *file)
{
	struct node node;

	return view_node(view, file->folder, &node) ? checkout_epoch(view->checkout, &node) : 0;
}
