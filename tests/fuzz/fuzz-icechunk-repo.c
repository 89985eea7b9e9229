/* SPDX-License-Identifier: Apache-2.0 */

/* The FlatBuffer of a repo object, read, changed and written. */

#include "common/icechunk/walk.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	walk_repo(slice_of(data, size));
	return 0;
}
