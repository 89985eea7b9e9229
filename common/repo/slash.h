/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Old repositories at the root of a bucket, whose keys begin with a slash: "/repo", "/chunks/..."
 *
 * Early versions of the public library joined an empty prefix and a key with a slash.  Such a
 * repository is read through a store that does the same; nothing is written to it.
 *
 * Threads: any.
 */

#include "store/store.h"

/* May there be such a repository: is @store a whole bucket of S3? */
bool slash_is_possible(const struct store *store);
/* Borrows @inner, which must outlive the store. */
int slash_store_new(struct store *inner, struct store **ret_store, struct error *err);
