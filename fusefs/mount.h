/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The life of a mount: mountpoint, background, readiness, signals, unmounting
 *
 * After a crash the dead mount stays, so that readers get errors and never the empty folder below.
 * A new start replaces a dead mount of ours and names anything else.
 *
 * Threads: the main thread alone, before any other is started.
 */

#include "fusefs/fs.h"
#include "fusefs/supervise.h"

struct mount_options {
	const char *mountpoint;	  /* as mount_prepare() gave it */
	const char *source;	  /* what the mount table shows: the repository's URL, redacted */
	const char *fuse_options; /* libfuse's own, "allow_other,max_read=..."; NULL for none */
	bool may_start_programs;  /* credentials may come from one */
	struct supervisor supervisor;
};

/*
 * Makes sure that @mountpoint is a folder on which to mount; replaces a dead mount of ours.
 * @ret_path is it as the mount table spells it; the caller frees it.
 */
int mount_prepare(const char *mountpoint, char **ret_path, struct error *err);

/*
 * Goes on in the background: in the child returns 0 with the descriptor that mount_ready() wants.
 * The parent waits, lists the root of the mount, and exits: 0, or with the child's error on
 * standard error and the status of its kind.  Call before anything that forking breaks.
 */
int mount_background(const char *mountpoint, const char *program, int *ret_ready,
		     struct error *err);
/* Tells the waiting parent (@ready, -1 for none) that the mount is there, or why not. */
void mount_ready(int ready, const struct error *err);

/*
 * Mounts @fs and answers requests until the mount ends, by SIGINT, SIGTERM, SIGHUP or umount. Tells
 * @ready (-1 for none) and the supervisor when the mount is there.  What is stuck on a dead
 * network ends the process a second later; the supervisor unmounts.
 */
int mount_serve(struct fs *fs, const struct mount_options *options, int ready, struct error *err);
