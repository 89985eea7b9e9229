/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Why cells are empty: what was skipped, missed or not there, kept beside the repository
 *
 * Objects "_refmt/outcomes/RUN/WORKER-ATTEMPT-SEQUENCE.jsonl.zst" in the primary's store, each
 * created once; a line says what became of one source file (docs, "Why a cell is empty").
 *
 * Threads: one at a time.
 */

#include <stdint.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "store/store.h"
#include "writer/dataset.h"
#include "writer/resolve.h"
#include "writer/source-file.h"

#define OUTCOMES_FOLDER "_refmt/outcomes/"

struct outcomes;

/* @run is a fire time or a job's name.  Borrows @store; no traffic before the first flush. */
int outcomes_new(struct store *store, const char *run, uint64_t worker,
		 struct outcomes **ret_outcomes, struct error *err);
struct outcomes *outcomes_free(struct outcomes *outcomes);
DEFINE_CLEANUP(struct outcomes *, outcomes_free)

/* Adds a line about @file. */
int outcomes_add(struct outcomes *outcomes, const struct dataset *dataset,
		 const struct source_file *file, enum outcome outcome, struct slice detail,
		 int64_t now, struct error *err);
/* Writes what was added since the last time as one object; nothing if that is nothing. */
int outcomes_flush(struct outcomes *outcomes, struct error *err);

/* The newest line about a URL. */
struct outcome_found {
	char reason[24];
	char *detail; /* owned */
	char at[40];  /* RFC 3339 */
};

/*
 * Looks for the newest line about @url whose detail concerns @record (a variable's path, or "path
 * [level]"): lines that list records concern only those, all others concern every record.  0, or 1
 * if there is none.
 */
int outcomes_find(struct store *store, const char *url, const char *record,
		  struct outcome_found *ret_found, struct error *err);
void outcome_found_done(struct outcome_found *found);
