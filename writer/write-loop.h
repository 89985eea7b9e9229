/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The write loop: source files of a worker's jobs, found, resolved and committed
 *
 * One loop serves backfills and updates.  A backfill looks once and makes one commit; an update
 * looks again every tick and commits what it found, until all is there or its time is up.
 *
 * Threads: one loop at a time for each branch; it uses threads of its own.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "writer/dataset.h"
#include "writer/job.h"
#include "writer/outcomes.h"
#include "writer/resolve.h"
#include "writer/site.h"

struct write_counts {
	uint64_t n_files;    /* candidates */
	uint64_t n_present;  /* of them: ingested before */
	uint64_t n_ingested; /* committed now */
	uint64_t n_skipped;  /* there, but unusable */
	uint64_t n_pending;  /* not there */
	uint64_t n_refs;     /* committed now */
	uint64_t n_missing;  /* records that ingested files lack */
	uint64_t n_commits;
};

/* What a program may want to tell people; each may be NULL. */
struct write_hooks {
	void (*skipped)(const struct source_file *file, enum outcome outcome, const char *detail);
	void (*committed)(const struct write_counts *counts);
	/* Files that there are; what was settled since the last call: files, references, bytes of
	 * indexes. */
	void (*total)(uint64_t n_files);
	void (*progress)(uint64_t n_files, uint64_t n_refs, uint64_t n_bytes);
	void (*waiting)(uint64_t n_pending);
	void (*trouble)(const char *text); /* discovery failed and is tried again */
};

struct write_options {
	const struct dataset *dataset;
	const struct site *site;
	const struct selection *selection;
	struct targets *targets;
	const char *branch;
	uint64_t n_positions; /* of the append dimension; jobs beyond it have no files */
	bool is_update;
	bool overwrite_chunks;		 /* no file counts as ingested */
	int64_t poll_deadline;		 /* program's clock; updates only */
	struct outcomes *outcomes;	 /* NULL: kept nowhere */
	const struct write_hooks *hooks; /* NULL: none */
};

/*
 * Ingests the source files of @jobs that are not ingested yet.  ERR_INTERRUPTED: asked to stop, the
 * commit in hand is done.  What is wrong with single files is counted and reported, no error.
 */
int write_loop_run(const struct write_options *options, const struct job *jobs, size_t n_jobs,
		   struct write_counts *ret_counts, struct error *err);

/*
 * Marks in @present (one flag a file) which files are ingested already: a look at one cell of each
 * in the manifests, no data is read.  @checkout is of the primary.
 */
int files_present(const struct dataset *dataset, const struct selection *selection,
		  struct checkout *checkout, const struct source_files *files, bool *present,
		  struct error *err);
