/* SPDX-License-Identifier: Apache-2.0 */

/* A spec 1 reference file, and the same bytes as a key. */

#include "common/icechunk/walk.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	walk_ref1(slice_of(data, size));
	return 0;
}
