/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Options that the commands of both programs share (refmt(1), "Common options")
 *
 * Threads: plain values.
 */

#include <stdbool.h>

#include "cli/options.h"

enum cli_locations { CLI_LOCATIONS_AS_IS, CLI_LOCATIONS_PERCENT };
enum cli_color { CLI_COLOR_AUTO, CLI_COLOR_ALWAYS, CLI_COLOR_NEVER };
enum cli_progress { CLI_PROGRESS_AUTO, CLI_PROGRESS_NEVER };

struct cli_pair {
	const char *prefix;
	const char *value;
};

struct cli_pairs {
	struct cli_pair *items;
	size_t n;
};

struct cli_common {
	/* Which snapshot: at most one of them, but a branch may come with a time. */
	const char *branch; /* NULL: main */
	const char *tag, *snapshot;
	struct cli_i64 as_of; /* microseconds since 1970 */

	/* Virtual references. */
	struct cli_pairs
		allow; /* value: "anonymous" (also if none is given), "env", "profile:NAME" */
	struct cli_pairs containers; /* value: a URL or path */
	bool no_default_allow, no_virtual;
	int locations; /* enum cli_locations */

	/* The repository's own store. */
	const char *endpoint_url, *region;
	bool anonymous, path_style;

	/* Messages; cli_main() deals with them. */
	int color; /* enum cli_color */
	bool quiet;
	int verbose;
	int log_format; /* enum log_format */
	int progress;	/* enum cli_progress */
};

/* Each fills a struct cli_common. */
extern const struct cli_group cli_version_group, cli_virtual_group, cli_store_group,
	cli_message_group;
/* All four. */
extern const struct cli_group cli_common_group;

/* PREFIX[=CRED] and PREFIX=URL, to add to a struct cli_pairs: for options of other commands. */
int cli_read_allow(void *pairs, const char *text, struct arena *memory, struct error *err);
int cli_read_container(void *pairs, const char *text, struct arena *memory, struct error *err);
