/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What FM 92 and the codec say about each kind of message, on grids small enough to see
 *
 * Expected values follow from the numbers that the message is made of.
 */

#include "test.h"

#include <math.h>

#include "grib/grib.h"
#include "grib/message.h"
#include "harness/make-grib.h"

enum { N = 12 };

#define M NAN

/* Three rows of four, in the order of the message: 0 to 11. */
static const uint32_t counting[N] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};

static struct make_grib small_spec(uint8_t scan)
{
	struct make_grib spec = {
		.level = {.type = 1}, .year = 2026, .month = 1, .day = 1, .lead_minutes = 60};

	spec.grid = make_grid_global(4, 3);
	spec.grid.scan = scan;
	return spec;
}

/* Octets 10 to 21 of section 5. */
static void put_scaling(unsigned int template, float reference, int decimal, unsigned int bits,
			struct buf *s5)
{
	uint32_t raw;

	memcpy(&raw, &reference, sizeof(raw));
	make_be(s5, template, 2, NULL);
	make_be(s5, raw, 4, NULL);
	make_be(s5, 0, 2, NULL);
	make_be(s5, decimal < 0 ? 0x8000U | (unsigned int)-decimal : (unsigned int)decimal, 2,
		NULL);
	make_be(s5, bits, 1, NULL);
	make_be(s5, 0, 1, NULL);
}

/* @n numbers of 8 bits, simple packing, with a bitmap of two octets or none. */
static void make_simple(uint8_t scan, uint32_t n, const char *bitmap, struct buf *out)
{
	CLEANUP(buf_done) struct buf s5 = BUF_INIT(100), s7 = BUF_INIT(100);
	struct make_grib spec = small_spec(scan);
	struct error err = ERROR_INIT;

	put_scaling(0, 0, 0, 8, &s5);
	for (uint32_t i = 0; i < n; i++)
		make_be(&s7, i, 1, &err);
	assert_ok(make_grib_around(&spec, n, buf_slice(&s5), slice_of(bitmap, bitmap ? 2 : 0),
				   buf_slice(&s7), out, &err),
		  &err);
}

static void make_constant(unsigned int template, const char *bitmap, struct buf *out)
{
	CLEANUP(buf_done) struct buf s5 = BUF_INIT(100);
	struct make_grib spec = small_spec(0);
	struct error err = ERROR_INIT;

	put_scaling(template, 42, 2, 0, &s5);
	make_be(&s5, 0, 5, &err);
	assert_ok(make_grib_around(&spec, bitmap ? 4 : N, buf_slice(&s5),
				   slice_of(bitmap, bitmap ? 2 : 0), slice_of("", 0), out, &err),
		  &err);
}

static void make_png_of(unsigned int depth, struct buf *out)
{
	CLEANUP(buf_done) struct buf s5 = BUF_INIT(100), s7 = BUF_INIT(1000);
	struct make_grib spec = small_spec(0);
	struct error err = ERROR_INIT;
	uint32_t x[N];

	for (int i = 0; i < N; i++)
		x[i] = counting[i] & ((1U << depth) - 1);
	put_scaling(41, 0, 0, depth, &s5);
	assert_ok(make_png(x, 4, 3, depth, false, &s7, &err), &err);
	assert_ok(make_grib_around(&spec, N, buf_slice(&s5), slice_of("", 0), buf_slice(&s7), out,
				   &err),
		  &err);
}

static void make_ccsds_of(unsigned int bits, struct buf *out)
{
	CLEANUP(buf_done) struct buf s5 = BUF_INIT(100), s7 = BUF_INIT(10000);
	struct make_grib spec = small_spec(0);
	struct error err = ERROR_INIT;
	uint32_t x[N];

	for (int i = 0; i < N; i++)
		x[i] = bits > 24 ? (1U << 25) + counting[i] : counting[i] & ((1U << bits) - 1);
	put_scaling(42, 0, 0, bits, &s5);
	make_be(&s5, 8, 1, &err);
	make_be(&s5, 8, 1, &err);
	make_be(&s5, 16, 2, &err);
	assert_ok(make_ccsds(x, N, bits, 8, 8, 16, &s7, &err), &err);
	assert_ok(make_grib_around(&spec, N, buf_slice(&s5), slice_of("", 0), buf_slice(&s7), out,
				   &err),
		  &err);
}

