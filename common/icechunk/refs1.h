/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Spec 1 branches and tags: reference files and how their names are spelled in keys
 *
 * Threads: any.
 */

#include <stdbool.h>

#include "base/buf.h"
#include "base/error.h"
#include "icechunk/id.h"

enum ref1_kind { REF1_BRANCH, REF1_TAG };

/* What a key below "refs/" is; a plain value whose name lends the key. */
struct ref1_key {
	enum ref1_kind kind;
	struct slice name; /* as spelled in the key, possibly percent-encoded */
	bool tombstone;	   /* ref.json.deleted */
};

enum { REF1_OTHER = 1 };

/* {"snapshot":"<id>"}, any JSON whitespace, other members ignored.  ERR_FORMAT. */
int ref1_parse(struct slice text, struct id12 *ret_snapshot, struct error *err);
/* Appends the 35 bytes that the public library writes. */
int ref1_encode(const struct id12 *snapshot, struct buf *out, struct error *err);

/* Reads "refs/branch.NAME/ref.json" and its like; REF1_OTHER for any other key. */
int ref1_key_parse(struct slice key, struct ref1_key *ret_key);
/*
 * Appends the key of a reference.  @encode: percent-encode as stores other than S3 do (local, GCS,
 * Azure).  ERR_ARGUMENT for a name that is empty or holds '/'.
 */
int ref1_key_format(enum ref1_kind kind, struct slice name, bool encode, bool tombstone,
		    struct buf *out, struct error *err);
/* Appends the name that its writer gave: percent escapes undone; broken ones stay as they are. */
int ref1_name_decode(struct slice spelled, struct buf *out, struct error *err);
/* Would the name be spelled otherwise on a store that encodes? */
bool ref1_name_needs_encoding(struct slice name);
