/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From publication to readers: what `refmt update` adds
 *
 *	update-times DATASETS NAME POSITION PREFILL FILES BURST PAUSE_MS
 *
 * A new store of the HRRR's definition on an S3 server holds references at PREFILL positions below
 * POSITION; an update of the window [POSITION, POSITION + 3) runs there.  FILES files are published
 * one after another, BURST at once, PAUSE_MS apart.  A reader of main looks for each; what is
 * timed is from the moment its index is there until the reader sees the file.  One line:
 *
 *	{"name":NAME,"files":n,"p50":s,"p99":s,"commits":n,"cpu":s,"peak":bytes}
 *
 * cpu and peak are those of the update's process.
 *
 * The server is that of tests/interop/with-server.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "base/time.h"
#include "bench.h"
#include "provider.h"
#include "repo/transaction.h"
#include "writer/metadata.h"
#include "writer/write-loop.h"

#define DATASET "noaa-hrrr-forecast-48-hour-virtual"
#define BUCKET "noaa-hrrr-bdp-pds"
#define WINDOW 3
#define FILES_MAX 441
/* Minutes after the newest label of the window at which the update runs. */
#define AFTER (51 * 60 * TIME_SECOND)
#define PATIENCE 60.0

struct run {
	const char *name, *refmt, *datasets;
	struct dataset *dataset;
	struct selection selection;
	struct site site;
	struct site_mirror mirror;
	struct targets targets;
	char *store, *endpoint, *source;
	uint64_t position, prefill;
	unsigned int n_files, burst;
	long pause_ms;
	struct source_files files;
	double published[FILES_MAX], latency[FILES_MAX];
	bool seen[FILES_MAX];
	unsigned int n_published, n_seen, n_commits;
};

static void run_done(struct run *run)
{
	source_files_done(&run->files);
	targets_done(&run->targets);
	selection_done(&run->selection);
	dataset_free(run->dataset);
	free(run->store);
	free(run->endpoint);
	free(run->source);
}

static int run_open(struct run *run, struct error *err)
{
	const char *server = getenv("AWS_ENDPOINT_URL"), *url = getenv("STORE_URL");
	const char *folder = getenv("SERVER_FOLDER");
	int r;

	run->refmt = getenv("REFMT");
	if (!server || !url || !folder || !run->refmt)
		return error_set(err, ERR_ARGUMENT, "runs beside with-server s3, with REFMT set");
	run->store = text_printf(err, "%s-%s", url, run->name);
	run->endpoint = text_printf(err, "%s/" BUCKET "/", server);
	run->source = text_printf(err, "%s/" BUCKET, folder);
	if (!run->store || !run->endpoint || !run->source)
		return ERR_MEMORY;
	run->mirror = (struct site_mirror){"s3://" BUCKET "/", run->endpoint};
	run->site = (struct site){.primary = run->store,
				  .mirrors = &run->mirror,
				  .n_mirrors = 1,
				  .store = {.path_style = true, .allow_private = true}};
	r = dataset_find(run->datasets, DATASET, &run->dataset, err);
	if (r == 0)
		r = selection_init(run->dataset, NULL, 0, &run->selection, err);
	if (r == 0)
		r = provider_share(run->source, err);
	if (r == 0)
		r = targets_open(&run->site, run->dataset, true, &run->targets, err);
	return r < 0 ? r
		     : source_files_generate(run->dataset, &run->selection, run->position,
					     run->position + WINDOW, &run->files, err);
}

static int commit(struct transaction *transaction, struct error *err)
{
	const struct commit_options options = {.message = "prepare"};
	struct id12 id;

	return transaction_commit(transaction, &options, &id, NULL, err);
}

static int write_metadata(const struct run *run, struct error *err)
{
	CLEANUP(transaction_freep) struct transaction *transaction = NULL;
	CLEANUP(template_freep) struct template *template = NULL;
	int r = transaction_begin(run->targets.items[0].repo, NULL, NULL, &transaction, err);

	if (r == 0)
		r = template_new(run->dataset, run->position, &template, err);
	if (r == 0)
		r = metadata_write(template, transaction, err);
	return r < 0 ? r : commit(transaction, err);
}

