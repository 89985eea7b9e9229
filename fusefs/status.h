/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The status tree `.refmt/`: reachable at the root, not listed there
 *
 * Files snapshot.json, log, stats (Prometheus text), health, config, errors, whose text is made
 * when they are looked up; folders branches/, tags/ and snapshots/, whose entries are whole trees.
 * In names of branches and tags '/', '%' and whatever a folder entry cannot have are
 * percent-encoded.
 *
 * Threads: any.
 */

#include "fusefs/fs.h"

#define STATUS_NAME ".refmt"

enum status_entry_kind {
	STATUS_FOLDER, /* of the status tree */
	STATUS_FILE,
	STATUS_TREE /* the root of a view */
};

struct status_entry {
	enum status_entry_kind kind;
	enum status_folder folder; /* STATUS_FOLDER */
	struct content *text;	   /* STATUS_FILE: owned by the caller */
	int64_t mtime;		   /* STATUS_FILE: microseconds */
	struct view *view;	   /* STATUS_TREE: one owner, the caller's */
	uint64_t tree;		   /* STATUS_TREE: its number */
};

/*
 * The entry @name of @folder: 0, VIEW_ABSENT, or an error; without @may_wait perhaps
 * VIEW_WOULD_WAIT.
 */
int status_lookup(struct fs *fs, enum status_folder folder, const char *name, bool may_wait,
		  struct status_entry *ret_entry, struct error *err);
/* Appends the text of .refmt/stats: Prometheus' format. */
int status_write_stats(struct fs *fs, struct buf *out, struct error *err);
/* Calls @each for every name in @folder; a negative result ends the listing with it. */
int status_list(struct fs *fs, enum status_folder folder,
		int (*each)(void *argument, const char *name, bool is_folder, struct error *err),
		void *argument, struct error *err);
