/* SPDX-License-Identifier: Apache-2.0 */
#include "repo/transaction.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "repo/changes.h"
#include "repo/location.h"
#include "repo/publish.h"

#define PATH_SIZE_MAX 4096

static int transaction_init(struct transaction *transaction, const char *branch,
			    const struct id12 *base, struct error *err)
{
	struct repo *repo = transaction->repo;
	struct repo_at at = {.branch = branch};
	struct id12 tip;
	int r;

	transaction->branch = text_dup(branch, err);
	if (!transaction->branch)
		return ERR_MEMORY;
	r = repo_refresh(repo, err);
	if (r < 0)
		return r;
	transaction->state = repo_state(repo);
	r = state_check_writable(repo, transaction->state, err);
	if (r == 0)
		r = repo_resolve(repo, &at, &tip, err);
	if (r == 0)
		r = state_config(repo, transaction->state, &transaction->config, err);
	if (r == 0)
		r = repo_checkout(repo, base ? base : &tip, &transaction->base, err);
	return r;
}

int transaction_begin(struct repo *repo, const char *branch, const struct id12 *base,
		      struct transaction **ret_transaction, struct error *err)
{
	CLEANUP(transaction_freep) struct transaction *transaction = NULL;
	int r;

	transaction = calloc(1, sizeof(*transaction));
	if (!transaction)
		return error_memory(err);
	transaction->repo = repo;
	transaction->strings = STRINGS_INIT;
	r = transaction_init(transaction, branch ? branch : MAIN_BRANCH, base, err);
	if (r < 0)
		return r;
	*ret_transaction = TAKE(transaction);
	return 0;
}

void flushed_free(struct flushed *flushed)
{
	free(flushed->sources);
	free(flushed->extents);
	*flushed = (struct flushed){0};
}

static void edit_forget_flushed(struct edit *edit)
{
	for (size_t i = 0; i < edit->flushed.n; i++)
		flushed_free(&edit->flushed.items[i]);
	edit->flushed.n = 0;
}

static void edit_free(struct edit *edit)
{
	edit_forget_flushed(edit);
	flushed_list_done(&edit->flushed);
	plan_done(&edit->plan);
	chunkset_done(&edit->chunks);
	document_done(&edit->document);
	free(edit->limit);
	free(edit->path);
	free(edit);
}

struct transaction *transaction_free(struct transaction *transaction)
{
	if (!transaction)
		return NULL;
	for (size_t i = 0; i < transaction->edits.n; i++)
		edit_free(transaction->edits.items[i]);
	for (size_t i = 0; i < transaction->removed.n; i++)
		free(transaction->removed.items[i].path);
	for (size_t i = 0; i < transaction->moves.n; i++) {
		free(transaction->moves.items[i].from);
		free(transaction->moves.items[i].to);
	}
	edit_list_done(&transaction->edits);
	removed_list_done(&transaction->removed);
	move_list_done(&transaction->moves);
	strings_done(&transaction->strings);
	checkout_free(transaction->base);
	state_free(transaction->state);
	free(transaction->branch);
	free(transaction);
	return NULL;
}

struct checkout *transaction_base(struct transaction *transaction)
{
	return transaction->base;
}

/* Where the edit of @path is, or where it belongs. */
static bool edits_search(const struct transaction *transaction, struct slice path, size_t *ret_i)
{
	size_t begin = 0, end = transaction->edits.n;

	while (begin < end) {
		size_t middle = begin + (end - begin) / 2;
		int order = slice_compare(slice_text(transaction->edits.items[middle]->path), path);

		if (order == 0) {
			*ret_i = middle;
			return true;
		}
		if (order < 0)
			begin = middle + 1;
		else
			end = middle;
	}
	*ret_i = begin;
	return false;
}

struct edit *transaction_edit(const struct transaction *transaction, struct slice path)
{
	size_t i;

	return edits_search(transaction, path, &i) ? transaction->edits.items[i] : NULL;
}

