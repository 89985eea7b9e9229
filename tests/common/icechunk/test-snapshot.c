/* SPDX-License-Identifier: Apache-2.0 */
#include "icechunk/snapshot.h"

#include "base/json.h"
#include "files.h"
#include "test.h"

/*
 * What is encoded is read again and compared with what was asked for; that the public library reads
 * it too is tested in tests/interop.
 */

static struct error err;

static const struct extent box[2] = {{0, 3}, {1, 2}};
static const struct manifest_info infos[2] = {{{{1}}, 500, 7}, {{{2}}, 600, 8}};
static const struct manifest_ref uses[2] = {{{{1}}, box, 2}, {{{2}}, box, 2}};
static const struct draft_dimension dimensions[2] = {
	{10, 4, 3, {(const uint8_t *)"time", 4}},
	{7, 2, 0, {0}},
};

static struct draft_node group(const char *path)
{
	return (struct draft_node){.id = {{(uint8_t)strlen(path)}},
				   .type = NODE_GROUP,
				   .path = slice_text(path),
				   .document = slice_text("{\"g\": -273.15 }")};
}

static struct draft_node array(const char *path)
{
	struct draft_node node = group(path);

	node.type = NODE_ARRAY;
	node.dimensions = dimensions;
	node.n_dims = 2;
	node.has_names = true;
	node.manifests = uses;
	node.n_manifests = 2;
	return node;
}

static struct snapshot_draft draft_of(const struct draft_node *nodes, uint32_t n)
{
	return (struct snapshot_draft){.id = {{9}},
				       .flushed_at = 1234567890123456,
				       .message = slice_text("message"),
				       .nodes = nodes,
				       .n_nodes = n,
				       .manifests = infos,
				       .n_manifests = 2};
}

static struct snapshot *round_trip(const struct snapshot_draft *draft, enum spec spec)
{
	CLEANUP(buf_done) struct buf payload = BUF_INIT(1 << 24);
	struct snapshot *snapshot;

	assert_ok(snapshot_encode(draft, spec, &payload, &err), &err);
	assert_ok(snapshot_open(&payload, spec, &snapshot, &err), &err);
	return snapshot;
}

static void assert_array_as_drafted(const struct snapshot_node *node, enum spec spec)
{
	struct dimension time = node_dimension(node, 0), x = node_dimension(node, 1);

	assert_int_equal(node->n_dims, 2);
	assert_int_equal(time.length, 10);
	assert_int_equal(time.n_chunks, 4);
	assert_int_equal(x.length, 7);
	assert_int_equal(x.n_chunks, 2);
	assert_int_equal(node_chunk_length(node, 0), spec == SPEC_1 ? 3 : 0);
	assert_int_equal(node_chunk_length(node, 1), spec == SPEC_1 ? 4 : 0);
	assert_true(slice_is(node_dimension_name(node, 0), "time"));
	assert_null(node_dimension_name(node, 1).data);
	assert_int_equal(node->n_manifests, 2);
	for (uint32_t i = 0; i < 2; i++) {
		struct manifest_ref use = node_manifest(node, i);

		assert_true(id12_equal(&use.id, &uses[i].id));
		assert_int_equal(use.n_extents, 2);
		assert_memory_equal(use.extents, box, sizeof(box));
	}
}

static void test_round_trip(void **state)
{
	const struct draft_node nodes[] = {group("/"), group("/a"), group("/a-b"), array("/a/x"),
					   group("/ab")};
	struct snapshot_draft draft = draft_of(nodes, ARRAY_LEN(nodes));
	struct id12 parent = {{8}};
	struct json metadata;

	(void)state;
	assert_ok(json_parse(slice_text("{\"b\":[1,-2.5],\"a\":{}}"), &metadata, &err), &err);
	draft.metadata = &metadata;
	draft.parent = &parent;
	for (enum spec spec = SPEC_1; spec <= SPEC_2; spec++) {
		CLEANUP(snapshot_freep) struct snapshot *snapshot = round_trip(&draft, spec);
		CLEANUP(buf_done) struct buf json = BUF_INIT(1000);
		struct snapshot_node node;
		uint32_t i;

		assert_true(id12_equal(snapshot_id(snapshot), &draft.id));
		assert_int_equal(snapshot_flushed_at(snapshot), draft.flushed_at);
		assert_true(slice_is(snapshot_message(snapshot), "message"));
		assert_ok(snapshot_metadata_json(snapshot, &json, &err), &err);
		assert_true(slice_is(buf_slice(&json), "{\"a\":{},\"b\":[1,-2.5]}"));
		if (spec == SPEC_1)
			assert_true(id12_equal(snapshot_parent(snapshot), &parent));
		else
			assert_null(snapshot_parent(snapshot));
		assert_int_equal(snapshot_n_nodes(snapshot), 5);
		assert_int_equal(snapshot_find(snapshot, slice_text("/a/x"), &i), 0);
		node = snapshot_node(snapshot, i);
		assert_int_equal(node.type, NODE_ARRAY);
		assert_true(slice_is(node.document, "{\"g\": -273.15 }"));
		assert_array_as_drafted(&node, spec);
		assert_int_equal(snapshot_find(snapshot, slice_text("/a/y"), &i), SNAPSHOT_ABSENT);
		assert_int_equal(i, 4);
		assert_int_equal(snapshot_n_manifests(snapshot), 2);
		assert_int_equal(snapshot_manifest(snapshot, 1).size, 600);
		assert_int_equal(snapshot_manifest(snapshot, 1).n_refs, 8);
	}
}

