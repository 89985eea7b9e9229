/* SPDX-License-Identifier: Apache-2.0 */
#include "walk.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "icechunk/config.h"
#include "icechunk/envelope.h"
#include "icechunk/manifest.h"
#include "icechunk/refs1.h"
#include "icechunk/repoinfo.h"
#include "icechunk/snapshot.h"
#include "icechunk/txlog.h"
#include "icechunk/value.h"

#define PAYLOAD_MAX (1 << 22)
#define TEXT_MAX (1 << 18) /* shared parts of small values make long texts */
#define REFS_MAX 300	   /* looked at in one manifest */

static void require(bool holds)
{
	if (!holds)
		abort();
}

/* Reads every byte that was lent, so that a sanitizer sees it. */
static unsigned int touch(struct slice bytes)
{
	static volatile unsigned int sum;

	for (size_t i = 0; i < bytes.size; i++)
		sum += bytes.data[i];
	return sum;
}

static struct buf copy_of(struct slice bytes)
{
	struct buf copy = BUF_INIT(BUF_NO_LIMIT);

	require(buf_append_slice(&copy, bytes, NULL) == 0);
	return copy;
}

static void walk_opened(struct slice payload, enum file_type type, enum spec spec)
{
	CLEANUP(buf_done) struct buf sealed = BUF_INIT(BUF_NO_LIMIT);
	CLEANUP(buf_done) struct buf again = BUF_INIT(PAYLOAD_MAX);
	struct envelope_options options = {.spec = spec, .level = 1};
	struct envelope envelope;

	require(envelope_seal(&payload, 1, type, &options, &sealed, NULL) == 0);
	require(envelope_open(buf_slice(&sealed), type, &again, &envelope, NULL) == 0);
	require(slice_equal(buf_slice(&again), payload) && envelope.spec == spec);
}

void walk_envelope(struct slice file)
{
	static const enum file_type types[] = {FILE_SNAPSHOT, FILE_MANIFEST, FILE_TRANSACTION_LOG,
					       FILE_REPO};

	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		CLEANUP(buf_done) struct buf payload = BUF_INIT(PAYLOAD_MAX);
		struct envelope envelope;

		if (envelope_open(file, types[i], &payload, &envelope, NULL) < 0)
			continue;
		require(strlen(envelope.writer) <= ENVELOPE_WRITER_MAX);
		walk_opened(buf_slice(&payload), types[i], envelope.spec);
	}
}

static void walk_array_node(const struct snapshot_node *node)
{
	for (uint32_t i = 0; i < node->n_dims; i++) {
		(void)node_dimension(node, i);
		(void)node_chunk_length(node, i);
		touch(node_dimension_name(node, i));
	}
	for (uint32_t i = 0; i < node->n_manifests; i++) {
		struct manifest_ref ref = node_manifest(node, i);

		touch(slice_of(ref.extents, ref.n_extents * sizeof(*ref.extents)));
	}
}

static void walk_nodes(const struct snapshot *snapshot)
{
	for (uint32_t i = 0; i < snapshot_n_nodes(snapshot); i++) {
		struct snapshot_node node = snapshot_node(snapshot, i);
		uint32_t found;

		require(snapshot_find(snapshot, node.path, &found) == 0 && found == i);
		touch(node.document);
		if (node.type == NODE_ARRAY)
			walk_array_node(&node);
	}
}

static void walk_snapshot_as(struct slice payload, enum spec spec)
{
	CLEANUP(buf_done) struct buf bytes = copy_of(payload);
	CLEANUP(snapshot_freep) struct snapshot *snapshot = NULL;
	CLEANUP(buf_done) struct buf metadata = BUF_INIT(TEXT_MAX);
	struct json parsed;

	if (snapshot_open(&bytes, spec, &snapshot, NULL) < 0)
		return;
	touch(slice_of(snapshot_id(snapshot), sizeof(struct id12)));
	if (snapshot_parent(snapshot))
		touch(slice_of(snapshot_parent(snapshot), sizeof(struct id12)));
	touch(snapshot_message(snapshot));
	if (snapshot_metadata_json(snapshot, &metadata, NULL) == 0)
		require(json_parse(buf_slice(&metadata), &parsed, NULL) == 0);
	for (uint32_t i = 0; i < snapshot_n_manifests(snapshot); i++) {
		struct manifest_info info = snapshot_manifest(snapshot, i);

		require(snapshot_find_manifest(snapshot, &info.id, &info) == 0);
	}
	walk_nodes(snapshot);
}

