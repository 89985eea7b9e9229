/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/resolve.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "base/time.h"
#include "writer/window.h"

#define NONE UINT32_MAX
#define REPORT_MAX (1U << 16)

/* A cell that a file is expected to fill. */
struct target {
	uint32_t variable, level;
	bool is_meaningless; /* in the file, but no data */
};

/* A spelling of a message, and the targets that it serves. */
struct spelling {
	uint64_t hash;
	struct slice element, level, time;
	uint32_t first; /* use, or NONE for a free slot */
};

/* One message may serve several targets: at lead 1 h a run total is the hourly amount, too. */
struct use {
	uint32_t target;
	uint32_t next; /* use, or NONE */
};

DEFINE_VEC(use_list, struct use);
DEFINE_VEC(target_list, struct target);

/* All that files of one type, lead and era can hold. */
struct lookup {
	uint32_t type, segment;
	int64_t lead;
	struct arena arena;
	struct target_list targets;
	struct use_list uses;
	struct spelling *table;
	size_t mask, n_spellings;
	struct lookup *next;
};

struct resolver {
	const struct dataset *dataset;
	const struct selection *selection;
	int64_t *boundaries; /* of the eras of all variables, sorted */
	size_t n_boundaries;
	pthread_mutex_t mutex; /* protects @lookups */
	struct lookup *lookups;
};

const char *outcome_name(enum outcome outcome)
{
	static const char *const names[] = {
		[OUTCOME_NONE] = "none",
		[OUTCOME_NOT_PUBLISHED] = "not_published",
		[OUTCOME_STALE_INDEX] = "stale_index",
		[OUTCOME_OTHER_RUN] = "other_run",
		[OUTCOME_SHORT] = "short",
		[OUTCOME_PROBE_MISSING] = "probe_missing",
		[OUTCOME_DUPLICATE] = "duplicate",
		[OUTCOME_NOT_IN_FILE] = "not_in_file",
		[OUTCOME_NOT_MEANINGFUL] = "not_meaningful",
		[OUTCOME_ERROR] = "error",
	};

	return names[outcome];
}

void file_refs_done(struct file_refs *refs)
{
	file_ref_list_done(&refs->refs);
	buf_done(&refs->missing);
	buf_done(&refs->meaningless);
}

static uint64_t mix(uint64_t hash, struct slice text)
{
	size_t i = 0;

	for (; i + 8 <= text.size; i += 8) {
		uint64_t word;

		memcpy(&word, text.data + i, 8);
		hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
		hash ^= hash >> 32;
	}
	for (; i < text.size; i++)
		hash = (hash ^ text.data[i]) * UINT64_C(0x100000001b3);
	/* The length keeps "ab","c" and "a","bc" apart. */
	hash = (hash ^ text.size) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 29;
}

static uint64_t hash_of(struct slice element, struct slice level, struct slice time)
{
	return mix(mix(mix(0, element), level), time);
}

static struct spelling *find(const struct lookup *lookup, uint64_t hash, struct slice element,
			     struct slice level, struct slice time)
{
	size_t i = hash & lookup->mask;

	for (;; i = (i + 1) & lookup->mask) {
		struct spelling *spelling = &lookup->table[i];

		if (spelling->first == NONE ||
		    (spelling->hash == hash && slice_equal(spelling->element, element) &&
		     slice_equal(spelling->level, level) && slice_equal(spelling->time, time)))
			return spelling;
	}
}

static int grow(struct lookup *lookup, struct error *err)
{
	size_t n = lookup->mask ? (lookup->mask + 1) * 2 : 512;
	struct spelling *old = lookup->table, *table = malloc(n * sizeof(*table));
	size_t n_old = lookup->mask ? lookup->mask + 1 : 0;

	if (!table)
		return error_memory(err);
	for (size_t i = 0; i < n; i++)
		table[i].first = NONE;
	lookup->table = table;
	lookup->mask = n - 1;
	for (size_t i = 0; i < n_old; i++)
		if (old[i].first != NONE)
			*find(lookup, old[i].hash, old[i].element, old[i].level, old[i].time) =
				old[i];
	free(old);
	return 0;
}

static int keep(struct lookup *lookup, struct slice *text, struct error *err)
{
	char *copy = arena_dup(&lookup->arena, *text, err);

	if (!copy)
		return ERR_MEMORY;
	text->data = (const uint8_t *)copy;
	return 0;
}

