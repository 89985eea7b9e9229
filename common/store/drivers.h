/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The drivers and wrappers by name, for tests and for callers that need one in particular.
 * Everybody else uses store_open().
 */

#include "store/store.h"

/*
 * A folder; made on the first write.  Keys map to paths unchanged and never leave the folder, not
 * by ".." and not by symbolic links; a key with an empty, "." or ".." segment is refused.
 *
 * Versions: a whole get gives the SHA-256 of the content; head and ranges give a mark of the
 * file's state ("inode-mtime-size").  replace() and copy() take either, and compare under an
 * exclusive flock on the folder.  Removals are not synced to the disk, all writes are.
 * Files being written are called "<target>#<digits>"; lists show them as they are.
 */
int store_local_new(const char *path, struct store **ret_store, struct error *err);
/* False for a local store whose folder has not been made; true for any other store. */
bool store_local_is_there(const struct store *store);

/* An empty store in memory. */
int store_memory_new(struct store **ret_store, struct error *err);
/* The store in memory called @name, the same one for every caller until the process ends. */
int store_memory_open(const char *name, struct store **ret_store, struct error *err);

/* s3://bucket/prefix on Amazon or whatever speaks its protocol at the endpoint. */
int store_s3_new(const char *url, const struct store_options *options, struct store **ret_store,
		 struct error *err);

/* gs://bucket/prefix through the JSON API. */
int store_gcs_new(const char *url, const struct store_options *options, struct store **ret_store,
		  struct error *err);
/* az://account/container/prefix, or az://container/prefix where the account is known. */
int store_azure_new(const char *url, const struct store_options *options, struct store **ret_store,
		    struct error *err);

/*
 * A web server, read only.  Keys are names, percent-encoded on the way; with @as_stored they are
 * the path and query of a URL as they stand, only illegal bytes are escaped.  A query of @url
 * (a signature) goes with every request.
 */
int store_http_new(const char *url, bool as_stored, const struct store_options *options,
		   struct store **ret_store, struct error *err);

/* What the fault wrapper does at the chosen operation. */
enum fault_kind {
	FAULT_FAIL_BEFORE, /* ERR_NETWORK, nothing was done */
	FAULT_FAIL_AFTER,  /* done, then ERR_NETWORK: the answer was lost */
	FAULT_EXIT	   /* the process ends at once (_exit(99)), nothing was done */
};

/* Fails the @nth operation (from 1; 0 = never) on @inner, which it borrows. */
int store_fault_new(struct store *inner, unsigned int nth, enum fault_kind kind,
		    struct store **ret_store, struct error *err);
/* Operations seen so far. */
unsigned int store_fault_count(const struct store *store);

struct store_counts {
	uint64_t get, head, put, replace, copy, list, remove;
	uint64_t bytes_read, bytes_written;
};

/* Counts operations on @inner, which it borrows. */
int store_counter_new(struct store *inner, struct store **ret_store, struct error *err);
struct store_counts store_counter_get(const struct store *store);
void store_counter_reset(struct store *store);
