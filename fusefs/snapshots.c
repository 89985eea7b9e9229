/* SPDX-License-Identifier: Apache-2.0 */
#include "fusefs/snapshots.h"

#include <pthread.h>
#include <stdlib.h>

#define KEPT 8 /* views; those in use live longer */

struct kept {
	struct id12 id;
	struct view *view; /* NULL while it is loaded */
	uint64_t used;	   /* when, counted in uses */
	bool loading;
};

struct snapshots {
	struct repo *repo;
	struct reader *reader;
	enum view_mode mode;
	bool consolidated;
	pthread_mutex_t mutex;
	pthread_cond_t loaded;
	uint64_t uses;
	struct kept kept[KEPT];
};

int snapshots_new(struct repo *repo, struct reader *reader, enum view_mode mode, bool consolidated,
		  struct snapshots **ret_snapshots, struct error *err)
{
	struct snapshots *snapshots = calloc(1, sizeof(*snapshots));

	if (!snapshots)
		return error_memory(err);
	snapshots->repo = repo;
	snapshots->reader = reader;
	snapshots->mode = mode;
	snapshots->consolidated = consolidated;
	pthread_mutex_init(&snapshots->mutex, NULL);
	pthread_cond_init(&snapshots->loaded, NULL);
	*ret_snapshots = snapshots;
	return 0;
}

struct snapshots *snapshots_free(struct snapshots *snapshots)
{
	if (!snapshots)
		return NULL;
	for (size_t i = 0; i < KEPT; i++)
		view_free(snapshots->kept[i].view);
	pthread_cond_destroy(&snapshots->loaded);
	pthread_mutex_destroy(&snapshots->mutex);
	free(snapshots);
	return NULL;
}

int snapshots_open(struct snapshots *snapshots, const struct id12 *id, struct view **ret_view,
		   struct error *err)
{
	CLEANUP(checkout_freep) struct checkout *checkout = NULL;
	int r;

	r = repo_checkout(snapshots->repo, id, &checkout, err);
	if (r == 0)
		r = view_new(snapshots->reader, checkout, snapshots->mode, ret_view, err);
	if (r == 0 && snapshots->consolidated)
		view_consolidate(*ret_view);
	return r;
}

static struct kept *kept_find(struct snapshots *snapshots, const struct id12 *id)
{
	for (size_t i = 0; i < KEPT; i++) {
		struct kept *kept = &snapshots->kept[i];

		if ((kept->view || kept->loading) && id12_equal(&kept->id, id))
			return kept;
	}
	return NULL;
}

/* The place that was not used for longest; NULL while all are being loaded. */
static struct kept *kept_oldest(struct snapshots *snapshots)
{
	struct kept *oldest = NULL;

	for (size_t i = 0; i < KEPT; i++) {
		struct kept *kept = &snapshots->kept[i];

		if (!kept->loading && (!oldest || kept->used < oldest->used))
			oldest = kept;
	}
	return oldest;
}

/* Loads with the mutex let go. */
static int kept_load(struct snapshots *snapshots, struct kept *kept, const struct id12 *id,
		     struct view **ret_view, struct error *err)
{
	struct view *view = NULL;
	int r;

	view_free(kept->view);
	*kept = (struct kept){.id = *id, .loading = true};
	pthread_mutex_unlock(&snapshots->mutex);
	r = snapshots_open(snapshots, id, &view, err);
	pthread_mutex_lock(&snapshots->mutex);
	kept->loading = false;
	kept->view = view;
	kept->used = ++snapshots->uses;
	pthread_cond_broadcast(&snapshots->loaded);
	if (r == 0)
		*ret_view = view_ref(view);
	return r;
}

/* Under the mutex. */
static int view_get(struct snapshots *snapshots, const struct id12 *id, bool may_wait,
		    struct view **ret_view, struct error *err)
{
	for (;;) {
		struct kept *kept = kept_find(snapshots, id);

		if (kept && kept->view) {
			kept->used = ++snapshots->uses;
			*ret_view = view_ref(kept->view);
			return 0;
		}
		if (!may_wait)
			return VIEW_WOULD_WAIT;
		if (!kept) {
			kept = kept_oldest(snapshots);
			if (kept)
				return kept_load(snapshots, kept, id, ret_view, err);
		}
		/* Whoever loads it, or a place to load it in, has an end: its own deadline. */
		pthread_cond_wait(&snapshots->loaded, &snapshots->mutex);
	}
}

int snapshots_view(struct snapshots *snapshots, const struct id12 *id, bool may_wait,
		   struct view **ret_view, struct error *err)
{
	int r;

	pthread_mutex_lock(&snapshots->mutex);
	r = view_get(snapshots, id, may_wait, ret_view, err);
	pthread_mutex_unlock(&snapshots->mutex);
	return r;
}
