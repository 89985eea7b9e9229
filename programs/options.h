/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What both programs make of the options they share: how to open a repository for reading
 *
 * Threads: any; plain values.
 */

#include "cli/common.h"
#include "reader/open.h"

/* Choices of --decode and --view, in the order of their enums. */
extern const char *const decode_choices[]; /* enum reader_decode */

/*
 * Fills @ret_options from the common options.  Lists come from @memory, texts lend from @common.
 * What commands decide themselves (cache sizes, decode mode, time limit) is left zero.
 */
int common_open_options(const struct cli_common *common, struct arena *memory,
			struct open_options *ret_options, struct error *err);
