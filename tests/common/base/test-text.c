/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <locale.h>

#include "base/text.h"

/* Texts may hold a NUL, so a row says how long they are. */
#define TEXT(literal)                                           \
	{                                                       \
		(const uint8_t *)(literal), sizeof(literal) - 1 \
	}

static struct number_case {
	const char *name;
	struct slice text;
	int want;
	uint64_t value;
	const char *error;
} u64_cases[] = {
	{"zero", TEXT("0"), 0, 0},
	{"leading zeros", TEXT("0042"), 0, 42},
	{"largest", TEXT("18446744073709551615"), 0, UINT64_MAX},
	{"one too large", TEXT("18446744073709551616"), ERR_ARGUMENT,
	 .error = "'18446744073709551616' is too large"},
	{"many digits", TEXT("99999999999999999999999"), ERR_ARGUMENT,
	 .error = "'99999999999999999999999' is too large"},
	{"empty", TEXT(""), ERR_ARGUMENT, .error = "'' is no whole number"},
	{"sign", TEXT("+1"), ERR_ARGUMENT, .error = "'+1' is no whole number"},
	{"minus", TEXT("-1"), ERR_ARGUMENT, .error = "'-1' is no whole number"},
	{"blank in front", TEXT(" 1"), ERR_ARGUMENT, .error = "' 1' is no whole number"},
	{"blank behind", TEXT("1 "), ERR_ARGUMENT, .error = "'1 ' is no whole number"},
	{"hex", TEXT("0x10"), ERR_ARGUMENT, .error = "'0x10' is no whole number"},
	{"NUL behind", TEXT("1\0"), ERR_ARGUMENT, .error = "'1' is no whole number"},
};

static void test_u64(void **state)
{
	const struct number_case *c = *state;
	struct error err = ERROR_INIT;
	uint64_t value = 7;

	assert_int_equal(text_u64(c->text, &value, &err), c->want);
	assert_true(value == (c->want ? 7 : c->value));
	if (c->want)
		assert_string_equal(err.text, c->error);
}

static struct i64_case {
	const char *name;
	struct slice text;
	int want;
	int64_t value;
} i64_cases[] = {
	{"positive", TEXT("12"), 0, 12},
	{"negative", TEXT("-12"), 0, -12},
	{"minus zero", TEXT("-0"), 0, 0},
	{"largest", TEXT("9223372036854775807"), 0, INT64_MAX},
	{"smallest", TEXT("-9223372036854775808"), 0, INT64_MIN},
	{"one too large", TEXT("9223372036854775808"), ERR_ARGUMENT},
	{"one too small", TEXT("-9223372036854775809"), ERR_ARGUMENT},
	{"sign alone", TEXT("-"), ERR_ARGUMENT},
	{"two signs", TEXT("--1"), ERR_ARGUMENT},
	{"plus", TEXT("+1"), ERR_ARGUMENT},
	{"empty", TEXT(""), ERR_ARGUMENT},
};

static void test_i64(void **state)
{
	const struct i64_case *c = *state;
	struct error err = ERROR_INIT;
	int64_t value = 7;

	assert_int_equal(text_i64(c->text, &value, &err), c->want);
	assert_true(value == (c->want ? 7 : c->value));
}

static struct double_case {
	const char *name;
	struct slice text;
	int want;
	double value;
} double_cases[] = {
	{"whole", TEXT("12"), 0, 12},
	{"signs", TEXT("-2.5e+1"), 0, -25},
	{"plus", TEXT("+1.5"), 0, 1.5},
	{"point first", TEXT(".5"), 0, 0.5},
	{"point last", TEXT("5."), 0, 5},
	{"exponent", TEXT("1E-3"), 0, 0.001},
	{"underflow", TEXT("1e-999"), 0, 0},
	{"more digits than count",
	 TEXT("0.1000000000000000000000000000000000000000000000000000000000000000000000001"), 0,
	 0.1},
	{"overflow", TEXT("1e999"), ERR_ARGUMENT},
	{"point alone", TEXT("."), ERR_ARGUMENT},
	{"empty", TEXT(""), ERR_ARGUMENT},
	{"no exponent digits", TEXT("1e"), ERR_ARGUMENT},
	{"exponent sign alone", TEXT("1e+"), ERR_ARGUMENT},
	{"nan", TEXT("nan"), ERR_ARGUMENT},
	{"infinity", TEXT("inf"), ERR_ARGUMENT},
	{"hex", TEXT("0x1p3"), ERR_ARGUMENT},
	{"comma", TEXT("1,5"), ERR_ARGUMENT},
	{"blank", TEXT(" 1"), ERR_ARGUMENT},
	{"NUL", TEXT("1\0"), ERR_ARGUMENT},
	{"NUL for a sign", TEXT("\0001"), ERR_ARGUMENT},
};