bool transaction_removes(const struct transaction *transaction, const struct id8 *id,
			 uint32_t *ret_i)
{
	size_t begin = 0, end = transaction->removed.n;

	while (begin < end) {
		size_t middle = begin + (end - begin) / 2;
		int order = id8_compare(&transaction->removed.items[middle].id, id);

		if (order == 0)
			begin = end = middle;
		else if (order < 0)
			begin = middle + 1;
		else
			end = middle;
		if (order == 0) {
			*ret_i = (uint32_t)middle;
			return true;
		}
	}
	*ret_i = (uint32_t)begin;
	return false;
}

/* The base's path of what is at @path after the moves; data NULL when that is nothing. */
static struct slice moves_source(const struct transaction *transaction, struct slice path)
{
	struct slice source = path;

	for (size_t i = 0; i < transaction->moves.n; i++) {
		const struct move *move = &transaction->moves.items[i];

		if (slice_is(path, move->to))
			return slice_text(move->from);
		if (slice_is(path, move->from))
			source = (struct slice){NULL, 0};
	}
	return source;
}

static int base_find(const struct transaction *transaction, struct slice path,
		     struct snapshot_node *ret_node)
{
	const struct snapshot *snapshot = transaction->base->snapshot;
	struct slice source = moves_source(transaction, path);
	uint32_t i, at;

	if (!source.data || snapshot_find(snapshot, source, &i) != 0)
		return REPO_ABSENT;
	*ret_node = snapshot_node(snapshot, i);
	return transaction_removes(transaction, &ret_node->id, &at) ? REPO_ABSENT : 0;
}

int transaction_find(const struct transaction *transaction, struct slice path,
		     struct place *ret_place)
{
	*ret_place = (struct place){.edit = transaction_edit(transaction, path)};
	if (!ret_place->edit || !ret_place->edit->is_new)
		ret_place->in_base = base_find(transaction, path, &ret_place->node) == 0;
	return ret_place->edit || ret_place->in_base ? 0 : REPO_ABSENT;
}

static bool place_is_array(const struct place *place)
{
	return place->edit ? place->edit->is_array : place->node.type == NODE_ARRAY;
}

static int absent(const char *path, struct error *err)
{
	return error_set(err, ERR_ABSENT, "there is no node '%s'", path);
}

static int check_unused(const struct transaction *transaction, struct error *err)
{
	if (transaction->done)
		return error_set(err, ERR_ARGUMENT, "the transaction is committed already");
	return 0;
}

/* Moves stand alone: the format's logs hold either moves or other changes. */
static int check_no_moves(const struct transaction *transaction, struct error *err)
{
	if (transaction->moves.n)
		return error_set(err, ERR_ARGUMENT,
				 "a transaction that moves nodes can change nothing else");
	return check_unused(transaction, err);
}

static int check_path(const char *path, struct error *err)
{
	if (path[0] != '/')
		return error_set(err, ERR_ARGUMENT, "path '%s' does not begin with '/'", path);
	if (strlen(path) > PATH_SIZE_MAX || !text_is_utf8(slice_text(path)))
		return error_set(err, ERR_ARGUMENT, "path '%s' is too long or no UTF-8", path);
	if (!path[1])
		return 0;
	for (const char *segment = path + 1;;) {
		size_t size = strcspn(segment, "/");

		if (size == 0 || (size == 1 && segment[0] == '.') ||
		    (size == 2 && memcmp(segment, "..", 2) == 0))
			return error_set(err, ERR_ARGUMENT,
					 "path '%s' has an empty segment, '.' or '..'", path);
		if (!segment[size])
			return 0;
		segment += size + 1;
	}
}

/* Nothing may be below an array. */
static int check_parents(const struct transaction *transaction, const char *path, struct error *err)
{
	struct slice rest = slice_text(path);
	struct place place;

	while (rest.size > 1) {
		while (rest.data[rest.size - 1] != '/')
			rest.size--;
		if (rest.size > 1)
			rest.size--;
		if (transaction_find(transaction, rest, &place) == 0 && place_is_array(&place))
			return error_set(err, ERR_ARGUMENT, "'%s' would be inside array '%.*s'",
					 path, (int)rest.size, (const char *)rest.data);
	}
	return 0;
}

