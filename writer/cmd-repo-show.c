/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/table.h"
#include "reader/array.h"
#include "reader/view.h"
#include "writer/cmd-repo.h"
#include "zarr/metadata.h"

#define LINE_MAX_BYTES (UINT64_C(64) << 20)

static int json_text_of(struct buf *out, const char *text, struct error *err)
{
	return json_write_text(out, slice_text(text), err);
}

/* info */

int refs_object(const struct ref_entry *entries, size_t n, struct buf *out, struct error *err)
{
	int r = buf_append_byte(out, '{', err);

	for (size_t i = 0; r == 0 && i < n; i++) {
		char id[ID12_TEXT_LEN + 1];

		id12_format(&entries[i].id, id);
		if (i)
			r = buf_append_byte(out, ',', err);
		if (r == 0)
			r = json_text_of(out, entries[i].name, err);
		if (r == 0)
			r = buf_printf(out, err, ":\"%s\"", id);
	}
	return r < 0 ? r : buf_append_byte(out, '}', err);
}

static int info_json(const struct repo_summary *summary, struct buf *out, struct error *err)
{
	int r;

	r = buf_printf(out, err, "{\"spec_version\":%d,\"status\":\"%s\"", summary->spec,
		       summary->status);
	if (r == 0 && summary->status_reason) {
		r = buf_append_text(out, ",\"status_reason\":", err);
		if (r == 0)
			r = json_text_of(out, summary->status_reason, err);
	}
	if (r == 0)
		r = buf_append_text(out, ",\"branches\":", err);
	if (r == 0)
		r = refs_object(summary->branches, summary->n_branches, out, err);
	if (r == 0)
		r = buf_append_text(out, ",\"tags\":", err);
	if (r == 0)
		r = refs_object(summary->tags, summary->n_tags, out, err);
	if (r == 0)
		r = buf_printf(out, err, ",\"n_snapshots\":%" PRIu64 ",\"config\":%s}\n",
			       summary->n_snapshots, summary->config);
	return r;
}

static void info_rows(struct table *table, const char *kind, const struct ref_entry *entries,
		      size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char id[ID12_TEXT_LEN + 1];

		id12_format(&entries[i].id, id);
		table_cell(table, "%s", kind);
		table_cell(table, "%s", id);
		table_cell(table, "%s", entries[i].name);
	}
}

static int info_text(struct cli *cli, const struct repo_summary *summary, struct error *err)
{
	CLEANUP(table_done) struct table table = TABLE_INIT("lll");

	output_printf(cli->out, "specification %d, %s%s%s, %" PRIu64 " snapshots\n", summary->spec,
		      summary->status, summary->status_reason ? ": " : "",
		      summary->status_reason ? summary->status_reason : "", summary->n_snapshots);
	info_rows(&table, "branch", summary->branches, summary->n_branches);
	info_rows(&table, "tag", summary->tags, summary->n_tags);
	return table_print(&table, cli->out, err);
}

int cmd_repo_info(struct cli *cli, const void *argument, struct error *err)
{
	const struct show_options *options = argument;
	CLEANUP(opened_done) struct opened opened = {0};
	CLEANUP(repo_summary_done) struct repo_summary summary = {0};
	CLEANUP(buf_done) struct buf out = BUF_INIT(LINE_MAX_BYTES);
	int r;

	r = open_repo(options->url, &options->common, &opened, err);
	if (r == 0)
		r = repo_summary(opened.repo, &summary, err);
	if (r < 0)
		return r;
	if (summary.has_leftovers)
		log_event(LOG_WARNING, "leftovers",
			  "'%s' still has references of specification 1; old programs would commit "
			  "there, and the two histories part",
			  options->url);
	if (!options->json)
		return info_text(cli, &summary, err);
	r = info_json(&summary, &out, err);
	output_drain(cli->out, &out);
	return r;
}

/* log */

struct log_state {
	struct cli *cli;
	bool json;
	bool any;
	struct buf line;
};

