/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * `refmt update` and `refmt why`
 */

#include "cli/main.h"

/* To put in the table of commands. */
extern const struct cli_command cmd_update, cmd_why;
