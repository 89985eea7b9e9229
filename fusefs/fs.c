/* SPDX-License-Identifier: Apache-2.0 */
#include "fusefs/fs.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/statvfs.h>

#include "base/log.h"
#include "base/text.h"
#include "base/time.h"
#include "base/vec.h"
#include "fusefs/status.h"

#define DATA_THREADS 64
#define METADATA_THREADS 8
#define FOR_EVER 1e9 /* seconds: a snapshot never changes */
#define BLOCK 4096
#define READ_MAX (1U << 20)

/* A snapshot that was opened below .refmt/. */
struct opened {
	struct id12 id;
	struct view *view;
	struct opened *next;
};

struct fs {
	struct repo *repo;
	struct reader *reader;
	struct fs_options options;
	struct view *view;
	struct slots *slots;
	struct pool *metadata, *data;
	bool no_open; /* the kernel takes ENOSYS for open */

	pthread_mutex_t mutex; /* of what follows */
	struct opened *opened;
	struct fs_failure failures[FS_ERRORS_KEPT];
	size_t n_failures; /* ever; the ring holds the last */

	atomic_uint_fast64_t lookups, reads, read_bytes, errors;
};

/* ---- making and ending ---- */

static int fs_open(struct fs *fs, struct error *err)
{
	CLEANUP(checkout_freep) struct checkout *checkout = NULL;
	struct id12 id;
	int r;

	r = repo_resolve(fs->repo, &fs->options.at, &id, err);
	if (r < 0)
		return r;
	r = repo_checkout(fs->repo, &id, &checkout, err);
	if (r < 0)
		return r;
	r = view_new(fs->reader, checkout, fs->options.mode, &fs->view, err);
	if (r < 0)
		return r;
	return slots_new(&fs->slots, err);
}

int fs_new(struct repo *repo, struct reader *reader, const struct fs_options *options,
	   struct fs **ret_fs, struct error *err)
{
	CLEANUP(fs_freep) struct fs *fs = calloc(1, sizeof(*fs));
	int r;

	if (!fs)
		return error_memory(err);
	fs->repo = repo;
	fs->reader = reader;
	fs->options = *options;
	pthread_mutex_init(&fs->mutex, NULL);
	r = fs_open(fs, err);
	if (r < 0)
		return r;
	*ret_fs = TAKE(fs);
	return 0;
}

int fs_start(struct fs *fs, struct error *err)
{
	int r;

	r = pool_new(METADATA_THREADS, &fs->metadata, err);
	if (r < 0)
		return r;
	return pool_new(fs->options.data_threads ? fs->options.data_threads : DATA_THREADS,
			&fs->data, err);
}

struct fs *fs_free(struct fs *fs)
{
	if (!fs)
		return NULL;
	pool_free(fs->data);
	pool_free(fs->metadata);
	slots_free(fs->slots);
	while (fs->opened) {
		struct opened *next = fs->opened->next;

		view_free(fs->opened->view);
		free(fs->opened);
		fs->opened = next;
	}
	for (size_t i = 0; i < FS_ERRORS_KEPT; i++)
		free(fs->failures[i].path);
	view_free(fs->view);
	pthread_mutex_destroy(&fs->mutex);
	free(fs);
	return NULL;
}

