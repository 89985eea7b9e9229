/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/backfill.h"

#include <stdio.h>

#include "base/json.h"
#include "base/random.h"
#include "base/text.h"
#include "base/time.h"
#include "repo/refs.h"
#include "writer/batch.h"
#include "writer/metadata.h"

#define JOB "local"
#define BRANCH "_job_" JOB
/* Member of the first commit's metadata that says where main was. */
#define BASE_MEMBER "refmt_job_base"
/* Two backfills of one store share the branch; whoever loses a race to the other begins again. */
#define ATTEMPTS 10
#define PAUSE (TIME_SECOND / 5)

struct backfill {
	const struct backfill_options *options;
	struct targets targets;
	struct template *template;
	struct job_list jobs;
	uint64_t length; /* of the published store; 0: there is none yet */
	uint64_t n;	 /* positions asked for */
	bool is_raced;	 /* what failed may work from the new state of the branch */
};

static void backfill_done(struct backfill *backfill)
{
	template_free(backfill->template);
	job_list_done(&backfill->jobs);
	targets_done(&backfill->targets);
}

/* Is there a dataset on main? */
static int published_length(struct backfill *backfill, struct checkout *checkout, struct error *err)
{
	struct node root;

	/* A repository that was only created has no root group. */
	if (checkout_find(checkout, "/", &root) == REPO_ABSENT && checkout_n_nodes(checkout) == 0)
		return 0;
	return store_length(backfill->options->dataset, checkout, &backfill->length, err);
}

static int find_extent(struct backfill *backfill, struct error *err)
{
	const struct backfill_options *options = backfill->options;
	int64_t end = options->has_end ? options->end : site_now(options->site);

	end -= ((end % TIME_SECOND) + TIME_SECOND) % TIME_SECOND;
	backfill->n = !options->has_end && backfill->length > 0
			      ? backfill->length
			      : dataset_positions(options->dataset, end);
	if (backfill->n == 0)
		return error_set(err, ERR_ARGUMENT,
				 "the end is not after the first position of '%s'",
				 options->dataset->id);
	if (backfill->n < backfill->length)
		return error_set(err, ERR_ARGUMENT,
				 "the store has %llu positions, the end asks for %llu: a store "
				 "never becomes shorter",
				 (unsigned long long)backfill->length,
				 (unsigned long long)backfill->n);
	return 0;
}

/* URLs that leave out what tells positions apart show it within a few of them. */
#define JOBS_CHECKED 8

static int check_urls(const struct backfill *backfill, struct error *err)
{
	const struct backfill_options *options = backfill->options;
	CLEANUP(source_files_done) struct source_files files = {0};
	int r = 0;

	for (size_t i = 0; i < backfill->jobs.n && i < JOBS_CHECKED && r == 0; i++)
		r = source_files_generate(options->dataset, options->selection,
					  backfill->jobs.items[i].first,
					  backfill->jobs.items[i].end, &files, err);
	return r < 0 ? r : source_files_check(&files, err);
}

/* All that can be wrong with what was asked for is found before anything is written. */
static int prepare(struct backfill *backfill, struct error *err)
{
	const struct backfill_options *options = backfill->options;
	CLEANUP(checkout_freep) struct checkout *checkout = NULL;
	int r = target_checkout(&backfill->targets.items[0], NULL, &checkout, err);

	if (r == 0)
		r = published_length(backfill, checkout, err);
	if (r == 0)
		r = find_extent(backfill, err);
	if (r == 0)
		r = jobs_make(options->dataset, backfill->n, &options->filters, &backfill->jobs,
			      err);
	if (r == 0 && backfill->jobs.n == 0)
		return error_set(err, ERR_ARGUMENT, "the filters select nothing of '%s'",
				 options->dataset->id);
	if (r == 0)
		r = check_urls(backfill, err);
	if (r == 0)
		r = template_new(options->dataset, backfill->n, &backfill->template, err);
	if (r == 0 && backfill->length > 0)
		r = metadata_guard(backfill->template, checkout, options->overwrite_metadata, err);
	return r;
}

