/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/make-grib.h"

#include <math.h>
#include <stdlib.h>

#include <libaec.h>
#include <png.h>

#include "base/cleanup.h"

enum { GROUP_LENGTH = 32, CCSDS_BLOCK = 32, CCSDS_INTERVAL = 128 };

const struct make_grid make_grid_hrrr = {
	.kind = 30,
	.ni = 1799,
	.nj = 1059,
	.scan = 0x40,
	.lat1 = 21138123,
	.lon1 = 237280472,
	.di = 3000000,
	.dj = 3000000,
	.lad = 38500000,
	.lov = 262500000,
	.latin1 = 38500000,
	.latin2 = 38500000,
};

struct make_grid make_grid_global(uint32_t ni, uint32_t nj)
{
	return (struct make_grid){
		.ni = ni,
		.nj = nj,
		.lat1 = 90000000,
		.di = 360000000 / ni,
		.dj = nj > 1 ? 180000000 / (nj - 1) : 0,
	};
}

int make_be(struct buf *out, uint64_t value, unsigned int n, struct error *err)
{
	uint8_t bytes[8];

	for (unsigned int i = 0; i < n; i++)
		bytes[i] = (uint8_t)(value >> (8 * (n - 1 - i)));
	return buf_append(out, bytes, n, err);
}

static uint64_t sign_magnitude(int64_t value, unsigned int octets)
{
	return value < 0 ? UINT64_C(1) << (8 * octets - 1) | (uint64_t)-value : (uint64_t)value;
}

int make_bits_put(struct make_bits *bits, uint32_t value, unsigned int width, struct error *err)
{
	int r;

	while (width > 0) {
		unsigned int step;

		if (bits->used == 0) {
			r = buf_append_byte(bits->out, 0, err);
			if (r < 0)
				return r;
		}
		step = 8 - bits->used < width ? 8 - bits->used : width;
		width -= step;
		bits->out->data[bits->out->size - 1] |=
			(uint8_t)((value >> width & ((1U << step) - 1)) << (8 - bits->used - step));
		bits->used = (bits->used + step) % 8;
	}
	return 0;
}

/* A section of fixed octets: written at their numbers, counted from 1. */
struct octets {
	uint8_t bytes[128];
};

static void set(struct octets *o, unsigned int number, unsigned int n, uint64_t value)
{
	for (unsigned int i = 0; i < n; i++)
		o->bytes[number - 1 + i] = (uint8_t)(value >> (8 * (n - 1 - i)));
}

static void set_signed(struct octets *o, unsigned int number, unsigned int n, int64_t value)
{
	set(o, number, n, sign_magnitude(value, n));
}

static int append_section(struct octets *o, uint32_t length, uint8_t number, struct buf *out,
			  struct error *err)
{
	set(o, 1, 4, length);
	set(o, 5, 1, number);
	return buf_append(out, o->bytes, length, err);
}

static int append_section_1(const struct make_grib *spec, struct buf *out, struct error *err)
{
	struct octets o = {0};

	set(&o, 6, 2, 7); /* NCEP */
	set(&o, 10, 1, 2);
	set(&o, 11, 1, 1);
	set(&o, 12, 1, 1); /* start of forecast */
	set(&o, 13, 2, (uint64_t)spec->year);
	set(&o, 15, 1, (uint64_t)spec->month);
	set(&o, 16, 1, (uint64_t)spec->day);
	set(&o, 17, 1, (uint64_t)spec->hour);
	set(&o, 18, 1, (uint64_t)spec->minute);
	set(&o, 21, 1, 1); /* forecast products */
	return append_section(&o, 21, 1, out, err);
}

