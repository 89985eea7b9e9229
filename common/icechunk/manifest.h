/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Manifests: which chunk is where
 *
 * A manifest is kept as the FlatBuffer that it came as and is searched in place.  Opening checks
 * the root and the list of arrays; a reference is checked when it is looked at, so a lookup costs
 * nothing for the others.  No bytes, however hostile, lead outside the buffer.
 *
 * Threads: an open manifest may be shared.  A builder belongs to one thread at a time.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "icechunk/envelope.h"
#include "icechunk/id.h"
#include "icechunk/snapshot.h"

#define MANIFEST_PAYLOAD_MAX (UINT64_C(1) << 31)
#define MANIFEST_SCRATCH 4096 /* longest location that may be stored compressed */
#define MANIFEST_MAX_DIMS 255 /* more coordinates than any Zarr array has */

struct manifest;

enum { MANIFEST_ABSENT = 1 };

enum chunk_kind { CHUNK_ABSENT, CHUNK_INLINE, CHUNK_NATIVE, CHUNK_VIRTUAL };

/*
 * One reference.  Slices lend the manifest, location possibly @scratch of this struct: do not copy
 * the struct and use the copy's location.  No need to initialise one before it is filled.
 */
struct chunk_ref {
	enum chunk_kind kind;
	uint32_t n_dims;
	const uint32_t *index;	/* n_dims coordinates, in chunks */
	struct slice data;	/* inline: the chunk */
	struct id12 chunk_id;	/* native: the object */
	struct slice location;	/* virtual: as stored, "s3://...", "vcc://..." */
	struct slice etag;	/* virtual; data NULL if there is none */
	uint32_t last_modified; /* virtual: seconds since 1970, 0 for none; ignored if there is an
				   etag */
	uint64_t offset;	/* native, virtual: bytes from the start of the object */
	uint64_t length;	/* bytes, of every kind */
	bool compressed;	/* virtual: location stored compressed */
	struct slice stored; /* virtual: the location as a manifest has it compressed, or no data */
	uint8_t scratch[MANIFEST_SCRATCH];
};

/* A run of references of one array; obtained from manifest_array(), a plain value. */
struct manifest_array {
	struct id8 node;
	uint32_t n_refs;
	uint32_t _refs;
};

/*
 * Takes over @payload's bytes (left empty) and checks root, arrays and location dictionary.
 * ERR_FORMAT, ERR_MEMORY.
 */
int manifest_open(struct buf *payload, struct manifest **ret_manifest, struct error *err);
/* NULL is fine.  Always returns NULL. */
struct manifest *manifest_free(struct manifest *manifest);
DEFINE_CLEANUP(struct manifest *, manifest_free)

/* Checks every reference, the order of indices and arrays, and that locations decompress. */
int manifest_verify(const struct manifest *manifest, struct error *err);

const struct id12 *manifest_id(const struct manifest *manifest);
/* Bytes of memory that the manifest holds. */
size_t manifest_memory(const struct manifest *manifest);
/* References of all arrays. */
uint64_t manifest_n_refs(const struct manifest *manifest);
uint32_t manifest_n_arrays(const struct manifest *manifest);
struct manifest_array manifest_array(const struct manifest *manifest, uint32_t i);
/* The references of node @id: 0, or MANIFEST_ABSENT (n_refs is 0 then). */
int manifest_find_array(const struct manifest *manifest, const struct id8 *id,
			struct manifest_array *ret_array);

/*
 * Looks up the chunk at @index, which has @n_dims coordinates.  @box, unless NULL, are the extents
 * that the snapshot gives for this manifest: where most of the box is there, the place is guessed
 * from it. Returns 0 or MANIFEST_ABSENT; ERR_FORMAT.  Allocates nothing after a thread's first
 * compressed location.
 */
int manifest_find(const struct manifest *manifest, const struct manifest_array *array,
		  const uint32_t *index, uint32_t n_dims, const struct extent *box,
		  struct chunk_ref *ret_ref, struct error *err);

/*
 * Number of the first reference whose index is not below @index (n_refs if there is none).
 * @n_dims may be less than the array's: a prefix.
 */
int manifest_lower_bound(const struct manifest *manifest, const struct manifest_array *array,
			 const uint32_t *index, uint32_t n_dims, uint32_t *ret_i,
			 struct error *err);
/* Reference @i, below n_refs, in the order of indices. */
int manifest_ref(const struct manifest *manifest, const struct manifest_array *array, uint32_t i,
		 struct chunk_ref *ret_ref, struct error *err);
