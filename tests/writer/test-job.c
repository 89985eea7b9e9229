/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/job.h"

#include "provider.h"

/* The jobs of a worker as the golden file lists them: "0,1,2", empty, or ASSERT. */
static void assert_assigned(const char *want, size_t n_jobs, uint64_t total, uint64_t index)
{
	CLEANUP(buf_done) struct buf got = BUF_INIT(4096);
	struct error err = ERROR_INIT;
	size_t first, end;
	int r = jobs_assign(n_jobs, index, total, &first, &end, &err);

	if (strcmp(want, "ASSERT") == 0) {
		assert_int_equal(r, ERR_ARGUMENT);
		return;
	}
	assert_ok(r, &err);
	for (size_t i = first; i < end; i++)
		assert_ok(buf_printf(&got, &err, "%s%zu", i > first ? "," : "", i), &err);
	assert_string_equal(buf_text(&got, &err), want);
}

/* Rows of data/golden/worker_jobs.tsv, which the reference system's functions wrote. */
static void test_golden(void **state)
{
	char line[1024];
	FILE *file;
	int n = 0;

	(void)state;
	if (!test_data("."))
		skip();
	file = fopen(test_data("golden/worker_jobs.tsv"), "r");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		char *rest = line, *fields[5];

		for (int i = 0; i < 5; i++)
			fields[i] = strsep(&rest, "\t\n");
		if (strcmp(fields[0], "contiguous") != 0)
			continue;
		assert_assigned(fields[4], strtoul(fields[1], NULL, 10),
				strtoull(fields[2], NULL, 10), strtoull(fields[3], NULL, 10));
		n++;
	}
	fclose(file);
	assert_int_equal(n, 27);
}

/* Eight positions from 2025-01-01T00 on, 6 hours apart; the rule is the reference system's
 * (its region jobs have 2 hourly positions in these examples, ours one position). */
static struct filter_case {
	const char *name;
	const char *start, *end, *contains[3];
	const char *want; /* first positions of the jobs */
} cases[] = {
	{"none", NULL, NULL, {NULL}, "01234567"},
	{"start at a label", "2025-01-01T12:00", NULL, {NULL}, "234567"},
	{"start between labels", "2025-01-01T13:00", NULL, {NULL}, "34567"},
	{"start behind all", "2026-01-01", NULL, {NULL}, ""},
	{"end at a label", NULL, "2025-01-01T12:00", {NULL}, "01"},
	{"end between labels", NULL, "2025-01-01T13:00", {NULL}, "012"},
	{"end before all", NULL, "2024-12-01", {NULL}, ""},
	{"end at the first label", NULL, "2025-01-01", {NULL}, ""},
	{"both, empty", "2025-01-01T12:00", "2025-01-01T12:00", {NULL}, ""},
	{"both", "2025-01-01T06:00", "2025-01-01T18:00", {NULL}, "12"},
	{"contains", NULL, NULL, {"2025-01-01T18:00", "2025-01-01T00:00"}, "03"},
	{"contains no label", NULL, NULL, {"2025-01-01T17:00"}, ""},
	{"contains and start", "2025-01-01T06:00", NULL, {"2025-01-01T18:00", "2025-01-01"}, "3"},
};

static void test_filter(void **state)
{
	const struct filter_case *c = *state;
	const struct small small = {0};
	CLEANUP(job_list_done) struct job_list jobs = {0};
	struct error err = ERROR_INIT;
	struct job_filters filters = {0};
	int64_t contains[3];
	struct provider p;
	char got[16] = "";

	provider_init(&p, &small);
	if (c->start)
		filters = (struct job_filters){.has_start = true, .start = at(c->start)};
	if (c->end) {
		filters.has_end = true;
		filters.end = at(c->end);
	}
	for (size_t i = 0; i < 3 && c->contains[i]; i++)
		contains[filters.n_contains++] = at(c->contains[i]);
	filters.contains = contains;
	assert_ok(jobs_make(p.dataset, 8, &filters, &jobs, &err), &err);
	for (size_t i = 0; i < jobs.n && i < sizeof(got) - 1; i++)
		got[i] = (char)('0' + jobs.items[i].first);
	assert_string_equal(got, c->want);
	provider_done(&p);
}

int main(void)
{
	const struct CMUnitTest golden[] = {cmocka_unit_test(test_golden)};

	return RUN_CASES(test_filter, cases) + cmocka_run_group_tests(golden, NULL, NULL);
}
