/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "icechunk/repoinfo.h"
#include "icechunk/search.h"

struct slice repo_info_dup(struct repo_info *info, struct slice bytes, struct error *err)
{
	char *copy = arena_dup(&info->arena, bytes, err);

	return copy ? slice_of(copy, bytes.size) : (struct slice){0};
}

static int compare_snapshot(const void *snapshots, uint32_t i, const void *id)
{
	return id12_compare(&((const struct repo_snapshot *)snapshots)[i].id, id);
}

int repo_info_find_snapshot(const struct repo_info *info, const struct id12 *id, uint32_t *ret_i)
{
	return search_sorted(info->snapshots.items, (uint32_t)info->snapshots.n, id,
			     compare_snapshot, ret_i)
		       ? 0
		       : REPO_INFO_ABSENT;
}

static int compare_ref(const void *refs, uint32_t i, const void *name)
{
	return slice_compare(((const struct repo_ref *)refs)[i].name, *(const struct slice *)name);
}

static int find_ref(const struct repo_refs *refs, struct slice name, uint32_t *ret_i)
{
	return search_sorted(refs->items, (uint32_t)refs->n, &name, compare_ref, ret_i)
		       ? 0
		       : REPO_INFO_ABSENT;
}

int repo_info_find_branch(const struct repo_info *info, struct slice name, uint32_t *ret_i)
{
	return find_ref(&info->branches, name, ret_i);
}

int repo_info_find_tag(const struct repo_info *info, struct slice name, uint32_t *ret_i)
{
	return find_ref(&info->tags, name, ret_i);
}

bool repo_info_tag_is_deleted(const struct repo_info *info, struct slice name)
{
	for (size_t i = 0; i < info->deleted_tags.n; i++)
		if (slice_equal(info->deleted_tags.items[i], name))
			return true;
	return false;
}

/* Moves the last item of an array to position @at. */
static void rotate(void *items, size_t n, size_t at, size_t size, void *spare)
{
	uint8_t *bytes = items;

	memcpy(spare, bytes + (n - 1) * size, size);
	memmove(bytes + (at + 1) * size, bytes + at * size, (n - 1 - at) * size);
	memcpy(bytes + at * size, spare, size);
}

static void remove_at(void *items, size_t n, size_t at, size_t size)
{
	uint8_t *bytes = items;

	memmove(bytes + at * size, bytes + (at + 1) * size, (n - 1 - at) * size);
}

static int dup_items(struct repo_info *info, struct repo_snapshot *snapshot, struct error *err)
{
	struct metadata_item *items;

	if (snapshot->n_metadata == 0)
		return 0;
	items = arena_zalloc(&info->arena, snapshot->n_metadata, sizeof(*items), err);
	if (!items)
		return ERR_MEMORY;
	for (uint32_t i = 0; i < snapshot->n_metadata; i++) {
		items[i].name = repo_info_dup(info, snapshot->metadata[i].name, err);
		items[i].value = repo_info_dup(info, snapshot->metadata[i].value, err);
		if (!items[i].name.data || !items[i].value.data)
			return ERR_MEMORY;
	}
	snapshot->metadata = items;
	return 0;
}

static int dup_pruned(struct repo_info *info, struct repo_snapshot *snapshot, struct error *err)
{
	struct slice bytes =
		slice_of(snapshot->pruned, snapshot->n_pruned * sizeof(*snapshot->pruned));

	if (snapshot->n_pruned == 0)
		return 0;
	bytes = repo_info_dup(info, bytes, err);
	if (!bytes.data)
		return ERR_MEMORY;
	snapshot->pruned = (const struct id12 *)bytes.data;
	return 0;
}

/* Indices from @at on are one more than they were. */
static void shift_indices(struct repo_info *info, uint32_t at)
{
	for (size_t i = 0; i < info->tags.n; i++)
		info->tags.items[i].snapshot += info->tags.items[i].snapshot >= at;
	for (size_t i = 0; i < info->branches.n; i++)
		info->branches.items[i].snapshot += info->branches.items[i].snapshot >= at;
	for (size_t i = 0; i < info->snapshots.n; i++)
		info->snapshots.items[i].parent += info->snapshots.items[i].parent >= (int32_t)at;
}

int repo_info_insert_snapshot(struct repo_info *info, const struct repo_snapshot *snapshot,
			      uint32_t *ret_i, struct error *err)
{
	struct repo_snapshot copy = *snapshot, spare;
	uint32_t at;
	int r;

	if (repo_info_find_snapshot(info, &copy.id, &at) == 0)
		return error_set(err, ERR_CONFLICT, "the snapshot is there already");
	if (copy.parent < -1 || copy.parent >= (int64_t)info->snapshots.n)
		return error_set(err, ERR_ARGUMENT, "parent %d of %zu snapshots", copy.parent,
				 info->snapshots.n);
	copy.message = repo_info_dup(info, copy.message, err);
	if (!copy.message.data)
		return ERR_MEMORY;
	r = dup_items(info, &copy, err);
	if (r == 0)
		r = dup_pruned(info, &copy, err);
	if (r == 0)
		r = repo_snapshots_push(&info->snapshots, copy, err);
	if (r < 0)
		return r;
	shift_indices(info, at);
	rotate(info->snapshots.items, info->snapshots.n, at, sizeof(spare), &spare);
	*ret_i = at;
	return 0;
}

