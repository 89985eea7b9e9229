/* SPDX-License-Identifier: Apache-2.0 */
#include "dump.h"

#include "base/text.h"
#include "files.h"
#include "icechunk/repoinfo.h"
#include "icechunk/txlog.h"
#include "test.h"

/* The expected files list all references of small arrays, else the first 5 and the last 8. */
#define REFS_LISTED 60
#define REFS_FIRST 5
#define REFS_LAST 8

static struct error err;

#define PUT(...) assert_ok(buf_printf(out, &err, __VA_ARGS__), &err)

static void put_text(struct buf *out, struct slice text)
{
	assert_ok(json_write_text(out, text, &err), &err);
}

static void put_hex(struct buf *out, struct slice bytes)
{
	PUT("\"");
	for (size_t i = 0; i < bytes.size; i++)
		PUT("%02x", bytes.data[i]);
	PUT("\"");
}

static const char *id12_text(const struct id12 *id)
{
	static char text[ID12_TEXT_LEN + 1];

	id12_format(id, text);
	return text;
}

static const char *id8_text(const struct id8 *id)
{
	static char text[ID8_TEXT_LEN + 1];

	id8_format(id, text);
	return text;
}

static void put_ref(struct buf *out, const struct chunk_ref *ref)
{
	switch (ref->kind) {
	case CHUNK_INLINE:
		PUT("{\"kind\":\"inline\",\"hex\":");
		put_hex(out, ref->data);
		PUT("}");
		return;
	case CHUNK_NATIVE:
		PUT("{\"kind\":\"native\",\"id\":\"%s\",\"offset\":%llu,\"length\":%llu}",
		    id12_text(&ref->chunk_id), (unsigned long long)ref->offset,
		    (unsigned long long)ref->length);
		return;
	default:
		break;
	}
	PUT("{\"kind\":\"virtual\",\"location\":");
	put_text(out, ref->location);
	PUT(",\"compressed\":%s,\"offset\":%llu,\"length\":%llu",
	    ref->compressed ? "true" : "false", (unsigned long long)ref->offset,
	    (unsigned long long)ref->length);
	if (ref->etag.data) {
		PUT(",\"etag\":");
		put_text(out, ref->etag);
	} else if (ref->last_modified) {
		PUT(",\"last_modified\":%u", ref->last_modified);
	}
	PUT("}");
}

static void put_index(struct buf *out, const struct chunk_ref *ref)
{
	PUT("\"");
	for (uint32_t i = 0; i < ref->n_dims; i++)
		PUT("%s%u", i ? "/" : "", ref->index[i]);
	PUT("\":");
}

/* A reference found by its index must be the one that stands there. */
static void assert_found(const struct manifest *manifest, const struct manifest_array *array,
			 const struct chunk_ref *want, const struct extent *box)
{
	struct chunk_ref got;

	assert_ok(manifest_find(manifest, array, want->index, want->n_dims, box, &got, &err), &err);
	assert_ptr_equal(got.index, want->index);
	assert_int_equal(got.kind, want->kind);
	assert_true(slice_equal(got.location, want->location) || got.kind != CHUNK_VIRTUAL);
}

/* References of one manifest; @total counts those of the array, of which @skip are not listed. */
static void put_refs(struct buf *out, const char *folder, const struct snapshot_node *node,
		     const struct manifest_ref *use, uint64_t *at, uint64_t n)
{
	const struct extent *box = use->n_extents ? use->extents : NULL;
	CLEANUP(manifest_freep) struct manifest *manifest = NULL;
	CLEANUP(freep)
	char *path = text_printf(&err, "%s/manifests/%s", folder, id12_text(&use->id));
	CLEANUP(buf_done) struct buf payload = read_payload(path, FILE_MANIFEST, NULL);
	struct manifest_array array;
	struct manifest_iter iter;

	assert_ok(manifest_open(&payload, &manifest, &err), &err);
	assert_true(id12_equal(manifest_id(manifest), &use->id));
	assert_ok(manifest_verify(manifest, &err), &err);
	assert_int_equal(manifest_find_array(manifest, &node->id, &array), 0);
	manifest_iter_init(&iter, manifest, &array, 0);
	while (manifest_iter_next(&iter, &err) == 0) {
		assert_true(manifest_ref_holds(use, iter.ref.index));
		assert_found(manifest, &array, &iter.ref, NULL);
		assert_found(manifest, &array, &iter.ref, box);
		if (n <= REFS_LISTED || *at < REFS_FIRST || *at >= n - REFS_LAST) {
			PUT("%s", *at ? "," : "");
			put_index(out, &iter.ref);
			put_ref(out, &iter.ref);
		}
		(*at)++;
	}
}

