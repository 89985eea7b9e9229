/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/fetch.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "base/vec.h"

enum request_state {
	REQUEST_WAITING, /* for the leader of the group to sort it into a run */
	REQUEST_HEAD,	 /* first of a run: its own thread sends the run */
	REQUEST_DONE	 /* @result and the bytes are there */
};

/* One caller's range; lives on that caller's stack until it is done. */
struct request {
	struct store *store;
	const char *key;
	uint64_t offset, length;
	const struct store_condition *condition;
	struct buf *out;
	struct error *err;
	enum request_state state;
	int result;
	struct request *next_in_group;
	struct request *next_in_run;
};

/* Requests for one object that wait for each other; the first one leads. */
struct group {
	struct request *first;
	struct group *next;
};

struct fetcher {
	struct fetch_limits limits;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	struct group *groups;
	unsigned int under_way;
	atomic_uint_fast64_t requests, bytes;
};

int fetcher_new(const struct fetch_limits *limits, struct fetcher **ret_fetcher, struct error *err)
{
	struct fetcher *fetcher = calloc(1, sizeof(*fetcher));

	if (!fetcher)
		return error_memory(err);
	fetcher->limits = *limits;
	pthread_mutex_init(&fetcher->mutex, NULL);
	pthread_cond_init(&fetcher->changed, NULL);
	*ret_fetcher = fetcher;
	return 0;
}

struct fetcher *fetcher_free(struct fetcher *fetcher)
{
	if (!fetcher)
		return NULL;
	pthread_cond_destroy(&fetcher->changed);
	pthread_mutex_destroy(&fetcher->mutex);
	free(fetcher);
	return NULL;
}

struct fetch_counters fetcher_counters(const struct fetcher *fetcher)
{
	return (struct fetch_counters){
		.requests = atomic_load(&fetcher->requests),
		.bytes = atomic_load(&fetcher->bytes),
	};
}

static int fetch_get(struct fetcher *fetcher, const struct request *request, uint64_t offset,
		     uint64_t length, struct buf *out, struct error *err)
{
	size_t before = out->size;
	int r;

	atomic_fetch_add(&fetcher->requests, 1);
	r = store_get(request->store, request->key, offset, length, request->condition, out, NULL,
		      err);
	if (r != 0)
		return r;
	/* A driver that gives less would make a reader see fill values. */
	if (out->size - before != length)
		return error_set(err, ERR_NETWORK, "%zu bytes instead of %llu", out->size - before,
				 (unsigned long long)length);
	atomic_fetch_add(&fetcher->bytes, length);
	return 0;
}

static void request_fetch(struct fetcher *fetcher, struct request *request)
{
	request->result = fetch_get(fetcher, request, request->offset, request->length,
				    request->out, request->err);
}

/* Sends a run whose requests are in the order of their offsets; at least two. */
static int run_fetch_merged(struct fetcher *fetcher, struct request *head)
{
	CLEANUP(buf_done) struct buf merged = BUF_INIT(BUF_NO_LIMIT);
	uint64_t end = 0;
	int r;

	for (struct request *q = head; q; q = q->next_in_run)
		if (q->offset + q->length > end)
			end = q->offset + q->length;
	r = fetch_get(fetcher, head, head->offset, end - head->offset, &merged, NULL);
	if (r != 0)
		return r < 0 ? r : ERR_ABSENT;
	for (struct request *q = head; q; q = q->next_in_run)
		q->result = buf_append(q->out, merged.data + (q->offset - head->offset), q->length,
				       q->err);
	return 0;
}

static void run_fetch(struct fetcher *fetcher, struct request *head)
{
	if (head->next_in_run && run_fetch_merged(fetcher, head) == 0)
		return;
	for (struct request *q = head; q; q = q->next_in_run)
		request_fetch(fetcher, q);
}

static bool same_condition(const struct store_condition *a, const struct store_condition *b)
{
	const struct store_condition none = {0};

	a = a ? a : &none;
	b = b ? b : &none;
	return a->not_modified_after == b->not_modified_after &&
	       strcmp(a->etag ? a->etag : "", b->etag ? b->etag : "") == 0;
}

static int compare_offsets(const void *a, const void *b)
{
	const struct request *x = *(struct request *const *)a, *y = *(struct request *const *)b;

	return (x->offset > y->offset) - (x->offset < y->offset);
}

static bool run_takes(const struct fetch_limits *limits, const struct request *head,
		      uint64_t run_end, const struct request *q)
{
	uint64_t end = q->offset + q->length;

	if (q->offset > run_end && q->offset - run_end > limits->gap)
		return false;
	if (end > run_end && end - head->offset > limits->size)
		return false;
	return same_condition(head->condition, q->condition);
}

