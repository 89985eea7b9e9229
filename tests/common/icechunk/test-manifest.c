/* SPDX-License-Identifier: Apache-2.0 */
#include "icechunk/manifest.h"

#include "base/pool.h"
#include "base/text.h"
#include "test.h"

/* What is built is read again and compared with what was added. */

static struct error err;

static const struct id12 id = {{7}};
static const struct id8 node_a = {{1}}, node_b = {{2}};

static struct manifest_builder *new_builder(const struct manifest_options *options)
{
	struct manifest_builder *builder;

	assert_ok(manifest_builder_new(&id, options, &builder, &err), &err);
	return builder;
}

static struct manifest *finish(struct manifest_builder *builder)
{
	CLEANUP(buf_done) struct buf payload = BUF_INIT(1 << 28);
	struct manifest *manifest;

	assert_ok(manifest_builder_encode(builder, &payload, &err), &err);
	assert_ok(manifest_open(&payload, &manifest, &err), &err);
	assert_ok(manifest_verify(manifest, &err), &err);
	return manifest;
}

static struct chunk_ref make_virtual(const uint32_t *index, uint32_t n_dims, const char *location)
{
	return (struct chunk_ref){.kind = CHUNK_VIRTUAL,
				  .index = index,
				  .n_dims = n_dims,
				  .location = slice_text(location),
				  .offset = 10 * (uint64_t)(n_dims ? index[n_dims - 1] : 0),
				  .length = 5};
}

static int add(struct manifest_builder *builder, struct chunk_ref ref)
{
	return manifest_builder_add(builder, &ref, &err);
}

static void test_every_kind(void **state)
{
	static const uint32_t index[5][2] = {{0, 0}, {0, 1}, {1, 0}, {1, 1}, {7, 3}};
	CLEANUP(manifest_builder_freep)
	struct manifest_builder *builder = new_builder(&MANIFEST_OPTIONS_DEFAULT);
	CLEANUP(manifest_freep) struct manifest *manifest = NULL;
	struct manifest_array array;
	const struct extent *box;
	struct chunk_ref ref;

	(void)state;
	assert_ok(manifest_builder_array(builder, &node_a, 2, &err), &err);
	ref = (struct chunk_ref){.kind = CHUNK_INLINE,
				 .index = index[0],
				 .n_dims = 2,
				 .data = slice_text("inlined bytes")};
	assert_ok(add(builder, ref), &err);
	ref = (struct chunk_ref){.kind = CHUNK_NATIVE,
				 .index = index[1],
				 .n_dims = 2,
				 .chunk_id = {{3, 4}},
				 .offset = UINT64_C(1) << 40,
				 .length = 99};
	assert_ok(add(builder, ref), &err);
	assert_ok(add(builder, make_virtual(index[2], 2, "s3://b/one")), &err);
	ref = make_virtual(index[3], 2, "s3://b/two");
	ref.etag = slice_text("\"e\"");
	ref.last_modified = 5; /* the etag counts */
	assert_ok(add(builder, ref), &err);
	ref = make_virtual(index[4], 2, "s3://b/one");
	ref.last_modified = 1700000000;
	assert_ok(add(builder, ref), &err);
	box = manifest_builder_extents(builder);
	assert_true(box[0].from == 0 && box[0].to == 8 && box[1].from == 0 && box[1].to == 4);
	assert_int_equal(manifest_builder_n_refs(builder), 5);

	manifest = finish(builder);
	assert_true(id12_equal(manifest_id(manifest), &id));
	assert_int_equal(manifest_n_refs(manifest), 5);
	assert_int_equal(manifest_find_array(manifest, &node_a, &array), 0);
	assert_int_equal(array.n_refs, 5);

	assert_int_equal(manifest_ref(manifest, &array, 0, &ref, &err), 0);
	assert_int_equal(ref.kind, CHUNK_INLINE);
	assert_true(slice_is(ref.data, "inlined bytes"));
	assert_int_equal(ref.length, 13);
	assert_int_equal(manifest_ref(manifest, &array, 1, &ref, &err), 0);
	assert_int_equal(ref.kind, CHUNK_NATIVE);
	assert_int_equal(ref.chunk_id.bytes[1], 4);
	assert_int_equal(ref.offset, UINT64_C(1) << 40);
	assert_int_equal(ref.length, 99);
	assert_int_equal(manifest_find(manifest, &array, index[2], 2, NULL, &ref, &err), 0);
	assert_int_equal(ref.kind, CHUNK_VIRTUAL);
	assert_true(slice_is(ref.location, "s3://b/one"));
	assert_false(ref.compressed);
	assert_null(ref.etag.data);
	assert_int_equal(ref.last_modified, 0);
	assert_int_equal(manifest_find(manifest, &array, index[3], 2, NULL, &ref, &err), 0);
	assert_true(slice_is(ref.etag, "\"e\""));
	assert_int_equal(ref.last_modified, 0);
	assert_int_equal(manifest_find(manifest, &array, index[4], 2, box, &ref, &err), 0);
	assert_true(slice_is(ref.location, "s3://b/one"));
	assert_int_equal(ref.last_modified, 1700000000);
	assert_int_equal(ref.offset, 30);
}

