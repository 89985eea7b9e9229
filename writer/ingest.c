/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/ingest.h"

#include <stdio.h>

#include "grib/grib.h"
#include "writer/discover.h"

#define HEADER_SIZE 16
/* Headers of messages are read in blocks: sections 0 to 5 of nearly all of them fit. */
#define SCAN_BLOCK 4096

static void skip(struct file_refs *refs, enum outcome outcome, const char *detail)
{
	refs->outcome = outcome;
	snprintf(refs->detail, sizeof(refs->detail), "%.255s", detail);
}

static void skip_all(struct file_refs *refs, enum outcome outcome, const char *detail)
{
	*refs = (struct file_refs){.missing = BUF_INIT(1), .meaningless = BUF_INIT(1)};
	skip(refs, outcome, detail);
}

/* Errors that say nothing about the file. */
static bool is_ours(int kind)
{
	return kind == ERR_MEMORY || kind == ERR_INTERRUPTED;
}

/*
 * An index can go stale and still name ranges inside the file.  A message that changed its size
 * moves all behind it, so the last offset shows it: a message that fits must start there.
 */
static int check_last_message(const struct ingest *ingest, const struct source_file *file,
			      struct file_refs *refs, struct error *err)
{
	CLEANUP(buf_done) struct buf start = BUF_INIT(HEADER_SIZE);
	struct error cause = ERROR_INIT;
	char detail[200];
	uint64_t length;
	int edition, r;

	if (file->size - refs->last_offset < HEADER_SIZE) {
		skip(refs, OUTCOME_STALE_INDEX, "the last message has less than 16 bytes");
		return 0;
	}
	r = store_get(ingest->source, discover_key(file->url), refs->last_offset, HEADER_SIZE, NULL,
		      &start, NULL, &cause);
	if (r == STORE_ABSENT) {
		skip(refs, OUTCOME_NOT_PUBLISHED, "the file was listed, but is gone");
		return 0;
	}
	if (is_ours(r))
		return error_set(err, r, "%s", cause.text);
	if (r < 0) {
		skip(refs, OUTCOME_ERROR, cause.text);
		return 0;
	}
	if (grib_header(buf_slice(&start), &edition, &length, &cause) < 0) {
		snprintf(detail, sizeof(detail), "no message starts at the last offset %llu",
			 (unsigned long long)refs->last_offset);
		skip(refs, OUTCOME_STALE_INDEX, detail);
	} else if (length > refs->last_length) {
		snprintf(detail, sizeof(detail),
			 "the message at the last offset %llu has %llu bytes, the index says %llu",
			 (unsigned long long)refs->last_offset, (unsigned long long)length,
			 (unsigned long long)refs->last_length);
		skip(refs, OUTCOME_STALE_INDEX, detail);
	}
	return 0;
}

static int ingest_index(const struct ingest *ingest, const struct source_file *file,
			struct file_refs *refs, struct error *err)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT(INDEX_FILE_MAX);
	struct error cause = ERROR_INIT;
	int r = store_get_all(ingest->source, discover_key(file->index_url), &text, NULL, &cause);

	if (is_ours(r))
		return error_set(err, r, "%s", cause.text);
	if (r == STORE_ABSENT || r < 0) {
		skip_all(refs, r < 0 ? OUTCOME_ERROR : OUTCOME_NOT_PUBLISHED,
			 r < 0 ? cause.text : "the index was listed, but is gone");
		return 0;
	}
	r = resolver_index(ingest->resolver, file, buf_slice(&text), refs, err);
	if (r == 0)
		refs->n_bytes = text.size;
	if (r < 0 || refs->outcome != OUTCOME_NONE)
		return r;
	r = check_last_message(ingest, file, refs, err);
	if (r < 0)
		file_refs_done(refs);
	return r;
}

/* A data file as a source of the scan. */
struct scan {
	const struct ingest *ingest;
	const char *key;
	uint64_t size;
	struct buf block;
	uint64_t block_offset;
	struct arena texts;
	struct index_rows rows;
	struct index_facts facts;
	int64_t init;
};

