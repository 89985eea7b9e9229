/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <utlist.h>

#include "base/text.h"
#include "base/vec.h"
#include "fusefs/internal.h"
#include "fusefs/status.h"

struct status_name {
	char *name;
	bool is_folder;
};
DEFINE_VEC(status_names, struct status_name);

/* An open folder: it shows one state from beginning to end. */
struct folder {
	struct fs *fs;
	struct folder *prev_open, *next_open; /* in the list of all, under the fs's mutex */
	pthread_mutex_t mutex;
	struct target target;
	struct view_iter *iter;	   /* of a view; NULL before the first entry */
	struct status_names names; /* of the status tree */
	off_t next;		   /* offset that the next entry has */
	bool has_entry;		   /* @entry was taken but did not fit */
	struct view_entry entry;
	struct entry_memo memo;
};

/* The first two entries. */
enum { OFFSET_SELF = 1, OFFSET_PARENT = 2 };

static void folder_free(struct folder *folder)
{
	pthread_mutex_lock(&folder->fs->mutex);
	DL_DELETE2(folder->fs->folders, folder, prev_open, next_open);
	pthread_mutex_unlock(&folder->fs->mutex);
	view_iter_free(folder->iter);
	for (size_t i = 0; i < folder->names.n; i++)
		free(folder->names.items[i].name);
	status_names_done(&folder->names);
	entry_memo_done(folder->fs, &folder->memo);
	target_done(&folder->target);
	pthread_mutex_destroy(&folder->mutex);
	free(folder);
}

void folders_free(struct fs *fs)
{
	while (fs->folders)
		folder_free(fs->folders);
}

static int folder_add_name(void *argument, const char *name, bool is_folder, struct error *err)
{
	struct folder *folder = argument;
	struct status_name entry = {text_dup(name, err), is_folder};
	int r;

	if (!entry.name)
		return ERR_MEMORY;
	r = status_names_push(&folder->names, entry, err);
	if (r < 0)
		free(entry.name);
	return r;
}

/* Takes over the job's target. */
static int folder_new(struct job *job, struct folder **ret_folder, struct error *err)
{
	struct folder *folder = calloc(1, sizeof(*folder));

	if (!folder)
		return error_memory(err);
	folder->fs = job->fs;
	pthread_mutex_init(&folder->mutex, NULL);
	folder->target = job->target;
	job->target.view = NULL;
	job->target.shown = NULL;
	job->target.text = NULL;
	folder->next = OFFSET_PARENT + 1;
	pthread_mutex_lock(&folder->fs->mutex);
	DL_PREPEND2(folder->fs->folders, folder, prev_open, next_open);
	pthread_mutex_unlock(&folder->fs->mutex);
	*ret_folder = folder;
	return 0;
}

static int answer_opendir(struct job *job, bool may_wait, struct error *err)
{
	bool is_status = job->target.kind == SLOT_STATUS;
	bool moves = job->fs->options.follow_ms && target_is_root(&job->target);
	struct fuse_file_info fi = {0};
	struct folder *folder = NULL;
	int r = 0;

	if (job->target.kind == SLOT_TEXT)
		return error_set(err, ERR_ARGUMENT, "not a folder");
	/* Names of branches and tags may be fetched. */
	if (is_status && !may_wait)
		return VIEW_WOULD_WAIT;
	r = folder_new(job, &folder, err);
	if (r < 0)
		return r;
	if (is_status)
		r = status_list(job->fs, folder->target.status, folder_add_name, folder, err);
	if (r < 0) {
		folder_free(folder);
		return r;
	}
	fi.fh = (uintptr_t)folder;
	/*
	 * A snapshot's folders may be listed out of the kernel's cache; refs move, and a listing of
	 * the root that began before a switch would be kept after it.
	 */
	fi.cache_readdir = fi.keep_cache = !is_status && !moves;
	if (fuse_reply_open(job->req, &fi) < 0)
		folder_free(folder);
	return 0;
}

