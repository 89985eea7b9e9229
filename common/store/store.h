/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Object stores behind one table of operations
 *
 * A store is a set of objects below one root (a folder, a bucket with a prefix).  Keys are byte
 * strings relative to that root, with '/' between segments; they are names, never decoded.
 * Drivers: local, memory, s3, gcs, azure, http; wrappers with the same table: fault, counter.
 *
 * Every object has a version: an opaque text that names one state of its content (ETag,
 * generation, SHA-256).  Writers replace an object only while its version is the one they read.
 *
 * Ownership: a store is freed by its owner; wrappers borrow the store they wrap.
 * Threads: every operation may be called from many threads at once.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"

enum {
	STORE_ABSENT = 1, /* there is no such object */
	STORE_CHANGED =
		2, /* the object is not in the state that was asked for; nothing was written */
};

#define STORE_TO_END UINT64_MAX

/* A state of an object; the empty text is "unknown". */
struct version {
	char text[192];
};

struct store_info {
	uint64_t size;	       /* bytes */
	int64_t last_modified; /* microseconds since 1970, 0 if the store does not say */
	struct version version;
};

struct store_entry {
	const char *key; /* relative to the store's root; lent during the call */
	bool is_prefix;	 /* a common prefix ending in '/', only with a delimiter */
	struct store_info info;
};

/* What a read demands of the object before its bytes count; empty members demand nothing. */
struct store_condition {
	const char
		*etag; /* as recorded, with or without quotes; a weak one never matches a strong */
	int64_t not_modified_after; /* seconds since 1970, 0 = no demand; a later change is
				       ERR_CHANGED */
};

/* Called once an entry, in any order of keys that the store has; negative ends the listing with it.
 */
typedef int (*store_list_fn)(void *argument, const struct store_entry *entry, struct error *err);

struct store;

struct store_ops {
	const char *name; /* as it appears in messages and statistics */
	bool wrapper;	  /* passes calls on: the store inside words the errors */

	/*
	 * Appends bytes [@offset, @offset + @length) of the object to @out; @length STORE_TO_END
	 * means up to its end.  Fewer bytes than asked is an error, not a short read; after an
	 * error @out is as it was.  @ret_info, unless NULL, describes the state that was read
	 * (size: of the whole object).
	 * Returns 0, STORE_ABSENT, or an error; ERR_CHANGED when @condition (may be NULL) fails.
	 */
	int (*get)(struct store *store, const char *key, uint64_t offset, uint64_t length,
		   const struct store_condition *condition, struct buf *out,
		   struct store_info *ret_info, struct error *err);

	/* Size, time and version without the bytes.  Returns 0, STORE_ABSENT, or an error. */
	int (*head)(struct store *store, const char *key, struct store_info *ret_info,
		    struct error *err);

	/* Writes the object whatever was there.  Readers see the old or the new bytes, never a mix.
	 */
	int (*put)(struct store *store, const char *key, struct slice bytes, struct error *err);

	/*
	 * Replaces the object only if its version is still @version; NULL means it must not exist
	 * yet.  Returns 0 (and the new state in @ret_version unless NULL), STORE_CHANGED (also
	 * for an object that is gone), or an error, after which the object may be in either state.
	 */
	int (*replace)(struct store *store, const char *key, const struct version *version,
		       struct slice bytes, struct version *ret_version, struct error *err);

	/*
	 * Copies @from to @to only while the version of @from is @version (NULL: whatever it
	 * is).  Returns 0, STORE_ABSENT, STORE_CHANGED, or an error.
	 */
	int (*copy)(struct store *store, const char *from, const struct version *version,
		    const char *to, struct error *err);

	/*
	 * Lists the objects whose keys start with @prefix ("" for all).  With @delimiter, keys
	 * that have a '/' after the prefix are shown once as their common prefix.
	 */
	int (*list)(struct store *store, const char *prefix, bool delimiter, store_list_fn each,
		    void *argument, struct error *err);

	/* Removes the object; 0 also when it was not there. */
	int (*remove)(struct store *store, const char *key, struct error *err);

