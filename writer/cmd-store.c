/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/cmd-store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/table.h"
#include "store/drivers.h"
#include "store/explain.h"
#include "store/store.h"

struct store_command {
	struct cli_common common;
	const char *profile;
	bool requester_pays;
	const char *url;
	const char *file;
	bool json, recursive, create;
	const char *version;
	struct cli_u64 offset, length;
};

static struct store_options store_command_options(const struct store_command *command)
{
	return (struct store_options){
		.endpoint_url = command->common.endpoint_url,
		.region = command->common.region,
		.profile = command->profile,
		.anonymous = command->common.anonymous,
		.path_style = command->common.path_style,
		.requester_pays = command->requester_pays,
		.allow_private = true, /* the user named it himself */
	};
}

static bool is_web(const char *url)
{
	return text_starts(url, "http://") || text_starts(url, "https://");
}

/* Opens what holds the object at @url; the key is what follows the last slash. */
static int open_parent(const struct store_command *command, struct store **ret_store,
		       const char **ret_key, struct error *err)
{
	const char *url = command->url;
	struct store_options options = store_command_options(command);
	CLEANUP(freep) char *parent = NULL;
	size_t size = is_web(url) ? strcspn(url, "?") : strlen(url);

	while (size > 0 && url[size - 1] != '/')
		size--;
	if (!url[size])
		return error_set(err, ERR_ARGUMENT, "'%s' names no object", url);
	parent = size ? slice_dup(slice_of(url, size), err) : text_dup(".", err);
	if (!parent)
		return ERR_MEMORY;
	*ret_key = url + size;
	/* A web address is meant as it stands, its escapes and its query too. */
	if (is_web(url))
		return store_http_new(parent, true, &options, ret_store, err);
	return store_open(parent, &options, ret_store, err);
}

/* --- ls --- */

struct ls {
	struct table *table;
	struct buf *json;
	struct error *err;
};

static int ls_json(const struct store_entry *entry, struct buf *out, struct error *err)
{
	char time[TIME_TEXT_MAX];
	int r = buf_append_text(out, out->size > 1 ? ",\n {\"key\":" : "\n {\"key\":", err);

	if (r == 0)
		r = json_write_text(out, slice_text(entry->key), err);
	if (r == 0 && entry->is_prefix)
		return buf_append_text(out, ",\"prefix\":true}", err);
	if (r == 0 && entry->info.size != UINT64_MAX)
		r = buf_printf(out, err, ",\"size\":%" PRIu64, entry->info.size);
	if (r == 0 && entry->info.last_modified) {
		time_format_micros(entry->info.last_modified, time);
		r = buf_printf(out, err, ",\"last_modified\":\"%s\"", time);
	}
	if (r == 0)
		r = buf_append_text(out, ",\"version\":", err);
	if (r == 0)
		r = json_write_text(out, slice_text(entry->info.version.text), err);
	return r < 0 ? r : buf_append_byte(out, '}', err);
}

static int ls_entry(void *argument, const struct store_entry *entry, struct error *err)
{
	struct ls *ls = argument;
	char time[TIME_TEXT_MAX] = "";

	if (ls->json)
		return ls_json(entry, ls->json, err);
	if (entry->info.last_modified)
		time_format_seconds(entry->info.last_modified, time);
	if (entry->is_prefix || entry->info.size == UINT64_MAX)
		table_cell(ls->table, "%s", "");
	else
		table_cell(ls->table, "%" PRIu64, entry->info.size);
	table_cell(ls->table, "%s", time);
	table_cell(ls->table, "%s", entry->key);
	return 0;
}