struct fs *fs_of(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

struct repo *fs_repo(struct fs *fs)
{
	return fs->repo;
}

struct reader *fs_reader(struct fs *fs)
{
	return fs->reader;
}

struct view *fs_view(struct fs *fs)
{
	return fs->view;
}

const struct fs_options *fs_options(const struct fs *fs)
{
	return &fs->options;
}

struct fs_counters fs_counters(struct fs *fs)
{
	return (struct fs_counters){
		.lookups = atomic_load(&fs->lookups),
		.reads = atomic_load(&fs->reads),
		.read_bytes = atomic_load(&fs->read_bytes),
		.errors = atomic_load(&fs->errors),
		.slots = slots_count(fs->slots),
	};
}

int fs_snapshot_view(struct fs *fs, const struct id12 *id, struct view **ret_view,
		     struct error *err)
{
	CLEANUP(checkout_freep) struct checkout *checkout = NULL;
	struct opened *opened;
	int r = 0;

	if (id12_equal(id, checkout_id(view_checkout(fs->view)))) {
		*ret_view = fs->view;
		return 0;
	}
	pthread_mutex_lock(&fs->mutex);
	for (opened = fs->opened; opened && !id12_equal(&opened->id, id); opened = opened->next)
		;
	if (!opened) {
		opened = calloc(1, sizeof(*opened));
		r = opened ? repo_checkout(fs->repo, id, &checkout, err) : error_memory(err);
		if (r == 0)
			r = view_new(fs->reader, checkout, fs->options.mode, &opened->view, err);
		if (r < 0) {
			free(opened);
			opened = NULL;
		} else {
			opened->id = *id;
			opened->next = fs->opened;
			fs->opened = opened;
		}
	}
	if (opened)
		*ret_view = opened->view;
	pthread_mutex_unlock(&fs->mutex);
	return r;
}

/* ---- failures ---- */

static char *file_path(struct view *view, const struct view_file *file)
{
	struct slice folder = view_path(view, file->folder);
	char name[VIEW_NAME_MAX + 1] = "";

	if (file->kind != VIEW_FOLDER)
		view_name(view, file, name);
	return text_printf(NULL, "%.*s%s%s", (int)folder.size, (const char *)folder.data,
			   name[0] ? ": " : "", name);
}

static void fs_failed(struct fs *fs, const struct slot *slot, uint64_t number,
		      const struct error *err)
{
	struct fs_failure *failure;
	char *path = NULL;

	atomic_fetch_add(&fs->errors, 1);
	if (slot && slot->kind == SLOT_VIEW) {
		struct view_file file = slot_file(slot, number);

		path = file_path(slot->view, &file);
	}
	log_event(LOG_WARNING, "read", "%s: %s", path ? path : "?", err->text);
	pthread_mutex_lock(&fs->mutex);
	failure = &fs->failures[fs->n_failures++ % FS_ERRORS_KEPT];
	free(failure->path);
	failure->path = path;
	failure->time = time_now();
	failure->errnum = error_errno(err->kind);
	memcpy(failure->text, err->text, sizeof(failure->text));
	pthread_mutex_unlock(&fs->mutex);
}

void fs_failures(struct fs *fs, void (*each)(void *argument, const struct fs_failure *failure),
		 void *argument)
{
	size_t first;

	pthread_mutex_lock(&fs->mutex);
	first = fs->n_failures > FS_ERRORS_KEPT ? fs->n_failures - FS_ERRORS_KEPT : 0;
	for (size_t i = first; i < fs->n_failures; i++)
		each(argument, &fs->failures[i % FS_ERRORS_KEPT]);
	pthread_mutex_unlock(&fs->mutex);
}

static void reply_error(fuse_req_t req, const struct slot *slot, uint64_t number,
			const struct error *err)
{
	fs_failed(fs_of(req), slot, number, err);
	fuse_reply_err(req, error_errno(err->kind));
}

/* ---- inodes ---- */

/* The root of the mount is number 1 to the kernel and a slot of the view to us. */
static int fs_slot(struct fs *fs, fuse_ino_t ino, struct slot **ret_slot, uint64_t *ret_number,
		   struct error *err)
{
	struct slot *slot;

	if (ino == FUSE_ROOT_ID) {
		*ret_number = 0;
		return slots_view(fs->slots, fs->view, 0, 0, ret_slot, err);
	}
	slot = slots_get(fs->slots, ino, ret_number);
	if (!slot)
		return error_set(err, ERR_CHANGED, "inode %llu is not known",
				 (unsigned long long)ino);
	*ret_slot = slot;
	return 0;
}

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
	st->st_blksize = READ_MAX;
	st->st_blocks = (blkcnt_t)((size + 511) / 512);
	st->st_mtim.tv_sec = mtime / TIME_SECOND;
	st->st_mtim.tv_nsec = mtime % TIME_SECOND * 1000;
	st->st_atim = st->st_mtim;
	st->st_ctim = st->st_mtim;
}

