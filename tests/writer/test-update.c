/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/update.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "provider.h"

#define POSITION_REFS 15
#define POSITION_FILES 8

/* The fire of 12:30 looks at 18 h before it: the positions 00, 06 and 12 of January 2nd. */
#define NOW "2025-01-02T12:31"
#define WINDOW_POSITIONS 3

static char failures[4096];

static void note_failure(void *argument, const char *check, const char *reason)
{
	size_t used = strlen(failures);

	(void)argument;
	snprintf(failures + used, sizeof(failures) - used, "%s: %s\n", check, reason);
}

/* Checks may run for @grace, which polling may not. */
static int update_and_check(struct provider *p, const char *now, int64_t deadline, int64_t grace,
			    struct write_counts *counts, struct error *err)
{
	struct update_options options = {.dataset = p->dataset,
					 .site = &p->site,
					 .has_deadline = true,
					 .has_grace = true,
					 .deadline = deadline,
					 .grace = grace,
					 .failed = note_failure};

	failures[0] = '\0';
	p->site.clock_offset = at(now) - time_now();
	return update_run(&options, counts, err);
}

static int update(struct provider *p, const char *now, int64_t deadline,
		  struct write_counts *counts, struct error *err)
{
	return update_and_check(p, now, deadline, 0, counts, err);
}

/* A store with the first day, as a backfill leaves it. */
static void begin(struct provider *p, const struct small *small)
{
	struct error err = ERROR_INIT;
	struct write_counts counts;
	struct backfill_options options;

	provider_init(p, small);
	for (int hour = 0; hour < 24; hour += 6)
		publish_all(p, "20250101", hour);
	options = (struct backfill_options){.dataset = p->dataset,
					    .site = &p->site,
					    .selection = &p->selection,
					    .has_end = true,
					    .end = at("2025-01-02"),
					    .jobs_per_pod = 30};
	assert_ok(backfill_local(&options, &counts, &err), &err);
	assert_int_equal(counts.n_refs, 4 * POSITION_REFS);
}

static void test_window(void **state)
{
	const struct small small = {0};
	struct error err = ERROR_INIT;
	struct write_counts counts;
	char before[ID12_TEXT_LEN + 1], after[ID12_TEXT_LEN + 1];
	struct provider p;

	(void)state;
	begin(&p, &small);
	publish_all(&p, "20250102", 0);
	publish_all(&p, "20250102", 6);
	publish_all(&p, "20250102", 12);
	assert_ok(update(&p, NOW, 3600 * TIME_SECOND, &counts, &err), &err);
	assert_int_equal(counts.n_files, WINDOW_POSITIONS * POSITION_FILES);
	assert_int_equal(counts.n_ingested, WINDOW_POSITIONS * POSITION_FILES);
	assert_int_equal(counts.n_commits, 1);
	assert_int_equal(count_refs_of(p.store), 7 * POSITION_REFS);

	/* A fire with nothing new makes no snapshot. */
	tip_of(p.store, before);
	assert_ok(update(&p, NOW, 3600 * TIME_SECOND, &counts, &err), &err);
	assert_int_equal(counts.n_present, WINDOW_POSITIONS * POSITION_FILES);
	tip_of(p.store, after);
	assert_string_equal(before, after);
	provider_done(&p);
}

/* main grows to what is ingested and no further; past the deadline there is still one look. */
static void test_grows_lazily(void **state)
{
	const struct small small = {0};
	CLEANUP(buf_done) struct buf text = BUF_INIT(1 << 22);
	struct error err = ERROR_INIT;
	struct write_counts counts;
	struct provider p;

	(void)state;
	begin(&p, &small);
	publish(&p, "20250102", 0, 0, true);
	assert_ok(update(&p, NOW, 60 * TIME_SECOND, &counts, &err), &err);
	assert_int_equal(counts.n_ingested, 1);
	assert_int_equal(counts.n_pending, WINDOW_POSITIONS * POSITION_FILES - 1);
	describe(p.store, &text);
	assert_non_null(strstr(buf_text(&text, &err), "/init_time{\n  \"shape\": [\n    5\n  ]"));

	/* As a backfill to the same length would have left it. */
	{
		CLEANUP(buf_done) struct buf want = BUF_INIT(1 << 22);
		struct backfill_options options = {.dataset = p.dataset,
						   .site = &p.site,
						   .selection = &p.selection,
						   .has_end = true,
						   .end = at("2025-01-02T06:00"),
						   .jobs_per_pod = 30};
		const char *store = p.store;

		p.site.primary = p.replica;
		assert_ok(backfill_local(&options, &counts, &err), &err);
		describe(p.replica, &want);
		assert_true(slice_equal(buf_slice(&text), buf_slice(&want)));
		p.site.primary = store;
	}
	provider_done(&p);
}

