/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/regex.h"

#define TEXT(literal)                                           \
	{                                                       \
		(const uint8_t *)(literal), sizeof(literal) - 1 \
	}

/* Results of Rust's regex crate 1.13, Regex::new(pattern).is_match(text). */
static struct search_case {
	const char *name; /* the pattern */
	struct slice text;
	bool found;
} search_cases[] = {
	{"", TEXT(""), true},
	{"^temp", TEXT("temperature_2m"), true},
	{"^temp", TEXT("dew_temp"), false},
	{"^/(sfc|prs)/.*$", TEXT("/sfc/temperature"), true},
	{"(?:a|b){2,3}c", TEXT("xabac"), true},
	{"a{2}", TEXT("aba"), false},
	{"a.c", TEXT("a\nc"), false},
	{"(?s)a.c", TEXT("a\nc"), true},
	{"a$", TEXT("a\n"), false},
	{"(?m)a$", TEXT("a\nb"), true},
	{"(?m)^$", TEXT("a\n"), true},
	{"\\Aa\\z", TEXT("a"), true},
	{"(?i)\xc3\xa9", TEXT("\xc3\x89"), true},
	{"(?i:A)b", TEXT("ab"), true},
	{"(?i:A)b", TEXT("aB"), false},
	{"^\\w$", TEXT("\xc3\xa9"), true},
	{"^\\d$", TEXT("\xd9\xa3"), true}, /* ARABIC-INDIC DIGIT THREE */
	{"^.$", TEXT("\xf0\x9f\x98\x80"), true},
	{"\\x41\\x{e9}\\u0062\\U00000063\\u{64}",
	 TEXT("A\xc3\xa9"
	      "bcd"),
	 true},
	{"^\\v$", TEXT("\x0b"), true},
	{"^\\v$", TEXT("\x0c"), false},
	{"^[[:alpha:]]$", TEXT("z"), true},
	{"^[[:alpha:]]$", TEXT("\xc3\xa9"), false},
	{"^[[:punct:]]{4}$", TEXT("[`\\~"), true},
	{"^[]a]+$", TEXT("a]"), true},
	{"^[^]a]$", TEXT("]"), false},
	{"^[a\\-z]$", TEXT("m"), false},
	{"\\p{Greek}\\pL", TEXT("\xce\xa9x"), true},
	{"(?P<year>\\d+)-(?<month>\\d+)", TEXT("2026-01"), true},
	{"a*?b+?", TEXT("b"), true},
	{"}]", TEXT("}]"), true},
	{"a\\.b\\#\\ \\_", TEXT("a.b# _"), true},
};

static void test_search(void **state)
{
	const struct search_case *c = *state;
	CLEANUP(regex_freep) struct regex *regex = NULL;
	struct error err = ERROR_INIT;
	bool found = !c->found;

	assert_ok(regex_new(slice_text(c->name), &regex, &err), &err);
	assert_ok(regex_search(regex, c->text, &found, &err), &err);
	assert_int_equal(found, c->found);
}

