/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <math.h>

#include "base/json.h"

#define TEXT(literal)                                           \
	{                                                       \
		(const uint8_t *)(literal), sizeof(literal) - 1 \
	}

/* RFC 8259, and the cases of the public JSONTestSuite that its authors call ambiguous. */
static struct parse_case {
	const char *name;
	struct slice text;
	const char *error; /* NULL: valid */
} parse_cases[] = {
	{"null", TEXT("null")},
	{"blanks around", TEXT(" \t\r\n[ 1 , 2 ] \n")},
	{"empty object", TEXT("{ }")},
	{"nested", TEXT("{\"a\":[{},[],\"\",{\"b\":null}]}")},
	{"repeated member", TEXT("{\"a\":1,\"a\":2}")},
	{"numbers", TEXT("[0,-0,1.5,-1.5E+3,0e1,1e-7,18446744073709551616]")},
	{"bare words of Zarr writers", TEXT("[NaN,Infinity,-Infinity]")},
	{"every escape", TEXT("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\uD83D\\ude00\"")},
	{"NUL escaped", TEXT("\"\\u0000\"")},
	{"characters beyond ASCII", TEXT("\"\xc3\xa9\xf0\x9f\x98\x80\x7f\"")},

	{"empty", TEXT(""), "byte 0: ends too early"},
	{"blanks alone", TEXT("  "), "byte 2: ends too early"},
	{"byte order mark", TEXT("\xef\xbb\xbf{}"), "byte 0: expected a value"},
	{"two values", TEXT("1 2"), "byte 2: more after the value"},
	{"open array", TEXT("[1"), "byte 2: ends too early"},
	{"open array after comma", TEXT("[1,"), "byte 3: ends too early"},
	{"comma at the end of an array", TEXT("[1,]"), "byte 3: expected a value"},
	{"comma at the end of an object", TEXT("{\"a\":1,}"), "byte 7: expected a string"},
	{"no comma", TEXT("[1 2]"), "byte 3: expected ',' or ']'"},
	{"wrong bracket", TEXT("[1}"), "byte 2: expected ',' or ']'"},
	{"wrong brace", TEXT("{\"a\":1]"), "byte 6: expected ',' or '}'"},
	{"bare key", TEXT("{a:1}"), "byte 1: expected a string"},
	{"number as key", TEXT("{1:1}"), "byte 1: expected a string"},
	{"no colon", TEXT("{\"a\" 1}"), "byte 5: expected ':'"},
	{"no value", TEXT("{\"a\":}"), "byte 5: expected a value"},
	{"single quotes", TEXT("'a'"), "byte 0: expected a value"},
	{"comment", TEXT("/*a*/1"), "byte 0: expected a value"},
	{"word cut", TEXT("tru"), "byte 0: expected a value"},
	{"word with a tail", TEXT("nullx"), "byte 4: more after the value"},
	{"wrong case", TEXT("True"), "byte 0: expected a value"},
	{"nan", TEXT("nan"), "byte 0: expected a value"},
	{"-NaN", TEXT("-NaN"), "byte 1: expected a digit"},
	{"+1", TEXT("+1"), "byte 0: expected a value"},
	{"leading zero", TEXT("01"), "byte 1: more after the value"},
	{"minus alone", TEXT("-"), "byte 1: ends too early"},
	{"point first", TEXT(".5"), "byte 0: expected a value"},
	{"point last", TEXT("5."), "byte 2: ends too early"},
	{"point, then exponent", TEXT("5.e3"), "byte 2: expected a digit"},
	{"no exponent", TEXT("[1e]"), "byte 3: expected a digit"},
	{"hex number", TEXT("0x1"), "byte 1: more after the value"},
	{"open string", TEXT("\"abc"), "byte 4: ends too early"},
	{"open escape", TEXT("\"\\"), "byte 2: ends too early"},
	{"line feed in a string", TEXT("\"a\nb\""), "byte 2: control character in a string"},
	{"NUL in a string", TEXT("\"\0\""), "byte 1: control character in a string"},
	{"unknown escape", TEXT("\"\\x41\""), "byte 2: unknown escape"},
	{"NUL escape", TEXT("\"\\\0\""), "byte 2: unknown escape"},
	{"short unicode escape", TEXT("\"\\u12\""), "byte 3: expected four hex digits"},
	{"high surrogate alone", TEXT("\"\\ud800\""), "byte 7: half of a surrogate pair"},
	{"low surrogate alone", TEXT("\"\\udc00\""), "byte 3: half of a surrogate pair"},
	{"two high surrogates", TEXT("\"\\ud800\\ud800\""), "byte 9: half of a surrogate pair"},
	{"Latin-1", TEXT("\"caf\xe9\""), "byte 4: not UTF-8"},
	{"surrogate in UTF-8", TEXT("\"\xed\xa0\x80\""), "byte 1: not UTF-8"},
	{"NUL behind", TEXT("1\0"), "byte 1: more after the value"},
};

