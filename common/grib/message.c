/* SPDX-License-Identifier: Apache-2.0 */
#include "grib/message.h"

#include <inttypes.h>

enum {
	SECTION_0_LENGTH = 16,
	SECTION_0_LENGTH_EDITION_1 = 8,
	END_LENGTH = 4,
};

static bool is_end(const uint8_t *p)
{
	return memcmp(p, "7777", END_LENGTH) == 0;
}

/*
 * Edition 1 counts in 120s when the top bit of the length is set: then the data section's own
 * length says how many octets the last unit lacks.  Only the sections can tell.
 */
static bool is_large_edition_1(struct slice start)
{
	return start.size >= SECTION_0_LENGTH_EDITION_1 && (start.data[4] & 0x80) != 0;
}

int grib_header(struct slice start, int *ret_edition, uint64_t *ret_length, struct error *err)
{
	if (start.size < SECTION_0_LENGTH_EDITION_1 || memcmp(start.data, "GRIB", 4) != 0)
		return error_set(err, ERR_FORMAT, "no GRIB message starts here");
	switch (start.data[7]) {
	case 1:
		*ret_edition = 1;
		*ret_length = be24(start.data + 4);
		if (is_large_edition_1(start))
			*ret_length = (*ret_length & 0x7fffff) * 120;
		return 0;
	case 2:
		if (start.size < SECTION_0_LENGTH)
			return error_set(err, ERR_FORMAT, "GRIB message of only %zu bytes",
					 start.size);
		*ret_edition = 2;
		*ret_length = be64(start.data + 8);
		return 0;
	default:
		return error_set(err, ERR_FORMAT, "GRIB edition %u, known are 1 and 2",
				 start.data[7]);
	}
}

size_t grib_section_offset(const struct grib_message *message, int section)
{
	return (size_t)(message->section[section].data - message->whole.data);
}

/* Octet of the scanning mode in section 3, by grid template; 0 where it is not known. */
static unsigned int scan_octet(int kind)
{
	switch (kind) {
	case 0: /* latitude/longitude, rotated, stretched */
	case 1:
	case 2:
	case 3:
	case 40: /* Gaussian, rotated, stretched */
	case 41:
	case 42:
	case 43:
		return 72;
	case 10: /* Mercator, transverse Mercator */
	case 12:
		return 60;
	case 20: /* polar stereographic, Lambert, Albers */
	case 30:
	case 31:
		return 65;
	case 90: /* space view, Lambert azimuthal */
	case 140:
		return 64;
	default:
		return 0;
	}
}

void grib_grid_parse(struct slice section, struct grib_grid *ret_grid)
{
	int kind = (int)be16(OCTET(section, 13));
	unsigned int octet = scan_octet(kind);

	*ret_grid = (struct grib_grid){.kind = kind};
	if (octet == 0 || section.size < octet)
		return;
	ret_grid->scan = *OCTET(section, octet);
	ret_grid->ni = be32(OCTET(section, 31));
	ret_grid->nj = be32(OCTET(section, 35));
	/* Rows of their own lengths each. */
	if (ret_grid->ni == UINT32_MAX || ret_grid->nj == UINT32_MAX)
		ret_grid->ni = ret_grid->nj = 0;
}

static int check_section(struct grib_message *m, int section, size_t least, struct error *err)
{
	if (m->section[section].size >= least)
		return 0;
	if (m->section[section].size == 0)
		return error_set(err, ERR_FORMAT, "GRIB message without section %d", section);
	return error_set(err, ERR_FORMAT,
			 "section %d at offset %zu has %zu octets, not the %zu needed", section,
			 grib_section_offset(m, section), m->section[section].size, least);
}

static int parse_bitmap(struct grib_message *m, struct error *err)
{
	uint8_t indicator = *OCTET(m->section[6], 6);

	if (indicator == 255)
		return 0;
	/* Nothing stands before the first field that such an indicator could refer to. */
	if (indicator != 0)
		return error_set(err, ERR_FORMAT,
				 "section 6 at offset %zu: bitmap indicator %u in the first field",
				 grib_section_offset(m, 6), indicator);
	m->bitmap = OCTET(m->section[6], 7);
	m->bitmap_points = (uint64_t)(m->section[6].size - 6) * 8;
	if (m->bitmap_points < m->n_points)
		return error_set(err, ERR_FORMAT,
				 "section 6 at offset %zu: bitmap of %" PRIu64 " bits for %" PRIu64
				 " points",
				 grib_section_offset(m, 6), m->bitmap_points, m->n_points);
	return 0;
}

