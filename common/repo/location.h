/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Locations of virtual references: names of objects, not URLs to decode
 *
 * "scheme://authority/key", or "vcc://container/key" relative to a named container.  What follows
 * the authority is the object's name byte for byte: "#", "?" and "%20" mean themselves.
 *
 * Threads: any; plain values.
 */

#include <stdbool.h>

#include "base/buf.h"

struct location {
	struct slice scheme;	/* without "://", in the case of the text */
	struct slice authority; /* bucket, host or container; empty for file */
	struct slice key;	/* what follows, without the first '/'; may be empty */
};

/* Splits @text.  ERR_FORMAT says what is missing. */
int location_split(struct slice text, struct location *ret_location, struct error *err);
/* Compares without regard to the case of letters. */
bool location_scheme_is(const struct location *location, const char *scheme);
/* Is one segment of the key empty, "." or ".."? */
bool location_has_dots(const struct location *location);
/*
 * Does @prefix cover @text?  It covers itself and all below it, at a path boundary: with or
 * without its last slash "s3://b/data" covers "s3://b/data/x", not "s3://b/database".
 */
bool location_covers(struct slice prefix, struct slice text);
/*
 * Appends @text as it is to be stored: the scheme in lower case, everything else as it is.
 * ERR_ARGUMENT for what a reference may not name.
 */
int location_store(struct slice text, struct buf *out, struct error *err);
