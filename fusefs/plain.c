/* SPDX-License-Identifier: Apache-2.0 */
#include "fusefs/plain.h"

#include <stdio.h>
#include <stdlib.h>
#include <uthash.h>

#include "base/json.h"
#include "base/text.h"
#include "base/time.h"
#include "base/vec.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "fusefs/options.h"
#include "repo/source.h"

struct plain {
	struct view_options view;
	const char *url, *path;
	bool json;
	bool recursive, lengthy;
};

/* The file that the arguments name; CLI_FOUND_SOMETHING if there is none. */
static int plain_walk(struct cli *cli, const struct plain *plain, struct viewed *viewed,
		      struct view_file *ret_file, struct view_attr *ret_attr, struct error *err)
{
	int r;

	r = viewed_init(viewed, plain->url, &plain->view, cli->memory, err);
	if (r < 0)
		return r;
	r = view_walk(viewed->view, plain->path ? plain->path : "", ret_file, ret_attr, err);
	return r == VIEW_ABSENT ? CLI_FOUND_SOMETHING : r;
}

/* ---- ls ---- */

static void ls_line(struct cli *cli, const struct plain *plain, const char *folder,
		    const char *name, const struct view_attr *attr)
{
	char time[TIME_TEXT_MAX];

	if (plain->lengthy) {
		time_format_seconds(attr->mtime, time);
		output_printf(cli->out, "%c %12llu %s ", attr->is_folder ? 'd' : '-',
			      (unsigned long long)attr->size, time);
	}
	output_style(cli->out, attr->is_folder ? STYLE_BOLD : STYLE_PLAIN);
	output_printf(cli->out, "%s%s", folder, name);
	output_style(cli->out, STYLE_PLAIN);
	output_text(cli->out, attr->is_folder ? "/\n" : "\n");
}

static int ls_folder(struct cli *cli, const struct plain *plain, struct view *view,
		     const struct view_file *folder, const char *prefix, struct error *err)
{
	CLEANUP(view_iter_freep) struct view_iter *iter = NULL;
	struct view_entry entry;
	int r;

	r = view_iter_new(view, folder, &iter, err);
	if (r < 0)
		return r;
	while ((r = view_iter_next(iter, &entry, err)) == 0 && !output_failed(cli->out)) {
		ls_line(cli, plain, prefix, entry.name, &entry.attr);
		if (plain->recursive && entry.attr.is_folder) {
			CLEANUP(freep) char *below = text_printf(err, "%s%s/", prefix, entry.name);

			if (!below)
				return ERR_MEMORY;
			r = ls_folder(cli, plain, view, &entry.file, below, err);
			if (r < 0)
				return r;
		}
	}
	return r < 0 ? r : 0;
}

static int ls_run(struct cli *cli, const void *options, struct error *err)
{
	CLEANUP(viewed_done) struct viewed viewed = {0};
	const struct plain *plain = options;
	struct view_file file;
	struct view_attr attr;
	char name[VIEW_NAME_MAX + 1];
	int r;

	r = plain_walk(cli, plain, &viewed, &file, &attr, err);
	if (r != 0)
		return r;
	if (attr.is_folder)
		return ls_folder(cli, plain, viewed.view, &file, "", err);
	view_name(viewed.view, &file, name);
	ls_line(cli, plain, "", name, &attr);
	return 0;
}

/* ---- stat ---- */

static void stat_json(struct cli *cli, const struct view_attr *attr, const struct view_chunk *chunk,
		      bool is_chunk)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT(BUF_NO_LIMIT);
	char time[TIME_TEXT_MAX];

	time_format_micros(attr->mtime, time);
	output_printf(cli->out, "{\"type\":\"%s\",\"size\":%llu,\"mtime\":\"%s\"",
		      attr->is_folder ? "folder" : "file", (unsigned long long)attr->size, time);
	if (is_chunk) {
		output_printf(cli->out,
			      ",\"kind\":\"%s\",\"offset\":%llu,\"length\":%llu,"
			      "\"snapshot\":\"%s\",\"manifest\":\"%s\",\"state\":",
			      chunk->kind ? chunk->kind : "", (unsigned long long)chunk->offset,
			      (unsigned long long)chunk->length, chunk->snapshot, chunk->manifest);
		json_write_text(&text, slice_text(chunk->state), NULL);
		if (chunk->location) {
			buf_append_text(&text, ",\"location\":", NULL);
			json_write_text(&text, slice_text(chunk->location), NULL);
		}
		output_bytes(cli->out, buf_slice(&text));
	}
	output_text(cli->out, "}\n");
}

