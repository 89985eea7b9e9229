/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Backfills in one process
 *
 * All work goes to the branch "_job_local"; main moves to its tip once, at the end.  A backfill
 * that was cut short goes on where it was when it is run again.  Two at once share the branch: one
 * that lost a race to the other begins again from what that one made, up to ten times.
 *
 * Threads: one at a time for each dataset.
 */

#include "base/error.h"
#include "writer/write-loop.h"

struct backfill_options {
	const struct dataset *dataset;
	const struct site *site;
	const struct selection *selection;
	bool has_end;
	int64_t end; /* append labels below it; not given: the store's end, or now */
	struct job_filters filters;
	uint64_t jobs_per_pod; /* jobs of one commit */
	bool overwrite_chunks, overwrite_metadata;
	const struct write_hooks *hooks;
};

/*
 * Runs the whole backfill.  @ret_counts sums up all workers.  ERR_ARGUMENT: an end before the first
 * position, filters that select nothing.  ERR_CONFLICT: the store holds another dataset, another
 * structure, or main has moved on since the backfill began and the races were lost.
 */
int backfill_local(const struct backfill_options *options, struct write_counts *ret_counts,
		   struct error *err);