void op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct job job;

	(void)fi;
	if (job_init(&job, req, ino, answer_opendir))
		job_run(&job, job.fs->metadata);
}

void op_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	folder_free((struct folder *)(uintptr_t)fi->fh);
	fuse_reply_err(req, 0);
}

static int folder_begin(struct folder *folder, bool with_attrs, struct error *err)
{
	int r;

	r = view_iter_new(folder->target.view, &folder->target.file, &folder->iter, err);
	if (r < 0)
		return r;
	view_iter_set_names_only(folder->iter, !with_attrs);
	return 0;
}

/* Entry at the folder's offset: 0, VIEW_END, or an error.  It stays until it was taken. */
static int folder_peek(struct folder *folder, bool with_attrs, struct error *err)
{
	size_t i = (size_t)(folder->next - OFFSET_PARENT - 1);
	int r;

	if (folder->has_entry)
		return 0;
	if (folder->target.kind == SLOT_STATUS) {
		if (i >= folder->names.n)
			return VIEW_END;
		snprintf(folder->entry.name, sizeof(folder->entry.name), "%s",
			 folder->names.items[i].name);
		folder->entry.attr = (struct view_attr){
			.is_folder = folder->names.items[i].is_folder,
		};
		folder->has_entry = true;
		return 0;
	}
	if (!folder->iter) {
		r = folder_begin(folder, with_attrs, err);
		if (r < 0)
			return r;
	}
	r = view_iter_next(folder->iter, &folder->entry, err);
	folder->has_entry = r == 0;
	return r;
}

static void folder_take(struct folder *folder)
{
	folder->has_entry = false;
	folder->next++;
}

/* Goes to @offset; a seek backwards begins anew. */
static int folder_seek(struct folder *folder, off_t offset, bool with_attrs, struct error *err)
{
	int r = 0;

	if (offset < OFFSET_PARENT + 1)
		offset = OFFSET_PARENT + 1;
	if (offset < folder->next) {
		folder->iter = view_iter_free(folder->iter);
		folder->has_entry = false;
		folder->next = OFFSET_PARENT + 1;
	}
	while (folder->next < offset && r == 0) {
		r = folder_peek(folder, with_attrs, err);
		if (r == 0)
			folder_take(folder);
	}
	return r;
}

/* Appends an entry to the reply; false when it does not fit. */
static bool dirent_add(const struct job *job, struct buf *out, const char *name,
		       const struct fuse_entry_param *entry, off_t next)
{
	char *at = (char *)out->data + out->size;
	size_t room = job->size - out->size;
	size_t need = job->plus ? fuse_add_direntry_plus(job->req, at, room, name, entry, next)
				: fuse_add_direntry(job->req, at, room, name, &entry->attr, next);

	if (need > room)
		return false;
	out->size += need;
	return true;
}

static bool dot_add(const struct job *job, struct buf *out, off_t offset)
{
	struct fuse_entry_param entry = {0};

	/* Inode 0 tells readdirplus that this is no lookup. */
	entry.attr.st_mode = S_IFDIR;
	entry.attr.st_ino = job->folder->target.st_ino;
	return dirent_add(job, out, offset == 0 ? "." : "..", &entry, offset + 1);
}

/*
 * The folder's entry as the reply needs it; with readdirplus a lookup of its own.  An entry whose
 * attributes are not at hand has only a name there: the kernel looks it up if it wants to.
 */
static int folder_entry(const struct job *job, struct fuse_entry_param *ret_entry,
			struct error *err)
{
	struct folder *folder = job->folder;
	const struct view_entry *entry = &folder->entry;

