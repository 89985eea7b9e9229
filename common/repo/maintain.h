/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Maintenance of a repository: verify, diff, garbage collection, expiry
 *
 * Semantics of collection and expiry are those of the public library (formats, section 11).
 * Threads: one at a time for each repository.
 */

#include "repo/repo.h"
#include "repo/source.h"

struct finding {
	bool is_error;	    /* else a remark, such as an orphan */
	const char *object; /* key in the repository or location */
	const char *text;
};

struct verify_options {
	struct sources *deep; /* also asks for every virtual location; NULL = no */
	int (*each)(void *argument, const struct finding *finding, struct error *err);
	void (*progress)(void *argument, uint64_t done, uint64_t total);
	void *argument;
};

struct verify_result {
	uint64_t n_errors, n_remarks;
	uint64_t n_snapshots, n_manifests, n_refs, n_chunks, n_orphans;
};

/* Checks everything reachable.  Returns 0 when the check ran, whatever it found. */
int repo_verify(struct repo *repo, const struct verify_options *options,
		struct verify_result *ret_result, struct error *err);

/* Appends one JSON object: added, deleted, updated nodes; chunks changed an array.  @from must be
 * an ancestor. */
int repo_diff(struct repo *repo, const struct id12 *from, const struct id12 *to, struct buf *out,
	      struct error *err);

struct sweep_options {
	int64_t older_than; /* microseconds */
	bool dry_run;
	bool delete_expired_branches; /* expire */
	bool delete_expired_tags;     /* expire */
	/* Each object or ref that goes (@goes), or stays although it is old, with the reason. */
	int (*each)(void *argument, bool goes, const char *name, const char *reason,
		    struct error *err);
	void *argument;
};

struct sweep_result {
	uint64_t n_snapshots, n_manifests, n_chunks, n_transactions, n_branches, n_tags;
	uint64_t n_leftovers; /* gc: unfinished files of killed writers */
	uint64_t bytes;
};

int repo_gc(struct repo *repo, const struct sweep_options *options, struct sweep_result *ret_result,
	    struct error *err);
int repo_expire(struct repo *repo, const struct sweep_options *options,
		struct sweep_result *ret_result, struct error *err);
