/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/pool.h"
#include "repo/budget.h"
#include "repo/changes.h"

#define FLUSH_THREADS 16
#define FLUSH_BUDGET (UINT64_C(512) << 20) /* bytes of manifests being made at once */
#define FLUSH_REF_BYTES 192		   /* rough need of one reference while it is made */
#define WORKERS_FROM_REFS 100000	   /* smaller manifests compress in no time */
/* Of zstd, where the configuration does not say: as small as with the default, in less time. */
#define MANIFEST_LEVEL 1

/* A reference of an old manifest that has to go into another one. */
struct scattered {
	uint64_t window;
	uint32_t position;
};
DEFINE_VEC(scattered_list, struct scattered);

/* An old manifest that does not lie in one window, or is hidden in part. */
struct scatter {
	uint32_t place;
	struct manifest_ref ref;
	struct scattered_list refs; /* sorted by window, then position */
};
DEFINE_VEC(scatter_list, struct scatter);

/* Which references of an old manifest a job takes. */
struct source {
	struct manifest_ref ref;
	const struct scattered *refs; /* NULL: all of them */
	size_t n;
};
DEFINE_VEC(source_list, struct source);

struct job {
	struct edit *edit;
	size_t flushed;	   /* number in the edit's list */
	size_t begin, end; /* changes */
	struct source_list sources;
	uint64_t estimate; /* bytes */
};
DEFINE_VEC(job_list, struct job);

/* Planning one array. */
struct planning {
	struct transaction *transaction;
	struct edit *edit;
	bool has_node;
	struct snapshot_node node; /* in the base */
	struct scatter_list scatters;
	struct job_list *jobs;
	uint64_t reused;
};

static void scatter_list_free(struct scatter_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		scattered_list_done(&list->items[i].refs);
	scatter_list_done(list);
}

static bool extents_overlap(const struct manifest_ref *a, const struct manifest_ref *b)
{
	for (uint32_t i = 0; i < a->n_extents && i < b->n_extents; i++) {
		if (a->extents[i].to <= b->extents[i].from ||
		    b->extents[i].to <= a->extents[i].from)
			return false;
	}
	return true;
}

static bool is_hidden_in_part(const struct snapshot_node *node, uint32_t place,
			      const struct manifest_ref *ref)
{
	for (uint32_t i = 0; i < place; i++) {
		struct manifest_ref earlier = node_manifest(node, i);

		if (extents_overlap(&earlier, ref))
			return true;
	}
	return false;
}

static bool is_below_limit(const struct edit *edit, const struct manifest_ref *ref)
{
	for (uint32_t i = 0; edit->limit && i < ref->n_extents; i++) {
		if (ref->extents[i].to > edit->limit[i])
			return false;
	}
	return true;
}

/* Is the base's reference still to be seen, and where?  -1 if not. */
static int planning_window(const struct planning *planning, uint32_t place,
			   const struct manifest_ref *ref, const uint32_t *index,
			   uint64_t *ret_window)
{
	const struct edit *edit = planning->edit;

	for (uint32_t i = 0; edit->limit && i < edit->n_dims; i++) {
		if (index[i] >= edit->limit[i])
			return -1;
	}
	if (!manifest_ref_holds(ref, index))
		return -1;
	for (uint32_t i = 0; i < place; i++) {
		struct manifest_ref earlier = node_manifest(&planning->node, i);

		if (manifest_ref_holds(&earlier, index))
			return -1;
	}
	return windows_find(&edit->windows, index, ret_window);
}

static int scattered_compare(const void *a, const void *b)
{
	const struct scattered *x = a, *y = b;

	if (x->window != y->window)
		return x->window < y->window ? -1 : 1;
	return x->position < y->position ? -1 : x->position > y->position;
}

static int rank_error(const struct edit *edit, struct error *err)
{
	return error_set(err, ERR_FORMAT, "a reference of '%s' has another number of dimensions",
			 edit->path);
}

