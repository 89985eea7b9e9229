/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/cmd-update.h"

#include "base/json.h"
#include "base/log.h"
#include "base/time.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "repo/refs.h"
#include "writer/dataset-options.h"
#include "writer/update.h"
#include "writer/why.h"

struct update_command {
	struct dataset_options dataset;
	struct cli_u64 deadline, grace;
};

static const struct cli_option update_options[] = {
	{CLI_ARGUMENT, "DATASET", CLI_AT(struct update_command, dataset.id), .required = true},
	{CLI_U64, "deadline", CLI_AT(struct update_command, deadline), .value = "SECONDS",
	 .help = "when all must have ended, counted from the scheduled fire"},
	{CLI_U64, "grace", CLI_AT(struct update_command, grace), .value = "SECONDS",
	 .help = "of them: kept for the checks after polling"},
	{CLI_GROUP, .group = &site_group, CLI_AT(struct update_command, dataset)},
	{CLI_GROUP, .group = &cli_store_group, CLI_AT(struct update_command, dataset.common)},
	{CLI_GROUP, .group = &cli_message_group, CLI_AT(struct update_command, dataset.common)},
	{CLI_END},
};

static void check_failed(void *argument, const char *check, const char *reason)
{
	output_printf(argument, "%s: %s\n", check, reason);
}

static int run_update(struct cli *cli, const void *argument, struct error *err)
{
	const struct update_command *options = argument;
	CLEANUP(dataset_freep) struct dataset *dataset = NULL;
	struct update_options update = {
		.has_deadline = options->deadline.given,
		.has_grace = options->grace.given,
		.deadline = (int64_t)options->deadline.value * TIME_SECOND,
		.grace = (int64_t)options->grace.value * TIME_SECOND,
		.failed = check_failed,
		.argument = cli->out,
	};
	struct write_hooks hooks = cli_write_hooks;
	struct write_counts counts = {0};
	struct site site;
	int r = dataset_options_load(cli, &options->dataset, &dataset, err);

	if (r == 0)
		r = dataset_options_site(&options->dataset, cli->memory, &site, err);
	if (r < 0)
		return r;
	if (options->deadline.value > UINT32_MAX || options->grace.value > UINT32_MAX)
		return error_set(err, ERR_ARGUMENT, "--deadline or --grace is too long");
	update.dataset = dataset;
	update.site = &site;
	hooks.total = progress_total;
	update.hooks = &hooks;
	cli_watch_interrupts();
	progress_start("update", 0, cli->show_progress);
	r = update_run(&update, &counts, err);
	progress_finish();
	report_counts(&options->dataset, dataset->id, &counts);
	return r == CHECK_FAILED ? CLI_FOUND_SOMETHING : r;
}

const struct cli_command cmd_update = {
	.name = "update",
	.help = "ingest what a source publishes, for one fire of the schedule",
	.details =
		"Exit status 3: a check of the dataset failed. 75: asked to stop; the next fire\n"
		"goes on from there.\n",
	.options = update_options,
	.size = sizeof(struct update_command),
	.run = run_update,
};

struct why_command {
	struct dataset_options dataset;
	const char *key;
	bool json;
};

static const struct cli_option why_options[] = {
	{CLI_ARGUMENT, "DATASET|URL", CLI_AT(struct why_command, dataset.id), .required = true},
	{CLI_ARGUMENT, "KEY", CLI_AT(struct why_command, key), .required = true},
	{CLI_FLAG, "json", CLI_AT(struct why_command, json), .help = "print one JSON document"},
	{CLI_GROUP, .group = &site_group, CLI_AT(struct why_command, dataset)},
	{CLI_GROUP, .group = &cli_store_group, CLI_AT(struct why_command, dataset.common)},
	{CLI_GROUP, .group = &cli_message_group, CLI_AT(struct why_command, dataset.common)},
	{CLI_END},
};

static int write_text(struct buf *out, const char *before, const char *name, const char *text,
		      struct error *err)
{
	int r = buf_printf(out, err, "%s\"%s\":", before, name);