static int append_section_3(const struct make_grid *grid, struct buf *out, struct error *err)
{
	struct octets o = {0};
	bool lambert = grid->kind == 30;

	set(&o, 7, 4, (uint64_t)grid->ni * grid->nj);
	set(&o, 13, 2, (uint64_t)grid->kind);
	set(&o, 15, 1, 6); /* sphere of 6371229 m */
	set(&o, 31, 4, grid->ni);
	set(&o, 35, 4, grid->nj);
	if (!lambert) {
		set(&o, 43, 4, UINT32_MAX);
		set_signed(&o, 47, 4, grid->lat1);
		set_signed(&o, 51, 4, grid->lon1);
		set(&o, 55, 1, 0x30);
		set(&o, 64, 4, grid->di);
		set(&o, 68, 4, grid->dj);
		set(&o, 72, 1, grid->scan);
		return append_section(&o, 72, 3, out, err);
	}
	set_signed(&o, 39, 4, grid->lat1);
	set_signed(&o, 43, 4, grid->lon1);
	set(&o, 47, 1, 0x08); /* winds along the grid */
	set_signed(&o, 48, 4, grid->lad);
	set_signed(&o, 52, 4, grid->lov);
	set(&o, 56, 4, grid->di);
	set(&o, 60, 4, grid->dj);
	set(&o, 65, 1, grid->scan);
	set_signed(&o, 66, 4, grid->latin1);
	set_signed(&o, 70, 4, grid->latin2);
	return append_section(&o, 81, 3, out, err);
}

static void set_level(struct octets *o, unsigned int number, const struct make_level *level)
{
	static const struct make_level zeros;
	bool none = level->type == 255 || memcmp(level, &zeros, sizeof(zeros)) == 0;

	set(o, number, 1, none ? 255 : level->type);
	set_signed(o, number + 1, 1, none ? 0 : level->scale);
	set_signed(o, number + 2, 4, none ? 0 : level->value);
}