static int check_kept(const struct repo_info *info, const bool *keep, struct error *err)
{
	bool lost = false;

	for (size_t i = 0; i < info->tags.n; i++)
		lost |= !keep[info->tags.items[i].snapshot];
	for (size_t i = 0; i < info->branches.n; i++)
		lost |= !keep[info->branches.items[i].snapshot];
	for (size_t i = 0; i < info->snapshots.n; i++) {
		int32_t parent = info->snapshots.items[i].parent;

		lost |= keep[i] && parent >= 0 && !keep[parent];
	}
	return lost ? error_set(err, ERR_ARGUMENT, "a snapshot that is removed is still in use")
		    : 0;
}

int repo_info_remove_snapshots(struct repo_info *info, const bool *keep, struct error *err)
{
	uint32_t *new_index;
	uint32_t n = 0;
	int r;

	r = check_kept(info, keep, err);
	if (r < 0)
		return r;
	new_index = calloc(info->snapshots.n ? info->snapshots.n : 1, sizeof(*new_index));
	if (!new_index)
		return error_memory(err);
	for (uint32_t i = 0; i < info->snapshots.n; i++) {
		new_index[i] = n;
		if (keep[i])
			info->snapshots.items[n++] = info->snapshots.items[i];
	}
	info->snapshots.n = n;
	for (size_t i = 0; i < info->tags.n; i++)
		info->tags.items[i].snapshot = new_index[info->tags.items[i].snapshot];
	for (size_t i = 0; i < info->branches.n; i++)
		info->branches.items[i].snapshot = new_index[info->branches.items[i].snapshot];
	for (size_t i = 0; i < n; i++)
		if (info->snapshots.items[i].parent >= 0)
			info->snapshots.items[i].parent =
				(int32_t)new_index[info->snapshots.items[i].parent];
	free(new_index);
	return 0;
}

int repo_info_set_pruned(struct repo_info *info, uint32_t snapshot, const struct id12 *ids,
			 uint32_t n, struct error *err)
{
	struct repo_snapshot copy = info->snapshots.items[snapshot];
	int r;

	copy.pruned = n ? ids : NULL;
	copy.n_pruned = n;
	r = dup_pruned(info, &copy, err);
	if (r < 0)
		return r;
	info->snapshots.items[snapshot] = copy;
	return 0;
}

static int insert_ref(struct repo_info *info, struct repo_refs *refs, uint32_t at,
		      struct slice name, uint32_t snapshot, struct error *err)
{
	struct repo_ref ref = {repo_info_dup(info, name, err), snapshot}, spare;
	int r;

	if (!ref.name.data)
		return ERR_MEMORY;
	r = repo_refs_push(refs, ref, err);
	if (r < 0)
		return r;
	rotate(refs->items, refs->n, at, sizeof(spare), &spare);
	return 0;
}

int repo_info_set_branch(struct repo_info *info, struct slice name, uint32_t snapshot,
			 struct error *err)
{
	uint32_t at;

	if (snapshot >= info->snapshots.n)
		return error_set(err, ERR_ARGUMENT, "snapshot %u of %zu", snapshot,
				 info->snapshots.n);
	if (repo_info_find_branch(info, name, &at) == 0) {
		info->branches.items[at].snapshot = snapshot;
		return 0;
	}
	return insert_ref(info, &info->branches, at, name, snapshot, err);
}

int repo_info_delete_branch(struct repo_info *info, struct slice name, struct error *err)
{
	uint32_t at;

	if (slice_is(name, "main"))
		return error_set(err, ERR_ARGUMENT, "branch 'main' cannot be deleted");
	if (repo_info_find_branch(info, name, &at) != 0)
		return error_set(err, ERR_ABSENT, "no branch '%.*s'", (int)name.size,
				 (const char *)name.data);
	remove_at(info->branches.items, info->branches.n--, at, sizeof(struct repo_ref));
	return 0;
}

int repo_info_create_tag(struct repo_info *info, struct slice name, uint32_t snapshot,
			 struct error *err)
{
	uint32_t at;

	if (snapshot >= info->snapshots.n)
		return error_set(err, ERR_ARGUMENT, "snapshot %u of %zu", snapshot,
				 info->snapshots.n);
	if (repo_info_find_tag(info, name, &at) == 0)
		return error_set(err, ERR_CONFLICT, "tag '%.*s' exists", (int)name.size,
				 (const char *)name.data);
	if (repo_info_tag_is_deleted(info, name))
		return error_set(err, ERR_CONFLICT,
				 "tag '%.*s' was deleted, and its name cannot be used again",
				 (int)name.size, (const char *)name.data);
	return insert_ref(info, &info->tags, at, name, snapshot, err);
}

