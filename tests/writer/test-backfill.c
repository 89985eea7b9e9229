/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/backfill.h"

#include <signal.h>
#include <sys/wait.h>

#include "provider.h"
#include "repo/refs.h"
#include "writer/why.h"

/* Of one position: a at 4 leads, b at 3, t at 4 leads and 2 levels. */
#define POSITION_REFS (4 + 3 + 8)
#define POSITION_FILES 8

static int backfill(struct provider *p, const char *end, bool overwrite,
		    struct write_counts *counts, struct error *err)
{
	struct backfill_options options = {.dataset = p->dataset,
					   .site = &p->site,
					   .selection = &p->selection,
					   .has_end = end != NULL,
					   .jobs_per_pod = 2,
					   .overwrite_chunks = overwrite};

	if (end)
		options.end = at(end);
	return backfill_local(&options, counts, err);
}

/* Three positions by workers of two: every file of each, one commit a worker, one history on main.
 */
static void test_whole(void **state)
{
	const struct small small = {0};
	struct error err = ERROR_INIT;
	struct write_counts counts;
	char before[ID12_TEXT_LEN + 1], after[ID12_TEXT_LEN + 1];
	struct provider p;

	(void)state;
	provider_init(&p, &small);
	publish_all(&p, "20250101", 0);
	publish_all(&p, "20250101", 6);
	publish_all(&p, "20250101", 12);
	assert_ok(backfill(&p, "2025-01-01T18:00", false, &counts, &err), &err);
	assert_int_equal(counts.n_files, 3 * POSITION_FILES);
	assert_int_equal(counts.n_ingested, 3 * POSITION_FILES);
	assert_int_equal(counts.n_refs, 3 * POSITION_REFS);
	assert_int_equal(counts.n_commits, 2);
	assert_int_equal(count_refs_of(p.store), 3 * POSITION_REFS);

	/* Nothing is left to do: no snapshot. */
	tip_of(p.store, before);
	assert_ok(backfill(&p, NULL, false, &counts, &err), &err);
	assert_int_equal(counts.n_present, 3 * POSITION_FILES);
	assert_int_equal(counts.n_ingested, 0);
	assert_ok(backfill(&p, NULL, true, &counts, &err), &err);
	assert_int_equal(counts.n_commits, 0);
	tip_of(p.store, after);
	assert_string_equal(before, after);
	provider_done(&p);
}

/* A file that comes later, and one more position. */
static void test_goes_on(void **state)
{
	const struct small small = {0};
	struct error err = ERROR_INIT;
	struct write_counts counts;
	struct provider p;

	(void)state;
	provider_init(&p, &small);
	publish(&p, "20250101", 0, 0, true);
	publish_data(&p, "20250101", 0, 1, true, 2);
	assert_ok(backfill(&p, "2025-01-01T06:00", false, &counts, &err), &err);
	assert_int_equal(counts.n_ingested, 1);
	assert_int_equal(counts.n_pending, POSITION_FILES - 1);
	publish_all(&p, "20250101", 0);
	publish_all(&p, "20250101", 6);
	assert_ok(backfill(&p, "2025-01-01T12:00", false, &counts, &err), &err);
	assert_int_equal(counts.n_present, 1);
	assert_int_equal(counts.n_ingested, 2 * POSITION_FILES - 1);
	assert_int_equal(count_refs_of(p.store), 2 * POSITION_REFS);
	provider_done(&p);
}

/* References at wrong places are rewritten; a cell that the right file has no message for loses
 * its. */
