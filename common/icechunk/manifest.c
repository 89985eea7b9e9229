/* SPDX-License-Identifier: Apache-2.0 */
#include "icechunk/manifest.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <zstd.h>

#include "base/text.h"
#include "icechunk/manifest-internal.h"
#include "icechunk/schema.h"
#include "icechunk/search.h"

#define COMPRESSION_DICTIONARY 1 /* compression_algorithm, also its default */

/* References are looked at one by one: here only their vector is checked. */
static const struct flat_schema ref_schema = {.name = "ChunkRef"};

static const struct flat_field array_fields[] = {
	FIELD_ID8(ARRAY_NODE_ID, "node_id", true),
	FIELD_TABLES(ARRAY_REFS, &ref_schema, "refs", true),
};
static const struct flat_schema array_schema = SCHEMA("ArrayManifest", array_fields);

static const struct flat_field manifest_fields[] = {
	FIELD_ID12(MANIFEST_ID, "id", true),
	FIELD_TABLES(MANIFEST_ARRAYS, &array_schema, "arrays", true),
	FIELD_BYTES(MANIFEST_DICTIONARY, "location_dictionary", false),
	FIELD_SCALAR(MANIFEST_COMPRESSION, 1, "compression_algorithm", false),
};
static const struct flat_schema manifest_schema = SCHEMA("Manifest", manifest_fields);

struct manifest {
	struct buf payload;
	struct slice flat;
	uint32_t root;
	uint32_t arrays; /* position of the vector */
	uint64_t n_refs;
	ZSTD_DDict *dictionary; /* NULL if locations are plain */
};

/* One decompression context a thread, made when it is first needed. */
static pthread_key_t context_key;
static pthread_once_t context_once = PTHREAD_ONCE_INIT;
static int context_error;

static void free_context(void *context)
{
	ZSTD_freeDCtx(context);
}

static void make_context_key(void)
{
	context_error = pthread_key_create(&context_key, free_context);
}

static ZSTD_DCtx *thread_context(struct error *err)
{
	ZSTD_DCtx *context;

	pthread_once(&context_once, make_context_key);
	if (context_error) {
		error_set_errno(err, context_error, "cannot keep a decompression context");
		return NULL;
	}
	context = pthread_getspecific(context_key);
	if (context)
		return context;
	context = ZSTD_createDCtx();
	if (!context || pthread_setspecific(context_key, context) != 0) {
		ZSTD_freeDCtx(context);
		error_memory(err);
		return NULL;
	}
	return context;
}

static int open_dictionary(struct manifest *m, struct error *err)
{
	struct slice bytes = flat_get_bytes(m->flat, m->root, MANIFEST_DICTIONARY);
	uint8_t algorithm =
		flat_get_u8(m->flat, m->root, MANIFEST_COMPRESSION, COMPRESSION_DICTIONARY);

	if (algorithm != COMPRESSION_DICTIONARY || bytes.size == 0)
		return 0;
	m->dictionary = ZSTD_createDDict(bytes.data, bytes.size);
	if (!m->dictionary)
		return error_set(err, ERR_FORMAT, "location dictionary is not one of zstd's");
	return 0;
}

static int check_arrays(struct manifest *m, struct error *err)
{
	struct manifest_array before = {0}, array;
	int r;

	for (uint32_t i = 0; i < manifest_n_arrays(m); i++) {
		r = flat_verify_item(m->flat, m->arrays, i, &array_schema, err);
		if (r < 0)
			return r;
		array = manifest_array(m, i);
		if (i > 0 && id8_compare(&before.node, &array.node) >= 0)
			return error_set(err, ERR_FORMAT,
					 "arrays of the manifest are out of order");
		m->n_refs += array.n_refs;
		before = array;
	}
	return 0;
}

int manifest_open(struct buf *payload, struct manifest **ret_manifest, struct error *err)
{
	CLEANUP(manifest_freep) struct manifest *m = calloc(1, sizeof(*m));
	int r;

	if (!m)
		return error_memory(err);
	m->payload = flat_take(payload);
	m->flat = buf_slice(&m->payload);
	r = flat_verify_root(m->flat, &manifest_schema, err);
	if (r < 0)
		return r;
	m->root = flat_root(m->flat);
	m->arrays = flat_child(m->flat, m->root, MANIFEST_ARRAYS);
	r = check_arrays(m, err);
	if (r == 0)
		r = open_dictionary(m, err);
	if (r < 0)
		return r;
	*ret_manifest = TAKE(m);
	return 0;
}

