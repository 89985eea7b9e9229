/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <zdict.h>
#include <zstd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "icechunk/intern.h"
#include "icechunk/manifest-internal.h"
#include "icechunk/schema.h"

/*
 * A manifest is written in three parts that follow each other: the front (root, arrays,
 * dictionary), the slots (one vector of offsets an array), and the body (vtables, a table and an
 * index for each reference, then texts).  Offsets within the body hold wherever it comes to lie.
 * Slots and fields hold positions in the body, or numbers of texts, until everything is known; then
 * they are made offsets in place. Thus each reference is written once, whatever the number of
 * references, and texts that several references share are written once too.
 */

#define ALIGN 8
#define LOCATION_MAX 1024     /* longest location that the public library can decompress */
#define SHORT_SAMPLE 8	      /* of too many shorter ones no dictionary can be trained */
#define OUTGROWN 4	      /* a dictionary serves up to so many times the references */
#define APPARENT_MAX FLAT_MAX /* bytes that the public library's verifier visits */
#define COPIED (1U << 31)     /* flag in the number of a location; there are never so many */

/* Tables of the body.  Offsets within a table are the same for all kinds. */
enum {
	AT_INDEX = 4,
	AT_OFFSET = 8,
	AT_INLINE = 8,
	AT_LENGTH = 16,
	AT_LOCATION = 24,
	AT_CHUNK_ID = 24,
	AT_CHECK = 28,
};

enum table_kind {
	TABLE_INLINE,
	TABLE_NATIVE,
	TABLE_PLAIN,
	TABLE_PLAIN_ETAG,
	TABLE_PLAIN_MODIFIED,
	TABLE_COMPRESSED,
	TABLE_COMPRESSED_ETAG,
	TABLE_COMPRESSED_MODIFIED,
	N_TABLES
};

#define PLAIN_TO_COMPRESSED (TABLE_COMPRESSED - TABLE_PLAIN)
#define VTABLE_SLOTS 9
#define VTABLE_SIZE (4 + 2 * VTABLE_SLOTS + 2) /* padded to the alignment of offsets */

struct vtable {
	uint16_t size;
	uint16_t table;
	uint16_t slots[VTABLE_SLOTS];
	uint16_t pad;
};
_Static_assert(sizeof(struct vtable) == VTABLE_SIZE, "as stored");
_Static_assert(VTABLE_SIZE *N_TABLES % ALIGN == 0, "tables follow aligned");

#define VTABLE(bytes, ...)                                                             \
	{                                                                              \
		.size = 4 + 2 * VTABLE_SLOTS, .table = bytes, .slots = { __VA_ARGS__ } \
	}
#define PLACE [REF_INDEX] = AT_INDEX, [REF_OFFSET] = AT_OFFSET, [REF_LENGTH] = AT_LENGTH

static const struct vtable vtables[N_TABLES] = {
	[TABLE_INLINE] = VTABLE(12, [REF_INDEX] = AT_INDEX, [REF_INLINE] = AT_INLINE),
	[TABLE_NATIVE] = VTABLE(36, PLACE, [REF_CHUNK_ID] = AT_CHUNK_ID),
	[TABLE_PLAIN] = VTABLE(28, PLACE, [REF_LOCATION] = AT_LOCATION),
	[TABLE_PLAIN_ETAG] = VTABLE(32, PLACE, [REF_LOCATION] = AT_LOCATION, [REF_ETAG] = AT_CHECK),
	[TABLE_PLAIN_MODIFIED] =
		VTABLE(32, PLACE, [REF_LOCATION] = AT_LOCATION, [REF_LAST_MODIFIED] = AT_CHECK),
	[TABLE_COMPRESSED] = VTABLE(28, PLACE, [REF_COMPRESSED_LOCATION] = AT_LOCATION),
	[TABLE_COMPRESSED_ETAG] =
		VTABLE(32, PLACE, [REF_COMPRESSED_LOCATION] = AT_LOCATION, [REF_ETAG] = AT_CHECK),
	[TABLE_COMPRESSED_MODIFIED] = VTABLE(
		32, PLACE, [REF_COMPRESSED_LOCATION] = AT_LOCATION, [REF_LAST_MODIFIED] = AT_CHECK),
};

