/* SPDX-License-Identifier: Apache-2.0 */
#include "repo/contention.h"

#include <time.h>

#include "base/random.h"
#include "base/time.h"

#define RIVALS_MAX 64.0
#define WAIT_MAX 10.0 /* seconds */
#define YIELD 0.6     /* share of the rivals that go before a winner's next commit */
#define SPREAD 0.3    /* rounds of waiting for each rival */
#define SENIORITY 0.5 /* how much a loss shortens the next wait */

static double now(void)
{
	return (double)time_monotonic() / 1e6;
}

static void sleep_for(double seconds)
{
	struct timespec pause;

	if (seconds > WAIT_MAX)
		seconds = WAIT_MAX;
	if (seconds <= 0)
		return;
	pause.tv_sec = (time_t)seconds;
	pause.tv_nsec = (long)((seconds - (double)pause.tv_sec) * 1e9);
	nanosleep(&pause, NULL);
}

void contention_init(struct contention *contention)
{
	*contention = (struct contention){.round = 0.01};
	pthread_mutex_init(&contention->lock, NULL);
}

void contention_done(struct contention *contention)
{
	pthread_mutex_destroy(&contention->lock);
}

void contention_enter(struct contention *contention)
{
	double wait = 0;

	pthread_mutex_lock(&contention->lock);
	if (contention->rivals >= 0.5)
		wait = YIELD * contention->rivals * contention->gap * (0.5 + random_unit());
	pthread_mutex_unlock(&contention->lock);
	sleep_for(wait);
}

void contention_lost(struct contention *contention, double round, unsigned int losses,
		     unsigned int landed)
{
	double rivals, wait;

	pthread_mutex_lock(&contention->lock);
	contention->round += 0.3 * (round - contention->round);
	rivals = contention->rivals > landed ? contention->rivals : landed;
	if (rivals > RIVALS_MAX)
		rivals = RIVALS_MAX;
	wait = random_unit() * contention->round * (1 + SPREAD * rivals) / (1 + SENIORITY * losses);
	pthread_mutex_unlock(&contention->lock);
	sleep_for(wait);
}

void contention_won(struct contention *contention, double round, unsigned int landed)
{
	double at = now();

	pthread_mutex_lock(&contention->lock);
	contention->round += 0.3 * (round - contention->round);
	contention->rivals = (contention->rivals + landed) / 2;
	if (landed && contention->last > 0)
		contention->gap = (at - contention->last) / (landed + 1);
	else if (landed)
		contention->gap = contention->round;
	contention->last = at;
	pthread_mutex_unlock(&contention->lock);
}
