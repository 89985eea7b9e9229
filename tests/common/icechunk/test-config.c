/* SPDX-License-Identifier: Apache-2.0 */
#include "icechunk/config.h"

#include "base/json.h"
#include "base/text.h"
#include "files.h"
#include "test.h"

/* The example of the formats (section 8.2), which has every construct. */
static const char every_yaml[] =
	"inline_chunk_threshold_bytes: 12\n"
	"virtual_chunk_containers:\n"
	"  s3://b/p/:\n"
	"    name: my-data\n"
	"    url_prefix: s3://b/p/\n"
	"    store: !s3\n"
	"      region: us-east-1\n"
	"      endpoint_url: null\n"
	"      anonymous: true\n"
	"      allow_http: false\n"
	"  https://h.org/x/: {name: null, url_prefix: 'https://h.org/x/', store: !http "
	"{allow_http: "
	"'true', headers: {x-a: '1'}}}\n"
	"  file:///d/: {name: null, url_prefix: 'file:///d/', store: !local_file_system /d}\n"
	"manifest:\n"
	"  splitting:\n"
	"    split_sizes:\n"
	"    - - !name_matches\n"
	"        regex: ^temp\n"
	"      - - condition: !Axis 0\n"
	"          num_chunks: 12\n"
	"        - condition: !DimensionName longitude\n"
	"          num_chunks: 1\n"
	"        - condition: Any\n"
	"          num_chunks: 3\n"
	"    - - !or\n"
	"        - !path_matches\n"
	"          regex: zz\n"
	"        - any_array\n"
	"      - - condition: Any\n"
	"          num_chunks: 1000\n"
	"  preload:\n"
	"    max_total_refs: 1000\n"
	"    preload_if: !num_refs\n"
	"      from: !Included 1\n"
	"      to: Unbounded\n";

static const char every_json[] =
	"{\"inline_chunk_threshold_bytes\":12,\"virtual_chunk_containers\":{"
	"\"s3://b/p/\":{\"name\":\"my-data\",\"url_prefix\":\"s3://b/p/\",\"store\":{\"s3\":{"
	"\"region\":\"us-east-1\",\"endpoint_url\":null,\"anonymous\":true,\"allow_http\":false}}},"
	"\"https://h.org/x/\":{\"name\":null,\"url_prefix\":\"https://h.org/x/"
	"\",\"store\":{\"http\":{"
	"\"allow_http\":\"true\",\"headers\":{\"x-a\":\"1\"}}}},"
	"\"file:///d/\":{\"name\":null,\"url_prefix\":\"file:///d/\",\"store\":{"
	"\"local_file_system\":\"/d\"}}},"
	"\"manifest\":{\"splitting\":{\"split_sizes\":["
	"[{\"name_matches\":{\"regex\":\"^temp\"}},[{\"condition\":{\"Axis\":0},\"num_chunks\":12},"
	"{\"condition\":{\"DimensionName\":\"longitude\"},\"num_chunks\":1},"
	"{\"condition\":\"Any\",\"num_chunks\":3}]],"
	"[{\"or\":[{\"path_matches\":{\"regex\":\"zz\"}},\"any_array\"]},"
	"[{\"condition\":\"Any\",\"num_chunks\":1000}]]]},"
	"\"preload\":{\"max_total_refs\":1000,\"preload_if\":{\"num_refs\":{"
	"\"from\":{\"Included\":1},\"to\":\"Unbounded\"}}}}}";

static struct error err;

static struct config *from_json(const char *text)
{
	struct config *config;

	assert_ok(config_from_json(slice_text(text), &config, &err), &err);
	return config;
}

static struct config *from_yaml(const char *text)
{
	struct config *config;

	assert_ok(config_from_yaml(slice_text(text), &config, &err), &err);
	return config;
}

static void test_yaml_has_every_construct(void **state)
{
	CLEANUP(config_freep) struct config *config = from_yaml(every_yaml);

	(void)state;
	assert_json_equal(config_json(config), slice_text(every_json));
}

/* Written from JSON and read again. */
static void test_yaml_round(void **state)
{
	CLEANUP(config_freep) struct config *config = from_json(every_json);
	CLEANUP(config_freep) struct config *again = NULL;
	CLEANUP(buf_done) struct buf yaml = BUF_INIT(1 << 20);

	(void)state;
	assert_ok(config_to_yaml(config, &yaml, &err), &err);
	assert_ok(config_from_yaml(buf_slice(&yaml), &again, &err), &err);
	assert_json_equal(config_json(again), slice_text(every_json));
}

