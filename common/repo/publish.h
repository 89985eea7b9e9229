/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Making a change visible: one compare-and-swap (formats, section 7.4)
 *
 * Spec 2: the repo object is copied to overwritten/ and replaced, both only while it is the one
 * that was read.  Spec 1: the branch's file is replaced likewise.  Internal to this folder.
 *
 * Threads: one at a time for each call.
 */

#include "repo/internal.h"

enum {
	PUBLISH_LOST = 1,    /* somebody else was first; nothing changed */
	PUBLISH_NOTHING = 2, /* an update function found nothing to change */
};

/*
 * Changes @info, and fills @ret_update with the entry of the log (its time is set afterwards).
 * @now is above every time recorded.  Returns 0, PUBLISH_NOTHING, or an error, which ends it.
 * May be called again, on another copy.
 */
typedef int (*publish_fn)(void *argument, struct repo_info *info, uint64_t now,
			  struct repo_update *ret_update, struct error *err);

struct publication {
	publish_fn update;
	void *argument;
	bool any_status; /* also when the repository is not online */
	/* The last attempt whose outcome is not known, to be recognised in the log. */
	bool is_pending;
	struct repo_update pending;
	char pending_name[256];
};

/* ERR_READ_ONLY with the stored reason unless the repository accepts writes. */
int state_check_writable(const struct repo *repo, const struct state *state, struct error *err);

/*
 * One attempt on @state.  On success the repo has the new state.  Returns 0, PUBLISH_LOST,
 * PUBLISH_NOTHING, or an error.
 */
int publish_once(struct repo *repo, struct state *state, struct publication *publication,
		 struct error *err);
/* Does @state show that an earlier attempt was made after all? */
bool publish_landed(const struct publication *publication, const struct state *state);
/* Repeats up to the stored limits, reading the state anew each time.  0, PUBLISH_NOTHING, or an
 * error. */
int publish(struct repo *repo, struct publication *publication, struct error *err);

/* Waits before attempt @attempt (from 1) after a lost race. */
void publish_pause(unsigned int attempt, const struct config_retries *retries);
/* How many attempts the stored limits allow. */
unsigned int publish_attempts(const struct config_retries *retries);

/*
 * Spec 1: moves a branch from @from to @to.  0, PUBLISH_LOST when the branch is elsewhere, with
 * where it is in @ret_actual, or an error; ERR_ABSENT when it is gone.
 */
int publish_branch1(struct repo *repo, const char *branch, const struct id12 *from,
		    const struct id12 *to, struct id12 *ret_actual, struct error *err);

/*
 * Proves once per process and store that write conditions are obeyed, by writing @bytes at @key
 * create-only, once more, and with a wrong version (decision 12).  ERR_UNSUPPORTED names what was
 * left behind, if it could not be removed.
 */
int conditions_prove(struct store *store, const char *key, struct slice bytes, struct error *err);
/* Was it proven already? */
bool conditions_are_proven(const struct store *store);
