/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "repo/internal.h"

int state_new(struct state **ret_state, struct error *err)
{
	struct state *state = calloc(1, sizeof(*state));

	if (!state)
		return error_memory(err);
	atomic_init(&state->owners, 1);
	pthread_mutex_init(&state->lock, NULL);
	*ret_state = state;
	return 0;
}

struct state *state_free(struct state *state)
{
	if (!state || atomic_fetch_sub(&state->owners, 1) > 1)
		return NULL;
	repo_info_free(state->info);
	config_free(state->config);
	pthread_mutex_destroy(&state->lock);
	free(state);
	return NULL;
}

int state_load(struct store *store, struct state **ret_state, struct error *err)
{
	CLEANUP(buf_done) struct buf file = BUF_INIT(OBJECT_MAX);
	CLEANUP(buf_done) struct buf payload = BUF_INIT(REPO_PAYLOAD_MAX);
	CLEANUP(state_freep) struct state *state = NULL;
	struct store_info info = {0};
	int r;

	r = store_get_all(store, REPO_KEY, &file, &info, err);
	if (r == STORE_ABSENT)
		return REPO_ABSENT;
	if (r < 0)
		return r;
	r = state_new(&state, err);
	if (r < 0)
		return r;
	state->version = info.version;
	r = envelope_open(buf_slice(&file), FILE_REPO, &payload, NULL, err);
	if (r == 0)
		r = repo_info_parse(&payload, &state->info, err);
	if (r < 0)
		return error_prefix(err, "cannot open '" REPO_KEY "'");
	*ret_state = TAKE(state);
	return 0;
}

struct state *repo_state(struct repo *repo)
{
	struct state *state;

	pthread_mutex_lock(&repo->lock);
	state = repo->state;
	atomic_fetch_add(&state->owners, 1);
	pthread_mutex_unlock(&repo->lock);
	return state;
}

void repo_set_state(struct repo *repo, struct state *state)
{
	struct state *old;

	pthread_mutex_lock(&repo->lock);
	old = repo->state;
	repo->state = state;
	pthread_mutex_unlock(&repo->lock);
	state_free(old);
}

static int config_load1(struct repo *repo, struct state *state, struct error *err)
{
	CLEANUP(buf_done) struct buf file = BUF_INIT(CONFIG_TEXT_MAX);
	struct store_info info = {0};
	int r;

	r = store_get_all(repo->store, CONFIG1_KEY, &file, &info, err);
	if (r == STORE_ABSENT)
		return config_new(&state->config, err);
	if (r < 0)
		return r;
	r = config_from_yaml(buf_slice(&file), &state->config, err);
	if (r < 0)
		return error_prefix(err, "cannot read '%s'", CONFIG1_KEY);
	state->config_version = info.version;
	return 0;
}

static int config_load2(struct state *state, struct error *err)
{
	int r;

	if (!state->info->config.data)
		return config_new(&state->config, err);
	r = config_from_flex(state->info->config, &state->config, err);
	return r < 0 ? error_prefix(err, "cannot read the stored configuration") : 0;
}

int state_config(struct repo *repo, struct state *state, const struct config **ret_config,
		 struct error *err)
{
	int r = 0;

	pthread_mutex_lock(&state->lock);
	if (!state->config)
		r = state->info ? config_load2(state, err) : config_load1(repo, state, err);
	pthread_mutex_unlock(&state->lock);
	if (r < 0)
		return r;
	*ret_config = state->config;
	return 0;
}
