/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/random-grib.h"

#include <stdlib.h>

#include <libaec.h>

#include "base/cleanup.h"
#include "harness/make-grib.h"

/*
 * Where eccodes 2.28 departs from FM 92, and what is therefore not made: first values of
 * differences with their top bit set (taken as unsigned), integers beyond 32 bits (not wrapped),
 * group references of 0 bits (taken for a constant field), PNG of less than 8 bits (ends the
 * process), CCSDS without the flags for its own form of output (integers read in the wrong order).
 */

enum { POINTS_MAX = 3000 };

struct random {
	uint64_t state;
};

/* SplitMix64. */
static uint64_t next(struct random *random)
{
	uint64_t z = random->state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* A number from @least to @most. */
static uint32_t pick(struct random *random, uint32_t least, uint32_t most)
{
	return least + (uint32_t)(next(random) % ((uint64_t)most - least + 1));
}

static int put_random_bits(struct random *random, uint64_t bits, struct buf *out, struct error *err)
{
	for (uint64_t i = 0; i < (bits + 7) / 8; i++) {
		int r = buf_append_byte(out, (uint8_t)next(random), err);

		if (r < 0)
			return r;
	}
	return 0;
}

/* R, E and D of both signs, within what keeps float64 finite. */
static int put_scaling(struct random *random, unsigned int kind, unsigned int bits, struct buf *s5,
		       struct error *err)
{
	float reference = (float)((double)(int64_t)next(random) * 1e-16);
	uint32_t reference_bits;
	int r = 0;

	memcpy(&reference_bits, &reference, sizeof(reference_bits));
	r = r ? r : make_be(s5, kind, 2, err);
	r = r ? r : make_be(s5, reference_bits, 4, err);
	r = r ? r : make_be(s5, pick(random, 0, 1) << 15 | pick(random, 0, 40), 2, err);
	r = r ? r : make_be(s5, pick(random, 0, 1) << 15 | pick(random, 0, 25), 2, err);
	r = r ? r : make_be(s5, bits, 1, err);
	return r ? r : make_be(s5, 0, 1, err);
}

static int make_simple(struct random *random, size_t n, struct buf *s5, struct buf *s7,
		       struct error *err)
{
	unsigned int bits = pick(random, 0, 32);
	int r = put_scaling(random, 0, bits, s5, err);

	return r < 0 ? r : put_random_bits(random, (uint64_t)n * bits, s7, err);
}

/* How the groups of a complex packing are laid out. */
struct layout {
	size_t n;
	uint32_t reference_bits;
	uint32_t width_reference, width_bits;
	uint32_t length_reference, length_increment, length_bits, last_length;
	uint32_t *width, *length; /* as stored */
};

static void layout_done(struct layout *layout)
{
	free(layout->width);
	free(layout->length);
}

static uint32_t ones(unsigned int bits)
{
	return bits ? UINT32_MAX >> (32 - bits) : 0;
}

/* Widths up to @width_max and lengths that add up to @n. */
static int make_layout(struct random *random, size_t n, uint32_t width_max, struct layout *l,
		       struct error *err)
{
	size_t left = n;
	bool narrow = pick(random, 0, 3) == 0;

	l->width_reference = pick(random, 0, 2) ? 0 : pick(random, 0, width_max);
	l->width_bits = narrow ? 0 : pick(random, 1, 5);
	l->length_reference = pick(random, 1, 20);
	l->length_increment = pick(random, 0, 3);
	l->length_bits = pick(random, 0, 7);
	l->width = calloc(n + 1, sizeof(*l->width));
	l->length = calloc(n + 1, sizeof(*l->length));
	if (!l->width || !l->length)
		return error_memory(err);
	for (;;) {
		uint32_t most = ones(l->width_bits), stored = pick(random, 0, ones(l->length_bits));
		size_t length = (size_t)stored * l->length_increment + l->length_reference;

		if (most > width_max - l->width_reference)
			most = width_max - l->width_reference;
		/* Nearly constant stretches, as dry land has. */
		l->width[l->n] = pick(random, 0, 2) ? pick(random, 0, most) : 0;
		l->length[l->n] = stored;
		l->n++;
		if (length >= left || pick(random, 0, 400) == 0) {
			l->last_length = (uint32_t)left;
			return 0;
		}
		left -= length;
	}
}

static uint64_t packed_bits(const struct layout *l)
{
	uint64_t bits = 0;

	for (size_t i = 0; i < l->n; i++) {
		uint64_t length = i + 1 == l->n ? l->last_length
						: (uint64_t)l->length[i] * l->length_increment +
							  l->length_reference;

		bits += length * (l->width[i] + l->width_reference);
	}
	return bits;
}

static int put_list(const uint32_t *items, size_t n, unsigned int width, struct buf *out,
		    struct error *err)
{
	struct make_bits bits = {.out = out};

	for (size_t i = 0; i < n; i++) {
		int r = make_bits_put(&bits, items[i], width, err);

		if (r < 0)
			return r;
	}
	return 0;
}

static int put_layout(const struct layout *l, uint32_t management, struct buf *s5,
		      struct error *err)
{
	int r = 0;

	r = r ? r : make_be(s5, 1, 1, err);
	r = r ? r : make_be(s5, management, 1, err);
	r = r ? r : make_be(s5, UINT64_MAX, 8, err);
	r = r ? r : make_be(s5, l->n, 4, err);
	r = r ? r : make_be(s5, l->width_reference, 1, err);
	r = r ? r : make_be(s5, l->width_bits, 1, err);
	r = r ? r : make_be(s5, l->length_reference, 4, err);
	r = r ? r : make_be(s5, l->length_increment, 1, err);
	r = r ? r : make_be(s5, l->last_length, 4, err);
	return r ? r : make_be(s5, l->length_bits, 1, err);
}

/* Order 0 is template 5.2. */
static int make_complex(struct random *random, size_t n, unsigned int order, struct buf *s5,
			struct buf *s7, struct error *err)
{
	/* Sums of sums grow with the square of the points: within 32 bits. */
	uint32_t width_max = order == 0 ? 30 : order == 1 ? 17 : 6;
	CLEANUP(layout_done) struct layout l = {0};
	unsigned int octets = pick(random, 1, 4);
	uint32_t management = pick(random, 0, 2);
	int r;

	l.reference_bits = pick(random, 1, width_max);
	r = make_layout(random, n, width_max, &l, err);
	r = r ? r : put_scaling(random, order ? 3 : 2, l.reference_bits, s5, err);
	r = r ? r : put_layout(&l, management, s5, err);
	if (order) {
		r = r ? r : make_be(s5, order, 1, err);
		r = r ? r : make_be(s5, octets, 1, err);
		for (unsigned int i = 0; i < order; i++)
			r = r ? r : make_be(s7, pick(random, 0, 127), octets, err);
		r = r ? r
		      : make_be(s7,
				(uint64_t)pick(random, 0, 1) << (8 * octets - 1) |
					pick(random, 0, 100),
				octets, err);
	}
	r = r ? r : put_random_bits(random, (uint64_t)l.n * l.reference_bits, s7, err);
	r = r ? r : put_list(l.width, l.n, l.width_bits, s7, err);
	r = r ? r : put_list(l.length, l.n, l.length_bits, s7, err);
	return r ? r : put_random_bits(random, packed_bits(&l), s7, err);
}

static void make_numbers(struct random *random, unsigned int bits, uint32_t *x, size_t n)
{
	uint32_t smooth = pick(random, 0, ones(bits));
	bool rough = pick(random, 0, 1);

	for (size_t i = 0; i < n; i++) {
		smooth = (smooth + pick(random, 0, 6)) & ones(bits);
		x[i] = rough ? pick(random, 0, ones(bits)) : smooth;
	}
}

static int make_image(struct random *random, size_t n, struct buf *s5, struct buf *s7,
		      struct error *err)
{
	unsigned int depth = pick(random, 1, 4) * 8;
	uint32_t x[POINTS_MAX];
	int r;

	make_numbers(random, depth, x, n);
	r = put_scaling(random, 41, depth, s5, err);
	return r < 0 ? r : make_png(x, (uint32_t)n, 1, depth, pick(random, 0, 3) == 0, s7, err);
}

static int make_coded(struct random *random, size_t n, struct buf *s5, struct buf *s7,
		      struct error *err)
{
	unsigned int bits = pick(random, 1, 32), block = 8U << pick(random, 0, 3);
	unsigned int interval = pick(random, 1, 200);
	unsigned int flags = pick(random, 0, 1) ? AEC_DATA_PREPROCESS : 0;
	uint32_t x[POINTS_MAX];
	int r = 0;

	if (bits <= 4 && pick(random, 0, 1))
		flags |= AEC_RESTRICTED;
	/* In three octets eccodes would take signs for values. */
	if (flags & AEC_DATA_PREPROCESS && (bits <= 16 || bits > 24) && pick(random, 0, 3) == 0)
		flags |= AEC_DATA_SIGNED;
	make_numbers(random, bits, x, n);
	r = r ? r : put_scaling(random, 42, bits, s5, err);
	r = r ? r
	      : make_be(s5, flags | AEC_DATA_MSB | (bits > 16 && bits <= 24 ? AEC_DATA_3BYTE : 0),
			1, err);
	r = r ? r : make_be(s5, block, 1, err);
	r = r ? r : make_be(s5, interval, 2, err);
	return r ? r : make_ccsds(x, n, bits, flags, block, interval, s7, err);
}

/* A bitmap of @points with every kind of density; returns the number of ones. */
static int make_bitmap(struct random *random, size_t points, struct buf *bitmap, size_t *ret_ones,
		       struct error *err)
{
	uint32_t percent = pick(random, 0, 4) * 25, run = pick(random, 1, 200);
	struct make_bits bits = {.out = bitmap};
	bool bit = false;

	*ret_ones = 0;
	for (size_t i = 0; i < points; i++) {
		int r;

		if (i % run == 0)
			bit = pick(random, 0, 99) < percent;
		r = make_bits_put(&bits, bit, 1, err);
		if (r < 0)
			return r;
		*ret_ones += bit;
	}
	return 0;
}

static int make_sections(struct random *random, size_t n, struct buf *s5, struct buf *s7,
			 struct error *err)
{
	switch (pick(random, 0, 6)) {
	case 0:
		return make_complex(random, n, 0, s5, s7, err);
	case 1:
	case 2:
		return make_complex(random, n, 1, s5, s7, err);
	case 3:
		return make_complex(random, n, 2, s5, s7, err);
	case 4:
		return make_image(random, n, s5, s7, err);
	case 5:
		return make_coded(random, n, s5, s7, err);
	default:
		return make_simple(random, n, s5, s7, err);
	}
}

int random_grib(uint64_t seed, struct buf *out, size_t *ret_points, struct error *err)
{
	CLEANUP(buf_done) struct buf s5 = BUF_INIT(BUF_NO_LIMIT), s7 = BUF_INIT(BUF_NO_LIMIT);
	CLEANUP(buf_done) struct buf bitmap = BUF_INIT(BUF_NO_LIMIT);
	struct random random = {.state = seed};
	uint32_t ni = pick(&random, 1, 60), nj = pick(&random, 1, POINTS_MAX / 60);
	struct make_grib spec = {
		.year = 2026, .month = 1, .day = 1, .grid = make_grid_global(ni, nj)};
	size_t n = (size_t)ni * nj;
	int r = 0;

	spec.grid.scan = (uint8_t)pick(&random, 0, 15) << 4;
	*ret_points = n;
	if (pick(&random, 0, 1))
		r = make_bitmap(&random, n, &bitmap, &n, err);
	/* Nothing to pack is packed as nothing. */
	if (n == 0)
		r = r ? r : put_scaling(&random, 0, 0, &s5, err);
	else
		r = r ? r : make_sections(&random, n, &s5, &s7, err);
	return r ? r
		 : make_grib_around(&spec, (uint32_t)n, buf_slice(&s5), buf_slice(&bitmap),
				    buf_slice(&s7), out, err);
}
