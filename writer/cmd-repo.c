/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/cmd-repo.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/text.h"
#include "programs/options.h"
#include "zarr/grid.h"

#define PIECE ((size_t)1 << 20)
#define CONFIG_MAX (UINT64_C(16) << 20)

int open_store(const char *url, const struct cli_common *common, struct store **ret_store,
	       struct error *err)
{
	CLEANUP(arena_done) struct arena arena = ARENA_INIT;
	struct open_options options;
	int r = common_open_options(common, &arena, &options, err);

	return r < 0 ? r : store_open(url, &options.store, ret_store, err);
}

int open_repo(const char *url, const struct cli_common *common, struct opened *ret_opened,
	      struct error *err)
{
	int r = open_store(url, common, &ret_opened->store, err);

	return r < 0 ? r : repo_open(ret_opened->store, NULL, &ret_opened->repo, err);
}

int open_checkout(const char *url, const struct cli_common *common, enum reader_decode decode,
		  struct opened *ret_opened, struct error *err)
{
	CLEANUP(arena_done) struct arena arena = ARENA_INIT;
	struct open_options options;
	int r = common_open_options(common, &arena, &options, err);

	if (r < 0)
		return r;
	options.reader.decode = decode;
	return opened_init(ret_opened, url, &options, err);
}

void zarr_key_done(struct zarr_key *key)
{
	free(key->path);
	free(key->index);
	*key = (struct zarr_key){0};
}

static int key_set_path(struct zarr_key *key, struct slice path, struct error *err)
{
	key->path = text_printf(err, "/%.*s", (int)path.size, (const char *)path.data);
	return key->path ? 0 : ERR_MEMORY;
}

/* Reads "0/1" behind the component "c"; false if it is no list of coordinates. */
static int key_read_index(struct zarr_key *key, struct slice text, struct error *err)
{
	key->index = calloc(text.size + 1, sizeof(*key->index));
	if (!key->index)
		return error_memory(err);
	while (text.size) {
		const uint8_t *slash = memchr(text.data, '/', text.size);
		size_t size = slash ? (size_t)(slash - text.data) : text.size;

		if (zarr_coordinate_parse(slice_sub(text, 0, size), &key->index[key->n_dims]) != 0)
			return ZARR_NO_KEY;
		key->n_dims++;
		text = slice_sub(text, size + 1, SIZE_MAX);
	}
	return 0;
}

static int no_key(const char *text, struct error *err)
{
	return error_set(err, ERR_ARGUMENT, "'%s' is neither a zarr.json nor a chunk key", text);
}

/* The last component "c" separates the array from the index. */
static int key_split_chunk(struct slice text, struct zarr_key *key, struct error *err)
{
	size_t i = text.size;
	int r;

	while (i-- > 0) {
		bool starts = i == 0 || text.data[i - 1] == '/';
		bool ends = i + 1 == text.size || text.data[i + 1] == '/';

		if (text.data[i] == 'c' && starts && ends)
			break;
	}
	if (i == SIZE_MAX || text.data[text.size - 1] == '/')
		return ZARR_NO_KEY;
	r = key_read_index(key, slice_sub(text, i + 2, SIZE_MAX), err);
	if (r != 0)
		return r;
	return key_set_path(key, slice_sub(text, 0, i ? i - 1 : 0), err);
}

int zarr_key_split(const char *text, struct zarr_key *ret_key, struct error *err)
{
	CLEANUP(zarr_key_done) struct zarr_key key = {0};
	struct slice rest = slice_text(text[0] == '/' ? text + 1 : text);
	int r;

	if (slice_is(rest, "zarr.json") || text_ends(text, "/zarr.json")) {
		size_t size = rest.size - strlen("zarr.json");

		key.is_document = true;
		r = key_set_path(&key, slice_sub(rest, 0, size ? size - 1 : 0), err);
	} else {
		r = rest.size ? key_split_chunk(rest, &key, err) : ZARR_NO_KEY;
	}
	if (r != 0)
		return r < 0 ? r : no_key(text, err);
	*ret_key = key;
	key = (struct zarr_key){0};
	return 0;
}

static int read_stream(FILE *file, const char *name, uint64_t max, struct buf *out,
		       struct error *err)
{
	out->max = max;
	for (;;) {
		uint8_t *bytes;
		size_t n;
		int r;

		r = buf_extend(out, PIECE, &bytes, err);
		if (r < 0)
			return error_prefix(err, "cannot read '%s'", name);
		n = fread(bytes, 1, PIECE, file);
		out->size -= PIECE - n;
		if (n == 0)
			return ferror(file) ? error_set_errno(err, errno, "cannot read '%s'", name)
					    : 0;
	}
}

