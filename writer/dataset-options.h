/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the commands on datasets have in common: their options, and what becomes of them
 *
 * Threads: plain values.
 */

#include "cli/main.h"
#include "writer/job.h"
#include "writer/site.h"
#include "writer/source-file.h"
#include "writer/write-loop.h"

struct dataset_options {
	const char *id, *folder; /* of the dataset; of all definitions */
	const char *store;
	struct cli_list replicas;
	struct cli_pairs sources;
	struct cli_i64 now;
	struct cli_common common;
};

struct filter_options {
	struct cli_i64 start, end;
	struct cli_list contains, variables;
};

/* --datasets alone, and all overrides. */
extern const struct cli_group datasets_group, site_group;
extern const struct cli_group filter_group;

/* Folder of the definitions; from @memory. */
int dataset_options_folder(const struct dataset_options *options, struct arena *memory,
			   const char **ret_folder, struct error *err);
/* Loads the dataset that the options name; unknown names get a hint. */
int dataset_options_load(struct cli *cli, const struct dataset_options *options,
			 struct dataset **ret_dataset, struct error *err);
/* Fills @ret_site; lends from @options and @memory. */
int dataset_options_site(const struct dataset_options *options, struct arena *memory,
			 struct site *ret_site, struct error *err);
/* Fills the filters of jobs and the selection of variables (ended by selection_done()). */
int filter_options_read(const struct filter_options *options, const struct dataset *dataset,
			struct arena *memory, struct job_filters *ret_filters,
			struct selection *ret_selection, struct error *err);

/* Tells the log what the write loop does, and the progress line. */
extern const struct write_hooks cli_write_hooks;
/* "12 files with 1704 references ..." on standard error, unless --quiet. */
void report_counts(const struct dataset_options *options, const char *what,
		   const struct write_counts *counts);
