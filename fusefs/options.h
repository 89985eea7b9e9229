/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Options of refmtfs beyond the common ones, and what it opens with them
 */

#include "cli/main.h"
#include "programs/options.h"
#include "reader/view.h"

struct view_options {
	struct cli_common common;
	int view;   /* enum view_mode */
	int decode; /* enum reader_decode */
	struct cli_u64 cache_size, timeout;
};

extern const struct cli_group view_group; /* fills the members of a struct view_options */

/* A repository, opened, and the view of its snapshot. */
struct viewed {
	struct opened opened;
	struct view *view;
};

/* Options for opening @url; as common_open_options(). */
int view_open_options(const struct view_options *options, struct arena *memory,
		      struct open_options *ret_options, struct error *err);
int viewed_init(struct viewed *viewed, const char *url, const struct view_options *options,
		struct arena *memory, struct error *err);
/* For CLEANUP(viewed_done). */
void viewed_done(struct viewed *viewed);