static bool manifests_are_there(const char *folder, const struct snapshot_node *node)
{
	for (uint32_t i = 0; i < node->n_manifests; i++) {
		struct manifest_ref use = node_manifest(node, i);
		CLEANUP(freep)
		char *path = text_printf(&err, "%s/manifests/%s", folder, id12_text(&use.id));

		if (!file_exists(path))
			return false;
	}
	return true;
}

static uint64_t count_refs(const char *folder, const struct snapshot_node *node)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < node->n_manifests; i++) {
		struct manifest_ref use = node_manifest(node, i);
		CLEANUP(manifest_freep) struct manifest *manifest = NULL;
		CLEANUP(freep)
		char *path = text_printf(&err, "%s/manifests/%s", folder, id12_text(&use.id));
		CLEANUP(buf_done) struct buf payload = read_payload(path, FILE_MANIFEST, NULL);
		struct manifest_array array;

		assert_ok(manifest_open(&payload, &manifest, &err), &err);
		assert_int_equal(manifest_find_array(manifest, &node->id, &array), 0);
		n += array.n_refs;
	}
	return n;
}

static void put_chunks(struct buf *out, const char *folder, const struct snapshot_node *node)
{
	uint64_t at = 0, n;

	if (!manifests_are_there(folder, node)) {
		PUT(",\"missing_manifest\":true,\"chunks\":{}");
		return;
	}
	n = count_refs(folder, node);
	if (n > REFS_LISTED)
		PUT(",\"chunks_truncated\":true,\"num_chunk_refs\":%llu", (unsigned long long)n);
	PUT(",\"chunks\":{");
	for (uint32_t i = 0; i < node->n_manifests; i++) {
		struct manifest_ref use = node_manifest(node, i);

		put_refs(out, folder, node, &use, &at, n);
	}
	PUT("}");
}

static void put_manifests(struct buf *out, const struct snapshot_node *node)
{
	PUT(",\"manifests\":[");
	for (uint32_t i = 0; i < node->n_manifests; i++) {
		struct manifest_ref use = node_manifest(node, i);

		PUT("%s{\"id\":\"%s\",\"extents\":[", i ? "," : "", id12_text(&use.id));
		for (uint32_t j = 0; j < use.n_extents; j++)
			PUT("%s[%u,%u]", j ? "," : "", use.extents[j].from, use.extents[j].to);
		PUT("]}");
	}
	PUT("]");
}

static void put_array(struct buf *out, const char *folder, const struct snapshot_node *node)
{
	PUT(",\"shape\":[");
	for (uint32_t i = 0; i < node->n_dims; i++) {
		struct dimension dimension = node_dimension(node, i);

		PUT("%s[%llu,%u]", i ? "," : "", (unsigned long long)dimension.length,
		    dimension.n_chunks);
	}
	PUT("],\"dimension_names\":%s", node->has_names ? "[" : "null");
	for (uint32_t i = 0; node->has_names && i < node->n_dims; i++) {
		struct slice name = node_dimension_name(node, i);

		PUT("%s", i ? "," : "");
		if (name.data)
			put_text(out, name);
		else
			PUT("null");
	}
	PUT("%s", node->has_names ? "]" : "");
	put_manifests(out, node);
	put_chunks(out, folder, node);
}

static void put_node(struct buf *out, const char *folder, const struct snapshot *snapshot,
		     uint32_t i)
{
	struct snapshot_node node = snapshot_node(snapshot, i);
	uint32_t found;

	assert_int_equal(snapshot_find(snapshot, node.path, &found), 0);
	assert_int_equal(found, i);
	assert_int_equal(snapshot_find_id(snapshot, &node.id, &found), 0);
	assert_int_equal(found, i);
	PUT("%s{\"path\":", i ? "," : "");
	put_text(out, node.path);
	PUT(",\"id\":\"%s\",\"type\":\"%s\",\"zarr_json\":", id8_text(&node.id),
	    node.type == NODE_ARRAY ? "array" : "group");
	put_text(out, node.document);
	if (node.type == NODE_ARRAY)
		put_array(out, folder, &node);
	PUT("}");
}