/* Finds out to which windows the references of an old manifest belong now. */
static int scatter_fill(const struct planning *planning, struct scatter *scatter, struct error *err)
{
	CLEANUP(manifest_unpinp) struct manifest_pin *pin = NULL;
	struct manifest_array array;
	int r;

	r = checkout_pin(planning->transaction->base, &scatter->ref, &pin, err);
	if (r < 0)
		return r;
	manifest_find_array(manifest_pin_get(pin), &planning->node.id, &array);
	for (uint32_t i = 0; i < array.n_refs; i++) {
		struct scattered item = {.position = i};
		const uint32_t *index;
		uint32_t n_dims;

		r = manifest_index(manifest_pin_get(pin), &array, i, &index, &n_dims, err);
		if (r < 0)
			return r;
		if (n_dims != planning->edit->n_dims)
			return rank_error(planning->edit, err);
		if (planning_window(planning, scatter->place, &scatter->ref, index, &item.window) <
		    0)
			continue;
		r = scattered_list_push(&scatter->refs, item, err);
		if (r < 0)
			return r;
	}
	if (scatter->refs.n)
		qsort(scatter->refs.items, scatter->refs.n, sizeof(struct scattered),
		      scattered_compare);
	return 0;
}

static int planning_scatter(struct planning *planning, uint32_t place,
			    const struct manifest_ref *ref, struct error *err)
{
	struct scatter scatter = {.place = place, .ref = *ref};
	int r = scatter_list_push(&planning->scatters, scatter, err);

	if (r < 0)
		return r;
	return scatter_fill(planning, &planning->scatters.items[planning->scatters.n - 1], err);
}

/* The first change of a window that is not below @window; n if there is none. */
static size_t changes_from(const struct chunkset *chunks, uint64_t window)
{
	size_t begin = 0, end = chunks->n;

	while (begin < end) {
		size_t middle = begin + (end - begin) / 2;

		if (chunkset_at(chunks, middle)->window < window)
			begin = middle + 1;
		else
			end = middle;
	}
	return begin;
}

static bool window_has_changes(const struct chunkset *chunks, uint64_t window)
{
	size_t i = changes_from(chunks, window);

	return i < chunks->n && chunkset_at(chunks, i)->window == window;
}

static size_t scattered_from(const struct scattered_list *refs, size_t begin, uint64_t window)
{
	while (begin < refs->n && refs->items[begin].window == window)
		begin++;
	return begin;
}

/* The part of a scatter that lies in a window. */
static struct source scatter_part(const struct scatter *scatter, uint64_t window)
{
	const struct scattered_list *refs = &scatter->refs;
	size_t begin = 0, end = refs->n;

	while (begin < end) {
		size_t middle = begin + (end - begin) / 2;

		if (refs->items[middle].window < window)
			begin = middle + 1;
		else
			end = middle;
	}
	end = scattered_from(refs, begin, window);
	return (struct source){scatter->ref, refs->items ? refs->items + begin : NULL, end - begin};
}

static bool flushed_matches(const struct flushed *flushed, const struct job *job, uint64_t window)
{
	if (!flushed->is_done || flushed->window != window ||
	    flushed->has_changes != (job->begin != job->end) ||
	    flushed->n_sources != job->sources.n)
		return false;
	for (uint32_t i = 0; i < flushed->n_sources; i++) {
		if (!id12_equal(&flushed->sources[i], &job->sources.items[i].ref.id))
			return false;
	}
	return true;
}

static int flushed_new(struct edit *edit, const struct job *job, uint64_t window, struct error *err)
{
	struct flushed flushed = {
		.window = window,
		.has_changes = job->begin != job->end,
		.n_sources = (uint32_t)job->sources.n,
		.sources = calloc(job->sources.n + 1, sizeof(struct id12)),
		.extents = calloc(edit->n_dims + 1, sizeof(struct extent)),
	};
	int r = flushed.sources && flushed.extents ? flushed_list_push(&edit->flushed, flushed, err)
						   : error_memory(err);

	if (r < 0) {
		flushed_free(&flushed);
		return r;
	}
	for (size_t i = 0; i < job->sources.n; i++)
		flushed.sources[i] = job->sources.items[i].ref.id;
	return 0;
}

