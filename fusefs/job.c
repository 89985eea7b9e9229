/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "base/text.h"
#include "fusefs/internal.h"

bool job_init(struct job *job, fuse_req_t req, fuse_ino_t ino,
	      int (*answer)(struct job *job, bool may_wait, struct error *err))
{
	struct error err = ERROR_INIT;

	*job = (struct job){.fs = fuse_req_userdata(req), .req = req, .answer = answer};
	if (target_init(job->fs, ino, &job->target, &err) < 0) {
		fuse_reply_err(req, error_errno(err.kind));
		return false;
	}
	return true;
}

bool job_claim(struct job *job)
{
	return deadline_claim(&job->deadline);
}

/* One try; true when the request is answered. */
static bool job_try(struct job *job, bool may_wait)
{
	struct error err = ERROR_INIT;
	int r;

	r = target_open(job->fs, &job->target, may_wait, &err);
	if (r == 0)
		r = job->answer(job, may_wait, &err);
	if (r == VIEW_WOULD_WAIT && !may_wait)
		return false;
	if (r < 0) {
		fs_failed(job->fs, &job->target, &err);
		if (job_claim(job))
			fuse_reply_err(job->req, error_errno(err.kind));
	}
	target_done(&job->target);
	return true;
}

static void job_work(void *argument)
{
	CLEANUP(freep) struct job *job = argument;

	job_try(job, true);
}

/* Takes the job off its thread's stack; NULL without memory. */
static struct job *job_keep(const struct job *job)
{
	size_t length = job->name ? strlen(job->name) + 1 : 0;
	struct job *kept = malloc(sizeof(*kept) + length);

	if (!kept)
		return NULL;
	*kept = *job;
	kept->waited = true;
	if (job->name)
		kept->name = memcpy(kept + 1, job->name, length);
	return kept;
}

void job_run(struct job *job, struct pool *pool)
{
	struct error err = ERROR_INIT;
	struct job *kept;

	if (job_try(job, false))
		return;
	kept = job_keep(job);
	if (!kept) {
		target_done(&job->target);
		fuse_reply_err(job->req, ENOMEM);
		return;
	}
	/* Time runs from now on, waiting for a thread included. */
	if (pool == job->fs->data)
		deadline_set(job->fs->deadlines, &kept->deadline, job->req);
	if (pool_add(pool, job_work, kept, &err) < 0) {
		if (job_claim(kept))
			fuse_reply_err(job->req, ENOMEM);
		target_done(&kept->target);
		free(kept);
	}
}
