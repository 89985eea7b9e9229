/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "fusefs/internal.h"
#include "net/url.h"

#define XATTR_PREFIX "user.refmt."

static const char *const xattr_names[] = {
	XATTR_PREFIX "kind",   XATTR_PREFIX "location", XATTR_PREFIX "offset",
	XATTR_PREFIX "length", XATTR_PREFIX "snapshot", XATTR_PREFIX "manifest",
	XATTR_PREFIX "state",
};

/* Whoever sees the mount need not know with what the source is signed. */
static int write_location(const char *location, struct buf *out, struct error *err)
{
	CLEANUP(freep) char *shown = url_redact(location, err);

	return shown ? buf_append_text(out, shown, err) : ERR_MEMORY;
}

/* Value of attribute @name, or an empty text where the chunk has none. */
static int xattr_value(const struct view_chunk *chunk, const char *name, struct buf *out,
		       struct error *err)
{
	name += strlen(XATTR_PREFIX);
	if (strcmp(name, "kind") == 0)
		return buf_append_text(out, chunk->kind ? chunk->kind : "", err);
	if (strcmp(name, "location") == 0)
		return chunk->location ? write_location(chunk->location, out, err) : 0;
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

/* Only chunks have attributes; the name is empty for a list. */
static int answer_xattr(struct job *job, bool may_wait, struct error *err)
{
	CLEANUP(buf_done) struct buf value = BUF_INIT(BUF_NO_LIMIT);
	const struct target *target = &job->target;
	struct view_chunk chunk;
	struct view_attr attr;
	int r;

	if (target->kind == SLOT_VIEW && target->file.kind == VIEW_CHUNK) {
		/* Where the manifest is in memory, describing costs nothing either. */
		if (!may_wait && view_try_stat(target->view, &target->file, &attr, err) != 0)
			return VIEW_WOULD_WAIT;
		r = view_describe(target->view, &target->file, &chunk, err);
		if (r == 0) {
			r = xattr_fill(&chunk, job->name, &value, err);
			view_chunk_done(&chunk);
		}
		if (r < 0)
			return r;
	}
	xattr_reply(job, &value);
	return 0;
}

static void xattr_start(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
	struct job job;

	if (!job_init(&job, req, ino, answer_xattr))
		return;
	job.name = name;
	job.size = size;
	job_run(&job, job.fs->metadata);
}

void op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
	/* `ls` remembers this answer; ENODATA would make `ls -l` ask for every file. */
	if (strncmp(name, "user.", 5) != 0)
		fuse_reply_err(req, EOPNOTSUPP);
	else if (strncmp(name, XATTR_PREFIX, strlen(XATTR_PREFIX)) != 0)
		fuse_reply_err(req, ENODATA);
	else
		xattr_start(req, ino, name, size);
}

void op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
	xattr_start(req, ino, "", size);
}
