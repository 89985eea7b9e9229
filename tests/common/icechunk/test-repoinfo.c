/* SPDX-License-Identifier: Apache-2.0 */
#include "icechunk/repoinfo.h"

#include "base/json.h"
#include "base/text.h"
#include "test.h"

static struct error err;

static struct repo_snapshot snapshot_of(uint8_t first_byte, int32_t parent)
{
	return (struct repo_snapshot){.id = {{first_byte}},
				      .parent = parent,
				      .flushed_at = first_byte,
				      .message = slice_text("m")};
}

static struct repo_info *new_repo(void)
{
	struct repo_snapshot root = snapshot_of(50, 7); /* the parent is ignored */
	struct repo_info *info;

	assert_ok(repo_info_new(&root, slice_text(""), 1000, &info, &err), &err);
	return info;
}

/* As it is after a commit: written and read again. */
static struct repo_info *reload(struct repo_info *info)
{
	struct repo_info *copy;

	assert_ok(repo_info_copy(info, &copy, &err), &err);
	repo_info_free(info);
	return copy;
}

static uint32_t insert(struct repo_info *info, uint8_t first_byte, int32_t parent)
{
	struct repo_snapshot snapshot = snapshot_of(first_byte, parent);
	uint32_t at;

	assert_ok(repo_info_insert_snapshot(info, &snapshot, &at, &err), &err);
	return at;
}

static uint32_t find(const struct repo_info *info, uint8_t first_byte)
{
	uint32_t at;

	assert_int_equal(repo_info_find_snapshot(info, &(struct id12){{first_byte}}, &at), 0);
	return at;
}

static void test_new(void **state)
{
	CLEANUP(repo_info_freep) struct repo_info *info = reload(new_repo());

	(void)state;
	assert_int_equal(info->snapshots.n, 1);
	assert_int_equal(info->snapshots.items[0].parent, -1);
	assert_int_equal(info->branches.n, 1);
	assert_true(slice_is(info->branches.items[0].name, "main"));
	assert_int_equal(info->updates.n, 1);
	assert_int_equal(info->updates.items[0].type, UPDATE_REPO_INITIALIZED);
	assert_null(info->updates.items[0].backup_path.data);
	assert_int_equal(info->status.availability, REPO_ONLINE);
	assert_int_equal(info->status.set_at, 1000);
	assert_null(info->config.data);
}

/* Indices follow when a snapshot is put between others. */
static void test_insert_shifts(void **state)
{
	CLEANUP(repo_info_freep) struct repo_info *info = new_repo();
	struct repo_snapshot again = snapshot_of(50, -1);
	uint32_t at;

	(void)state;
	at = insert(info, 90, (int32_t)find(info, 50));
	assert_ok(repo_info_set_branch(info, slice_text("main"), at, &err), &err);
	assert_ok(repo_info_create_tag(info, slice_text("t"), at, &err), &err);
	insert(info, 10, (int32_t)at);
	insert(info, 70, (int32_t)find(info, 10));
	info = reload(info);
	assert_int_equal(info->snapshots.n, 4);
	assert_int_equal(info->branches.items[0].snapshot, find(info, 90));
	assert_int_equal(info->tags.items[0].snapshot, find(info, 90));
	assert_int_equal(info->snapshots.items[find(info, 90)].parent, find(info, 50));
	assert_int_equal(info->snapshots.items[find(info, 10)].parent, find(info, 90));
	assert_int_equal(info->snapshots.items[find(info, 70)].parent, find(info, 10));
	assert_int_equal(info->snapshots.items[find(info, 50)].parent, -1);
	assert_int_equal(repo_info_insert_snapshot(info, &again, &at, &err), ERR_CONFLICT);
}

