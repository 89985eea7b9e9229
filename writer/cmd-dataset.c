/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/cmd-dataset.h"

#include <stdio.h>

#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "writer/backfill.h"
#include "writer/dataset-options.h"
#include "writer/template.h"

struct datasets {
	struct dataset_options dataset;
	bool json;
};

static const struct cli_option datasets_options[] = {
	{CLI_FLAG, "json", CLI_AT(struct datasets, json), .help = "print one JSON document"},
	{CLI_GROUP, .group = &datasets_group, CLI_AT(struct datasets, dataset)},
	{CLI_GROUP, .group = &cli_message_group, CLI_AT(struct datasets, dataset.common)},
	{CLI_END},
};

struct listing {
	const char *folder;
	struct buf text; /* JSON, or lines */
	bool json, is_first;
};

static int write_member(struct buf *out, const char *before, const char *name, const char *text,
			struct error *err)
{
	int r = buf_printf(out, err, "%s\"%s\":", before, name);

	if (r < 0)
		return r;
	return text ? json_write_text(out, slice_text(text), err)
		    : buf_append_text(out, "null", err);
}

static int write_name(const struct dataset *dataset, struct buf *out, struct error *err)
{
	struct json attributes = {.type = JSON_OBJECT, .span = dataset->attributes}, name;
	int r = buf_append_text(out, ",\"name\":", err);

	if (r < 0)
		return r;
	return json_get(&attributes, "name", &name) == 0 ? buf_append_slice(out, name.span, err)
							 : buf_append_text(out, "null", err);
}

static int list_dataset(void *argument, const char *id, struct error *err)
{
	struct listing *listing = argument;
	CLEANUP(dataset_freep) struct dataset *dataset = NULL;
	int r = dataset_find(listing->folder, id, &dataset, err);

	if (r < 0)
		return r;
	if (!listing->json)
		return buf_printf(&listing->text, err, "%-40s %-8s %s\n", dataset->id,
				  dataset->version, dataset->primary ? dataset->primary : "-");
	r = buf_append_text(&listing->text, listing->is_first ? "" : ",", err);
	listing->is_first = false;
	if (r == 0)
		r = write_member(&listing->text, "{", "id", dataset->id, err);
	if (r == 0)
		r = write_member(&listing->text, ",", "version", dataset->version, err);
	if (r == 0)
		r = write_name(dataset, &listing->text, err);
	if (r == 0)
		r = write_member(&listing->text, ",", "primary", dataset->primary, err);
	return r < 0 ? r : buf_append_text(&listing->text, "}", err);
}

static int run_datasets(struct cli *cli, const void *argument, struct error *err)
{
	const struct datasets *options = argument;
	struct listing listing = {
		.text = BUF_INIT(16U << 20), .json = options->json, .is_first = true};
	int r = dataset_options_folder(&options->dataset, cli->memory, &listing.folder, err);

	if (r == 0 && options->json)
		r = buf_append_text(&listing.text, "[", err);
	if (r == 0)
		r = dataset_each(listing.folder, list_dataset, &listing, err);
	if (r == 0 && options->json)
		r = buf_append_text(&listing.text, "]\n", err);
	if (r == 0)
		output_drain(cli->out, &listing.text);
	buf_done(&listing.text);
	return r;
}

const struct cli_command cmd_datasets = {
	.name = "datasets",
	.help = "list the datasets that have a definition",
	.options = datasets_options,
	.size = sizeof(struct datasets),
	.run = run_datasets,
};

static const struct cli_option urls_options[] = {
	{CLI_ARGUMENT, "DATASET", CLI_AT(struct datasets, dataset.id), .required = true},
	{CLI_FLAG, "json", CLI_AT(struct datasets, json), .help = "print one JSON document"},
	{CLI_GROUP, .group = &datasets_group, CLI_AT(struct datasets, dataset)},
	{CLI_GROUP, .group = &cli_message_group, CLI_AT(struct datasets, dataset.common)},
	{CLI_END},
};

static int write_urls(const struct dataset *dataset, struct buf *out, struct error *err)
{
	int r = write_member(out, "{", "primary", dataset->primary, err);

	if (r == 0)
		r = buf_append_text(out, ",\"replicas\":[", err);
	for (size_t i = 0; i < dataset->replicas.n && r == 0; i++) {
		r = buf_append_text(out, i ? "," : "", err);
		if (r == 0)
			r = json_write_text(out, slice_text(dataset->replicas.items[i]), err);
	}
	return r < 0 ? r : buf_append_text(out, "]}\n", err);
}

static int run_urls(struct cli *cli, const void *argument, struct error *err)
{
	const struct datasets *options = argument;
	CLEANUP(dataset_freep) struct dataset *dataset = NULL;
	CLEANUP(buf_done) struct buf text = BUF_INIT(1U << 20);
	int r = dataset_options_load(cli, &options->dataset, &dataset, err);

	if (r < 0)
		return r;
	if (options->json) {
		r = write_urls(dataset, &text, err);
		output_drain(cli->out, &text);
		return r;
	}
	if (dataset->primary)
		output_printf(cli->out, "primary %s\n", dataset->primary);
	for (size_t i = 0; i < dataset->replicas.n; i++)
		output_printf(cli->out, "replica-%zu %s\n", i, dataset->replicas.items[i]);
	return 0;
}

const struct cli_command cmd_urls = {
	.name = "urls",
	.help = "where a dataset is published",
	.options = urls_options,
	.size = sizeof(struct datasets),
	.run = run_urls,
};

struct template_options {
	struct dataset_options dataset;
	const char *output;
	bool check;
};