static void test_double(void **state)
{
	const struct double_case *c = *state;
	struct error err = ERROR_INIT;
	double value = 7;

	assert_int_equal(text_double(c->text, &value, &err), c->want);
	assert_true(value == (c->want ? 7 : c->value));
}

static struct number_case size_cases[] = {
	{"plain", TEXT("512"), 0, 512},
	{"K", TEXT("64K"), 0, 65536},
	{"M", TEXT("3M"), 0, 3145728},
	{"G", TEXT("1G"), 0, UINT64_C(1) << 30},
	{"largest", TEXT("17179869183G"), 0, UINT64_C(17179869183) << 30},
	{"too large", TEXT("17179869184G"), ERR_ARGUMENT, .error = "'17179869184G' is too large"},
	{"unit alone", TEXT("K"), ERR_ARGUMENT,
	 .error = "'K' is no size such as 512, 64K, 64M or 1G"},
	{"unknown unit", TEXT("1T"), ERR_ARGUMENT,
	 .error = "'1T' is no size such as 512, 64K, 64M or 1G"},
	{"lower case", TEXT("1k"), ERR_ARGUMENT,
	 .error = "'1k' is no size such as 512, 64K, 64M or 1G"},
	{"negative", TEXT("-1K"), ERR_ARGUMENT,
	 .error = "'-1K' is no size such as 512, 64K, 64M or 1G"},
	{"empty", TEXT(""), ERR_ARGUMENT, .error = "'' is no size such as 512, 64K, 64M or 1G"},
};

static void test_size(void **state)
{
	const struct number_case *c = *state;
	struct error err = ERROR_INIT;
	uint64_t value = 7;

	assert_int_equal(text_size(c->text, &value, &err), c->want);
	assert_true(value == (c->want ? 7 : c->value));
	if (c->want)
		assert_string_equal(err.text, c->error);
}

/* Table 3-7 and the examples of section 3.9 of the Unicode standard. */
static struct utf8_case {
	const char *name;
	struct slice text;
	bool valid;
} utf8_cases[] = {
	{"empty", TEXT(""), true},
	{"ASCII and NUL", TEXT("a\0b\x7f"), true},
	{"two, three and four bytes", TEXT("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"), true},
	{"smallest of each length", TEXT("\xc2\x80\xe0\xa0\x80\xf0\x90\x80\x80"), true},
	{"largest of each length", TEXT("\xdf\xbf\xef\xbf\xbf\xf4\x8f\xbf\xbf"), true},
	{"around the surrogates", TEXT("\xed\x9f\xbf\xee\x80\x80"), true},
	{"surrogate", TEXT("\xed\xa0\x80"), false},
	{"overlong of two", TEXT("\xc0\xaf"), false},
	{"overlong of three", TEXT("\xe0\x9f\xbf"), false},
	{"overlong of four", TEXT("\xf0\x8f\xbf\xbf"), false},
	{"beyond the last", TEXT("\xf4\x90\x80\x80"), false},
	{"five bytes", TEXT("\xf8\x88\x80\x80\x80"), false},
	{"cut", TEXT("\xe2\x82"), false},
	{"continuation alone", TEXT("\x80"), false},
	{"third byte wrong", TEXT("\xe2\x82\x41"), false},
	{"Latin-1", TEXT("caf\xe9"), false},
};

static void test_utf8(void **state)
{
	const struct utf8_case *c = *state;

	assert_int_equal(text_is_utf8(c->text), c->valid);
}

/* repr() of CPython 3.11. */
static struct repr_case {
	const char *name;
	double value;
} repr_cases[] = {
	{"0.0", 0.0},
	{"-0.0", -0.0},
	{"1.0", 1.0},
	{"-1.0", -1.0},
	{"0.1", 0x1.999999999999ap-4},
	{"0.3333333333333333", 0x1.5555555555555p-2},
	{"0.30000000000000004", 0x1.3333333333334p-2},
	{"123456.789", 0x1.e240c9fbe76c9p+16},
	{"273.15", 0x1.1126666666666p+8},
	{"-273.15", -0x1.1126666666666p+8},
	{"100.0", 100},
	{"1000000000000000.0", 1e15},
	{"9999999999999998.0", 0x1.1c37937e07fffp+53},
	{"9007199254740992.0", 0x1p+53},
	{"1e+16", 0x1.1c37937e08000p+53},
	{"1e+22", 0x1.0f0cf064dd592p+73},
	{"1e+23", 0x1.52d02c7e14af6p+76},
	{"1e+100", 0x1.249ad2594c37dp+332},
	{"0.0001", 0x1.a36e2eb1c432dp-14},
	{"1e-05", 0x1.4f8b588e368f1p-17},
	{"9.999e-05", 0x1.a36371ea531a8p-14},
	{"5e-324", 0x1p-1074},
	{"1.5e-323", 0x3p-1074},
	{"2.2250738585072014e-308", 0x1p-1022},
	{"2.225073858507201e-308", 0x0.fffffffffffffp-1022},
	{"1.7976931348623157e+308", 0x1.fffffffffffffp+1023},
	{"5.684341886080802e-14", 0x1p-44},
	{"5.960464477539063e-08", 0x1p-24},
	{"1.1805916207174113e+21", 0x1p+70},
	{"nan", __builtin_nan("")},
	{"inf", __builtin_inf()},
	{"-inf", -__builtin_inf()},
};

