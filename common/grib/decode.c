/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "grib/decoders.h"
#include "grib/grid.h"

enum grib_var grib_var_from_text(const char *text)
{
	if (text && strcmp(text, "latitude") == 0)
		return GRIB_VAR_LATITUDE;
	if (text && strcmp(text, "longitude") == 0)
		return GRIB_VAR_LONGITUDE;
	return GRIB_VAR_NONE;
}

int grib_mode_from_text(const char *text, enum grib_mode *ret_mode, struct error *err)
{
	if (strcmp(text, "wmo") == 0)
		*ret_mode = GRIB_WMO;
	else if (strcmp(text, "gribberish") == 0)
		*ret_mode = GRIB_GRIBBERISH;
	else
		return error_set(err, ERR_ARGUMENT,
				 "decode mode '%s', known are wmo and gribberish", text);
	return 0;
}

static int unsupported(const struct grib_message *m, struct error *err)
{
	if (m->edition == 1)
		return error_set(err, ERR_UNSUPPORTED,
				 "section 4 at offset %zu: packing %#x of edition 1",
				 grib_section_offset(m, 7), *OCTET(m->section[7], 4) >> 4);
	return error_set(err, ERR_UNSUPPORTED, "section 5 at offset %zu: packing 5.%d",
			 grib_section_offset(m, 5), m->packing);
}

static int find_edition_1(const struct grib_message *m, enum grib_mode mode, bool general,
			  struct grib_decoder *ret_decoder, struct error *err)
{
	bool simple = m->packing == 0;

	if (mode == GRIB_GRIBBERISH && m->grid.kind != 0 && m->grid.kind != 4)
		return error_set(err, ERR_UNSUPPORTED, "grid type %d of edition 1", m->grid.kind);
	if (mode == GRIB_GRIBBERISH && !simple)
		return unsupported(m, err);
	*ret_decoder = (struct grib_decoder){grib_decode_simple_1, false};
	/* eccodes would scale by itself, which differs in the last bits. */
	(void)general;
	if (!simple)
		*ret_decoder = (struct grib_decoder){grib_decode_eccodes, true};
	return 0;
}

static int find_direct(const struct grib_message *m, struct grib_decoder *ret_decoder)
{
	bool constant = *OCTET(m->section[5], 20) == 0;

	ret_decoder->eccodes = false;
	switch (m->packing) {
	case 0:
		ret_decoder->decode = constant ? grib_decode_constant : grib_decode_simple;
		return 0;
	case 2:
	case 3:
		ret_decoder->decode = grib_decode_complex;
		return 0;
	case 40:
		ret_decoder->decode = grib_decode_constant;
		return constant ? 0 : 1;
	case 41:
		ret_decoder->decode = grib_decode_png;
		return 0;
	case 42:
		ret_decoder->decode = constant ? grib_decode_constant : grib_decode_ccsds;
		return 0;
	default:
		return 1;
	}
}

/* Packings beyond the codec's that eccodes turns into values of grid points. */
static bool eccodes_knows(int packing)
{
	static const int known[] = {4, 61, 200, 40000, 40010, 50001, 50002};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (packing == known[i])
			return true;
	return false;
}

int grib_decoder_find(const struct grib_message *m, enum grib_mode mode, bool general,
		      struct grib_decoder *ret_decoder, struct error *err)
{
	static const struct grib_decoder by_eccodes = {grib_decode_eccodes, true};
	bool empty_references;

	if (m->edition == 1)
		return find_edition_1(m, mode, general, ret_decoder, err);
	if (mode == GRIB_WMO && eccodes_knows(m->packing)) {
		*ret_decoder = by_eccodes;
		return 0;
	}
	if (m->section[5].size < 20)
		return error_set(err, ERR_FORMAT,
				 "section 5 at offset %zu has %zu octets, at least 20 are needed",
				 grib_section_offset(m, 5), m->section[5].size);
	if (find_direct(m, ret_decoder) == 0) {
		/* eccodes takes complex packing with references of 0 bits for a constant. */
		empty_references = *OCTET(m->section[5], 20) == 0;
		if (general && !empty_references)
			*ret_decoder = by_eccodes;
		return 0;
	}
	if (m->packing != 40)
		return unsupported(m, err);
	*ret_decoder = by_eccodes;
	return 0;
}

