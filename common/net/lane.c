/* SPDX-License-Identifier: Apache-2.0 */
#include "net/lane.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/time.h"
#include "net/cancel.h"
#include "net/engine.h"

enum {
	LANE_LIMIT_FIRST = 64, /* requests at once */
	LANE_LIMIT_MAX = 512,
	LANE_SIZES = 4, /* classes of answers by size */
	LANE_SAMPLES = 512,
	LANE_SAMPLES_FEW = 40, /* not enough for a percentile */
	LANE_RECOMPUTE = 16,
	LANE_CLOCK_SLOTS = 8, /* of LANE_SLOT_US each: the rate of the last second */
};

#define LANE_SLOT_US INT64_C(125000)
#define LANE_OVERDUE_FIRST INT64_C(1000000)
#define LANE_OVERDUE_LEAST INT64_C(5000)
#define LANE_CUT_PAUSE INT64_C(500000)	    /* one cut of the rate for one burst of refusals */
#define LANE_RECOVER_PAUSE INT64_C(2000000) /* no growth so soon after a refusal */
#define LANE_FORGET_PAUSE INT64_C(60000000) /* no limit any more so long after it */
#define LANE_GROWTH_A_SECOND 0.2
#define LANE_HEDGE_SHARE 0.05
#define LANE_HEDGE_MAX 20.0

/* Times of answers of about one size. */
struct latencies {
	uint32_t samples[LANE_SAMPLES]; /* microseconds */
	unsigned int n, next, fresh;
	int64_t p99;
};

struct lane {
	struct lane *next_lane;
	char *name;
	pthread_mutex_t lock;
	pthread_cond_t room;
	uint32_t in_flight, limit, good_in_row;
	double rate_limit, tokens; /* requests a second; 0 = no limit */
	int64_t tokens_at;
	int64_t throttled_at, cut_at, paused_until;
	uint32_t slots[LANE_CLOCK_SLOTS];
	int64_t slot_number;
	double hedges;
	struct latencies latencies[LANE_SIZES];
	struct lane_counts counts;
};

static pthread_mutex_t lanes_lock = PTHREAD_MUTEX_INITIALIZER;
static struct lane *lanes;

static struct lane *lane_new(const char *name, struct error *err)
{
	struct lane *lane = calloc(1, sizeof(*lane));
	pthread_condattr_t attributes;

	if (!lane) {
		error_memory(err);
		return NULL;
	}
	lane->name = text_dup(name, err);
	if (!lane->name) {
		free(lane);
		return NULL;
	}
	pthread_mutex_init(&lane->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&lane->room, &attributes);
	pthread_condattr_destroy(&attributes);
	lane->limit = LANE_LIMIT_FIRST;
	lane->hedges = LANE_HEDGE_MAX / 2;
	return lane;
}

struct lane *lane_get(const char *name, struct error *err)
{
	struct lane *lane;

	pthread_mutex_lock(&lanes_lock);
	for (lane = lanes; lane; lane = lane->next_lane)
		if (strcmp(lane->name, name) == 0)
			break;
	if (!lane) {
		lane = lane_new(name, err);
		if (lane) {
			lane->next_lane = lanes;
			lanes = lane;
		}
	}
	pthread_mutex_unlock(&lanes_lock);
	return lane;
}

/* Moves the clock of the request rate on to @now. */
static void lane_turn_clock(struct lane *lane, int64_t now)
{
	int64_t number = now / LANE_SLOT_US;

	if (number - lane->slot_number >= LANE_CLOCK_SLOTS)
		memset(lane->slots, 0, sizeof(lane->slots));
	else
		for (int64_t i = lane->slot_number + 1; i <= number; i++)
			lane->slots[i % LANE_CLOCK_SLOTS] = 0;
	lane->slot_number = number;
}

/* Requests a second of late; the slot that has just begun says little. */
static double lane_rate(struct lane *lane, int64_t now)
{
	double n = 0, seconds;

	lane_turn_clock(lane, now);
	for (size_t i = 0; i < LANE_CLOCK_SLOTS; i++)
		n += lane->slots[i];
	seconds = (double)((LANE_CLOCK_SLOTS - 1) * LANE_SLOT_US + now % LANE_SLOT_US) / 1e6;
	return n / seconds;
}

