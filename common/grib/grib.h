/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * GRIB messages: framing, what they hold, and their values
 *
 * Decoding follows the published rules of the Zarr codec `gribberish` (docs: "Decoding"), in two
 * modes: what the WMO's FM 92 defines, or what that codec returns with its faults.  The common
 * packings (5.0, 5.2, 5.3, 5.41, 5.42 of edition 2, simple packing of edition 1) and all
 * coordinates have direct decoders, which never open a definition file.  Everything else goes
 * through eccodes, which may abort the process on bytes that no check foresaw: a program that
 * must live calls grib_decode_direct() where grib_needs_eccodes() says no, and a worker process
 * (grib/worker.h) where it says yes.
 *
 * Messages are lent, never written to, and come from outside: every size is checked against the
 * bytes given before it is believed, and nothing is allocated from a count in the message before it
 * was compared with what the caller expects.
 *
 * Threads: any function from any thread; nothing is shared but tables that never change.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

enum grib_mode {
	GRIB_WMO,	 /* the value that FM 92 defines */
	GRIB_GRIBBERISH, /* the value of the public codec, version 1.9.0 */
};

/* What a message is decoded to: its field, or a coordinate of its grid. */
enum grib_var { GRIB_VAR_NONE, GRIB_VAR_LATITUDE, GRIB_VAR_LONGITUDE };

enum grib_type { GRIB_F64, GRIB_F32 };

struct grib_decode_options {
	enum grib_mode mode;
	enum grib_var var;
	enum grib_type type;
	bool north_up;
	bool adjust_longitude_range;
};

/* Bytes of one value. */
static inline size_t grib_type_size(enum grib_type type)
{
	return type == GRIB_F32 ? 4 : 8;
}

/* The codec's `var`: only exactly "latitude" and "longitude" mean anything; NULL is fine. */
enum grib_var grib_var_from_text(const char *text);
/* "wmo" or "gribberish"; ERR_ARGUMENT. */
int grib_mode_from_text(const char *text, enum grib_mode *ret_mode, struct error *err);

/*
 * Number of values that decoding @message with @options yields: the grid's points, or for a
 * coordinate the length of its axis (latitude/longitude grids) or the whole field.  Reads headers
 * only.  ERR_FORMAT or ERR_UNSUPPORTED.
 */
int grib_value_count(struct slice message, const struct grib_decode_options *options,
		     uint64_t *ret_n, struct error *err);

/*
 * Decodes the first field of @message into @out, which has room for exactly @n values of
 * options->type, in the machine's byte order; NaN (0x7ff8000000000000, 0x7fc00000) is missing.
 * A message with another number of values is ERR_FORMAT, naming both numbers, before anything is
 * allocated or decoded.  ERR_FORMAT texts name section and offset.  ERR_UNSUPPORTED: a packing or
 * grid that cannot be had.  On an error the content of @out is undefined.
 *
 * Uses eccodes in this process if grib_needs_eccodes() says so.
 */
int grib_decode(struct slice message, const struct grib_decode_options *options, void *out,
		size_t n, struct error *err);

/*
 * Whether grib_decode() would call eccodes: false for messages with a direct decoder, and for
 * those that are refused without decoding.  Reads headers only.
 */
bool grib_needs_eccodes(struct slice message, const struct grib_decode_options *options);

/* As grib_decode(), but ERR_UNSUPPORTED where eccodes would be needed. */
int grib_decode_direct(struct slice message, const struct grib_decode_options *options, void *out,
		       size_t n, struct error *err);

/*
 * As grib_decode(), but the packed integers are always read by eccodes (except constant fields and
 * coordinates, which have none).  The oracle of the tests.  May abort the process on damaged
 * bytes; the first call costs 10 to 16 ms and reads definition files, whose absence is
 * ERR_UNSUPPORTED with the folder named.
 */
int grib_decode_general(struct slice message, const struct grib_decode_options *options, void *out,
			size_t n, struct error *err);

/*
 * Reads the first octets of a message (16 suffice): "GRIB", the edition (1 or 2) and the length
 * that section 0 claims.  ERR_FORMAT: no message starts here.
 */
int grib_header(struct slice start, int *ret_edition, uint64_t *ret_length, struct error *err);

/* What the headers of one field say.  Texts are those of NOAA's .idx files. */
struct grib_info {
	int edition;
	int discipline, centre, subcentre, local_table, category,
		number;		/* edition 1: table, parameter in the last two */
	int product_template;	/* -1 in edition 1 */
	int packing_template;	/* -1 in edition 1 */
	const char *packing;	/* by the names of eccodes: "grid_simple",
				   "grid_complex_spatial_differencing" ... */
	int grid_template;	/* edition 1: grid type; -1 without a grid section */
	const char *grid;	/* by the names of eccodes: "regular_ll", "lambert" ... */
	uint64_t n_points;	/* of the grid */
	uint64_t n_values;	/* packed in the data section */
	uint32_t ni, nj;	/* columns and rows; 0 where the grid has none */
	uint8_t scan;		/* scanning mode octet */
	uint8_t bits_per_value; /* octet 20 of section 5, or octet 11 of section 4 in edition 1 */
	bool has_bitmap;
	bool direct;		/* there is a direct decoder */
	int64_t reference_time; /* microseconds, base/time.h */
	char date[24];		/* "d=2025080100"; minutes and seconds only if not zero */
	char parameter[96];	/* "TMP", or "var discipline=0 center=7 ..." */
	char level[96];		/* "2 m above ground" */
	char time[96];		/* "anl", "6 hour fcst", "0-6 hour acc fcst" */
	char extra[160];	/* "ENS=+1", "prob >0.254:prob fcst 255/255", or empty */
};

/* Describes the first field of @message.  ERR_FORMAT when it is not a whole message. */
int grib_inspect(struct slice message, struct grib_info *ret_info, struct error *err);

/* Where messages are scanned: a file, a buffer or ranges of a URL. */
struct grib_source {
	void *context;
	uint64_t size; /* bytes of the whole */
	/* Fills @out with bytes [@offset, @offset + @length), always inside the size. */
	int (*read)(void *context, uint64_t offset, size_t length, uint8_t *out, struct error *err);
};

/* A source over bytes in memory; @bytes must outlive it. */
struct grib_source grib_source_memory(const struct slice *bytes);

/* One field as the scan finds it. */
struct grib_entry {
	uint64_t offset, length; /* of the message */
	unsigned int message;	 /* counted from 1 */
	unsigned int field;	 /* within the message, counted from 1 */
	unsigned int n_fields;	 /* of the message */
	const char *bad; /* NULL, or why no message could be read at @offset; @info is then empty */
	struct grib_info info;
};

/*
 * Calls @each for every field in the order of the file, reading headers only.  Bytes between
 * messages are skipped.  Where something begins like a message and is none, @each gets an entry
 * with `bad` set and the scan goes on behind it.  @each may stop the scan with a negative result,
 * which is returned.  Otherwise 0, also when entries were bad, or the error of a read.
 */
int grib_scan(const struct grib_source *source,
	      int (*each)(void *context, const struct grib_entry *entry, struct error *err),
	      void *context, struct error *err);

/* Appends the line of a NOAA-style .idx file for @entry, with its line feed. */
int grib_write_idx_line(const struct grib_entry *entry, struct buf *out, struct error *err);
