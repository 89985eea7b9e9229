/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/source-file.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/time.h"
#include "base/vec.h"
#include "zarr/time.h"

int selection_init(const struct dataset *dataset, const char *const *names, size_t n_names,
		   struct selection *ret_selection, struct error *err)
{
	CLEANUP(selection_done) struct selection selection = {.n = dataset->n_variables};

	selection.variables = calloc(dataset->n_variables, sizeof(*selection.variables));
	if (!selection.variables)
		return error_memory(err);
	for (size_t v = 0; v < selection.n && n_names == 0; v++)
		selection.variables[v] = true;
	for (size_t i = 0; i < n_names; i++) {
		bool found = false;

		for (size_t v = 0; v < selection.n; v++) {
			const struct dataset_variable *variable = &dataset->variables[v];

			if (strcmp(variable->name, names[i]) == 0 ||
			    strcmp(variable->path, names[i]) == 0)
				found = selection.variables[v] = true;
		}
		if (!found)
			return error_set(err, ERR_ARGUMENT, "'%s' has no variable '%s'",
					 dataset->id, names[i]);
	}
	*ret_selection = selection;
	selection = (struct selection){0};
	return 0;
}

void selection_done(struct selection *selection)
{
	free(selection->variables);
	*selection = (struct selection){0};
}

void source_file_done(struct source_file *file)
{
	free(file->url);
	free(file->index_url);
	*file = (struct source_file){0};
}

void source_files_done(struct source_files *files)
{
	for (size_t i = 0; i < files->n; i++)
		source_file_done(&files->items[i]);
	free(files->items);
	*files = (struct source_files){0};
}

bool source_file_holds(const struct dataset *dataset, const struct source_file *file,
		       uint32_t variable)
{
	const struct variable_era *era = variable_era(&dataset->variables[variable], file->label);

	return era->type == (int)file->type && file->lead >= era->first_lead &&
	       file->lead <= era->last_lead;
}

bool source_file_is_meaningless(const struct dataset *dataset, const struct source_file *file,
				uint32_t variable)
{
	return file->lead == 0 &&
	       variable_era(&dataset->variables[variable], file->label)->no_reference_at_lead_0;
}

/* A file without anything to refer to could never be told from one that is not ingested. */
static bool holds_any(const struct dataset *dataset, const struct selection *selection,
		      const struct source_file *file)
{
	for (uint32_t v = 0; v < dataset->n_variables; v++)
		if (selection->variables[v] && source_file_holds(dataset, file, v) &&
		    !source_file_is_meaningless(dataset, file, v))
			return true;
	return false;
}

static int expand(const struct pattern *pattern, const struct pattern_values *values,
		  char **ret_text, struct error *err)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT(8192);
	int r = pattern_expand(pattern, values, &text, err);

	if (r < 0)
		return r;
	*ret_text = slice_dup(buf_slice(&text), err);
	return *ret_text ? 0 : ERR_MEMORY;
}

/* A name without a text at the file's labels says that there is none: a member of another era. */
static bool is_named(const struct dataset_files *files, const struct source_file *file)
{
	for (size_t i = 0; i < files->n_names; i++)
		if (!pattern_name_text(&files->names[i], file->label,
				       file->labels[files->names[i].dim]))
			return false;
	return true;
}

/* Times and URLs of a file whose type, position and labels are set.  1: there is no such file. */
static int complete(const struct dataset *dataset, struct source_file *file, struct error *err)
{
	const struct dataset_files *files = &dataset->files;
	const struct source_type *type = &files->types[file->type];
	const struct file_era *era;
	struct pattern_values values = {.type = type->text, .labels = file->labels};
	int r;

	file->label = dataset_label(dataset, file->position);
	file->init = file->label - (type->has_lead ? type->lead : 0);
	file->lead = type->has_lead ? type->lead
		     : files->lead >= 0
			     ? dataset->dims[files->lead].durations[file->labels[files->lead]]
			     : 0;
	if (!is_named(files, file))
		return 1;
	era = file_era(dataset, file->label);
	values.label = file->label;
	values.init = file->init;
	values.lead = file->lead;
	r = expand(&era->url, &values, &file->url, err);
	if (r < 0 || era->index_url.n_pieces == 0)
		return r;
	values.url = file->url;
	return expand(&era->index_url, &values, &file->index_url, err);
}

static int add_file(const struct dataset *dataset, const struct selection *selection,
		    const struct source_file *like, struct source_files *files, struct error *err)
{
	struct source_file file = *like;
	int r = complete(dataset, &file, err);

	if (r > 0)
		return 0;
	if (r == 0 && !holds_any(dataset, selection, &file)) {
		source_file_done(&file);
		return 0;
	}
	if (r == 0)
		r = vec_reserve((void **)&files->items, &files->capacity, files->n + 1,
				sizeof(file), err);
	if (r < 0) {
		source_file_done(&file);
		return r;
	}
	files->items[files->n++] = file;
	return 0;
}