static void test_parse(void **state)
{
	const struct parse_case *c = *state;
	struct error err = ERROR_INIT;
	struct json value;

	if (!c->error) {
		assert_ok(json_parse(c->text, &value, &err), &err);
		return;
	}
	assert_int_equal(json_parse(c->text, &value, &err), ERR_FORMAT);
	assert_string_equal(err.text, c->error);
}

/* Reads past the end show under the address sanitizer: each cut lies at the end of its block. */
static void test_every_cut_is_refused(void **state)
{
	static const char text[] =
		"{\"a\\u00e9\\ud83d\\ude00\":[-1.5e+3,true,{\"\xe2\x82\xac\":NaN}]}";

	(void)state;
	for (size_t n = 0; n < sizeof(text) - 1; n++) {
		CLEANUP(freep) uint8_t *copy = malloc(n ? n : 1);
		struct json value;

		memcpy(copy, text, n);
		assert_int_equal(json_parse(slice_of(copy, n), &value, NULL), ERR_FORMAT);
	}
}

static void nest(struct buf *out, size_t levels)
{
	buf_clear(out);
	for (size_t i = 0; i < levels; i++)
		buf_append_byte(out, '[', NULL);
	for (size_t i = 0; i < levels; i++)
		buf_append_byte(out, ']', NULL);
}

static void test_depth_is_bounded(void **state)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT(BUF_NO_LIMIT);
	struct error err = ERROR_INIT;
	struct json value;

	(void)state;
	nest(&text, 128);
	assert_ok(json_parse(buf_slice(&text), &value, &err), &err);
	nest(&text, 129);
	assert_int_equal(json_parse(buf_slice(&text), &value, &err), ERR_FORMAT);
	assert_string_equal(err.text, "byte 128: more than 128 levels");
	nest(&text, 1000000);
	assert_int_equal(json_parse(buf_slice(&text), &value, &err), ERR_FORMAT);
}

static struct json parsed(const char *text)
{
	struct error err = ERROR_INIT;
	struct json value;

	assert_ok(json_parse(slice_text(text), &value, &err), &err);
	return value;
}

static void assert_span(const struct json *value, enum json_type type, const char *text)
{
	assert_int_equal(value->type, type);
	assert_true(slice_is(value->span, text));
}

static void test_walk(void **state)
{
	struct json root = parsed(" { \"a\" : [ 1 , \"]},\\\"\" , { \"b\" : NaN } , [] ],"
				  "\"\\u0062\":true , \"a\\\"\":null,\"b\":false,\"\":-0 } ");
	struct json item, key;
	size_t n = 0;

	(void)state;
	assert_int_equal(json_count(&root), 5);
	assert_int_equal(json_get(&root, "b", &item), 0);
	assert_span(&item, JSON_BOOL, "false");
	assert_int_equal(json_get(&root, "a\"", &item), 0);
	assert_span(&item, JSON_NULL, "null");
	assert_int_equal(json_get(&root, "", &item), 0);
	assert_span(&item, JSON_NUMBER, "-0");
	assert_int_equal(json_get(&root, "c", &item), JSON_ABSENT);
	assert_int_equal(json_get(&root, "a", &root), 0);
	assert_span(&root, JSON_ARRAY, "[ 1 , \"]},\\\"\" , { \"b\" : NaN } , [] ]");
	assert_int_equal(json_get(&root, "a", &item), JSON_ABSENT);
	assert_int_equal(json_count(&root), 4);
	assert_int_equal(json_at(&root, 2, &item), 0);
	assert_span(&item, JSON_OBJECT, "{ \"b\" : NaN }");
	assert_int_equal(json_at(&root, 4, &item), JSON_ABSENT);
	assert_int_equal(json_at(&item, 0, &key), JSON_ABSENT);
	assert_int_equal(json_get(&item, "b", &key), 0);
	assert_int_equal(json_count(&key), 0);
	JSON_EACH (&root, &key, item)
		n += item.span.size;
	assert_int_equal(n, 1 + 7 + 13 + 2);
}

