/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/index.h"

#include "base/time.h"
#include "test.h"

/* Lines are real ones (NCEP's HRRR, GFS, GEFS, RAP, NBM and GEFS-Aerosol indexes) or shortened
 * from them; offsets are made up. */
static struct line_case {
	const char *name;
	const char *text;
	uint64_t file_size;
	const char *error; /* NULL: parses, and the last row is */
	uint64_t offset, length;
	const char *element, *level, *time, *extra;
	size_t n_rows;
	bool is_later_field;
} cases[] = {
	{"plain line", "1:0:d=2025080100:REFC:entire atmosphere:anl:\n", 10, NULL, 0, 10, "REFC",
	 "entire atmosphere", "anl", "", 1, false},
	{"no colon at the end", "1:0:d=2025080100:REFC:entire atmosphere:anl\n", 10, NULL, 0, 10,
	 "REFC", "entire atmosphere", "anl", "", 1, false},
	{"no line feed at the end", "1:0:d=2025080100:REFC:entire atmosphere:7 hour fcst", 10, NULL,
	 0, 10, "REFC", "entire atmosphere", "7 hour fcst", "", 1, false},
	{"carriage returns",
	 "1:0:d=2025080100:TMP:surface:anl:\r\n2:5:d=2025080100:TMP:2 m:anl:\r\n", 10, NULL, 5, 5,
	 "TMP", "2 m", "anl", "", 2, false},
	{"ensemble tag", "1:0:d=2025080100:VIS:surface:15 hour fcst:ENS=+1\n", 9, NULL, 0, 9, "VIS",
	 "surface", "15 hour fcst", "ENS=+1", 1, false},
	{"two extras",
	 "1:0:d=2025080100:PMTF:surface:anl:aerosol=Dust Dry:aerosol_size <2.5e-06:\n", 9, NULL, 0,
	 9, "PMTF", "surface", "anl", "aerosol=Dust Dry:aerosol_size <2.5e-06", 1, false},
	{"probability",
	 "1:0:d=2025080100:APCP:surface:0-6 hour acc fcst:prob >0.254:prob fcst 255/255\n", 9, NULL,
	 0, 9, "APCP", "surface", "0-6 hour acc fcst", "prob >0.254:prob fcst 255/255", 1, false},
	{"unnamed element",
	 "1:0:d=2025080100:var discipline=0 center=7 local_table=1 parmcat=16 "
	 "parm=201:surface:anl:\n",
	 9, NULL, 0, 9, "var discipline=0 center=7 local_table=1 parmcat=16 parm=201", "surface",
	 "anl", "", 1, false},
	{"level with punctuation", "1:0:d=2025080100:TMP:PV=2e-06 (Km^2/kg/s) surface:anl:\n", 9,
	 NULL, 0, 9, "TMP", "PV=2e-06 (Km^2/kg/s) surface", "anl", "", 1, false},
	{"window before the reference time",
	 "1:0:d=2025080100:DSWRF:surface:-2147483647--2147483624 hour ave fcst:\n", 9, NULL, 0, 9,
	 "DSWRF", "surface", "-2147483647--2147483624 hour ave fcst", "", 1, false},
	{"empty window", "1:0:d=2025080100:TMP:surface::\n", 9, NULL, 0, 9, "TMP", "surface", "",
	 "", 1, false},
	{"all digits of the time", "1:0:D=20250801001500:TMP:surface:735 min fcst:\n", 9, NULL, 0,
	 9, "TMP", "surface", "735 min fcst", "", 1, false},
	{"minutes in the time", "1:0:d=202508010015:TMP:surface:anl:\n", 9, NULL, 0, 9, "TMP",
	 "surface", "anl", "", 1, false},
	{"beyond 4 GiB",
	 "1:0:d=2025080100:TMP:surface:anl:\n2:6442450944:d=2025080100:UGRD:surface:anl:\n",
	 6442450954, NULL, 6442450944, 10, "UGRD", "surface", "anl", "", 2, false},
	{"second field of a message",
	 "1.1:0:d=2025080100:UGRD:surface:anl:\n1.2:0:d=2025080100:VGRD:surface:anl:\n", 30, NULL,
	 0, 30, "VGRD", "surface", "anl", "", 2, true},
	{"field before the last message",
	 "1.1:0:d=2025080100:UGRD:10 m:anl:\n1.2:0:d=2025080100:VGRD:10 m:anl:\n"
	 "2:20:d=2025080100:TMP:2 m:anl:\n",
	 30, NULL, 20, 10, "TMP", "2 m", "anl", "", 3, false},
	{"size unknown", "1:7:d=2025080100:TMP:surface:anl:\n", INDEX_SIZE_UNKNOWN, NULL, 7, 0,
	 "TMP", "surface", "anl", "", 1, false},

	{"empty", "", 10, "cannot parse 'x.idx': no line in it"},
	{"blank lines only", "\n\n", 10, "cannot parse 'x.idx': no line in it"},
	{"five fields", "1:0:d=2025080100:TMP:surface\n", 10,
	 "cannot parse 'x.idx': line 1: fewer than 6 fields"},
	{"cut in the level", "1:0:d=2025080100:TMP:surface:anl:\n2:5:d=2025080100:TMP:surf", 10,
	 "cannot parse 'x.idx': line 2: the last line is cut short"},
	{"cut in the time", "1:0:d=2025080100:TMP:surface:anl:\n2:5:d=2025080100:TMP:surface:7 hou",
	 10, "cannot parse 'x.idx': line 2: the last line is cut short"},
	{"number that is none", "x:0:d=2025080100:TMP:surface:anl:\n", 10,
	 "cannot parse 'x.idx': line 1: the message number is no number"},
	{"field number that is none", "1.:0:d=2025080100:TMP:surface:anl:\n", 10,
	 "cannot parse 'x.idx': line 1: the message number is no number"},
	{"negative offset", "1:-1:d=2025080100:TMP:surface:anl:\n", 10,
	 "cannot parse 'x.idx': line 1: the offset is no number"},
	{"offset beyond 64 bits", "1:18446744073709551616:d=2025080100:TMP:surface:anl:\n", 10,
	 "cannot parse 'x.idx': line 1: the offset is no number"},
	{"date that is none", "1:0:d=2025133100:TMP:surface:anl:\n", 10,
	 "cannot parse 'x.idx': line 1: the date is neither d=YYYYMMDDHH nor D=YYYYMMDDHHMMSS"},
	{"offsets fall",
	 "1:0:d=2025080100:TMP:surface:anl:\n2:90115:d=2025080100:TMP:2 m:anl:\n"
	 "3:90114:d=2025080100:TMP:10 m:anl:\n",
	 200000, "cannot parse 'x.idx': line 3: offset 90114 is below the previous line's"},
	{"last message beyond the file",
	 "1:0:d=2025080100:TMP:surface:anl:\n2:10:d=2025080100:TMP:2 m:anl:\n", 10,
	 "cannot parse 'x.idx': offset 10 lies beyond the file's 10 bytes"},
	{"file of no bytes", "1:0:d=2025080100:TMP:surface:anl:\n", 0,
	 "cannot parse 'x.idx': offset 0 lies beyond the file's 0 bytes"},
	{"cache of cfgrib", "\x80\x04\x95", 10,
	 "cannot parse 'x.idx': a cache of cfgrib, no index"},
};

