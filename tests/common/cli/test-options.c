/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/time.h"
#include "cli/options.h"

struct inner {
	const char *word;
	bool flag;
};

struct sample {
	const char *url, *path;
	bool json, force;
	int verbose, view, color;
	const char *message;
	struct cli_list filters, mount_options;
	struct cli_u64 number, cache;
	struct cli_i64 offset, when, wait;
	struct cli_double scale;
	struct inner inner;
};

static int check_inner(const void *target, struct error *err)
{
	const struct inner *inner = target;

	if (inner->flag && !inner->word)
		return error_set(err, ERR_ARGUMENT, "--flag needs --word");
	return 0;
}

static const struct cli_option inner_options[] = {
	{CLI_TEXT, "word", CLI_AT(struct inner, word), .value = "W", .help = "some word"},
	{CLI_FLAG, "flag", CLI_AT(struct inner, flag), .help = "some flag"},
	{CLI_END},
};

static const struct cli_group inner_group = {"Inner", inner_options, check_inner};
static const char *const views[] = {"decoded", "stored", NULL};
static const char *const colors[] = {"auto", "always", "never", NULL};

static const struct cli_option options[] = {
	{CLI_ARGUMENT, "URL", CLI_AT(struct sample, url), .required = true},
	{CLI_ARGUMENT, "PATH", CLI_AT(struct sample, path)},
	{CLI_FLAG, "json", CLI_AT(struct sample, json), .help = "print one JSON document"},
	{CLI_FLAG, NULL, CLI_AT(struct sample, force), .letter = 'f', .help = "do it"},
	{CLI_COUNT, "verbose", CLI_AT(struct sample, verbose), .letter = 'v'},
	{CLI_TEXT, "message", CLI_AT(struct sample, message), .letter = 'm', .value = "TEXT",
	 .help = "what to say"},
	{CLI_LIST, "filter", CLI_AT(struct sample, filters), .value = "F"},
	{CLI_U64, "number", CLI_AT(struct sample, number), .value = "N"},
	{CLI_SIZE, "cache-size", CLI_AT(struct sample, cache), .value = "SIZE"},
	{CLI_I64, "offset", CLI_AT(struct sample, offset)},
	{CLI_TIME, "when", CLI_AT(struct sample, when), .value = "TIME"},
	{CLI_DURATION, "wait", CLI_AT(struct sample, wait), .value = "TIME"},
	{CLI_DOUBLE, "scale", CLI_AT(struct sample, scale)},
	{CLI_CHOICE, "view", CLI_AT(struct sample, view), .choices = views},
	{CLI_CHOICE, "color", CLI_AT(struct sample, color), .choices = colors, .alone = "always"},
	{CLI_SUBOPTIONS, "options", CLI_AT(struct sample, mount_options), .letter = 'o',
	 .value = "OPT,\xe2\x80\xa6", .help = "any of them"},
	{CLI_GROUP, .group = &inner_group, CLI_AT(struct sample, inner)},
	{CLI_END},
};

#define ARGS_MAX 12

static int parse_args(const char *const *args, struct sample *sample, struct arena *memory,
		      struct error *err)
{
	char *argv[ARGS_MAX];
	int argc = 0;

	for (; args[argc]; argc++)
		argv[argc] = (char *)(uintptr_t)args[argc];
	return cli_parse(options, sample, argc, argv, memory, err);
}

static struct accepted_case {
	const char *name;
	const char *args[ARGS_MAX];
	struct sample want; /* but for lists and times */
} accepted_cases[] = {
	{"argument alone", {"u"}, {.url = "u"}},
	{"options around arguments",
	 {"--json", "u", "-m", "hello", "p", "--number", "7"},
	 {.url = "u", .path = "p", .json = true, .message = "hello", .number = {7, true}}},
	{"joined values",
	 {"u", "--message=--x", "--number=0", "--view=stored"},
	 {.url = "u", .message = "--x", .number = {0, true}, .view = 1}},
	{"empty value", {"u", "--message="}, {.url = "u", .message = ""}},
	{"value with equals signs", {"u", "--message=a=b=c"}, {.url = "u", .message = "a=b=c"}},
	{"joined to a letter", {"u", "-mhello"}, {.url = "u", .message = "hello"}},
	{"letters together",
	 {"-fvvmx", "u"},
	 {.url = "u", .force = true, .verbose = 2, .message = "x"}},
	{"count", {"-v", "u", "--verbose", "-v"}, {.url = "u", .verbose = 3}},
	{"flag twice", {"u", "--json", "--json"}, {.url = "u", .json = true}},
	{"negative numbers",
	 {"u", "--offset", "-12", "--scale", "-.5"},
	 {.url = "u", .offset = {-12, true}, .scale = {-0.5, true}}},
	{"negative argument", {"-12", "-"}, {.url = "-12", .path = "-"}},
	{"hyphen as value", {"u", "-m", "-"}, {.url = "u", .message = "-"}},
	{"end of options", {"--", "--json", "-m"}, {.url = "--json", .path = "-m"}},
	{"size", {"u", "--cache-size", "2G"}, {.url = "u", .cache = {UINT64_C(2) << 30, true}}},
	{"duration", {"u", "--wait", "-3h"}, {.url = "u", .wait = {-3 * TIME_HOUR, true}}},
	{"value left out", {"--color", "u"}, {.url = "u", .color = 1}},
	{"value not left out", {"--color=never", "u"}, {.url = "u", .color = 2}},
	{"group", {"u", "--flag", "--word", "w"}, {.url = "u", .inner = {"w", true}}},
	{"mount options",
	 {"u", "-o", "view=stored,json,number=5,color", "-oword=a=b"},
	 {.url = "u",
	  .view = 1,
	  .json = true,
	  .number = {5, true},
	  .color = 1,
	  .inner = {"a=b", false}}},
};

