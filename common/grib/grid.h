/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Grids: the order of the output, and coordinates (internal to grib)
 */

#include "grib/message.h"
#include "grib/sink.h"

/*
 * How @options want the points of @message ordered.  ERR_UNSUPPORTED when a flag needs a grid that
 * this one is not.
 */
int grib_layout_of(const struct grib_message *message, const struct grib_decode_options *options,
		   struct grib_layout *ret_layout, struct error *err);

/* Values of the coordinate that options->var asks for.  ERR_UNSUPPORTED. */
int grib_coordinate_points(const struct grib_message *message,
			   const struct grib_decode_options *options, uint64_t *ret_n,
			   struct error *err);

/* Writes them; there is room for as many. */
int grib_coordinate_decode(const struct grib_message *message,
			   const struct grib_decode_options *options, void *out, struct error *err);
