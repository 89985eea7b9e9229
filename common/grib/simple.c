/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>

#include "grib/decoders.h"

enum { BITS_MAX = 32 };

const uint8_t *grib_packed_at(struct grib_packed *packed, size_t offset, size_t length)
{
	if (packed->size - offset >= length + GRIB_KERNEL_SLACK)
		return packed->bytes + offset;
	memcpy(packed->tail, packed->bytes + offset, length);
	memset(packed->tail + length, 0, GRIB_KERNEL_SLACK);
	return packed->tail;
}

/* @count integers of @bits bits from @bytes on, blocks of which begin at whole octets. */
static int put_packed(struct slice bytes, unsigned int bits, uint64_t count, struct grib_sink *sink)
{
	struct grib_packed packed = {.bytes = bytes.data, .size = bytes.size};
	uint32_t x[GRIB_BLOCK_ROOM];
	size_t offset = 0;

	sink->element = bits == 32 ? GRIB_UINT32 : GRIB_INT32;
	for (uint64_t i = 0; i < count && !grib_sink_full(sink); i += GRIB_BLOCK) {
		size_t n = count - i < GRIB_BLOCK ? (size_t)(count - i) : GRIB_BLOCK;
		size_t length = (n * bits + 7) / 8;

		sink->kernels->unpack(grib_packed_at(&packed, offset, length), 0, bits, x, n);
		grib_sink_put(sink, x, n);
		offset += length;
	}
	return 0;
}

static int check_bits(const struct grib_message *m, int section, unsigned int bits,
		      struct error *err)
{
	if (bits <= BITS_MAX)
		return 0;
	return error_set(err, ERR_FORMAT, "section %d at offset %zu: %u bits a value, at most %d",
			 section, grib_section_offset(m, section), bits, BITS_MAX);
}

int grib_decode_simple(const struct grib_message *m, enum grib_mode mode, struct grib_sink *sink,
		       struct error *err)
{
	struct slice packed = slice_sub(m->section[7], 5, SIZE_MAX);
	unsigned int bits = *OCTET(m->section[5], 20);
	int r;

	(void)mode;
	r = check_bits(m, 5, bits, err);
	if (r < 0)
		return r;
	if (m->n_values * bits > (uint64_t)packed.size * 8)
		return error_set(
			err, ERR_FORMAT,
			"section 7 at offset %zu has %zu octets of data, too few for %" PRIu64
			" values of %u bits",
			grib_section_offset(m, 7), packed.size, m->n_values, bits);
	r = grib_scaling_parse(m, &sink->scaling, err);
	if (r < 0)
		return r;
	return put_packed(packed, bits, m->n_values, sink);
}

int grib_decode_constant(const struct grib_message *m, enum grib_mode mode, struct grib_sink *sink,
			 struct error *err)
{
	struct grib_scaling s;
	int r;

	r = grib_scaling_parse(m, &s, err);
	if (r < 0)
		return r;
	/* The codec forgets the decimal scale. */
	grib_sink_fill(sink, mode == GRIB_WMO ? s.reference * s.t : s.reference);
	return 0;
}

/* IBM's single precision, rounded to IEEE's. */
static float ibm_float(uint32_t bits)
{
	double magnitude =
		ldexp((double)(bits & 0xffffff), 4 * ((int)(bits >> 24 & 0x7f) - 64) - 24);

	return (float)(bits >> 31 ? -magnitude : magnitude);
}

static uint64_t count_values_1(const struct grib_message *m)
{
	uint64_t bits = m->bitmap_points < m->n_points ? m->bitmap_points : m->n_points;
	uint64_t count = 0;

	if (!m->bitmap)
		return m->n_points;
	for (uint64_t i = 0; i + 8 <= bits; i += 8)
		count += (unsigned int)__builtin_popcount(m->bitmap[i / 8]);
	if (bits % 8)
		count += (unsigned int)__builtin_popcount(m->bitmap[bits / 8] >> (8 - bits % 8));
	return count;
}

int grib_decode_simple_1(const struct grib_message *m, enum grib_mode mode, struct grib_sink *sink,
			 struct error *err)
{
	struct slice bds = m->section[7];
	struct slice packed = slice_sub(bds, 11, SIZE_MAX);
	unsigned int bits = *OCTET(bds, 11);
	int decimal = (int)be_signed(OCTET(m->section[1], 27), 2);
	uint64_t count;
	int r;

	r = check_bits(m, 4, bits, err);
	if (r < 0)
		return r;
	sink->scaling = (struct grib_scaling){
		.reference = ibm_float(be32(OCTET(bds, 7))),
		.factor = grib_power(2, (int)be_signed(OCTET(bds, 5), 2)),
		.t = grib_power(10, decimal),
		.divide = decimal != 0,
	};
	r = grib_scaling_check(m, &sink->scaling, bits, err);
	if (r < 0)
		return r;
	if (bits == 0) {
		if (mode == GRIB_GRIBBERISH)
			sink->bitmap = NULL;
		grib_sink_fill(sink, decimal ? sink->scaling.reference / sink->scaling.t
					     : sink->scaling.reference);
		return 0;
	}
	count = count_values_1(m);
	if (count * bits > (uint64_t)packed.size * 8)
		return error_set(
			err, ERR_FORMAT,
			"section 4 at offset %zu has %zu octets of data, too few for %" PRIu64
			" values of %u bits",
			grib_section_offset(m, 7), packed.size, count, bits);
	return put_packed(packed, bits, count, sink);
}
