/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Branches, tags, status and configuration of a repository
 *
 * Each change is one compare-and-swap; lost races are repeated up to the stored limits.
 * Threads: may be called from any.
 */

#include "repo/repo.h"

struct ref_entry {
	char *name;
	struct id12 id;
};

struct repo_summary {
	int spec;
	const char *status;	    /* "online", "read_only", "offline"; static */
	char *status_reason;	    /* NULL if none */
	struct ref_entry *branches; /* sorted by name */
	size_t n_branches;
	struct ref_entry *tags;
	size_t n_tags;
	uint64_t n_snapshots;
	bool has_leftovers; /* spec 2: references of spec 1 are still there, where old programs
			       commit */
	char *config;	    /* JSON text of the stored configuration, "{}" if none */
};

/* Everything `refmt repo info` shows, from the current state. */
int repo_summary(struct repo *repo, struct repo_summary *ret_summary, struct error *err);
void repo_summary_done(struct repo_summary *summary);

/* Names as their writer gave them.  ERR_CONFLICT: exists already; ERR_ABSENT: no such snapshot. */
int repo_branch_create(struct repo *repo, const char *name, const struct id12 *at,
		       struct error *err);
int repo_branch_delete(struct repo *repo, const char *name, struct error *err);
/* @expected may be NULL; ERR_CONFLICT when the branch is elsewhere. */
int repo_branch_reset(struct repo *repo, const char *name, const struct id12 *to,
		      const struct id12 *expected, struct error *err);
int repo_tag_create(struct repo *repo, const char *name, const struct id12 *at, struct error *err);
int repo_tag_delete(struct repo *repo, const char *name, struct error *err);
/* The stored configuration as JSON text. */
int repo_config_get(struct repo *repo, struct buf *out, struct error *err);
/* Replaces it; bytes of members that are not understood are kept.  No change: no write. */
int repo_config_set(struct repo *repo, struct slice json, struct error *err);

/*
 * Specification 2 only (else ERR_UNSUPPORTED), each with its entry in the log.  A status other than
 * "online" makes every other write fail with @reason (may be NULL).
 */
int repo_set_status(struct repo *repo, const char *status, const char *reason, struct error *err);
/* A feature by its number; @value NULL goes back to the default. */
int repo_set_feature(struct repo *repo, uint16_t feature, const bool *value, struct error *err);
/* Replaces the repository's own metadata by the members of a JSON object. */
int repo_set_metadata(struct repo *repo, struct slice json, struct error *err);
