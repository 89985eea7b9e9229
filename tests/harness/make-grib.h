/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * GRIB messages made from nothing, for tests and the demo
 *
 * Encoders of their own, so that a decoder is not tested against itself: edition 2 with simple
 * (5.0), complex (5.2, 5.3), PNG (5.41) and CCSDS (5.42) packing, edition 1 with simple packing.
 * Octets follow FM 92.  Threads: any.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

enum make_packing {
	MAKE_SIMPLE = 0,
	MAKE_COMPLEX = 2,
	MAKE_SPATIAL = 3, /* complex with second order differences */
	MAKE_PNG = 41,
	MAKE_CCSDS = 42,
};

/* A fixed surface: code table 4.5, value times 10^-scale; type 255: none. */
struct make_level {
	uint8_t type;
	int8_t scale;
	int32_t value;
};

/* Statistics of code table 4.10. */
enum make_statistic { MAKE_AVERAGE = 0, MAKE_ACCUMULATION = 1, MAKE_MAXIMUM = 2, MAKE_MINIMUM = 3 };

struct make_grid {
	int kind; /* 0 latitude/longitude, 30 Lambert */
	uint32_t ni, nj;
	uint8_t scan;	    /* 0x40: rows from the south */
	int32_t lat1, lon1; /* first point, millionths of a degree */
	uint32_t di, dj;    /* millionths of a degree, or millimetres */
	/* Lambert, millionths of a degree: where the distances hold, central meridian, cuts. */
	int32_t lad, lov, latin1, latin2;
};

/* HRRR's CONUS grid: 1799 x 1059 points, 3 km. */
extern const struct make_grid make_grid_hrrr;
/* A global grid of @ni x @nj points from 90 N, 0 E. */
struct make_grid make_grid_global(uint32_t ni, uint32_t nj);

struct make_grib {
	int edition; /* 0 means 2; in edition 1 only latitude/longitude grids and simple packing */
	uint8_t discipline, category, number;
	struct make_level level, level2; /* a level2 of all zeros counts as none */
	int year, month, day, hour, minute;
	int32_t lead_minutes; /* end of the window, or the instant */
	bool has_window;
	int32_t window_minutes; /* length of the statistic's window before it */
	enum make_statistic statistic;
	struct make_grid grid;
	enum make_packing packing;
	int decimal_scale; /* values are kept to 10^-decimal_scale */
	int binary_scale;  /* then in steps of 2^binary_scale */
};

/*
 * Appends a message of the grid's ni * nj @values, in the order of the message; NaN is missing
 * and makes a bitmap.  Values are rounded to the scales; all equal: 0 bits.
 */
int make_grib_field(const struct make_grib *spec, const float *values, struct buf *out,
		    struct error *err);

/*
 * Appends a message of edition 2 around given content: octets 10 and on of section 5, a bitmap
 * of one bit a point or an empty slice, and octets 6 and on of section 7.
 */
int make_grib_around(const struct make_grib *spec, uint32_t n_values, struct slice section_5,
		     struct slice bitmap, struct slice section_7, struct buf *out,
		     struct error *err);

/* Appends @n octets of @value, most significant first. */
int make_be(struct buf *out, uint64_t value, unsigned int n, struct error *err);

/* Bits written one after another. */
struct make_bits {
	struct buf *out;
	unsigned int used; /* of the last octet; 0: it is full, or there is none */
};

/* Appends the low @width (0 to 32) bits of @value. */
int make_bits_put(struct make_bits *bits, uint32_t value, unsigned int width, struct error *err);

/* Appends a grey, RGB or RGBA image of @width x @height whose pixels are @x; @depth 1 to 32. */
int make_png(const uint32_t *x, uint32_t width, uint32_t height, unsigned int depth,
	     bool interlaced, struct buf *out, struct error *err);
/* Appends @n integers coded by libaec with its own flags (without output form), block size and
 * interval. */
int make_ccsds(const uint32_t *x, size_t n, unsigned int bits, unsigned int flags,
	       unsigned int block, unsigned int interval, struct buf *out, struct error *err);
