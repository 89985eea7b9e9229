/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include <eccodes.h>

#include "base/cleanup.h"
#include "grib/decoders.h"

/*
 * The general path: eccodes unpacks, the scaling is ours
 *
 * eccodes gets a message built around the sections 5 and 7 alone, so that no grid or product
 * template that it does not know stops it, and with R, E and D set to zero, so that its values
 * are the packed integers.
 */

enum {
	SECTION_3_LENGTH = 72,
	SECTION_4_LENGTH = 34,
	SECTIONS_BEFORE_5 = 16 + 21 + SECTION_3_LENGTH + SECTION_4_LENGTH,
	SECTIONS_AROUND = SECTIONS_BEFORE_5 + 6 + 4,
};

static _Thread_local char last_log[256];

/* Keeps what eccodes would print. */
static void on_log(const codes_context *context, int level, const char *text)
{
	(void)context;
	if (level == CODES_LOG_ERROR || level == CODES_LOG_FATAL)
		snprintf(last_log, sizeof(last_log), "%s", text);
}

static bool definitions_found;
static char definitions_path[256];

static bool has_boot_file(const char *path, size_t length)
{
	char name[512];

	snprintf(name, sizeof(name), "%.*s/boot.def", (int)length, path);
	return access(name, R_OK) == 0;
}

/* Without its definition files eccodes ends the process. */
static void prepare(void)
{
	codes_context *context = codes_context_get_default();
	const char *path;

	codes_context_set_logging_proc(context, on_log);
	path = codes_definition_path(context); /* lent */
	if (!path)
		return;
	snprintf(definitions_path, sizeof(definitions_path), "%s", path);
	for (const char *p = path; *p && !definitions_found; p += *p == ':') {
		size_t length = strcspn(p, ":");

		definitions_found = has_boot_file(p, length);
		p += length;
	}
}

const char *grib_definition_folders(void)
{
	const char *path = codes_definition_path(codes_context_get_default());

	return path ? path : "";
}

static int check_definitions(struct error *err)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, prepare);
	if (definitions_found)
		return 0;
	return error_set(err, ERR_UNSUPPORTED,
			 "the definition files of eccodes are missing: no boot.def in '%s'",
			 definitions_path);
}

static void handle_freep(codes_handle **handle)
{
	if (*handle)
		codes_handle_delete(*handle);
}

static int eccodes_error(const struct grib_message *m, int code, struct error *err)
{
	const char *cause = last_log[0] ? last_log : codes_get_error_message(code);

	return error_set(err, ERR_FORMAT, "section %d at offset %zu: eccodes cannot decode it: %s",
			 7, grib_section_offset(m, 7), cause);
}

static void put_be32(uint8_t *p, uint64_t value)
{
	p[0] = (uint8_t)(value >> 24);
	p[1] = (uint8_t)(value >> 16);
	p[2] = (uint8_t)(value >> 8);
	p[3] = (uint8_t)value;
}

/* Sections 0 to 4 of an analysis of nothing on one row of @points points. */
static void write_front(uint8_t *p, uint64_t total, uint64_t points)
{
	static const uint8_t section_1[21] = {0, 0,    0,    21, 1, 0, 0, 0, 0, 4, 0,
					      0, 0x07, 0xd0, 1,	 1, 0, 0, 0, 0, 0};
	uint8_t *s3 = p + 16 + sizeof(section_1), *s4 = s3 + SECTION_3_LENGTH;

	memset(p, 0, SECTIONS_BEFORE_5);
	memcpy(p, "GRIB", 4);
	p[7] = 2;
	put_be32(p + 8, total >> 32);
	put_be32(p + 12, total & UINT32_MAX);
	memcpy(p + 16, section_1, sizeof(section_1));
	put_be32(s3, SECTION_3_LENGTH);
	s3[4] = 3;
	put_be32(s3 + 6, points);
	s3[14] = 6;
	put_be32(s3 + 30, points);
	put_be32(s3 + 34, 1);
	put_be32(s4, SECTION_4_LENGTH);
	s4[4] = 4;
	s4[22] = 1;
	s4[28] = s4[23] = 255;
}

/* Templates whose octets 12 to 19 are R, E and D. */
static bool has_scaling(int packing)
{
	switch (packing) {
	case 0:
	case 2:
	case 3:
	case 40:
	case 41:
	case 42:
		return true;
	default:
		return false;
	}
}

/* The message that eccodes gets; the caller frees it. */
static uint8_t *rebuild(const struct grib_message *m, uint64_t n, size_t *ret_size,
			struct error *err)
{
	struct slice s5 = m->section[5], s7 = m->section[7];
	size_t size = SECTIONS_AROUND + s5.size + s7.size;
	uint8_t *bytes = malloc(size);
	uint8_t *p = bytes;

	if (!bytes) {
		error_memory(err);
		return NULL;
	}
	write_front(p, size, n);
	p += SECTIONS_BEFORE_5;
	memcpy(p, s5.data, s5.size);
	put_be32(p + 5, n);
	if (has_scaling(m->packing))
		memset(p + 11, 0, 8);
	p += s5.size;
	memcpy(p, "\0\0\0\6\6\377", 6);
	memcpy(p + 6, s7.data, s7.size);
	memcpy(p + 6 + s7.size, "7777", 4);
	*ret_size = size;
	return bytes;
}

