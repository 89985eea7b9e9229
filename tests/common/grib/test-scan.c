/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Scanning: what files hold, in the words of NOAA's indexes, and what is wrong with them
 *
 * The texts are those that wgrib2 writes; the real ones of a file are compared whole.
 */

#include "test.h"

#include "files.h"
#include "grib/describe.h"
#include "grib/grib.h"
#include "harness/make-grib.h"

static struct make_grib base_spec(void)
{
	return (struct make_grib){
		.level = {.type = 103, .value = 2},
		.year = 2025,
		.month = 8,
		.day = 1,
		.grid = make_grid_global(4, 3),
		.packing = MAKE_SIMPLE,
	};
}

static int append_line(void *context, const struct grib_entry *entry, struct error *err)
{
	struct buf *out = context;

	if (entry->bad)
		return buf_printf(out, err, "bad:%llu:%s\n", (unsigned long long)entry->offset,
				  entry->bad);
	return grib_write_idx_line(entry, out, err);
}

static void scan(const struct buf *file, struct buf *out)
{
	struct slice bytes = buf_slice(file);
	struct grib_source source = grib_source_memory(&bytes);
	struct error err = ERROR_INIT;

	assert_ok(grib_scan(&source, append_line, out, &err), &err);
}

static void assert_scan(const struct buf *file, const char *want)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT(BUF_NO_LIMIT);

	scan(file, &text);
	assert_string_equal(buf_text(&text, NULL) ? (const char *)text.data : "", want);
}

static struct text_case {
	const char *name;
	struct make_grib spec;
	const char *want;
} texts[] = {
	{"an analysis", {.number = 0, .level = {.type = 1}}, "1:0:d=2025080100:TMP:surface:anl:\n"},
	{"a wind",
	 {.category = 2, .number = 2, .level = {.type = 103, .value = 10}, .lead_minutes = 360},
	 "1:0:d=2025080100:UGRD:10 m above ground:6 hour fcst:\n"},
	{"minutes",
	 {.level = {.type = 103, .value = 2}, .lead_minutes = 735},
	 "1:0:d=2025080100:TMP:2 m above ground:735 min fcst:\n"},
	{"hours of a day",
	 {.level = {.type = 100, .value = 50000}, .category = 3, .number = 5, .lead_minutes = 2880},
	 "1:0:d=2025080100:HGT:500 mb:48 hour fcst:\n"},
	{"a window of hours",
	 {.category = 1,
	  .number = 8,
	  .level = {.type = 1},
	  .lead_minutes = 420,
	  .has_window = true,
	  .window_minutes = 60,
	  .statistic = MAKE_ACCUMULATION},
	 "1:0:d=2025080100:APCP:surface:6-7 hour acc fcst:\n"},
	{"a window of a day",
	 {.category = 1,
	  .number = 8,
	  .level = {.type = 1},
	  .lead_minutes = 1440,
	  .has_window = true,
	  .window_minutes = 1440,
	  .statistic = MAKE_ACCUMULATION},
	 "1:0:d=2025080100:APCP:surface:0-1 day acc fcst:\n"},
	{"a window of minutes",
	 {.category = 4,
	  .number = 192,
	  .level = {.type = 1},
	  .lead_minutes = 735,
	  .has_window = true,
	  .window_minutes = 5,
	  .statistic = MAKE_AVERAGE},
	 "1:0:d=2025080100:DSWRF:surface:730-735 min ave fcst:\n"},
	{"a window of no length",
	 {.category = 2,
	  .number = 220,
	  .level = {.type = 108, .value = 10000},
	  .level2 = {.type = 108, .value = 100000},
	  .has_window = true,
	  .statistic = MAKE_MAXIMUM},
	 "1:0:d=2025080100:MAXUVV:100-1000 mb above ground:0-0 day max fcst:\n"},
	{"a window that starts before the reference time",
	 {.category = 13,
	  .number = 193,
	  .level = {.type = 104, .value = 1},
	  .lead_minutes = 960,
	  .has_window = true,
	  .window_minutes = 1380,
	  .statistic = MAKE_AVERAGE},
	 "1:0:d=2025080100:PMTF:1 sigma level:-7-16 hour ave fcst:\n"},
	{"soil",
	 {.discipline = 2,
	  .number = 2,
	  .level = {.type = 106, .scale = 1, .value = 0},
	  .level2 = {.type = 106, .scale = 1, .value = 1}},
	 "1:0:d=2025080100:TSOIL:0-0.1 m below ground:anl:\n"},
	{"two kinds of surfaces",
	 {.category = 6, .number = 1, .level = {.type = 1}, .level2 = {.type = 103, .value = 3000}},
	 "1:0:d=2025080100:TCDC:surface - 3000 m above ground:anl:\n"},
	{"an unknown parameter",
	 {.category = 16, .number = 201, .level = {.type = 10}},
	 "1:0:d=2025080100:var discipline=0 center=7 local_table=1 parmcat=16 parm=201:entire "
	 "atmosphere:anl:\n"},
	{"reference time with minutes",
	 {.level = {.type = 1}, .minute = 15},
	 "1:0:d=202508010015:TMP:surface:anl:\n"},
};