static void test_flex_round(void **state)
{
	CLEANUP(config_freep) struct config *config = from_json(every_json);
	CLEANUP(config_freep) struct config *again = NULL;
	CLEANUP(buf_done) struct buf flex = BUF_INIT(1 << 20), same = BUF_INIT(1 << 20);
	bool equal;

	(void)state;
	assert_ok(config_to_flex(config, &flex, &err), &err);
	assert_ok(config_from_flex(buf_slice(&flex), &again, &err), &err);
	assert_json_equal(config_json(again), slice_text(every_json));
	assert_ok(config_equal(config, again, &equal, &err), &err);
	assert_true(equal);
	/* What was read so is written as it was. */
	assert_ok(config_to_flex(again, &same, &err), &err);
	assert_true(slice_equal(buf_slice(&flex), buf_slice(&same)));
}

/* The defaults of the formats (section 8.2). */
static void test_defaults(void **state)
{
	CLEANUP(config_freep) struct config *config = NULL;
	const struct config_values *v;

	(void)state;
	assert_ok(config_new(&config, &err), &err);
	v = config_values(config);
	assert_int_equal(v->inline_chunk_threshold, 512);
	assert_int_equal(v->compression_level, 3);
	assert_int_equal(v->storage_ideal_request_size, 12582912);
	assert_int_equal(v->multipart_from, 104857600);
	assert_true(v->conditional_update && v->conditional_create && v->use_metadata);
	assert_int_equal(v->locations.min_refs, 1000);
	assert_int_equal(v->locations.max_samples, 100);
	assert_int_equal(v->locations.max_dictionary, 2048);
	assert_int_equal(v->update_retries.max_tries, 100);
	assert_int_equal(v->update_retries.initial_backoff_ms, 50);
	assert_int_equal(v->update_retries.max_backoff_ms, 30000);
	assert_int_equal(v->updates_per_file, 1000);
	assert_false(v->manifest_fetches_is_set);
	assert_null(v->storage_class);
	assert_int_equal(v->n_containers, 0);
}

static void test_values(void **state)
{
	CLEANUP(config_freep)
	struct config *config =
		from_json("{\"compression\":{\"algorithm\":\"zstd\",\"level\":7},\"storage\":{"
			  "\"retries\":null,\"storage_class\":\"GLACIER\",\"timeouts\":{"
			  "\"read_timeout_ms\":9},\"unsafe_use_metadata\":false},\"manifest\":{"
			  "\"max_concurrent_manifest_fetches_during_commit\":4,"
			  "\"virtual_chunk_location_compression\":{\"compression_level\":-5}},"
			  "\"max_concurrent_decodes\":3,\"num_updates_per_repo_info_file\":2}");
	const struct config_values *v = config_values(config);

	(void)state;
	assert_int_equal(v->compression_level, 7);
	assert_string_equal(v->storage_class, "GLACIER");
	assert_int_equal(v->read_timeout_ms, 9);
	assert_false(v->use_metadata);
	assert_int_equal(v->storage_retries.max_tries, 10);
	assert_true(v->manifest_fetches_is_set);
	assert_int_equal(v->manifest_fetches_during_commit, 4);
	assert_int_equal(v->locations.location_level, -5);
	assert_int_equal(v->updates_per_file, 2);
}