static void entry_fill_file(const struct fs *fs, struct fuse_entry_param *entry,
			    const struct slot *slot, uint64_t number, const struct view_attr *attr)
{
	*entry = (struct fuse_entry_param){
		.ino = slot_ino(slot, number),
		.attr_timeout = attr->unknown ? 0 : FOR_EVER,
		.entry_timeout = attr->unknown ? 0 : FOR_EVER,
	};
	stat_fill(fs, &entry->attr, slot_st_ino(slot, number), attr);
}

/* An entry of a view, with one more lookup of its inode. */
static int view_entry(struct fs *fs, struct view *view, const struct view_file *file,
		      const struct view_attr *attr, struct fuse_entry_param *ret_entry,
		      struct error *err)
{
	struct slot *slot;
	int r;

	r = slots_view(fs->slots, view, file->folder, 1, &slot, err);
	if (r < 0)
		return r;
	entry_fill_file(fs, ret_entry, slot, slot_number(slot, file), attr);
	return 0;
}

/* An entry of the status tree. */
static int status_fill(struct fs *fs, struct status_entry *status,
		       struct fuse_entry_param *ret_entry, struct error *err)
{
	struct view_attr attr = {.is_folder = true, .mtime = time_now()};
	struct view_file root = view_root();
	struct slot *slot;
	int r;

	switch (status->kind) {
	case STATUS_TREE:
		attr.mtime = checkout_flushed_at(view_checkout(status->view));
		r = view_entry(fs, status->view, &root, &attr, ret_entry, err);
		break;
	case STATUS_FOLDER:
		r = slots_status(fs->slots, status->folder, 1, &slot, err);
		if (r == 0)
			entry_fill_file(fs, ret_entry, slot, 0, &attr);
		break;
	default:
		attr.is_folder = false;
		attr.size = status->text->bytes.size;
		r = slots_text(fs->slots, status->text, attr.mtime, 1, &slot, err);
		if (r == 0)
			entry_fill_file(fs, ret_entry, slot, 0, &attr);
		break;
	}
	/* Refs move and texts are made anew: the name must be asked for again each time. */
	ret_entry->entry_timeout = 0;
	return r;
}

static bool is_root(const struct slot *slot, uint64_t number, const struct fs *fs)
{
	return slot->kind == SLOT_VIEW && slot->view == fs->view && slot->folder == 0 &&
	       number == 0;
}

static int find_entry(struct fs *fs, struct slot *slot, uint64_t number, const char *name,
		      struct fuse_entry_param *ret_entry, struct error *err)
{
	struct status_entry status = {.kind = STATUS_FOLDER, .folder = STATUS_TOP};
	struct view_file folder, file;
	struct view_attr attr;
	int r;

	if (slot->kind == SLOT_STATUS) {
		r = status_lookup(fs, slot->status, name, &status, err);
		return r == 0 ? status_fill(fs, &status, ret_entry, err) : r;
	}
	if (slot->kind != SLOT_VIEW)
		return VIEW_ABSENT;
	folder = slot_file(slot, number);
	r = view_lookup(slot->view, &folder, name, &file, &attr, err);
	if (r == 0)
		return view_entry(fs, slot->view, &file, &attr, ret_entry, err);
	/* A node of that name wins. */
	if (r == VIEW_ABSENT && is_root(slot, number, fs) && strcmp(name, STATUS_NAME) == 0)
		return status_fill(fs, &status, ret_entry, err);
	return r;
}

/* ---- requests that go to a pool ---- */

struct job {
	fuse_req_t req;
	fuse_ino_t ino;
	struct slot *slot;
	uint64_t number;
	size_t size;
	off_t offset;
	struct folder *folder; /* readdir */
	bool plus;
	char name[];
};