struct manifest *manifest_free(struct manifest *manifest)
{
	if (!manifest)
		return NULL;
	ZSTD_freeDDict(manifest->dictionary);
	buf_done(&manifest->payload);
	free(manifest);
	return NULL;
}

const struct id12 *manifest_id(const struct manifest *m)
{
	return (const struct id12 *)(m->flat.data + flat_field(m->flat, m->root, MANIFEST_ID));
}

size_t manifest_memory(const struct manifest *m)
{
	return sizeof(*m) + m->payload.capacity +
	       (m->dictionary ? ZSTD_sizeof_DDict(m->dictionary) : 0);
}

struct slice manifest_dictionary(const struct manifest *m)
{
	if (!m->dictionary)
		return (struct slice){0};
	return flat_get_bytes(m->flat, m->root, MANIFEST_DICTIONARY);
}

struct slice manifest_bytes(const struct manifest *m)
{
	return m->flat;
}

uint64_t manifest_n_refs(const struct manifest *m)
{
	return m->n_refs;
}

uint32_t manifest_n_arrays(const struct manifest *m)
{
	return flat_count(m->flat, m->arrays);
}

struct manifest_array manifest_array(const struct manifest *m, uint32_t i)
{
	uint32_t table = flat_item(m->flat, m->arrays, i);
	struct manifest_array array = {._refs = flat_child(m->flat, table, ARRAY_REFS)};

	array.n_refs = flat_count(m->flat, array._refs);
	memcpy(&array.node, m->flat.data + flat_field(m->flat, table, ARRAY_NODE_ID),
	       sizeof(array.node));
	return array;
}

static int compare_array(const void *manifest, uint32_t i, const void *id)
{
	struct manifest_array array = manifest_array(manifest, i);

	return id8_compare(&array.node, id);
}

int manifest_find_array(const struct manifest *m, const struct id8 *id,
			struct manifest_array *ret_array)
{
	uint32_t i;

	if (!search_sorted(m, manifest_n_arrays(m), id, compare_array, &i)) {
		*ret_array = (struct manifest_array){.node = *id};
		return MANIFEST_ABSENT;
	}
	*ret_array = manifest_array(m, i);
	return 0;
}

/*
 * A reference's table.  Nothing in it was verified before, so each step checks where it goes; sums
 * are of 64 bits and buffers below 2 GiB, so none overflows.
 */
struct table {
	struct slice flat;
	uint64_t at;
	uint64_t vtable;
	unsigned int n_slots;
};

static bool has(struct slice flat, uint64_t at, uint64_t size)
{
	return at <= flat.size && size <= flat.size - at;
}

static bool find_table(struct slice flat, uint32_t refs, uint32_t i, struct table *ret_table)
{
	uint32_t slot = refs + 4 + 4 * i;
	uint64_t at = (uint64_t)slot + flat_u32(flat, slot);
	int64_t vtable;
	uint16_t size;

	if (at % 4 || !has(flat, at, 4))
		return false;
	vtable = (int64_t)at - (int32_t)flat_u32(flat, (uint32_t)at);
	if (vtable < 0 || vtable % 2 || !has(flat, (uint64_t)vtable, 4))
		return false;
	size = flat_u16(flat, (uint32_t)vtable);
	if (size < 4 || size % 2 || !has(flat, (uint64_t)vtable, size))
		return false;
	*ret_table = (struct table){flat, at, (uint64_t)vtable, (size - 4U) / 2};
	return true;
}

/* Position of field @slot, 0 if it is absent. */
static uint64_t field_at(const struct table *table, unsigned int slot)
{
	uint16_t offset;

	if (slot >= table->n_slots)
		return 0;
	offset = flat_u16(table->flat, (uint32_t)table->vtable + 4 + 2 * slot);
	return offset ? table->at + offset : 0;
}

/* The elements of the vector in field @slot; false if it leads outside.  Absent: data is NULL. */
static bool vector_at(const struct table *table, unsigned int slot, unsigned int element,
		      struct slice *ret_elements)
{
	uint64_t at = field_at(table, slot);
	uint64_t size;

	*ret_elements = (struct slice){0};
	if (!at)
		return true;
	if (!has(table->flat, at, 4))
		return false;
	at += flat_u32(table->flat, (uint32_t)at);
	if (at % 4 || !has(table->flat, at, 4))
		return false;
	size = (uint64_t)flat_u32(table->flat, (uint32_t)at) * element;
	if (!has(table->flat, at + 4, size))
		return false;
	*ret_elements = slice_of(table->flat.data + at + 4, (size_t)size);
	return true;
}

