/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>

#include "grib/kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <math.h>

#define AVX2 __attribute__((target("avx2")))
#define AVX2_INLINE __attribute__((target("avx2"), always_inline)) static inline

/* A number and the bits before it in its first byte fit into 32 bits. */
enum { WIDTH_MAX = 25, LANES = 8 };

/*
 * Eight numbers, four in each half of a register.  A half is filled from sixteen bytes that begin
 * with its first number: four numbers of 25 bits take at most fourteen.
 */
struct pattern {
	__m256i bytes;	/* for each byte of the result, which of its half */
	__m256i shifts; /* bits before the number in its first byte */
	__m128i down;	/* bits after it, once shifted up */
	size_t upper;	/* bytes from the first half's to the second half's */
};

AVX2_INLINE struct pattern pattern_of(unsigned int bit, unsigned int width)
{
	const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 0, 1, 2, 3);
	/* The first byte's index four times, then 3, 2, 1, 0 on top: the bytes come out swapped. */
	const __m256i spread = _mm256_setr_epi8(0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12,
						0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12);
	unsigned int second = bit + 4 * width;
	__m256i start =
		_mm256_set_m128i(_mm_set1_epi32((int)(second % 8)), _mm_set1_epi32((int)bit));
	__m256i bits =
		_mm256_add_epi32(_mm256_mullo_epi32(lane, _mm256_set1_epi32((int)width)), start);
	__m256i first = _mm256_shuffle_epi8(_mm256_srli_epi32(bits, 3), spread);

	return (struct pattern){
		.bytes = _mm256_add_epi8(first, _mm256_set1_epi32(0x00010203)),
		.shifts = _mm256_and_si256(bits, _mm256_set1_epi32(7)),
		.down = _mm_cvtsi32_si128(32 - (int)width),
		.upper = second / 8,
	};
}

AVX2_INLINE __m256i eight(const uint8_t *bytes, const struct pattern *p)
{
	__m128i low = _mm_loadu_si128((const __m128i *)(const void *)bytes);
	__m128i high = _mm_loadu_si128((const __m128i *)(const void *)(bytes + p->upper));
	__m256i x = _mm256_shuffle_epi8(_mm256_set_m128i(high, low), p->bytes);

	return _mm256_srl_epi32(_mm256_sllv_epi32(x, p->shifts), p->down);
}

AVX2 static void unpack(const uint8_t *bytes, unsigned int bit, unsigned int width, uint32_t *out,
			size_t n)
{
	struct pattern p = pattern_of(bit, width);

	if (width > WIDTH_MAX) {
		grib_kernels_portable.unpack(bytes, bit, width, out, n);
		return;
	}
	/* Eight numbers are as many bytes as a number has bits. */
	for (size_t i = 0; i < n; i += LANES, bytes += width)
		_mm256_storeu_si256((__m256i *)(void *)(out + i), eight(bytes, &p));
}

AVX2 static void unpack_runs(const uint8_t *bytes, unsigned int bit, const struct grib_run *runs,
			     size_t n, uint32_t *out)
{
	size_t pos = bit;

	for (const struct grib_run *run = runs; run < runs + n; run++) {
		__m256i reference = _mm256_set1_epi32((int)run->reference);
		const uint8_t *from = bytes + pos / 8;

		if (run->width == 0) {
			for (uint32_t i = 0; i < run->length; i += LANES)
				_mm256_storeu_si256((__m256i *)(void *)(out + i), reference);
		} else if (run->width > WIDTH_MAX) {
			grib_kernels_portable.unpack_runs(from, pos % 8, run, 1, out);
		} else {
			struct pattern p = pattern_of(pos % 8, run->width);

			for (uint32_t i = 0; i < run->length; i += LANES, from += run->width)
				_mm256_storeu_si256((__m256i *)(void *)(out + i),
						    _mm256_add_epi32(eight(from, &p), reference));
		}
		pos += (size_t)run->width * run->length;
		out += run->length;
	}
}

AVX2_INLINE __m256d scale4(const struct grib_scaling *s, __m128i x)
{
	__m256d v = _mm256_mul_pd(_mm256_cvtepi32_pd(x), _mm256_set1_pd(s->factor));

	v = _mm256_add_pd(v, _mm256_set1_pd(s->reference));
	if (s->divide)
		return _mm256_div_pd(v, _mm256_set1_pd(s->t));
	return _mm256_mul_pd(v, _mm256_set1_pd(s->t));
}

