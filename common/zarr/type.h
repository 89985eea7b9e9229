/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Data types of Zarr v3 arrays, and their fill values
 *
 * Source: Zarr core specification v3.1, "Data types" and "Fill value"; the numpy.* and fixed
 * length types as the public zarr package 3.4 writes them.  Elements are little-endian in memory.
 *
 * Threads: any; plain values.
 */

#include <stdint.h>

#include "base/error.h"
#include "base/json.h"

enum zarr_kind {
	ZARR_OPAQUE, /* a type we do not know, or without a fixed size: passed through, never
			decoded */
	ZARR_BOOL,
	ZARR_INT,
	ZARR_UINT,
	ZARR_FLOAT,
	ZARR_COMPLEX,
	ZARR_RAW,   /* r8, r16 ..., raw_bytes, null_terminated_bytes */
	ZARR_TIME,  /* numpy.datetime64 and numpy.timedelta64: int64, INT64_MIN is NaT */
	ZARR_UTF32, /* fixed_length_utf32 */
};

struct zarr_type {
	enum zarr_kind kind;
	uint32_t size; /* bytes of an element; 0 for ZARR_OPAQUE */
	uint32_t unit; /* bytes that turn round together in the other byte order; divides size */
};

/* Largest element: fixed-length types come from outside. */
#define ZARR_TYPE_SIZE_MAX (1U << 20)

/* Reads the member data_type.  An unknown name or configuration is ZARR_OPAQUE, not an error;
 * ERR_FORMAT if it is neither text nor an object with a name. */
int zarr_type_parse(const struct json *data_type, struct zarr_type *ret_type, struct error *err);

/*
 * Writes the element that the member fill_value means to @out (@type->size bytes): numbers, "NaN",
 * "Infinity", "-Infinity", "0x7fc00000" (the bits, most significant first), pairs of these, lists
 * of octets, base64, "NaT", text.  ERR_FORMAT; ERR_UNSUPPORTED for ZARR_OPAQUE.
 */
int zarr_fill_parse(const struct zarr_type *type, const struct json *fill_value, uint8_t *out,
		    struct error *err);