/* Text and error of records that the public library refuses as well. */
static struct bad_case {
	const char *name;
	const char *json;
	const char *error;
} bad[] = {
	{"no JSON", "{", "cannot parse configuration: byte 1: ends too early"},
	{"no record", "[]", "cannot parse configuration: no record"},
	{"beyond 16 bits", "{\"inline_chunk_threshold_bytes\":65536}",
	 "cannot parse configuration: inline_chunk_threshold_bytes: 65536 is out of range"},
	{"zero tries", "{\"storage\":{\"retries\":{\"max_tries\":0}}}",
	 "cannot parse configuration: max_tries: 0 is out of range"},
	{"text for a record", "{\"storage\":\"x\"}",
	 "cannot parse configuration: storage is no record"},
	{"other compression", "{\"compression\":{\"algorithm\":\"lz4\"}}",
	 "cannot parse configuration: compression algorithm \"lz4\""},
	{"container without store",
	 "{\"virtual_chunk_containers\":{\"a\":{\"url_prefix\":\"s3://b\"}}}",
	 "cannot parse configuration: container \"a\": no store"},
	{"store that readers do not know",
	 "{\"virtual_chunk_containers\":{\"a\":{\"url_prefix\":\"x://"
	 "b\",\"store\":{\"ipfs\":{}}}}}",
	 "cannot parse configuration: unknown kind of store 'ipfs'"},
	{"unknown condition", "{\"manifest\":{\"splitting\":{\"split_sizes\":[[\"some\",[]]]}}}",
	 "cannot parse configuration: splitting: unknown condition 'some'"},
	{"window of nothing",
	 "{\"manifest\":{\"splitting\":{\"split_sizes\":[[\"any_array\",[{\"condition\":\"Any\","
	 "\"num_chunks\":0}]]]}}}",
	 "cannot parse configuration: splitting: num_chunks is out of range"},
};

static void test_bad(void **state)
{
	const struct bad_case *c = *state;
	struct config *config = NULL;

	assert_true(config_from_json(slice_text(c->json), &config, &err) < 0);
	assert_string_equal(err.text, c->error);
	assert_null(config);
}

/* Prefixes and kinds of the formats (section 8.2, "A container is valid if"). */
static struct container_case {
	const char *name;
	const char *prefix;
	const char *store;
	const char *invalid;
} containers[] = {
	{"s3", "s3://b/", "{\"s3\":{}}", NULL},
	{"slash is added", "s3://b", "{\"s3_compatible\":{}}", NULL},
	{"tigris", "tigris://b/", "{\"tigris\":{}}", NULL},
	{"gcs", "gcs://b/", "{\"gcs\":{}}", NULL},
	{"gs", "gs://b/", "{\"gcs\":{}}", NULL},
	{"azure", "az://c/", "{\"azure\":{\"account\":\"a\"}}", NULL},
	{"https", "https://h/", "{\"http\":{}}", NULL},
	{"file", "file:///d/", "{\"local_file_system\":\"/d\"}", NULL},
	{"old style", "s3", "{\"s3\":{}}", "its prefix is no URL"},
	{"wrong store", "s3://b/", "{\"gcs\":{}}",
	 "the scheme of its prefix does not go with its store"},
	{"memory", "memory://b/", "\"in_memory\"",
	 "the scheme of its prefix does not go with its store"},
	{"no host", "s3:///b/", "{\"s3\":{}}", "its prefix names no host"},
	{"dots", "file:///d/../e/", "{\"local_file_system\":\"/d\"}",
	 "its prefix has a segment '.' or '..'"},
};

static void test_container(void **state)
{
	const struct container_case *c = *state;
	CLEANUP(freep)
	char *json = text_printf(
		&err, "{\"virtual_chunk_containers\":{\"k\":{\"url_prefix\":\"%s\",\"store\":%s}}}",
		c->prefix, c->store);
	CLEANUP(config_freep) struct config *config = from_json(json);
	const struct container *container = config_values(config)->containers;

	assert_int_equal(config_values(config)->n_containers, 1);
	assert_true(text_ends(container->url_prefix, "/"));
	if (c->invalid)
		assert_string_equal(container->invalid, c->invalid);
	else
		assert_null(container->invalid);
}

/* A newer library may have put it there: it stays, and nobody follows it. */
static void test_newer_kind_of_store(void **state)
{
	CLEANUP(config_freep)
	struct config *config = from_yaml("virtual_chunk_containers:\n"
					  "  a: {url_prefix: 'ipfs://b/', store: !ipfs {x: 1}}\n");
	CLEANUP(config_freep) struct config *merged = NULL;
	const struct container *container = config_values(config)->containers;

	(void)state;
	assert_int_equal(container->kind, CONTAINER_UNKNOWN);
	assert_string_equal(container->kind_name, "ipfs");
	assert_string_equal(container->invalid, "its store is of an unknown kind");
	assert_ok(config_merge(config, config, &merged, &err), &err);
	assert_int_equal(config_values(merged)->containers->kind, CONTAINER_UNKNOWN);
}

