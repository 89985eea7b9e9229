/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/dataset-options.h"

#include <stdio.h>

#include "base/log.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/progress.h"
#include "cli/signals.h"

static const struct cli_option datasets_options[] = {
	{CLI_TEXT, "datasets", CLI_AT(struct dataset_options, folder), .value = "DIR",
	 .help = "folder of the definitions"},
	{CLI_END},
};

const struct cli_group datasets_group = {.title = "Definitions", .options = datasets_options};

static const struct cli_option site_options[] = {
	{CLI_TEXT, "store", CLI_AT(struct dataset_options, store), .value = "URL",
	 .help = "the repository to write, instead of the published one"},
	{CLI_LIST, "replica", CLI_AT(struct dataset_options, replicas), .value = "URL",
	 .help = "a repository that is written before it (repeatable)"},
	{CLI_CALL, "source", CLI_AT(struct dataset_options, sources), .value = "PREFIX=URL",
	 .read = cli_read_container,
	 .help = "where source files are really listed and read (repeatable)"},
	{CLI_TIME, "now", CLI_AT(struct dataset_options, now), .value = "TIME",
	 .help = "the program's clock starts here"},
	{CLI_TEXT, "datasets", CLI_AT(struct dataset_options, folder), .value = "DIR",
	 .help = "folder of the definitions"},
	{CLI_END},
};

const struct cli_group site_group = {.title = "Overrides", .options = site_options};

static const struct cli_option filter_options[] = {
	{CLI_TIME, "filter-start", CLI_AT(struct filter_options, start), .value = "TIME",
	 .help = "positions from here on"},
	{CLI_TIME, "filter-end", CLI_AT(struct filter_options, end), .value = "TIME",
	 .help = "positions before this one"},
	{CLI_LIST, "filter-contains", CLI_AT(struct filter_options, contains), .value = "TIME",
	 .help = "this position (repeatable)"},
	{CLI_LIST, "filter-variable-names", CLI_AT(struct filter_options, variables),
	 .value = "NAME", .help = "this variable, by name or path (repeatable)"},
	{CLI_END},
};

const struct cli_group filter_group = {.title = "Filters", .options = filter_options};

int dataset_options_folder(const struct dataset_options *options, struct arena *memory,
			   const char **ret_folder, struct error *err)
{
	CLEANUP(freep) char *path = NULL;
	int r;

	if (options->folder) {
		*ret_folder = options->folder;
		return 0;
	}
	r = dataset_default_folder(&path, err);
	if (r < 0)
		return r;
	*ret_folder = arena_dup(memory, slice_text(path), err);
	return *ret_folder ? 0 : ERR_MEMORY;
}

int dataset_options_load(struct cli *cli, const struct dataset_options *options,
			 struct dataset **ret_dataset, struct error *err)
{
	const char *folder = NULL;
	int r = dataset_options_folder(options, cli->memory, &folder, err);

	if (r == 0)
		r = dataset_find(folder, options->id, ret_dataset, err);
	if (r == ERR_ARGUMENT)
		cli_hint(cli, "`refmt datasets` lists what there is in '%s'", folder);
	return r;
}

int dataset_options_site(const struct dataset_options *options, struct arena *memory,
			 struct site *ret_site, struct error *err)
{
	const struct cli_common *common = &options->common;
	size_t n = options->sources.n;
	struct site_mirror *mirrors = arena_zalloc(memory, n + 1, sizeof(*mirrors), err);

	if (!mirrors)
		return ERR_MEMORY;
	for (size_t i = 0; i < n; i++)
		mirrors[i] = (struct site_mirror){options->sources.items[i].prefix,
						  options->sources.items[i].value};
	*ret_site = (struct site){
		.primary = options->store,
		.replicas = options->replicas.items,
		.n_replicas = options->replicas.n,
		.mirrors = mirrors,
		.n_mirrors = n,
		.store = {.endpoint_url = common->endpoint_url,
			  .region = common->region,
			  .anonymous = common->anonymous,
			  .path_style = common->path_style,
			  .allow_private = true},
		.clock_offset = options->now.given ? options->now.value - time_now() : 0,
		.interrupted = cli_interrupted,
		.sleep = cli_sleep,
	};
	return 0;
}

int filter_options_read(const struct filter_options *options, const struct dataset *dataset,
			struct arena *memory, struct job_filters *ret_filters,
			struct selection *ret_selection, struct error *err)
{
	size_t n = options->contains.n;
	int64_t *contains = arena_zalloc(memory, n + 1, sizeof(*contains), err);

	if (!contains)
		return ERR_MEMORY;
	for (size_t i = 0; i < n; i++) {
		int r = time_parse(options->contains.items[i], time_now(), &contains[i], err);

		if (r < 0)
			return r;
	}
	*ret_filters = (struct job_filters){.has_start = options->start.given,
					    .has_end = options->end.given,
					    .start = options->start.value,
					    .end = options->end.value,
					    .contains = contains,
					    .n_contains = n};
	return selection_init(dataset, options->variables.items, options->variables.n,
			      ret_selection, err);
}

static void skipped(const struct source_file *file, enum outcome outcome, const char *detail)
{
	log_event(LOG_WARNING, "skip", "skipped '%s': %s: %s", file->url, outcome_name(outcome),
		  detail);
}

static void committed(const struct write_counts *counts)
{
	log_event(LOG_INFO, "commit", "committed: %llu files with %llu references so far",
		  (unsigned long long)counts->n_ingested, (unsigned long long)counts->n_refs);
}

static void waiting(uint64_t n_pending)
{
	log_event(LOG_INFO, "wait", "waiting for %llu files", (unsigned long long)n_pending);
}

static void trouble(const char *text)
{
	log_event(LOG_WARNING, "discover", "%s", text);
}

const struct write_hooks cli_write_hooks = {
	.skipped = skipped,
	.committed = committed,
	.progress = progress_add,
	.waiting = waiting,
	.trouble = trouble,
};

void report_counts(const struct dataset_options *options, const char *what,
		   const struct write_counts *counts)
{
	if (options->common.quiet)
		return;
	fprintf(stderr,
		"%s: %llu files with %llu references written, %llu were there, %llu skipped, "
		"%llu not published, %llu records not in their files, %llu commits\n",
		what, (unsigned long long)counts->n_ingested, (unsigned long long)counts->n_refs,
		(unsigned long long)counts->n_present, (unsigned long long)counts->n_skipped,
		(unsigned long long)counts->n_pending, (unsigned long long)counts->n_missing,
		(unsigned long long)counts->n_commits);
}
