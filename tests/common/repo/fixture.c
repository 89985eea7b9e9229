/* SPDX-License-Identifier: Apache-2.0 */
#include "common/repo/fixture.h"

#include <ftw.h>
#include <unistd.h>

#include "repo/maintain.h"

#define CONFIG                                                                                   \
	"{\"inline_chunk_threshold_bytes\":4,\"virtual_chunk_containers\":{\"s3://bucket/\":"    \
	"{\"url_prefix\":\"s3://bucket/\",\"store\":{\"s3\":{\"anonymous\":true,"                \
	"\"allow_http\":false}}}},\"manifest\":{\"splitting\":{\"split_sizes\":[[\"any_array\"," \
	"[{\"condition\":{\"Axis\":0},\"num_chunks\":2}]]]}}}"

void fixture_folder(char path[256])
{
	const char *parent = getenv("TMPDIR");

	snprintf(path, 256, "%s/refmt-repo-XXXXXX", parent && parent[0] ? parent : "/tmp");
	if (!mkdtemp(path))
		abort();
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

void fixture_remove(const char *path)
{
	nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

struct slice fixture_array(const char *shape, const char *chunks)
{
	static char text[1024];

	snprintf(text, sizeof(text),
		 "{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":%s,\"data_type\":\"uint8\","
		 "\"chunk_grid\":{\"name\":\"regular\",\"configuration\":{\"chunk_shape\":%s}},"
		 "\"fill_value\":0,\"codecs\":[{\"name\":\"bytes\"}],\"attributes\":{}}",
		 shape, chunks);
	return slice_text(text);
}

int fixture_create(struct store *store, int spec, struct error *err)
{
	CLEANUP(repo_freep) struct repo *repo = NULL;
	CLEANUP(transaction_freep) struct transaction *transaction = NULL;
	int r;

	r = repo_create(store, spec, slice_text(CONFIG), err);
	if (r == 0)
		r = repo_open(store, NULL, &repo, err);
	if (r == 0)
		r = transaction_begin(repo, NULL, NULL, &transaction, err);
	if (r == 0)
		r = transaction_put_document(transaction, "/", slice_text(FIXTURE_GROUP), err);
	if (r == 0)
		r = transaction_put_document(transaction, "/a", fixture_array("[8,4]", "[1,1]"),
					     err);
	return r < 0 ? r : fixture_commit(transaction, REBASE_NO, err);
}

struct repo *fixture_open(struct store *store)
{
	struct error err = ERROR_INIT;
	struct repo *repo = NULL;

	assert_ok(repo_open(store, NULL, &repo, &err), &err);
	return repo;
}

struct transaction *fixture_begin(struct repo *repo)
{
	struct error err = ERROR_INIT;
	struct transaction *transaction = NULL;

	assert_ok(transaction_begin(repo, NULL, NULL, &transaction, &err), &err);
	return transaction;
}

int fixture_set(struct transaction *transaction, uint32_t i, uint32_t j, const char *text,
		struct error *err)
{
	char location[128];
	uint32_t index[] = {i, j};
	struct virtual_ref ref = {.index = index, .offset = 10, .length = 20};

	snprintf(location, sizeof(location), "s3://bucket/%s", text);
	ref.location = slice_text(location);
	return transaction_set_refs(transaction, "/a", &ref, 1, 2, err);
}

int fixture_commit(struct transaction *transaction, enum rebase_mode mode, struct error *err)
{
	struct commit_options options = {.message = "change", .rebase = mode};
	struct id12 id;

	return transaction_commit(transaction, &options, &id, NULL, err);
}

static struct checkout *checkout_main(struct repo *repo)
{
	struct repo_at at = {0};
	struct error err = ERROR_INIT;
	struct checkout *checkout = NULL;
	struct id12 id;

	assert_ok(repo_refresh(repo, &err), &err);
	assert_ok(repo_resolve(repo, &at, &id, &err), &err);
	assert_ok(repo_checkout(repo, &id, &checkout, &err), &err);
	return checkout;
}

void fixture_get(struct repo *repo, uint32_t i, uint32_t j, char location[256])
{
	CLEANUP(checkout_freep) struct checkout *checkout = checkout_main(repo);
	CLEANUP(freep) struct chunk *chunk = calloc(1, sizeof(*chunk));
	struct error err = ERROR_INIT;
	uint32_t index[] = {i, j};
	struct node node;
	int r;

	assert_non_null(chunk);
	assert_int_equal(checkout_find(checkout, "/a", &node), 0);
	r = checkout_locate(checkout, &node, index, chunk, &err);
	location[0] = '\0';
	if (r == REPO_ABSENT)
		return;
	assert_ok(r, &err);
	snprintf(location, 256, "%.*s", (int)chunk->ref.location.size,
		 (const char *)chunk->ref.location.data);
	chunk_done(chunk);
}

static int count_entry(void *argument, const struct history_entry *entry, struct error *err)
{
	(void)entry;
	(void)err;
	++*(unsigned int *)argument;
	return 0;
}

unsigned int fixture_n_commits(struct repo *repo)
{
	struct repo_at at = {0};
	struct error err = ERROR_INIT;
	struct id12 id;
	unsigned int n = 0;

	assert_ok(repo_refresh(repo, &err), &err);
	assert_ok(repo_resolve(repo, &at, &id, &err), &err);
	assert_ok(repo_history(repo, &id, count_entry, &n, &err), &err);
	return n;
}

static int fail_on_error(void *argument, const struct finding *finding, struct error *err)
{
	(void)argument;
	(void)err;
	if (finding->is_error)
		fail_msg("verify: %s: %s", finding->object, finding->text);
	return 0;
}

void fixture_verify(struct repo *repo)
{
	struct verify_options options = {.each = fail_on_error};
	struct verify_result result;
	struct error err = ERROR_INIT;

	assert_ok(repo_refresh(repo, &err), &err);
	assert_ok(repo_verify(repo, &options, &result, &err), &err);
}