static void lane_count_request(struct lane *lane, int64_t now)
{
	lane_turn_clock(lane, now);
	lane->slots[lane->slot_number % LANE_CLOCK_SLOTS]++;
	lane->counts.requests++;
	lane->in_flight++;
	lane->hedges += LANE_HEDGE_SHARE;
	if (lane->hedges > LANE_HEDGE_MAX)
		lane->hedges = LANE_HEDGE_MAX;
}

/* Fills the bucket of tokens, and lets the rate recover when refusals have stopped. */
static void lane_refill(struct lane *lane, int64_t now)
{
	double seconds = (double)(now - lane->tokens_at) / 1e6;
	double most;

	lane->tokens_at = now;
	if (lane->rate_limit == 0)
		return;
	if (now - lane->throttled_at > LANE_FORGET_PAUSE) {
		lane->rate_limit = 0;
		return;
	}
	if (now - lane->throttled_at > LANE_RECOVER_PAUSE)
		lane->rate_limit *= 1 + LANE_GROWTH_A_SECOND * (seconds < 1 ? seconds : 1);
	lane->tokens += lane->rate_limit * seconds;
	/* Little to save up: a burst is what the other side complained about. */
	most = lane->rate_limit / 20 > 1 ? lane->rate_limit / 20 : 1;
	if (lane->tokens > most)
		lane->tokens = most;
}

/* When the next request may go: 0 now, INT64_MAX when somebody has to leave first. */
static int64_t lane_turn_at(struct lane *lane, int64_t now)
{
	if (now < lane->paused_until)
		return lane->paused_until;
	if (lane->in_flight >= lane->limit)
		return INT64_MAX;
	lane_refill(lane, now);
	if (lane->rate_limit == 0 || lane->tokens >= 1)
		return 0;
	return now + (int64_t)((1 - lane->tokens) / lane->rate_limit * 1e6) + 1;
}

static void lane_take_turn(struct lane *lane, int64_t now)
{
	if (lane->rate_limit > 0)
		lane->tokens -= 1;
	lane_count_request(lane, now);
}

static struct timespec timespec_at(int64_t micros)
{
	return (struct timespec){
		.tv_sec = micros / TIME_SECOND,
		.tv_nsec = micros % TIME_SECOND * 1000,
	};
}

static int lane_give_up(const struct lane *lane, int64_t turn, struct error *err)
{
	if (cancel_is_fired())
		return error_set(err, ERR_INTERRUPTED, "cancelled");
	if (turn != INT64_MAX)
		return error_set(err, ERR_THROTTLED,
				 "throttled: the store asks for fewer requests (HTTP 429 or 503)");
	return error_set(err, ERR_TIMEOUT, "no turn in time: %u requests are under way",
			 lane->in_flight);
}

int lane_enter(struct lane *lane, int64_t deadline, struct error *err)
{
	int r = 0;

	pthread_mutex_lock(&lane->lock);
	for (;;) {
		int64_t now = time_monotonic();
		int64_t turn = lane_turn_at(lane, now);
		/* Short naps, since nobody wakes this wait when a scope is cancelled. */
		int64_t until = now + (cancel_current() ? 20000 : 1000000);
		struct timespec ts;

		if (turn == 0) {
			lane_take_turn(lane, now);
			break;
		}
		if (now >= deadline || (turn != INT64_MAX && turn > deadline) ||
		    cancel_is_fired()) {
			r = lane_give_up(lane, turn, err);
			break;
		}
		if (turn < until)
			until = turn;
		if (deadline < until)
			until = deadline;
		ts = timespec_at(until);
		pthread_cond_timedwait(&lane->room, &lane->lock, &ts);
	}
	pthread_mutex_unlock(&lane->lock);
	return r;
}

bool lane_try_enter(struct lane *lane)
{
	int64_t now = time_monotonic();
	bool entered;

	pthread_mutex_lock(&lane->lock);
	entered = lane_turn_at(lane, now) == 0;
	if (entered)
		lane_take_turn(lane, now);
	pthread_mutex_unlock(&lane->lock);
	return entered;
}

