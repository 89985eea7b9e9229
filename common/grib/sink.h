/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Where unpacked integers go (internal to grib)
 *
 * A decoder unpacks a few thousand integers at a time and puts them here.  The sink spreads
 * them over the bitmap, scales them, and writes each to its final place in the output: rows
 * turned round, reversed or rotated as asked.  So the output is written once and there is no other
 * array of its size.
 */

#include "grib/kernels.h"
#include "grib/message.h"

enum {
	GRIB_BLOCK = 4096, /* integers a decoder puts at a time, at most */
	GRIB_BLOCK_ROOM = GRIB_BLOCK + GRIB_KERNEL_SLACK / 4,
	GRIB_MASK_WORDS = GRIB_BLOCK / 64 + 2,
};

/* How the points of a message become rows of the output. */
struct grib_layout {
	uint64_t ni, nj;
	bool columns;	   /* stored column by column */
	bool alternating;  /* every second stored row (or column) runs backwards */
	bool reverse_rows; /* the first row of the message is the last of the output */
	uint64_t rotate;   /* this column of the message is the first of the output */
};

/* What a decoder puts. */
enum grib_element {
	GRIB_INT32,
	GRIB_UINT32,
	GRIB_UINT32_AS_FLOAT, /* rounded to float32 before scaling */
	GRIB_DOUBLE,
};

struct grib_sink {
	const struct grib_kernels *kernels;
	struct grib_scaling scaling;
	struct grib_layout layout;
	enum grib_type type;
	enum grib_element element;
	uint8_t *out;
	uint64_t n;	   /* points wanted */
	uint64_t position; /* points written */
	const uint8_t *bitmap;
	uint64_t bitmap_points;
};

/* Whether the points keep the order of the message. */
bool grib_layout_is_plain(const struct grib_layout *layout);

/* Brings the points of a message, which @values has in order, into rows as @layout (without
 * columns) wants them; in place. */
void grib_layout_turn(const struct grib_layout *layout, double *values);

/* A sink for all points of @message; scaling and element are the decoder's to set. */
struct grib_sink grib_sink_init(const struct grib_message *message,
				const struct grib_layout *layout, enum grib_type type, void *out);

/* Whether every point was written: what is put now is not wanted any more. */
static inline bool grib_sink_full(const struct grib_sink *sink)
{
	return sink->position == sink->n;
}

/* Puts the next @n (at most GRIB_BLOCK) values. */
void grib_sink_put(struct grib_sink *sink, const void *x, size_t n);

/*
 * Puts the next @n values of which only those with a 1 in @mask (least significant first,
 * GRIB_MASK_WORDS words) are in @x; the others are missing.
 */
void grib_sink_put_masked(struct grib_sink *sink, const void *x, const uint64_t *mask, size_t n);

/* Gives every point @value, those without a bit in the bitmap NaN. */
void grib_sink_fill(struct grib_sink *sink, double value);

/* Writes the missing points at the end.  ERR_FORMAT when there were too few values. */
int grib_sink_finish(struct grib_sink *sink, struct error *err);

/* 10^n or 2^n by repeated squaring, one over it for negative @n, as the codec computes them. */
double grib_power(double base, int n);

/*
 * Scaling of edition 2 from octets 12 to 20 of section 5 (which has them).  ERR_FORMAT when a
 * number that the message can hold comes out as infinity or as no number: it would look like
 * missing data.
 */
int grib_scaling_parse(const struct grib_message *message, struct grib_scaling *ret_scaling,
		       struct error *err);

/* The same check of a scaling made otherwise; @bits is 0 for a constant field. */
int grib_scaling_check(const struct grib_message *message, const struct grib_scaling *scaling,
		       unsigned int bits, struct error *err);
