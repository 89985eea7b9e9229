/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/write-loop.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/pool.h"
#include "base/text.h"
#include "base/time.h"
#include "writer/batch.h"
#include "writer/discover.h"
#include "writer/ingest.h"

#define FILES_IN_FLIGHT 64
#define PROBES_AT_ONCE 8
/* Files resolved together before a backfill hands them to its transaction. */
#define SLICE_FILES 256
#define CONFLICT_RETRIES 10
#define HEARTBEAT (240 * TIME_SECOND)

enum file_state { FILE_PENDING, FILE_DONE, FILE_SKIPPED };

struct loop {
	const struct write_options *options;
	const struct dataset *dataset;
	struct store *source;
	struct resolver *resolver;
	struct ingest ingest;
	struct source_files files;
	uint8_t *states;		/* enum file_state of each file */
	struct source_file *skipped_as; /* size, time and version of a file when it was skipped */
	struct write_counts counts;
	uint64_t ingested_through; /* length of the append dimension when the run began */
};

static const struct write_hooks no_hooks;

static const struct write_hooks *hooks(const struct loop *loop)
{
	return loop->options->hooks ? loop->options->hooks : &no_hooks;
}

/* State of asking for many files at once. */
struct presence {
	const struct dataset *dataset;
	const struct selection *selection;
	struct checkout *checkout;
	const struct source_files *files;
	bool *present;
};

static int probe_file(void *argument, size_t i, struct error *err)
{
	struct presence *presence = argument;
	const struct source_file *file = &presence->files->items[i];
	int variable = source_file_probe(presence->dataset, presence->selection, file);
	CLEANUP(chunk_done) struct chunk chunk = {0};
	CLEANUP(freep) char *path = NULL;
	uint32_t index[DATASET_DIMS_MAX];
	struct node node;
	int r;

	presence->present[i] = false;
	if (variable < 0)
		return 0;
	path = text_printf(err, "/%s", presence->dataset->variables[variable].path);
	if (!path)
		return ERR_MEMORY;
	if (checkout_find(presence->checkout, path, &node) != 0)
		return 0;
	source_file_cell(presence->dataset, file, (uint32_t)variable, 0, index);
	/* A cell beyond the store's extent does not exist; it is no failure. */
	for (uint32_t d = 0; d < node.n_dims; d++) {
		uint64_t length;
		uint32_t chunks;

		checkout_dim(presence->checkout, &node, d, &length, &chunks);
		if (index[d] >= chunks)
			return 0;
	}
	r = checkout_locate(presence->checkout, &node, index, &chunk, err);
	presence->present[i] = r == 0;
	return r < 0 ? error_prefix(err, "cannot tell whether '%s' is ingested", file->url) : 0;
}

int files_present(const struct dataset *dataset, const struct selection *selection,
		  struct checkout *checkout, const struct source_files *files, bool *present,
		  struct error *err)
{
	struct presence presence = {dataset, selection, checkout, files, present};

	return parallel_for(PROBES_AT_ONCE, files->n, probe_file, &presence, err);
}

static int gather(struct loop *loop, const struct job *jobs, size_t n_jobs, struct error *err)
{
	uint64_t n = loop->options->n_positions;
	int r = 0;

	for (size_t i = 0; i < n_jobs && r == 0; i++)
		r = source_files_generate(loop->dataset, loop->options->selection, jobs[i].first,
					  jobs[i].end < n ? jobs[i].end : n, &loop->files, err);
	if (r == 0)
		r = source_files_check(&loop->files, err);
	if (r < 0)
		return r;
	loop->counts.n_files = loop->files.n;
	loop->states = calloc(loop->files.n + 1, sizeof(*loop->states));
	loop->skipped_as = calloc(loop->files.n + 1, sizeof(*loop->skipped_as));
	return loop->states && loop->skipped_as ? 0 : error_memory(err);
}

/* Marks as done what the primary's branch holds by now. */
static int filter(struct loop *loop, struct error *err)
{
	CLEANUP(checkout_freep) struct checkout *checkout = NULL;
	CLEANUP(freep) bool *present = calloc(loop->files.n + 1, sizeof(*present));
	int r;

	if (!present)
		return error_memory(err);
	r = target_checkout(&loop->options->targets->items[0], loop->options->branch, &checkout,
			    err);
	if (r == 0)
		r = store_length(loop->dataset, checkout, &loop->ingested_through, err);
	if (r < 0 || loop->options->overwrite_chunks)
		return r;
	r = files_present(loop->dataset, loop->options->selection, checkout, &loop->files, present,
			  err);
	for (size_t i = 0; i < loop->files.n && r == 0; i++) {
		if (present[i] && loop->states[i] == FILE_PENDING) {
			loop->states[i] = FILE_DONE;
			loop->counts.n_present++;
		}
	}
	return r;
}

