/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "grib/aec.h"
#include "grib/decoders.h"

/*
 * CCSDS lossless compression: the integers come a block at a time
 */

/* Flags of octet 22 beyond those that only ask for a form of output (2 and 4) or of checking. */
enum {
	FLAGS_KEPT = GRIB_AEC_SIGNED | GRIB_AEC_PREPROCESS | GRIB_AEC_RESTRICTED | GRIB_AEC_PAD,
};

static enum grib_element element_of(const struct grib_aec *aec, enum grib_mode mode)
{
	/* Signed samples fill their four octets. */
	bool full = aec->width == 32 || (aec->width > 16 && (aec->flags & GRIB_AEC_SIGNED));

	if (aec->width > 24 && mode == GRIB_GRIBBERISH)
		return GRIB_UINT32_AS_FLOAT;
	return full ? GRIB_UINT32 : GRIB_INT32;
}

int grib_decode_ccsds(const struct grib_message *m, enum grib_mode mode, struct grib_sink *sink,
		      struct error *err)
{
	struct slice s5 = m->section[5];
	uint32_t x[GRIB_BLOCK_ROOM];
	struct grib_aec aec;
	int r;

	if (s5.size < 25)
		return error_set(err, ERR_FORMAT,
				 "section 5 at offset %zu: too short for CCSDS packing",
				 grib_section_offset(m, 5));
	if (!grib_aec_init(&aec, slice_sub(m->section[7], 5, SIZE_MAX), *OCTET(s5, 20),
			   *OCTET(s5, 23), be16(OCTET(s5, 24)), *OCTET(s5, 22) & FLAGS_KEPT))
		return error_set(err, ERR_FORMAT,
				 "section 5 at offset %zu: CCSDS parameters beyond the standard",
				 grib_section_offset(m, 5));
	r = grib_scaling_parse(m, &sink->scaling, err);
	if (r < 0)
		return r;
	sink->element = element_of(&aec, mode);
	for (uint64_t done = 0; done < m->n_values && !grib_sink_full(sink);) {
		uint64_t left = m->n_values - done;
		size_t n = grib_aec_next(&aec, x, left < GRIB_BLOCK ? (size_t)left : GRIB_BLOCK);

		if (n == 0)
			return error_set(err, ERR_FORMAT,
					 "section 7 at offset %zu: CCSDS data ends or is damaged "
					 "after %" PRIu64 " of %" PRIu64 " values",
					 grib_section_offset(m, 7), done, m->n_values);
		/* The last block is filled up. */
		n = n < left ? n : (size_t)left;
		grib_sink_put(sink, x, n);
		done += n;
	}
	return 0;
}