struct base_search {
	const struct id12 *main;
	bool found, passes_main;
	char id[ID12_TEXT_LEN + 1];
};

static int look_for_base(void *argument, const struct history_entry *entry, struct error *err)
{
	struct base_search *search = argument;
	CLEANUP(freep) char *text = NULL;
	struct json metadata, base;

	search->passes_main = search->passes_main || id12_equal(&entry->id, search->main);
	if (entry->metadata.size == 0 || json_parse(entry->metadata, &metadata, err) < 0 ||
	    json_get(&metadata, BASE_MEMBER, &base) != 0)
		return 0;
	if (json_dup(&base, &text, err) < 0 || strlen(text) != ID12_TEXT_LEN)
		return error_set(err, ERR_FORMAT, "branch '" BRANCH "' records no usable base");
	snprintf(search->id, sizeof(search->id), "%s", text);
	search->found = true;
	/* The newest is that of this branch; older ones belong to backfills that were published. */
	return ERR_INTERRUPTED;
}

/* State of one target's branch. */
struct job_branch {
	bool exists, has_base; /* has_base: its first commit is made */
	struct id12 tip, main, base;
};

/* The result of a step that another backfill can have beaten us to. */
static int racing(struct backfill *backfill, int r)
{
	backfill->is_raced = backfill->is_raced || r == ERR_CONFLICT || r == ERR_ABSENT;
	return r;
}

/* Deletes the branch; it may be gone. */
static int delete_branch(struct target *target, struct error *err)
{
	struct error cause = ERROR_INIT;
	int r = repo_branch_delete(target->repo, BRANCH, &cause);

	return r < 0 && r != ERR_ABSENT ? error_set(err, r, "%s", cause.text) : 0;
}

static int look_at_branch(struct target *target, struct job_branch *branch, struct error *err)
{
	const struct repo_at at_branch = {.branch = BRANCH}, at_main = {0};
	struct base_search search = {.main = &branch->main};
	struct error cause = ERROR_INIT;
	int r = repo_refresh(target->repo, err);

	if (r == 0)
		r = repo_resolve(target->repo, &at_main, &branch->main, err);
	if (r < 0)
		return r;
	r = repo_resolve(target->repo, &at_branch, &branch->tip, &cause);
	if (r == ERR_ABSENT)
		return 0;
	if (r < 0)
		return error_set(err, r, "%s", cause.text);
	branch->exists = true;
	r = repo_history(target->repo, &branch->tip, look_for_base, &search, err);
	branch->has_base = search.found;
	/* Another backfill has published a part of the branch and not deleted it yet. */
	if (search.passes_main) {
		branch->base = branch->main;
		return 0;
	}
	if (search.found)
		return id12_parse(search.id, &branch->base, err);
	if (r < 0)
		return r;
	/* Created, and ended before the first commit: nothing is on it. */
	branch->base = branch->tip;
	return 0;
}

static int first_commit(struct backfill *backfill, struct target *target, const struct id12 *base,
			bool is_resumed, struct error *err)
{
	CLEANUP(transaction_freep) struct transaction *transaction = NULL;
	struct commit_options options = {.message = "Expand dataset", .allow_empty = true};
	char text[ID12_TEXT_LEN + 1], metadata[sizeof(BASE_MEMBER) + ID12_TEXT_LEN + 16];
	struct id12 id;
	int r = transaction_begin(target->repo, BRANCH, NULL, &transaction, err);

	if (r == 0)
		r = metadata_write(backfill->template, transaction, err);
	if (r == ERR_CONFLICT)
		return error_prefix(err, "the backfill begun on branch '" BRANCH "' goes further");
	if (r < 0 || (is_resumed && transaction_is_empty(transaction)))
		return r;
	id12_format(base, text);
	snprintf(metadata, sizeof(metadata), "{\"" BASE_MEMBER "\":\"%s\"}", text);
	options.metadata = slice_text(metadata);
	return transaction_commit(transaction, &options, &id, NULL, err);
}