static void assert_text(const char *text, const char *want)
{
	if (want)
		assert_string_equal(text, want);
	else
		assert_null(text);
}

static void test_accepted(void **state)
{
	const struct accepted_case *c = *state;
	CLEANUP(arena_done) struct arena memory = ARENA_INIT;
	struct error err = ERROR_INIT;
	struct sample got = {0};

	assert_ok(parse_args(c->args, &got, &memory, &err), &err);
	assert_text(got.url, c->want.url);
	assert_text(got.path, c->want.path);
	assert_text(got.message, c->want.message);
	assert_text(got.inner.word, c->want.inner.word);
	assert_int_equal(got.inner.flag, c->want.inner.flag);
	assert_int_equal(got.json, c->want.json);
	assert_int_equal(got.force, c->want.force);
	assert_int_equal(got.verbose, c->want.verbose);
	assert_int_equal(got.view, c->want.view);
	assert_int_equal(got.color, c->want.color);
	assert_memory_equal(&got.number, &c->want.number, sizeof(got.number));
	assert_memory_equal(&got.cache, &c->want.cache, sizeof(got.cache));
	assert_memory_equal(&got.offset, &c->want.offset, sizeof(got.offset));
	assert_memory_equal(&got.wait, &c->want.wait, sizeof(got.wait));
	assert_memory_equal(&got.scale, &c->want.scale, sizeof(got.scale));
}

static struct refused_case {
	const char *name; /* the message */
	const char *args[ARGS_MAX];
} refused_cases[] = {
	{"argument URL is missing", {"--json"}},
	{"unexpected argument 'c'", {"a", "b", "c"}},
	{"unknown option '--jsn', did you mean --json?", {"u", "--jsn"}},
	{"unknown option '--cache-szie', did you mean --cache-size?", {"u", "--cache-szie=1"}},
	{"unknown option '--xyzzy'", {"u", "--xyzzy"}},
	{"unknown option '--URL'", {"u", "--URL", "x"}},
	{"unknown option '--'", {"u", "--=x"}},
	{"unknown option '-x'", {"u", "-x"}},
	{"unknown option '-x'", {"u", "-fx"}},
	{"option --json takes no value", {"u", "--json=1"}},
	{"option --message needs a value", {"u", "--message"}},
	{"option --message needs a value", {"u", "-m"}},
	{"option --message needs a value (with '=' if it begins with '-')", {"u", "-m", "--json"}},
	{"option --message needs a value (with '=' if it begins with '-')", {"u", "-m", "-x"}},
	{"option --message is given twice", {"u", "-m", "a", "--message", "b"}},
	{"option --number: 'x' is no whole number", {"u", "--number", "x"}},
	{"option --number: '-1' is no whole number", {"u", "--number", "-1"}},
	{"option --cache-size: '1T' is no size such as 512, 64K, 64M or 1G",
	 {"u", "--cache-size", "1T"}},
	{"option --scale: 'nan' is no number", {"u", "--scale", "nan"}},
	{"option --wait: 'long' is no duration such as 48h, 2d or 30m", {"u", "--wait", "long"}},
	{"option --when: 'x' is no time such as 2026-01-02T03:04:05Z, 2026-01-02 or 7d",
	 {"u", "--when", "x"}},
	{"option --view: 'all' is none of decoded, stored", {"u", "--view", "all"}},
	{"option --view: '' is none of decoded, stored", {"u", "--view="}},
	{"--flag needs --word", {"u", "--flag"}},
	{"option --view: 'x' is none of decoded, stored", {"u", "-o", "view=x"}},
	{"option -o number needs a value", {"u", "-o", "number"}},
	{"option --json takes no value", {"u", "-o", "json=1"}},
	{"option --number is given twice", {"u", "--number", "1", "-o", "number=2"}},
};

static void test_refused(void **state)
{
	const struct refused_case *c = *state;
	CLEANUP(arena_done) struct arena memory = ARENA_INIT;
	struct error err = ERROR_INIT;
	struct sample got = {0};

	assert_int_equal(parse_args(c->args, &got, &memory, &err), ERR_ARGUMENT);
	assert_string_equal(err.text, c->name);
}

