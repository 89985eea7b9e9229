/* SPDX-License-Identifier: Apache-2.0 */
#include "repo/cache.h"

#include <pthread.h>
#include <stdlib.h>

#include "repo/internal.h"

#define BUCKETS 1024

enum pin_state { PIN_LOADING, PIN_READY, PIN_FAILED };

/* One manifest in the cache, and at the same time what holds it there. */
struct manifest_pin {
	struct manifest_cache *cache;
	struct id12 id;
	struct manifest *manifest;
	uint64_t size;	     /* bytes counted against the budget */
	unsigned int n_pins; /* includes threads that wait for it */
	enum pin_state state;
	struct error failure;
	struct manifest_pin *next_in_bucket;
	struct manifest_pin *newer, *older; /* in the list of use, when ready */
};

struct manifest_cache {
	struct store *store;
	uint64_t budget, used;
	pthread_mutex_t lock;
	pthread_cond_t loaded;
	struct manifest_pin *buckets[BUCKETS];
	struct manifest_pin *newest, *oldest;
	struct repo_counters counters;
};

static struct manifest_pin **cache_bucket(struct manifest_cache *cache, const struct id12 *id)
{
	/* Ids are random bytes; any two of them are a hash. */
	return &cache->buckets[(id->bytes[0] | (unsigned int)id->bytes[1] << 8) % BUCKETS];
}

static void cache_unlist(struct manifest_cache *cache, struct manifest_pin *pin)
{
	*(pin->newer ? &pin->newer->older : &cache->newest) = pin->older;
	*(pin->older ? &pin->older->newer : &cache->oldest) = pin->newer;
	pin->newer = pin->older = NULL;
}

static void cache_list_newest(struct manifest_cache *cache, struct manifest_pin *pin)
{
	pin->newer = NULL;
	pin->older = cache->newest;
	*(cache->newest ? &cache->newest->newer : &cache->oldest) = pin;
	cache->newest = pin;
}

static void cache_unhash(struct manifest_cache *cache, struct manifest_pin *pin)
{
	struct manifest_pin **at = cache_bucket(cache, &pin->id);

	while (*at != pin)
		at = &(*at)->next_in_bucket;
	*at = pin->next_in_bucket;
}

static void cache_drop(struct manifest_cache *cache, struct manifest_pin *pin)
{
	cache_unlist(cache, pin);
	cache_unhash(cache, pin);
	cache->used -= pin->size;
	manifest_free(pin->manifest);
	free(pin);
}

static void cache_shrink(struct manifest_cache *cache)
{
	struct manifest_pin *pin = cache->oldest;

	while (pin && cache->used > cache->budget) {
		struct manifest_pin *newer = pin->newer;

		if (pin->n_pins == 0)
			cache_drop(cache, pin);
		pin = newer;
	}
}

int manifest_cache_new(struct store *store, uint64_t budget, struct manifest_cache **ret_cache,
		       struct error *err)
{
	struct manifest_cache *cache = calloc(1, sizeof(*cache));

	if (!cache)
		return error_memory(err);
	cache->store = store;
	cache->budget = budget;
	pthread_mutex_init(&cache->lock, NULL);
	pthread_cond_init(&cache->loaded, NULL);
	*ret_cache = cache;
	return 0;
}

struct manifest_cache *manifest_cache_free(struct manifest_cache *cache)
{
	if (!cache)
		return NULL;
	while (cache->newest)
		cache_drop(cache, cache->newest);
	pthread_cond_destroy(&cache->loaded);
	pthread_mutex_destroy(&cache->lock);
	free(cache);
	return NULL;
}

/* Leaves a failed entry; the last of those that waited for it frees it. */
static int cache_leave_failed(struct manifest_pin *pin, struct error *err)
{
	int kind = pin->failure.kind;

	if (err)
		*err = pin->failure;
	if (--pin->n_pins == 0)
		free(pin);
	return kind;
}

