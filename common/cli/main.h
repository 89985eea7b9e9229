/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A program of commands
 *
 * cli_main() finds the command, reads its options, runs it, reports an error once (one line on
 * standard error, or one JSON object with --log-format json; a second line says what can be done),
 * and gives the exit status.
 *
 * Threads: commands run in the first thread.
 */

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "cli/common.h"
#include "cli/options.h"
#include "cli/output.h"

/* Outcomes of a command besides 0 and errors: exit statuses. */
enum {
	CLI_FOUND_SOMETHING = 3, /* a check found something, or what was asked for is not there */
	CLI_TRY_AGAIN = 75
};

/* What a running command has at hand. */
struct cli {
	char name[128]; /* "refmt repo ls" */
	struct output
		*out; /* standard output; dropped, as far as not flushed, when the command fails */
	bool show_progress;   /* for progress_start() */
	struct arena *memory; /* ends with the command */
	char hint[256];	      /* cli_hint() */
	int error_status;     /* exit status of an error, if not 0, instead of what its kind says */
};

struct cli_command {
	const char *name;    /* NULL ends a table */
	const char *help;    /* one line, lower case, no full stop */
	const char *details; /* more for its own help: whole lines; or NULL */
	/* A command that does something: */
	const struct cli_option *options;
	size_t size; /* of the struct that the options fill, which begins as zeros */
	/* Returns 0, one of the outcomes above, or an error.  The hint is for cli_hint(). */
	int (*run)(struct cli *cli, const void *options, struct error *err);
	/* Commands below this one.  With @run as well, a first argument that names none is run's.
	 */
	const struct cli_command *commands;
};

/* Runs the command that the arguments name below @program; returns the exit status. */
int cli_main(const struct cli_command *program, const char *version, int argc, char **argv);
/* Says what the user can do about the error that the command is about to return. */
void cli_hint(struct cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3)));
