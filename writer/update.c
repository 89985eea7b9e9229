/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/update.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/time.h"
#include "base/vec.h"
#include "writer/batch.h"
#include "writer/metadata.h"
#include "writer/outcomes.h"
#include "writer/schedule.h"

/* Reasons older than this, and than the window, are removed. */
#define OUTCOMES_KEPT (30 * TIME_DAY)

struct update {
	const struct update_options *options;
	const struct dataset *dataset;
	struct targets targets;
	int64_t fire, poll_deadline, deadline;
	uint64_t n; /* positions up to the fire */
};

static int find_fire(struct update *update, struct error *err)
{
	const struct update_options *options = update->options;
	const struct dataset_schedule *schedule = &update->dataset->schedule;
	int64_t grace = options->has_grace ? options->grace : schedule->grace;
	struct schedule parsed;
	int r;

	if (!schedule->update)
		return error_set(err, ERR_ARGUMENT, "'%s' has no schedule", update->dataset->id);
	r = schedule_parse(schedule->update, &parsed, err);
	if (r < 0)
		return r;
	update->fire = schedule_fire(&parsed, site_now(options->site));
	update->deadline =
		update->fire + (options->has_deadline ? options->deadline : schedule->deadline);
	update->poll_deadline = update->deadline - grace;
	update->n = dataset_positions(update->dataset, update->fire);
	return 0;
}

static int check_stores(const struct update *update, struct error *err)
{
	for (size_t i = 0; i < update->targets.n; i++)
		if (!update->targets.items[i].repo)
			return error_set(err, ERR_ABSENT,
					 "%s: there is no repository at '%s'; a backfill makes it",
					 update->targets.items[i].role,
					 update->targets.items[i].store->url);
	return 0;
}

/* Nothing may be written to a store that the definition would corrupt. */
static int guard(const struct update *update, struct error *err)
{
	CLEANUP(template_freep) struct template *template = NULL;
	int r = template_new(update->dataset, update->n, &template, err);

	for (size_t i = 0; i < update->targets.n && r == 0; i++) {
		CLEANUP(checkout_freep) struct checkout *checkout = NULL;
		uint64_t length = 0;

		r = target_checkout(&update->targets.items[i], NULL, &checkout, err);
		if (r == 0)
			r = store_length(update->dataset, checkout, &length, err);
		if (r == 0 && length > update->n)
			r = error_set(err, ERR_CONFLICT,
				      "the store has %llu positions, the fire at hand allows %llu: "
				      "the clock or the definition is behind",
				      (unsigned long long)length, (unsigned long long)update->n);
		if (r == 0)
			r = metadata_guard(template, checkout, true, err);
		if (r < 0)
			return error_prefix(err, "%s", update->targets.items[i].role);
	}
	return r;
}

/* Documents and coordinates of what has been ingested; an extent never grows here. */
static int refresh(struct update *update, struct target *target, struct error *err)
{
	CLEANUP(transaction_freep) struct transaction *transaction = NULL;
	CLEANUP(template_freep) struct template *template = NULL;
	const struct commit_options commit = {.message = "Refresh metadata from template",
					      .rebase = REBASE_DETECT};
	struct id12 id;
	uint64_t length;
	int r = transaction_begin(target->repo, NULL, NULL, &transaction, err);

	if (r == 0)
		r = store_length(update->dataset, transaction_base(transaction), &length, err);
	if (r < 0 || length == 0)
		return r;
	r = template_new(update->dataset, length, &template, err);
	if (r == 0)
		r = metadata_write(template, transaction, err);
	if (r < 0 || transaction_is_empty(transaction))
		return r;
	return transaction_commit(transaction, &commit, &id, NULL, err);
}

static int refresh_all(struct update *update, struct error *err)
{
	int r = 0;

	for (size_t i = update->targets.n; i-- > 0 && r == 0;) {
		r = refresh(update, &update->targets.items[i], err);
		if (r < 0)
			error_prefix(err, "cannot refresh the %s", update->targets.items[i].role);
	}
	return r;
}

struct old_keys {
	int64_t before;
	char **keys;
	size_t n, capacity;
};

