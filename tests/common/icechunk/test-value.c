/* SPDX-License-Identifier: Apache-2.0 */
#include "icechunk/value.h"

#include "base/text.h"
#include "files.h"
#include "test.h"

static struct buf from_hex(const char *hex)
{
	struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
	struct error err = ERROR_INIT;
	unsigned int byte;
	int n;

	for (; sscanf(hex, " %2x%n", &byte, &n) == 1; hex += n)
		assert_ok(buf_append_byte(&bytes, (uint8_t)byte, &err), &err);
	return bytes;
}

static void assert_hex(const struct buf *got, const char *want)
{
	CLEANUP(buf_done) struct buf bytes = from_hex(want);

	assert_int_equal(got->size, bytes.size);
	assert_memory_equal(got->data, bytes.data, bytes.size);
}

static struct json parse(const char *text)
{
	struct error err = ERROR_INIT;
	struct json value;

	assert_ok(json_parse(slice_text(text), &value, &err), &err);
	return value;
}

/*
 * Both encodings of the first two rows are in the Icechunk formats (section 5.4).  The others were
 * made by the Python packages flatbuffers 25.12 (flexbuffers.Builder) and msgpack 1.2, or written
 * by hand from the two specifications where @reads_only.
 */
static struct value_case {
	const char *name;
	const char *json;
	const char *flex;
	const char *msgpack;
	bool reads_only; /* our writers choose another encoding */
} cases[] = {
	{"true", "true", "01 68 01", "c3", false},
	{"root mark", "{\"is_root\":true}", "69735f726f6f7400 0109 010101 01 68 022401",
	 "81a769735f726f6f74c3", false},
	{"null", "null", "00 00 01", "c0", false},
	{"byte", "255", "ff 08 01", "ccff", false},
	{"two bytes", "256", "0001 09 02", "cd0100", false},
	{"largest", "18446744073709551615", "ffffffffffffffff 0b 08", "cfffffffffffffffff", false},
	{"smallest", "-9223372036854775808", "0000000000000080 07 08", "d38000000000000000", false},
	{"minus one", "-1", "ff 04 01", "ff", false},
	{"minus 33", "-33", "df 04 01", "d0df", false},
	{"minus 32768", "-32768", "0080 05 02", "d18000", false},
	{"minus 32769", "-32769", "ff7fffff 06 04", "d2ffff7fff", false},
	{"half", "0.5", "0000003f 0e 04", "cb3fe0000000000000", false},
	{"tenth", "0.1", "9a9999999999b93f 0f 08", "cb3fb999999999999a", false},
	{"text", "\"hi\"", "02 686900 03 14 01", "a26869", false},
	{"three integers", "[1,2,3]", "010203 03 50 01", NULL, false},
	{"five integers", "[1,2,3,4,5]", "05 0102030405 05 30 01", "950102030405", false},
	{"empty list", "[]", "00 00 28 01", "90", false},
	{"map of a map and a text", "{\"a\":{\"b\":1},\"c\":\"x\"}",
	 "610062000103010101010863000178000211070201020d092414042401", NULL, true},
	{"mixed list", "[1,\"a\"]", "01 6100 02 01 04 08 14 04 28 01", "9201a161", false},
	{"float of 4 bytes", "0.5", NULL, "ca3f000000", true},
	{"long text", "\"abc\"", NULL, "d903616263", true},
	{"longer map", "{\"a\":1}", NULL, "de0001a16101", true},
	{"longest list", "[1]", NULL, "dd0000000101", true},
	{"indirect integer", "-2", "fe 01 18 01", NULL, true},
	{"indirect float", "0.5", "0000003f 04 22 01", NULL, true},
	{"blob", "[1,255]", "02 01ff 02 64 01", NULL, true},
	{"two floats", "[0.5,0.5]", "0000003f 0000003f 08 4a 01", NULL, true},
	{"bools", "[true,false]", "02 0100 02 90 01", NULL, false},
	{"strings", "[\"a\"]", "01 6100 01 03 01 3c 01", NULL, true},
};

static void test_read(void **state)
{
	const struct value_case *c = *state;
	CLEANUP(buf_done) struct buf out = BUF_INIT(1 << 20);
	struct error err = ERROR_INIT;

	if (c->flex) {
		CLEANUP(buf_done) struct buf flex = from_hex(c->flex);

		assert_ok(flex_to_json(buf_slice(&flex), &out, &err), &err);
		assert_true(slice_is(buf_slice(&out), c->json));
	}
	if (c->msgpack) {
		CLEANUP(buf_done) struct buf msgpack = from_hex(c->msgpack);

		buf_clear(&out);
		assert_ok(msgpack_to_json(buf_slice(&msgpack), &out, &err), &err);
		assert_true(slice_is(buf_slice(&out), c->json));
	}
}

static void test_write(void **state)
{
	const struct value_case *c = *state;
	CLEANUP(buf_done) struct buf out = BUF_INIT(1 << 20);
	struct json value = parse(c->json);
	struct error err = ERROR_INIT;

	if (c->flex && !c->reads_only) {
		assert_ok(json_to_flex(&value, &out, &err), &err);
		assert_hex(&out, c->flex);
	}
	if (c->msgpack && !c->reads_only) {
		buf_clear(&out);
		assert_ok(json_to_msgpack(&value, &out, &err), &err);
		assert_hex(&out, c->msgpack);
	}
}