struct built_array {
	struct id8 node;
	uint32_t slots; /* position of its vector in the slots */
	uint32_t n_refs;
};

DEFINE_VEC(built_arrays, struct built_array);
DEFINE_VEC(box, struct extent);
DEFINE_VEC(coordinates, uint32_t);

struct manifest_builder {
	struct id12 id;
	struct manifest_options options;
	struct built_arrays arrays;
	struct buf front, slots, body;
	struct intern locations, etags;
	struct intern copied; /* locations as the adopted manifest has them stored */

	/* The array begun last */
	struct box box;
	struct coordinates before; /* index of its last reference */
	uint32_t n_dims;

	uint64_t n_refs, n_virtual;
	uint64_t apparent; /* bytes that a verifier visits */
	uint32_t *samples; /* numbers of locations; COPIED is a flag */
	uint32_t n_samples;
	uint64_t random;
	struct buf dictionary;
	const struct manifest *adopted; /* NULL if there is none */
	bool keeps_dictionary;		/* of the adopted manifest */
	bool ended;
};

int manifest_builder_new(const struct id12 *id, const struct manifest_options *options,
			 struct manifest_builder **ret_builder, struct error *err)
{
	CLEANUP(manifest_builder_freep) struct manifest_builder *b = calloc(1, sizeof(*b));
	int r;

	if (!b)
		return error_memory(err);
	b->id = *id;
	b->options = *options;
	b->front = b->slots = b->body = BUF_INIT(FLAT_MAX);
	b->dictionary = BUF_INIT(UINT32_MAX);
	b->locations = b->etags = b->copied = INTERN_INIT;
	/* Any seed does; a fixed one makes equal references give equal files. */
	b->random = UINT64_C(0x9e3779b97f4a7c15);
	b->samples = calloc(options->max_samples ? options->max_samples : 1, sizeof(*b->samples));
	if (!b->samples)
		return error_memory(err);
	r = buf_append(&b->body, vtables, sizeof(vtables), err);
	if (r < 0)
		return r;
	*ret_builder = TAKE(b);
	return 0;
}

struct manifest_builder *manifest_builder_free(struct manifest_builder *b)
{
	if (!b)
		return NULL;
	built_arrays_done(&b->arrays);
	buf_done(&b->front);
	buf_done(&b->slots);
	buf_done(&b->body);
	buf_done(&b->dictionary);
	intern_done(&b->locations);
	intern_done(&b->etags);
	intern_done(&b->copied);
	box_done(&b->box);
	coordinates_done(&b->before);
	free(b->samples);
	free(b);
	return NULL;
}

bool manifest_builder_adopt(struct manifest_builder *b, const struct manifest *manifest)
{
	struct slice bytes = manifest_dictionary(manifest);
	ZSTD_CDict *dictionary;

	if (bytes.size == 0 || bytes.size > b->options.max_dictionary)
		return false;
	/* What decompresses may be unfit to compress with. */
	dictionary = ZSTD_createCDict(bytes.data, bytes.size, b->options.location_level);
	if (dictionary)
		b->adopted = manifest;
	ZSTD_freeCDict(dictionary);
	return b->adopted != NULL;
}

/* The vector of slots begins with its count. */
static void close_array(struct manifest_builder *b)
{
	const struct built_array *last;

	if (b->arrays.n == 0)
		return;
	last = &b->arrays.items[b->arrays.n - 1];
	memcpy(b->slots.data + last->slots, &last->n_refs, sizeof(last->n_refs));
}

int manifest_builder_array(struct manifest_builder *b, const struct id8 *node, uint32_t n_dims,
			   struct error *err)
{
	static const uint8_t count[4];
	struct built_array array = {.node = *node, .slots = (uint32_t)b->slots.size};
	int r;

	if (b->arrays.n > 0 && id8_compare(&b->arrays.items[b->arrays.n - 1].node, node) >= 0)
		return error_set(err, ERR_ARGUMENT, "arrays of a manifest are not sorted by id");
	if (n_dims > MANIFEST_MAX_DIMS)
		return error_set(err, ERR_ARGUMENT, "an array of %u dimensions", n_dims);
	close_array(b);
	b->n_dims = n_dims;
	b->box.n = b->before.n = 0;
	for (uint32_t i = 0; i < n_dims; i++) {
		r = box_push(&b->box, (struct extent){UINT32_MAX, 0}, err);
		if (r == 0)
			r = coordinates_push(&b->before, 0, err);
		if (r < 0)
			return r;
	}
	r = buf_append(&b->slots, count, sizeof(count), err);
	return r < 0 ? r : built_arrays_push(&b->arrays, array, err);
}

