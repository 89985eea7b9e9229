/* SPDX-License-Identifier: Apache-2.0 */
#include "icechunk/repoinfo.h"
#include "icechunk/schema.h"
#include "icechunk/update.h"

DEFINE_VEC(handles, uint32_t);

struct encoder {
	struct flat_builder flat;
	const struct repo_info *info;
	struct handles handles;
	struct error *err;
};

/* The vector of what was gathered since @base. */
static uint32_t put_gathered(struct encoder *e, size_t base)
{
	uint32_t handle = flat_put_offsets(&e->flat, e->handles.items + base, e->handles.n - base);

	e->handles.n = base;
	return handle;
}

/* 0 for text that is not there. */
static uint32_t put_optional(struct encoder *e, struct slice text)
{
	return text.data ? flat_put_string(&e->flat, text) : 0;
}

static int put_refs(struct encoder *e, const struct repo_refs *refs, uint32_t *ret_handle)
{
	size_t base = e->handles.n;
	int r = 0;

	for (size_t i = 0; r == 0 && i < refs->n; i++) {
		uint32_t name = flat_put_string(&e->flat, refs->items[i].name);

		flat_table_begin(&e->flat);
		flat_add_offset(&e->flat, REPO_REF_NAME, name);
		flat_add_u32(&e->flat, REPO_REF_SNAPSHOT, refs->items[i].snapshot);
		r = handles_push(&e->handles, flat_table_end(&e->flat), e->err);
	}
	*ret_handle = put_gathered(e, base);
	return r;
}

static int put_names(struct encoder *e, uint32_t *ret_handle)
{
	size_t base = e->handles.n;
	int r = 0;

	for (size_t i = 0; r == 0 && i < e->info->deleted_tags.n; i++)
		r = handles_push(&e->handles,
				 flat_put_string(&e->flat, e->info->deleted_tags.items[i]), e->err);
	*ret_handle = put_gathered(e, base);
	return r;
}

static int put_items(struct encoder *e, const struct metadata_item *items, size_t n,
		     uint32_t *ret_handle)
{
	size_t base = e->handles.n;
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++)
		r = handles_push(&e->handles, flat_put_metadata(&e->flat, &items[i]), e->err);
	*ret_handle = put_gathered(e, base);
	return r;
}

static int put_snapshot(struct encoder *e, const struct repo_snapshot *snapshot)
{
	uint32_t message = flat_put_string(&e->flat, snapshot->message);
	uint32_t metadata = 0, pruned = 0;
	int r;

	r = put_items(e, snapshot->metadata, snapshot->n_metadata, &metadata);
	if (r < 0)
		return r;
	if (snapshot->n_pruned)
		pruned = flat_put_vector(&e->flat, snapshot->pruned, snapshot->n_pruned,
					 sizeof(*snapshot->pruned), 1);
	flat_table_begin(&e->flat);
	flat_add_u64(&e->flat, SNAP_FLUSHED_AT, snapshot->flushed_at);
	flat_add_u32(&e->flat, SNAP_PARENT, (uint32_t)snapshot->parent);
	flat_add_offset(&e->flat, SNAP_MESSAGE, message);
	flat_add_offset(&e->flat, SNAP_METADATA, metadata);
	flat_add_offset(&e->flat, SNAP_PRUNED, pruned);
	flat_add(&e->flat, SNAP_ID, snapshot->id.bytes, sizeof(snapshot->id.bytes), 1);
	return handles_push(&e->handles, flat_table_end(&e->flat), e->err);
}

static int put_snapshots(struct encoder *e, uint32_t *ret_handle)
{
	size_t base = e->handles.n;
	int r = 0;

	for (size_t i = 0; r == 0 && i < e->info->snapshots.n; i++)
		r = put_snapshot(e, &e->info->snapshots.items[i]);
	*ret_handle = put_gathered(e, base);
	return r;
}

static uint32_t put_status(struct encoder *e, const struct repo_status *status)
{
	uint32_t reason = put_optional(e, status->reason);

	flat_table_begin(&e->flat);
	flat_add_u64(&e->flat, STATUS_SET_AT, status->set_at);
	flat_add_offset(&e->flat, STATUS_REASON, reason);
	flat_add_u8(&e->flat, STATUS_AVAILABILITY, (uint8_t)status->availability);
	return flat_table_end(&e->flat);
}

static void add_id(struct encoder *e, uint8_t slot, const struct id12 *id)
{
	if (slot != UPDATE_NO_SLOT)
		flat_add(&e->flat, slot, id->bytes, sizeof(id->bytes), 1);
}

