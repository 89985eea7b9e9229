/* SPDX-License-Identifier: Apache-2.0 */
#include "fusefs/fs.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/text.h"
#include "base/time.h"
#include "fusefs/internal.h"
#include "fusefs/metrics.h"
#include "fusefs/status.h"

#define DATA_THREADS 64
#define METADATA_THREADS 8
#define TIMEOUT_MS 60000

/* ---- making and ending ---- */

static void warn_of_status_node(struct view *view)
{
	uint32_t folder;

	if (view_find(view, slice_text("/" STATUS_NAME), &folder) == 0)
		log_event(LOG_WARNING, "mount",
			  "the repository has a node '" STATUS_NAME
			  "', which hides the status folder of that name");
}

static int fs_init(struct fs *fs, struct checkout *checkout, struct error *err)
{
	CLEANUP(view_freep) struct view *view = NULL;
	int r;

	r = view_new(fs->reader, checkout, fs->options.mode, &view, err);
	if (r < 0)
		return r;
	if (fs->options.consolidated)
		view_consolidate(view);
	warn_of_status_node(view);
	r = shown_new(view, &fs->shown, err);
	if (r == 0)
		r = snapshots_new(fs->repo, fs->reader, fs->options.mode, fs->options.consolidated,
				  &fs->snapshots, err);
	if (r == 0)
		r = slots_new(&fs->slots, err);
	return r;
}

int fs_new(struct repo *repo, struct reader *reader, struct checkout *checkout,
	   const struct fs_options *options, struct fs **ret_fs, struct error *err)
{
	CLEANUP(fs_freep) struct fs *fs = calloc(1, sizeof(*fs));
	int r;

	if (!fs)
		return error_memory(err);
	fs->repo = repo;
	fs->reader = reader;
	fs->options = *options;
	if (!fs->options.timeout_ms)
		fs->options.timeout_ms = TIMEOUT_MS;
	pthread_mutex_init(&fs->mutex, NULL);
	pthread_mutex_init(&fs->shown_mutex, NULL);
	r = fs_init(fs, checkout, err);
	if (r < 0)
		return r;
	*ret_fs = TAKE(fs);
	return 0;
}

static void count_timeout(void *argument)
{
	struct fs *fs = argument;

	atomic_fetch_add(&fs->timeouts, 1);
}

int fs_start(struct fs *fs, struct fuse_session *session, struct error *err)
{
	size_t data = fs->options.data_threads ? fs->options.data_threads : DATA_THREADS;
	int r;

	r = pool_new(METADATA_THREADS, &fs->metadata, err);
	if (r == 0)
		r = pool_new(data, &fs->data, err);
	if (r == 0)
		r = deadlines_new((int64_t)fs->options.timeout_ms * 1000, count_timeout, fs,
				  &fs->deadlines, err);
	if (r == 0)
		r = pusher_new(session, &fs->pusher, err);
	if (r == 0 && fs->options.follow_ms)
		r = follower_new(fs, session, fs->options.follow_ms, &fs->follower, err);
	if (r == 0 && fs->options.metrics)
		r = metrics_new(fs, fs->options.metrics, &fs->metrics, err);
	return r;
}

void fs_stop(struct fs *fs)
{
	fs->metrics = metrics_free(fs->metrics);
	fs->follower = follower_free(fs->follower);
	/* The work that is under way pushes and has deadlines, so it ends first. */
	fs->data = pool_free(fs->data);
	fs->metadata = pool_free(fs->metadata);
	fs->pusher = pusher_free(fs->pusher);
	fs->deadlines = deadlines_free(fs->deadlines);
}

struct fs *fs_free(struct fs *fs)
{
	if (!fs)
		return NULL;
	fs_stop(fs);
	folders_free(fs);
	slots_free(fs->slots);
	snapshots_free(fs->snapshots);
	shown_free(fs->shown);
	for (size_t i = 0; i < FS_ERRORS_KEPT; i++)
		free(fs->failures[i].path);
	pthread_mutex_destroy(&fs->shown_mutex);
	pthread_mutex_destroy(&fs->mutex);
	free(fs);
	return NULL;
}

/* ---- what it consists of ---- */

struct repo *fs_repo(struct fs *fs)
{
	return fs->repo;
}

struct reader *fs_reader(struct fs *fs)
{
	return fs->reader;
}

const struct fs_options *fs_options(const struct fs *fs)
{
	return &fs->options;
}

