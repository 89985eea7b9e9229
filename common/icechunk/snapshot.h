/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Snapshots
 *
 * A snapshot is kept as the FlatBuffer that it came as: opening verifies it once, and views lend
 * its bytes.  Nodes are in the order of the bytes of their paths ("/a" < "/a-b" < "/a/b").
 *
 * Threads: an open snapshot never changes and may be shared.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "icechunk/envelope.h"
#include "icechunk/id.h"
#include "icechunk/value.h"

/* Room for a snapshot's payload: the ceiling that callers give envelope_open(). */
#define SNAPSHOT_PAYLOAD_MAX (UINT64_C(1) << 31)

struct snapshot;

enum { SNAPSHOT_ABSENT = 1 };

enum node_type { NODE_GROUP = 0, NODE_ARRAY = 1 }; /* as in transaction logs */

/* Chunk indices of one dimension, half open. */
struct extent {
	uint32_t from;
	uint32_t to;
};

/* One axis of an array. */
struct dimension {
	uint64_t length;   /* elements */
	uint32_t n_chunks; /* chunks of the grid */
};

/* What a node says about one of its manifests. */
struct manifest_ref {
	struct id12 id;
	const struct extent *extents; /* one a dimension; none (n_extents 0) means everything */
	uint32_t n_extents;
};

/* What a snapshot says about a manifest object. */
struct manifest_info {
	struct id12 id;
	uint64_t size;	 /* bytes of the object, header included */
	uint32_t n_refs; /* of the whole object */
};

/*
 * A view of one node.  Fields that begin with an underscore belong to the accessors.
 */
struct snapshot_node {
	struct id8 id;
	enum node_type type;
	struct slice path;     /* "/", "/a/b" */
	struct slice document; /* zarr.json, byte for byte */
	uint32_t n_dims;       /* the rest is 0 for groups */
	bool has_names;	       /* does the document name dimensions? */
	uint32_t n_manifests;
	const struct snapshot *_snapshot;
	uint32_t _data;
};

/*
 * Takes over @payload's bytes (@payload is left empty) and verifies all of them: offsets,
 * alignment, required fields, UTF-8, the order of nodes, the same number of extents as dimensions.
 * ERR_FORMAT, ERR_MEMORY.
 */
int snapshot_open(struct buf *payload, enum spec spec, struct snapshot **ret_snapshot,
		  struct error *err);
/* NULL is fine.  Always returns NULL. */
struct snapshot *snapshot_free(struct snapshot *snapshot);
DEFINE_CLEANUP(struct snapshot *, snapshot_free)

enum spec snapshot_spec(const struct snapshot *snapshot);
const struct id12 *snapshot_id(const struct snapshot *snapshot);
/* Spec 1 only: the parent recorded in the file; NULL for the root and in spec 2. */
const struct id12 *snapshot_parent(const struct snapshot *snapshot);
/* Microseconds since 1970. */
uint64_t snapshot_flushed_at(const struct snapshot *snapshot);
struct slice snapshot_message(const struct snapshot *snapshot);
/* Bytes of memory that the snapshot holds. */
size_t snapshot_memory(const struct snapshot *snapshot);

uint32_t snapshot_n_metadata(const struct snapshot *snapshot);
struct metadata_item snapshot_metadata(const struct snapshot *snapshot, uint32_t i);
/* Appends all metadata as one JSON object.  ERR_FORMAT for a value that is not what it should be.
 */
int snapshot_metadata_json(const struct snapshot *snapshot, struct buf *out, struct error *err);

uint32_t snapshot_n_nodes(const struct snapshot *snapshot);
/* Node @i, which must be below snapshot_n_nodes(). */
struct snapshot_node snapshot_node(const struct snapshot *snapshot, uint32_t i);
/* Finds a path: 0 with @ret_index, or SNAPSHOT_ABSENT with the index where it would stand. */
int snapshot_find(const struct snapshot *snapshot, struct slice path, uint32_t *ret_index);
/* Finds a node by id, which costs a look at every node; 0 or SNAPSHOT_ABSENT. */
int snapshot_find_id(const struct snapshot *snapshot, const struct id8 *id, uint32_t *ret_index);
/* Is @path @ancestor itself or below it?  "/" has everything below it. */
bool path_is_below(struct slice path, struct slice ancestor);

/* Axis @i of an array, below its n_dims. */
struct dimension node_dimension(const struct snapshot_node *node, uint32_t i);
/* Name of axis @i; data is NULL if it has none. */
struct slice node_dimension_name(const struct snapshot_node *node, uint32_t i);
/* Spec 1: the chunk length that the file gives for axis @i; 0 in spec 2. */
uint64_t node_chunk_length(const struct snapshot_node *node, uint32_t i);
struct manifest_ref node_manifest(const struct snapshot_node *node, uint32_t i);
/* Does the box of @ref hold @index (one coordinate a dimension)? */
bool manifest_ref_holds(const struct manifest_ref *ref, const uint32_t *index);

uint32_t snapshot_n_manifests(const struct snapshot *snapshot);
struct manifest_info snapshot_manifest(const struct snapshot *snapshot, uint32_t i);
/* 0 or SNAPSHOT_ABSENT.  The public library refuses manifests that are not in the list. */
int snapshot_find_manifest(const struct snapshot *snapshot, const struct id12 *id,
			   struct manifest_info *ret_info);

/*
 * Writing.  A draft lends everything; slices may point into open snapshots.
 */
struct draft_dimension {
	uint64_t length;
	uint32_t n_chunks;
	uint64_t chunk_length; /* written in spec 1 only; 0: the smallest that gives n_chunks */
	struct slice name;     /* data NULL: unnamed */
};

struct draft_node {
	struct id8 id;
	enum node_type type;
	struct slice path;
	struct slice document;
	const struct draft_dimension *dimensions;
	uint32_t n_dims;
	bool has_names;
	const struct manifest_ref *manifests;
	uint32_t n_manifests;
};

struct snapshot_draft {
	struct id12 id;
	const struct id12 *parent; /* spec 1; NULL for the root.  Not written in spec 2 */
	uint64_t flushed_at;	   /* microseconds since 1970 */
	struct slice message;
	const struct json *metadata;	/* an object, or NULL for none */
	const struct draft_node *nodes; /* in the order of the bytes of their paths */
	uint32_t n_nodes;
	const struct manifest_info *manifests; /* sorted by id */
	uint32_t n_manifests;
};

/*
 * Appends the FlatBuffer (no envelope) of @draft to @out.  ERR_ARGUMENT for what readers would
 * refuse or lose: wrong order, two nodes with one path, a relative path, extents that do not fit
 * the rank, text that is no UTF-8, a manifest of a node that is not in the list.
 */
int snapshot_encode(const struct snapshot_draft *draft, enum spec spec, struct buf *out,
		    struct error *err);