/* One group whose references have no bits, as 5.2: the field still varies. */
static void make_empty_references(struct buf *out)
{
	CLEANUP(buf_done) struct buf s5 = BUF_INIT(100), s7 = BUF_INIT(100);
	struct make_grib spec = small_spec(0);
	struct error err = ERROR_INIT;

	put_scaling(2, 0, 0, 0, &s5);
	make_be(&s5, 1 << 8, 2, &err);
	make_be(&s5, UINT64_MAX, 8, &err);
	make_be(&s5, 1, 4, &err);
	make_be(&s5, 8, 1, &err); /* every group is 8 bits wide */
	make_be(&s5, 0, 1, &err);
	make_be(&s5, INT32_MAX, 4, &err); /* as NBM writes it for a single group */
	make_be(&s5, 1, 1, &err);
	make_be(&s5, N, 4, &err);
	make_be(&s5, 0, 1, &err);
	for (int i = 0; i < N; i++)
		make_be(&s7, counting[i], 1, &err);
	assert_ok(make_grib_around(&spec, N, buf_slice(&s5), slice_of("", 0), buf_slice(&s7), out,
				   &err),
		  &err);
}

static void make_ieee(struct buf *out)
{
	CLEANUP(buf_done) struct buf s7 = BUF_INIT(100);
	struct make_grib spec = small_spec(0);
	struct error err = ERROR_INIT;

	for (int i = 0; i < N; i++) {
		float value = (float)i;
		uint32_t raw;

		memcpy(&raw, &value, sizeof(raw));
		make_be(&s7, raw, 4, &err);
	}
	assert_ok(make_grib_around(&spec, N, slice_of("\0\4\1", 3), slice_of("", 0), buf_slice(&s7),
				   out, &err),
		  &err);
}

static void make_edition_1(bool constant, bool missing, struct buf *out)
{
	struct make_grib spec = small_spec(0);
	struct error err = ERROR_INIT;
	float values[N];

	spec.edition = 1;
	spec.decimal_scale = constant ? 1 : 0;
	for (int i = 0; i < N; i++) {
		values[i] = constant ? 3 : (float)i;
		if (missing && i % 2)
			values[i] = NAN;
	}
	assert_ok(make_grib_field(&spec, values, out, &err), &err);
}

/* U and V in one message: sections 4 to 7 twice. */
static void make_two_fields(struct buf *out)
{
	CLEANUP(buf_done) struct buf one = BUF_INIT(1000);
	struct error err = ERROR_INIT;
	size_t from = 16 + 21 + 72;

	make_simple(0, N, NULL, &one);
	buf_append(out, one.data, one.size - 4, &err);
	buf_append(out, one.data + from, one.size - from, &err);
	/* The second field's numbers are another's. */
	memset(out->data + out->size - 4 - N, 99, N);
	out->data[14] = (uint8_t)(out->size >> 8);
	out->data[15] = (uint8_t)out->size;
}

