/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/main.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/text.h"
#include "base/vec.h"
#include "cli/progress.h"
#include "cli/signals.h"

#define COMMANDS_MAX 64

void cli_hint(struct cli *cli, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(cli->hint, sizeof(cli->hint), format, args);
	va_end(args);
}

/* Finding the command */

static void add_name(struct cli *cli, const char *name)
{
	size_t used = strlen(cli->name);

	snprintf(cli->name + used, sizeof(cli->name) - used, " %s", name);
}

static const struct cli_command *find_below(const struct cli_command *command, const char *name)
{
	const struct cli_command *below = command->commands;

	for (; below && below->name; below++) {
		if (strcmp(below->name, name) == 0)
			return below;
	}
	return NULL;
}

/* Takes as many words from the arguments as name commands. */
static const struct cli_command *find_command(struct cli *cli, const struct cli_command *command,
					      int *argc, char ***argv)
{
	const struct cli_command *below;

	while (*argc > 0 && (below = find_below(command, **argv))) {
		add_name(cli, below->name);
		command = below;
		++*argv;
		--*argc;
	}
	return command;
}

static int unknown_command(const struct cli_command *command, const char *name, struct error *err)
{
	const char *names[COMMANDS_MAX + 1] = {NULL};
	const char *nearest;

	for (size_t i = 0; i < COMMANDS_MAX && command->commands[i].name; i++)
		names[i] = command->commands[i].name;
	nearest = cli_nearest(name, names);
	if (nearest)
		return error_set(err, ERR_ARGUMENT, "unknown command '%s', did you mean %s?", name,
				 nearest);
	return error_set(err, ERR_ARGUMENT, "unknown command '%s'", name);
}

/* Help */

static int print_commands(const struct cli_command *command, struct buf *out, struct error *err)
{
	int r = buf_append_text(out, "\nCommands:\n", err);

	for (const struct cli_command *c = command->commands; r == 0 && c->name; c++)
		r = buf_printf(out, err, "  %-20s%s\n", c->name, c->help);
	return r;
}

static int print_usage(const struct cli *cli, const struct cli_command *command, struct buf *out,
		       struct error *err)
{
	int r = 0;

	if (command->run) {
		r = buf_printf(out, err, "Usage: %s", cli->name);
		if (r == 0)
			r = cli_usage(command->options, out, err);
		if (r == 0)
			r = buf_append_text(out, "\n", err);
	}
	if (r == 0 && command->commands)
		r = buf_printf(out, err, "%s%s COMMAND ...\n",
			       command->run ? "       " : "Usage: ", cli->name);
	return r;
}

static int print_help(struct cli *cli, const struct cli_command *command, struct error *err)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT(BUF_NO_LIMIT);
	int r;

	r = print_usage(cli, command, &text, err);
	if (r == 0 && command->help)
		r = buf_printf(&text, err, "\n%s\n", command->help);
	if (r == 0 && command->details)
		r = buf_printf(&text, err, "\n%s", command->details);
	if (r == 0 && command->commands)
		r = print_commands(command, &text, err);
	if (r == 0 && command->run)
		r = cli_describe(command->options, &text, err);
	if (r < 0)
		return r;
	output_drain(cli->out, &text);
	return 0;
}

/* Messages */

/* The struct that the group of messages fills, or NULL: where cli_parse() has put it. */
static const struct cli_common *find_messages(const struct cli_option *options, const char *target)
{
	for (; options->kind != CLI_END; options++) {
		const char *member = target + options->offset;
		const struct cli_common *found;

		if (options->kind != CLI_GROUP)
			continue;
		if (options->group == &cli_message_group)
			return (const struct cli_common *)(const void *)member;
		found = find_messages(options->group->options, member);
		if (found)
			return found;
	}
	return NULL;
}

static enum log_level log_level_of(const struct cli_common *common)
{
	int level = LOG_WARNING + common->verbose;

	if (common->quiet)
		return LOG_ERROR;
	/* Machines are told of every event. */
	if (common->log_format == LOG_JSON && level < LOG_INFO)
		return LOG_INFO;
	return level < LOG_DEBUG ? (enum log_level)level : LOG_DEBUG;
}

static bool is_terminal(int fd)
{
	const char *term = getenv("TERM");

	return isatty(fd) && (!term || strcmp(term, "dumb") != 0);
}