static void test_texts(void **state)
{
	const struct text_case *c = *state;
	CLEANUP(buf_done) struct buf file = BUF_INIT(10000);
	const float values[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
	struct make_grib spec = c->spec, base = base_spec();
	struct error err = ERROR_INIT;

	spec.year = base.year;
	spec.month = base.month;
	spec.day = base.day;
	spec.grid = base.grid;
	assert_ok(make_grib_field(&spec, values, &file, &err), &err);
	assert_scan(&file, c->want);
}

/* Octets 10 and on of section 4, and what is said of the product: code tables 4.91 and 4.233. */
static const struct product_case {
	const char *name;
	uint8_t kind, octets[64];
	const char *level, *time, *extra;
} products[] = {
	{"waves of some periods",
	 103,
	 {0,   3,   7,	 0, 0, 0, 0, 10, 0, 0,	 0,   0,   12,	2,   1,	 5,
	  255, 255, 255, 1, 0, 0, 0, 6,	 1, 255, 255, 255, 255, 255, 255},
	 "surface",
	 "6 hour fcst",
	 "wave_period >=10,<=12"},
	{"dust by its size",
	 44,
	 {20, 0, 0xf2, 0x31, 0, 7, 0, 0, 0, 25, 0,   0,	  0,   0,   0,	 2,  0,
	  0,  0, 0,    0,    1, 0, 0, 0, 3, 1,	255, 255, 255, 255, 255, 255},
	 "surface",
	 "3 hour fcst",
	 "aerosol=Dust Dry:aerosol_size <2.5e-06"},
	{"optical depth of all aerosols",
	 48,
	 {20, 102, 0xf2, 0x30, 0, 6, 0, 0, 0, 20, 0, 0, 0, 0, 0, 7,  9,	  0,   0,   2,	 33,  9,
	  0,  0,   2,	 53,   2, 0, 0, 0, 0, 0,  1, 0, 0, 0, 0, 10, 255, 255, 255, 255, 255, 255},
	 "entire atmosphere",
	 "anl",
	 "aerosol=Total Aerosol:aerosol_size <2e-05:aerosol_wavelength >=5.45e-07,<=5.65e-07"},
	{"another aerosol, no interval",
	 44,
	 {20, 0, 0xf3, 0x00, 255, 255, 0, 0, 0, 0, 255, 0,   0,	  0,   0,   2,	0,
	  0,  0, 0,    0,    1,	  0,   0, 0, 0, 1, 255, 255, 255, 255, 255, 255},
	 "surface",
	 "anl",
	 "aerosol=62208"},
};

static void test_products(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(products); i++) {
		const struct product_case *c = &products[i];
		uint8_t section[9 + sizeof(c->octets)] = {[4] = 4, [8] = c->kind};
		struct grib_headers headers = {.edition = 2,
					       .s4 = slice_of(section, sizeof(section))};
		struct grib_info info;

		memcpy(section + 9, c->octets, sizeof(c->octets));
		/* The second surface: none. */
		section[(c->kind == 48 ? 53 : c->kind == 44 ? 42 : 40) - 1] = 255;
		grib_describe(&headers, &info);
		assert_string_equal(info.level, c->level);
		assert_string_equal(info.time, c->time);
		assert_string_equal(info.extra, c->extra);
		/* However short the section is. */
		for (headers.s4.size = 0; headers.s4.size < sizeof(section); headers.s4.size++)
			grib_describe(&headers, &info);
	}
}

static void test_name_of_radar_composite(void **state)
{
	char name[40];

	(void)state;
	assert_true(grib_parameter_name(209, 10, 0, name, sizeof(name)));
	assert_string_equal(name, "MergedReflectivityQCComposite");
	assert_false(grib_parameter_name(209, 10, 250, name, sizeof(name)));
}