static int check_index(const struct manifest_builder *b, const struct chunk_ref *ref,
		       struct error *err)
{
	const struct built_array *array = &b->arrays.items[b->arrays.n - 1];

	if (ref->n_dims != b->n_dims)
		return error_set(err, ERR_ARGUMENT,
				 "reference of %u coordinates in an array of %u dimensions",
				 ref->n_dims, b->n_dims);
	if (array->n_refs > 0 && index_compare(b->before.items, ref->index, b->n_dims) >= 0)
		return error_set(err, ERR_ARGUMENT, "references are out of order");
	for (uint32_t i = 0; i < b->n_dims; i++)
		if (ref->index[i] == UINT32_MAX)
			return error_set(err, ERR_ARGUMENT, "chunk coordinate 2^32 - 1");
	return 0;
}

static int check_place(const struct chunk_ref *ref, struct error *err)
{
	uint64_t end;

	if (ref->length == 0 || __builtin_add_overflow(ref->offset, ref->length, &end))
		return error_set(err, ERR_ARGUMENT, "reference of %llu bytes at offset %llu",
				 (unsigned long long)ref->length, (unsigned long long)ref->offset);
	return 0;
}

static bool holds(struct slice bytes, struct slice part)
{
	uintptr_t at = (uintptr_t)part.data, begin = (uintptr_t)bytes.data;

	return at >= begin && at - begin <= bytes.size && part.size <= bytes.size - (at - begin);
}

/* Is the location one that can be copied as it is stored? */
static bool is_stored(const struct manifest_builder *b, const struct chunk_ref *ref)
{
	return b->adopted && !ref->location.data && ref->stored.size > 0 &&
	       holds(manifest_bytes(b->adopted), ref->stored);
}

static int check_texts(const struct manifest_builder *b, const struct chunk_ref *ref,
		       struct error *err)
{
	if (is_stored(b, ref))
		return 0;
	if (ref->location.size == 0 || ref->location.size >= FLAT_MAX)
		return error_set(err, ERR_ARGUMENT, "location of %zu bytes", ref->location.size);
	return 0;
}

static int check_ref(const struct manifest_builder *b, const struct chunk_ref *ref,
		     struct error *err)
{
	int r;

	if (b->arrays.n == 0 || b->ended)
		return error_set(err, ERR_ARGUMENT, "reference without an array");
	r = check_index(b, ref, err);
	if (r < 0)
		return r;
	switch (ref->kind) {
	case CHUNK_INLINE:
		return ref->data.size > 0 ? 0 : error_set(err, ERR_ARGUMENT, "chunk of 0 bytes");
	case CHUNK_NATIVE:
		return check_place(ref, err);
	case CHUNK_VIRTUAL:
		r = check_place(ref, err);
		return r < 0 ? r : check_texts(b, ref, err);
	default:
		return error_set(err, ERR_ARGUMENT, "reference of no kind");
	}
}

/* New texts alone need a look; those that are there already were checked. */
static int intern_checked(struct intern *intern, struct slice text, uint32_t *ret_number,
			  struct error *err)
{
	size_t n = intern->texts.n;
	int r;

	r = intern_text(intern, text, ret_number, err);
	if (r < 0 || intern->texts.n == n || text_is_utf8(text))
		return r;
	intern_forget_last(intern);
	return error_set(err, ERR_ARGUMENT, "text is not UTF-8");
}

static uint32_t next_random(struct manifest_builder *b, uint64_t below)
{
	b->random ^= b->random << 13;
	b->random ^= b->random >> 7;
	b->random ^= b->random << 17;
	return (uint32_t)((b->random >> 32) * below >> 32);
}

/* Keeps each of the locations so far with equal chance ("Algorithm R"). */
static void sample(struct manifest_builder *b, uint32_t location)
{
	uint32_t at = b->n_samples;

	if (at < b->options.max_samples)
		b->n_samples++;
	else
		at = b->n_virtual < UINT32_MAX ? next_random(b, b->n_virtual + 1) : UINT32_MAX;
	if (at < b->options.max_samples)
		b->samples[at] = location;
}