static void test_lists(void **state)
{
	const char *args[] = {"u",	  "--filter",
			      "a",	  "--filter=b",
			      "-o",	  "allow_other,uid=0,,a\\,b=c\\\\d",
			      "--filter", "c",
			      "-o",	  "view=stored,ro,options=options=x",
			      NULL};
	CLEANUP(arena_done) struct arena memory = ARENA_INIT;
	struct error err = ERROR_INIT;
	struct sample got = {0};

	(void)state;
	assert_ok(parse_args(args, &got, &memory, &err), &err);
	assert_int_equal(got.filters.n, 3);
	assert_string_equal(got.filters.items[0], "a");
	assert_string_equal(got.filters.items[1], "b");
	assert_string_equal(got.filters.items[2], "c");
	assert_int_equal(got.mount_options.n, 5);
	assert_string_equal(got.mount_options.items[0], "allow_other");
	assert_string_equal(got.mount_options.items[1], "uid=0");
	assert_string_equal(got.mount_options.items[2], "a,b=c\\d");
	assert_string_equal(got.mount_options.items[3], "ro");
	assert_string_equal(got.mount_options.items[4], "options=options=x");
	assert_int_equal(got.view, 1);
}

static void test_ages_count_back_from_now(void **state)
{
	const char *args[] = {"u", "--when", "1d", NULL};
	CLEANUP(arena_done) struct arena memory = ARENA_INIT;
	struct error err = ERROR_INIT;
	struct sample got = {0};
	int64_t before = time_now();

	(void)state;
	assert_ok(parse_args(args, &got, &memory, &err), &err);
	assert_true(got.when.given && got.when.value >= before - TIME_DAY &&
		    got.when.value <= time_now() - TIME_DAY);
}

static void test_help_wins_over_errors(void **state)
{
	const char *args[] = {"--wrong", "-h", NULL};
	const char *behind[] = {"--", "-h", NULL};
	CLEANUP(arena_done) struct arena memory = ARENA_INIT;
	struct error err = ERROR_INIT;
	struct sample got = {0};

	(void)state;
	assert_int_equal(parse_args(args, &got, &memory, &err), CLI_HELP);
	assert_ok(parse_args(behind, &got, &memory, &err), &err);
	assert_string_equal(got.url, "-h");
}

static void test_help_text(void **state)
{
	CLEANUP(buf_done) struct buf out = BUF_INIT(5000);
	struct error err = ERROR_INIT;

	(void)state;
	assert_ok(cli_usage(options, &out, &err), &err);
	assert_ok(cli_describe(options, &out, &err), &err);
	assert_string_equal(buf_text(&out, &err),
			    " [OPTION]... URL [PATH]\n"
			    "Options:\n"
			    "      --json                      print one JSON document\n"
			    "  -f                              do it\n"
			    "  -v, --verbose                   \n"
			    "  -m, --message TEXT              what to say\n"
			    "      --filter F                  \n"
			    "      --number N                  \n"
			    "      --cache-size SIZE           \n"
			    "      --offset VALUE              \n"
			    "      --when TIME                 \n"
			    "      --wait TIME                 \n"
			    "      --scale VALUE               \n"
			    "      --view decoded|stored       \n"
			    "      --color[=auto|always|never] \n"
			    "  -o, --options OPT,\xe2\x80\xa6             any of them\n"
			    "\n"
			    "Inner:\n"
			    "      --word W                    some word\n"
			    "      --flag                      some flag\n");
}

static void test_arguments_that_are_left(void **state)
{
	struct rest {
		const char *first;
		struct cli_list others;
	} rest = {0};
	const struct cli_option table[] = {
		{CLI_ARGUMENT, "FIRST", CLI_AT(struct rest, first), .required = true},
		{CLI_ARGUMENTS, "OTHER", CLI_AT(struct rest, others), .required = true},
		{CLI_END},
	};
	char a[] = "a", b[] = "b", c[] = "c";
	char *argv[] = {a, b, c};
	CLEANUP(arena_done) struct arena memory = ARENA_INIT;
	CLEANUP(buf_done) struct buf usage = BUF_INIT(100);
	struct error err = ERROR_INIT;

	(void)state;
	assert_int_equal(cli_parse(table, &rest, 1, argv, &memory, &err), ERR_ARGUMENT);
	assert_string_equal(err.text, "argument OTHER is missing");
	assert_ok(cli_parse(table, &rest, 3, argv, &memory, &err), &err);
	assert_int_equal(rest.others.n, 2);
	assert_string_equal(rest.others.items[1], "c");
	assert_ok(cli_usage(table, &usage, &err), &err);
	assert_true(slice_is(buf_slice(&usage), " FIRST OTHER..."));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_ages_count_back_from_now),
		cmocka_unit_test(test_help_wins_over_errors),
		cmocka_unit_test(test_help_text),
		cmocka_unit_test(test_arguments_that_are_left),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	failed += RUN_CASES(test_accepted, accepted_cases);
	failed += RUN_CASES(test_refused, refused_cases);
	return failed;
}
