/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>

#include "grib/kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <math.h>

#define AVX512 \
	__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,popcnt,bmi,bmi2")))
#define AVX512_INLINE                                                                           \
	__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,popcnt,bmi,bmi2"), \
		       always_inline)) static inline

/* A number and the bits before it in its first byte fit into 32 bits. */
enum { WIDTH_MAX = 25, LANES = 16 };

struct pattern {
	__m512i bytes;	/* for each byte of the result, which of the 64 loaded ones */
	__m512i shifts; /* bits before the number in its first byte */
	__m128i down;	/* bits after it, once shifted up */
};

AVX512_INLINE struct pattern pattern_of(unsigned int bit, unsigned int width)
{
	const __m512i lane =
		_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
	/* The first byte's index four times, then 3, 2, 1, 0 on top: the bytes come out swapped. */
	const __m512i spread = _mm512_set4_epi32(0x0c0c0c0c, 0x08080808, 0x04040404, 0x00000000);
	__m512i bits = _mm512_add_epi32(_mm512_mullo_epi32(lane, _mm512_set1_epi32((int)width)),
					_mm512_set1_epi32((int)bit));
	__m512i first = _mm512_shuffle_epi8(_mm512_srli_epi32(bits, 3), spread);

	return (struct pattern){
		.bytes = _mm512_add_epi8(first, _mm512_set1_epi32(0x00010203)),
		.shifts = _mm512_and_si512(bits, _mm512_set1_epi32(7)),
		.down = _mm_cvtsi32_si128(32 - (int)width),
	};
}

AVX512_INLINE __m512i sixteen(const uint8_t *bytes, const struct pattern *p)
{
	__m512i x = _mm512_permutexvar_epi8(p->bytes, _mm512_loadu_si512(bytes));

	return _mm512_srl_epi32(_mm512_sllv_epi32(x, p->shifts), p->down);
}

AVX512 static void unpack(const uint8_t *bytes, unsigned int bit, unsigned int width, uint32_t *out,
			  size_t n)
{
	struct pattern p = pattern_of(bit, width);

	if (width > WIDTH_MAX) {
		grib_kernels_portable.unpack(bytes, bit, width, out, n);
		return;
	}
	/* Sixteen numbers are twice as many bytes as a number has bits. */
	for (size_t i = 0; i < n; i += LANES, bytes += (size_t)width * 2)
		_mm512_storeu_si512(out + i, sixteen(bytes, &p));
}

AVX512 static void unpack_runs(const uint8_t *bytes, unsigned int bit, const struct grib_run *runs,
			       size_t n, uint32_t *out)
{
	size_t pos = bit;

	for (const struct grib_run *run = runs; run < runs + n; run++) {
		__m512i reference = _mm512_set1_epi32((int)run->reference);
		const uint8_t *from = bytes + pos / 8;

		if (run->width == 0) {
			for (uint32_t i = 0; i < run->length; i += LANES)
				_mm512_storeu_si512(out + i, reference);
		} else if (run->width > WIDTH_MAX) {
			grib_kernels_portable.unpack_runs(from, pos % 8, run, 1, out);
		} else {
			struct pattern p = pattern_of(pos % 8, run->width);

			for (uint32_t i = 0; i < run->length;
			     i += LANES, from += (size_t)run->width * 2)
				_mm512_storeu_si512(out + i,
						    _mm512_add_epi32(sixteen(from, &p), reference));
		}
		pos += (size_t)run->width * run->length;
		out += run->length;
	}
}

/* Sums of the lanes up to and including each. */
AVX512_INLINE __m512i prefix_sums(__m512i x)
{
	const __m512i zero = _mm512_setzero_si512();

	x = _mm512_add_epi32(x, _mm512_alignr_epi32(x, zero, 15));
	x = _mm512_add_epi32(x, _mm512_alignr_epi32(x, zero, 14));
	x = _mm512_add_epi32(x, _mm512_alignr_epi32(x, zero, 12));
	return _mm512_add_epi32(x, _mm512_alignr_epi32(x, zero, 8));
}

AVX512_INLINE uint32_t last_lane(__m512i x)
{
	return (uint32_t)_mm_extract_epi32(_mm512_extracti32x4_epi32(x, 3), 3);
}

AVX512 static void undiff1(struct grib_undiff *state, uint32_t *x, size_t n)
{
	const __m512i last = _mm512_set1_epi32(15);
	const __m512i minimum = _mm512_set1_epi32((int)state->minimum);
	__m512i value = _mm512_set1_epi32((int)state->value);
	size_t i = 0;

	for (; i + LANES <= n; i += LANES) {
		__m512i sums = prefix_sums(_mm512_add_epi32(_mm512_loadu_si512(x + i), minimum));

		_mm512_storeu_si512(x + i, _mm512_add_epi32(sums, value));
		value = _mm512_add_epi32(value, _mm512_permutexvar_epi32(last, sums));
	}
	state->value = last_lane(value);
	grib_kernels_portable.undiff1(state, x + i, n - i);
}

/*
 * With d the last difference and v the last value, the sixteen new values are the sums of the
 * sums, plus v, plus d once for each step taken.
 */