static void put32(uint8_t *at, uint32_t value)
{
	memcpy(at, &value, sizeof(value));
}

static void put64(uint8_t *at, uint64_t value)
{
	memcpy(at, &value, sizeof(value));
}

static uint32_t vtable_at(enum table_kind kind)
{
	return (uint32_t)kind * VTABLE_SIZE;
}

static enum table_kind virtual_kind(const struct chunk_ref *ref)
{
	if (ref->etag.data)
		return TABLE_PLAIN_ETAG;
	return ref->last_modified ? TABLE_PLAIN_MODIFIED : TABLE_PLAIN;
}

/* Number of the reference's location. */
static int put_location_number(struct manifest_builder *b, const struct chunk_ref *ref,
			       uint32_t *ret_number, struct error *err)
{
	int r;

	if (!is_stored(b, ref))
		return intern_checked(&b->locations, ref->location, ret_number, err);
	r = intern_text(&b->copied, ref->stored, ret_number, err);
	*ret_number |= COPIED;
	return r;
}

/* Fields of a native or virtual reference; numbers of texts stand where their offsets will. */
static int put_place(struct manifest_builder *b, uint8_t *table, enum table_kind kind,
		     const struct chunk_ref *ref, struct error *err)
{
	uint32_t location, etag = ref->last_modified;
	int r;

	put64(table + AT_OFFSET, ref->offset);
	put64(table + AT_LENGTH, ref->length);
	if (kind == TABLE_NATIVE) {
		memcpy(table + AT_CHUNK_ID, ref->chunk_id.bytes, sizeof(ref->chunk_id.bytes));
		return 0;
	}
	r = put_location_number(b, ref, &location, err);
	if (r == 0 && kind == TABLE_PLAIN_ETAG)
		r = intern_checked(&b->etags, ref->etag, &etag, err);
	if (r < 0)
		return r;
	put32(table + AT_LOCATION, location);
	if (kind != TABLE_PLAIN)
		put32(table + AT_CHECK, etag);
	sample(b, location);
	b->n_virtual++;
	return 0;
}

static void put_inline(uint8_t *table, uint32_t at, struct slice data)
{
	put32(table + AT_INLINE, at - AT_INLINE);
	put32(table + at, (uint32_t)data.size);
	memcpy(table + at + 4, data.data, data.size);
}

static enum table_kind kind_of(const struct chunk_ref *ref)
{
	switch (ref->kind) {
	case CHUNK_INLINE:
		return TABLE_INLINE;
	case CHUNK_NATIVE:
		return TABLE_NATIVE;
	default:
		return virtual_kind(ref);
	}
}

/*
 * What the public library's verifier counts for one reference without its texts: offsets, the
 * vtable and a look into it for each slot, the fields.
 */
static uint64_t apparent_bytes(const struct chunk_ref *ref)
{
	uint64_t inline_bytes = ref->kind == CHUNK_INLINE ? ref->data.size : 0;

	return 96 + 4 * (uint64_t)ref->n_dims + inline_bytes;
}

static int too_large(const struct manifest_builder *b, struct error *err)
{
	return error_set(
		err, ERR_UNSUPPORTED,
		"manifest of more than %llu references, which readers refuse: split the array",
		(unsigned long long)b->n_refs);
}

/* Room for a table with all its parts, unless the whole would become larger than readers take. */
static int reserve(struct manifest_builder *b, const struct chunk_ref *ref, uint64_t size,
		   struct error *err)
{
	uint64_t texts = b->locations.arena.total + b->etags.arena.total + b->copied.arena.total;
	uint64_t total = b->body.size + b->slots.size + texts + size + UINT16_MAX;
	int r;

	if (ref->kind == CHUNK_VIRTUAL)
		total += ref->location.size + ref->stored.size + ref->etag.size;
	if (total >= FLAT_MAX || b->apparent + apparent_bytes(ref) >= APPARENT_MAX)
		return too_large(b, err);
	r = buf_reserve(&b->body, size, err);
	return r < 0 ? r : buf_reserve(&b->slots, 4, err);
}