static size_t list_pending(const struct loop *loop, size_t *pending)
{
	size_t n = 0;

	for (size_t i = 0; i < loop->files.n; i++)
		if (loop->states[i] != FILE_DONE)
			pending[n++] = i;
	return n;
}

static uint64_t count_pending(const struct loop *loop)
{
	uint64_t n = 0;

	for (size_t i = 0; i < loop->files.n; i++)
		n += loop->states[i] == FILE_PENDING;
	return n;
}

/* A file that was skipped is worth another look only if it, or its index, is another by now. */
static bool is_unchanged(const struct source_file *file, const struct source_file *before)
{
	return file->size == before->size && file->last_modified == before->last_modified &&
	       file->index_size == before->index_size &&
	       file->index_last_modified == before->index_last_modified &&
	       strcmp(file->etag, before->etag) == 0;
}

/* Is the lead-0 file beside @file ingested already, or ready now? */
static bool has_lead_zero(const struct loop *loop, const struct source_file *file,
			  const size_t *pending, const bool *ready, size_t n_pending)
{
	const struct source_type *types = loop->dataset->files.types;

	if (file->position < loop->ingested_through)
		return true;
	for (size_t i = 0; i < loop->files.n; i++) {
		const struct source_file *other = &loop->files.items[i];

		if (other->position == file->position && other->lead == 0 &&
		    strcmp(types[other->type].text, types[file->type].text) == 0 &&
		    loop->states[i] == FILE_DONE)
			return true;
	}
	for (size_t i = 0; i < n_pending; i++) {
		const struct source_file *other = &loop->files.items[pending[i]];

		if (ready[i] && other->position == file->position && other->lead == 0 &&
		    strcmp(types[other->type].text, types[file->type].text) == 0)
			return true;
	}
	return false;
}

static bool is_position_whole(const struct loop *loop, uint64_t position, const size_t *pending,
			      const bool *ready, size_t n_pending)
{
	for (size_t i = 0; i < n_pending; i++)
		if (loop->files.items[pending[i]].position == position && !ready[i])
			return false;
	return true;
}

/* Takes back files that are there but must wait for others: they stay pending. */
static int withhold(const struct loop *loop, const size_t *pending, size_t n_pending, bool *ready,
		    struct error *err)
{
	CLEANUP(freep) bool *offered = NULL;

	offered = calloc(n_pending + 1, sizeof(*offered));
	if (!offered)
		return error_memory(err);
	memcpy(offered, ready, n_pending * sizeof(*offered));
	for (size_t i = 0; i < n_pending; i++) {
		const struct source_file *file = &loop->files.items[pending[i]];

		if (!ready[i])
			continue;
		switch (dataset_era(loop->dataset, file->label)->withhold) {
		case WITHHOLD_NONE:
			break;
		case WITHHOLD_WHOLE_POSITION:
			offered[i] =
				is_position_whole(loop, file->position, pending, ready, n_pending);
			break;
		case WITHHOLD_UNTIL_LEAD_ZERO:
			if (file->lead > 0)
				offered[i] = has_lead_zero(loop, file, pending, ready, n_pending);
			break;
		}
	}
	memcpy(ready, offered, n_pending * sizeof(*ready));
	return 0;
}

/* Finds out which files can be ingested now; @ret_ready has room for all. */
static int find_ready(struct loop *loop, size_t *ret_ready, size_t *ret_n, struct error *err)
{
	CLEANUP(freep) size_t *pending = calloc(loop->files.n + 1, sizeof(*pending));
	CLEANUP(freep) bool *ready = calloc(loop->files.n + 1, sizeof(*ready));
	size_t n_pending, n = 0;
	int r;

	if (!pending || !ready)
		return error_memory(err);
	n_pending = list_pending(loop, pending);
	r = discover(loop->dataset, loop->source, &loop->files, pending, n_pending, ready, err);
	for (size_t i = 0; i < n_pending && r == 0; i++)
		if (loop->states[pending[i]] == FILE_SKIPPED &&
		    is_unchanged(&loop->files.items[pending[i]], &loop->skipped_as[pending[i]]))
			ready[i] = false;
	if (r == 0)
		r = withhold(loop, pending, n_pending, ready, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n_pending; i++)
		if (ready[i])
			ret_ready[n++] = pending[i];
	*ret_n = n;
	return 0;
}

