/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * SIGTERM and SIGINT
 *
 * A command that does nothing about them is ended at once with exit status 75, also as process 1,
 * which the system's default action would leave running.  One that calls cli_watch_interrupts()
 * asks cli_interrupted() instead and ends in its own time; a second signal then ends it at once.
 *
 * Threads: any may ask.
 */

#include <stdbool.h>
#include <stdint.h>

/* Installs the handlers; SIGPIPE is ignored.  cli_main() does this. */
void cli_signals_init(void);
void cli_watch_interrupts(void);
bool cli_interrupted(void);
/* Sleeps @duration microseconds, less if a signal comes; returns cli_interrupted(). */
bool cli_sleep(int64_t duration);
/*
 * For the start of main(): as process 1, goes on in a child and stays behind to pass signals on, to
 * reap orphans, and to end with the child's status.  Otherwise does nothing.
 */
void cli_leave_process_1(void);
/* The same whatever the number of the process. */
void cli_go_on_in_child(void);