static void test_remove(void **state)
{
	CLEANUP(repo_info_freep) struct repo_info *info = new_repo();
	bool keep[3] = {true, true, true};
	uint32_t at;

	(void)state;
	at = insert(info, 60, (int32_t)find(info, 50));
	at = insert(info, 40, (int32_t)at);
	assert_ok(repo_info_set_branch(info, slice_text("main"), at, &err), &err);
	keep[find(info, 60)] = false;
	assert_int_equal(repo_info_remove_snapshots(info, keep, &err), ERR_ARGUMENT);
	info->snapshots.items[find(info, 40)].parent = (int32_t)find(info, 50);
	assert_ok(repo_info_set_pruned(info, find(info, 40), &(struct id12){{60}}, 1, &err), &err);
	assert_ok(repo_info_remove_snapshots(info, keep, &err), &err);
	info = reload(info);
	assert_int_equal(info->snapshots.n, 2);
	assert_int_equal(info->branches.items[0].snapshot, find(info, 40));
	assert_int_equal(info->snapshots.items[find(info, 40)].parent, find(info, 50));
	assert_int_equal(info->snapshots.items[find(info, 40)].n_pruned, 1);
	assert_int_equal(info->snapshots.items[find(info, 40)].pruned[0].bytes[0], 60);
}

static void test_branches_and_tags(void **state)
{
	CLEANUP(repo_info_freep) struct repo_info *info = new_repo();
	uint32_t at;

	(void)state;
	assert_ok(repo_info_set_branch(info, slice_text("zebra"), 0, &err), &err);
	assert_ok(repo_info_set_branch(info, slice_text("a/b \xc3\xa9"), 0, &err), &err);
	assert_ok(repo_info_create_tag(info, slice_text("v2"), 0, &err), &err);
	assert_ok(repo_info_create_tag(info, slice_text("v1"), 0, &err), &err);
	assert_int_equal(repo_info_create_tag(info, slice_text("v1"), 0, &err), ERR_CONFLICT);
	assert_string_equal(err.text, "tag 'v1' exists");
	assert_ok(repo_info_delete_tag(info, slice_text("v2"), &err), &err);
	assert_ok(repo_info_delete_tag(info, slice_text("v1"), &err), &err);
	info = reload(info);
	assert_int_equal(info->tags.n, 0);
	assert_true(slice_is(info->deleted_tags.items[0], "v1"));
	assert_true(slice_is(info->deleted_tags.items[1], "v2"));
	assert_int_equal(repo_info_create_tag(info, slice_text("v1"), 0, &err), ERR_CONFLICT);
	assert_int_equal(repo_info_delete_tag(info, slice_text("v3"), &err), ERR_ABSENT);
	assert_int_equal(repo_info_delete_branch(info, slice_text("main"), &err), ERR_ARGUMENT);
	assert_int_equal(repo_info_delete_branch(info, slice_text("none"), &err), ERR_ABSENT);
	assert_ok(repo_info_delete_branch(info, slice_text("zebra"), &err), &err);
	assert_int_equal(repo_info_find_branch(info, slice_text("zebra"), &at), REPO_INFO_ABSENT);
	assert_int_equal(repo_info_find_branch(info, slice_text("a/b \xc3\xa9"), &at), 0);
}

static void push(struct repo_info *info, uint64_t now, const char *backup, uint32_t page)
{
	struct repo_update update = {.type = UPDATE_BRANCH_CREATED, .name = slice_text("b")};

	assert_ok(repo_info_push_update(info, &update, now, backup, page, &err), &err);
}

/* The rules of the formats (section 7.5) with a page of 3, as seen in generated/opslog-v2. */
static void test_log_is_paged(void **state)
{
	CLEANUP(repo_info_freep) struct repo_info *info = new_repo();

	(void)state;
	push(info, 2000, "repo.1", 3);
	push(info, 3000, "repo.2", 3);
	assert_int_equal(info->updates.n, 3);
	assert_null(info->before_updates.data);
	push(info, 4000, "repo.3", 3);
	info = reload(info);
	assert_int_equal(info->updates.n, 3);
	assert_null(info->updates.items[0].backup_path.data);
	assert_true(slice_is(info->updates.items[1].backup_path, "repo.3"));
	assert_true(slice_is(info->updates.items[2].backup_path, "repo.2"));
	assert_true(slice_is(info->before_updates, "repo.1"));
	push(info, 5000, "repo.4", 3);
	assert_true(slice_is(info->before_updates, "repo.2"));
	/* A smaller page takes effect at the next entry. */
	push(info, 6000, "repo.5", 1);
	assert_int_equal(info->updates.n, 1);
	assert_true(slice_is(info->before_updates, "repo.5"));
}

