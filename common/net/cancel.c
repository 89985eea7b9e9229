/* SPDX-License-Identifier: Apache-2.0 */
#include "net/cancel.h"

#include <pthread.h>

#include "net/engine.h"

static pthread_mutex_t cancel_lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local struct cancel *current;

void cancel_enter(struct cancel *cancel, int64_t deadline)
{
	*cancel = (struct cancel){.outer = current, .deadline = deadline};
	current = cancel;
}

void cancel_leave(struct cancel *cancel)
{
	pthread_mutex_lock(&cancel_lock);
	current = cancel->outer;
	pthread_mutex_unlock(&cancel_lock);
}

void cancel_fire(struct cancel *cancel)
{
	struct waiter *waiter;

	pthread_mutex_lock(&cancel_lock);
	cancel->fired = true;
	waiter = cancel->waiter;
	if (waiter) {
		pthread_mutex_lock(&waiter->lock);
		waiter->cancelled = true;
		pthread_cond_broadcast(&waiter->changed);
		pthread_mutex_unlock(&waiter->lock);
	}
	pthread_mutex_unlock(&cancel_lock);
}

struct cancel *cancel_current(void)
{
	return current;
}

int64_t cancel_deadline(int64_t deadline)
{
	for (const struct cancel *scope = current; scope; scope = scope->outer)
		if (scope->deadline && scope->deadline < deadline)
			deadline = scope->deadline;
	return deadline;
}

bool cancel_is_fired(void)
{
	bool fired = false;

	if (!current)
		return false;
	pthread_mutex_lock(&cancel_lock);
	for (const struct cancel *scope = current; scope; scope = scope->outer)
		fired |= scope->fired;
	pthread_mutex_unlock(&cancel_lock);
	return fired;
}

void cancel_watch(struct waiter *waiter)
{
	if (!current)
		return;
	pthread_mutex_lock(&cancel_lock);
	for (struct cancel *scope = current; scope; scope = scope->outer) {
		scope->waiter = waiter;
		/* Fired a moment ago: nobody would wake this one. */
		if (waiter && scope->fired)
			waiter->cancelled = true;
	}
	pthread_mutex_unlock(&cancel_lock);
}
