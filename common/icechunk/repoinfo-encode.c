/* SPDX-License-Identifier: Apache-2.0 */
#include "icechunk/repoinfo.h"
#include "icechunk/schema.h"
#include "icechunk/update.h"

/* 0 for text that is not there. */
static uint32_t put_optional(struct flat_builder *flat, struct slice text)
{
	return text.data ? flat_put_string(flat, text) : 0;
}

static uint32_t put_refs(struct flat_builder *flat, const struct repo_refs *refs)
{
	size_t base = flat->gathered.n;

	for (size_t i = 0; i < refs->n; i++) {
		uint32_t name = flat_put_string(flat, refs->items[i].name);

		flat_table_begin(flat);
		flat_add_offset(flat, REPO_REF_NAME, name);
		flat_add_u32(flat, REPO_REF_SNAPSHOT, refs->items[i].snapshot);
		flat_gather(flat, flat_table_end(flat));
	}
	return flat_put_gathered(flat, base);
}

static uint32_t put_names(struct flat_builder *flat, const struct repo_names *names)
{
	size_t base = flat->gathered.n;

	for (size_t i = 0; i < names->n; i++)
		flat_gather(flat, flat_put_string(flat, names->items[i]));
	return flat_put_gathered(flat, base);
}

static void put_snapshot(struct flat_builder *flat, const struct repo_snapshot *snapshot)
{
	uint32_t message = flat_put_string(flat, snapshot->message);
	uint32_t metadata = flat_put_metadata(flat, snapshot->metadata, snapshot->n_metadata);
	uint32_t pruned = 0;

	if (snapshot->n_pruned)
		pruned = flat_put_vector(flat, snapshot->pruned, snapshot->n_pruned,
					 sizeof(*snapshot->pruned), 1);
	flat_table_begin(flat);
	flat_add_u64(flat, SNAP_FLUSHED_AT, snapshot->flushed_at);
	flat_add_u32(flat, SNAP_PARENT, (uint32_t)snapshot->parent);
	flat_add_offset(flat, SNAP_MESSAGE, message);
	flat_add_offset(flat, SNAP_METADATA, metadata);
	flat_add_offset(flat, SNAP_PRUNED, pruned);
	flat_add(flat, SNAP_ID, snapshot->id.bytes, sizeof(snapshot->id.bytes), 1);
	flat_gather(flat, flat_table_end(flat));
}

static uint32_t put_snapshots(struct flat_builder *flat, const struct repo_snapshots *snapshots)
{
	size_t base = flat->gathered.n;

	for (size_t i = 0; i < snapshots->n; i++)
		put_snapshot(flat, &snapshots->items[i]);
	return flat_put_gathered(flat, base);
}

static uint32_t put_status(struct flat_builder *flat, const struct repo_status *status)
{
	uint32_t reason = put_optional(flat, status->reason);

	flat_table_begin(flat);
	flat_add_u64(flat, STATUS_SET_AT, status->set_at);
	flat_add_offset(flat, STATUS_REASON, reason);
	flat_add_u8(flat, STATUS_AVAILABILITY, (uint8_t)status->availability);
	return flat_table_end(flat);
}

static void add_id(struct flat_builder *flat, uint8_t slot, const struct id12 *id)
{
	if (slot != UPDATE_NO_SLOT)
		flat_add(flat, slot, id->bytes, sizeof(id->bytes), 1);
}

static uint32_t put_update_value(struct flat_builder *flat, const struct repo_update *update)
{
	const struct update_layout *layout = &update_layouts[update->type];
	uint32_t name = 0, status = 0;

	if (layout->name_slot != UPDATE_NO_SLOT)
		name = flat_put_string(flat, update->name);
	if (update->type == UPDATE_REPO_STATUS_CHANGED && update->has_status)
		status = put_status(flat, &update->status);
	flat_table_begin(flat);
	if (layout->name_slot != UPDATE_NO_SLOT)
		flat_add_offset(flat, layout->name_slot, name);
	add_id(flat, layout->previous_slot, &update->previous);
	add_id(flat, layout->snapshot_slot, &update->snapshot);
	if (update->type == UPDATE_REPO_MIGRATED) {
		flat_add_u8(flat, MIGRATED_FROM, update->from_version);
		flat_add_u8(flat, MIGRATED_TO, update->to_version);
	}
	if (update->type == UPDATE_FEATURE_FLAG_CHANGED) {
		flat_add_u16(flat, FLAG_ID, update->flag);
		flat_add_u8(flat, FLAG_VALUE, update->flag_value);
		flat_add_u8(flat, FLAG_IS_SET, update->flag_is_set);
	}
	if (update->type == UPDATE_REPO_STATUS_CHANGED)
		flat_add_offset(flat, CHANGED_STATUS, status);
	return flat_table_end(flat);
}