static struct job *job_new(fuse_req_t req, struct slot *slot, uint64_t number, const char *name)
{
	size_t length = name ? strlen(name) : 0;
	struct job *job = calloc(1, sizeof(*job) + length + 1);

	if (!job)
		return NULL;
	job->req = req;
	job->slot = slot;
	job->number = number;
	if (name)
		memcpy(job->name, name, length + 1);
	return job;
}

static void job_add(struct pool *pool, struct job *job, void (*work)(void *job))
{
	struct error err = ERROR_INIT;

	if (pool_add(pool, work, job, &err) < 0) {
		reply_error(job->req, job->slot, job->number, &err);
		free(job);
	}
}

/* The slot of a request, or an answer that there is none. */
static struct slot *req_slot(fuse_req_t req, fuse_ino_t ino, uint64_t *ret_number)
{
	struct error err = ERROR_INIT;
	struct slot *slot;

	if (fs_slot(fs_of(req), ino, &slot, ret_number, &err) < 0) {
		fuse_reply_err(req, error_errno(err.kind));
		return NULL;
	}
	return slot;
}

static void lookup_work(void *argument)
{
	CLEANUP(freep) struct job *job = argument;
	struct fuse_entry_param entry = {0};
	struct error err = ERROR_INIT;
	int r;

	r = find_entry(fs_of(job->req), job->slot, job->number, job->name, &entry, &err);
	if (r < 0) {
		reply_error(job->req, job->slot, job->number, &err);
	} else if (r == VIEW_ABSENT) {
		/* Proven, and a snapshot never changes: the kernel may remember that too. */
		entry.entry_timeout = job->slot->kind == SLOT_VIEW ? FOR_EVER : 0;
		fuse_reply_entry(job->req, &entry);
	} else if (fuse_reply_entry(job->req, &entry) < 0) {
		slots_forget(fs_of(job->req)->slots, entry.ino, 1);
	}
}

static void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fs *fs = fs_of(req);
	struct slot *slot;
	struct job *job;
	uint64_t number;

	atomic_fetch_add(&fs->lookups, 1);
	slot = req_slot(req, parent, &number);
	if (!slot)
		return;
	job = job_new(req, slot, number, name);
	if (!job)
		fuse_reply_err(req, ENOMEM);
	else
		job_add(fs->metadata, job, lookup_work);
}

/* ---- attributes ---- */

static int find_attr(struct slot *slot, uint64_t number, struct view_attr *ret_attr,
		     struct error *err)
{
	struct view_file file;

	switch (slot->kind) {
	case SLOT_TEXT:
		*ret_attr = (struct view_attr){
			.size = slot->text->bytes.size,
			.mtime = slot->mtime,
		};
		return 0;
	case SLOT_STATUS:
		*ret_attr = (struct view_attr){.is_folder = true, .mtime = time_now()};
		return 0;
	default:
		file = slot_file(slot, number);
		return view_stat(slot->view, &file, ret_attr, err);
	}
}

static void attr_work(void *argument)
{
	CLEANUP(freep) struct job *job = argument;
	struct view_attr attr;
	struct error err = ERROR_INIT;
	struct stat st;
	int r;

	r = find_attr(job->slot, job->number, &attr, &err);
	/* A chunk that the kernel knows was there; its snapshot has not changed since. */
	if (r == VIEW_ABSENT)
		r = error_set(&err, ERR_CHANGED, "the chunk has no reference");
	if (r < 0) {
		reply_error(job->req, job->slot, job->number, &err);
		return;
	}
	stat_fill(fs_of(job->req), &st,
		  job->ino == FUSE_ROOT_ID ? FUSE_ROOT_ID : slot_st_ino(job->slot, job->number),
		  &attr);
	fuse_reply_attr(job->req, &st, attr.unknown ? 0 : FOR_EVER);
}