static int parse_first_field(struct grib_message *m, struct error *err)
{
	int r;

	r = check_section(m, 3, 14, err);
	if (r < 0)
		return r;
	r = check_section(m, 5, 11, err);
	if (r < 0)
		return r;
	r = check_section(m, 6, 6, err);
	if (r < 0)
		return r;
	r = check_section(m, 7, 5, err);
	if (r < 0)
		return r;
	m->n_points = be32(OCTET(m->section[3], 7));
	m->n_values = be32(OCTET(m->section[5], 6));
	m->packing = (int)be16(OCTET(m->section[5], 10));
	grib_grid_parse(m->section[3], &m->grid);
	return parse_bitmap(m, err);
}

static bool has_first_field(const struct grib_message *m)
{
	return m->section[3].size && m->section[5].size && m->section[6].size && m->section[7].size;
}

/*
 * Sections up to @end.  The codec only knows a section when a byte follows it, stops at the first
 * that does not fit, and never looks at the end: @lenient.
 */
static int walk_sections(struct slice bytes, size_t end, bool lenient, struct grib_message *m,
			 struct error *err)
{
	size_t pos = SECTION_0_LENGTH;

	while (pos < end) {
		uint32_t length;
		uint8_t number;

		if (end - pos < 5) {
			if (lenient)
				break;
			return error_set(err, ERR_FORMAT, "section at offset %zu is cut", pos);
		}
		length = be32(bytes.data + pos);
		number = bytes.data[pos + 4];
		if (lenient && (has_first_field(m) || length >= end - pos))
			break;
		if (length < 5 || length > end - pos)
			return error_set(err, ERR_FORMAT,
					 "section %u at offset %zu has length %" PRIu32
					 ", %zu bytes are left",
					 number, pos, length, end - pos);
		if (number >= 1 && number <= 7) {
			if (m->section[number].size == 0)
				m->section[number] = slice_of(bytes.data + pos, length);
			m->n_fields += number == 7;
		} else if (!lenient) {
			return error_set(err, ERR_FORMAT, "section number %u at offset %zu", number,
					 pos);
		}
		pos += length;
	}
	m->whole = slice_of(bytes.data, pos);
	return 0;
}

static int parse_edition_2(struct slice bytes, enum grib_mode mode, struct grib_message *m,
			   struct error *err)
{
	uint64_t length = be64(bytes.data + 8);
	int r;

	if (mode == GRIB_GRIBBERISH) {
		r = walk_sections(bytes, bytes.size, true, m, err);
		if (r < 0)
			return r;
		m->n_fields = 1;
		return parse_first_field(m, err);
	}
	if (length < SECTION_0_LENGTH + END_LENGTH)
		return error_set(err, ERR_FORMAT, "section 0 says %" PRIu64 " bytes", length);
	if (length > bytes.size)
		return error_set(err, ERR_FORMAT,
				 "section 0 says %" PRIu64 " bytes, only %zu are there", length,
				 bytes.size);
	if (!is_end(bytes.data + length - END_LENGTH))
		return error_set(err, ERR_FORMAT,
				 "no 7777 at offset %" PRIu64 ", where section 0 puts the end",
				 length - END_LENGTH);
	r = walk_sections(bytes, (size_t)length - END_LENGTH, false, m, err);
	if (r < 0)
		return r;
	m->whole.size = (size_t)length;
	return parse_first_field(m, err);
}

/* Takes the section at *@pos, which has at least @least octets. */
static int take_section_1(struct slice bytes, size_t end, size_t *pos, size_t least, int name,
			  struct slice *ret_section, struct error *err)
{
	size_t length;

	if (end - *pos < 3)
		return error_set(err, ERR_FORMAT, "section %d at offset %zu is cut", name, *pos);
	length = be24(bytes.data + *pos);
	if (length < least || length > end - *pos)
		return error_set(err, ERR_FORMAT,
				 "section %d at offset %zu has length %zu, %zu bytes are left",
				 name, *pos, length, end - *pos);
	*ret_section = slice_of(bytes.data + *pos, length);
	*pos += length;
	return 0;
}

/*
 * A large message counts in 120s; its data section's length says how many octets before the end
 * of the last unit the section ends.
 */
static int take_large_data_section(struct slice bytes, size_t units, size_t *pos, size_t *ret_end,
				   struct slice *ret_section, struct error *err)
{
	size_t lacking, end;

