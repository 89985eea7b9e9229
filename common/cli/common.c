/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/common.h"

#include <string.h>

#include "base/text.h"

/* Adds "@prefix=@value"; the prefix is copied, the value lends. */
static int add_pair(struct cli_pairs *pairs, struct slice prefix, const char *value,
		    struct arena *memory, struct error *err)
{
	struct cli_pair *items;
	char *copy = arena_dup(memory, prefix, err);

	if (!copy)
		return ERR_MEMORY;
	items = arena_zalloc(memory, pairs->n + 1, sizeof(*items), err);
	if (!items)
		return ERR_MEMORY;
	if (pairs->n)
		memcpy(items, pairs->items, pairs->n * sizeof(*items));
	items[pairs->n++] = (struct cli_pair){copy, value};
	pairs->items = items;
	return 0;
}

static bool is_credential(const char *text)
{
	return strcmp(text, "anonymous") == 0 || strcmp(text, "env") == 0 ||
	       (text_starts(text, "profile:") && text[strlen("profile:")]);
}

/* The prefix may hold '=' itself, so only a known word behind the last one is no part of it. */
int cli_read_allow(void *pairs, const char *text, struct arena *memory, struct error *err)
{
	const char *equals = strrchr(text, '=');
	struct slice prefix = slice_text(text);
	const char *credential = "anonymous";

	if (equals && is_credential(equals + 1)) {
		prefix = slice_of(text, (size_t)(equals - text));
		credential = equals + 1;
	}
	if (prefix.size == 0)
		return error_set(err, ERR_ARGUMENT, "'%s' has no prefix", text);
	return add_pair(pairs, prefix, credential, memory, err);
}

int cli_read_container(void *pairs, const char *text, struct arena *memory, struct error *err)
{
	const char *equals = strrchr(text, '=');

	if (!equals || equals == text || !equals[1])
		return error_set(err, ERR_ARGUMENT, "'%s' is not PREFIX=URL", text);
	return add_pair(pairs, slice_of(text, (size_t)(equals - text)), equals + 1, memory, err);
}

static int check_version(const void *target, struct error *err)
{
	const struct cli_common *common = target;
	bool as_of = common->as_of.given;
	int n = !!common->tag + !!common->snapshot + (common->branch || as_of);

	if (n > 1)
		return error_set(err, ERR_ARGUMENT,
				 "only one of --branch (or --as-of), --tag and --snapshot");
	return 0;
}

static const struct cli_option version_options[] = {
	{CLI_TEXT, "branch", CLI_AT(struct cli_common, branch), .value = "NAME",
	 .help = "the latest snapshot of this branch (default main)"},
	{CLI_TEXT, "tag", CLI_AT(struct cli_common, tag), .value = "NAME",
	 .help = "the snapshot with this tag"},
	{CLI_TEXT, "snapshot", CLI_AT(struct cli_common, snapshot), .value = "ID",
	 .help = "the snapshot with this id"},
	{CLI_TIME, "as-of", CLI_AT(struct cli_common, as_of), .value = "TIME",
	 .help = "the last snapshot of the branch at this time"},
	{CLI_END},
};

const struct cli_group cli_version_group = {"Which snapshot", version_options, check_version};

static const char *const location_choices[] = {"as-is", "percent", NULL};

static const struct cli_option virtual_options[] = {
	{CLI_CALL, "allow", CLI_AT(struct cli_common, allow), .value = "PREFIX[=CRED]",
	 .read = cli_read_allow,
	 .help = "follow references below PREFIX; CRED: anonymous, env, profile:NAME"},
	{CLI_CALL, "container", CLI_AT(struct cli_common, containers), .value = "PREFIX=URL",
	 .read = cli_read_container, .help = "fetch what is below PREFIX from URL instead"},
	{CLI_FLAG, "no-default-allow", CLI_AT(struct cli_common, no_default_allow),
	 .help = "follow only what --allow names"},
	{CLI_FLAG, "no-virtual", CLI_AT(struct cli_common, no_virtual),
	 .help = "follow no virtual reference"},
	{CLI_CHOICE, "locations", CLI_AT(struct cli_common, locations), .choices = location_choices,
	 .help = "take names in references so, or percent-decoded"},
	{CLI_END},
};

const struct cli_group cli_virtual_group = {"Virtual references", virtual_options, NULL};

static const struct cli_option store_options[] = {
	{CLI_TEXT, "endpoint-url", CLI_AT(struct cli_common, endpoint_url), .value = "URL",
	 .help = "address of the repository's object store"},
	{CLI_TEXT, "region", CLI_AT(struct cli_common, region), .value = "NAME",
	 .help = "region of the repository's bucket"},
	{CLI_FLAG, "anonymous", CLI_AT(struct cli_common, anonymous),
	 .help = "send no credentials to the repository's store"},
	{CLI_FLAG, "path-style", CLI_AT(struct cli_common, path_style),
	 .help = "put the bucket in the path, not in the host name"},
	{CLI_END},
};

const struct cli_group cli_store_group = {"The repository's store", store_options, NULL};

static const char *const color_choices[] = {"auto", "always", "never", NULL};
static const char *const log_format_choices[] = {"text", "json", NULL};
static const char *const progress_choices[] = {"auto", "never", NULL};

static const struct cli_option message_options[] = {
	{CLI_CHOICE, "color", CLI_AT(struct cli_common, color), .choices = color_choices,
	 .alone = "always", .help = "colors in text (default auto: on a terminal)"},
	{CLI_FLAG, "quiet", CLI_AT(struct cli_common, quiet), .help = "say nothing but errors"},
	{CLI_COUNT, "verbose", CLI_AT(struct cli_common, verbose), .letter = 'v',
	 .help = "say more; twice: everything"},
	{CLI_CHOICE, "log-format", CLI_AT(struct cli_common, log_format),
	 .choices = log_format_choices, .help = "messages for people, or one JSON object a line"},
	{CLI_CHOICE, "progress", CLI_AT(struct cli_common, progress), .choices = progress_choices,
	 .help = "the progress line (auto: on a terminal)"},
	{CLI_END},
};

const struct cli_group cli_message_group = {"Messages", message_options, NULL};

static const struct cli_option common_options[] = {
	{CLI_GROUP, .group = &cli_version_group},
	{CLI_GROUP, .group = &cli_virtual_group},
	{CLI_GROUP, .group = &cli_store_group},
	{CLI_GROUP, .group = &cli_message_group},
	{CLI_END},
};

const struct cli_group cli_common_group = {"Common options", common_options, NULL};
