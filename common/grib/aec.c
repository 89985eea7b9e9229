/* SPDX-License-Identifier: Apache-2.0 */
#include "grib/aec.h"

/*
 * A block begins with the number of its option: low entropy (a run of zero blocks, or pairs of
 * samples in one code), splitting (unary high parts, then k low bits each), or as they are.  The
 * first sample of a reference interval stands as it is; the others are differences to the sample
 * before, folded into the numbers that the sample's range leaves (the standard's section 4).
 */

enum {
	BLOCK_MAX = 256,
	WIDTH_MAX = 32,
	INTERVAL_MAX = 4096,
	REST_OF_SEGMENT = 5, /* zero blocks: to the end of a segment */
	SEGMENT = 64,	     /* blocks */
	PAIR_MAX = 90,	     /* largest code of a pair */
	WINDOW = 56,	     /* bits that a window has at least */
};

/* Bits from @bit on, at least WINDOW of them, zeros beyond the end. */
static inline uint64_t window(const struct grib_aec *a, uint64_t bit)
{
	size_t byte = (size_t)(bit / 8);
	uint64_t word = 0;

	if (byte + 8 <= a->data.size) {
		memcpy(&word, a->data.data + byte, sizeof(word));
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
		word = __builtin_bswap64(word);
#endif
		return word << (bit % 8);
	}
	for (size_t i = 0; i < 8; i++)
		word = word << 8 | (byte + i < a->data.size ? a->data.data[byte + i] : 0);
	return word << (bit % 8);
}

/* @width bits, 1 to 32; what lies beyond the end is noticed after the block. */
static inline uint32_t take(struct grib_aec *a, unsigned int width)
{
	uint32_t value = (uint32_t)(window(a, a->bit) >> (64 - width));

	a->bit += width;
	return value;
}

/* Zeros up to the next one; false when there is none. */
static bool take_unary(struct grib_aec *a, uint32_t *ret_value)
{
	uint64_t begin = a->bit;

	while (a->bit < a->bits) {
		uint64_t w = window(a, a->bit);

		if (w == 0) {
			a->bit += WINDOW;
			continue;
		}
		a->bit += (unsigned int)__builtin_clzll(w);
		*ret_value = (uint32_t)(a->bit - begin);
		a->bit++;
		return a->bit <= a->bits;
	}
	return false;
}

/* @n unary numbers; several from each window. */
static bool take_unaries(struct grib_aec *a, uint32_t *x, size_t n)
{
	size_t i = 0;

	while (i < n) {
		uint64_t w = window(a, a->bit);
		unsigned int used = 0;

		/* Each number here is shorter than what is left of the window. */
		while (i < n && used < WINDOW && (w << used) != 0) {
			unsigned int zeros = (unsigned int)__builtin_clzll(w << used);

			if (used + zeros >= WINDOW)
				break;
			x[i++] = zeros;
			used += zeros + 1;
		}
		a->bit += used;
		if (used == 0 && !take_unary(a, &x[i++]))
			return false;
	}
	return true;
}

/* @n numbers of @width bits; there is room for the slack behind them. */
static bool take_packed(struct grib_aec *a, unsigned int width, uint32_t *x, size_t n)
{
	uint8_t tail[BLOCK_MAX * 4 + 8 + GRIB_KERNEL_SLACK] = {0};
	uint64_t bits = (uint64_t)n * width;
	size_t byte = (size_t)(a->bit / 8), length = (size_t)((a->bit % 8 + bits + 7) / 8);
	const uint8_t *from = a->data.data + byte;

	if (a->bit + bits > a->bits)
		return false;
	if (a->data.size - byte < length + GRIB_KERNEL_SLACK) {
		memcpy(tail, from, length);
		from = tail;
	}
	a->kernels->unpack(from, (unsigned int)(a->bit % 8), width, x, n);
	a->bit += bits;
	return true;
}

/* No encoder splits off as many bits as a sample has, or codes more than a sample can be. */
static bool split(struct grib_aec *a, unsigned int k, uint32_t *x, size_t n)
{
	uint32_t low[BLOCK_MAX + GRIB_KERNEL_SLACK / 4], high = 0;

	if (k >= a->width || !take_unaries(a, x, n))
		return false;
	for (size_t i = 0; i < n; i++)
		high |= x[i] >> 1 >> (a->width - k - 1);
	if (high)
		return false;
	if (k == 0)
		return true;
	if (!take_packed(a, k, low, n))
		return false;
	for (size_t i = 0; i < n; i++)
		x[i] = (x[i] << k) + low[i];
	return true;
}

/*
 * Codes m = (x + y)(x + y + 1)/2 + y of pairs x, y.  After a reference sample the first pair's x is
 * that sample, so only y is wanted.
 */
static bool pairs(struct grib_aec *a, uint32_t *x, size_t first, size_t n)
{
	uint32_t most = UINT32_MAX >> (32 - a->width);

	for (size_t i = first; i < n; i++) {
		uint32_t m, sum = 0;

		if (!take_unary(a, &m) || m > PAIR_MAX)
			return false;
		while ((sum + 1) * (sum + 2) / 2 <= m)
			sum++;
		m -= sum * (sum + 1) / 2;
		if (sum - m > most || m > most)
			return false;
		if (i % 2 == 0)
			x[i++] = sum - m;
		x[i] = m;
	}
	return true;
}

