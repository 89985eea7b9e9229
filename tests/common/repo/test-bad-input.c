/* SPDX-License-Identifier: Apache-2.0 */
#include "common/repo/fixture.h"
#include "icechunk/envelope.h"
#include "icechunk/repoinfo.h"
#include "repo/maintain.h"

/*
 * Repositories with something wrong in them: a clear error, and nothing is written.  Each row makes
 * a good repository, damages one object, and tries to open, list, commit to and check it.
 */

#define FILE_MAX (1 << 20)

enum step { STEP_OPEN, STEP_BEGIN, STEP_LOCATE, STEP_COMMIT, STEP_VERIFY, STEP_NONE };

struct damage {
	const char *name;
	int spec;
	void (*make)(struct store *store);
	enum step step; /* the first that fails */
	int want;
	const char *text; /* part of the message */
};

static void load(struct store *store, const char *key, struct buf *out)
{
	struct error err = ERROR_INIT;

	assert_ok(store_get_all(store, key, out, NULL, &err), &err);
}

static void save(struct store *store, const char *key, const struct buf *bytes)
{
	struct error err = ERROR_INIT;

	assert_ok(store_put(store, key, buf_slice(bytes), &err), &err);
}

/* The key of the one object of @folder that main's tip names. */
static void tip_key(struct store *store, const char *folder, char key[64])
{
	CLEANUP(repo_freep) struct repo *repo = fixture_open(store);
	struct repo_at at = {0};
	struct error err = ERROR_INIT;
	char name[ID12_TEXT_LEN + 1];
	struct id12 id;

	assert_ok(repo_resolve(repo, &at, &id, &err), &err);
	id12_format(&id, name);
	snprintf(key, 64, "%s/%s", folder, name);
}

static int keep_key(void *argument, const struct store_entry *entry, struct error *err)
{
	(void)err;
	snprintf(argument, 64, "%s", entry->key);
	return 0;
}

static void manifest_key(struct store *store, char key[64])
{
	struct error err = ERROR_INIT;

	key[0] = '\0';
	assert_ok(store_list(store, "manifests/", false, keep_key, key, &err), &err);
	assert_true(key[0] != '\0');
}

/*
 * Replaces all places of @from by @to (both @size bytes) in the payload of the object at @key;
 * there must be @n of them.
 */
static void patch(struct store *store, const char *key, enum file_type type, const void *from,
		  const void *to, size_t size, unsigned int n)
{
	CLEANUP(buf_done) struct buf file = BUF_INIT(FILE_MAX);
	CLEANUP(buf_done) struct buf payload = BUF_INIT(FILE_MAX);
	CLEANUP(buf_done) struct buf out = BUF_INIT(FILE_MAX);
	struct envelope_options options = {0};
	struct envelope envelope;
	struct error err = ERROR_INIT;
	struct slice piece;
	unsigned int found = 0;

	load(store, key, &file);
	assert_ok(envelope_open(buf_slice(&file), type, &payload, &envelope, &err), &err);
	for (size_t i = 0; i + size <= payload.size; i++) {
		if (memcmp(payload.data + i, from, size) != 0)
			continue;
		memcpy(payload.data + i, to, size);
		found++;
	}
	assert_int_equal(found, n);
	options.spec = envelope.spec;
	piece = buf_slice(&payload);
	assert_ok(envelope_seal(&piece, 1, type, &options, &out, &err), &err);
	save(store, key, &out);
}

static void make_byte(struct store *store, const char *key, size_t at, uint8_t value)
{
	CLEANUP(buf_done) struct buf file = BUF_INIT(FILE_MAX);

	load(store, key, &file);
	assert_true(file.size > at);
	file.data[at] = value;
	save(store, key, &file);
}

#define SPEC_BYTE 36 /* of the envelope, formats section 2 */

static void make_newer_repo(struct store *store)
{
	make_byte(store, "repo", SPEC_BYTE, 3);
}

static void make_newer_snapshot(struct store *store)
{
	char key[64];

	tip_key(store, "snapshots", key);
	make_byte(store, key, SPEC_BYTE, 3);
}

static void make_newer_manifest(struct store *store)
{
	char key[64];

	manifest_key(store, key);
	make_byte(store, key, SPEC_BYTE, 3);
}

static void set_status(struct store *store, const char *status)
{
	CLEANUP(repo_freep) struct repo *repo = fixture_open(store);
	struct error err = ERROR_INIT;

	assert_ok(repo_set_status(repo, status, "moving house", &err), &err);
}

static void make_offline(struct store *store)
{
	set_status(store, "offline");
}

static void make_read_only(struct store *store)
{
	set_status(store, "read_only");
}

