/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A budget of bytes that threads share: who needs more than is left waits
 *
 * Threads: any.
 */

#include <pthread.h>
#include <stdint.h>

struct budget {
	pthread_mutex_t lock;
	pthread_cond_t freed;
	uint64_t total, left;
};

void budget_init(struct budget *budget, uint64_t total);
void budget_done(struct budget *budget);
/* Takes @bytes, at most the total: whoever needs more than that runs alone.  Returns what was
 * taken. */
uint64_t budget_take(struct budget *budget, uint64_t bytes);
void budget_give(struct budget *budget, uint64_t taken);
