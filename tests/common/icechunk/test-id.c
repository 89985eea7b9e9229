/* SPDX-License-Identifier: Apache-2.0 */
#include "icechunk/id.h"

#include "test.h"

/*
 * Texts and bytes of the first rows are the examples of the Icechunk specification and of its
 * reference library's behaviour (formats, section 1.2).
 */
static struct id_case {
	const char *name;
	const char *text;
	int want;
	uint8_t bytes[12];
	const char *error;
	const char *lenient; /* what lenient parsing makes of it; NULL: refused as well */
} cases[] = {
	{.name = "initial snapshot",
	 .text = "1CECHNKREP0F1RSTCMT0",
	 .bytes = {0x0b, 0x1c, 0xc8, 0xd6, 0x78, 0x75, 0x80, 0xf0, 0xe3, 0x3a, 0x65, 0x34},
	 .lenient = "1CECHNKREP0F1RSTCMT0"},
	{.name = "counting bytes",
	 .text = "000G40R40M30E209185G",
	 .bytes = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11},
	 .lenient = "000G40R40M30E209185G"},
	{.name = "one short",
	 .text = "1CECHNKREP0F1RSTCMT",
	 .want = ERR_ARGUMENT,
	 .error = "id '1CECHNKREP0F1RSTCMT' is 19 characters, not 20"},
	{.name = "lower case",
	 .text = "1cECHNKREP0F1RSTCMT0",
	 .want = ERR_ARGUMENT,
	 .error = "id '1cECHNKREP0F1RSTCMT0' has 'c' in it",
	 .lenient = "1CECHNKREP0F1RSTCMT0"},
	{.name = "look-alikes",
	 .text = "ICECHNKREPOFLRSTCMT0",
	 .want = ERR_ARGUMENT,
	 .error = "id 'ICECHNKREPOFLRSTCMT0' has 'I' in it",
	 .lenient = "1CECHNKREP0F1RSTCMT0"},
	{.name = "surplus bits",
	 .text = "1CECHNKREP0F1RSTCMT1",
	 .want = ERR_ARGUMENT,
	 .error = "id '1CECHNKREP0F1RSTCMT1' does not end as ids do",
	 .lenient = "1CECHNKREP0F1RSTCMT0"},
	{.name = "the letter that is none",
	 .text = "UCECHNKREP0F1RSTCMT0",
	 .want = ERR_ARGUMENT,
	 .error = "id 'UCECHNKREP0F1RSTCMT0' has 'U' in it"},
};

static void test_id12_parse(void **state)
{
	const struct id_case *c = *state;
	struct error err = ERROR_INIT;
	struct id12 id = {0};
	char text[ID12_TEXT_LEN + 1];

	assert_int_equal(id12_parse(c->text, &id, &err), c->want);
	if (c->want < 0) {
		assert_string_equal(err.text, c->error);
		return;
	}
	assert_memory_equal(id.bytes, c->bytes, sizeof(id.bytes));
	id12_format(&id, text);
	assert_string_equal(text, c->text);
}

static void test_id12_parse_lenient(void **state)
{
	const struct id_case *c = *state;
	struct error err = ERROR_INIT;
	struct id12 id = {0};
	char text[ID12_TEXT_LEN + 1];

	if (!c->lenient) {
		assert_int_equal(id12_parse_lenient(c->text, &id, &err), ERR_ARGUMENT);
		return;
	}
	assert_ok(id12_parse_lenient(c->text, &id, &err), &err);
	id12_format(&id, text);
	assert_string_equal(text, c->lenient);
}

static void test_id8(void **state)
{
	static const uint8_t bytes[8] = {1, 2, 3, 4, 5, 6, 7, 8};
	struct error err = ERROR_INIT;
	char text[ID8_TEXT_LEN + 1];
	struct id8 id = {0};

	(void)state;
	assert_ok(id8_parse("041061050R3GG", &id, &err), &err);
	assert_memory_equal(id.bytes, bytes, sizeof(bytes));
	id8_format(&id, text);
	assert_string_equal(text, "041061050R3GG");
}

static void test_new_ids_differ(void **state)
{
	struct error err = ERROR_INIT;
	struct id12 a, b;
	struct id8 c, d;

	(void)state;
	assert_ok(id12_new(&a, &err), &err);
	assert_ok(id12_new(&b, &err), &err);
	assert_false(id12_equal(&a, &b));
	assert_ok(id8_new(&c, &err), &err);
	assert_ok(id8_new(&d, &err), &err);
	assert_false(id8_equal(&c, &d));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_id8),
		cmocka_unit_test(test_new_ids_differ),
	};
	int failed = RUN_CASES(test_id12_parse, cases);

	failed += RUN_CASES(test_id12_parse_lenient, cases);
	return failed + cmocka_run_group_tests_name("ids", tests, NULL, NULL);
}