	/* Removes @n objects; optional.  After an error some are gone and some are not. */
	int (*remove_many)(struct store *store, const char *const *keys, size_t n,
			   struct error *err);

	/*
	 * Runs @critical while no other process of ours changes this store (an exclusive flock
	 * for local folders); NULL where conditional writes need no such help.
	 */
	int (*locked)(struct store *store, int (*critical)(void *argument, struct error *err),
		      void *argument, struct error *err);

	/* Appends lines for people about endpoint and credentials; optional.  See store/explain.h.
	 */
	int (*explain)(struct store *store, struct buf *out, struct error *err);

	/* Frees the driver's own structure and all in it but the url. */
	void (*free)(struct store *store);
};

/* Drivers put this first in their own structure. */
struct store {
	const struct store_ops *ops;
	char *url;	/* owned; what messages call the store, no secrets in it */
	bool read_only; /* refuse writes whatever the driver can do */
};

/* How to reach a store; zeroed means: everything from the usual environment variables. */
struct store_options {
	const char *endpoint_url; /* for s3, gs, az: other than the provider's */
	const char *region;
	const char *account; /* az: then URLs begin with the container */
	const char *profile; /* of the shared AWS configuration */
	bool anonymous;	     /* send no credentials and look for none */
	bool path_style;     /* s3: bucket in the path, not in the host name */
	bool requester_pays;
	/*
	 * Addresses on loopback, link-local and private networks may be talked to.  Set it for what
	 * the user names, never for what a repository names without permission.  An endpoint of
	 * the environment has it anyway.
	 */
	bool allow_private;
	bool read_only;	     /* refuse writes whatever the driver can do */
	bool no_environment; /* no endpoint or region from the environment: for containers */
	uint32_t timeout_ms; /* total deadline of one operation, 0 = 60 000 */
	uint32_t stall_ms;   /* without progress, 0 = 15 000 */
	uint32_t page;	     /* gs, az: entries of a listing at once, 0 = 1000 */
};

/*
 * Opens the store at @url: a path, file://, s3://bucket/prefix, gs://bucket/prefix,
 * az://account/container/prefix, http(s)://host/prefix (read only), memory:name (one store per
 * name in this process).  Does no network traffic.  ERR_ARGUMENT for an unusable URL.
 */
int store_open(const char *url, const struct store_options *options, struct store **ret_store,
	       struct error *err);

/* Frees the store; NULL is fine.  Always returns NULL. */
struct store *store_free(struct store *store);
DEFINE_CLEANUP(struct store *, store_free)

/* May it be written to? */
bool store_is_writable(const struct store *store);

/*
 * The operations of the table; a missing one is ERR_READ_ONLY or ERR_UNSUPPORTED with the URL.
 * Errors name the store and the key.
 */
int store_get(struct store *store, const char *key, uint64_t offset, uint64_t length,
	      const struct store_condition *condition, struct buf *out, struct store_info *ret_info,
	      struct error *err);
/* The whole object, at most up to the ceiling of @out. */
int store_get_all(struct store *store, const char *key, struct buf *out,
		  struct store_info *ret_info, struct error *err);
int store_head(struct store *store, const char *key, struct store_info *ret_info,
	       struct error *err);
int store_put(struct store *store, const char *key, struct slice bytes, struct error *err);
int store_replace(struct store *store, const char *key, const struct version *version,
		  struct slice bytes, struct version *ret_version, struct error *err);
int store_copy(struct store *store, const char *from, const struct version *version, const char *to,
	       struct error *err);
int store_list(struct store *store, const char *prefix, bool delimiter, store_list_fn each,
	       void *argument, struct error *err);
int store_remove(struct store *store, const char *key, struct error *err);
/* Removes @n objects, in batches where the store can and several at once where it cannot. */
int store_remove_many(struct store *store, const char *const *keys, size_t n, struct error *err);
/* Runs @critical alone where the store needs that, plainly where it does not. */
int store_locked(struct store *store, int (*critical)(void *argument, struct error *err),
		 void *argument, struct error *err);