/* Pixels of a JPEG 2000 codestream (SIZ, the marker that follows the first). */
static int codestream_pixels(const struct grib_message *m, uint64_t *ret_n, struct error *err)
{
	struct slice data = slice_sub(m->section[7], 5, SIZE_MAX);
	uint64_t width, height;

	if (data.size < 42 || be32(data.data) != 0xff4fff51)
		return error_set(err, ERR_FORMAT,
				 "section 7 at offset %zu: no JPEG 2000 codestream",
				 grib_section_offset(m, 7));
	width = (uint64_t)be32(data.data + 8) - be32(data.data + 16);
	height = (uint64_t)be32(data.data + 12) - be32(data.data + 20);
	if (width > UINT32_MAX || height > UINT32_MAX || width * height < m->n_values ||
	    width * height > m->n_points + m->n_values)
		return error_set(err, ERR_FORMAT,
				 "section 7 at offset %zu: JPEG 2000 image of %" PRIu64
				 " x %" PRIu64 " pixels for %" PRIu64 " values",
				 grib_section_offset(m, 7), width, height, m->n_values);
	*ret_n = width * height;
	return 0;
}

/* Whatever eccodes is known to answer by ending the process; @ret_n counts its values. */
static int check(const struct grib_message *m, uint64_t *ret_n, struct error *err)
{
	*ret_n = m->n_values;
	if (m->n_values > 2 * m->n_points)
		return error_set(err, ERR_FORMAT,
				 "section 5 at offset %zu: %" PRIu64 " values for %" PRIu64
				 " points",
				 grib_section_offset(m, 5), m->n_values, m->n_points);
	switch (m->packing) {
	case 2:
	case 3:
		return grib_check_complex(m, err);
	case 40:
		return codestream_pixels(m, ret_n, err);
	case 41:
		return grib_check_png(m, err);
	default:
		return 0;
	}
}

/*
 * Whether eccodes may leave @n doubles at the end of the output: filled from the front with
 * doubles, each is read before its place is written.  Rows are then turned in place, columns cannot
 * be.
 */
static bool fits_output(const struct grib_sink *sink, uint64_t n)
{
	return sink->type == GRIB_F64 && !sink->layout.columns && n <= sink->n;
}

static int put_all(struct grib_sink *sink, const double *values, uint64_t n, struct error *err)
{
	sink->element = GRIB_DOUBLE;
	for (uint64_t i = 0; i < n && !grib_sink_full(sink); i += GRIB_BLOCK)
		grib_sink_put(sink, values + i, n - i < GRIB_BLOCK ? (size_t)(n - i) : GRIB_BLOCK);
	return grib_sink_finish(sink, err);
}

/* @values lie in the output. */
static int put_in_place(struct grib_sink *sink, const double *values, uint64_t n, struct error *err)
{
	struct grib_layout layout = sink->layout;
	int r;

	sink->layout = (struct grib_layout){.ni = sink->n, .nj = 1};
	r = put_all(sink, values, n, err);
	if (r == 0)
		grib_layout_turn(&layout, (double *)(void *)sink->out);
	return r;
}

static int get_values(const struct grib_message *m, codes_handle *handle, uint64_t n,
		      struct grib_sink *sink, struct error *err)
{
	CLEANUP(freep) double *own = NULL;
	double *values;
	size_t have = 0;
	int code;

	code = codes_get_size(handle, "values", &have);
	if (code || have != n)
		return error_set(err, ERR_FORMAT,
				 "eccodes finds %zu values, %" PRIu64 " should be there", have, n);
	if (fits_output(sink, n)) {
		values = (double *)(void *)sink->out + (sink->n - n);
	} else {
		values = own = calloc(n ? n : 1, sizeof(*own));
		if (!own)
			return error_memory(err);
	}
	codes_set_double(handle, "missingValue", NAN);
	code = codes_get_double_array(handle, "values", values, &have);
	if (code)
		return eccodes_error(m, code, err);
	return own ? put_all(sink, own, n, err) : put_in_place(sink, values, n, err);
}

/* Edition 1 goes in as it is, scaling and bitmap being eccodes's. */
static int decode_edition_1(const struct grib_message *m, struct grib_sink *sink, struct error *err)
{
	CLEANUP(handle_freep) codes_handle *handle = NULL;

	if (*OCTET(m->section[7], 4) & 0x80)
		return error_set(err, ERR_UNSUPPORTED, "spectral fields have no points");
	handle = codes_handle_new_from_message(NULL, m->whole.data, m->whole.size);
	if (!handle)
		return eccodes_error(m, CODES_DECODING_ERROR, err);
	sink->bitmap = NULL;
	return get_values(m, handle, m->n_points, sink, err);
}

int grib_decode_eccodes(const struct grib_message *m, enum grib_mode mode, struct grib_sink *sink,
			struct error *err)
{
	CLEANUP(freep) uint8_t *bytes = NULL;
	CLEANUP(handle_freep) codes_handle *handle = NULL;
	size_t size;
	uint64_t n;
	int r;

	(void)mode;
	r = check_definitions(err);
	if (r < 0)
		return r;
	last_log[0] = '\0';
	if (m->edition == 1)
		return decode_edition_1(m, sink, err);
	r = check(m, &n, err);
	if (r < 0)
		return r;
	if (has_scaling(m->packing)) {
		r = grib_scaling_parse(m, &sink->scaling, err);
		if (r < 0)
			return r;
	}
	bytes = rebuild(m, n, &size, err);
	if (!bytes)
		return ERR_MEMORY;
	handle = codes_handle_new_from_message(NULL, bytes, size);
	if (!handle)
		return eccodes_error(m, CODES_DECODING_ERROR, err);
	return get_values(m, handle, n, sink, err);
}
