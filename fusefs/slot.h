/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Slots: what the kernel's inode numbers stand for
 *
 * An inode number is a slot and a number within it.  A slot is a folder of a tree in one epoch
 * (fusefs/shown.h) with everything directly in it that began in that epoch and is no folder of the
 * view itself (its document, the folders and files of its chunk grid), or a folder or frozen text
 * of the status tree.  A slot lives while the kernel remembers any number in it, so memory follows
 * the folders visited and never the chunks.  It holds its snapshot as an id.
 *
 * Threads: may be shared.  A slot is constant, and stays valid while a request for a number in it
 * is under way: the kernel forgets a number only after the last request that names it.
 */

#include <stdbool.h>
#include <stdint.h>

#include "fusefs/number.h"
#include "reader/view.h"

/* The tree at the root of the mount; others are those below .refmt/, and old states of the root. */
#define TREE_ROOT 0

enum slot_kind {
	SLOT_VIEW,   /* a folder of a view */
	SLOT_STATUS, /* a folder of the status tree */
	SLOT_TEXT    /* a status file: its text is frozen */
};

/* Folders of the status tree. */
enum status_folder { STATUS_TOP, STATUS_BRANCHES, STATUS_TAGS, STATUS_SNAPSHOTS };

struct slot {
	enum slot_kind kind;
	uint32_t place;	  /* in the table */
	uint64_t lookups; /* numbers in it that the kernel remembers, counted as it counts */
	uint32_t holds;	  /* by ourselves */
	uint64_t seed;	  /* what st_ino is made from: the same for the same thing */

	/* SLOT_VIEW */
	uint64_t tree;
	uint32_t epoch;
	struct id12 snapshot; /* one that shows what is in the slot */
	uint32_t folder;      /* in that snapshot's view */
	struct slice path;    /* of the folder */
	uint32_t n_dims;      /* of its array */
	uint32_t *chunks;     /* chunks along each dimension */
	uint64_t total;	      /* numbers of its grid */

	enum status_folder status; /* SLOT_STATUS */
	struct content *text;	   /* SLOT_TEXT */
	int64_t mtime;		   /* SLOT_TEXT: microseconds */
};

struct slots;

int slots_new(struct slots **ret_slots, struct error *err);
struct slots *slots_free(struct slots *slots);
DEFINE_CLEANUP(struct slots *, slots_free)

/* The slot and number that inode @ino stands for; NULL for a number that we never gave. */
struct slot *slots_get(struct slots *slots, uint64_t ino, uint64_t *ret_number);
/* Inode number of @number in @slot. */
uint64_t slot_ino(const struct slot *slot, uint64_t number);
/* What stat shows as inode number: the same for the same file across forgetting and mounts. */
uint64_t slot_st_ino(const struct slot *slot, uint64_t number);

/*
 * Each of these adds @n lookups and finds or makes the slot.  slots_view() takes what it needs of
 * @view and keeps no owner; slots_text() takes over @text.
 */
int slots_view(struct slots *slots, uint64_t tree, uint32_t epoch, const struct view *view,
	       uint32_t folder, uint64_t n, struct slot **ret_slot, struct error *err);
int slots_status(struct slots *slots, enum status_folder folder, uint64_t n, struct slot **ret_slot,
		 struct error *err);
int slots_text(struct slots *slots, struct content *text, int64_t mtime, uint64_t n,
	       struct slot **ret_slot, struct error *err);
/* Makes one lookup of the slot a hold, whatever the kernel forgets; and ends that. */
void slots_hold(struct slots *slots, struct slot *slot);
void slots_release(struct slots *slots, struct slot *slot);
/* One more lookup of a slot that the caller holds. */
void slots_again(struct slots *slots, struct slot *slot);
/* The kernel forgets @n lookups of @ino; the last one frees the slot. */
void slots_forget(struct slots *slots, uint64_t ino, uint64_t n);
/* Slots in use, for status files and tests. */
uint32_t slots_count(struct slots *slots);

/* Can the slot have a number for @file, whose folder is the slot's? */
bool slot_holds(const struct slot *slot, const struct view_file *file);
/* Number of such a file; and back, with the folder's number in the slot's own snapshot. */
uint64_t slot_number(const struct slot *slot, const struct view_file *file);
struct view_file slot_file(const struct slot *slot, uint64_t number);
