/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Operational updates: one fire of a dataset's schedule
 *
 * A single writer that commits whole files straight to main, tick by tick.  Window and deadline
 * are anchored to the scheduled fire, not to the start of the process: one that replaces another
 * finishes that one's work.
 *
 * Threads: one at a time.
 */

#include <stdbool.h>

#include "base/error.h"
#include "writer/check.h"
#include "writer/write-loop.h"

struct update_options {
	const struct dataset *dataset;
	const struct site *site;
	bool has_deadline, has_grace;
	int64_t deadline, grace; /* instead of the schedule's */
	const struct write_hooks *hooks;
	/* Each failed check and why. */
	void (*failed)(void *argument, const char *check, const char *reason);
	void *argument;
};

/*
 * Refreshes the metadata, ingests until all of the window is there or polling must end, and runs
 * the checks in what is left of the deadline.  0, CHECK_FAILED, or an error: ERR_ABSENT without a
 * store, ERR_CONFLICT for one that does not fit, ERR_INTERRUPTED when asked to stop.
 */
int update_run(const struct update_options *options, struct write_counts *ret_counts,
	       struct error *err);