int repo_info_delete_tag(struct repo_info *info, struct slice name, struct error *err)
{
	struct slice spare;
	uint32_t at;
	size_t place = 0;
	int r;

	if (repo_info_find_tag(info, name, &at) != 0)
		return error_set(err, ERR_ABSENT, "no tag '%.*s'", (int)name.size,
				 (const char *)name.data);
	r = repo_names_push(&info->deleted_tags, info->tags.items[at].name, err);
	if (r < 0)
		return r;
	while (place + 1 < info->deleted_tags.n &&
	       slice_compare(info->deleted_tags.items[place], name) < 0)
		place++;
	rotate(info->deleted_tags.items, info->deleted_tags.n, place, sizeof(spare), &spare);
	remove_at(info->tags.items, info->tags.n--, at, sizeof(struct repo_ref));
	return 0;
}

static bool has_flag(const struct repo_flags *flags, uint16_t flag)
{
	for (size_t i = 0; i < flags->n; i++)
		if (flags->items[i] == flag)
			return true;
	return false;
}

static void drop_flag(struct repo_flags *flags, uint16_t flag)
{
	size_t n = 0;

	for (size_t i = 0; i < flags->n; i++)
		if (flags->items[i] != flag)
			flags->items[n++] = flags->items[i];
	flags->n = n;
}

static int add_flag(struct repo_flags *flags, uint16_t flag, struct error *err)
{
	uint16_t spare;
	size_t at = 0;
	int r;

	r = repo_flags_push(flags, flag, err);
	if (r < 0)
		return r;
	while (flags->items[at] < flag)
		at++;
	rotate(flags->items, flags->n, at, sizeof(spare), &spare);
	return 0;
}

bool repo_info_feature(const struct repo_info *info, uint16_t flag)
{
	return !has_flag(&info->disabled_flags, flag);
}

int repo_info_set_feature(struct repo_info *info, uint16_t flag, bool is_set, bool value,
			  struct error *err)
{
	drop_flag(&info->enabled_flags, flag);
	drop_flag(&info->disabled_flags, flag);
	if (!is_set)
		return 0;
	return add_flag(value ? &info->enabled_flags : &info->disabled_flags, flag, err);
}

int repo_info_items(struct repo_info *info, const struct json *object,
		    const struct metadata_item **ret_items, uint32_t *ret_n, struct error *err)
{
	CLEANUP(metadata_items_done) struct metadata_items items = {0};
	struct metadata_item *copy;
	int r;

	r = metadata_items_encode(SPEC_2, object, &info->arena, &items, err);
	if (r < 0)
		return r;
	copy = arena_zalloc(&info->arena, items.n + 1, sizeof(*copy), err);
	if (!copy)
		return ERR_MEMORY;
	if (items.n)
		memcpy(copy, items.items, items.n * sizeof(*copy));
	*ret_items = copy;
	*ret_n = (uint32_t)items.n;
	return 0;
}

int repo_info_set_metadata(struct repo_info *info, const struct json *object, struct error *err)
{
	struct metadata_items items = {0};
	int r;

	r = metadata_items_encode(SPEC_2, object, &info->arena, &items, err);
	if (r < 0) {
		metadata_items_done(&items);
		return r;
	}
	metadata_items_done(&info->metadata);
	info->metadata = items;
	return 0;
}

uint64_t repo_info_next_time(const struct repo_info *info, uint64_t now)
{
	if (info->updates.n == 0 || now > info->updates.items[0].at)
		return now;
	return info->updates.items[0].at + 1;
}

/* Drops what goes beyond a page; what is dropped stays reachable through the backup named. */
static void cut_page(struct repo_info *info, uint32_t page)
{
	for (size_t i = page; i < info->updates.n; i++) {
		if (!info->updates.items[i].backup_path.data)
			continue;
		info->before_updates = info->updates.items[i].backup_path;
		info->updates.n = i;
	}
}

static int dup_optional(struct repo_info *info, struct slice *bytes, struct error *err)
{
	if (!bytes->data)
		return 0;
	*bytes = repo_info_dup(info, *bytes, err);
	return bytes->data ? 0 : ERR_MEMORY;
}

int repo_info_push_update(struct repo_info *info, const struct repo_update *update, uint64_t now,
			  const char *backup, uint32_t page, struct error *err)
{
	struct repo_update copy = *update, spare;
	struct slice path = repo_info_dup(info, slice_text(backup), err);
	int r;

	if (!path.data)
		return ERR_MEMORY;
	if (info->updates.items[0].backup_path.data)
		return error_set(err, ERR_FORMAT,
				 "the newest entry of the log has a backup already");
	copy.at = repo_info_next_time(info, now);
	copy.backup_path = (struct slice){0};
	r = dup_optional(info, &copy.name, err);
	if (r == 0)
		r = dup_optional(info, &copy.status.reason, err);
	if (r == 0)
		r = repo_updates_push(&info->updates, copy, err);
	if (r < 0)
		return r;
	info->updates.items[0].backup_path = path;
	rotate(info->updates.items, info->updates.n, 0, sizeof(spare), &spare);
	cut_page(info, page);
	return 0;
}
