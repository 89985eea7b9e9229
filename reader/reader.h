/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reader: fetching and decoding chunks, shared by every snapshot of one repository
 *
 * Between a located chunk and its bytes lie: permission (repo/source.h), coalescing of
 * neighbouring ranges, single flight per chunk identity, the codec chain, a cache of decoded chunks
 * and a memo of failures that lasts one second (a failing cached read of the kernel costs two
 * serial requests).  A chunk identity is (source, offset, length, validator, codec chain, decoder
 * mode): the same identity under another snapshot is the same content.
 *
 * Threads: may be shared.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "repo/repo.h"
#include "repo/source.h"

struct grib_workers;

enum reader_decode { READER_DECODE_WMO, READER_DECODE_GRIBBERISH };

struct reader_options {
	struct source_options sources;
	enum reader_decode decode;
	struct grib_workers *workers; /* where eccodes runs (decision 9); NULL = in this process */
	/*
	 * Bytes of contents, kept or lent, and of the buffers in which they are made, 0 = 128 MiB;
	 * a chunk that needs more than that is loaded while there is no other.
	 */
	uint64_t cache_size;
	uint32_t timeout_ms;	/* one read, everything included; 0 = 60 000 */
	uint32_t coalesce_gap;	/* bytes between ranges that are still fetched as one; 0 = 64 KiB */
	uint32_t coalesce_size; /* most bytes of one coalesced request; 0 = 16 MiB */
	uint32_t coalesce_wait_us; /* how long a fetch waits for neighbours; 0 = not at all */
	uint64_t content_max;	   /* largest content of one chunk, 0 = 4 GiB */
};

struct reader;

/* Borrows @repo; copies what it needs of @options (may be NULL). */
int reader_new(struct repo *repo, const struct reader_options *options, struct reader **ret_reader,
	       struct error *err);
/* Waits for what is under way.  NULL is fine.  Always returns NULL. */
struct reader *reader_free(struct reader *reader);
DEFINE_CLEANUP(struct reader *, reader_free)
struct repo *reader_repo(struct reader *reader);

/* Immutable bytes with owners: content_free() is one owner less. */
struct content {
	struct slice bytes;
	uint32_t owners;       /* atomic */
	uint8_t *data;	       /* what bytes lends from */
	struct memory *memory; /* the budget that its bytes were taken from; NULL for none */
};
struct content *content_ref(struct content *content);
struct content *content_free(struct content *content);
DEFINE_CLEANUP(struct content *, content_free)

/* Counters for tests and status files. */
struct reader_counters {
	uint64_t fetches, fetched_bytes; /* requests to sources and chunk objects */
	uint64_t decodes;		 /* GRIB messages decoded */
	uint64_t cache_hits, joined;	 /* answered by the cache; by a flight under way */
	uint64_t failures;
	uint64_t cache_bytes;  /* of contents kept */
	uint64_t memory_bytes; /* of all contents, and buffers under way */
};
struct reader_counters reader_counters(const struct reader *reader);