static int check_points_1(const struct grib_message *m, struct error *err)
{
	if (m->grid.kind < 0)
		return error_set(err, ERR_UNSUPPORTED, "edition 1 message without a grid section");
	if (m->n_points == 0)
		return error_set(err, ERR_UNSUPPORTED,
				 "grid of edition 1 without numbers of columns and rows");
	return 0;
}

static int points_of(const struct grib_message *m, const struct grib_decode_options *options,
		     uint64_t *ret_n, struct error *err)
{
	int r;

	if (m->edition == 1) {
		r = check_points_1(m, err);
		if (r < 0)
			return r;
	}
	if (options->var != GRIB_VAR_NONE)
		return grib_coordinate_points(m, options, ret_n, err);
	*ret_n = m->n_points;
	return 0;
}

int grib_value_count(struct slice message, const struct grib_decode_options *options,
		     uint64_t *ret_n, struct error *err)
{
	struct grib_message m;
	int r;

	r = grib_message_parse(message, options->mode, &m, err);
	if (r < 0)
		return r;
	return points_of(&m, options, ret_n, err);
}

bool grib_needs_eccodes(struct slice message, const struct grib_decode_options *options)
{
	struct grib_decoder decoder;
	struct grib_message m;

	return options->var == GRIB_VAR_NONE &&
	       grib_message_parse(message, options->mode, &m, NULL) == 0 &&
	       grib_decoder_find(&m, options->mode, false, &decoder, NULL) == 0 && decoder.eccodes;
}

enum route { ROUTE_ANY, ROUTE_DIRECT, ROUTE_GENERAL };

static int decode_field(const struct grib_message *m, const struct grib_decode_options *options,
			enum route route, void *out, struct error *err)
{
	struct grib_decoder decoder;
	struct grib_layout layout;
	struct grib_sink sink;
	int r;

	r = grib_decoder_find(m, options->mode, route == ROUTE_GENERAL, &decoder, err);
	if (r < 0)
		return r;
	if (decoder.eccodes && route == ROUTE_DIRECT)
		return unsupported(m, err);
	r = grib_layout_of(m, options, &layout, err);
	if (r < 0)
		return r;
	sink = grib_sink_init(m, &layout, options->type, out);
	r = decoder.decode(m, options->mode, &sink, err);
	if (r < 0)
		return r;
	return grib_sink_finish(&sink, err);
}

static int decode(struct slice message, const struct grib_decode_options *options, enum route route,
		  void *out, size_t n, struct error *err)
{
	struct grib_message m;
	uint64_t points;
	int r;

	r = grib_message_parse(message, options->mode, &m, err);
	if (r < 0)
		return r;
	r = points_of(&m, options, &points, err);
	if (r < 0)
		return r;
	if (points != n)
		return error_set(err, ERR_FORMAT, "the message has %" PRIu64 " values, not %zu",
				 points, n);
	if (options->var != GRIB_VAR_NONE)
		return grib_coordinate_decode(&m, options, out, err);
	return decode_field(&m, options, route, out, err);
}

int grib_decode(struct slice message, const struct grib_decode_options *options, void *out,
		size_t n, struct error *err)
{
	return decode(message, options, ROUTE_ANY, out, n, err);
}

int grib_decode_direct(struct slice message, const struct grib_decode_options *options, void *out,
		       size_t n, struct error *err)
{
	return decode(message, options, ROUTE_DIRECT, out, n, err);
}

int grib_decode_general(struct slice message, const struct grib_decode_options *options, void *out,
			size_t n, struct error *err)
{
	return decode(message, options, ROUTE_GENERAL, out, n, err);
}