struct late {
	struct provider *p;
	useconds_t after;
};

static void *publish_late(void *argument)
{
	const struct late *late = argument;

	usleep(late->after);
	/* The index before the data. */
	publish_index(late->p, "20250102", 12, 3, true, NULL);
	usleep(300000);
	publish_data(late->p, "20250102", 12, 3, true, 2);
	return NULL;
}

/* The loop looks again until all is there, and a file's data is visible the tick it is found. */
static void test_polls(void **state)
{
	const struct small small = {0};
	struct error err = ERROR_INIT;
	struct write_counts counts;
	struct provider p;
	struct late late = {&p, 300000};
	pthread_t thread;

	(void)state;
	begin(&p, &small);
	publish_all(&p, "20250102", 0);
	publish_all(&p, "20250102", 6);
	publish_all(&p, "20250102", 12);
	{
		CLEANUP(freep) char *data = source_path(&p, "20250102", 12, 3, true, "");
		CLEANUP(freep) char *index = source_path(&p, "20250102", 12, 3, true, ".idx");

		unlink(data);
		unlink(index);
	}
	pthread_create(&thread, NULL, publish_late, &late);
	assert_ok(update(&p, NOW, 3600 * TIME_SECOND, &counts, &err), &err);
	pthread_join(thread, NULL);
	assert_int_equal(counts.n_ingested, WINDOW_POSITIONS * POSITION_FILES);
	assert_int_equal(counts.n_commits, 2);
	provider_done(&p);
}

/* Attributes and fill values of the definition come with the next fire; an extent does not. */
static void test_refreshes(void **state)
{
	const struct small small = {0};
	const struct small changed = {.a_extra = ", \"codec\": {\"var\": \"other\"}"};
	CLEANUP(buf_done) struct buf text = BUF_INIT(1 << 22);
	char before[ID12_TEXT_LEN + 1], after[ID12_TEXT_LEN + 1];
	struct error err = ERROR_INIT;
	struct write_counts counts;
	struct provider p;

	(void)state;
	begin(&p, &small);
	write_definition(&p, &changed);
	assert_ok(update(&p, NOW, 60 * TIME_SECOND, &counts, &err), &err);
	describe(p.store, &text);
	assert_non_null(strstr(buf_text(&text, &err), "\"var\": \"other\""));
	assert_int_equal(count_refs_of(p.store), 4 * POSITION_REFS);
	tip_of(p.store, before);
	assert_ok(update(&p, NOW, 60 * TIME_SECOND, &counts, &err), &err);
	tip_of(p.store, after);
	assert_string_equal(before, after);
	provider_done(&p);
}

static void test_refuses(void **state)
{
	const struct small small = {0}, other = {.x = 4};
	char before[ID12_TEXT_LEN + 1], after[ID12_TEXT_LEN + 1];
	struct error err = ERROR_INIT;
	struct write_counts counts;
	struct provider p;

	(void)state;
	begin(&p, &small);
	publish_all(&p, "20250102", 0);
	tip_of(p.store, before);
	/* The clock is behind what the store holds. */
	assert_int_equal(update(&p, "2025-01-01T00:45", 60 * TIME_SECOND, &counts, &err),
			 ERR_CONFLICT);
	write_definition(&p, &other);
	assert_int_equal(update(&p, NOW, 60 * TIME_SECOND, &counts, &err), ERR_CONFLICT);
	assert_non_null(strstr(err.text, "'/a': chunk_grid"));
	tip_of(p.store, after);
	assert_string_equal(before, after);
	p.site.primary = p.replica;
	assert_int_equal(update(&p, NOW, 60 * TIME_SECOND, &counts, &err), ERR_ABSENT);
	provider_done(&p);
}