void walk_snapshot(struct slice payload)
{
	walk_snapshot_as(payload, SPEC_1);
	walk_snapshot_as(payload, SPEC_2);
}

static void walk_ref(const struct chunk_ref *ref)
{
	touch(slice_of(ref->index, ref->n_dims * sizeof(*ref->index)));
	if (ref->kind == CHUNK_INLINE)
		touch(ref->data);
	if (ref->kind == CHUNK_VIRTUAL) {
		touch(ref->location);
		touch(ref->etag);
	}
}

static void walk_refs(const struct manifest *manifest, const struct manifest_array *array,
		      bool verified)
{
	struct chunk_ref ref, found;

	for (uint32_t i = 0; i < array->n_refs && i < REFS_MAX; i++) {
		struct extent box[4] = {{0, 3}, {1, 7}, {0, 0}, {0, 1}};
		uint32_t at;
		int r = manifest_ref(manifest, array, i, &ref, NULL);

		require(r == 0 || !verified);
		if (r < 0)
			continue;
		walk_ref(&ref);
		r = manifest_find(manifest, array, ref.index, ref.n_dims,
				  ref.n_dims <= 4 ? box : NULL, &found, NULL);
		require(!verified || (r == 0 && found.index == ref.index));
		if (r == 0)
			walk_ref(&found);
		r = manifest_lower_bound(manifest, array, ref.index, ref.n_dims, &at, NULL);
		require(!verified || (r == 0 && at == i));
	}
}

static void walk_iter(const struct manifest *manifest, const struct manifest_array *array)
{
	struct manifest_iter iter;
	int n = 0;

	manifest_iter_init(&iter, manifest, array, 0);
	while (n++ < REFS_MAX && manifest_iter_next(&iter, NULL) == 0)
		walk_ref(&iter.ref);
}

void walk_manifest(struct slice payload)
{
	CLEANUP(buf_done) struct buf bytes = copy_of(payload);
	CLEANUP(manifest_freep) struct manifest *manifest = NULL;
	bool verified;

	if (manifest_open(&bytes, &manifest, NULL) < 0)
		return;
	touch(slice_of(manifest_id(manifest), sizeof(struct id12)));
	verified = manifest_verify(manifest, NULL) == 0;
	for (uint32_t i = 0; i < manifest_n_arrays(manifest); i++) {
		struct manifest_array array = manifest_array(manifest, i), found;

		require(manifest_find_array(manifest, &array.node, &found) == 0);
		require(found.n_refs == array.n_refs);
		walk_refs(manifest, &array, verified);
		walk_iter(manifest, &array);
	}
}

static void walk_log_arrays(const struct txlog *log)
{
	for (uint32_t i = 0; i < txlog_n_arrays(log); i++) {
		uint32_t n, n_dims, found;
		struct id8 node = txlog_array(log, i, &n);

		require(txlog_find_array(log, &node, &found) == 0 && found == i);
		for (uint32_t j = 0; j < n; j++) {
			const uint32_t *coords = txlog_chunk(log, i, j, &n_dims);

			require(txlog_has_chunk(log, i, coords, n_dims));
		}
	}
}

/* United with itself a log stays what it was. */
static void walk_merge(const struct txlog *log)
{
	CLEANUP(buf_done) struct buf merged = BUF_INIT(BUF_NO_LIMIT);
	CLEANUP(txlog_freep) struct txlog *again = NULL;

	if (txlog_merge(txlog_id(log), log, log, &merged, NULL) < 0)
		return;
	require(txlog_open(&merged, &again, NULL) == 0);
	require(txlog_n_arrays(again) == txlog_n_arrays(log));
	walk_log_arrays(again);
}