static bool scalar_at(const struct table *table, unsigned int slot, void *value, size_t size)
{
	uint64_t at = field_at(table, slot);

	memset(value, 0, size);
	if (!at)
		return true;
	if (!has(table->flat, at, size))
		return false;
	memcpy(value, table->flat.data + at, size);
	return true;
}

static bool index_of(const struct table *table, const uint32_t **ret_index, uint32_t *ret_n)
{
	struct slice index;

	if (!vector_at(table, REF_INDEX, sizeof(uint32_t), &index) || !index.data)
		return false;
	*ret_index = (const uint32_t *)(const void *)index.data;
	*ret_n = (uint32_t)(index.size / sizeof(uint32_t));
	return true;
}

/* Found long after the manifest was opened, so the caller's words do not name it. */
__attribute__((format(printf, 4, 5))) static int broken_ref(const struct manifest *m, uint32_t i,
							    struct error *err, const char *format,
							    ...)
{
	char name[ID12_TEXT_LEN + 1], what[128];
	va_list args;

	id12_format(manifest_id(m), name);
	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	return error_set(err, ERR_FORMAT, "reference %u of manifest %s: %s", i, name, what);
}

/* Index @i and its table. */
static int load_index(const struct manifest *m, const struct manifest_array *array, uint32_t i,
		      struct table *ret_table, const uint32_t **ret_index, uint32_t *ret_n,
		      struct error *err)
{
	if (!find_table(m->flat, array->_refs, i, ret_table) ||
	    !index_of(ret_table, ret_index, ret_n))
		return broken_ref(m, i, err, "leads outside the file");
	return 0;
}

int manifest_index(const struct manifest *m, const struct manifest_array *array, uint32_t i,
		   const uint32_t **ret_index, uint32_t *ret_n_dims, struct error *err)
{
	struct table table;

	return load_index(m, array, i, &table, ret_index, ret_n_dims, err);
}

int index_compare(const uint32_t *a, const uint32_t *b, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (a[i] != b[i])
			return a[i] < b[i] ? -1 : 1;
	return 0;
}

int manifest_decompress(const struct manifest *m, struct slice stored,
			uint8_t scratch[MANIFEST_SCRATCH], struct slice *ret_text,
			struct error *err)
{
	ZSTD_DCtx *context;
	size_t n;

	if (!m->dictionary)
		return error_set(err, ERR_FORMAT, "compressed location without dictionary");
	context = thread_context(err);
	if (!context)
		return ERR_MEMORY;
	n = ZSTD_decompress_usingDDict(context, scratch, MANIFEST_SCRATCH, stored.data, stored.size,
				       m->dictionary);
	if (ZSTD_isError(n))
		return error_set(err, ERR_FORMAT, "cannot decompress its location: %s",
				 ZSTD_getErrorName(n));
	*ret_text = slice_of(scratch, n);
	return text_is_utf8(*ret_text) ? 0 : error_set(err, ERR_FORMAT, "location is not UTF-8");
}

size_t manifest_stored_length(struct slice stored)
{
	unsigned long long n = ZSTD_getFrameContentSize(stored.data, stored.size);

	return n <= MANIFEST_SCRATCH ? (size_t)n : 0;
}

static int fill_location(const struct manifest *m, struct slice compressed, struct chunk_ref *ref,
			 struct manifest_iter *iter, uint32_t i, struct error *err)
{
	uint32_t at = (uint32_t)(compressed.data - m->flat.data);
	struct error cause = ERROR_INIT;
	int r;

	if (iter && iter->_as_stored && manifest_stored_length(compressed) > 0)
		return 0;
	if (iter && iter->_location == at) {
		ref->location = slice_of(ref->scratch, iter->_location_size);
		return 0;
	}
	if (iter)
		iter->_location = 0;
	r = manifest_decompress(m, compressed, ref->scratch, &ref->location, &cause);
	if (r == ERR_FORMAT)
		return broken_ref(m, i, err, "%s", cause.text);
	if (r < 0)
		return error_set(err, r, "%s", cause.text);
	if (iter) {
		iter->_location = at;
		iter->_location_size = ref->location.size;
	}
	return 0;
}

