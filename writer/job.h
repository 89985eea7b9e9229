/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Region jobs: stretches of the append dimension, filtered and shared out
 *
 * Every worker computes the whole list and takes its part; nobody hands out work.
 * Threads: plain values.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/vec.h"
#include "writer/dataset.h"

/* Append positions [first, end); the end may lie beyond the last position. */
struct job {
	uint64_t first, end;
};

DEFINE_VEC(job_list, struct job);

struct job_filters {
	bool has_start, has_end;
	int64_t start, end; /* append labels; the end is exclusive */
	const int64_t *contains;
	size_t n_contains; /* 0: no such filter */
};

/*
 * Appends the jobs of the first @n positions, one for each chunk along the append dimension, in
 * order.  A region counts if a position of it lies in [start, end) by the reference system's
 * rule, and if it holds one of the labels of @filters->contains exactly.
 */
int jobs_make(const struct dataset *dataset, uint64_t n, const struct job_filters *filters,
	      struct job_list *jobs, struct error *err);

/*
 * Jobs [*ret_first, *ret_end) of worker @index of @total: one block in the order of the list.
 * ERR_ARGUMENT: no such worker, or a block without jobs.
 */
int jobs_assign(size_t n_jobs, uint64_t index, uint64_t total, size_t *ret_first, size_t *ret_end,
		struct error *err);
