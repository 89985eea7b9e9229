/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * From an index to references
 *
 * A resolver knows which messages of which kind of file belong to which variables.  What it has
 * worked out for one lead time serves for all files of that lead.
 *
 * Threads: a resolver may be shared.
 */

#include <stdint.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/vec.h"
#include "writer/dataset.h"
#include "writer/index.h"
#include "writer/source-file.h"

struct resolver;

/* Borrows both arguments, which must outlive it. */
int resolver_new(const struct dataset *dataset, const struct selection *selection,
		 struct resolver **ret_resolver, struct error *err);
struct resolver *resolver_free(struct resolver *resolver);
DEFINE_CLEANUP(struct resolver *, resolver_free)

/* One message that becomes one chunk. */
struct file_ref {
	uint32_t variable;
	uint32_t level; /* place along the group's level dimension, or NO_LEVEL */
	uint64_t offset, length;
};

DEFINE_VEC(file_ref_list, struct file_ref);

/* Why a file, or a record of it, gives no reference; the order is that of outcome_name(). */
enum outcome {
	OUTCOME_NONE,
	OUTCOME_NOT_PUBLISHED,
	OUTCOME_STALE_INDEX,
	OUTCOME_OTHER_RUN,
	OUTCOME_SHORT,
	OUTCOME_PROBE_MISSING,
	OUTCOME_DUPLICATE,
	OUTCOME_NOT_IN_FILE,
	OUTCOME_NOT_MEANINGFUL,
	OUTCOME_ERROR
};

const char *outcome_name(enum outcome outcome);

struct file_refs {
	struct file_ref_list refs; /* in the order of the index; one message may serve several */
	enum outcome outcome;	   /* OUTCOME_NONE, or why the whole file is skipped */
	char detail[256];
	struct buf missing;	/* expected records without a reference: paths, "path[level]", with
				   commas */
	struct buf meaningless; /* records that are in the file but are no data */
	uint64_t n_missing, n_duplicates, n_later_fields;
	uint64_t n_bytes;		   /* read to find all this */
	uint64_t last_offset, last_length; /* of the message with the largest offset */
};

void file_refs_done(struct file_refs *refs);

/*
 * Resolves the references of @file from the text of its index (kinds with an index).  file->size is
 * the size of the data file.  Nothing but the text is looked at: the caller compares the last
 * message with the file itself.
 *
 * Returns 0 also when the file is to be skipped; ret_refs->outcome then says why.  Several messages
 * for one cell: the one with the largest offset counts.
 */
int resolver_index(struct resolver *resolver, const struct source_file *file, struct slice text,
		   struct file_refs *ret_refs, struct error *err);

/* As above from rows that were read from the messages themselves (kind header_scan). */
int resolver_rows(struct resolver *resolver, const struct source_file *file,
		  const struct index_rows *rows, const struct index_facts *facts,
		  struct file_refs *ret_refs, struct error *err);

/* What the rows of the file's index have to say about its run.  Lends from dataset and @step. */
struct index_run resolver_run(const struct resolver *resolver, const struct source_file *file,
			      char step[32]);

/* Refers to the whole object (kinds whole_object and zarr_chunks: one variable a file). */
int resolver_whole(struct resolver *resolver, const struct source_file *file,
		   struct file_refs *ret_refs, struct error *err);