/* How many blocks are zero, this one among them. */
static bool take_zero_blocks(struct grib_aec *a)
{
	unsigned int left = a->interval - a->block_in_interval;
	unsigned int segment = SEGMENT - a->block_in_interval % SEGMENT;
	uint32_t code;

	if (!take_unary(a, &code))
		return false;
	code++;
	if (code == REST_OF_SEGMENT)
		code = left < segment ? left : segment;
	else if (code > REST_OF_SEGMENT)
		code--;
	/* A run ends with the interval at the latest. */
	if (code > left)
		return false;
	a->zero_blocks = code;
	return true;
}

/* The samples of the next block as they are stored, @first of which is 1 after a reference. */
static bool read_block(struct grib_aec *a, bool reference, uint32_t *x)
{
	uint32_t last_id = (1U << a->id_bits) - 1;
	size_t first = reference, n = a->block;
	uint32_t id;

	if (a->zero_blocks > 0) {
		memset(x, 0, n * sizeof(*x));
		a->zero_blocks--;
		return true;
	}
	id = take(a, a->id_bits);
	if (id == last_id)
		return take_packed(a, a->width, x, n);
	if (id == 0) {
		bool in_pairs = take(a, 1);

		if (reference)
			x[0] = take(a, a->width);
		if (in_pairs)
			return pairs(a, x, first, n);
		if (!take_zero_blocks(a))
			return false;
		a->zero_blocks--;
		memset(x + first, 0, (n - first) * sizeof(*x));
		return true;
	}
	if (reference)
		x[0] = take(a, a->width);
	return split(a, id - 1, x + first, n - first);
}

static inline uint32_t unfold(uint32_t d)
{
	return d >> 1 ^ ~((d & 1) - 1);
}

/* Samples from 0 to @most: the fold depends on which end is nearer. */
static void undo_unsigned(struct grib_aec *a, uint32_t *x, size_t first, size_t n)
{
	uint32_t most = UINT32_MAX >> (32 - a->width), middle = most / 2 + 1;
	uint32_t last = a->last;

	for (size_t i = first; i < n; i++) {
		uint32_t d = x[i], half = (d >> 1) + (d & 1);
		uint32_t mask = last & middle ? most : 0;

		last = half <= (mask ^ last) ? last + unfold(d) : mask ^ d;
		x[i] = last;
	}
	a->last = last;
}

static void undo_signed(struct grib_aec *a, uint32_t *x, size_t first, size_t n)
{
	uint32_t most = (UINT32_MAX >> (32 - a->width)) / 2;
	uint32_t last = a->last;

	for (size_t i = first; i < n; i++) {
		uint32_t d = x[i], half = (d >> 1) + (d & 1);
		bool negative = last >> 31;
		uint32_t distance = negative ? most + last + 1 : most - last;

		if (half <= distance)
			last += unfold(d);
		else
			last = negative ? d - most - 1 : most - d;
		x[i] = last;
	}
	a->last = last;
}

static void undo_differences(struct grib_aec *a, bool reference, uint32_t *x)
{
	uint32_t sign = UINT32_C(1) << (a->width - 1);
	/* The container's octets, not the sample's bits. */
	uint32_t kept = a->width <= 8 ? 0xff : a->width <= 16 ? 0xffff : UINT32_MAX;

	if (reference && (a->flags & GRIB_AEC_SIGNED))
		x[0] = (x[0] ^ sign) - sign;
	if (reference)
		a->last = x[0];
	if (a->flags & GRIB_AEC_SIGNED)
		undo_signed(a, x, reference, a->block);
	else
		undo_unsigned(a, x, reference, a->block);
	for (size_t i = 0; i < a->block; i++)
		x[i] &= kept;
}

static bool next_block(struct grib_aec *a, uint32_t *x)
{
	bool preprocess = a->flags & GRIB_AEC_PREPROCESS;
	bool reference = preprocess && a->block_in_interval == 0;

	if (!read_block(a, reference, x) || a->bit > a->bits)
		return false;
	if (preprocess)
		undo_differences(a, reference, x);
	a->block_in_interval++;
	if (a->block_in_interval == a->interval)
		a->block_in_interval = 0;
	return true;
}

bool grib_aec_init(struct grib_aec *aec, struct slice data, unsigned int width, unsigned int block,
		   unsigned int interval, unsigned int flags)
{
	bool restricted = flags & GRIB_AEC_RESTRICTED;

	if (width < 1 || width > WIDTH_MAX || block < 2 || block >= BLOCK_MAX || block % 2 ||
	    interval < 1 || interval > INTERVAL_MAX)
		return false;
	*aec = (struct grib_aec){
		.kernels = grib_kernels(),
		.data = data,
		.bits = (uint64_t)data.size * 8,
		.width = width,
		.block = block,
		.interval = interval,
		.flags = flags,
		.id_bits = width > 16  ? 5
			   : width > 8 ? 4
				       : 3,
	};
	if (restricted && width <= 4)
		aec->id_bits = width <= 2 ? 1 : 2;
	/*
	 * The restricted set is for no more than 4 bits.  Padding is no part of FM 92, and libaec
	 * (1.0.6) reads a fifth of what it writes with it as other numbers.
	 */
	return !(restricted && width > 4 && width <= 8) && !(flags & GRIB_AEC_PAD);
}

size_t grib_aec_next(struct grib_aec *aec, uint32_t *x, size_t room)
{
	size_t n = 0;

	do {
		if (!next_block(aec, x + n))
			return 0;
		n += aec->block;
	} while (n + aec->block <= room);
	return n;
}
