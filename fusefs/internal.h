/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the parts of the file system share.  Internal to this folder.
 */

#include <pthread.h>
#include <stdatomic.h>

#include "base/pool.h"
#include "fusefs/deadline.h"
#include "fusefs/follow.h"
#include "fusefs/fs.h"
#include "fusefs/push.h"
#include "fusefs/snapshots.h"

#define FS_FOR_EVER 1e9 /* seconds: a snapshot never changes */
#define FS_READ_MAX (1U << 20)

struct fs {
	struct repo *repo;
	struct reader *reader;
	struct fs_options options;
	struct slots *slots;
	struct snapshots *snapshots;
	struct pool *metadata, *data;
	struct deadlines *deadlines;
	struct pusher *pusher;
	struct follower *follower;
	struct metrics *metrics;
	bool no_open; /* the kernel takes ENOSYS for open */

	pthread_mutex_t shown_mutex;
	struct shown *shown;

	pthread_mutex_t mutex;	/* of what follows */
	struct folder *folders; /* open; those of a mount that is gone are not released */
	struct fs_failure failures[FS_ERRORS_KEPT];
	size_t n_failures; /* ever; the ring holds the last */

	atomic_uint_fast64_t lookups, reads, read_bytes, errors, timeouts, switches;
};

/*
 * What a request is about, with owners of its own: the kernel may forget the inode of a request
 * that was answered because its time was over, while a thread still works on it.
 */
struct target {
	enum slot_kind kind;
	uint64_t ino, st_ino;
	/* SLOT_VIEW */
	uint64_t tree;
	uint32_t epoch;
	struct id12 snapshot;
	struct view_file file;
	struct view *view;   /* NULL until target_open() */
	struct shown *shown; /* if @view is what the root shows now */

	enum status_folder status; /* SLOT_STATUS */
	struct content *text;	   /* SLOT_TEXT */
	int64_t mtime;		   /* SLOT_TEXT */
};

/* target.c */

/* ERR_CHANGED for a number that we never gave. */
int target_init(struct fs *fs, fuse_ino_t ino, struct target *ret_target, struct error *err);
void target_done(struct target *target);
/* Sees to it that the view is there; VIEW_WOULD_WAIT; ERR_CHANGED: its snapshot was collected. */
int target_open(struct fs *fs, struct target *target, bool may_wait, struct error *err);
/* Attributes of the target; an open one. */
int target_stat(struct fs *fs, const struct target *target, bool may_wait, struct stat *ret_stat,
		double *ret_timeout, struct error *err);
/* Entry of @file in the folder @target, with one more lookup of its inode. */
int target_entry(struct fs *fs, const struct target *target, const struct view_file *file,
		 const struct view_attr *attr, struct fuse_entry_param *ret_entry,
		 struct error *err);
/* The slot that the last entry of a listing was in, kept for the next ones. */
struct entry_memo {
	struct slot *slot;     /* held */
	struct view_file file; /* one that is in it */
};
void entry_memo_done(struct fs *fs, struct entry_memo *memo);
/* As target_entry(), for many entries of one folder. */
int target_entry_again(struct fs *fs, const struct target *target, const struct view_file *file,
		       const struct view_attr *attr, struct entry_memo *memo,
		       struct fuse_entry_param *ret_entry, struct error *err);
/* What stat will show as the inode number of such an entry. */
int target_number(struct fs *fs, const struct target *target, const struct view_file *file,
		  struct entry_memo *memo, ino_t *ret_number, struct error *err);
/* May the kernel remember for ever that the folder has no entry of a name? */
bool target_absence_lasts(const struct fs *fs, const struct target *target);
/* The root of a tree below .refmt/; @tree is its number. */
int tree_entry(struct fs *fs, uint64_t tree, struct view *view, struct fuse_entry_param *ret_entry,
	       struct error *err);
bool target_is_root(const struct target *target);

/* job.c */

struct folder;

/* A request; on the stack of the thread that took it, or on the heap while it waits. */
struct job {
	struct fs *fs;
	fuse_req_t req;
	struct target target;
	int (*answer)(struct job *job, bool may_wait, struct error *err);
	size_t size;
	off_t offset;
	int flags; /* of the open file */
	bool plus;
	bool waited;	       /* it went to a pool */
	struct folder *folder; /* of readdir */
	struct deadline deadline;
	const char *name;
};

/*
 * Runs @answer for a request: at once without waiting, and on @pool if that is not enough.
 * @answer replies through job_claim() and returns 0, VIEW_WOULD_WAIT (only without @may_wait), or
 * an error, which is then the reply.
 */
void job_run(struct job *job, struct pool *pool);
/* Makes the target; answers with an error and returns false if there is none. */
bool job_init(struct job *job, fuse_req_t req, fuse_ino_t ino,
	      int (*answer)(struct job *job, bool may_wait, struct error *err));
/* May the caller reply?  Once only; not when the time is over. */
bool job_claim(struct job *job);

/* listing.c: what is open still */
void folders_free(struct fs *fs);

/* listing.c, xattr.c: parts of the table */

void op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void op_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
		struct fuse_file_info *fi);
void op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
		    struct fuse_file_info *fi);
void op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size);
void op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size);

/* fs.c */

void fs_failed(struct fs *fs, const struct target *target, const struct error *err);
