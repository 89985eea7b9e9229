/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Small repositories for the tests of this layer
 *
 * Threads: one at a time.
 */

#include <sys/stat.h>

#include "repo/refs.h"
#include "repo/repo.h"
#include "repo/transaction.h"
#include "store/drivers.h"
#include "test.h"

/* A folder of its own in $TMPDIR or /tmp; removed with fixture_remove(). */
void fixture_folder(char path[256]);
void fixture_remove(const char *path);

/* The document of a uint8 array with chunks of one element; @shape as JSON, "[4,3]". */
struct slice fixture_array(const char *shape, const char *chunks);
#define FIXTURE_GROUP "{\"zarr_format\":3,\"node_type\":\"group\"}"

/*
 * Creates a repository with the array /a of shape [8,4], chunks [1,1], windows of 2 chunks on the
 * first axis, container s3://bucket/, chunks above 4 bytes in objects of their own.
 */
int fixture_create(struct store *store, int spec, struct error *err);
/* Opens and begins on main. */
struct transaction *fixture_begin(struct repo *repo);
struct repo *fixture_open(struct store *store);
/* Sets /a's chunk (@i, @j) to a reference named after @text. */
int fixture_set(struct transaction *transaction, uint32_t i, uint32_t j, const char *text,
		struct error *err);
/* Commits what was set: 0 or an error. */
int fixture_commit(struct transaction *transaction, enum rebase_mode mode, struct error *err);
/* The location of /a's chunk on main, "" if absent; fails the test on any error. */
void fixture_get(struct repo *repo, uint32_t i, uint32_t j, char location[256]);
/* Number of commits on main, the first one included. */
unsigned int fixture_n_commits(struct repo *repo);
/* Runs a check of everything; fails the test on any error. */
void fixture_verify(struct repo *repo);