/* Adds @target to the targets of a spelling, behind those that are there. */
static int add_use(struct lookup *lookup, struct spelling *spelling, uint32_t target,
		   struct error *err)
{
	uint32_t use = (uint32_t)lookup->uses.n, at = spelling->first;
	int r = use_list_push(&lookup->uses, (struct use){target, NONE}, err);

	if (r < 0)
		return r;
	if (at == NONE) {
		spelling->first = use;
		return 0;
	}
	for (;; at = lookup->uses.items[at].next) {
		/* Two spellings of one variable can come to the same text. */
		if (lookup->uses.items[at].target == target)
			return 0;
		if (lookup->uses.items[at].next == NONE)
			break;
	}
	lookup->uses.items[at].next = use;
	return 0;
}

static int add_spelling(struct lookup *lookup, struct slice element, struct slice level,
			struct slice time, uint32_t target, struct error *err)
{
	uint64_t hash = hash_of(element, level, time);
	struct spelling *spelling;
	int r = 0;

	if (lookup->n_spellings * 2 >= lookup->mask)
		r = grow(lookup, err);
	if (r < 0)
		return r;
	spelling = find(lookup, hash, element, level, time);
	if (spelling->first == NONE) {
		struct spelling made = {.hash = hash,
					.element = element,
					.level = level,
					.time = time,
					.first = NONE};

		r = keep(lookup, &made.element, err);
		if (r == 0)
			r = keep(lookup, &made.level, err);
		if (r == 0)
			r = keep(lookup, &made.time, err);
		if (r < 0)
			return r;
		*spelling = made;
		lookup->n_spellings++;
	}
	return add_use(lookup, spelling, target, err);
}

/* Appends @text with "{level}" replaced by the level's number. */
static int write_level(const char *text, const double *level, struct buf *out, struct error *err)
{
	const char *field = level ? strstr(text, "{level}") : NULL;
	int r;

	if (!field)
		return buf_append_text(out, text, err);
	r = buf_append(out, text, (size_t)(field - text), err);
	if (r == 0)
		r = pattern_level(*level, out, err);
	return r < 0 ? r : buf_append_text(out, field + strlen("{level}"), err);
}

/* All combinations of the element's, the level's and the time's spellings. */
static int add_target(struct lookup *lookup, const struct dataset_match *match,
		      const struct text_list *times, const double *level, uint32_t target,
		      struct error *err)
{
	CLEANUP(buf_done) struct buf level_text = BUF_INIT(4096);
	CLEANUP(buf_done) struct buf time_text = BUF_INIT(4096);
	int r = 0;

	for (size_t e = 0; e < match->elements.n; e++) {
		for (size_t l = 0; l < match->levels.n; l++) {
			for (size_t t = 0; t < times->n && r == 0; t++) {
				buf_clear(&level_text);
				buf_clear(&time_text);
				r = write_level(match->levels.items[l], level, &level_text, err);
				if (r == 0)
					r = write_level(times->items[t], level, &time_text, err);
				if (r == 0)
					r = add_spelling(lookup,
							 slice_text(match->elements.items[e]),
							 buf_slice(&level_text),
							 buf_slice(&time_text), target, err);
			}
		}
	}
	return r;
}

static bool is_file_dim(const struct dataset *dataset, int dim)
{
	for (uint32_t i = 0; i < dataset->files.n_dims; i++)
		if ((int)dataset->files.dims[i] == dim)
			return true;
	return false;
}

static int add_variable(const struct dataset *dataset, const struct source_file *file, uint32_t v,
			struct lookup *lookup, struct error *err)
{
	const struct dataset_variable *variable = &dataset->variables[v];
	const struct variable_era *era = variable_era(variable, file->label);
	int level_dim = dataset->groups[variable->group].level;
	bool has_levels = level_dim >= 0 && !is_file_dim(dataset, level_dim);
	const struct dataset_dim *dim = level_dim >= 0 ? &dataset->dims[level_dim] : NULL;
	uint64_t n = has_levels ? dim->size : 1;
	char window[WINDOW_TEXT_MAX] = "";
	const char *window_item = window;
	struct text_list times = era->match.times;
	int r = 0;

