/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * An Icechunk repository: opening it, choosing a snapshot, finding chunks
 *
 * A struct repo is one repository in one store; a struct checkout is one of its snapshots, which
 * never changes.  Locating a chunk answers exactly one of "absent", a reference, or an error:
 * a chunk is absent only if a loaded manifest says so.
 *
 * Writing is in repo/transaction.h, branches, tags and configuration in repo/refs.h, maintenance
 * in repo/maintain.h, following virtual references in repo/source.h.
 *
 * Threads: a repo and a checkout may be shared.  When several threads need one manifest, one
 * loads it and the others wait for it.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "icechunk/id.h"
#include "icechunk/manifest.h"
#include "store/store.h"

enum {
	REPO_ABSENT = 1,     /* not there, and that is proven */
	REPO_END = 2,	     /* no more items */
	REPO_WOULD_LOAD = 3, /* the answer needs a manifest that is not in memory */
};

struct repo;
struct checkout;

struct repo_options {
	uint64_t manifest_budget; /* bytes of decoded manifests kept, 0 = 256 MiB */
	unsigned int
		concurrency; /* manifest reads and writes at once; 0 = stored setting, else 16 */
	/*
	 * Each checkout loads the manifests that the configuration names for it in the background,
	 * up to half of the budget.
	 */
	bool preload;
};

/*
 * Opens the repository in @store, which it borrows.  @options may be NULL.  One or two reads.
 * At the root of an S3 bucket also old repositories are found whose keys begin with a slash; they
 * can only be read.
 * ERR_ABSENT: there is no repository ("'URL' is not an Icechunk repository"); ERR_UNSUPPORTED: a
 * newer specification.
 */
int repo_open(struct store *store, const struct repo_options *options, struct repo **ret_repo,
	      struct error *err);
/*
 * Creates a repository of specification @spec (1 or 2) with the configuration @config (JSON text,
 * empty = defaults), the root object last.  ERR_CONFLICT when there is one already, or when other
 * things lie below the root.
 */
int repo_create(struct store *store, int spec, struct slice config, struct error *err);
/* NULL is fine.  Always returns NULL. */
struct repo *repo_free(struct repo *repo);
DEFINE_CLEANUP(struct repo *, repo_free)

int repo_spec(const struct repo *repo);
struct store *repo_store(struct repo *repo);
/* Reads the mutable state (the repo object; spec 1: refs) again; a conditional read where it can
 * be. */
int repo_refresh(struct repo *repo, struct error *err);

/* Which snapshot; at most one of the first four; all NULL or 0 = branch "main". */
struct repo_at {
	const char *branch;
	const char *tag;
	const char *snapshot; /* 20 characters */
	bool has_as_of;
	int64_t as_of; /* microseconds: the newest ancestor of @branch (default main) not later */
};

/* ERR_ARGUMENT for a malformed id; ERR_ABSENT names what does not exist. */
int repo_resolve(struct repo *repo, const struct repo_at *at, struct id12 *ret_id,
		 struct error *err);

/* Loads a snapshot: one read.  The checkout holds a share of the repo's caches; free before the
 * repo. */
int repo_checkout(struct repo *repo, const struct id12 *id, struct checkout **ret_checkout,
		  struct error *err);
/* One more owner. */
struct checkout *checkout_ref(struct checkout *checkout);
/* One owner less; the last one frees.  NULL is fine.  Always returns NULL. */
struct checkout *checkout_free(struct checkout *checkout);
DEFINE_CLEANUP(struct checkout *, checkout_free)

struct repo *checkout_repo(struct checkout *checkout);
const struct id12 *checkout_id(const struct checkout *checkout);
/* Microseconds: when the snapshot was written. */
int64_t checkout_flushed_at(const struct checkout *checkout);

/* A node; lends from the checkout. */
struct node {
	uint32_t number; /* place in the order of paths, from 0 */
	struct id8 id;
	bool is_array;
	struct slice path;     /* "/", "/a/b" */
	struct slice document; /* the stored bytes of its zarr.json */
	uint32_t n_dims;
};

