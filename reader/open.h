/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Opening a repository for reading: store, repository, snapshot and reader together
 *
 * Threads: the result may be shared.
 */

#include "reader/reader.h"

struct open_options {
	struct store_options store; /* of the repository itself */
	struct repo_options repo;
	struct repo_at at;
	struct reader_options reader;
};

struct opened {
	struct store *store;
	struct repo *repo;
	struct checkout *checkout;
	struct reader *reader;
};

/* Opens all four; on failure nothing stays open.  For CLEANUP(opened_done). */
int opened_init(struct opened *opened, const char *url, const struct open_options *options,
		struct error *err);
/* Frees what is there; members that are NULL are fine. */
void opened_done(struct opened *opened);
