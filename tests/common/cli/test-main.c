/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <fcntl.h>

#include "base/json.h"
#include "base/log.h"
#include "capture.h"
#include "cli/main.h"

struct sample {
	struct cli_common common;
	const char *url;
	int status;
};

static int run_echo(struct cli *cli, const void *options, struct error *err)
{
	const struct sample *sample = options;

	(void)err;
	output_style(cli->out, STYLE_BOLD);
	output_printf(cli->out, "%s %s%s\n", cli->name, sample->url,
		      cli->show_progress ? " progress" : "");
	return 0;
}

static int run_fail(struct cli *cli, const void *options, struct error *err)
{
	const struct sample *sample = options;

	output_text(cli->out, "half of an answer");
	cli_hint(cli, "mount it again");
	return error_set(err, ERR_THROTTLED, "cannot read '%s': too many requests", sample->url);
}

static int run_fail_silently(struct cli *cli, const void *options, struct error *err)
{
	(void)cli;
	(void)options;
	(void)err;
	return ERR_FORMAT;
}

static int run_fail_for_now(struct cli *cli, const void *options, struct error *err)
{
	(void)options;
	cli->error_status = CLI_TRY_AGAIN;
	return error_set(err, ERR_CONFLICT, "lost ten times");
}

static int run_check(struct cli *cli, const void *options, struct error *err)
{
	(void)options;
	(void)err;
	output_text(cli->out, "one thing\n");
	return CLI_FOUND_SOMETHING;
}

static int run_log(struct cli *cli, const void *options, struct error *err)
{
	(void)cli;
	(void)options;
	(void)err;
	log_event(LOG_ERROR, "e", "e");
	log_event(LOG_WARNING, "w", "w");
	log_event(LOG_INFO, "i", "i");
	log_event(LOG_DEBUG, "d", "d");
	return 0;
}

static const struct cli_option options[] = {
	{CLI_ARGUMENT, "URL", CLI_AT(struct sample, url), .required = true},
	{CLI_GROUP, .group = &cli_common_group, CLI_AT(struct sample, common)},
	{CLI_END},
};

static const struct cli_command repo_commands[] = {
	{"echo", "say it", NULL, options, sizeof(struct sample), run_echo},
	{"fail", "cannot do it", "In detail.\n", options, sizeof(struct sample), run_fail},
	{"silent", "cannot say it", NULL, options, sizeof(struct sample), run_fail_silently},
	{"later", "cannot do it yet", NULL, options, sizeof(struct sample), run_fail_for_now},
	{"check", "find something", NULL, options, sizeof(struct sample), run_check},
	{"log", "write to the log", NULL, options, sizeof(struct sample), run_log},
	{NULL},
};

static const struct cli_command commands[] = {
	{"repo", "repositories", .commands = repo_commands},
	{NULL},
};

static const struct cli_command program = {"refmt", "weather archives", .commands = commands};

static const struct cli_command with_own_run = {
	"refmtfs", "mount", NULL, options, sizeof(struct sample), run_echo, repo_commands};

#define ARGS_MAX 8

struct call {
	const struct cli_command *program;
	const char *const *args;
};

static int call_main(void *argument)
{
	const struct call *call = argument;
	char *argv[ARGS_MAX + 1];
	int argc = 0;

	argv[argc++] = (char *)(uintptr_t) "/usr/bin/program";
	for (; call->args[argc - 1]; argc++)
		argv[argc] = (char *)(uintptr_t)call->args[argc - 1];
	return cli_main(call->program, "1.2.3", argc, argv);
}

