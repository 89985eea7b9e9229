/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "base/time.h"
#include "fusefs/internal.h"

static bool same_snapshot(const struct view *view, const struct id12 *id)
{
	return id12_equal(checkout_id(view_checkout(view)), id);
}

/* Does the array of @file in @view still have a chunk at its index? */
static bool grid_holds(const struct view *view, const struct view_file *file)
{
	struct node node;
	uint64_t length;
	uint32_t chunks;

	if (!view_node(view, file->folder, &node) || !node.is_array || file->depth > node.n_dims ||
	    (file->kind == VIEW_CHUNK) != (file->depth == node.n_dims))
		return false;
	for (uint32_t dim = 0; dim < file->depth; dim++) {
		checkout_dim(view_checkout(view), &node, dim, &length, &chunks);
		if (file->index[dim] >= chunks)
			return false;
	}
	return true;
}

/*
 * The root's present view where it still shows this file: that snapshot is open, and is not
 * collected.  Otherwise the file needs the slot's own snapshot.
 */
static void target_use_shown(struct fs *fs, const struct slot *slot, struct target *target)
{
	CLEANUP(shown_freep) struct shown *shown = fs_shown(fs);
	struct view *view = shown_view(shown);
	struct view_file file = target->file;

	if (!same_snapshot(view, &slot->snapshot)) {
		if (view_find(view, slot->path, &file.folder) != 0 ||
		    ((file.kind == VIEW_CHUNK || file.kind == VIEW_GRID) &&
		     !grid_holds(view, &file)) ||
		    shown_epoch(shown, &file) != slot->epoch)
			return;
		target->file = file;
	} else if (shown_epoch(shown, &file) != slot->epoch) {
		return;
	}
	target->view = view_ref(view);
	target->shown = TAKE(shown);
}

static void target_root(struct fs *fs, struct target *ret_target)
{
	struct shown *shown = fs_shown(fs);

	*ret_target = (struct target){
		.kind = SLOT_VIEW,
		.ino = FUSE_ROOT_ID,
		.st_ino = FUSE_ROOT_ID,
		.tree = TREE_ROOT,
		.file = view_root(),
		.view = view_ref(shown_view(shown)),
		.shown = shown,
	};
	ret_target->epoch = shown_epoch(shown, &ret_target->file);
	ret_target->snapshot = *checkout_id(view_checkout(ret_target->view));
}

int target_init(struct fs *fs, fuse_ino_t ino, struct target *ret_target, struct error *err)
{
	struct slot *slot;
	uint64_t number;

	if (ino == FUSE_ROOT_ID) {
		target_root(fs, ret_target);
		return 0;
	}
	slot = slots_get(fs->slots, ino, &number);
	if (!slot)
		return error_set(err, ERR_CHANGED, "inode %llu is not known",
				 (unsigned long long)ino);
	*ret_target = (struct target){
		.kind = slot->kind,
		.ino = ino,
		.st_ino = slot_st_ino(slot, number),
		.status = slot->status,
		.text = slot->text ? content_ref(slot->text) : NULL,
		.mtime = slot->mtime,
	};
	if (slot->kind != SLOT_VIEW)
		return 0;
	ret_target->tree = slot->tree;
	ret_target->epoch = slot->epoch;
	ret_target->snapshot = slot->snapshot;
	ret_target->file = slot_file(slot, number);
	if (slot->tree == TREE_ROOT)
		target_use_shown(fs, slot, ret_target);
	return 0;
}

void target_done(struct target *target)
{
	view_free(target->view);
	shown_free(target->shown);
	content_free(target->text);
	target->view = NULL;
	target->shown = NULL;
	target->text = NULL;
}

int target_open(struct fs *fs, struct target *target, bool may_wait, struct error *err)
{
	int r;

	if (target->kind != SLOT_VIEW || target->view)
		return 0;
	r = fs_snapshot_view(fs, &target->snapshot, may_wait, &target->view, err);
	if (r == ERR_ABSENT) {
		err->kind = ERR_CHANGED;
		return error_prefix(err, "the state that this file shows was collected");
	}
	return r;
}

bool target_is_root(const struct target *target)
{
	return target->ino == FUSE_ROOT_ID;
}

/* ---- attributes ---- */