/* References of one variable in all files of one position. */
static int fill_position(const struct run *run, uint32_t v, uint64_t position,
			 struct transaction *transaction, struct error *err)
{
	const struct dataset_group *group = &run->dataset->groups[run->dataset->variables[v].group];
	uint64_t n_levels = group->level >= 0 ? run->dataset->dims[group->level].size : 1;
	CLEANUP(source_files_done) struct source_files files = {0};
	CLEANUP(freep)
	char *path = text_printf(err, "/%s", run->dataset->variables[v].path);
	int r = path ? source_files_generate(run->dataset, &run->selection, position, position + 1,
					     &files, err)
		     : ERR_MEMORY;

	for (size_t i = 0; i < files.n && r == 0; i++) {
		struct source_file *file = &files.items[i];
		uint32_t indexes[64][DATASET_DIMS_MAX];
		struct virtual_ref refs[64];

		if (!source_file_holds(run->dataset, file, v))
			continue;
		for (uint64_t l = 0; l < n_levels; l++) {
			source_file_cell(run->dataset, file, v,
					 group->level >= 0 ? (uint32_t)l : NO_LEVEL, indexes[l]);
			refs[l] = (struct virtual_ref){
				.index = indexes[l],
				.location = slice_text(file->url),
				.offset = (v + l * 20) * 613211 + i * 7919 % 60000,
				.length = 100000 + (v * 7919 + i * 104729 + l * 31337) % 1000000};
		}
		r = transaction_set_refs(transaction, path, refs, n_levels, group->n_dims, err);
	}
	return r;
}

/* Some arrays a commit: the peak of the bench itself is nobody's concern, but bounded. */
static int fill(const struct run *run, struct error *err)
{
	int r = 0;

	for (uint32_t v = 0; v < run->dataset->n_variables && r == 0 && run->prefill;) {
		CLEANUP(transaction_freep) struct transaction *transaction = NULL;

		r = transaction_begin(run->targets.items[0].repo, NULL, NULL, &transaction, err);
		for (uint32_t end = v + 8; v < end && v < run->dataset->n_variables; v++) {
			const struct dataset_split *split = run->dataset->splits;
			const char *path = run->dataset->variables[v].path;
			uint64_t first;

			/* Only what lies in the split that the update adds to. */
			while (split->regex && !text_starts(path, split->regex + 2))
				split++;
			first = run->position / split->size * split->size;
			if (first + run->prefill < run->position)
				first = run->position - run->prefill;
			for (uint64_t p = first; p < run->position && r == 0; p++)
				r = fill_position(run, v, p, transaction, err);
		}
		if (r == 0)
			r = commit(transaction, err);
	}
	return r;
}

static int start_update(const struct run *run, pid_t *ret_process, struct error *err)
{
	char now[TIME_TEXT_MAX];
	CLEANUP(freep)
	char *source = text_printf(err, "%s=%s", run->mirror.prefix, run->mirror.url);
	pid_t process;

	if (!source)
		return ERR_MEMORY;
	time_format_seconds(dataset_label(run->dataset, run->position + WINDOW - 1) + AFTER, now);
	process = fork();
	if (process < 0)
		return error_set(err, ERR_MEMORY, "cannot fork");
	if (process == 0) {
		if (!freopen("/dev/null", "w", stderr) || !freopen("/dev/null", "w", stdout))
			_exit(1);
		execl(run->refmt, "refmt", "update", DATASET, "--datasets", run->datasets,
		      "--store", run->store, "--path-style", "--source", source, "--now", now,
		      (char *)NULL);
		_exit(127);
	}
	*ret_process = process;
	return 0;
}

/* A reader of main: which of the files that are published can be seen? */
static int look(struct run *run, struct repo *repo, struct id12 *tip, struct error *err)
{
	CLEANUP(checkout_freep) struct checkout *checkout = NULL;
	CLEANUP(freep) bool *present = calloc(run->n_files + 1, sizeof(*present));
	struct source_files files = {run->files.items, run->n_published, 0};
	const struct repo_at at = {0};
	struct id12 id;
	double now;
	int r = present ? repo_refresh(repo, err) : error_memory(err);

	if (r == 0)
		r = repo_resolve(repo, &at, &id, err);
	if (r < 0 || id12_equal(&id, tip))
		return r;
	r = repo_checkout(repo, &id, &checkout, err);
	if (r == 0)
		r = files_present(run->dataset, &run->selection, checkout, &files, present, err);
	now = bench_now();
	for (unsigned int i = 0; i < run->n_published && r == 0; i++) {
		if (!present[i] || run->seen[i])
			continue;
		run->seen[i] = true;
		run->latency[run->n_seen++] = now - run->published[i];
	}
	run->n_commits++;
	*tip = id;
	return r;
}