static int log_entry_json(struct log_state *state, const struct history_entry *entry,
			  struct error *err)
{
	char id[ID12_TEXT_LEN + 1], parent[ID12_TEXT_LEN + 1], time[TIME_TEXT_MAX];
	struct buf *line = &state->line;
	int r;

	id12_format(&entry->id, id);
	id12_format(&entry->parent, parent);
	time_format_micros(entry->written_at, time);
	r = buf_printf(line, err, "%s{\"id\":\"%s\",\"parent\":", state->any ? ",\n " : "[", id);
	if (r == 0)
		r = entry->has_parent ? buf_printf(line, err, "\"%s\"", parent)
				      : buf_append_text(line, "null", err);
	if (r == 0)
		r = buf_printf(line, err, ",\"written_at\":\"%s\",\"message\":", time);
	if (r == 0)
		r = json_text_of(line, entry->message, err);
	if (r == 0)
		r = buf_append_text(line, ",\"metadata\":", err);
	if (r == 0)
		r = buf_append_slice(line, entry->metadata, err);
	return r < 0 ? r : buf_append_byte(line, '}', err);
}

static int log_entry(void *argument, const struct history_entry *entry, struct error *err)
{
	struct log_state *state = argument;
	char id[ID12_TEXT_LEN + 1], time[TIME_TEXT_MAX];
	int r = 0;

	if (state->json) {
		r = log_entry_json(state, entry, err);
		output_drain(state->cli->out, &state->line);
	} else {
		id12_format(&entry->id, id);
		time_format_seconds(entry->written_at, time);
		output_printf(state->cli->out, "%s  %s  %s\n", id, time, entry->message);
	}
	state->any = true;
	return r;
}

int cmd_repo_log(struct cli *cli, const void *argument, struct error *err)
{
	const struct show_options *options = argument;
	CLEANUP(opened_done) struct opened opened = {0};
	struct log_state state = {
		.cli = cli, .json = options->json, .line = BUF_INIT(LINE_MAX_BYTES)};
	struct repo_at at = {
		.branch = options->common.branch,
		.tag = options->common.tag,
		.snapshot = options->common.snapshot,
		.has_as_of = options->common.as_of.given,
		.as_of = options->common.as_of.value,
	};
	struct id12 id;
	int r;

	r = open_repo(options->url, &options->common, &opened, err);
	if (r == 0)
		r = repo_resolve(opened.repo, &at, &id, err);
	if (r == 0)
		r = repo_history(opened.repo, &id, log_entry, &state, err);
	if (r == 0 && options->json)
		output_text(cli->out, "]\n");
	buf_done(&state.line);
	return r;
}

/* ls */

static int append_u64s(struct buf *out, const uint64_t *numbers, uint32_t n, struct error *err)
{
	int r = buf_append_byte(out, '[', err);

	for (uint32_t i = 0; r == 0 && i < n; i++)
		r = buf_printf(out, err, "%s%" PRIu64, i ? "," : "", numbers[i]);
	return r < 0 ? r : buf_append_byte(out, ']', err);
}

static int append_shape(const struct checkout *checkout, const struct node *node, struct buf *out,
			struct error *err)
{
	int r = buf_append_byte(out, '[', err);

	for (uint32_t i = 0; r == 0 && i < node->n_dims; i++) {
		uint64_t length;
		uint32_t chunks;

		checkout_dim(checkout, node, i, &length, &chunks);
		r = buf_printf(out, err, "%s%" PRIu64, i ? "," : "", length);
	}
	return r < 0 ? r : buf_append_byte(out, ']', err);
}

static int append_chunk_shape(const struct json *root, uint32_t n_dims, struct buf *out,
			      struct error *err)
{
	struct json shape, item, name, grid;
	uint64_t sizes[ZARR_DIMS_MAX];
	uint32_t n = 0;

