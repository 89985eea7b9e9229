/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Why a chunk has data or none, from the store alone
 *
 * Threads: any.
 */

#include "base/error.h"
#include "repo/repo.h"
#include "writer/dataset.h"

struct why {
	bool known;
	char reason[24]; /* "present", or one of outcome_name() */
	char *url;	 /* of the source file, NULL if none is expected to hold the cell; owned */
	char *detail;	 /* owned, may be NULL */
	char at[40];	 /* when that was found, RFC 3339; empty for what is present */
};

/*
 * Looks at chunk @key ("temperature_2m/c/0/3/0/0") of @repo's main.  An existing reference beats
 * every recorded reason.  ERR_ARGUMENT: a key that is no chunk of the dataset.
 */
int why_find(const struct dataset *dataset, struct repo *repo, const char *key, struct why *ret_why,
	     struct error *err);
void why_done(struct why *why);
