/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Taking turns at a compare-and-swap without anybody to give out turns
 *
 * Whoever lost waits for a random time that grows with the number of rivals and shrinks the more
 * often it has lost; whoever won a race with rivals lets some of them go first.  So most attempts
 * find nobody in their way, throughput does not fall with the number of writers, and nobody waits
 * many times longer than the others.
 *
 * The number of rivals is estimated by the commits of others between two of ours, which in a fair
 * race is one of each.  Waits are counted in rounds, which grow by themselves when the store or the
 * machine is busy, so the estimate need not be high at the beginning.  The factors come from races
 * of 2 to 32 processes (tests/bench/repo-race.c).
 *
 * Threads: belongs to a repo; guarded by its own lock.
 */

#include <pthread.h>

struct contention {
	pthread_mutex_t lock;
	double rivals; /* estimate, 0 when alone */
	double gap;    /* seconds between two commits of anybody, lately */
	double round;  /* seconds that an attempt takes, lately */
	double last;   /* when we won last, on time_monotonic()'s clock; 0 = never */
};

void contention_init(struct contention *contention);
void contention_done(struct contention *contention);
/* Waits before the first attempt of a commit. */
void contention_enter(struct contention *contention);
/* Waits after a lost attempt that took @round seconds: the @losses-th of this commit; @landed
 * commits of others were seen. */
void contention_lost(struct contention *contention, double round, unsigned int losses,
		     unsigned int landed);
/* Notes a win after @landed commits of others. */
void contention_won(struct contention *contention, double round, unsigned int landed);