uint32_t checkout_n_nodes(const struct checkout *checkout);
/* @number must be below checkout_n_nodes(). */
void checkout_node(const struct checkout *checkout, uint32_t number, struct node *ret_node);
/* 0 or REPO_ABSENT.  "/" without a stored root group is REPO_ABSENT. */
int checkout_find(const struct checkout *checkout, const char *path, struct node *ret_node);
/* Array length and number of chunks of dimension @dim. */
void checkout_dim(const struct checkout *checkout, const struct node *node, uint32_t dim,
		  uint64_t *ret_length, uint32_t *ret_chunks);
uint32_t checkout_n_manifests(const struct checkout *checkout, const struct node *node);
/*
 * How many references the node's manifests hold.  For a large manifest that no other node shares
 * the snapshot tells; small and shared ones are loaded.
 */
int checkout_count_refs(struct checkout *checkout, const struct node *node, uint64_t *ret_n,
			struct error *err);
/*
 * A value that changes when, and only when, the array's document or its manifests change between
 * snapshots (decision 6): equal epochs mean equal chunks.
 */
uint64_t checkout_epoch(const struct checkout *checkout, const struct node *node);

/* A located chunk.  Lends from a manifest that stays loaded until chunk_done(). */
struct chunk {
	struct chunk_ref ref; /* icechunk/manifest.h: kind, place, checksums, inline bytes */
	struct id12 manifest;
	struct manifest_pin *pin;
};

/*
 * Locates the chunk of @node (an array) at @index (one number a dimension).
 * Returns 0 with @ret_chunk (end with chunk_done()), REPO_ABSENT when a loaded manifest, or the
 * snapshot, proves that there is none, or an error: unknown.
 */
int checkout_locate(struct checkout *checkout, const struct node *node, const uint32_t *index,
		    struct chunk *ret_chunk, struct error *err);
/* The same without waiting: REPO_WOULD_LOAD when its manifest is not in memory. */
int checkout_try_locate(struct checkout *checkout, const struct node *node, const uint32_t *index,
			struct chunk *ret_chunk, struct error *err);
void chunk_done(struct chunk *chunk);

/* Walks the references of an array in the order of their indexes. */
struct chunk_iter;

/* Only references whose index begins with the @n_prefix numbers of @prefix; 0 = all. */
int chunk_iter_new(struct checkout *checkout, const struct node *node, const uint32_t *prefix,
		   uint32_t n_prefix, struct chunk_iter **ret_iter, struct error *err);
/*
 * 0 with index (n_dims numbers) and chunk, both lent until the next call (no chunk_done()),
 * REPO_END, or an error (never a shorter walk: each further call fails as well).
 */
int chunk_iter_next(struct chunk_iter *iter, const uint32_t **ret_index,
		    const struct chunk **ret_chunk, struct error *err);
/* Are all manifests of the walk in memory, so that no call of chunk_iter_next() will wait? */
bool chunk_iter_is_loaded(const struct chunk_iter *iter);
struct chunk_iter *chunk_iter_free(struct chunk_iter *iter);
DEFINE_CLEANUP(struct chunk_iter *, chunk_iter_free)

/* One entry of the history. */
struct history_entry {
	struct id12 id;
	bool has_parent;
	struct id12 parent;
	int64_t written_at; /* microseconds */
	const char *message;
	struct slice metadata; /* JSON object */
};

/* Calls @each from @id back to the root, newest first; a negative result ends it. */
int repo_history(struct repo *repo, const struct id12 *id,
		 int (*each)(void *argument, const struct history_entry *entry, struct error *err),
		 void *argument, struct error *err);

/* Counters of this repo's manifest cache, for tests and status files. */
struct repo_counters {
	uint64_t manifest_loads, manifest_hits, manifest_bytes;
};
struct repo_counters repo_counters(const struct repo *repo);
