/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Options of a command, from a table
 *
 * A table says which options and arguments a command has and which members of a struct of the
 * caller they fill; the same table makes the help text.  Groups are tables that several commands
 * share.
 *
 *	struct ls {
 *		struct cli_common common;
 *		const char *url, *path;
 *		bool json;
 *	};
 *
 *	static const struct cli_option ls_options[] = {
 *		{CLI_ARGUMENT, "URL", CLI_AT(struct ls, url), .required = true},
 *		{CLI_ARGUMENT, "PATH", CLI_AT(struct ls, path)},
 *		{CLI_FLAG, "json", CLI_AT(struct ls, json), .help = "print one JSON document"},
 *		{CLI_GROUP, .group = &cli_common_group, CLI_AT(struct ls, common)},
 *		{CLI_END},
 *	};
 *
 * Accepted: --name VALUE, --name=VALUE, -n VALUE, -nVALUE, letters of flags together (-fv), --help,
 * and -- before arguments that begin with a hyphen.  A value that begins with a hyphen must be
 * joined with '=' unless it is a number or the hyphen alone.
 *
 * Texts lend from argv or from the arena.  Threads: any.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"

enum cli_kind {
	CLI_END,	/* ends a table */
	CLI_FLAG,	/* bool */
	CLI_COUNT,	/* int: how often it was given */
	CLI_TEXT,	/* const char *; NULL unless given */
	CLI_LIST,	/* struct cli_list: the values of every time it was given */
	CLI_U64,	/* struct cli_u64 */
	CLI_SIZE,	/* struct cli_u64; "512", "64K", "64M", "1G" */
	CLI_I64,	/* struct cli_i64 */
	CLI_DOUBLE,	/* struct cli_double */
	CLI_TIME,	/* struct cli_i64: microseconds since 1970; ages count back from now */
	CLI_DURATION,	/* struct cli_i64: microseconds; "48h", "30m" */
	CLI_CHOICE,	/* int: index in @choices */
	CLI_CALL,	/* what @read makes of each value */
	CLI_SUBOPTIONS, /* struct cli_list: see below */
	CLI_ARGUMENT,	/* const char *: an argument, in the order of the table */
	CLI_ARGUMENTS,	/* struct cli_list: all arguments that are left */
	CLI_GROUP,	/* the members of @group, whose struct is at @offset */
};

/*
 * CLI_SUBOPTIONS is "-o a=b,c": each part that names an option of the command is that option, the
 * others go to the list.  A backslash takes the meaning from the comma behind it.
 */

struct cli_list {
	const char **items;
	size_t n;
};

struct cli_u64 {
	uint64_t value;
	bool given;
};

struct cli_i64 {
	int64_t value;
	bool given;
};

struct cli_double {
	double value;
	bool given;
};

struct cli_group;

struct cli_option {
	enum cli_kind kind;
	const char *name;  /* without hyphens; of an argument: as the help shows it */
	size_t offset;	   /* of the member in the caller's struct: CLI_AT() */
	const char *help;  /* one line, lower case, no full stop */
	const char *value; /* as the help shows the value: "NAME" */
	char letter;	   /* short form, or 0 */
	bool required;
	const char *const *choices; /* ended by NULL */
	const char *alone; /* value of the option given without one, which is then allowed */
	int (*read)(void *member, const char *text, struct arena *memory, struct error *err);
	const struct cli_group *group;
};

struct cli_group {
	const char *title; /* headline in the help */
	const struct cli_option *options;
	/* Looks at the members together, once all are read; ERR_ARGUMENT.  NULL: nothing to check.
	 */
	int (*check)(const void *target, struct error *err);
};

#define CLI_AT(type, member) .offset = offsetof(type, member)

enum { CLI_HELP = 1 };

/*
 * Fills @target from the arguments (without the names of program and command).  What is not given
 * stays as it is.  Returns 0, CLI_HELP if --help or -h is among them (then nothing is filled), or
 * ERR_ARGUMENT, ERR_MEMORY; what came before the error is filled.  Lists grow in @memory.
 */
int cli_parse(const struct cli_option *options, void *target, int argc, char *const *argv,
	      struct arena *memory, struct error *err);
/* Appends "URL [PATH] [OPTION]...": what comes after the command's name in its usage line. */
int cli_usage(const struct cli_option *options, struct buf *out, struct error *err);
/* Appends one line an option under the headlines of the groups. */
int cli_describe(const struct cli_option *options, struct buf *out, struct error *err);
/* Adds to a list; for read functions. */
int cli_list_add(struct cli_list *list, const char *text, struct arena *memory, struct error *err);
/* The name in @names (ended by NULL) that @name was probably meant to be, or NULL. */
const char *cli_nearest(const char *name, const char *const *names);