static int fill_virtual(const struct manifest *m, const struct table *table,
			struct slice compressed, struct chunk_ref *ref, struct manifest_iter *iter,
			uint32_t i, struct error *err)
{
	ref->kind = CHUNK_VIRTUAL;
	ref->compressed = compressed.data != NULL;
	ref->stored = compressed;
	if (!vector_at(table, REF_ETAG, 1, &ref->etag) ||
	    !scalar_at(table, REF_LAST_MODIFIED, &ref->last_modified, sizeof(ref->last_modified)))
		return broken_ref(m, i, err, "leads outside the file");
	if (ref->etag.data && !text_is_utf8(ref->etag))
		return broken_ref(m, i, err, "etag is not UTF-8");
	if (compressed.data)
		return fill_location(m, compressed, ref, iter, i, err);
	return text_is_utf8(ref->location) ? 0 : broken_ref(m, i, err, "location is not UTF-8");
}

/* Decodes the table; the first of chunk id, compressed location, location and inline data counts.
 */
static int fill_ref(const struct manifest *m, const struct table *table, uint32_t i,
		    struct chunk_ref *ref, struct manifest_iter *iter, struct error *err)
{
	struct slice compressed;
	uint64_t end;

	ref->etag = ref->stored = (struct slice){0};
	ref->last_modified = 0;
	ref->compressed = false;
	if (!vector_at(table, REF_INLINE, 1, &ref->data) ||
	    !vector_at(table, REF_LOCATION, 1, &ref->location) ||
	    !vector_at(table, REF_COMPRESSED_LOCATION, 1, &compressed) ||
	    !scalar_at(table, REF_OFFSET, &ref->offset, sizeof(ref->offset)) ||
	    !scalar_at(table, REF_LENGTH, &ref->length, sizeof(ref->length)) ||
	    !scalar_at(table, REF_CHUNK_ID, &ref->chunk_id, sizeof(ref->chunk_id)))
		return broken_ref(m, i, err, "leads outside the file");
	if (__builtin_add_overflow(ref->offset, ref->length, &end))
		return broken_ref(m, i, err, "offset and length are beyond 64 bits");
	if (field_at(table, REF_CHUNK_ID)) {
		ref->kind = CHUNK_NATIVE;
		return 0;
	}
	if (compressed.data || ref->location.data)
		return fill_virtual(m, table, compressed, ref, iter, i, err);
	if (!ref->data.data)
		return broken_ref(m, i, err, "neither data nor place");
	ref->kind = CHUNK_INLINE;
	ref->offset = 0;
	ref->length = ref->data.size;
	return 0;
}

int manifest_ref(const struct manifest *m, const struct manifest_array *array, uint32_t i,
		 struct chunk_ref *ret_ref, struct error *err)
{
	struct table table;
	int r;

	r = load_index(m, array, i, &table, &ret_ref->index, &ret_ref->n_dims, err);
	if (r < 0)
		return r;
	return fill_ref(m, &table, i, ret_ref, NULL, err);
}

void manifest_iter_init(struct manifest_iter *iter, const struct manifest *manifest,
			const struct manifest_array *array, uint32_t from)
{
	iter->_manifest = manifest;
	iter->_array = *array;
	iter->_next = from;
	iter->_location = 0;
	iter->_as_stored = false;
}

void manifest_iter_as_stored(struct manifest_iter *iter)
{
	iter->_as_stored = true;
}

int manifest_iter_next(struct manifest_iter *iter, struct error *err)
{
	struct chunk_ref *ref = &iter->ref;
	struct table table;
	uint32_t i = iter->_next;
	int r;

	if (i >= iter->_array.n_refs)
		return MANIFEST_ABSENT;
	r = load_index(iter->_manifest, &iter->_array, i, &table, &ref->index, &ref->n_dims, err);
	if (r < 0)
		return r;
	iter->_next++;
	return fill_ref(iter->_manifest, &table, i, ref, iter, err);
}

/*
 * Where @index would be if the box were filled evenly: exact for the usual manifest, which holds
 * every chunk of its box.
 */
static uint32_t guess(const struct manifest_array *array, const uint32_t *index, uint32_t n_dims,
		      const struct extent *box)
{
	double rank = 0, volume = 1, place;

	for (uint32_t i = 0; i < n_dims; i++) {
		double width = (double)box[i].to - box[i].from;

		rank = rank * width + ((double)index[i] - box[i].from);
		volume *= width;
	}
	place = volume == array->n_refs ? rank : rank / volume * array->n_refs;
	/* Written so that a NaN of an empty box fails as well. */
	if (!(place >= 0))
		return 0;
	return place < array->n_refs - 1.0 ? (uint32_t)place : array->n_refs - 1;
}

