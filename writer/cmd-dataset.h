/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Commands on datasets: `refmt datasets|template|urls|backfill-local`
 */

#include "cli/main.h"

/* To put in the table of commands. */
extern const struct cli_command cmd_datasets, cmd_template, cmd_urls, cmd_backfill_local;