void edit_grid(const struct edit *edit, const struct snapshot_node *node,
	       uint32_t n_chunks[WINDOWS_DIMS_MAX], struct slice names[WINDOWS_DIMS_MAX])
{
	for (uint32_t i = 0; i < edit->n_dims; i++) {
		if (edit->has_document) {
			n_chunks[i] = edit->document.dims[i].n_chunks;
			names[i] = edit->document.dims[i].name;
		} else {
			n_chunks[i] = node_dimension(node, i).n_chunks;
			names[i] = node_dimension_name(node, i);
		}
	}
}

/* Computes the windows of the array as it is to be, and numbers its changes by them. */
static int edit_window_of(void *argument, const uint32_t *index, uint64_t *ret_window)
{
	return windows_find(argument, index, ret_window);
}

static int edit_set_windows(struct transaction *transaction, struct edit *edit,
			    const struct snapshot_node *node, struct error *err)
{
	uint32_t n_chunks[WINDOWS_DIMS_MAX];
	struct slice names[WINDOWS_DIMS_MAX];
	int r;

	if (edit->n_dims > WINDOWS_DIMS_MAX)
		return error_set(err, ERR_UNSUPPORTED, "array '%s' has %u dimensions", edit->path,
				 edit->n_dims);
	edit_grid(edit, node, n_chunks, names);
	r = windows_init(&edit->windows, transaction->config, slice_text(edit->path), names,
			 n_chunks, edit->n_dims, err);
	if (r < 0)
		return r;
	edit_forget_flushed(edit);
	if (!edit->has_windows)
		chunkset_init(&edit->chunks, edit->n_dims);
	edit->has_windows = true;
	return chunkset_renumber(&edit->chunks, edit_window_of, &edit->windows, err);
}

static int edits_insert(struct transaction *transaction, const char *path, struct edit **ret_edit,
			struct error *err)
{
	struct edit *edit = calloc(1, sizeof(*edit));
	size_t i;
	int r;

	if (!edit)
		return error_memory(err);
	edit->document = DOCUMENT_INIT;
	edit->path = text_dup(path, err);
	r = edit->path ? edit_list_push(&transaction->edits, edit, err) : ERR_MEMORY;
	if (r < 0) {
		edit_free(edit);
		return r;
	}
	transaction->edits.n--;
	edits_search(transaction, slice_text(path), &i);
	memmove(&transaction->edits.items[i + 1], &transaction->edits.items[i],
		(transaction->edits.n - i) * sizeof(struct edit *));
	transaction->edits.items[i] = edit;
	transaction->edits.n++;
	*ret_edit = edit;
	return 0;
}

static void edits_remove(struct transaction *transaction, size_t i)
{
	edit_free(transaction->edits.items[i]);
	transaction->edits.n--;
	memmove(&transaction->edits.items[i], &transaction->edits.items[i + 1],
		(transaction->edits.n - i) * sizeof(struct edit *));
}

/* The edit of an existing node, made if there is none. */
static int edit_of_base(struct transaction *transaction, const char *path,
			const struct snapshot_node *node, struct edit **ret_edit, struct error *err)
{
	int r = edits_insert(transaction, path, ret_edit, err);

	if (r < 0)
		return r;
	(*ret_edit)->id = node->id;
	(*ret_edit)->is_array = node->type == NODE_ARRAY;
	(*ret_edit)->n_dims = node->n_dims;
	return 0;
}

static int edit_of_new(struct transaction *transaction, const char *path, bool is_array,
		       struct edit **ret_edit, struct error *err)
{
	struct id8 id;
	int r = id8_new(&id, err);

	if (r == 0)
		r = edits_insert(transaction, path, ret_edit, err);
	if (r < 0)
		return r;
	(*ret_edit)->id = id;
	(*ret_edit)->is_new = true;
	(*ret_edit)->is_array = is_array;
	return 0;
}

/* What was cut off once stays gone, however the array grows afterwards. */
static int edit_lower_limit(struct edit *edit, const struct snapshot_node *node, struct error *err)
{
	if (!edit->limit) {
		edit->limit = calloc(edit->n_dims + 1, sizeof(*edit->limit));
		if (!edit->limit)
			return error_memory(err);
		for (uint32_t i = 0; i < edit->n_dims; i++)
			edit->limit[i] = node_dimension(node, i).n_chunks;
	}
	for (uint32_t i = 0; i < edit->n_dims; i++) {
		if (edit->document.dims[i].n_chunks < edit->limit[i])
			edit->limit[i] = edit->document.dims[i].n_chunks;
	}
	return 0;
}