static void test_overwrite(void **state)
{
	const struct small small = {0};
	struct error err = ERROR_INIT;
	struct write_counts counts;
	CLEANUP(buf_done) struct buf text = BUF_INIT(1 << 20);
	struct provider p;

	(void)state;
	provider_init(&p, &small);
	publish_all(&p, "20250101", 0);
	assert_ok(backfill(&p, "2025-01-01T06:00", false, &counts, &err), &err);
	publish_data(&p, "20250101", 0, 1, true, 3);
	publish_index(&p, "20250101", 0, 1, true,
		      "1:0:d=2025010100:ZZZ:surface:1 hour fcst:\n"
		      "2:32:d=2025010100:AAAold:surface:1 hour fcst:\n"
		      "3:64:d=2025010100:ZZZ:surface:1 hour fcst:\n");
	assert_ok(backfill(&p, NULL, false, &counts, &err), &err);
	assert_int_equal(counts.n_commits, 0);
	assert_ok(backfill(&p, NULL, true, &counts, &err), &err);
	assert_int_equal(counts.n_commits, 1);
	assert_int_equal(count_refs_of(p.store), POSITION_REFS - 1);
	describe(p.store, &text);
	assert_non_null(
		strstr(buf_text(&text, &err), "0 1 0 0 s3://small/20250101/t00z.sfcf01 32 32"));
	provider_done(&p);
}

/* Each kind of bad file is skipped alone: the others are committed. */
static struct bad_case {
	const char *name;
	const char *index; /* of the sfc file of lead 1 */
	int n_messages;	   /* in the data file */
	const char *reason;
} bad_cases[] = {
	{"another run", "1:0:d=2025010106:AAA:surface:1 hour fcst:\n", 2, "other_run"},
	{"beyond the file",
	 "1:0:d=2025010100:AAA:surface:1 hour fcst:\n2:64:d=2025010100:BBB:surface:0-1 hour acc "
	 "fcst:\n",
	 2, "stale_index"},
	{"packed again in place",
	 "1:0:d=2025010100:AAA:surface:1 hour fcst:\n2:20:d=2025010100:BBB:surface:0-1 hour acc "
	 "fcst:\n",
	 2, "stale_index"},
	{"message longer than its range",
	 "1:0:d=2025010100:AAA:surface:1 hour fcst:\n2:32:d=2025010100:BBB:surface:0-1 hour acc "
	 "fcst:\n"
	 "3:50:d=2025010100:CCC:surface:1 hour fcst:\n",
	 2, "stale_index"},
	{"offsets fall",
	 "1:32:d=2025010100:AAA:surface:1 hour fcst:\n2:0:d=2025010100:BBB:surface:0-1 hour acc "
	 "fcst:\n",
	 2, "stale_index"},
	{"last line cut", "1:0:d=2025010100:AAA:surface:1 hour fcst:\n2:32:d=2025010100:BB", 2,
	 "stale_index"},
	{"no line", "", 2, "stale_index"},
	{"object of size 0", NULL, 0, "stale_index"},
	{"probe among the lost", "1:0:d=2025010100:BBB:surface:0-1 hour acc fcst:\n", 1,
	 "probe_missing"},
};

static void test_bad_file(void **state)
{
	const struct bad_case *c = *state;
	const struct small small = {0};
	struct error err = ERROR_INIT;
	struct write_counts counts;
	CLEANUP(store_freep) struct store *store = NULL;
	CLEANUP(repo_freep) struct repo *repo = NULL;
	CLEANUP(checkout_freep) struct checkout *checkout = NULL;
	CLEANUP(why_done) struct why why = {0};
	struct provider p;

	provider_init(&p, &small);
	publish_all(&p, "20250101", 0);
	publish_data(&p, "20250101", 0, 1, true, c->n_messages);
	publish_index(&p, "20250101", 0, 1, true, c->index);
	assert_ok(backfill(&p, "2025-01-01T06:00", false, &counts, &err), &err);
	assert_int_equal(counts.n_skipped, 1);
	assert_int_equal(counts.n_ingested, POSITION_FILES - 1);
	assert_int_equal(count_refs_of(p.store), POSITION_REFS - 2);
	open_main(p.store, &store, &repo, &checkout);
	assert_ok(why_find(p.dataset, repo, "a/c/0/1/0/0", &why, &err), &err);
	assert_string_equal(why.reason, c->reason);
	assert_string_equal(why.url, "s3://small/20250101/t00z.sfcf01");

	/* Mended at the source, it comes with the next run. */
	publish(&p, "20250101", 0, 1, true);
	assert_ok(backfill(&p, NULL, false, &counts, &err), &err);
	assert_int_equal(counts.n_ingested, 1);
	assert_int_equal(count_refs_of(p.store), POSITION_REFS);
	provider_done(&p);
}

