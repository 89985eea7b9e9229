/* SPDX-License-Identifier: Apache-2.0 */
#include "fusefs/shown.h"

#include <stdlib.h>

#include "base/vec.h"

/* Beyond so many marks an array's chunks begin anew together. */
#define MARKS_MAX (UINT32_C(1) << 20)

/* Chunks that changed after the others of their array, sorted by index; shared by owners. */
struct marks {
	uint32_t owners; /* atomic */
	uint32_t n, n_dims;
	uint32_t items[]; /* @n times an index and its epoch */
};

/* Epochs of one folder and what is directly in it. */
struct track {
	uint32_t tree; /* of the folder with all that is below it */
	uint32_t document;
	uint32_t chunks; /* of those that have no mark */
	struct marks *marks;
};

struct shown {
	uint32_t owners; /* atomic */
	uint32_t epoch;
	struct view *view;
	int64_t *times;	      /* of each epoch so far */
	struct track *tracks; /* of each folder; NULL in epoch 0, where everything began */
};

/* ---- marks ---- */

static struct marks *marks_ref(struct marks *marks)
{
	if (marks)
		__atomic_add_fetch(&marks->owners, 1, __ATOMIC_RELAXED);
	return marks;
}

static void marks_free(struct marks *marks)
{
	if (marks && __atomic_sub_fetch(&marks->owners, 1, __ATOMIC_ACQ_REL) == 0)
		free(marks);
}

static int compare_index(const uint32_t *a, const uint32_t *b, uint32_t n_dims)
{
	for (uint32_t i = 0; i < n_dims; i++)
		if (a[i] != b[i])
			return a[i] < b[i] ? -1 : 1;
	return 0;
}

static bool marks_find(const struct marks *marks, const uint32_t *index, uint32_t *ret_epoch)
{
	uint32_t low = 0, high = marks ? marks->n : 0;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const uint32_t *item = marks->items + (size_t)middle * (marks->n_dims + 1);
		int order = compare_index(index, item, marks->n_dims);

		if (order == 0) {
			*ret_epoch = item[marks->n_dims];
			return true;
		}
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return false;
}

DEFINE_VEC(numbers, uint32_t);

/* Indexes that the logs name, one after the other, each followed by the epoch. */
struct gather {
	struct numbers numbers;
	uint32_t n_dims, epoch;
};

static int gather_chunk(void *argument, const uint32_t *index, uint32_t n_dims, struct error *err)
{
	struct gather *gather = argument;
	int r = 0;

	/* A log that does not fit the array tells nothing about it. */
	if (n_dims != gather->n_dims)
		return error_set(err, ERR_FORMAT, "index of %u numbers", n_dims);
	if (gather->numbers.n / (n_dims + 1) >= MARKS_MAX)
		return error_set(err, ERR_UNSUPPORTED, "more than %u chunks", MARKS_MAX);
	for (uint32_t i = 0; i < n_dims && r == 0; i++)
		r = numbers_push(&gather->numbers, index[i], err);
	if (r == 0)
		r = numbers_push(&gather->numbers, gather->epoch, err);
	return r;
}

static int compare_marks(const void *a, const void *b, void *argument)
{
	return compare_index(a, b, *(const uint32_t *)argument);
}

/* Appends one mark unless it repeats the last. */
static void marks_add(struct marks *marks, const uint32_t *item)
{
	uint32_t width = marks->n_dims + 1;

	if (marks->n &&
	    compare_index(marks->items + (size_t)(marks->n - 1) * width, item, marks->n_dims) == 0)
		return;
	memcpy(marks->items + (size_t)marks->n++ * width, item, width * sizeof(*item));
}

/* The old marks and those gathered, which win.  Sorts what was gathered. */
static struct marks *marks_merge(const struct marks *before, struct gather *gather)
{
	uint32_t width = gather->n_dims + 1;
	uint32_t n = (uint32_t)(gather->numbers.n / width), n_before = before ? before->n : 0;
	struct marks *marks;
	uint32_t i = 0, k = 0;