static bool wants_color(const struct cli_common *common)
{
	const char *no_color = getenv("NO_COLOR");

	if (common->color != CLI_COLOR_AUTO)
		return common->color == CLI_COLOR_ALWAYS;
	return is_terminal(STDOUT_FILENO) && (!no_color || !no_color[0]);
}

static void set_up_messages(struct cli *cli, const struct cli_common *common)
{
	log_setup(log_level_of(common), (enum log_format)common->log_format);
	cli->out->color = wants_color(common);
	cli->show_progress = common->progress == CLI_PROGRESS_AUTO && !common->quiet &&
			     common->log_format == LOG_TEXT && is_terminal(STDERR_FILENO);
}

/* Running */

static int run_with_options(struct cli *cli, const struct cli_command *command, int argc,
			    char **argv, struct error *err)
{
	void *options = arena_zalloc(cli->memory, 1, command->size, err);
	const struct cli_common *messages;
	int r;

	if (!options)
		return ERR_MEMORY;
	r = cli_parse(command->options, options, argc, argv, cli->memory, err);
	messages = find_messages(command->options, options);
	if (messages)
		set_up_messages(cli, messages);
	if (r == CLI_HELP)
		return print_help(cli, command, err);
	if (r == ERR_ARGUMENT)
		cli_hint(cli, "try '%s --help'", cli->name);
	if (r < 0)
		return r;
	return command->run(cli, options, err);
}

/* A command that only has others below it. */
static int run_parent(struct cli *cli, const struct cli_command *command, int argc, char **argv,
		      struct error *err)
{
	if (argc > 0 && (strcmp(*argv, "--help") == 0 || strcmp(*argv, "-h") == 0))
		return print_help(cli, command, err);
	cli_hint(cli, "try '%s --help'", cli->name);
	if (argc == 0)
		return error_set(err, ERR_ARGUMENT, "no command given");
	if (**argv == '-')
		return error_set(err, ERR_ARGUMENT, "option '%s' without a command", *argv);
	return unknown_command(command, *argv, err);
}

static int run(struct cli *cli, const struct cli_command *program, const char *version, int argc,
	       char **argv, struct error *err)
{
	const struct cli_command *command;

	if (argc > 0 && strcmp(*argv, "--version") == 0) {
		output_printf(cli->out, "%s %s\n", program->name, version);
		return 0;
	}
	command = find_command(cli, program, &argc, &argv);
	if (!command->run)
		return run_parent(cli, command, argc, argv, err);
	return run_with_options(cli, command, argc, argv, err);
}

static int error_status(const struct cli *cli, const struct error *err)
{
	return cli->error_status ? cli->error_status : error_exit_status(err->kind);
}

static void report(const struct cli *cli, const char *program, const struct error *err)
{
	const struct log_field fields[] = {
		{"command", cli->name, 0},
		{"kind", error_kind_name(err->kind), 0},
		{"exit_status", NULL, (uint64_t)error_status(cli, err)},
		{cli->hint[0] ? "hint" : NULL, cli->hint, 0},
		{NULL, NULL, 0},
	};

	progress_finish();
	if (log_is_json()) {
		log_fields(LOG_ERROR, "error", fields, "%s", err->text);
		return;
	}
	fprintf(stderr, "%s: %s\n", program, err->text);
	if (cli->hint[0])
		fprintf(stderr, "%s\n", cli->hint);
}

int cli_main(const struct cli_command *program, const char *version, int argc, char **argv)
{
	CLEANUP(arena_done) struct arena memory = ARENA_INIT;
	static struct output out;
	struct cli cli = {.out = &out, .memory = &memory};
	struct error err = ERROR_INIT;
	int r;

	cli_signals_init();
	output_init(&out, STDOUT_FILENO, false);
	snprintf(cli.name, sizeof(cli.name), "%s", program->name);
	if (argc > 0)
		r = run(&cli, program, version, argc - 1, argv + 1, &err);
	else
		r = run(&cli, program, version, 0, argv, &err);
	if (r < 0)
		output_discard(&out);
	else if (output_flush(&out, &err) < 0)
		r = err.kind;
	if (r >= 0)
		return r;
	if (err.kind == 0)
		error_set(&err, r, "%s failed", cli.name);
	report(&cli, program->name, &err);
	return error_status(&cli, &err);
}
