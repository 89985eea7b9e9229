/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Progress: one line on the terminal, redrawn at most ten times a second, gone at the end
 *
 *	commit  123/400 files  21,500 refs  1.2 GiB  35 files/s  0:08 left
 *
 * There is one terminal, hence one progress at a time.  Lines of the log take its place and it
 * comes back below them.
 *
 * Threads: any may add.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct progress_counts {
	uint64_t files, refs, bytes;
};

/* Begins; nothing is drawn unless @shown.  @total is the number of files to come, 0: unknown. */
void progress_start(const char *what, uint64_t total, bool shown);
void progress_add(uint64_t files, uint64_t refs, uint64_t bytes);
/* The number of files to come turned out to be another. */
void progress_total(uint64_t total);
/* Clears the line and ends; harmless when nothing was begun. */
void progress_finish(void);
/* The line after @elapsed microseconds, at most @width characters and a NUL, into @text. */
void progress_format(const char *what, const struct progress_counts *counts, uint64_t total,
		     int64_t elapsed, size_t width, char *text);