/* Each kind of drift, made by a change of one spot of the definition. */
static struct drift_case {
	const char *name;
	const char *from, *to;
	const char *error;
} drift_cases[] = {
	{"another dataset", "\"dataset_id\": \"small\"", NULL,
	 "primary: the store holds another dataset than 'other'"},
	{"another type", "{level} mb\"}, \"fill_value\": \"NaN\", \"data_type\": \"float64\"",
	 "{level} mb\"}, \"fill_value\": \"NaN\", \"data_type\": \"float32\"",
	 "primary: the store does not fit the definition: '/level/t': data_type"},
	{"the same chunks, spelled out", "\"x\": {\"size\": 3}",
	 "\"x\": {\"size\": 3, \"chunk\": 3}", NULL},
	{"larger chunks", "\"x\": {\"size\": 3}", "\"x\": {\"size\": 4}",
	 "primary: the store does not fit the definition: '/a': chunk_grid; '/b': chunk_grid; "
	 "'/level/t': chunk_grid"},
	{"other order of dimensions", "\"y\", \"x\"]},", "\"x\", \"y\"]},",
	 "primary: the store does not fit the definition: '/a': chunk_grid; '/a': "
	 "dimension_names; '/b': chunk_grid; '/b': dimension_names"},
	{"other labels", "[1000, 0.5e3]", "[1000, 250]",
	 "primary: the store does not fit the definition: '/level/level': values"},
	{"a variable less", "\"path\": \"b\"", "\"path\": \"c\"",
	 "primary: the store does not fit the definition: '/b': is in the store only"},
};

static void test_drift(void **state)
{
	const struct drift_case *c = *state;
	const struct small small = {0};
	struct error err = ERROR_INIT;
	CLEANUP(freep) char *path = NULL, *folder = NULL, *definition = NULL;
	CLEANUP(buf_done) struct buf before = BUF_INIT(1 << 22), after = BUF_INIT(1 << 22);
	struct write_counts counts;
	struct provider p;

	begin(&p, &small);
	publish_all(&p, "20250102", 0);
	describe(p.store, &before);
	definition = slice_dup(p.dataset->text, &err);
	if (c->to) {
		definition = replaced(definition, c->from, c->to);
	} else {
		definition = replaced(definition, c->from, "\"dataset_id\": \"other\"");
		definition = replaced(definition, "\"id\": \"small\"", "\"id\": \"other\"");
	}
	folder = text_printf(&err, "%s/%s", p.datasets, c->to ? "small" : "other");
	path = text_printf(&err, "%s/dataset.json", folder);
	mkdir(folder, 0777);
	write_text(path, definition, strlen(definition));
	p.dataset = dataset_free(p.dataset);
	assert_ok(dataset_find(p.datasets, c->to ? "small" : "other", &p.dataset, &err), &err);
	if (c->error) {
		assert_int_equal(update(&p, NOW, 60 * TIME_SECOND, &counts, &err), ERR_CONFLICT);
		if (strncmp(err.text, c->error, strlen(c->error)) != 0)
			assert_string_equal(err.text, c->error);
		describe(p.store, &after);
		assert_true(slice_equal(buf_slice(&before), buf_slice(&after)));
	} else {
		assert_ok(update(&p, NOW, 60 * TIME_SECOND, &counts, &err), &err);
	}
	provider_done(&p);
}

static bool stop_now(void)
{
	return true;
}

/* Asked to stop, it finishes the commit in hand. */
static void test_stops(void **state)
{
	const struct small small = {0};
	struct error err = ERROR_INIT;
	struct write_counts counts;
	struct provider p;

	(void)state;
	begin(&p, &small);
	publish_all(&p, "20250102", 0);
	p.site.interrupted = stop_now;
	assert_int_equal(update(&p, NOW, 3600 * TIME_SECOND, &counts, &err), ERR_INTERRUPTED);
	assert_int_equal(counts.n_ingested, POSITION_FILES);
	assert_int_equal(count_refs_of(p.store), 5 * POSITION_REFS);
	provider_done(&p);
}

