/* SPDX-License-Identifier: Apache-2.0 */
#include "repo/repo.h"

#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "repo/internal.h"
#include "repo/preload.h"
#include "repo/slash.h"

#define MANIFEST_BUDGET (UINT64_C(256) << 20)

/* Stores whose drivers in the public library spell names raw: native S3 alone. */
static bool store_encodes_refs(const struct store *store)
{
	return strcmp(store->ops->name, "s3") != 0;
}

static int repo_new(struct store *store, const struct repo_options *options, struct repo **ret_repo,
		    struct error *err)
{
	struct repo *repo = calloc(1, sizeof(*repo));
	uint64_t budget;
	int r;

	if (!repo)
		return error_memory(err);
	if (options)
		repo->options = *options;
	budget = repo->options.manifest_budget ? repo->options.manifest_budget : MANIFEST_BUDGET;
	repo->store = store;
	repo->encodes_refs = store_encodes_refs(store);
	pthread_mutex_init(&repo->lock, NULL);
	contention_init(&repo->contention);
	repo->preload.budget = budget / 2;
	r = manifest_cache_new(store, budget, &repo->cache, err);
	if (r < 0) {
		repo_free(repo);
		return r;
	}
	*ret_repo = repo;
	return 0;
}

struct repo *repo_free(struct repo *repo)
{
	if (!repo)
		return NULL;
	preload_end(repo);
	state_free(repo->state);
	manifest_cache_free(repo->cache);
	contention_done(&repo->contention);
	pthread_mutex_destroy(&repo->lock);
	store_free(repo->slash);
	free(repo);
	return NULL;
}

/* The repo object decides, also where files of spec 1 are left over: an unfinished migration. */
static int repo_detect(struct repo *repo, struct error *err)
{
	struct id12 id;
	int r;

	r = state_load(repo->store, &repo->state, err);
	if (r <= 0) {
		repo->spec = SPEC_2;
		return r;
	}
	r = ref1_load(repo, REF1_BRANCH, MAIN_BRANCH, &id, NULL, NULL, err);
	if (r < 0)
		return r;
	if (r == REPO_ABSENT)
		return error_set(err, ERR_ABSENT, "'%s' is not an Icechunk repository",
				 repo->store->url);
	repo->spec = SPEC_1;
	return state_new(&repo->state, err);
}

static int repo_open_at(struct store *store, const struct repo_options *options,
			struct repo **ret_repo, struct error *err)
{
	CLEANUP(repo_freep) struct repo *repo = NULL;
	int r;

	r = repo_new(store, options, &repo, err);
	if (r == 0)
		r = repo_detect(repo, err);
	if (r == 0)
		*ret_repo = TAKE(repo);
	return r;
}

/* A bucket without a repository may have one whose keys all begin with a slash. */
static int repo_open_slashed(struct store *store, const struct repo_options *options,
			     struct repo **ret_repo, struct error *err)
{
	CLEANUP(store_freep) struct store *slash = NULL;
	int r;

	r = slash_store_new(store, &slash, err);
	if (r == 0)
		r = repo_open_at(slash, options, ret_repo, err);
	if (r == 0)
		(*ret_repo)->slash = TAKE(slash);
	return r;
}

int repo_open(struct store *store, const struct repo_options *options, struct repo **ret_repo,
	      struct error *err)
{
	CLEANUP(repo_freep) struct repo *repo = NULL;
	int r;

	r = repo_open_at(store, options, &repo, err);
	if (r == ERR_ABSENT && slash_is_possible(store))
		r = repo_open_slashed(store, options, &repo, err);
	if (r == ERR_ABSENT)
		return r;
	if (r < 0)
		return error_prefix(err, "cannot open repository '%s'", store->url);
	*ret_repo = TAKE(repo);
	return 0;
}

int repo_spec(const struct repo *repo)
{
	return repo->spec;
}

struct store *repo_store(struct repo *repo)
{
	return repo->store;
}

struct repo_counters repo_counters(const struct repo *repo)
{
	return manifest_cache_counters(repo->cache);
}

/* Asks whether the state is still the newest, which costs no transfer of the object. */
static int state_is_current(struct repo *repo, struct state *state, bool *ret_current,
			    struct error *err)
{
	struct store_info info;
	int r;

