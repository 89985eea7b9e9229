/* SPDX-License-Identifier: Apache-2.0 */
#include "repo/publish.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/random.h"
#include "base/time.h"

#define IMMEDIATE_TRIES 5 /* as the public library counts, formats 7.4 */
#define PAUSE_FIRST_MS 10.0

int state_check_writable(const struct repo *repo, const struct state *state, struct error *err)
{
	const struct repo_status *status;

	if (!store_is_writable(repo->store))
		return error_set(err, ERR_READ_ONLY, "'%s' cannot be written to", repo->store->url);
	if (!state->info || state->info->status.availability == REPO_ONLINE)
		return 0;
	status = &state->info->status;
	return error_set(err, ERR_READ_ONLY, "repository '%s' is %s%s%.*s", repo->store->url,
			 repo_availability_name(status->availability),
			 status->reason.size ? ": " : "", (int)status->reason.size,
			 (const char *)status->reason.data);
}

unsigned int publish_attempts(const struct config_retries *retries)
{
	return retries->max_tries < IMMEDIATE_TRIES ? IMMEDIATE_TRIES + 1 : retries->max_tries + 1;
}

void publish_pause(unsigned int attempt, const struct config_retries *retries)
{
	unsigned int doubled = attempt < 6 ? attempt : 6;
	double limit = PAUSE_FIRST_MS * (double)(1u << doubled);
	struct timespec pause;
	double ms;

	/* Everyone draws from the whole range: those who lost together do not meet again. */
	if (retries->max_backoff_ms && limit > retries->max_backoff_ms)
		limit = retries->max_backoff_ms;
	ms = random_unit() * limit;
	pause.tv_sec = (time_t)(ms / 1000);
	pause.tv_nsec = (long)((ms - 1000.0 * (double)pause.tv_sec) * 1e6);
	nanosleep(&pause, NULL);
}

/* Keeps what identifies our entry in the log, should the answer to the write be lost. */
static void publication_pend(struct publication *publication, const struct repo_info *info)
{
	const struct repo_update *newest = &info->updates.items[0];

	publication->is_pending = true;
	publication->pending = *newest;
	snprintf(publication->pending_name, sizeof(publication->pending_name), "%.*s",
		 (int)newest->name.size, (const char *)newest->name.data);
}

bool publish_landed(const struct publication *publication, const struct state *state)
{
	const struct repo_update *ours = &publication->pending;

	if (!publication->is_pending)
		return false;
	for (size_t i = 0; i < state->info->updates.n; i++) {
		const struct repo_update *update = &state->info->updates.items[i];

		if (update->at < ours->at)
			break;
		if (update->at == ours->at && update->type == ours->type &&
		    id12_equal(&update->snapshot, &ours->snapshot) &&
		    slice_equal(slice_sub(update->name, 0, sizeof(publication->pending_name) - 1),
				slice_text(publication->pending_name)))
			return true;
	}
	return false;
}

/* Appends the object that @info becomes, entry of the log included. */
static int publication_encode(struct repo *repo, struct state *state,
			      struct publication *publication, const char *backup, int64_t now,
			      struct repo_info *info, struct buf *out, struct error *err)
{
	CLEANUP(buf_done) struct buf payload = BUF_INIT(REPO_PAYLOAD_MAX);
	struct envelope_options options = {.spec = SPEC_2};
	struct repo_update update = {0};
	const struct config *config;
	struct slice piece;
	int r;

	r = state_config(repo, state, &config, err);
	if (r < 0)
		return r;
	options.level = config_values(config)->compression_level;
	r = publication->update(publication->argument, info,
				repo_info_next_time(info, (uint64_t)now), &update, err);
	if (r != 0)
		return r;
	r = repo_info_push_update(info, &update, (uint64_t)now, backup,
				  config_values(config)->updates_per_file, err);
	if (r == 0)
		r = repo_info_encode(info, &payload, err);
	if (r < 0)
		return r;
	piece = buf_slice(&payload);
	return envelope_seal(&piece, 1, FILE_REPO, &options, out, err);
}

static int publication_write(struct repo *repo, const struct state *state, const char *backup,
			     struct slice object, struct version *ret_version, struct error *err)
{
	char key[sizeof("overwritten/") + REPO_BACKUP_LEN];
	int r;

	snprintf(key, sizeof(key), "overwritten/%s", backup);
	r = store_copy(repo->store, REPO_KEY, &state->version, key, err);
	if (r == 0)
		r = store_replace(repo->store, REPO_KEY, &state->version, object, ret_version, err);
	return r > 0 ? PUBLISH_LOST : r;
}

/* The write failed in a way that does not say whether it was done: looks. */
static int publication_settle(struct repo *repo, const struct publication *publication, int failure,
			      struct error *err)
{
	CLEANUP(state_freep) struct state *state = NULL;
	struct error ignored = ERROR_INIT;

