/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/check.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/pool.h"
#include "base/text.h"
#include "base/time.h"
#include "include/refmt.h"
#include "writer/batch.h"
#include "writer/source-file.h"
#include "writer/write-loop.h"
#include "zarr/time.h"

#define DECODES_AT_ONCE 4
#define TRIES 3
/* Names of variables in one message. */
#define NAMES_SHOWN 3

struct checks {
	const struct check_options *options;
	const struct dataset *dataset;
	struct selection selection; /* all variables */
	struct checkout *checkout;
	uint64_t length;	   /* of the store */
	struct source_files files; /* of the window, as far as the store reaches */
	bool *present;
	uint64_t first; /* position of the window */
	bool failed;
};

static void checks_done(struct checks *checks)
{
	selection_done(&checks->selection);
	checkout_free(checks->checkout);
	source_files_done(&checks->files);
	free(checks->present);
}

static void fail(struct checks *checks, const struct dataset_check *check, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void fail(struct checks *checks, const struct dataset_check *check, const char *format, ...)
{
	char reason[512];
	va_list args;

	va_start(args, format);
	vsnprintf(reason, sizeof(reason), format, args);
	va_end(args);
	checks->failed = true;
	checks->options->failed(checks->options->argument, check->name, reason);
}

/* The newest label that is due must be there. */
static void check_current(struct checks *checks, const struct dataset_check *check)
{
	const struct dataset *dataset = checks->dataset;
	int64_t age = site_now(checks->options->site) - check->max_delay - dataset->start;
	char text[TIME_TEXT_MAX];
	uint64_t due;

	if (age < 0)
		return;
	due = (uint64_t)age / (uint64_t)dataset->step;
	zarr_time_label(dataset_label(dataset, due), text);
	if (checks->length <= due)
		fail(checks, check, "%s=%s is due and not there",
		     dataset->dims[dataset->append].name, text);
}

static void check_position(struct checks *checks, const struct dataset_check *check,
			   uint64_t position, double fraction)
{
	uint64_t n = 0, n_present = 0;
	char text[TIME_TEXT_MAX];

	for (size_t i = 0; i < checks->files.n; i++) {
		const struct source_file *file = &checks->files.items[i];

		if (file->position != position ||
		    (check->types && !(check->types >> file->type & 1)))
			continue;
		n++;
		n_present += checks->present[i];
	}
	zarr_time_label(dataset_label(checks->dataset, position), text);
	if (n > 0 && (double)n_present < fraction * (double)n)
		fail(checks, check, "%s: %llu of %llu files are there, %g is the least fraction",
		     text, (unsigned long long)n_present, (unsigned long long)n, fraction);
}

/* Per position, newest first; older positions than there are fractions are held to the last. */
static void check_completeness(struct checks *checks, const struct dataset_check *check)
{
	uint64_t n = checks->length > checks->first ? checks->length - checks->first : 0;

	if (n < check->n_fractions) {
		fail(checks, check, "the window has %llu positions, fewer than the %zu tiers",
		     (unsigned long long)n, check->n_fractions);
		return;
	}
	for (uint64_t i = 0; i < n; i++)
		check_position(
			checks, check, checks->length - 1 - i,
			check->fractions[i < check->n_fractions ? i : check->n_fractions - 1]);
}

/* One variable and what its samples have shown. */
struct sampled {
	uint64_t n, n_nan;
	bool failed;
	char reason[256];
};

/* One cell to decode. */
struct sample {
	uint32_t file, variable, level;
};

struct decoding {
	struct checks *checks;
	struct refmt_dataset *reader;
	const struct sample *samples;
	struct sampled *results; /* of each sample */
};

static bool is_all_nan(const uint8_t *bytes, size_t size, size_t item)
{
	for (size_t i = 0; i + item <= size; i += item) {
		double value = 0;
		float narrow;

		if (item == 8) {
			memcpy(&value, bytes + i, 8);
		} else if (item == 4) {
			memcpy(&narrow, bytes + i, 4);
			value = narrow;
		}
		if (!isnan(value))
			return false;
	}
	return true;
}

static int decode_sample(void *argument, size_t i, struct error *err)
{
	struct decoding *decoding = argument;
	const struct checks *checks = decoding->checks;
	const struct sample *sample = &decoding->samples[i];
	struct sampled *result = &decoding->results[i];
	const struct dataset *dataset = checks->dataset;
	CLEANUP(freep)
	char *path = text_printf(err, "/%s", dataset->variables[sample->variable].path);
	struct refmt_error cause = {0};
	struct refmt_node node;
	uint32_t index[DATASET_DIMS_MAX];
	int r = -1;

	if (!path)
		return ERR_MEMORY;
	if (site_now(checks->options->site) >= checks->options->deadline)
		return error_set(err, ERR_TIMEOUT, "the deadline passed");
	source_file_cell(dataset, &checks->files.items[sample->file], sample->variable,
			 sample->level, index);
	result->n = 1;
	for (int attempt = 0; attempt < TRIES && r < 0; attempt++) {
		CLEANUP(freep) uint8_t *bytes = NULL;
		size_t size;

		r = refmt_read_chunk(decoding->reader, path, index, &bytes, &size, &cause);
		if (r == 0 && refmt_find(decoding->reader, path, &node, &cause) == 0)
			result->n_nan = is_all_nan(bytes, size, node.item_size);
	}
	/* A missing reference reads as the fill value. */
	if (r == REFMT_ABSENT)
		result->n_nan = 1;
	result->failed = r < 0;
	if (r < 0)
		snprintf(result->reason, sizeof(result->reason), "%.255s", cause.text);
	return 0;
}

/* Places of @k samples among @n, the first and the last among them; halves go to the even one. */
static bool is_sampled(uint64_t i, uint64_t n, uint64_t k)
{
	if (n <= k)
		return true;
	for (uint64_t s = 0; s < k; s++) {
		double at = k > 1 ? (double)s * (double)(n - 1) / (double)(k - 1) : 0;

		if ((uint64_t)nearbyint(at) == i)
			return true;
	}
	return false;
}

static int by_lead(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Lead times of the present files at @position, sorted, each once. */
static uint64_t list_leads(const struct checks *checks, uint64_t position, int64_t *leads)
{
	uint64_t n = 0, kept = 0;

	for (size_t i = 0; i < checks->files.n; i++)
		if (checks->present[i] && checks->files.items[i].position == position)
			leads[n++] = checks->files.items[i].lead;
	qsort(leads, n, sizeof(*leads), by_lead);
	for (uint64_t i = 0; i < n; i++)
		if (kept == 0 || leads[kept - 1] != leads[i])
			leads[kept++] = leads[i];
	return kept;
}

DEFINE_VEC(sample_list, struct sample);

static int add_file_samples(const struct checks *checks, const struct dataset_check *check,
			    uint32_t f, struct sample_list *samples, struct error *err)
{
	const struct dataset *dataset = checks->dataset;
	const struct source_file *file = &checks->files.items[f];
	int r = 0;

	for (uint32_t v = 0; v < dataset->n_variables && r == 0; v++) {
		int level = dataset->groups[dataset->variables[v].group].level;
		uint64_t n = level >= 0 ? dataset->dims[level].size : 1;

		if (!source_file_holds(dataset, file, v) ||
		    source_file_is_meaningless(dataset, file, v))
			continue;
		for (uint64_t l = 0; l < n && r == 0; l++)
			if (is_sampled(l, n, check->levels))
				r = sample_list_push(
					samples,
					(struct sample){f, v, level >= 0 ? (uint32_t)l : NO_LEVEL},
					err);
	}
	return r;
}

/* Samples of the newest positions that have files. */
static int choose_samples(const struct checks *checks, const struct dataset_check *check,
			  struct sample_list *samples, struct error *err)
{
	CLEANUP(freep) int64_t *leads = calloc(checks->files.n + 1, sizeof(*leads));
	uint64_t n_positions = 0;

	if (!leads)
		return error_memory(err);
	for (uint64_t p = checks->length; p-- > checks->first && n_positions < check->positions;) {
		uint64_t n = list_leads(checks, p, leads);

		n_positions += n > 0;
		for (uint32_t f = 0; f < checks->files.n; f++) {
			const struct source_file *file = &checks->files.items[f];
			int64_t *lead = bsearch(&file->lead, leads, n, sizeof(*leads), by_lead);
			int r = 0;

			if (file->position == p && checks->present[f] && lead &&
			    is_sampled((uint64_t)(lead - leads), n, check->leads))
				r = add_file_samples(checks, check, f, samples, err);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

static bool may_be_nan(const struct dataset_check *check, uint32_t variable)
{
	for (size_t i = 0; i < check->n_all_nan; i++)
		if (check->all_nan[i] == variable)
			return true;
	return false;
}

/* Variables that failed for one kind of reason; the first few are named. */
struct failed_variables {
	const char *what;
	uint64_t n;
	char names[320];
	const char *reason;
};

static void add_failed(struct failed_variables *failed, const char *path, const char *reason)
{
	size_t used = strlen(failed->names);

	if (failed->n++ == 0)
		failed->reason = reason;
	if (failed->n <= NAMES_SHOWN)
		snprintf(failed->names + used, sizeof(failed->names) - used, "%s'%s'",
			 used ? ", " : "", path);
}

static void tell_failed(struct checks *checks, const struct dataset_check *check,
			const struct failed_variables *failed)
{
	char more[32] = "";

	if (failed->n == 0)
		return;
	if (failed->n > NAMES_SHOWN)
		snprintf(more, sizeof(more), " and %llu more",
			 (unsigned long long)(failed->n - NAMES_SHOWN));
	fail(checks, check, "%s%s %s%s%.255s", failed->names, more, failed->what,
	     failed->reason ? ": " : "", failed->reason ? failed->reason : "");
}

/* A variable fails if a sample cannot be decoded, or if all of them are missing everywhere. */
static void judge_variables(struct checks *checks, const struct dataset_check *check,
			    const struct decoding *decoding, size_t n)
{
	struct failed_variables broken = {.what = "cannot be decoded"};
	struct failed_variables empty = {.what = "have only missing values in all samples"};

	for (uint32_t v = 0; v < checks->dataset->n_variables; v++) {
		const char *path = checks->dataset->variables[v].path, *reason = NULL;
		uint64_t n_samples = 0, n_nan = 0;

		for (size_t i = 0; i < n; i++) {
			const struct sampled *result = &decoding->results[i];

			if (decoding->samples[i].variable != v)
				continue;
			n_samples += result->n;
			n_nan += result->n_nan;
			if (result->failed && !reason)
				reason = result->reason;
		}
		if (reason)
			add_failed(&broken, path, reason);
		else if (n_samples > 0 && n_nan == n_samples && !may_be_nan(check, v))
			add_failed(&empty, path, NULL);
	}
	tell_failed(checks, check, &broken);
	tell_failed(checks, check, &empty);
}

static int open_reader(const struct checks *checks, struct refmt_dataset **ret_reader,
		       struct error *err)
{
	const struct site *site = checks->options->site;
	CLEANUP(freep) struct refmt_mirror *mirrors = calloc(site->n_mirrors + 1, sizeof(*mirrors));
	struct refmt_options options = {.n_mirrors = site->n_mirrors,
					.endpoint_url = site->store.endpoint_url,
					.region = site->store.region,
					.anonymous = site->store.anonymous,
					.path_style = site->store.path_style};
	struct refmt_error cause = {0};
	int r;

	if (!mirrors)
		return error_memory(err);
	for (size_t i = 0; i < site->n_mirrors; i++)
		mirrors[i] = (struct refmt_mirror){site->mirrors[i].prefix, site->mirrors[i].url};
	options.mirrors = mirrors;
	r = refmt_open(checks->options->targets->items[0].store->url, &options, ret_reader, &cause);
	return r < 0 ? error_set(err, r, "%s", cause.text) : 0;
}

static int check_decode(struct checks *checks, const struct dataset_check *check, struct error *err)
{
	CLEANUP(sample_list_done) struct sample_list samples = {0};
	CLEANUP(freep) struct sampled *results = NULL;
	struct decoding decoding = {.checks = checks};
	int r = choose_samples(checks, check, &samples, err);

	if (r < 0)
		return r;
	if (samples.n == 0) {
		fail(checks, check, "no file of the window is there");
		return 0;
	}
	results = calloc(samples.n, sizeof(*results));
	if (!results)
		return error_memory(err);
	decoding.samples = samples.items;
	decoding.results = results;
	r = open_reader(checks, &decoding.reader, err);
	if (r < 0)
		return r;
	r = parallel_for(DECODES_AT_ONCE, samples.n, decode_sample, &decoding, err);
	refmt_close(decoding.reader);
	if (r == ERR_TIMEOUT) {
		fail(checks, check, "did not end within the deadline");
		return 0;
	}
	if (r == 0)
		judge_variables(checks, check, &decoding, samples.n);
	return r;
}

static int prepare(struct checks *checks, struct error *err)
{
	const struct check_options *options = checks->options;
	uint64_t end;
	int r = selection_init(checks->dataset, NULL, 0, &checks->selection, err);

	if (r == 0)
		r = target_checkout(&options->targets->items[0], NULL, &checks->checkout, err);
	if (r == 0)
		r = store_length(checks->dataset, checks->checkout, &checks->length, err);
	if (r < 0)
		return r;
	checks->first = dataset_positions(checks->dataset, options->window_start);
	end = dataset_positions(checks->dataset, options->end);
	if (end > checks->length)
		end = checks->length;
	r = source_files_generate(checks->dataset, &checks->selection, checks->first, end,
				  &checks->files, err);
	if (r < 0)
		return r;
	checks->present = calloc(checks->files.n + 1, sizeof(*checks->present));
	if (!checks->present)
		return error_memory(err);
	return files_present(checks->dataset, &checks->selection, checks->checkout, &checks->files,
			     checks->present, err);
}

int checks_run(const struct check_options *options, struct error *err)
{
	CLEANUP(checks_done)
	struct checks checks = {.options = options, .dataset = options->dataset};
	int r = prepare(&checks, err);

	for (size_t i = 0; i < options->dataset->n_checks && r == 0; i++) {
		const struct dataset_check *check = &options->dataset->checks[i];

		switch (check->kind) {
		case CHECK_CURRENT_DATA:
			check_current(&checks, check);
			break;
		case CHECK_COMPLETENESS:
			check_completeness(&checks, check);
			break;
		case CHECK_DECODE_HEALTH:
			r = check_decode(&checks, check, err);
			break;
		}
	}
	if (r < 0)
		return r;
	return checks.failed ? CHECK_FAILED : 0;
}
