/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/template.h"

#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "store/drivers.h"
#include "test.h"
#include "zarr/codec.h"
#include "zarr/metadata.h"

/* The trees that the reference system keeps in its repository (data/README.md, "templates"). */
static struct template_case {
	const char *id;
	const char *folder;
} cases[] = {
	{"noaa-hrrr-forecast-48-hour-virtual", "noaa-hrrr-forecast-48-hour-virtual"},
	{"noaa-hrrr-forecast-18-hour-virtual", "noaa-hrrr-forecast-18-hour-virtual"},
	{"noaa-hrrr-analysis-virtual", "UNMERGED-noaa-hrrr-analysis-virtual"},
	{"noaa-gefs-forecast-10-day-spatial-dev", "noaa-gefs-forecast-10-day-spatial-dev"},
	{"ecmwf-aifs-single-forecast-virtual", "ecmwf-aifs-single-forecast-virtual"},
};

/* Where the kept copy of a file lies that the data set leaves out (OMITTED_DUPLICATES.tsv). */
static const char *kept_copy(const char *key)
{
	return strstr(key, "longitude/c/0/0") ? "noaa-hrrr-forecast-48-hour-virtual/longitude/c/0/0"
					      : "noaa-hrrr-forecast-48-hour-virtual/latitude/c/0/0";
}

static void assert_same_values(struct store *rendered, const char *key, struct slice want,
			       struct slice got)
{
	CLEANUP(zarr_metadata_freep) struct zarr_metadata *metadata = NULL;
	CLEANUP(zarr_chain_freep) struct zarr_chain *chain = NULL;
	CLEANUP(buf_done) struct buf document = BUF_INIT(1 << 20);
	CLEANUP(freep) char *path = text_dup(key, NULL);
	CLEANUP(freep) uint8_t *a = NULL, *b = NULL;
	CLEANUP(freep) char *name = NULL;
	struct error err = ERROR_INIT;
	uint64_t shape[ZARR_DIMS_MAX];
	const uint32_t index[ZARR_DIMS_MAX] = {0};
	size_t size;

	*strstr(path, "/c") = '\0';
	/* Names such as "x/categorical" do not occur among coordinates. */
	name = text_printf(&err, "%s/zarr.json", path);
	assert_ok(store_get_all(rendered, name, &document, NULL, &err), &err);
	assert_ok(zarr_metadata_new(buf_slice(&document), &metadata, &err), &err);
	assert_ok(zarr_chain_new(metadata, NULL, &chain, &err), &err);
	zarr_grid_chunk_shape(&metadata->grid, index, shape);
	assert_ok(zarr_chain_chunk_bytes(chain, shape, &size, &err), &err);
	a = malloc(size);
	b = malloc(size);
	assert_ok(zarr_chain_decode(chain, shape, want, a, size, &err), &err);
	assert_ok(zarr_chain_decode(chain, shape, got, b, size, &err), &err);
	if (memcmp(a, b, size) != 0)
		fail_msg("%s: other values", key);
}

struct compare {
	struct store *rendered, *templates;
	const char *folder;
	size_t n_documents, n_chunks;
};

static int compare_file(void *argument, const struct store_entry *entry, struct error *err)
{
	struct compare *compare = argument;
	CLEANUP(buf_done) struct buf got = BUF_INIT(1 << 26);
	CLEANUP(buf_done) struct buf want = BUF_INIT(1 << 26);
	CLEANUP(freep) char *key = text_printf(err, "%s/%s", compare->folder, entry->key);
	int r;

	assert_ok(store_get_all(compare->rendered, entry->key, &got, NULL, err), err);
	r = store_get_all(compare->templates, key, &want, NULL, err);
	if (r == STORE_ABSENT)
		r = store_get_all(compare->templates, kept_copy(key), &want, NULL, err);
	assert_ok(r, err);
	if (text_ends(entry->key, "zarr.json")) {
		if (!slice_equal(buf_slice(&got), buf_slice(&want)))
			fail_msg("%s: other bytes", entry->key);
		compare->n_documents++;
	} else {
		assert_same_values(compare->rendered, entry->key, buf_slice(&want),
				   buf_slice(&got));
		compare->n_chunks++;
	}
	return 0;
}

static int count_file(void *argument, const struct store_entry *entry, struct error *err)
{
	(void)entry;
	(void)err;
	++*(size_t *)argument;
	return 0;
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *ftw)
{
	(void)info;
	(void)kind;
	(void)ftw;
	return remove(path);
}

static void ignore_difference(void *argument, const char *key, const char *what)
{
	(void)what;
	*(char **)argument = text_dup(key, NULL);
}

static void test_render(void **state)
{
	const struct template_case *c = *state;
	CLEANUP(dataset_freep) struct dataset *dataset = NULL;
	CLEANUP(store_freep) struct store *rendered = NULL, *templates = NULL;
	CLEANUP(freep) char *differing = NULL;
	char folder[] = "/tmp/refmt-test-XXXXXX";
	struct error err = ERROR_INIT;
	struct compare compare = {.folder = c->folder};
	size_t n_kept = 0, n_omitted;

	assert_ok(dataset_find(TEST_DATASETS, c->id, &dataset, &err), &err);
	assert_non_null(mkdtemp(folder));
	assert_ok(template_write(dataset, folder, &err), &err);
	assert_ok(template_check(dataset, folder, ignore_difference, &differing, &err), &err);
	assert_ok(store_local_new(folder, &rendered, &err), &err);
	assert_ok(store_local_new(test_data("templates"), &templates, &err), &err);
	compare.rendered = rendered;
	compare.templates = templates;
	assert_ok(store_list(rendered, "", false, compare_file, &compare, &err), &err);
	{
		CLEANUP(freep) char *prefix = text_printf(&err, "%s/", c->folder);

		assert_ok(store_list(templates, prefix, false, count_file, &n_kept, &err), &err);
	}
	/* Nothing is rendered too much or too little: 2-D coordinates are omitted twice a group. */
	n_omitted = compare.n_documents + compare.n_chunks - n_kept;
	assert_true(n_omitted == 0 || n_omitted == 4 || n_omitted == 6);

	/* A tree that was changed by hand is noticed. */
	assert_ok(store_put(rendered, "spatial_ref/zarr.json", slice_text("{}"), &err), &err);
	assert_int_equal(template_check(dataset, folder, ignore_difference, &differing, &err),
			 TEMPLATE_DIFFERS);
	assert_string_equal(differing, "spatial_ref/zarr.json");
	nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static void print_difference(void *argument, const char *key, const char *what)
{
	(void)argument;
	print_error("%s %s\n", key, what);
}

/* The tree beside a definition is what people review: it must be that of the definition. */
static void test_kept_tree(void **state)
{
	const struct template_case *c = *state;
	CLEANUP(dataset_freep) struct dataset *dataset = NULL;
	CLEANUP(freep) char *folder = NULL;
	struct error err = ERROR_INIT;

	assert_ok(dataset_find(TEST_DATASETS, c->id, &dataset, &err), &err);
	folder = text_printf(&err, "%s/template", dataset->folder);
	assert_ok(template_check(dataset, folder, print_difference, NULL, &err), &err);
}

int main(void)
{
	int failed = RUN_CASES(test_kept_tree, cases);

	if (failed)
		return failed;
	if (!test_data("."))
		test_skip("REFMT_TEST_DATA is not set");
	return RUN_CASES(test_render, cases);
}