static void stat_text(struct cli *cli, const struct view_attr *attr, const struct view_chunk *chunk,
		      bool is_chunk)
{
	char time[TIME_TEXT_MAX];

	time_format_micros(attr->mtime, time);
	output_printf(cli->out, "type      %s\nsize      %llu\nmtime     %s\n",
		      attr->is_folder ? "folder" : "file", (unsigned long long)attr->size, time);
	if (!is_chunk)
		return;
	if (chunk->kind)
		output_printf(cli->out, "kind      %s\n", chunk->kind);
	if (chunk->location)
		output_printf(cli->out, "location  %s\noffset    %llu\n", chunk->location,
			      (unsigned long long)chunk->offset);
	if (chunk->kind)
		output_printf(cli->out, "length    %llu\nmanifest  %s\n",
			      (unsigned long long)chunk->length, chunk->manifest);
	output_printf(cli->out, "snapshot  %s\nstate     %s\n", chunk->snapshot, chunk->state);
}

static int stat_run(struct cli *cli, const void *options, struct error *err)
{
	CLEANUP(viewed_done) struct viewed viewed = {0};
	const struct plain *plain = options;
	struct view_chunk chunk = {0};
	struct view_file file;
	struct view_attr attr;
	int r;

	r = plain_walk(cli, plain, &viewed, &file, &attr, err);
	if (r != 0)
		return r;
	r = view_describe(viewed.view, &file, &chunk, err);
	if (r < 0)
		return r;
	(plain->json ? stat_json : stat_text)(cli, &attr, &chunk, r == 0);
	view_chunk_done(&chunk);
	return 0;
}

/* ---- cat ---- */

static int cat_run(struct cli *cli, const void *options, struct error *err)
{
	CLEANUP(viewed_done) struct viewed viewed = {0};
	CLEANUP(content_freep) struct content *content = NULL;
	const struct plain *plain = options;
	struct view_file file;
	struct view_attr attr;
	int r;

	r = plain_walk(cli, plain, &viewed, &file, &attr, err);
	if (r != 0)
		return r;
	if (attr.is_folder)
		return error_set(err, ERR_ARGUMENT, "'%s' is a folder",
				 plain->path ? plain->path : "/");
	r = view_load(viewed.view, &file, 0, &content, err);
	if (r < 0)
		return error_prefix(err, "cannot read '%s'", plain->path);
	output_bytes(cli->out, content->bytes);
	return 0;
}

/* ---- verify ---- */

/* One object that references point at, asked for once. */
struct source_seen {
	uint64_t end; /* furthest byte that a reference needs */
	uint64_t n_refs;
	UT_hash_handle hh;
	char location[];
};

struct verify {
	struct cli *cli;
	struct viewed *viewed;
	struct sources *sources;
	struct source_seen *seen;
	struct progress *progress;
	uint64_t n_chunks, n_bad;
};

static void verify_says(struct verify *verify, const char *what, const char *text)
{
	verify->n_bad++;
	output_printf(verify->cli->out, "%s: %s\n", what, text);
}

static int verify_remember(struct verify *verify, const struct view_chunk *chunk, struct error *err)
{
	size_t n = strlen(chunk->location);
	struct source_seen *seen;
	uint64_t end;

	if (__builtin_add_overflow(chunk->offset, chunk->length, &end))
		end = UINT64_MAX;
	HASH_FIND(hh, verify->seen, chunk->location, n, seen);
	if (!seen) {
		seen = calloc(1, sizeof(*seen) + n + 1);
		if (!seen)
			return error_memory(err);
		memcpy(seen->location, chunk->location, n);
		HASH_ADD(hh, verify->seen, location, n, seen);
	}
	seen->n_refs++;
	if (end > seen->end)
		seen->end = end;
	return 0;
}

static int verify_chunk(struct verify *verify, const char *path, const struct view_file *file,
			struct error *err)
{
	struct view_chunk chunk;
	int r;

	r = view_describe(verify->viewed->view, file, &chunk, err);
	if (r != 0)
		return r < 0 ? r : 0;
	verify->n_chunks++;
	if (strcmp(chunk.state, "present") != 0)
		verify_says(verify, path, chunk.state);
	if (chunk.location && strcmp(chunk.kind, "virtual") == 0)
		r = verify_remember(verify, &chunk, err);
	view_chunk_done(&chunk);
	return r;
}

static int verify_folder(struct verify *verify, const char *path, const struct view_file *folder,
			 struct error *err)
{
	CLEANUP(view_iter_freep) struct view_iter *iter = NULL;
	struct view_entry entry;
	int r;

