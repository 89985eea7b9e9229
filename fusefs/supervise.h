/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The supervisor of a mount
 *
 * The program goes on in a child, the daemon, and stays behind as a small process that passes
 * signals on, reaps, tells the service manager, and unmounts when the daemon has ended in order.
 * It may run the setuid fusermount3, which does nothing for the daemon once that has given up
 * gaining privileges.  A daemon that crashes leaves the dead mount behind, so that readers get
 * errors and never the empty folder below; when the supervisor is killed, so is the daemon.
 *
 * Threads: the first, before any other is started.
 */

#include <stdbool.h>

#include "base/error.h"

/* How the daemon talks to its supervisor. */
struct supervisor {
	int pipe;
};

/*
 * Goes on in the child; the parent never returns.  @mountpoint as the mount table spells it.
 * @ready: a descriptor that only the daemon keeps, -1 for none.
 */
int supervise(const char *mountpoint, int ready, struct supervisor *ret_supervisor,
	      struct error *err);
/*
 * The mount was made: from now on it is unmounted when the daemon ends in order.  The service
 * manager is told once its root can be listed.
 */
void supervisor_mounted(const struct supervisor *supervisor);
/* Somebody else has unmounted it: what is mounted there from now on is not ours. */
void supervisor_gone(const struct supervisor *supervisor);

/*
 * Lists the folder @path: 0 or an errno.  Never in a process that serves it: the kernel does not
 * let go of one that ends while it waits for its own answer.
 */
int mount_list(const char *path);
/* Removes the mount at @path, the user's own too; @lazy: also while it is in use.  False if not. */
bool mount_remove(const char *path, bool lazy);
/* Type and device number ("0:57") of what was mounted last at @path; empty texts if nothing. */
void mount_find(const char *path, char type[64], char device[32]);