/* Currency and completeness, as the definition asks for them. */
static void test_checks(void **state)
{
	const struct small small = {
		.extra =
			", \"validators\": [{\"check\": \"current_data\", \"max_delay_s\": 1800},\n"
			"{\"check\": \"manifest_completeness\", \"min_present_fraction\": [0.5, "
			"1]}]"};
	struct error err = ERROR_INIT;
	struct write_counts counts;
	struct provider p;

	(void)state;
	begin(&p, &small);
	publish_all(&p, "20250102", 0);
	publish(&p, "20250102", 6, 0, true);
	assert_int_equal(update(&p, NOW, 60 * TIME_SECOND, &counts, &err), CHECK_FAILED);
	assert_string_equal(
		failures, "current_data: init_time=2025-01-02T12:00:00 is due and not there\n"
			  "manifest_completeness: 2025-01-02T06:00:00: 1 of 8 files are there, 0.5 "
			  "is the least fraction\n");
	publish_all(&p, "20250102", 6);
	publish_all(&p, "20250102", 12);
	assert_ok(update(&p, NOW, 60 * TIME_SECOND, &counts, &err), &err);
	provider_done(&p);
}

/* A file of two messages of the HRRR of 2023-07-22 06 UTC (data/README.md, "grib"). */
static void publish_real(struct provider *p, struct slice data)
{
	CLEANUP(freep) char *path = source_path(p, "20250102", 12, 1, true, "");

	publish_data(p, "20250102", 12, 1, true, 0);
	write_text(path, data.data, data.size);
	publish_index(p, "20250102", 12, 1, true,
		      "1:0:d=2025010212:AAA:surface:1 hour fcst:\n"
		      "2:1272861:d=2025010212:BBB:surface:0-1 hour acc fcst:\n");
}

/* Real messages decode, and the update that brought them is well; a damaged one is told. */
static void test_decodes(void **state)
{
	const struct small small = {.x = 1799,
				    .extra = ", \"validators\": [{\"check\": \"decode_health\"}]"};
	CLEANUP(buf_done) struct buf data = BUF_INIT(64U << 20);
	CLEANUP(freep) char *definition = NULL, *path = NULL;
	struct error err = ERROR_INIT;
	struct write_counts counts;
	struct backfill_options options;
	struct provider p;

	(void)state;
	if (!test_data("."))
		skip();
	provider_init(&p, &small);
	definition = slice_dup(p.dataset->text, &err);
	definition = replaced(definition, "\"y\": {\"size\": 2}", "\"y\": {\"size\": 1059}");
	path = text_printf(&err, "%s/small/dataset.json", p.datasets);
	write_text(path, definition, strlen(definition));
	p.dataset = dataset_free(p.dataset);
	assert_ok(dataset_find(p.datasets, "small", &p.dataset, &err), &err);
	options = (struct backfill_options){.dataset = p.dataset,
					    .site = &p.site,
					    .selection = &p.selection,
					    .has_end = true,
					    .end = at("2025-01-02"),
					    .jobs_per_pod = 30};
	assert_ok(backfill_local(&options, &counts, &err), &err);
	append_file(test_data("grib/hrrr.t06z.wrfsfcf01-TMP.grib2"), &data);
	append_file(test_data("grib/hrrr.t06z.wrfsfcf01-UGRD.grib2"), &data);
	publish_real(&p, buf_slice(&data));
	assert_ok(update_and_check(&p, NOW, TIME_HOUR, TIME_HOUR, &counts, &err), &err);
	assert_int_equal(counts.n_refs, 2);
	assert_string_equal(failures, "");

	/* Section 1 of the second message says that it is longer than the message; the header,
	 * which the check of the index looks at, stays. */
	memset(data.data + 1272861 + 16, 0xff, 4);
	publish_real(&p, buf_slice(&data));
	assert_int_equal(update_and_check(&p, NOW, TIME_HOUR, TIME_HOUR, &counts, &err),
			 CHECK_FAILED);
	assert_non_null(strstr(failures, "decode_health: 'b' cannot be decoded: "));
	assert_null(strstr(failures, "'a'"));
	provider_done(&p);
}

/*
 * An analysis made of leads 0 and 1: what extends the archive waits for its lead-0 file, so that
 * the leading edge is never ragged; what fills in a position that is there does not.
 */