/* Attributes of chunks may need a manifest; all others cost nothing. */
static bool may_wait(const struct slot *slot, uint64_t number)
{
	return slot->kind == SLOT_VIEW && slot_file(slot, number).kind == VIEW_CHUNK;
}

static void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct slot *slot;
	struct job *job;
	uint64_t number;

	(void)fi;
	slot = req_slot(req, ino, &number);
	if (!slot)
		return;
	job = job_new(req, slot, number, NULL);
	if (!job) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	job->ino = ino;
	if (may_wait(slot, number))
		job_add(fs_of(req)->metadata, job, attr_work);
	else
		attr_work(job);
}

static void op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t n)
{
	if (ino != FUSE_ROOT_ID)
		slots_forget(fs_of(req)->slots, ino, n);
	fuse_reply_none(req);
}

static void op_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forgets)
{
	for (size_t i = 0; i < count; i++)
		if (forgets[i].ino != FUSE_ROOT_ID)
			slots_forget(fs_of(req)->slots, forgets[i].ino, forgets[i].nlookup);
	fuse_reply_none(req);
}

/* ---- reading files ---- */

static void read_reply(const struct job *job, struct slice bytes)
{
	struct slice part;

	part = job->offset < 0 ? slice_sub(bytes, bytes.size, 0)
			       : slice_sub(bytes, (size_t)job->offset, job->size);
	atomic_fetch_add(&fs_of(job->req)->read_bytes, part.size);
	fuse_reply_buf(job->req, (const char *)part.data, part.size);
}

static void read_work(void *argument)
{
	CLEANUP(freep) struct job *job = argument;
	CLEANUP(content_freep) struct content *content = NULL;
	struct view_file file = slot_file(job->slot, job->number);
	struct error err = ERROR_INIT;

	if (view_load(job->slot->view, &file, 0, &content, &err) < 0)
		reply_error(job->req, job->slot, job->number, &err);
	else
		read_reply(job, content->bytes);
}

static void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
		    struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	struct slot *slot;
	struct job *job;
	uint64_t number;

	(void)fi;
	atomic_fetch_add(&fs->reads, 1);
	slot = req_slot(req, ino, &number);
	if (!slot)
		return;
	job = job_new(req, slot, number, NULL);
	if (!job) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	job->size = size;
	job->offset = offset;
	if (slot->kind == SLOT_TEXT) {
		read_reply(job, slot->text->bytes);
		free(job);
	} else if (may_wait(slot, number)) {
		job_add(fs->data, job, read_work);
	} else {
		read_work(job);
	}
}

/*
 * With ENOSYS the kernel never asks again, keeps pages across opens, and opens become ten times
 * cheaper.  A kernel that cannot do that gets an ordinary answer.
 */
static void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	if (fs_of(req)->no_open) {
		fuse_reply_err(req, ENOSYS);
		return;
	}
	fi->keep_cache = 1;
	fuse_reply_open(req, fi);
}

/* ---- listing folders ---- */

struct status_name {
	char *name;
	bool is_folder;
};
DEFINE_VEC(status_names, struct status_name);

/* An open folder. */
struct folder {
	pthread_mutex_t mutex;
	struct slot *slot;
	uint64_t number;
	struct view_iter *iter;	   /* of a view; NULL before the first entry */
	struct status_names names; /* of the status tree */
	off_t next;		   /* offset that the next entry has */
	bool has_entry;		   /* @entry was taken but did not fit */
	struct view_entry entry;
};

/* The first two entries. */
enum { OFFSET_SELF = 1, OFFSET_PARENT = 2 };

