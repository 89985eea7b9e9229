/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Repositories of the test data as JSON, in the shape of the data's expected/ files
 */

#include "base/buf.h"

/* Each appends the value of the member of its name; @folder is the repository's root. */
void dump_snapshot(const char *folder, const char *id, struct buf *out);
void dump_transaction(const char *folder, const char *id, struct buf *out);
/* The members that follow from the repo object, without spec_version and snapshots. */
void dump_repo(const char *folder, struct buf *out);
