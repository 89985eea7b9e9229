/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Packing 5.41: the rest of section 5, a bitmap and the data around a frame that is always right
 */

#include "grib-packing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	grib_packing_decode(41, 21, data, size);
	return 0;
}
