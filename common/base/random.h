/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Random bytes of the system, for ids and jitter.  Threads: any.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Fills @bytes from getrandom(2). */
int random_bytes(void *bytes, size_t size, struct error *err);
/* A number in [0, 1); for jitter, not for secrets. */
double random_unit(void);
