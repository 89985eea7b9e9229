/* SPDX-License-Identifier: Apache-2.0 */
#include "icechunk/repoinfo.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "icechunk/schema.h"
#include "icechunk/update.h"

#define NO UPDATE_NO_SLOT

const struct update_layout update_layouts[UPDATE_TYPES] = {
	[UPDATE_REPO_INITIALIZED] = {"RepoInitializedUpdate", NO, NO, NO},
	[UPDATE_REPO_MIGRATED] = {"RepoMigratedUpdate", NO, NO, NO},
	[UPDATE_CONFIG_CHANGED] = {"ConfigChangedUpdate", NO, NO, NO},
	[UPDATE_METADATA_CHANGED] = {"MetadataChangedUpdate", NO, NO, NO},
	[UPDATE_TAG_CREATED] = {"TagCreatedUpdate", 0, NO, NO},
	[UPDATE_TAG_DELETED] = {"TagDeletedUpdate", 0, 1, NO},
	[UPDATE_BRANCH_CREATED] = {"BranchCreatedUpdate", 0, NO, NO},
	[UPDATE_BRANCH_DELETED] = {"BranchDeletedUpdate", 0, 1, NO},
	[UPDATE_BRANCH_RESET] = {"BranchResetUpdate", 0, 1, NO},
	[UPDATE_NEW_COMMIT] = {"NewCommitUpdate", 0, NO, 1},
	[UPDATE_COMMIT_AMENDED] = {"CommitAmendedUpdate", 0, 1, 2},
	[UPDATE_NEW_DETACHED_SNAPSHOT] = {"NewDetachedSnapshotUpdate", NO, NO, 0},
	[UPDATE_GC_RAN] = {"GCRanUpdate", NO, NO, NO},
	[UPDATE_EXPIRATION_RAN] = {"ExpirationRanUpdate", NO, NO, NO},
	[UPDATE_FEATURE_FLAG_CHANGED] = {"FeatureFlagChangedUpdate", NO, NO, NO},
	[UPDATE_REPO_STATUS_CHANGED] = {"RepoStatusChangedUpdate", NO, NO, NO},
};

const char *update_type_name(enum update_type type)
{
	return type >= UPDATE_REPO_INITIALIZED && type < UPDATE_TYPES ? update_layouts[type].name
								      : "UnknownUpdate";
}

const char *repo_availability_name(enum repo_availability availability)
{
	switch (availability) {
	case REPO_STATUS_READ_ONLY:
		return "read_only";
	case REPO_OFFLINE:
		return "offline";
	default:
		return "online";
	}
}

static const struct flat_field ref_fields[] = {
	FIELD_STRING(REPO_REF_NAME, "name", true),
	FIELD_SCALAR(REPO_REF_SNAPSHOT, 4, "snapshot_index", false),
};
static const struct flat_schema ref_schema = SCHEMA("Ref", ref_fields);

static const struct flat_field snap_fields[] = {
	FIELD_ID12(SNAP_ID, "id", true),
	FIELD_SCALAR(SNAP_PARENT, 4, "parent_offset", false),
	FIELD_SCALAR(SNAP_FLUSHED_AT, 8, "flushed_at", false),
	FIELD_STRING(SNAP_MESSAGE, "message", true),
	FIELD_TABLES(SNAP_METADATA, &metadata_schema, "metadata", false),
	FIELD_VECTOR(SNAP_PRUNED, 12, 1, "pruned_ancestor_tx_logs", false),
};
static const struct flat_schema snap_schema = SCHEMA("SnapshotInfo", snap_fields);

static const struct flat_field status_fields[] = {
	FIELD_SCALAR(STATUS_AVAILABILITY, 1, "availability", false),
	FIELD_SCALAR(STATUS_SET_AT, 8, "set_at", false),
	FIELD_STRING(STATUS_REASON, "limited_availability_reason", false),
};
static const struct flat_schema status_schema = SCHEMA("RepoStatus", status_fields);

