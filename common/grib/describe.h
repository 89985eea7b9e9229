/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * From the headers of a field to what people call it (internal to grib)
 */

#include "grib/message.h"

/* Sections 1, 3, 4 and 5 of a field; in edition 1 the product, grid and data headers. */
struct grib_headers {
	int edition;
	int discipline;
	struct slice s1, s3, s4, s5;
	bool has_bitmap;
};

/* Fills @ret_info.  Never fails: what is not known is said in a form that keeps its numbers. */
void grib_describe(const struct grib_headers *headers, struct grib_info *ret_info);

/* wgrib2's name of a parameter; false: none is known.  Local ones (192 and up) are NCEP's. */
bool grib_parameter_name(int discipline, int category, int number, char *ret_name, size_t size);
/* The same in edition 1. */
bool grib_parameter_name_1(int centre, int table, int number, char *ret_name, size_t size);
