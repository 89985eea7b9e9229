/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * IEEE 754 binary16.  Threads: any.
 */

#include <stdint.h>

/* Nearest, ties to even; beyond the range an infinity. */
uint16_t zarr_half_bits(double value);
/* Exact. */
double zarr_half_value(uint16_t bits);