	if (state_load(repo->store, &state, &ignored) != 0 || !publish_landed(publication, state))
		return failure;
	if (err)
		*err = ERROR_INIT;
	repo_set_state(repo, TAKE(state));
	return 0;
}

int publish_once(struct repo *repo, struct state *state, struct publication *publication,
		 struct error *err)
{
	CLEANUP(repo_info_freep) struct repo_info *info = NULL;
	CLEANUP(buf_done) struct buf object = BUF_INIT(OBJECT_MAX);
	CLEANUP(state_freep) struct state *next = NULL;
	char backup[REPO_BACKUP_LEN + 1];
	int64_t now = time_now();
	int r;

	if (!publication->any_status) {
		r = state_check_writable(repo, state, err);
		if (r < 0)
			return r;
	}
	r = repo_info_copy(state->info, &info, err);
	if (r == 0)
		r = backup_name(REPO_KEY, now, backup, sizeof(backup), err);
	if (r == 0)
		r = state_new(&next, err);
	if (r == 0)
		r = publication_encode(repo, state, publication, backup, now, info, &object, err);
	if (r != 0)
		return r;
	publication_pend(publication, info);
	r = publication_write(repo, state, backup, buf_slice(&object), &next->version, err);
	if (r < 0)
		return publication_settle(repo, publication, r, err);
	if (r > 0)
		return r;
	next->info = TAKE(info);
	repo_set_state(repo, TAKE(next));
	return 0;
}

struct attempt {
	struct repo *repo;
	struct publication *publication;
};

static int publish_attempt(void *argument, struct error *err)
{
	struct attempt *attempt = argument;
	struct repo *repo = attempt->repo;
	CLEANUP(state_freep) struct state *state = NULL;
	int r;

	r = repo_refresh(repo, err);
	if (r < 0)
		return r;
	state = repo_state(repo);
	if (publish_landed(attempt->publication, state))
		return 0;
	return publish_once(repo, state, attempt->publication, err);
}

int publish(struct repo *repo, struct publication *publication, struct error *err)
{
	CLEANUP(state_freep) struct state *state = repo_state(repo);
	struct attempt attempt = {repo, publication};
	const struct config *config;
	unsigned int attempts;
	int r;

	r = state_config(repo, state, &config, err);
	if (r < 0)
		return r;
	attempts = publish_attempts(&config_values(config)->update_retries);
	for (unsigned int i = 1;; i++) {
		r = store_locked(repo->store, publish_attempt, &attempt, err);
		if (r != PUBLISH_LOST)
			return r;
		if (i == attempts)
			return error_set(err, ERR_CONFLICT,
					 "'" REPO_KEY "' cannot be updated after %u attempts", i);
		publish_pause(i, &config_values(config)->update_retries);
	}
}

struct move1 {
	struct repo *repo;
	const char *branch;
	const struct id12 *from, *to;
	struct id12 actual;
};

/* The write failed in a way that does not say whether it was done: looks. */
static bool branch1_is_at(const struct move1 *move, struct error *err)
{
	struct error ignored = ERROR_INIT;
	struct id12 id;

	if (ref1_load(move->repo, REF1_BRANCH, move->branch, &id, NULL, NULL, &ignored) != 0 ||
	    !id12_equal(&id, move->to))
		return false;
	if (err)
		*err = ERROR_INIT;
	return true;
}

static int move_branch1(void *argument, struct error *err)
{
	struct move1 *move = argument;
	CLEANUP(buf_done) struct buf file = BUF_INIT(REF1_FILE_MAX);
	CLEANUP(freep) char *key = NULL;
	struct version version;
	int r;

	r = ref1_load(move->repo, REF1_BRANCH, move->branch, &move->actual, &version, &key, err);
	if (r == REPO_ABSENT)
		return error_set(err, ERR_ABSENT, "there is no branch '%s'", move->branch);
	if (r < 0)
		return r;
	/* An earlier try whose answer was lost, or a reset to where it is. */
	if (id12_equal(&move->actual, move->to))
		return 0;
	if (!id12_equal(&move->actual, move->from))
		return PUBLISH_LOST;
	r = ref1_encode(move->to, &file, err);
	if (r == 0)
		r = store_replace(move->repo->store, key, &version, buf_slice(&file), NULL, err);
	if (r < 0 && branch1_is_at(move, err))
		r = 0;
	return r;
}

int publish_branch1(struct repo *repo, const char *branch, const struct id12 *from,
		    const struct id12 *to, struct id12 *ret_actual, struct error *err)
{
	struct move1 move = {repo, branch, from, to, {{0}}};
	int r;

	do
		r = store_locked(repo->store, move_branch1, &move, err);
	while (r == STORE_CHANGED);
	*ret_actual = move.actual;
	return r;
}
