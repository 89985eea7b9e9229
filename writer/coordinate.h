/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Values of coordinates
 *
 * Threads: any.
 */

#include "base/error.h"
#include "writer/dataset.h"
#include "zarr/type.h"

/*
 * Fills @out with the values of @coordinate at a chunk: elements [@start, @start + @shape) of the
 * coordinate's array, whose shape is @length, in C order; elements beyond the array keep what is
 * there.  ERR_FORMAT if a value does not fit the type.
 */
int coordinate_fill(const struct dataset *dataset, const struct dataset_coordinate *coordinate,
		    const struct zarr_type *type, const uint64_t *start, const uint64_t *shape,
		    const uint64_t *length, uint8_t *out, struct error *err);