static void assert_slice(struct slice slice, const char *text)
{
	assert_int_equal(slice.size, strlen(text));
	assert_memory_equal(slice.size ? slice.data : (const uint8_t *)"", text, slice.size);
}

static void test_parse(void **state)
{
	const struct line_case *c = *state;
	CLEANUP(index_rows_done) struct index_rows rows = {0};
	const struct index_run run = {0};
	struct index_facts facts;
	struct error err = ERROR_INIT;
	const struct index_row *row;
	int r = noaa_index_parse("x.idx", slice_text(c->text), c->file_size, &run, &rows, &facts,
				 &err);

	if (c->error) {
		assert_int_equal(r, ERR_FORMAT);
		assert_string_equal(err.text, c->error);
		return;
	}
	assert_ok(r, &err);
	assert_int_equal(rows.n, c->n_rows);
	row = &rows.items[rows.n - 1];
	assert_int_equal(row->offset, c->offset);
	assert_int_equal(row->length, c->length);
	assert_slice(row->element, c->element);
	assert_slice(row->level, c->level);
	assert_slice(row->time, c->time);
	assert_slice(row->extra, c->extra);
	assert_int_equal(row->is_later_field, c->is_later_field);
}

/* An index of another run has the right name and plausible offsets; only its dates differ. */
static void test_other_run(void **state)
{
	CLEANUP(index_rows_done) struct index_rows rows = {0};
	struct index_run run = {.has_reference_time = true};
	struct index_facts facts;
	struct error err = ERROR_INIT;

	(void)state;
	assert_ok(time_parse("2025-08-01T06:00Z", 0, &run.reference_time, &err), &err);
	assert_ok(noaa_index_parse("x.idx",
				   slice_text("1:0:d=2025080106:TMP:surface:anl:\n"
					      "2:5:d=2025080100:TMP:2 m:anl:\n"
					      "3:7:d=2025080100:TMP:10 m:anl:\n"),
				   10, &run, &rows, &facts, &err),
		  &err);
	assert_int_equal(facts.n_lines, 3);
	assert_int_equal(facts.n_other_run, 2);
	assert_string_equal(facts.other_run, "d=2025080100");
}