/* Goes on with the branch of a backfill that was cut short, or begins one at main. */
static int begin_branch(struct backfill *backfill, struct target *target, struct error *err)
{
	struct job_branch branch = {0};
	int r = look_at_branch(target, &branch, err);

	if (r < 0)
		return r;
	/* Published, and ended before the branch was deleted. */
	if (branch.exists && id12_equal(&branch.main, &branch.tip)) {
		r = delete_branch(target, err);
		if (r < 0)
			return r;
		branch.exists = branch.has_base = false;
	}
	if (branch.exists && !id12_equal(&branch.main, &branch.base))
		return error_set(err, ERR_CONFLICT,
				 "main has moved since the backfill on branch '" BRANCH
				 "' began; delete that branch to begin again");
	if (!branch.exists) {
		branch.base = branch.main;
		r = racing(backfill, repo_branch_create(target->repo, BRANCH, &branch.main, err));
	}
	return r < 0 ? r
		     : racing(backfill,
			      first_commit(backfill, target, &branch.base, branch.has_base, err));
}

/* How many files all jobs have; eras hardly change their number. */
static int tell_total(const struct backfill *backfill, struct error *err)
{
	const struct backfill_options *options = backfill->options;
	const struct job *first = &backfill->jobs.items[0];
	CLEANUP(source_files_done) struct source_files files = {0};
	int r;

	if (!options->hooks || !options->hooks->total)
		return 0;
	r = source_files_generate(options->dataset, options->selection, first->first,
				  first->first + 1, &files, err);
	if (r == 0)
		options->hooks->total(files.n * (first->end - first->first) * backfill->jobs.n);
	return r;
}

static int work(struct backfill *backfill, struct outcomes *outcomes, struct write_counts *counts,
		struct error *err)
{
	const struct backfill_options *options = backfill->options;
	uint64_t n_workers = (backfill->jobs.n + options->jobs_per_pod - 1) / options->jobs_per_pod;
	struct write_hooks hooks = options->hooks ? *options->hooks : (struct write_hooks){0};
	struct write_options write = {.dataset = options->dataset,
				      .site = options->site,
				      .selection = options->selection,
				      .targets = &backfill->targets,
				      .branch = BRANCH,
				      .n_positions = backfill->n,
				      .overwrite_chunks = options->overwrite_chunks,
				      .outcomes = outcomes,
				      .hooks = &hooks};
	int told = tell_total(backfill, err);

	if (told < 0)
		return told;
	hooks.total = NULL; /* that of one worker says little */
	for (uint64_t w = 0; w < n_workers; w++) {
		struct write_counts more = {0};
		size_t first, end;
		int r = jobs_assign(backfill->jobs.n, w, n_workers, &first, &end, err);

		if (r == 0)
			r = racing(backfill, write_loop_run(&write, backfill->jobs.items + first,
							    end - first, &more, err));
		counts->n_files += more.n_files;
		counts->n_present += more.n_present;
		counts->n_ingested += more.n_ingested;
		counts->n_skipped += more.n_skipped;
		counts->n_pending += more.n_pending;
		counts->n_refs += more.n_refs;
		counts->n_missing += more.n_missing;
		counts->n_commits += more.n_commits;
		if (r < 0)
			return r;
	}
	return 0;
}

/* Did the branch change anything?  Its snapshot then has other content than main's. */
static int branch_changed(struct target *target, const struct job_branch *branch, bool *ret_changed,
			  struct error *err)
{
	CLEANUP(checkout_freep) struct checkout *before = NULL, *after = NULL;
	int r = repo_checkout(target->repo, &branch->base, &before, err);