static void stat_fill(const struct fs *fs, struct stat *st, uint64_t ino,
		      const struct view_attr *attr)
{
	bool is_folder = attr->is_folder;
	uint64_t size = attr->size;
	int64_t mtime = attr->mtime;

	memset(st, 0, sizeof(*st));
	st->st_ino = ino;
	st->st_mode = is_folder ? S_IFDIR | (0555 & ~fs->options.umask)
				: S_IFREG | (0444 & ~fs->options.umask);
	st->st_uid = fs->options.uid;
	st->st_gid = fs->options.gid;
	st->st_nlink = is_folder ? 2 : 1;
	st->st_size = is_folder ? 0 : (off_t)size;
	st->st_blksize = FS_READ_MAX;
	st->st_blocks = (blkcnt_t)((size + 511) / 512);
	st->st_mtim.tv_sec = mtime / TIME_SECOND;
	st->st_mtim.tv_nsec = mtime % TIME_SECOND * 1000;
	st->st_atim = st->st_mtim;
	st->st_ctim = st->st_mtim;
}

/* What has no time of its own has that of the snapshot with which it began to be shown. */
static void attr_since(struct fs *fs, uint64_t tree, uint32_t epoch, const struct shown *shown,
		       struct view_attr *attr)
{
	CLEANUP(shown_freep) struct shown *now = NULL;

	if (attr->has_time || tree != TREE_ROOT)
		return;
	if (!shown)
		shown = now = fs_shown(fs);
	attr->mtime = shown_since(shown, epoch);
}

int target_stat(struct fs *fs, const struct target *target, bool may_wait, struct stat *ret_stat,
		double *ret_timeout, struct error *err)
{
	struct view_attr attr = {.is_folder = target->kind == SLOT_STATUS, .mtime = target->mtime};
	int r;

	if (target->kind == SLOT_TEXT)
		attr.size = target->text->bytes.size;
	if (target->kind == SLOT_STATUS)
		attr.mtime = time_now();
	if (target->kind == SLOT_VIEW) {
		r = (may_wait ? view_stat : view_try_stat)(target->view, &target->file, &attr, err);
		/* A chunk that the kernel knows was there; its snapshot has not changed since. */
		if (r == VIEW_ABSENT)
			return error_set(err, ERR_CHANGED, "the chunk has no reference");
		if (r != 0)
			return r;
		attr_since(fs, target->tree, target->epoch, target->shown, &attr);
	}
	stat_fill(fs, ret_stat, target->st_ino, &attr);
	*ret_timeout = attr.unknown ? 0 : FS_FOR_EVER;
	return 0;
}

/* ---- entries ---- */

/* A number for a tree beside the root: of what it is, so that it is the same again later. */
static uint64_t tree_of_snapshot(const struct id12 *snapshot)
{
	uint8_t digest[SHA256_SIZE];
	uint64_t tree;

	if (sha256(slice_of(snapshot->bytes, sizeof(snapshot->bytes)), digest, NULL) < 0)
		memcpy(digest, snapshot->bytes, sizeof(tree));
	memcpy(&tree, digest, sizeof(tree));
	return tree | 1;
}

static void entry_fill(const struct fs *fs, const struct slot *slot, const struct view_file *file,
		       const struct view_attr *attr, struct fuse_entry_param *ret_entry)
{
	uint64_t number = slot_number(slot, file);

	*ret_entry = (struct fuse_entry_param){
		.ino = slot_ino(slot, number),
		.attr_timeout = attr->unknown ? 0 : FS_FOR_EVER,
		.entry_timeout = attr->unknown ? 0 : FS_FOR_EVER,
	};
	stat_fill(fs, &ret_entry->attr, slot_st_ino(slot, number), attr);
}

/* The slot of @file, with one more lookup. */
static int slot_find(struct fs *fs, uint64_t tree, uint32_t epoch, struct view *view,
		     const struct view_file *file, struct slot **ret_slot, struct error *err)
{
	int r;

	r = slots_view(fs->slots, tree, epoch, view, file->folder, 1, ret_slot, err);
	if (r < 0 || slot_holds(*ret_slot, file))
		return r;
	/* The array was smaller when its slot was made: the file gets one of its snapshot. */
	slots_forget(fs->slots, slot_ino(*ret_slot, 0), 1);
	return slots_view(fs->slots, tree_of_snapshot(checkout_id(view_checkout(view))), 0, view,
			  file->folder, 1, ret_slot, err);
}

