/* SPDX-License-Identifier: Apache-2.0 */
#include "zarr-test.h"

/* As a repository written through the public icechunk library has it. */
static const char rectilinear[] =
	"{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[6,4],\"data_type\":\"uint8\","
	"\"chunk_grid\":{\"name\":\"rectilinear\",\"configuration\":{\"kind\":\"inline\","
	"\"chunk_shapes\":[[[2,3]],[1,3]]}},\"chunk_key_encoding\":{\"name\":\"default\","
	"\"configuration\":{\"separator\":\"/"
	"\"}},\"fill_value\":0,\"codecs\":[{\"name\":\"bytes\"}]"
	",\"attributes\":{\"a\":1},\"dimension_names\":[\"t\",null]}";

static void test_array(void **state)
{
	CLEANUP(zarr_metadata_freep) struct zarr_metadata *array = read_document(rectilinear);
	struct error err = ERROR_INIT;
	uint8_t fill;
	size_t bytes;

	(void)state;
	assert_int_equal(array->node, ZARR_ARRAY);
	assert_int_equal(array->grid.n_dims, 2);
	assert_false(array->grid.is_regular);
	assert_int_equal(array->type.kind, ZARR_UINT);
	assert_true(slice_is(array->attributes.span, "{\"a\":1}"));
	assert_true(slice_is(array->dimension_names.span, "[\"t\",null]"));
	assert_ok(zarr_metadata_check(array, &err), &err);
	assert_ok(zarr_metadata_fill(array, &fill, &err), &err);
	assert_int_equal(fill, 0);
	assert_ok(zarr_metadata_chunk_bytes(array, (uint32_t[]){0, 1}, &bytes, &err), &err);
	assert_int_equal(bytes, 6);
}

static void test_group(void **state)
{
	CLEANUP(zarr_metadata_freep) struct zarr_metadata *group = NULL;

	(void)state;
	group = read_document("{\"zarr_format\": 3, \"node_type\": \"group\"}");
	assert_int_equal(group->node, ZARR_GROUP);
	assert_false(zarr_has(&group->attributes));
	assert_false(zarr_has(&group->not_understood));
}

/* An array without chunk keys, as other writers of Icechunk leave them out, has the usual ones. */
static void test_keys_may_be_absent(void **state)
{
	CLEANUP(zarr_metadata_freep) struct zarr_metadata *array = NULL;

	(void)state;
	array = read_document(
		"{\"zarr_format\": 3, \"node_type\": \"array\", \"shape\": [10], \"data_type\": "
		"\"uint8\", \"chunk_grid\": {\"name\": \"regular\", \"configuration\": "
		"{\"chunk_shape\": [4]}}, \"fill_value\": 0, \"codecs\": [{\"name\": \"bytes\"}], "
		"\"attributes\": {}}");
	assert_int_equal(array->grid.dims[0].n_chunks, 3);
	assert_false(array->keys.is_v2);
	assert_int_equal(array->keys.separator, '/');
}

/* @document with one member more, in front. */
#define WITH(member)                                                                              \
	"{" member ",\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[2],\"data_type\":"      \
	"\"int8\",\"chunk_grid\":{\"name\":\"regular\",\"configuration\":{\"chunk_shape\":[2]}}," \
	"\"fill_value\":0,\"codecs\":[\"bytes\"]}"

/* "Unknown members" of the specification: only "must_understand": false may be passed over. */
static struct member_case {
	const char *name;
	const char *document;
	const char *error; /* of zarr_metadata_check() */
} member_cases[] = {
	{"may be ignored", WITH("\"x\":{\"must_understand\":false,\"y\":1}"), NULL},
	{"must be understood", WITH("\"x\":{\"must_understand\":true}"),
	 "member \"x\" is not understood"},
	{"does not say", WITH("\"x\":{}"), "member \"x\" is not understood"},
	{"is no object", WITH("\"x\":1"), "member \"x\" is not understood"},
	{"no transformers", WITH("\"storage_transformers\":[]"), NULL},
	{"transformers", WITH("\"storage_transformers\":[{\"name\":\"z\"}]"),
	 "member \"storage_transformers\" is not understood"},
};

static void test_members(void **state)
{
	CLEANUP(zarr_metadata_freep) struct zarr_metadata *array = NULL;
	const struct member_case *c = *state;
	struct error err = ERROR_INIT;

	array = read_document(c->document);
	assert_int_equal(zarr_metadata_check(array, &err), c->error ? ERR_UNSUPPORTED : 0);
	if (c->error)
		assert_string_equal(err.text, c->error);
}

static struct bad_case {
	const char *name;
	const char *document;
	const char *error;
} bad_cases[] = {
	{"no JSON", "{", "byte 1"},
	{"no object", "[]", "the document is not an object"},
	{"no format", "{}", "there is no zarr_format"},
	{"version 2", "{\"zarr_format\":2,\"shape\":[]}", "zarr_format is not 3"},
	{"no node type", "{\"zarr_format\":3}", "there is no node_type"},
	{"another node type", "{\"zarr_format\":3,\"node_type\":\"table\"}",
	 "node_type is neither 'array' nor 'group'"},
	{"attributes", "{\"zarr_format\":3,\"node_type\":\"group\",\"attributes\":[]}",
	 "attributes is not an object"},
	{"no shape", "{\"zarr_format\":3,\"node_type\":\"array\"}", "there is no shape"},
	{"codecs", ARRAY_DOCUMENT("[2]", "[2]", "\"int8\"", "0", "{}"), "codecs is not a list"},
	{"configuration",
	 ARRAY_DOCUMENT("[2]", "[2]", "{\"name\":\"int8\",\"configuration\":1}", "0", "[]"),
	 "data_type: configuration is not an object"},
	{"dimension names", WITH("\"dimension_names\":[\"x\",\"y\"]"),
	 "dimension_names is not a list of 1 names"},
	{"dimension names that are none", WITH("\"dimension_names\":[1]"),
	 "dimension_names holds something that is not a name"},
};

static void test_bad(void **state)
{
	const struct bad_case *c = *state;
	struct zarr_metadata *metadata = NULL;
	struct error err = ERROR_INIT;

	assert_int_equal(zarr_metadata_new(slice_text(c->document), &metadata, &err), ERR_FORMAT);
	assert_memory_equal(err.text, c->error, strlen(c->error));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_array),
		cmocka_unit_test(test_group),
		cmocka_unit_test(test_keys_may_be_absent),
	};
	int failed = RUN_CASES(test_members, member_cases);

	failed += RUN_CASES(test_bad, bad_cases);
	return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