/* Gives @edit the document; it takes over what @document holds. */
static int edit_set_document(struct transaction *transaction, struct edit *edit,
			     const struct place *place, struct document *document,
			     struct error *err)
{
	int r = 0;

	if (edit->has_document || !edit->is_new) {
		if (edit->is_array && edit->n_dims != document->n_dims)
			return error_set(err, ERR_ARGUMENT,
					 "array '%s' has %u dimensions, its new document %u",
					 edit->path, edit->n_dims, document->n_dims);
	}
	document_done(&edit->document);
	edit->document = *document;
	*document = DOCUMENT_INIT;
	edit->has_document = true;
	edit->n_dims = edit->document.n_dims;
	if (!edit->is_array)
		return 0;
	if (place->in_base)
		r = edit_lower_limit(edit, &place->node, err);
	return r < 0 ? r : edit_set_windows(transaction, edit, &place->node, err);
}

static struct slice place_document(const struct place *place)
{
	return place->edit && place->edit->has_document ? place->edit->document.bytes
							: place->node.document;
}

static int check_document(const struct transaction *transaction, const char *path,
			  const struct document *document, const struct place *place, bool exists,
			  struct error *err)
{
	if (exists && place_is_array(place) != document->is_array)
		return error_set(err, ERR_ARGUMENT, "'%s' is %s; delete it first", path,
				 document->is_array ? "a group" : "an array");
	if (document->is_array && !document->is_regular && transaction->repo->spec == SPEC_1)
		return error_set(err, ERR_UNSUPPORTED,
				 "'%s': specification 1 has regular chunk grids only", path);
	return exists ? 0 : check_parents(transaction, path, err);
}

int transaction_put_document(struct transaction *transaction, const char *path, struct slice bytes,
			     struct error *err)
{
	CLEANUP(document_done) struct document document = DOCUMENT_INIT;
	struct place place;
	struct edit *edit;
	bool exists;
	int r;

	r = check_no_moves(transaction, err);
	if (r == 0)
		r = check_path(path, err);
	if (r < 0)
		return r;
	r = document_init(&document, bytes, err);
	if (r < 0)
		return error_prefix(err, "zarr.json of '%s'", path);
	exists = transaction_find(transaction, slice_text(path), &place) == 0;
	r = check_document(transaction, path, &document, &place, exists, err);
	if (r < 0)
		return r;
	if (exists && slice_equal(place_document(&place), bytes))
		return 0;
	edit = place.edit;
	if (!exists)
		r = edit_of_new(transaction, path, document.is_array, &edit, err);
	else if (!edit)
		r = edit_of_base(transaction, path, &place.node, &edit, err);
	return r < 0 ? r : edit_set_document(transaction, edit, &place, &document, err);
}

int transaction_get_document(struct transaction *transaction, const char *path, struct buf *out,
			     struct error *err)
{
	struct place place;

	if (transaction_find(transaction, slice_text(path), &place) != 0)
		return REPO_ABSENT;
	return buf_append_slice(out, place_document(&place), err);
}

int transaction_resize(struct transaction *transaction, const char *path, const uint64_t *shape,
		       uint32_t n_dims, struct error *err)
{
	CLEANUP(buf_done) struct buf document = BUF_INIT(CONFIG_TEXT_MAX);
	struct place place;
	int r;

	if (transaction_find(transaction, slice_text(path), &place) != 0)
		return absent(path, err);
	if (!place_is_array(&place))
		return error_set(err, ERR_ARGUMENT, "'%s' is a group, not an array", path);
	r = document_resize(place_document(&place), shape, n_dims, &document, err);
	if (r < 0)
		return error_prefix(err, "'%s'", path);
	return transaction_put_document(transaction, path, buf_slice(&document), err);
}

static int removed_insert(struct transaction *transaction, const struct snapshot_node *node,
			  struct error *err)
{
	struct removed removed = {slice_dup(node->path, err), node->id, node->type};
	uint32_t i;
	int r;

