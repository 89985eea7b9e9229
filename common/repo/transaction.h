/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Changing a repository: a change set on top of one snapshot, and its commit
 *
 * A transaction collects changes in memory (sorted vectors, at most 64 bytes a reference plus one
 * copy of each distinct location) and makes them visible by one commit.  What a failed commit
 * wrote is garbage that nothing refers to.
 *
 * Threads: one at a time; the commit uses threads of its own.
 */

#include "repo/repo.h"

struct transaction;

/*
 * Begins on @branch (NULL = main) at @base (NULL = its tip).  The checkout of the base stays
 * available through transaction_base().  ERR_READ_ONLY with the stored reason unless online.
 */
int transaction_begin(struct repo *repo, const char *branch, const struct id12 *base,
		      struct transaction **ret_transaction, struct error *err);
struct transaction *transaction_free(struct transaction *transaction);
DEFINE_CLEANUP(struct transaction *, transaction_free)
struct checkout *transaction_base(struct transaction *transaction);

/*
 * Sets the zarr.json of the node at @path ("/a/b"), creating it if there is none; the bytes are
 * kept.  An array's new shape drops what lies outside.  ERR_FORMAT names what the document lacks.
 */
int transaction_put_document(struct transaction *transaction, const char *path,
			     struct slice document, struct error *err);
/* Document as it would be after the commit: 0 or REPO_ABSENT. */
int transaction_get_document(struct transaction *transaction, const char *path, struct buf *out,
			     struct error *err);
/* Removes the node and everything below it.  ERR_ABSENT if there is none. */
int transaction_delete_node(struct transaction *transaction, const char *path, struct error *err);
/* Specification 2 only; nothing else may be in the same transaction. */
int transaction_move(struct transaction *transaction, const char *from, const char *to,
		     struct error *err);
/* Sets the shape (one length a dimension) by splicing the document. */
int transaction_resize(struct transaction *transaction, const char *path, const uint64_t *shape,
		       uint32_t n_dims, struct error *err);

/* Stores encoded bytes: inline up to the configured threshold, else as a native chunk object. */
int transaction_put_chunk(struct transaction *transaction, const char *path, const uint32_t *index,
			  uint32_t n_dims, struct slice bytes, struct error *err);
/* Whether transaction_put_chunk() would take the chunk, writing nothing. */
int transaction_check_chunk(struct transaction *transaction, const char *path,
			    const uint32_t *index, uint32_t n_dims, struct error *err);
/* Chunks of up to so many bytes are stored inline. */
uint32_t transaction_inline_threshold(const struct transaction *transaction);
/* Deletes one chunk; 0 also if it was absent. */
int transaction_delete_chunk(struct transaction *transaction, const char *path,
			     const uint32_t *index, uint32_t n_dims, struct error *err);

struct virtual_ref {
	const uint32_t *index; /* one number a dimension */
	struct slice location; /* absolute, or vcc://; checked against the registered containers */
	uint64_t offset, length; /* length at least 1 */
	struct slice etag;	 /* empty = none */
	uint32_t last_modified;	 /* Unix seconds, 0 = none */
};

/*
 * Sets many virtual references of one array; copies what it needs.  ERR_ARGUMENT names the first
 * that is outside the array or outside every container; then none was taken.
 */
int transaction_set_refs(struct transaction *transaction, const char *path,
			 const struct virtual_ref *refs, size_t n_refs, uint32_t n_dims,
			 struct error *err);
/* 0 if the chunk has a reference as things would be after the commit, or REPO_ABSENT. */
int transaction_has_chunk(struct transaction *transaction, const char *path, const uint32_t *index,
			  uint32_t n_dims, struct error *err);
/*
 * Bytes of memory that the changes take: for references in bulk at most 64 each with 4 dimensions,
 * and one copy of each distinct location.
 */
size_t transaction_memory(const struct transaction *transaction);
bool transaction_is_empty(const struct transaction *transaction);

enum rebase_mode {
	REBASE_NO,     /* ERR_CONFLICT when the branch has moved on */
	REBASE_DETECT, /* go on unless the two conflict */
	REBASE_OURS,   /* chunks that both wrote: ours */
	REBASE_THEIRS  /* chunks that both wrote: theirs */
};

struct commit_options {
	const char *message;
	struct slice metadata; /* JSON object, may be empty */
	enum rebase_mode rebase;
	unsigned int rebase_attempts; /* 0 = 1000 */
	bool allow_empty;
	bool amend; /* replace the tip; specification 2 */
};

struct commit_counters {
	unsigned int rebases;
	uint64_t manifests_written, manifests_reused;
	uint64_t bytes_written;
};

/*
 * Commits.  Afterwards the transaction is empty and only to be freed.  ERR_CONFLICT names the first
 * conflicts, ERR_ARGUMENT an empty change set; on failure the branch is where it was, and the
 * transaction can be tried again.
 * @ret_counters may be NULL.
 */
int transaction_commit(struct transaction *transaction, const struct commit_options *options,
		       struct id12 *ret_id, struct commit_counters *ret_counters,
		       struct error *err);
/* Writes a snapshot that no branch points at (anonymous commit). */
int transaction_flush(struct transaction *transaction, const struct commit_options *options,
		      struct id12 *ret_id, struct error *err);
