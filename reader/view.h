/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Views: one snapshot as a tree of files, with or without a mount
 *
 * A view shows the Zarr hierarchy of a checkout as folders and files: a folder for each group and
 * array (also for groups that are only implied by a path below them), a zarr.json in each stored
 * node, and below an array the chunk files in the folders that its chunk key encoding asks for.
 *
 * VIEW_STORED passes everything through: stored documents, stored bytes.  VIEW_DECODED decodes an
 * array whose chain holds `gribberish` or `scale_offset`; its shown document then has only core
 * codecs and its chunk files are chunk shape x item size.  All other arrays are passed through.
 *
 * Files are plain values (struct view_file): nothing is allocated for what nobody visited, and the
 * view's own memory is O(nodes).  Folders above the last level of an array are grid arithmetic and
 * always there; the last level lists references only.
 *
 * Threads: a view may be shared.
 */

#include <stdbool.h>
#include <stdint.h>

#include "reader/reader.h"

#define VIEW_DIMS_MAX 32
#define VIEW_NAME_MAX 255

enum { VIEW_ABSENT = 1, VIEW_END = 2, VIEW_WOULD_WAIT = 3 };

enum view_mode { VIEW_DECODED, VIEW_STORED };

enum view_kind {
	VIEW_FOLDER,   /* group or array, stored or implied */
	VIEW_DOCUMENT, /* the zarr.json of a stored node */
	VIEW_GRID,     /* a folder of an array's chunk keys: depth numbers of the index are set */
	VIEW_CHUNK     /* a chunk file: all numbers of the index are set */
};

struct view_file {
	enum view_kind kind;
	uint32_t folder; /* number of the folder (the node) it belongs to; 0 is the root */
	uint32_t depth;	 /* VIEW_GRID: how many numbers of @index are set ("c" itself: 0) */
	uint32_t index[VIEW_DIMS_MAX];
};

/* What is known of a file.  */
struct view_attr {
	bool is_folder;
	bool unknown;  /* the manifest could not be loaded: attributes must expire at once, reads
			  fail */
	uint64_t size; /* bytes a read gives; for an unknown chunk the computed size, else 1 */
	int64_t mtime; /* microseconds: Last-Modified of the reference, else the snapshot's time */
	bool has_time; /* @mtime is the reference's own */
};

struct view;

/* The view of @checkout (one more owner is taken) through @reader (borrowed). */
int view_new(struct reader *reader, struct checkout *checkout, enum view_mode mode,
	     struct view **ret_view, struct error *err);
/*
 * Makes the root's document carry the documents of all nodes below it as consolidated metadata.
 * Before the view is shared.
 */
void view_consolidate(struct view *view);
struct view *view_ref(struct view *view);
/* One owner less; the last one frees.  NULL is fine.  Always returns NULL. */
struct view *view_free(struct view *view);
DEFINE_CLEANUP(struct view *, view_free)

struct checkout *view_checkout(const struct view *view);
enum view_mode view_mode(const struct view *view);
/* Path of folder @folder ("/", "/a/b"); lent by the view. */
struct slice view_path(const struct view *view, uint32_t folder);
/* The stored node of folder @folder; false if it is only implied. */
bool view_node(const struct view *view, uint32_t folder, struct node *ret_node);
struct view_file view_root(void);
/* Folders are numbered from 0, each behind the one above it. */
uint32_t view_n_folders(const struct view *view);
uint32_t view_folder_parent(const struct view *view, uint32_t folder);
/* Number of the folder at @path: 0 or VIEW_ABSENT. */
int view_find(const struct view *view, struct slice path, uint32_t *ret_folder);

/*
 * The entry @name of folder @folder.  Returns 0 with file and attributes, or VIEW_ABSENT (for a
 * chunk: proven by a loaded manifest or the snapshot).  A manifest that cannot be loaded, or a
 * container that may not be followed, is no error here: the attributes say unknown.
 */
int view_lookup(struct view *view, const struct view_file *folder, const char *name,
		struct view_file *ret_file, struct view_attr *ret_attr, struct error *err);
