/* SPDX-License-Identifier: Apache-2.0 */
#include "zarr/half.h"

#include <math.h>

uint16_t zarr_half_bits(double value)
{
	uint16_t sign = signbit(value) ? 0x8000 : 0;
	double magnitude = fabs(value);
	int exponent;

	if (isnan(value))
		return sign | 0x7e00;
	if (magnitude >= 65520.0)
		return sign | 0x7c00;
	if (magnitude < 0x1p-14)
		return sign | (uint16_t)rint(magnitude * 0x1p24);
	exponent = ilogb(magnitude);
	/* A mantissa that rounds up to 2048 carries into the exponent, which is right. */
	return sign | (uint16_t)(((exponent + 15) << 10) +
				 ((int)rint(ldexp(magnitude, 10 - exponent)) - 1024));
}

double zarr_half_value(uint16_t bits)
{
	int exponent = bits >> 10 & 31;
	int mantissa = bits & 1023;
	double magnitude;

	if (exponent == 31)
		magnitude = mantissa ? NAN : INFINITY;
	else if (exponent == 0)
		magnitude = ldexp(mantissa, -24);
	else
		magnitude = ldexp(mantissa + 1024, exponent - 25);
	return bits & 0x8000 ? -magnitude : magnitude;
}
