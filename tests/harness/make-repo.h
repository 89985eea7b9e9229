/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A small repository with every kind of array and reference, for tests of readers
 *
 *	/            group
 *	/native      int32 [10, 4], chunks [4, 4], bytes + zstd; element (i, j) is 100 i + j; chunk
 *0 native, 1 inline (of one value, it compresses well), 2 absent; fill value -7 /a/b/deep float32
 *[3], chunks [1], keys "c.0"; element i is i + 0.5; /a and /a/b are implied; all inline /scalar
 *float64, 42 /grib/t      float64 [2, 3, NJ, NI], a message a chunk, gribberish; (0,0) (0,1) (1,0)
 *are there, and (1,1), whose source does not exist, (1,2), which is cut short /grib/c      float32
 *[2, NJ, NI], scale_offset -273.15 before gribberish, north_up /odd         float64 [2], chunks
 *[1], codec "mystery" behind scale_offset
 *
 * Threads: one at a time.
 */

#include "store/store.h"

#define MAKE_NI 12
#define MAKE_NJ 7
/* Element (@j, @i) of field @k as the source file holds it, before packing to a tenth. */
float make_repo_value(int k, int j, int i);

/*
 * Creates it in @store, the source file "fields.grib2" in the folder @sources, whose container
 * is file://@sources/.  Specification 2, one commit on main.
 */
int make_repo(struct store *store, const char *sources, struct error *err);