	if (json_get(root, "chunk_grid", &grid) != 0 || json_get(&grid, "name", &name) != 0 ||
	    !json_is_text(&name, "regular") ||
	    json_path(&grid, &shape, "configuration", "chunk_shape", NULL) != 0 ||
	    shape.type != JSON_ARRAY || json_count(&shape) != n_dims || n_dims > ZARR_DIMS_MAX)
		return buf_append_text(out, "null", err);
	JSON_EACH (&shape, NULL, item) {
		if (json_u64(&item, &sizes[n++], NULL) < 0)
			return buf_append_text(out, "null", err);
	}
	return append_u64s(out, sizes, n, err);
}

static int append_member(const struct json *root, const char *member, const char *label,
			 struct buf *out, struct error *err)
{
	struct json value;
	int r = buf_printf(out, err, ",\"%s\":", label);

	if (r < 0)
		return r;
	if (json_get(root, member, &value) != 0)
		return buf_append_text(out, "null", err);
	return buf_append_slice(out, value.span, err);
}

static int ls_array_json(struct checkout *checkout, const struct node *node, struct buf *out,
			 struct error *err)
{
	struct json root;
	uint64_t n_refs;
	int r;

	r = json_parse(node->document, &root, err);
	if (r < 0)
		return error_prefix(err, "zarr.json of '%.*s'", (int)node->path.size,
				    (const char *)node->path.data);
	r = checkout_count_refs(checkout, node, &n_refs, err);
	if (r == 0)
		r = buf_append_text(out, ",\"shape\":", err);
	if (r == 0)
		r = append_shape(checkout, node, out, err);
	if (r == 0)
		r = buf_append_text(out, ",\"chunk_shape\":", err);
	if (r == 0)
		r = append_chunk_shape(&root, node->n_dims, out, err);
	if (r == 0)
		r = append_member(&root, "data_type", "data_type", out, err);
	if (r == 0)
		r = append_member(&root, "dimension_names", "dimension_names", out, err);
	if (r == 0)
		r = buf_printf(out, err, ",\"n_manifests\":%" PRIu32 ",\"n_refs\":%" PRIu64,
			       checkout_n_manifests(checkout, node), n_refs);
	return r;
}

static int ls_json(struct checkout *checkout, const struct node *node, bool first, struct buf *out,
		   struct error *err)
{
	int r = buf_append_text(out, first ? "[" : ",\n ", err);

	if (r == 0)
		r = buf_append_text(out, "{\"path\":", err);
	if (r == 0)
		r = json_write_text(out, node->path, err);
	if (r == 0)
		r = buf_printf(out, err, ",\"type\":\"%s\"", node->is_array ? "array" : "group");
	if (r == 0 && node->is_array)
		r = ls_array_json(checkout, node, out, err);
	return r < 0 ? r : buf_append_byte(out, '}', err);
}

static int ls_text(struct checkout *checkout, const struct node *node, struct table *table,
		   struct error *err)
{
	CLEANUP(buf_done) struct buf shape = BUF_INIT(LINE_MAX_BYTES);
	uint64_t n_refs;
	int r;

	table_cell(table, "%.*s", (int)node->path.size, (const char *)node->path.data);
	if (!node->is_array) {
		table_cell(table, "group");
		table_cell(table, "%s", "");
		return 0;
	}
	r = append_shape(checkout, node, &shape, err);
	if (r == 0)
		r = checkout_count_refs(checkout, node, &n_refs, err);
	if (r < 0)
		return r;
	table_cell(table, "%.*s", (int)shape.size, (const char *)shape.data);
	table_cell(table, "%" PRIu64 " chunks", n_refs);
	return 0;
}

static bool node_is_below(const struct node *node, const char *path)
{
	size_t size = strlen(path);

	if (size == 1)
		return true;
	return node->path.size >= size && memcmp(node->path.data, path, size) == 0 &&
	       (node->path.size == size || node->path.data[size] == '/');
}

static int ls_node(struct cli *cli, struct checkout *checkout, const struct node *node, bool json,
		   bool first, struct table *table, struct error *err)
{
	CLEANUP(buf_done) struct buf out = BUF_INIT(LINE_MAX_BYTES);
	int r;

	if (!json)
		return ls_text(checkout, node, table, err);
	r = ls_json(checkout, node, first, &out, err);
	output_drain(cli->out, &out);
	return r;
}