/* A grid with holes: every index is found or known to be absent, with and without a box to guess
 * by. */
static void test_every_index_of_a_grid_with_holes(void **state)
{
	static const struct extent box[3] = {{0, 9}, {0, 11}, {0, 7}};
	CLEANUP(manifest_builder_freep)
	struct manifest_builder *builder = new_builder(&MANIFEST_OPTIONS_DEFAULT);
	CLEANUP(manifest_freep) struct manifest *manifest = NULL;
	struct manifest_array array;

	(void)state;
	assert_ok(manifest_builder_array(builder, &node_a, 3, &err), &err);
	for (uint32_t i = 0; i < 9 * 11 * 7; i++) {
		uint32_t index[3] = {i / 77, i / 7 % 11, i % 7};

		if (i * i % 5 != 1)
			assert_ok(add(builder, make_virtual(index, 3, "s3://b/x")), &err);
	}
	manifest = finish(builder);
	assert_int_equal(manifest_find_array(manifest, &node_a, &array), 0);
	for (uint32_t i = 0, n = 0; i < 9 * 11 * 7; i++) {
		uint32_t index[3] = {i / 77, i / 7 % 11, i % 7}, at;
		int want = i * i % 5 != 1 ? 0 : MANIFEST_ABSENT;
		struct chunk_ref ref;

		assert_int_equal(manifest_find(manifest, &array, index, 3, NULL, &ref, &err), want);
		assert_int_equal(manifest_find(manifest, &array, index, 3, box, &ref, &err), want);
		assert_int_equal(ref.kind, want ? CHUNK_ABSENT : CHUNK_VIRTUAL);
		assert_ok(manifest_lower_bound(manifest, &array, index, 3, &at, &err), &err);
		assert_int_equal(at, n);
		n += want == 0;
	}
}

static void test_lower_bound_of_a_prefix(void **state)
{
	static const uint32_t index[4][2] = {{1, 5}, {2, 0}, {2, 9}, {4, 1}};
	static const uint32_t want[6] = {0, 0, 1, 3, 3, 4};
	CLEANUP(manifest_builder_freep)
	struct manifest_builder *builder = new_builder(&MANIFEST_OPTIONS_DEFAULT);
	CLEANUP(manifest_freep) struct manifest *manifest = NULL;
	struct manifest_array array;

	(void)state;
	assert_ok(manifest_builder_array(builder, &node_a, 2, &err), &err);
	for (size_t i = 0; i < 4; i++)
		assert_ok(add(builder, make_virtual(index[i], 2, "s3://b/x")), &err);
	manifest = finish(builder);
	manifest_find_array(manifest, &node_a, &array);
	for (uint32_t i = 0; i < 6; i++) {
		uint32_t at;

		assert_ok(manifest_lower_bound(manifest, &array, &i, 1, &at, &err), &err);
		assert_int_equal(at, want[i]);
	}
	assert_ok(manifest_lower_bound(manifest, &array, NULL, 0, &(uint32_t){0}, &err), &err);
}

