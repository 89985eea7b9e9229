/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Sections of one message (internal to grib)
 *
 * Octets are counted from 1 within a section, as in the WMO manual: OCTET(section, 12) is the
 * pointer to the twelfth.
 */

#include "grib/grib.h"

#define OCTET(section, number) ((section).data + (number)-1)

static inline uint32_t be16(const uint8_t *p)
{
	return (uint32_t)p[0] << 8 | p[1];
}

static inline uint32_t be24(const uint8_t *p)
{
	return (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
}

static inline uint32_t be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static inline uint64_t be64(const uint8_t *p)
{
	return (uint64_t)be32(p) << 32 | be32(p + 4);
}

/* Sign bit and magnitude, of 1 to 4 octets. */
static inline int64_t be_signed(const uint8_t *p, unsigned int octets)
{
	uint64_t value = 0, sign = UINT64_C(1) << (8 * octets - 1);

	for (unsigned int i = 0; i < octets; i++)
		value = value << 8 | p[i];
	return value & sign ? -(int64_t)(value & (sign - 1)) : (int64_t)value;
}

/* The scanning mode flags. */
enum {
	SCAN_I_NEGATIVE = 0x80,
	SCAN_J_POSITIVE = 0x40,
	SCAN_J_CONSECUTIVE = 0x20,
	SCAN_ALTERNATING = 0x10,
};

/* What section 3 (edition 1: section 2) says, as far as every grid has it. */
struct grib_grid {
	int kind;	 /* edition 1: data representation type; -1 without a section */
	uint32_t ni, nj; /* 0 where unknown, or where rows differ in length */
	uint8_t scan;
};

/*
 * The sections of the first field, each with its header; absent ones are empty.  In edition 1 the
 * product, grid, bitmap and data sections take the places of 1, 3, 6 and 7.
 */
struct grib_message {
	int edition;
	struct slice whole; /* as far as the message is known to go */
	struct slice section[8];
	uint64_t n_points; /* of the grid */
	uint64_t n_values; /* edition 2: section 5; edition 1: as many as the bitmap leaves */
	struct grib_grid grid;
	int packing;		/* template of section 5; edition 1: 0 simple, -1 otherwise */
	unsigned int n_fields;	/* only counted in GRIB_WMO mode, else 1 */
	const uint8_t *bitmap;	/* one bit a point, or NULL */
	uint64_t bitmap_points; /* bits there are */
};

/* Finds the sections as @mode wants them checked.  ERR_FORMAT, ERR_UNSUPPORTED. */
int grib_message_parse(struct slice bytes, enum grib_mode mode, struct grib_message *ret_message,
		       struct error *err);

/* Offset of @section in the message, for error texts. */
size_t grib_section_offset(const struct grib_message *message, int section);

/* Reads octets 1 to 14 and the dimensions of @section (section 3 of edition 2). */
void grib_grid_parse(struct slice section, struct grib_grid *ret_grid);
