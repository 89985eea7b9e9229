/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Following virtual references: containers, permission, mirrors
 *
 * A location is followed if a container of the repository covers it and either that container's
 * store is s3, gs, az or https at a public address (anonymously), or an allowance covers it
 * (docs/ARCHITECTURE.md, decision 7).  A location is a name, not a URL to decode (decision 8).
 *
 * Threads: a sources may be shared.
 */

#include "repo/repo.h"

struct allowance {
	const char *prefix;	/* container prefix; covers what is below, at a path boundary */
	const char *credential; /* "anonymous", "env", "profile:NAME" */
};

struct mirror {
	const char *prefix; /* container prefix */
	const char *url;    /* where its objects are really fetched from */
};

struct source_options {
	const struct allowance *allow;
	size_t n_allow;
	const struct mirror *mirrors; /* each is a permission for what it names */
	size_t n_mirrors;
	bool no_default_allow;
	bool no_virtual;
	bool percent_locations; /* percent-decode object names first */
	uint32_t timeout_ms;	/* of one read, 0 = 60 000 */
};

struct sources;

/* Copies what it needs of @options; borrows @repo, whose containers it uses. */
int sources_new(struct repo *repo, const struct source_options *options,
		struct sources **ret_sources, struct error *err);
struct sources *sources_free(struct sources *sources);
DEFINE_CLEANUP(struct sources *, sources_free)

/* Where the bytes of a location lie: a store kept by the sources, and a key the caller frees. */
struct source {
	struct store *store;
	char *key;
};

/*
 * ERR_DENIED when the location may not be followed, with the reason and the option that would
 * allow it; ERR_FORMAT when it cannot be understood.  No network traffic.
 */
int sources_find(struct sources *sources, struct slice location, struct source *ret_source,
		 struct error *err);