static void test_walk_gives_repeated_members_in_order(void **state)
{
	struct json root = parsed("{\"a\":1,\"b\":2,\"a\":3}");
	const char *want[] = {"1", "2", "3"};
	struct json key, item;
	size_t n = 0;

	(void)state;
	JSON_EACH (&root, &key, item)
		assert_span(&item, JSON_NUMBER, want[n++]);
	assert_int_equal(n, 3);
}

static void test_path(void **state)
{
	struct json root = parsed("{\"a\":{\"b\":{\"c\":7}},\"d\":1}");
	struct json value;

	(void)state;
	assert_int_equal(json_path(&root, &value, "a", "b", "c", NULL), 0);
	assert_span(&value, JSON_NUMBER, "7");
	assert_int_equal(json_path(&root, &value, "a", "x", "c", NULL), JSON_ABSENT);
	assert_int_equal(json_path(&root, &value, "d", "b", NULL), JSON_ABSENT);
	assert_int_equal(json_path(&root, &value, NULL), 0);
	assert_span(&value, JSON_OBJECT, "{\"a\":{\"b\":{\"c\":7}},\"d\":1}");
}

static void test_text(void **state)
{
	struct json value =
		parsed("\"a\\n\\\"\\\\\\/\\b\\f\\r\\t\\u00e9\\uD83D\\ude00\xc3\xa9\\u0000z\"");
	CLEANUP(buf_done) struct buf out = BUF_INIT(100);
	const char want[] = "a\n\"\\/\b\f\r\t\xc3\xa9\xf0\x9f\x98\x80\xc3\xa9\0z";
	struct error err = ERROR_INIT;
	char *text = NULL;

	(void)state;
	assert_ok(json_text(&value, &out, &err), &err);
	assert_int_equal(out.size, sizeof(want) - 1);
	assert_memory_equal(out.data, want, out.size);
	assert_int_equal(json_dup(&value, &text, &err), ERR_FORMAT);
	assert_null(text);
	value = parsed("12");
	assert_int_equal(json_text(&value, &out, &err), ERR_FORMAT);
	assert_string_equal(err.text, "'12' is no string");
	value = parsed("\"\"");
	assert_ok(json_dup(&value, &text, &err), &err);
	assert_string_equal(text, "");
	free(text);
	assert_true(json_is_text(&value, ""));
	assert_false(json_is_text(&value, "a"));
	value = parsed("\"a\\u0062c\"");
	assert_true(json_is_text(&value, "abc"));
	assert_false(json_is_text(&value, "ab"));
	assert_false(json_is_text(&value, "abcd"));
	value = parsed("3");
	assert_false(json_is_text(&value, "3"));
}

static struct whole_case {
	const char *name; /* the number */
	int u64_want, i64_want;
	uint64_t u64;
	int64_t i64;
} whole_cases[] = {
	{"0", 0, 0, 0, 0},
	{"-0", 0, 0, 0, 0},
	{"3", 0, 0, 3, 3},
	{"-3", ERR_FORMAT, 0, .i64 = -3},
	{"3.0", 0, 0, 3, 3},
	{"3e0", 0, 0, 3, 3},
	{"30e-1", 0, 0, 3, 3},
	{"1.25E+2", 0, 0, 125, 125},
	{"30.00", 0, 0, 30, 30},
	{"0.0", 0, 0, 0, 0},
	{"0e99999999999999999999", 0, 0, 0, 0},
	{"0.5", ERR_FORMAT, ERR_FORMAT},
	{"35e-1", ERR_FORMAT, ERR_FORMAT},
	{"1e-99999999999999999999", ERR_FORMAT, ERR_FORMAT},
	{"9223372036854775807", 0, 0, INT64_MAX, INT64_MAX},
	{"9223372036854775808", 0, ERR_FORMAT, UINT64_C(9223372036854775808)},
	{"-9223372036854775808", ERR_FORMAT, 0, .i64 = INT64_MIN},
	{"-9223372036854775809", ERR_FORMAT, ERR_FORMAT},
	{"18446744073709551615", 0, ERR_FORMAT, UINT64_MAX},
	{"18446744073709551615.000", 0, ERR_FORMAT, UINT64_MAX},
	{"18446744073709551616", ERR_FORMAT, ERR_FORMAT},
	{"1e19", 0, ERR_FORMAT, UINT64_C(10000000000000000000)},
	{"1e20", ERR_FORMAT, ERR_FORMAT},
	{"1e999999999", ERR_FORMAT, ERR_FORMAT},
	{"1e9223372036854775807", ERR_FORMAT, ERR_FORMAT},
	{"1.5e9223372036854775807", ERR_FORMAT, ERR_FORMAT},
	{"NaN", ERR_FORMAT, ERR_FORMAT},
	{"-Infinity", ERR_FORMAT, ERR_FORMAT},
	{"\"3\"", ERR_FORMAT, ERR_FORMAT},
	{"true", ERR_FORMAT, ERR_FORMAT},
	{"[]", ERR_FORMAT, ERR_FORMAT},
};