int read_input(const char *name, uint64_t max, struct buf *out, struct error *err)
{
	FILE *file;
	int r;

	if (!name || strcmp(name, "-") == 0)
		return read_stream(stdin, "standard input", max, out, err);
	file = fopen(name, "rbe");
	if (!file)
		return error_set_errno(err, errno, "cannot open '%s'", name);
	r = read_stream(file, name, max, out, err);
	fclose(file);
	return r;
}

/* init */

struct init_options {
	struct cli_common common;
	const char *url, *config;
	struct cli_u64 spec;
};

static int cmd_repo_init(struct cli *cli, const void *argument, struct error *err)
{
	const struct init_options *options = argument;
	CLEANUP(buf_done) struct buf config = BUF_INIT(CONFIG_MAX);
	CLEANUP(store_freep) struct store *store = NULL;
	int r = 0;

	(void)cli;
	if (options->config)
		r = read_input(options->config, CONFIG_MAX, &config, err);
	if (r == 0)
		r = open_store(options->url, &options->common, &store, err);
	if (r < 0)
		return r;
	r = repo_create(store, options->spec.given ? (int)options->spec.value : 2,
			buf_slice(&config), err);
	return options->config && (r == ERR_FORMAT || r == ERR_ARGUMENT)
		       ? error_prefix(err, "'%s'", options->config)
		       : r;
}

static const struct cli_option init_options[] = {
	{CLI_ARGUMENT, "URL", CLI_AT(struct init_options, url), .required = true,
	 .help = "where it is to be; an empty folder or prefix"},
	{CLI_U64, "spec", CLI_AT(struct init_options, spec), .value = "1|2",
	 .help = "version of the format (default 2)"},
	{CLI_TEXT, "config", CLI_AT(struct init_options, config), .value = "FILE",
	 .help = "configuration to store, as JSON"},
	{CLI_GROUP, .group = &cli_store_group, CLI_AT(struct init_options, common)},
	{CLI_GROUP, .group = &cli_message_group, CLI_AT(struct init_options, common)},
	{CLI_END},
};

/* Options of the commands that show something. */

#define SHOW_COMMON                                                                           \
	{CLI_FLAG, "json", CLI_AT(struct show_options, json), .help = "print JSON"},          \
		{CLI_GROUP, .group = &cli_common_group, CLI_AT(struct show_options, common)}, \
		{CLI_END},

#define SHOW_URL                                                                                \
	{                                                                                       \
		CLI_ARGUMENT, "URL", CLI_AT(struct show_options, url), .required = true,        \
								       .help = "the repository" \
	}

/* All of the repository: no snapshot is chosen. */
static const struct cli_option info_options[] = {
	SHOW_URL,
	{CLI_FLAG, "json", CLI_AT(struct show_options, json), .help = "print JSON"},
	{CLI_GROUP, .group = &cli_store_group, CLI_AT(struct show_options, common)},
	{CLI_GROUP, .group = &cli_message_group, CLI_AT(struct show_options, common)},
	{CLI_END},
};

static const struct cli_option log_options[] = {SHOW_URL, SHOW_COMMON};

static const struct cli_option ls_options[] = {
	SHOW_URL,
	{CLI_ARGUMENT, "PATH", CLI_AT(struct show_options, name), .help = "default: /"},
	SHOW_COMMON};

static const struct cli_option stat_options[] = {
	SHOW_URL,
	{CLI_ARGUMENT, "KEY", CLI_AT(struct show_options, name), .required = true,
	 .help = "a zarr.json or a chunk, such as temp/c/0/1"},
	SHOW_COMMON};

static const struct cli_option refs_options[] = {
	SHOW_URL,
	{CLI_ARGUMENT, "ARRAY", CLI_AT(struct show_options, name), .required = true,
	 .help = "path of an array"},
	{CLI_TEXT, "index", CLI_AT(struct show_options, index), .value = "I,J,...",
	 .help = "only references whose index begins so"},
	{CLI_FLAG, "jsonl", CLI_AT(struct show_options, json),
	 .help = "print one JSON object a line"},
	{CLI_GROUP, .group = &cli_common_group, CLI_AT(struct show_options, common)},
	{CLI_END},
};

static const struct cli_option cat_options[] = {
	SHOW_URL,
	{CLI_ARGUMENT, "KEY", CLI_AT(struct show_options, name), .required = true,
	 .help = "a zarr.json or a chunk, such as temp/c/0/1"},
	{CLI_FLAG, "decoded", CLI_AT(struct show_options, decoded),
	 .help = "undo the codecs of a chunk"},
	{CLI_CHOICE, "decode", CLI_AT(struct show_options, decode), .choices = decode_choices,
	 .help = "which meaning GRIB messages have (default wmo)"},
	SHOW_COMMON};