static const struct flat_schema empty_schema = {.name = "Update"};

static const struct flat_field migrated_fields[] = {
	FIELD_SCALAR(MIGRATED_FROM, 1, "from_version", false),
	FIELD_SCALAR(MIGRATED_TO, 1, "to_version", false),
};
static const struct flat_schema migrated_schema = SCHEMA("RepoMigratedUpdate", migrated_fields);

static const struct flat_field name_fields[] = {
	FIELD_STRING(0, "name", true),
};
static const struct flat_schema name_schema = SCHEMA("Update", name_fields);

static const struct flat_field name_id_fields[] = {
	FIELD_STRING(0, "name", true),
	FIELD_ID12(1, "snap_id", true),
};
static const struct flat_schema name_id_schema = SCHEMA("Update", name_id_fields);

static const struct flat_field amended_fields[] = {
	FIELD_STRING(0, "branch", true),
	FIELD_ID12(1, "previous_snap_id", true),
	FIELD_ID12(2, "new_snap_id", true),
};
static const struct flat_schema amended_schema = SCHEMA("CommitAmendedUpdate", amended_fields);

static const struct flat_field detached_fields[] = {
	FIELD_ID12(0, "new_snap_id", true),
};
static const struct flat_schema detached_schema =
	SCHEMA("NewDetachedSnapshotUpdate", detached_fields);

static const struct flat_field flag_fields[] = {
	FIELD_SCALAR(FLAG_ID, 2, "id", false),
	FIELD_SCALAR(FLAG_VALUE, 1, "new_value", false),
	FIELD_SCALAR(FLAG_IS_SET, 1, "is_set", false),
};
static const struct flat_schema flag_schema = SCHEMA("FeatureFlagChangedUpdate", flag_fields);

static const struct flat_field changed_fields[] = {
	FIELD_TABLE(CHANGED_STATUS, &status_schema, "status", false),
};
static const struct flat_schema changed_schema = SCHEMA("RepoStatusChangedUpdate", changed_fields);

static const struct flat_schema *const update_unions[UPDATE_TYPES] = {
	[UPDATE_REPO_INITIALIZED] = &empty_schema,
	[UPDATE_REPO_MIGRATED] = &migrated_schema,
	[UPDATE_CONFIG_CHANGED] = &empty_schema,
	[UPDATE_METADATA_CHANGED] = &empty_schema,
	[UPDATE_TAG_CREATED] = &name_schema,
	[UPDATE_TAG_DELETED] = &name_id_schema,
	[UPDATE_BRANCH_CREATED] = &name_schema,
	[UPDATE_BRANCH_DELETED] = &name_id_schema,
	[UPDATE_BRANCH_RESET] = &name_id_schema,
	[UPDATE_NEW_COMMIT] = &name_id_schema,
	[UPDATE_COMMIT_AMENDED] = &amended_schema,
	[UPDATE_NEW_DETACHED_SNAPSHOT] = &detached_schema,
	[UPDATE_GC_RAN] = &empty_schema,
	[UPDATE_EXPIRATION_RAN] = &empty_schema,
	[UPDATE_FEATURE_FLAG_CHANGED] = &flag_schema,
	[UPDATE_REPO_STATUS_CHANGED] = &changed_schema,
};

static const struct flat_field update_fields[] = {
	FIELD_UNION(UPDATE_TYPE, update_unions, "update_type", true),
	FIELD_SCALAR(UPDATE_AT, 8, "updated_at", false),
	FIELD_STRING(UPDATE_BACKUP, "backup_path", false),
};
static const struct flat_schema update_schema = SCHEMA("Update", update_fields);