struct fs_counters fs_counters(struct fs *fs)
{
	return (struct fs_counters){
		.lookups = atomic_load(&fs->lookups),
		.reads = atomic_load(&fs->reads),
		.read_bytes = atomic_load(&fs->read_bytes),
		.errors = atomic_load(&fs->errors),
		.timeouts = atomic_load(&fs->timeouts),
		.pushed_bytes = fs->pusher ? pusher_bytes(fs->pusher) : 0,
		.switches = atomic_load(&fs->switches),
		.slots = slots_count(fs->slots),
	};
}

struct shown *fs_shown(struct fs *fs)
{
	struct shown *shown;

	pthread_mutex_lock(&fs->shown_mutex);
	shown = shown_ref(fs->shown);
	pthread_mutex_unlock(&fs->shown_mutex);
	return shown;
}

void fs_show(struct fs *fs, struct shown *shown)
{
	struct shown *before;

	pthread_mutex_lock(&fs->shown_mutex);
	before = fs->shown;
	fs->shown = shown;
	pthread_mutex_unlock(&fs->shown_mutex);
	shown_free(before);
	atomic_fetch_add(&fs->switches, 1);
}

int fs_snapshot_view(struct fs *fs, const struct id12 *id, bool may_wait, struct view **ret_view,
		     struct error *err)
{
	CLEANUP(shown_freep) struct shown *shown = fs_shown(fs);

	if (id12_equal(id, checkout_id(view_checkout(shown_view(shown))))) {
		*ret_view = view_ref(shown_view(shown));
		return 0;
	}
	return snapshots_view(fs->snapshots, id, may_wait, ret_view, err);
}

int fs_open_view(struct fs *fs, const struct id12 *id, struct view **ret_view, struct error *err)
{
	return snapshots_open(fs->snapshots, id, ret_view, err);
}

/* ---- failures ---- */

static char *target_path(const struct target *target)
{
	struct slice folder;
	char name[VIEW_NAME_MAX + 1] = "";

	if (target->kind != SLOT_VIEW || !target->view)
		return NULL;
	folder = view_path(target->view, target->file.folder);
	if (target->file.kind != VIEW_FOLDER)
		view_path_below(target->view, &target->file, name);
	return text_printf(NULL, "%.*s%s%s", (int)folder.size, (const char *)folder.data,
			   name[0] && folder.size > 1 ? "/" : "", name);
}

/* The kernel asks twice in a row for what fails: the second time says nothing new. */
static bool failure_repeats(const struct fs *fs, const char *path, const struct error *err)
{
	const struct fs_failure *last;

	if (fs->n_failures == 0)
		return false;
	last = &fs->failures[(fs->n_failures - 1) % FS_ERRORS_KEPT];
	return time_now() - last->time < TIME_SECOND &&
	       strcmp(last->path ? last->path : "", path ? path : "") == 0 &&
	       strcmp(last->text, err->text) == 0;
}

/* Keeps a failure for .refmt/errors; false if it is the last one again. */
static bool failure_keep(struct fs *fs, const char *path, const struct error *err)
{
	struct fs_failure *failure;

	if (failure_repeats(fs, path, err))
		return false;
	failure = &fs->failures[fs->n_failures++ % FS_ERRORS_KEPT];
	free(failure->path);
	failure->path = path ? strdup(path) : NULL;
	failure->time = time_now();
	failure->errnum = error_errno(err->kind);
	memcpy(failure->text, err->text, sizeof(failure->text));
	return true;
}

void fs_failed(struct fs *fs, const struct target *target, const struct error *err)
{
	CLEANUP(freep) char *path = target_path(target);
	bool is_new;

	atomic_fetch_add(&fs->errors, 1);
	pthread_mutex_lock(&fs->mutex);
	is_new = failure_keep(fs, path, err);
	pthread_mutex_unlock(&fs->mutex);
	if (is_new)
		log_event(LOG_WARNING, "read", "%s: %s", path ? path : "?", err->text);
}

void fs_failures(struct fs *fs, void (*each)(void *argument, const struct fs_failure *failure),
		 void *argument)
{
	size_t first;

	pthread_mutex_lock(&fs->mutex);
	first = fs->n_failures > FS_ERRORS_KEPT ? fs->n_failures - FS_ERRORS_KEPT : 0;
	for (size_t i = first; i < fs->n_failures; i++)
		each(argument, &fs->failures[i % FS_ERRORS_KEPT]);
	pthread_mutex_unlock(&fs->mutex);
}
