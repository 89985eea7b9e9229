/* SPDX-License-Identifier: Apache-2.0 */
#include "fusefs/options.h"

static const char *const view_choices[] = {"decoded", "stored", NULL};

static const struct cli_option view_option_table[] = {
	{CLI_CHOICE, "view", CLI_AT(struct view_options, view), .choices = view_choices,
	 .help = "decode chunks of arrays that plain readers cannot, or show stored bytes"},
	{CLI_CHOICE, "decode", CLI_AT(struct view_options, decode), .choices = decode_choices,
	 .help = "values as the WMO defines them, or as the gribberish codec gives them"},
	{CLI_SIZE, "cache-size", CLI_AT(struct view_options, cache_size), .value = "SIZE",
	 .help = "cap of the memory for manifests, chunks and decoding (default: 256M)"},
	{CLI_U64, "timeout", CLI_AT(struct view_options, timeout), .value = "SECONDS",
	 .help = "for one read, everything included (default: 60)"},
	{CLI_GROUP, .group = &cli_common_group, CLI_AT(struct view_options, common)},
	{CLI_END},
};

#define CACHE_SIZE (UINT64_C(256) << 20)
#define CACHE_SIZE_MIN (UINT64_C(16) << 20)
/* A time limit that a 32-bit number of milliseconds holds. */
#define TIMEOUT_MAX (UINT32_MAX / 1000)

static int view_check(const void *target, struct error *err)
{
	const struct view_options *options = target;

	if (options->timeout.given &&
	    (options->timeout.value == 0 || options->timeout.value > TIMEOUT_MAX))
		return error_set(err, ERR_ARGUMENT, "--timeout takes 1 to %u seconds", TIMEOUT_MAX);
	if (options->cache_size.given && options->cache_size.value < CACHE_SIZE_MIN)
		return error_set(err, ERR_ARGUMENT, "--cache-size takes 16M or more");
	return 0;
}

const struct cli_group view_group = {"View", view_option_table, view_check};

int view_open_options(const struct view_options *options, struct arena *memory,
		      struct open_options *ret_options, struct error *err)
{
	uint64_t size = options->cache_size.given ? options->cache_size.value : CACHE_SIZE;
	int r = common_open_options(&options->common, memory, ret_options, err);

	if (r < 0)
		return r;
	/* The rest is for snapshots, workers and what the program itself needs. */
	ret_options->repo.manifest_budget = size / 4;
	ret_options->reader.cache_size = size / 2;
	ret_options->reader.decode = (enum reader_decode)options->decode;
	ret_options->reader.timeout_ms = (uint32_t)options->timeout.value * 1000;
	ret_options->store.timeout_ms = ret_options->reader.timeout_ms;
	/* A reader of many chunks asks for neighbours at nearly the same time. */
	ret_options->reader.coalesce_wait_us = 1000;
	return 0;
}

int viewed_init(struct viewed *viewed, const char *url, const struct view_options *options,
		struct arena *memory, struct error *err)
{
	struct open_options open;
	int r;

	*viewed = (struct viewed){0};
	r = view_open_options(options, memory, &open, err);
	if (r == 0)
		r = opened_init(&viewed->opened, url, &open, err);
	if (r == 0)
		r = view_new(viewed->opened.reader, viewed->opened.checkout,
			     (enum view_mode)options->view, &viewed->view, err);
	if (r < 0)
		viewed_done(viewed);
	return r;
}

void viewed_done(struct viewed *viewed)
{
	viewed->view = view_free(viewed->view);
	opened_done(&viewed->opened);
}