static void put_snapshot(struct buf *out, const char *folder, const struct snapshot *snapshot)
{
	const struct id12 *parent = snapshot_parent(snapshot);

	PUT(",\"parent_id_in_file\":");
	if (parent)
		PUT("\"%s\"", id12_text(parent));
	else
		PUT("null");
	PUT(",\"flushed_at\":%llu,\"message\":", (unsigned long long)snapshot_flushed_at(snapshot));
	put_text(out, snapshot_message(snapshot));
	PUT(",\"metadata\":");
	assert_ok(snapshot_metadata_json(snapshot, out, &err), &err);
	PUT(",\"manifest_files\":[");
	for (uint32_t i = 0; i < snapshot_n_manifests(snapshot); i++) {
		struct manifest_info info = snapshot_manifest(snapshot, i), found;

		assert_int_equal(snapshot_find_manifest(snapshot, &info.id, &found), 0);
		assert_int_equal(found.size, info.size);
		PUT("%s{\"id\":\"%s\",\"size_bytes\":%llu,\"num_chunk_refs\":%u}", i ? "," : "",
		    id12_text(&info.id), (unsigned long long)info.size, info.n_refs);
	}
	PUT("],\"nodes\":[");
	for (uint32_t i = 0; i < snapshot_n_nodes(snapshot); i++)
		put_node(out, folder, snapshot, i);
	PUT("]}");
}

void dump_snapshot(const char *folder, const char *id, struct buf *out)
{
	CLEANUP(snapshot_freep) struct snapshot *snapshot = NULL;
	CLEANUP(freep) char *path = text_printf(&err, "%s/snapshots/%s", folder, id);
	struct envelope envelope;
	CLEANUP(buf_done) struct buf payload = read_payload(path, FILE_SNAPSHOT, &envelope);

	if (snapshot_open(&payload, envelope.spec, &snapshot, &err) < 0)
		fail_msg("%s: %s", path, err.text);
	assert_string_equal(id12_text(snapshot_id(snapshot)), id);
	PUT("{\"file_spec_version\":%d,\"writer\":\"%s\"", envelope.spec, envelope.writer);
	put_snapshot(out, folder, snapshot);
}

static const char *const list_names[TXLOG_N_LISTS] = {
	[TXLOG_NEW_GROUPS] = "new_groups",	   [TXLOG_NEW_ARRAYS] = "new_arrays",
	[TXLOG_DELETED_GROUPS] = "deleted_groups", [TXLOG_DELETED_ARRAYS] = "deleted_arrays",
	[TXLOG_UPDATED_ARRAYS] = "updated_arrays", [TXLOG_UPDATED_GROUPS] = "updated_groups",
};

static void put_list(struct buf *out, const struct txlog *log, enum txlog_list list)
{
	uint32_t n;
	const struct id8 *ids = txlog_ids(log, list, &n);

	PUT("\"%s\":[", list_names[list]);
	for (uint32_t i = 0; i < n; i++) {
		assert_true(txlog_has(log, list, &ids[i]));
		PUT("%s\"%s\"", i ? "," : "", id8_text(&ids[i]));
	}
	PUT("],");
}

static void put_updated_array(struct buf *out, const struct txlog *log, uint32_t i)
{
	uint32_t n, n_dims, found;
	struct id8 node = txlog_array(log, i, &n);

	assert_int_equal(txlog_find_array(log, &node, &found), 0);
	assert_int_equal(found, i);
	PUT("%s{\"node_id\":\"%s\",\"chunks\":[", i ? "," : "", id8_text(&node));
	for (uint32_t j = 0; j < n; j++) {
		const uint32_t *coords = txlog_chunk(log, i, j, &n_dims);

		assert_true(txlog_has_chunk(log, i, coords, n_dims));
		if (n > REFS_LISTED && j >= REFS_FIRST)
			continue;
		PUT("%s[", j ? "," : "");
		for (uint32_t k = 0; k < n_dims; k++)
			PUT("%s%u", k ? "," : "", coords[k]);
		PUT("]");
	}
	PUT("]");
	if (n > REFS_LISTED)
		PUT(",\"num_chunks\":%u", n);
	PUT("}");
}

