/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "repo/internal.h"
#include "repo/refs.h"

void repo_summary_done(struct repo_summary *summary)
{
	for (size_t i = 0; i < summary->n_branches; i++)
		free(summary->branches[i].name);
	for (size_t i = 0; i < summary->n_tags; i++)
		free(summary->tags[i].name);
	free(summary->branches);
	free(summary->tags);
	free(summary->status_reason);
	free(summary->config);
	*summary = (struct repo_summary){0};
}

static int summary_add(struct ref_entry **entries, size_t *n, struct slice name,
		       const struct id12 *id, struct error *err)
{
	struct ref_entry *grown = realloc(*entries, (*n + 1) * sizeof(**entries));

	if (!grown)
		return error_memory(err);
	*entries = grown;
	grown[*n] = (struct ref_entry){slice_dup(name, err), *id};
	if (!grown[*n].name)
		return ERR_MEMORY;
	(*n)++;
	return 0;
}

static int summary_refs2(const struct repo_info *info, const struct repo_refs *refs,
			 struct ref_entry **entries, size_t *n, struct error *err)
{
	for (size_t i = 0; i < refs->n; i++) {
		const struct repo_ref *ref = &refs->items[i];
		int r = summary_add(entries, n, ref->name, &info->snapshots.items[ref->snapshot].id,
				    err);

		if (r < 0)
			return r;
	}
	return 0;
}

static int summary2(const struct repo_info *info, struct repo_summary *summary, struct error *err)
{
	int r;

	summary->status = repo_availability_name(info->status.availability);
	if (info->status.reason.data) {
		summary->status_reason = slice_dup(info->status.reason, err);
		if (!summary->status_reason)
			return ERR_MEMORY;
	}
	summary->n_snapshots = info->snapshots.n;
	r = summary_refs2(info, &info->branches, &summary->branches, &summary->n_branches, err);
	if (r < 0)
		return r;
	return summary_refs2(info, &info->tags, &summary->tags, &summary->n_tags, err);
}

static int summary_refs1(struct repo *repo, const struct ref1_list *refs,
			 struct repo_summary *summary, struct error *err)
{
	for (size_t i = 0; i < refs->n; i++) {
		const struct ref1 *ref = &refs->items[i];
		struct id12 id;
		int r;

		if (ref->deleted)
			continue;
		r = ref1_load(repo, ref->kind, ref->name, &id, NULL, NULL, err);
		if (r < 0)
			return r;
		if (r == REPO_ABSENT) /* went since it was listed */
			continue;
		if (ref->kind == REF1_BRANCH)
			r = summary_add(&summary->branches, &summary->n_branches,
					slice_text(ref->name), &id, err);
		else
			r = summary_add(&summary->tags, &summary->n_tags, slice_text(ref->name),
					&id, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int summary1(struct repo *repo, struct repo_summary *summary, struct error *err)
{
	CLEANUP(ref1_list_free) struct ref1_list refs = {0};
	CLEANUP(id_set_done) struct id_set seen = ID_SET_INIT;
	int r;

	summary->status = repo_availability_name(REPO_ONLINE);
	r = ref1_list_load(repo, &refs, err);
	if (r == 0)
		r = summary_refs1(repo, &refs, summary, err);
	for (size_t i = 0; r == 0 && i < summary->n_branches; i++)
		r = ancestry1_collect(repo, &summary->branches[i].id, &seen, err);
	for (size_t i = 0; r == 0 && i < summary->n_tags; i++)
		r = ancestry1_collect(repo, &summary->tags[i].id, &seen, err);
	summary->n_snapshots = seen.n;
	return r;
}

/* A migration that was not finished leaves them; programs of spec 1 would commit there. */
static int summary_leftovers(struct repo *repo, struct repo_summary *summary, struct error *err)
{
	struct store_info info;
	int r = store_head(repo->store, "refs/branch.main/ref.json", &info, err);

	summary->has_leftovers = r == 0;
	return r < 0 ? r : 0;
}

int repo_summary(struct repo *repo, struct repo_summary *ret_summary, struct error *err)
{
	CLEANUP(repo_summary_done) struct repo_summary summary = {.spec = repo->spec};
	CLEANUP(state_freep) struct state *state = repo_state(repo);
	const struct config *config;
	int r;

	r = state->info ? summary2(state->info, &summary, err) : summary1(repo, &summary, err);
	if (r == 0 && state->info)
		r = summary_leftovers(repo, &summary, err);
	if (r == 0)
		r = state_config(repo, state, &config, err);
	if (r < 0)
		return r;
	summary.config = slice_dup(config_json(config), err);
	if (!summary.config)
		return ERR_MEMORY;
	*ret_summary = summary;
	summary = (struct repo_summary){0};
	return 0;
}