	marks = malloc(sizeof(*marks) + ((size_t)n + n_before) * width * sizeof(uint32_t));
	if (!marks)
		return NULL;
	*marks = (struct marks){.owners = 1, .n_dims = gather->n_dims};
	if (n)
		qsort_r(gather->numbers.items, n, width * sizeof(uint32_t), compare_marks,
			&gather->n_dims);
	while (i < n || k < n_before) {
		const uint32_t *new = gather->numbers.items + (size_t)i *width;
		const uint32_t *old = before ? before->items + (size_t)k * width : NULL;

		if (k == n_before || (i < n && compare_index(new, old, gather->n_dims) <= 0)) {
			marks_add(marks, new);
			i++;
		} else {
			marks_add(marks, old);
			k++;
		}
	}
	return marks;
}

/* ---- one epoch after the other ---- */

static int shown_alloc(struct view *view, uint32_t epoch, struct shown **ret_shown,
		       struct error *err)
{
	CLEANUP(shown_freep) struct shown *shown = calloc(1, sizeof(*shown));

	if (!shown)
		return error_memory(err);
	shown->owners = 1;
	shown->epoch = epoch;
	shown->view = view_ref(view);
	shown->times = calloc((size_t)epoch + 1, sizeof(*shown->times));
	if (!shown->times)
		return error_memory(err);
	shown->times[epoch] = checkout_flushed_at(view_checkout(view));
	*ret_shown = TAKE(shown);
	return 0;
}

int shown_new(struct view *view, struct shown **ret_shown, struct error *err)
{
	return shown_alloc(view, 0, ret_shown, err);
}

struct shown *shown_ref(struct shown *shown)
{
	__atomic_add_fetch(&shown->owners, 1, __ATOMIC_RELAXED);
	return shown;
}

struct shown *shown_free(struct shown *shown)
{
	if (!shown || __atomic_sub_fetch(&shown->owners, 1, __ATOMIC_ACQ_REL) > 0)
		return NULL;
	for (uint32_t i = 0; shown->tracks && i < view_n_folders(shown->view); i++)
		marks_free(shown->tracks[i].marks);
	free(shown->tracks);
	free(shown->times);
	view_free(shown->view);
	free(shown);
	return NULL;
}

static struct track track_of(const struct shown *shown, uint32_t folder)
{
	return shown->tracks ? shown->tracks[folder] : (struct track){0};
}

/* What becomes of the chunks of an array whose manifests or document changed. */
static int track_chunks(const struct shown *before, uint32_t old_folder, struct shown *shown,
			uint32_t folder, const struct node *node, const struct touched *touched,
			struct error *err)
{
	struct gather gather = {.n_dims = node->n_dims, .epoch = shown->epoch};
	struct track old = track_of(before, old_folder);
	struct track *track = &shown->tracks[folder];
	int r = ERR_UNSUPPORTED;

	if (touched && view_chunks_alike(before->view, old_folder, shown->view, folder))
		r = touched_each(touched, &node->id, gather_chunk, &gather, NULL);
	if (r == 0) {
		track->chunks = old.chunks;
		track->marks = marks_merge(old.marks, &gather);
		if (!track->marks)
			r = ERR_MEMORY;
	}
	if (r == 0 && track->marks->n > MARKS_MAX) {
		marks_free(track->marks);
		track->marks = NULL;
		r = ERR_UNSUPPORTED;
	}
	if (r < 0)
		track->chunks = shown->epoch;
	numbers_done(&gather.numbers);
	return r == ERR_MEMORY ? error_memory(err) : 0;
}

/* Epochs of folder @folder, but for what is below it. */
static int track_folder(const struct shown *before, struct shown *shown, uint32_t folder,
			const struct touched *touched, struct error *err)
{
	struct view_file here = {.folder = folder}, there = {0};
	struct track *track = &shown->tracks[folder];
	struct node node = {0}, old_node = {0};
	bool stored, old_stored;
	struct track old;

	*track = (struct track){shown->epoch, shown->epoch, shown->epoch, NULL};
	if (view_find(before->view, view_path(shown->view, folder), &there.folder) != 0)
		return 0;
	stored = view_node(shown->view, folder, &node);
	old_stored = view_node(before->view, there.folder, &old_node);
	if (stored != old_stored ||
	    (stored && (memcmp(&node.id, &old_node.id, sizeof(node.id)) != 0 ||
			node.is_array != old_node.is_array)))
		return 0;
	old = track_of(before, there.folder);
	if (!stored || slice_equal(node.document, old_node.document))
		track->document = old.document;
	if (!stored || !node.is_array) {
		if (track->document != shown->epoch)
			track->tree = old.tree;
		return 0;
	}
	if (view_epoch(shown->view, &here) == view_epoch(before->view, &there)) {
		track->tree = old.tree;
		track->chunks = old.chunks;
		track->marks = marks_ref(old.marks);
		return 0;
	}
	return track_chunks(before, there.folder, shown, folder, &node, touched, err);
}

