/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Opening files that must lie below one folder
 *
 * Names come from outside: neither ".." nor a symbolic link may lead out of the folder.
 * openat2(2) does this where the kernel has it; elsewhere every symbolic link is refused.
 *
 * Threads: any.
 */

#include <stdbool.h>
#include <sys/types.h>

/*
 * Opens @path below the folder @root as open(2) does.  Returns a file descriptor or -1 with
 * errno; EXDEV when the path leads out of the folder.
 */
int beneath_open(int root, const char *path, int flags, mode_t mode);

/* Tests set this to use what runs on kernels without openat2(2). */
extern bool beneath_without_openat2;