static uint32_t put_update_value(struct encoder *e, const struct repo_update *update)
{
	const struct update_layout *layout = &update_layouts[update->type];
	uint32_t name = 0, status = 0;

	if (layout->name_slot != UPDATE_NO_SLOT)
		name = flat_put_string(&e->flat, update->name);
	if (update->type == UPDATE_REPO_STATUS_CHANGED && update->has_status)
		status = put_status(e, &update->status);
	flat_table_begin(&e->flat);
	if (layout->name_slot != UPDATE_NO_SLOT)
		flat_add_offset(&e->flat, layout->name_slot, name);
	add_id(e, layout->previous_slot, &update->previous);
	add_id(e, layout->snapshot_slot, &update->snapshot);
	if (update->type == UPDATE_REPO_MIGRATED) {
		flat_add_u8(&e->flat, MIGRATED_FROM, update->from_version);
		flat_add_u8(&e->flat, MIGRATED_TO, update->to_version);
	}
	if (update->type == UPDATE_FEATURE_FLAG_CHANGED) {
		flat_add_u16(&e->flat, FLAG_ID, update->flag);
		flat_add_u8(&e->flat, FLAG_VALUE, update->flag_value);
		flat_add_u8(&e->flat, FLAG_IS_SET, update->flag_is_set);
	}
	if (update->type == UPDATE_REPO_STATUS_CHANGED)
		flat_add_offset(&e->flat, CHANGED_STATUS, status);
	return flat_table_end(&e->flat);
}

static int put_updates(struct encoder *e, uint32_t *ret_handle)
{
	size_t base = e->handles.n;
	int r = 0;

	for (size_t i = 0; r == 0 && i < e->info->updates.n; i++) {
		const struct repo_update *update = &e->info->updates.items[i];
		uint32_t backup = put_optional(e, update->backup_path);
		uint32_t value = put_update_value(e, update);

		flat_table_begin(&e->flat);
		flat_add_u64(&e->flat, UPDATE_AT, update->at);
		flat_add_offset(&e->flat, UPDATE_VALUE, value);
		flat_add_offset(&e->flat, UPDATE_BACKUP, backup);
		flat_add_u8(&e->flat, UPDATE_TYPE, (uint8_t)update->type);
		r = handles_push(&e->handles, flat_table_end(&e->flat), e->err);
	}
	*ret_handle = put_gathered(e, base);
	return r;
}

static uint32_t put_flags(struct encoder *e, const struct repo_flags *flags)
{
	return flags->n ? flat_put_vector(&e->flat, flags->items, flags->n, 2, 2) : 0;
}

/* Handles of the root's fields, by slot. */
static int put_fields(struct encoder *e, uint32_t *fields)
{
	const struct repo_info *info = e->info;
	int r;

	r = put_refs(e, &info->tags, &fields[REPO_TAGS]);
	if (r == 0)
		r = put_refs(e, &info->branches, &fields[REPO_BRANCHES]);
	if (r == 0)
		r = put_names(e, &fields[REPO_DELETED_TAGS]);
	if (r == 0)
		r = put_snapshots(e, &fields[REPO_SNAPSHOTS]);
	if (r == 0)
		r = put_items(e, info->metadata.items, info->metadata.n, &fields[REPO_METADATA]);
	if (r == 0)
		r = put_updates(e, &fields[REPO_UPDATES]);
	fields[REPO_STATUS] = put_status(e, &info->status);
	fields[REPO_BEFORE] = put_optional(e, info->before_updates);
	if (info->config.data)
		fields[REPO_CONFIG] =
			flat_put_vector(&e->flat, info->config.data, info->config.size, 1, 1);
	fields[REPO_ENABLED_FLAGS] = put_flags(e, &info->enabled_flags);
	fields[REPO_DISABLED_FLAGS] = put_flags(e, &info->disabled_flags);
	return r;
}

int repo_info_encode(const struct repo_info *info, struct buf *out, struct error *err)
{
	struct encoder e = {.flat = FLAT_BUILDER_INIT, .info = info, .err = err};
	uint32_t fields[REPO_DISABLED_FLAGS + 1] = {0};
	int r;

	r = repo_info_check(info, err);
	if (r == 0)
		r = put_fields(&e, fields);
	if (r == 0) {
		flat_table_begin(&e.flat);
		for (unsigned int slot = REPO_TAGS; slot < ARRAY_LEN(fields); slot++)
			flat_add_offset(&e.flat, slot, fields[slot]);
		flat_add_u8(&e.flat, REPO_SPEC, SPEC_2);
		r = flat_builder_end(&e.flat, flat_table_end(&e.flat), out, err);
	}
	flat_builder_done(&e.flat);
	handles_done(&e.handles);
	return r;
}
