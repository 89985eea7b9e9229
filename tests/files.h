/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Whole files, for tests and the programs beside them */

#include <stdbool.h>
#include <stdio.h>

#include "base/buf.h"

/* Appends the file's bytes to @out.  ERR_ABSENT, or the buffer's errors. */
static inline int test_read_file(const char *path, struct buf *out, struct error *err)
{
	FILE *file = fopen(path, "rb");
	uint8_t block[65536];
	bool failed;
	size_t n;
	int r = 0;

	if (!file)
		return error_set(err, ERR_ABSENT, "cannot open '%s'", path);
	while (r == 0 && (n = fread(block, 1, sizeof(block), file)) > 0)
		r = buf_append(out, block, n, err);
	failed = ferror(file);
	fclose(file);
	return r == 0 && failed ? error_set(err, ERR_FORMAT, "cannot read '%s'", path) : r;
}

static inline int test_write_file(const char *path, struct slice bytes, struct error *err)
{
	FILE *file = fopen(path, "wb");
	bool is_written;

	if (!file)
		return error_set(err, ERR_ABSENT, "cannot create '%s'", path);
	is_written = bytes.size == 0 || fwrite(bytes.data, 1, bytes.size, file) == bytes.size;
	if (fclose(file) != 0 || !is_written)
		return error_set(err, ERR_NETWORK, "cannot write '%s'", path);
	return 0;
}
