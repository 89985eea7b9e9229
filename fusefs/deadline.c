/* SPDX-License-Identifier: Apache-2.0 */
#include "fusefs/deadline.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/pool.h"
#include "base/time.h"

struct deadlines {
	int64_t duration;
	void (*timed_out)(void *argument);
	void *argument;
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	struct deadline *newest, *oldest; /* all last equally long, so the oldest ends first */
	bool stopping;
};

static void deadline_unlink(struct deadlines *deadlines, struct deadline *deadline)
{
	*(deadline->newer ? &deadline->newer->older : &deadlines->newest) = deadline->older;
	*(deadline->older ? &deadline->older->newer : &deadlines->oldest) = deadline->newer;
}

static void wait_until(struct deadlines *deadlines, int64_t at)
{
	struct timespec until = {at / TIME_SECOND, at % TIME_SECOND * 1000};

	pthread_cond_timedwait(&deadlines->changed, &deadlines->mutex, &until);
}

static void *watch(void *argument)
{
	struct deadlines *deadlines = argument;

	pthread_mutex_lock(&deadlines->mutex);
	while (!deadlines->stopping) {
		struct deadline *oldest = deadlines->oldest;

		if (!oldest) {
			pthread_cond_wait(&deadlines->changed, &deadlines->mutex);
		} else if (oldest->at > time_monotonic()) {
			wait_until(deadlines, oldest->at);
		} else {
			fuse_req_t req = oldest->req;

			deadline_unlink(deadlines, oldest);
			oldest->over = true;
			pthread_mutex_unlock(&deadlines->mutex);
			deadlines->timed_out(deadlines->argument);
			fuse_reply_err(req, ETIMEDOUT);
			pthread_mutex_lock(&deadlines->mutex);
		}
	}
	pthread_mutex_unlock(&deadlines->mutex);
	return NULL;
}

int deadlines_new(int64_t duration, void (*timed_out)(void *argument), void *argument,
		  struct deadlines **ret_deadlines, struct error *err)
{
	struct deadlines *deadlines = calloc(1, sizeof(*deadlines));
	pthread_condattr_t monotonic;
	int r;

	if (!deadlines)
		return error_memory(err);
	deadlines->duration = duration;
	deadlines->timed_out = timed_out;
	deadlines->argument = argument;
	pthread_mutex_init(&deadlines->mutex, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&deadlines->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	r = thread_start(&deadlines->thread, watch, deadlines, err);
	if (r < 0) {
		pthread_cond_destroy(&deadlines->changed);
		pthread_mutex_destroy(&deadlines->mutex);
		free(deadlines);
		return r;
	}
	*ret_deadlines = deadlines;
	return 0;
}

struct deadlines *deadlines_free(struct deadlines *deadlines)
{
	if (!deadlines)
		return NULL;
	pthread_mutex_lock(&deadlines->mutex);
	deadlines->stopping = true;
	pthread_cond_signal(&deadlines->changed);
	pthread_mutex_unlock(&deadlines->mutex);
	pthread_join(deadlines->thread, NULL);
	pthread_cond_destroy(&deadlines->changed);
	pthread_mutex_destroy(&deadlines->mutex);
	free(deadlines);
	return NULL;
}

void deadline_set(struct deadlines *deadlines, struct deadline *deadline, fuse_req_t req)
{
	pthread_mutex_lock(&deadlines->mutex);
	*deadline = (struct deadline){
		.deadlines = deadlines,
		.req = req,
		.at = time_monotonic() + deadlines->duration,
		.older = deadlines->newest,
	};
	*(deadlines->newest ? &deadlines->newest->newer : &deadlines->oldest) = deadline;
	deadlines->newest = deadline;
	if (deadlines->oldest == deadline)
		pthread_cond_signal(&deadlines->changed);
	pthread_mutex_unlock(&deadlines->mutex);
}

bool deadline_claim(struct deadline *deadline)
{
	struct deadlines *deadlines = deadline->deadlines;
	bool claimed;

	if (!deadlines)
		return true;
	pthread_mutex_lock(&deadlines->mutex);
	claimed = !deadline->over;
	if (claimed)
		deadline_unlink(deadlines, deadline);
	deadline->over = true;
	pthread_mutex_unlock(&deadlines->mutex);
	return claimed;
}