static void note_index(struct manifest_builder *b, const uint32_t *index)
{
	for (uint32_t i = 0; i < b->n_dims; i++) {
		struct extent *extent = &b->box.items[i];

		if (index[i] < extent->from)
			extent->from = index[i];
		if (index[i] >= extent->to)
			extent->to = index[i] + 1;
		b->before.items[i] = index[i];
	}
}

int manifest_builder_add(struct manifest_builder *b, const struct chunk_ref *ref, struct error *err)
{
	enum table_kind kind = kind_of(ref);
	uint32_t index = vtables[kind].table;
	uint32_t data = index + 4 + 4 * ref->n_dims;
	uint64_t size = kind == TABLE_INLINE ? data + 4 + (uint64_t)ref->data.size : data;
	uint8_t *table;
	int r;

	size = (size + ALIGN - 1) & ~(uint64_t)(ALIGN - 1);
	r = check_ref(b, ref, err);
	if (r == 0)
		r = reserve(b, ref, size, err);
	if (r < 0)
		return r;
	table = b->body.data + b->body.size;
	memset(table + size - ALIGN, 0, ALIGN);
	put32(table, (uint32_t)b->body.size - vtable_at(kind));
	put32(table + AT_INDEX, index - AT_INDEX);
	put32(table + index, ref->n_dims);
	if (ref->n_dims)
		memcpy(table + index + 4, ref->index, 4 * (size_t)ref->n_dims);
	if (kind == TABLE_INLINE)
		put_inline(table, data, ref->data);
	else
		r = put_place(b, table, kind, ref, err);
	if (r < 0)
		return r;
	put32(b->slots.data + b->slots.size, (uint32_t)b->body.size);
	b->slots.size += 4;
	b->body.size += size;
	b->apparent += apparent_bytes(ref);
	b->arrays.items[b->arrays.n - 1].n_refs++;
	b->n_refs++;
	note_index(b, ref->index);
	return 0;
}

uint64_t manifest_builder_n_refs(const struct manifest_builder *b)
{
	return b->n_refs;
}

size_t manifest_builder_memory(const struct manifest_builder *b)
{
	return sizeof(*b) + b->front.capacity + b->slots.capacity + b->body.capacity +
	       b->dictionary.capacity + intern_memory(&b->locations) + intern_memory(&b->etags) +
	       intern_memory(&b->copied) + b->options.max_samples * sizeof(*b->samples);
}

const struct extent *manifest_builder_extents(const struct manifest_builder *b)
{
	return b->box.items;
}

/* The text of location @number; it may lie in @scratch. */
static int location_text(const struct manifest_builder *b, uint32_t number,
			 uint8_t scratch[MANIFEST_SCRATCH], struct slice *ret_text,
			 struct error *err)
{
	if (number & COPIED)
		return manifest_decompress(b->adopted, b->copied.texts.items[number & ~COPIED].text,
					   scratch, ret_text, err);
	*ret_text = b->locations.texts.items[number].text;
	return 0;
}

/* The samples one after the other, as often as it takes to have as much as a dictionary. */
static int gather_samples(const struct manifest_builder *b, struct buf *out, size_t *sizes,
			  size_t times, struct error *err)
{
	size_t n = 0;
	int r = 0;

	while (times-- > 0) {
		for (uint32_t i = 0; r == 0 && i < b->n_samples; i++) {
			uint8_t scratch[MANIFEST_SCRATCH];
			struct slice text;

			r = location_text(b, b->samples[i], scratch, &text, err);
			if (r < 0)
				return r;
			sizes[n++] = text.size;
			r = buf_append_slice(out, text, err);
		}
	}
	return r;
}

/*
 * How often the samples are given to the training; 0 if too many of them are too short for a
 * dictionary.  The public library does it so.
 */
static size_t sample_repeats(const struct manifest_builder *b)
{
	size_t total = 0, n_short = 0;

	for (uint32_t i = 0; i < b->n_samples; i++) {
		uint32_t number = b->samples[i];
		size_t size = number & COPIED
				      ? manifest_stored_length(
						b->copied.texts.items[number & ~COPIED].text)
				      : b->locations.texts.items[number].text.size;

		total += size;
		n_short += size < SHORT_SAMPLE;
	}
	if (n_short >= b->n_samples / 2)
		return 0;
	return total < b->options.max_dictionary ? b->options.max_dictionary / total + 2 : 1;
}

