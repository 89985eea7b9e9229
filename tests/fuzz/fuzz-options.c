/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Arguments, one a line
 */

#include "base/cleanup.h"
#include "cli/common.h"
#include "fuzz.h"

#define ARGS_MAX 64

struct sample {
	struct cli_common common;
	const char *url;
	struct cli_list rest, mount_options;
	struct cli_u64 number, size;
	struct cli_double scale;
	struct cli_i64 wait;
};

static const struct cli_option options[] = {
	{CLI_ARGUMENT, "URL", CLI_AT(struct sample, url), .required = true},
	{CLI_ARGUMENTS, "REST", CLI_AT(struct sample, rest)},
	{CLI_U64, "number", CLI_AT(struct sample, number), .letter = 'n'},
	{CLI_SIZE, "size", CLI_AT(struct sample, size)},
	{CLI_DOUBLE, "scale", CLI_AT(struct sample, scale)},
	{CLI_DURATION, "wait", CLI_AT(struct sample, wait)},
	{CLI_SUBOPTIONS, "options", CLI_AT(struct sample, mount_options), .letter = 'o'},
	{CLI_GROUP, .group = &cli_common_group, CLI_AT(struct sample, common)},
	{CLI_END},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(arena_done) struct arena memory = ARENA_INIT;
	struct sample sample = {0};
	struct error err = ERROR_INIT;
	char *argv[ARGS_MAX];
	int argc = 0;
	char *rest = arena_dup(&memory, slice_of(data, size), &err);

	while (argc < ARGS_MAX && rest)
		argv[argc++] = strsep(&rest, "\n");
	cli_parse(options, &sample, argc, argv, &memory, &err);
	return 0;
}