static const struct flat_field repo_fields[] = {
	FIELD_SCALAR(REPO_SPEC, 1, "spec_version", false),
	FIELD_TABLES(REPO_TAGS, &ref_schema, "tags", true),
	FIELD_TABLES(REPO_BRANCHES, &ref_schema, "branches", true),
	FIELD_STRINGS(REPO_DELETED_TAGS, "deleted_tags", true),
	FIELD_TABLES(REPO_SNAPSHOTS, &snap_schema, "snapshots", true),
	FIELD_TABLE(REPO_STATUS, &status_schema, "status", true),
	FIELD_TABLES(REPO_METADATA, &metadata_schema, "metadata", false),
	FIELD_TABLES(REPO_UPDATES, &update_schema, "latest_updates", true),
	FIELD_STRING(REPO_BEFORE, "repo_before_updates", false),
	FIELD_BYTES(REPO_CONFIG, "config", false),
	FIELD_VECTOR(REPO_ENABLED_FLAGS, 2, 2, "enabled_feature_flags", false),
	FIELD_VECTOR(REPO_DISABLED_FLAGS, 2, 2, "disabled_feature_flags", false),
};
static const struct flat_schema repo_schema = SCHEMA("Repo", repo_fields);

struct parser {
	struct repo_info *info;
	struct slice flat;
	uint32_t root;
	struct error *err;
};

static void load_id(const struct parser *p, uint32_t table, unsigned int slot, struct id12 *ret_id)
{
	memcpy(ret_id, p->flat.data + flat_field(p->flat, table, slot), sizeof(*ret_id));
}

static int parse_refs(struct parser *p, unsigned int slot, struct repo_refs *refs)
{
	uint32_t vector = flat_child(p->flat, p->root, slot);
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < flat_count(p->flat, vector); i++) {
		uint32_t table = flat_item(p->flat, vector, i);

		r = repo_refs_push(
			refs,
			(struct repo_ref){flat_get_bytes(p->flat, table, REPO_REF_NAME),
					  flat_get_u32(p->flat, table, REPO_REF_SNAPSHOT)},
			p->err);
	}
	return r;
}

static int parse_names(struct parser *p)
{
	uint32_t vector = flat_child(p->flat, p->root, REPO_DELETED_TAGS);
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < flat_count(p->flat, vector); i++) {
		uint32_t text = flat_item(p->flat, vector, i);
		struct slice name = slice_of(p->flat.data + text + 4, flat_u32(p->flat, text));

		r = repo_names_push(&p->info->deleted_tags, name, p->err);
	}
	return r;
}

static struct metadata_item load_item(const struct parser *p, uint32_t vector, uint32_t i)
{
	uint32_t table = flat_item(p->flat, vector, i);

	return (struct metadata_item){flat_get_bytes(p->flat, table, METADATA_NAME),
				      flat_get_bytes(p->flat, table, METADATA_VALUE)};
}

static int parse_metadata(struct parser *p)
{
	uint32_t vector = flat_child(p->flat, p->root, REPO_METADATA);
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < flat_count(p->flat, vector); i++)
		r = metadata_items_push(&p->info->metadata, load_item(p, vector, i), p->err);
	return r;
}

static int parse_snapshot_metadata(struct parser *p, uint32_t table, struct repo_snapshot *snapshot)
{
	uint32_t vector = flat_child(p->flat, table, SNAP_METADATA);
	uint32_t n = flat_count(p->flat, vector);
	struct metadata_item *items;

	if (n == 0)
		return 0;
	items = arena_zalloc(&p->info->arena, n, sizeof(*items), p->err);
	if (!items)
		return ERR_MEMORY;
	for (uint32_t i = 0; i < n; i++)
		items[i] = load_item(p, vector, i);
	snapshot->metadata = items;
	snapshot->n_metadata = n;
	return 0;
}

