/* SPDX-License-Identifier: Apache-2.0 */
#include "icechunk/refs1.h"

#include "test.h"

/* Spellings are those of the reference library on local file systems (formats, section 1.3). */
static struct name_case {
	const char *name;
	const char *branch;
	const char *encoded;
} names[] = {
	{"plain", "main", "refs/branch.main/ref.json"},
	{"percent, blank, accent", "a%b \xc3\xa9", "refs/branch.a%25b %C3%A9/ref.json"},
	{"kept", "a.b:c&d+e!", "refs/branch.a.b:c&d+e!/ref.json"},
	{"encoded", "\\{^}`]\">[~<#|*?",
	 "refs/branch.%5C%7B%5E%7D%60%5D%22%3E%5B%7E%3C%23%7C%2A%3F/ref.json"},
};

static void test_name(void **state)
{
	const struct name_case *c = *state;
	CLEANUP(buf_done) struct buf key = BUF_INIT(4096), decoded = BUF_INIT(4096);
	struct error err = ERROR_INIT;
	struct ref1_key parsed;

	assert_ok(ref1_key_format(REF1_BRANCH, slice_text(c->branch), true, false, &key, &err),
		  &err);
	assert_true(slice_is(buf_slice(&key), c->encoded));
	assert_int_equal(ref1_key_parse(buf_slice(&key), &parsed), 0);
	assert_int_equal(parsed.kind, REF1_BRANCH);
	assert_ok(ref1_name_decode(parsed.name, &decoded, &err), &err);
	assert_true(slice_is(buf_slice(&decoded), c->branch));
	assert_int_equal(ref1_name_needs_encoding(slice_text(c->branch)),
			 !slice_equal(parsed.name, slice_text(c->branch)));
}

static struct key_case {
	const char *name;
	const char *key;
	int want;
	enum ref1_kind kind;
	bool tombstone;
} keys[] = {
	{"branch", "refs/branch.a/ref.json", 0, REF1_BRANCH, false},
	{"tag", "refs/tag.v1/ref.json", 0, REF1_TAG, false},
	{"tombstone", "refs/tag.v1/ref.json.deleted", 0, REF1_TAG, true},
	{"branches have none", "refs/branch.a/ref.json.deleted", REF1_OTHER, REF1_BRANCH, false},
	{"no name", "refs/branch./ref.json", REF1_OTHER, REF1_BRANCH, false},
	{"other file", "refs/branch.a/x", REF1_OTHER, REF1_BRANCH, false},
	{"other folder", "refs/x.a/ref.json", REF1_OTHER, REF1_BRANCH, false},
	{"elsewhere", "snapshots/a", REF1_OTHER, REF1_BRANCH, false},
	{"nothing", "", REF1_OTHER, REF1_BRANCH, false},
};

static void test_key(void **state)
{
	const struct key_case *c = *state;
	struct ref1_key key;

	assert_int_equal(ref1_key_parse(slice_text(c->key), &key), c->want);
	if (c->want)
		return;
	assert_int_equal(key.kind, c->kind);
	assert_int_equal(key.tombstone, c->tombstone);
}

static struct text_case {
	const char *name;
	const char *text;
	const char *error; /* NULL: the initial snapshot */
} texts[] = {
	{"as written", "{\"snapshot\":\"1CECHNKREP0F1RSTCMT0\"}", NULL},
	{"blanks", " {\n \"snapshot\" : \"1CECHNKREP0F1RSTCMT0\" }\n", NULL},
	{"more members", "{\"a\":1,\"snapshot\":\"1CECHNKREP0F1RSTCMT0\"}", NULL},
	{"none", "{}", "reference without a snapshot"},
	{"no id", "{\"snapshot\":\"x\"}", "snapshot of a reference is no id"},
	{"number", "{\"snapshot\":1}", "snapshot of a reference is no id"},
	{"empty", "", "byte 0: ends too early"},
};

static void test_text(void **state)
{
	const struct text_case *c = *state;
	struct error err = ERROR_INIT;
	struct id12 id;

	if (c->error) {
		assert_int_equal(ref1_parse(slice_text(c->text), &id, &err), ERR_FORMAT);
		assert_string_equal(err.text, c->error);
		return;
	}
	assert_ok(ref1_parse(slice_text(c->text), &id, &err), &err);
	assert_true(id12_equal(&id, &ID12_INITIAL_SNAPSHOT));
}

static void test_encode(void **state)
{
	CLEANUP(buf_done) struct buf out = BUF_INIT(100);
	struct error err = ERROR_INIT;

	(void)state;
	assert_ok(ref1_encode(&ID12_INITIAL_SNAPSHOT, &out, &err), &err);
	assert_true(slice_is(buf_slice(&out), "{\"snapshot\":\"1CECHNKREP0F1RSTCMT0\"}"));
	assert_int_equal(out.size, 35);
}

static void test_broken_escapes_stay(void **state)
{
	CLEANUP(buf_done) struct buf out = BUF_INIT(100);
	struct error err = ERROR_INIT;

	(void)state;
	assert_ok(ref1_name_decode(slice_text("a%zz%4%41%"), &out, &err), &err);
	assert_true(slice_is(buf_slice(&out), "a%zz%4A%"));
}

static void test_names_that_cannot_be(void **state)
{
	CLEANUP(buf_done) struct buf out = BUF_INIT(100);
	struct error err = ERROR_INIT;

	(void)state;
	assert_int_equal(ref1_key_format(REF1_TAG, slice_text("a/b"), true, false, &out, &err),
			 ERR_ARGUMENT);
	assert_int_equal(ref1_key_format(REF1_TAG, slice_text(""), true, false, &out, &err),
			 ERR_ARGUMENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_encode),
		cmocka_unit_test(test_broken_escapes_stay),
		cmocka_unit_test(test_names_that_cannot_be),
	};
	int failed = RUN_CASES(test_name, names);

	failed += RUN_CASES(test_key, keys);
	failed += RUN_CASES(test_text, texts);
	return failed + cmocka_run_group_tests_name("references", tests, NULL, NULL);
}