	if (!removed.path)
		return ERR_MEMORY;
	transaction_removes(transaction, &node->id, &i);
	r = removed_list_push(&transaction->removed, removed, err);
	if (r < 0) {
		free(removed.path);
		return r;
	}
	memmove(&transaction->removed.items[i + 1], &transaction->removed.items[i],
		(transaction->removed.n - 1 - i) * sizeof(removed));
	transaction->removed.items[i] = removed;
	return 0;
}

static int delete_from_base(struct transaction *transaction, struct slice path, struct error *err)
{
	const struct snapshot *snapshot = transaction->base->snapshot;
	uint32_t n = snapshot_n_nodes(snapshot), i, at;

	/* Below "/a" there are "/a" and "/a/...", with "/a-..." in between. */
	for (snapshot_find(snapshot, path, &i); i < n; i++) {
		struct snapshot_node node = snapshot_node(snapshot, i);
		int r;

		if (node.path.size < path.size || memcmp(node.path.data, path.data, path.size) != 0)
			break;
		if (!path_is_below(node.path, path) ||
		    transaction_removes(transaction, &node.id, &at))
			continue;
		r = removed_insert(transaction, &node, err);
		if (r < 0)
			return r;
	}
	return 0;
}

int transaction_delete_node(struct transaction *transaction, const char *path, struct error *err)
{
	struct slice text = slice_text(path);
	struct place place;
	int r;

	r = check_no_moves(transaction, err);
	if (r < 0)
		return r;
	if (transaction_find(transaction, text, &place) != 0)
		return absent(path, err);
	for (size_t i = transaction->edits.n; i-- > 0;) {
		if (path_is_below(slice_text(transaction->edits.items[i]->path), text))
			edits_remove(transaction, i);
	}
	return delete_from_base(transaction, text, err);
}

/* The array's edit, with its windows; made if there is none. */
static int array_edit(struct transaction *transaction, const char *path, uint32_t n_dims,
		      struct edit **ret_edit, struct error *err)
{
	struct place place;
	int r;

	r = check_no_moves(transaction, err);
	if (r < 0)
		return r;
	if (transaction_find(transaction, slice_text(path), &place) != 0)
		return absent(path, err);
	if (!place_is_array(&place))
		return error_set(err, ERR_ARGUMENT, "'%s' is a group, not an array", path);
	*ret_edit = place.edit;
	if (!place.edit) {
		r = edit_of_base(transaction, path, &place.node, ret_edit, err);
		if (r < 0)
			return r;
	}
	if ((*ret_edit)->n_dims != n_dims)
		return error_set(err, ERR_ARGUMENT, "array '%s' has %u dimensions, not %u", path,
				 (*ret_edit)->n_dims, n_dims);
	if ((*ret_edit)->has_windows)
		return 0;
	return edit_set_windows(transaction, *ret_edit, &place.node, err);
}

static void index_text(const uint32_t *index, uint32_t n_dims, char *text, size_t size)
{
	size_t used = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < n_dims && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%" PRIu32, i ? "/" : "",
					 index[i]);
}

static int outside(const struct edit *edit, const uint32_t *index, struct error *err)
{
	char text[128];

	index_text(index, edit->n_dims, text, sizeof(text));
	return error_set(err, ERR_ARGUMENT, "chunk %s is outside array '%s'", text, edit->path);
}

static int edit_add(struct edit *edit, const uint32_t *index, enum change_kind kind,
		    struct change **ret_change, struct error *err)
{
	uint64_t window;

	if (windows_find(&edit->windows, index, &window) < 0)
		return outside(edit, index, err);
	edit_forget_flushed(edit);
	return chunkset_add(&edit->chunks, window, index, kind, ret_change, err);
}

static int put_native(struct transaction *transaction, struct slice bytes, struct id12 *ret_id,
		      struct error *err)
{
	char key[KEY_MAX];
	int r;

	r = id12_new(ret_id, err);
	if (r < 0)
		return r;
	key_format(key, "chunks", ret_id);
	/* The first object also proves the store, so that a refused one keeps nothing. */
	if (!conditions_are_proven(transaction->repo->store))
		return conditions_prove(transaction->repo->store, key, bytes, err);
	return store_put(transaction->repo->store, key, bytes, err);
}

