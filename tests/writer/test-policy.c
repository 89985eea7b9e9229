/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/policy.h"

#include "repo/refs.h"

#include "provider.h"

/* The rule's form is the public library's (formats, "Configuration"). */
static void test_write(void **state)
{
	const struct small small = {0};
	CLEANUP(buf_done) struct buf text = BUF_INIT(1 << 16);
	struct error err = ERROR_INIT;
	struct provider p;

	(void)state;
	provider_init(&p, &small);
	assert_ok(policy_write(p.dataset, &text, &err), &err);
	assert_non_null(strstr(buf_text(&text, &err),
			       "\"split_sizes\": [[{\"path_matches\": {\"regex\": \"^/level/\"}}, "
			       "[{\"condition\": {\"DimensionName\": \"init_time\"}, "
			       "\"num_chunks\": 2}]], [\"any_array\", "
			       "[{\"condition\": {\"DimensionName\": \"init_time\"}, "
			       "\"num_chunks\": 3}]]]"));
	provider_done(&p);
}

static struct merge_case {
	const char *name;
	const char *stored, *policy, *want;
} cases[] = {
	{"into nothing", "{}", "{\"a\": 1}", "{\"a\": 1}"},
	{"member by member", "{\"m\": {\"x\": 1, \"y\": 2}, \"z\": 3}", "{\"m\": {\"y\": 5}}",
	 "{\"m\": {\"x\": 1, \"y\": 5}, \"z\": 3}"},
	{"containers whole", "{\"virtual_chunk_containers\": {\"a\": 1}}",
	 "{\"virtual_chunk_containers\": {\"b\": 2}}",
	 "{\"virtual_chunk_containers\": {\"b\": 2}}"},
	{"splits whole", "{\"manifest\": {\"splitting\": {\"a\": 1}, \"preload\": 2}}",
	 "{\"manifest\": {\"splitting\": {\"b\": 2}}}",
	 "{\"manifest\": {\"splitting\": {\"b\": 2}, \"preload\": 2}}"},
	{"null there", "{\"m\": null}", "{\"m\": {\"y\": 5}}", "{\"m\": {\"y\": 5}}"},
};

static void test_merge(void **state)
{
	const struct merge_case *c = *state;
	CLEANUP(buf_done) struct buf out = BUF_INIT(4096);
	struct error err = ERROR_INIT;

	assert_ok(policy_merge(slice_text(c->stored), slice_text(c->policy), &out, &err), &err);
	assert_string_equal(buf_text(&out, &err), c->want);
}

/* A change of the definition reaches the stored configuration, without a snapshot; the rest stays.
 */
static void test_save(void **state)
{
	const struct small small = {0};
	const struct small changed = {.extra = ", \"record\": \"none\""};
	CLEANUP(targets_done) struct targets targets = {0};
	CLEANUP(buf_done) struct buf before = BUF_INIT(1 << 16);
	CLEANUP(buf_done) struct buf after = BUF_INIT(1 << 16);
	char tip[ID12_TEXT_LEN + 1], same[ID12_TEXT_LEN + 1];
	struct error err = ERROR_INIT;
	struct provider p;

	(void)state;
	provider_init(&p, &small);
	assert_ok(targets_open(&p.site, p.dataset, true, &targets, &err), &err);
	assert_ok(repo_config_set(targets.items[0].repo,
				  slice_text("{\"inline_chunk_threshold_bytes\": 77}"), &err),
		  &err);
	tip_of(p.store, tip);
	assert_ok(targets_save_policy(&targets, p.dataset, &err), &err);
	assert_ok(repo_config_get(targets.items[0].repo, &before, &err), &err);
	assert_non_null(strstr(buf_text(&before, &err), "s3://small/"));
	assert_non_null(strstr(buf_text(&before, &err), "77"));
	write_definition(&p, &changed);
	assert_ok(targets_save_policy(&targets, p.dataset, &err), &err);
	assert_ok(repo_config_get(targets.items[0].repo, &after, &err), &err);
	assert_true(slice_equal(buf_slice(&before), buf_slice(&after)));
	tip_of(p.store, same);
	assert_string_equal(tip, same);
	provider_done(&p);
}

int main(void)
{
	const struct CMUnitTest more[] = {cmocka_unit_test(test_write),
					  cmocka_unit_test(test_save)};

	return RUN_CASES(test_merge, cases) + cmocka_run_group_tests(more, NULL, NULL);
}