static const char *const rebase_choices[] = {"detect", "ours", "theirs", "no", NULL};

static const struct cli_option apply_options[] = {
	{CLI_ARGUMENT, "URL", CLI_AT(struct apply_options, url), .required = true,
	 .help = "the repository"},
	{CLI_ARGUMENT, "FILE", CLI_AT(struct apply_options, file),
	 .help = "operations, one JSON object a line (default: standard input)"},
	{CLI_TEXT, "message", CLI_AT(struct apply_options, message), .letter = 'm', .value = "TEXT",
	 .required = true, .help = "message of the commit"},
	{CLI_TEXT, "branch", CLI_AT(struct apply_options, branch), .value = "NAME",
	 .help = "branch to commit to (default main)"},
	{CLI_TEXT, "base", CLI_AT(struct apply_options, base), .value = "ID",
	 .help = "snapshot that the operations start from (default: the branch's tip)"},
	{CLI_CHOICE, "rebase", CLI_AT(struct apply_options, rebase), .choices = rebase_choices,
	 .help = "what to do when the branch has moved on"},
	{CLI_GROUP, .group = &cli_store_group, CLI_AT(struct apply_options, common)},
	{CLI_GROUP, .group = &cli_message_group, CLI_AT(struct apply_options, common)},
	{CLI_END},
};

/* branch, tag, config */

#define REF_END                                                                               \
	{CLI_GROUP, .group = &cli_store_group, CLI_AT(struct ref_options, common)},           \
		{CLI_GROUP, .group = &cli_message_group, CLI_AT(struct ref_options, common)}, \
		{CLI_END},

#define REF_URL                                                                                \
	{                                                                                      \
		CLI_ARGUMENT, "URL", CLI_AT(struct ref_options, url), .required = true,        \
								      .help = "the repository" \
	}

#define REF_NAME                                                                           \
	{                                                                                  \
		CLI_ARGUMENT, "NAME", CLI_AT(struct ref_options, name), .required = true,  \
									.help = "its name" \
	}

#define REF_AT                                                                                    \
	{                                                                                         \
		CLI_TEXT, "at", CLI_AT(struct ref_options, at), .value = "ID", .help = "snapshot" \
	}

static const struct cli_option list_options[] = {
	REF_URL,
	{CLI_FLAG, "json", CLI_AT(struct ref_options, json), .help = "print JSON"},
	REF_END};

static const struct cli_option create_options[] = {REF_URL, REF_NAME, REF_AT, REF_END};
static const struct cli_option delete_options[] = {REF_URL, REF_NAME, REF_END};

static const struct cli_option reset_options[] = {
	REF_URL,
	REF_NAME,
	REF_AT,
	{CLI_TEXT, "if-at", CLI_AT(struct ref_options, if_at), .value = "ID",
	 .help = "only if the branch is at this snapshot"},
	REF_END};

static const struct cli_option config_get_options[] = {REF_URL, REF_END};

static const struct cli_option config_set_options[] = {
	REF_URL,
	{CLI_ARGUMENT, "FILE", CLI_AT(struct ref_options, name),
	 .help = "the new configuration as JSON (default: standard input)"},
	REF_END};

#define REF(command_name, function, table, text)                      \
	{                                                             \
		.name = command_name, .help = text, .options = table, \
		.size = sizeof(struct ref_options), .run = function   \
	}

static const struct cli_command branch_commands[] = {
	REF("list", cmd_branch_list, list_options, "names and snapshots"),
	REF("create", cmd_branch_create, create_options, "make a branch (at main's tip, or --at)"),
	REF("delete", cmd_branch_delete, delete_options, "delete a branch; its snapshots stay"),
	REF("reset", cmd_branch_reset, reset_options, "point a branch at another snapshot"),
	{0},
};

static const struct cli_command tag_commands[] = {
	REF("list", cmd_tag_list, list_options, "names and snapshots"),
	REF("create", cmd_tag_create, create_options, "make a tag (at main's tip, or --at)"),
	REF("delete", cmd_tag_delete, delete_options,
	    "delete a tag; its name cannot be used again"),
	{0},
};

static const struct cli_command config_commands[] = {
	REF("get", cmd_config_get, config_get_options, "print the stored configuration"),
	REF("set", cmd_config_set, config_set_options, "replace the stored configuration"),
	{0},
};

/* verify, diff, gc, expire */

