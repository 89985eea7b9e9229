/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A transaction's changes, as its parts see them.  Internal to this folder.
 *
 * Everything is keyed by path and node id, not by place in the base snapshot, so that the base can
 * be exchanged under it.
 */

#include "repo/chunkset.h"
#include "repo/document.h"
#include "repo/internal.h"
#include "repo/stringset.h"
#include "repo/transaction.h"
#include "repo/windows.h"

/* A manifest that was written for one window, and what it was made of. */
struct flushed {
	bool is_done;
	uint64_t window;
	bool has_changes;     /* or it is the part of one old manifest that lies in the window */
	struct id12 *sources; /* old manifests, in the order of the node's list */
	uint32_t n_sources;
	bool is_empty; /* no reference was left, nothing was written */
	struct manifest_info info;
	struct extent *extents;
};
DEFINE_VEC(flushed_list, struct flushed);

/* One manifest of an array as it is to be: one of the base that stays, or a flushed one. */
struct planned {
	uint64_t window;
	uint32_t place; /* in the base's list, for a stable order */
	bool is_kept;
	struct manifest_ref ref; /* kept */
	size_t flushed;		 /* else: number in the edit's list */
};
DEFINE_VEC(plan, struct planned);

/* What the transaction says about one node. */
struct edit {
	char *path;
	struct id8 id;
	bool is_new, is_array;
	bool has_document; /* always for a new node */
	struct document document;
	/* Arrays: */
	uint32_t n_dims;
	uint32_t *limit;  /* chunks a dimension that the base may still show, NULL: all */
	bool has_windows; /* windows and chunks are in use */
	struct windows windows;
	struct chunkset chunks;
	struct flushed_list flushed;
	struct plan plan; /* valid for the base of the last flush_manifests() */
};
DEFINE_VEC(edit_list, struct edit *);

struct removed {
	char *path;
	struct id8 id;
	enum node_type type;
};
DEFINE_VEC(removed_list, struct removed);

struct move {
	char *from, *to;
	struct id8 id;
	enum node_type type;
};
DEFINE_VEC(move_list, struct move);

struct transaction {
	struct repo *repo;
	char *branch;
	struct checkout *base;
	struct state *state; /* whose configuration the transaction follows */
	const struct config *config;
	struct edit_list edits;	     /* sorted by path */
	struct removed_list removed; /* nodes of the base, sorted by id */
	struct move_list moves;	     /* sorted by target as text */
	struct strings strings;	     /* locations, etags, inline chunks */
	uint32_t last_location;	     /* number of the location that was checked last */
	bool done;		     /* committed */
};

/* Where a path leads now. */
struct place {
	struct edit *edit; /* or NULL */
	bool in_base;
	struct snapshot_node node; /* if in_base */
};

/* transaction.c */

/* 0 or REPO_ABSENT. */
int transaction_find(const struct transaction *transaction, struct slice path,
		     struct place *ret_place);
/* The edit of the node at @path, NULL if none. */
struct edit *transaction_edit(const struct transaction *transaction, struct slice path);
bool transaction_removes(const struct transaction *transaction, const struct id8 *id,
			 uint32_t *ret_i);
/* Number of chunks a dimension of the array as it is to be; names as config_split() takes them. */
void edit_grid(const struct edit *edit, const struct snapshot_node *node,
	       uint32_t n_chunks[WINDOWS_DIMS_MAX], struct slice names[WINDOWS_DIMS_MAX]);
/* Does the edit change anything? */
bool edit_has_effect(const struct edit *edit);
void flushed_free(struct flushed *flushed);

/* flush.c */

struct flush {
	struct transaction *transaction;
	uint64_t written, reused, bytes; /* sums over the calls */
};

/* Writes the manifests of every window that has to change and was not written already. */
int flush_manifests(struct flush *flush, struct error *err);
/*
 * Appends the snapshot object (envelope included) of the base with the changes applied.
 * flush_manifests() has run on this base.  @parent counts in spec 1 only.
 */
int flush_snapshot(struct transaction *transaction, const struct id12 *id,
		   const struct id12 *parent, uint64_t flushed_at, struct slice message,
		   const struct json *metadata, struct buf *out, struct error *err);
/* Would flush_manifests() have something to write on this base? */
int flush_is_needed(struct transaction *transaction, bool *ret_needed, struct error *err);
/* Appends the FlatBuffer of the transaction log. */
int flush_log(struct transaction *transaction, const struct id12 *id, struct buf *out,
	      struct error *err);

/* rebase.c */

/*
 * Puts the transaction on top of @tip, unless it conflicts with what was committed since its
 * base: ERR_CONFLICT names the first conflicts, and the transaction stays on the last snapshot that
 * it could be put on.  @ret_n_commits: how many there were.
 */
int rebase(struct transaction *transaction, const struct id12 *tip, enum rebase_mode mode,
	   unsigned int *ret_n_commits, struct error *err);