static int publish_burst(struct run *run, struct error *err)
{
	int r = 0;

	for (unsigned int i = 0; i < run->burst && run->n_published < run->n_files && r == 0; i++) {
		r = provider_publish(run->dataset, &run->files.items[run->n_published], run->source,
				     err);
		run->published[run->n_published++] = bench_now();
	}
	return r;
}

/* Publishes and looks until all has been seen. */
static int measure(struct run *run, struct error *err)
{
	CLEANUP(store_freep) struct store *store = NULL;
	CLEANUP(repo_freep) struct repo *repo = NULL;
	const struct timespec moment = {.tv_nsec = 20000000};
	double next = bench_now() + 2, patience;
	struct id12 tip = {0};
	int r = store_open(run->store, &run->site.store, &store, err);

	if (r == 0)
		r = repo_open(store, NULL, &repo, err);
	patience = next + PATIENCE;
	while (r == 0 && run->n_seen < run->n_files) {
		if (run->n_published < run->n_files && bench_now() >= next) {
			r = publish_burst(run, err);
			next += (double)run->pause_ms / 1000;
			patience = bench_now() + PATIENCE;
		}
		if (r == 0)
			r = look(run, repo, &tip, err);
		if (bench_now() > patience)
			return error_set(err, ERR_TIMEOUT, "%u of %u files were never seen",
					 run->n_files - run->n_seen, run->n_files);
		nanosleep(&moment, NULL);
	}
	return r;
}

static int end_update(pid_t process, struct rusage *ret_usage, struct error *err)
{
	int status;

	kill(process, SIGTERM);
	if (wait4(process, &status, 0, ret_usage) < 0 || !WIFEXITED(status) ||
	    WEXITSTATUS(status) != 75)
		return error_set(err, ERR_FORMAT, "the update failed");
	return 0;
}

static int run_all(struct run *run, struct error *err)
{
	struct error ignored = ERROR_INIT;
	pid_t process = -1;
	double cpu;
	struct rusage usage = {0};
	int r = run_open(run, err);

	if (r == 0)
		r = write_metadata(run, err);
	if (r == 0)
		r = fill(run, err);
	/* What was made so far must not be in the way of what is measured. */
	targets_done(&run->targets);
	if (r == 0)
		r = start_update(run, &process, err);
	if (r < 0)
		return r;
	r = measure(run, err);
	if (r < 0) {
		end_update(process, &usage, &ignored);
		return r;
	}
	r = end_update(process, &usage, err);
	if (r < 0)
		return r;
	bench_median(run->latency, run->n_seen);
	cpu = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	      (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
	printf("{\"name\":\"%s\",\"files\":%u,\"p50\":%.2f,\"p99\":%.2f,\"commits\":%u,"
	       "\"cpu\":%.1f,\"peak\":%ld}\n",
	       run->name, run->n_seen, run->latency[run->n_seen / 2],
	       run->latency[(run->n_seen * 99 - 1) / 100], run->n_commits - 1, cpu,
	       usage.ru_maxrss * 1024);
	return 0;
}

int main(int argc, char **argv)
{
	CLEANUP(run_done) struct run run = {0};
	struct error err = ERROR_INIT;
	int r;

	if (argc != 8) {
		fputs("usage: update-times DATASETS NAME POSITION PREFILL FILES BURST PAUSE_MS\n",
		      stderr);
		return 2;
	}
	run.datasets = argv[1];
	run.name = argv[2];
	run.position = strtoull(argv[3], NULL, 10);
	run.prefill = strtoull(argv[4], NULL, 10);
	run.n_files = (unsigned int)strtoul(argv[5], NULL, 10);
	run.burst = (unsigned int)strtoul(argv[6], NULL, 10);
	run.pause_ms = strtol(argv[7], NULL, 10);
	if (run.n_files == 0 || run.n_files > FILES_MAX || run.burst == 0)
		return 2;
	r = run_all(&run, &err);
	if (r < 0)
		fprintf(stderr, "update-times: %s\n", err.text);
	return r < 0;
}