static int run_ls(struct cli *cli, const void *options, struct error *err)
{
	const struct store_command *command = options;
	struct store_options store_options = store_command_options(command);
	CLEANUP(table_done) struct table table = TABLE_INIT("rll");
	CLEANUP(buf_done) struct buf json = BUF_INIT(BUF_NO_LIMIT);
	CLEANUP(store_freep) struct store *store = NULL;
	struct ls ls = {.table = &table, .json = command->json ? &json : NULL};
	int r;

	r = store_open(command->url, &store_options, &store, err);
	if (r == 0 && !store_local_is_there(store)) {
		log_event(LOG_ERROR, "absent", "there is no folder '%s'", store->url);
		return CLI_FOUND_SOMETHING;
	}
	if (r == 0)
		r = buf_append_byte(&json, '[', err);
	if (r == 0)
		r = store_list(store, "", !command->recursive, ls_entry, &ls, err);
	if (r < 0)
		return r;
	if (!command->json)
		return table_print(&table, cli->out, err);
	r = buf_append_text(&json, json.size > 1 ? "\n]\n" : "]\n", err);
	output_drain(cli->out, &json);
	return r;
}

/* --- cat and stat --- */

static int run_cat(struct cli *cli, const void *options, struct error *err)
{
	const struct store_command *command = options;
	CLEANUP(buf_done) struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
	CLEANUP(store_freep) struct store *store = NULL;
	const char *key;
	int r = open_parent(command, &store, &key, err);

	if (r == 0)
		r = store_get(store, key, command->offset.value,
			      command->length.given ? command->length.value : STORE_TO_END, NULL,
			      &bytes, NULL, err);
	if (r == STORE_ABSENT)
		return CLI_FOUND_SOMETHING;
	if (r == 0)
		output_drain(cli->out, &bytes);
	return r;
}

static int run_stat(struct cli *cli, const void *options, struct error *err)
{
	const struct store_command *command = options;
	CLEANUP(buf_done) struct buf json = BUF_INIT(1 << 20);
	CLEANUP(store_freep) struct store *store = NULL;
	char time[TIME_TEXT_MAX] = "unknown";
	struct store_entry entry = {0};
	const char *key;
	int r = open_parent(command, &store, &key, err);

	if (r == 0)
		r = store_head(store, key, &entry.info, err);
	if (r == STORE_ABSENT)
		return CLI_FOUND_SOMETHING;
	if (r < 0)
		return r;
	entry.key = key;
	if (command->json) {
		r = ls_json(&entry, &json, err);
		/* Without the blanks that set off an entry of a list. */
		if (r == 0)
			output_printf(cli->out, "%.*s\n", (int)json.size - 2,
				      (const char *)json.data + 2);
		return r;
	}
	if (entry.info.last_modified)
		time_format_micros(entry.info.last_modified, time);
	output_printf(cli->out, "size: %" PRIu64 "\nlast modified: %s\nversion: %s\n",
		      entry.info.size, time, entry.info.version.text);
	return 0;
}

/* --- put --- */

static int read_whole(const char *path, struct buf *out, struct error *err)
{
	bool standard = !path || strcmp(path, "-") == 0;
	CLEANUP(closep) int fd = standard ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
	char bytes[65536];

	if (fd < 0)
		return error_set_errno(err, errno, "cannot open '%s'", path ? path : "-");
	for (;;) {
		ssize_t n = read(fd, bytes, sizeof(bytes));
		int r;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_set_errno(err, errno, "cannot read '%s'", path ? path : "-");
		if (n == 0)
			return 0;
		r = buf_append(out, bytes, (size_t)n, err);
		if (r < 0)
			return r;
	}
}

static int run_put(struct cli *cli, const void *options, struct error *err)
{
	const struct store_command *command = options;
	CLEANUP(buf_done) struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
	CLEANUP(store_freep) struct store *store = NULL;
	struct version version = {0}, written = {0};
	bool conditional = command->create || command->version;
	const char *key;
	int r;

	if (command->create && command->version)
		return error_set(err, ERR_ARGUMENT, "--create and --version exclude each other");
	if (command->version && strlen(command->version) >= sizeof(version.text))
		return error_set(err, ERR_ARGUMENT, "the version is too long");
	if (command->version)
		snprintf(version.text, sizeof(version.text), "%s", command->version);
	r = read_whole(command->file, &bytes, err);
	if (r == 0)
		r = open_parent(command, &store, &key, err);
	if (r == 0 && conditional)
		r = store_replace(store, key, command->version ? &version : NULL, buf_slice(&bytes),
				  &written, err);
	else if (r == 0)
		r = store_put(store, key, buf_slice(&bytes), err);
	if (r == STORE_CHANGED)
		return error_set(err, ERR_CONFLICT, "'%s' was not written: %s", command->url,
				 command->create ? "it is there already" : "it has changed");
	if (r == 0 && conditional)
		output_printf(cli->out, "%s\n", written.text);
	return r;
}