static uint32_t put_updates(struct flat_builder *flat, const struct repo_updates *updates)
{
	size_t base = flat->gathered.n;

	for (size_t i = 0; i < updates->n; i++) {
		const struct repo_update *update = &updates->items[i];
		uint32_t backup = put_optional(flat, update->backup_path);
		uint32_t value = put_update_value(flat, update);

		flat_table_begin(flat);
		flat_add_u64(flat, UPDATE_AT, update->at);
		flat_add_offset(flat, UPDATE_VALUE, value);
		flat_add_offset(flat, UPDATE_BACKUP, backup);
		flat_add_u8(flat, UPDATE_TYPE, (uint8_t)update->type);
		flat_gather(flat, flat_table_end(flat));
	}
	return flat_put_gathered(flat, base);
}

static uint32_t put_flags(struct flat_builder *flat, const struct repo_flags *flags)
{
	return flags->n ? flat_put_vector(flat, flags->items, flags->n, 2, 2) : 0;
}

static uint32_t put_repo(struct flat_builder *flat, const struct repo_info *info)
{
	uint32_t fields[REPO_DISABLED_FLAGS + 1] = {0}; /* handles by slot */

	fields[REPO_TAGS] = put_refs(flat, &info->tags);
	fields[REPO_BRANCHES] = put_refs(flat, &info->branches);
	fields[REPO_DELETED_TAGS] = put_names(flat, &info->deleted_tags);
	fields[REPO_SNAPSHOTS] = put_snapshots(flat, &info->snapshots);
	fields[REPO_STATUS] = put_status(flat, &info->status);
	fields[REPO_METADATA] = flat_put_metadata(flat, info->metadata.items, info->metadata.n);
	fields[REPO_UPDATES] = put_updates(flat, &info->updates);
	fields[REPO_BEFORE] = put_optional(flat, info->before_updates);
	if (info->config.data)
		fields[REPO_CONFIG] =
			flat_put_vector(flat, info->config.data, info->config.size, 1, 1);
	fields[REPO_ENABLED_FLAGS] = put_flags(flat, &info->enabled_flags);
	fields[REPO_DISABLED_FLAGS] = put_flags(flat, &info->disabled_flags);
	flat_table_begin(flat);
	for (unsigned int slot = REPO_TAGS; slot < ARRAY_LEN(fields); slot++)
		flat_add_offset(flat, slot, fields[slot]);
	flat_add_u8(flat, REPO_SPEC, SPEC_2);
	return flat_table_end(flat);
}

/* The public library verifies with a limit of tables whenever it looks at the object. */
#define TABLES_MAX 1000000

static int check_size(const struct repo_info *info, struct error *err)
{
	uint64_t tables = 2 + info->tags.n + info->branches.n + info->metadata.n;

	for (size_t i = 0; i < info->snapshots.n; i++)
		tables += 1 + (uint64_t)info->snapshots.items[i].n_metadata;
	for (size_t i = 0; i < info->updates.n; i++)
		tables += 2 + (uint64_t)info->updates.items[i].has_status;
	if (tables > TABLES_MAX)
		return error_set(err, ERR_UNSUPPORTED,
				 "repo object of %zu snapshots, which readers refuse: expire and "
				 "collect old ones",
				 info->snapshots.n);
	return 0;
}

int repo_info_encode(const struct repo_info *info, struct buf *out, struct error *err)
{
	CLEANUP(flat_builder_done) struct flat_builder flat = FLAT_BUILDER_INIT;
	int r;

	r = repo_info_check(info, err);
	if (r == 0)
		r = check_size(info, err);
	return r < 0 ? r : flat_builder_end(&flat, put_repo(&flat, info), out, err);
}