/* What Rust refuses, what would mean something else here, and what could run away. */
static struct refused_case {
	const char *name; /* the pattern */
	const char *error;
} refused_cases[] = {
	{"a(?=b)", "byte 1: look-around is not supported"},
	{"(?!b)", "byte 0: look-around is not supported"},
	{"(?<=a)b", "byte 0: look-around is not supported"},
	{"(?<!a)b", "byte 0: look-around is not supported"},
	{"(a)\\1", "byte 3: back-references are not supported"},
	{"(?<x>a)\\k<x>", "byte 7: back-references are not supported"},
	{"\\g{1}", "byte 0: back-references are not supported"},
	{"(?P=x)", "byte 0: this kind of group is not supported"},
	{"(?R)", "byte 0: this kind of group is not supported"},
	{"(?1)", "byte 0: this kind of group is not supported"},
	{"(?&x)", "byte 0: this kind of group is not supported"},
	{"(?P>x)", "byte 0: this kind of group is not supported"},
	{"(?C1)", "byte 0: this kind of group is not supported"},
	{"(?(1)a|b)", "byte 0: this kind of group is not supported"},
	{"(?>a)", "byte 0: this kind of group is not supported"},
	{"(?|a)", "byte 0: this kind of group is not supported"},
	{"(?#a)", "byte 0: this kind of group is not supported"},
	{"(?x) a", "byte 0: this kind of group is not supported"},
	{"(?", "byte 0: this kind of group is not supported"},
	{"(*UTF)a", "byte 1: nothing to repeat"},
	{"a\\Kb", "byte 1: unknown escape"},
	{"\\Q.\\E", "byte 0: unknown escape"},
	{"\\Z", "byte 0: unknown escape"},
	{"\\G", "byte 0: unknown escape"},
	{"\\R", "byte 0: unknown escape"},
	{"\\C", "byte 0: unknown escape"},
	{"\\h", "byte 0: unknown escape"},
	{"\\b{start}", "byte 0: unknown escape"},
	{"[\\b]", "byte 1: unknown escape"},
	{"a\\", "byte 1: unknown escape"},
	{"\\x4", "byte 0: expected hex digits"},
	{"\\x{}", "byte 0: expected hex digits"},
	{"\\u{41", "byte 0: expected hex digits"},
	{"\\p{", "byte 0: expected the name of a property"},
	{"a++", "byte 2: a repetition of a repetition needs a group"},
	{"a{2}+", "byte 4: a repetition of a repetition needs a group"},
	{"a{,2}", "byte 1: expected a repetition such as {2,3}"},
	{"a{b", "byte 1: expected a repetition such as {2,3}"},
	{"[a[bc]]", "byte 2: classes in classes are not supported"},
	{"[+-[:digit:]]", "byte 3: classes in classes are not supported"},
	{"[a&&b]", "byte 2: set operations are not supported"},
	{"[a--b]", "byte 2: set operations are not supported"},
	{"[ab", "byte 0: class without end"},
	{"[]", "byte 0: class without end"},
	{"(?<1", "byte 0: expected the name of a group"},
	{"(?i)\\p{Lu}", "byte 0: properties without regard to case are not supported"},
	{"*a", "byte 0: quantifier does not follow a repeatable item"},
	{"(a", "byte 2: missing closing parenthesis"},
	{"a)", "byte 1: unmatched closing parenthesis"},
	{"[b-a]", "byte 3: range out of order in character class"},
	{"\\p{Klingon}", "byte 11: unknown property after \\P or \\p"},
};

static void test_refused(void **state)
{
	const struct refused_case *c = *state;
	struct regex *regex = NULL;
	struct error err = ERROR_INIT;
	char want[200];

	assert_int_equal(regex_new(slice_text(c->name), &regex, &err), ERR_FORMAT);
	assert_null(regex);
	snprintf(want, sizeof(want), "pattern '%s': %s", c->name, c->error);
	assert_string_equal(err.text, want);
}

static void test_hostile_patterns_end(void **state)
{
	CLEANUP(regex_freep) struct regex *regex = NULL;
	struct error err = ERROR_INIT;
	char nested[2000];
	bool found;

	(void)state;
	memset(nested, '(', sizeof(nested));
	assert_int_equal(regex_new(slice_of(nested, sizeof(nested)), &regex, &err), ERR_FORMAT);
	assert_int_equal(regex_new(slice_text("((a{1000}){1000}){1000}"), &regex, &err),
			 ERR_FORMAT);
	assert_int_equal(regex_new(slice_of(nested, 1 << 20), &regex, &err), ERR_FORMAT);
	assert_ok(regex_new(slice_text("^(a|a)*(a|a)*$"), &regex, &err), &err);
	assert_int_equal(
		regex_search(regex, slice_text("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"), &found, &err),
		ERR_FORMAT);
	assert_string_equal(err.text, "cannot search 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab': "
				      "match limit exceeded");
}

static void test_text_that_is_no_utf8(void **state)
{
	CLEANUP(regex_freep) struct regex *regex = NULL;
	struct error err = ERROR_INIT;
	bool found;

	(void)state;
	assert_int_equal(regex_new(slice_text("a\xff"), &regex, &err), ERR_FORMAT);
	assert_ok(regex_new(slice_text("a"), &regex, &err), &err);
	assert_int_equal(regex_search(regex, slice_text("a\xff"), &found, &err), ERR_FORMAT);
	assert_ok(regex_search(regex, (struct slice){NULL, 0}, &found, &err), &err);
	assert_false(found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hostile_patterns_end),
		cmocka_unit_test(test_text_that_is_no_utf8),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	failed += RUN_CASES(test_search, search_cases);
	failed += RUN_CASES(test_refused, refused_cases);
	return failed;
}
