/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/reader.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <uthash.h>

#include "base/hash.h"
#include "base/time.h"
#include "reader/array.h"
#include "reader/fetch.h"
#include "reader/gribberish.h"
#include "reader/memory.h"
#include "zarr/grid.h"

/* A failing cached read of the kernel asks twice in a row; the memo answers the second. */
#define FAILURE_KEPT TIME_SECOND
#define TIMEOUT_MS 60000
#define CACHE_SIZE (UINT64_C(128) << 20)
#define CONTENT_MAX (UINT64_C(4) << 30)
#define COALESCE_GAP (UINT64_C(64) << 10)
#define COALESCE_SIZE (UINT64_C(16) << 20)

/* Everything that the content of a chunk depends on (decision 6). */
struct identity {
	uint8_t bytes[SHA256_SIZE];
};

enum entry_state { ENTRY_LOADING, ENTRY_READY, ENTRY_FAILED };

struct entry {
	struct identity identity;
	enum entry_state state;
	unsigned int waiters;	 /* threads that hold a pointer to it */
	bool gone;		 /* no longer in the table: the last waiter frees it */
	struct content *content; /* READY */
	int64_t until;		 /* FAILED: when it is forgotten */
	struct error error;
	struct entry *newer, *older; /* READY and FAILED: in order of use */
	UT_hash_handle hh;
};

struct reader {
	struct repo *repo;
	struct sources *sources;
	struct fetcher *fetcher;
	struct gribberish_context gribberish;
	struct zarr_registry registry;
	uint32_t timeout_ms;
	uint64_t cache_size, content_max;
	struct memory *memory;

	pthread_mutex_t mutex;
	pthread_cond_t changed;
	struct entry *entries;	       /* by identity */
	struct entry *newest, *oldest; /* READY and FAILED */
	uint64_t cached;
	atomic_uint_fast64_t hits, joined, failures;
};

static uint64_t or_default(uint64_t value, uint64_t normally)
{
	return value ? value : normally;
}

static int reader_init(struct reader *reader, const struct reader_options *options,
		       struct error *err)
{
	struct source_options sources = options->sources;
	const struct fetch_limits limits = {
		.gap = or_default(options->coalesce_gap, COALESCE_GAP),
		.size = or_default(options->coalesce_size, COALESCE_SIZE),
		.wait_us = options->coalesce_wait_us,
	};
	int r;

	reader->timeout_ms = (uint32_t)or_default(options->timeout_ms, TIMEOUT_MS);
	reader->cache_size = or_default(options->cache_size, CACHE_SIZE);
	reader->content_max = or_default(options->content_max, CONTENT_MAX);
	reader->gribberish.mode =
		options->decode == READER_DECODE_GRIBBERISH ? GRIB_GRIBBERISH : GRIB_WMO;
	reader->gribberish.workers = options->workers;
	reader->gribberish.timeout_ms = reader->timeout_ms;
	reader->registry.n = 1;
	reader->registry.codecs[0].ops = &gribberish_codec;
	reader->registry.codecs[0].context = &reader->gribberish;
	if (!sources.timeout_ms)
		sources.timeout_ms = reader->timeout_ms;
	r = sources_new(reader->repo, &sources, &reader->sources, err);
	if (r < 0)
		return r;
	r = memory_new(reader->cache_size, &reader->memory, err);
	if (r < 0)
		return r;
	return fetcher_new(&limits, &reader->fetcher, err);
}

int reader_new(struct repo *repo, const struct reader_options *options, struct reader **ret_reader,
	       struct error *err)
{
	CLEANUP(reader_freep) struct reader *reader = calloc(1, sizeof(*reader));
	const struct reader_options defaults = {0};
	pthread_condattr_t monotonic;
	int r;

