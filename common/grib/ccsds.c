/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include <libaec.h>

#include "base/cleanup.h"
#include "grib/decoders.h"

/*
 * CCSDS lossless compression: libaec gives the integers a block at a time
 */

/* Those flags of octet 22 that describe the coding; the others only ask for a form of output. */
enum { FLAGS_KEPT = 0xff & ~(AEC_DATA_3BYTE | AEC_DATA_MSB) };

static void stream_endp(struct aec_stream *stream)
{
	aec_decode_end(stream);
}

/* libaec's 1, 2 or 4 octets a number, in the machine's order, to 32 bits. */
static void widen(const uint8_t *bytes, size_t size, size_t n, uint32_t *x)
{
	if (size == 1) {
		for (size_t i = 0; i < n; i++)
			x[i] = bytes[i];
	} else if (size == 2) {
		const uint16_t *shorts = (const uint16_t *)(const void *)bytes;

		for (size_t i = 0; i < n; i++)
			x[i] = shorts[i];
	} else {
		memcpy(x, bytes, n * sizeof(*x));
	}
}

/*
 * What libaec would refuse or divide by.  The restricted options are for at most 4 bits; up to 8
 * libaec refuses them too, but leaks.
 */
static bool are_sane(const struct aec_stream *stream)
{
	bool restricted = stream->flags & AEC_RESTRICTED;
	unsigned int bits = stream->bits_per_sample;

	return bits >= 1 && bits <= 32 && stream->block_size > 0 && stream->rsi > 0 &&
	       stream->rsi <= 4096 && !(restricted && bits > 4 && bits <= 8);
}

static int start(const struct grib_message *m, struct aec_stream *stream, struct error *err)
{
	struct slice s5 = m->section[5];
	struct slice data = slice_sub(m->section[7], 5, SIZE_MAX);

	*stream = (struct aec_stream){
		.bits_per_sample = *OCTET(s5, 20),
		.flags = *OCTET(s5, 22) & FLAGS_KEPT,
		.block_size = *OCTET(s5, 23),
		.rsi = be16(OCTET(s5, 24)),
		.next_in = data.data,
		.avail_in = data.size,
	};
	if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
		stream->flags |= AEC_DATA_MSB;
	if (!are_sane(stream) || aec_decode_init(stream) != AEC_OK)
		return error_set(err, ERR_FORMAT,
				 "section 5 at offset %zu: CCSDS parameters that libaec refuses",
				 grib_section_offset(m, 5));
	return 0;
}

static enum grib_element element_of(unsigned int bits, enum grib_mode mode)
{
	if (bits > 24 && mode == GRIB_GRIBBERISH)
		return GRIB_UINT32_AS_FLOAT;
	return bits == 32 ? GRIB_UINT32 : GRIB_INT32;
}

int grib_decode_ccsds(const struct grib_message *m, enum grib_mode mode, struct grib_sink *sink,
		      struct error *err)
{
	_Alignas(4) uint8_t bytes[GRIB_BLOCK * 4];
	uint32_t x[GRIB_BLOCK_ROOM];
	struct aec_stream plain;
	unsigned int bits;
	size_t size;
	int r;

	if (m->section[5].size < 25)
		return error_set(err, ERR_FORMAT,
				 "section 5 at offset %zu: too short for CCSDS packing",
				 grib_section_offset(m, 5));
	bits = *OCTET(m->section[5], 20);
	size = bits <= 8 ? 1 : bits <= 16 ? 2 : 4;
	sink->scaling = grib_scaling_parse(m->section[5]);
	sink->element = element_of(bits, mode);
	r = start(m, &plain, err);
	if (r < 0)
		return r;
	CLEANUP(stream_endp) struct aec_stream stream = plain;
	for (uint64_t i = 0; i < m->n_values && !grib_sink_full(sink); i += GRIB_BLOCK) {
		size_t n = m->n_values - i < GRIB_BLOCK ? (size_t)(m->n_values - i) : GRIB_BLOCK;

		stream.next_out = bytes;
		stream.avail_out = n * size;
		if (aec_decode(&stream, AEC_FLUSH) != AEC_OK || stream.avail_out > 0)
			return error_set(err, ERR_FORMAT,
					 "section 7 at offset %zu: CCSDS data ends or is damaged "
					 "after %" PRIu64 " of %" PRIu64 " values",
					 grib_section_offset(m, 7), i, m->n_values);
		widen(bytes, size, n, x);
		grib_sink_put(sink, x, n);
	}
	return 0;
}
