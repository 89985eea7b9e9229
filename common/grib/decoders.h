/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One decoder a packing (internal to grib)
 *
 * Each takes a parsed message and puts its values into a sink; grib_sink_finish() is the
 * caller's.  ERR_FORMAT texts name section and offset.
 */

#include "grib/message.h"
#include "grib/sink.h"

struct grib_decoder {
	int (*decode)(const struct grib_message *message, enum grib_mode mode,
		      struct grib_sink *sink, struct error *err);
	bool eccodes; /* calls eccodes */
};

/*
 * The decoder for @message: a direct one, or eccodes.  @general asks for eccodes wherever there are
 * packed numbers.  ERR_UNSUPPORTED when none may be used in @mode.
 */
int grib_decoder_find(const struct grib_message *message, enum grib_mode mode, bool general,
		      struct grib_decoder *ret_decoder, struct error *err);

/* Template 5.0. */
int grib_decode_simple(const struct grib_message *message, enum grib_mode mode,
		       struct grib_sink *sink, struct error *err);
/* Templates 5.0, 5.40 and 5.42 with 0 bits. */
int grib_decode_constant(const struct grib_message *message, enum grib_mode mode,
			 struct grib_sink *sink, struct error *err);
/* Templates 5.2 and 5.3. */
int grib_decode_complex(const struct grib_message *message, enum grib_mode mode,
			struct grib_sink *sink, struct error *err);
/* Template 5.42. */
int grib_decode_ccsds(const struct grib_message *message, enum grib_mode mode,
		      struct grib_sink *sink, struct error *err);
/* Template 5.41. */
int grib_decode_png(const struct grib_message *message, enum grib_mode mode, struct grib_sink *sink,
		    struct error *err);
/* Simple packing of edition 1, constant fields too. */
int grib_decode_simple_1(const struct grib_message *message, enum grib_mode mode,
			 struct grib_sink *sink, struct error *err);
/* Everything, by eccodes. */
int grib_decode_eccodes(const struct grib_message *message, enum grib_mode mode,
			struct grib_sink *sink, struct error *err);

/* Where eccodes looks for its definition files, separated by colons; initialises eccodes.  Lent. */
const char *grib_definition_folders(void);

/* Whether all packed bits of 5.2 or 5.3 lie in section 7 and the groups hold section 5's values. */
int grib_check_complex(const struct grib_message *message, struct error *err);
/* Whether section 7 begins with a PNG image as section 5 describes it. */
int grib_check_png(const struct grib_message *message, struct error *err);

/* Bytes whose reader may run GRIB_KERNEL_SLACK beyond what it uses. */
struct grib_packed {
	const uint8_t *bytes;
	size_t size;
	uint8_t tail[GRIB_BLOCK * 4 + 8 + GRIB_KERNEL_SLACK];
};

/*
 * Bytes [@offset, @offset + @length), inside the size and at most GRIB_BLOCK * 4 + 8, with the
 * slack behind them: lent until the next call.
 */
const uint8_t *grib_packed_at(struct grib_packed *packed, size_t offset, size_t length);