/* icechunk 2.3.0 opens no repository whose configuration lacks these. */
static struct complete_case {
	const char *name;
	const char *given;
	const char *want;
} completes[] = {
	{"S3 store",
	 "{\"virtual_chunk_containers\":{\"a\":{\"url_prefix\":\"s3://b/\",\"store\":{\"s3\":{"
	 "\"region\":\"r\",\"anonymous\":true,\"allow_http\":null}}}}}",
	 "{\"virtual_chunk_containers\":{\"a\":{\"url_prefix\":\"s3://b/\",\"store\":{\"s3\":{"
	 "\"region\":\"r\",\"anonymous\":true,\"allow_http\":false}}}}}"},
	{"two stores",
	 "{\"virtual_chunk_containers\":{\"a\":{\"url_prefix\":\"s3://b/"
	 "\",\"store\":{\"tigris\":{}}},"
	 "\"c\":{\"url_prefix\":\"s3://d/\",\"store\":{\"s3_compatible\":{}}}}}",
	 "{\"virtual_chunk_containers\":{\"a\":{\"url_prefix\":\"s3://b/\",\"store\":{\"tigris\":{"
	 "\"anonymous\":false,\"allow_http\":false}}},\"c\":{\"url_prefix\":\"s3://d/\",\"store\":{"
	 "\"s3_compatible\":{\"anonymous\":false,\"allow_http\":false}}}}}"},
	{"bounds",
	 "{\"manifest\":{\"preload\":{\"preload_if\":{\"and\":[\"true\",{\"num_refs\":{"
	 "\"to\":{\"Included\":3}}}]}}}}",
	 "{\"manifest\":{\"preload\":{\"preload_if\":{\"and\":[\"true\",{\"num_refs\":{"
	 "\"from\":\"Unbounded\",\"to\":{\"Included\":3}}}]}}}}"},
	{"nothing to add", "{ \"x\" : [1] }", "{\"x\":[1]}"},
};

static void test_complete(void **state)
{
	const struct complete_case *c = *state;
	CLEANUP(config_freep) struct config *config = from_json(c->given);

	assert_json_equal(config_json(config), slice_text(c->want));
}

static void test_container_options(void **state)
{
	CLEANUP(config_freep) struct config *config = from_json(every_json);
	const struct container *c = config_values(config)->containers;

	(void)state;
	assert_int_equal(config_values(config)->n_containers, 3);
	assert_int_equal(c[0].kind, CONTAINER_LOCAL);
	assert_string_equal(c[0].path, "/d");
	assert_int_equal(c[1].kind, CONTAINER_HTTP);
	assert_int_equal(c[1].n_options, 1);
	assert_string_equal(c[1].options[0].name, "allow_http");
	assert_int_equal(c[1].n_headers, 1);
	assert_string_equal(c[1].headers[0].value, "1");
	assert_int_equal(c[2].kind, CONTAINER_S3);
	assert_string_equal(c[2].name, "my-data");
	assert_string_equal(c[2].region, "us-east-1");
	assert_null(c[2].endpoint_url);
	assert_true(c[2].anonymous);
}

/* Sizes follow from the rules of the example by hand (formats, section 8.3). */
static struct split_case {
	const char *name;
	const char *path;
	const char *names[3]; /* "": unnamed */
	uint32_t want[3];
} splits[] = {
	{"by name of array", "/g/temperature", {"time", "longitude", ""}, {12, 1, 3}},
	{"axis before name", "/temp", {"longitude", "x", ""}, {12, 3, 3}},
	{"every array", "/g/wind", {"time", "longitude", ""}, {1000, 1000, 1000}},
	{"not the path", "/temp/wind", {"a", "b", "c"}, {1000, 1000, 1000}},
};

static void test_split(void **state)
{
	const struct split_case *c = *state;
	CLEANUP(config_freep) struct config *config = from_json(every_json);
	struct slice names[3];
	uint32_t sizes[3];

	for (size_t i = 0; i < 3; i++)
		names[i] = c->names[i][0] ? slice_text(c->names[i]) : (struct slice){0};
	assert_ok(config_split(config, slice_text(c->path), names, 3, sizes, &err), &err);
	assert_memory_equal(sizes, c->want, sizeof(sizes));
}