int transaction_put_chunk(struct transaction *transaction, const char *path, const uint32_t *index,
			  uint32_t n_dims, struct slice bytes, struct error *err)
{
	bool is_inline = bytes.size <= config_values(transaction->config)->inline_chunk_threshold;
	struct change *change;
	struct edit *edit;
	struct id12 id;
	uint64_t window;
	uint32_t text = 0;
	int r;

	if (bytes.size == 0)
		return error_set(err, ERR_ARGUMENT, "a chunk of '%s' has no bytes", path);
	r = array_edit(transaction, path, n_dims, &edit, err);
	if (r < 0)
		return r;
	if (windows_find(&edit->windows, index, &window) < 0)
		return outside(edit, index, err);
	if (is_inline)
		r = strings_append(&transaction->strings, bytes, &text, err);
	else
		r = put_native(transaction, bytes, &id, err);
	if (r == 0)
		r = edit_add(edit, index, is_inline ? CHANGE_INLINE : CHANGE_NATIVE, &change, err);
	if (r < 0)
		return r;
	change->length = bytes.size;
	if (is_inline)
		change->text = text;
	else
		change->chunk_id = id;
	return 0;
}

int transaction_check_chunk(struct transaction *transaction, const char *path,
			    const uint32_t *index, uint32_t n_dims, struct error *err)
{
	struct edit *edit;
	uint64_t window;
	int r;

	r = array_edit(transaction, path, n_dims, &edit, err);
	if (r < 0)
		return r;
	return windows_find(&edit->windows, index, &window) < 0 ? outside(edit, index, err) : 0;
}

uint32_t transaction_inline_threshold(const struct transaction *transaction)
{
	return config_values(transaction->config)->inline_chunk_threshold;
}

int transaction_delete_chunk(struct transaction *transaction, const char *path,
			     const uint32_t *index, uint32_t n_dims, struct error *err)
{
	struct change *change;
	struct edit *edit;
	uint64_t window;
	int r;

	r = array_edit(transaction, path, n_dims, &edit, err);
	if (r < 0)
		return r;
	if (windows_find(&edit->windows, index, &window) < 0)
		return 0;
	return edit_add(edit, index, CHANGE_DELETE, &change, err);
}

static const struct container *container_named(const struct config_values *values,
					       struct slice name)
{
	for (uint32_t i = 0; i < values->n_containers; i++) {
		const struct container *container = &values->containers[i];

		if (!container->invalid && container->name && slice_is(name, container->name))
			return container;
	}
	return NULL;
}

static bool container_covers(const struct config_values *values, struct slice location)
{
	for (uint32_t i = 0; i < values->n_containers; i++) {
		const struct container *container = &values->containers[i];

		if (!container->invalid &&
		    location_covers(slice_text(container->url_prefix), location))
			return true;
	}
	return false;
}

/* Of a location below a container's name; in a folder '..' would lead out of it. */
static bool named_container_holds(const struct config_values *values,
				  const struct location *location)
{
	const struct container *container = container_named(values, location->authority);

	return container &&
	       !(strncmp(container->url_prefix, "file:", 5) == 0 && location_has_dots(location));
}

/* Checks a location as it is to be stored. */
static int check_location(const struct transaction *transaction, struct slice text,
			  struct error *err)
{
	const struct config_values *values = config_values(transaction->config);
	struct location location;
	int r;

	if (!text_is_utf8(text))
		return error_set(err, ERR_ARGUMENT, "location '%.*s' is no UTF-8", (int)text.size,
				 (const char *)text.data);
	r = location_split(text, &location, err);
	if (r < 0)
		return r;
	if (location_scheme_is(&location, "vcc") ? named_container_holds(values, &location)
						 : container_covers(values, text))
		return 0;
	return error_set(err, ERR_ARGUMENT, "location '%.*s' is in no container of the repository",
			 (int)text.size, (const char *)text.data);
}

static int intern_location(struct transaction *transaction, struct slice text, uint32_t *ret_number,
			   struct error *err)
{
	struct strings *strings = &transaction->strings;
	CLEANUP(buf_done) struct buf stored = BUF_INIT(1 << 20);
	uint32_t last = transaction->last_location;
	int r;

