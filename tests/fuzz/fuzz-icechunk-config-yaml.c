/* SPDX-License-Identifier: Apache-2.0 */

/* A spec 1 configuration as YAML. */

#include "common/icechunk/walk.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	walk_config_yaml(slice_of(data, size));
	return 0;
}