/* Days since 1970-01-01 of a civil date, by the usual formula, and back. */
static int64_t days_of(int64_t y, int m, int d)
{
	int64_t era, yoe, doy;

	y -= m <= 2;
	era = (y >= 0 ? y : y - 399) / 400;
	yoe = y - era * 400;
	doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
	return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

static void set_end_time(struct octets *o, const struct make_grib *spec)
{
	int64_t minutes = days_of(spec->year, spec->month, spec->day) * 1440 + spec->hour * 60 +
			  spec->minute + spec->lead_minutes;
	int64_t day = minutes >= 0 ? minutes / 1440 : (minutes - 1439) / 1440;
	int64_t z = day + 719468, era = (z >= 0 ? z : z - 146096) / 146097;
	int64_t doe = z - era * 146097;
	int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;
	int64_t month = mp < 10 ? mp + 3 : mp - 9;

	minutes -= day * 1440;
	set(o, 35, 2, (uint64_t)(yoe + era * 400 + (month <= 2)));
	set(o, 37, 1, (uint64_t)month);
	set(o, 38, 1, (uint64_t)(doy - (153 * mp + 2) / 5 + 1));
	set(o, 39, 1, (uint64_t)minutes / 60);
	set(o, 40, 1, (uint64_t)minutes % 60);
}

/* Product templates 4.0 and 4.8; times in hours where they are whole, else minutes. */
static int append_section_4(const struct make_grib *spec, struct buf *out, struct error *err)
{
	int32_t start = spec->lead_minutes - (spec->has_window ? spec->window_minutes : 0);
	bool hours = start % 60 == 0 && spec->lead_minutes % 60 == 0;
	int32_t unit = hours ? 60 : 1;
	struct octets o = {0};

	set(&o, 8, 2, spec->has_window ? 8 : 0);
	set(&o, 10, 1, spec->category);
	set(&o, 11, 1, spec->number);
	set(&o, 12, 1, 2); /* forecast */
	set(&o, 14, 1, 83);
	set(&o, 18, 1, hours ? 1 : 0);
	set_signed(&o, 19, 4, start / unit);
	set_level(&o, 23, &spec->level);
	set_level(&o, 29, &spec->level2);
	if (!spec->has_window)
		return append_section(&o, 34, 4, out, err);
	set_end_time(&o, spec);
	set(&o, 42, 1, 1);
	set(&o, 47, 1, (uint64_t)spec->statistic);
	set(&o, 48, 1, 2);
	set(&o, 49, 1, hours ? 1 : 0);
	set(&o, 50, 4, (uint64_t)(spec->window_minutes / unit));
	set(&o, 54, 1, 255);
	return append_section(&o, 58, 4, out, err);
}

int make_grib_around(const struct make_grib *spec, uint32_t n_values, struct slice section_5,
		     struct slice bitmap, struct slice section_7, struct buf *out,
		     struct error *err)
{
	size_t start = out->size;
	struct octets o = {0};
	uint64_t total;
	int r = 0;

	memcpy(o.bytes, "GRIB", 4);
	set(&o, 7, 1, spec->discipline);
	set(&o, 8, 1, 2);
	r = r ? r : buf_append(out, o.bytes, 16, err);
	r = r ? r : append_section_1(spec, out, err);
	r = r ? r : append_section_3(&spec->grid, out, err);
	r = r ? r : append_section_4(spec, out, err);
	r = r ? r : make_be(out, 9 + section_5.size, 4, err);
	r = r ? r : make_be(out, 5, 1, err);
	r = r ? r : make_be(out, n_values, 4, err);
	r = r ? r : buf_append_slice(out, section_5, err);
	r = r ? r : make_be(out, 6 + bitmap.size, 4, err);
	r = r ? r : make_be(out, 6, 1, err);
	r = r ? r : make_be(out, bitmap.size ? 0 : 255, 1, err);
	r = r ? r : buf_append_slice(out, bitmap, err);
	r = r ? r : make_be(out, 5 + section_7.size, 4, err);
	r = r ? r : make_be(out, 7, 1, err);
	r = r ? r : buf_append_slice(out, section_7, err);
	r = r ? r : buf_append_text(out, "7777", err);
	if (r < 0)
		return r;
	total = out->size - start;
	for (unsigned int i = 0; i < 8; i++)
		out->data[start + 8 + i] = (uint8_t)(total >> (56 - 8 * i));
	return 0;
}

/* The numbers to pack, their scaling and where there are none. */
struct numbers {
	uint32_t *x;
	size_t n; /* present ones */
	size_t points;
	unsigned int bits;
	float reference;
	struct buf bitmap; /* empty: nothing is missing */
};

static void numbers_done(struct numbers *numbers)
{
	free(numbers->x);
	buf_done(&numbers->bitmap);
}

static int make_bitmap(const float *values, struct numbers *numbers, struct error *err)
{
	struct make_bits bits = {.out = &numbers->bitmap};
	int r;

	for (size_t i = 0; i < numbers->points; i++) {
		r = make_bits_put(&bits, !isnan(values[i]), 1, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int make_numbers(const struct make_grib *spec, const float *values, struct numbers *numbers,
			struct error *err)
{
	double scale = pow(10, spec->decimal_scale), step = ldexp(1, spec->binary_scale);
	double least = INFINITY, most = -INFINITY;
	uint32_t largest = 0;
	size_t n = 0;

	numbers->points = (size_t)spec->grid.ni * spec->grid.nj;
	numbers->x = calloc(numbers->points + 1, sizeof(*numbers->x));
	if (!numbers->x)
		return error_memory(err);
	for (size_t i = 0; i < numbers->points; i++) {
		if (isnan(values[i]))
			continue;
		n++;
		least = fmin(least, values[i]);
		most = fmax(most, values[i]);
	}
	numbers->reference = n ? (float)(least * scale) : 0;
	if (n && (most * scale - numbers->reference) / step > 4e9)
		return error_set(err, ERR_ARGUMENT, "the values need more than 32 bits");
	for (size_t i = 0; i < numbers->points; i++) {
		double x;

		if (isnan(values[i]))
			continue;
		x = rint((values[i] * scale - numbers->reference) / step);
		numbers->x[numbers->n] = x > 0 ? (uint32_t)x : 0;
		if (numbers->x[numbers->n] > largest)
			largest = numbers->x[numbers->n];
		numbers->n++;
	}
	while (numbers->bits < 32 && largest >> numbers->bits)
		numbers->bits++;
	return n == numbers->points ? 0 : make_bitmap(values, numbers, err);
}

/* Octets 10 to 21 of section 5. */
static int append_scaling(const struct make_grib *spec, const struct numbers *numbers, int kind,
			  unsigned int bits, struct buf *out, struct error *err)
{
	uint32_t reference;
	int r = 0;

	memcpy(&reference, &numbers->reference, sizeof(reference));
	r = r ? r : make_be(out, (uint64_t)kind, 2, err);
	r = r ? r : make_be(out, reference, 4, err);
	r = r ? r : make_be(out, sign_magnitude(spec->binary_scale, 2), 2, err);
	r = r ? r : make_be(out, sign_magnitude(spec->decimal_scale, 2), 2, err);
	r = r ? r : make_be(out, bits, 1, err);
	return r ? r : make_be(out, 0, 1, err);
}

static int pack_simple(const struct numbers *numbers, struct buf *s7, struct error *err)
{
	struct make_bits bits = {.out = s7};
	int r;

	for (size_t i = 0; i < numbers->n; i++) {
		r = make_bits_put(&bits, numbers->x[i], numbers->bits, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static unsigned int width_of(uint32_t value)
{
	unsigned int width = 0;

	while (width < 32 && value >> width)
		width++;
	return width;
}

/* One list of group descriptors, begun at a whole octet. */
static int append_list(const uint32_t *items, size_t n, unsigned int width, struct buf *out,
		       struct error *err)
{
	struct make_bits bits = {.out = out};
	int r;

	for (size_t i = 0; i < n; i++) {
		r = make_bits_put(&bits, items[i], width, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Groups of equal lengths, their references and widths. */
struct groups {
	size_t n;
	uint32_t *reference, *width;
	unsigned int reference_bits, width_bits;
};

static void groups_done(struct groups *groups)
{
	free(groups->reference);
	free(groups->width);
}

static int make_groups(const uint32_t *x, size_t n, struct groups *g, struct error *err)
{
	g->n = (n + GROUP_LENGTH - 1) / GROUP_LENGTH;
	g->reference = calloc(g->n + 1, sizeof(*g->reference));
	g->width = calloc(g->n + 1, sizeof(*g->width));
	if (!g->reference || !g->width)
		return error_memory(err);
	for (size_t i = 0; i < g->n; i++) {
		uint32_t least = UINT32_MAX, most = 0;

		for (size_t j = i * GROUP_LENGTH; j < n && j < (i + 1) * GROUP_LENGTH; j++) {
			least = x[j] < least ? x[j] : least;
			most = x[j] > most ? x[j] : most;
		}
		g->reference[i] = least;
		g->width[i] = width_of(most - least);
		if (width_of(least) > g->reference_bits)
			g->reference_bits = width_of(least);
		if (width_of(g->width[i]) > g->width_bits)
			g->width_bits = width_of(g->width[i]);
	}
	return 0;
}

static int append_groups(const uint32_t *x, size_t n, const struct groups *g, struct buf *s7,
			 struct error *err)
{
	struct make_bits bits = {.out = s7};
	int r;

	r = append_list(g->reference, g->n, g->reference_bits, s7, err);
	if (r < 0)
		return r;
	r = append_list(g->width, g->n, g->width_bits, s7, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++) {
		size_t group = i / GROUP_LENGTH;

		r = make_bits_put(&bits, x[i] - g->reference[group], g->width[group], err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Octets 22 and on of template 5.2; lengths have 0 bits, all groups being GROUP_LENGTH long. */
static int append_group_header(const struct groups *g, size_t n, struct buf *s5, struct error *err)
{
	size_t last = n - (g->n - 1) * GROUP_LENGTH;
	int r = 0;

	r = r ? r : make_be(s5, 1, 1, err); /* general group splitting */
	r = r ? r : make_be(s5, 0, 1, err); /* no missing values */
	r = r ? r : make_be(s5, UINT64_MAX, 8, err);
	r = r ? r : make_be(s5, g->n, 4, err);
	r = r ? r : make_be(s5, 0, 1, err);
	r = r ? r : make_be(s5, g->width_bits, 1, err);
	r = r ? r : make_be(s5, GROUP_LENGTH, 4, err);
	r = r ? r : make_be(s5, 1, 1, err);
	r = r ? r : make_be(s5, last, 4, err);
	return r ? r : make_be(s5, 0, 1, err);
}

/* Replaces x by second differences less their minimum; @ret_extra: first two values, minimum. */
static void difference(uint32_t *x, size_t n, int64_t ret_extra[3])
{
	int64_t least = INT64_MAX;

	ret_extra[0] = x[0];
	ret_extra[1] = x[1];
	for (size_t i = n - 1; i >= 2; i--) {
		int64_t d = (int64_t)x[i] - 2 * (int64_t)x[i - 1] + x[i - 2];

		x[i] = (uint32_t)d;
		least = d < least ? d : least;
	}
	ret_extra[2] = least;
	for (size_t i = 2; i < n; i++)
		x[i] -= (uint32_t)least;
	x[0] = x[1] = 0;
}

static int pack_complex(const struct make_grib *spec, struct numbers *numbers, struct buf *s5,
			struct buf *s7, struct error *err)
{
	bool spatial = spec->packing == MAKE_SPATIAL && numbers->n >= 3 && numbers->bits < 29;
	CLEANUP(groups_done) struct groups groups = {0};
	int64_t extra[3];
	int r;

	if (spatial) {
		difference(numbers->x, numbers->n, extra);
		for (int i = 0; i < 3; i++) {
			r = make_be(s7, sign_magnitude(extra[i], 4), 4, err);
			if (r < 0)
				return r;
		}
	}
	r = make_groups(numbers->x, numbers->n, &groups, err);
	if (r < 0)
		return r;
	r = append_scaling(spec, numbers, spatial ? 3 : 2, groups.reference_bits, s5, err);
	if (r < 0)
		return r;
	r = append_group_header(&groups, numbers->n, s5, err);
	if (r < 0)
		return r;
	if (spatial) {
		r = make_be(s5, 2 << 8 | 4, 2, err);
		if (r < 0)
			return r;
	}
	return append_groups(numbers->x, numbers->n, &groups, s7, err);
}

static void write_png(png_structp png, png_bytep data, size_t size)
{
	if (buf_append(png_get_io_ptr(png), data, size, NULL) < 0)
		png_error(png, "out of memory");
}

static void flush_png(png_structp png)
{
	(void)png;
}

static void pixel_row(const uint32_t *x, uint32_t width, unsigned int depth, uint8_t *row)
{
	for (uint32_t i = 0; i < width; i++) {
		size_t bit = (size_t)i * depth;

		if (depth < 8)
			row[bit / 8] |= (uint8_t)(x[i] << (8 - depth - bit % 8));
		for (unsigned int k = 0; k < depth / 8; k++)
			row[bit / 8 + k] = (uint8_t)(x[i] >> (depth - 8 - 8 * k));
	}
}

int make_png(const uint32_t *x, uint32_t width, uint32_t height, unsigned int depth,
	     bool interlaced, struct buf *out, struct error *err)
{
	int colour = depth == 32   ? PNG_COLOR_TYPE_RGB_ALPHA
		     : depth == 24 ? PNG_COLOR_TYPE_RGB
				   : PNG_COLOR_TYPE_GRAY;
	size_t bytes = ((size_t)width * depth + 7) / 8;
	uint8_t *pixels = calloc(height + 1, bytes);
	uint8_t **rows = calloc(height + 1, sizeof(*rows));
	png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
	png_infop info = png ? png_create_info_struct(png) : NULL;
	int r = 0;

	if (!pixels || !rows || !info || setjmp(png_jmpbuf(png))) {
		r = error_memory(err);
	} else {
		for (uint32_t j = 0; j < height; j++) {
			rows[j] = pixels + j * bytes;
			pixel_row(x + (size_t)j * width, width, depth, rows[j]);
		}
		png_set_write_fn(png, out, write_png, flush_png);
		png_set_IHDR(png, info, width, height, depth > 16 ? 8 : (int)depth, colour,
			     interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
			     PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
		png_write_info(png, info);
		png_write_image(png, rows);
		png_write_end(png, info);
	}
	png_destroy_write_struct(&png, &info);
	free(rows);
	free(pixels);
	return r;
}

int make_ccsds(const uint32_t *x, size_t n, unsigned int bits, unsigned int flags,
	       unsigned int block, unsigned int interval, struct buf *out, struct error *err)
{
	size_t size = bits <= 8 ? 1 : bits <= 16 ? 2 : 4;
	CLEANUP(freep) uint8_t *bytes = calloc(n + 1, size);
	struct aec_stream stream = {
		.bits_per_sample = bits,
		.block_size = block,
		.rsi = interval,
		.flags = flags,
		.next_in = bytes,
		.avail_in = n * size,
	};
	uint8_t *room;
	int r;

	if (!bytes)
		return error_memory(err);
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < size; k++)
			bytes[i * size + k] = (uint8_t)(x[i] >> (8 * k));
	stream.avail_out = n * size * 2 + 1024;
	r = buf_extend(out, stream.avail_out, &room, err);
	if (r < 0)
		return r;
	stream.next_out = room;
	if (aec_buffer_encode(&stream) != AEC_OK)
		return error_set(err, ERR_ARGUMENT, "libaec cannot encode this");
	out->size -= stream.avail_out;
	return 0;
}

static int pack(const struct make_grib *spec, struct numbers *numbers, struct buf *s5,
		struct buf *s7, struct error *err)
{
	const unsigned int flags = AEC_DATA_PREPROCESS;
	unsigned int depth;
	int r;

	if (numbers->bits == 0 || numbers->n == 0)
		return append_scaling(spec, numbers, MAKE_SIMPLE, 0, s5, err);
	switch (spec->packing) {
	case MAKE_COMPLEX:
	case MAKE_SPATIAL:
		return pack_complex(spec, numbers, s5, s7, err);
	case MAKE_PNG:
		depth = numbers->bits <= 8 ? 8 : (numbers->bits + 7) / 8 * 8;
		r = append_scaling(spec, numbers, MAKE_PNG, depth, s5, err);
		if (r < 0)
			return r;
		/* One row where a bitmap leaves no rectangle. */
		if (numbers->n != numbers->points)
			return make_png(numbers->x, (uint32_t)numbers->n, 1, depth, false, s7, err);
		return make_png(numbers->x, spec->grid.ni, spec->grid.nj, depth, false, s7, err);
	case MAKE_CCSDS:
		r = append_scaling(spec, numbers, MAKE_CCSDS, numbers->bits, s5, err);
		r = r ? r : make_be(s5, flags | AEC_DATA_MSB, 1, err);
		r = r ? r : make_be(s5, CCSDS_BLOCK, 1, err);
		r = r ? r : make_be(s5, CCSDS_INTERVAL, 2, err);
		return r ? r
			 : make_ccsds(numbers->x, numbers->n, numbers->bits, flags, CCSDS_BLOCK,
				      CCSDS_INTERVAL, s7, err);
	case MAKE_SIMPLE:
		break;
	}
	r = append_scaling(spec, numbers, MAKE_SIMPLE, numbers->bits, s5, err);
	return r ? r : pack_simple(numbers, s7, err);
}

/* IBM's single precision, at most @value, so that no number becomes negative. */
static uint32_t ibm_bits(double value)
{
	double magnitude = fabs(value);
	int exponent = 64;

	if (magnitude == 0)
		return 0;
	for (; magnitude >= 1; magnitude /= 16)
		exponent++;
	for (; magnitude < 1.0 / 16; magnitude *= 16)
		exponent--;
	return (value < 0 ? UINT32_C(1) << 31 : 0) | (uint32_t)exponent << 24 |
	       (uint32_t)(magnitude * (1 << 24));
}

static int64_t thousandths(int32_t millionths)
{
	return millionths / 1000;
}

static void set_product_1(struct octets *o, const struct make_grib *spec, bool bitmap)
{
	set(o, 1, 3, 28);
	set(o, 4, 1, 2);
	set(o, 5, 1, 7);
	set(o, 6, 1, 83);
	set(o, 7, 1, 255);
	set(o, 8, 1, bitmap ? 0xc0 : 0x80);
	set(o, 9, 1, spec->number);
	set(o, 10, 1, spec->level.type);
	set(o, 11, 2, (uint64_t)spec->level.value);
	set(o, 13, 1, (uint64_t)((spec->year - 1) % 100 + 1));
	set(o, 14, 1, (uint64_t)spec->month);
	set(o, 15, 1, (uint64_t)spec->day);
	set(o, 16, 1, (uint64_t)spec->hour);
	set(o, 17, 1, (uint64_t)spec->minute);
	set(o, 18, 1, 1);
	set(o, 19, 1, (uint64_t)spec->lead_minutes / 60);
	set(o, 25, 1, (uint64_t)((spec->year - 1) / 100 + 1));
	set_signed(o, 27, 2, spec->decimal_scale);
}

static void set_grid_1(struct octets *o, const struct make_grid *grid)
{
	set(o, 1, 3, 32);
	set(o, 5, 1, 255);
	set(o, 6, 1, 0);
	set(o, 7, 2, grid->ni);
	set(o, 9, 2, grid->nj);
	set_signed(o, 11, 3, thousandths(grid->lat1));
	set_signed(o, 14, 3, thousandths(grid->lon1));
	set(o, 17, 1, 0x80);
	set(o, 24, 2, grid->di / 1000);
	set(o, 26, 2, grid->dj / 1000);
	set(o, 28, 1, grid->scan);
}

static int make_edition_1(const struct make_grib *spec, const struct numbers *numbers,
			  struct buf *out, struct error *err)
{
	CLEANUP(buf_done) struct buf packed = BUF_INIT(BUF_NO_LIMIT);
	struct octets o1 = {0}, o2 = {0}, o4 = {0}, o0 = {0}, o3 = {0};
	size_t start = out->size, bitmap = numbers->bitmap.size, spare;
	int r = 0;

	set_product_1(&o1, spec, bitmap > 0);
	set_grid_1(&o2, &spec->grid);
	set(&o3, 1, 3, 6 + bitmap + bitmap % 2);
	set(&o3, 4, 1, bitmap * 8 - numbers->points + bitmap % 2 * 8);
	r = pack_simple(numbers, &packed, err);
	if (r < 0)
		return r;
	spare = packed.size * 8 - numbers->n * numbers->bits;
	if ((11 + packed.size) % 2) {
		spare += 8;
		r = buf_append_byte(&packed, 0, err);
	}
	set(&o4, 1, 3, 11 + packed.size);
	set(&o4, 4, 1, spare & 15);
	set_signed(&o4, 5, 2, spec->binary_scale);
	set(&o4, 7, 4, ibm_bits(numbers->reference));
	set(&o4, 11, 1, numbers->bits);
	memcpy(o0.bytes, "GRIB", 4);
	set(&o0, 5, 3, 8 + 28 + 32 + (bitmap ? 6 + bitmap + bitmap % 2 : 0) + 11 + packed.size + 4);
	set(&o0, 8, 1, 1);
	r = r ? r : buf_append(out, o0.bytes, 8, err);
	r = r ? r : buf_append(out, o1.bytes, 28, err);
	r = r ? r : buf_append(out, o2.bytes, 32, err);
	if (bitmap) {
		r = r ? r : buf_append(out, o3.bytes, 6, err);
		r = r ? r : buf_append(out, numbers->bitmap.data, bitmap, err);
		r = r ? r : buf_append(out, "\0", bitmap % 2, err);
	}
	r = r ? r : buf_append(out, o4.bytes, 11, err);
	r = r ? r : buf_append(out, packed.data, packed.size, err);
	r = r ? r : buf_append_text(out, "7777", err);
	if (r == 0 && out->size - start > 0x7fffff)
		return error_set(err, ERR_ARGUMENT, "too large for edition 1");
	return r;
}

int make_grib_field(const struct make_grib *spec, const float *values, struct buf *out,
		    struct error *err)
{
	CLEANUP(numbers_done) struct numbers numbers = {.bitmap = BUF_INIT(BUF_NO_LIMIT)};
	CLEANUP(buf_done) struct buf s5 = BUF_INIT(BUF_NO_LIMIT), s7 = BUF_INIT(BUF_NO_LIMIT);
	int r;

	r = make_numbers(spec, values, &numbers, err);
	if (r < 0)
		return r;
	if (spec->edition == 1)
		return make_edition_1(spec, &numbers, out, err);
	r = pack(spec, &numbers, &s5, &s7, err);
	if (r < 0)
		return r;
	return make_grib_around(spec, (uint32_t)numbers.n, buf_slice(&s5),
				buf_slice(&numbers.bitmap), buf_slice(&s7), out, err);
}
