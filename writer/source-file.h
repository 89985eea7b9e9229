/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Source files: which ones a stretch of the append dimension is made of
 *
 * A list owns its files and their texts.  Threads: a list belongs to one at a time; files that
 * nobody changes may be read from any.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "writer/dataset.h"

#define NO_LEVEL UINT32_MAX

/* Which variables take part: one flag a variable of the dataset. */
struct selection {
	bool *variables;
	size_t n;
};

/* All variables, or those named: a bare name means it in every group.  ERR_ARGUMENT: a name that
 * no variable has. */
int selection_init(const struct dataset *dataset, const char *const *names, size_t n_names,
		   struct selection *ret_selection, struct error *err);
void selection_done(struct selection *selection);

struct source_file {
	uint32_t type;			   /* of the dataset's types */
	uint64_t position;		   /* along the append dimension */
	int64_t label;			   /* its append label */
	int64_t init, lead;		   /* reference time and lead time */
	uint32_t labels[DATASET_DIMS_MAX]; /* place along each dimension that a file has one label
					      of */
	char *url;
	char *index_url;       /* NULL: the file has no index */
	uint64_t size;	       /* bytes, once it was discovered */
	int64_t last_modified; /* microseconds, 0 = unknown */
	uint64_t index_size;
	int64_t index_last_modified;
	char etag[96]; /* empty = unknown */
};

struct source_files {
	struct source_file *items;
	size_t n, capacity;
};

void source_files_done(struct source_files *files);

/*
 * Appends the files of append positions [@first, @end) in the order position, dimensions of the
 * files, type.  A file that gives no reference for @selection is left out.
 */
int source_files_generate(const struct dataset *dataset, const struct selection *selection,
			  uint64_t first, uint64_t end, struct source_files *files,
			  struct error *err);

/* ERR_FORMAT: two files have one URL; listings, which answer by URL, could not tell them apart. */
int source_files_check(const struct source_files *files, struct error *err);

/* The file that holds a cell: @variable at @position and @labels (place along each dimension of the
 * dataset).  0, or 1 if no file has it. */
int source_file_of(const struct dataset *dataset, uint32_t variable, uint64_t position,
		   const uint32_t *labels, struct source_file *ret_file, struct error *err);
void source_file_done(struct source_file *file);

/* Is @variable expected in @file? */
bool source_file_holds(const struct dataset *dataset, const struct source_file *file,
		       uint32_t variable);

/* Is its message in @file no data, so that it gets no reference? */
bool source_file_is_meaningless(const struct dataset *dataset, const struct source_file *file,
				uint32_t variable);

/*
 * The variable whose presence stands for the whole file: the definition's probe, or the first
 * instant one that @file holds of @selection, else the first.  -1 if it holds none.
 */
int source_file_probe(const struct dataset *dataset, const struct selection *selection,
		      const struct source_file *file);

/*
 * Chunk index of @variable in @file; @level is the place along the group's level dimension,
 * NO_LEVEL where there is none or the file has a label of it.  Writes one number a dimension of the
 * group.
 */
void source_file_cell(const struct dataset *dataset, const struct source_file *file,
		      uint32_t variable, uint32_t level, uint32_t *ret_index);

/* Appends the labels of the file as "init_time=2025-08-01T00:00:00,lead_time=8h". */
int source_file_labels(const struct dataset *dataset, const struct source_file *file,
		       struct buf *out, struct error *err);