/* Trains the dictionary; where that does not work out, locations stay plain. */
static int train(struct manifest_builder *b, struct error *err)
{
	CLEANUP(buf_done) struct buf samples = BUF_INIT(BUF_NO_LIMIT);
	CLEANUP(freep) size_t *sizes = NULL;
	size_t repeats = sample_repeats(b);
	size_t n;
	int r;

	if (repeats == 0 || b->options.max_dictionary == 0)
		return 0;
	sizes = calloc(repeats, b->n_samples * sizeof(*sizes));
	if (!sizes)
		return error_memory(err);
	r = gather_samples(b, &samples, sizes, repeats, err);
	if (r == 0)
		r = buf_reserve(&b->dictionary, b->options.max_dictionary, err);
	if (r < 0)
		return r;
	n = ZDICT_trainFromBuffer(b->dictionary.data, b->options.max_dictionary, samples.data,
				  sizes, (unsigned int)(repeats * b->n_samples));
	if (!ZDICT_isError(n))
		b->dictionary.size = n;
	return 0;
}

static bool wants_compression(const struct manifest_builder *b)
{
	uint64_t least = b->options.min_refs;

	return b->options.spec == SPEC_2 && b->options.compress_locations && b->n_virtual > 0 &&
	       b->n_refs >= least && b->n_virtual >= least;
}

/* The adopted dictionary, as long as it has seen a fair part of the locations, or a new one. */
static int choose_dictionary(struct manifest_builder *b, struct error *err)
{
	b->keeps_dictionary = b->adopted && wants_compression(b) &&
			      b->n_virtual / OUTGROWN < manifest_n_refs(b->adopted);
	if (b->keeps_dictionary)
		return buf_append_slice(&b->dictionary, manifest_dictionary(b->adopted), err);
	return wants_compression(b) ? train(b, err) : 0;
}

#define PLACE_COMPRESSED 1U /* flag in a place, which is a multiple of 4 */

/* Appends a string, or a vector of bytes, to the body. */
static int put_text(struct manifest_builder *b, struct slice text, uint32_t *ret_place,
		    struct error *err)
{
	size_t size = (4 + text.size + 1 + 3) & ~(size_t)3;
	uint8_t *at;
	int r;

	*ret_place = (uint32_t)b->body.size;
	r = buf_extend(&b->body, size, &at, err);
	if (r < 0)
		return r;
	put32(at + size - 4, 0);
	put32(at, (uint32_t)text.size);
	memcpy(at + 4, text.data, text.size);
	return 0;
}

struct compressor {
	ZSTD_CCtx *context;
	ZSTD_CDict *dictionary;
};

static void compressor_done(struct compressor *c)
{
	ZSTD_freeCCtx(c->context);
	ZSTD_freeCDict(c->dictionary);
}

/* Writes a location, compressed if that works and readers can undo it. */
static int put_location(struct manifest_builder *b, struct compressor *c, struct slice text,
			uint32_t *ret_place, struct error *err)
{
	uint8_t frame[ZSTD_COMPRESSBOUND(LOCATION_MAX)];
	size_t n;
	int r;

	if (!c->context || text.size > LOCATION_MAX)
		return put_text(b, text, ret_place, err);
	n = ZSTD_compress_usingCDict(c->context, frame, sizeof(frame), text.data, text.size,
				     c->dictionary);
	if (ZSTD_isError(n))
		return put_text(b, text, ret_place, err);
	r = put_text(b, slice_of(frame, n), ret_place, err);
	*ret_place |= PLACE_COMPRESSED;
	return r;
}

/* Writes a location that came as it was stored, as long as the dictionary is still the same. */
static int put_copied(struct manifest_builder *b, struct compressor *c, uint32_t number,
		      struct error *err)
{
	struct interned_text *copied = &b->copied.texts.items[number];
	uint8_t scratch[MANIFEST_SCRATCH];
	struct slice text;
	int r;

	if (b->keeps_dictionary && manifest_stored_length(copied->text) <= LOCATION_MAX) {
		r = put_text(b, copied->text, &copied->place, err);
		copied->place |= PLACE_COMPRESSED;
		return r;
	}
	r = location_text(b, number | COPIED, scratch, &text, err);
	return r < 0 ? r : put_location(b, c, text, &copied->place, err);
}