static void test_withholds(void **state)
{
	const struct small small = {.withhold = "until_lead_zero"};
	struct error err = ERROR_INIT;
	struct write_counts counts;
	struct provider p;

	(void)state;
	begin(&p, &small);
	publish(&p, "20250102", 0, 1, true);
	assert_ok(update(&p, NOW, 60 * TIME_SECOND, &counts, &err), &err);
	assert_int_equal(counts.n_ingested, 0);
	assert_int_equal(count_refs_of(p.store), 4 * POSITION_REFS);
	/* The lead-0 file of another type does not stand for it, but makes the position exist. */
	publish(&p, "20250102", 0, 0, false);
	assert_ok(update(&p, NOW, 60 * TIME_SECOND, &counts, &err), &err);
	assert_int_equal(counts.n_ingested, 1);
	publish(&p, "20250102", 6, 1, false);
	publish(&p, "20250102", 6, 1, true);
	publish(&p, "20250102", 6, 0, true);
	assert_ok(update(&p, NOW, 60 * TIME_SECOND, &counts, &err), &err);
	assert_int_equal(counts.n_ingested, 3);
	provider_done(&p);
}

/* All of a position at once, for sources that are written piece by piece. */
static void test_whole_position(void **state)
{
	const struct small small = {.withhold = "whole_position"};
	struct error err = ERROR_INIT;
	struct write_counts counts;
	struct provider p;

	(void)state;
	begin(&p, &small);
	publish_all(&p, "20250102", 0);
	publish(&p, "20250102", 6, 0, true);
	assert_ok(update(&p, NOW, 60 * TIME_SECOND, &counts, &err), &err);
	assert_int_equal(counts.n_ingested, POSITION_FILES);
	assert_int_equal(counts.n_pending, 2 * POSITION_FILES);
	provider_done(&p);
}

/* Two runs of one fire at once: both end well, and the archive is as after one. */
static void test_two_at_once(void **state)
{
	const struct small small = {0};
	struct error err = ERROR_INIT;
	struct write_counts counts;
	struct provider p;
	pid_t children[2];

	(void)state;
	begin(&p, &small);
	publish_all(&p, "20250102", 0);
	publish_all(&p, "20250102", 6);
	publish_all(&p, "20250102", 12);
	for (int i = 0; i < 2; i++) {
		children[i] = fork();
		if (children[i] == 0)
			_exit(update(&p, NOW, 3600 * TIME_SECOND, &counts, &err) == 0 ? 0 : 1);
	}
	for (int i = 0; i < 2; i++) {
		int status;

		waitpid(children[i], &status, 0);
		assert_int_equal(WEXITSTATUS(status), 0);
	}
	assert_int_equal(count_refs_of(p.store), 7 * POSITION_REFS);
	provider_done(&p);
}

/* Killed at any moment and run again, the archive is as after one run. */
static void test_killed(void **state)
{
	const struct small small = {0};
	CLEANUP(buf_done) struct buf want = BUF_INIT(1 << 22);
	struct error err = ERROR_INIT;
	struct write_counts counts;

	(void)state;
	for (int i = 0; i < 9; i++) {
		CLEANUP(buf_done) struct buf got = BUF_INIT(1 << 22);
		struct provider p;
		pid_t child;

		begin(&p, &small);
		publish_all(&p, "20250102", 0);
		publish_all(&p, "20250102", 6);
		publish_all(&p, "20250102", 12);
		child = i == 0 ? 0 : fork();
		if (child == 0 && i > 0) {
			update(&p, NOW, 3600 * TIME_SECOND, &counts, &err);
			_exit(0);
		}
		if (i > 0) {
			usleep((useconds_t)(i * 20000));
			kill(child, SIGKILL);
			waitpid(child, NULL, 0);
		}
		assert_ok(update(&p, NOW, 3600 * TIME_SECOND, &counts, &err), &err);
		describe(p.store, i == 0 ? &want : &got);
		if (i > 0)
			assert_true(slice_equal(buf_slice(&want), buf_slice(&got)));
		provider_done(&p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decodes),	       cmocka_unit_test(test_window),
		cmocka_unit_test(test_grows_lazily),   cmocka_unit_test(test_polls),
		cmocka_unit_test(test_refreshes),      cmocka_unit_test(test_refuses),
		cmocka_unit_test(test_stops),	       cmocka_unit_test(test_checks),
		cmocka_unit_test(test_two_at_once),    cmocka_unit_test(test_withholds),
		cmocka_unit_test(test_whole_position), cmocka_unit_test(test_killed),
	};

	return RUN_CASES(test_drift, drift_cases) + cmocka_run_group_tests(tests, NULL, NULL);
}
