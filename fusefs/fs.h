/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The mounted file system: the views of one repository answered to the kernel
 *
 * Requests are read by the session's threads.  Those that may wait for a manifest go to a pool of
 * their own, those that wait for data to another: however many reads are stuck on a dead source,
 * everything else is answered.
 *
 * Errors of data come at read() alone: readers such as GDAL turn an error of lookup or open into
 * fill values.  Nothing about an open snapshot ever expires in the kernel's caches, except what is
 * unknown.
 *
 * Threads: an fs belongs to the session that runs it.
 */

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

#include "base/pool.h"
#include "fusefs/slot.h"
#include "reader/view.h"

struct fs_options {
	struct repo_at at; /* which snapshot the root shows; lent while the fs lives */
	enum view_mode mode;
	uint32_t data_threads; /* reads at once, 0 = 64 */
	uint32_t uid, gid;     /* owner of everything */
	uint32_t umask;	       /* rights taken from 0555 and 0444 */
	uint32_t timeout_ms;   /* of one read, as the reader has it; 0 = 60 000 */
	struct slice config;   /* what .refmt/config shows, JSON text; lent while the fs lives */
};

struct fs;

/* Opens the snapshot and its view.  Borrows @repo and @reader. */
int fs_new(struct repo *repo, struct reader *reader, const struct fs_options *options,
	   struct fs **ret_fs, struct error *err);
/* Starts the pools; after any fork, before the first request. */
int fs_start(struct fs *fs, struct error *err);
/* Ends the pools, waiting for what is under way.  NULL is fine.  Always returns NULL. */
struct fs *fs_free(struct fs *fs);
DEFINE_CLEANUP(struct fs *, fs_free)

/* The table for fuse_session_new(), whose user data is the fs. */
extern const struct fuse_lowlevel_ops fs_ops;

/* Counters that .refmt/stats shows beside the reader's and the repo's. */
struct fs_counters {
	uint64_t lookups, reads, read_bytes, errors;
	uint32_t slots;
};

/* ---- for the parts of the fs ---- */

#define FS_ERRORS_KEPT 100

struct fs_failure {
	int64_t time;
	int errnum;
	char *path;
	char text[sizeof(((struct error *)0)->text)];
};

struct fs *fs_of(fuse_req_t req);
struct repo *fs_repo(struct fs *fs);
struct reader *fs_reader(struct fs *fs);
struct view *fs_view(struct fs *fs);
const struct fs_options *fs_options(const struct fs *fs);
struct fs_counters fs_counters(struct fs *fs);
/* Calls @each for the failures kept, oldest first. */
void fs_failures(struct fs *fs, void (*each)(void *argument, const struct fs_failure *failure),
		 void *argument);
/* The view of snapshot @id, opened when first asked for and kept; lent. */
int fs_snapshot_view(struct fs *fs, const struct id12 *id, struct view **ret_view,
		     struct error *err);
