/* SPDX-License-Identifier: Apache-2.0 */
#include "zarr-test.h"

#include "zarr/view.h"

static int plain_configure(const struct json *configuration, const struct zarr_array *array,
			   const struct zarr_registry *registry, void *context, void **ret_state,
			   struct error *err)
{
	(void)configuration;
	(void)array;
	(void)registry;
	(void)context;
	(void)ret_state;
	(void)err;
	return 0;
}

/* What a reader registers, as far as documents are concerned. */
static const struct zarr_codec_ops gribberish = {
	.name = "gribberish",
	.kind = ZARR_ARRAY_TO_BYTES,
	.configure = plain_configure,
};
static const struct zarr_registry registry = {.n = 1, .codecs = {{&gribberish, NULL}}};

#define ARRAY(codecs) ARRAY_DOCUMENT("[2]", "[2]", "\"float64\"", "\"NaN\"", codecs)
#define SHOWN ARRAY("[{\"name\":\"bytes\",\"configuration\":{\"endian\":\"little\"}}]")
#define GROUP(metadata)                                      \
	"{\"zarr_format\": 3,\n \"consolidated_metadata\": " \
	"{\"kind\":\"inline\",\"metadata\": " metadata "}, \"node_type\":\"group\"}\n"
#define GRIB "[{\"name\":\"gribberish\",\"configuration\":{\"var\":\"TMP\"}}]"

static struct view_case {
	const char *name;
	const char *document;
	const char *shown; /* NULL: as it is */
	bool must_decode;
} view_cases[] = {
	{"gribberish", ARRAY(GRIB), SHOWN, true},
	{"behind scale_offset", ARRAY("[{\"name\":\"scale_offset\"},{\"name\":\"gribberish\"}]"),
	 SHOWN, true},
	{"gzip behind it", ARRAY("[\"gribberish\",{\"name\":\"gzip\"}]"), SHOWN, true},
	{"scale_offset alone", ARRAY("[\"scale_offset\"," BYTES_CODEC "]"), SHOWN, true},
	{"inside shards",
	 ARRAY("[{\"name\":\"sharding_indexed\",\"configuration\":{\"chunk_shape\":[1],\"codecs\":["
	       "\"scale_offset\"," BYTES_CODEC "],\"index_codecs\":[" BYTES_CODEC "]}}]"),
	 SHOWN, true},
	{"plain", ARRAY("[ " BYTES_CODEC " ,{\"name\":\"zstd\"}]"), NULL, false},
	{"unknown codec beside it", ARRAY("[\"gribberish\",{\"name\":\"lz77\"}]"), NULL, true},
	{"unknown codec", ARRAY("[{\"name\":\"lz77\"}]"), NULL, false},
	{"group", "{\"zarr_format\":3, \"node_type\":\"group\"}", NULL, false},
	{"consolidated null",
	 "{\"zarr_format\":3,\"consolidated_metadata\":null,\"node_type\":\"group\"}", NULL, false},
	{"consolidated",
	 GROUP("{\"a\" : " ARRAY(GRIB) ",\"b\":" ARRAY("[" BYTES_CODEC "]") ", \"c/d\":" ARRAY(
		 GRIB) ",\"x\":{\"odd\":1}}"),
	 GROUP("{\"a\" : " SHOWN ",\"b\":" ARRAY("[" BYTES_CODEC "]") ", \"c/d\":" SHOWN
								      ",\"x\":{\"odd\":1}}"),
	 false},
	{"consolidated in consolidated", GROUP("{\"g\":" GROUP("{\"a\":" ARRAY(GRIB) "}") "}"),
	 GROUP("{\"g\":" GROUP("{\"a\":" SHOWN "}") "}"), false},
};

static void test_decoded_document(void **state)
{
	CLEANUP(zarr_metadata_freep) struct zarr_metadata *metadata = NULL;
	CLEANUP(buf_done) struct buf out = BUF_INIT(BUF_NO_LIMIT);
	const struct view_case *c = *state;
	struct error err = ERROR_INIT;
	bool changed;

	metadata = read_document(c->document);
	assert_int_equal(zarr_must_decode(metadata), c->must_decode);
	assert_ok(zarr_decoded_document(metadata, &registry, &out, &changed, &err), &err);
	assert_string_equal(buf_text(&out, &err), c->shown ? c->shown : c->document);
	assert_int_equal(changed, c->shown != NULL);
}

/* Nobody decodes GRIB here: then nothing may be said to be plain. */
static void test_without_the_codec(void **state)
{
	CLEANUP(zarr_metadata_freep) struct zarr_metadata *metadata = read_document(ARRAY(GRIB));
	CLEANUP(buf_done) struct buf out = BUF_INIT(BUF_NO_LIMIT);
	struct error err = ERROR_INIT;
	bool changed;

	(void)state;
	assert_ok(zarr_decoded_document(metadata, NULL, &out, &changed, &err), &err);
	assert_false(changed);
	assert_true(slice_is(buf_slice(&out), ARRAY(GRIB)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_without_the_codec),
	};

	return RUN_CASES(test_decoded_document, view_cases) +
	       cmocka_run_group_tests(tests, NULL, NULL);
}