	if (times.n == 0) {
		times = (struct text_list){&window_item, 1};
		if (dataset->files.kind != SOURCE_ECMWF_INDEX)
			r = window_text(variable->step, variable->reset, file->lead, window, err);
		if (r < 0)
			return error_prefix(err, "variable '%s'", variable->path);
	}
	for (uint64_t l = 0; l < n && r == 0; l++) {
		const double *label = !dim	   ? NULL
				      : has_levels ? &dim->labels[l]
						   : &dim->labels[file->labels[level_dim]];
		struct target target = {
			.variable = v,
			.level = has_levels ? (uint32_t)l : NO_LEVEL,
			.is_meaningless = era->no_reference_at_lead_0 && file->lead == 0,
		};

		r = target_list_push(&lookup->targets, target, err);
		if (r == 0)
			r = add_target(lookup, &era->match, &times, label,
				       (uint32_t)lookup->targets.n - 1, err);
	}
	return r;
}

static struct lookup *lookup_free(struct lookup *lookup)
{
	arena_done(&lookup->arena);
	target_list_done(&lookup->targets);
	use_list_done(&lookup->uses);
	free(lookup->table);
	free(lookup);
	return NULL;
}
DEFINE_CLEANUP(struct lookup *, lookup_free)

static uint32_t segment_of(const struct resolver *resolver, int64_t label)
{
	uint32_t segment = 0;

	while (segment < resolver->n_boundaries && label >= resolver->boundaries[segment])
		segment++;
	return segment;
}

static int make_lookup(const struct resolver *resolver, const struct source_file *file,
		       struct lookup **ret_lookup, struct error *err)
{
	CLEANUP(lookup_freep) struct lookup *lookup = calloc(1, sizeof(*lookup));
	int r;

	if (!lookup)
		return error_memory(err);
	lookup->type = file->type;
	lookup->lead = file->lead;
	lookup->segment = segment_of(resolver, file->label);
	r = grow(lookup, err);
	for (uint32_t v = 0; v < resolver->dataset->n_variables && r == 0; v++)
		if (resolver->selection->variables[v] &&
		    source_file_holds(resolver->dataset, file, v))
			r = add_variable(resolver->dataset, file, v, lookup, err);
	if (r < 0)
		return r;
	*ret_lookup = TAKE(lookup);
	return 0;
}

static struct lookup *search(const struct resolver *resolver, const struct source_file *file)
{
	uint32_t segment = segment_of(resolver, file->label);

	for (struct lookup *at = resolver->lookups; at; at = at->next)
		if (at->type == file->type && at->lead == file->lead && at->segment == segment)
			return at;
	return NULL;
}

/* The lookup of a file's kind; level dimensions that files have labels of change it, too. */
static int find_lookup(struct resolver *resolver, const struct source_file *file,
		       struct lookup **ret_lookup, struct error *err)
{
	struct lookup *lookup;
	int r = 0;

	pthread_mutex_lock(&resolver->mutex);
	lookup = search(resolver, file);
	if (!lookup) {
		r = make_lookup(resolver, file, &lookup, err);
		if (r == 0) {
			lookup->next = resolver->lookups;
			resolver->lookups = lookup;
		}
	}
	pthread_mutex_unlock(&resolver->mutex);
	if (r == 0)
		*ret_lookup = lookup;
	return r;
}