void walk_txlog(struct slice payload)
{
	CLEANUP(buf_done) struct buf bytes = copy_of(payload);
	CLEANUP(txlog_freep) struct txlog *log = NULL;

	if (txlog_open(&bytes, &log, NULL) < 0)
		return;
	for (enum txlog_list list = 0; list < TXLOG_N_LISTS; list++) {
		uint32_t n;
		const struct id8 *ids = txlog_ids(log, list, &n);

		for (uint32_t i = 0; i < n; i++)
			require(txlog_has(log, list, &ids[i]));
	}
	walk_log_arrays(log);
	for (uint32_t i = 0; i < txlog_n_moves(log); i++) {
		struct txlog_move move = txlog_move(log, i);

		touch(move.from);
		touch(move.to);
	}
	(void)txlog_is_empty(log);
	walk_merge(log);
}

static void walk_info(const struct repo_info *info)
{
	for (size_t i = 0; i < info->snapshots.n; i++) {
		const struct repo_snapshot *snapshot = &info->snapshots.items[i];
		CLEANUP(buf_done) struct buf json = BUF_INIT(TEXT_MAX);
		uint32_t found;

		require(repo_info_find_snapshot(info, &snapshot->id, &found) == 0 && found == i);
		touch(snapshot->message);
		touch(slice_of(snapshot->pruned, snapshot->n_pruned * sizeof(*snapshot->pruned)));
		(void)metadata_items_json(SPEC_2, snapshot->metadata, snapshot->n_metadata, &json,
					  NULL);
	}
	for (size_t i = 0; i < info->updates.n; i++) {
		touch(info->updates.items[i].name);
		touch(info->updates.items[i].backup_path);
		touch(info->updates.items[i].status.reason);
		(void)update_type_name(info->updates.items[i].type);
	}
	(void)repo_availability_name(info->status.availability);
}

/* Changes that every object takes. */
static void change_info(struct repo_info *info)
{
	struct repo_update update = {.type = UPDATE_GC_RAN};
	struct repo_snapshot snapshot = {.id = {{0x55}}, .parent = -1};
	uint32_t at;

	if (info->updates.items[0].at > UINT64_MAX - 2)
		return;
	if (repo_info_insert_snapshot(info, &snapshot, &at, NULL) == 0)
		require(info->snapshots.items[at].parent == -1);
	require(repo_info_set_branch(info, slice_text("zz"), 0, NULL) == 0);
	(void)repo_info_create_tag(info, slice_text("t"), 0, NULL);
	(void)repo_info_delete_tag(info, slice_text("t"), NULL);
	(void)repo_info_push_update(info, &update, 1, "repo.1.x", 2, NULL);
}

void walk_repo(struct slice payload)
{
	CLEANUP(buf_done) struct buf bytes = copy_of(payload);
	CLEANUP(repo_info_freep) struct repo_info *info = NULL;
	CLEANUP(repo_info_freep) struct repo_info *copy = NULL;
	CLEANUP(repo_info_freep) struct repo_info *changed = NULL;

	if (repo_info_parse(&bytes, &info, NULL) < 0)
		return;
	walk_info(info);
	require(repo_info_copy(info, &copy, NULL) == 0);
	require(copy->snapshots.n == info->snapshots.n && copy->updates.n == info->updates.n);
	change_info(copy);
	require(repo_info_copy(copy, &changed, NULL) == 0);
	walk_info(changed);
}

/* What was read can be written, and from then on nothing changes. */
static void walk_value(struct slice json, enum spec spec)
{
	CLEANUP(buf_done) struct buf first = BUF_INIT(BUF_NO_LIMIT);
	CLEANUP(buf_done) struct buf text = BUF_INIT(BUF_NO_LIMIT);
	CLEANUP(buf_done) struct buf second = BUF_INIT(BUF_NO_LIMIT);
	struct json value, again;

	require(json_parse(json, &value, NULL) == 0);
	if (json_to_metadata_value(spec, &value, &first, NULL) < 0)
		return;
	require(metadata_value_to_json(spec, buf_slice(&first), &text, NULL) == 0);
	require(json_parse(buf_slice(&text), &again, NULL) == 0);
	require(json_to_metadata_value(spec, &again, &second, NULL) == 0);
	require(slice_equal(buf_slice(&first), buf_slice(&second)));
}