/* "Unknown ids are ignored" (formats, section 7), and stay. */
static void make_unknown_feature(struct store *store)
{
	CLEANUP(buf_done) struct buf file = BUF_INIT(FILE_MAX);
	CLEANUP(buf_done) struct buf payload = BUF_INIT(FILE_MAX);
	CLEANUP(buf_done) struct buf flat = BUF_INIT(FILE_MAX);
	CLEANUP(buf_done) struct buf out = BUF_INIT(FILE_MAX);
	CLEANUP(repo_info_freep) struct repo_info *info = NULL;
	struct envelope_options options = {.spec = SPEC_2};
	struct error err = ERROR_INIT;
	struct slice piece;

	load(store, "repo", &file);
	assert_ok(envelope_open(buf_slice(&file), FILE_REPO, &payload, NULL, &err), &err);
	assert_ok(repo_info_parse(&payload, &info, &err), &err);
	assert_ok(repo_info_set_feature(info, 77, true, false, &err), &err);
	assert_ok(repo_info_encode(info, &flat, &err), &err);
	piece = buf_slice(&flat);
	assert_ok(envelope_seal(&piece, 1, FILE_REPO, &options, &out, &err), &err);
	save(store, "repo", &out);
}

static void make_missing_snapshot(struct store *store)
{
	struct error err = ERROR_INIT;
	char key[64];

	tip_key(store, "snapshots", key);
	assert_ok(store_remove(store, key, &err), &err);
}

/* The root alone has the parent -1; it gets its own child, whichever number that has. */
static void make_cycle2(struct store *store)
{
	CLEANUP(buf_done) struct buf file = BUF_INIT(FILE_MAX);
	CLEANUP(buf_done) struct buf payload = BUF_INIT(FILE_MAX);
	CLEANUP(repo_info_freep) struct repo_info *info = NULL;
	struct error err = ERROR_INIT;
	int32_t root = -1, child;

	load(store, "repo", &file);
	assert_ok(envelope_open(buf_slice(&file), FILE_REPO, &payload, NULL, &err), &err);
	assert_ok(repo_info_parse(&payload, &info, &err), &err);
	child = info->snapshots.items[0].parent == -1;
	patch(store, "repo", FILE_REPO, &root, &child, sizeof(root), 1);
}

/* The tip becomes its own parent. */
static void make_cycle1(struct store *store)
{
	CLEANUP(buf_done) struct buf file = BUF_INIT(FILE_MAX);
	CLEANUP(buf_done) struct buf payload = BUF_INIT(FILE_MAX);
	CLEANUP(snapshot_freep) struct snapshot *snapshot = NULL;
	struct error err = ERROR_INIT;
	char key[64];

	tip_key(store, "snapshots", key);
	load(store, key, &file);
	assert_ok(envelope_open(buf_slice(&file), FILE_SNAPSHOT, &payload, NULL, &err), &err);
	assert_ok(snapshot_open(&payload, SPEC_1, &snapshot, &err), &err);
	patch(store, key, FILE_SNAPSHOT, snapshot_parent(snapshot)->bytes,
	      snapshot_id(snapshot)->bytes, sizeof(struct id12), 1);
}

static void patch_path(struct store *store, const char *from, const char *to)
{
	char key[64], a[16] = {0}, b[16] = {0};
	uint32_t size = (uint32_t)strlen(from);

	memcpy(a, &size, sizeof(size)); /* with the string's length in front */
	memcpy(b, &size, sizeof(size));
	memcpy(a + 4, from, size);
	memcpy(b + 4, to, size);
	tip_key(store, "snapshots", key);
	patch(store, key, FILE_SNAPSHOT, a, b, 5 + size, 1);
}

static void make_twice(struct store *store)
{
	patch_path(store, "/b", "/a");
}

/* A group that nobody wrote is implied by what is below it. */
static void make_implied(struct store *store)
{
	patch_path(store, "/g", "/f");
}

static void make_inside_array(struct store *store)
{
	patch_path(store, "/a.x", "/a/x");
}

static void make_wrong_size(struct store *store)
{
	CLEANUP(buf_done) struct buf file = BUF_INIT(FILE_MAX);
	struct error err = ERROR_INIT;
	char key[64];

	manifest_key(store, key);
	load(store, key, &file);
	assert_ok(buf_append_byte(&file, 0, &err), &err);
	save(store, key, &file);
}

/* A manifest of 2^31 bytes and more is not even asked for. */
static void make_huge_size(struct store *store)
{
	CLEANUP(buf_done) struct buf file = BUF_INIT(FILE_MAX);
	uint64_t size, huge = (UINT64_C(1) << 31) + 1;
	char manifest[64], key[64];

	manifest_key(store, manifest);
	load(store, manifest, &file);
	size = file.size;
	tip_key(store, "snapshots", key);
	patch(store, key, FILE_SNAPSHOT, &size, &huge, sizeof(size), 1);
}