static void test_several_arrays_and_a_scalar(void **state)
{
	static const uint32_t index[1] = {3};
	CLEANUP(manifest_builder_freep)
	struct manifest_builder *builder = new_builder(&MANIFEST_OPTIONS_DEFAULT);
	CLEANUP(manifest_freep) struct manifest *manifest = NULL;
	struct manifest_array array;
	struct chunk_ref ref;

	(void)state;
	assert_ok(manifest_builder_array(builder, &node_a, 0, &err), &err);
	assert_ok(add(builder, make_virtual(NULL, 0, "s3://b/scalar")), &err);
	assert_ok(manifest_builder_array(builder, &node_b, 1, &err), &err);
	assert_ok(add(builder, make_virtual(index, 1, "s3://b/x")), &err);
	manifest = finish(builder);
	assert_int_equal(manifest_n_arrays(manifest), 2);
	assert_int_equal(manifest_find_array(manifest, &node_a, &array), 0);
	assert_int_equal(manifest_find(manifest, &array, NULL, 0, NULL, &ref, &err), 0);
	assert_true(slice_is(ref.location, "s3://b/scalar"));
	assert_int_equal(manifest_find_array(manifest, &node_b, &array), 0);
	assert_int_equal(manifest_find(manifest, &array, index, 1, NULL, &ref, &err), 0);
	assert_int_equal(manifest_find_array(manifest, &(struct id8){{3}}, &array),
			 MANIFEST_ABSENT);
	assert_int_equal(array.n_refs, 0);
	assert_int_equal(manifest_find(manifest, &array, index, 1, NULL, &ref, &err),
			 MANIFEST_ABSENT);
}

/* @n references, @per to a location. */
static struct manifest *build_many(const struct manifest_options *options, uint32_t n, uint32_t per)
{
	CLEANUP(manifest_builder_freep) struct manifest_builder *builder = new_builder(options);

	assert_ok(manifest_builder_array(builder, &node_a, 1, &err), &err);
	for (uint32_t i = 0; i < n; i++) {
		CLEANUP(freep)
		char *location = text_printf(
			&err, "s3://bucket/some/long/path/to/data/file_%06u.nc", i / per);

		assert_ok(add(builder, make_virtual(&i, 1, location)), &err);
	}
	return finish(builder);
}

static void assert_locations(const struct manifest *manifest, uint32_t n, uint32_t per,
			     bool compressed)
{
	struct manifest_array array;
	struct manifest_iter iter;

	assert_int_equal(manifest_find_array(manifest, &node_a, &array), 0);
	assert_int_equal(array.n_refs, n);
	manifest_iter_init(&iter, manifest, &array, 0);
	for (uint32_t i = 0; i < n; i++) {
		CLEANUP(freep)
		char *location = text_printf(
			&err, "s3://bucket/some/long/path/to/data/file_%06u.nc", i / per);

		assert_ok(manifest_iter_next(&iter, &err), &err);
		assert_int_equal(iter.ref.compressed, compressed);
		assert_true(slice_is(iter.ref.location, location));
	}
	assert_int_equal(manifest_iter_next(&iter, &err), MANIFEST_ABSENT);
}

/* Thresholds of the formats (section 4.4): from min_num_chunks references on, in spec 2. */
static struct compression_case {
	const char *name;
	uint32_t n, per;
	enum spec spec;
	bool compress;
	bool want;
} compressions[] = {
	{"one below", 999, 3, SPEC_2, true, false},
	{"just enough", 1000, 3, SPEC_2, true, true},
	{"each its own", 1500, 1, SPEC_2, true, true},
	{"all the same", 1000, 1000, SPEC_2, true, true},
	{"spec 1", 1500, 3, SPEC_1, true, false},
	{"switched off", 1500, 3, SPEC_2, false, false},
};

static void test_compression(void **state)
{
	const struct compression_case *c = *state;
	struct manifest_options options = MANIFEST_OPTIONS_DEFAULT;
	CLEANUP(manifest_freep) struct manifest *manifest = NULL;

	options.spec = c->spec;
	options.compress_locations = c->compress;
	manifest = build_many(&options, c->n, c->per);
	assert_locations(manifest, c->n, c->per, c->want);
}

