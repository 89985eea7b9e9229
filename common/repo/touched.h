/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Which chunks the commits between two snapshots touched, by their transaction logs
 *
 * Threads: an open set may be shared.
 */

#include "repo/repo.h"

struct touched;

/*
 * Reads the logs of the commits after @from up to @to.  Returns 0; REPO_ABSENT when they cannot
 * tell: @from is no ancestor of @to, or a log is missing or cannot be read; or ERR_MEMORY.
 */
int touched_load(struct repo *repo, const struct id12 *from, const struct id12 *to,
		 struct touched **ret_touched, struct error *err);
struct touched *touched_free(struct touched *touched);
DEFINE_CLEANUP(struct touched *, touched_free)

/*
 * Calls @each for every chunk of array @id that was touched, some perhaps more than once; the index
 * has @n_dims numbers.  A negative result ends it.
 */
int touched_each(const struct touched *touched, const struct id8 *id,
		 int (*each)(void *argument, const uint32_t *index, uint32_t n_dims,
			     struct error *err),
		 void *argument, struct error *err);