	if (!reader)
		return error_memory(err);
	reader->repo = repo;
	pthread_mutex_init(&reader->mutex, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&reader->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	r = reader_init(reader, options ? options : &defaults, err);
	if (r < 0)
		return r;
	*ret_reader = TAKE(reader);
	return 0;
}

/* Takes @entry out of the order of use.  Under the mutex. */
static void entry_unlink(struct reader *reader, struct entry *entry)
{
	if (entry->newer)
		entry->newer->older = entry->older;
	else
		reader->newest = entry->older;
	if (entry->older)
		entry->older->newer = entry->newer;
	else
		reader->oldest = entry->newer;
	entry->newer = entry->older = NULL;
}

static void entry_link(struct reader *reader, struct entry *entry)
{
	entry->older = reader->newest;
	if (reader->newest)
		reader->newest->newer = entry;
	reader->newest = entry;
	if (!reader->oldest)
		reader->oldest = entry;
}

static void entry_free(struct entry *entry)
{
	content_free(entry->content);
	free(entry);
}

/* Takes a READY or FAILED entry out of the table; whoever waited for it still gets its result. */
static void entry_drop(struct reader *reader, struct entry *entry)
{
	entry_unlink(reader, entry);
	HASH_DEL(reader->entries, entry);
	if (entry->content)
		reader->cached -= entry->content->bytes.size;
	entry->gone = true;
	if (entry->waiters == 0)
		entry_free(entry);
}

struct reader *reader_free(struct reader *reader)
{
	if (!reader)
		return NULL;
	while (reader->oldest)
		entry_drop(reader, reader->oldest);
	fetcher_free(reader->fetcher);
	sources_free(reader->sources);
	memory_free(reader->memory);
	pthread_cond_destroy(&reader->changed);
	pthread_mutex_destroy(&reader->mutex);
	free(reader);
	return NULL;
}

struct repo *reader_repo(struct reader *reader)
{
	return reader->repo;
}

const struct zarr_registry *reader_registry(const struct reader *reader)
{
	return &reader->registry;
}

struct reader_counters reader_counters(const struct reader *reader)
{
	struct fetch_counters fetched = fetcher_counters(reader->fetcher);
	struct reader *shared = (struct reader *)reader;
	uint64_t cached;

	pthread_mutex_lock(&shared->mutex);
	cached = reader->cached;
	pthread_mutex_unlock(&shared->mutex);
	return (struct reader_counters){
		.fetches = fetched.requests,
		.fetched_bytes = fetched.bytes,
		.decodes = atomic_load(&reader->gribberish.decodes),
		.cache_hits = atomic_load(&reader->hits),
		.joined = atomic_load(&reader->joined),
		.failures = atomic_load(&reader->failures),
		.cache_bytes = cached,
		.memory_bytes = memory_used(reader->memory),
	};
}

/* ---- identities ---- */

static int append_u64(struct buf *out, uint64_t value, struct error *err)
{
	return buf_append(out, &value, sizeof(value), err);
}

static int append_place(struct buf *out, const struct chunk_ref *ref, struct error *err)
{
	int r = 0;

	switch (ref->kind) {
	case CHUNK_NATIVE:
		r = buf_append(out, &ref->chunk_id, sizeof(ref->chunk_id), err);
		break;
	case CHUNK_VIRTUAL:
		r = buf_append_slice(out, ref->location, err);
		break;
	default:
		r = buf_append_slice(out, ref->data, err);
		break;
	}
	if (r == 0)
		r = buf_append_byte(out, '\0', err);
	if (r == 0)
		r = buf_append_slice(out, ref->etag, err);
	if (r == 0)
		r = append_u64(out, ref->offset, err);
	if (r == 0)
		r = append_u64(out, ref->length, err);
	if (r == 0)
		r = append_u64(out, ref->last_modified, err);
	return r;
}

static int identify(const struct array *array, const struct chunk_ref *ref, const uint32_t *index,
		    enum chunk_form form, struct identity *ret_identity, struct error *err)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT(BUF_NO_LIMIT);
	uint64_t shape[ZARR_DIMS_MAX];
	int r;