AVX512 static void undiff2(struct grib_undiff *state, uint32_t *x, size_t n)
{
	const __m512i last = _mm512_set1_epi32(15);
	const __m512i steps =
		_mm512_setr_epi32(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16);
	const __m512i minimum = _mm512_set1_epi32((int)state->minimum);
	__m512i value = _mm512_set1_epi32((int)state->value);
	__m512i difference = _mm512_set1_epi32((int)state->difference);
	size_t i = 0;

	for (; i + LANES <= n; i += LANES) {
		__m512i once = prefix_sums(_mm512_add_epi32(_mm512_loadu_si512(x + i), minimum));
		__m512i twice = prefix_sums(once);

		twice = _mm512_add_epi32(twice, _mm512_mullo_epi32(steps, difference));
		_mm512_storeu_si512(x + i, _mm512_add_epi32(twice, value));
		value = _mm512_add_epi32(value, _mm512_permutexvar_epi32(last, twice));
		difference = _mm512_add_epi32(difference, _mm512_permutexvar_epi32(last, once));
	}
	state->value = last_lane(value);
	state->difference = last_lane(difference);
	grib_kernels_portable.undiff2(state, x + i, n - i);
}

AVX512_INLINE __m512d scale8(const struct grib_scaling *s, __m256i x)
{
	__m512d v = _mm512_mul_pd(_mm512_cvtepi32_pd(x), _mm512_set1_pd(s->factor));

	v = _mm512_add_pd(v, _mm512_set1_pd(s->reference));
	if (s->divide)
		return _mm512_div_pd(v, _mm512_set1_pd(s->t));
	return _mm512_mul_pd(v, _mm512_set1_pd(s->t));
}

AVX512_INLINE __mmask8 tail_mask(size_t n)
{
	return (__mmask8)((1U << n) - 1);
}

AVX512 static void scale_f64(const struct grib_scaling *scaling, const int32_t *x, size_t n,
			     double *out)
{
	const struct grib_scaling s = *scaling;
	size_t i = 0;

	for (; i + 8 <= n; i += 8)
		_mm512_storeu_pd(
			out + i,
			scale8(&s, _mm256_loadu_si256((const __m256i *)(const void *)(x + i))));
	if (i < n)
		_mm512_mask_storeu_pd(
			out + i, tail_mask(n - i),
			scale8(&s, _mm256_maskz_loadu_epi32(tail_mask(n - i), x + i)));
}

AVX512 static void scale_f32(const struct grib_scaling *scaling, const int32_t *x, size_t n,
			     float *out)
{
	const struct grib_scaling s = *scaling;
	size_t i = 0;

	for (; i + 8 <= n; i += 8) {
		__m512d v = scale8(&s, _mm256_loadu_si256((const __m256i *)(const void *)(x + i)));

		_mm256_storeu_ps(out + i, _mm512_cvtpd_ps(v));
	}
	if (i < n)
		_mm256_mask_storeu_ps(
			out + i, tail_mask(n - i),
			_mm512_cvtpd_ps(
				scale8(&s, _mm256_maskz_loadu_epi32(tail_mask(n - i), x + i))));
}

/* Eight points of which those in @have take the next of @x, which is advanced. */
AVX512_INLINE __m512d masked8(const struct grib_scaling *s, const int32_t **x, __mmask8 have)
{
	__m256i next = _mm256_loadu_si256((const __m256i *)(const void *)*x);
	__m512d v = scale8(s, _mm256_maskz_expand_epi32(have, next));

	*x += __builtin_popcount(have);
	return _mm512_mask_blend_pd(have, _mm512_set1_pd(NAN), v);
}

#define DEFINE_MASKED(suffix, type, store8, store_some)                                    \
	AVX512 static size_t scale_masked_##suffix(const struct grib_scaling *scaling,     \
						   const int32_t *x, const uint64_t *mask, \
						   size_t bit, size_t n, type *out)        \
	{                                                                                  \
		const struct grib_scaling s = *scaling;                                    \
		const int32_t *start = x;                                                  \
                                                                                           \
		for (; n >= 64; n -= 64, bit += 64, out += 64) {                           \
			uint64_t word = grib_mask_word(mask, bit);                         \
                                                                                           \
			for (unsigned int i = 0; i < 64; i += 8)                           \
				store8(out + i, masked8(&s, &x, (__mmask8)(word >> i)));   \
		}                                                                          \
		for (; n > 0; bit += 8, out += 8) {                                        \
			__mmask8 in = n >= 8 ? 0xff : tail_mask(n);                        \
			__mmask8 have = (__mmask8)grib_mask_word(mask, bit) & in;          \
                                                                                           \
			store_some(out, in, masked8(&s, &x, have));                        \
			n -= n >= 8 ? 8 : n;                                               \
		}                                                                          \
		return (size_t)(x - start);                                                \
	}

AVX512_INLINE void store8_f64(double *out, __m512d v)
{
	_mm512_storeu_pd(out, v);
}

AVX512_INLINE void store_some_f64(double *out, __mmask8 in, __m512d v)
{
	_mm512_mask_storeu_pd(out, in, v);
}

AVX512_INLINE void store8_f32(float *out, __m512d v)
{
	_mm256_storeu_ps(out, _mm512_cvtpd_ps(v));
}

AVX512_INLINE void store_some_f32(float *out, __mmask8 in, __m512d v)
{
	_mm256_mask_storeu_ps(out, in, _mm512_cvtpd_ps(v));
}

DEFINE_MASKED(f64, double, store8_f64, store_some_f64)
DEFINE_MASKED(f32, float, store8_f32, store_some_f32)

const struct grib_kernels grib_kernels_avx512 = {
	.name = "avx512",
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