static void m_plain(struct buf *out)
{
	make_simple(0, N, NULL, out);
}
static void m_rows_up(struct buf *out)
{
	make_simple(0x40, N, NULL, out);
}
static void m_alternating(struct buf *out)
{
	make_simple(0x50, N, NULL, out);
}
static void m_columns(struct buf *out)
{
	make_simple(0x20, N, NULL, out);
}
static void m_columns_alternating(struct buf *out)
{
	make_simple(0x30, N, NULL, out);
}
static void m_negative(struct buf *out)
{
	make_simple(0x80, N, NULL, out);
}
static void m_bitmap(struct buf *out)
{
	make_simple(0, 4, "\xaa\x00", out);
}
static void m_bitmap_alternating(struct buf *out)
{
	make_simple(0x10, 4, "\x0f\x00", out);
}
static void m_too_many(struct buf *out)
{
	make_simple(0, N + 3, NULL, out);
}
static void m_too_few(struct buf *out)
{
	make_simple(0, N - 1, NULL, out);
}
static void m_too_few_for_bitmap(struct buf *out)
{
	make_simple(0, 3, "\xaa\x00", out);
}
static void m_constant(struct buf *out)
{
	make_constant(0, NULL, out);
}
static void m_constant_ccsds(struct buf *out)
{
	make_constant(42, NULL, out);
}
static void m_constant_jpeg(struct buf *out)
{
	make_constant(40, NULL, out);
}
static void m_constant_bitmap(struct buf *out)
{
	make_constant(0, "\xaa\x00", out);
}
static void m_png1(struct buf *out)
{
	make_png_of(1, out);
}
static void m_png2(struct buf *out)
{
	make_png_of(2, out);
}
static void m_png4(struct buf *out)
{
	make_png_of(4, out);
}
static void m_ccsds1(struct buf *out)
{
	make_ccsds_of(1, out);
}
static void m_ccsds3(struct buf *out)
{
	make_ccsds_of(3, out);
}
static void m_ccsds26(struct buf *out)
{
	make_ccsds_of(26, out);
}
static void m_first(struct buf *out)
{
	make_edition_1(false, false, out);
}
static void m_first_missing(struct buf *out)
{
	make_edition_1(false, true, out);
}
static void m_first_constant(struct buf *out)
{
	make_edition_1(true, true, out);
}

static void m_trailing(struct buf *out)
{
	m_plain(out);
	buf_append(out, "GRIBxxxxxxxxxxxxxxxxx", 20, NULL);
}

static void m_front(struct buf *out)
{
	buf_append_byte(out, 0, NULL);
	m_plain(out);
}

static void m_cut_end(struct buf *out)
{
	m_plain(out);
	out->size -= 3;
}

static void m_cut_at_section_7(struct buf *out)
{
	m_plain(out);
	out->size -= 4;
}

static void m_no_end(struct buf *out)
{
	m_plain(out);
	memcpy(out->data + out->size - 4, "8888", 4);
}

static void m_long(struct buf *out)
{
	m_plain(out);
	out->data[15]++;
}

static void m_short(struct buf *out)
{
	m_plain(out);
	out->data[15]--;
}

static void m_zero_section(struct buf *out)
{
	m_plain(out);
	memset(out->data + 16, 0, 4);
}

static void m_edition_3(struct buf *out)
{
	m_plain(out);
	out->data[7] = 3;
}

static void m_indicator_254(struct buf *out)
{
	m_plain(out);
	out->data[out->size - 4 - N - 5 - 1] = 254;
}

static void m_33_bits(struct buf *out)
{
	m_plain(out);
	out->data[16 + 21 + 72 + 34 + 19] = 33;
}

static void m_unknown_packing(struct buf *out)
{
	m_plain(out);
	out->data[16 + 21 + 72 + 34 + 9] = 99;
	out->data[16 + 21 + 72 + 34 + 10] = 99;
}

static void m_rotated_grid(struct buf *out)
{
	m_plain(out);
	out->data[16 + 21 + 13] = 1;
}

static void m_first_other_grid(struct buf *out)
{
	m_first(out);
	out->data[8 + 28 + 5] = 3;
}

static void m_first_no_grid(struct buf *out)
{
	m_first(out);
	out->data[8 + 7] = 0;
	memmove(out->data + 36, out->data + 68, out->size - 68);
	out->size -= 32;
	out->data[6] -= 32;
}

#define COUNTING                                     \
	{                                            \
		0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 \
	}