	r = buf_append_byte(&text, (uint8_t)(ref->kind * 2 + form), err);
	if (r == 0)
		r = append_place(&text, ref, err);
	if (r == 0 && form == CHUNK_DECODED) {
		zarr_grid_chunk_shape(&array->metadata->grid, index, shape);
		r = buf_append(&text, shape, array->node.n_dims * sizeof(shape[0]), err);
		if (r == 0)
			r = buf_append(&text, array->identity, sizeof(array->identity), err);
	}
	if (r < 0)
		return r;
	return sha256(buf_slice(&text), ret_identity->bytes, err);
}

/* ---- fetching and decoding ---- */

static int fetch_native(struct reader *reader, const struct chunk_ref *ref, struct buf *out,
			struct error *err)
{
	char name[ID12_TEXT_LEN + 1];
	char key[sizeof("chunks/") + ID12_TEXT_LEN];
	int r;

	id12_format(&ref->chunk_id, name);
	snprintf(key, sizeof(key), "chunks/%s", name);
	r = fetcher_get(reader->fetcher, repo_store(reader->repo), key, ref->offset, ref->length,
			NULL, out, err);
	if (r == STORE_ABSENT)
		return error_set(err, ERR_ABSENT, "chunk object '%s' is referenced but missing",
				 key);
	return r;
}

/* Somebody may have encoded the name before it was stored (decision 8). */
static bool has_escape(struct slice location)
{
	return memchr(location.data, '%', location.size) != NULL;
}

static int fetch_virtual(struct reader *reader, const struct chunk_ref *ref, struct buf *out,
			 struct error *err)
{
	CLEANUP(freep) char *etag = NULL;
	struct store_condition condition = {.not_modified_after = ref->last_modified};
	struct source source = {0};
	int r;

	r = sources_find(reader->sources, ref->location, &source, err);
	if (r < 0)
		return r;
	if (ref->etag.size) {
		etag = slice_dup(ref->etag, err);
		if (!etag) {
			free(source.key);
			return ERR_MEMORY;
		}
		/* A reference's etag wins over its time (formats, section 4.1). */
		condition = (struct store_condition){.etag = etag};
	}
	r = fetcher_get(reader->fetcher, source.store, source.key, ref->offset, ref->length,
			&condition, out, err);
	free(source.key);
	if (r == STORE_ABSENT)
		return error_set(err, ERR_ABSENT, "source '%.*s' does not exist%s",
				 (int)ref->location.size, (const char *)ref->location.data,
				 has_escape(ref->location)
					 ? "; its writer may have percent-encoded the name, which "
					   "--locations percent undoes"
					 : "");
	/* A name that the store cannot have was given by the repository, not by our caller. */
	if (r == ERR_ARGUMENT && err)
		err->kind = ERR_FORMAT;
	/* The store has named the object already. */
	if (r < 0)
		return error_prefix(err, "%llu bytes at %llu", (unsigned long long)ref->length,
				    (unsigned long long)ref->offset);
	return 0;
}

static int fetch(struct reader *reader, const struct chunk_ref *ref, struct buf *out,
		 struct error *err)
{
	switch (ref->kind) {
	case CHUNK_INLINE:
		return buf_append_slice(out, ref->data, err);
	case CHUNK_NATIVE:
		return fetch_native(reader, ref, out, err);
	case CHUNK_VIRTUAL:
		return fetch_virtual(reader, ref, out, err);
	default:
		return error_set(err, ERR_FORMAT, "reference of an unknown kind");
	}
}

/* Bytes that the decoded chunk has. */
static int decoded_size(struct reader *reader, const struct array *array, const uint32_t *index,
			size_t *ret_size, struct error *err)
{
	uint64_t shape[ZARR_DIMS_MAX];
	size_t size;
	int r;

	if (array->unknown_codec)
		return error_set(err, ERR_UNSUPPORTED, "unknown codec '%s'", array->unknown_codec);
	if (!array->chain) {
		*err = array->cannot_decode;
		return err->kind;
	}
	zarr_grid_chunk_shape(&array->metadata->grid, index, shape);
	r = zarr_chain_chunk_bytes(array->chain, shape, &size, err);
	if (r < 0)
		return r;
	if (size > reader->content_max)
		return error_set(err, ERR_MEMORY,
				 "a chunk of %zu bytes is larger than the limit of %llu", size,
				 (unsigned long long)reader->content_max);
	*ret_size = size;
	return 0;
}

