/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The whole codec but for eccodes: an octet of options, then a message
 */

#include "grib-target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct grib_decode_options options;

	if (size < 1)
		return 0;
	options = grib_target_options(data[0]);
	grib_target_decode(slice_of(data + 1, size - 1), &options);
	return 0;
}
