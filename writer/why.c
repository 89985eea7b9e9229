/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/why.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "writer/outcomes.h"
#include "writer/source-file.h"
#include "zarr/grid.h"

/* Splits "a/b/c/0/1" into the variable and its chunk index. */
static int parse_key(const struct dataset *dataset, const char *key, uint32_t *ret_variable,
		     uint32_t *ret_index, struct error *err)
{
	const struct zarr_keys keys = {.separator = '/'};

	while (*key == '/')
		key++;
	for (uint32_t v = 0; v < dataset->n_variables; v++) {
		const char *path = dataset->variables[v].path;
		uint32_t n_dims = dataset->groups[dataset->variables[v].group].n_dims;
		size_t n = strlen(path);

		if (strncmp(key, path, n) != 0 || key[n] != '/')
			continue;
		if (zarr_key_parse(&keys, n_dims, slice_text(key + n + 1), ret_index) == 0) {
			*ret_variable = v;
			return 0;
		}
	}
	return error_set(err, ERR_ARGUMENT, "'%s' is no chunk of a variable of '%s'", key,
			 dataset->id);
}

static int look(const struct dataset *dataset, struct repo *repo, uint32_t variable,
		const uint32_t *index, struct why *why, struct error *err)
{
	CLEANUP(checkout_freep) struct checkout *checkout = NULL;
	CLEANUP(chunk_done) struct chunk chunk = {0};
	CLEANUP(freep) char *path = text_printf(err, "/%s", dataset->variables[variable].path);
	const struct repo_at at = {0};
	struct node node;
	struct id12 id;
	int r = path ? repo_resolve(repo, &at, &id, err) : ERR_MEMORY;

	if (r == 0)
		r = repo_checkout(repo, &id, &checkout, err);
	if (r < 0 || checkout_find(checkout, path, &node) != 0)
		return r;
	for (uint32_t d = 0; d < node.n_dims; d++) {
		uint64_t length;
		uint32_t chunks;

		checkout_dim(checkout, &node, d, &length, &chunks);
		if (index[d] >= chunks)
			return 0;
	}
	r = checkout_locate(checkout, &node, index, &chunk, err);
	if (r != 0)
		return r < 0 ? r : 0;
	why->known = true;
	snprintf(why->reason, sizeof(why->reason), "present");
	if (chunk.ref.kind != CHUNK_VIRTUAL)
		return 0;
	why->url = slice_dup(chunk.ref.location, err);
	return why->url ? 0 : ERR_MEMORY;
}

/* "path", or "path[level]" as the list of missing records has it. */
static int record_name(const struct dataset *dataset, uint32_t variable, const uint32_t *labels,
		       struct buf *out, struct error *err)
{
	int level = dataset->groups[dataset->variables[variable].group].level;
	int r = buf_append_text(out, dataset->variables[variable].path, err);

	if (r < 0 || level < 0)
		return r;
	r = buf_append_text(out, "[", err);
	if (r == 0)
		r = pattern_level(dataset->dims[level].labels[labels[level]], out, err);
	return r < 0 ? r : buf_append_text(out, "]", err);
}

/* A reason that the definition knows. */
static int decided(struct why *why, enum outcome outcome, const char *detail, struct error *err)
{
	why->known = true;
	snprintf(why->reason, sizeof(why->reason), "%s", outcome_name(outcome));
	why->detail = text_dup(detail, err);
	return why->detail ? 0 : ERR_MEMORY;
}

static int look_up_reason(const struct dataset *dataset, struct repo *repo, uint32_t variable,
			  const uint32_t *index, struct why *why, struct error *err)
{
	const struct dataset_group *group = &dataset->groups[dataset->variables[variable].group];
	CLEANUP(buf_done) struct buf record = BUF_INIT(8192);
	struct source_file file = {0};
	struct outcome_found found = {0};
	uint32_t labels[DATASET_DIMS_MAX] = {0};
	uint64_t position = 0;
	const char *name;
	int r;

	for (uint32_t i = 0; i < group->n_dims; i++) {
		const struct dataset_dim *dim = &dataset->dims[group->dims[i]];
		uint64_t place = index[i] * dim->chunk;

		if (group->dims[i] == dataset->append)
			position = place;
		else if (place < dim->size)
			labels[group->dims[i]] = (uint32_t)place;
		else
			return error_set(err, ERR_ARGUMENT, "there is no such chunk: '%s' has %llu",
					 dim->name, (unsigned long long)dim->size);
	}
	r = record_name(dataset, variable, labels, &record, err);
	if (r == 0)
		r = source_file_of(dataset, variable, position, labels, &file, err);
	if (r < 0)
		return r;
	if (r > 0)
		return decided(why, OUTCOME_NOT_IN_FILE, "no source file is expected to hold it",
			       err);
	why->url = TAKE(file.url);
	if (source_file_is_meaningless(dataset, &file, variable))
		r = decided(why, OUTCOME_NOT_MEANINGFUL, "its message at lead 0 is no data", err);
	source_file_done(&file);
	if (r < 0 || why->known)
		return r;
	name = buf_text(&record, err);
	if (!name)
		return ERR_MEMORY;
	r = outcomes_find(repo_store(repo), why->url, name, &found, err);
	if (r != 0)
		return r < 0 ? r : 0;
	why->known = true;
	snprintf(why->reason, sizeof(why->reason), "%s", found.reason);
	snprintf(why->at, sizeof(why->at), "%s", found.at);
	why->detail = TAKE(found.detail);
	return 0;
}

int why_find(const struct dataset *dataset, struct repo *repo, const char *key, struct why *ret_why,
	     struct error *err)
{
	uint32_t index[ZARR_DIMS_MAX], variable = 0;
	struct why why = {0};
	int r = parse_key(dataset, key, &variable, index, err);

	if (r == 0)
		r = look(dataset, repo, variable, index, &why, err);
	if (r == 0 && !why.known)
		r = look_up_reason(dataset, repo, variable, index, &why, err);
	if (r < 0) {
		why_done(&why);
		return r;
	}
	*ret_why = why;
	return 0;
}

void why_done(struct why *why)
{
	free(why->url);
	free(why->detail);
	*why = (struct why){0};
}