/* Attributes of a file that was looked up. */
int view_stat(struct view *view, const struct view_file *file, struct view_attr *ret_attr,
	      struct error *err);
/*
 * The same without waiting: VIEW_WOULD_WAIT when the answer needs a manifest that is not in memory.
 */
int view_try_lookup(struct view *view, const struct view_file *folder, const char *name,
		    struct view_file *ret_file, struct view_attr *ret_attr, struct error *err);
int view_try_stat(struct view *view, const struct view_file *file, struct view_attr *ret_attr,
		  struct error *err);
/* The folder that holds the file; the root is its own. */
struct view_file view_parent(const struct view *view, const struct view_file *file);
/* Walks a path of names with '/' between; 0, VIEW_ABSENT or an error. */
int view_walk(struct view *view, const char *path, struct view_file *ret_file,
	      struct view_attr *ret_attr, struct error *err);
/* Name of the file within its folder. */
void view_name(const struct view *view, const struct view_file *file, char name[VIEW_NAME_MAX + 1]);
/* Its path below its folder: "c/0/1"; empty for the folder itself. */
void view_path_below(const struct view *view, const struct view_file *file,
		     char path[VIEW_NAME_MAX + 1]);

struct view_entry {
	char name[VIEW_NAME_MAX + 1];
	struct view_file file;
	struct view_attr attr; /* filled only for entries whose attributes cost nothing */
	bool has_attr;
};

/* Lists a folder from its beginning: groups, arrays, documents by name, chunks by index. */
struct view_iter;
int view_iter_new(struct view *view, const struct view_file *folder, struct view_iter **ret_iter,
		  struct error *err);
/* With @names_only chunks come without attributes from now on, which is faster. */
void view_iter_set_names_only(struct view_iter *iter, bool names_only);
/* Will view_iter_next() not wait for a manifest? */
bool view_iter_is_ready(const struct view_iter *iter);
/* 0, VIEW_END, or an error: never a shorter list. */
int view_iter_next(struct view_iter *iter, struct view_entry *ret_entry, struct error *err);
struct view_iter *view_iter_free(struct view_iter *iter);
DEFINE_CLEANUP(struct view_iter *, view_iter_free)

/*
 * The whole content of a document or chunk: one fetch and one decode at most, none when it is
 * cached or somebody else's is under way.  @deadline is on time_monotonic()'s clock, 0 = the
 * reader's timeout.  Every failure is an error here, whatever lookup said.
 */
int view_load(struct view *view, const struct view_file *file, int64_t deadline,
	      struct content **ret_content, struct error *err);
/* The same without waiting: VIEW_WOULD_WAIT for a chunk that is not in the cache. */
int view_try_load(struct view *view, const struct view_file *file, struct content **ret_content,
		  struct error *err);
/* What the extended attributes and `refmtfs stat` say of a chunk. */
struct view_chunk {
	const char *kind; /* "inline", "native", "virtual"; static */
	char *location;	  /* URL, or key of a native object in the repository; NULL if inline */
	uint64_t offset, length;
	char snapshot[21], manifest[21];
	char state[256]; /* "present", "unknown-codec NAME", "manifest-unavailable", "failed:
			    REASON" */
};
/* 0, VIEW_ABSENT, or an error; a manifest that cannot be loaded gives state alone. */
int view_describe(struct view *view, const struct view_file *file, struct view_chunk *ret_chunk,
		  struct error *err);
void view_chunk_done(struct view_chunk *chunk);

/* Name of a codec of the array @file belongs to that must be decoded and is not known; NULL = none.
 */
const char *view_unknown_codec(struct view *view, const struct view_file *file);
/*
 * Would the same stored bytes mean the same chunk in both, at the same index?  True of one array in
 * two snapshots if codecs, data type, fill value and chunk grid stayed.
 */
bool view_chunks_alike(struct view *view, uint32_t folder, struct view *other,
		       uint32_t other_folder);
/* Decision 6: equal epochs of a folder's array in two snapshots mean equal chunks. */
uint64_t view_epoch(const struct view *view, const struct view_file *file);
