/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The inner loops of the direct decoders (internal to grib)
 *
 * One portable version, always there, and one each for processors with AVX2 and with AVX-512
 * VBMI, chosen once at run time.  All give the same bits.
 *
 * Room: where packed bits are read, GRIB_KERNEL_SLACK bytes behind the last one must be readable;
 * where integers are written or read, GRIB_KERNEL_SLACK / 4 behind the last one must exist.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GRIB_KERNEL_SLACK = 128 };

/* value = (x * factor + reference) * t, or / t with @divide; all in double. */
struct grib_scaling {
	double factor;	  /* 2^E */
	double reference; /* R */
	double t;	  /* 10^-D; with @divide 10^D */
	bool divide;
};

/* Equally wide numbers with one reference added, as complex packing groups them. */
struct grib_run {
	uint32_t reference;
	uint32_t width;	 /* bits, 0 to 32 */
	uint32_t length; /* points */
};

/* Undoing spatial differences, in 32-bit wrapping integers. */
struct grib_undiff {
	uint32_t minimum;
	uint32_t value;	     /* the last one */
	uint32_t difference; /* of the last two */
};

struct grib_kernels {
	const char *name; /* "portable", "avx2", "avx512" */

	/* @n integers of @width bits (1 to 32) from bit @bit (0 to 7) of @bytes on. */
	void (*unpack)(const uint8_t *bytes, unsigned int bit, unsigned int width, uint32_t *out,
		       size_t n);
	/* The packed numbers of @n runs, one after another. */
	void (*unpack_runs)(const uint8_t *bytes, unsigned int bit, const struct grib_run *runs,
			    size_t n, uint32_t *out);
	void (*undiff1)(struct grib_undiff *state, uint32_t *x, size_t n);
	void (*undiff2)(struct grib_undiff *state, uint32_t *x, size_t n);
	/* Scales @n signed integers. */
	void (*scale_f64)(const struct grib_scaling *scaling, const int32_t *x, size_t n,
			  double *out);
	void (*scale_f32)(const struct grib_scaling *scaling, const int32_t *x, size_t n,
			  float *out);
	/*
	 * @n points of which those with a 1 in @mask (from bit @bit on, least significant first)
	 * take the next of @x, the others NaN.  Returns how many were taken.
	 */
	size_t (*scale_masked_f64)(const struct grib_scaling *scaling, const int32_t *x,
				   const uint64_t *mask, size_t bit, size_t n, double *out);
	size_t (*scale_masked_f32)(const struct grib_scaling *scaling, const int32_t *x,
				   const uint64_t *mask, size_t bit, size_t n, float *out);
};

/* The best set that this processor runs. */
const struct grib_kernels *grib_kernels(void);
/* The set called @name, or NULL if this build or processor has none. */
const struct grib_kernels *grib_kernels_find(const char *name);
/* For tests and measurements: the set that grib_kernels() returns from now on; NULL: the best. */
void grib_kernels_choose(const struct grib_kernels *kernels);

extern const struct grib_kernels grib_kernels_portable;
#if defined(__x86_64__)
extern const struct grib_kernels grib_kernels_avx2;
extern const struct grib_kernels grib_kernels_avx512;
#endif

/* Bits [bit, bit + 64) of @mask, of which one word beyond the last is readable. */
static inline uint64_t grib_mask_word(const uint64_t *mask, size_t bit)
{
	uint64_t low = mask[bit / 64] >> (bit % 64);

	/* In two steps: a shift by 64 is undefined. */
	return low | mask[bit / 64 + 1] << 1 << (63 - bit % 64);
}