	if (r < 0)
		return r;
	return text && text[0] ? json_write_text(out, slice_text(text), err)
			       : buf_append_text(out, "null", err);
}

static int print_why(struct cli *cli, const struct why *why, bool json, struct error *err)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT(1U << 20);
	const char *reason = why->known ? why->reason : "unknown";
	int r;

	if (!json) {
		output_printf(cli->out, "%s%s%s%s%s%s%s\n", reason, why->url ? " " : "",
			      why->url ? why->url : "", why->at[0] ? " " : "", why->at,
			      why->detail ? " " : "", why->detail ? why->detail : "");
		return 0;
	}
	r = write_text(&text, "{", "reason", reason, err);
	if (r == 0)
		r = write_text(&text, ",", "url", why->url, err);
	if (r == 0)
		r = write_text(&text, ",", "at", why->at, err);
	if (r == 0)
		r = write_text(&text, ",", "detail", why->detail, err);
	if (r == 0)
		r = buf_append_text(&text, "}\n", err);
	output_drain(cli->out, &text);
	return r;
}

/* The dataset that a repository says it holds. */
static int dataset_of(struct repo *repo, struct arena *memory, const char **ret_id,
		      struct error *err)
{
	CLEANUP(checkout_freep) struct checkout *checkout = NULL;
	CLEANUP(freep) char *text = NULL;
	const struct repo_at at = {0};
	struct json document, value;
	struct node root;
	struct id12 id;
	int r = repo_resolve(repo, &at, &id, err);

	if (r == 0)
		r = repo_checkout(repo, &id, &checkout, err);
	if (r < 0)
		return r;
	if (checkout_find(checkout, "/", &root) != 0 ||
	    json_parse(root.document, &document, err) < 0 ||
	    json_path(&document, &value, "attributes", "dataset_id", NULL) != 0 ||
	    json_dup(&value, &text, err) < 0)
		return error_set(err, ERR_FORMAT, "the repository names no dataset");
	*ret_id = arena_dup(memory, slice_text(text), err);
	return *ret_id ? 0 : ERR_MEMORY;
}

/* A dataset's id names the definition and its store; a URL names the store, which says the rest. */
static int open_why(struct cli *cli, const struct why_command *options,
		    struct dataset **ret_dataset, struct site *site, struct targets *targets,
		    struct error *err)
{
	struct dataset_options named = options->dataset;
	CLEANUP(store_freep) struct store *store = NULL;
	CLEANUP(repo_freep) struct repo *repo = NULL;
	bool is_url = strchr(named.id, '/') != NULL;
	int r = dataset_options_site(&named, cli->memory, site, err);

	site->n_replicas = 0;
	if (r == 0 && is_url) {
		site->primary = named.id;
		r = store_open(named.id, &site->store, &store, err);
		if (r == 0)
			r = repo_open(store, NULL, &repo, err);
		if (r == 0)
			r = dataset_of(repo, cli->memory, &named.id, err);
	}
	if (r == 0)
		r = dataset_options_load(cli, &named, ret_dataset, err);
	if (r == 0)
		r = targets_open(site, *ret_dataset, false, targets, err);
	if (r == 0 && !targets->items[0].repo)
		return error_set(err, ERR_ABSENT, "there is no repository at '%s'",
				 targets->items[0].store->url);
	return r;
}

static int run_why(struct cli *cli, const void *argument, struct error *err)
{
	const struct why_command *options = argument;
	CLEANUP(dataset_freep) struct dataset *dataset = NULL;
	CLEANUP(targets_done) struct targets targets = {0};
	CLEANUP(why_done) struct why why = {0};
	struct site site;
	int r = open_why(cli, options, &dataset, &site, &targets, err);

	if (r == 0)
		r = why_find(dataset, targets.items[0].repo, options->key, &why, err);
	if (r == 0)
		r = print_why(cli, &why, options->json, err);
	if (r < 0)
		return r;
	return why.known ? 0 : CLI_FOUND_SOMETHING;
}

const struct cli_command cmd_why = {
	.name = "why",
	.help = "why a chunk has data or none",
	.options = why_options,
	.size = sizeof(struct why_command),
	.run = run_why,
};
