/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Where a writer command works: stores, mirrors of the sources, the clock
 *
 * Everything that tests and sites may put in place of what a definition says.  A site lends its
 * texts.  Threads: any may read.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/vec.h"
#include "repo/repo.h"
#include "store/store.h"
#include "writer/dataset.h"

struct site_mirror {
	const char *prefix;
	const char *url; /* a path or file: URL; http(s): an endpoint with the bucket in its path */
};

struct site {
	const char *primary; /* URL of the store; NULL: the definition's */
	const char *const *replicas;
	size_t n_replicas;
	const struct site_mirror *mirrors; /* of source containers */
	size_t n_mirrors;
	struct store_options store; /* of primary and replicas */
	int64_t clock_offset; /* microseconds that the program's clock is ahead of time_now() */
	bool (*interrupted)(void); /* NULL: never */
	/* Sleeps microseconds, less if a signal comes; NULL: plainly. */
	bool (*sleep)(int64_t duration);
};

/* The program's clock. */
int64_t site_now(const struct site *site);
bool site_interrupted(const struct site *site);
void site_sleep(const struct site *site, int64_t duration);

/*
 * Opens the store of the dataset's source container, anonymously; a key is what follows the root of
 * a location (store/container.h).
 */
int site_open_source(const struct site *site, const struct dataset *dataset,
		     struct store **ret_store, struct error *err);

/* One repository that is written: the primary, or a replica. */
struct target {
	char role[40]; /* "primary", "replica-0" ... */
	struct store *store;
	struct repo *repo; /* NULL: there is no repository yet */
};

struct targets {
	struct target *items; /* the primary first */
	size_t n;
};

/*
 * Opens primary and replicas.  With @create, those that do not exist are made, configured to the
 * dataset's policy.  Without, their repo is NULL.
 */
int targets_open(const struct site *site, const struct dataset *dataset, bool create,
		 struct targets *ret_targets, struct error *err);
void targets_done(struct targets *targets);

/* Saves the dataset's policy in every repository whose configuration says otherwise. */
int targets_save_policy(struct targets *targets, const struct dataset *dataset, struct error *err);

/* Tip of @branch of one target, loaded.  ERR_ABSENT: no such branch. */
int target_checkout(struct target *target, const char *branch, struct checkout **ret_checkout,
		    struct error *err);
