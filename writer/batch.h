/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A batch: references of whole files, set in every target and made visible by one commit each
 *
 * Threads: one at a time.
 */

#include "base/cleanup.h"
#include "base/error.h"
#include "repo/transaction.h"
#include "writer/dataset.h"
#include "writer/resolve.h"
#include "writer/site.h"
#include "writer/source-file.h"

/* A file and what was resolved of it. */
struct batch_file {
	const struct source_file *file;
	struct file_refs refs;
};

struct batch;

/*
 * Begins a batch on @branch of every target.  With @overwrite, references that are there and say
 * the same are left alone, and cells of a file that it has no message for lose theirs.  Borrows
 * everything.
 */
int batch_new(const struct dataset *dataset, const struct selection *selection,
	      struct targets *targets, const char *branch, bool overwrite, struct batch **ret_batch,
	      struct error *err);
struct batch *batch_free(struct batch *batch);
DEFINE_CLEANUP(struct batch *, batch_free)

/* Sets the references of @n files, growing the append dimension where they need it. */
int batch_add(struct batch *batch, const struct batch_file *files, size_t n, struct error *err);

/*
 * Commits replicas, then the primary.  Targets in which nothing changed get no commit.
 * ERR_CONFLICT: somebody else wrote the same; the batch is then only to be freed.
 */
int batch_commit(struct batch *batch, const char *message, bool *ret_committed, struct error *err);

/* Length of the append dimension in the store that @checkout shows; it must be one in all groups,
 * and the store must hold this dataset.  ERR_CONFLICT names what is not so. */
int store_length(const struct dataset *dataset, struct checkout *checkout, uint64_t *ret_length,
		 struct error *err);
