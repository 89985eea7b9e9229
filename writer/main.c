/* SPDX-License-Identifier: Apache-2.0 */
#include <malloc.h>

#include "cli/main.h"
#include "cli/signals.h"
#include "writer/cmd-dataset.h"
#include "writer/cmd-grib.h"
#include "writer/cmd-repo.h"
#include "writer/cmd-store.h"
#include "writer/cmd-update.h"

int main(int argc, char **argv)
{
	const struct cli_command commands[] = {
		cmd_repo,   cmd_datasets, cmd_template, cmd_urls,  cmd_backfill_local,
		cmd_update, cmd_why,	  cmd_grib,	cmd_store, {0}};
	const struct cli_command program = {
		.name = "refmt",
		.help = "write weather archives as Icechunk repositories, and look at them",
		.commands = commands,
	};

	/*
	 * Threads of a commit come and go, and manifests are megabytes each: few arenas, and what
	 * is large goes back to the system when it is freed.  What is small stays: fresh pages
	 * cost a commit as much as reading the old manifests.
	 */
	mallopt(M_ARENA_MAX, 2);
	mallopt(M_MMAP_THRESHOLD, 4 << 20);
	mallopt(M_TRIM_THRESHOLD, 32 << 20);
	cli_leave_process_1();
	return cli_main(&program, REFMT_VERSION, argc, argv);
}
