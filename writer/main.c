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
	 * Manifests are megabytes each and made by threads that come and go: what was freed goes
	 * back to the system, and is not kept for a thread that will never be.
	 */
	mallopt(M_MMAP_THRESHOLD, 1 << 20);
	cli_leave_process_1();
	return cli_main(&program, REFMT_VERSION, argc, argv);
}
