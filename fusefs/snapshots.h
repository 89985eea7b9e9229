/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Views of snapshots other than the one at the root: opened when they are needed, a few kept
 *
 * Threads: may be shared.  When several threads need one snapshot, one loads it and the others
 * wait.
 */

#include "reader/view.h"

struct snapshots;

/* Borrows @repo and @reader. */
int snapshots_new(struct repo *repo, struct reader *reader, enum view_mode mode, bool consolidated,
		  struct snapshots **ret_snapshots, struct error *err);
/* Nobody may be waiting.  NULL is fine.  Always returns NULL. */
struct snapshots *snapshots_free(struct snapshots *snapshots);
DEFINE_CLEANUP(struct snapshots *, snapshots_free)

/*
 * One owner of the view of snapshot @id.  With @may_wait it is loaded if need be; without,
 * VIEW_WOULD_WAIT.  ERR_ABSENT: it is not there any more.
 */
int snapshots_view(struct snapshots *snapshots, const struct id12 *id, bool may_wait,
		   struct view **ret_view, struct error *err);
/* Opens a view that is not among those kept. */
int snapshots_open(struct snapshots *snapshots, const struct id12 *id, struct view **ret_view,
		   struct error *err);