/* The expected files have the member only where the log has the list. */
static void put_moves(struct buf *out, const struct txlog *log)
{
	PUT(",\"moved_nodes\":[");
	for (uint32_t i = 0; i < txlog_n_moves(log); i++) {
		struct txlog_move move = txlog_move(log, i);

		PUT("%s{\"from\":", i ? "," : "");
		put_text(out, move.from);
		PUT(",\"to\":");
		put_text(out, move.to);
		PUT(",\"node_id\":\"%s\",\"node_type\":\"%s\"}", id8_text(&move.node),
		    move.type == NODE_ARRAY ? "Array" : "Group");
	}
	PUT("]");
}

void dump_transaction(const char *folder, const char *id, struct buf *out)
{
	CLEANUP(txlog_freep) struct txlog *log = NULL;
	CLEANUP(freep) char *path = text_printf(&err, "%s/transactions/%s", folder, id);
	CLEANUP(buf_done) struct buf payload = read_payload(path, FILE_TRANSACTION_LOG, NULL);

	if (txlog_open(&payload, &log, &err) < 0)
		fail_msg("%s: %s", path, err.text);
	assert_string_equal(id12_text(txlog_id(log)), id);
	PUT("{");
	for (enum txlog_list list = 0; list < TXLOG_N_LISTS; list++)
		put_list(out, log, list);
	PUT("\"updated_chunks\":[");
	for (uint32_t i = 0; i < txlog_n_arrays(log); i++)
		put_updated_array(out, log, i);
	PUT("]");
	put_moves(out, log);
	PUT("}");
}

static const char *snapshot_text(const struct repo_info *info, uint32_t i)
{
	return id12_text(&info->snapshots.items[i].id);
}

static void put_refs_of(struct buf *out, const struct repo_info *info, const char *name,
			const struct repo_refs *refs)
{
	PUT("\"%s\":{", name);
	for (size_t i = 0; i < refs->n; i++) {
		PUT("%s", i ? "," : "");
		put_text(out, refs->items[i].name);
		PUT(":\"%s\"", snapshot_text(info, refs->items[i].snapshot));
	}
	PUT("},");
}

static void put_optional(struct buf *out, struct slice text)
{
	if (text.data)
		put_text(out, text);
	else
		PUT("null");
}

static void put_snapshot_info(struct buf *out, const struct repo_info *info, size_t i)
{
	const struct repo_snapshot *snapshot = &info->snapshots.items[i];

	PUT("%s{\"id\":\"%s\",\"parent\":", i ? "," : "", id12_text(&snapshot->id));
	if (snapshot->parent >= 0)
		PUT("\"%s\"", snapshot_text(info, (uint32_t)snapshot->parent));
	else
		PUT("null");
	PUT(",\"flushed_at\":%llu,\"message\":", (unsigned long long)snapshot->flushed_at);
	put_text(out, snapshot->message);
	PUT(",\"metadata\":");
	assert_ok(metadata_items_json(SPEC_2, snapshot->metadata, snapshot->n_metadata, out, &err),
		  &err);
	PUT(",\"pruned_ancestor_tx_logs\":[");
	for (uint32_t j = 0; j < snapshot->n_pruned; j++)
		PUT("%s\"%s\"", j ? "," : "", id12_text(&snapshot->pruned[j]));
	PUT("]}");
}

static void put_update_args(struct buf *out, const struct repo_update *update)
{
	switch (update->type) {
	case UPDATE_REPO_MIGRATED:
		PUT("\"from_version\":%d,\"to_version\":%d", update->from_version,
		    update->to_version);
		return;
	case UPDATE_FEATURE_FLAG_CHANGED:
		PUT("\"id\":%d,\"new_value\":%s,\"is_set\":%s", update->flag,
		    update->flag_value ? "true" : "false", update->flag_is_set ? "true" : "false");
		return;
	case UPDATE_NEW_COMMIT:
		PUT("\"branch\":");
		put_text(out, update->name);
		PUT(",\"new_snap_id\":\"%s\"", id12_text(&update->snapshot));
		return;
	case UPDATE_NEW_DETACHED_SNAPSHOT:
		PUT("\"new_snap_id\":\"%s\"", id12_text(&update->snapshot));
		return;
	default:
		break;
	}
	if (!update->name.data)
		return;
	PUT("\"name\":");
	put_text(out, update->name);
	if (update->type == UPDATE_TAG_DELETED || update->type == UPDATE_BRANCH_DELETED ||
	    update->type == UPDATE_BRANCH_RESET)
		PUT(",\"previous_snap_id\":\"%s\"", id12_text(&update->previous));
}