static int decode(const struct array *array, const uint32_t *index, struct slice stored,
		  size_t size, struct content **ret_content, struct error *err)
{
	CLEANUP(freep) uint8_t *bytes = malloc(size ? size : 1);
	uint64_t shape[ZARR_DIMS_MAX];
	int r;

	if (!bytes)
		return error_memory(err);
	zarr_grid_chunk_shape(&array->metadata->grid, index, shape);
	r = zarr_chain_decode(array->chain, shape, stored, bytes, size, err);
	if (r < 0)
		return r;
	*ret_content = content_new(bytes, size, err);
	if (!*ret_content)
		return ERR_MEMORY;
	bytes = NULL;
	return 0;
}

static int load_now(struct reader *reader, const struct array *array, const struct chunk_ref *ref,
		    const uint32_t *index, enum chunk_form form, size_t decoded,
		    struct content **ret_content, struct error *err)
{
	CLEANUP(buf_done) struct buf stored = BUF_INIT(reader->content_max);
	struct content *content;
	uint8_t *bytes;
	size_t size;
	int r;

	r = fetch(reader, ref, &stored, err);
	if (r < 0)
		return r;
	if (form == CHUNK_DECODED)
		return decode(array, index, buf_slice(&stored), decoded, ret_content, err);
	bytes = buf_take(&stored, &size);
	content = content_new(bytes, size, err);
	if (!content) {
		free(bytes);
		return ERR_MEMORY;
	}
	*ret_content = content;
	return 0;
}

static bool entries_make_room(struct reader *reader);

/* Takes @bytes of the budget: contents that are kept go first, then others are waited for. */
static int take_memory(struct reader *reader, uint64_t bytes, int64_t deadline, struct error *err)
{
	while (!memory_take(reader->memory, bytes)) {
		if (!entries_make_room(reader) && !memory_wait(reader->memory, bytes, deadline))
			return error_set(err, ERR_TIMEOUT,
					 "no memory for %llu bytes within %u ms: other reads have "
					 "it, up to the cache size",
					 (unsigned long long)bytes, reader->timeout_ms);
	}
	return 0;
}

static int load(struct reader *reader, const struct array *array, const struct chunk_ref *ref,
		const uint32_t *index, enum chunk_form form, int64_t deadline,
		struct content **ret_content, struct error *err)
{
	uint64_t stored = ref->kind == CHUNK_INLINE ? ref->data.size : ref->length;
	size_t decoded = 0;
	uint64_t bytes;
	int r = 0;

	if (form == CHUNK_DECODED)
		r = decoded_size(reader, array, index, &decoded, err);
	if (r < 0)
		return r;
	if (__builtin_add_overflow(stored, (uint64_t)decoded, &bytes) ||
	    stored > reader->content_max)
		return error_set(err, ERR_MEMORY,
				 "a stored chunk of %llu bytes is larger than the limit of %llu",
				 (unsigned long long)stored,
				 (unsigned long long)reader->content_max);
	r = take_memory(reader, bytes, deadline, err);
	if (r < 0)
		return r;
	r = load_now(reader, array, ref, index, form, decoded, ret_content, err);
	if (r < 0) {
		memory_give(reader->memory, bytes);
		return r;
	}
	/* What the content keeps it gives back itself. */
	(*ret_content)->memory = memory_ref(reader->memory);
	memory_give(reader->memory, bytes - (*ret_content)->bytes.size);
	return 0;
}

/* ---- the table of what is here, under way, or failed a moment ago ---- */

/*
 * Forgets what is too much or too old, the least recently used first; a walk ends where contents
 * may stay, so a failure that is over may stand a little longer behind them.  Under the mutex.
 */