static struct main_case {
	const char *name;
	const struct cli_command *program;
	const char *args[ARGS_MAX];
	int status;
	const char *out, *err;
} main_cases[] = {
	{"a command", &program, {"repo", "echo", "u"}, 0, "refmt repo echo u\n", ""},
	{"color asked for",
	 &program,
	 {"repo", "echo", "u", "--color"},
	 0,
	 "\x1b[1mrefmt repo echo u\n",
	 ""},
	{"version", &program, {"--version"}, 0, "refmt 1.2.3\n", ""},
	{"the word wins", &with_own_run, {"echo", "u"}, 0, "refmtfs echo u\n", ""},
	{"no word", &with_own_run, {"./echo"}, 0, "refmtfs ./echo\n", ""},
	{"no command", &program, {NULL}, 2, "", "refmt: no command given\ntry 'refmt --help'\n"},
	{"no command below",
	 &program,
	 {"repo"},
	 2,
	 "",
	 "refmt: no command given\ntry 'refmt repo --help'\n"},
	{"unknown command",
	 &program,
	 {"rpo"},
	 2,
	 "",
	 "refmt: unknown command 'rpo', did you mean repo?\ntry 'refmt --help'\n"},
	{"unknown command below",
	 &program,
	 {"repo", "xyzzy"},
	 2,
	 "",
	 "refmt: unknown command 'xyzzy'\ntry 'refmt repo --help'\n"},
	{"option first",
	 &program,
	 {"--quiet", "repo"},
	 2,
	 "",
	 "refmt: option '--quiet' without a command\ntry 'refmt --help'\n"},
	{"usage",
	 &program,
	 {"repo", "echo"},
	 2,
	 "",
	 "refmt: argument URL is missing\ntry 'refmt repo echo --help'\n"},
	{"failure with a hint",
	 &program,
	 {"repo", "fail", "u\n"},
	 75,
	 "",
	 "refmt: cannot read 'u?': too many requests\nmount it again\n"},
	{"failure without a text",
	 &program,
	 {"repo", "silent", "u"},
	 1,
	 "",
	 "refmt: refmt repo silent failed\n"},
	{"failure with its own status",
	 &program,
	 {"repo", "later", "u"},
	 75,
	 "",
	 "refmt: lost ten times\n"},
	{"a check that found something", &program, {"repo", "check", "u"}, 3, "one thing\n", ""},
	{"log", &program, {"repo", "log", "u"}, 0, "", "error: e\nwarning: w\n"},
	{"log of more",
	 &program,
	 {"repo", "log", "u", "-v"},
	 0,
	 "",
	 "error: e\nwarning: w\ninfo: i\n"},
	{"log of all",
	 &program,
	 {"repo", "log", "u", "-vvv"},
	 0,
	 "",
	 "error: e\nwarning: w\ninfo: i\ndebug: d\n"},
	{"quiet log", &program, {"repo", "log", "u", "--quiet"}, 0, "", "error: e\n"},
	{"help of a program",
	 &program,
	 {"--help"},
	 0,
	 "Usage: refmt COMMAND ...\n\nweather archives\n\nCommands:\n"
	 "  repo                repositories\n",
	 ""},
};

static void test_main(void **state)
{
	const struct main_case *c = *state;
	struct call call = {c->program, c->args};
	struct captured got;

	capture(call_main, &call, -1, &got);
	assert_string_equal(got.err, c->err);
	assert_string_equal(got.out, c->out);
	assert_int_equal(got.status, c->status);
}

static void test_help_of_a_command(void **state)
{
	const char *args[] = {"repo", "fail", "--help", NULL};
	struct call call = {&program, args};
	struct captured got;

	(void)state;
	capture(call_main, &call, -1, &got);
	assert_int_equal(got.status, 0);
	assert_true(
		strncmp(got.out,
			"Usage: refmt repo fail [OPTION]... URL\n\ncannot do it\n\nIn detail.\n\n"
			"Which snapshot:\n      --branch NAME   ",
			100) == 0);
	for (char *line = strtok(got.out, "\n"); line; line = strtok(NULL, "\n"))
		assert_true(strlen(line) <= 100);
}

static void test_help_of_a_program_that_runs_itself(void **state)
{
	const char *args[] = {"--help", NULL};
	struct call call = {&with_own_run, args};
	struct captured got;

	(void)state;
	capture(call_main, &call, -1, &got);
	assert_true(
		strncmp(got.out,
			"Usage: refmtfs [OPTION]... URL\n       refmtfs COMMAND ...\n\nmount\n\n"
			"Commands:\n  echo ",
			70) == 0);
}

static void test_failure_as_json(void **state)
{
	const char *args[] = {"repo", "fail", "u", "--log-format=json", NULL};
	struct call call = {&program, args};
	struct error err = ERROR_INIT;
	struct json root, value;
	struct captured got;
	uint64_t status;

	(void)state;
	capture(call_main, &call, -1, &got);
	assert_int_equal(got.status, 75);
	assert_ok(json_parse(slice_text(got.err), &root, &err), &err);
	assert_int_equal(json_get(&root, "message", &value), 0);
	assert_true(json_is_text(&value, "cannot read 'u': too many requests"));
	assert_int_equal(json_get(&root, "command", &value), 0);
	assert_true(json_is_text(&value, "refmt repo fail"));
	assert_int_equal(json_get(&root, "kind", &value), 0);
	assert_true(json_is_text(&value, "throttled"));
	assert_int_equal(json_get(&root, "hint", &value), 0);
	assert_true(json_is_text(&value, "mount it again"));
	assert_int_equal(json_get(&root, "exit_status", &value), 0);
	assert_ok(json_u64(&value, &status, &err), &err);
	assert_int_equal(status, 75);
}

static void test_output_that_cannot_be_written(void **state)
{
	CLEANUP(closep) int full = open("/dev/full", O_WRONLY);
	const char *args[] = {"repo", "check", "u", NULL};
	struct call call = {&program, args};
	struct captured got;

	(void)state;
	capture(call_main, &call, full, &got);
	assert_int_equal(got.status, 1);
	assert_string_equal(got.err,
			    "refmt: cannot write to standard output: No space left on device\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_help_of_a_command),
		cmocka_unit_test(test_help_of_a_program_that_runs_itself),
		cmocka_unit_test(test_failure_as_json),
		cmocka_unit_test(test_output_that_cannot_be_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) + RUN_CASES(test_main, main_cases);
}