static void folder_free(struct folder *folder)
{
	view_iter_free(folder->iter);
	for (size_t i = 0; i < folder->names.n; i++)
		free(folder->names.items[i].name);
	status_names_done(&folder->names);
	pthread_mutex_destroy(&folder->mutex);
	free(folder);
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

static void opendir_work(void *argument)
{
	CLEANUP(freep) struct job *job = argument;
	struct fuse_file_info fi = {0};
	struct error err = ERROR_INIT;
	struct folder *folder = job->folder;
	int r = 0;

	if (job->slot->kind == SLOT_STATUS)
		r = status_list(fs_of(job->req), job->slot->status, folder_add_name, folder, &err);
	if (r < 0) {
		folder_free(folder);
		reply_error(job->req, job->slot, job->number, &err);
		return;
	}
	fi.fh = (uintptr_t)folder;
	/* A snapshot's folders may be listed out of the kernel's cache; refs move. */
	fi.cache_readdir = fi.keep_cache = job->slot->kind == SLOT_VIEW;
	if (fuse_reply_open(job->req, &fi) < 0)
		folder_free(folder);
}

static void op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct slot *slot;
	struct job *job;
	uint64_t number;

	(void)fi;
	slot = req_slot(req, ino, &number);
	if (!slot)
		return;
	job = job_new(req, slot, number, NULL);
	if (job)
		job->folder = calloc(1, sizeof(*job->folder));
	if (!job || !job->folder) {
		free(job);
		fuse_reply_err(req, ENOMEM);
		return;
	}
	pthread_mutex_init(&job->folder->mutex, NULL);
	job->folder->slot = slot;
	job->folder->number = number;
	job->folder->next = OFFSET_PARENT + 1;
	if (slot->kind == SLOT_STATUS)
		job_add(fs_of(req)->metadata, job, opendir_work);
	else
		opendir_work(job);
}

static void op_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	folder_free((struct folder *)(uintptr_t)fi->fh);
	fuse_reply_err(req, 0);
}

/* Entry at the folder's offset: 0, VIEW_END, or an error.  It stays until it was taken. */
static int folder_peek(struct folder *folder, struct error *err)
{
	struct view_file file;
	size_t i = (size_t)(folder->next - OFFSET_PARENT - 1);
	int r;

	if (folder->has_entry)
		return 0;
	if (folder->slot->kind == SLOT_STATUS) {
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
		file = slot_file(folder->slot, folder->number);
		r = view_iter_new(folder->slot->view, &file, &folder->iter, err);
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
static int folder_seek(struct folder *folder, off_t offset, struct error *err)
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
		r = folder_peek(folder, err);
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
	entry.attr.st_ino = slot_st_ino(job->slot, job->number);
	return dirent_add(job, out, offset == 0 ? "." : "..", &entry, offset + 1);
}

/* The folder's entry as the reply needs it; with readdirplus a lookup of its own. */
static int folder_entry(const struct job *job, struct fuse_entry_param *ret_entry,
			struct error *err)
{
	struct fs *fs = fs_of(job->req);
	const struct view_entry *entry = &job->folder->entry;
	struct slot *slot;
	int r;

	memset(ret_entry, 0, sizeof(*ret_entry));
	if (job->slot->kind == SLOT_STATUS) {
		/* Looking each up would make texts and open trees that nobody asked for. */
		ret_entry->attr.st_mode = entry->attr.is_folder ? S_IFDIR : S_IFREG;
		ret_entry->attr.st_ino = (ino_t)job->folder->next;
		return 0;
	}
	if (job->plus)
		return view_entry(fs, job->slot->view, &entry->file, &entry->attr, ret_entry, err);
	/* Chunks and documents are in the slot of their folder; a child is in its own. */
	if (entry->file.folder == job->slot->folder) {
		entry_fill_file(fs, ret_entry, job->slot, slot_number(job->slot, &entry->file),
				&entry->attr);
		return 0;
	}
	r = slots_view(fs->slots, job->slot->view, entry->file.folder, 1, &slot, err);
	if (r < 0)
		return r;
	entry_fill_file(fs, ret_entry, slot, slot_number(slot, &entry->file), &entry->attr);
	slots_forget(fs->slots, ret_entry->ino, 1);
	return 0;
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
	r = folder_seek(folder, offset + 1, err);
	while (r == 0) {
		r = folder_peek(folder, err);
		if (r == 0)
			r = folder_entry(job, &entry, err);
		if (r != 0)
			break;
		if (!dirent_add(job, out, folder->entry.name, &entry, folder->next)) {
			if (job->plus && entry.ino)
				slots_forget(fs_of(job->req)->slots, entry.ino, 1);
			return 0;
		}
		folder_take(folder);
	}
	return r < 0 ? r : 0;
}

static void readdir_work(void *argument)
{
	CLEANUP(freep) struct job *job = argument;
	CLEANUP(buf_done) struct buf out = BUF_INIT(READ_MAX);
	struct error err = ERROR_INIT;
	int r;

	r = buf_reserve(&out, job->size, &err);
	if (r == 0) {
		pthread_mutex_lock(&job->folder->mutex);
		r = folder_fill(job, &out, &err);
		pthread_mutex_unlock(&job->folder->mutex);
	}
	/* An error behind entries is told at the next call: never a shorter list. */
	if (r < 0 && out.size == 0)
		reply_error(job->req, job->slot, job->number, &err);
	else
		fuse_reply_buf(job->req, (const char *)out.data, out.size);
}

static void readdir_start(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
			  struct fuse_file_info *fi, bool plus)
{
	struct slot *slot;
	struct job *job;
	uint64_t number;

	slot = req_slot(req, ino, &number);
	if (!slot)
		return;
	job = job_new(req, slot, number, NULL);
	if (!job) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	job->folder = (struct folder *)(uintptr_t)fi->fh;
	job->size = size < READ_MAX ? size : READ_MAX;
	job->offset = offset;
	job->plus = plus;
	job_add(fs_of(req)->metadata, job, readdir_work);
}

static void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
		       struct fuse_file_info *fi)
{
	readdir_start(req, ino, size, offset, fi, false);
}

