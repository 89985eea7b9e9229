/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <sys/statvfs.h>

#include "fusefs/heap.h"
#include "fusefs/internal.h"
#include "fusefs/status.h"

#define BLOCK 4096

/* ---- lookup ---- */

/* An entry of the status tree. */
static int status_fill(struct fs *fs, struct status_entry *status,
		       struct fuse_entry_param *ret_entry, struct error *err)
{
	struct slot *slot;
	struct target target;
	int r = 0;

	switch (status->kind) {
	case STATUS_TREE:
		r = tree_entry(fs, status->tree, status->view, ret_entry, err);
		view_free(status->view);
		/* Refs move: the name must be asked for again each time. */
		ret_entry->entry_timeout = 0;
		return r;
	case STATUS_FOLDER:
		r = slots_status(fs->slots, status->folder, 1, &slot, err);
		break;
	default:
		r = slots_text(fs->slots, status->text, status->mtime, 1, &slot, err);
		break;
	}
	if (r < 0)
		return r;
	/* A file's text is made anew for each lookup. */
	*ret_entry = (struct fuse_entry_param){
		.ino = slot_ino(slot, 0),
		.attr_timeout = FS_FOR_EVER,
		.entry_timeout = status->kind == STATUS_FOLDER ? FS_FOR_EVER : 0,
	};
	r = target_init(fs, ret_entry->ino, &target, err);
	if (r == 0) {
		double timeout;

		r = target_stat(fs, &target, false, &ret_entry->attr, &timeout, err);
		target_done(&target);
	}
	return r;
}

static int find_status(struct job *job, enum status_folder folder, const char *name, bool may_wait,
		       struct fuse_entry_param *ret_entry, struct error *err)
{
	struct status_entry status;
	int r = status_lookup(job->fs, folder, name, may_wait, &status, err);

	return r == 0 ? status_fill(job->fs, &status, ret_entry, err) : r;
}

static int find_entry(struct job *job, bool may_wait, struct fuse_entry_param *ret_entry,
		      struct error *err)
{
	const struct target *target = &job->target;
	struct status_entry top = {.kind = STATUS_FOLDER, .folder = STATUS_TOP};
	struct view_file file;
	struct view_attr attr;
	int r;

	if (target->kind == SLOT_STATUS)
		return find_status(job, target->status, job->name, may_wait, ret_entry, err);
	if (target->kind != SLOT_VIEW)
		return VIEW_ABSENT;
	r = (may_wait ? view_lookup : view_try_lookup)(target->view, &target->file, job->name,
						       &file, &attr, err);
	if (r == 0)
		return target_entry(job->fs, target, &file, &attr, ret_entry, err);
	/* A node of that name wins. */
	if (r == VIEW_ABSENT && target_is_root(target) && strcmp(job->name, STATUS_NAME) == 0)
		return status_fill(job->fs, &top, ret_entry, err);
	return r;
}

static int answer_lookup(struct job *job, bool may_wait, struct error *err)
{
	struct fuse_entry_param entry = {0};
	int r;

	r = find_entry(job, may_wait, &entry, err);
	if (r < 0 || r == VIEW_WOULD_WAIT)
		return r;
	if (r == VIEW_ABSENT) {
		/* Proven, and a snapshot never changes: the kernel may remember that too. */
		entry = (struct fuse_entry_param){0};
		if (target_absence_lasts(job->fs, &job->target))
			entry.entry_timeout = FS_FOR_EVER;
	}
	if (fuse_reply_entry(job->req, &entry) < 0 && entry.ino)
		slots_forget(job->fs->slots, entry.ino, 1);
	return 0;
}

static void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct job job;

	if (!job_init(&job, req, parent, answer_lookup))
		return;
	atomic_fetch_add(&job.fs->lookups, 1);
	job.name = name;
	job_run(&job, job.fs->metadata);
}