	if (r == 0)
		r = repo_checkout(target->repo, &branch->tip, &after, err);
	if (r < 0)
		return r;
	*ret_changed = checkout_n_nodes(before) != checkout_n_nodes(after);
	for (uint32_t i = 0; !*ret_changed && i < checkout_n_nodes(after); i++) {
		struct node old, new;

		checkout_node(before, i, &old);
		checkout_node(after, i, &new);
		*ret_changed = !slice_equal(old.path, new.path) ||
			       !slice_equal(old.document, new.document) ||
			       (new.is_array &&checkout_epoch(before, &old) !=
				checkout_epoch(after, &new));
	}
	return 0;
}

/* Makes the work visible on one target and removes the branch. */
static int publish(struct backfill *backfill, struct target *target, struct error *err)
{
	struct job_branch branch = {0};
	bool changed = false;
	int r = look_at_branch(target, &branch, err);

	/* Another backfill published it before our last commit, or somebody deleted it. */
	if (r == 0 && !branch.exists)
		return racing(backfill,
			      error_set(err, ERR_CONFLICT,
					"branch '" BRANCH "' is gone; another backfill of the "
					"store ended meanwhile: run this one again"));
	/* Another one has published it with our last commit. */
	if (r == 0 && id12_equal(&branch.main, &branch.tip))
		return delete_branch(target, err);
	if (r == 0)
		r = branch_changed(target, &branch, &changed, err);
	/* A backfill with nothing to do leaves no snapshot behind. */
	if (r == 0 && changed)
		r = repo_branch_reset(target->repo, "main", &branch.tip, &branch.base, err);
	if (r == ERR_CONFLICT)
		return racing(backfill,
			      error_prefix(err, "main has moved since the backfill began"));
	return r < 0 ? r : delete_branch(target, err);
}

static int run_once(const struct backfill_options *options, struct write_counts *ret_counts,
		    bool *ret_raced, struct error *err)
{
	CLEANUP(backfill_done) struct backfill backfill = {.options = options};
	CLEANUP(outcomes_freep) struct outcomes *outcomes = NULL;
	int r = targets_open(options->site, options->dataset, true, &backfill.targets, err);

	*ret_counts = (struct write_counts){0};
	if (r == 0)
		r = prepare(&backfill, err);
	if (r == 0)
		r = targets_save_policy(&backfill.targets, options->dataset, err);
	for (size_t i = 0; i < backfill.targets.n && r == 0; i++) {
		r = begin_branch(&backfill, &backfill.targets.items[i], err);
		if (r < 0)
			error_prefix(err, "%s", backfill.targets.items[i].role);
	}
	if (r == 0)
		r = outcomes_new(backfill.targets.items[0].store, JOB, 0, &outcomes, err);
	if (r == 0)
		r = work(&backfill, outcomes, ret_counts, err);
	for (size_t i = backfill.targets.n; r == 0 && i-- > 0;) {
		r = publish(&backfill, &backfill.targets.items[i], err);
		if (r < 0)
			error_prefix(err, "%s", backfill.targets.items[i].role);
	}
	*ret_raced = backfill.is_raced;
	return r;
}

int backfill_local(const struct backfill_options *options, struct write_counts *ret_counts,
		   struct error *err)
{
	for (int attempt = 1;; attempt++) {
		struct error cause = ERROR_INIT;
		bool is_raced = false;
		int r = run_once(options, ret_counts, &is_raced, &cause);

		if (r == 0)
			return 0;
		if (!is_raced || attempt == ATTEMPTS || site_interrupted(options->site))
			return error_set(err, r, "%s", cause.text);
		if (options->hooks && options->hooks->trouble)
			options->hooks->trouble(cause.text);
		/* Two that begin again at once would meet at the same place. */
		site_sleep(options->site, (int64_t)(random_unit() * attempt * (double)PAUSE));
	}
}