/* Files that are resolved at the same time. */
struct resolving {
	struct loop *loop;
	const size_t *numbers; /* of the files */
	struct batch_file *files;
};

static int resolve_file(void *argument, size_t i, struct error *err)
{
	struct resolving *resolving = argument;
	struct batch_file *file = &resolving->files[i];

	file->file = &resolving->loop->files.items[resolving->numbers[i]];
	return ingest_file(&resolving->loop->ingest, file->file, &file->refs, err);
}

static int note_outcome(struct loop *loop, const struct source_file *file, enum outcome outcome,
			struct slice detail, struct error *err)
{
	if (!loop->options->outcomes)
		return 0;
	return outcomes_add(loop->options->outcomes, loop->dataset, file, outcome, detail,
			    site_now(loop->options->site), err);
}

static int note_file(struct loop *loop, size_t number, const struct file_refs *refs,
		     struct error *err)
{
	const struct source_file *file = &loop->files.items[number];
	int r = 0;

	if (refs->outcome == OUTCOME_NOT_PUBLISHED)
		return 0;
	if (refs->outcome != OUTCOME_NONE) {
		loop->states[number] = FILE_SKIPPED;
		loop->skipped_as[number] = *file;
		loop->counts.n_skipped++;
		if (hooks(loop)->skipped)
			hooks(loop)->skipped(file, refs->outcome, refs->detail);
		return note_outcome(loop, file, refs->outcome, slice_text(refs->detail), err);
	}
	if (refs->missing.size > 0)
		r = note_outcome(loop, file, OUTCOME_NOT_IN_FILE, buf_slice(&refs->missing), err);
	if (r == 0 && refs->meaningless.size > 0)
		r = note_outcome(loop, file, OUTCOME_NOT_MEANINGFUL, buf_slice(&refs->meaningless),
				 err);
	return r;
}

static void files_done(struct batch_file *files, size_t n)
{
	for (size_t i = 0; i < n; i++)
		file_refs_done(&files[i].refs);
}

/*
 * Resolves the files @numbers.  Those that give references are moved to the front of @files (room
 * for @n), their numbers to the front of @numbers; @ret_n counts them.
 */
static int resolve(struct loop *loop, size_t *numbers, size_t n, struct batch_file *files,
		   size_t *ret_n, struct error *err)
{
	struct resolving resolving = {loop, numbers, files};
	size_t kept = 0;
	int r;

	memset(files, 0, n * sizeof(*files));
	r = parallel_for(FILES_IN_FLIGHT, n, resolve_file, &resolving, err);
	for (size_t i = 0; i < n; i++) {
		struct batch_file file = files[i];
		size_t number = numbers[i];

		if (r == 0)
			r = note_file(loop, number, &file.refs, err);
		if (r < 0 || file.refs.outcome != OUTCOME_NONE) {
			file_refs_done(&file.refs);
			continue;
		}
		files[kept] = file;
		numbers[kept++] = number;
	}
	if (r < 0) {
		files_done(files, kept);
		return r;
	}
	*ret_n = kept;
	return 0;
}

static void count_files(struct loop *loop, const size_t *numbers, const struct batch_file *files,
			size_t n)
{
	uint64_t n_refs = 0;

	for (size_t i = 0; i < n; i++) {
		loop->states[numbers[i]] = FILE_DONE;
		n_refs += files[i].refs.refs.n;
		loop->counts.n_missing += files[i].refs.n_missing;
	}
	loop->counts.n_ingested += n;
	loop->counts.n_refs += n_refs;
}

static int commit_batch(struct loop *loop, struct batch *batch, struct error *err)
{
	char message[TIME_TEXT_MAX + sizeof("Update at ")], at[TIME_TEXT_MAX];
	bool committed;
	int r;

	time_format_seconds(site_now(loop->options->site), at);
	snprintf(message, sizeof(message), "Update at %s", at);
	/* The reasons come first: whoever sees the commit can ask about its holes. */
	r = loop->options->outcomes ? outcomes_flush(loop->options->outcomes, err) : 0;
	if (r == 0)
		r = batch_commit(batch, message, &committed, err);
	loop->counts.n_commits += r == 0 && committed;
	return r;
}