/* Entries that a migration made up have no backup and cannot be where the log is cut. */
static void test_entries_without_backup_stay(void **state)
{
	CLEANUP(repo_info_freep) struct repo_info *info = new_repo();

	(void)state;
	push(info, 2000, "repo.1", 100);
	push(info, 3000, "repo.2", 100);
	info->updates.items[1].backup_path = (struct slice){0};
	info->updates.items[2].backup_path = (struct slice){0};
	push(info, 4000, "repo.3", 1);
	/* The cut is at the first entry from 1 on that has one. */
	assert_int_equal(info->updates.n, 1);
	push(info, 5000, "repo.4", 3);
	assert_int_equal(info->updates.n, 2);
}

static void test_times_grow_though_the_clock_does_not(void **state)
{
	CLEANUP(repo_info_freep) struct repo_info *info = new_repo();

	(void)state;
	assert_int_equal(repo_info_next_time(info, 5), 1001);
	push(info, 5, "repo.1", 100);
	assert_int_equal(info->updates.items[0].at, 1001);
	push(info, 1001, "repo.2", 100);
	assert_int_equal(info->updates.items[0].at, 1002);
	push(info, 5000, "repo.3", 100);
	assert_int_equal(info->updates.items[0].at, 5000);
}

static void test_features(void **state)
{
	CLEANUP(repo_info_freep) struct repo_info *info = new_repo();

	(void)state;
	assert_true(repo_info_feature(info, FEATURE_CREATE_TAG));
	assert_true(repo_info_feature(info, 99));
	assert_ok(repo_info_set_feature(info, FEATURE_DELETE_TAG, true, false, &err), &err);
	assert_ok(repo_info_set_feature(info, FEATURE_CREATE_TAG, true, false, &err), &err);
	assert_ok(repo_info_set_feature(info, FEATURE_MOVE_NODE, true, true, &err), &err);
	info = reload(info);
	assert_false(repo_info_feature(info, FEATURE_CREATE_TAG));
	assert_int_equal(info->disabled_flags.n, 2);
	assert_int_equal(info->disabled_flags.items[0], FEATURE_CREATE_TAG);
	assert_int_equal(info->enabled_flags.items[0], FEATURE_MOVE_NODE);
	assert_ok(repo_info_set_feature(info, FEATURE_CREATE_TAG, true, true, &err), &err);
	assert_ok(repo_info_set_feature(info, FEATURE_DELETE_TAG, false, false, &err), &err);
	assert_true(repo_info_feature(info, FEATURE_CREATE_TAG));
	assert_int_equal(info->disabled_flags.n, 0);
	assert_int_equal(info->enabled_flags.n, 2);
}

static void test_metadata_config_and_status(void **state)
{
	CLEANUP(repo_info_freep) struct repo_info *info = new_repo();
	CLEANUP(buf_done) struct buf json = BUF_INIT(1000);
	struct repo_snapshot snapshot = snapshot_of(60, 0);
	struct json object;
	uint32_t at;

	(void)state;
	assert_ok(json_parse(slice_text("{\"b\":1,\"a\":[true]}"), &object, &err), &err);
	assert_ok(repo_info_set_metadata(info, &object, &err), &err);
	assert_ok(repo_info_items(info, &object, &snapshot.metadata, &snapshot.n_metadata, &err),
		  &err);
	assert_ok(repo_info_insert_snapshot(info, &snapshot, &at, &err), &err);
	info->config = repo_info_dup(info, slice_of("\1\2\3", 3), &err);
	info->status = (struct repo_status){REPO_STATUS_READ_ONLY, 77, slice_text("migration")};
	info = reload(info);
	assert_ok(metadata_items_json(SPEC_2, info->metadata.items, (uint32_t)info->metadata.n,
				      &json, &err),
		  &err);
	assert_true(slice_is(buf_slice(&json), "{\"a\":[true],\"b\":1}"));
	buf_clear(&json);
	assert_ok(metadata_items_json(SPEC_2, info->snapshots.items[at].metadata,
				      info->snapshots.items[at].n_metadata, &json, &err),
		  &err);
	assert_true(slice_is(buf_slice(&json), "{\"a\":[true],\"b\":1}"));
	assert_true(slice_equal(info->config, slice_of("\1\2\3", 3)));
	assert_int_equal(info->status.availability, REPO_STATUS_READ_ONLY);
	assert_string_equal(repo_availability_name(info->status.availability), "read_only");
	assert_true(slice_is(info->status.reason, "migration"));
}