/* A record that is not in the file: tolerated and told, or a reason to wait for a better file. */
static void test_completeness(void **state)
{
	static const char text[] = "1:0:d=2025010100:AAA:surface:1 hour fcst:\n";
	const struct small tolerant = {0}, required = {.completeness = "required"};
	const struct small known = {
		.completeness = "required",
		.extra = ", \"known_missing\": [{\"url\": \"s3://small/20250101/t00z.sfcf01\", "
			 "\"variables\": [\"b\"]}]"};
	const struct small *smalls[] = {&tolerant, &required, &known};
	const uint64_t skipped[] = {0, 1, 0};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		CLEANUP(store_freep) struct store *store = NULL;
		CLEANUP(repo_freep) struct repo *repo = NULL;
		CLEANUP(checkout_freep) struct checkout *checkout = NULL;
		CLEANUP(why_done) struct why why = {0};
		struct error err = ERROR_INIT;
		struct write_counts counts;
		struct provider p;

		provider_init(&p, smalls[i]);
		publish_all(&p, "20250101", 0);
		publish_data(&p, "20250101", 0, 1, true, 1);
		publish_index(&p, "20250101", 0, 1, true, text);
		assert_ok(backfill(&p, "2025-01-01T06:00", false, &counts, &err), &err);
		assert_int_equal(counts.n_skipped, skipped[i]);
		open_main(p.store, &store, &repo, &checkout);
		assert_ok(why_find(p.dataset, repo, "b/c/0/1/0/0", &why, &err), &err);
		assert_int_equal(why.known, i < 2);
		assert_string_equal(why.reason, i == 0 ? "not_in_file" : i == 1 ? "short" : "");
		provider_done(&p);
	}
}

/* Fields that are constant and no data at lead 0 get no reference there, if the definition says so.
 */
static void test_meaningless(void **state)
{
	const struct small small = {.a_extra = ", \"no_reference_at_lead_0\": true"};
	CLEANUP(store_freep) struct store *store = NULL;
	CLEANUP(repo_freep) struct repo *repo = NULL;
	CLEANUP(checkout_freep) struct checkout *checkout = NULL;
	CLEANUP(why_done) struct why why = {0};
	struct error err = ERROR_INIT;
	struct write_counts counts;
	struct provider p;

	(void)state;
	provider_init(&p, &small);
	publish_all(&p, "20250101", 0);
	assert_ok(backfill(&p, "2025-01-01T06:00", false, &counts, &err), &err);
	/* The file of lead 0 holds nothing else, and is not even asked for. */
	assert_int_equal(counts.n_files, POSITION_FILES - 1);
	assert_int_equal(count_refs_of(p.store), POSITION_REFS - 1);
	open_main(p.store, &store, &repo, &checkout);
	assert_ok(why_find(p.dataset, repo, "a/c/0/0/0/0", &why, &err), &err);
	assert_string_equal(why.reason, "not_meaningful");
	provider_done(&p);
}

