/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdlib.h>

#include <png.h>

#include "base/cleanup.h"
#include "grib/decoders.h"

/*
 * PNG packing: the octets of a pixel, most significant first, are the number
 *
 * Rows are inflated one at a time, except for interlaced images, whose rows come in passes.
 */

struct image {
	png_structp png;
	png_infop info;
	struct slice rest; /* of the file */
	const struct grib_message *message;
	struct error *err;
	uint8_t *pixels; /* one row, or all of an interlaced image */
	uint8_t **rows;
	uint32_t width, height;
	unsigned int depth;  /* bits of a channel */
	unsigned int octets; /* of a pixel, 0 for less than one */
	bool interlaced;
};

static void image_done(struct image *image)
{
	png_destroy_read_struct(&image->png, &image->info, NULL);
	free(image->pixels);
	free(image->rows);
}

static __attribute__((noreturn)) void on_error(png_structp png, png_const_charp text)
{
	struct image *image = png_get_error_ptr(png);

	error_set(image->err, ERR_FORMAT, "section 7 at offset %zu: PNG image: %s",
		  grib_section_offset(image->message, 7), text);
	png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp text)
{
	(void)png;
	(void)text;
}

static void on_read(png_structp png, png_bytep out, size_t n)
{
	struct image *image = png_get_io_ptr(png);

	if (n > image->rest.size)
		png_error(png, "cut short");
	memcpy(out, image->rest.data, n);
	image->rest = slice_sub(image->rest, n, SIZE_MAX);
}

static int refuse(const struct image *image, const char *what)
{
	return error_set(image->err, ERR_FORMAT, "section 7 at offset %zu: PNG image %s",
			 grib_section_offset(image->message, 7), what);
}

/* Octets of a pixel by colour type; an alpha channel is read as any other. */
static int check_form(struct image *image, png_byte colour)
{
	switch (colour) {
	case PNG_COLOR_TYPE_GRAY:
		image->octets = image->depth / 8;
		return 0;
	case PNG_COLOR_TYPE_RGB:
		image->octets = 3;
		break;
	case PNG_COLOR_TYPE_RGB_ALPHA:
		image->octets = 4;
		break;
	default:
		return refuse(image, "of a colour type that holds no numbers");
	}
	return image->depth == 8 ? 0 : refuse(image, "with channels of 16 bits");
}

/* Compares the image with what section 5 and the grid lead to expect; nothing is allocated before.
 */
static int check_size(struct image *image)
{
	uint64_t pixels = (uint64_t)image->width * image->height;
	const struct grib_message *m = image->message;

	if (pixels >= m->n_values && pixels <= m->n_points + m->n_values)
		return 0;
	return error_set(image->err, ERR_FORMAT,
			 "section 7 at offset %zu: PNG image of %" PRIu64 " pixels for %" PRIu64
			 " values",
			 grib_section_offset(m, 7), pixels, m->n_values);
}

static int allocate(struct image *image)
{
	size_t row = png_get_rowbytes(image->png, image->info);
	size_t n = image->interlaced ? image->height : 1;

	image->pixels = calloc(n, row);
	image->rows = calloc(n, sizeof(*image->rows));
	if (!image->pixels || !image->rows)
		return error_memory(image->err);
	for (size_t i = 0; i < n; i++)
		image->rows[i] = image->pixels + i * row;
	return 0;
}

/* @n pixels from the @from-th of a row on. */
static void pixels_to_numbers(const struct image *image, const uint8_t *row, size_t from, size_t n,
			      uint32_t *x)
{
	switch (image->octets) {
	case 0:
		for (size_t i = 0; i < n; i++) {
			size_t bit = (from + i) * image->depth;

			x[i] = row[bit / 8] >> (8 - image->depth - bit % 8) &
			       ((1U << image->depth) - 1);
		}
		break;
	case 1:
		for (size_t i = 0; i < n; i++)
			x[i] = row[from + i];
		break;
	case 2:
		for (size_t i = 0; i < n; i++)
			x[i] = be16(row + 2 * (from + i));
		break;
	case 3:
		for (size_t i = 0; i < n; i++)
			x[i] = be24(row + 3 * (from + i));
		break;
	default:
		for (size_t i = 0; i < n; i++)
			x[i] = be32(row + 4 * (from + i));
	}
}

