/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a worker process may still do (internal to grib)
 */

#include <stdint.h>

/*
 * Takes from this process, for ever: sockets, starting programs or processes, opening files but for
 * reading, and memory beyond what it has now plus @memory_max.  Where the kernel has Landlock, only
 * files below @folders (separated by colons) can still be read.  Negative when that cannot be done.
 */
int grib_sandbox_enter(uint64_t memory_max, const char *folders);
