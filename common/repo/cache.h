/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Manifest cache
 *
 * Keeps decoded manifests within a byte budget, the least recently used going first.  When several
 * threads need one manifest, one loads it and the others wait.  A pinned manifest stays;
 * failures are not kept.
 *
 * Threads: may be shared.
 */

#include <stdint.h>

#include "base/cleanup.h"
#include "icechunk/manifest.h"
#include "icechunk/snapshot.h"
#include "repo/repo.h"

struct manifest_cache;
struct manifest_pin;

/* Borrows @store.  @budget in bytes. */
int manifest_cache_new(struct store *store, uint64_t budget, struct manifest_cache **ret_cache,
		       struct error *err);
/* Nothing may be pinned any more. */
struct manifest_cache *manifest_cache_free(struct manifest_cache *cache);
DEFINE_CLEANUP(struct manifest_cache *, manifest_cache_free)

/* Gives the manifest that @info describes, loading it if need be, pinned until manifest_unpin(). */
int manifest_cache_get(struct manifest_cache *cache, const struct manifest_info *info,
		       struct manifest_pin **ret_pin, struct error *err);
/* The same for a manifest that is there already; REPO_WOULD_LOAD for others.  Never waits. */
int manifest_cache_peek(struct manifest_cache *cache, const struct id12 *id,
			struct manifest_pin **ret_pin);
const struct manifest *manifest_pin_get(const struct manifest_pin *pin);
/* NULL is fine.  Always returns NULL. */
struct manifest_pin *manifest_unpin(struct manifest_pin *pin);
DEFINE_CLEANUP(struct manifest_pin *, manifest_unpin)

struct repo_counters manifest_cache_counters(struct manifest_cache *cache);