/* "a/b/" is the same as "/a/b". */
static char *tidy_path(const char *path, struct error *err)
{
	struct slice text = slice_text(path ? path : "/");

	while (text.size && text.data[0] == '/')
		text = slice_sub(text, 1, SIZE_MAX);
	while (text.size && text.data[text.size - 1] == '/')
		text.size--;
	return text_printf(err, "/%.*s", (int)text.size, (const char *)text.data);
}

int cmd_repo_ls(struct cli *cli, const void *argument, struct error *err)
{
	const struct show_options *options = argument;
	CLEANUP(opened_done) struct opened opened = {0};
	CLEANUP(table_done) struct table table = TABLE_INIT("lll");
	CLEANUP(freep) char *path = tidy_path(options->name, err);
	size_t n = 0;
	int r;

	if (!path)
		return ERR_MEMORY;
	r = open_checkout(options->url, &options->common, READER_DECODE_WMO, &opened, err);
	for (uint32_t i = 0; r == 0 && i < checkout_n_nodes(opened.checkout); i++) {
		struct node node;

		checkout_node(opened.checkout, i, &node);
		if (node_is_below(&node, path))
			r = ls_node(cli, opened.checkout, &node, options->json, n++ == 0, &table,
				    err);
	}
	if (r < 0)
		return r;
	if (n == 0 && path[1])
		return CLI_FOUND_SOMETHING;
	if (!options->json)
		return table_print(&table, cli->out, err);
	output_text(cli->out, n ? "]\n" : "[]\n");
	return 0;
}

/* refs, stat */

static int append_text_or_null(struct buf *out, struct slice text, struct error *err)
{
	return text.data ? json_write_text(out, text, err) : buf_append_text(out, "null", err);
}

static int virtual_json(const struct chunk_ref *ref, struct buf *out, struct error *err)
{
	int r;

	r = buf_append_text(out, "\"kind\":\"virtual\",\"location\":", err);
	if (r == 0)
		r = json_write_text(out, ref->location, err);
	if (r == 0)
		r = buf_printf(out, err, ",\"offset\":%" PRIu64 ",\"length\":%" PRIu64 ",\"etag\":",
			       ref->offset, ref->length);
	if (r == 0)
		r = append_text_or_null(out, ref->etag, err);
	if (r < 0)
		return r;
	if (ref->etag.data || ref->last_modified == 0)
		return buf_append_text(out, ",\"last_modified\":null", err);
	return buf_printf(out, err, ",\"last_modified\":%" PRIu32, ref->last_modified);
}

int ref_json(const struct chunk_ref *ref, const uint32_t *index, uint32_t n_dims, bool open,
	     struct buf *out, struct error *err)
{
	char id[ID12_TEXT_LEN + 1];
	int r = buf_append_text(out, "{\"index\":[", err);

	for (uint32_t i = 0; r == 0 && i < n_dims; i++)
		r = buf_printf(out, err, "%s%" PRIu32, i ? "," : "", index[i]);
	if (r == 0)
		r = buf_append_text(out, "],", err);
	if (r < 0)
		return r;
	if (ref->kind == CHUNK_VIRTUAL) {
		r = virtual_json(ref, out, err);
	} else if (ref->kind == CHUNK_NATIVE) {
		id12_format(&ref->chunk_id, id);
		r = buf_printf(out, err,
			       "\"kind\":\"native\",\"chunk_id\":\"%s\",\"offset\":%" PRIu64
			       ",\"length\":%" PRIu64,
			       id, ref->offset, ref->length);
	} else {
		r = buf_printf(out, err, "\"kind\":\"inline\",\"length\":%zu", ref->data.size);
	}
	return r < 0 || open ? r : buf_append_byte(out, '}', err);
}

static int read_prefix(const char *text, uint32_t n_dims, uint32_t *prefix, uint32_t *ret_n,
		       struct error *err)
{
	struct slice rest = slice_text(text ? text : "");

