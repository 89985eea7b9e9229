/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * `refmt store ls|cat|put|stat|explain`: the store layer alone
 */

#include "cli/main.h"

/* To put in the table of commands. */
extern const struct cli_command cmd_store;
