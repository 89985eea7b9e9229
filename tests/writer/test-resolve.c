/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/resolve.h"

#include "base/text.h"
#include "base/time.h"
#include "test.h"

#define BYTES_MAX (4U << 20)

static void load(const char *path, struct buf *out)
{
	struct error err = ERROR_INIT;
	FILE *file = fopen(path, "rb");
	uint8_t block[8192];
	size_t n;

	if (!file)
		fail_msg("cannot open %s", path);
	while ((n = fread(block, 1, sizeof(block), file)) > 0)
		assert_ok(buf_append(out, block, n, &err), &err);
	fclose(file);
}

struct fixture {
	struct dataset *dataset;
	struct selection selection;
	struct resolver *resolver;
	struct source_files files;
};

static void setup(struct fixture *f, const char *folder, const char *id, const char *init)
{
	struct error err = ERROR_INIT;
	int64_t time;
	uint64_t position;

	*f = (struct fixture){0};
	assert_ok(dataset_find(folder, id, &f->dataset, &err), &err);
	assert_ok(selection_init(f->dataset, NULL, 0, &f->selection, &err), &err);
	assert_ok(resolver_new(f->dataset, &f->selection, &f->resolver, &err), &err);
	assert_ok(time_parse(init, 0, &time, &err), &err);
	position = dataset_positions(f->dataset, time);
	assert_ok(source_files_generate(f->dataset, &f->selection, position, position + 1,
					&f->files, &err),
		  &err);
}

static void teardown(struct fixture *f)
{
	source_files_done(&f->files);
	resolver_free(f->resolver);
	selection_done(&f->selection);
	dataset_free(f->dataset);
}

static struct source_file *find_file(struct fixture *f, const char *ending)
{
	for (size_t i = 0; i < f->files.n; i++)
		if (text_ends(f->files.items[i].url, ending))
			return &f->files.items[i];
	fail_msg("no file ends in %s", ending);
	return NULL;
}

/* Files of references that the reference system's own functions wrote (data/README.md). */
static struct golden_case {
	const char *name;
	const char *id, *init, *file, *index, *golden;
	bool in_order; /* of the index; else the rows are compared as a set */
} cases[] = {
	{"hrrr f00", "noaa-hrrr-forecast-48-hour-virtual", "2025-08-01", "wrfsfcf00.grib2",
	 "noaa/hrrr.t00z.wrfsfcf00.grib2.idx", "hrrr_sfc_f00.refs.tsv", true},
	{"hrrr f08", "noaa-hrrr-forecast-48-hour-virtual", "2025-08-01", "wrfsfcf08.grib2",
	 "noaa/hrrr.t00z.wrfsfcf08.grib2.idx", "hrrr_sfc_f08.refs.tsv", true},
	{"hrrr f24", "noaa-hrrr-forecast-48-hour-virtual", "2025-08-01", "wrfsfcf24.grib2",
	 "noaa/hrrr.t00z.wrfsfcf24.grib2.idx", "hrrr_sfc_f24.refs.tsv", true},
	{"hrrr f08 of 18 hours", "noaa-hrrr-forecast-18-hour-virtual", "2025-08-01",
	 "wrfsfcf08.grib2", "noaa/hrrr.t00z.wrfsfcf08.grib2.idx", "hrrr_sfc_f08.refs.tsv", true},
	{"gefs f015", "noaa-gefs-forecast-10-day-spatial-dev", "2025-08-01",
	 "gep01.t00z.pgrb2s.0p25.f015", "noaa/gep01.t00z.pgrb2s.0p25.f015.idx",
	 "gefs_gep01_s_f015.refs.tsv", false},
	{"aifs 0 h", "ecmwf-aifs-single-forecast-virtual", "2025-03-01", "-0h-oper-fc.grib2",
	 "ecmwf/aifs_single_20250301_00z_0h.index", "aifs_single_20250301_00z_0h.refs.tsv", false},
	{"aifs 6 h", "ecmwf-aifs-single-forecast-virtual", "2025-03-01", "-6h-oper-fc.grib2",
	 "ecmwf/aifs_single_20250301_00z_6h.index", "aifs_single_20250301_00z_6h.refs.tsv", false},
};

