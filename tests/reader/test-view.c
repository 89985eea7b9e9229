/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/view.h"

#include <ftw.h>
#include <unistd.h>

#include "base/text.h"
#include "harness/make-repo.h"
#include "reader/open.h"
#include "repo/transaction.h"
#include "store/drivers.h"
#include "test.h"

/* A repository in memory behind a counter, its sources in a folder of the test's own. */
struct fixture {
	char sources[64];
	struct store *memory, *counter;
	struct repo *repo;
	struct checkout *checkout;
	struct reader *reader;
	struct view *view;
};

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static void fixture_open(struct fixture *f, enum view_mode mode)
{
	CLEANUP(freep) char *prefix = NULL;
	struct error err = ERROR_INIT;
	const struct repo_at at = {0};
	struct reader_options options = {0};
	struct allowance allow = {.credential = "anonymous"};
	struct id12 id;

	prefix = text_printf(&err, "file://%s/", f->sources);
	allow.prefix = prefix;
	options.sources.allow = &allow;
	options.sources.n_allow = 1;
	store_counter_reset(f->counter);
	assert_ok(repo_open(f->counter, NULL, &f->repo, &err), &err);
	assert_ok(repo_resolve(f->repo, &at, &id, &err), &err);
	assert_ok(repo_checkout(f->repo, &id, &f->checkout, &err), &err);
	assert_ok(reader_new(f->repo, &options, &f->reader, &err), &err);
	assert_ok(view_new(f->reader, f->checkout, mode, &f->view, &err), &err);
}

static void fixture_init(struct fixture *f, enum view_mode mode)
{
	struct error err = ERROR_INIT;

	*f = (struct fixture){0};
	snprintf(f->sources, sizeof(f->sources), "/tmp/refmt-view-XXXXXX");
	assert_non_null(mkdtemp(f->sources));
	assert_ok(store_memory_new(&f->memory, &err), &err);
	assert_ok(make_repo(f->memory, f->sources, &err), &err);
	assert_ok(store_counter_new(f->memory, &f->counter, &err), &err);
	fixture_open(f, mode);
}

static void fixture_close(struct fixture *f)
{
	f->view = view_free(f->view);
	f->reader = reader_free(f->reader);
	f->checkout = checkout_free(f->checkout);
	f->repo = repo_free(f->repo);
}