static void test_whole(void **state)
{
	const struct whole_case *c = *state;
	struct json value = parsed(c->name);
	struct error err = ERROR_INIT;
	uint64_t u64 = 7;
	int64_t i64 = 7;

	assert_int_equal(json_u64(&value, &u64, &err), c->u64_want);
	assert_true(u64 == (c->u64_want ? 7 : c->u64));
	assert_int_equal(json_i64(&value, &i64, &err), c->i64_want);
	assert_true(i64 == (c->i64_want ? 7 : c->i64));
}

static void test_double_and_bool(void **state)
{
	struct error err = ERROR_INIT;
	struct json value = parsed("-273.15");
	double number = 0;
	bool yes = false;

	(void)state;
	assert_ok(json_double(&value, &number, &err), &err);
	assert_true(number == -273.15);
	value = parsed("NaN");
	assert_ok(json_double(&value, &number, &err), &err);
	assert_true(isnan(number));
	value = parsed("-Infinity");
	assert_ok(json_double(&value, &number, &err), &err);
	assert_true(number == -INFINITY);
	value = parsed("1e999");
	assert_int_equal(json_double(&value, &number, &err), ERR_FORMAT);
	assert_string_equal(err.text, "'1e999' is out of range");
	assert_int_equal(json_bool(&value, &yes, &err), ERR_FORMAT);
	value = parsed("true");
	assert_ok(json_bool(&value, &yes, &err), &err);
	assert_true(yes);
	assert_int_equal(json_double(&value, &number, &err), ERR_FORMAT);
}

/* The expected texts are json.dumps(…, ensure_ascii=False) of CPython but for broken UTF-8. */
static struct write_case {
	const char *name;
	struct slice text;
	const char *want;
} write_cases[] = {
	{"empty", TEXT(""), "\"\""},
	{"plain", TEXT("a/b"), "\"a/b\""},
	{"escapes", TEXT("\b\f\n\r\t\"\\\0\x1f\x7f"),
	 "\"\\b\\f\\n\\r\\t\\\"\\\\\\u0000\\u001f\x7f\""},
	{"UTF-8", TEXT("\xc3\xa9\xf0\x9f\x98\x80"), "\"\xc3\xa9\xf0\x9f\x98\x80\""},
	{"no UTF-8", TEXT("a\xff\xe2\x82z"), "\"a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz\""},
};

static void test_write_text(void **state)
{
	const struct write_case *c = *state;
	CLEANUP(buf_done) struct buf out = BUF_INIT(100);
	struct error err = ERROR_INIT;

	assert_ok(json_write_text(&out, c->text, &err), &err);
	assert_true(slice_is(buf_slice(&out), c->want));
}

static void test_write_double(void **state)
{
	CLEANUP(buf_done) struct buf out = BUF_INIT(100);
	double values[] = {1, -0.0, 1e16, NAN, INFINITY, -INFINITY};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(values); i++) {
		json_write_double(&out, values[i], NULL);
		buf_append_byte(&out, ' ', NULL);
	}
	assert_true(slice_is(buf_slice(&out), "1.0 -0.0 1e+16 NaN Infinity -Infinity "));
}

