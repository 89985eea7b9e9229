/* SPDX-License-Identifier: Apache-2.0 */
/* The public library, as a program of somebody else's would use it. */
#include "refmt.h"

#include <ftw.h>
#include <math.h>
#include <pthread.h>
#include <unistd.h>

#include "base/text.h"
#include "harness/make-repo.h"
#include "store/store.h"
#include "test.h"

struct fixture {
	char folder[64];
	char *url, *sources, *prefix;
	struct refmt_allowance allow;
	struct refmt_options options;
	struct refmt_dataset *dataset;
};

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static void fixture_init(struct fixture *f)
{
	CLEANUP(store_freep) struct store *store = NULL;
	struct refmt_error failed = {0};
	struct error err = ERROR_INIT;

	*f = (struct fixture){0};
	snprintf(f->folder, sizeof(f->folder), "/tmp/refmt-dataset-XXXXXX");
	assert_non_null(mkdtemp(f->folder));
	f->url = text_printf(&err, "%s/repo", f->folder);
	f->sources = text_printf(&err, "%s", f->folder);
	f->prefix = text_printf(&err, "file://%s/", f->sources);
	assert_ok(store_open(f->url, NULL, &store, &err), &err);
	assert_ok(make_repo(store, f->sources, &err), &err);
	f->allow.prefix = f->prefix;
	f->options.allow = &f->allow;
	f->options.n_allow = 1;
	assert_ok(refmt_open(f->url, &f->options, &f->dataset, &failed), &failed);
}