/* Of samples that are shorter than 8 bytes no dictionary can be made (formats, section 4.4). */
static void test_short_locations_stay_plain(void **state)
{
	struct manifest_options options = MANIFEST_OPTIONS_DEFAULT;
	CLEANUP(manifest_builder_freep) struct manifest_builder *builder = new_builder(&options);
	CLEANUP(manifest_freep) struct manifest *manifest = NULL;
	struct manifest_array array;
	struct chunk_ref ref;

	(void)state;
	assert_ok(manifest_builder_array(builder, &node_a, 1, &err), &err);
	for (uint32_t i = 0; i < 1200; i++)
		assert_ok(add(builder, make_virtual(&i, 1, "s3://b")), &err);
	manifest = finish(builder);
	manifest_find_array(manifest, &node_a, &array);
	assert_int_equal(manifest_ref(manifest, &array, 1199, &ref, &err), 0);
	assert_false(ref.compressed);
	assert_true(slice_is(ref.location, "s3://b"));
}

/* The public library cannot decompress more than 1,024 bytes: such a location stays plain. */
static void test_long_locations_stay_plain(void **state)
{
	CLEANUP(manifest_builder_freep)
	struct manifest_builder *builder = new_builder(&MANIFEST_OPTIONS_DEFAULT);
	CLEANUP(manifest_freep) struct manifest *manifest = NULL;
	struct manifest_array array;
	struct chunk_ref ref;
	char longest[1026];

	(void)state;
	memset(longest, 'x', sizeof(longest));
	memcpy(longest, "s3://b/", 7);
	longest[1025] = '\0';
	assert_ok(manifest_builder_array(builder, &node_a, 1, &err), &err);
	for (uint32_t i = 0; i < 1500; i++)
		assert_ok(add(builder, make_virtual(&i, 1,
						    i == 700   ? longest
						    : i == 701 ? longest + 1
							       : "s3://bucket/path/a")),
			  &err);
	manifest = finish(builder);
	manifest_find_array(manifest, &node_a, &array);
	assert_int_equal(manifest_ref(manifest, &array, 700, &ref, &err), 0);
	assert_false(ref.compressed);
	assert_int_equal(ref.location.size, 1025);
	assert_int_equal(manifest_ref(manifest, &array, 701, &ref, &err), 0);
	assert_true(ref.compressed);
	assert_int_equal(ref.location.size, 1024);
	assert_int_equal(manifest_ref(manifest, &array, 702, &ref, &err), 0);
	assert_true(ref.compressed);
}

/* Locations and etags are stored once, however many references share them. */
static void test_shared_texts_are_stored_once(void **state)
{
	struct manifest_options plain = MANIFEST_OPTIONS_DEFAULT;
	CLEANUP(manifest_freep) struct manifest *shared = NULL;
	CLEANUP(manifest_freep) struct manifest *apart = NULL;

	(void)state;
	plain.compress_locations = false;
	shared = build_many(&plain, 2000, 200);
	apart = build_many(&plain, 2000, 1);
	assert_true(manifest_memory(apart) - manifest_memory(shared) > 1990 * 48);
}

/* At most 64 bytes a reference of 4 dimensions, beside the texts (growth doubles what is reserved).
 */
static void test_memory_of_the_builder(void **state)
{
	CLEANUP(manifest_builder_freep)
	struct manifest_builder *builder = new_builder(&MANIFEST_OPTIONS_DEFAULT);
	CLEANUP(buf_done) struct buf out = BUF_INIT(BUF_NO_LIMIT);
	uint32_t n = 20000;

	(void)state;
	assert_ok(manifest_builder_array(builder, &node_a, 4, &err), &err);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t index[4] = {i / 1000, i / 100 % 10, i / 10 % 10, i % 10};
		struct chunk_ref ref = make_virtual(index, 4, "s3://bucket/path/a");

		ref.last_modified = 1;
		assert_ok(add(builder, ref), &err);
	}
	assert_true(manifest_builder_memory(builder) < 2 * 64 * n);
	assert_ok(manifest_builder_encode(builder, &out, &err), &err);
	assert_true(out.size < 64 * n);
}

static int look_up_all(void *argument, size_t thread, struct error *ret_err)
{
	const struct manifest *manifest = argument;
	struct manifest_array array;
	struct chunk_ref ref;
	int r = 0;

	manifest_find_array(manifest, &node_a, &array);
	for (uint32_t i = 0; r == 0 && i < array.n_refs; i++) {
		uint32_t index = (i * 7 + (uint32_t)thread) % array.n_refs;

		r = manifest_find(manifest, &array, &index, 1, NULL, &ref, ret_err);
	}
	return r;
}