/* Half of what was really sent: a limit above it would change nothing. */
static void lane_cut(struct lane *lane, int64_t now)
{
	double rate = lane_rate(lane, now);

	lane->throttled_at = now;
	if (now - lane->cut_at < LANE_CUT_PAUSE)
		return;
	lane->cut_at = now;
	if (lane->rate_limit == 0 || rate < lane->rate_limit)
		lane->rate_limit = rate;
	lane->rate_limit /= 2;
	if (lane->rate_limit < 1)
		lane->rate_limit = 1;
	lane->tokens = 0;
	lane->tokens_at = now;
	if (lane->in_flight < lane->limit)
		lane->limit = lane->in_flight;
	lane->limit = lane->limit / 2 > 2 ? lane->limit / 2 : 2;
	lane->good_in_row = 0;
}

static void lane_grow(struct lane *lane)
{
	bool full = lane->in_flight + 1 >= lane->limit;

	/* One more for every round of good answers with all places taken. */
	if (!full || ++lane->good_in_row < lane->limit)
		return;
	lane->good_in_row = 0;
	if (lane->limit < LANE_LIMIT_MAX)
		lane->limit++;
}

void lane_leave(struct lane *lane, enum lane_result result)
{
	int64_t now = time_monotonic();

	pthread_mutex_lock(&lane->lock);
	lane->in_flight--;
	if (result == LANE_GOOD) {
		lane->counts.good++;
		lane_grow(lane);
	} else if (result == LANE_BAD) {
		lane->counts.bad++;
		lane->good_in_row = 0;
	} else {
		lane->counts.throttled++;
		lane_cut(lane, now);
	}
	pthread_cond_signal(&lane->room);
	pthread_mutex_unlock(&lane->lock);
}

void lane_pause(struct lane *lane, int64_t pause_us)
{
	int64_t until = time_monotonic() + pause_us;

	pthread_mutex_lock(&lane->lock);
	if (until > lane->paused_until)
		lane->paused_until = until;
	pthread_mutex_unlock(&lane->lock);
}

static struct latencies *lane_latencies(struct lane *lane, uint64_t size)
{
	static const uint64_t limits[LANE_SIZES - 1] = {64 << 10, 1 << 20, 16 << 20};
	size_t i = 0;

	while (i < LANE_SIZES - 1 && size > limits[i])
		i++;
	return &lane->latencies[i];
}

static int latency_order(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void latencies_compute(struct latencies *latencies)
{
	uint32_t sorted[LANE_SAMPLES];

	memcpy(sorted, latencies->samples, latencies->n * sizeof(sorted[0]));
	qsort(sorted, latencies->n, sizeof(sorted[0]), latency_order);
	latencies->p99 = sorted[(latencies->n * 99 - 1) / 100];
	latencies->fresh = 0;
}

void lane_measure(struct lane *lane, uint64_t size, int64_t elapsed_us)
{
	struct latencies *latencies;

	pthread_mutex_lock(&lane->lock);
	latencies = lane_latencies(lane, size);
	latencies->samples[latencies->next] =
		elapsed_us < UINT32_MAX ? (uint32_t)elapsed_us : UINT32_MAX;
	latencies->next = (latencies->next + 1) % LANE_SAMPLES;
	if (latencies->n < LANE_SAMPLES)
		latencies->n++;
	if (++latencies->fresh >= LANE_RECOMPUTE && latencies->n >= LANE_SAMPLES_FEW)
		latencies_compute(latencies);
	pthread_mutex_unlock(&lane->lock);
}

int64_t lane_overdue(struct lane *lane, uint64_t size)
{
	int64_t p99;

	pthread_mutex_lock(&lane->lock);
	p99 = lane_latencies(lane, size)->p99;
	pthread_mutex_unlock(&lane->lock);
	if (p99 == 0)
		return LANE_OVERDUE_FIRST;
	return p99 > LANE_OVERDUE_LEAST ? p99 : LANE_OVERDUE_LEAST;
}

bool lane_take_hedge(struct lane *lane)
{
	bool taken;

	pthread_mutex_lock(&lane->lock);
	taken = lane->hedges >= 1;
	if (taken) {
		lane->hedges -= 1;
		lane->counts.hedges++;
	}
	pthread_mutex_unlock(&lane->lock);
	return taken;
}

struct lane_counts lane_counts(struct lane *lane)
{
	struct lane_counts counts;

	pthread_mutex_lock(&lane->lock);
	counts = lane->counts;
	counts.in_flight = lane->in_flight;
	counts.limit = lane->limit;
	counts.rate_limit = lane->rate_limit;
	pthread_mutex_unlock(&lane->lock);
	return counts;
}
