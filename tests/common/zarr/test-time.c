/* SPDX-License-Identifier: Apache-2.0 */
#include "zarr-test.h"

#include <math.h>

#include "zarr/time.h"

#define LEAD "{\"units\":\"seconds\",\"dtype\":\"timedelta64[us]\"}"
#define SINCE_1970 "{\"units\":\"seconds since 1970-01-01\",\"calendar\":\"proleptic_gregorian\"}"

static const struct zarr_type int16 = {ZARR_INT, 2, 2};
static const struct zarr_type int64 = {ZARR_INT, 8, 8};
static const struct zarr_type uint8 = {ZARR_UINT, 1, 1};
static const struct zarr_type float32 = {ZARR_FLOAT, 4, 4};
static const struct zarr_type float64 = {ZARR_FLOAT, 8, 8};

/* Attributes as the published templates have them, and other spellings of CF; the epochs are those
 * of the Unix command date. */
static struct parse_case {
	const char *name;
	const char *attributes;
	int want;
	struct zarr_time time;
} parse_cases[] = {
	{"times", SINCE_1970, 0, {false, TIME_SECOND, 0}},
	{"durations", LEAD, 0, {true, TIME_SECOND, 0}},
	{"hours since",
	 "{\"units\":\"hours since 2018-07-13T12:00:00\"}",
	 0,
	 {false, TIME_HOUR, INT64_C(1531483200) * TIME_SECOND}},
	{"blank and zone",
	 "{\"units\":\"days since 1900-01-01 00:00:00Z\"}",
	 0,
	 {false, TIME_DAY, INT64_C(-2208988800) * TIME_SECOND}},
	{"singular",
	 "{\"units\":\"minute since 1970-01-01\",\"calendar\":\"standard\"}",
	 0,
	 {false, 60 * TIME_SECOND, 0}},
	{"unit alone", "{\"units\":\"seconds\"}", ZARR_NO_TIME, {0}},
	{"another unit", "{\"units\":\"K\"}", ZARR_NO_TIME, {0}},
	{"another unit since", "{\"units\":\"floods since 1970-01-01\"}", ZARR_NO_TIME, {0}},
	{"no unit", "{}", ZARR_NO_TIME, {0}},
	{"calendar",
	 "{\"units\":\"days since 1970-01-01\",\"calendar\":\"360_day\"}",
	 ERR_UNSUPPORTED,
	 {0}},
	{"no date", "{\"units\":\"days since 7d\"}", ERR_FORMAT, {0}},
	{"bad date", "{\"units\":\"days since 1970-13-01\"}", ERR_FORMAT, {0}},
};

static void test_parse(void **state)
{
	const struct parse_case *c = *state;
	struct zarr_time time = {0};
	struct error err = ERROR_INIT;
	struct json attributes;

	assert_ok(json_parse(slice_text(c->attributes), &attributes, &err), &err);
	assert_int_equal(zarr_time_parse(&attributes, &time, &err), c->want);
	assert_int_equal(time.is_duration, c->time.is_duration);
	assert_int_equal(time.unit, c->time.unit);
	assert_int_equal(time.epoch, c->time.epoch);
}

#define SINCE_2000                                                 \
	{                                                          \
		false, TIME_HOUR, INT64_C(946684800) * TIME_SECOND \
	}

/* Bytes and microseconds follow from the definition. */
static struct value_case {
	const char *name;
	const struct zarr_type *type;
	struct zarr_time time;
	const char *bytes;
	int64_t micros;
} value_cases[] = {
	{"seconds",
	 &int64,
	 {false, TIME_SECOND, 0},
	 "80d4f35d00000000",
	 INT64_C(1576260736) * 1000000},
	{"hours since 2000", &int16, SINCE_2000, "ffff", INT64_C(946681200) * 1000000},
	{"lead", &float64, {true, TIME_SECOND, 0}, "000000000020ac40", TIME_HOUR},
	{"half an hour", &float32, {true, TIME_HOUR, 0}, "0000003f", 1800 * TIME_SECOND},
	{"no time", &int64, {false, TIME_SECOND, 0}, "0000000000000080", ZARR_NAT},
	{"no lead", &float64, {true, TIME_SECOND, 0}, "000000000000f87f", ZARR_NAT},
	{"days", &uint8, {true, TIME_DAY, 0}, "ff", 255 * TIME_DAY},
};

static void test_values(void **state)
{
	CLEANUP(buf_done) struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
	const struct value_case *c = *state;
	struct error err = ERROR_INIT;
	uint8_t again[16] = {0};
	int64_t micros;

	/* As the second of two elements. */
	unhex(c->bytes, &bytes);
	unhex(c->bytes, &bytes);
	assert_ok(zarr_time_decode(&c->time, c->type, bytes.data, 1, &micros, &err), &err);
	assert_int_equal(micros, c->micros);
	assert_ok(zarr_time_encode(&c->time, c->type, micros, again, 1, &err), &err);
	assert_memory_equal(again + c->type->size, bytes.data, c->type->size);
}

static void test_out_of_range(void **state)
{
	const struct zarr_time hours = SINCE_2000;
	struct error err = ERROR_INIT;
	int64_t large = INT64_MAX / 1000;
	double far = 1e300;
	uint8_t bytes[8];
	int64_t micros;

	(void)state;
	assert_int_equal(zarr_time_decode(&hours, &int64, (uint8_t *)&large, 0, &micros, &err),
			 ERR_FORMAT);
	assert_int_equal(zarr_time_decode(&hours, &float64, (uint8_t *)&far, 0, &micros, &err),
			 ERR_FORMAT);
	assert_int_equal(zarr_time_encode(&hours, &int64, 1, bytes, 0, &err), ERR_ARGUMENT);
	assert_int_equal(zarr_time_encode(&hours, &int16, 0, bytes, 0, &err), ERR_ARGUMENT);
	assert_int_equal(zarr_time_encode(&hours, &uint8, 0, bytes, 0, &err), ERR_ARGUMENT);
}

static struct label_case {
	const char *name;
	int64_t micros;
	const char *time;
	const char *duration;
} label_cases[] = {
	{"whole hours", 6 * TIME_HOUR, "1970-01-01T06:00:00", "6h"},
	{"zero", 0, "1970-01-01T00:00:00", "0h"},
	{"minutes", 90 * 60 * TIME_SECOND, "1970-01-01T01:30:00", "90m"},
	{"seconds", 61 * TIME_SECOND, "1970-01-01T00:01:01", "61s"},
	{"fraction", 1500000, "1970-01-01T00:00:01.500000", "1500000us"},
	{"before", -TIME_HOUR, "1969-12-31T23:00:00", "-1h"},
	{"none", ZARR_NAT, "NaT", "NaT"},
};

static void test_labels(void **state)
{
	const struct label_case *c = *state;
	char text[TIME_TEXT_MAX];

	zarr_time_label(c->micros, text);
	assert_string_equal(text, c->time);
	zarr_duration_label(c->micros, text);
	assert_string_equal(text, c->duration);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_out_of_range),
	};
	int failed = RUN_CASES(test_parse, parse_cases);

	failed += RUN_CASES(test_values, value_cases);
	failed += RUN_CASES(test_labels, label_cases);
	return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
