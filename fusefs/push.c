/* SPDX-License-Identifier: Apache-2.0 */
#include "fusefs/push.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/pool.h"

#define QUEUE 16
#define PIECE (UINT64_C(4) << 20) /* bytes of one notification */

struct push {
	uint64_t ino;
	struct content *content;
	uint64_t from, to;
};

struct pusher {
	struct fuse_session *session;
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	struct push queue[QUEUE];
	size_t first, n;
	uint64_t under_way; /* inode */
	bool stopping;
	atomic_uint_fast64_t bytes;
};

/* False when the kernel does not take more: it has forgotten the file, or the mount is gone. */
static bool push_range(struct pusher *pusher, const struct push *push, uint64_t from, uint64_t to)
{
	while (from < to) {
		uint64_t size = to - from < PIECE ? to - from : PIECE;
		struct fuse_bufvec piece = FUSE_BUFVEC_INIT(size);

		piece.buf[0].mem = (void *)(push->content->bytes.data + from);
		if (fuse_lowlevel_notify_store(pusher->session, push->ino, (off_t)from, &piece,
					       (enum fuse_buf_copy_flags)0) != 0)
			return false;
		atomic_fetch_add(&pusher->bytes, size);
		from += size;
	}
	return true;
}

static void push_now(struct pusher *pusher, const struct push *push)
{
	/* Onwards first: that is where most readers go. */
	if (push_range(pusher, push, push->to, push->content->bytes.size))
		push_range(pusher, push, 0, push->from);
}

static void *run(void *argument)
{
	struct pusher *pusher = argument;

	pthread_mutex_lock(&pusher->mutex);
	while (!pusher->stopping) {
		struct push push;

		if (pusher->n == 0) {
			pthread_cond_wait(&pusher->changed, &pusher->mutex);
			continue;
		}
		push = pusher->queue[pusher->first];
		pusher->first = (pusher->first + 1) % QUEUE;
		pusher->n--;
		pusher->under_way = push.ino;
		pthread_mutex_unlock(&pusher->mutex);
		push_now(pusher, &push);
		content_free(push.content);
		pthread_mutex_lock(&pusher->mutex);
		pusher->under_way = 0;
	}
	pthread_mutex_unlock(&pusher->mutex);
	return NULL;
}

int pusher_new(struct fuse_session *session, struct pusher **ret_pusher, struct error *err)
{
	struct pusher *pusher = calloc(1, sizeof(*pusher));
	int r;

	if (!pusher)
		return error_memory(err);
	pusher->session = session;
	pthread_mutex_init(&pusher->mutex, NULL);
	pthread_cond_init(&pusher->changed, NULL);
	r = thread_start(&pusher->thread, run, pusher, err);
	if (r < 0) {
		pthread_cond_destroy(&pusher->changed);
		pthread_mutex_destroy(&pusher->mutex);
		free(pusher);
		return r;
	}
	*ret_pusher = pusher;
	return 0;
}

struct pusher *pusher_free(struct pusher *pusher)
{
	if (!pusher)
		return NULL;
	pthread_mutex_lock(&pusher->mutex);
	pusher->stopping = true;
	pthread_cond_signal(&pusher->changed);
	pthread_mutex_unlock(&pusher->mutex);
	pthread_join(pusher->thread, NULL);
	while (pusher->n-- > 0) {
		content_free(pusher->queue[pusher->first].content);
		pusher->first = (pusher->first + 1) % QUEUE;
	}
	pthread_cond_destroy(&pusher->changed);
	pthread_mutex_destroy(&pusher->mutex);
	free(pusher);
	return NULL;
}

/* Several readers of one chunk come back at once; one push serves them. */
static bool is_known(const struct pusher *pusher, uint64_t ino)
{
	if (pusher->under_way == ino)
		return true;
	for (size_t i = 0; i < pusher->n; i++)
		if (pusher->queue[(pusher->first + i) % QUEUE].ino == ino)
			return true;
	return false;
}

void pusher_add(struct pusher *pusher, uint64_t ino, struct content *content, uint64_t from,
		uint64_t to)
{
	uint64_t size = content->bytes.size;

	/* A read may lie beyond the end. */
	from = from < size ? from : size;
	to = to < size ? to : size;
	if (from == 0 && to == size)
		return;
	pthread_mutex_lock(&pusher->mutex);
	if (pusher->n < QUEUE && !is_known(pusher, ino)) {
		pusher->queue[(pusher->first + pusher->n++) % QUEUE] = (struct push){
			.ino = ino,
			.content = content_ref(content),
			.from = from,
			.to = to,
		};
		pthread_cond_signal(&pusher->changed);
	}
	pthread_mutex_unlock(&pusher->mutex);
}

uint64_t pusher_bytes(const struct pusher *pusher)
{
	return atomic_load(&pusher->bytes);
}