static uint32_t *count_children(const struct view *view)
{
	uint32_t n = view_n_folders(view);
	uint32_t *counts = calloc(n, sizeof(*counts));

	for (uint32_t i = 1; counts && i < n; i++)
		counts[view_folder_parent(view, i)]++;
	return counts;
}

/*
 * A folder is new if something below it is, or is gone.  What is gone shows in the number of
 * children: those that are here have been compared by name.
 */
static int tracks_join(const struct shown *before, struct shown *shown, struct error *err)
{
	CLEANUP(freep) uint32_t *counts = count_children(shown->view);
	CLEANUP(freep) uint32_t *old_counts = count_children(before->view);
	uint32_t n = view_n_folders(shown->view);

	if (!counts || !old_counts)
		return error_memory(err);
	for (uint32_t i = n; i-- > 0;) {
		struct track *track = &shown->tracks[i];
		uint32_t old;

		if (view_find(before->view, view_path(shown->view, i), &old) == 0 &&
		    counts[i] != old_counts[old])
			track->tree = shown->epoch;
		/* Those below are behind, so they are done. */
		if (i > 0 && track->tree == shown->epoch)
			shown->tracks[view_folder_parent(shown->view, i)].tree = shown->epoch;
	}
	return 0;
}

int shown_next(const struct shown *before, struct view *view, const struct touched *touched,
	       struct shown **ret_shown, struct error *err)
{
	CLEANUP(shown_freep) struct shown *shown = NULL;
	uint32_t n = view_n_folders(view);
	int r;

	r = shown_alloc(view, before->epoch + 1, &shown, err);
	if (r < 0)
		return r;
	memcpy(shown->times, before->times, shown->epoch * sizeof(*shown->times));
	shown->tracks = calloc(n, sizeof(*shown->tracks));
	if (!shown->tracks)
		return error_memory(err);
	for (uint32_t i = 0; i < n && r == 0; i++)
		r = track_folder(before, shown, i, touched, err);
	if (r == 0)
		r = tracks_join(before, shown, err);
	if (r < 0)
		return r;
	*ret_shown = TAKE(shown);
	return 0;
}

/* ---- asking ---- */

struct view *shown_view(const struct shown *shown)
{
	return shown->view;
}

uint32_t shown_epoch(const struct shown *shown, const struct view_file *file)
{
	const struct track track = track_of(shown, file->folder);
	uint32_t epoch;

	switch (file->kind) {
	case VIEW_DOCUMENT:
		return track.document;
	case VIEW_CHUNK:
		return marks_find(track.marks, file->index, &epoch) ? epoch : track.chunks;
	default:
		return track.tree;
	}
}

int64_t shown_since(const struct shown *shown, uint32_t epoch)
{
	return shown->times[epoch <= shown->epoch ? epoch : shown->epoch];
}

void shown_changed_names(const struct shown *shown, const struct shown *before,
			 void (*each)(void *argument, const char *name), void *argument)
{
	char name[VIEW_NAME_MAX + 1];
	uint32_t other;

	each(argument, "zarr.json");
	each(argument, "c");
	for (uint32_t i = 1; i < view_n_folders(shown->view); i++) {
		struct view_file file = {.kind = VIEW_FOLDER, .folder = i};

		if (view_folder_parent(shown->view, i) != 0 ||
		    track_of(shown, i).tree != shown->epoch)
			continue;
		view_name(shown->view, &file, name);
		each(argument, name);
	}
	for (uint32_t i = 1; i < view_n_folders(before->view); i++) {
		struct view_file file = {.kind = VIEW_FOLDER, .folder = i};

		if (view_folder_parent(before->view, i) != 0 ||
		    view_find(shown->view, view_path(before->view, i), &other) == 0)
			continue;
		view_name(before->view, &file, name);
		each(argument, name);
	}
}
