/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the tests of this folder share: files of the test data, and JSON compared by jansson
 */

#include "base/buf.h"
#include "icechunk/envelope.h"
#include "icechunk/manifest.h"
#include "icechunk/snapshot.h"

/* Reads a file whole; fails the test if it cannot. */
struct buf read_file(const char *path);
bool file_exists(const char *path);
/* Reads an Icechunk file and opens its envelope; fails the test if it cannot. */
struct buf read_payload(const char *path, enum file_type type, struct envelope *ret_envelope);
/* Fails the test unless both texts are the same JSON value, whatever the order of members. */
void assert_json_equal(struct slice got, struct slice want);
