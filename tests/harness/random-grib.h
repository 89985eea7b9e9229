/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Valid messages of edition 2 with random content: every packing that has a direct decoder, every
 * width, group layout, order, missing value management, bitmap pattern, sign and scale
 *
 * The payload is random bits in a consistent frame.  Nothing in it is beyond what eccodes decodes
 * like FM 92: see random-grib.c for where the two part.  Threads: any.
 */

#include "base/buf.h"
#include "base/error.h"

/* Appends the message of @seed and tells the number of its points. */
int random_grib(uint64_t seed, struct buf *out, size_t *ret_points, struct error *err);
