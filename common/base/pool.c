/* SPDX-License-Identifier: Apache-2.0 */
#include "base/pool.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#define PARALLEL_MAX 64

struct task {
	struct task *next;
	void (*work)(void *argument);
	void *argument;
};

struct pool {
	pthread_mutex_t lock;
	pthread_cond_t changed; /* a task was queued, or the end has begun */
	struct task *first;
	struct task **last; /* where the next task goes */
	bool ending;
	size_t n;
	pthread_t threads[];
};

/* The signals by which programs are told something; faults stay with the thread that made them. */
static void add_told_signals(sigset_t *set)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGCHLD, SIGUSR1, SIGUSR2};

	sigemptyset(set);
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		sigaddset(set, numbers[i]);
}

int thread_start(pthread_t *ret_thread, void *(*run)(void *argument), void *argument,
		 struct error *err)
{
	sigset_t told, before;
	int errnum;

	add_told_signals(&told);
	pthread_sigmask(SIG_BLOCK, &told, &before);
	errnum = pthread_create(ret_thread, NULL, run, argument);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	/* EAGAIN is all that a limit on threads or memory gives. */
	return errnum ? error_set(err, ERR_MEMORY, "cannot start a thread") : 0;
}

/* Waits for a task; NULL at the end of the pool. */
static struct task *pool_next(struct pool *pool)
{
	struct task *task;

	pthread_mutex_lock(&pool->lock);
	while (!pool->first && !pool->ending)
		pthread_cond_wait(&pool->changed, &pool->lock);
	task = pool->first;
	if (task)
		pool->first = task->next;
	if (!pool->first)
		pool->last = &pool->first;
	pthread_mutex_unlock(&pool->lock);
	return task;
}

static void *pool_run(void *argument)
{
	struct pool *pool = argument;
	struct task *task;

	while ((task = pool_next(pool))) {
		task->work(task->argument);
		free(task);
	}
	return NULL;
}

int pool_new(size_t n, struct pool **ret_pool, struct error *err)
{
	CLEANUP(pool_freep) struct pool *pool = NULL;
	size_t size;
	int r;

	if (n == 0)
		n = 1;
	if (__builtin_mul_overflow(n, sizeof(pool->threads[0]), &size) ||
	    __builtin_add_overflow(size, sizeof(*pool), &size))
		return error_memory(err);
	pool = calloc(1, size);
	if (!pool)
		return error_memory(err);
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->changed, NULL);
	pool->last = &pool->first;
	for (; pool->n < n; pool->n++) {
		r = thread_start(&pool->threads[pool->n], pool_run, pool, err);
		if (r < 0)
			return r;
	}
	*ret_pool = TAKE(pool);
	return 0;
}

struct pool *pool_free(struct pool *pool)
{
	if (!pool)
		return NULL;
	pthread_mutex_lock(&pool->lock);
	pool->ending = true;
	pthread_cond_broadcast(&pool->changed);
	pthread_mutex_unlock(&pool->lock);
	for (size_t i = 0; i < pool->n; i++)
		pthread_join(pool->threads[i], NULL);
	pthread_cond_destroy(&pool->changed);
	pthread_mutex_destroy(&pool->lock);
	free(pool);
	return NULL;
}

int pool_add(struct pool *pool, void (*work)(void *argument), void *argument, struct error *err)
{
	struct task *task = malloc(sizeof(*task));

	if (!task)
		return error_memory(err);
	*task = (struct task){.work = work, .argument = argument};
	pthread_mutex_lock(&pool->lock);
	*pool->last = task;
	pool->last = &task->next;
	pthread_cond_signal(&pool->changed);
	pthread_mutex_unlock(&pool->lock);
	return 0;
}

struct loop {
	size_t n;
	int (*work)(void *argument, size_t i, struct error *err);
	void *argument;
	atomic_size_t next;
	pthread_mutex_t lock; /* of what follows */
	size_t failed;	      /* lowest index that failed; @n: none */
	int result;
	struct error *err;
};

/*
 * Indexes are given out in order, so all below a failed one have begun and come to their end:
 * the lowest failure is the same however the threads run.
 */
static void loop_fail(struct loop *loop, size_t i, int result, const struct error *err)
{
	atomic_store(&loop->next, loop->n);
	pthread_mutex_lock(&loop->lock);
	if (i < loop->failed) {
		loop->failed = i;
		loop->result = result;
		if (loop->err)
			*loop->err = *err;
	}
	pthread_mutex_unlock(&loop->lock);
}

/* The next index to work on; @n or more: none is left. */
static size_t loop_next(struct loop *loop)
{
	size_t i = atomic_load(&loop->next);

	while (i < loop->n && !atomic_compare_exchange_weak(&loop->next, &i, i + 1))
		;
	return i;
}

static void *loop_run(void *argument)
{
	struct loop *loop = argument;
	size_t i;

	while ((i = loop_next(loop)) < loop->n) {
		struct error err = ERROR_INIT;
		int r = loop->work(loop->argument, i, &err);

		if (r < 0)
			loop_fail(loop, i, r, &err);
	}
	return NULL;
}

int parallel_for(size_t threads, size_t n, int (*work)(void *argument, size_t i, struct error *err),
		 void *argument, struct error *err)
{
	struct loop loop = {
		.n = n,
		.work = work,
		.argument = argument,
		.failed = n,
		.err = err,
	};
	pthread_t helpers[PARALLEL_MAX];
	size_t wanted = threads < n ? threads : n;
	size_t started = 0;

	pthread_mutex_init(&loop.lock, NULL);
	/* With fewer threads than asked, even with none, the work is done all the same. */
	while (started < PARALLEL_MAX && started + 1 < wanted &&
	       thread_start(&helpers[started], loop_run, &loop, NULL) == 0)
		started++;
	loop_run(&loop);
	for (size_t i = 0; i < started; i++)
		pthread_join(helpers[i], NULL);
	pthread_mutex_destroy(&loop.lock);
	return loop.result;
}