/* The only reference, chunk 0/1, moves to 0/9 of an array with 4 columns. */
static void make_reference_beyond(struct store *store)
{
	static const uint32_t from[] = {2, 0, 1}, to[] = {2, 0, 9};
	CLEANUP(buf_done) struct buf before = BUF_INIT(FILE_MAX);
	CLEANUP(buf_done) struct buf after = BUF_INIT(FILE_MAX);
	char manifest[64], key[64];
	uint64_t a, b;

	manifest_key(store, manifest);
	load(store, manifest, &before);
	patch(store, manifest, FILE_MANIFEST, from, to, sizeof(from), 1);
	load(store, manifest, &after);
	a = before.size;
	b = after.size;
	if (a == b)
		return;
	tip_key(store, "snapshots", key);
	patch(store, key, FILE_SNAPSHOT, &a, &b, sizeof(a), 1);
}

static int keep_error(void *argument, const struct finding *finding, struct error *err)
{
	struct error *first = argument;

	(void)err;
	if (finding->is_error && !first->kind)
		error_set(first, ERR_FORMAT, "%s: %s", finding->object, finding->text);
	return 0;
}

/* The first finding becomes the error. */
static int check(struct repo *repo, struct error *err)
{
	struct verify_options options = {.each = keep_error, .argument = err};
	struct error failure = ERROR_INIT;
	struct verify_result result;

	assert_ok(repo_verify(repo, &options, &result, &failure), &failure);
	return result.n_errors ? ERR_FORMAT : 0;
}

static int locate(struct transaction *transaction, struct error *err)
{
	CLEANUP(freep) struct chunk *chunk = calloc(1, sizeof(*chunk));
	struct checkout *checkout = transaction_base(transaction);
	uint32_t index[] = {0, 1};
	struct node node;
	int r;

	assert_non_null(chunk);
	assert_int_equal(checkout_find(checkout, "/a", &node), 0);
	r = checkout_locate(checkout, &node, index, chunk, err);
	if (r == 0)
		chunk_done(chunk);
	return r;
}

/* A writer's way through the repository: the step that fails, with what it says. */
static enum step walk(struct store *store, int *ret_r, struct error *err)
{
	CLEANUP(repo_freep) struct repo *repo = NULL;
	CLEANUP(transaction_freep) struct transaction *transaction = NULL;

	*ret_r = repo_open(store, NULL, &repo, err);
	if (*ret_r < 0)
		return STEP_OPEN;
	*ret_r = transaction_begin(repo, NULL, NULL, &transaction, err);
	if (*ret_r < 0)
		return STEP_BEGIN;
	*ret_r = locate(transaction, err);
	if (*ret_r < 0)
		return STEP_LOCATE;
	*ret_r = check(repo, err);
	if (*ret_r < 0)
		return STEP_VERIFY;
	*ret_r = fixture_set(transaction, 0, 2, "new", err);
	if (*ret_r == 0)
		*ret_r = fixture_commit(transaction, REBASE_DETECT, err);
	return *ret_r < 0 ? STEP_COMMIT : STEP_NONE;
}

static void prepare(struct store *store, int spec)
{
	CLEANUP(repo_freep) struct repo *repo = NULL;
	CLEANUP(transaction_freep) struct transaction *transaction = NULL;
	struct error err = ERROR_INIT;

	assert_ok(fixture_create(store, spec, &err), &err);
	repo = fixture_open(store);
	transaction = fixture_begin(repo);
	assert_ok(transaction_put_document(transaction, "/a.x", slice_text(FIXTURE_GROUP), &err),
		  &err);
	assert_ok(transaction_put_document(transaction, "/b", slice_text(FIXTURE_GROUP), &err),
		  &err);
	assert_ok(transaction_put_document(transaction, "/g", slice_text(FIXTURE_GROUP), &err),
		  &err);
	assert_ok(transaction_put_document(transaction, "/g/in", slice_text(FIXTURE_GROUP), &err),
		  &err);
	assert_ok(fixture_set(transaction, 0, 1, "old", &err), &err);
	assert_ok(fixture_commit(transaction, REBASE_NO, &err), &err);
}