static void put_row(const struct image *image, const uint8_t *row, struct grib_sink *sink)
{
	uint32_t x[GRIB_BLOCK_ROOM];

	for (size_t from = 0; from < image->width; from += GRIB_BLOCK) {
		size_t left = image->width - from;
		size_t n = left < GRIB_BLOCK ? left : GRIB_BLOCK;

		pixels_to_numbers(image, row, from, n, x);
		grib_sink_put(sink, x, n);
	}
}

static int open_image(struct image *image)
{
	image->png = png_create_read_struct(PNG_LIBPNG_VER_STRING, image, on_error, on_warning);
	if (!image->png)
		return error_memory(image->err);
	image->info = png_create_info_struct(image->png);
	if (!image->info)
		return error_memory(image->err);
	if (setjmp(png_jmpbuf(image->png)))
		return ERR_FORMAT;
	png_set_read_fn(image->png, image, on_read);
	/* The chunks have checksums of their own; a second one over all pixels costs a tenth. */
	png_set_option(image->png, PNG_IGNORE_ADLER32, PNG_OPTION_ON);
	/* Nothing but the image itself is of use; other chunks could cost memory. */
	png_set_keep_unknown_chunks(image->png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
	png_read_info(image->png, image->info);
	image->width = png_get_image_width(image->png, image->info);
	image->height = png_get_image_height(image->png, image->info);
	image->depth = png_get_bit_depth(image->png, image->info);
	image->interlaced = png_get_interlace_type(image->png, image->info) != PNG_INTERLACE_NONE;
	return check_form(image, png_get_color_type(image->png, image->info));
}

static int read_image(struct image *image, struct grib_sink *sink)
{
	if (setjmp(png_jmpbuf(image->png)))
		return ERR_FORMAT;
	if (image->interlaced) {
		png_read_image(image->png, image->rows);
		for (uint32_t j = 0; j < image->height && !grib_sink_full(sink); j++)
			put_row(image, image->rows[j], sink);
		return 0;
	}
	for (uint32_t j = 0; j < image->height && !grib_sink_full(sink); j++) {
		png_read_row(image->png, image->rows[0], NULL);
		put_row(image, image->rows[0], sink);
	}
	return 0;
}

int grib_check_png(const struct grib_message *m, struct error *err)
{
	CLEANUP(image_done)
	struct image image = {
		.rest = slice_sub(m->section[7], 5, SIZE_MAX), .message = m, .err = err};
	unsigned int bits = *OCTET(m->section[5], 20);
	int r;

	r = open_image(&image);
	if (r < 0)
		return r;
	/* What eccodes asserts: whole octets a pixel, as many as section 5 says. */
	if (image.octets == 0 || image.octets * 8 != bits)
		return error_set(err, ERR_FORMAT,
				 "section 7 at offset %zu: PNG image of %u bits a pixel, section 5 "
				 "says %u",
				 grib_section_offset(m, 7),
				 image.octets ? image.octets * 8 : image.depth, bits);
	return check_size(&image);
}

int grib_decode_png(const struct grib_message *m, enum grib_mode mode, struct grib_sink *sink,
		    struct error *err)
{
	CLEANUP(image_done)
	struct image image = {
		.rest = slice_sub(m->section[7], 5, SIZE_MAX), .message = m, .err = err};
	int r;

	(void)mode;
	r = grib_scaling_parse(m, &sink->scaling, err);
	if (r < 0)
		return r;
	r = open_image(&image);
	if (r < 0)
		return r;
	r = check_size(&image);
	if (r < 0)
		return r;
	r = allocate(&image);
	if (r < 0)
		return r;
	sink->element = image.octets == 4 ? GRIB_UINT32 : GRIB_INT32;
	return read_image(&image, sink);
}