/* One line as the golden files have it. */
static void write_line(struct fixture *f, const struct source_file *file,
		       const struct file_ref *ref, struct buf *out)
{
	const struct dataset *dataset = f->dataset;
	const struct dataset_variable *variable = &dataset->variables[ref->variable];
	struct error err = ERROR_INIT;

	assert_ok(buf_printf(out, &err, "%s\t", variable->path), &err);
	assert_ok(source_file_labels(dataset, file, out, &err), &err);
	if (ref->level != NO_LEVEL) {
		const struct dataset_dim *dim =
			&dataset->dims[dataset->groups[variable->group].level];

		assert_ok(buf_printf(out, &err, ",%s=%g", dim->name, dim->labels[ref->level]),
			  &err);
	}
	assert_ok(buf_printf(out, &err, "\t%s\t%llu\t%llu", file->url,
			     (unsigned long long)ref->offset, (unsigned long long)ref->length),
		  &err);
}

/* GEFS files label lead before member, we the other way round: both are sets of labels. */
static void swap_labels(char *line)
{
	char *lead = strstr(line, ",lead_time="), *member = strstr(line, ",ensemble_member=");
	char *end, swapped[128];

	if (!lead || !member || lead > member)
		return;
	end = strchr(member, '\t');
	snprintf(swapped, sizeof(swapped), "%.*s%.*s", (int)(end - member), member,
		 (int)(member - lead), lead);
	memcpy(lead, swapped, strlen(swapped));
}

static void test_golden(void **state)
{
	const struct golden_case *c = *state;
	CLEANUP(buf_done) struct buf golden = BUF_INIT(BYTES_MAX);
	CLEANUP(buf_done) struct buf index = BUF_INIT(BYTES_MAX);
	struct error err = ERROR_INIT;
	struct file_refs refs;
	struct source_file *file;
	struct fixture f;
	char path[256], *at, *line;
	size_t n = 0;

	setup(&f, TEST_DATASETS, c->id, c->init);
	file = find_file(&f, c->file);
	snprintf(path, sizeof(path), "golden/%s", c->golden);
	load(test_data(path), &golden);
	snprintf(path, sizeof(path), "fixtures/%s", c->index);
	load(test_data(path), &index);
	at = (char *)(uintptr_t)buf_text(&golden, &err);
	file->size = strtoull(strstr(at, "file_size=") + strlen("file_size="), NULL, 10);
	assert_ok(resolver_index(f.resolver, file, buf_slice(&index), &refs, &err), &err);
	assert_int_equal(refs.outcome, OUTCOME_NONE);
	while ((line = strsep(&at, "\n"))) {
		CLEANUP(buf_done) struct buf got = BUF_INIT(4096);
		bool found = false;

		if (!line[0] || line[0] == '#' || text_starts(line, "var_path"))
			continue;
		swap_labels(line);
		for (size_t i = c->in_order ? n : 0; i < refs.refs.n && !found; i++) {
			buf_clear(&got);
			write_line(&f, file, &refs.refs.items[i], &got);
			found = slice_is(buf_slice(&got), line);
			if (c->in_order)
				break;
		}
		if (!found)
			fail_msg("not '%s' but '%s'", line, buf_text(&got, &err));
		n++;
	}
	assert_int_equal(n, refs.refs.n);
	file_refs_done(&refs);
	teardown(&f);
}