	memset(ret_entry, 0, sizeof(*ret_entry));
	if (folder->target.kind == SLOT_STATUS) {
		/* Looking each up would make texts and open trees that nobody asked for. */
		ret_entry->attr.st_mode = entry->attr.is_folder ? S_IFDIR : S_IFREG;
		ret_entry->attr.st_ino = (ino_t)folder->next;
		return 0;
	}
	if (job->plus && entry->has_attr)
		return target_entry_again(job->fs, &folder->target, &entry->file, &entry->attr,
					  &folder->memo, ret_entry, err);
	ret_entry->attr.st_mode = entry->attr.is_folder ? S_IFDIR : S_IFREG;
	return target_number(job->fs, &folder->target, &entry->file, &folder->memo,
			     &ret_entry->attr.st_ino, err);
}

static int folder_fill(const struct job *job, struct buf *out, struct error *err)
{
	struct folder *folder = job->folder;
	struct fuse_entry_param entry;
	off_t offset = job->offset;
	int r;

	for (; offset < OFFSET_PARENT; offset++)
		if (!dot_add(job, out, offset))
			return 0;
	/* No folder reaches that far. */
	if (offset == INT64_MAX)
		return 0;
	r = folder_seek(folder, offset + 1, job->plus, err);
	while (r == 0) {
		r = folder_peek(folder, job->plus, err);
		if (r == 0)
			r = folder_entry(job, &entry, err);
		if (r != 0)
			break;
		if (!dirent_add(job, out, folder->entry.name, &entry, folder->next)) {
			if (entry.ino)
				slots_forget(job->fs->slots, entry.ino, 1);
			return 0;
		}
		folder_take(folder);
	}
	return r < 0 ? r : 0;
}

/* Can the next entries be listed without waiting for a manifest, or for somebody who does? */
static bool folder_is_ready(struct folder *folder)
{
	if (folder->target.kind == SLOT_STATUS)
		return true;
	return folder->iter && view_iter_is_ready(folder->iter);
}

/* With the folder's mutex, unless that or the listing would have to be waited for. */
static int folder_lock(struct folder *folder, bool may_wait)
{
	if (may_wait) {
		pthread_mutex_lock(&folder->mutex);
		return 0;
	}
	if (pthread_mutex_trylock(&folder->mutex) != 0)
		return VIEW_WOULD_WAIT;
	if (folder_is_ready(folder))
		return 0;
	pthread_mutex_unlock(&folder->mutex);
	return VIEW_WOULD_WAIT;
}

static int answer_readdir(struct job *job, bool may_wait, struct error *err)
{
	CLEANUP(buf_done) struct buf out = BUF_INIT(FS_READ_MAX);
	int r;

	r = folder_lock(job->folder, may_wait);
	if (r != 0)
		return r;
	if (job->folder->iter)
		view_iter_set_names_only(job->folder->iter, !job->plus);
	r = buf_reserve(&out, job->size, err);
	if (r == 0)
		r = folder_fill(job, &out, err);
	pthread_mutex_unlock(&job->folder->mutex);
	/* An error behind entries is told at the next call: never a shorter list. */
	if (r < 0 && out.size == 0)
		return r;
	fuse_reply_buf(job->req, (const char *)out.data, out.size);
	return 0;
}

static void readdir_start(fuse_req_t req, size_t size, off_t offset, struct fuse_file_info *fi,
			  bool plus)
{
	struct job job = {
		.fs = fuse_req_userdata(req),
		.req = req,
		.answer = answer_readdir,
		.target.kind = SLOT_STATUS, /* the open folder has a target of its own */
		.folder = (struct folder *)(uintptr_t)fi->fh,
		.size = size < FS_READ_MAX ? size : FS_READ_MAX,
		.offset = offset,
		.plus = plus,
	};

	job_run(&job, job.fs->metadata);
}

void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
		struct fuse_file_info *fi)
{
	(void)ino;
	readdir_start(req, size, offset, fi, false);
}

void op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
		    struct fuse_file_info *fi)
{
	(void)ino;
	readdir_start(req, size, offset, fi, true);
}