static int see_outcome(void *argument, const struct store_entry *entry, struct error *err)
{
	struct old_keys *old = argument;
	char run[TIME_TEXT_MAX];
	struct error ignored = ERROR_INIT;
	int64_t time = entry->info.last_modified;
	size_t n = strcspn(entry->key + strlen(OUTCOMES_FOLDER), "/");
	int r;

	/* A run is named by its fire; other names are as old as their objects. */
	if (n < sizeof(run)) {
		memcpy(run, entry->key + strlen(OUTCOMES_FOLDER), n);
		run[n] = '\0';
		if (n >= 20)
			(void)time_parse(run, 0, &time, &ignored);
	}
	if (time == 0 || time >= old->before)
		return 0;
	r = vec_reserve((void **)&old->keys, &old->capacity, old->n + 1, sizeof(*old->keys), err);
	if (r < 0)
		return r;
	old->keys[old->n] = text_dup(entry->key, err);
	return old->keys[old->n++] ? 0 : ERR_MEMORY;
}

/* Whether old reasons can be removed is no matter of the update's success. */
static void prune_outcomes(const struct update *update)
{
	int64_t window = update->dataset->schedule.window;
	int64_t kept = window > OUTCOMES_KEPT ? window : OUTCOMES_KEPT;
	struct old_keys old = {.before = site_now(update->options->site) - kept};
	struct store *store = update->targets.items[0].store;
	struct error ignored = ERROR_INIT;
	int r = store_list(store, OUTCOMES_FOLDER, false, see_outcome, &old, &ignored);

	for (size_t i = 0; i < old.n; i++) {
		if (r == 0)
			r = store_remove(store, old.keys[i], &ignored);
		free(old.keys[i]);
	}
	free(old.keys);
}

static int ingest(struct update *update, const struct selection *selection,
		  struct write_counts *counts, struct error *err)
{
	CLEANUP(outcomes_freep) struct outcomes *outcomes = NULL;
	const struct dataset *dataset = update->dataset;
	struct job job = {
		.first = dataset_positions(dataset, update->fire - dataset->schedule.window),
		.end = update->n};
	struct write_options write = {.dataset = dataset,
				      .site = update->options->site,
				      .selection = selection,
				      .targets = &update->targets,
				      .branch = "main",
				      .n_positions = update->n,
				      .is_update = true,
				      .poll_deadline = update->poll_deadline,
				      .hooks = update->options->hooks};
	char run[TIME_TEXT_MAX];
	int r;

	time_format_seconds(update->fire, run);
	r = outcomes_new(update->targets.items[0].store, run, 0, &outcomes, err);
	if (r < 0)
		return r;
	write.outcomes = outcomes;
	return write_loop_run(&write, &job, 1, counts, err);
}

static int check(struct update *update, struct error *err)
{
	const struct check_options checks = {
		.dataset = update->dataset,
		.site = update->options->site,
		.targets = &update->targets,
		.window_start = update->fire - update->dataset->schedule.window,
		.end = update->fire,
		.deadline = update->deadline,
		.failed = update->options->failed,
		.argument = update->options->argument,
	};

	return checks_run(&checks, err);
}

static void update_done(struct update *update)
{
	targets_done(&update->targets);
}

int update_run(const struct update_options *options, struct write_counts *ret_counts,
	       struct error *err)
{
	CLEANUP(update_done)
	struct update update = {.options = options, .dataset = options->dataset};
	CLEANUP(selection_done) struct selection selection = {0};
	int r = find_fire(&update, err);

	*ret_counts = (struct write_counts){0};
	if (r == 0)
		r = selection_init(options->dataset, NULL, 0, &selection, err);
	if (r == 0)
		r = targets_open(options->site, options->dataset, false, &update.targets, err);
	if (r == 0)
		r = check_stores(&update, err);
	if (r == 0)
		r = guard(&update, err);
	if (r == 0)
		r = targets_save_policy(&update.targets, options->dataset, err);
	if (r == 0)
		r = refresh_all(&update, err);
	if (r == 0)
		r = ingest(&update, &selection, ret_counts, err);
	if (r < 0)
		return r;
	prune_outcomes(&update);
	return check(&update, err);
}
