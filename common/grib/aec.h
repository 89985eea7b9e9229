/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Decoder of CCSDS 121.0-B lossless data compression (internal to grib)
 *
 * In place of libaec, of which 1.0.6 writes beyond its buffer on damaged data (a run of zero blocks
 * longer than the reference interval): these bytes are decoded in the daemon.  Integers that do
 * not fill 1, 2 or 4 octets come as libaec's buffers of that size hold them.
 */

#include "base/buf.h"
#include "grib/kernels.h"

enum grib_aec_flags {
	GRIB_AEC_SIGNED = 1,
	GRIB_AEC_PREPROCESS = 8,
	GRIB_AEC_RESTRICTED = 16,
	GRIB_AEC_PAD = 32, /* each reference interval begins at a whole octet; refused */
};

struct grib_aec {
	const struct grib_kernels *kernels;
	struct slice data;
	uint64_t bit, bits;    /* next, and how many there are */
	unsigned int width;    /* bits of a sample */
	unsigned int block;    /* samples of a block */
	unsigned int interval; /* blocks from one reference sample to the next */
	unsigned int flags;
	unsigned int id_bits;
	unsigned int block_in_interval;
	unsigned int zero_blocks; /* that are still to come */
	uint32_t last;		  /* sample before the next */
};

/* Begins.  False: parameters that the standard does not know. */
bool grib_aec_init(struct grib_aec *aec, struct slice data, unsigned int width, unsigned int block,
		   unsigned int interval, unsigned int flags);

/*
 * The next samples, as many whole blocks as @room holds, but at least one; @x has room for
 * GRIB_KERNEL_SLACK / 4 more.  Returns how many; 0 when the data is damaged or at its end.
 */
size_t grib_aec_next(struct grib_aec *aec, uint32_t *x, size_t room);