static int by_time(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

int resolver_new(const struct dataset *dataset, const struct selection *selection,
		 struct resolver **ret_resolver, struct error *err)
{
	CLEANUP(resolver_freep) struct resolver *resolver = calloc(1, sizeof(*resolver));
	size_t n = 0;

	if (!resolver)
		return error_memory(err);
	pthread_mutex_init(&resolver->mutex, NULL);
	resolver->dataset = dataset;
	resolver->selection = selection;
	for (uint32_t v = 0; v < dataset->n_variables; v++)
		n += dataset->variables[v].n_eras;
	resolver->boundaries = calloc(n, sizeof(*resolver->boundaries));
	if (!resolver->boundaries)
		return error_memory(err);
	for (uint32_t v = 0; v < dataset->n_variables; v++)
		for (size_t e = 1; e < dataset->variables[v].n_eras; e++)
			resolver->boundaries[resolver->n_boundaries++] =
				dataset->variables[v].eras[e].from;
	qsort(resolver->boundaries, resolver->n_boundaries, sizeof(*resolver->boundaries), by_time);
	*ret_resolver = TAKE(resolver);
	return 0;
}

struct resolver *resolver_free(struct resolver *resolver)
{
	if (!resolver)
		return NULL;
	while (resolver->lookups) {
		struct lookup *next = resolver->lookups->next;

		lookup_free(resolver->lookups);
		resolver->lookups = next;
	}
	pthread_mutex_destroy(&resolver->mutex);
	free(resolver->boundaries);
	free(resolver);
	return NULL;
}

/* The texts that may follow the time in the file's index; none stands for the empty one. */
struct extras {
	struct text_list allowed;
};

static void extras_done(struct extras *extras)
{
	for (size_t i = 0; i < extras->allowed.n; i++)
		free((char *)extras->allowed.items[i]);
	free(extras->allowed.items);
}

static int expand_extras(const struct dataset *dataset, const struct source_file *file,
			 struct extras *extras, struct error *err)
{
	struct pattern_values values = {.label = file->label,
					.init = file->init,
					.lead = file->lead,
					.type = dataset->files.types[file->type].text,
					.labels = file->labels,
					.url = file->url};

	extras->allowed.items = calloc(dataset->files.n_extras + 1, sizeof(char *));
	if (!extras->allowed.items)
		return error_memory(err);
	for (size_t i = 0; i < dataset->files.n_extras; i++) {
		CLEANUP(buf_done) struct buf text = BUF_INIT(4096);
		int r = pattern_expand(&dataset->files.extras[i], &values, &text, err);

		if (r < 0)
			return r;
		extras->allowed.items[i] = slice_dup(buf_slice(&text), err);
		if (!extras->allowed.items[i])
			return ERR_MEMORY;
		extras->allowed.n++;
	}
	return 0;
}

static bool extra_fits(const struct extras *extras, struct slice extra)
{
	if (extras->allowed.n == 0)
		return extra.size == 0;
	for (size_t i = 0; i < extras->allowed.n; i++)
		if (slice_is(extra, extras->allowed.items[i]))
			return true;
	return false;
}

/* State of resolving one file. */
struct matching {
	const struct dataset *dataset;
	const struct lookup *lookup;
	struct file_refs *refs;
	uint32_t *ref_of; /* place among the refs of each target, or NONE */
	bool *seen;	  /* targets whose message is there, with or without a reference */
};

static int take(struct matching *matching, const struct index_row *row, uint32_t target,
		struct error *err)
{
	const struct target *wanted = &matching->lookup->targets.items[target];
	struct file_ref ref = {wanted->variable, wanted->level, row->offset, row->length};
	uint32_t *place = &matching->ref_of[target];

	matching->seen[target] = true;
	if (wanted->is_meaningless)
		return 0;
	if (*place != NONE) {
		struct file_ref *old = &matching->refs->refs.items[*place];

		matching->refs->n_duplicates++;
		if (row->offset < old->offset)
			return 0;
		/* What moves to its later place in the index is removed from the earlier one below.
		 */
		old->length = 0;
	}
	*place = (uint32_t)matching->refs->refs.n;
	return file_ref_list_push(&matching->refs->refs, ref, err);
}

static int match_row(struct matching *matching, const struct extras *extras,
		     const struct index_row *row, struct error *err)
{
	const struct lookup *lookup = matching->lookup;
	uint64_t hash = hash_of(row->element, row->level, row->time);
	const struct spelling *spelling = find(lookup, hash, row->element, row->level, row->time);
	int r = 0;

	if (spelling->first == NONE || !extra_fits(extras, row->extra))
		return 0;
	/* The decoder returns the first field only: a reference to a later one would lie. */
	if (row->is_later_field) {
		matching->refs->n_later_fields++;
		return 0;
	}
	if (row->length == 0)
		return 0;
	for (uint32_t at = spelling->first; at != NONE && r == 0; at = lookup->uses.items[at].next)
		r = take(matching, row, lookup->uses.items[at].target, err);
	return r;
}

static void drop_superseded(struct file_ref_list *refs)
{
	size_t kept = 0;

	for (size_t i = 0; i < refs->n; i++)
		if (refs->items[i].length > 0)
			refs->items[kept++] = refs->items[i];
	refs->n = kept;
}

static bool is_known_missing(const struct dataset *dataset, const struct source_file *file,
			     uint32_t variable)
{
	for (size_t i = 0; i < dataset->n_known_missing; i++) {
		const struct known_missing *known = &dataset->known_missing[i];

		for (size_t k = 0; k < known->n_variables; k++)
			if (known->variables[k] == variable && strcmp(known->url, file->url) == 0)
				return true;
	}
	return false;
}

static int write_record(const struct dataset *dataset, const struct target *target, struct buf *out,
			struct error *err)
{
	const struct dataset_variable *variable = &dataset->variables[target->variable];
	int r = buf_printf(out, err, "%s%s", out->size ? "," : "", variable->path);

	if (r < 0 || target->level == NO_LEVEL)
		return r;
	r = buf_append_text(out, "[", err);
	if (r == 0)
		r = pattern_level(
			dataset->dims[dataset->groups[variable->group].level].labels[target->level],
			out, err);
	return r < 0 ? r : buf_append_text(out, "]", err);
}

static int list_missing(const struct matching *matching, const struct source_file *file,
			struct error *err)
{
	const struct target_list *targets = &matching->lookup->targets;
	struct file_refs *refs = matching->refs;
	int r = 0;

	for (size_t t = 0; t < targets->n && r == 0; t++) {
		const struct target *target = &targets->items[t];

		if (target->is_meaningless)
			r = write_record(matching->dataset, target, &refs->meaningless, err);
		else if (!matching->seen[t] &&
			 !is_known_missing(matching->dataset, file, target->variable)) {
			refs->n_missing++;
			r = write_record(matching->dataset, target, &refs->missing, err);
		}
	}
	return r;
}

static bool has_probe(const struct resolver *resolver, const struct source_file *file,
		      const struct file_refs *refs, int *ret_probe)
{
	*ret_probe = source_file_probe(resolver->dataset, resolver->selection, file);
	for (size_t i = 0; i < refs->refs.n; i++) {
		const struct file_ref *ref = &refs->refs.items[i];

		if ((int)ref->variable == *ret_probe && (ref->level == NO_LEVEL || ref->level == 0))
			return true;
	}
	return false;
}

/* Is what was found enough to commit the file? */
static void judge(const struct resolver *resolver, const struct source_file *file,
		  const struct lookup *lookup, struct file_refs *refs)
{
	int probe;

	if (dataset_era(resolver->dataset, file->label)->completeness == COMPLETE_REQUIRED &&
	    refs->n_missing > 0) {
		refs->outcome = OUTCOME_SHORT;
		snprintf(refs->detail, sizeof(refs->detail),
			 "%llu of %zu records are missing: %.*s",
			 (unsigned long long)refs->n_missing, lookup->targets.n,
			 (int)(refs->missing.size < 160 ? refs->missing.size : 160),
			 (const char *)refs->missing.data);
		return;
	}
	if (!has_probe(resolver, file, refs, &probe)) {
		refs->outcome = OUTCOME_PROBE_MISSING;
		snprintf(refs->detail, sizeof(refs->detail),
			 "'%s' is not in the index, %zu of %zu records are",
			 probe >= 0 ? resolver->dataset->variables[probe].path : "any variable",
			 refs->refs.n, lookup->targets.n);
	}
}

static void init_refs(struct file_refs *refs)
{
	*refs = (struct file_refs){.missing = BUF_INIT(REPORT_MAX),
				   .meaningless = BUF_INIT(REPORT_MAX)};
}

static int match_rows(struct resolver *resolver, const struct source_file *file,
		      const struct index_rows *rows, struct file_refs *refs, struct error *err)
{
	CLEANUP(extras_done) struct extras extras = {0};
	CLEANUP(freep) uint32_t *ref_of = NULL;
	CLEANUP(freep) bool *seen = NULL;
	struct matching matching = {.dataset = resolver->dataset, .refs = refs};
	struct lookup *lookup = NULL;
	int r = find_lookup(resolver, file, &lookup, err);

	if (r == 0)
		r = expand_extras(resolver->dataset, file, &extras, err);
	if (r < 0)
		return r;
	ref_of = malloc((lookup->targets.n + 1) * sizeof(*ref_of));
	seen = calloc(lookup->targets.n + 1, sizeof(*seen));
	if (!ref_of || !seen)
		return error_memory(err);
	for (size_t t = 0; t < lookup->targets.n; t++)
		ref_of[t] = NONE;
	matching.lookup = lookup;
	matching.ref_of = ref_of;
	matching.seen = seen;
	for (size_t i = 0; i < rows->n && r == 0; i++)
		r = match_row(&matching, &extras, &rows->items[i], err);
	if (r < 0)
		return r;
	drop_superseded(&refs->refs);
	r = list_missing(&matching, file, err);
	if (r == 0)
		judge(resolver, file, lookup, refs);
	return r;
}

int resolver_rows(struct resolver *resolver, const struct source_file *file,
		  const struct index_rows *rows, const struct index_facts *facts,
		  struct file_refs *ret_refs, struct error *err)
{
	bool is_ecmwf = resolver->dataset->files.kind == SOURCE_ECMWF_INDEX;
	struct file_refs refs;
	int r = 0;

	init_refs(&refs);
	for (size_t i = 0; i < rows->n; i++) {
		if (i > 0 && rows->items[i].offset <= refs.last_offset)
			continue;
		refs.last_offset = rows->items[i].offset;
		refs.last_length = rows->items[i].length;
	}
	/* One index of NOAA is of one run; ECMWF's producers also put several into one. */
	if (facts->n_other_run > 0 && (!is_ecmwf || rows->n == 0)) {
		refs.outcome = OUTCOME_OTHER_RUN;
		snprintf(refs.detail, sizeof(refs.detail), "the index is of %s", facts->other_run);
	} else {
		r = match_rows(resolver, file, rows, &refs, err);
	}
	if (r < 0) {
		file_refs_done(&refs);
		return r;
	}
	*ret_refs = refs;
	return 0;
}

struct index_run resolver_run(const struct resolver *resolver, const struct source_file *file,
			      char step[32])
{
	const struct dataset_files *files = &resolver->dataset->files;
	struct index_run run = {.has_reference_time = true, .reference_time = file->init};

	if (files->kind != SOURCE_ECMWF_INDEX)
		return run;
	snprintf(step, 32, "%lld", (long long)(file->lead / TIME_HOUR));
	run.step = slice_text(step);
	if (files->class)
		run.class = slice_text(files->class);
	if (files->stream)
		run.stream = slice_text(files->stream);
	if (files->type)
		run.type = slice_text(files->type);
	if (files->expver)
		run.expver = slice_text(files->expver);
	return run;
}

/* Last component of a URL: what messages call the index. */
static const char *base_name(const char *url)
{
	const char *slash = strrchr(url, '/');

	return slash ? slash + 1 : url;
}

int resolver_index(struct resolver *resolver, const struct source_file *file, struct slice text,
		   struct file_refs *ret_refs, struct error *err)
{
	CLEANUP(index_rows_done) struct index_rows rows = {0};
	const char *name = base_name(file->index_url);
	struct index_facts facts;
	struct error cause = ERROR_INIT;
	char step[32];
	struct index_run run = resolver_run(resolver, file, step);
	int r = resolver->dataset->files.kind == SOURCE_ECMWF_INDEX
			? ecmwf_index_parse(name, text, file->size, &run, &rows, &facts, &cause)
			: noaa_index_parse(name, text, file->size, &run, &rows, &facts, &cause);

	/* Claims that cannot be true are the index's fault, not ours. */
	if (r == ERR_FORMAT) {
		init_refs(ret_refs);
		ret_refs->outcome = OUTCOME_STALE_INDEX;
		snprintf(ret_refs->detail, sizeof(ret_refs->detail), "%.255s", cause.text);
		return 0;
	}
	if (r < 0)
		return error_set(err, r, "%s", cause.text);
	return resolver_rows(resolver, file, &rows, &facts, ret_refs, err);
}

int resolver_whole(struct resolver *resolver, const struct source_file *file,
		   struct file_refs *ret_refs, struct error *err)
{
	const struct dataset *dataset = resolver->dataset;
	struct file_refs refs;
	int r = 0;

	init_refs(&refs);
	refs.last_length = file->size;
	for (uint32_t v = 0; v < dataset->n_variables && r == 0; v++) {
		struct file_ref ref = {v, NO_LEVEL, 0, file->size};

		if (resolver->selection->variables[v] && source_file_holds(dataset, file, v))
			r = file_ref_list_push(&refs.refs, ref, err);
	}
	if (r == 0 && file->size == 0) {
		refs.outcome = OUTCOME_SHORT;
		snprintf(refs.detail, sizeof(refs.detail), "the object is empty");
	}
	if (r < 0) {
		file_refs_done(&refs);
		return r;
	}
	*ret_refs = refs;
	return 0;
}