static int cache_wait(struct manifest_cache *cache, struct manifest_pin *pin, struct error *err)
{
	pin->n_pins++;
	while (pin->state == PIN_LOADING)
		pthread_cond_wait(&cache->loaded, &cache->lock);
	if (pin->state == PIN_FAILED)
		return cache_leave_failed(pin, err);
	cache->counters.manifest_hits++;
	if (cache->newest != pin) {
		cache_unlist(cache, pin);
		cache_list_newest(cache, pin);
	}
	return 0;
}

/* Loads with the lock released; the entry is in its bucket and this thread has a pin. */
static int cache_load(struct manifest_cache *cache, struct manifest_pin *pin,
		      const struct manifest_info *info, struct error *err)
{
	struct manifest *manifest = NULL;
	struct error failure = ERROR_INIT;
	int r;

	pthread_mutex_unlock(&cache->lock);
	r = manifest_load(cache->store, &info->id, info, &manifest, &failure);
	pthread_mutex_lock(&cache->lock);
	pthread_cond_broadcast(&cache->loaded);
	if (r < 0) {
		pin->state = PIN_FAILED;
		pin->failure = failure;
		cache_unhash(cache, pin);
		return cache_leave_failed(pin, err);
	}
	pin->manifest = manifest;
	pin->size = manifest_memory(manifest) + sizeof(*pin);
	pin->state = PIN_READY;
	cache->used += pin->size;
	cache->counters.manifest_loads++;
	cache_list_newest(cache, pin);
	cache_shrink(cache);
	return 0;
}

static int cache_get_locked(struct manifest_cache *cache, const struct manifest_info *info,
			    struct manifest_pin **ret_pin, struct error *err)
{
	struct manifest_pin **bucket = cache_bucket(cache, &info->id);
	struct manifest_pin *pin = *bucket;
	int r;

	while (pin && !id12_equal(&pin->id, &info->id))
		pin = pin->next_in_bucket;
	if (pin) {
		r = cache_wait(cache, pin, err);
		if (r == 0)
			*ret_pin = pin;
		return r;
	}
	pin = calloc(1, sizeof(*pin));
	if (!pin)
		return error_memory(err);
	*pin = (struct manifest_pin){
		.cache = cache, .id = info->id, .n_pins = 1, .next_in_bucket = *bucket};
	*bucket = pin;
	r = cache_load(cache, pin, info, err);
	if (r == 0)
		*ret_pin = pin;
	return r;
}

int manifest_cache_get(struct manifest_cache *cache, const struct manifest_info *info,
		       struct manifest_pin **ret_pin, struct error *err)
{
	int r;

	pthread_mutex_lock(&cache->lock);
	r = cache_get_locked(cache, info, ret_pin, err);
	pthread_mutex_unlock(&cache->lock);
	return r;
}

int manifest_cache_peek(struct manifest_cache *cache, const struct id12 *id,
			struct manifest_pin **ret_pin)
{
	struct manifest_pin *pin;
	int r = REPO_WOULD_LOAD;

	pthread_mutex_lock(&cache->lock);
	pin = *cache_bucket(cache, id);
	while (pin && !id12_equal(&pin->id, id))
		pin = pin->next_in_bucket;
	if (pin && pin->state == PIN_READY) {
		/* There already, so this does not wait and cannot fail. */
		r = cache_wait(cache, pin, NULL);
		*ret_pin = pin;
	}
	pthread_mutex_unlock(&cache->lock);
	return r;
}

const struct manifest *manifest_pin_get(const struct manifest_pin *pin)
{
	return pin->manifest;
}

struct manifest_pin *manifest_unpin(struct manifest_pin *pin)
{
	struct manifest_cache *cache;

	if (!pin)
		return NULL;
	cache = pin->cache;
	pthread_mutex_lock(&cache->lock);
	if (--pin->n_pins == 0)
		cache_shrink(cache);
	pthread_mutex_unlock(&cache->lock);
	return NULL;
}

struct repo_counters manifest_cache_counters(struct manifest_cache *cache)
{
	struct repo_counters counters;

	pthread_mutex_lock(&cache->lock);
	counters = cache->counters;
	counters.manifest_bytes = cache->used;
	pthread_mutex_unlock(&cache->lock);
	return counters;
}