/* Tree and epoch of an entry in the folder @target. */
static void place_of(const struct target *target, const struct view_file *file, uint64_t *ret_tree,
		     uint32_t *ret_epoch)
{
	*ret_tree = target->tree;
	*ret_epoch = 0;
	if (target->shown)
		*ret_epoch = shown_epoch(target->shown, file);
	else if (target->tree == TREE_ROOT)
		*ret_tree = tree_of_snapshot(&target->snapshot); /* an old state of the root */
}

/* Chunks directly in the root cannot all be named when the root changes. */
static bool root_moves(const struct fs *fs, const struct target *target)
{
	struct node node;

	return fs->options.follow_ms && target_is_root(target) &&
	       view_node(target->view, 0, &node) && node.is_array;
}

bool target_absence_lasts(const struct fs *fs, const struct target *target)
{
	return target->kind == SLOT_VIEW && !root_moves(fs, target);
}

static void entry_finish(struct fs *fs, const struct target *target, const struct slot *slot,
			 const struct view_file *file, const struct view_attr *attr,
			 struct fuse_entry_param *ret_entry)
{
	struct view_attr shown_attr = *attr;

	attr_since(fs, slot->tree, slot->epoch, target->shown, &shown_attr);
	entry_fill(fs, slot, file, &shown_attr, ret_entry);
	if (root_moves(fs, target))
		ret_entry->entry_timeout = 0;
}

int target_entry(struct fs *fs, const struct target *target, const struct view_file *file,
		 const struct view_attr *attr, struct fuse_entry_param *ret_entry,
		 struct error *err)
{
	struct slot *slot;
	uint64_t tree;
	uint32_t epoch;
	int r;

	place_of(target, file, &tree, &epoch);
	r = slot_find(fs, tree, epoch, target->view, file, &slot, err);
	if (r == 0)
		entry_finish(fs, target, slot, file, attr, ret_entry);
	return r;
}

/* ---- many entries of one folder ---- */

void entry_memo_done(struct fs *fs, struct entry_memo *memo)
{
	if (memo->slot)
		slots_release(fs->slots, memo->slot);
	memo->slot = NULL;
}

/* Sees to it that the memo has the slot of @file. */
static int memo_find(struct fs *fs, const struct target *target, const struct view_file *file,
		     struct entry_memo *memo, struct error *err)
{
	struct slot *slot;
	uint64_t tree;
	uint32_t epoch;
	int r;

	place_of(target, file, &tree, &epoch);
	if (memo->slot && memo->slot->tree == tree && memo->slot->epoch == epoch &&
	    memo->file.folder == file->folder && slot_holds(memo->slot, file))
		return 0;
	r = slot_find(fs, tree, epoch, target->view, file, &slot, err);
	if (r < 0)
		return r;
	entry_memo_done(fs, memo);
	slots_hold(fs->slots, slot);
	memo->slot = slot;
	memo->file = *file;
	return 0;
}

int target_entry_again(struct fs *fs, const struct target *target, const struct view_file *file,
		       const struct view_attr *attr, struct entry_memo *memo,
		       struct fuse_entry_param *ret_entry, struct error *err)
{
	int r;

	r = memo_find(fs, target, file, memo, err);
	if (r < 0)
		return r;
	slots_again(fs->slots, memo->slot);
	entry_finish(fs, target, memo->slot, file, attr, ret_entry);
	return 0;
}

int target_number(struct fs *fs, const struct target *target, const struct view_file *file,
		  struct entry_memo *memo, ino_t *ret_number, struct error *err)
{
	int r;

	r = memo_find(fs, target, file, memo, err);
	if (r == 0)
		*ret_number = slot_st_ino(memo->slot, slot_number(memo->slot, file));
	return r;
}

/* ---- trees below .refmt/ ---- */

int tree_entry(struct fs *fs, uint64_t tree, struct view *view, struct fuse_entry_param *ret_entry,
	       struct error *err)
{
	const struct view_attr attr = {
		.is_folder = true,
		.mtime = checkout_flushed_at(view_checkout(view)),
	};
	struct view_file root = view_root();
	struct slot *slot;
	int r;

	r = slot_find(fs, tree, 0, view, &root, &slot, err);
	if (r == 0)
		entry_fill(fs, slot, &root, &attr, ret_entry);
	return r;
}
