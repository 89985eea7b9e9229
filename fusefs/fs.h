/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The mounted file system: the views of one repository answered to the kernel
 *
 * Requests are read by the session's threads, which also answer all that memory can answer.  Those
 * that must wait for a manifest go to a pool of their own, those that wait for data to another:
 * however many reads are stuck on a dead source, everything else is answered.  A read that is not
 * answered when its time is over is answered with ETIMEDOUT, whatever became of it.
 *
 * Errors of data come at read() alone: readers such as GDAL turn an error of lookup or open into
 * fill values.  Nothing about an open snapshot ever expires in the kernel's caches, except what is
 * unknown.
 *
 * Threads: an fs belongs to the session that runs it.
 */

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

#include "fusefs/shown.h"
#include "fusefs/slot.h"
#include "reader/view.h"

struct fs_options {
	struct repo_at at; /* which snapshot the root shows; lent while the fs lives */
	enum view_mode mode;
	bool consolidated;     /* the root's document carries those of all nodes */
	uint32_t follow_ms;    /* how often to look whether the branch moved; 0 = never */
	uint32_t data_threads; /* reads at once, 0 = 64 */
	uint32_t uid, gid;     /* owner of everything */
	uint32_t umask;	       /* rights taken from 0555 and 0444 */
	uint64_t memory;       /* cap of the process's own memory, bytes; 0 = none */
	uint32_t timeout_ms;   /* of one read, as the reader has it; 0 = 60 000 */
	struct slice config;   /* what .refmt/config shows, JSON text; lent while the fs lives */
	const char *metrics;   /* "HOST:PORT" or a file that gets .refmt/stats; NULL for neither */
};

struct fs;

/* Makes the file system of @checkout (borrowed).  Borrows @repo and @reader. */
int fs_new(struct repo *repo, struct reader *reader, struct checkout *checkout,
	   const struct fs_options *options, struct fs **ret_fs, struct error *err);
/* Starts threads; after any fork, before the first request.  @session gets the notifications. */
int fs_start(struct fs *fs, struct fuse_session *session, struct error *err);
/*
 * Ends what fs_start() began, waiting for what is under way; when the session's loop has ended, and
 * before the session is freed.
 */
void fs_stop(struct fs *fs);
/* Stops and frees it.  NULL is fine.  Always returns NULL. */
struct fs *fs_free(struct fs *fs);
DEFINE_CLEANUP(struct fs *, fs_free)

/* The table for fuse_session_new(), whose user data is the fs. */
extern const struct fuse_lowlevel_ops fs_ops;

/* Counters that .refmt/stats shows beside the reader's and the repo's. */
struct fs_counters {
	uint64_t lookups, reads, read_bytes, errors, timeouts, pushed_bytes, switches;
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

struct repo *fs_repo(struct fs *fs);
struct reader *fs_reader(struct fs *fs);
const struct fs_options *fs_options(const struct fs *fs);
struct fs_counters fs_counters(struct fs *fs);
/* One owner of what the root shows now. */
struct shown *fs_shown(struct fs *fs);
/* Makes the root show @shown, of which it takes over an owner. */
void fs_show(struct fs *fs, struct shown *shown);
/* Calls @each for the failures kept, oldest first. */
void fs_failures(struct fs *fs, void (*each)(void *argument, const struct fs_failure *failure),
		 void *argument);
/* One owner of the view of snapshot @id; VIEW_WOULD_WAIT only without @may_wait. */
int fs_snapshot_view(struct fs *fs, const struct id12 *id, bool may_wait, struct view **ret_view,
		     struct error *err);
/* A view of snapshot @id as the root shows it. */
int fs_open_view(struct fs *fs, const struct id12 *id, struct view **ret_view, struct error *err);
