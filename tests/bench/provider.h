/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A provider of source files in a folder that a server shows
 *
 * Index files are whole: a line for each message that the definition knows in such a file.  Data
 * files have their real size and nothing in them but the header of the last message, which is all
 * that a writer looks at.
 *
 * Threads: one at a time.
 */

#include "base/error.h"
#include "writer/source-file.h"

/* Makes the folder @folder (a bucket of versitygw) readable for everyone. */
int provider_share(const char *folder, struct error *err);

/* Writes the data of @file below @folder, then its NOAA index, each at once. */
int provider_publish(const struct dataset *dataset, const struct source_file *file,
		     const char *folder, struct error *err);
