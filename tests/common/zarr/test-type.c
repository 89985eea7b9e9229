/* SPDX-License-Identifier: Apache-2.0 */
#include "zarr-test.h"

#include "zarr/type.h"

/*
 * Data type, fill value and the bytes of an element as the public zarr package 3.4.2 writes and
 * reads them; hexadecimal texts, octets and the infinities are examples of the specification.
 */
static struct fill_case {
	const char *name;
	const char *type;
	const char *fill;
	const char *bytes; /* NULL: an error */
} fill_cases[] = {
	{"bool", "\"bool\"", "true", "01"},
	{"bool, a number", "\"bool\"", "1", NULL},
	{"int8", "\"int8\"", "-128", "80"},
	{"int8, too small", "\"int8\"", "-129", NULL},
	{"int16", "\"int16\"", "-1", "ffff"},
	{"int64", "\"int64\"", "-5", "fbffffffffffffff"},
	{"int64, least", "\"int64\"", "-9223372036854775808", "0000000000000080"},
	{"uint8, too large", "\"uint8\"", "256", NULL},
	{"uint64, largest", "\"uint64\"", "18446744073709551615", "ffffffffffffffff"},
	{"uint64, negative", "\"uint64\"", "-1", NULL},
	{"float16", "\"float16\"", "1.099609375", "663c"},
	{"float16, largest", "\"float16\"", "65504.0", "ff7b"},
	{"float16, least", "\"float16\"", "5.960464477539063e-08", "0100"},
	{"float16, beyond", "\"float16\"", "1e9", "007c"},
	{"float16, not a number", "\"float16\"", "\"NaN\"", "007e"},
	{"float32, not a number", "\"float32\"", "\"NaN\"", "0000c07f"},
	{"float32, bits", "\"float32\"", "\"0x7fc00001\"", "0100c07f"},
	{"float32, too few bits", "\"float32\"", "\"0x7fc0\"", NULL},
	{"float32, no bits", "\"float32\"", "\"0xzfc00000\"", NULL},
	{"float32, minus infinity", "\"float32\"", "\"-Infinity\"", "000080ff"},
	{"float64", "\"float64\"", "0.1", "9a9999999999b93f"},
	{"float64, whole", "\"float64\"", "-999", "0000000000388fc0"},
	{"float64, Kelvin", "\"float64\"", "-273.15", "66666666661271c0"},
	{"float64, infinity", "\"float64\"", "\"Infinity\"", "000000000000f07f"},
	{"float64, not a number", "\"float64\"", "\"NaN\"", "000000000000f87f"},
	{"float64, bare word", "\"float64\"", "NaN", "000000000000f87f"},
	{"float64, text", "\"float64\"", "\"0.1\"", NULL},
	{"float64, null", "\"float64\"", "null", NULL},
	{"complex64", "\"complex64\"", "[1.0, 2.0]", "0000803f00000040"},
	{"complex128", "\"complex128\"", "[\"NaN\", 0]", "000000000000f87f0000000000000000"},
	{"complex64, one number", "\"complex64\"", "1.0", NULL},
	{"r24", "\"r24\"", "[1, 2, 255]", "0102ff"},
	{"r24, too few", "\"r24\"", "[1, 2]", NULL},
	{"r24, no octet", "\"r24\"", "[1, 2, 256]", NULL},
	{"raw_bytes", "{\"name\":\"raw_bytes\",\"configuration\":{\"length_bytes\":2}}", "\"AQI=\"",
	 "0102"},
	{"null_terminated_bytes",
	 "{\"name\":\"null_terminated_bytes\",\"configuration\":{\"length_bytes\":3}}", "\"YWI=\"",
	 "616200"},
	{"null_terminated_bytes, too long",
	 "{\"name\":\"null_terminated_bytes\",\"configuration\":{\"length_bytes\":1}}", "\"YWI=\"",
	 NULL},
	{"fixed_length_utf32",
	 "{\"name\":\"fixed_length_utf32\",\"configuration\":{\"length_bytes\":12}}", "\"ab\"",
	 "610000006200000000000000"},
	{"fixed_length_utf32, beyond ASCII",
	 "{\"name\":\"fixed_length_utf32\",\"configuration\":{\"length_bytes\":4}}",
	 "\"\\ud83c\\udf0d\"", "0df30100"},
	{"fixed_length_utf32, too long",
	 "{\"name\":\"fixed_length_utf32\",\"configuration\":{\"length_bytes\":4}}", "\"ab\"",
	 NULL},
	{"datetime64",
	 "{\"name\":\"numpy.datetime64\",\"configuration\":{\"unit\":\"s\",\"scale_factor\":1}}",
	 "-9223372036854775808", "0000000000000080"},
	{"timedelta64, NaT", "{\"name\":\"numpy.timedelta64\"}", "\"NaT\"", "0000000000000080"},
};

static void test_fill_parse(void **state)
{
	const struct fill_case *c = *state;
	struct error err = ERROR_INIT;
	struct json type_text, fill;
	struct zarr_type type;
	uint8_t bytes[32];
	int r;

	assert_ok(json_parse(slice_text(c->type), &type_text, &err), &err);
	assert_ok(json_parse(slice_text(c->fill), &fill, &err), &err);
	assert_ok(zarr_type_parse(&type_text, &type, &err), &err);
	r = zarr_fill_parse(&type, &fill, bytes, &err);
	if (!c->bytes) {
		assert_int_equal(r, ERR_FORMAT);
		assert_non_null(strstr(err.text, "fill_value"));
		return;
	}
	assert_ok(r, &err);
	assert_hex(slice_of(bytes, type.size), c->bytes);
}

static struct type_case {
	const char *name;
	const char *type;
	struct zarr_type want;
	int result;
} type_cases[] = {
	{"complex", "\"complex128\"", {ZARR_COMPLEX, 16, 8}, 0},
	{"raw bits", "\"r4096\"", {ZARR_RAW, 512, 1}, 0},
	{"raw bits that are no bytes", "\"r12\"", {0}, 0},
	{"raw bits beyond the ceiling", "\"r99999999999999999999\"", {0}, 0},
	{"text of no fixed size", "\"string\"", {0}, 0},
	{"unknown", "{\"name\":\"bfloat16\",\"configuration\":{}}", {0}, 0},
	{"unknown configuration",
	 "{\"name\":\"fixed_length_utf32\",\"configuration\":{\"length_bytes\":3}}",
	 {0},
	 0},
	{"no name", "{\"configuration\":{}}", {0}, ERR_FORMAT},
	{"a number", "7", {0}, ERR_FORMAT},
};

static void test_type_parse(void **state)
{
	const struct type_case *c = *state;
	struct zarr_type type = {0};
	struct error err = ERROR_INIT;
	struct json text;

	assert_ok(json_parse(slice_text(c->type), &text, &err), &err);
	assert_int_equal(zarr_type_parse(&text, &type, &err), c->result);
	assert_int_equal(type.kind, c->want.kind);
	assert_int_equal(type.size, c->want.size);
	assert_int_equal(type.unit, c->want.unit);
}

int main(void)
{
	int failed = RUN_CASES(test_fill_parse, fill_cases);

	return failed + RUN_CASES(test_type_parse, type_cases);
}