	r = view_iter_new(verify->viewed->view, folder, &iter, err);
	while (r == 0) {
		CLEANUP(freep) char *below = NULL;

		r = view_iter_next(iter, &entry, err);
		if (r != 0)
			break;
		below = text_printf(err, "%s/%s", path, entry.name);
		if (!below)
			return ERR_MEMORY;
		if (entry.attr.is_folder)
			r = verify_folder(verify, below, &entry.file, err);
		else if (entry.file.kind == VIEW_CHUNK)
			r = verify_chunk(verify, below, &entry.file, err);
	}
	/* A folder that cannot be listed is a finding; the others are looked at all the same. */
	if (r < 0 && r != ERR_MEMORY) {
		verify_says(verify, path[0] ? path : "/", err->text);
		return 0;
	}
	return r == VIEW_END ? 0 : r;
}

/* Is the object there and long enough for what points at it? */
static void verify_source(struct verify *verify, const struct source_seen *seen)
{
	struct error err = ERROR_INIT;
	struct source source = {0};
	struct store_info info;
	char text[160];
	int r;

	r = sources_find(verify->sources, slice_text(seen->location), &source, &err);
	if (r == 0)
		r = store_head(source.store, source.key, &info, &err);
	free(source.key);
	if (r < 0) {
		verify_says(verify, seen->location, err.text);
	} else if (r == STORE_ABSENT) {
		snprintf(text, sizeof(text), "does not exist; %llu references point at it",
			 (unsigned long long)seen->n_refs);
		verify_says(verify, seen->location, text);
	} else if (info.size < seen->end) {
		snprintf(text, sizeof(text), "%llu bytes, references reach to %llu",
			 (unsigned long long)info.size, (unsigned long long)seen->end);
		verify_says(verify, seen->location, text);
	}
}

static int verify_all(struct verify *verify, const struct plain *plain, struct error *err)
{
	struct source_seen *seen, *next;
	struct open_options open;
	struct view_file file;
	struct view_attr attr;
	int r;

	r = plain_walk(verify->cli, plain, verify->viewed, &file, &attr, err);
	if (r != 0)
		return r;
	r = view_open_options(&plain->view, verify->cli->memory, &open, err);
	if (r == 0)
		r = sources_new(verify->viewed->opened.repo, &open.reader.sources, &verify->sources,
				err);
	if (r == 0)
		r = attr.is_folder ? verify_folder(verify, "", &file, err)
				   : verify_chunk(verify, plain->path, &file, err);
	HASH_ITER(hh, verify->seen, seen, next)
	{
		if (r == 0)
			verify_source(verify, seen);
		HASH_DEL(verify->seen, seen);
		free(seen);
	}
	sources_free(verify->sources);
	return r;
}

static int verify_run(struct cli *cli, const void *options, struct error *err)
{
	CLEANUP(viewed_done) struct viewed viewed = {0};
	struct verify verify = {.cli = cli, .viewed = &viewed};
	int r;

	r = verify_all(&verify, options, err);
	if (r != 0)
		return r;
	output_printf(cli->out, "%llu chunks, %llu findings\n", (unsigned long long)verify.n_chunks,
		      (unsigned long long)verify.n_bad);
	return verify.n_bad ? CLI_FOUND_SOMETHING : 0;
}

/* ---- the table ---- */

#define PLAIN_ARGUMENTS                                                     \
	{CLI_ARGUMENT, "URL", CLI_AT(struct plain, url), .required = true}, \
	{                                                                   \
		CLI_ARGUMENT, "PATH", CLI_AT(struct plain, path)            \
	}
#define PLAIN_GROUP                                                         \
	{                                                                   \
		CLI_GROUP, .group = &view_group, CLI_AT(struct plain, view) \
	}

static const struct cli_option ls_options[] = {
	PLAIN_ARGUMENTS,
	{CLI_FLAG, "recursive", CLI_AT(struct plain, recursive), .letter = 'R',
	 .help = "list what is below as well"},
	{CLI_FLAG, "long", CLI_AT(struct plain, lengthy), .letter = 'l',
	 .help = "with type, size and time"},
	PLAIN_GROUP,
	{CLI_END},
};

static const struct cli_option stat_options[] = {
	PLAIN_ARGUMENTS,
	{CLI_FLAG, "json", CLI_AT(struct plain, json), .help = "print one JSON document"},
	PLAIN_GROUP,
	{CLI_END},
};

static const struct cli_option other_options[] = {
	PLAIN_ARGUMENTS,
	PLAIN_GROUP,
	{CLI_END},
};

const struct cli_command plain_commands[] = {
	{"ls", "list a folder of the view", .options = ls_options, .size = sizeof(struct plain),
	 .run = ls_run},
	{"stat", "show what is known of a file of the view", .options = stat_options,
	 .size = sizeof(struct plain), .run = stat_run},
	{"cat", "write a file of the view to standard output", .options = other_options,
	 .size = sizeof(struct plain), .run = cat_run},
	{"verify", "check manifests, permissions and sources of all chunks, naming dead sources",
	 .options = other_options, .size = sizeof(struct plain), .run = verify_run},
	{.name = NULL},
};