static void tell_commit(const struct loop *loop, uint64_t n_commits_before)
{
	if (loop->counts.n_commits > n_commits_before && hooks(loop)->committed)
		hooks(loop)->committed(&loop->counts);
}

static int new_batch(struct loop *loop, struct batch **ret_batch, struct error *err)
{
	const struct write_options *options = loop->options;

	return batch_new(loop->dataset, options->selection, options->targets, options->branch,
			 options->overwrite_chunks, ret_batch, err);
}

/* @n_looked_at files are settled, of which @n gave references. */
static void tell_progress(const struct loop *loop, uint64_t n_looked_at,
			  const struct batch_file *files, size_t n)
{
	uint64_t n_refs = 0, n_bytes = 0;

	if (!hooks(loop)->progress)
		return;
	for (size_t i = 0; i < n; i++) {
		n_refs += files[i].refs.refs.n;
		n_bytes += files[i].refs.n_bytes;
	}
	hooks(loop)->progress(n_looked_at, n_refs, n_bytes);
}

/* A backfill's one sweep and one commit; references go to the transaction slice by slice. */
static int backfill(struct loop *loop, size_t *ready, size_t n_ready, struct error *err)
{
	CLEANUP(batch_freep) struct batch *batch = NULL;
	CLEANUP(freep) struct batch_file *files = calloc(SLICE_FILES, sizeof(*files));
	uint64_t before = loop->counts.n_ingested, n_commits = loop->counts.n_commits;
	int r = 0;

	if (!files)
		return error_memory(err);
	for (size_t at = 0; at < n_ready && r == 0; at += SLICE_FILES) {
		size_t n = n_ready - at < SLICE_FILES ? n_ready - at : SLICE_FILES, kept;

		if (site_interrupted(loop->options->site))
			return error_set(err, ERR_INTERRUPTED, "asked to stop");
		r = resolve(loop, ready + at, n, files, &kept, err);
		if (r < 0)
			return r;
		if (!batch && kept > 0)
			r = new_batch(loop, &batch, err);
		if (r == 0 && kept > 0)
			r = batch_add(batch, files, kept, err);
		if (r == 0)
			tell_progress(loop, n, files, kept);
		if (r == 0)
			count_files(loop, ready + at, files, kept);
		files_done(files, kept);
	}
	if (r == 0 && loop->counts.n_ingested > before)
		r = commit_batch(loop, batch, err);
	if (r == 0)
		tell_commit(loop, n_commits);
	return r;
}

/* Drops from the batch what another writer has ingested in the meantime. */
static size_t drop_done(const struct loop *loop, size_t *numbers, struct batch_file *files,
			size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		struct batch_file file = files[i];

		if (loop->states[numbers[i]] == FILE_DONE) {
			file_refs_done(&file.refs);
			continue;
		}
		files[kept] = file;
		numbers[kept++] = numbers[i];
	}
	return kept;
}

/* One tick's commit; when somebody else was faster, what is left is tried again on top of that. */
static int commit_tick(struct loop *loop, size_t *numbers, struct batch_file *files, size_t *n,
		       struct error *err)
{
	for (int attempt = 0;; attempt++) {
		CLEANUP(batch_freep) struct batch *batch = NULL;
		int r = new_batch(loop, &batch, err);

		if (r == 0)
			r = batch_add(batch, files, *n, err);
		if (r == 0)
			r = commit_batch(loop, batch, err);
		if (r != ERR_CONFLICT || attempt == CONFLICT_RETRIES)
			return r;
		r = filter(loop, err);
		if (r < 0)
			return r;
		*n = drop_done(loop, numbers, files, *n);
		if (*n == 0)
			return 0;
	}
}

static int update_tick(struct loop *loop, size_t *ready, size_t n_ready, struct error *err)
{
	CLEANUP(freep) struct batch_file *files = calloc(n_ready + 1, sizeof(*files));
	uint64_t n_commits = loop->counts.n_commits;
	size_t n;
	int r;

	if (!files)
		return error_memory(err);
	r = resolve(loop, ready, n_ready, files, &n, err);
	if (r < 0)
		return r;
	if (n > 0)
		r = commit_tick(loop, ready, files, &n, err);
	if (r == 0) {
		tell_progress(loop, n, files, n);
		count_files(loop, ready, files, n);
		tell_commit(loop, n_commits);
	}
	files_done(files, n);
	return r;
}