void walk_flex(struct slice bytes)
{
	CLEANUP(buf_done) struct buf json = BUF_INIT(TEXT_MAX);

	if (flex_to_json(bytes, &json, NULL) < 0)
		return;
	walk_value(buf_slice(&json), SPEC_2);
}

void walk_msgpack(struct slice bytes)
{
	CLEANUP(buf_done) struct buf json = BUF_INIT(TEXT_MAX);

	if (msgpack_to_json(bytes, &json, NULL) < 0)
		return;
	walk_value(buf_slice(&json), SPEC_1);
}

static void require_same(const struct config *a, const struct config *b)
{
	bool equal;

	if (config_equal(a, b, &equal, NULL) == 0)
		require(equal);
}

static void use_config(const struct config *config)
{
	const struct config_values *values = config_values(config);
	const struct slice names[2] = {slice_text("time"), {0}};
	uint32_t sizes[2];
	bool yes;

	for (uint32_t i = 0; i < values->n_containers; i++)
		touch(slice_text(values->containers[i].url_prefix));
	if (config_split(config, slice_text("/a/temperature"), names, 2, sizes, NULL) == 0)
		require(sizes[0] > 0 && sizes[1] > 0);
	(void)config_preloads(config, slice_text("/a/time"), 10, &yes, NULL);
}

static void walk_config(const struct config *config)
{
	CLEANUP(buf_done) struct buf flex = BUF_INIT(CONFIG_TEXT_MAX);
	CLEANUP(buf_done) struct buf yaml = BUF_INIT(CONFIG_TEXT_MAX);
	CLEANUP(config_freep) struct config *from_json = NULL;
	CLEANUP(config_freep) struct config *from_flex = NULL;
	CLEANUP(config_freep) struct config *from_yaml = NULL;
	CLEANUP(config_freep) struct config *merged = NULL;

	use_config(config);
	/* Read as JSON, so that the other forms are written and not copied. */
	if (config_from_json(config_json(config), &from_json, NULL) < 0)
		return;
	if (config_to_flex(from_json, &flex, NULL) == 0 &&
	    config_from_flex(buf_slice(&flex), &from_flex, NULL) == 0)
		require_same(from_json, from_flex);
	require(config_to_yaml(from_json, &yaml, NULL) == 0);
	if (config_from_yaml(buf_slice(&yaml), &from_yaml, NULL) == 0)
		use_config(from_yaml);
	if (config_merge(config, config, &merged, NULL) == 0)
		use_config(merged);
}

void walk_config_yaml(struct slice text)
{
	CLEANUP(config_freep) struct config *config = NULL;

	if (config_from_yaml(text, &config, NULL) == 0)
		walk_config(config);
}

void walk_config_json(struct slice text)
{
	CLEANUP(config_freep) struct config *config = NULL;

	if (config_from_json(text, &config, NULL) == 0)
		walk_config(config);
}

void walk_ref1(struct slice text)
{
	CLEANUP(buf_done) struct buf name = BUF_INIT(BUF_NO_LIMIT);
	CLEANUP(buf_done) struct buf written = BUF_INIT(BUF_NO_LIMIT);
	struct ref1_key key;
	struct id12 id, again;

	if (ref1_parse(text, &id, NULL) == 0) {
		require(ref1_encode(&id, &written, NULL) == 0);
		require(ref1_parse(buf_slice(&written), &again, NULL) == 0);
		require(id12_equal(&id, &again));
	}
	if (ref1_key_parse(text, &key) == 0)
		require(ref1_name_decode(key.name, &name, NULL) == 0);
}
