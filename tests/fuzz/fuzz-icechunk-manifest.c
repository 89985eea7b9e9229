/* SPDX-License-Identifier: Apache-2.0 */

/* The FlatBuffer of a manifest, with every way of looking references up. */

#include "common/icechunk/walk.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	walk_manifest(slice_of(data, size));
	return 0;
}