static struct rule_case {
	const char *name;
	void (*make)(struct buf *out);
	enum grib_mode mode;
	double want[N];
	bool north_up, adjust;
	int error; /* then @text is in the error */
	const char *text;
} cases[] = {
	{"plain", m_plain, GRIB_WMO, COUNTING},
	{"plain as gribberish", m_plain, GRIB_GRIBBERISH, COUNTING},
	{"rows from the south", m_rows_up, GRIB_WMO, COUNTING},
	{"rows from the south, north up",
	 m_rows_up,
	 GRIB_WMO,
	 {8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3},
	 .north_up = true},
	{"rows from the north, north up", m_plain, GRIB_WMO, COUNTING, .north_up = true},
	{"from 0 E, columns from 180 W",
	 m_plain,
	 GRIB_WMO,
	 {2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9},
	 .adjust = true},
	{"both flags",
	 m_rows_up,
	 GRIB_GRIBBERISH,
	 {10, 11, 8, 9, 6, 7, 4, 5, 2, 3, 0, 1},
	 .north_up = true,
	 .adjust = true},
	{"alternating rows", m_alternating, GRIB_WMO, {0, 1, 2, 3, 7, 6, 5, 4, 8, 9, 10, 11}},
	{"alternating rows as gribberish", m_alternating, GRIB_GRIBBERISH, COUNTING},
	{"alternating rows, both flags",
	 m_alternating,
	 GRIB_WMO,
	 {10, 11, 8, 9, 5, 4, 7, 6, 2, 3, 0, 1},
	 .north_up = true,
	 .adjust = true},
	{"columns", m_columns, GRIB_WMO, {0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11}},
	{"columns as gribberish", m_columns, GRIB_GRIBBERISH, COUNTING},
	{"columns from 180 W",
	 m_columns,
	 GRIB_WMO,
	 {6, 9, 0, 3, 7, 10, 1, 4, 8, 11, 2, 5},
	 .adjust = true},
	{"alternating columns",
	 m_columns_alternating,
	 GRIB_WMO,
	 {0, 5, 6, 11, 1, 4, 7, 10, 2, 3, 8, 9}},
	{"i negative", m_negative, GRIB_WMO, COUNTING},
	{"bitmap", m_bitmap, GRIB_WMO, {0, M, 1, M, 2, M, 3, M, M, M, M, M}},
	{"bitmap, alternating rows",
	 m_bitmap_alternating,
	 GRIB_WMO,
	 {M, M, M, M, 3, 2, 1, 0, M, M, M, M}},
	{"more values than points", m_too_many, GRIB_WMO, COUNTING},
	{"fewer values than points", m_too_few, GRIB_WMO, .error = ERR_FORMAT,
	 .text = "values end after 11 of 12 points"},
	{"fewer values than points as gribberish", m_too_few, GRIB_GRIBBERISH, .error = ERR_FORMAT,
	 .text = "values end after 11 of 12 points"},
	{"fewer values than bits", m_too_few_for_bitmap, GRIB_WMO, .error = ERR_FORMAT,
	 .text = "values end after 6 of 12 points"},
	{"fewer values than bits as gribberish", m_too_few_for_bitmap, GRIB_GRIBBERISH,
	 .error = ERR_FORMAT, .text = "values end"},
	{"constant",
	 m_constant,
	 GRIB_WMO,
	 {.42, .42, .42, .42, .42, .42, .42, .42, .42, .42, .42, .42}},
	{"constant CCSDS",
	 m_constant_ccsds,
	 GRIB_WMO,
	 {.42, .42, .42, .42, .42, .42, .42, .42, .42, .42, .42, .42}},
	{"constant JPEG",
	 m_constant_jpeg,
	 GRIB_WMO,
	 {.42, .42, .42, .42, .42, .42, .42, .42, .42, .42, .42, .42}},
	{"constant as gribberish",
	 m_constant,
	 GRIB_GRIBBERISH,
	 {42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42}},
	{"constant with a bitmap",
	 m_constant_bitmap,
	 GRIB_WMO,
	 {.42, M, .42, M, .42, M, .42, M, M, M, M, M}},
	{"constant with a bitmap as gribberish",
	 m_constant_bitmap,
	 GRIB_GRIBBERISH,
	 {42, M, 42, M, 42, M, 42, M, M, M, M, M}},
	{"group references of 0 bits", make_empty_references, GRIB_WMO, COUNTING},
	{"PNG of 1 bit", m_png1, GRIB_WMO, {0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1}},
	{"PNG of 2 bits", m_png2, GRIB_GRIBBERISH, {0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3}},
	{"PNG of 4 bits", m_png4, GRIB_WMO, COUNTING},
	{"CCSDS of 1 bit", m_ccsds1, GRIB_GRIBBERISH, {0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1}},
	{"CCSDS of 3 bits", m_ccsds3, GRIB_WMO, {0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3}},
	{"CCSDS of 26 bits",
	 m_ccsds26,
	 GRIB_WMO,
	 {33554432, 33554433, 33554434, 33554435, 33554436, 33554437, 33554438, 33554439, 33554440,
	  33554441, 33554442, 33554443}},
	/* The next float32 above 2^25 is 4 more; ties go to the even one. */
	{"CCSDS of 26 bits as gribberish",
	 m_ccsds26,
	 GRIB_GRIBBERISH,
	 {33554432, 33554432, 33554432, 33554436, 33554436, 33554436, 33554440, 33554440, 33554440,
	  33554440, 33554440, 33554444}},
	{"IEEE", make_ieee, GRIB_WMO, COUNTING},
	{"IEEE as gribberish", make_ieee, GRIB_GRIBBERISH, .error = ERR_FORMAT,
	 .text = "section 5 at offset 143 has 12 octets, at least 20 are needed"},
	{"edition 1", m_first, GRIB_WMO, COUNTING},
	{"edition 1 with a bitmap",
	 m_first_missing,
	 GRIB_GRIBBERISH,
	 {0, M, 2, M, 4, M, 6, M, 8, M, 10, M}},
	{"edition 1, constant with a bitmap",
	 m_first_constant,
	 GRIB_WMO,
	 {3, M, 3, M, 3, M, 3, M, 3, M, 3, M}},
	{"edition 1, constant with a bitmap as gribberish",
	 m_first_constant,
	 GRIB_GRIBBERISH,
	 {3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3}},
	{"edition 1 on another grid", m_first_other_grid, GRIB_WMO, COUNTING},
	{"edition 1 on another grid as gribberish", m_first_other_grid, GRIB_GRIBBERISH,
	 .error = ERR_UNSUPPORTED, .text = "grid type 3 of edition 1"},
	{"edition 1 without a grid", m_first_no_grid, GRIB_WMO, .error = ERR_UNSUPPORTED,
	 .text = "without a grid section"},
	{"two fields", make_two_fields, GRIB_WMO, COUNTING},
	{"two fields as gribberish", make_two_fields, GRIB_GRIBBERISH, COUNTING},
	{"bytes behind", m_trailing, GRIB_WMO, COUNTING},
	{"bytes in front", m_front, GRIB_GRIBBERISH, .error = ERR_FORMAT,
	 .text = "no GRIB message starts here"},
	{"cut in the end", m_cut_end, GRIB_WMO, .error = ERR_FORMAT, .text = "are there"},
	{"cut in the end as gribberish", m_cut_end, GRIB_GRIBBERISH, COUNTING},
	{"cut behind section 7 as gribberish", m_cut_at_section_7, GRIB_GRIBBERISH,
	 .error = ERR_FORMAT, .text = "without section 7"},
	{"no 7777", m_no_end, GRIB_WMO, .error = ERR_FORMAT, .text = "no 7777"},
	{"no 7777 as gribberish", m_no_end, GRIB_GRIBBERISH, COUNTING},
	{"length too long", m_long, GRIB_WMO, .error = ERR_FORMAT, .text = "section 0 says"},
	{"length too short", m_short, GRIB_WMO, .error = ERR_FORMAT, .text = "no 7777"},
	{"length too short as gribberish", m_short, GRIB_GRIBBERISH, COUNTING},
	{"section of length 0", m_zero_section, GRIB_WMO, .error = ERR_FORMAT,
	 .text = "at offset 16 has length 0"},
	{"section of length 0 as gribberish", m_zero_section, GRIB_GRIBBERISH, .error = ERR_FORMAT,
	 .text = "at offset 16 has length 0"},
	{"edition 3", m_edition_3, GRIB_WMO, .error = ERR_FORMAT, .text = "edition 3"},
	{"bitmap indicator 254", m_indicator_254, GRIB_WMO, .error = ERR_FORMAT,
	 .text = "bitmap indicator 254"},
	{"33 bits a value", m_33_bits, GRIB_WMO, .error = ERR_FORMAT, .text = "33 bits a value"},
	{"unknown packing as gribberish", m_unknown_packing, GRIB_GRIBBERISH,
	 .error = ERR_UNSUPPORTED, .text = "packing 5.25443"},
	{"unknown packing", m_unknown_packing, GRIB_WMO, .error = ERR_UNSUPPORTED,
	 .text = "packing 5.25443"},
	{"rotated grid without flags", m_rotated_grid, GRIB_WMO, COUNTING},
	{"rotated grid with a flag", m_rotated_grid, GRIB_WMO, .north_up = true,
	 .error = ERR_UNSUPPORTED, .text = "grid 3.1 has no known orientation"},
};