/* One look, and what follows from it. */
static int tick(struct loop *loop, struct error *err)
{
	CLEANUP(freep) size_t *ready = calloc(loop->files.n + 1, sizeof(*ready));
	struct error cause = ERROR_INIT;
	size_t n_ready = 0;
	int r;

	if (!ready)
		return error_memory(err);
	r = find_ready(loop, ready, &n_ready, &cause);
	if (r < 0 && (!loop->options->is_update || r == ERR_MEMORY))
		return error_set(err, r, "%s", cause.text);
	/* A source that does not answer may do so the next time; an update's time is limited. */
	if (r < 0) {
		if (hooks(loop)->trouble)
			hooks(loop)->trouble(cause.text);
		return 0;
	}
	if (n_ready == 0)
		return 0;
	return loop->options->is_update ? update_tick(loop, ready, n_ready, err)
					: backfill(loop, ready, n_ready, err);
}

/* Looks every tick until nothing is pending or the deadline passes. */
static int poll(struct loop *loop, struct error *err)
{
	const struct site *site = loop->options->site;
	int64_t told = time_monotonic();

	for (;;) {
		int64_t start = time_monotonic();
		uint64_t n_pending;
		int r = tick(loop, err);

		if (r < 0)
			return r;
		n_pending = count_pending(loop);
		if (n_pending == 0 || site_now(site) >= loop->options->poll_deadline)
			return 0;
		if (site_interrupted(site))
			return error_set(err, ERR_INTERRUPTED, "asked to stop");
		if (time_monotonic() - told >= HEARTBEAT && hooks(loop)->waiting) {
			told = time_monotonic();
			hooks(loop)->waiting(n_pending);
		}
		site_sleep(site, loop->dataset->schedule.tick - (time_monotonic() - start));
		if (site_interrupted(site))
			return error_set(err, ERR_INTERRUPTED, "asked to stop");
	}
}

/* What nobody has published yet is a reason, too. */
static int note_pending(struct loop *loop, struct error *err)
{
	int r = 0;

	for (size_t i = 0; i < loop->files.n && r == 0; i++) {
		if (loop->states[i] != FILE_PENDING)
			continue;
		loop->counts.n_pending++;
		r = note_outcome(loop, &loop->files.items[i], OUTCOME_NOT_PUBLISHED,
				 slice_text("the source did not have it"), err);
	}
	tell_progress(loop, loop->counts.n_pending, NULL, 0);
	if (r == 0 && loop->options->outcomes)
		r = outcomes_flush(loop->options->outcomes, err);
	return r;
}

static void loop_done(struct loop *loop)
{
	resolver_free(loop->resolver);
	store_free(loop->source);
	source_files_done(&loop->files);
	free(loop->states);
	free(loop->skipped_as);
}

int write_loop_run(const struct write_options *options, const struct job *jobs, size_t n_jobs,
		   struct write_counts *ret_counts, struct error *err)
{
	CLEANUP(loop_done) struct loop loop = {.options = options, .dataset = options->dataset};
	struct error ignored = ERROR_INIT;
	int r = gather(&loop, jobs, n_jobs, err);

	if (r == 0)
		r = filter(&loop, err);
	if (r == 0)
		r = site_open_source(options->site, options->dataset, &loop.source, err);
	if (r == 0)
		r = resolver_new(options->dataset, options->selection, &loop.resolver, err);
	if (r < 0)
		return r;
	loop.ingest = (struct ingest){options->dataset, loop.source, loop.resolver};
	if (hooks(&loop)->total)
		hooks(&loop)->total(loop.files.n);
	tell_progress(&loop, loop.counts.n_present, NULL, 0);
	if (count_pending(&loop) > 0)
		r = options->is_update ? poll(&loop, err) : tick(&loop, err);
	/* Also after a failure: the counts are what people look at, the reasons what they ask for.
	 */
	if (r == 0)
		r = note_pending(&loop, err);
	else
		note_pending(&loop, &ignored);
	*ret_counts = loop.counts;
	return r;
}