/* Texts that both encodings must carry unchanged. */
static struct round_case {
	const char *name;
	const char *json;
} rounds[] = {
	{"nested", "{\"a\":{\"b\":[1,[2.5,null],{\"c\":\"d\"}],\"e\":true},\"f\":-7}"},
	{"wide integers", "[1,300,70000,5000000000,9223372036854775807]"},
	{"wide negatives", "[-1,-300,-70000,-5000000000]"},
	{"floats", "[0.1,1e+300,-273.15,5e-324]"},
	{"unicode", "{\"\xc3\xa9\":\"\xf0\x9f\xa7\x8a\"}"},
	{"empty ones", "{\"\":{},\"a\":[],\"b\":\"\"}"},
	{"list of lists", "[[1],[1,2],[1,2,3],[1,2,3,4],[1,2,3,4,5]]"},
};

static void test_round(void **state)
{
	const struct round_case *c = *state;
	struct json value = parse(c->json);

	for (enum spec spec = SPEC_1; spec <= SPEC_2; spec++) {
		CLEANUP(buf_done) struct buf bytes = BUF_INIT(1 << 20);
		CLEANUP(buf_done) struct buf text = BUF_INIT(1 << 20);
		struct error err = ERROR_INIT;

		assert_ok(json_to_metadata_value(spec, &value, &bytes, &err), &err);
		assert_ok(metadata_value_to_json(spec, buf_slice(&bytes), &text, &err), &err);
		assert_json_equal(buf_slice(&text), slice_text(c->json));
	}
}

/* More than 65,535 members: widths of 4 bytes everywhere. */
static void test_many_members(void **state)
{
	CLEANUP(buf_done) struct buf json = BUF_INIT(1 << 24), bytes = BUF_INIT(1 << 24);
	CLEANUP(buf_done) struct buf text = BUF_INIT(1 << 24);
	struct error err = ERROR_INIT;
	struct json value;

	(void)state;
	assert_ok(buf_append_byte(&json, '{', &err), &err);
	for (int i = 0; i < 70000; i++)
		assert_ok(buf_printf(&json, &err, "%s\"k%05d\":%d", i ? "," : "", i, i), &err);
	assert_ok(buf_append_byte(&json, '}', &err), &err);
	assert_ok(json_parse(buf_slice(&json), &value, &err), &err);
	for (enum spec spec = SPEC_1; spec <= SPEC_2; spec++) {
		buf_clear(&bytes);
		buf_clear(&text);
		assert_ok(json_to_metadata_value(spec, &value, &bytes, &err), &err);
		assert_ok(metadata_value_to_json(spec, buf_slice(&bytes), &text, &err), &err);
		assert_true(slice_equal(buf_slice(&text), buf_slice(&json)));
	}
}

static void test_members_are_sorted_and_the_last_counts(void **state)
{
	CLEANUP(buf_done) struct buf bytes = BUF_INIT(1 << 20), text = BUF_INIT(1 << 20);
	struct json value = parse("{\"b\":1,\"a\":2,\"b\":3}");
	struct error err = ERROR_INIT;

	(void)state;
	assert_ok(json_to_flex(&value, &bytes, &err), &err);
	assert_ok(flex_to_json(buf_slice(&bytes), &text, &err), &err);
	assert_true(slice_is(buf_slice(&text), "{\"a\":2,\"b\":3}"));
}

/* Each is one byte away from a value, or asks for more than is there. */
static struct broken_case {
	const char *name;
	enum spec spec;
	const char *hex;
	const char *error;
} broken[] = {
	{"empty", SPEC_2, "", "broken FlexBuffers value: shorter than 3 bytes"},
	{"root of 3 bytes", SPEC_2, "000000 04 03", "broken FlexBuffers value: width of the root"},
	{"offset before start", SPEC_2, "ff 14 01",
	 "broken FlexBuffers value: offset before the start"},
	{"endless list", SPEC_2, "ff 00 28 01", "broken FlexBuffers value: longer than the buffer"},
	{"list of itself", SPEC_2, "01 00 28 02 28 01", "broken FlexBuffers value: too deep"},
	{"float of a byte", SPEC_2, "01 0c 01",
	 "broken FlexBuffers value: float of less than 4 bytes"},
	{"type 63", SPEC_2, "00 fc 01", "broken FlexBuffers value: unknown type"},
	{"nothing", SPEC_1, "", "broken MessagePack value: ends too early"},
	{"endless array", SPEC_1, "ddffffffff", "broken MessagePack value: ends too early"},
	{"two values", SPEC_1, "c0c0", "broken MessagePack value: more bytes after its end"},
	{"number as key", SPEC_1, "8101c0", "broken MessagePack value: map key that is no text"},
	{"binary", SPEC_1, "c40100", "broken MessagePack value: a kind that JSON does not have"},
	{"text that is none", SPEC_1, "a1ff", "broken MessagePack value: text is not UTF-8"},
};

static void test_broken(void **state)
{
	const struct broken_case *c = *state;
	CLEANUP(buf_done) struct buf bytes = from_hex(c->hex);
	CLEANUP(buf_done) struct buf out = BUF_INIT(1 << 20);
	struct error err = ERROR_INIT;

	assert_int_equal(metadata_value_to_json(c->spec, buf_slice(&bytes), &out, &err),
			 ERR_FORMAT);
	assert_string_equal(err.text, c->error);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_many_members),
		cmocka_unit_test(test_members_are_sorted_and_the_last_counts),
	};
	int failed = RUN_CASES(test_read, cases);

	failed += RUN_CASES(test_write, cases);
	failed += RUN_CASES(test_round, rounds);
	failed += RUN_CASES(test_broken, broken);
	return failed + cmocka_run_group_tests_name("values", tests, NULL, NULL);
}