	/* Runs of one location are usual, and what was checked once needs no more. */
	if (last && slice_equal(strings_get(strings, last), text)) {
		*ret_number = last;
		return 0;
	}
	r = location_store(text, &stored, err);
	if (r == 0)
		r = check_location(transaction, buf_slice(&stored), err);
	if (r == 0)
		r = strings_add(strings, buf_slice(&stored), ret_number, err);
	if (r < 0)
		return r;
	transaction->last_location = *ret_number;
	return 0;
}

static int add_virtual(struct transaction *transaction, struct edit *edit,
		       const struct virtual_ref *ref, struct error *err)
{
	struct change *change;
	uint32_t text, etag;
	uint64_t end;
	int r;

	if (ref->length == 0 || __builtin_add_overflow(ref->offset, ref->length, &end))
		return error_set(err, ERR_ARGUMENT,
				 "a reference of '%s' has length %" PRIu64 " at offset %" PRIu64,
				 edit->path, ref->length, ref->offset);
	r = intern_location(transaction, ref->location, &text, err);
	if (r == 0)
		r = strings_add(&transaction->strings, ref->etag, &etag, err);
	if (r == 0)
		r = edit_add(edit, ref->index, CHANGE_VIRTUAL, &change, err);
	if (r < 0)
		return r;
	change->offset = ref->offset;
	change->length = ref->length;
	change->text = text;
	change->etag = etag;
	change->last_modified = etag ? 0 : ref->last_modified;
	return 0;
}

int transaction_set_refs(struct transaction *transaction, const char *path,
			 const struct virtual_ref *refs, size_t n_refs, uint32_t n_dims,
			 struct error *err)
{
	struct edit *edit;
	size_t before;
	int r;

	r = array_edit(transaction, path, n_dims, &edit, err);
	if (r < 0)
		return r;
	before = edit->chunks.n;
	for (size_t i = 0; r == 0 && i < n_refs; i++)
		r = add_virtual(transaction, edit, &refs[i], err);
	if (r < 0)
		chunkset_truncate(&edit->chunks, before);
	return r;
}

static int has_in_base(struct transaction *transaction, const struct edit *edit,
		       const struct snapshot_node *node, const uint32_t *index, struct error *err)
{
	CLEANUP(chunk_done) struct chunk chunk = {0};
	struct node found;
	uint32_t number;

	for (uint32_t i = 0; edit && edit->limit && i < edit->n_dims; i++) {
		if (index[i] >= edit->limit[i])
			return REPO_ABSENT;
	}
	if (snapshot_find(transaction->base->snapshot, node->path, &number) != 0)
		return REPO_ABSENT;
	checkout_node(transaction->base, number, &found);
	return checkout_locate(transaction->base, &found, index, &chunk, err);
}

int transaction_has_chunk(struct transaction *transaction, const char *path, const uint32_t *index,
			  uint32_t n_dims, struct error *err)
{
	struct change *change = NULL;
	struct place place;
	uint64_t window;
	int r = 0;

	if (transaction_find(transaction, slice_text(path), &place) != 0)
		return absent(path, err);
	if (!place_is_array(&place) ||
	    n_dims != (place.edit ? place.edit->n_dims : place.node.n_dims))
		return error_set(err, ERR_ARGUMENT, "'%s' is no array of %u dimensions", path,
				 n_dims);
	if (place.edit && place.edit->has_windows) {
		if (windows_find(&place.edit->windows, index, &window) < 0)
			return REPO_ABSENT;
		r = chunkset_find(&place.edit->chunks, window, index, &change, err);
	}
	if (r < 0)
		return r;
	if (change)
		return change_kind(change) == CHANGE_DELETE ? REPO_ABSENT : 0;
	if (!place.in_base)
		return REPO_ABSENT;
	return has_in_base(transaction, place.edit, &place.node, index, err);
}

static struct slice path_parent(struct slice path)
{
	while (path.size > 1 && path.data[path.size - 1] != '/')
		path.size--;
	if (path.size > 1)
		path.size--;
	return path;
}

static int check_move(const struct transaction *transaction, const char *from, const char *to,
		      struct error *err)
{
	struct slice parent = path_parent(slice_text(to));
	struct place place;
	int r;