static void test_empty(void **state)
{
	struct snapshot_draft draft = {.id = ID12_INITIAL_SNAPSHOT};

	(void)state;
	for (enum spec spec = SPEC_1; spec <= SPEC_2; spec++) {
		CLEANUP(snapshot_freep) struct snapshot *snapshot = round_trip(&draft, spec);
		CLEANUP(buf_done) struct buf json = BUF_INIT(1000);
		uint32_t i;

		assert_int_equal(snapshot_n_nodes(snapshot), 0);
		assert_int_equal(snapshot_n_manifests(snapshot), 0);
		assert_int_equal(snapshot_find(snapshot, slice_text("/"), &i), SNAPSHOT_ABSENT);
		assert_null(snapshot_parent(snapshot));
		assert_ok(snapshot_metadata_json(snapshot, &json, &err), &err);
		assert_true(slice_is(buf_slice(&json), "{}"));
	}
}

static void test_scalar_has_no_extents(void **state)
{
	struct manifest_ref use = {{{1}}, NULL, 0};
	struct draft_node node = array("/s");
	struct snapshot_draft draft = draft_of(&node, 1);

	(void)state;
	node.n_dims = 0;
	node.has_names = false;
	node.manifests = &use;
	node.n_manifests = 1;
	for (enum spec spec = SPEC_1; spec <= SPEC_2; spec++) {
		CLEANUP(snapshot_freep) struct snapshot *snapshot = round_trip(&draft, spec);
		struct snapshot_node read = snapshot_node(snapshot, 0);
		struct manifest_ref ref = node_manifest(&read, 0);

		assert_int_equal(read.n_dims, 0);
		assert_false(read.has_names);
		assert_int_equal(ref.n_extents, 0);
		assert_true(manifest_ref_holds(&ref, NULL));
	}
}

static void test_box_is_half_open(void **state)
{
	static const uint32_t inside[2] = {2, 1}, outside[2] = {3, 1}, before[2] = {0, 0};

	(void)state;
	assert_true(manifest_ref_holds(&uses[0], inside));
	assert_false(manifest_ref_holds(&uses[0], outside));
	assert_false(manifest_ref_holds(&uses[0], before));
}

static int encode_pair(struct draft_node first, struct draft_node second, enum spec spec)
{
	CLEANUP(buf_done) struct buf out = BUF_INIT(1 << 20);
	const struct draft_node nodes[] = {first, second};
	struct snapshot_draft draft = draft_of(nodes, 2);

	return snapshot_encode(&draft, spec, &out, &err);
}

static void test_refuses_what_readers_lose(void **state)
{
	struct draft_node other = array("/x");

	(void)state;
	assert_int_equal(encode_pair(group("/a"), group("/a"), SPEC_2), ERR_ARGUMENT);
	assert_string_equal(err.text, "node '/a' is there twice or out of order");
	/* Order is of bytes, not of segments. */
	assert_int_equal(encode_pair(group("/a/b"), group("/a-b"), SPEC_2), ERR_ARGUMENT);
	assert_int_equal(encode_pair(group("a"), group("b"), SPEC_2), ERR_ARGUMENT);
	assert_string_equal(err.text, "node path 'a' is not absolute");
	assert_int_equal(encode_pair(group("/a/"), group("/b"), SPEC_2), ERR_ARGUMENT);
	assert_int_equal(encode_pair(group("/\xff"), group("/\xff\xff"), SPEC_2), ERR_ARGUMENT);
	other.n_dims = 1;
	assert_int_equal(encode_pair(group("/a"), other, SPEC_2), ERR_ARGUMENT);
	assert_string_equal(err.text, "node '/x': extents of 2 dimensions for an array of 1");
}

static void test_refuses_manifest_that_is_not_listed(void **state)
{
	static const struct manifest_ref unlisted = {{{3}}, box, 2};
	struct draft_node node = array("/x");

	(void)state;
	node.manifests = &unlisted;
	node.n_manifests = 1;
	assert_int_equal(encode_pair(group("/a"), node, SPEC_2), ERR_ARGUMENT);
	assert_string_equal(err.text, "node '/x': a manifest is not in the list");
}

static void test_spec_1_has_regular_chunks_only(void **state)
{
	static const struct draft_dimension irregular[2] = {{5, 4, 0, {0}}, {1, 1, 0, {0}}};
	struct draft_node node = array("/x");

	(void)state;
	node.dimensions = irregular;
	assert_int_equal(encode_pair(group("/a"), node, SPEC_2), 0);
	assert_int_equal(encode_pair(group("/a"), node, SPEC_1), ERR_UNSUPPORTED);
}

static void test_below(void **state)
{
	(void)state;
	assert_true(path_is_below(slice_text("/a/b"), slice_text("/a")));
	assert_true(path_is_below(slice_text("/a"), slice_text("/a")));
	assert_true(path_is_below(slice_text("/a"), slice_text("/")));
	assert_false(path_is_below(slice_text("/ab"), slice_text("/a")));
	assert_false(path_is_below(slice_text("/a"), slice_text("/a/b")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_scalar_has_no_extents),
		cmocka_unit_test(test_box_is_half_open),
		cmocka_unit_test(test_refuses_what_readers_lose),
		cmocka_unit_test(test_refuses_manifest_that_is_not_listed),
		cmocka_unit_test(test_spec_1_has_regular_chunks_only),
		cmocka_unit_test(test_below),
	};

	return cmocka_run_group_tests_name("snapshots", tests, NULL, NULL);
}