/* For the thread sanitizer: one manifest, dictionary included, serves all threads. */
static void test_lookups_from_several_threads(void **state)
{
	CLEANUP(manifest_freep)
	struct manifest *manifest = build_many(&MANIFEST_OPTIONS_DEFAULT, 1500, 3);

	(void)state;
	assert_ok(parallel_for(4, 8, look_up_all, manifest, &err), &err);
}

static void test_equal_references_give_equal_files(void **state)
{
	struct envelope_options options = {SPEC_2, 3, 0};
	struct buf files[2] = {BUF_INIT(1 << 20), BUF_INIT(1 << 20)};

	(void)state;
	for (size_t k = 0; k < 2; k++) {
		CLEANUP(manifest_builder_freep)
		struct manifest_builder *builder = new_builder(&MANIFEST_OPTIONS_DEFAULT);

		assert_ok(manifest_builder_array(builder, &node_a, 1, &err), &err);
		for (uint32_t i = 0; i < 1500; i++)
			assert_ok(add(builder,
				      make_virtual(&i, 1,
						   i % 2 ? "s3://bucket/odd" : "s3://bucket/even")),
				  &err);
		assert_ok(manifest_builder_seal(builder, &options, &files[k], &err), &err);
	}
	assert_true(slice_equal(buf_slice(&files[0]), buf_slice(&files[1])));
	buf_done(&files[0]);
	buf_done(&files[1]);
}

/* References 0 to @n - 1, the first of them as they come from @old unless it is NULL. */
static struct manifest *follow(const struct manifest *old, const struct manifest *adopted,
			       bool as_stored, uint32_t n)
{
	CLEANUP(manifest_builder_freep)
	struct manifest_builder *builder = new_builder(&MANIFEST_OPTIONS_DEFAULT);
	struct manifest_array array;
	struct manifest_iter iter;
	uint32_t i = 0;

	if (adopted)
		assert_true(manifest_builder_adopt(builder, adopted));
	assert_ok(manifest_builder_array(builder, &node_a, 1, &err), &err);
	if (old) {
		assert_int_equal(manifest_find_array(old, &node_a, &array), 0);
		manifest_iter_init(&iter, old, &array, 0);
		if (as_stored)
			manifest_iter_as_stored(&iter);
		for (; i < n && manifest_iter_next(&iter, &err) == 0; i++)
			assert_ok(manifest_builder_add(builder, &iter.ref, &err), &err);
	}
	for (; i < n; i++) {
		char location[64];

		snprintf(location, sizeof(location), "s3://bucket/%05u/name.f%02u.grib2", i * 7,
			 i % 49);
		assert_ok(add(builder, make_virtual(&i, 1, location)), &err);
	}
	return finish(builder);
}

static void assert_same_refs(const struct manifest *a, const struct manifest *b, bool same_stored)
{
	struct manifest_array array_a, array_b;
	struct chunk_ref x, y;

	assert_int_equal(manifest_find_array(a, &node_a, &array_a), 0);
	assert_int_equal(manifest_find_array(b, &node_a, &array_b), 0);
	for (uint32_t i = 0; i < array_a.n_refs && i < array_b.n_refs; i++) {
		assert_ok(manifest_ref(a, &array_a, i, &x, &err), &err);
		assert_ok(manifest_ref(b, &array_b, i, &y, &err), &err);
		assert_true(slice_equal(x.location, y.location));
		assert_int_equal(slice_equal(x.stored, y.stored), same_stored);
	}
}