	if (transaction->repo->spec == SPEC_1)
		return error_set(err, ERR_UNSUPPORTED, "specification 1 cannot move nodes");
	if (!repo_info_feature(transaction->state->info, FEATURE_MOVE_NODE))
		return error_set(err, ERR_DENIED,
				 "this repository has the feature 'move_node' switched off");
	r = check_unused(transaction, err);
	if (r == 0)
		r = check_path(to, err);
	if (r < 0)
		return r;
	if (transaction->edits.n || transaction->removed.n)
		return error_set(err, ERR_ARGUMENT,
				 "a transaction that moves nodes can change nothing else");
	if (transaction_find(transaction, slice_text(from), &place) != 0)
		return absent(from, err);
	if (path_is_below(slice_text(to), slice_text(from)))
		return error_set(err, ERR_ARGUMENT, "'%s' cannot be moved into itself", from);
	if (transaction_find(transaction, slice_text(to), &place) == 0)
		return error_set(err, ERR_ARGUMENT, "there is a node '%s' already", to);
	if (transaction_find(transaction, parent, &place) != 0 || place_is_array(&place))
		return error_set(err, ERR_ARGUMENT, "'%s' would be in no group: '%.*s' is none", to,
				 (int)parent.size, (const char *)parent.data);
	return 0;
}

/* The path of @path after @from became @to; the caller frees it. */
static char *path_moved(struct slice path, const char *from, const char *to, struct error *err)
{
	struct slice below = slice_sub(path, strlen(from), SIZE_MAX);

	return text_printf(err, "%s%.*s", to, (int)below.size, (const char *)below.data);
}

/* Moves a node that has not moved yet. */
static int move_from_base(const struct snapshot_node *node, const char *from, const char *to,
			  struct move_list *moves, struct error *err)
{
	struct move move = {.from = slice_dup(node->path, err),
			    .to = path_moved(node->path, from, to, err),
			    .id = node->id,
			    .type = node->type};
	int r = move.from && move.to ? move_list_push(moves, move, err) : ERR_MEMORY;

	if (r < 0) {
		free(move.from);
		free(move.to);
	}
	return r;
}

static int move_all(struct transaction *transaction, const char *from, const char *to,
		    struct error *err)
{
	const struct snapshot *snapshot = transaction->base->snapshot;
	struct move_list *moves = &transaction->moves;
	size_t n_before = moves->n;
	int r = 0;

	/* What lies below now but did not come by a move. */
	for (uint32_t i = 0; r == 0 && i < snapshot_n_nodes(snapshot); i++) {
		struct snapshot_node node = snapshot_node(snapshot, i), at;

		if (path_is_below(node.path, slice_text(from)) &&
		    base_find(transaction, node.path, &at) == 0 && id8_equal(&at.id, &node.id))
			r = move_from_base(&node, from, to, moves, err);
	}
	for (size_t i = 0; r == 0 && i < n_before; i++) {
		struct move *move = &moves->items[i];
		char *moved;

		if (!path_is_below(slice_text(move->to), slice_text(from)))
			continue;
		moved = path_moved(slice_text(move->to), from, to, err);
		if (!moved)
			return ERR_MEMORY;
		free(move->to);
		move->to = moved;
	}
	return r;
}

int transaction_move(struct transaction *transaction, const char *from, const char *to,
		     struct error *err)
{
	int r = check_move(transaction, from, to, err);

	return r < 0 ? r : move_all(transaction, from, to, err);
}

bool edit_has_effect(const struct edit *edit)
{
	return edit->has_document || edit->chunks.n > 0;
}

bool transaction_is_empty(const struct transaction *transaction)
{
	for (size_t i = 0; i < transaction->edits.n; i++) {
		if (edit_has_effect(transaction->edits.items[i]))
			return false;
	}
	return transaction->removed.n == 0 && transaction->moves.n == 0;
}

size_t transaction_memory(const struct transaction *transaction)
{
	size_t total = strings_memory(&transaction->strings);

	for (size_t i = 0; i < transaction->edits.n; i++) {
		const struct edit *edit = transaction->edits.items[i];

		total +=
			sizeof(*edit) + edit->document.arena.total + chunkset_memory(&edit->chunks);
	}
	return total;
}
