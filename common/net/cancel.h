/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Giving up on network operations
 *
 * A scope is put around calls by the thread that makes them; another thread fires it, or its
 * deadline passes, and every request made within ends at once with ERR_INTERRUPTED or
 * ERR_TIMEOUT.  Scopes nest; the outer ones count as well.
 *
 *	struct cancel cancel;
 *
 *	cancel_enter(&cancel, deadline);
 *	r = store_get(...);
 *	cancel_leave(&cancel);
 *
 * Threads: cancel_fire() from any, while the scope exists.
 */

#include <stdbool.h>
#include <stdint.h>

struct waiter;

struct cancel {
	struct cancel *outer;
	struct waiter *waiter; /* what is waited for just now; guarded by one lock for all */
	int64_t deadline;      /* monotonic microseconds, 0 = none */
	bool fired;
};

/* Opens a scope for the calling thread. */
void cancel_enter(struct cancel *cancel, int64_t deadline);
void cancel_leave(struct cancel *cancel);
/* Ends what is waited for within the scope, and all that is tried later. */
void cancel_fire(struct cancel *cancel);

/* For the network layer: the scope of this thread, or NULL. */
struct cancel *cancel_current(void);
/* The earliest deadline of the scopes and @deadline. */
int64_t cancel_deadline(int64_t deadline);
bool cancel_is_fired(void);
/* Lets cancel_fire() wake @waiter (NULL: nothing any more) of this thread. */
void cancel_watch(struct waiter *waiter);