static void test_split_leaves_undecided_axes_whole(void **state)
{
	CLEANUP(config_freep)
	struct config *config = from_json("{\"manifest\":{\"splitting\":{\"split_sizes\":[[{\"name_"
					  "matches\":{\"regex\":\"(\"}},"
					  "[{\"condition\":\"Any\",\"num_chunks\":1}]],[{\"and\":[]"
					  "},[{\"condition\":{\"Axis\":1},"
					  "\"num_chunks\":5}]]]}}}");
	uint32_t sizes[2];

	(void)state;
	/* A pattern that is none never matches; "and" of nothing always does. */
	assert_ok(config_split(config, slice_text("/a"), NULL, 2, sizes, &err), &err);
	assert_int_equal(sizes[0], UINT32_MAX);
	assert_int_equal(sizes[1], 5);
}

static struct preload_case {
	const char *name;
	const char *condition; /* NULL: the default */
	const char *path;
	uint32_t n_refs;
	bool want;
} preloads[] = {
	{"time", NULL, "/g/time", 1000, true},
	{"too many", NULL, "/g/time", 1001, false},
	{"data", NULL, "/temperature", 10, false},
	{"t alone", NULL, "/t", 10, true},
	{"latitude", NULL, "/latitude", 10, true},
	{"true", "\"true\"", "/x1", 5, true},
	{"false", "\"false\"", "/x1", 5, false},
	{"included", "{\"num_refs\":{\"from\":{\"Included\":5},\"to\":\"Unbounded\"}}", "/a", 5,
	 true},
	{"excluded", "{\"num_refs\":{\"from\":{\"Excluded\":5},\"to\":\"Unbounded\"}}", "/a", 5,
	 false},
	{"excluded above", "{\"num_refs\":{\"from\":\"Unbounded\",\"to\":{\"Excluded\":5}}}", "/a",
	 4, true},
	{"nothing is below 0", "{\"num_refs\":{\"from\":\"Unbounded\",\"to\":{\"Excluded\":0}}}",
	 "/a", 0, false},
	{"or", "{\"or\":[\"false\",{\"path_matches\":{\"regex\":\"/a/\"}}]}", "/a/b", 1, true},
	{"and", "{\"and\":[\"true\",{\"path_matches\":{\"regex\":\"/c/\"}}]}", "/a/b", 1, false},
};

static void test_preload(void **state)
{
	const struct preload_case *c = *state;
	CLEANUP(freep)
	char *json = c->condition
			     ? text_printf(&err, "{\"manifest\":{\"preload\":{\"preload_if\":%s}}}",
					   c->condition)
			     : text_dup("{}", &err);
	CLEANUP(config_freep) struct config *config = from_json(json);
	bool yes;

	assert_ok(config_preloads(config, slice_text(c->path), c->n_refs, &yes, &err), &err);
	assert_int_equal(yes, c->want);
}

static void test_merge(void **state)
{
	CLEANUP(config_freep)
	struct config *base = from_json(
		"{\"storage\":{\"retries\":{\"max_tries\":1,\"max_backoff_ms\":2}},\"x\":1,"
		"\"virtual_chunk_containers\":{\"a\":{\"url_prefix\":\"s3://a/"
		"\",\"store\":{\"s3\":{}}}},"
		"\"manifest\":{\"preload\":{\"max_total_refs\":1},\"splitting\":null}}");
	CLEANUP(config_freep)
	struct config *over = from_json("{\"storage\":{\"retries\":{\"max_tries\":9},\"timeouts\":"
					"null},\"x\":null,\"y\":[2],"
					"\"virtual_chunk_containers\":{\"b\":{\"url_prefix\":\"s3:/"
					"/b/\",\"store\":{\"s3\":{}}}},"
					"\"manifest\":{\"preload\":{\"max_arrays_to_scan\":3}}}");
	CLEANUP(config_freep) struct config *merged = NULL;

	(void)state;
	assert_ok(config_merge(base, over, &merged, &err), &err);
	assert_json_equal(
		config_json(merged),
		slice_text(
			"{\"storage\":{\"retries\":{\"max_tries\":9,\"max_backoff_ms\":2},"
			"\"timeouts\":null},\"x\":1,\"y\":[2],\"virtual_chunk_containers\":{\"b\":{"
			"\"url_prefix\":\"s3://b/"
			"\",\"store\":{\"s3\":{\"anonymous\":false,\"allow_http\":false}}}},"
			"\"manifest\":{"
			"\"preload\":{\"max_arrays_to_scan\":3},\"splitting\":null}}"));
}

