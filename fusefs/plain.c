/* SPDX-License-Identifier: Apache-2.0 */
#include "fusefs/plain.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/table.h"
#include "fusefs/options.h"
#include "fusefs/seen.h"
#include "repo/source.h"

#define HEAD_TIMEOUT_MS 20000

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

struct verify {
	struct cli *cli;
	struct viewed *viewed;
	struct seen *seen;
	uint64_t n_chunks, n_bad;
};

static void verify_says(void *argument, const char *what, const char *text)
{
	struct verify *verify = argument;

	verify->n_bad++;
	output_printf(verify->cli->out, "%s: %s\n", what, text);
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
		r = seen_add(verify->seen, chunk.location, chunk.offset, chunk.length, err);
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

/* Asks for every object that was seen. */
static int verify_sources(struct verify *verify, const struct plain *plain, struct error *err)
{
	CLEANUP(sources_freep) struct sources *sources = NULL;
	struct open_options open;
	int r;

	r = view_open_options(&plain->view, verify->cli->memory, &open, err);
	/* Whether an object is there is said sooner than all of it is read. */
	open.reader.sources.timeout_ms =
		plain->view.timeout.given ? open.reader.timeout_ms : HEAD_TIMEOUT_MS;
	if (r == 0)
		r = sources_new(verify->viewed->opened.repo, &open.reader.sources, &sources, err);
	return r < 0 ? r : seen_check(verify->seen, sources, verify_says, verify, err);
}

static int verify_all(struct verify *verify, const struct plain *plain, struct error *err)
{
	struct view_file file;
	struct view_attr attr;
	int r;

	r = plain_walk(verify->cli, plain, verify->viewed, &file, &attr, err);
	if (r != 0)
		return r;
	r = attr.is_folder ? verify_folder(verify, "", &file, err)
			   : verify_chunk(verify, plain->path, &file, err);
	return r < 0 ? r : verify_sources(verify, plain, err);
}

static int verify_run(struct cli *cli, const void *options, struct error *err)
{
	CLEANUP(viewed_done) struct viewed viewed = {0};
	CLEANUP(seen_freep) struct seen *seen = NULL;
	struct verify verify = {.cli = cli, .viewed = &viewed};
	int r;

	r = seen_new(&seen, err);
	verify.seen = seen;
	if (r == 0)
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