static void fixture_done(struct fixture *f)
{
	refmt_close(f->dataset);
	nftw(f->folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	free(f->url);
	free(f->sources);
	free(f->prefix);
}

static void test_nodes_are_described(void **state)
{
	struct refmt_error err = {0};
	struct refmt_node node;
	struct fixture f;
	char *text;
	size_t size;

	(void)state;
	fixture_init(&f);
	assert_int_equal(refmt_n_nodes(f.dataset), 8);
	assert_int_equal(strlen(refmt_snapshot(f.dataset)), 20);
	assert_ok(refmt_find(f.dataset, "/grib/t", &node, &err), &err);
	assert_true(node.is_array);
	assert_int_equal(node.n_dims, 4);
	assert_int_equal(node.shape[0], 2);
	assert_int_equal(node.shape[3], MAKE_NI);
	assert_string_equal(node.data_type, "float64");
	assert_int_equal(node.item_size, 8);
	assert_int_equal(refmt_find(f.dataset, "/nothing", &node, &err), REFMT_ABSENT);
	assert_ok(refmt_node(f.dataset, 0, &node, &err), &err);
	assert_string_equal(node.path, "/");
	assert_false(node.is_array);
	assert_int_equal(refmt_node(f.dataset, 8, &node, &err), REFMT_ERR_ARGUMENT);
	assert_ok(refmt_document(f.dataset, "/scalar", &text, &size, &err), &err);
	assert_int_equal(strlen(text), size);
	free(text);
	fixture_done(&f);
}

/* Elements by the formula of the harness; chunk 2 is absent and reads as the fill value. */
static void test_a_block_crosses_chunks_and_absent_ones(void **state)
{
	const uint64_t start[] = {2, 1}, count[] = {7, 3};
	struct refmt_error err = {0};
	struct fixture f;
	int32_t block[7][3];

	(void)state;
	fixture_init(&f);
	assert_ok(refmt_read(f.dataset, "/native", start, count, block, sizeof(block), &err), &err);
	for (int i = 0; i < 7; i++)
		for (int j = 0; j < 3; j++)
			assert_int_equal(block[i][j], i + 2 < 8 ? (i + 2) * 100 + j + 1 : -7);
	fixture_done(&f);
}

static void test_scalars_and_empty_blocks(void **state)
{
	const uint64_t start[] = {3, 0}, none[] = {0, 4};
	struct refmt_error err = {0};
	struct fixture f;
	double value = 0;

	(void)state;
	fixture_init(&f);
	assert_ok(refmt_read(f.dataset, "/scalar", NULL, NULL, &value, sizeof(value), &err), &err);
	assert_true(value == 42);
	assert_ok(refmt_read(f.dataset, "/native", start, none, NULL, 0, &err), &err);
	fixture_done(&f);
}

static void test_blocks_outside_are_refused(void **state)
{
	const uint64_t start[] = {9, 0}, count[] = {2, 1}, huge[] = {UINT64_MAX, 2};
	struct refmt_error err = {0};
	struct fixture f;
	int32_t block[2];

	(void)state;
	fixture_init(&f);
	assert_int_equal(refmt_read(f.dataset, "/native", start, count, block, sizeof(block), &err),
			 REFMT_ERR_ARGUMENT);
	assert_int_equal(refmt_read(f.dataset, "/native", start, count, block, 4, &err),
			 REFMT_ERR_ARGUMENT);
	assert_true(refmt_read(f.dataset, "/native", start, huge, block, sizeof(block), &err) < 0);
	assert_true(refmt_read(f.dataset, "/grib", start, count, block, sizeof(block), &err) < 0);
	fixture_done(&f);
}

/* One dead source in a block fails the block: no fill value stands in for it. */
static void test_a_dead_source_fails_the_block(void **state)
{
	const uint64_t start[] = {0, 0, 0, 0};
	const uint64_t alive[] = {1, 3, MAKE_NJ, MAKE_NI}, dead[] = {2, 2, MAKE_NJ, MAKE_NI};
	static double block[4][MAKE_NJ][MAKE_NI];
	struct refmt_error err = {0};
	struct fixture f;

	(void)state;
	fixture_init(&f);
	assert_ok(refmt_read(f.dataset, "/grib/t", start, alive, block, 3 * sizeof(block[0]), &err),
		  &err);
	assert_true(fabs(block[1][2][3] - make_repo_value(1, 2, 3)) < 0.06);
	assert_true(isnan(block[2][0][0])); /* (0, 2) has no reference */
	assert_int_equal(
		refmt_read(f.dataset, "/grib/t", start, dead, block, 4 * sizeof(block[0]), &err),
		REFMT_ERR_ABSENT);
	assert_non_null(strstr(err.text, "gone.grib2"));
	fixture_done(&f);
}

static void test_locating_and_fetching(void **state)
{
	const uint32_t here[] = {0, 1, 0, 0}, nowhere[] = {0, 2, 0, 0}, outside[] = {7, 0, 0, 0};
	struct refmt_error err = {0};
	struct refmt_chunk chunk;
	struct fixture f;
	uint8_t *bytes;
	size_t size;

	(void)state;
	fixture_init(&f);
	assert_ok(refmt_locate(f.dataset, "/grib/t", here, &chunk, &err), &err);
	assert_int_equal(chunk.kind, REFMT_CHUNK_VIRTUAL);
	assert_non_null(strstr(chunk.location, "fields.grib2"));
	assert_ok(refmt_fetch(f.dataset, "/grib/t", here, &bytes, &size, &err), &err);
	assert_int_equal(size, chunk.length);
	assert_memory_equal(bytes, "GRIB", 4);
	free(bytes);
	refmt_chunk_done(&chunk);
	assert_int_equal(refmt_locate(f.dataset, "/grib/t", nowhere, &chunk, &err), REFMT_ABSENT);
	assert_int_equal(refmt_locate(f.dataset, "/grib/t", outside, &chunk, &err), REFMT_ABSENT);
	assert_ok(refmt_read_chunk(f.dataset, "/grib/t", here, &bytes, &size, &err), &err);
	assert_int_equal(size, MAKE_NJ * MAKE_NI * sizeof(double));
	free(bytes);
	fixture_done(&f);
}

/* file: is followed only where it was allowed (decision 7). */
static void test_permission_is_asked_for(void **state)
{
	const uint32_t index[] = {0, 0, 0, 0};
	struct refmt_options plain = {0}, none;
	struct refmt_dataset *dataset;
	struct refmt_error err = {0};
	struct fixture f;
	uint8_t *bytes;
	size_t size;

	(void)state;
	fixture_init(&f);
	assert_ok(refmt_open(f.url, &plain, &dataset, &err), &err);
	assert_int_equal(refmt_fetch(dataset, "/grib/t", index, &bytes, &size, &err),
			 REFMT_ERR_DENIED);
	assert_non_null(strstr(err.text, "--allow"));
	refmt_close(dataset);
	none = f.options;
	none.no_virtual = true;
	assert_ok(refmt_open(f.url, &none, &dataset, &err), &err);
	assert_int_equal(refmt_fetch(dataset, "/grib/t", index, &bytes, &size, &err),
			 REFMT_ERR_DENIED);
	refmt_close(dataset);
	fixture_done(&f);
}

static void test_what_is_no_repository_is_named(void **state)
{
	struct refmt_options branch = {.branch = "other"};
	struct refmt_dataset *dataset;
	struct refmt_error err = {0};
	struct fixture f;

	(void)state;
	fixture_init(&f);
	assert_int_equal(refmt_open(f.folder, NULL, &dataset, &err), REFMT_ERR_ABSENT);
	assert_non_null(strstr(err.text, f.folder));
	assert_int_equal(refmt_open(f.url, &branch, &dataset, &err), REFMT_ERR_ABSENT);
	assert_non_null(strstr(err.text, "other"));
	fixture_done(&f);
}

struct job {
	struct refmt_dataset *dataset;
	int result;
	struct refmt_error err;
};

static void *read_all(void *argument)
{
	const uint64_t start[] = {0, 0, 0}, count[] = {2, MAKE_NJ, MAKE_NI};
	struct job *job = argument;
	float block[2][MAKE_NJ][MAKE_NI];

	for (int i = 0; i < 50 && job->result == 0; i++) {
		job->result = refmt_read(job->dataset, "/grib/c", start, count, block,
					 sizeof(block), &job->err);
		if (job->result == 0 &&
		    fabsf(block[1][3][5] - (make_repo_value(1, 3, 5) - 273.15f)) > 0.06f)
			job->result = 99;
	}
	return NULL;
}

static void test_a_dataset_may_be_shared(void **state)
{
	struct job jobs[8] = {0};
	pthread_t threads[8];
	struct fixture f;

	(void)state;
	fixture_init(&f);
	for (size_t i = 0; i < ARRAY_LEN(jobs); i++) {
		jobs[i].dataset = f.dataset;
		pthread_create(&threads[i], NULL, read_all, &jobs[i]);
	}
	for (size_t i = 0; i < ARRAY_LEN(jobs); i++) {
		pthread_join(threads[i], NULL);
		assert_ok(jobs[i].result, &jobs[i].err);
	}
	fixture_done(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nodes_are_described),
		cmocka_unit_test(test_a_block_crosses_chunks_and_absent_ones),
		cmocka_unit_test(test_scalars_and_empty_blocks),
		cmocka_unit_test(test_blocks_outside_are_refused),
		cmocka_unit_test(test_a_dead_source_fails_the_block),
		cmocka_unit_test(test_locating_and_fetching),
		cmocka_unit_test(test_permission_is_asked_for),
		cmocka_unit_test(test_what_is_no_repository_is_named),
		cmocka_unit_test(test_a_dataset_may_be_shared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
