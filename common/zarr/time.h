/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Times in arrays: CF units and timedeltas to microseconds and back, labels
 *
 * An array holds times if its attribute units is "UNIT since DATE" (calendar proleptic_gregorian,
 * standard or gregorian), and durations if units is a unit alone and its attribute dtype names a
 * timedelta64.  UNIT is weeks, days, hours, minutes, seconds, milliseconds or microseconds.
 *
 * Threads: any; plain values.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json.h"
#include "base/time.h"
#include "zarr/type.h"

struct zarr_time {
	bool is_duration;
	int64_t unit;  /* microseconds of one unit */
	int64_t epoch; /* microseconds since 1970-01-01T00:00:00Z; 0 for durations */
};

enum { ZARR_NO_TIME = 1 };

#define ZARR_NAT INT64_MIN /* not a time: NaN, or the least int64 */

/*
 * Reads an array's attributes.  Returns 0, ZARR_NO_TIME if they do not describe times, or
 * ERR_UNSUPPORTED for a calendar that we do not know.
 */
int zarr_time_parse(const struct json *attributes, struct zarr_time *ret_time, struct error *err);
/* Element @i of @bytes, of integers or floats, in microseconds (ZARR_NAT for none).  ERR_FORMAT if
 * out of range or of another type; fractions of a microsecond are rounded to the nearest. */
int zarr_time_decode(const struct zarr_time *time, const struct zarr_type *type,
		     const uint8_t *bytes, size_t i, int64_t *ret_micros, struct error *err);
/* Writes @micros as element @i.  ERR_ARGUMENT if an integer type cannot hold it exactly. */
int zarr_time_encode(const struct zarr_time *time, const struct zarr_type *type, int64_t micros,
		     uint8_t *bytes, size_t i, struct error *err);

/* "2025-08-01T00:00:00", with fractions only if there are any; "NaT". */
void zarr_time_label(int64_t micros, char text[TIME_TEXT_MAX]);
/* "6h"; "90m", "30s", "1us" where the unit before does not divide it; "NaT". */
void zarr_duration_label(int64_t micros, char text[TIME_TEXT_MAX]);