/* --- explain --- */

static int run_explain(struct cli *cli, const void *options, struct error *err)
{
	const struct store_command *command = options;
	struct store_options store_options = store_command_options(command);
	CLEANUP(buf_done) struct buf text = BUF_INIT(1 << 20);
	CLEANUP(store_freep) struct store *store = NULL;
	int r = store_open(command->url, &store_options, &store, err);

	if (r == 0)
		r = store_explain(store, &text, err);
	if (r == 0)
		output_drain(cli->out, &text);
	return r;
}

#define STORE_COMMON                                                                          \
	{CLI_TEXT, "profile", CLI_AT(struct store_command, profile), .value = "NAME",         \
	 .help = "profile of the shared AWS files"},                                          \
		{CLI_FLAG, "requester-pays", CLI_AT(struct store_command, requester_pays),    \
		 .help = "pay for the requests yourself"},                                    \
		{CLI_GROUP, .group = &cli_store_group, CLI_AT(struct store_command, common)}, \
	{                                                                                     \
		CLI_GROUP, .group = &cli_message_group, CLI_AT(struct store_command, common)  \
	}

#define STORE_URL                                                                        \
	{                                                                                \
		CLI_ARGUMENT, "URL", CLI_AT(struct store_command, url), .required = true \
	}

static const struct cli_option ls_options[] = {
	STORE_URL,
	{CLI_FLAG, "json", CLI_AT(struct store_command, json), .help = "print one JSON document"},
	{CLI_FLAG, "recursive", CLI_AT(struct store_command, recursive), .letter = 'r',
	 .help = "all objects below, not one level"},
	STORE_COMMON,
	{CLI_END},
};

static const struct cli_option cat_options[] = {
	STORE_URL,
	{CLI_U64, "offset", CLI_AT(struct store_command, offset), .value = "BYTES",
	 .help = "begin there"},
	{CLI_U64, "length", CLI_AT(struct store_command, length), .value = "BYTES",
	 .help = "so many and not to the end; fewer are an error"},
	STORE_COMMON,
	{CLI_END},
};

static const struct cli_option stat_options[] = {
	STORE_URL,
	{CLI_FLAG, "json", CLI_AT(struct store_command, json), .help = "print one JSON document"},
	STORE_COMMON,
	{CLI_END},
};

static const struct cli_option put_options[] = {
	STORE_URL,
	{CLI_ARGUMENT, "FILE", CLI_AT(struct store_command, file)},
	{CLI_FLAG, "create", CLI_AT(struct store_command, create),
	 .help = "only if there is no such object"},
	{CLI_TEXT, "version", CLI_AT(struct store_command, version), .value = "VERSION",
	 .help = "only while the object's version is this"},
	STORE_COMMON,
	{CLI_END},
};

static const struct cli_option explain_options[] = {
	STORE_URL,
	STORE_COMMON,
	{CLI_END},
};

static const struct cli_command commands[] = {
	{"ls", "list the objects below a URL", NULL, ls_options, sizeof(struct store_command),
	 run_ls, NULL},
	{"cat", "write an object, or a range of it, to standard output", NULL, cat_options,
	 sizeof(struct store_command), run_cat, NULL},
	{"put", "write a file or standard input as an object", NULL, put_options,
	 sizeof(struct store_command), run_put, NULL},
	{"stat", "size, time and version of an object", NULL, stat_options,
	 sizeof(struct store_command), run_stat, NULL},
	{"explain", "say which credentials, region, endpoint and address are used, and why", NULL,
	 explain_options, sizeof(struct store_command), run_explain, NULL},
	{0},
};

const struct cli_command cmd_store = {
	.name = "store",
	.help = "the object store alone",
	.commands = commands,
};