/* The next combination of labels of the files' dimensions, the last changing fastest. */
static bool next_labels(const struct dataset *dataset, struct source_file *file)
{
	const struct dataset_files *files = &dataset->files;

	for (uint32_t d = files->n_dims; d-- > 0;) {
		uint32_t dim = files->dims[d];

		if (++file->labels[dim] < dataset->dims[dim].size)
			return true;
		file->labels[dim] = 0;
	}
	return false;
}

static int by_url(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int source_files_check(const struct source_files *files, struct error *err)
{
	CLEANUP(freep) char **urls = calloc(files->n + 1, sizeof(*urls));

	if (!urls)
		return error_memory(err);
	for (size_t i = 0; i < files->n; i++)
		urls[i] = files->items[i].url;
	qsort(urls, files->n, sizeof(*urls), by_url);
	for (size_t i = 1; i < files->n; i++)
		if (strcmp(urls[i - 1], urls[i]) == 0)
			return error_set(err, ERR_FORMAT, "two source files have the URL '%s'",
					 urls[i]);
	return 0;
}

int source_files_generate(const struct dataset *dataset, const struct selection *selection,
			  uint64_t first, uint64_t end, struct source_files *files,
			  struct error *err)
{
	int r;

	for (uint64_t position = first; position < end; position++) {
		struct source_file file = {.position = position};

		do {
			for (uint32_t t = 0; t < dataset->files.n_types; t++) {
				file.type = t;
				r = add_file(dataset, selection, &file, files, err);
				if (r < 0)
					return r;
			}
		} while (next_labels(dataset, &file));
	}
	return 0;
}

int source_file_of(const struct dataset *dataset, uint32_t variable, uint64_t position,
		   const uint32_t *labels, struct source_file *ret_file, struct error *err)
{
	int64_t label = dataset_label(dataset, position);
	const struct variable_era *era = variable_era(&dataset->variables[variable], label);
	struct source_file file = {.position = position};
	int r;

	if (era->type < 0)
		return 1;
	file.type = (uint32_t)era->type;
	for (uint32_t d = 0; d < dataset->files.n_dims; d++)
		file.labels[dataset->files.dims[d]] = labels[dataset->files.dims[d]];
	r = complete(dataset, &file, err);
	if (r == 0 && !source_file_holds(dataset, &file, variable))
		r = 1;
	if (r != 0) {
		source_file_done(&file);
		return r;
	}
	*ret_file = file;
	return 0;
}

int source_file_probe(const struct dataset *dataset, const struct selection *selection,
		      const struct source_file *file)
{
	int probe = dataset->files.types[file->type].probe, first = -1;

	if (probe >= 0 && selection->variables[probe])
		return probe;
	for (uint32_t v = 0; v < dataset->n_variables; v++) {
		/* What never gets a reference cannot show that the file was ingested. */
		if (!selection->variables[v] || !source_file_holds(dataset, file, v) ||
		    source_file_is_meaningless(dataset, file, v))
			continue;
		if (dataset->variables[v].step == STEP_INSTANT)
			return (int)v;
		if (first < 0)
			first = (int)v;
	}
	return first;
}

void source_file_cell(const struct dataset *dataset, const struct source_file *file,
		      uint32_t variable, uint32_t level, uint32_t *ret_index)
{
	const struct dataset_group *group = &dataset->groups[dataset->variables[variable].group];

	for (uint32_t i = 0; i < group->n_dims; i++) {
		uint32_t dim = group->dims[i];

		if (dim == dataset->append)
			ret_index[i] = (uint32_t)(file->position / dataset->dims[dim].chunk);
		else if ((int)dim == group->level && level != NO_LEVEL)
			ret_index[i] = (uint32_t)(level / dataset->dims[dim].chunk);
		else
			ret_index[i] = (uint32_t)(file->labels[dim] / dataset->dims[dim].chunk);
	}
}

int source_file_labels(const struct dataset *dataset, const struct source_file *file,
		       struct buf *out, struct error *err)
{
	char text[TIME_TEXT_MAX];
	int r;

	zarr_time_label(file->label, text);
	r = buf_printf(out, err, "%s=%s", dataset->dims[dataset->append].name, text);
	for (uint32_t d = 0; d < dataset->files.n_dims && r == 0; d++) {
		const struct dataset_dim *dim = &dataset->dims[dataset->files.dims[d]];
		uint32_t place = file->labels[dataset->files.dims[d]];

		if (dim->durations)
			zarr_duration_label(dim->durations[place], text);
		else
			snprintf(text, sizeof(text), "%.15g", dim->labels[place]);
		r = buf_printf(out, err, ",%s=%s", dim->name, text);
	}
	return r;
}
