/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/site.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/text.h"
#include "base/time.h"
#include "repo/refs.h"
#include "store/container.h"
#include "writer/policy.h"

#define CONFIG_MAX (1U << 20)
/* Format 2 of repositories, which all public libraries from 2025 on read and write. */
#define SPEC 2
/*
 * A writer reads a manifest to write it again, once: a cache of them serves nothing.  Each one in
 * flight costs its decoded and its new bytes, some 15 MB where the splits are half full.
 */
static const struct repo_options writer_options = {.manifest_budget = 16U << 20, .concurrency = 4};

int64_t site_now(const struct site *site)
{
	return time_now() + site->clock_offset;
}

bool site_interrupted(const struct site *site)
{
	return site->interrupted && site->interrupted();
}

void site_sleep(const struct site *site, int64_t duration)
{
	struct timespec time = {.tv_sec = duration / TIME_SECOND,
				.tv_nsec = duration % TIME_SECOND * 1000};

	if (duration <= 0)
		return;
	if (site->sleep)
		site->sleep(duration);
	else
		nanosleep(&time, NULL);
}

/* The region that the container is registered with. */
static int container_region(const struct dataset *dataset, char **ret_region, struct error *err)
{
	for (size_t i = 0; i < dataset->n_containers; i++) {
		struct json store, region;

		if (!text_starts(dataset->files.container, dataset->containers[i].prefix))
			continue;
		if (json_parse(dataset->containers[i].store, &store, err) == 0 &&
		    json_path(&store, &region, "s3", "region", NULL) == 0 &&
		    region.type == JSON_STRING)
			return json_dup(&region, ret_region, err);
	}
	*ret_region = NULL;
	return 0;
}

/* Where a mirror has the container, which may lie below what it names; NULL: not there. */
static int find_mirror(const struct site *site, const char *container, char **ret_url,
		       struct error *err)
{
	*ret_url = NULL;
	for (size_t i = 0; i < site->n_mirrors; i++) {
		const struct site_mirror *mirror = &site->mirrors[i];
		size_t n = strlen(mirror->prefix);

		if (!text_starts(container, mirror->prefix) ||
		    (n > 0 && mirror->prefix[n - 1] != '/' && container[n] != '/'))
			continue;
		*ret_url = text_printf(err, "%s%s%s", mirror->url,
				       text_ends(mirror->url, "/") || !container[n] ? "" : "/",
				       container + n + (container[n] == '/'));
		return *ret_url ? 0 : ERR_MEMORY;
	}
	return 0;
}

int site_open_source(const struct site *site, const struct dataset *dataset,
		     struct store **ret_store, struct error *err)
{
	const char *container = dataset->files.container;
	struct store_options options = {.anonymous = true, .read_only = true};
	CLEANUP(freep) char *region = NULL;
	CLEANUP(freep) char *mapped = NULL;
	int r = container_region(dataset, &region, err);

	if (r == 0)
		r = find_mirror(site, container, &mapped, err);
	if (r < 0)
		return r;
	options.region = region;
	return store_open_container(container, mapped, &options, ret_store, err);
}

static int create_repo(struct store *store, const struct dataset *dataset, struct error *err)
{
	CLEANUP(buf_done) struct buf policy = BUF_INIT(CONFIG_MAX);
	int r = policy_write(dataset, &policy, err);

	return r < 0 ? r : repo_create(store, SPEC, buf_slice(&policy), err);
}

static int open_target(struct target *target, const char *url, const struct site *site,
		       const struct dataset *dataset, bool create, struct error *err)
{
	struct error absent = ERROR_INIT;
	int r = store_open(url, &site->store, &target->store, err);

	if (r < 0)
		return r;
	r = repo_open(target->store, &writer_options, &target->repo, &absent);
	if (r == ERR_ABSENT && !create)
		return 0;
	if (r == ERR_ABSENT) {
		r = create_repo(target->store, dataset, err);
		if (r < 0 && r != ERR_CONFLICT)
			return r;
		/* Another writer may have created it at the same time. */
		if (repo_open(target->store, &writer_options, &target->repo, &absent) == 0)
			return 0;
		return r < 0 ? r : error_set(err, absent.kind, "%s", absent.text);
	}
	return r < 0 ? error_set(err, r, "%s", absent.text) : 0;
}

int targets_open(const struct site *site, const struct dataset *dataset, bool create,
		 struct targets *ret_targets, struct error *err)
{
	CLEANUP(targets_done) struct targets targets = {0};
	const char *primary = site->primary ? site->primary : dataset->primary;
	/* Overriding the primary alone must not send a test's data to the published replicas. */
	size_t n_replicas = site->n_replicas > 0 ? site->n_replicas
			    : site->primary	 ? 0
						 : dataset->replicas.n;
	const char *const *replicas = site->n_replicas > 0
					      ? site->replicas
					      : (const char *const *)dataset->replicas.items;

	if (!primary)
		return error_set(err, ERR_ARGUMENT, "'%s' names no store to write to", dataset->id);
	targets.items = calloc(n_replicas + 1, sizeof(*targets.items));
	if (!targets.items)
		return error_memory(err);
	for (size_t i = 0; i <= n_replicas; i++) {
		struct target *target = &targets.items[targets.n++];
		int r;

		if (i == 0)
			snprintf(target->role, sizeof(target->role), "primary");
		else
			snprintf(target->role, sizeof(target->role), "replica-%zu", i - 1);
		r = open_target(target, i == 0 ? primary : replicas[i - 1], site, dataset, create,
				err);
		if (r < 0)
			return error_prefix(err, "%s", target->role);
	}
	*ret_targets = targets;
	targets = (struct targets){0};
	return 0;
}

void targets_done(struct targets *targets)
{
	for (size_t i = 0; i < targets->n; i++) {
		repo_free(targets->items[i].repo);
		store_free(targets->items[i].store);
	}
	free(targets->items);
	*targets = (struct targets){0};
}

int targets_save_policy(struct targets *targets, const struct dataset *dataset, struct error *err)
{
	CLEANUP(buf_done) struct buf policy = BUF_INIT(CONFIG_MAX);
	int r = policy_write(dataset, &policy, err);

	for (size_t i = 0; i < targets->n && r == 0; i++) {
		CLEANUP(buf_done) struct buf stored = BUF_INIT(CONFIG_MAX);
		CLEANUP(buf_done) struct buf merged = BUF_INIT(CONFIG_MAX);

		r = repo_config_get(targets->items[i].repo, &stored, err);
		if (r == 0)
			r = policy_merge(buf_slice(&stored), buf_slice(&policy), &merged, err);
		if (r == 0)
			r = repo_config_set(targets->items[i].repo, buf_slice(&merged), err);
		if (r < 0)
			return error_prefix(err, "cannot configure the %s", targets->items[i].role);
	}
	return r;
}

int target_checkout(struct target *target, const char *branch, struct checkout **ret_checkout,
		    struct error *err)
{
	const struct repo_at at = {.branch = branch};
	struct id12 id;
	int r = repo_refresh(target->repo, err);

	if (r == 0)
		r = repo_resolve(target->repo, &at, &id, err);
	if (r == 0)
		r = repo_checkout(target->repo, &id, ret_checkout, err);
	return r;
}
