/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the daemon gives up once its mount is there
 */

#include <stdbool.h>

#include "base/error.h"

/*
 * Gives up, for this process and all it starts: gaining privileges, changing mounts, namespaces,
 * users and the kernel, looking into other processes; without @may_start_programs also starting
 * programs.  Before threads start.
 */
int confine(bool may_start_programs, struct error *err);