static void test_rules(void **state)
{
	const struct rule_case *c = *state;
	CLEANUP(buf_done) struct buf message = BUF_INIT(10000);
	struct grib_decode_options options = {
		.mode = c->mode, .north_up = c->north_up, .adjust_longitude_range = c->adjust};
	struct error err = ERROR_INIT;
	double values[N];
	int r;

	c->make(&message);
	r = grib_decode(buf_slice(&message), &options, values, N, &err);
	if (c->error) {
		if (r != c->error || !strstr(err.text, c->text))
			fail_msg("result %d, error: %s", r, err.text);
		return;
	}
	assert_ok(r, &err);
	for (int i = 0; i < N; i++)
		if (memcmp(&values[i], &c->want[i], sizeof(values[i])) != 0)
			fail_msg("value %d is %.17g, not %.17g", i, values[i], c->want[i]);
}

static uint8_t *find_section(const struct buf *message, int number)
{
	size_t at = 16;

	while (message->data[at + 4] != number)
		at += be32(message->data + at);
	return message->data + at;
}

/*
 * Scaling that gives infinities or no numbers (octets 12 to 19 of section 5): NaN would look like a
 * missing point.
 */
static void test_scaling_beyond_numbers(void **state)
{
	static const struct {
		const char *scaling;
		const char *message;
	} rows[] = {
		{"\x7f\xff\xad\x59\0\0\0\0", "the reference value is no number"},
		{"\x7f\x80\0\0\0\0\0\0", "the reference value is no number"},
		{"\x40\0\0\0\x67\xec\0\0", "scale factors beyond all values"},
		{"\x40\0\0\0\0\0\x67\xec", "scale factors beyond all values"},
		{"\x40\0\0\0\0\0\x80\x00", NULL},
		{"\x40\0\0\0\0\0\xff\xff", "scale factors beyond all values"},
	};

	(void)state;
	for (size_t bits = 0; bits <= 8; bits += 8)
		for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
			CLEANUP(buf_done) struct buf message = BUF_INIT(10000);
			struct grib_decode_options options = {.mode = GRIB_WMO};
			struct error err = ERROR_INIT;
			double values[N];
			uint8_t *s5;
			int r;

			make_simple(0, N, NULL, &message);
			s5 = find_section(&message, 5);
			memcpy(s5 + 11, rows[i].scaling, 8);
			s5[19] = (uint8_t)bits;
			r = grib_decode_direct(buf_slice(&message), &options, values, N, &err);
			/* The binary scale factor of a constant says nothing. */
			if (!rows[i].message || (bits == 0 && i == 2)) {
				assert_ok(r, &err);
				continue;
			}
			assert_int_equal(r, ERR_FORMAT);
			assert_non_null(strstr(err.text, "section 5 at offset "));
			assert_non_null(strstr(err.text, rows[i].message));
		}
}