static int put_locations(struct manifest_builder *b, struct error *err)
{
	CLEANUP(compressor_done) struct compressor c = {0};
	int r = 0;

	if (b->dictionary.size > 0) {
		c.context = ZSTD_createCCtx();
		c.dictionary = ZSTD_createCDict(b->dictionary.data, b->dictionary.size,
						b->options.location_level);
		if (!c.context || !c.dictionary)
			return error_memory(err);
	}
	for (uint32_t i = 0; r == 0 && i < b->copied.texts.n; i++)
		r = put_copied(b, &c, i, err);
	for (size_t i = 0; r == 0 && i < b->locations.texts.n; i++)
		r = put_location(b, &c, b->locations.texts.items[i].text,
				 &b->locations.texts.items[i].place, err);
	for (size_t i = 0; r == 0 && i < b->etags.texts.n; i++)
		r = put_text(b, b->etags.texts.items[i].text, &b->etags.texts.items[i].place, err);
	return r;
}

/* Makes an offset of the number of a text in the field at @at; returns its place with the flag. */
static uint32_t link_text(struct manifest_builder *b, const struct intern *intern, uint32_t at)
{
	uint32_t number = flat_u32(buf_slice(&b->body), at) & ~COPIED;
	uint32_t place = intern->texts.items[number].place;
	uint32_t target = place & ~PLACE_COMPRESSED;

	put32(b->body.data + at, target - at);
	b->apparent += 8 + flat_u32(buf_slice(&b->body), target);
	return place;
}

static void link_ref(struct manifest_builder *b, uint32_t at)
{
	uint32_t kind = (at - flat_u32(buf_slice(&b->body), at)) / VTABLE_SIZE;
	bool is_copied;

	if (kind == TABLE_INLINE || kind == TABLE_NATIVE)
		return;
	if (kind == TABLE_PLAIN_ETAG)
		link_text(b, &b->etags, at + AT_CHECK);
	is_copied = flat_u32(buf_slice(&b->body), at + AT_LOCATION) & COPIED;
	if (link_text(b, is_copied ? &b->copied : &b->locations, at + AT_LOCATION) &
	    PLACE_COMPRESSED)
		put32(b->body.data + at, at - vtable_at(kind + PLAIN_TO_COMPRESSED));
}

/* Links all references and makes offsets of the positions in the slots. */
static void link_refs(struct manifest_builder *b)
{
	for (size_t i = 0; i < b->arrays.n; i++) {
		const struct built_array *array = &b->arrays.items[i];

		for (uint32_t j = 0; j < array->n_refs; j++) {
			uint32_t slot = array->slots + 4 + 4 * j;
			uint32_t at = flat_u32(buf_slice(&b->slots), slot);

			link_ref(b, at);
			put32(b->slots.data + slot, (uint32_t)b->slots.size + at - slot);
		}
	}
}

/* Layout of the front. */
enum {
	FRONT_ROOT_VTABLE = 8,
	FRONT_ARRAY_VTABLE = 20,
	FRONT_ROOT = 28,
	FRONT_ROOT_ARRAYS = 4,
	FRONT_ROOT_DICTIONARY = 8,
	FRONT_ROOT_ID = 12,
	FRONT_ROOT_COMPRESSION = 24,
	FRONT_ROOT_SIZE = 28,
	FRONT_ARRAYS = FRONT_ROOT + FRONT_ROOT_SIZE,
	ARRAY_SIZE = 16,
	ARRAY_REFS_AT = 4,
	ARRAY_NODE_AT = 8,
};

