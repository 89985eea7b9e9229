/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/options.h"

const char *const decode_choices[] = {"wmo", "gribberish", NULL};

static int common_sources(const struct cli_common *common, struct arena *memory,
			  struct source_options *ret_sources, struct error *err)
{
	struct allowance *allow = arena_zalloc(memory, common->allow.n + 1, sizeof(*allow), err);
	struct mirror *mirrors =
		arena_zalloc(memory, common->containers.n + 1, sizeof(*mirrors), err);

	if (!allow || !mirrors)
		return ERR_MEMORY;
	for (size_t i = 0; i < common->allow.n; i++)
		allow[i] = (struct allowance){common->allow.items[i].prefix,
					      common->allow.items[i].value};
	for (size_t i = 0; i < common->containers.n; i++)
		mirrors[i] = (struct mirror){common->containers.items[i].prefix,
					     common->containers.items[i].value};
	*ret_sources = (struct source_options){
		.allow = allow,
		.n_allow = common->allow.n,
		.mirrors = mirrors,
		.n_mirrors = common->containers.n,
		.no_default_allow = common->no_default_allow,
		.no_virtual = common->no_virtual,
		.percent_locations = common->locations == CLI_LOCATIONS_PERCENT,
	};
	return 0;
}

int common_open_options(const struct cli_common *common, struct arena *memory,
			struct open_options *ret_options, struct error *err)
{
	struct open_options options = {
		.store =
			{
				.endpoint_url = common->endpoint_url,
				.region = common->region,
				.anonymous = common->anonymous,
				.path_style = common->path_style,
				.allow_private = true, /* the user named the repository himself */
			},
		.at =
			{
				.branch = common->branch,
				.tag = common->tag,
				.snapshot = common->snapshot,
				.has_as_of = common->as_of.given,
				.as_of = common->as_of.value,
			},
	};
	int r;

	r = common_sources(common, memory, &options.reader.sources, err);
	if (r == 0)
		*ret_options = options;
	return r;
}