	*ret_n = 0;
	while (rest.size) {
		const uint8_t *comma = memchr(rest.data, ',', rest.size);
		size_t size = comma ? (size_t)(comma - rest.data) : rest.size;

		if (*ret_n == n_dims ||
		    zarr_coordinate_parse(slice_sub(rest, 0, size), &prefix[*ret_n]) != 0)
			return error_set(err, ERR_ARGUMENT,
					 "--index %s: not at most %" PRIu32 " numbers", text,
					 n_dims);
		++*ret_n;
		rest = slice_sub(rest, size + 1, SIZE_MAX);
	}
	return 0;
}

static int refs_print(struct cli *cli, struct checkout *checkout, const struct node *node,
		      const uint32_t *prefix, uint32_t n_prefix, struct error *err)
{
	CLEANUP(chunk_iter_freep) struct chunk_iter *iter = NULL;
	CLEANUP(buf_done) struct buf line = BUF_INIT(LINE_MAX_BYTES);
	const struct chunk *chunk;
	const uint32_t *index;
	int r;

	r = chunk_iter_new(checkout, node, prefix, n_prefix, &iter, err);
	while (r == 0) {
		r = chunk_iter_next(iter, &index, &chunk, err);
		if (r == REPO_END)
			return 0;
		if (r == 0)
			r = ref_json(&chunk->ref, index, node->n_dims, false, &line, err);
		if (r == 0)
			r = buf_append_byte(&line, '\n', err);
		output_drain(cli->out, &line);
		if (r == 0 && output_failed(cli->out))
			return output_flush(cli->out, err);
	}
	return r;
}

int cmd_repo_refs(struct cli *cli, const void *argument, struct error *err)
{
	const struct show_options *options = argument;
	CLEANUP(opened_done) struct opened opened = {0};
	CLEANUP(freep) char *path = tidy_path(options->name, err);
	CLEANUP(freep) uint32_t *prefix = NULL;
	uint32_t n_prefix;
	struct node node;
	int r;

	if (!path)
		return ERR_MEMORY;
	r = open_checkout(options->url, &options->common, READER_DECODE_WMO, &opened, err);
	if (r < 0)
		return r;
	if (checkout_find(opened.checkout, path, &node) != 0)
		return CLI_FOUND_SOMETHING;
	if (!node.is_array)
		return error_set(err, ERR_ARGUMENT, "'%s' is a group, not an array", path);
	prefix = calloc(node.n_dims + 1, sizeof(*prefix));
	if (!prefix)
		return error_memory(err);
	r = read_prefix(options->index, node.n_dims, prefix, &n_prefix, err);
	return r < 0 ? r : refs_print(cli, opened.checkout, &node, prefix, n_prefix, err);
}

/* Finds what @text names: 0 with the node, CLI_FOUND_SOMETHING if there is none, or an error. */
static int find_key(const struct checkout *checkout, const char *text, struct zarr_key *ret_key,
		    struct node *ret_node, struct error *err)
{
	int r = zarr_key_split(text, ret_key, err);

	if (r < 0)
		return r;
	if (checkout_find(checkout, ret_key->path, ret_node) != 0)
		return CLI_FOUND_SOMETHING;
	if (ret_key->is_document)
		return 0;
	return ret_node->is_array && ret_node->n_dims == ret_key->n_dims ? 0 : CLI_FOUND_SOMETHING;
}

/* Bytes of the file that the mount would show. */
static int shown_size(const struct opened *opened, const char *key, uint64_t *ret_size,
		      struct error *err)
{
	CLEANUP(view_freep) struct view *view = NULL;
	struct view_file file;
	struct view_attr attr;
	int r;

	r = view_new(opened->reader, opened->checkout, VIEW_DECODED, &view, err);
	if (r == 0)
		r = view_walk(view, key, &file, &attr, err);
	if (r == 0)
		*ret_size = attr.size;
	return r;
}