AVX2 static void scale_f64(const struct grib_scaling *scaling, const int32_t *x, size_t n,
			   double *out)
{
	const struct grib_scaling s = *scaling;
	size_t i = 0;

	for (; i + 4 <= n; i += 4)
		_mm256_storeu_pd(
			out + i,
			scale4(&s, _mm_loadu_si128((const __m128i *)(const void *)(x + i))));
	grib_kernels_portable.scale_f64(scaling, x + i, n - i, out + i);
}

AVX2 static void scale_f32(const struct grib_scaling *scaling, const int32_t *x, size_t n,
			   float *out)
{
	const struct grib_scaling s = *scaling;
	size_t i = 0;

	for (; i + 4 <= n; i += 4) {
		__m256d v = scale4(&s, _mm_loadu_si128((const __m128i *)(const void *)(x + i)));

		_mm_storeu_ps(out + i, _mm256_cvtpd_ps(v));
	}
	grib_kernels_portable.scale_f32(scaling, x + i, n - i, out + i);
}

/* A table of where the next numbers go, four points at a time. */
AVX2_INLINE __m128i expand4(const int32_t *x, unsigned int bits)
{
	static const uint8_t order[16][4] = {
		{0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 0, 0}, {0, 0, 1, 0},
		{0, 0, 1, 0}, {0, 1, 2, 0}, {0, 0, 0, 0}, {0, 0, 0, 1}, {0, 0, 0, 1}, {0, 1, 0, 2},
		{0, 0, 0, 1}, {0, 0, 1, 2}, {0, 0, 1, 2}, {0, 1, 2, 3},
	};
	const uint8_t *o = order[bits];

	return _mm_setr_epi32(x[o[0]], x[o[1]], x[o[2]], x[o[3]]);
}

AVX2_INLINE __m256d masked4(const struct grib_scaling *s, const int32_t *x, unsigned int bits)
{
	const __m256i select = _mm256_setr_epi64x(1, 2, 4, 8);
	__m256i have = _mm256_and_si256(_mm256_set1_epi64x(bits), select);

	have = _mm256_cmpeq_epi64(have, select);
	return _mm256_blendv_pd(_mm256_set1_pd(NAN), scale4(s, expand4(x, bits)),
				_mm256_castsi256_pd(have));
}

#define DEFINE_MASKED(suffix, type, store4)                                                        \
	AVX2 static size_t scale_masked_##suffix(const struct grib_scaling *scaling,               \
						 const int32_t *x, const uint64_t *mask,           \
						 size_t bit, size_t n, type *out)                  \
	{                                                                                          \
		const struct grib_scaling s = *scaling;                                            \
		const int32_t *start = x;                                                          \
                                                                                                   \
		for (; n >= 64; n -= 64, bit += 64, out += 64) {                                   \
			uint64_t word = grib_mask_word(mask, bit);                                 \
                                                                                                   \
			if (word == UINT64_MAX) {                                                  \
				scale_##suffix(scaling, x, 64, out);                               \
				x += 64;                                                           \
				continue;                                                          \
			}                                                                          \
			for (unsigned int i = 0; i < 64; i += 4) {                                 \
				unsigned int bits = (unsigned int)(word >> i) & 15;                \
                                                                                                   \
				store4(out + i, masked4(&s, x, bits));                             \
				x += __builtin_popcount(bits);                                     \
			}                                                                          \
		}                                                                                  \
		return (size_t)(x - start) +                                                       \
		       grib_kernels_portable.scale_masked_##suffix(scaling, x, mask, bit, n, out); \
	}

AVX2_INLINE void store4_f64(double *out, __m256d v)
{
	_mm256_storeu_pd(out, v);
}

AVX2_INLINE void store4_f32(float *out, __m256d v)
{
	_mm_storeu_ps(out, _mm256_cvtpd_ps(v));
}

DEFINE_MASKED(f64, double, store4_f64)
DEFINE_MASKED(f32, float, store4_f32)

/* Sums that wait for each other gain nothing from eight lanes. */
static void undiff1(struct grib_undiff *state, uint32_t *x, size_t n)
{
	grib_kernels_portable.undiff1(state, x, n);
}

static void undiff2(struct grib_undiff *state, uint32_t *x, size_t n)
{
	grib_kernels_portable.undiff2(state, x, n);
}

const struct grib_kernels grib_kernels_avx2 = {
	.name = "avx2",
	.unpack = unpack,
	.unpack_runs = unpack_runs,
	.undiff1 = undiff1,
	.undiff2 = undiff2,
	.scale_f64 = scale_f64,
	.scale_f32 = scale_f32,
	.scale_masked_f64 = scale_masked_f64,
	.scale_masked_f32 = scale_masked_f32,
};
#endif