static void fixture_done(struct fixture *f)
{
	fixture_close(f);
	store_free(f->counter);
	store_free(f->memory);
	nftw(f->sources, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static struct view_file walk(struct fixture *f, const char *path, struct view_attr *ret_attr)
{
	struct error err = ERROR_INIT;
	struct view_file file;

	if (view_walk(f->view, path, &file, ret_attr, &err) != 0)
		fail_msg("'%s': %s", path, err.text);
	return file;
}

static struct content *load(struct fixture *f, const char *path)
{
	struct error err = ERROR_INIT;
	struct content *content = NULL;
	struct view_attr attr;
	struct view_file file = walk(f, path, &attr);

	if (view_load(f->view, &file, 0, &content, &err) != 0)
		fail_msg("'%s': %s", path, err.text);
	assert_int_equal(content->bytes.size, attr.size);
	return content;
}

/* Every name below @folder, one a line. */
static void list(struct fixture *f, const struct view_file *folder, const char *prefix,
		 struct buf *out)
{
	CLEANUP(view_iter_freep) struct view_iter *iter = NULL;
	struct error err = ERROR_INIT;
	struct view_entry entry;
	int r;

	assert_ok(view_iter_new(f->view, folder, &iter, &err), &err);
	while ((r = view_iter_next(iter, &entry, &err)) == 0) {
		CLEANUP(freep) char *path = text_printf(&err, "%s/%s", prefix, entry.name);
		struct view_file file;
		struct view_attr attr;
		char name[VIEW_NAME_MAX + 1];

		buf_printf(out, &err, "%s\n", path);
		/* What is listed can be looked up, with the same answer, and leads back. */
		assert_int_equal(view_lookup(f->view, folder, entry.name, &file, &attr, &err), 0);
		assert_int_equal(attr.is_folder, entry.attr.is_folder);
		assert_int_equal(attr.size, entry.attr.size);
		assert_int_equal(file.kind, entry.file.kind);
		view_name(f->view, &file, name);
		assert_string_equal(name, entry.name);
		assert_int_equal(view_parent(f->view, &file).kind, folder->kind);
		assert_int_equal(view_parent(f->view, &file).depth,
				 folder->kind == VIEW_GRID ? folder->depth : 0);
		if (entry.attr.is_folder)
			list(f, &entry.file, path, out);
	}
	assert_int_equal(r, VIEW_END);
}

/* The keys of the Zarr specification; references only on the last level. */
static void test_the_tree_is_the_zarr_hierarchy(void **state)
{
	CLEANUP(buf_done) struct buf out = BUF_INIT(BUF_NO_LIMIT);
	const struct view_file root = view_root();
	struct error err = ERROR_INIT;
	struct fixture f;

	(void)state;
	fixture_init(&f, VIEW_DECODED);
	list(&f, &root, "", &out);
	assert_string_equal(buf_text(&out, &err),
			    "/zarr.json\n"
			    "/a\n/a/b\n/a/b/deep\n/a/b/deep/zarr.json\n/a/b/deep/c.0\n"
			    "/a/b/deep/c.1\n/a/b/deep/c.2\n"
			    "/grib\n/grib/zarr.json\n"
			    "/grib/c\n/grib/c/zarr.json\n/grib/c/c\n"
			    "/grib/c/c/0\n/grib/c/c/0/0\n/grib/c/c/0/0/0\n"
			    "/grib/c/c/1\n/grib/c/c/1/0\n/grib/c/c/1/0/0\n"
			    "/grib/t\n/grib/t/zarr.json\n/grib/t/c\n"
			    "/grib/t/c/0\n/grib/t/c/0/0\n/grib/t/c/0/0/0\n/grib/t/c/0/0/0/0\n"
			    "/grib/t/c/0/1\n/grib/t/c/0/1/0\n/grib/t/c/0/1/0/0\n"
			    "/grib/t/c/0/2\n/grib/t/c/0/2/0\n"
			    "/grib/t/c/1\n/grib/t/c/1/0\n/grib/t/c/1/0/0\n/grib/t/c/1/0/0/0\n"
			    "/grib/t/c/1/1\n/grib/t/c/1/1/0\n/grib/t/c/1/1/0/0\n"
			    "/grib/t/c/1/2\n/grib/t/c/1/2/0\n/grib/t/c/1/2/0/0\n"
			    "/native\n/native/zarr.json\n/native/c\n/native/c/0\n/native/c/0/0\n"
			    "/native/c/1\n/native/c/1/0\n/native/c/2\n"
			    "/odd\n/odd/zarr.json\n/odd/c\n/odd/c/0\n"
			    "/scalar\n/scalar/zarr.json\n/scalar/c\n");
	fixture_done(&f);
}

static void test_what_is_not_there_is_absent(void **state)
{
	static const char *const paths[] = {
		"nothing",	    "a/zarr.json",    "native/c/2/0", "native/c/3",
		"native/c/00",	    "native/c/+1",    "native/c/0/1", "native/c/0/0/0",
		"native/0",	    "a/b/deep/c",     "a/b/deep/c.3", "a/b/deep/c.00",
		"grib/t/c/0/2/0/0", "zarr.json/more", "scalar/c/0",   "native/c/4294967296",
	};
	struct error err = ERROR_INIT;
	struct view_file file;
	struct view_attr attr;
	struct fixture f;

	(void)state;
	fixture_init(&f, VIEW_DECODED);
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		int r = view_walk(f.view, paths[i], &file, &attr, &err);

		if (r != VIEW_ABSENT)
			fail_msg("'%s': %d", paths[i], r);
	}
	fixture_done(&f);
}

static void test_decoded_chunks_are_plain_elements(void **state)
{
	CLEANUP(content_freep) struct content *t = NULL, *c = NULL, *document = NULL;
	CLEANUP(freep) char *text = NULL;
	struct error err = ERROR_INIT;
	struct fixture f;
	const double *kelvin;
	const float *celsius;

	(void)state;
	fixture_init(&f, VIEW_DECODED);
	t = load(&f, "grib/t/c/0/1/0/0");
	c = load(&f, "grib/c/c/1/0/0");
	kelvin = (const double *)t->bytes.data;
	celsius = (const float *)c->bytes.data;
	assert_int_equal(t->bytes.size, MAKE_NJ * MAKE_NI * sizeof(double));
	assert_int_equal(c->bytes.size, MAKE_NJ * MAKE_NI * sizeof(float));
	for (int p = 0; p < MAKE_NJ * MAKE_NI; p++) {
		/* Packed to a tenth. */
		double value = make_repo_value(1, p / MAKE_NI, p % MAKE_NI);

		assert_true(kelvin[p] > value - 0.06 && kelvin[p] < value + 0.06);
		/* The rows of this grid run from the north already. */
		assert_true(celsius[p] > value - 273.15 - 0.06 &&
			    celsius[p] < value - 273.15 + 0.06);
	}
	/* Readers without the codec are told what is true of the bytes they get. */
	document = load(&f, "grib/c/zarr.json");
	text = slice_dup(document->bytes, &err);
	assert_null(strstr(text, "gribberish"));
	fixture_done(&f);
}

static void test_the_stored_view_passes_everything_through(void **state)
{
	CLEANUP(content_freep) struct content *message = NULL, *document = NULL;
	CLEANUP(freep) char *text = NULL;
	struct error err = ERROR_INIT;
	struct fixture f;

	(void)state;
	fixture_init(&f, VIEW_STORED);
	message = load(&f, "grib/t/c/0/1/0/0");
	assert_memory_equal(message->bytes.data, "GRIB", 4);
	assert_memory_equal(message->bytes.data + message->bytes.size - 4, "7777", 4);
	document = load(&f, "grib/c/zarr.json");
	text = slice_dup(document->bytes, &err);
	assert_non_null(strstr(text, "gribberish"));
	assert_non_null(strstr(text, "scale_offset"));
	fixture_done(&f);
}

/* The promise to operators: two reads to mount, two for a chunk, none the second time. */
static void test_requests_are_counted(void **state)
{
	struct store_counts counts;
	struct reader_counters reader;
	struct fixture f;

	(void)state;
	fixture_init(&f, VIEW_DECODED);
	counts = store_counter_get(f.counter);
	assert_int_equal(counts.get, 2);
	assert_int_equal(counts.list + counts.put + counts.replace, 0);

	content_free(load(&f, "grib/t/c/0/0/0/0"));
	assert_int_equal(store_counter_get(f.counter).get, 3); /* its manifest */
	assert_int_equal(reader_counters(f.reader).fetches, 1);
	assert_int_equal(reader_counters(f.reader).decodes, 1);

	content_free(load(&f, "grib/t/c/0/0/0/0"));
	reader = reader_counters(f.reader);
	assert_int_equal(store_counter_get(f.counter).get, 3);
	assert_int_equal(reader.fetches, 1);
	assert_int_equal(reader.decodes, 1);
	assert_int_equal(reader.cache_hits, 1);
	fixture_done(&f);
}

#define MANY_ARRAYS 180

/* Adds arrays like those of a forecast, each with a reference of its own. */
static void add_arrays(struct fixture *f)
{
	CLEANUP(transaction_freep) struct transaction *transaction = NULL;
	CLEANUP(freep) char *location = NULL;
	CLEANUP(buf_done) struct buf document = BUF_INIT(BUF_NO_LIMIT);
	const struct commit_options commit = {.message = "many"};
	const uint32_t index[4] = {0};
	struct virtual_ref ref = {.index = index, .length = 100};
	struct error err = ERROR_INIT;
	struct id12 id;

	location = text_printf(&err, "file://%s/fields.grib2", f->sources);
	ref.location = slice_text(location);
	assert_ok(transaction_begin(f->repo, NULL, NULL, &transaction, &err), &err);
	assert_ok(transaction_get_document(transaction, "/grib/t", &document, &err), &err);
	for (int i = 0; i < MANY_ARRAYS; i++) {
		char path[32];

		snprintf(path, sizeof(path), "/grib/many%d", i);
		assert_ok(transaction_put_document(transaction, path, buf_slice(&document), &err),
			  &err);
		assert_ok(transaction_set_refs(transaction, path, &ref, 1, 4, &err), &err);
	}
	assert_ok(transaction_commit(transaction, &commit, &id, NULL, &err), &err);
}

/* However many arrays: the repo object and the snapshot. */
static void test_opening_many_arrays_costs_two_reads(void **state)
{
	struct view_attr attr;
	struct fixture f;

	(void)state;
	fixture_init(&f, VIEW_DECODED);
	add_arrays(&f);
	fixture_close(&f);
	fixture_open(&f, VIEW_DECODED);
	assert_true(checkout_n_nodes(f.checkout) > MANY_ARRAYS);
	walk(&f, "grib/many179/zarr.json", &attr);
	assert_int_equal(store_counter_get(f.counter).get, 2);
	fixture_done(&f);
}

static void assert_fails(struct fixture *f, const char *path, int kind, const char *text)
{
	struct content *content = NULL;
	struct error err = ERROR_INIT;
	struct view_attr attr;
	struct view_file file = walk(f, path, &attr);

	assert_int_equal(view_load(f->view, &file, 0, &content, &err), kind);
	if (!strstr(err.text, text))
		fail_msg("'%s' does not say '%s'", err.text, text);
}

/* A failure is there at read, never a missing chunk; and a second read within a second is free. */
static void test_failures_come_at_read(void **state)
{
	uint64_t fetches;
	struct fixture f;

	(void)state;
	fixture_init(&f, VIEW_DECODED);
	assert_fails(&f, "grib/t/c/1/1/0/0", ERR_ABSENT, "gone.grib2");
	fetches = reader_counters(f.reader).fetches;
	assert_fails(&f, "grib/t/c/1/1/0/0", ERR_ABSENT, "gone.grib2");
	assert_int_equal(reader_counters(f.reader).fetches, fetches);
	/* Cut short: an error, not a field with made-up values. */
	assert_fails(&f, "grib/t/c/1/2/0/0", ERR_FORMAT, "section");
	assert_fails(&f, "odd/c/0", ERR_UNSUPPORTED, "mystery");
	fixture_done(&f);
}

static int remove_manifest(void *argument, const struct store_entry *entry, struct error *err)
{
	return store_remove(argument, entry->key, err);
}

static void test_a_lost_manifest_is_unknown_not_absent(void **state)
{
	CLEANUP(view_iter_freep) struct view_iter *iter = NULL;
	struct error err = ERROR_INIT;
	struct view_entry entry;
	struct view_chunk chunk;
	struct view_file file;
	struct view_attr attr;
	struct fixture f;

	(void)state;
	fixture_init(&f, VIEW_DECODED);
	assert_ok(store_list(f.memory, "manifests/", false, remove_manifest, f.memory, &err), &err);

	/* There, of the size that the grid gives, and not to be remembered. */
	file = walk(&f, "grib/t/c/0/2/0/0", &attr);
	assert_true(attr.unknown);
	assert_int_equal(attr.size, MAKE_NI * MAKE_NJ * sizeof(double));
	walk(&f, "native/c/0/0", &attr);
	assert_true(attr.unknown);
	assert_int_equal(attr.size, 1);
	assert_fails(&f, "grib/t/c/0/2/0/0", ERR_ABSENT, "manifest");
	assert_ok(view_describe(f.view, &file, &chunk, &err), &err);
	assert_string_equal(chunk.state, "manifest-unavailable");
	view_chunk_done(&chunk);

	/* Outside the grid, and outside the extents that the snapshot records, stays proven. */
	assert_int_equal(view_walk(f.view, "native/c/9", &file, &attr, &err), VIEW_ABSENT);
	assert_int_equal(view_walk(f.view, "native/c/2/0", &file, &attr, &err), VIEW_ABSENT);

	file = walk(&f, "grib/t/c/0/0/0", &attr);
	assert_ok(view_iter_new(f.view, &file, &iter, &err), &err);
	assert_true(view_iter_next(iter, &entry, &err) < 0);
	fixture_done(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_tree_is_the_zarr_hierarchy),
		cmocka_unit_test(test_what_is_not_there_is_absent),
		cmocka_unit_test(test_decoded_chunks_are_plain_elements),
		cmocka_unit_test(test_the_stored_view_passes_everything_through),
		cmocka_unit_test(test_requests_are_counted),
		cmocka_unit_test(test_opening_many_arrays_costs_two_reads),
		cmocka_unit_test(test_failures_come_at_read),
		cmocka_unit_test(test_a_lost_manifest_is_unknown_not_absent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