/* What is asked for wrongly is refused before anything is written. */
static void test_refused(void **state)
{
	const struct small small = {0}, other = {.x = 5};
	struct error err = ERROR_INIT;
	struct write_counts counts;
	char before[ID12_TEXT_LEN + 1], after[ID12_TEXT_LEN + 1];
	struct backfill_options options;
	struct provider p;

	(void)state;
	provider_init(&p, &small);
	publish_all(&p, "20250101", 0);
	assert_int_equal(backfill(&p, "2025-01-01T00:00", false, &counts, &err), ERR_ARGUMENT);
	assert_string_equal(err.text, "the end is not after the first position of 'small'");
	assert_ok(backfill(&p, "2025-01-01T12:00", false, &counts, &err), &err);
	tip_of(p.store, before);

	assert_int_equal(backfill(&p, "2025-01-01T06:00", false, &counts, &err), ERR_ARGUMENT);
	assert_string_equal(err.text,
			    "the store has 2 positions, the end asks for 1: a store never "
			    "becomes shorter");
	options =
		(struct backfill_options){.dataset = p.dataset,
					  .site = &p.site,
					  .selection = &p.selection,
					  .filters = {.has_start = true, .start = at("2026-01-01")},
					  .jobs_per_pod = 1};
	assert_int_equal(backfill_local(&options, &counts, &err), ERR_ARGUMENT);
	assert_string_equal(err.text, "the filters select nothing of 'small'");
	{
		const struct small same = {.url = "s3://small/{type}f{lead:02}"};

		write_definition(&p, &same);
		assert_int_equal(backfill(&p, "2025-01-03T00:00", false, &counts, &err),
				 ERR_FORMAT);
		assert_string_equal(err.text, "two source files have the URL 's3://small/prsf00'");
		tip_of(p.store, after);
		assert_string_equal(before, after);
	}
	write_definition(&p, &other);
	assert_int_equal(backfill(&p, NULL, false, &counts, &err), ERR_CONFLICT);
	assert_string_equal(err.text,
			    "the store does not fit the definition: '/a': chunk_grid; '/b': "
			    "chunk_grid; '/level/t': chunk_grid");
	tip_of(p.store, after);
	assert_string_equal(before, after);
	provider_done(&p);
}

/* The replica is as the primary, also when it was ahead. */
static void test_replica(void **state)
{
	const struct small small = {0};
	CLEANUP(buf_done) struct buf primary = BUF_INIT(1 << 20);
	CLEANUP(buf_done) struct buf replica = BUF_INIT(1 << 20);
	struct error err = ERROR_INIT;
	struct write_counts counts;
	struct provider p;

	(void)state;
	provider_init(&p, &small);
	publish_all(&p, "20250101", 0);
	/* A run that ended between the two: the replica alone has the position. */
	p.site.primary = p.replica;
	assert_ok(backfill(&p, "2025-01-01T06:00", false, &counts, &err), &err);
	p.site.primary = p.store;
	p.replicas[0] = p.replica;
	p.site.replicas = p.replicas;
	p.site.n_replicas = 1;
	publish_all(&p, "20250101", 6);
	assert_ok(backfill(&p, "2025-01-01T12:00", false, &counts, &err), &err);
	describe(p.store, &primary);
	describe(p.replica, &replica);
	assert_true(slice_equal(buf_slice(&primary), buf_slice(&replica)));
	provider_done(&p);
}

/* One object a chunk, no index: as sources of raw blocks or of other Zarr stores have it. */
static const char objects_definition[] =
	"{\"format\": 1, \"id\": \"small\", \"version\": \"1\",\n"
	"\"attributes\": {\"dataset_id\": \"small\", \"dataset_version\": \"1\"},\n"
	"\"append\": {\"dim\": \"time\", \"start\": \"2025-01-01\", \"step\": \"6h\"},\n"
	"\"dims\": {\"time\": {\"chunk\": 1}, \"x\": {\"size\": 4}},\n"
	"\"groups\": [{\"path\": \"\", \"dims\": [\"time\", \"x\"]}],\n"
	"\"coordinates\": [{\"name\": \"time\", \"dims\": [\"time\"], \"data_type\": \"int64\",\n"
	"  \"chunks\": [100], \"fill_value\": 0, \"values\": {\"kind\": \"append\"},\n"
	"  \"attributes\": {\"units\": \"seconds since 1970-01-01\"}}],\n"
	"\"variables\": [{\"path\": \"a\", \"file\": \"a\", \"data_type\": \"float64\",\n"
	"  \"fill_value\": 0, \"attributes\": {\"step_type\": \"instant\"},\n"
	"  \"codecs\": [{\"name\": \"bytes\", \"configuration\": {\"endian\": \"little\"}}]},\n"
	"  {\"path\": \"b\", \"file\": \"%s\", \"data_type\": \"float64\", \"fill_value\": 0,\n"
	"  \"attributes\": {\"step_type\": \"instant\"}}],\n"
	"\"files\": {\"kind\": \"%s\", \"container\": \"s3://small/\",\n"
	"  \"url\": \"s3://small/{type}/{init:%%Y%%m%%d%%H}\",\n"
	"  \"types\": [{\"name\": \"a\"}, {\"name\": \"b\"}]},\n"
	"\"withhold\": \"whole_position\",\n"
	"\"containers\": [{\"prefix\": \"s3://small/\", \"store\": {\"s3\": {\"region\":\n"
	"  \"us-east-1\", \"anonymous\": true, \"allow_http\": false}}}]}\n";

