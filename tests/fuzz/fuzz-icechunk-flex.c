/* SPDX-License-Identifier: Apache-2.0 */

/* A FlexBuffers document. */

#include "common/icechunk/walk.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	walk_flex(slice_of(data, size));
	return 0;
}