static void append_message(int number, struct buf *file)
{
	const float values[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
	struct make_grib spec = base_spec();
	struct error err = ERROR_INIT;

	spec.number = (uint8_t)number;
	assert_ok(make_grib_field(&spec, values, file, &err), &err);
}

static void test_padding_between_messages(void **state)
{
	CLEANUP(buf_done) struct buf file = BUF_INIT(10000);

	(void)state;
	append_message(0, &file);
	assert_int_equal(file.size, 185);
	buf_append(&file, "\0\0\0\0\0\0\0\0", 8, NULL);
	append_message(4, &file);
	assert_scan(&file, "1:0:d=2025080100:TMP:2 m above ground:anl:\n"
			   "2:193:d=2025080100:TMAX:2 m above ground:anl:\n");
}

static void test_bad_message_among_good_ones(void **state)
{
	CLEANUP(buf_done) struct buf file = BUF_INIT(10000);

	(void)state;
	append_message(0, &file);
	append_message(4, &file);
	append_message(5, &file);
	file.data[185 + 15] = 190; /* 5 bytes longer than it is */
	assert_scan(&file, "1:0:d=2025080100:TMP:2 m above ground:anl:\n"
			   "bad:185:a section has a wrong length at offset 366\n"
			   "2:370:d=2025080100:TMIN:2 m above ground:anl:\n");
}

static void test_cut_message(void **state)
{
	CLEANUP(buf_done) struct buf file = BUF_INIT(10000);

	(void)state;
	append_message(0, &file);
	append_message(4, &file);
	file.size -= 10;
	assert_scan(&file, "1:0:d=2025080100:TMP:2 m above ground:anl:\n"
			   "bad:185:its length in section 0 is wrong\n");
}

static void test_two_fields(void **state)
{
	CLEANUP(buf_done) struct buf one = BUF_INIT(1000), file = BUF_INIT(10000);
	size_t from = 16 + 21 + 72;

	(void)state;
	append_message(0, &one);
	buf_append(&file, one.data, one.size - 4, NULL);
	buf_append(&file, one.data + from, one.size - from, NULL);
	file.data[one.size - 4 + 10] = 6; /* octet 11 of the second section 4 */
	file.data[14] = (uint8_t)(file.size >> 8);
	file.data[15] = (uint8_t)file.size;
	assert_scan(&file, "1.1:0:d=2025080100:TMP:2 m above ground:anl:\n"
			   "1.2:0:d=2025080100:DPT:2 m above ground:anl:\n");
}

/* An hour 0 with no time range at all, and a forecast time in two's complement. */
static void test_odd_times(void **state)
{
	CLEANUP(buf_done) struct buf file = BUF_INIT(10000);
	const float values[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
	struct make_grib spec = base_spec();
	struct error err = ERROR_INIT;
	size_t s4 = 16 + 21 + 72;

	(void)state;
	spec.has_window = true;
	spec.lead_minutes = 60;
	spec.window_minutes = 60;
	assert_ok(make_grib_field(&spec, values, &file, &err), &err);
	file.data[s4 + 41] = 0;
	assert_scan(&file, "1:0:d=2025080100:TMP:2 m above ground:anl:\n");
	file.data[s4 + 41] = 1;
	memcpy(file.data + s4 + 18, "\xff\xff\xff\xf9", 4);
	file.data[s4 + 52] = 23;
	assert_scan(&file, "1:0:d=2025080100:TMP:2 m above ground:-7-16 hour ave fcst:\n");
}

static void test_every_cut(void **state)
{
	CLEANUP(buf_done) struct buf file = BUF_INIT(10000);

	(void)state;
	append_message(0, &file);
	append_message(1, &file);
	for (size_t size = 0; size <= file.size; size++) {
		CLEANUP(buf_done) struct buf text = BUF_INIT(BUF_NO_LIMIT);
		struct buf part = {.data = malloc(size ? size : 1), .size = size, .max = size};

		memcpy(part.data, file.data, size);
		scan(&part, &text);
		free(part.data);
	}
}

static void test_real_index(void **state)
{
	CLEANUP(buf_done) struct buf file = BUF_INIT(BUF_NO_LIMIT), want = BUF_INIT(BUF_NO_LIMIT);
	struct error err = ERROR_INIT;

	(void)state;
	if (!test_data("grib"))
		return;
	assert_ok(
		test_read_file(test_data("grib/gfswave.t18z.atlocn.0p16.f001.grib2"), &file, &err),
		&err);
	assert_ok(test_read_file(test_data("grib/gfswave.t18z.atlocn.0p16.f001.grib2.idx"), &want,
				 &err),
		  &err);
	assert_scan(&file, buf_text(&want, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_products),
		cmocka_unit_test(test_name_of_radar_composite),
		cmocka_unit_test(test_padding_between_messages),
		cmocka_unit_test(test_bad_message_among_good_ones),
		cmocka_unit_test(test_cut_message),
		cmocka_unit_test(test_two_fields),
		cmocka_unit_test(test_odd_times),
		cmocka_unit_test(test_every_cut),
		cmocka_unit_test(test_real_index),
	};
	int failed = RUN_CASES(test_texts, texts);

	return cmocka_run_group_tests(tests, NULL, NULL) || failed;
}
