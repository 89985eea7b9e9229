/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * References of one source file that is there: its index or headers read, resolved and compared
 * with the file itself
 *
 * Threads: an ingest may be shared.
 */

#include "base/error.h"
#include "store/store.h"
#include "writer/dataset.h"
#include "writer/resolve.h"
#include "writer/source-file.h"

struct ingest {
	const struct dataset *dataset;
	struct store *source;
	struct resolver *resolver;
};

/*
 * Fills @ret_refs, to be ended with file_refs_done().  What is wrong with the file, a failed read
 * included, is an outcome of it and not an error: other files must not suffer.  Errors are ours
 * (memory).  OUTCOME_NOT_PUBLISHED: listed but gone again.
 */
int ingest_file(const struct ingest *ingest, const struct source_file *file,
		struct file_refs *ret_refs, struct error *err);