static int parse_snapshots(struct parser *p)
{
	uint32_t vector = flat_child(p->flat, p->root, REPO_SNAPSHOTS);
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < flat_count(p->flat, vector); i++) {
		uint32_t table = flat_item(p->flat, vector, i);
		uint32_t pruned = flat_child(p->flat, table, SNAP_PRUNED);
		struct repo_snapshot snapshot = {
			.parent = (int32_t)flat_get_u32(p->flat, table, SNAP_PARENT),
			.flushed_at = flat_get_u64(p->flat, table, SNAP_FLUSHED_AT),
			.message = flat_get_bytes(p->flat, table, SNAP_MESSAGE),
			.n_pruned = flat_count(p->flat, pruned),
		};

		load_id(p, table, SNAP_ID, &snapshot.id);
		if (snapshot.n_pruned)
			snapshot.pruned = (const struct id12 *)(p->flat.data + pruned + 4);
		r = parse_snapshot_metadata(p, table, &snapshot);
		if (r == 0)
			r = repo_snapshots_push(&p->info->snapshots, snapshot, p->err);
	}
	return r;
}

static struct repo_status load_status(const struct parser *p, uint32_t table)
{
	return (struct repo_status){
		.availability = flat_get_u8(p->flat, table, STATUS_AVAILABILITY, REPO_ONLINE),
		.set_at = flat_get_u64(p->flat, table, STATUS_SET_AT),
		.reason = flat_get_bytes(p->flat, table, STATUS_REASON),
	};
}

static void load_update_value(const struct parser *p, uint32_t table, struct repo_update *update)
{
	const struct update_layout *layout = &update_layouts[update->type];
	uint32_t status;

	if (layout->name_slot != NO)
		update->name = flat_get_bytes(p->flat, table, layout->name_slot);
	if (layout->previous_slot != NO)
		load_id(p, table, layout->previous_slot, &update->previous);
	if (layout->snapshot_slot != NO)
		load_id(p, table, layout->snapshot_slot, &update->snapshot);
	if (update->type == UPDATE_REPO_MIGRATED) {
		update->from_version = flat_get_u8(p->flat, table, MIGRATED_FROM, 0);
		update->to_version = flat_get_u8(p->flat, table, MIGRATED_TO, 0);
	}
	if (update->type == UPDATE_FEATURE_FLAG_CHANGED) {
		update->flag = flat_get_u16(p->flat, table, FLAG_ID);
		update->flag_value = flat_get_u8(p->flat, table, FLAG_VALUE, 0);
		update->flag_is_set = flat_get_u8(p->flat, table, FLAG_IS_SET, 0);
	}
	status = update->type == UPDATE_REPO_STATUS_CHANGED
			 ? flat_child(p->flat, table, CHANGED_STATUS)
			 : 0;
	update->has_status = status != 0;
	if (status)
		update->status = load_status(p, status);
}

static int parse_updates(struct parser *p)
{
	uint32_t vector = flat_child(p->flat, p->root, REPO_UPDATES);
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < flat_count(p->flat, vector); i++) {
		uint32_t table = flat_item(p->flat, vector, i);
		struct repo_update update = {
			.type = flat_get_u8(p->flat, table, UPDATE_TYPE, 0),
			.at = flat_get_u64(p->flat, table, UPDATE_AT),
			.backup_path = flat_get_bytes(p->flat, table, UPDATE_BACKUP),
		};

		load_update_value(p, flat_child(p->flat, table, UPDATE_VALUE), &update);
		r = repo_updates_push(&p->info->updates, update, p->err);
	}
	return r;
}

static int parse_flags(struct parser *p, unsigned int slot, struct repo_flags *flags)
{
	uint32_t vector = flat_child(p->flat, p->root, slot);
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < flat_count(p->flat, vector); i++)
		r = repo_flags_push(flags, flat_u16(p->flat, vector + 4 + 2 * i), p->err);
	return r;
}