static void entries_trim(struct reader *reader)
{
	int64_t now = time_monotonic();
	struct entry *entry, *newer;

	for (entry = reader->oldest; entry; entry = newer) {
		newer = entry->newer;
		if (entry->state == ENTRY_READY && reader->cached <= reader->cache_size)
			return;
		if (entry->state == ENTRY_READY || entry->until <= now)
			entry_drop(reader, entry);
	}
}

/* Lets go of the content that was not used for longest; false if none is kept. */
static bool entries_make_room(struct reader *reader)
{
	struct entry *entry;

	pthread_mutex_lock(&reader->mutex);
	for (entry = reader->oldest; entry && entry->state != ENTRY_READY; entry = entry->newer)
		;
	if (entry)
		entry_drop(reader, entry);
	pthread_mutex_unlock(&reader->mutex);
	return entry != NULL;
}

static struct entry *entry_find(struct reader *reader, const struct identity *identity)
{
	struct entry *entry;

	HASH_FIND(hh, reader->entries, identity, sizeof(*identity), entry);
	if (entry && entry->state == ENTRY_FAILED && entry->until <= time_monotonic()) {
		entry_drop(reader, entry);
		return NULL;
	}
	return entry;
}

/* A result out of a READY or FAILED entry.  Under the mutex. */
static int entry_result(struct reader *reader, struct entry *entry, struct content **ret_content,
			struct error *err)
{
	if (entry->state == ENTRY_FAILED) {
		if (err)
			*err = entry->error;
		return entry->error.kind;
	}
	if (!entry->gone) {
		entry_unlink(reader, entry);
		entry_link(reader, entry);
	}
	*ret_content = content_ref(entry->content);
	return 0;
}

static struct timespec timespec_of(int64_t monotonic)
{
	return (struct timespec){monotonic / TIME_SECOND, monotonic % TIME_SECOND * 1000};
}

/* Waits for somebody else's load.  Under the mutex. */
static int entry_wait(struct reader *reader, struct entry *entry, int64_t deadline,
		      struct content **ret_content, struct error *err)
{
	struct timespec until = timespec_of(deadline);
	int r = 0;

	atomic_fetch_add(&reader->joined, 1);
	entry->waiters++;
	while (entry->state == ENTRY_LOADING && r == 0)
		r = pthread_cond_timedwait(&reader->changed, &reader->mutex, &until);
	entry->waiters--;
	if (entry->state == ENTRY_LOADING)
		return error_set(err, ERR_TIMEOUT, "not there within %u ms", reader->timeout_ms);
	r = entry_result(reader, entry, ret_content, err);
	if (entry->gone && entry->waiters == 0)
		entry_free(entry);
	return r;
}

/* Ends a load: keeps content or failure and wakes who waits.  Under the mutex. */
static void entry_settle(struct reader *reader, struct entry *entry, int r, struct content *content,
			 const struct error *err)
{
	if (r == 0) {
		entry->state = ENTRY_READY;
		entry->content = content_ref(content);
		reader->cached += content->bytes.size;
	} else {
		entry->state = ENTRY_FAILED;
		entry->error = *err;
		entry->until = time_monotonic() + FAILURE_KEPT;
		atomic_fetch_add(&reader->failures, 1);
	}
	entry_link(reader, entry);
	pthread_cond_broadcast(&reader->changed);
	entries_trim(reader);
}

static int load_shared(struct reader *reader, const struct array *array,
		       const struct chunk_ref *ref, const uint32_t *index, enum chunk_form form,
		       const struct identity *identity, int64_t deadline,
		       struct content **ret_content, struct error *err)
{
	struct content *content = NULL;
	struct error own = ERROR_INIT;
	struct entry *entry;
	int r;