static void op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t n)
{
	struct fs *fs = fuse_req_userdata(req);

	if (ino != FUSE_ROOT_ID)
		slots_forget(fs->slots, ino, n);
	fuse_reply_none(req);
}

static void op_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forgets)
{
	struct fs *fs = fuse_req_userdata(req);

	for (size_t i = 0; i < count; i++)
		if (forgets[i].ino != FUSE_ROOT_ID)
			slots_forget(fs->slots, forgets[i].ino, forgets[i].nlookup);
	fuse_reply_none(req);
}

/* ---- attributes ---- */

static int answer_getattr(struct job *job, bool may_wait, struct error *err)
{
	struct stat st;
	double timeout;
	int r;

	r = target_stat(job->fs, &job->target, may_wait, &st, &timeout, err);
	if (r == 0)
		fuse_reply_attr(job->req, &st, timeout);
	return r;
}

static void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct job job;

	(void)fi;
	if (job_init(&job, req, ino, answer_getattr))
		job_run(&job, job.fs->metadata);
}

/* ---- reading files ---- */

static void reply_part(struct job *job, struct slice bytes)
{
	const struct fs *fs = job->fs;
	struct slice part;
	uint64_t before;

	if (!job_claim(job))
		return;
	part = job->offset < 0 ? slice_sub(bytes, bytes.size, 0)
			       : slice_sub(bytes, (size_t)job->offset, job->size);
	before = atomic_fetch_add(&job->fs->read_bytes, part.size);
	fuse_reply_buf(job->req, (const char *)part.data, part.size);
	if (fs->options.memory)
		heap_settle(before, before + part.size, fs->options.memory);
}

static int answer_read(struct job *job, bool may_wait, struct error *err)
{
	CLEANUP(content_freep) struct content *content = NULL;
	const struct target *target = &job->target;
	int r;

	if (target->kind == SLOT_TEXT) {
		reply_part(job, target->text->bytes);
		return 0;
	}
	if (target->kind != SLOT_VIEW)
		return error_set(err, ERR_ARGUMENT, "a folder has no content");
	if (may_wait)
		r = view_load(target->view, &target->file, job->deadline.at, &content, err);
	else
		r = view_try_load(target->view, &target->file, &content, err);
	if (r != 0)
		return r;
	reply_part(job, content->bytes);
	/* First the replies to whoever waits; a reader past the page cache has no use for it. */
	if (job->waited && !(job->flags & O_DIRECT) && job->offset >= 0)
		pusher_add(job->fs->pusher, target->ino, content, (uint64_t)job->offset,
			   (uint64_t)job->offset + job->size);
	return 0;
}

static void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
		    struct fuse_file_info *fi)
{
	struct job job;

	if (!job_init(&job, req, ino, answer_read))
		return;
	atomic_fetch_add(&job.fs->reads, 1);
	job.size = size;
	job.offset = offset;
	job.flags = fi ? fi->flags : 0;
	job_run(&job, job.fs->data);
}

/*
 * With ENOSYS the kernel never asks again, keeps pages across opens, and opens become ten times
 * cheaper.  A kernel that cannot do that gets an ordinary answer.
 */
static void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct fs *fs = fuse_req_userdata(req);

	(void)ino;
	if (fs->no_open) {
		fuse_reply_err(req, ENOSYS);
		return;
	}
	fi->keep_cache = 1;
	fuse_reply_open(req, fi);
}

/* ---- the rest ---- */

/* Never touches the network: df must answer while a source is dead. */
static void op_statfs(fuse_req_t req, fuse_ino_t ino)
{
	struct fs *fs = fuse_req_userdata(req);
	CLEANUP(shown_freep) struct shown *shown = fs_shown(fs);
	struct statvfs st = {
		.f_bsize = BLOCK,
		.f_frsize = BLOCK,
		.f_files = checkout_n_nodes(view_checkout(shown_view(shown))),
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
	conn->max_readahead = FS_READ_MAX;
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
