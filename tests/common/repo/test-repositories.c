/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"
#include "base/text.h"
#include "common/repo/fixture.h"

/*
 * The repositories of the test data, read through this layer, against what an independent decoder
 * and the public library see in them (folder expected; the data's README names the origin).
 */

struct repository {
	const char *folder;
	const char *expected;
};

static struct repository repositories[] = {
	{"expire-repo-v1-by-1.1.21", "expire-repo-v1-by-1.1.21"},
	{"expire-repo-v1-by-2.0.5", "expire-repo-v1-by-2.0.5"},
	{"expire-repo-v1-by-working-copy", "expire-repo-v1-by-working-copy"},
	{"expire-repo-v2-by-2.0.5", "expire-repo-v2-by-2.0.5"},
	{"expire-repo-v2-by-working-copy", "expire-repo-v2-by-working-copy"},
	{"split-repo-v1", "split-repo-v1"},
	{"split-repo-v2", "split-repo-v2"},
	{"split-repo-v2-migrated", "split-repo-v2-migrated"},
	{"test-repo-v1", "test-repo-v1"},
	{"test-repo-v2", "test-repo-v2"},
	{"test-repo-v2-migrated", "test-repo-v2-migrated"},
	{"generated/features-v1", "generated-features-v1"},
	{"generated/features-v2", "generated-features-v2"},
	{"generated/foreign-writer-v1", "generated-foreign-writer-v1"},
	{"generated/foreign-writer-v2", "generated-foreign-writer-v2"},
	{"generated/opslog-v2", "generated-opslog-v2"},
};

static void read_expected(const char *name, struct buf *out)
{
	struct error err = ERROR_INIT;
	char path[512];
	uint8_t *bytes;
	FILE *file;
	size_t n;

	snprintf(path, sizeof(path), "icechunk/expected/%s.json", name);
	file = fopen(test_data(path), "rbe");
	assert_non_null(file);
	assert_ok(buf_extend(out, 1 << 20, &bytes, &err), &err);
	n = fread(bytes, 1, 1 << 20, file);
	assert_true(n < 1 << 20);
	out->size = n;
	fclose(file);
}

static uint64_t number(const struct json *value)
{
	struct error err = ERROR_INIT;
	uint64_t n = 0;

	assert_ok(json_u64(value, &n, &err), &err);
	return n;
}

static struct json member(const struct json *object, const char *name)
{
	struct json value;

	if (json_get(object, name, &value) != 0)
		fail_msg("member %s is missing", name);
	return value;
}

static void assert_text(const struct json *value, struct slice text)
{
	CLEANUP(buf_done) struct buf want = BUF_INIT(1 << 20);
	struct error err = ERROR_INIT;

	assert_ok(json_text(value, &want, &err), &err);
	assert_int_equal(text.size, want.size);
	if (want.size)
		assert_memory_equal(text.data, want.data, want.size);
}

static void assert_id(const struct json *value, const struct id12 *id)
{
	char text[ID12_TEXT_LEN + 1];

	id12_format(id, text);
	assert_text(value, slice_text(text));
}

static const struct ref_entry *find_entry(const struct ref_entry *entries, size_t n,
					  const char *name)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(entries[i].name, name) == 0)
			return &entries[i];
	}
	return NULL;
}

/* The expected names of spec 1 are those of the folders; ours are the writer's. */
static void check_refs(const struct json *want, const struct ref_entry *entries, size_t n)
{
	struct json key, value;

	assert_int_equal(n, json_count(want));
	JSON_EACH (want, &key, value) {
		CLEANUP(freep) char *name = NULL;
		struct error err = ERROR_INIT;
		const struct ref_entry *entry;

		assert_ok(json_dup(&key, &name, &err), &err);
		if (strcmp(name, "a%25b %C3%A9") == 0)
			entry = find_entry(entries, n, "a%b \xc3\xa9");
		else
			entry = find_entry(entries, n, name);
		assert_non_null(entry);
		assert_id(&value, &entry->id);
	}
}

static void check_summary(struct repo *repo, const struct json *want)
{
	CLEANUP(repo_summary_done) struct repo_summary summary = {0};
	struct json branches = member(want, "branches"), tags = member(want, "tags");
	struct json spec = member(want, "spec_version"), infos;
	struct error err = ERROR_INIT;

	assert_ok(repo_summary(repo, &summary, &err), &err);
	assert_int_equal(summary.spec, number(&spec));
	check_refs(&branches, summary.branches, summary.n_branches);
	check_refs(&tags, summary.tags, summary.n_tags);
	if (json_get(want, "snapshot_infos", &infos) == 0)
		assert_int_equal(summary.n_snapshots, json_count(&infos));
}

