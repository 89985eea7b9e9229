/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Following a branch: the root of the mount shows its newest snapshot
 *
 * A thread looks at the branch from time to time.  When it has moved, the root is switched at once
 * and the kernel is told which names to ask for again; files that are open, and shells that stand
 * in a folder, keep the old state.  What cannot be looked at stays as it is, and is logged.
 *
 * Threads: one at a time.
 */

#include "fusefs/fs.h"

struct follower;

/* Looks every @period_ms. */
int follower_new(struct fs *fs, struct fuse_session *session, uint32_t period_ms,
		 struct follower **ret_follower, struct error *err);
/* NULL is fine.  Always returns NULL. */
struct follower *follower_free(struct follower *follower);
DEFINE_CLEANUP(struct follower *, follower_free)