/* All kinds of entries keep their fields. */
static void test_every_update(void **state)
{
	CLEANUP(repo_info_freep) struct repo_info *info = new_repo();

	(void)state;
	for (enum update_type type = UPDATE_REPO_INITIALIZED; type <= UPDATE_REPO_STATUS_CHANGED;
	     type++) {
		struct repo_update update = {.type = type,
					     .name = slice_text("n"),
					     .previous = {{1}},
					     .snapshot = {{2}},
					     .from_version = 1,
					     .to_version = 2,
					     .flag = 3,
					     .flag_is_set = true,
					     .has_status = true,
					     .status = {REPO_OFFLINE, 9, slice_text("why")}};

		assert_ok(repo_info_push_update(info, &update, 2000, "repo.x", 100, &err), &err);
	}
	info = reload(info);
	assert_int_equal(info->updates.n, 17);
	for (size_t i = 0; i < 16; i++)
		assert_int_equal(info->updates.items[i].type, 16 - i);
	assert_true(slice_is(info->updates.items[0].status.reason, "why"));
	assert_int_equal(info->updates.items[1].flag, 3);
	assert_true(info->updates.items[1].flag_is_set);
	assert_int_equal(info->updates.items[4].snapshot.bytes[0], 2);
	assert_int_equal(info->updates.items[5].previous.bytes[0], 1);
	assert_true(slice_is(info->updates.items[5].name, "n"));
	assert_int_equal(info->updates.items[14].to_version, 2);
	assert_string_equal(update_type_name(info->updates.items[5].type), "CommitAmendedUpdate");
}

static void assert_broken(const struct repo_info *info, const char *text)
{
	CLEANUP(buf_done) struct buf out = BUF_INIT(1 << 20);

	assert_int_equal(repo_info_encode(info, &out, &err), ERR_FORMAT);
	assert_string_equal(err.text, text);
}

static void test_refuses_what_hangs_together_wrongly(void **state)
{
	CLEANUP(repo_info_freep) struct repo_info *info = new_repo();

	(void)state;
	insert(info, 60, 0);
	info->snapshots.items[0].parent = 1;
	assert_broken(info, "a snapshot is its own ancestor");
	info->snapshots.items[0].parent = 2;
	assert_broken(info, "parent of snapshot 68000000000000000000 is missing");
	info->snapshots.items[0].parent = -1;
	info->branches.items[0].snapshot = 2;
	assert_broken(info, "branch 'main' is at a missing snapshot");
	info->branches.items[0].snapshot = 0;
	info->branches.items[0].name = slice_text("other");
	assert_broken(info, "no branch 'main'");
}

static void test_refuses_more_than_readers_take(void **state)
{
	CLEANUP(repo_info_freep) struct repo_info *info = new_repo();
	CLEANUP(buf_done) struct buf out = BUF_INIT(1 << 20);

	(void)state;
	info->snapshots.items[0].n_metadata = 1000000;
	assert_int_equal(repo_info_encode(info, &out, &err), ERR_UNSUPPORTED);
	assert_string_equal(err.text,
			    "repo object of 1 snapshots, which readers refuse: expire and "
			    "collect old ones");
}

/* The form of the formats (section 1.1); the time of its example is 2026-04-08. */
static void test_backup_name(void **state)
{
	char name[REPO_BACKUP_LEN + 1];

	(void)state;
	assert_ok(backup_name("repo", INT64_C(1775664957464000), name, sizeof(name), &err), &err);
	assert_int_equal(strlen(name), REPO_BACKUP_LEN);
	assert_true(text_starts(name, "repo.30728015042536."));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_new),
		cmocka_unit_test(test_insert_shifts),
		cmocka_unit_test(test_remove),
		cmocka_unit_test(test_branches_and_tags),
		cmocka_unit_test(test_log_is_paged),
		cmocka_unit_test(test_entries_without_backup_stay),
		cmocka_unit_test(test_times_grow_though_the_clock_does_not),
		cmocka_unit_test(test_features),
		cmocka_unit_test(test_metadata_config_and_status),
		cmocka_unit_test(test_every_update),
		cmocka_unit_test(test_refuses_what_hangs_together_wrongly),
		cmocka_unit_test(test_refuses_more_than_readers_take),
		cmocka_unit_test(test_backup_name),
	};

	return cmocka_run_group_tests_name("repo objects", tests, NULL, NULL);
}