#define MAINTAIN_URL                                                       \
	{                                                                  \
		CLI_ARGUMENT, "URL", CLI_AT(struct maintain_options, url), \
			.required = true, .help = "the repository"         \
	}

#define MAINTAIN_STORE                                                                             \
	{CLI_GROUP, .group = &cli_store_group, CLI_AT(struct maintain_options, common)},           \
		{CLI_GROUP, .group = &cli_message_group, CLI_AT(struct maintain_options, common)}, \
		{CLI_END},

#define MAINTAIN_AGE                                                                             \
	{CLI_TIME,	  "older-than",	    CLI_AT(struct maintain_options, older_than),         \
	 .value = "TIME", .required = true, .help = "only what is older than this time or age"}, \
	{                                                                                        \
		CLI_FLAG, "dry-run", CLI_AT(struct maintain_options, dry_run),                   \
			.help = "say what would go, and why the rest stays"                      \
	}

static const struct cli_option verify_options[] = {
	MAINTAIN_URL,
	{CLI_FLAG, "deep", CLI_AT(struct maintain_options, deep),
	 .help = "also ask for every object that virtual references name"},
	{CLI_FLAG, "json", CLI_AT(struct maintain_options, json), .help = "print JSON"},
	{CLI_GROUP, .group = &cli_virtual_group, CLI_AT(struct maintain_options, common)},
	MAINTAIN_STORE};

static const struct cli_option diff_options[] = {
	MAINTAIN_URL,
	{CLI_ARGUMENT, "FROM", CLI_AT(struct maintain_options, from), .required = true,
	 .help = "the older snapshot: a branch, tag or id"},
	{CLI_ARGUMENT, "TO", CLI_AT(struct maintain_options, to), .required = true,
	 .help = "the younger one"},
	{CLI_FLAG, "json", CLI_AT(struct maintain_options, json), .help = "print JSON"},
	MAINTAIN_STORE};

static const struct cli_option gc_options[] = {MAINTAIN_URL, MAINTAIN_AGE, MAINTAIN_STORE};

static const struct cli_option expire_options[] = {
	MAINTAIN_URL,
	MAINTAIN_AGE,
	{CLI_FLAG, "delete-expired-tags", CLI_AT(struct maintain_options, delete_tags),
	 .help = "also tags whose snapshot is that old"},
	{CLI_FLAG, "delete-expired-branches", CLI_AT(struct maintain_options, delete_branches),
	 .help = "also branches whose tip is that old, but not main"},
	MAINTAIN_STORE};

#define MAINTAIN(command_name, function, table, text)                    \
	{                                                                \
		.name = command_name, .help = text, .options = table,    \
		.size = sizeof(struct maintain_options), .run = function \
	}

#define SHOW(command_name, function, table, text)                     \
	{                                                             \
		.name = command_name, .help = text, .options = table, \
		.size = sizeof(struct show_options), .run = function  \
	}

static const struct cli_command repo_commands[] = {
	{.name = "init",
	 .help = "create a repository",
	 .options = init_options,
	 .size = sizeof(struct init_options),
	 .run = cmd_repo_init},
	SHOW("info", cmd_repo_info, info_options, "branches, tags, status, configuration"),
	SHOW("log", cmd_repo_log, log_options, "history, newest first"),
	SHOW("ls", cmd_repo_ls, ls_options, "groups and arrays"),
	SHOW("stat", cmd_repo_stat, stat_options, "what one key is"),
	SHOW("refs", cmd_repo_refs, refs_options, "references of an array"),
	SHOW("cat", cmd_repo_cat, cat_options, "bytes of one key"),
	{.name = "apply",
	 .help = "make one commit of a list of operations",
	 .options = apply_options,
	 .size = sizeof(struct apply_options),
	 .run = cmd_repo_apply},
	{.name = "branch",
	 .help = "list, create, delete and reset branches",
	 .commands = branch_commands},
	{.name = "tag", .help = "list, create and delete tags", .commands = tag_commands},
	{.name = "config",
	 .help = "get and set the stored configuration",
	 .commands = config_commands},
	MAINTAIN("verify", cmd_repo_verify, verify_options, "check everything that is reachable"),
	MAINTAIN("diff", cmd_repo_diff, diff_options, "what changed between two snapshots"),
	MAINTAIN("gc", cmd_repo_gc, gc_options, "delete objects that nothing refers to"),
	MAINTAIN("expire", cmd_repo_expire, expire_options, "drop old snapshots from the history"),
	{0},
};

const struct cli_command cmd_repo = {
	.name = "repo", .help = "look at a repository and change it", .commands = repo_commands};