/* Heights reach 9999, which ecCodes has for missing by default: only the bitmap says missing. */
static void test_9999_is_a_value(void **state)
{
	static int (*const ways[])(struct slice message, const struct grib_decode_options *options,
				   void *out, size_t n,
				   struct error *err) = {grib_decode_direct, grib_decode_general};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ways); i++)
		for (int masked = 0; masked < 2; masked++) {
			CLEANUP(buf_done) struct buf message = BUF_INIT(10000);
			const struct grib_decode_options options = {.mode = GRIB_WMO};
			struct error err = ERROR_INIT;
			double values[N];

			make_simple(0, masked ? 4 : N, masked ? "\xaa\x00" : NULL, &message);
			/* The reference value 9998, so that the second number is 9999. */
			memcpy(find_section(&message, 5) + 11, "\x46\x1c\x38\0", 4);
			assert_ok(ways[i](buf_slice(&message), &options, values, N, &err), &err);
			assert_true(values[0] == 9998);
			assert_true(values[masked ? 2 : 1] == 9999);
			assert_true(values[masked ? 6 : 3] == 10001);
			assert_int_equal(isnan(values[masked ? 1 : 5]), masked);
		}
}

/* Every prefix and every changed octet: an error or values, never more. */
static void test_damage(void **state)
{
	static void (*const makers[])(struct buf * out) = {
		m_bitmap,	 m_columns_alternating, m_png4, m_ccsds3, make_empty_references,
		m_first_missing, make_two_fields,
	};
	static const uint8_t changes[] = {0x00, 0xff, 0x80, 0x01};

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(makers); k++) {
		CLEANUP(buf_done) struct buf message = BUF_INIT(10000);

		makers[k](&message);
		for (size_t i = 0; i < message.size; i++)
			for (size_t j = 0; j < 2 * ARRAY_LEN(changes); j++) {
				struct grib_decode_options options = {
					.mode = j % 2 ? GRIB_WMO : GRIB_GRIBBERISH,
					.north_up = j % 3 == 0,
					.adjust_longitude_range = j % 3 == 1,
				};
				uint8_t *copy = malloc(message.size);
				uint64_t n;
				double values[N];

				/* Of its exact size, so that a sanitizer sees the first byte too
				 * far. */
				memcpy(copy, message.data, message.size);
				copy[i] ^= changes[j / 2];
				if (grib_value_count(slice_of(copy, message.size), &options, &n,
						     NULL) == 0 &&
				    n == N)
					grib_decode_direct(slice_of(copy, message.size), &options,
							   values, N, NULL);
				grib_decode_direct(slice_of(copy, i), &options, values, N, NULL);
				free(copy);
			}
	}
}

/* A message that says a billion points is refused for what the caller expects. */
static void test_a_billion_points(void **state)
{
	CLEANUP(buf_done) struct buf message = BUF_INIT(10000);
	struct grib_decode_options options = {.mode = GRIB_WMO};
	struct error err = ERROR_INIT;
	double values[N];

	(void)state;
	make_constant(0, NULL, &message);
	memcpy(message.data + 16 + 21 + 6, "\x3b\x9a\xca\x00", 4);
	assert_int_equal(grib_decode(buf_slice(&message), &options, values, N, &err), ERR_FORMAT);
	assert_string_equal(err.text, "the message has 1000000000 values, not 12");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scaling_beyond_numbers),
		cmocka_unit_test(test_9999_is_a_value),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_a_billion_points),
	};
	int failed = RUN_CASES(test_rules, cases);

	return cmocka_run_group_tests(tests, NULL, NULL) || failed;
}