/* What an index of the HRRR can look like without being usable; each skips the file, none fails. */
static struct skip_case {
	const char *name;
	const char *text;
	enum outcome outcome;
	const char *detail;
} skips[] = {
	{"another run", "1:0:d=2025073100:REFC:entire atmosphere:8 hour fcst:\n", OUTCOME_OTHER_RUN,
	 "the index is of d=2025073100"},
	{"beyond the file",
	 "1:0:d=2025080100:REFC:entire atmosphere:8 hour fcst:\n"
	 "2:5000:d=2025080100:RETOP:cloud top:8 hour fcst:\n",
	 OUTCOME_STALE_INDEX,
	 "cannot parse 'hrrr.t00z.wrfsfcf08.grib2.idx': offset 5000 lies beyond the file's 1000 "
	 "bytes"},
	{"no probe", "1:0:d=2025080100:RETOP:cloud top:8 hour fcst:\n", OUTCOME_PROBE_MISSING,
	 "'composite_reflectivity' is not in the index, 1 of 142 records are"},
	{"only as a later field",
	 "1.1:0:d=2025080100:RETOP:cloud top:8 hour fcst:\n"
	 "1.2:0:d=2025080100:REFC:entire atmosphere:8 hour fcst:\n",
	 OUTCOME_PROBE_MISSING,
	 "'composite_reflectivity' is not in the index, 1 of 142 records are"},
	{"probability of the same element",
	 "1:0:d=2025080100:REFC:entire atmosphere:8 hour fcst:prob >40\n", OUTCOME_PROBE_MISSING,
	 "'composite_reflectivity' is not in the index, 0 of 142 records are"},
	{"empty", "", OUTCOME_STALE_INDEX,
	 "cannot parse 'hrrr.t00z.wrfsfcf08.grib2.idx': no line in it"},
};

static void test_skip_file(void **state)
{
	const struct skip_case *c = *state;
	struct error err = ERROR_INIT;
	struct file_refs refs;
	struct source_file *file;
	struct fixture f;

	setup(&f, TEST_DATASETS, "noaa-hrrr-forecast-48-hour-virtual", "2025-08-01");
	file = find_file(&f, "wrfsfcf08.grib2");
	file->size = 1000;
	assert_ok(resolver_index(f.resolver, file, slice_text(c->text), &refs, &err), &err);
	assert_int_equal(refs.outcome, c->outcome);
	assert_string_equal(refs.detail, c->detail);
	file_refs_done(&refs);
	teardown(&f);
}

/* The rule for several messages with one key: the largest offset. */
static void test_duplicates(void **state)
{
	struct error err = ERROR_INIT;
	struct file_refs refs;
	struct source_file *file;
	struct fixture f;

	(void)state;
	setup(&f, TEST_DATASETS, "noaa-hrrr-forecast-48-hour-virtual", "2025-08-01");
	file = find_file(&f, "wrfsfcf08.grib2");
	file->size = 1000;
	assert_ok(
		resolver_index(f.resolver, file,
			       slice_text("1:0:d=2025080100:APCP:surface:0-8 hour acc fcst:\n"
					  "2:10:d=2025080100:REFC:entire atmosphere:8 hour fcst:\n"
					  "3:30:d=2025080100:APCP:surface:0-8 hour acc fcst:\n"),
			       &refs, &err),
		&err);
	assert_int_equal(refs.outcome, OUTCOME_NONE);
	assert_int_equal(refs.refs.n, 2);
	assert_int_equal(refs.n_duplicates, 1);
	assert_int_equal(refs.refs.items[1].offset, 30);
	assert_int_equal(refs.refs.items[1].length, 970);
	assert_int_equal(refs.n_missing, 140);
	file_refs_done(&refs);
	teardown(&f);
}

int main(void)
{
	const struct CMUnitTest more[] = {cmocka_unit_test(test_duplicates)};
	int failed;

	failed = RUN_CASES(test_skip_file, skips);
	failed += cmocka_run_group_tests(more, NULL, NULL);
	if (failed == 0 && !test_data("."))
		test_skip("REFMT_TEST_DATA is not set");
	return failed + RUN_CASES(test_golden, cases);
}
