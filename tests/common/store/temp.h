/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Folders for tests
 */

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { TEMP_MAX = 256 };

/* Makes an empty folder in $TMPDIR or /tmp. */
static inline void temp_make(char path[TEMP_MAX])
{
	const char *parent = getenv("TMPDIR");

	snprintf(path, TEMP_MAX, "%s/refmt-store-XXXXXX", parent && parent[0] ? parent : "/tmp");
	if (!mkdtemp(path))
		abort();
}

static inline int temp_remove_one(const char *path, const struct stat *st, int type,
				  struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

/* Removes the folder and all in it. */
static inline void temp_remove(const char *path)
{
	nftw(path, temp_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