static struct damage damages[] = {
	{"nothing 1", 1, NULL, STEP_NONE, 0, NULL},
	{"nothing 2", 2, NULL, STEP_NONE, 0, NULL},
	{"newer repo object", 2, make_newer_repo, STEP_OPEN, ERR_UNSUPPORTED, "version 3"},
	{"newer snapshot", 2, make_newer_snapshot, STEP_BEGIN, ERR_UNSUPPORTED, "version 3"},
	{"newer manifest", 2, make_newer_manifest, STEP_LOCATE, ERR_UNSUPPORTED, "version 3"},
	{"newer snapshot in 1", 1, make_newer_snapshot, STEP_BEGIN, ERR_UNSUPPORTED, "version 3"},
	{"offline", 2, make_offline, STEP_BEGIN, ERR_READ_ONLY, "is offline: moving house"},
	{"read-only", 2, make_read_only, STEP_BEGIN, ERR_READ_ONLY, "is read_only: moving house"},
	{"unknown feature", 2, make_unknown_feature, STEP_NONE, 0, NULL},
	{"missing snapshot 1", 1, make_missing_snapshot, STEP_BEGIN, ERR_ABSENT,
	 "is listed but missing"},
	{"missing snapshot 2", 2, make_missing_snapshot, STEP_BEGIN, ERR_ABSENT,
	 "is listed but missing"},
	{"cyclic parents 1", 1, make_cycle1, STEP_VERIFY, ERR_FORMAT, "its own ancestor"},
	{"cyclic parents 2", 2, make_cycle2, STEP_OPEN, ERR_FORMAT, "its own ancestor"},
	{"two nodes with one path", 2, make_twice, STEP_BEGIN, ERR_FORMAT,
	 "node '/a' is there twice or out of order"},
	{"node in no group", 2, make_inside_array, STEP_VERIFY, ERR_FORMAT,
	 "'/a/x' is inside array '/a'"},
	{"node in an implied group", 2, make_implied, STEP_NONE, 0, NULL},
	{"manifest of another size", 2, make_wrong_size, STEP_LOCATE, ERR_FORMAT,
	 "bytes, its snapshot says"},
	{"manifest of 2^31 bytes", 2, make_huge_size, STEP_LOCATE, ERR_FORMAT,
	 "is listed with 2147483649 bytes"},
	{"reference beyond the array", 2, make_reference_beyond, STEP_VERIFY, ERR_FORMAT,
	 "outside"},
};

static void test_damage(void **state)
{
	CLEANUP(store_freep) struct store *store = NULL;
	CLEANUP(store_freep) struct store *counter = NULL;
	const struct damage *damage = *state;
	struct error err = ERROR_INIT;
	struct store_counts counts;
	int r;

	assert_ok(store_memory_new(&store, &err), &err);
	assert_ok(store_counter_new(store, &counter, &err), &err);
	prepare(store, damage->spec);
	if (damage->make)
		damage->make(store);
	assert_int_equal(walk(counter, &r, &err), damage->step);
	assert_int_equal(r, damage->want);
	if (damage->step == STEP_NONE)
		return;
	if (!strstr(err.text, damage->text))
		fail_msg("'%s' does not say '%s'", err.text, damage->text);
	counts = store_counter_get(counter);
	assert_int_equal(counts.put + counts.replace + counts.copy + counts.remove, 0);
}

/* Grids are counted in 32 bits: 2^32 - 1 chunks of an axis can be written, one more is refused. */
static void test_sizes(void **state)
{
	static const uint64_t wide[] = {UINT64_C(1) << 32, 4};
	CLEANUP(store_freep) struct store *store = NULL;
	CLEANUP(repo_freep) struct repo *repo = NULL;
	CLEANUP(transaction_freep) struct transaction *transaction = NULL;
	struct error err = ERROR_INIT;
	char location[256];

	(void)state;
	assert_ok(store_memory_new(&store, &err), &err);
	assert_ok(fixture_create(store, 2, &err), &err);
	repo = fixture_open(store);
	transaction = fixture_begin(repo);
	assert_true(transaction_put_document(transaction, "/w",
					     fixture_array("[18446744073709551615]", "[1]"),
					     &err) < 0);
	assert_true(transaction_put_document(transaction, "/w",
					     fixture_array("[18446744073709551616]", "[1]"),
					     &err) < 0);
	assert_true(transaction_resize(transaction, "/a", wide, 2, &err) < 0);
	assert_true(transaction_is_empty(transaction));
	assert_ok(transaction_put_document(transaction, "/a",
					   fixture_array("[4294967295,4]", "[1,1]"), &err),
		  &err);
	assert_ok(fixture_set(transaction, UINT32_C(1) << 31, 3, "far", &err), &err);
	assert_ok(fixture_set(transaction, UINT32_MAX - 1, 3, "last", &err), &err);
	assert_int_equal(fixture_set(transaction, UINT32_MAX, 3, "beyond", &err), ERR_ARGUMENT);
	assert_ok(fixture_commit(transaction, REBASE_NO, &err), &err);
	fixture_get(repo, UINT32_C(1) << 31, 3, location);
	assert_string_equal(location, "s3://bucket/far");
	fixture_get(repo, UINT32_MAX - 1, 3, location);
	assert_string_equal(location, "s3://bucket/last");
	fixture_verify(repo);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_sizes)};
	int failed = RUN_CASES(test_damage, damages);

	return cmocka_run_group_tests(tests, NULL, NULL) + failed;
}