static int define_objects(struct provider *p, const char *type_of_b, const char *kind,
			  struct error *err)
{
	CLEANUP(freep) char *path = text_printf(err, "%s/small/dataset.json", p->datasets);
	CLEANUP(freep) char *text = text_printf(err, objects_definition, type_of_b, kind);

	write_text(path, text, strlen(text));
	p->dataset = dataset_free(p->dataset);
	selection_done(&p->selection);
	return dataset_find(p->datasets, "small", &p->dataset, err);
}

static void put_object(struct provider *p, const char *name, size_t size)
{
	static const uint8_t zeros[64];
	CLEANUP(freep) char *folder = text_printf(NULL, "%s/%.1s", p->source, name);
	CLEANUP(freep) char *path = text_printf(NULL, "%s/%s", p->source, name);

	mkdir(folder, 0777);
	write_text(path, zeros, size);
}

static void test_whole_objects(void **state)
{
	static const char *const kinds[] = {"whole_object", "zarr_chunks"};
	const struct small small = {0};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		CLEANUP(buf_done) struct buf text = BUF_INIT(1 << 20);
		struct error err = ERROR_INIT;
		struct write_counts counts;
		struct provider p;

		provider_init(&p, &small);
		assert_int_equal(define_objects(&p, "a", kinds[i], &err), ERR_FORMAT);
		assert_non_null(strstr(err.text, "/variables/1: is in the same object as 'a'"));
		assert_ok(define_objects(&p, "b", kinds[i], &err), &err);
		assert_ok(selection_init(p.dataset, NULL, 0, &p.selection, &err), &err);
		put_object(&p, "a/2025010100", 32);
		put_object(&p, "b/2025010100", 17);
		put_object(&p, "a/2025010106", 32);
		put_object(&p, "a/2025010112", 32);
		put_object(&p, "b/2025010112", 0);
		assert_ok(backfill(&p, "2025-01-01T18:00", false, &counts, &err), &err);
		/* The second position is not whole, an object of the third is empty. */
		assert_int_equal(counts.n_ingested, 3);
		assert_int_equal(counts.n_pending, 2);
		assert_int_equal(counts.n_skipped, 1);
		describe(p.store, &text);
		assert_non_null(
			strstr(buf_text(&text, &err), "0 0 s3://small/b/2025010100 0 17\n"));
		provider_done(&p);
	}
}

/* Without an index the messages' own headers say what they are: two messages of the HRRR of
 * 2023-07-22 06 UTC, lead 1 h, TMP and UGRD (data/README.md, "grib"). */