static void test_replace_keeps_every_other_byte(void **state)
{
	const char *document = "\n{ \"x\" : -273.150 ,\t\"a\":[1, {\"b\" :2}] , \"x\":1e0} \n";
	CLEANUP(buf_done) struct buf out = BUF_INIT(200);
	struct error err = ERROR_INIT;
	struct json root = parsed(document);
	struct json value;

	(void)state;
	assert_int_equal(json_get(&root, "a", &value), 0);
	assert_ok(json_edit_replace(slice_text(document), &value, slice_text("null"), &out, &err),
		  &err);
	assert_true(
		slice_is(buf_slice(&out), "\n{ \"x\" : -273.150 ,\t\"a\":null , \"x\":1e0} \n"));
	buf_clear(&out);
	assert_ok(json_edit_replace(slice_text(document), &root, slice_text("[]"), &out, &err),
		  &err);
	assert_true(slice_is(buf_slice(&out), "\n[] \n"));
	value = parsed("7");
	assert_int_equal(
		json_edit_replace(slice_text(document), &value, slice_text("1"), &out, &err),
		ERR_ARGUMENT);
}

static struct remove_case {
	const char *name;
	const char *document;
	const char *want;
} remove_cases[] = {
	{"only member", "{ \"a\" : 1 }", "{  }"},
	{"first", "{\"a\":1, \"b\":2}", "{\"b\":2}"},
	{"last", "{\"b\":2, \"a\":1}", "{\"b\":2}"},
	{"middle", "{\"b\":2, \"a\":1 ,\"c\":3}", "{\"b\":2 ,\"c\":3}"},
	{"lines", "{\n  \"b\": 2,\n  \"a\": [1, 2],\n  \"c\": 3\n}",
	 "{\n  \"b\": 2,\n  \"c\": 3\n}"},
	{"first line", "{\n  \"a\": 2,\n  \"c\": 3\n}", "{\n  \"c\": 3\n}"},
	{"absent", " {\"b\":2 } ", " {\"b\":2 } "},
	{"no object", "[1, 2]", "[1, 2]"},
	{"every repetition", "{\"a\":1,\"a\":2,\"b\":3,\"a\":4,\"a\":5,\"c\":6,\"a\":7}",
	 "{\"b\":3,\"c\":6}"},
	{"all of several", "{\"a\":1 , \"a\":2}", "{}"},
	{"escaped name", "{\"\\u0061\":1,\"b\":2}", "{\"b\":2}"},
	{"not deeper ones", "{\"b\":{\"a\":1},\"a\":2}", "{\"b\":{\"a\":1}}"},
};

static void test_remove(void **state)
{
	const struct remove_case *c = *state;
	CLEANUP(buf_done) struct buf out = BUF_INIT(200);
	struct error err = ERROR_INIT;
	struct json root = parsed(c->document);

	assert_ok(json_edit_remove(slice_text(c->document), &root, "a", &out, &err), &err);
	assert_true(slice_is(buf_slice(&out), c->want));
}

static void test_remove_below_the_root(void **state)
{
	const char *document = " [{\"a\" : {\"x\":1,\"b\" :2} , \"b\":3}]";
	CLEANUP(buf_done) struct buf out = BUF_INIT(200);
	struct error err = ERROR_INIT;
	struct json root = parsed(document);
	struct json value;

	(void)state;
	assert_int_equal(json_at(&root, 0, &value), 0);
	assert_int_equal(json_get(&value, "a", &value), 0);
	assert_ok(json_edit_remove(slice_text(document), &value, "b", &out, &err), &err);
	assert_true(slice_is(buf_slice(&out), " [{\"a\" : {\"x\":1} , \"b\":3}]"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_cut_is_refused),
		cmocka_unit_test(test_depth_is_bounded),
		cmocka_unit_test(test_walk),
		cmocka_unit_test(test_walk_gives_repeated_members_in_order),
		cmocka_unit_test(test_path),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_double_and_bool),
		cmocka_unit_test(test_write_double),
		cmocka_unit_test(test_replace_keeps_every_other_byte),
		cmocka_unit_test(test_remove_below_the_root),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	failed += RUN_CASES(test_parse, parse_cases);
	failed += RUN_CASES(test_whole, whole_cases);
	failed += RUN_CASES(test_write_text, write_cases);
	failed += RUN_CASES(test_remove, remove_cases);
	return failed;
}