/* Sorts the group's requests into runs and makes the first of each its head.  Under the mutex. */
static void group_split(struct fetcher *fetcher, struct request *first)
{
	struct request *head = NULL, *last = NULL;
	struct request **sorted;
	uint64_t run_end = 0;
	size_t n = 0, i = 0;

	for (struct request *q = first; q; q = q->next_in_group)
		n++;
	sorted = calloc(n, sizeof(*sorted));
	if (!sorted) {
		/* Without memory to sort, everybody sends his own. */
		for (struct request *q = first; q; q = q->next_in_group)
			q->state = REQUEST_HEAD;
		return;
	}
	for (struct request *q = first; q; q = q->next_in_group)
		sorted[i++] = q;
	qsort(sorted, n, sizeof(struct request *), compare_offsets);
	for (i = 0; i < n; i++) {
		struct request *q = sorted[i];

		if (head && run_takes(&fetcher->limits, head, run_end, q)) {
			last->next_in_run = q;
		} else {
			head = q;
			head->state = REQUEST_HEAD;
			run_end = 0;
		}
		last = q;
		if (q->offset + q->length > run_end)
			run_end = q->offset + q->length;
	}
	free(sorted);
}

static struct group *group_find(struct fetcher *fetcher, const struct request *request)
{
	for (struct group *group = fetcher->groups; group; group = group->next)
		if (group->first->store == request->store &&
		    strcmp(group->first->key, request->key) == 0)
			return group;
	return NULL;
}

static void group_remove(struct fetcher *fetcher, struct group *group)
{
	struct group **link = &fetcher->groups;

	while (*link != group)
		link = &(*link)->next;
	*link = group->next;
}

static void sleep_us(uint32_t us)
{
	struct timespec time = {us / 1000000, (long)(us % 1000000) * 1000};

	nanosleep(&time, NULL);
}

/* Makes a group of its own for @request and collects neighbours for a moment.  Under the mutex. */
static void request_lead(struct fetcher *fetcher, struct request *request)
{
	struct group group = {.first = request, .next = fetcher->groups};

	fetcher->groups = &group;
	pthread_mutex_unlock(&fetcher->mutex);
	sleep_us(fetcher->limits.wait_us);
	pthread_mutex_lock(&fetcher->mutex);
	group_remove(fetcher, &group);
	group_split(fetcher, group.first);
	pthread_cond_broadcast(&fetcher->changed);
}

/* Sends the run that @request heads, if it heads one.  Under the mutex, let go while sending. */
static void request_run(struct fetcher *fetcher, struct request *request)
{
	while (request->state == REQUEST_WAITING)
		pthread_cond_wait(&fetcher->changed, &fetcher->mutex);
	if (request->state == REQUEST_HEAD) {
		struct request *next;

		pthread_mutex_unlock(&fetcher->mutex);
		run_fetch(fetcher, request);
		pthread_mutex_lock(&fetcher->mutex);
		for (struct request *q = request; q; q = next) {
			next = q->next_in_run;
			q->state = REQUEST_DONE;
		}
		pthread_cond_broadcast(&fetcher->changed);
	}
}

int fetcher_get(struct fetcher *fetcher, struct store *store, const char *key, uint64_t offset,
		uint64_t length, const struct store_condition *condition, struct buf *out,
		struct error *err)
{
	struct request request = {
		.store = store,
		.key = key,
		.offset = offset,
		.length = length,
		.condition = condition,
		.out = out,
		.err = err,
	};
	struct group *group;
	uint64_t end;
	int r;

	/* A range of no bytes, or one that ends beyond all numbers, is a damaged reference. */
	if (length == 0 || __builtin_add_overflow(offset, length, &end))
		return error_set(err, ERR_FORMAT, "range of %llu bytes at %llu",
				 (unsigned long long)length, (unsigned long long)offset);
	/* Ahead of any request: a failure after the bytes arrived would have cost them. */
	r = buf_reserve(out, length, err);
	if (r < 0)
		return r;

	pthread_mutex_lock(&fetcher->mutex);
	fetcher->under_way++;
	group = group_find(fetcher, &request);
	if (group) {
		/* Behind the leader, whose place in the group is also the group's name. */
		request.next_in_group = group->first->next_in_group;
		group->first->next_in_group = &request;
	} else if (fetcher->limits.wait_us && fetcher->under_way > 1) {
		request_lead(fetcher, &request);
	} else {
		request.state = REQUEST_HEAD;
	}
	while (request.state != REQUEST_DONE)
		request_run(fetcher, &request);
	fetcher->under_way--;
	pthread_mutex_unlock(&fetcher->mutex);
	return request.result;
}