static void op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
			   struct fuse_file_info *fi)
{
	readdir_start(req, ino, size, offset, fi, true);
}

/* ---- extended attributes ---- */

#define XATTR_PREFIX "user.refmt."

static const char *const xattr_names[] = {
	XATTR_PREFIX "kind",   XATTR_PREFIX "location", XATTR_PREFIX "offset",
	XATTR_PREFIX "length", XATTR_PREFIX "snapshot", XATTR_PREFIX "manifest",
	XATTR_PREFIX "state",
};

/* Value of attribute @name, or an empty text where the chunk has none. */
static int xattr_value(const struct view_chunk *chunk, const char *name, struct buf *out,
		       struct error *err)
{
	name += strlen(XATTR_PREFIX);
	if (strcmp(name, "kind") == 0)
		return buf_append_text(out, chunk->kind ? chunk->kind : "", err);
	if (strcmp(name, "location") == 0)
		return buf_append_text(out, chunk->location ? chunk->location : "", err);
	if (strcmp(name, "offset") == 0)
		return chunk->location
			       ? buf_printf(out, err, "%llu", (unsigned long long)chunk->offset)
			       : 0;
	if (strcmp(name, "length") == 0)
		return chunk->kind ? buf_printf(out, err, "%llu", (unsigned long long)chunk->length)
				   : 0;
	if (strcmp(name, "snapshot") == 0)
		return buf_append_text(out, chunk->snapshot, err);
	if (strcmp(name, "manifest") == 0)
		return buf_append_text(out, chunk->manifest, err);
	if (strcmp(name, "state") == 0)
		return buf_append_text(out, chunk->state, err);
	return 0;
}

static int xattr_fill(const struct view_chunk *chunk, const char *name, struct buf *out,
		      struct error *err)
{
	int r = 0;

	if (name[0])
		return xattr_value(chunk, name, out, err);
	for (size_t i = 0; i < ARRAY_LEN(xattr_names) && r == 0; i++) {
		CLEANUP(buf_done) struct buf value = BUF_INIT(BUF_NO_LIMIT);

		r = xattr_value(chunk, xattr_names[i], &value, err);
		if (r == 0 && value.size)
			r = buf_append(out, xattr_names[i], strlen(xattr_names[i]) + 1, err);
	}
	return r;
}