static void test_adopts_a_dictionary(void **state)
{
	CLEANUP(manifest_freep) struct manifest *first = follow(NULL, NULL, false, 1500);
	CLEANUP(manifest_freep) struct manifest *other = follow(NULL, NULL, false, 1200);
	CLEANUP(manifest_freep) struct manifest *next = follow(first, first, true, 1600);
	CLEANUP(manifest_freep) struct manifest *texts = follow(first, first, false, 1600);
	CLEANUP(manifest_freep) struct manifest *mixed = follow(first, other, false, 1600);
	CLEANUP(manifest_freep) struct manifest *outgrown = follow(first, first, true, 6100);
	CLEANUP(manifest_freep) struct manifest *few = follow(first, first, true, 900);
	struct manifest_array array;
	struct chunk_ref ref;

	(void)state;
	/* Locations are copied as they are, and new ones compressed in the same way. */
	assert_same_refs(first, next, true);
	assert_same_refs(first, texts, true);
	assert_int_equal(manifest_find_array(next, &node_a, &array), 0);
	assert_int_equal(array.n_refs, 1600);
	assert_ok(manifest_ref(next, &array, 1599, &ref, &err), &err);
	assert_true(ref.compressed && slice_is(ref.location, "s3://bucket/11193/name.f31.grib2"));
	/* Not so where they come from another manifest, or too few do, or there are few in all. */
	assert_same_refs(first, mixed, false);
	assert_same_refs(first, outgrown, false);
	assert_same_refs(first, few, false);
	assert_int_equal(manifest_find_array(few, &node_a, &array), 0);
	assert_ok(manifest_ref(few, &array, 0, &ref, &err), &err);
	assert_false(ref.compressed);
}

static void assert_refused(struct manifest_builder *builder, struct chunk_ref ref, const char *text)
{
	assert_int_equal(add(builder, ref), ERR_ARGUMENT);
	assert_string_equal(err.text, text);
}

static void test_refuses_what_readers_refuse(void **state)
{
	static const uint32_t one[1] = {1}, two[2] = {1, 2}, last[1] = {UINT32_MAX};
	CLEANUP(manifest_builder_freep)
	struct manifest_builder *builder = new_builder(&MANIFEST_OPTIONS_DEFAULT);
	struct chunk_ref empty = {.kind = CHUNK_INLINE, .index = one, .n_dims = 1};
	struct chunk_ref nothing = make_virtual(one, 1, "s3://b/x");
	struct chunk_ref beyond = make_virtual(one, 1, "s3://b/x");

	(void)state;
	assert_refused(builder, make_virtual(one, 1, "s3://b/x"), "reference without an array");
	assert_ok(manifest_builder_array(builder, &node_b, 1, &err), &err);
	assert_refused(builder, make_virtual(two, 2, "s3://b/x"),
		       "reference of 2 coordinates in an array of 1 dimensions");
	assert_refused(builder, make_virtual(last, 1, "s3://b/x"), "chunk coordinate 2^32 - 1");
	assert_refused(builder, make_virtual(one, 1, ""), "location of 0 bytes");
	/* Twice: what was refused is not remembered as known. */
	assert_refused(builder, make_virtual(one, 1, "s3://b/\xff"), "text is not UTF-8");
	assert_refused(builder, make_virtual(one, 1, "s3://b/\xff"), "text is not UTF-8");
	assert_refused(builder, empty, "chunk of 0 bytes");
	nothing.length = 0;
	assert_refused(builder, nothing, "reference of 0 bytes at offset 10");
	beyond.offset = UINT64_MAX;
	assert_refused(builder, beyond, "reference of 5 bytes at offset 18446744073709551615");
	assert_ok(add(builder, make_virtual(one, 1, "s3://b/x")), &err);
	assert_refused(builder, make_virtual(one, 1, "s3://b/x"), "references are out of order");
	assert_int_equal(manifest_builder_array(builder, &node_a, 1, &err), ERR_ARGUMENT);
	assert_string_equal(err.text, "arrays of a manifest are not sorted by id");
	assert_int_equal(manifest_builder_n_refs(builder), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_kind),
		cmocka_unit_test(test_every_index_of_a_grid_with_holes),
		cmocka_unit_test(test_lower_bound_of_a_prefix),
		cmocka_unit_test(test_several_arrays_and_a_scalar),
		cmocka_unit_test(test_short_locations_stay_plain),
		cmocka_unit_test(test_long_locations_stay_plain),
		cmocka_unit_test(test_shared_texts_are_stored_once),
		cmocka_unit_test(test_memory_of_the_builder),
		cmocka_unit_test(test_lookups_from_several_threads),
		cmocka_unit_test(test_equal_references_give_equal_files),
		cmocka_unit_test(test_adopts_a_dictionary),
		cmocka_unit_test(test_refuses_what_readers_refuse),
	};
	int failed = RUN_CASES(test_compression, compressions);

	return failed + cmocka_run_group_tests_name("manifests", tests, NULL, NULL);
}
