/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/memory.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/time.h"

struct memory {
	uint32_t owners; /* atomic */
	uint64_t max, used;
	pthread_mutex_t mutex;
	pthread_cond_t given;
};

int memory_new(uint64_t max, struct memory **ret_memory, struct error *err)
{
	struct memory *memory = calloc(1, sizeof(*memory));
	pthread_condattr_t monotonic;

	if (!memory)
		return error_memory(err);
	memory->owners = 1;
	memory->max = max;
	pthread_mutex_init(&memory->mutex, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&memory->given, &monotonic);
	pthread_condattr_destroy(&monotonic);
	*ret_memory = memory;
	return 0;
}

struct memory *memory_ref(struct memory *memory)
{
	__atomic_add_fetch(&memory->owners, 1, __ATOMIC_RELAXED);
	return memory;
}

struct memory *memory_free(struct memory *memory)
{
	if (memory && __atomic_sub_fetch(&memory->owners, 1, __ATOMIC_ACQ_REL) == 0) {
		pthread_cond_destroy(&memory->given);
		pthread_mutex_destroy(&memory->mutex);
		free(memory);
	}
	return NULL;
}

/* Under the mutex. */
static bool fits(const struct memory *memory, uint64_t bytes)
{
	return memory->used == 0 || (bytes <= memory->max && memory->used <= memory->max - bytes);
}

bool memory_take(struct memory *memory, uint64_t bytes)
{
	bool taken;

	pthread_mutex_lock(&memory->mutex);
	taken = fits(memory, bytes);
	if (taken)
		memory->used += bytes;
	pthread_mutex_unlock(&memory->mutex);
	return taken;
}

bool memory_wait(struct memory *memory, uint64_t bytes, int64_t deadline)
{
	struct timespec until = {deadline / TIME_SECOND, deadline % TIME_SECOND * 1000};
	uint64_t used;
	int r = 0;

	pthread_mutex_lock(&memory->mutex);
	used = memory->used;
	while (!fits(memory, bytes) && memory->used >= used && r == 0)
		r = pthread_cond_timedwait(&memory->given, &memory->mutex, &until);
	pthread_mutex_unlock(&memory->mutex);
	return r == 0;
}

void memory_give(struct memory *memory, uint64_t bytes)
{
	pthread_mutex_lock(&memory->mutex);
	memory->used -= bytes;
	pthread_cond_broadcast(&memory->given);
	pthread_mutex_unlock(&memory->mutex);
}

uint64_t memory_used(struct memory *memory)
{
	uint64_t used;

	pthread_mutex_lock(&memory->mutex);
	used = memory->used;
	pthread_mutex_unlock(&memory->mutex);
	return used;
}
