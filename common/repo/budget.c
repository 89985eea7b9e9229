/* SPDX-License-Identifier: Apache-2.0 */
#include "repo/budget.h"

void budget_init(struct budget *budget, uint64_t total)
{
	pthread_mutex_init(&budget->lock, NULL);
	pthread_cond_init(&budget->freed, NULL);
	budget->total = total;
	budget->left = total;
}

void budget_done(struct budget *budget)
{
	pthread_cond_destroy(&budget->freed);
	pthread_mutex_destroy(&budget->lock);
}

uint64_t budget_take(struct budget *budget, uint64_t bytes)
{
	uint64_t taken = bytes < budget->total ? bytes : budget->total;

	pthread_mutex_lock(&budget->lock);
	while (budget->left < taken)
		pthread_cond_wait(&budget->freed, &budget->lock);
	budget->left -= taken;
	pthread_mutex_unlock(&budget->lock);
	return taken;
}

void budget_give(struct budget *budget, uint64_t taken)
{
	pthread_mutex_lock(&budget->lock);
	budget->left += taken;
	pthread_cond_broadcast(&budget->freed);
	pthread_mutex_unlock(&budget->lock);
}