static void put_update(struct buf *out, const struct repo_update *update)
{
	PUT("{\"type\":\"%s\",\"args\":{", update_type_name(update->type));
	put_update_args(out, update);
	PUT("},\"at\":%llu,\"backup_path\":", (unsigned long long)update->at);
	put_optional(out, update->backup_path);
	PUT("}");
}

static struct repo_info *open_repo(const char *folder, const char *name)
{
	CLEANUP(freep) char *path = text_printf(&err, "%s/%s", folder, name);
	CLEANUP(buf_done) struct buf payload = read_payload(path, FILE_REPO, NULL);
	struct repo_info *info;

	if (repo_info_parse(&payload, &info, &err) < 0)
		fail_msg("%s: %s", path, err.text);
	return info;
}

/* The whole log, through the copies in overwritten/. */
static void put_log_types(struct buf *out, const char *folder)
{
	struct repo_info *info = open_repo(folder, "repo");
	size_t n = 0;

	while (info) {
		struct slice before = info->before_updates;
		struct repo_info *next = NULL;

		for (size_t i = 0; i < info->updates.n; i++)
			PUT("%s\"%s\"", n++ ? "," : "",
			    update_type_name(info->updates.items[i].type));
		if (before.data) {
			CLEANUP(freep)
			char *name = text_printf(&err, "overwritten/%.*s", (int)before.size,
						 (const char *)before.data);

			next = open_repo(folder, name);
		}
		repo_info_free(info);
		info = next;
	}
}

static void put_flags(struct buf *out, const char *name, const struct repo_flags *flags)
{
	PUT(",\"%s\":[", name);
	for (size_t i = 0; i < flags->n; i++)
		PUT("%s%d", i ? "," : "", flags->items[i]);
	PUT("]");
}

static void put_status(struct buf *out, const struct repo_status *status)
{
	static const char *const names[] = {"Online", "ReadOnly", "Offline"};

	PUT(",\"status\":{\"availability\":\"%s\",\"set_at\":%llu}", names[status->availability],
	    (unsigned long long)status->set_at);
}

static void put_config(struct buf *out, const struct repo_info *info)
{
	PUT(",\"config\":");
	if (!info->config.data)
		PUT("null");
	else
		assert_ok(flex_to_json(info->config, out, &err), &err);
}

static void put_repo(struct buf *out, const struct repo_info *info)
{
	PUT("{");
	put_refs_of(out, info, "branches", &info->branches);
	put_refs_of(out, info, "tags", &info->tags);
	PUT("\"deleted_tags\":[");
	for (size_t i = 0; i < info->deleted_tags.n; i++) {
		PUT("%s", i ? "," : "");
		put_text(out, info->deleted_tags.items[i]);
	}
	PUT("],\"snapshot_infos\":[");
	for (size_t i = 0; i < info->snapshots.n; i++)
		put_snapshot_info(out, info, i);
	PUT("]");
	put_status(out, &info->status);
	PUT(",\"metadata\":");
	assert_ok(metadata_items_json(SPEC_2, info->metadata.items, (uint32_t)info->metadata.n, out,
				      &err),
		  &err);
	put_config(out, info);
	PUT(",\"repo_before_updates\":");
	put_optional(out, info->before_updates);
	put_flags(out, "enabled_feature_flags", &info->enabled_flags);
	put_flags(out, "disabled_feature_flags", &info->disabled_flags);
	PUT(",\"latest_updates\":[");
	for (size_t i = 0; i < info->updates.n; i++) {
		PUT("%s", i ? "," : "");
		put_update(out, &info->updates.items[i]);
	}
	PUT("]");
}

void dump_repo(const char *folder, struct buf *out)
{
	CLEANUP(repo_info_freep) struct repo_info *info = open_repo(folder, "repo");
	CLEANUP(repo_info_freep) struct repo_info *copy = NULL;
	CLEANUP(buf_done) struct buf again = BUF_INIT(BUF_NO_LIMIT);

	put_repo(out, info);
	/* What is written again says the same. */
	assert_ok(repo_info_copy(info, &copy, &err), &err);
	put_repo(&again, copy);
	assert_true(slice_equal(buf_slice(out), buf_slice(&again)));
	PUT(",\"full_ops_log_types\":[");
	put_log_types(out, folder);
	PUT("]}");
}