/* One search: what was found out so far is that the place is in [low, high]. */
struct search {
	const struct manifest *manifest;
	const struct manifest_array *array;
	const uint32_t *index;
	uint32_t n_dims;
	uint32_t low, high;
	uint32_t at; /* the last probe, its table and index */
	struct table table;
	const uint32_t *found;
	struct error *err;
};

enum { BELOW = 0, EQUAL = 1, ABOVE = 2 };

/* Compares reference @i with the index sought and narrows the range. */
static int probe(struct search *s, uint32_t i)
{
	uint32_t n = 0;
	int r, order;

	s->at = i;
	r = load_index(s->manifest, s->array, i, &s->table, &s->found, &n, s->err);
	if (r < 0)
		return r;
	if (n != s->n_dims)
		return broken_ref(s->manifest, i, s->err, "has %u coordinates, not %u", n,
				  s->n_dims);
	order = index_compare(s->found, s->index, n);
	if (order == 0)
		return EQUAL;
	if (order < 0)
		s->low = i + 1;
	else
		s->high = i;
	return order < 0 ? BELOW : ABOVE;
}

/* Widening steps from a guess that was wrong, until the place is between two probes. */
static int gallop(struct search *s, uint32_t from)
{
	uint64_t step = 1;
	int side, r;

	side = probe(s, from);
	while (side == BELOW && from + step < s->high) {
		r = probe(s, (uint32_t)(from + step));
		if (r != BELOW)
			return r;
		step *= 2;
	}
	while (side == ABOVE && step <= from && from - step >= s->low) {
		r = probe(s, (uint32_t)(from - step));
		if (r != ABOVE)
			return r;
		step *= 2;
	}
	return side;
}

int manifest_find(const struct manifest *m, const struct manifest_array *array,
		  const uint32_t *index, uint32_t n_dims, const struct extent *box,
		  struct chunk_ref *ret_ref, struct error *err)
{
	struct search s = {.manifest = m,
			   .array = array,
			   .index = index,
			   .n_dims = n_dims,
			   .high = array->n_refs,
			   .err = err};
	int r = BELOW;

	if (box && array->n_refs > 0)
		r = gallop(&s, guess(array, index, n_dims, box));
	while (r >= 0 && r != EQUAL && s.low < s.high)
		r = probe(&s, s.low + (s.high - s.low) / 2);
	if (r < 0)
		return r;
	if (r != EQUAL) {
		ret_ref->kind = CHUNK_ABSENT;
		return MANIFEST_ABSENT;
	}
	ret_ref->index = s.found;
	ret_ref->n_dims = n_dims;
	return fill_ref(m, &s.table, s.at, ret_ref, NULL, err);
}

int manifest_lower_bound(const struct manifest *m, const struct manifest_array *array,
			 const uint32_t *index, uint32_t n_dims, uint32_t *ret_i, struct error *err)
{
	uint32_t low = 0, high = array->n_refs;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const uint32_t *found;
		uint32_t n;
		int r, order;

		r = manifest_index(m, array, middle, &found, &n, err);
		if (r < 0)
			return r;
		order = index_compare(found, index, n < n_dims ? n : n_dims);
		if (order < 0 || (order == 0 && n < n_dims))
			low = middle + 1;
		else
			high = middle;
	}
	*ret_i = low;
	return 0;
}

static int verify_array(const struct manifest *m, const struct manifest_array *array,
			struct manifest_iter *iter, struct error *err)
{
	const uint32_t *before = NULL;
	uint32_t n_before = 0;
	int r;

	manifest_iter_init(iter, m, array, 0);
	while ((r = manifest_iter_next(iter, err)) == 0) {
		if (before && iter->ref.n_dims != n_before)
			return broken_ref(m, iter->_next - 1, err, "another number of coordinates");
		if (before && index_compare(before, iter->ref.index, n_before) >= 0)
			return broken_ref(m, iter->_next - 1, err, "out of order");
		before = iter->ref.index;
		n_before = iter->ref.n_dims;
	}
	return r < 0 ? r : 0;
}

int manifest_verify(const struct manifest *m, struct error *err)
{
	struct manifest_iter *iter = malloc(sizeof(*iter));
	int r = 0;

	if (!iter)
		return error_memory(err);
	for (uint32_t i = 0; r == 0 && i < manifest_n_arrays(m); i++) {
		struct manifest_array array = manifest_array(m, i);

		r = verify_array(m, &array, iter, err);
	}
	free(iter);
	return r;
}