static void xattr_reply(const struct job *job, const struct buf *value)
{
	if (job->name[0] && value->size == 0)
		fuse_reply_err(job->req, ENODATA);
	else if (job->size == 0)
		fuse_reply_xattr(job->req, value->size);
	else if (value->size > job->size)
		fuse_reply_err(job->req, ERANGE);
	else
		fuse_reply_buf(job->req, (const char *)value->data, value->size);
}

static void xattr_work(void *argument)
{
	CLEANUP(freep) struct job *job = argument;
	CLEANUP(buf_done) struct buf value = BUF_INIT(BUF_NO_LIMIT);
	struct view_file file = slot_file(job->slot, job->number);
	struct view_chunk chunk;
	struct error err = ERROR_INIT;
	int r;

	r = view_describe(job->slot->view, &file, &chunk, &err);
	if (r == 0) {
		r = xattr_fill(&chunk, job->name, &value, &err);
		view_chunk_done(&chunk);
	}
	if (r < 0)
		reply_error(job->req, job->slot, job->number, &err);
	else
		xattr_reply(job, &value);
}

/* Only chunks have attributes; @name is empty for a list. */
static void xattr_start(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
	struct slot *slot;
	struct job *job;
	uint64_t number;

	slot = req_slot(req, ino, &number);
	if (!slot)
		return;
	job = job_new(req, slot, number, name);
	if (!job) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	job->size = size;
	if (may_wait(slot, number)) {
		job_add(fs_of(req)->metadata, job, xattr_work);
		return;
	}
	xattr_reply(job, &(struct buf){0});
	free(job);
}

static void op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
	/* The kernel remembers this answer; ENODATA would make `ls -l` ask for every file. */
	if (strncmp(name, "user.", 5) != 0)
		fuse_reply_err(req, EOPNOTSUPP);
	else if (strncmp(name, XATTR_PREFIX, strlen(XATTR_PREFIX)) != 0)
		fuse_reply_err(req, ENODATA);
	else
		xattr_start(req, ino, name, size);
}

static void op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
	xattr_start(req, ino, "", size);
}

/* ---- the rest ---- */

/* Never touches the network: df must answer while a source is dead. */
static void op_statfs(fuse_req_t req, fuse_ino_t ino)
{
	struct statvfs st = {
		.f_bsize = BLOCK,
		.f_frsize = BLOCK,
		.f_files = checkout_n_nodes(view_checkout(fs_of(req)->view)),
		.f_namemax = VIEW_NAME_MAX,
		.f_flag = ST_RDONLY | ST_NOSUID,
	};

	(void)ino;
	fuse_reply_statfs(req, &st);
}

static void op_init(void *userdata, struct fuse_conn_info *conn)
{
	struct fs *fs = userdata;

	fs->no_open = conn->capable & FUSE_CAP_NO_OPEN_SUPPORT;
	conn->want |= conn->capable &
		      (FUSE_CAP_PARALLEL_DIROPS | FUSE_CAP_READDIRPLUS | FUSE_CAP_READDIRPLUS_AUTO |
		       FUSE_CAP_ASYNC_READ | FUSE_CAP_CACHE_SYMLINKS);
	/* Splicing gained nothing when it was measured. */
	conn->want &= ~(unsigned int)(FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE |
				      FUSE_CAP_SPLICE_MOVE);
	conn->max_readahead = READ_MAX;
	conn->max_background = 64;
	conn->time_gran = 1000;
}

const struct fuse_lowlevel_ops fs_ops = {
	.init = op_init,
	.lookup = op_lookup,
	.forget = op_forget,
	.forget_multi = op_forget_multi,
	.getattr = op_getattr,
	.open = op_open,
	.read = op_read,
	.opendir = op_opendir,
	.readdir = op_readdir,
	.readdirplus = op_readdirplus,
	.releasedir = op_releasedir,
	.getxattr = op_getxattr,
	.listxattr = op_listxattr,
	.statfs = op_statfs,
};