static uint64_t job_estimate(const struct planning *planning, const struct job *job)
{
	uint64_t n = job->end - job->begin;
	struct manifest_info info;

	for (size_t i = 0; i < job->sources.n; i++) {
		const struct source *source = &job->sources.items[i];

		if (snapshot_find_manifest(planning->transaction->base->snapshot, &source->ref.id,
					   &info) == 0)
			n += info.n_refs;
	}
	return n * FLUSH_REF_BYTES;
}

/* Adds a manifest that has to be made, unless it was made already; takes over the job's sources. */
static int planning_add_job(struct planning *planning, struct job *job, uint64_t window,
			    uint32_t place, struct error *err)
{
	struct edit *edit = planning->edit;
	struct planned planned = {.window = window, .place = place};
	int r;

	for (size_t i = 0; i < edit->flushed.n; i++) {
		if (flushed_matches(&edit->flushed.items[i], job, window)) {
			planned.flushed = i;
			planning->reused++;
			source_list_done(&job->sources);
			return plan_push(&edit->plan, planned, err);
		}
	}
	planned.flushed = job->flushed = edit->flushed.n;
	job->edit = edit;
	job->estimate = job_estimate(planning, job);
	r = flushed_new(edit, job, window, err);
	if (r == 0)
		r = plan_push(&edit->plan, planned, err);
	if (r == 0)
		r = job_list_push(planning->jobs, *job, err);
	if (r < 0)
		source_list_done(&job->sources);
	return r;
}

/* An old manifest that lies in one window whole: it stays where nothing changes. */
static int planning_keep(struct planning *planning, uint64_t window, uint32_t place,
			 const struct manifest_ref *ref, struct error *err)
{
	struct planned planned = {.window = window, .place = place, .is_kept = true, .ref = *ref};

	if (window_has_changes(&planning->edit->chunks, window))
		return 0;
	return plan_push(&planning->edit->plan, planned, err);
}

/* The parts of the scattered old manifests in windows where nothing changes. */
static int planning_add_parts(struct planning *planning, const struct scatter *scatter,
			      struct error *err)
{
	const struct scattered_list *refs = &scatter->refs;

