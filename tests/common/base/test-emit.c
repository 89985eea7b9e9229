/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/emit.h"

static void emit_sample(struct emit *json)
{
	emit_object(json);
	emit_key(json, "a\"");
	emit_text(json, "x\n");
	emit_key(json, "n");
	emit_array(json);
	emit_u64(json, UINT64_MAX);
	emit_i64(json, INT64_MIN);
	emit_double(json, -0.5);
	emit_end_array(json);
	emit_key(json, "none");
	emit_array(json);
	emit_end_array(json);
	emit_key(json, "e");
	emit_object(json);
	emit_end_object(json);
	emit_key(json, "l");
	emit_array(json);
	emit_object(json);
	emit_key(json, "b");
	emit_bool(json, true);
	emit_end_object(json);
	emit_null(json);
	emit_text(json, NULL);
	emit_slice(json, slice_text("\xff"));
	emit_raw(json, slice_text("{\"raw\": 1}"));
	emit_end_array(json);
	emit_end_object(json);
}

/* The layout is json.dumps(…, indent=2) of CPython. */
static struct emit_case {
	const char *name;
	bool indent;
	const char *want;
} cases[] = {
	{"compact", false,
	 "{\"a\\\"\":\"x\\n\",\"n\":[18446744073709551615,-9223372036854775808,-0.5],\"none\":[],"
	 "\"e\":{},\"l\":[{\"b\":true},null,null,\"\xef\xbf\xbd\",{\"raw\": 1}]}"},
	{"indented", true,
	 "{\n  \"a\\\"\": \"x\\n\",\n  \"n\": [\n    18446744073709551615,\n"
	 "    -9223372036854775808,\n    -0.5\n  ],\n  \"none\": [],\n  \"e\": {},\n  \"l\": [\n"
	 "    {\n      \"b\": true\n    },\n    null,\n    null,\n    \"\xef\xbf\xbd\",\n"
	 "    {\"raw\": 1}\n  ]\n}"},
};

static void test_emit(void **state)
{
	const struct emit_case *c = *state;
	CLEANUP(buf_done) struct buf out = BUF_INIT(1000);
	struct emit json = EMIT_INIT(&out, c->indent);
	struct error err = ERROR_INIT;

	emit_sample(&json);
	assert_ok(emit_result(&json, &err), &err);
	assert_true(slice_is(buf_slice(&out), c->want));
}

static void test_the_first_failure_sticks(void **state)
{
	struct error err = ERROR_INIT;

	(void)state;
	for (size_t max = 0; max < strlen(cases[0].want); max++) {
		CLEANUP(buf_done) struct buf out = BUF_INIT(max);
		struct emit json = EMIT_INIT(&out, false);

		emit_sample(&json);
		assert_int_equal(emit_result(&json, &err), ERR_FORMAT);
		assert_true(out.size <= max &&
			    memcmp(out.data ? (char *)out.data : "", cases[0].want, out.size) == 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_first_failure_sticks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) + RUN_CASES(test_emit, cases);
}
