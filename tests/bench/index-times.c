/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Index text to resolved references: lines a second on one core
 *
 * The floor is what any reader of lines must do: find their ends.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/time.h"
#include "bench.h"
#include "writer/resolve.h"

#define INDEX_MAX (4U << 20)
/* Lines of one repetition. */
#define LINES 100000

struct work {
	struct resolver *resolver;
	struct source_file *file;
	struct buf text;
	size_t n_lines;
	volatile size_t seen;
};

static int resolve(void *argument, struct error *err)
{
	struct work *work = argument;

	for (size_t done = 0; done < LINES; done += work->n_lines) {
		struct file_refs refs;
		int r = resolver_index(work->resolver, work->file, buf_slice(&work->text), &refs,
				       err);

		if (r < 0)
			return r;
		if (refs.outcome != OUTCOME_NONE)
			return error_set(err, ERR_FORMAT, "%s", refs.detail);
		work->seen += refs.refs.n;
		file_refs_done(&refs);
	}
	return 0;
}

static int find_lines(void *argument, struct error *err)
{
	struct work *work = argument;

	(void)err;
	for (size_t done = 0; done < LINES; done += work->n_lines) {
		const uint8_t *at = work->text.data, *end = at + work->text.size;

		while (at < end && (at = memchr(at, '\n', (size_t)(end - at))))
			at++, work->seen++;
	}
	return 0;
}

static int load(const char *path, struct buf *out, struct error *err)
{
	FILE *file = fopen(path, "rb");
	uint8_t block[65536];
	size_t n;
	int r = 0;

	if (!file)
		return error_set(err, ERR_ABSENT, "cannot open '%s'", path);
	while (r == 0 && (n = fread(block, 1, sizeof(block), file)) > 0)
		r = buf_append(out, block, n, err);
	fclose(file);
	return r;
}

/* One index of the reference system's fixtures, of one dataset. */
static int run(const char *name, const char *datasets, const char *id, const char *init,
	       const char *ending, const char *index, struct error *err)
{
	CLEANUP(dataset_freep) struct dataset *dataset = NULL;
	CLEANUP(selection_done) struct selection selection = {0};
	CLEANUP(resolver_freep) struct resolver *resolver = NULL;
	CLEANUP(source_files_done) struct source_files files = {0};
	CLEANUP(freep) char *path = NULL;
	struct work work = {.text = BUF_INIT(INDEX_MAX)};
	struct bench bench = {.name = name,
			      .floor_name = "finding the lines",
			      .ours = resolve,
			      .floor = find_lines,
			      .ours_argument = &work,
			      .floor_argument = &work,
			      .warm_up = 2,
			      .n = 15,
			      .per = LINES};
	int64_t time;
	uint64_t position;
	int r = dataset_find(datasets, id, &dataset, err);

	path = text_printf(err, "%s/fixtures/%s", getenv("REFMT_TEST_DATA"), index);
	if (r == 0 && path)
		r = load(path, &work.text, err);
	if (r == 0)
		r = selection_init(dataset, NULL, 0, &selection, err);
	if (r == 0)
		r = resolver_new(dataset, &selection, &resolver, err);
	if (r == 0)
		r = time_parse(init, 0, &time, err);
	if (r < 0)
		return r;
	position = dataset_positions(dataset, time);
	r = source_files_generate(dataset, &selection, position, position + 1, &files, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < files.n; i++)
		if (text_ends(files.items[i].url, ending))
			work.file = &files.items[i];
	for (size_t i = 0; i < work.text.size; i++)
		work.n_lines += work.text.data[i] == '\n';
	work.file->size = UINT64_C(1) << 33;
	work.resolver = resolver;
	r = bench_run(&bench, err);
	buf_done(&work.text);
	return r;
}

int main(int argc, char **argv)
{
	struct error err = {0};
	int r;

	if (argc != 2 || !getenv("REFMT_TEST_DATA")) {
		puts("SKIP: no folder of definitions, or REFMT_TEST_DATA is not set");
		return 77;
	}
	r = run("line of a NOAA index", argv[1], "noaa-hrrr-forecast-48-hour-virtual", "2025-08-01",
		"wrfsfcf08.grib2", "noaa/hrrr.t00z.wrfsfcf08.grib2.idx", &err);
	if (r == 0)
		r = run("line of an ECMWF index", argv[1], "ecmwf-aifs-single-forecast-virtual",
			"2025-03-01", "-6h-oper-fc.grib2",
			"ecmwf/aifs_single_20250301_00z_6h.index", &err);
	if (r < 0)
		fprintf(stderr, "%s\n", err.text);
	return r < 0;
}