static int parse_all(struct parser *p)
{
	struct repo_info *info = p->info;
	int r;

	r = parse_refs(p, REPO_TAGS, &info->tags);
	if (r == 0)
		r = parse_refs(p, REPO_BRANCHES, &info->branches);
	if (r == 0)
		r = parse_names(p);
	if (r == 0)
		r = parse_snapshots(p);
	if (r == 0)
		r = parse_metadata(p);
	if (r == 0)
		r = parse_updates(p);
	if (r == 0)
		r = parse_flags(p, REPO_ENABLED_FLAGS, &info->enabled_flags);
	if (r == 0)
		r = parse_flags(p, REPO_DISABLED_FLAGS, &info->disabled_flags);
	info->status = load_status(p, flat_child(p->flat, p->root, REPO_STATUS));
	info->before_updates = flat_get_bytes(p->flat, p->root, REPO_BEFORE);
	info->config = flat_get_bytes(p->flat, p->root, REPO_CONFIG);
	return r;
}

static int check_refs(const struct repo_info *info, const struct repo_refs *refs, const char *what,
		      struct error *err)
{
	for (size_t i = 0; i < refs->n; i++) {
		const struct repo_ref *ref = &refs->items[i];

		if (i > 0 && slice_compare(refs->items[i - 1].name, ref->name) >= 0)
			return error_set(err, ERR_FORMAT,
					 "%s '%.*s' is there twice or out of order", what,
					 (int)ref->name.size, (const char *)ref->name.data);
		if (ref->snapshot >= info->snapshots.n)
			return error_set(err, ERR_FORMAT, "%s '%.*s' is at a missing snapshot",
					 what, (int)ref->name.size, (const char *)ref->name.data);
	}
	return 0;
}

/* Every chain of parents must end.  Marks: 0 new, 1 on the chain that is walked, 2 known to end. */
static int check_chains(const struct repo_info *info, uint8_t *marks, struct error *err)
{
	const struct repo_snapshot *items = info->snapshots.items;

	for (size_t i = 0; i < info->snapshots.n; i++) {
		int32_t at = (int32_t)i;

		for (; at >= 0 && marks[at] == 0; at = items[at].parent)
			marks[at] = 1;
		if (at >= 0 && marks[at] == 1)
			return error_set(err, ERR_FORMAT, "a snapshot is its own ancestor");
		for (at = (int32_t)i; at >= 0 && marks[at] == 1; at = items[at].parent)
			marks[at] = 2;
	}
	return 0;
}

static int check_snapshots(const struct repo_info *info, struct error *err)
{
	uint8_t *marks;
	int r;

	for (size_t i = 0; i < info->snapshots.n; i++) {
		const struct repo_snapshot *snapshot = &info->snapshots.items[i];
		char id[ID12_TEXT_LEN + 1];

		id12_format(&snapshot->id, id);
		if (i > 0 && id12_compare(&snapshot[-1].id, &snapshot->id) >= 0)
			return error_set(err, ERR_FORMAT,
					 "snapshot %s is there twice or out of order", id);
		if (snapshot->parent < -1 || snapshot->parent >= (int64_t)info->snapshots.n)
			return error_set(err, ERR_FORMAT, "parent of snapshot %s is missing", id);
	}
	marks = calloc(info->snapshots.n ? info->snapshots.n : 1, 1);
	if (!marks)
		return error_memory(err);
	r = check_chains(info, marks, err);
	free(marks);
	return r;
}

int repo_info_check(const struct repo_info *info, struct error *err)
{
	uint32_t i;
	int r;

	r = check_snapshots(info, err);
	if (r == 0)
		r = check_refs(info, &info->branches, "branch", err);
	if (r == 0)
		r = check_refs(info, &info->tags, "tag", err);
	if (r < 0)
		return r;
	if (repo_info_find_branch(info, slice_text("main"), &i) != 0)
		return error_set(err, ERR_FORMAT, "no branch 'main'");
	if (info->updates.n == 0)
		return error_set(err, ERR_FORMAT, "the log of operations is empty");
	return 0;
}

