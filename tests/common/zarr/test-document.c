/* SPDX-License-Identifier: Apache-2.0 */
#include "zarr-test.h"

#include <ftw.h>
#include <sys/stat.h>

#include "files.h"
#include "zarr/document.h"

/* Right sides: json.dumps(json.loads(left side), indent=2) of Python 3.12. */
static struct layout_case {
	const char *name;
	const char *text;
	const char *want;
} layout_cases[] = {
	{"nested", "{\"a\":[1,{\"b\":null}],\"c\":true}",
	 "{\n  \"a\": [\n    1,\n    {\n      \"b\": null\n    }\n  ],\n  \"c\": true\n}"},
	{"empty", "{\"a\":[ ],\"b\":{ }}", "{\n  \"a\": [],\n  \"b\": {}\n}"},
	{"numbers", "[1e3,-0.0,-273.15,18446744073709551615,1E-7,123456789012345678901234567890]",
	 "[\n  1000.0,\n  -0.0,\n  -273.15,\n  18446744073709551615,\n  1e-07,\n"
	 "  123456789012345678901234567890\n]"},
	{"no numbers", "[NaN,-Infinity]", "[\n  NaN,\n  -Infinity\n]"},
	{"escapes", "[\"a\\/b\\\"\\\\\\u0008\\f\\n\\r\\t\\u001f\\u007f\"]",
	 "[\n  \"a/b\\\"\\\\\\b\\f\\n\\r\\t\\u001f\\u007f\"\n]"},
	{"beyond ASCII", "[\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x8c\x8d\"]",
	 "[\n  \"\\u00e9\\u20ac\\ud83c\\udf0d\"\n]"},
	{"minus zero", "[-0]", "[\n  0\n]"},
};

static void test_layout(void **state)
{
	CLEANUP(buf_done) struct buf out = BUF_INIT(BUF_NO_LIMIT);
	const struct layout_case *c = *state;
	struct error err = ERROR_INIT;
	struct json value;

	assert_ok(json_parse(slice_text(c->text), &value, &err), &err);
	assert_ok(zarr_json_layout(&value, 0, &out, &err), &err);
	assert_string_equal(buf_text(&out, &err), c->want);
}

static struct slice member_span(const struct json *root, const char *name)
{
	struct json value = {0};

	json_get(root, name, &value);
	return value.span;
}

/* Writes the array again from what was read, without its layout. */
static void write_array(const struct zarr_metadata *array, struct buf *out)
{
	uint64_t shape[ZARR_DIMS_MAX], chunks[ZARR_DIMS_MAX];
	struct error err = ERROR_INIT;
	struct zarr_array_document document = {
		.n_dims = array->grid.n_dims,
		.shape = shape,
		.chunk_shape = chunks,
		.data_type = array->data_type.span,
		.fill_value = array->fill_value.span,
		.codecs = array->codecs.span,
		.attributes = array->attributes.span,
		.dimension_names = array->dimension_names.span,
	};

	for (size_t d = 0; d < array->grid.n_dims; d++) {
		shape[d] = array->grid.dims[d].length;
		chunks[d] = array->grid.dims[d].chunk;
	}
	assert_ok(zarr_array_document_write(&document, out, &err), &err);
}

#define MEMBERS_MAX 512

/* The group again, its members read from the consolidated metadata. */
static void write_group(const struct zarr_metadata *group, struct buf *out)
{
	static struct zarr_member members[MEMBERS_MAX];
	struct error err = ERROR_INIT;
	struct json documents, key, document;
	bool has_members;
	size_t n = 0;

	has_members =
		json_path(&group->root, &documents, "consolidated_metadata", "metadata", NULL) == 0;
	if (has_members) {
		JSON_EACH (&documents, &key, document) {
			assert_true(n < MEMBERS_MAX);
			members[n++] = (struct zarr_member){
				slice_sub(key.span, 1, key.span.size - 2), document.span};
		}
	}
	assert_ok(zarr_group_document_write(member_span(&group->root, "attributes"),
					    has_members ? members : NULL, n, out, &err),
		  &err);
}

static unsigned int n_documents;