/* Its index alone, which is cheaper. */
int manifest_index(const struct manifest *manifest, const struct manifest_array *array, uint32_t i,
		   const uint32_t **ret_index, uint32_t *ret_n_dims, struct error *err);

/*
 * Walks references in order.  Cheaper than manifest_ref() in a loop: a location that several
 * references share is decompressed once where they follow each other.  Slices of @ref live until
 * the next step.
 */
struct manifest_iter {
	struct chunk_ref ref;
	const struct manifest *_manifest;
	struct manifest_array _array;
	uint32_t _next;
	uint32_t _location; /* position of the compressed location whose text is in ref.scratch */
	size_t _location_size;
	bool _as_stored;
};

/* Begins in front of reference @from. */
void manifest_iter_init(struct manifest_iter *iter, const struct manifest *manifest,
			const struct manifest_array *array, uint32_t from);
/*
 * From now on compressed locations stay so: ref.location is empty and ref.stored has it, for a
 * builder that adopts the manifest.
 */
void manifest_iter_as_stored(struct manifest_iter *iter);
/* Fills iter->ref: 0, or MANIFEST_ABSENT at the end; ERR_FORMAT. */
int manifest_iter_next(struct manifest_iter *iter, struct error *err);

/* Order of two indices of @n coordinates. */
int index_compare(const uint32_t *a, const uint32_t *b, uint32_t n);

/*
 * Writing.  References are added in order and kept at about 40 bytes each plus 4 a coordinate,
 * beside one copy of each distinct location and etag.
 */
struct manifest_builder;

struct manifest_options {
	enum spec spec;
	bool compress_locations; /* spec 2 only */
	uint32_t min_refs;	 /* compress only from so many virtual references on */
	uint32_t max_samples;	 /* for training the dictionary */
	uint32_t max_dictionary; /* bytes */
	int location_level;	 /* of zstd */
};

/* The settings that a repository without configuration has. */
#define MANIFEST_OPTIONS_DEFAULT ((struct manifest_options){SPEC_2, true, 1000, 100, 2048, 3})

int manifest_builder_new(const struct id12 *id, const struct manifest_options *options,
			 struct manifest_builder **ret_builder, struct error *err);
/* NULL is fine.  Always returns NULL. */
struct manifest_builder *manifest_builder_free(struct manifest_builder *builder);
DEFINE_CLEANUP(struct manifest_builder *, manifest_builder_free)

/*
 * Compresses locations with the dictionary of @manifest, of which most references come: those of
 * its iterator may then have their locations as they are stored, which are copied.  Lends
 * @manifest until the builder ends.  Where the result has several times its references, the builder
 * trains a dictionary as always.  Before the first reference.
 *
 * False: @manifest has no dictionary that serves, and nothing was adopted.
 */
bool manifest_builder_adopt(struct manifest_builder *builder, const struct manifest *manifest);
/* Starts the references of @node, whose id is above all before; @n_dims coordinates each. */
int manifest_builder_array(struct manifest_builder *builder, const struct id8 *node,
			   uint32_t n_dims, struct error *err);
/*
 * Adds a reference, copying what it lends; its index is above all before of this array.  index and
 * n_dims come from the struct.  ERR_ARGUMENT for what readers refuse: wrong order or rank, length
 * 0, a location that is empty or no UTF-8; ERR_UNSUPPORTED when the manifest becomes larger than
 * readers take.
 */
int manifest_builder_add(struct manifest_builder *builder, const struct chunk_ref *ref,
			 struct error *err);
/* References added so far, of all arrays. */
uint64_t manifest_builder_n_refs(const struct manifest_builder *builder);
/* Bytes of memory held now. */
size_t manifest_builder_memory(const struct manifest_builder *builder);
/*
 * Box of the indices of the array begun last, one extent a dimension; lent until the next array.
 */
const struct extent *manifest_builder_extents(const struct manifest_builder *builder);

/*
 * Ends the manifest and appends the whole object, envelope included, to @out.  @out->size grows by
 * the exact size that the snapshot records.  The builder can then only be freed.
 */
int manifest_builder_seal(struct manifest_builder *builder, const struct envelope_options *options,
			  struct buf *out, struct error *err);
/* As above with the bare FlatBuffer. */
int manifest_builder_encode(struct manifest_builder *builder, struct buf *out, struct error *err);
