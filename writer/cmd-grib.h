/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * `refmt grib scan|decode|bench`: GRIB files and single messages, local or by ranges of a URL
 */

#include "cli/main.h"

/* To put in the table of commands. */
extern const struct cli_command cmd_grib;