static void test_header_scan(void **state)
{
	const struct small small = {0};
	CLEANUP(buf_done) struct buf data = BUF_INIT(64U << 20);
	CLEANUP(buf_done) struct buf text = BUF_INIT(1 << 22);
	CLEANUP(freep) char *path = NULL, *folder = NULL, *definition = NULL;
	struct error err = ERROR_INIT;
	struct write_counts counts;
	struct backfill_options options;
	struct provider p;

	(void)state;
	if (!test_data("."))
		skip();
	provider_init(&p, &small);
	definition = slice_dup(p.dataset->text, &err);
	definition = replaced(definition, "\"noaa_idx\"", "\"header_scan\"");
	definition = replaced(definition, "\"index_url\": \"{url}.idx\",", "");
	definition = replaced(definition, "2025-01-01", "2023-07-22");
	definition = replaced(definition, "[\"AAA\", \"AAAold\"]", "\"TMP\"");
	definition = replaced(definition, "\"BBB\"", "\"UGRD\"");
	definition = replaced(definition, "\"level\": \"surface\"}",
			      "\"level\": \"10 m above ground\", \"time\": \"1 hour fcst\"}");
	path = text_printf(&err, "%s/small/dataset.json", p.datasets);
	write_text(path, definition, strlen(definition));
	p.dataset = dataset_free(p.dataset);
	assert_ok(dataset_find(p.datasets, "small", &p.dataset, &err), &err);
	folder = text_printf(&err, "%s/20230722", p.source);
	mkdir(folder, 0777);
	append_file(test_data("grib/hrrr.t06z.wrfsfcf01-TMP.grib2"), &data);
	append_file(test_data("grib/hrrr.t06z.wrfsfcf01-UGRD.grib2"), &data);
	for (int cut = 0; cut < 2; cut++) {
		CLEANUP(freep) char *file = text_printf(&err, "%s/t06z.sfcf0%d", folder, cut + 1);

		/* The second file ends within its second message. */
		write_text(file, data.data, data.size - (cut ? 1000 : 0));
	}
	options = (struct backfill_options){.dataset = p.dataset,
					    .site = &p.site,
					    .selection = &p.selection,
					    .has_end = true,
					    .end = at("2023-07-22T12:00"),
					    .jobs_per_pod = 2};
	assert_ok(backfill_local(&options, &counts, &err), &err);
	assert_int_equal(counts.n_ingested, 1);
	assert_int_equal(counts.n_skipped, 1);
	describe(p.store, &text);
	assert_non_null(strstr(buf_text(&text, &err), "1 1 0 0 s3://small/20230722/t06z.sfcf01 0 "
						      "1272861\n"));
	assert_non_null(strstr(buf_text(&text, &err),
			       "1 1 0 0 s3://small/20230722/t06z.sfcf01 1272861 "
			       "2381615\n"));
	provider_done(&p);
}

