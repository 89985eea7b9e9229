/* SPDX-License-Identifier: Apache-2.0 */
#include "fusefs/follow.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/pool.h"
#include "base/time.h"
#include "repo/touched.h"

struct follower {
	struct fs *fs;
	struct fuse_session *session;
	int64_t period; /* microseconds */
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	bool stopping;
	bool failing; /* said once, until it works again */
};

static void forget_name(void *argument, const char *name)
{
	struct follower *follower = argument;

	fuse_lowlevel_notify_inval_entry(follower->session, FUSE_ROOT_ID, name, strlen(name));
}

/* The kernel asks again for the names that changed, for the root's attributes and its listing. */
static void tell_kernel(struct follower *follower, const struct shown *now,
			const struct shown *before)
{
	shown_changed_names(now, before, forget_name, follower);
	fuse_lowlevel_notify_inval_inode(follower->session, FUSE_ROOT_ID, 0, 0);
}

static int show_next(struct follower *follower, struct shown *before, const struct id12 *id,
		     struct error *err)
{
	CLEANUP(touched_freep) struct touched *touched = NULL;
	CLEANUP(shown_freep) struct shown *next = NULL;
	CLEANUP(view_freep) struct view *view = NULL;
	struct fs *fs = follower->fs;
	char name[ID12_TEXT_LEN + 1];
	int r;

	r = fs_open_view(fs, id, &view, err);
	if (r == 0)
		r = touched_load(fs_repo(fs), checkout_id(view_checkout(shown_view(before))), id,
				 &touched, err);
	if (r >= 0)
		r = shown_next(before, view, touched, &next, err);
	if (r < 0)
		return r;
	fs_show(fs, shown_ref(next));
	tell_kernel(follower, next, before);
	id12_format(id, name);
	log_event(LOG_INFO, "follow", "showing snapshot %s", name);
	return 0;
}

static int look(struct follower *follower, struct error *err)
{
	struct fs *fs = follower->fs;
	CLEANUP(shown_freep) struct shown *before = fs_shown(fs);
	struct id12 id;
	int r;

	r = repo_refresh(fs_repo(fs), err);
	if (r == 0)
		r = repo_resolve(fs_repo(fs), &fs_options(fs)->at, &id, err);
	if (r < 0)
		return r;
	if (id12_equal(&id, checkout_id(view_checkout(shown_view(before)))))
		return 0;
	return show_next(follower, before, &id, err);
}

static void look_and_log(struct follower *follower)
{
	struct error err = ERROR_INIT;
	int r = look(follower, &err);

	if (r < 0 && !follower->failing)
		log_event(LOG_WARNING, "follow", "cannot follow the branch: %s", err.text);
	if (r == 0 && follower->failing)
		log_event(LOG_WARNING, "follow", "following the branch again");
	follower->failing = r < 0;
}

static void *run(void *argument)
{
	struct follower *follower = argument;
	int64_t next = time_monotonic() + follower->period;

	pthread_mutex_lock(&follower->mutex);
	while (!follower->stopping) {
		struct timespec until = {next / TIME_SECOND, next % TIME_SECOND * 1000};

		if (time_monotonic() < next) {
			pthread_cond_timedwait(&follower->changed, &follower->mutex, &until);
			continue;
		}
		pthread_mutex_unlock(&follower->mutex);
		look_and_log(follower);
		pthread_mutex_lock(&follower->mutex);
		next += follower->period;
		/* After a look that took long, a whole period passes again. */
		if (next < time_monotonic())
			next = time_monotonic() + follower->period;
	}
	pthread_mutex_unlock(&follower->mutex);
	return NULL;
}

int follower_new(struct fs *fs, struct fuse_session *session, uint32_t period_ms,
		 struct follower **ret_follower, struct error *err)
{
	struct follower *follower = calloc(1, sizeof(*follower));
	pthread_condattr_t monotonic;
	int r;

	if (!follower)
		return error_memory(err);
	follower->fs = fs;
	follower->session = session;
	follower->period = (int64_t)period_ms * 1000;
	pthread_mutex_init(&follower->mutex, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&follower->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	r = thread_start(&follower->thread, run, follower, err);
	if (r < 0) {
		pthread_cond_destroy(&follower->changed);
		pthread_mutex_destroy(&follower->mutex);
		free(follower);
		return r;
	}
	*ret_follower = follower;
	return 0;
}

struct follower *follower_free(struct follower *follower)
{
	if (!follower)
		return NULL;
	pthread_mutex_lock(&follower->mutex);
	follower->stopping = true;
	pthread_cond_signal(&follower->changed);
	pthread_mutex_unlock(&follower->mutex);
	pthread_join(follower->thread, NULL);
	pthread_cond_destroy(&follower->changed);
	pthread_mutex_destroy(&follower->mutex);
	free(follower);
	return NULL;
}
