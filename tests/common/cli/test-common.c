/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "cli/common.h"

static const struct cli_option options[] = {
	{CLI_GROUP, .group = &cli_common_group},
	{CLI_END},
};

static int parse(const char *const *args, struct cli_common *common, struct arena *memory,
		 struct error *err)
{
	char *argv[8];
	int argc = 0;

	for (; args[argc]; argc++)
		argv[argc] = (char *)(uintptr_t)args[argc];
	return cli_parse(options, common, argc, argv, memory, err);
}

/* The rule is that of refmt(1): PREFIX ends at the last '=', CRED only counts if it is a known one.
 */
static struct pair_case {
	const char *name; /* the value of the option */
	const char *allow_prefix, *credential;
	const char *container_prefix, *url; /* NULL: refused */
} pair_cases[] = {
	{"s3://b/p/", "s3://b/p/", "anonymous"},
	{"s3://b/p=env", "s3://b/p", "env", "s3://b/p", "env"},
	{"s3://b/p=anonymous", "s3://b/p", "anonymous", "s3://b/p", "anonymous"},
	{"s3://b/p=profile:x", "s3://b/p", "profile:x", "s3://b/p", "profile:x"},
	{"s3://b/p=profile:", "s3://b/p=profile:", "anonymous", "s3://b/p", "profile:"},
	{"s3://b/p=q", "s3://b/p=q", "anonymous", "s3://b/p", "q"},
	{"s3://b/p=q=env", "s3://b/p=q", "env", "s3://b/p=q", "env"},
	{"s3://b/p=", "s3://b/p=", "anonymous"},
	{"s3://b/=http://127.0.0.1:9000/b/", "s3://b/=http://127.0.0.1:9000/b/", "anonymous",
	 "s3://b/", "http://127.0.0.1:9000/b/"},
	{"=env", NULL, NULL},
	{"", NULL, NULL},
};

static void test_pair(void **state)
{
	const struct pair_case *c = *state;
	CLEANUP(arena_done) struct arena memory = ARENA_INIT;
	struct cli_pairs allow = {0}, containers = {0};
	struct error err = ERROR_INIT;
	int r;

	r = cli_read_allow(&allow, c->name, &memory, &err);
	assert_int_equal(r, c->allow_prefix ? 0 : ERR_ARGUMENT);
	if (c->allow_prefix) {
		assert_string_equal(allow.items[0].prefix, c->allow_prefix);
		assert_string_equal(allow.items[0].value, c->credential);
	}
	r = cli_read_container(&containers, c->name, &memory, &err);
	assert_int_equal(r, c->url ? 0 : ERR_ARGUMENT);
	if (c->url) {
		assert_string_equal(containers.items[0].prefix, c->container_prefix);
		assert_string_equal(containers.items[0].value, c->url);
	}
}

static void test_every_option(void **state)
{
	const char *first[] = {"--branch=b",
			       "--as-of=2026-01-02",
			       "--allow=s3://a",
			       "--allow=s3://b=env",
			       "--container=s3://a=/tmp",
			       "--no-virtual",
			       "--locations=percent",
			       NULL};
	const char *second[] = {"--endpoint-url=http://x",
				"--region=r",
				"--anonymous",
				"--path-style",
				"--color",
				"-vv",
				"--log-format=json",
				NULL};
	const char *third[] = {"--quiet", "--progress=never", "--no-default-allow", "--color=never",
			       NULL};
	CLEANUP(arena_done) struct arena memory = ARENA_INIT;
	struct cli_common common = {0};
	struct error err = ERROR_INIT;

	(void)state;
	assert_ok(parse(first, &common, &memory, &err), &err);
	assert_ok(parse(second, &common, &memory, &err), &err);
	assert_string_equal(common.branch, "b");
	assert_true(common.as_of.value == 1767312000000000);
	assert_int_equal(common.allow.n, 2);
	assert_string_equal(common.allow.items[1].value, "env");
	assert_int_equal(common.containers.n, 1);
	assert_true(common.no_virtual && !common.no_default_allow);
	assert_int_equal(common.locations, CLI_LOCATIONS_PERCENT);
	assert_string_equal(common.endpoint_url, "http://x");
	assert_string_equal(common.region, "r");
	assert_true(common.anonymous && common.path_style);
	assert_int_equal(common.color, CLI_COLOR_ALWAYS);
	assert_int_equal(common.verbose, 2);
	assert_int_equal(common.log_format, 1);
	assert_ok(parse(third, &common, &memory, &err), &err);
	assert_true(common.quiet && common.no_default_allow);
	assert_int_equal(common.progress, CLI_PROGRESS_NEVER);
	assert_int_equal(common.color, CLI_COLOR_NEVER);
}

static struct version_case {
	const char *name;
	const char *args[4];
	int want;
} version_cases[] = {
	{"none", {NULL}, 0},
	{"branch", {"--branch=a"}, 0},
	{"branch at a time", {"--branch=a", "--as-of=1d"}, 0},
	{"time", {"--as-of=1d"}, 0},
	{"branch and tag", {"--branch=a", "--tag=b"}, ERR_ARGUMENT},
	{"branch and snapshot", {"--branch=a", "--snapshot=b"}, ERR_ARGUMENT},
	{"tag and snapshot", {"--tag=a", "--snapshot=b"}, ERR_ARGUMENT},
	{"tag and time", {"--tag=a", "--as-of=1d"}, ERR_ARGUMENT},
};

static void test_version(void **state)
{
	const struct version_case *c = *state;
	CLEANUP(arena_done) struct arena memory = ARENA_INIT;
	struct cli_common common = {0};
	struct error err = ERROR_INIT;

	assert_int_equal(parse(c->args, &common, &memory, &err), c->want);
	if (c->want)
		assert_string_equal(err.text,
				    "only one of --branch (or --as-of), --tag and --snapshot");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_option),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	failed += RUN_CASES(test_pair, pair_cases);
	failed += RUN_CASES(test_version, version_cases);
	return failed;
}