static int check_document(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	CLEANUP(zarr_metadata_freep) struct zarr_metadata *metadata = NULL;
	CLEANUP(buf_done) struct buf stored = BUF_INIT(BUF_NO_LIMIT);
	CLEANUP(buf_done) struct buf ours = BUF_INIT(BUF_NO_LIMIT);
	struct error err = ERROR_INIT;

	(void)st;
	if (type != FTW_F || strcmp(path + ftw->base, "zarr.json") != 0)
		return 0;
	n_documents++;
	assert_ok(test_read_file(path, &stored, &err), &err);
	assert_ok(zarr_metadata_new(buf_slice(&stored), &metadata, &err), &err);
	if (metadata->node == ZARR_ARRAY)
		assert_ok(zarr_metadata_check(metadata, &err), &err);
	if (metadata->node == ZARR_ARRAY)
		write_array(metadata, &ours);
	else
		write_group(metadata, &ours);
	if (!slice_equal(buf_slice(&ours), buf_slice(&stored)))
		fail_msg("'%s' comes out otherwise", path);
	return 0;
}

/* Every document of the published templates, from its parts, byte by byte. */
static void test_templates(void **state)
{
	const char *folder = test_data("templates");

	(void)state;
	assert_int_equal(nftw(folder, check_document, 16, FTW_PHYS), 0);
	assert_true(n_documents > 600);
}

#define NODE "{\"zarr_format\":3,\"node_type\":\"group\"}"

static struct consolidate_case {
	const char *name;
	const char *group;
	const char *want;
} consolidate_cases[] = {
	{"gets one", "{ \"zarr_format\": 3 }\n",
	 "{ \"zarr_format\": 3 ,\"consolidated_metadata\":{\"kind\":\"inline\",\"must_understand\":"
	 "false,\"metadata\":{\"a/b\":" NODE ",\"c\":" NODE "}}}\n"},
	{"has one", "{\"consolidated_metadata\": null, \"zarr_format\": 3}",
	 "{\"consolidated_metadata\": {\"kind\":\"inline\",\"must_understand\":false,\"metadata\":{"
	 "\"a/b\":" NODE ",\"c\":" NODE "}}, \"zarr_format\": 3}"},
	{"empty", "{}",
	 "{\"consolidated_metadata\":{\"kind\":\"inline\",\"must_understand\":false,\"metadata\":{"
	 "\"a/b\":" NODE ",\"c\":" NODE "}}}"},
};

static void test_consolidate(void **state)
{
	CLEANUP(buf_done) struct buf out = BUF_INIT(BUF_NO_LIMIT);
	const struct consolidate_case *c = *state;
	const struct zarr_member members[] = {
		{slice_text("a/b"), slice_text(NODE)},
		{slice_text("c"), slice_text(NODE)},
	};
	struct error err = ERROR_INIT;

	assert_ok(zarr_consolidate(slice_text(c->group), members, 2, &out, &err), &err);
	assert_string_equal(buf_text(&out, &err), c->want);
}

static void test_bad_part(void **state)
{
	CLEANUP(buf_done) struct buf out = BUF_INIT(BUF_NO_LIMIT);
	struct zarr_array_document document = {
		.data_type = slice_text("\"int8\""),
		.fill_value = slice_text("0,\"x\":1"),
		.codecs = slice_text("[]"),
	};
	struct error err = ERROR_INIT;

	(void)state;
	assert_int_equal(zarr_array_document_write(&document, &out, &err), ERR_FORMAT);
	assert_memory_equal(err.text, "fill_value: ", strlen("fill_value: "));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bad_part),
	};
	const struct CMUnitTest data_tests[] = {
		cmocka_unit_test(test_templates),
	};
	int failed = RUN_CASES(test_layout, layout_cases);

	failed += RUN_CASES(test_consolidate, consolidate_cases);
	failed += cmocka_run_group_tests(tests, NULL, NULL);
	if (failed == 0 && !test_data("templates"))
		test_skip("there is no folder of test data (REFMT_TEST_DATA)");
	return failed + cmocka_run_group_tests(data_tests, NULL, NULL);
}