static void run_and_die(struct provider *p, useconds_t after)
{
	struct write_counts counts;
	struct error err = ERROR_INIT;
	pid_t child = fork();

	if (child == 0) {
		backfill(p, "2025-01-02T00:00", false, &counts, &err);
		_exit(0);
	}
	usleep(after);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/* Killed at any moment and run again, the archive is as after one run. */
static void test_killed(void **state)
{
	const struct small small = {0};
	CLEANUP(buf_done) struct buf want = BUF_INIT(1 << 20);
	struct error err = ERROR_INIT;
	struct write_counts counts;
	struct provider p;

	(void)state;
	provider_init(&p, &small);
	for (int hour = 0; hour < 24; hour += 6)
		publish_all(&p, "20250101", hour);
	assert_ok(backfill(&p, "2025-01-02T00:00", false, &counts, &err), &err);
	describe(p.store, &want);
	for (int i = 0; i < 12; i++) {
		CLEANUP(buf_done) struct buf got = BUF_INIT(1 << 20);

		nftw(p.store, provider_remove, 16, FTW_DEPTH | FTW_PHYS);
		run_and_die(&p, (useconds_t)(i * 15000));
		run_and_die(&p, (useconds_t)((12 - i) * 9000));
		assert_ok(backfill(&p, "2025-01-02T00:00", false, &counts, &err), &err);
		describe(p.store, &got);
		assert_true(slice_equal(buf_slice(&want), buf_slice(&got)));
	}
	provider_done(&p);
}

static bool no_sleep(int64_t duration)
{
	(void)duration;
	return true;
}

static const char *shared_store;
static int branches_ended, to_end;

static void end_the_branch(const struct write_counts *counts)
{
	CLEANUP(store_freep) struct store *store = NULL;
	CLEANUP(repo_freep) struct repo *repo = NULL;
	struct error err = ERROR_INIT;

	(void)counts;
	if (branches_ended++ >= to_end)
		return;
	assert_ok(store_open(shared_store, NULL, &store, &err), &err);
	assert_ok(repo_open(store, NULL, &repo, &err), &err);
	assert_ok(repo_branch_delete(repo, "_job_local", &err), &err);
}

/* The end of another backfill takes the branch along, and with it what was committed last: what is
 * lost is done again, but not for ever. */
static void test_branch_gone(void **state)
{
	const struct write_hooks hooks = {.committed = end_the_branch};
	const struct small small = {0};
	struct error err = ERROR_INIT;
	struct write_counts counts;
	struct provider p;

	(void)state;
	provider_init(&p, &small);
	publish_all(&p, "20250101", 0);
	shared_store = p.store;
	struct backfill_options options = {.dataset = p.dataset,
					   .site = &p.site,
					   .selection = &p.selection,
					   .has_end = true,
					   .end = at("2025-01-01T06:00"),
					   .jobs_per_pod = 2,
					   .hooks = &hooks};
	branches_ended = 0;
	to_end = 1000;
	p.site.sleep = no_sleep;
	assert_int_equal(backfill_local(&options, &counts, &err), ERR_CONFLICT);
	assert_non_null(strstr(err.text, "branch '_job_local' is gone"));
	assert_int_equal(branches_ended, 10);
	branches_ended = 0;
	to_end = 2;
	assert_ok(backfill_local(&options, &counts, &err), &err);
	assert_int_equal(branches_ended, 3);
	assert_int_equal(count_refs_of(p.store), POSITION_REFS);
	provider_done(&p);
}

/* Two (or three) at once, which the node of a lost pod can bring about: each ends well, and the
 * archive is as after one. */
static void test_at_once(void **state)
{
	const struct small small = {0};
	CLEANUP(buf_done) struct buf want = BUF_INIT(1 << 20);
	struct error err = ERROR_INIT;
	struct write_counts counts;
	struct provider p;

	(void)state;
	provider_init(&p, &small);
	for (int hour = 0; hour < 24; hour += 6)
		publish_all(&p, "20250101", hour);
	assert_ok(backfill(&p, "2025-01-02T00:00", false, &counts, &err), &err);
	describe(p.store, &want);
	for (int i = 0; i < 6; i++) {
		CLEANUP(buf_done) struct buf got = BUF_INIT(1 << 20);
		pid_t children[3];

		nftw(p.store, provider_remove, 16, FTW_DEPTH | FTW_PHYS);
		for (int k = 0; k < 2 + i % 2; k++) {
			children[k] = fork();
			if (children[k] == 0) {
				usleep((useconds_t)(k * i * 10000));
				_exit(backfill(&p, "2025-01-02T00:00", false, &counts, &err) < 0);
			}
		}
		for (int k = 0; k < 2 + i % 2; k++) {
			int status;

			waitpid(children[k], &status, 0);
			assert_int_equal(status, 0);
		}
		describe(p.store, &got);
		assert_true(slice_equal(buf_slice(&want), buf_slice(&got)));
	}
	provider_done(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),	      cmocka_unit_test(test_goes_on),
		cmocka_unit_test(test_overwrite),     cmocka_unit_test(test_completeness),
		cmocka_unit_test(test_meaningless),   cmocka_unit_test(test_refused),
		cmocka_unit_test(test_whole_objects), cmocka_unit_test(test_header_scan),
		cmocka_unit_test(test_replica),	      cmocka_unit_test(test_killed),
		cmocka_unit_test(test_branch_gone),   cmocka_unit_test(test_at_once),
	};

	return RUN_CASES(test_bad_file, bad_cases) + cmocka_run_group_tests(tests, NULL, NULL);
}
