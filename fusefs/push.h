/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Pushing decoded chunks into the kernel's page cache
 *
 * The kernel asks for a chunk piece by piece; once it is decoded, the pieces that were not asked
 * for are handed over, so that reading on costs no requests.  Done by a thread that answers no
 * request: storing waits for pages that a reader of the same file has locked.
 *
 * Threads: may be shared.
 */

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

#include "reader/reader.h"

struct pusher;

int pusher_new(struct fuse_session *session, struct pusher **ret_pusher, struct error *err);
/* Drops what is queued.  NULL is fine.  Always returns NULL. */
struct pusher *pusher_free(struct pusher *pusher);
DEFINE_CLEANUP(struct pusher *, pusher_free)

/*
 * Pushes what lies outside of [@from, @to) of @content to inode @ino, a moment later.  Takes an
 * owner of @content.  What does not fit into the queue is not pushed: the kernel will ask.
 */
void pusher_add(struct pusher *pusher, uint64_t ino, struct content *content, uint64_t from,
		uint64_t to);
uint64_t pusher_bytes(const struct pusher *pusher);