static uint32_t parse_index(const struct json *key, uint32_t *index)
{
	struct error err = ERROR_INIT;
	CLEANUP(freep) char *text = NULL;
	uint32_t n = 0;
	char *at;

	assert_ok(json_dup(key, &text, &err), &err);
	for (at = text; *at; at += *at == '/')
		index[n++] = (uint32_t)strtoul(at, &at, 10);
	return n;
}

static void check_virtual(const struct json *want, const struct chunk_ref *ref)
{
	struct json location = member(want, "location"), offset = member(want, "offset");
	struct json length = member(want, "length"), value;

	assert_int_equal(ref->kind, CHUNK_VIRTUAL);
	assert_text(&location, ref->location);
	assert_int_equal(ref->offset, number(&offset));
	assert_int_equal(ref->length, number(&length));
	if (json_get(want, "etag", &value) == 0)
		assert_text(&value, ref->etag);
	else
		assert_null(ref->etag.data);
	if (json_get(want, "last_modified", &value) == 0)
		assert_int_equal(ref->last_modified, number(&value));
}

static void check_inline(const struct json *want, const struct chunk_ref *ref)
{
	struct json hex = member(want, "hex");
	CLEANUP(freep) char *text = malloc(2 * ref->data.size + 1);

	assert_int_equal(ref->kind, CHUNK_INLINE);
	assert_non_null(text);
	text_hex(ref->data.data, ref->data.size, text);
	assert_text(&hex, slice_text(text));
}

static void check_native(const struct json *want, const struct chunk_ref *ref)
{
	struct json id = member(want, "id"), offset = member(want, "offset");
	struct json length = member(want, "length");

	assert_int_equal(ref->kind, CHUNK_NATIVE);
	assert_id(&id, &ref->chunk_id);
	assert_int_equal(ref->offset, number(&offset));
	assert_int_equal(ref->length, number(&length));
}

static void check_chunk(struct checkout *checkout, const struct node *node, const uint32_t *index,
			const struct json *want)
{
	CLEANUP(freep) struct chunk *chunk = calloc(1, sizeof(*chunk));
	struct json kind = member(want, "kind");
	struct error err = ERROR_INIT;

	assert_non_null(chunk);
	assert_ok(checkout_locate(checkout, node, index, chunk, &err), &err);
	if (json_is_text(&kind, "virtual"))
		check_virtual(want, &chunk->ref);
	else if (json_is_text(&kind, "inline"))
		check_inline(want, &chunk->ref);
	else
		check_native(want, &chunk->ref);
	chunk_done(chunk);
}

static uint64_t count_chunks(struct checkout *checkout, const struct node *node)
{
	CLEANUP(chunk_iter_freep) struct chunk_iter *iter = NULL;
	CLEANUP(freep) uint32_t *before = calloc(node->n_dims + 1, sizeof(*before));
	const struct chunk *chunk;
	const uint32_t *index;
	struct error err = ERROR_INIT;
	uint64_t n = 0;
	int r;

	assert_non_null(before);
	assert_ok(chunk_iter_new(checkout, node, NULL, 0, &iter, &err), &err);
	while ((r = chunk_iter_next(iter, &index, &chunk, &err)) == 0) {
		if (n++ && node->n_dims)
			assert_true(index_compare(before, index, node->n_dims) < 0);
		if (node->n_dims)
			memcpy(before, index, node->n_dims * sizeof(*before));
	}
	assert_int_equal(r, REPO_END);
	return n;
}

/* A snapshot that nothing points at any more may have lost its manifest. */
static void check_missing(struct checkout *checkout, const struct node *node)
{
	CLEANUP(chunk_iter_freep) struct chunk_iter *iter = NULL;
	const struct chunk *chunk;
	const uint32_t *index;
	struct error err = ERROR_INIT;

	assert_ok(chunk_iter_new(checkout, node, NULL, 0, &iter, &err), &err);
	assert_int_equal(chunk_iter_next(iter, &index, &chunk, &err), ERR_ABSENT);
}