static void put_root(struct manifest_builder *b, uint8_t *front, uint32_t dictionary)
{
	const uint16_t root_vtable[] = {12,
					FRONT_ROOT_SIZE,
					FRONT_ROOT_ID,
					FRONT_ROOT_ARRAYS,
					dictionary ? FRONT_ROOT_DICTIONARY : 0,
					FRONT_ROOT_COMPRESSION};
	const uint16_t array_vtable[] = {8, ARRAY_SIZE, ARRAY_NODE_AT, ARRAY_REFS_AT};
	uint8_t *root = front + FRONT_ROOT;

	put32(front, FRONT_ROOT);
	memcpy(front + 4, "Ichk", 4);
	memcpy(front + FRONT_ROOT_VTABLE, root_vtable, sizeof(root_vtable));
	memcpy(front + FRONT_ARRAY_VTABLE, array_vtable, sizeof(array_vtable));
	put32(root, FRONT_ROOT - FRONT_ROOT_VTABLE);
	put32(root + FRONT_ROOT_ARRAYS, FRONT_ARRAYS - FRONT_ROOT - FRONT_ROOT_ARRAYS);
	if (dictionary)
		put32(root + FRONT_ROOT_DICTIONARY,
		      dictionary - FRONT_ROOT - FRONT_ROOT_DICTIONARY);
	memcpy(root + FRONT_ROOT_ID, b->id.bytes, sizeof(b->id.bytes));
	root[FRONT_ROOT_COMPRESSION] = dictionary ? 1 : 0;
}

static void put_array(const struct manifest_builder *b, uint8_t *front, uint32_t i)
{
	const struct built_array *array = &b->arrays.items[i];
	uint32_t slot = FRONT_ARRAYS + 4 + 4 * i;
	uint32_t table = FRONT_ARRAYS + 4 + 4 * (uint32_t)b->arrays.n + ARRAY_SIZE * i;
	uint32_t refs = (uint32_t)b->front.size + array->slots;

	put32(front + slot, table - slot);
	put32(front + table, table - FRONT_ARRAY_VTABLE);
	put32(front + table + ARRAY_REFS_AT, refs - table - ARRAY_REFS_AT);
	memcpy(front + table + ARRAY_NODE_AT, array->node.bytes, sizeof(array->node.bytes));
}

static int put_front(struct manifest_builder *b, struct error *err)
{
	size_t n = b->arrays.n, size = FRONT_ARRAYS + 4 + (4 + ARRAY_SIZE) * n;
	uint32_t dictionary = b->dictionary.size > 0 ? (uint32_t)size : 0;
	uint8_t *front;
	int r;

	if (dictionary)
		size += 4 + b->dictionary.size;
	size = (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	r = buf_extend(&b->front, size, &front, err);
	if (r < 0)
		return r;
	memset(front, 0, size);
	put_root(b, front, dictionary);
	put32(front + FRONT_ARRAYS, (uint32_t)n);
	for (uint32_t i = 0; i < n; i++)
		put_array(b, front, i);
	if (dictionary) {
		put32(front + dictionary, (uint32_t)b->dictionary.size);
		memcpy(front + dictionary + 4, b->dictionary.data, b->dictionary.size);
	}
	return 0;
}

/* Ends the three parts. */
static int finish(struct manifest_builder *b, struct error *err)
{
	static const uint8_t zeros[ALIGN];
	int r;

	if (b->ended)
		return error_set(err, ERR_ARGUMENT, "manifest is ended already");
	b->ended = true;
	close_array(b);
	r = choose_dictionary(b, err);
	if (r == 0)
		r = put_locations(b, err);
	if (r == 0)
		r = buf_append(&b->slots, zeros, -b->slots.size & (ALIGN - 1), err);
	if (r < 0)
		return r;
	link_refs(b);
	if (b->apparent >= APPARENT_MAX)
		return too_large(b, err);
	return put_front(b, err);
}

int manifest_builder_seal(struct manifest_builder *b, const struct envelope_options *options,
			  struct buf *out, struct error *err)
{
	struct slice pieces[3];
	int r;

	r = finish(b, err);
	if (r < 0)
		return r;
	pieces[0] = buf_slice(&b->front);
	pieces[1] = buf_slice(&b->slots);
	pieces[2] = buf_slice(&b->body);
	return envelope_seal(pieces, ARRAY_LEN(pieces), FILE_MANIFEST, options, out, err);
}

int manifest_builder_encode(struct manifest_builder *b, struct buf *out, struct error *err)
{
	int r = finish(b, err);

	if (r == 0)
		r = buf_append_slice(out, buf_slice(&b->front), err);
	if (r == 0)
		r = buf_append_slice(out, buf_slice(&b->slots), err);
	return r < 0 ? r : buf_append_slice(out, buf_slice(&b->body), err);
}
