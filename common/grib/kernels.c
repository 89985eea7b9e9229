/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "grib/kernels.h"

static inline uint64_t load_be64(const uint8_t *p)
{
	uint64_t word;

	memcpy(&word, p, sizeof(word));
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	word = __builtin_bswap64(word);
#endif
	return word;
}

static void unpack(const uint8_t *bytes, unsigned int bit, unsigned int width, uint32_t *out,
		   size_t n)
{
	size_t pos = bit;

	for (size_t i = 0; i < n; i++, pos += width)
		out[i] = (uint32_t)(load_be64(bytes + pos / 8) << (pos % 8) >> (64 - width));
}

static void unpack_runs(const uint8_t *bytes, unsigned int bit, const struct grib_run *runs,
			size_t n, uint32_t *out)
{
	size_t pos = bit;

	for (const struct grib_run *run = runs; run < runs + n; run++) {
		uint32_t reference = run->reference;
		unsigned int width = run->width;

		if (width == 0) {
			for (uint32_t i = 0; i < run->length; i++)
				*out++ = reference;
			continue;
		}
		for (uint32_t i = 0; i < run->length; i++, pos += width)
			*out++ = reference + (uint32_t)(load_be64(bytes + pos / 8) << (pos % 8) >>
							(64 - width));
	}
}

static void undiff1(struct grib_undiff *state, uint32_t *x, size_t n)
{
	uint32_t value = state->value, minimum = state->minimum;

	for (size_t i = 0; i < n; i++) {
		value += x[i] + minimum;
		x[i] = value;
	}
	state->value = value;
}

static void undiff2(struct grib_undiff *state, uint32_t *x, size_t n)
{
	uint32_t value = state->value, difference = state->difference, minimum = state->minimum;

	for (size_t i = 0; i < n; i++) {
		difference += x[i] + minimum;
		value += difference;
		x[i] = value;
	}
	state->value = value;
	state->difference = difference;
}

static inline double scale(const struct grib_scaling *s, int32_t x)
{
	return ((double)x * s->factor + s->reference) * s->t;
}

static inline double scale_dividing(const struct grib_scaling *s, int32_t x)
{
	return ((double)x * s->factor + s->reference) / s->t;
}

/* The two output types differ in nothing else. */
#define DEFINE_SCALE(suffix, type)                                                                 \
	static void scale_##suffix(const struct grib_scaling *scaling, const int32_t *x, size_t n, \
				   type *out)                                                      \
	{                                                                                          \
		const struct grib_scaling s = *scaling;                                            \
                                                                                                   \
		if (s.divide)                                                                      \
			for (size_t i = 0; i < n; i++)                                             \
				out[i] = (type)scale_dividing(&s, x[i]);                           \
		else                                                                               \
			for (size_t i = 0; i < n; i++)                                             \
				out[i] = (type)scale(&s, x[i]);                                    \
	}                                                                                          \
                                                                                                   \
	static size_t scale_masked_##suffix(const struct grib_scaling *scaling, const int32_t *x,  \
					    const uint64_t *mask, size_t bit, size_t n, type *out) \
	{                                                                                          \
		const int32_t *start = x;                                                          \
                                                                                                   \
		while (n > 0) {                                                                    \
			size_t step = n < 64 ? n : 64;                                             \
			uint64_t word = grib_mask_word(mask, bit);                                 \
                                                                                                   \
			if (step < 64)                                                             \
				word &= (UINT64_C(1) << step) - 1;                                 \
			if ((size_t)__builtin_popcountll(word) == step) {                          \
				scale_##suffix(scaling, x, step, out);                             \
				x += step;                                                         \
			} else {                                                                   \
				for (size_t i = 0; i < step; i++)                                  \
					out[i] = (type)NAN;                                        \
				for (; word; word &= word - 1)                                     \
					scale_##suffix(scaling, x++, 1,                            \
						       out + __builtin_ctzll(word));               \
			}                                                                          \
			out += step;                                                               \
			bit += step;                                                               \
			n -= step;                                                                 \
		}                                                                                  \
		return (size_t)(x - start);                                                        \
	}

DEFINE_SCALE(f64, double)
DEFINE_SCALE(f32, float)

const struct grib_kernels grib_kernels_portable = {
	.name = "portable",
	.unpack = unpack,
	.unpack_runs = unpack_runs,
	.undiff1 = undiff1,
	.undiff2 = undiff2,
	.scale_f64 = scale_f64,
	.scale_f32 = scale_f32,
	.scale_masked_f64 = scale_masked_f64,
	.scale_masked_f32 = scale_masked_f32,
};

const struct grib_kernels *grib_kernels_find(const char *name)
{
	if (strcmp(name, "portable") == 0)
		return &grib_kernels_portable;
#if defined(__x86_64__)
	if (strcmp(name, "avx2") == 0 && __builtin_cpu_supports("avx2"))
		return &grib_kernels_avx2;
	if (strcmp(name, "avx512") == 0 && __builtin_cpu_supports("avx512vbmi") &&
	    __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
	    __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("popcnt"))
		return &grib_kernels_avx512;
#endif
	return NULL;
}

static _Atomic(const struct grib_kernels *) chosen;

const struct grib_kernels *grib_kernels(void)
{
	static const char *const names[] = {"avx512", "avx2"};
	const struct grib_kernels *kernels = atomic_load_explicit(&chosen, memory_order_relaxed);

	if (kernels)
		return kernels;
	for (size_t i = 0; i < 2 && !kernels; i++)
		kernels = grib_kernels_find(names[i]);
	if (!kernels)
		kernels = &grib_kernels_portable;
	atomic_store_explicit(&chosen, kernels, memory_order_relaxed);
	return kernels;
}

void grib_kernels_choose(const struct grib_kernels *kernels)
{
	atomic_store_explicit(&chosen, kernels, memory_order_relaxed);
}
