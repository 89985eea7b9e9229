/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The envelope around every Icechunk metadata object: a header of 39 bytes and a zstd payload
 *
 * Offset 0: 12 magic bytes; 12: 24 bytes writer name; 36: specification; 37: file type; 38:
 * compression (1 = zstd); 39: payload (Icechunk specification, "File headers").
 *
 * Threads: any.
 */

#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

#define ENVELOPE_HEADER_SIZE 39
#define ENVELOPE_WRITER_MAX 24

enum file_type {
	FILE_SNAPSHOT = 1,
	FILE_MANIFEST = 2,
	FILE_TRANSACTION_LOG = 4,
	FILE_REPO = 6,
};

/* The specification byte of a file; 2.1 has no byte of its own. */
enum spec { SPEC_1 = 1, SPEC_2 = 2 };

struct envelope {
	enum spec spec;
	char writer[ENVELOPE_WRITER_MAX + 1]; /* trailing blanks and NULs removed */
};

/*
 * Checks the header of @file and appends its decompressed payload to @payload, whose ceiling bounds
 * what a zip bomb can take.  @ret_envelope may be NULL.
 *
 * ERR_FORMAT; ERR_UNSUPPORTED for a newer specification; ERR_MEMORY.
 */
int envelope_open(struct slice file, enum file_type type, struct buf *payload,
		  struct envelope *ret_envelope, struct error *err);

struct envelope_options {
	enum spec spec;
	int level;	      /* of zstd; 0 means 3 */
	unsigned int workers; /* threads that compress beside the caller's; 0 for none */
};

/*
 * Appends to @out a header and one zstd frame that holds the @n pieces one after the other.
 * ERR_ARGUMENT if the level is none of zstd's; ERR_UNSUPPORTED beyond 2^31 - 1 bytes, which readers
 * refuse.
 */
int envelope_seal(const struct slice *pieces, size_t n, enum file_type type,
		  const struct envelope_options *options, struct buf *out, struct error *err);

/* "snapshot", "manifest", "transaction log", "repo object". */
const char *file_type_name(enum file_type type);