static struct repo_info *new_info(struct error *err)
{
	struct repo_info *info = calloc(1, sizeof(*info));

	if (!info) {
		error_memory(err);
		return NULL;
	}
	info->arena = ARENA_INIT;
	return info;
}

int repo_info_parse(struct buf *payload, struct repo_info **ret_info, struct error *err)
{
	CLEANUP(repo_info_freep) struct repo_info *info = new_info(err);
	struct parser p = {.info = info, .err = err};
	uint8_t spec;
	int r;

	if (!info)
		return ERR_MEMORY;
	info->payload = flat_take(payload);
	p.flat = buf_slice(&info->payload);
	r = flat_verify(p.flat, &repo_schema, err);
	if (r < 0)
		return r;
	p.root = flat_root(p.flat);
	spec = flat_get_u8(p.flat, p.root, REPO_SPEC, 0);
	if (spec != SPEC_2)
		return error_set(err, spec > SPEC_2 ? ERR_UNSUPPORTED : ERR_FORMAT,
				 "specification version %d, newest known is %d", spec, SPEC_2);
	r = parse_all(&p);
	if (r == 0)
		r = repo_info_check(info, err);
	if (r < 0)
		return r;
	*ret_info = TAKE(info);
	return 0;
}

struct repo_info *repo_info_free(struct repo_info *info)
{
	if (!info)
		return NULL;
	repo_refs_done(&info->tags);
	repo_refs_done(&info->branches);
	repo_names_done(&info->deleted_tags);
	repo_snapshots_done(&info->snapshots);
	metadata_items_done(&info->metadata);
	repo_updates_done(&info->updates);
	repo_flags_done(&info->enabled_flags);
	repo_flags_done(&info->disabled_flags);
	buf_done(&info->payload);
	arena_done(&info->arena);
	free(info);
	return NULL;
}

int repo_info_new(const struct repo_snapshot *root, struct slice config, uint64_t now,
		  struct repo_info **ret_info, struct error *err)
{
	CLEANUP(repo_info_freep) struct repo_info *info = new_info(err);
	struct repo_update update = {.type = UPDATE_REPO_INITIALIZED, .at = now};
	struct repo_snapshot first = *root;
	uint32_t i;
	int r;

	if (!info)
		return ERR_MEMORY;
	first.parent = -1;
	info->status = (struct repo_status){.availability = REPO_ONLINE, .set_at = now};
	r = repo_info_insert_snapshot(info, &first, &i, err);
	if (r == 0)
		r = repo_info_set_branch(info, slice_text("main"), i, err);
	if (r == 0)
		r = repo_updates_push(&info->updates, update, err);
	if (r == 0 && config.size > 0) {
		info->config = repo_info_dup(info, config, err);
		r = info->config.data ? 0 : ERR_MEMORY;
	}
	if (r < 0)
		return r;
	*ret_info = TAKE(info);
	return 0;
}

int repo_info_copy(const struct repo_info *info, struct repo_info **ret_info, struct error *err)
{
	CLEANUP(buf_done) struct buf payload = BUF_INIT(REPO_PAYLOAD_MAX);
	int r;

	r = repo_info_encode(info, &payload, err);
	return r < 0 ? r : repo_info_parse(&payload, ret_info, err);
}

int backup_name(const char *file, int64_t now, char *ret_name, size_t size, struct error *err)
{
	/* The year 3000 in milliseconds: the later the time, the earlier the name sorts. */
	const int64_t end = INT64_C(32503680000000);
	char text[ID12_TEXT_LEN + 1];
	struct id12 id;
	int r, n;

	r = id12_new(&id, err);
	if (r < 0)
		return r;
	id12_format(&id, text);
	n = snprintf(ret_name, size, "%s.%014" PRId64 ".%s", file, end - now / 1000, text);
	if (n < 0 || (size_t)n >= size)
		return error_set(err, ERR_ARGUMENT, "no room for the name of a backup");
	return 0;
}