static void check_array(struct checkout *checkout, const struct node *node, const struct json *want)
{
	struct json chunks = member(want, "chunks"), manifests = member(want, "manifests");
	struct json shape = member(want, "shape"), key, value;
	uint32_t index[32], dim = 0;
	uint64_t n = json_count(&chunks);

	assert_int_equal(node->n_dims, json_count(&shape));
	JSON_EACH (&shape, NULL, value) {
		struct json item;
		uint64_t length;
		uint32_t n_chunks;

		checkout_dim(checkout, node, dim++, &length, &n_chunks);
		json_at(&value, 0, &item);
		assert_int_equal(length, number(&item));
		json_at(&value, 1, &item);
		assert_int_equal(n_chunks, number(&item));
	}
	assert_int_equal(checkout_n_manifests(checkout, node), json_count(&manifests));
	if (json_get(want, "missing_manifest", &value) == 0) {
		check_missing(checkout, node);
		return;
	}
	JSON_EACH (&chunks, &key, value) {
		assert_int_equal(parse_index(&key, index), node->n_dims);
		check_chunk(checkout, node, index, &value);
	}
	if (json_get(want, "num_chunk_refs", &value) == 0)
		n = number(&value);
	assert_int_equal(count_chunks(checkout, node), n);
}

static void check_node(struct checkout *checkout, const struct json *want)
{
	struct json path = member(want, "path"), type = member(want, "type");
	struct json document = member(want, "zarr_json");
	struct error err = ERROR_INIT;
	CLEANUP(freep) char *text = NULL;
	struct node node;

	assert_ok(json_dup(&path, &text, &err), &err);
	assert_int_equal(checkout_find(checkout, text, &node), 0);
	assert_int_equal(node.is_array, json_is_text(&type, "array"));
	assert_text(&document, node.document);
	if (node.is_array)
		check_array(checkout, &node, want);
}

static void check_snapshot(struct repo *repo, const struct json *key, const struct json *want)
{
	CLEANUP(checkout_freep) struct checkout *checkout = NULL;
	struct json nodes = member(want, "nodes"), at = member(want, "flushed_at"), node;
	struct error err = ERROR_INIT;
	CLEANUP(freep) char *text = NULL;
	struct id12 id;

	assert_ok(json_dup(key, &text, &err), &err);
	assert_ok(id12_parse(text, &id, &err), &err);
	assert_ok(repo_checkout(repo, &id, &checkout, &err), &err);
	assert_int_equal(checkout_flushed_at(checkout), number(&at));
	assert_int_equal(checkout_n_nodes(checkout), json_count(&nodes));
	JSON_EACH (&nodes, NULL, node) {
		check_node(checkout, &node);
	}
}

struct history {
	const struct json *infos;
	size_t n;
};

static int check_entry(void *argument, const struct history_entry *entry, struct error *err)
{
	const struct history *history = argument;
	char id[ID12_TEXT_LEN + 1];
	struct json info;

	(void)err;
	id12_format(&entry->id, id);
	JSON_EACH (history->infos, NULL, info) {
		struct json value = member(&info, "id"), parent = member(&info, "parent");
		struct json message = member(&info, "message");

		if (!json_is_text(&value, id))
			continue;
		assert_text(&message, slice_text(entry->message));
		assert_int_equal(entry->has_parent, parent.type != JSON_NULL);
		if (entry->has_parent)
			assert_id(&parent, &entry->parent);
		return 0;
	}
	fail_msg("snapshot %s is not expected", id);
	return 0;
}

static void check_history(struct repo *repo, const struct json *want)
{
	struct history history = {0};
	struct error err = ERROR_INIT;
	struct json infos;
	struct id12 id;

	if (json_get(want, "snapshot_infos", &infos) != 0)
		return;
	history.infos = &infos;
	assert_ok(repo_resolve(repo, &(struct repo_at){0}, &id, &err), &err);
	assert_ok(repo_history(repo, &id, check_entry, &history, &err), &err);
}

static void test_repository(void **state)
{
	const struct repository *repository = *state;
	CLEANUP(buf_done) struct buf expected = BUF_INIT(1 << 21);
	CLEANUP(store_freep) struct store *store = NULL;
	CLEANUP(repo_freep) struct repo *repo = NULL;
	struct json want, snapshots, key, snapshot;
	struct error err = ERROR_INIT;
	char path[512];

	snprintf(path, sizeof(path), "icechunk/%s", repository->folder);
	assert_ok(store_local_new(test_data(path), &store, &err), &err);
	repo = fixture_open(store);
	read_expected(repository->expected, &expected);
	assert_ok(json_parse(buf_slice(&expected), &want, &err), &err);
	check_summary(repo, &want);
	check_history(repo, &want);
	snapshots = member(&want, "snapshots");
	JSON_EACH (&snapshots, &key, snapshot) {
		check_snapshot(repo, &key, &snapshot);
	}
}

int main(void)
{
	if (!test_data("icechunk"))
		test_skip("no test data (REFMT_TEST_DATA)");
	return RUN_CASES(test_repository, repositories);
}