static int scan_read(void *context, uint64_t offset, size_t length, uint8_t *out, struct error *err)
{
	struct scan *scan = context;
	uint64_t wanted = length > SCAN_BLOCK ? length : SCAN_BLOCK;
	int r;

	if (offset < scan->block_offset ||
	    offset + length > scan->block_offset + scan->block.size) {
		buf_clear(&scan->block);
		if (wanted > scan->size - offset)
			wanted = scan->size - offset;
		r = store_get(scan->ingest->source, scan->key, offset, wanted, NULL, &scan->block,
			      NULL, err);
		if (r != 0)
			return r < 0 ? r : error_set(err, ERR_ABSENT, "'%s' is gone", scan->key);
		scan->block_offset = offset;
	}
	memcpy(out, scan->block.data + (offset - scan->block_offset), length);
	return 0;
}

static int keep(struct scan *scan, const char *text, struct slice *ret_slice, struct error *err)
{
	char *copy = arena_dup(&scan->texts, slice_text(text), err);

	if (!copy)
		return ERR_MEMORY;
	*ret_slice = slice_text(copy);
	return 0;
}

static int scan_entry(void *context, const struct grib_entry *entry, struct error *err)
{
	struct scan *scan = context;
	struct index_row row = {.offset = entry->offset,
				.length = entry->length,
				.is_later_field = entry->field > 1};
	int r;

	if (entry->bad)
		return error_set(err, ERR_FORMAT, "offset %llu: %s",
				 (unsigned long long)entry->offset, entry->bad);
	scan->facts.n_lines++;
	if (entry->info.reference_time != scan->init && scan->facts.n_other_run++ == 0)
		snprintf(scan->facts.other_run, sizeof(scan->facts.other_run), "%s",
			 entry->info.date);
	r = keep(scan, entry->info.parameter, &row.element, err);
	if (r == 0)
		r = keep(scan, entry->info.level, &row.level, err);
	if (r == 0)
		r = keep(scan, entry->info.time, &row.time, err);
	if (r == 0)
		r = keep(scan, entry->info.extra, &row.extra, err);
	return r < 0 ? r : index_rows_push(&scan->rows, row, err);
}

static void scan_done(struct scan *scan)
{
	buf_done(&scan->block);
	arena_done(&scan->texts);
	index_rows_done(&scan->rows);
}

static int ingest_scan(const struct ingest *ingest, const struct source_file *file,
		       struct file_refs *refs, struct error *err)
{
	CLEANUP(scan_done)
	struct scan scan = {.ingest = ingest,
			    .key = discover_key(file->url),
			    .size = file->size,
			    .block = BUF_INIT(64U << 20),
			    .init = file->init};
	struct grib_source source = {.context = &scan, .size = file->size, .read = scan_read};
	struct error cause = ERROR_INIT;
	int r = grib_scan(&source, scan_entry, &scan, &cause);

	if (is_ours(r))
		return error_set(err, r, "%s", cause.text);
	if (r < 0) {
		skip_all(refs, r == ERR_FORMAT ? OUTCOME_SHORT : OUTCOME_ERROR, cause.text);
		return 0;
	}
	return resolver_rows(ingest->resolver, file, &scan.rows, &scan.facts, refs, err);
}

int ingest_file(const struct ingest *ingest, const struct source_file *file,
		struct file_refs *ret_refs, struct error *err)
{
	switch (ingest->dataset->files.kind) {
	case SOURCE_NOAA_IDX:
	case SOURCE_ECMWF_INDEX:
		return ingest_index(ingest, file, ret_refs, err);
	case SOURCE_HEADER_SCAN:
		return ingest_scan(ingest, file, ret_refs, err);
	case SOURCE_WHOLE_OBJECT:
	case SOURCE_ZARR_CHUNKS:
		break;
	}
	return resolver_whole(ingest->resolver, file, ret_refs, err);
}