static void test_repr(void **state)
{
	const struct repr_case *c = *state;
	char text[32];

	text_repr(c->value, text);
	assert_string_equal(text, c->name);
}

/* Any double, from bits that a linear congruential generator makes. */
static void test_repr_reads_back(void **state)
{
	struct error err = ERROR_INIT;
	uint64_t bits = 1;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		double value, again;
		char text[32];

		bits = bits * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		memcpy(&value, &bits, sizeof(value));
		if (value != value || value - value != 0)
			continue;
		text_repr(value, text);
		assert_ok(text_double(slice_text(text), &again, &err), &err);
		assert_memory_equal(&value, &again, sizeof(value));
	}
}

static void test_numbers_ignore_the_locale(void **state)
{
	static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8"};
	struct error err = ERROR_INIT;
	double value = 0;
	char text[32];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		setlocale(LC_ALL, names[i]);
	assert_ok(text_double(slice_text("1.5"), &value, &err), &err);
	assert_true(value == 1.5);
	text_repr(1.5, text);
	assert_string_equal(text, "1.5");
	setlocale(LC_ALL, "C");
}

static void test_percent(void **state)
{
	CLEANUP(buf_done) struct buf out = BUF_INIT(100);
	struct error err = ERROR_INIT;

	(void)state;
	assert_ok(text_percent_encode((struct slice)TEXT("a/b c%\xc3\xa9~\0"), "/~", &out, &err),
		  &err);
	assert_true(slice_is(buf_slice(&out), "a/b%20c%25%C3%A9~%00"));
	buf_clear(&out);
	assert_ok(text_percent_decode(slice_text("a%2fb%2520+%C3%a9"), &out, &err), &err);
	assert_true(slice_is(buf_slice(&out), "a/b%20+\xc3\xa9"));
}

static struct escape_case {
	const char *name;
	const char *error;
} escape_cases[] = {
	{"a%", "'a%' has a broken % escape at byte 1"},
	{"%2", "'%2' has a broken % escape at byte 0"},
	{"ab%g0", "'ab%g0' has a broken % escape at byte 2"},
	{"%20%0x", "'%20%0x' has a broken % escape at byte 3"},
};

static void test_broken_escape(void **state)
{
	const struct escape_case *c = *state;
	CLEANUP(buf_done) struct buf out = BUF_INIT(100);
	struct error err = ERROR_INIT;

	assert_int_equal(text_percent_decode(slice_text(c->name), &out, &err), ERR_FORMAT);
	assert_string_equal(err.text, c->error);
}

static void test_small_helpers(void **state)
{
	struct error err = ERROR_INIT;
	CLEANUP(freep) char *text = text_printf(&err, "%s-%d", "a", 5);
	CLEANUP(freep) char *copy = text_dup("x", &err);
	char hex[7];

	(void)state;
	assert_string_equal(text, "a-5");
	assert_string_equal(copy, "x");
	text_hex((const uint8_t *)"\x00\xab\x7f", 3, hex);
	assert_string_equal(hex, "00ab7f");
	assert_true(text_starts("abc", "ab") && text_starts("abc", "") && !text_starts("a", "ab"));
	assert_true(text_ends("abc", "bc") && text_ends("abc", "") && !text_ends("c", "bc"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_repr_reads_back),
		cmocka_unit_test(test_numbers_ignore_the_locale),
		cmocka_unit_test(test_percent),
		cmocka_unit_test(test_small_helpers),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	failed += RUN_CASES(test_u64, u64_cases);
	failed += RUN_CASES(test_i64, i64_cases);
	failed += RUN_CASES(test_double, double_cases);
	failed += RUN_CASES(test_size, size_cases);
	failed += RUN_CASES(test_utf8, utf8_cases);
	failed += RUN_CASES(test_repr, repr_cases);
	failed += RUN_CASES(test_broken_escape, escape_cases);
	return failed;
}