static int stat_chunk(const struct opened *opened, const struct node *node,
		      const struct zarr_key *key, const char *name, struct buf *out,
		      struct error *err)
{
	CLEANUP(freep) struct chunk *chunk = calloc(1, sizeof(*chunk));
	char manifest[ID12_TEXT_LEN + 1];
	uint64_t size;
	int r;

	if (!chunk)
		return error_memory(err);
	r = checkout_locate(opened->checkout, node, key->index, chunk, err);
	if (r != 0)
		return r == REPO_ABSENT ? CLI_FOUND_SOMETHING : r;
	/* Keys that the mount spells otherwise show the stored size. */
	size = chunk->ref.length;
	r = shown_size(opened, name, &size, err);
	id12_format(&chunk->manifest, manifest);
	if (r >= 0)
		r = ref_json(&chunk->ref, key->index, key->n_dims, true, out, err);
	if (r == 0)
		r = buf_printf(out, err, ",\"manifest\":\"%s\",\"size\":%" PRIu64 "}\n", manifest,
			       size);
	chunk_done(chunk);
	return r;
}

static int stat_document(const struct opened *opened, const struct node *node, const char *name,
			 struct buf *out, struct error *err)
{
	uint64_t size = node->document.size;
	int r = shown_size(opened, name, &size, err);

	if (r < 0)
		return r;
	return buf_printf(out, err, "{\"kind\":\"metadata\",\"length\":%zu,\"size\":%" PRIu64 "}\n",
			  node->document.size, size);
}

int cmd_repo_stat(struct cli *cli, const void *argument, struct error *err)
{
	const struct show_options *options = argument;
	CLEANUP(opened_done) struct opened opened = {0};
	CLEANUP(zarr_key_done) struct zarr_key key = {0};
	CLEANUP(buf_done) struct buf out = BUF_INIT(LINE_MAX_BYTES);
	const char *name = options->name + strspn(options->name, "/");
	struct node node;
	int r;

	r = open_checkout(options->url, &options->common, READER_DECODE_WMO, &opened, err);
	if (r == 0)
		r = find_key(opened.checkout, name, &key, &node, err);
	if (r != 0)
		return r;
	if (key.is_document)
		r = stat_document(&opened, &node, name, &out, err);
	else
		r = stat_chunk(&opened, &node, &key, name, &out, err);
	if (r == 0)
		output_drain(cli->out, &out);
	return r;
}

/* cat */

static int cat_chunk(struct cli *cli, const struct opened *opened, const struct node *node,
		     const struct zarr_key *key, enum chunk_form form, struct error *err)
{
	CLEANUP(array_freep) struct array *array = NULL;
	CLEANUP(content_freep) struct content *content = NULL;
	uint32_t chunks;
	uint64_t length;
	int r;

	for (uint32_t i = 0; i < node->n_dims; i++) {
		checkout_dim(opened->checkout, node, i, &length, &chunks);
		if (key->index[i] >= chunks)
			return CLI_FOUND_SOMETHING;
	}
	r = array_new(opened->reader, node, &array, err);
	if (r == 0)
		r = reader_load(opened->reader, opened->checkout, array, key->index, form, 0,
				&content, err);
	if (r != 0)
		return r == REPO_ABSENT ? CLI_FOUND_SOMETHING : r;
	output_bytes(cli->out, content->bytes);
	return 0;
}

int cmd_repo_cat(struct cli *cli, const void *argument, struct error *err)
{
	const struct show_options *options = argument;
	CLEANUP(opened_done) struct opened opened = {0};
	CLEANUP(zarr_key_done) struct zarr_key key = {0};
	struct node node;
	int r;

	r = open_checkout(options->url, &options->common,
			  options->decode ? READER_DECODE_GRIBBERISH : READER_DECODE_WMO, &opened,
			  err);
	if (r == 0)
		r = find_key(opened.checkout, options->name, &key, &node, err);
	if (r != 0)
		return r;
	if (!key.is_document)
		return cat_chunk(cli, &opened, &node, &key,
				 options->decoded ? CHUNK_DECODED : CHUNK_STORED, err);
	output_bytes(cli->out, node.document);
	return 0;
}