	pthread_mutex_lock(&reader->mutex);
	entry = entry_find(reader, identity);
	if (entry) {
		if (entry->state == ENTRY_LOADING) {
			r = entry_wait(reader, entry, deadline, ret_content, err);
		} else {
			atomic_fetch_add(&reader->hits, 1);
			r = entry_result(reader, entry, ret_content, err);
		}
		pthread_mutex_unlock(&reader->mutex);
		return r;
	}
	/* A read that waited for its turn until now must not fail for others as well. */
	if (deadline <= time_monotonic()) {
		pthread_mutex_unlock(&reader->mutex);
		return error_set(err, ERR_TIMEOUT, "not begun within %u ms", reader->timeout_ms);
	}
	entry = calloc(1, sizeof(*entry));
	if (!entry) {
		pthread_mutex_unlock(&reader->mutex);
		return error_memory(err);
	}
	entry->identity = *identity;
	HASH_ADD(hh, reader->entries, identity, sizeof(entry->identity), entry);
	pthread_mutex_unlock(&reader->mutex);

	r = load(reader, array, ref, index, form, deadline, &content, &own);

	pthread_mutex_lock(&reader->mutex);
	entry_settle(reader, entry, r, content, &own);
	pthread_mutex_unlock(&reader->mutex);
	if (r < 0) {
		if (err)
			*err = own;
		return r;
	}
	*ret_content = content;
	return 0;
}

int reader_load(struct reader *reader, struct checkout *checkout, const struct array *array,
		const uint32_t *index, enum chunk_form form, int64_t deadline,
		struct content **ret_content, struct error *err)
{
	CLEANUP(chunk_done) struct chunk chunk;
	struct identity identity;
	int r;

	chunk.pin = NULL;
	if (!deadline)
		deadline = time_monotonic() + (int64_t)reader->timeout_ms * 1000;
	if (!zarr_grid_holds(&array->metadata->grid, index))
		return REPO_ABSENT;
	r = checkout_locate(checkout, &array->node, index, &chunk, err);
	if (r != 0)
		return r;
	r = identify(array, &chunk.ref, index, form, &identity, err);
	if (r < 0)
		return r;
	return load_shared(reader, array, &chunk.ref, index, form, &identity, deadline, ret_content,
			   err);
}

int reader_try_load(struct reader *reader, struct checkout *checkout, const struct array *array,
		    const uint32_t *index, enum chunk_form form, struct content **ret_content,
		    struct error *err)
{
	CLEANUP(chunk_done) struct chunk chunk;
	struct identity identity;
	struct entry *entry;
	int r;

	chunk.pin = NULL;
	if (!zarr_grid_holds(&array->metadata->grid, index))
		return REPO_ABSENT;
	r = checkout_try_locate(checkout, &array->node, index, &chunk, err);
	if (r == 0)
		r = identify(array, &chunk.ref, index, form, &identity, err);
	if (r != 0)
		return r;
	pthread_mutex_lock(&reader->mutex);
	entry = entry_find(reader, &identity);
	if (entry && entry->state != ENTRY_LOADING) {
		atomic_fetch_add(&reader->hits, 1);
		r = entry_result(reader, entry, ret_content, err);
	} else {
		r = REPO_WOULD_LOAD;
	}
	pthread_mutex_unlock(&reader->mutex);
	return r;
}

int reader_failure(struct reader *reader, const struct array *array, const struct chunk *chunk,
		   const uint32_t *index, enum chunk_form form, struct error *err)
{
	struct identity identity;
	struct entry *entry;
	int r = 0;

	if (identify(array, &chunk->ref, index, form, &identity, NULL) < 0)
		return 0;
	pthread_mutex_lock(&reader->mutex);
	entry = entry_find(reader, &identity);
	if (entry && entry->state == ENTRY_FAILED)
		r = entry_result(reader, entry, NULL, err);
	pthread_mutex_unlock(&reader->mutex);
	return r;
}

int reader_permits(struct reader *reader, const struct chunk *chunk, struct error *err)
{
	struct source source = {0};
	int r;

	if (chunk->ref.kind != CHUNK_VIRTUAL)
		return 0;
	r = sources_find(reader->sources, chunk->ref.location, &source, err);
	free(source.key);
	return r;
}