static struct equal_case {
	const char *name;
	const char *a, *b;
	bool want;
} equals[] = {
	{"null is absent", "{\"x\":null,\"y\":{\"z\":null}}", "{\"y\":{}}", true},
	{"order", "{\"x\":1,\"y\":2}", "{\"y\":2,\"x\":1}", true},
	{"value", "{\"x\":1}", "{\"x\":2}", false},
	{"null after a value", "{\"x\":1,\"x\":null}", "{}", true},
	{"null in a list", "{\"x\":[null]}", "{\"x\":[]}", false},
};

static void test_equal(void **state)
{
	const struct equal_case *c = *state;
	CLEANUP(config_freep) struct config *a = from_json(c->a);
	CLEANUP(config_freep) struct config *b = from_json(c->b);
	bool equal;

	assert_ok(config_equal(a, b, &equal, &err), &err);
	assert_int_equal(equal, c->want);
}

/* How YAML 1.2's core schema reads scalars, as the public library's parser does. */
static struct scalar_case {
	const char *name;
	const char *yaml;
	const char *json;
} scalars[] = {
	{"integer", "x: 12", "{\"x\":12}"},
	{"negative", "x: -12", "{\"x\":-12}"},
	{"leading zero", "x: 012", "{\"x\":\"012\"}"},
	{"float", "x: 1.5", "{\"x\":1.5}"},
	{"exponent", "x: 1e3", "{\"x\":1000.0}"},
	{"quoted number", "x: '12'", "{\"x\":\"12\"}"},
	{"nothing", "x:", "{\"x\":null}"},
	{"tilde", "x: ~", "{\"x\":null}"},
	{"true", "x: true", "{\"x\":true}"},
	{"yes is text", "x: yes", "{\"x\":\"yes\"}"},
	{"version", "x: 1.2.3", "{\"x\":\"1.2.3\"}"},
	{"alias", "x: &a [1]\ny: *a", "{\"x\":[1],\"y\":[1]}"},
	{"comment only", "# nothing\n", "{}"},
	{"null document", "~", "{}"},
	{"variant of nothing", "x: !y", "{\"x\":\"y\"}"},
	{"unicode", "x: \"\\u00e9\"", "{\"x\":\"\xc3\xa9\"}"},
};

static void test_scalar(void **state)
{
	const struct scalar_case *c = *state;
	CLEANUP(config_freep) struct config *config = from_yaml(c->yaml);

	assert_json_equal(config_json(config), slice_text(c->json));
}

static struct broken_yaml {
	const char *name;
	const char *yaml;
	const char *error;
} broken[] = {
	{"not closed", "x: [1", "line 2: did not find expected ',' or ']'"},
	{"list as key", "[1]: 2", "a key that is no text"},
	{"alias to itself", "x: &a [*a]", "too deep"},
	{"list", "- 1", "no record"},
};

static void test_broken_yaml(void **state)
{
	const struct broken_yaml *c = *state;
	struct config *config = NULL;

	assert_int_equal(config_from_yaml(slice_text(c->yaml), &config, &err), ERR_FORMAT);
	assert_true(text_starts(err.text, "cannot parse configuration: "));
	assert_non_null(strstr(err.text, c->error));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_yaml_has_every_construct),
		cmocka_unit_test(test_yaml_round),
		cmocka_unit_test(test_flex_round),
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_newer_kind_of_store),
		cmocka_unit_test(test_container_options),
		cmocka_unit_test(test_split_leaves_undecided_axes_whole),
		cmocka_unit_test(test_merge),
	};
	int failed = RUN_CASES(test_bad, bad);

	failed += RUN_CASES(test_container, containers);
	failed += RUN_CASES(test_complete, completes);
	failed += RUN_CASES(test_split, splits);
	failed += RUN_CASES(test_preload, preloads);
	failed += RUN_CASES(test_equal, equals);
	failed += RUN_CASES(test_scalar, scalars);
	failed += RUN_CASES(test_broken_yaml, broken);
	return failed + cmocka_run_group_tests_name("configuration", tests, NULL, NULL);
}
