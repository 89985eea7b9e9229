/* SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "common/repo/fixture.h"

/*
 * Which manifests are there without having been asked for.  What the configuration says, and what
 * it says when it is silent, is in the formats' section 8.4: at most 1000 references, names of
 * coordinates.
 */

#define CONFIG(preload)                                                                     \
	"{\"virtual_chunk_containers\":{\"s3://bucket/\":{\"url_prefix\":\"s3://bucket/\"," \
	"\"store\":{\"s3\":{\"anonymous\":true,\"allow_http\":false}}}}" preload "}"
#define MANIFEST(preload) CONFIG(",\"manifest\":{\"preload\":{" preload "}}")

struct hint {
	const char *name;
	const char *config;
	bool on;
	uint64_t want; /* of the manifests of /a, /lat, /t and /values, with 2 references each */
};

static struct hint hints[] = {
	{"not asked for", CONFIG(""), false, 0},
	{"default", CONFIG(""), true, 2},
	{"all", MANIFEST("\"preload_if\":\"true\""), true, 4},
	{"none", MANIFEST("\"preload_if\":\"false\""), true, 0},
	{"one array", MANIFEST("\"preload_if\":\"true\",\"max_arrays_to_scan\":1"), true, 1},
	{"no array", MANIFEST("\"preload_if\":\"true\",\"max_arrays_to_scan\":0"), true, 0},
	{"six references", MANIFEST("\"preload_if\":\"true\",\"max_total_refs\":7"), true, 3},
};

static const char *const arrays[] = {"/a", "/lat", "/t", "/values"};

static void prepare(struct store *store, const char *config)
{
	CLEANUP(repo_freep) struct repo *repo = NULL;
	struct error err = ERROR_INIT;

	assert_ok(repo_create(store, 2, slice_text(config), &err), &err);
	repo = fixture_open(store);
	for (size_t i = 0; i < ARRAY_LEN(arrays); i++) {
		CLEANUP(transaction_freep) struct transaction *transaction = fixture_begin(repo);
		uint32_t indices[] = {0, 1};
		struct virtual_ref refs[2];

		for (int k = 0; k < 2; k++)
			refs[k] = (struct virtual_ref){.index = &indices[k],
						       .location = slice_text("s3://bucket/x"),
						       .length = 1};
		assert_ok(transaction_put_document(transaction, arrays[i],
						   fixture_array("[2]", "[1]"), &err),
			  &err);
		assert_ok(transaction_set_refs(transaction, arrays[i], refs, 2, 1, &err), &err);
		assert_ok(fixture_commit(transaction, REBASE_NO, &err), &err);
	}
}

static void test_hint(void **state)
{
	const struct hint *hint = *state;
	CLEANUP(store_freep) struct store *store = NULL;
	CLEANUP(repo_freep) struct repo *repo = NULL;
	CLEANUP(checkout_freep) struct checkout *checkout = NULL;
	struct repo_options options = {.preload = hint->on};
	struct error err = ERROR_INIT;
	struct repo_at at = {0};
	struct id12 id;

	assert_ok(store_memory_new(&store, &err), &err);
	prepare(store, hint->config);
	assert_ok(repo_open(store, &options, &repo, &err), &err);
	assert_ok(repo_resolve(repo, &at, &id, &err), &err);
	assert_ok(repo_checkout(repo, &id, &checkout, &err), &err);
	for (int i = 0; i < 1000 && repo_counters(repo).manifest_loads < hint->want; i++)
		usleep(10000);
	usleep(20000); /* more would come now */
	assert_int_equal(repo_counters(repo).manifest_loads, hint->want);
}

int main(void)
{
	return RUN_CASES(test_hint, hints);
}
