/* SPDX-License-Identifier: Apache-2.0 */
#include "repo/preload.h"

#include "repo/internal.h"

/* What may be loaded still; the limits are those of the configuration. */
struct allowed {
	const struct config *config;
	uint64_t refs, arrays;
};

static bool preload_is_over(struct repo *repo)
{
	return atomic_load(&repo->preload.stop) ||
	       manifest_cache_counters(repo->cache).manifest_bytes > repo->preload.budget;
}

/* A manifest that cannot be loaded is found out by whoever needs it. */
static void preload_manifest(struct checkout *checkout, const struct snapshot_node *node,
			     const struct manifest_ref *ref, struct allowed *allowed)
{
	struct error ignored = ERROR_INIT;
	struct manifest_info info;
	struct manifest_pin *pin;
	bool wanted;

	if (snapshot_find_manifest(checkout->snapshot, &ref->id, &info) != 0 ||
	    info.n_refs > allowed->refs ||
	    config_preloads(allowed->config, node->path, info.n_refs, &wanted, &ignored) < 0 ||
	    !wanted)
		return;
	allowed->refs -= info.n_refs;
	if (checkout_pin(checkout, ref, &pin, &ignored) == 0)
		manifest_unpin(pin);
}

static void preload_all(struct checkout *checkout, struct allowed *allowed)
{
	for (uint32_t i = 0; i < snapshot_n_nodes(checkout->snapshot); i++) {
		struct snapshot_node node = snapshot_node(checkout->snapshot, i);

		if (node.type != NODE_ARRAY)
			continue;
		if (allowed->arrays-- == 0)
			return;
		for (uint32_t m = 0; m < node.n_manifests; m++) {
			struct manifest_ref ref = node_manifest(&node, m);

			if (preload_is_over(checkout->repo))
				return;
			preload_manifest(checkout, &node, &ref, allowed);
		}
	}
}

static void *preload_run(void *argument)
{
	struct checkout *checkout = argument;
	struct repo *repo = checkout->repo;
	struct state *state = repo_state(repo);
	struct error ignored = ERROR_INIT;
	struct allowed allowed = {0};

	if (state_config(repo, state, &allowed.config, &ignored) == 0) {
		allowed.refs = config_values(allowed.config)->preload_max_refs;
		allowed.arrays = config_values(allowed.config)->preload_max_arrays;
		preload_all(checkout, &allowed);
	}
	state_free(state);
	checkout_free(checkout);
	atomic_store(&repo->preload.is_running, false);
	return NULL;
}

void preload_start(struct checkout *checkout)
{
	struct preload *preload = &checkout->repo->preload;

	pthread_mutex_lock(&checkout->repo->lock);
	if (!atomic_load(&preload->is_running)) {
		if (preload->has_thread)
			pthread_join(preload->thread, NULL);
		atomic_store(&preload->is_running, true);
		preload->has_thread = pthread_create(&preload->thread, NULL, preload_run,
						     checkout_ref(checkout)) == 0;
		if (!preload->has_thread) {
			checkout_free(checkout);
			atomic_store(&preload->is_running, false);
		}
	}
	pthread_mutex_unlock(&checkout->repo->lock);
}

void preload_end(struct repo *repo)
{
	atomic_store(&repo->preload.stop, true);
	if (repo->preload.has_thread)
		pthread_join(repo->preload.thread, NULL);
}