static const struct cli_option template_options[] = {
	{CLI_ARGUMENT, "DATASET", CLI_AT(struct template_options, dataset.id), .required = true},
	{CLI_TEXT, "output", CLI_AT(struct template_options, output), .value = "DIR",
	 .help = "folder of the tree (template, beside the definition)"},
	{CLI_FLAG, "check", CLI_AT(struct template_options, check),
	 .help = "compare with the tree that is there"},
	{CLI_GROUP, .group = &datasets_group, CLI_AT(struct template_options, dataset)},
	{CLI_GROUP, .group = &cli_message_group, CLI_AT(struct template_options, dataset.common)},
	{CLI_END},
};

static void print_difference(void *argument, const char *key, const char *what)
{
	output_printf(argument, "%s %s\n", key, what);
}

static int run_template(struct cli *cli, const void *argument, struct error *err)
{
	const struct template_options *options = argument;
	CLEANUP(dataset_freep) struct dataset *dataset = NULL;
	CLEANUP(freep) char *beside = NULL;
	const char *folder = options->output;
	int r = dataset_options_load(cli, &options->dataset, &dataset, err);

	if (r == 0 && !folder) {
		folder = beside = text_printf(err, "%s/template", dataset->folder);
		r = folder ? 0 : ERR_MEMORY;
	}
	if (r < 0)
		return r;
	if (!options->check)
		return template_write(dataset, folder, err);
	r = template_check(dataset, folder, print_difference, cli->out, err);
	return r == TEMPLATE_DIFFERS ? CLI_FOUND_SOMETHING : r;
}

const struct cli_command cmd_template = {
	.name = "template",
	.help = "render the Zarr tree of a dataset",
	.options = template_options,
	.size = sizeof(struct template_options),
	.run = run_template,
};

struct backfill_local {
	struct dataset_options dataset;
	struct filter_options filters;
	const char *end;
	struct cli_u64 jobs_per_pod;
	bool overwrite_chunks, overwrite_metadata;
};

static const struct cli_option backfill_local_options[] = {
	{CLI_ARGUMENT, "DATASET", CLI_AT(struct backfill_local, dataset.id), .required = true},
	{CLI_ARGUMENT, "END", CLI_AT(struct backfill_local, end)},
	{CLI_U64, "jobs-per-pod", CLI_AT(struct backfill_local, jobs_per_pod), .value = "N",
	 .help = "positions of one commit (30)"},
	{CLI_FLAG, "overwrite-chunks", CLI_AT(struct backfill_local, overwrite_chunks),
	 .help = "write references that are there again"},
	{CLI_FLAG, "overwrite-metadata", CLI_AT(struct backfill_local, overwrite_metadata),
	 .help = "create arrays that the store does not have yet"},
	{CLI_GROUP, .group = &filter_group, CLI_AT(struct backfill_local, filters)},
	{CLI_GROUP, .group = &site_group, CLI_AT(struct backfill_local, dataset)},
	{CLI_GROUP, .group = &cli_store_group, CLI_AT(struct backfill_local, dataset.common)},
	{CLI_GROUP, .group = &cli_message_group, CLI_AT(struct backfill_local, dataset.common)},
	{CLI_END},
};

static int run_backfill(struct cli *cli, const struct backfill_local *options,
			const struct dataset *dataset, struct backfill_options *backfill,
			struct error *err)
{
	struct write_hooks hooks = cli_write_hooks;
	struct write_counts counts = {0};
	int r;

	hooks.total = progress_total;
	backfill->hooks = &hooks;
	cli_watch_interrupts();
	progress_start("backfill", 0, cli->show_progress);
	r = backfill_local(backfill, &counts, err);
	progress_finish();
	report_counts(&options->dataset, dataset->id, &counts);
	return r;
}

static int run_backfill_local(struct cli *cli, const void *argument, struct error *err)
{
	const struct backfill_local *options = argument;
	CLEANUP(dataset_freep) struct dataset *dataset = NULL;
	CLEANUP(selection_done) struct selection selection = {0};
	CLEANUP(freep) char *local = NULL;
	struct backfill_options backfill = {
		.jobs_per_pod = options->jobs_per_pod.given ? options->jobs_per_pod.value : 30,
		.overwrite_chunks = options->overwrite_chunks,
		.overwrite_metadata = options->overwrite_metadata,
	};
	struct site site;
	int r = dataset_options_load(cli, &options->dataset, &dataset, err);

	if (r == 0)
		r = dataset_options_site(&options->dataset, cli->memory, &site, err);
	if (r == 0)
		r = filter_options_read(&options->filters, dataset, cli->memory, &backfill.filters,
					&selection, err);
	if (r == 0 && options->end)
		r = time_parse(options->end, site_now(&site), &backfill.end, err);
	if (r < 0)
		return r;
	if (backfill.jobs_per_pod == 0)
		return error_set(err, ERR_ARGUMENT, "--jobs-per-pod 0 would never end");
	/* A command for one machine must not write to the published store unless it is told to. */
	if (!site.primary) {
		local = text_printf(err, "data/output/%s/v%s.icechunk", dataset->id,
				    dataset->version);
		if (!local)
			return ERR_MEMORY;
		site.primary = local;
	}
	backfill.dataset = dataset;
	backfill.site = &site;
	backfill.selection = &selection;
	backfill.has_end = options->end != NULL;
	return run_backfill(cli, options, dataset, &backfill, err);
}

const struct cli_command cmd_backfill_local = {
	.name = "backfill-local",
	.help = "write a stretch of a dataset from this machine",
	.details = "END is the first position that is not written; without it the store's end, or\n"
		   "now for a new store. Without --store the repository is\n"
		   "data/output/DATASET/vVERSION.icechunk. What is there already is left alone: a\n"
		   "backfill that was cut short goes on where it was.\n",
	.options = backfill_local_options,
	.size = sizeof(struct backfill_local),
	.run = run_backfill_local,
};
