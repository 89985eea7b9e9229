/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Checks of a published dataset, as its definition lists them
 *
 * Threads: one at a time.
 */

#include "base/error.h"
#include "repo/repo.h"
#include "writer/dataset.h"
#include "writer/site.h"

struct check_options {
	const struct dataset *dataset;
	const struct site *site;
	struct targets *targets; /* the primary is looked at */
	int64_t window_start;	 /* append labels that the update looks at: from here ... */
	int64_t end;		 /* ... up to here, exclusive */
	int64_t deadline;	 /* program's clock; a check that has not ended by then fails */
	/* Each failed check and why. */
	void (*failed)(void *argument, const char *check, const char *reason);
	void *argument;
};

enum { CHECK_FAILED = 1 };

/* Runs all checks, also after one has failed: 0, CHECK_FAILED, or an error. */
int checks_run(const struct check_options *options, struct error *err);