	*ret_current = false;
	if (!state->version.text[0])
		return 0;
	r = store_head(repo->store, REPO_KEY, &info, err);
	if (r < 0)
		return r;
	*ret_current = r == 0 && strcmp(info.version.text, state->version.text) == 0;
	return 0;
}

int repo_refresh(struct repo *repo, struct error *err)
{
	CLEANUP(state_freep) struct state *old = repo_state(repo);
	CLEANUP(state_freep) struct state *fresh = NULL;
	bool current;
	int r;

	if (repo->spec == SPEC_1) {
		r = state_new(&fresh, err);
	} else {
		r = state_is_current(repo, old, &current, err);
		if (r < 0 || current)
			return r;
		r = state_load(repo->store, &fresh, err);
		if (r == REPO_ABSENT)
			return error_set(err, ERR_ABSENT, "repository '%s' is gone",
					 repo->store->url);
	}
	if (r < 0)
		return r;
	repo_set_state(repo, TAKE(fresh));
	return 0;
}

static int resolve_ref(struct repo *repo, const struct state *state, enum ref1_kind kind,
		       const char *name, struct id12 *ret_id, struct error *err)
{
	const struct repo_refs *refs = NULL;
	uint32_t i;
	int r;

	if (!state->info) {
		r = ref1_load(repo, kind, name, ret_id, NULL, NULL, err);
	} else if (kind == REF1_BRANCH) {
		refs = &state->info->branches;
		r = repo_info_find_branch(state->info, slice_text(name), &i);
	} else {
		refs = &state->info->tags;
		r = repo_info_find_tag(state->info, slice_text(name), &i);
	}
	if (r == 0 && state->info)
		*ret_id = state->info->snapshots.items[refs->items[i].snapshot].id;
	if (r > 0)
		return error_set(err, ERR_ABSENT, "there is no %s '%s'",
				 kind == REF1_BRANCH ? "branch" : "tag", name);
	return r;
}

/* In spec 2 the repo object lists every snapshot; in spec 1 the file itself is the proof. */
static int resolve_id(const struct state *state, const char *text, struct id12 *ret_id,
		      struct error *err)
{
	uint32_t i;
	int r;

	r = id12_parse_lenient(text, ret_id, err);
	if (r < 0)
		return r;
	if (state->info && repo_info_find_snapshot(state->info, ret_id, &i) != 0)
		return error_set(err, ERR_ABSENT, "there is no snapshot '%s'", text);
	return 0;
}

struct as_of {
	int64_t time;
	bool found;
	struct id12 id;
};

enum { AS_OF_FOUND = ERR_INTERRUPTED };

static int as_of_look(void *argument, const struct history_entry *entry, struct error *err)
{
	struct as_of *as_of = argument;

	(void)err;
	if (entry->written_at > as_of->time)
		return 0;
	as_of->found = true;
	as_of->id = entry->id;
	return AS_OF_FOUND;
}

static int resolve_as_of(struct repo *repo, int64_t time, struct id12 *id, struct error *err)
{
	struct as_of as_of = {.time = time};
	char text[TIME_TEXT_MAX];
	int r;

	r = repo_history(repo, id, as_of_look, &as_of, err);
	if (as_of.found) {
		*id = as_of.id;
		return 0;
	}
	if (r < 0)
		return r;
	time_format_micros(time, text);
	return error_set(err, ERR_ABSENT, "nothing was committed by %s", text);
}

int repo_resolve(struct repo *repo, const struct repo_at *at, struct id12 *ret_id,
		 struct error *err)
{
	CLEANUP(state_freep) struct state *state = repo_state(repo);
	struct id12 id;
	int r;

	if ((at->branch != NULL) + (at->tag != NULL) + (at->snapshot != NULL) > 1 ||
	    (at->has_as_of && (at->tag || at->snapshot)))
		return error_set(err, ERR_ARGUMENT,
				 "more than one of branch, tag, snapshot and time is given");
	if (at->snapshot)
		r = resolve_id(state, at->snapshot, &id, err);
	else if (at->tag)
		r = resolve_ref(repo, state, REF1_TAG, at->tag, &id, err);
	else
		r = resolve_ref(repo, state, REF1_BRANCH, at->branch ? at->branch : MAIN_BRANCH,
				&id, err);
	if (r == 0 && at->has_as_of)
		r = resolve_as_of(repo, at->as_of, &id, err);
	if (r == 0)
		*ret_id = id;
	return r;
}
