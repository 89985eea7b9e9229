/* SPDX-License-Identifier: Apache-2.0 */
#include "repo/touched.h"

#include <stdlib.h>

#include "base/vec.h"
#include "repo/internal.h"

DEFINE_VEC(log_list, struct txlog *);

struct touched {
	struct log_list logs;
};

struct walk {
	struct repo *repo;
	const struct id12 *from;
	struct touched *touched;
	bool incomplete; /* a log cannot tell */
};

/* Ends a walk that has come to its start, or that cannot tell; no error kind has this value. */
#define WALK_ENDS (-1000)

static int each_commit(void *argument, const struct history_entry *entry, struct error *err)
{
	struct walk *walk = argument;
	CLEANUP(txlog_freep) struct txlog *log = NULL;
	int r;

	if (id12_equal(&entry->id, walk->from))
		return WALK_ENDS;
	r = txlog_load(walk->repo->store, &entry->id, &log, err);
	if (r == ERR_MEMORY)
		return r;
	if (r != 0 || !entry->has_parent) {
		walk->incomplete = true;
		return WALK_ENDS;
	}
	r = log_list_push(&walk->touched->logs, log, err);
	if (r == 0)
		log = NULL;
	return r;
}

int touched_load(struct repo *repo, const struct id12 *from, const struct id12 *to,
		 struct touched **ret_touched, struct error *err)
{
	CLEANUP(touched_freep) struct touched *touched = calloc(1, sizeof(*touched));
	struct walk walk = {.repo = repo, .from = from, .touched = touched};
	int r;

	if (!touched)
		return error_memory(err);
	r = repo_history(repo, to, each_commit, &walk, err);
	if (r == ERR_MEMORY)
		return r;
	if (r != WALK_ENDS || walk.incomplete)
		return REPO_ABSENT;
	*ret_touched = TAKE(touched);
	return 0;
}

struct touched *touched_free(struct touched *touched)
{
	if (!touched)
		return NULL;
	for (size_t i = 0; i < touched->logs.n; i++)
		txlog_free(touched->logs.items[i]);
	log_list_done(&touched->logs);
	free(touched);
	return NULL;
}

int touched_each(const struct touched *touched, const struct id8 *id,
		 int (*each)(void *argument, const uint32_t *index, uint32_t n_dims,
			     struct error *err),
		 void *argument, struct error *err)
{
	for (size_t i = 0; i < touched->logs.n; i++) {
		const struct txlog *log = touched->logs.items[i];
		uint32_t array, n;

		if (txlog_find_array(log, id, &array) != 0)
			continue;
		txlog_array(log, array, &n);
		for (uint32_t chunk = 0; chunk < n; chunk++) {
			uint32_t n_dims;
			const uint32_t *index = txlog_chunk(log, array, chunk, &n_dims);
			int r = each(argument, index, n_dims, err);

			if (r < 0)
				return r;
		}
	}
	return 0;
}