	if (bytes.size - *pos < 11)
		return error_set(err, ERR_FORMAT, "section 4 at offset %zu is cut", *pos);
	lacking = be24(bytes.data + *pos);
	end = units * 120 - lacking;
	if (lacking >= 120 || units * 120 < *pos + 11 + lacking || end > bytes.size - END_LENGTH)
		return error_set(err, ERR_FORMAT,
				 "section 4 at offset %zu has length %zu in a message of %zu units",
				 *pos, lacking, units);
	*ret_section = slice_of(bytes.data + *pos, end - *pos);
	*pos = *ret_end = end;
	return 0;
}

static int parse_bitmap_1(struct grib_message *m, struct error *err)
{
	if (m->section[6].size == 0)
		return 0;
	if (be16(OCTET(m->section[6], 5)) != 0)
		return error_set(err, ERR_UNSUPPORTED, "predefined bitmap %u",
				 be16(OCTET(m->section[6], 5)));
	m->bitmap = OCTET(m->section[6], 7);
	m->bitmap_points = (uint64_t)(m->section[6].size - 6) * 8;
	return 0;
}

static void parse_grid_1(struct grib_message *m)
{
	struct slice gds = m->section[3];

	m->grid.kind = -1;
	if (gds.size < 28)
		return;
	m->grid.kind = *OCTET(gds, 6);
	m->grid.ni = be16(OCTET(gds, 7));
	m->grid.nj = be16(OCTET(gds, 9));
	m->grid.scan = *OCTET(gds, 28);
	if (m->grid.ni == UINT16_MAX || m->grid.nj == UINT16_MAX)
		m->grid.ni = m->grid.nj = 0;
	m->n_points = (uint64_t)m->grid.ni * m->grid.nj;
}

/* Simple packing of grid points: neither spherical harmonics nor second order. */
static bool is_simple_1(const struct grib_message *m)
{
	return (*OCTET(m->section[7], 4) & 0xc0) == 0;
}

static int parse_edition_1(struct slice bytes, enum grib_mode mode, struct grib_message *m,
			   struct error *err)
{
	bool large = mode == GRIB_WMO && is_large_edition_1(bytes);
	size_t pos = SECTION_0_LENGTH_EDITION_1;
	size_t length = be24(bytes.data + 4);
	size_t end;
	uint8_t flags;
	int r;

	if (large)
		length = bytes.size; /* known when the data section is reached */
	if (length > bytes.size)
		return error_set(err, ERR_FORMAT, "section 0 says %zu bytes, only %zu are there",
				 length, bytes.size);
	if (length < SECTION_0_LENGTH_EDITION_1 + END_LENGTH)
		return error_set(err, ERR_FORMAT, "GRIB message of %zu bytes", length);
	end = mode == GRIB_WMO ? length - END_LENGTH : length;
	r = take_section_1(bytes, end, &pos, 28, 1, &m->section[1], err);
	if (r < 0)
		return r;
	flags = *OCTET(m->section[1], 8);
	if (flags & 0x80) {
		r = take_section_1(bytes, end, &pos, 6, 2, &m->section[3], err);
		if (r < 0)
			return r;
	}
	if (flags & 0x40) {
		r = take_section_1(bytes, end, &pos, 6, 3, &m->section[6], err);
		if (r < 0)
			return r;
	}
	if (large)
		r = take_large_data_section(bytes, be24(bytes.data + 4) & 0x7fffff, &pos, &end,
					    &m->section[7], err);
	else
		r = take_section_1(bytes, end, &pos, 11, 4, &m->section[7], err);
	if (r < 0)
		return r;
	if (mode == GRIB_WMO && (pos != end || !is_end(bytes.data + end)))
		return error_set(err, ERR_FORMAT, "no 7777 at offset %zu, where the sections end",
				 pos);
	m->whole = slice_of(bytes.data, mode == GRIB_WMO ? end + END_LENGTH : length);
	m->n_fields = 1;
	parse_grid_1(m);
	m->packing = is_simple_1(m) ? 0 : -1;
	return parse_bitmap_1(m, err);
}

int grib_message_parse(struct slice bytes, enum grib_mode mode, struct grib_message *ret_message,
		       struct error *err)
{
	struct grib_message m = {0};
	uint64_t length;
	int r;

	r = grib_header(bytes, &m.edition, &length, err);
	if (r < 0)
		return r;
	if (m.edition == 1)
		r = parse_edition_1(bytes, mode, &m, err);
	else
		r = parse_edition_2(bytes, mode, &m, err);
	if (r < 0)
		return r;
	*ret_message = m;
	return 0;
}
