/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The repo object of spec 2: branches, tags, the graph of snapshots, status, configuration, log
 *
 * Parsed into plain lists that are changed in place and written again; what is not touched is
 * carried over.  Names and times are as stored.  Everything lives in the struct: slices lend its
 * memory.
 *
 * Threads: one at a time; any number may read while nobody changes it.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/vec.h"
#include "icechunk/envelope.h"
#include "icechunk/id.h"
#include "icechunk/value.h"

#define REPO_PAYLOAD_MAX (UINT64_C(1) << 30)
#define REPO_BACKUP_LEN 40 /* "repo." + 14 digits + "." + 20 */

enum { REPO_INFO_ABSENT = 1 };

enum repo_availability { REPO_ONLINE = 0, REPO_STATUS_READ_ONLY = 1, REPO_OFFLINE = 2 };

/* Feature flags, all enabled unless set otherwise. */
enum { FEATURE_MOVE_NODE = 3, FEATURE_CREATE_TAG = 4, FEATURE_DELETE_TAG = 5 };

/* Numbers of the union in the file. */
enum update_type {
	UPDATE_REPO_INITIALIZED = 1,
	UPDATE_REPO_MIGRATED,
	UPDATE_CONFIG_CHANGED,
	UPDATE_METADATA_CHANGED,
	UPDATE_TAG_CREATED,
	UPDATE_TAG_DELETED,
	UPDATE_BRANCH_CREATED,
	UPDATE_BRANCH_DELETED,
	UPDATE_BRANCH_RESET,
	UPDATE_NEW_COMMIT,
	UPDATE_COMMIT_AMENDED,
	UPDATE_NEW_DETACHED_SNAPSHOT,
	UPDATE_GC_RAN,
	UPDATE_EXPIRATION_RAN,
	UPDATE_FEATURE_FLAG_CHANGED,
	UPDATE_REPO_STATUS_CHANGED,
};

struct repo_status {
	enum repo_availability availability;
	uint64_t set_at;     /* microseconds */
	struct slice reason; /* data NULL if none */
};

/* One entry of the log; which fields count follows from the type. */
struct repo_update {
	enum update_type type;
	struct slice name;		  /* branch or tag */
	struct id12 previous;		  /* snapshot before */
	struct id12 snapshot;		  /* new snapshot */
	uint8_t from_version, to_version; /* migration */
	uint16_t flag;
	bool flag_value, flag_is_set;
	bool has_status;
	struct repo_status status;
	uint64_t at;		  /* microseconds */
	struct slice backup_path; /* data NULL if none */
};

struct repo_ref {
	struct slice name;
	uint32_t snapshot; /* index into snapshots */
};

struct repo_snapshot {
	struct id12 id;
	int32_t parent;	     /* index into snapshots, or -1 */
	uint64_t flushed_at; /* microseconds */
	struct slice message;
	const struct metadata_item *metadata; /* values as FlexBuffers, sorted by name */
	uint32_t n_metadata;
	const struct id12 *pruned; /* pruned_ancestor_tx_logs, oldest first */
	uint32_t n_pruned;
};

DEFINE_VEC(repo_refs, struct repo_ref);
DEFINE_VEC(repo_names, struct slice);
DEFINE_VEC(repo_snapshots, struct repo_snapshot);
DEFINE_VEC(repo_updates, struct repo_update);
DEFINE_VEC(repo_flags, uint16_t);

struct repo_info {
	struct arena arena; /* what was added since parsing */
	struct buf payload; /* what was parsed */

	struct repo_refs tags;		 /* sorted by name */
	struct repo_refs branches;	 /* sorted by name */
	struct repo_names deleted_tags;	 /* sorted */
	struct repo_snapshots snapshots; /* sorted by id */
	struct repo_status status;
	struct metadata_items
		metadata;	     /* of the repository; values as FlexBuffers, sorted by name */
	struct repo_updates updates; /* newest first */
	struct slice before_updates; /* data NULL if none */
	struct slice config;	     /* FlexBuffers; data NULL if none */
	struct repo_flags enabled_flags;  /* sorted */
	struct repo_flags disabled_flags; /* sorted */
};

/*
 * Takes over @payload's bytes and checks everything: indices in range, orders, no cycle of parents,
 * a branch `main`, known update types.  ERR_FORMAT; ERR_UNSUPPORTED for another specification.
 */
int repo_info_parse(struct buf *payload, struct repo_info **ret_info, struct error *err);
/*
 * A new repository: one snapshot without parent, `main` at it, online, log of one entry.
 * @metadata (values as FlexBuffers) and @message are copied; @config may be empty.
 */