	for (size_t i = 0; i < refs->n;) {
		uint64_t window = refs->items[i].window;
		struct source part = {scatter->ref, refs->items + i,
				      scattered_from(refs, i, window) - i};
		struct job job = {0};
		int r;

		i += part.n;
		if (window_has_changes(&planning->edit->chunks, window))
			continue;
		r = source_list_push(&job.sources, part, err);
		if (r == 0)
			r = planning_add_job(planning, &job, window, scatter->place, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Looks at each manifest of the base. */
static int planning_sort_base(struct planning *planning, struct error *err)
{
	const struct edit *edit = planning->edit;

	for (uint32_t i = 0; planning->has_node && i < planning->node.n_manifests; i++) {
		struct manifest_ref ref = node_manifest(&planning->node, i);
		uint64_t window;
		int r;

		if (windows_hold(&edit->windows, &ref, &window) && is_below_limit(edit, &ref) &&
		    !is_hidden_in_part(&planning->node, i, &ref))
			r = planning_keep(planning, window, i, &ref, err);
		else
			r = planning_scatter(planning, i, &ref, err);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < planning->scatters.n; i++) {
		int r = planning_add_parts(planning, &planning->scatters.items[i], err);

		if (r < 0)
			return r;
	}
	return 0;
}

/* The old manifests that go into a window with changes. */
static int planning_sources(const struct planning *planning, uint64_t window,
			    struct source_list *sources, struct error *err)
{
	size_t next_scatter = 0;

	for (uint32_t i = 0; planning->has_node && i < planning->node.n_manifests; i++) {
		struct source source = {.ref = node_manifest(&planning->node, i)};
		uint64_t in;
		int r;

		if (next_scatter < planning->scatters.n &&
		    planning->scatters.items[next_scatter].place == i) {
			source = scatter_part(&planning->scatters.items[next_scatter++], window);
			if (source.n == 0)
				continue;
		} else if (!windows_hold(&planning->edit->windows, &source.ref, &in) ||
			   in != window) {
			continue;
		}
		r = source_list_push(sources, source, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int planning_add_changes(struct planning *planning, struct error *err)
{
	const struct chunkset *chunks = &planning->edit->chunks;

	for (size_t i = 0; i < chunks->n;) {
		uint64_t window = chunkset_at(chunks, i)->window;
		struct job job = {.begin = i};
		int r;

		if (window == WINDOW_OUTSIDE)
			return 0;
		i = changes_from(chunks, window + 1);
		job.end = i;
		r = planning_sources(planning, window, &job.sources, err);
		if (r < 0)
			source_list_done(&job.sources);
		else
			r = planning_add_job(planning, &job, window, 0, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int planned_compare(const void *a, const void *b)
{
	const struct planned *x = a, *y = b;

	if (x->window != y->window)
		return x->window < y->window ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

/* Forgets manifests that were begun but not finished. */
static void edit_drop_unfinished(struct edit *edit)
{
	size_t kept = 0;

	for (size_t i = 0; i < edit->flushed.n; i++) {
		if (edit->flushed.items[i].is_done)
			edit->flushed.items[kept++] = edit->flushed.items[i];
		else
			flushed_free(&edit->flushed.items[i]);
	}
	edit->flushed.n = kept;
}

static int plan_edit(struct planning *planning, struct error *err)
{
	struct edit *edit = planning->edit;
	int r;

	edit_drop_unfinished(edit);
	edit->plan.n = 0;
	r = chunkset_settle(&edit->chunks, err);
	if (r == 0)
		r = planning_sort_base(planning, err);
	if (r == 0)
		r = planning_add_changes(planning, err);
	if (r == 0 && edit->plan.n)
		qsort(edit->plan.items, edit->plan.n, sizeof(struct planned), planned_compare);
	return r;
}

/* Where the references of a job come from, in the order of their indices. */
struct old_ref {
	const uint32_t *index;
	uint32_t source, position;
};

struct making {
	struct transaction *transaction;
	struct job *job;
	struct manifest_pin **pins;
	struct manifest_array *arrays;
	struct old_ref *sorted; /* of several sources; NULL for one */
	size_t n_old, next_old;
	bool streams;  /* one source, taken whole: */
	bool is_ahead; /* the stream's reference waits for its turn */
	struct manifest_iter stream;
};

static void making_done(struct making *making)
{
	for (size_t i = 0; making->pins && i < making->job->sources.n; i++)
		manifest_unpin(making->pins[i]);
	free(making->pins);
	free(making->arrays);
	free(making->sorted);
}

static int making_load(struct making *making, struct error *err)
{
	const struct source_list *sources = &making->job->sources;

	making->pins = calloc(sources->n + 1, sizeof(*making->pins));
	making->arrays = calloc(sources->n + 1, sizeof(*making->arrays));
	if (!making->pins || !making->arrays)
		return error_memory(err);
	for (size_t i = 0; i < sources->n; i++) {
		struct source *source = &sources->items[i];
		int r;

		r = checkout_pin(making->transaction->base, &source->ref, &making->pins[i], err);
		if (r < 0)
			return r;
		manifest_find_array(manifest_pin_get(making->pins[i]), &making->job->edit->id,
				    &making->arrays[i]);
		if (!source->refs)
			source->n = making->arrays[i].n_refs;
		making->n_old += source->n;
	}
	return 0;
}

static uint32_t source_position(const struct source *source, size_t i)
{
	return source->refs ? source->refs[i].position : (uint32_t)i;
}

static int making_index(const struct making *making, struct old_ref *old, struct error *err)
{
	uint32_t n_dims;
	int r = manifest_index(manifest_pin_get(making->pins[old->source]),
			       &making->arrays[old->source], old->position, &old->index, &n_dims,
			       err);

	if (r < 0)
		return r;
	return n_dims == making->job->edit->n_dims ? 0 : rank_error(making->job->edit, err);
}

static int old_ref_compare(const void *a, const void *b, void *argument)
{
	const struct old_ref *x = a, *y = b;

	return index_compare(x->index, y->index, *(const uint32_t *)argument);
}

static int making_sort(struct making *making, struct error *err)
{
	const struct source_list *sources = &making->job->sources;
	size_t at = 0;

	if (sources->n == 1 && !sources->items[0].refs) {
		making->streams = true;
		manifest_iter_init(&making->stream, manifest_pin_get(making->pins[0]),
				   &making->arrays[0], 0);
	}
	if (sources->n < 2)
		return 0;
	making->sorted = calloc(making->n_old + 1, sizeof(*making->sorted));
	if (!making->sorted)
		return error_memory(err);
	for (uint32_t s = 0; s < sources->n; s++) {
		for (size_t i = 0; i < sources->items[s].n; i++) {
			struct old_ref *old = &making->sorted[at++];
			int r;

			old->source = s;
			old->position = source_position(&sources->items[s], i);
			r = making_index(making, old, err);
			if (r < 0)
				return r;
		}
	}
	qsort_r(making->sorted, at, sizeof(*making->sorted), old_ref_compare,
		&making->job->edit->n_dims);
	return 0;
}

static int making_peek_stream(struct making *making, struct old_ref *ret_old, struct error *err)
{
	int r = making->is_ahead ? 0 : manifest_iter_next(&making->stream, err);

	if (r != 0)
		return r < 0 ? r : REPO_END;
	if (making->stream.ref.n_dims != making->job->edit->n_dims)
		return rank_error(making->job->edit, err);
	making->is_ahead = true;
	ret_old->index = making->stream.ref.index;
	return 0;
}

/* The old reference whose turn it is: 0, or REPO_END. */
static int making_peek(struct making *making, struct old_ref *ret_old, struct error *err)
{
	if (making->streams)
		return making_peek_stream(making, ret_old, err);
	if (making->next_old == making->n_old)
		return REPO_END;
	if (making->sorted) {
		*ret_old = making->sorted[making->next_old];
		return 0;
	}
	*ret_old = (struct old_ref){
		.position = source_position(&making->job->sources.items[0], making->next_old)};
	return making_index(making, ret_old, err);
}

static void making_pass(struct making *making)
{
	making->is_ahead = false;
	making->next_old++;
}

static int making_add_old(const struct making *making, const struct old_ref *old,
			  struct manifest_builder *builder, struct chunk_ref *ref,
			  struct error *err)
{
	int r;

	if (making->streams)
		return manifest_builder_add(builder, &making->stream.ref, err);
	r = manifest_ref(manifest_pin_get(making->pins[old->source]), &making->arrays[old->source],
			 old->position, ref, err);
	return r < 0 ? r : manifest_builder_add(builder, ref, err);
}

static int making_add_change(const struct making *making, const struct change *change,
			     struct manifest_builder *builder, struct chunk_ref *ref,
			     struct error *err)
{
	const struct strings *strings = &making->transaction->strings;

	if (change_kind(change) == CHANGE_DELETE)
		return 0;
	ref->n_dims = making->job->edit->n_dims;
	ref->index = change->index;
	ref->offset = change->offset;
	ref->length = change->length;
	ref->stored = (struct slice){0};
	switch (change_kind(change)) {
	case CHANGE_INLINE:
		ref->kind = CHUNK_INLINE;
		ref->data = strings_get(strings, change->text);
		break;
	case CHANGE_NATIVE:
		ref->kind = CHUNK_NATIVE;
		ref->chunk_id = change->chunk_id;
		break;
	default:
		ref->kind = CHUNK_VIRTUAL;
		ref->location = strings_get(strings, change->text);
		ref->etag = strings_get(strings, change->etag);
		ref->last_modified = change->last_modified;
		break;
	}
	return manifest_builder_add(builder, ref, err);
}

/* Old references and changes in one order; a change replaces the old reference of its chunk. */
static int making_merge(struct making *making, struct manifest_builder *builder, struct error *err)
{
	const struct job *job = making->job;
	size_t next = job->begin;
	struct chunk_ref ref;
	struct old_ref old;
	int r, order;

	for (;;) {
		const struct change *change =
			next < job->end ? chunkset_at(&job->edit->chunks, next) : NULL;

		r = making_peek(making, &old, err);
		if (r < 0)
			return r;
		if (r == REPO_END && !change)
			return 0;
		order = r == REPO_END ? 1
			: !change     ? -1
				      : index_compare(old.index, change->index, job->edit->n_dims);
		if (order < 0)
			r = making_add_old(making, &old, builder, &ref, err);
		else
			r = making_add_change(making, change, builder, &ref, err);
		if (r < 0)
			return r;
		if (order <= 0)
			making_pass(making);
		next += order >= 0;
	}
}

static int making_write(const struct making *making, struct manifest_builder *builder,
			struct flushed *flushed, struct error *err)
{
	struct repo *repo = making->transaction->repo;
	const struct config_values *values = config_values(making->transaction->config);
	struct envelope_options options = {
		.spec = (enum spec)repo->spec,
		.level = values->compression_level_is_set ? values->compression_level
							  : MANIFEST_LEVEL,
	};
	CLEANUP(buf_done) struct buf file = BUF_INIT(OBJECT_MAX);
	char key[KEY_MAX];
	int r;

	if (manifest_builder_n_refs(builder) >= WORKERS_FROM_REFS)
		options.workers = (unsigned int)sysconf(_SC_NPROCESSORS_ONLN) - 1;
	flushed->info.n_refs = (uint32_t)manifest_builder_n_refs(builder);
	/* A scalar has none. */
	if (making->job->edit->n_dims)
		memcpy(flushed->extents, manifest_builder_extents(builder),
		       making->job->edit->n_dims * sizeof(*flushed->extents));
	r = manifest_builder_seal(builder, &options, &file, err);
	if (r < 0)
		return r;
	flushed->info.size = file.size;
	key_format(key, "manifests", &flushed->info.id);
	return store_put(repo->store, key, buf_slice(&file), err);
}

static int making_run(struct making *making, struct flushed *flushed, struct error *err)
{
	struct manifest_options options = config_values(making->transaction->config)->locations;
	CLEANUP(manifest_builder_freep) struct manifest_builder *builder = NULL;
	int r;

	options.spec = (enum spec)making->transaction->repo->spec;
	r = id12_new(&flushed->info.id, err);
	if (r == 0)
		r = manifest_builder_new(&flushed->info.id, &options, &builder, err);
	if (r == 0 && making->streams &&
	    manifest_builder_adopt(builder, manifest_pin_get(making->pins[0])))
		manifest_iter_as_stored(&making->stream);
	if (r == 0)
		r = manifest_builder_array(builder, &making->job->edit->id,
					   making->job->edit->n_dims, err);
	if (r == 0)
		r = making_merge(making, builder, err);
	if (r < 0)
		return r;
	flushed->is_empty = manifest_builder_n_refs(builder) == 0;
	if (flushed->is_empty)
		return 0;
	return making_write(making, builder, flushed, err);
}

static int job_run(struct transaction *transaction, struct job *job, struct error *err)
{
	CLEANUP(making_done) struct making making = {.transaction = transaction, .job = job};
	struct flushed *flushed = &job->edit->flushed.items[job->flushed];
	int r;

	r = making_load(&making, err);
	if (r == 0)
		r = making_sort(&making, err);
	if (r == 0)
		r = making_run(&making, flushed, err);
	if (r < 0)
		return error_prefix(err, "cannot write the manifest of '%s'", job->edit->path);
	flushed->is_done = true;
	return 0;
}

struct running {
	struct transaction *transaction;
	struct job_list jobs;
	struct scatter_list *scatters; /* one list an edit */
	size_t n_scatters;
	struct budget budget;
};

static void running_done(struct running *running)
{
	for (size_t i = 0; i < running->jobs.n; i++)
		source_list_done(&running->jobs.items[i].sources);
	job_list_done(&running->jobs);
	for (size_t i = 0; i < running->n_scatters; i++)
		scatter_list_free(&running->scatters[i]);
	free(running->scatters);
	budget_done(&running->budget);
}

static int running_step(void *argument, size_t i, struct error *err)
{
	struct running *running = argument;
	struct job *job = &running->jobs.items[i];
	uint64_t taken = budget_take(&running->budget, job->estimate);
	int r = job_run(running->transaction, job, err);

	budget_give(&running->budget, taken);
	return r;
}

/* New arrays, and old ones whose chunks or document change, have their manifests planned anew. */
static bool edit_is_flushed(const struct edit *edit)
{
	return edit->is_array && edit->has_windows && edit_has_effect(edit);
}

static int running_plan(struct running *running, uint64_t *ret_reused, struct error *err)
{
	struct transaction *transaction = running->transaction;

	running->scatters = calloc(transaction->edits.n + 1, sizeof(*running->scatters));
	if (!running->scatters)
		return error_memory(err);
	for (size_t i = 0; i < transaction->edits.n; i++) {
		struct edit *edit = transaction->edits.items[i];
		struct planning planning = {
			.transaction = transaction, .edit = edit, .jobs = &running->jobs};
		struct place place;
		int r;

		if (!edit_is_flushed(edit))
			continue;
		if (transaction_find(transaction, slice_text(edit->path), &place) == 0) {
			planning.has_node = place.in_base;
			planning.node = place.node;
		}
		r = plan_edit(&planning, err);
		running->scatters[running->n_scatters++] = planning.scatters;
		if (r < 0)
			return r;
		*ret_reused += planning.reused;
	}
	return 0;
}

static unsigned int flush_threads(const struct transaction *transaction)
{
	const struct config_values *values = config_values(transaction->config);

	if (transaction->repo->options.concurrency)
		return transaction->repo->options.concurrency;
	if (values->manifest_fetches_is_set && values->manifest_fetches_during_commit)
		return values->manifest_fetches_during_commit;
	return FLUSH_THREADS;
}

int flush_is_needed(struct transaction *transaction, bool *ret_needed, struct error *err)
{
	CLEANUP(running_done) struct running running = {.transaction = transaction};
	uint64_t reused = 0;
	int r;

	budget_init(&running.budget, FLUSH_BUDGET);
	r = running_plan(&running, &reused, err);
	if (r == 0)
		*ret_needed = running.jobs.n > 0;
	return r;
}

int flush_manifests(struct flush *flush, struct error *err)
{
	CLEANUP(running_done) struct running running = {.transaction = flush->transaction};
	int r;

	budget_init(&running.budget, FLUSH_BUDGET);
	r = running_plan(&running, &flush->reused, err);
	if (r == 0)
		r = parallel_for(flush_threads(flush->transaction), running.jobs.n, running_step,
				 &running, err);
	for (size_t i = 0; i < running.jobs.n; i++) {
		const struct job *job = &running.jobs.items[i];
		const struct flushed *flushed = &job->edit->flushed.items[job->flushed];

		if (flushed->is_done && !flushed->is_empty) {
			flush->written++;
			flush->bytes += flushed->info.size;
		}
	}
	return r;
}
