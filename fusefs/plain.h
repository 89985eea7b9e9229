/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * refmtfs ls|stat|cat|verify: the view with no mount
 */

#include "cli/main.h"

extern const struct cli_command plain_commands[];
