/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Icechunk's FlatBuffers tables: slots and what the verifier must know of them
 *
 * Internal to this folder.  Slots are the order of declaration in Icechunk's schema files.
 */

#include "icechunk/flat.h"
#include "icechunk/id.h"
#include "icechunk/value.h"

enum { METADATA_NAME, METADATA_VALUE };

enum { MANIFEST_ID, MANIFEST_ARRAYS, MANIFEST_DICTIONARY, MANIFEST_COMPRESSION };
enum { ARRAY_NODE_ID, ARRAY_REFS };
enum {
	REF_INDEX,
	REF_INLINE,
	REF_OFFSET,
	REF_LENGTH,
	REF_CHUNK_ID,
	REF_LOCATION,
	REF_ETAG,
	REF_LAST_MODIFIED,
	REF_COMPRESSED_LOCATION,
};

enum {
	SNAPSHOT_ID,
	SNAPSHOT_PARENT,
	SNAPSHOT_NODES,
	SNAPSHOT_FLUSHED_AT,
	SNAPSHOT_MESSAGE,
	SNAPSHOT_METADATA,
	SNAPSHOT_MANIFESTS,
	SNAPSHOT_MANIFESTS_V2,
};
enum { NODE_ID, NODE_PATH, NODE_USER_DATA, NODE_DATA_TYPE, NODE_DATA };
enum { NODE_DATA_ARRAY = 1, NODE_DATA_GROUP = 2 }; /* tags of the union */
enum { DATA_SHAPE, DATA_NAMES, DATA_MANIFESTS, DATA_SHAPE_V2 };
enum { USE_ID, USE_EXTENTS };
enum { INFO_ID, INFO_SIZE, INFO_N_REFS };
enum { SHAPE_LENGTH, SHAPE_N_CHUNKS };
enum { NAME_NAME };

enum { LOG_ID, LOG_LISTS, LOG_CHUNKS = LOG_LISTS + 6, LOG_MOVES };
enum { CHUNKS_NODE_ID, CHUNKS_CHUNKS };
enum { COORDS_COORDS };
enum { MOVE_FROM, MOVE_TO, MOVE_NODE_ID, MOVE_TYPE };

enum {
	REPO_SPEC,
	REPO_TAGS,
	REPO_BRANCHES,
	REPO_DELETED_TAGS,
	REPO_SNAPSHOTS,
	REPO_STATUS,
	REPO_METADATA,
	REPO_UPDATES,
	REPO_BEFORE,
	REPO_CONFIG,
	REPO_ENABLED_FLAGS,
	REPO_DISABLED_FLAGS,
};
enum { REPO_REF_NAME, REPO_REF_SNAPSHOT };
enum { SNAP_ID, SNAP_PARENT, SNAP_FLUSHED_AT, SNAP_MESSAGE, SNAP_METADATA, SNAP_PRUNED };
enum { STATUS_AVAILABILITY, STATUS_SET_AT, STATUS_REASON };
enum { UPDATE_TYPE, UPDATE_VALUE, UPDATE_AT, UPDATE_BACKUP };
enum { MIGRATED_FROM, MIGRATED_TO };
enum { FLAG_ID, FLAG_VALUE, FLAG_IS_SET };
enum { CHANGED_STATUS };

/* struct ManifestFileInfo of spec 1. */
struct info1 {
	struct id12 id;
	uint32_t pad1;
	uint64_t size;
	uint32_t n_refs;
	uint32_t pad2;
};
_Static_assert(sizeof(struct info1) == 32, "as stored");

#define FIELD_SCALAR(n, s, w, must)                                                    \
	{                                                                              \
		.slot = n, .kind = FLAT_SCALAR, .size = s, .required = must, .name = w \
	}
#define FIELD_STRUCT(n, s, a, w, must)                                                             \
	{                                                                                          \
		.slot = n, .kind = FLAT_SCALAR, .size = s, .align = a, .required = must, .name = w \
	}
#define FIELD_ID12(n, w, must) FIELD_STRUCT(n, 12, 1, w, must)
#define FIELD_ID8(n, w, must) FIELD_STRUCT(n, 8, 1, w, must)
#define FIELD_STRING(n, w, must)                                            \
	{                                                                   \
		.slot = n, .kind = FLAT_STRING, .required = must, .name = w \
	}
#define FIELD_STRINGS(n, w, must)                                            \
	{                                                                    \
		.slot = n, .kind = FLAT_STRINGS, .required = must, .name = w \
	}
#define FIELD_VECTOR(n, s, a, w, must)                                                             \
	{                                                                                          \
		.slot = n, .kind = FLAT_VECTOR, .size = s, .align = a, .required = must, .name = w \
	}
#define FIELD_BYTES(n, w, must) FIELD_VECTOR(n, 1, 1, w, must)
#define FIELD_TABLE(n, t, w, must)                                                     \
	{                                                                              \
		.slot = n, .kind = FLAT_TABLE, .table = t, .required = must, .name = w \
	}
#define FIELD_TABLES(n, t, w, must)                                                     \
	{                                                                               \
		.slot = n, .kind = FLAT_TABLES, .table = t, .required = must, .name = w \
	}
#define FIELD_UNION(n, u, w, must)                                                    \
	{                                                                             \
		.slot = n, .kind = FLAT_UNION, .unions = u, .n_unions = ARRAY_LEN(u), \
		.required = must, .name = w                                           \
	}
#define SCHEMA(w, f)                                             \
	{                                                        \
		.name = w, .fields = f, .n_fields = ARRAY_LEN(f) \
	}

/* MetadataItem, of snapshots and the repo object, and a vector of them. */
extern const struct flat_schema metadata_schema;
uint32_t flat_put_metadata(struct flat_builder *builder, const struct metadata_item *items,
			   size_t n);