/* Line counts: data/README.md; 743 lines in f007 by wc -l. */
static void test_fixtures(void **state)
{
	static const struct {
		const char *path;
		size_t n;
	} files[] = {
		{"fixtures/noaa/hrrr.t00z.wrfsfcf00.grib2.idx", 170},
		{"fixtures/noaa/hrrr.t00z.wrfsfcf08.grib2.idx", 173},
		{"fixtures/noaa/gep01.t00z.pgrb2s.0p25.f015.idx", 38},
		{"fixtures/noaa/gec00.t00z.pgrb2b.0p50.f003.idx", 505},
		{"fixtures/noaa/gfs.t00z.pgrb2.0p25.f000.idx", 696},
		{"fixtures/noaa/gfs.t00z.pgrb2.0p25.f007.idx", 743},
	};
	struct error err = ERROR_INIT;

	(void)state;
	if (!test_data("."))
		test_skip("REFMT_TEST_DATA is not set");
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		CLEANUP(index_rows_done) struct index_rows rows = {0};
		static uint8_t bytes[1 << 20];
		struct index_run run = {.has_reference_time = true};
		struct index_facts facts;
		FILE *file = fopen(test_data(files[i].path), "rb");
		size_t size;

		assert_non_null(file);
		size = fread(bytes, 1, sizeof(bytes), file);
		fclose(file);
		assert_ok(time_parse("2025-08-01", 0, &run.reference_time, &err), &err);
		assert_ok(noaa_index_parse(files[i].path, slice_of(bytes, size), INDEX_SIZE_UNKNOWN,
					   &run, &rows, &facts, &err),
			  &err);
		assert_int_equal(rows.n, files[i].n);
		assert_int_equal(facts.n_other_run, 0);
		for (size_t k = 0; k + 1 < rows.n; k++)
			assert_int_equal(rows.items[k].offset + rows.items[k].length,
					 rows.items[k + 1].offset);
		assert_int_equal(rows.items[rows.n - 1].length, 0);
	}
}

int main(void)
{
	const struct CMUnitTest more[] = {
		cmocka_unit_test(test_other_run),
		cmocka_unit_test(test_fixtures),
	};
	int failed = RUN_CASES(test_parse, cases);

	return failed + cmocka_run_group_tests(more, NULL, NULL);
}