int repo_info_new(const struct repo_snapshot *root, struct slice config, uint64_t now,
		  struct repo_info **ret_info, struct error *err);
/* A deep copy that may be changed while others read the original. */
int repo_info_copy(const struct repo_info *info, struct repo_info **ret_info, struct error *err);
struct repo_info *repo_info_free(struct repo_info *info);
DEFINE_CLEANUP(struct repo_info *, repo_info_free)

/* What parsing checks beyond the bytes, for an object that was changed.  ERR_FORMAT. */
int repo_info_check(const struct repo_info *info, struct error *err);
/*
 * Checks as above and appends the FlatBuffer (no envelope).  ERR_UNSUPPORTED beyond the million
 * tables that the public library takes.
 */
int repo_info_encode(const struct repo_info *info, struct buf *out, struct error *err);

/* Copies of bytes that live as long as @info.  Data NULL and ERR_MEMORY on failure. */
struct slice repo_info_dup(struct repo_info *info, struct slice bytes, struct error *err);

/* Finders: 0 with the index, or REPO_INFO_ABSENT with the index where it would stand. */
int repo_info_find_snapshot(const struct repo_info *info, const struct id12 *id, uint32_t *ret_i);
int repo_info_find_branch(const struct repo_info *info, struct slice name, uint32_t *ret_i);
int repo_info_find_tag(const struct repo_info *info, struct slice name, uint32_t *ret_i);
bool repo_info_tag_is_deleted(const struct repo_info *info, struct slice name);

/*
 * Inserts @snapshot (everything is copied) at its place; indices in tags, branches and parents, and
 * @snapshot->parent as given before the call, follow.  ERR_CONFLICT if the id is there already.
 */
int repo_info_insert_snapshot(struct repo_info *info, const struct repo_snapshot *snapshot,
			      uint32_t *ret_i, struct error *err);
/*
 * Removes the snapshots for which @keep[i] is false; indices follow.  No tag, branch or kept
 * snapshot may point at one of them (ERR_ARGUMENT): move those first.
 */
int repo_info_remove_snapshots(struct repo_info *info, const bool *keep, struct error *err);
/* Replaces a snapshot's list of pruned logs by a copy of @ids. */
int repo_info_set_pruned(struct repo_info *info, uint32_t snapshot, const struct id12 *ids,
			 uint32_t n, struct error *err);

/* Creates the branch or moves it to snapshot index @snapshot. */
int repo_info_set_branch(struct repo_info *info, struct slice name, uint32_t snapshot,
			 struct error *err);
int repo_info_delete_branch(struct repo_info *info, struct slice name, struct error *err);
/* ERR_CONFLICT if the tag exists or existed. */
int repo_info_create_tag(struct repo_info *info, struct slice name, uint32_t snapshot,
			 struct error *err);
/* Moves the tag's name to deleted_tags. */
int repo_info_delete_tag(struct repo_info *info, struct slice name, struct error *err);

/* Is the feature enabled? Unknown ones are. */
bool repo_info_feature(const struct repo_info *info, uint16_t flag);
/* Sets a feature; @is_set false goes back to the default. */
int repo_info_set_feature(struct repo_info *info, uint16_t flag, bool is_set, bool value,
			  struct error *err);
/* Replaces the repository's metadata by the members of a JSON object. */
int repo_info_set_metadata(struct repo_info *info, const struct json *object, struct error *err);
/* Encodes the members of a JSON object (NULL: none) as items in @info's memory, sorted by name. */
int repo_info_items(struct repo_info *info, const struct json *object,
		    const struct metadata_item **ret_items, uint32_t *ret_n, struct error *err);

/*
 * Puts @update (copied; its at and backup_path are set here) in front of the log.  @backup is the
 * name under overwritten/ of the object that is being replaced; @page is
 * num_updates_per_repo_info_file. The time is @now, or a microsecond after the entry before if the
 * clock stands behind it.
 */
int repo_info_push_update(struct repo_info *info, const struct repo_update *update, uint64_t now,
			  const char *backup, uint32_t page, struct error *err);
/* The time that a new entry or snapshot gets: @now, but above every time recorded at the tip of the
 * log. */
uint64_t repo_info_next_time(const struct repo_info *info, uint64_t now);

/* "RepoInitializedUpdate" and so on, as the schema names them. */
const char *update_type_name(enum update_type type);
/* "online", "read_only", "offline". */
const char *repo_availability_name(enum repo_availability availability);

/* Name of a backup made now: "<file>.<14 digits that sort newest first>.<random id>". */
int backup_name(const char *file, int64_t now, char *ret_name, size_t size, struct error *err);
