/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/dataset-load.h"

#include "base/text.h"

/* A text for each label of the dimension, or null where there is no file. */
static int load_name_texts(const struct definition *definition, const struct place *at,
			   const struct dataset_dim *dim, const char ***ret_texts,
			   struct error *err)
{
	size_t n = json_count(&at->value);
	const char **texts;

	if (n != dim->size)
		return definition_fail(definition, at, err, "has %zu texts, '%s' has %llu labels",
				       n, dim->name, (unsigned long long)dim->size);
	texts = arena_zalloc(definition->arena, n + 1, sizeof(*texts), err);
	if (!texts)
		return ERR_MEMORY;
	for (size_t i = 0; i < n; i++) {
		struct place item = definition_item(at, i);
		int r = item.value.type == JSON_NULL
				? 0
				: definition_text(definition, &item, &texts[i], err);

		if (r < 0)
			return r;
	}
	*ret_texts = texts;
	return 0;
}

static int load_name_eras(const struct definition *definition, const struct place *at,
			  const struct dataset_dim *dim, struct pattern_name *name,
			  struct error *err)
{
	struct scope *scopes;
	int r = load_scopes(definition, at, "texts", &scopes, &name->n_eras, err);

	if (r < 0)
		return r;
	name->eras = arena_zalloc(definition->arena, name->n_eras, sizeof(*name->eras), err);
	if (!name->eras)
		return ERR_MEMORY;
	for (size_t i = 0; i < name->n_eras; i++) {
		struct place member;

		name->eras[i].from = scopes[i].from;
		name->eras[i].until = scopes[i].until;
		r = scope_get(definition, &scopes[i], "texts", JSON_ARRAY, &member, err);
		if (r == DEFINITION_ABSENT)
			return definition_fail(definition, at, err, "has no member 'texts'");
		if (r == 0)
			r = load_name_texts(definition, &member, dim, &name->eras[i].texts, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int load_name(const struct definition *definition, const struct place *at,
		     const struct dataset *dataset, struct pattern_name *name, struct error *err)
{
	struct place member;
	const char *dim_name;
	int dim, r;

	if (at->value.type != JSON_OBJECT)
		return definition_fail(definition, at, err, "is not an object");
	r = definition_members(definition, at, "dim texts eras", err);
	if (r == 0)
		r = definition_need(definition, at, "dim", JSON_STRING, &member, err);
	if (r == 0)
		r = definition_text(definition, &member, &dim_name, err);
	if (r < 0)
		return r;
	dim = dataset_dim(dataset, dim_name);
	if (dim < 0 || (uint32_t)dim == dataset->append)
		return definition_fail(definition, &member, err,
				       "'%s' is no dimension with labels of its own", dim_name);
	name->dim = (uint32_t)dim;
	return load_name_eras(definition, at, &dataset->dims[dim], name, err);
}

static int load_names(const struct definition *definition, const struct place *at,
		      struct dataset *dataset, struct error *err)
{
	struct dataset_files *files = &dataset->files;
	struct place names;
	struct json key, value;
	int r = definition_get(definition, at, "names", JSON_OBJECT, &names, err);

	if (r != 0)
		return r < 0 ? r : 0;
	files->names = arena_zalloc(definition->arena, json_count(&names.value) + 1,
				    sizeof(*files->names), err);
	if (!files->names)
		return ERR_MEMORY;
	JSON_EACH (&names.value, &key, value) {
		struct pattern_name *name = &files->names[files->n_names];
		struct place key_at = {.up = &names, .value = key};
		struct place item = {.up = &names, .value = value};

		r = definition_text(definition, &key_at, &name->name, err);
		if (r < 0)
			return r;
		item.key = name->name;
		r = load_name(definition, &item, dataset, name, err);
		if (r < 0)
			return r;
		files->n_names++;
	}
	return 0;
}

static int load_file_dims(const struct definition *definition, const struct place *at,
			  struct dataset *dataset, struct error *err)
{
	struct dataset_files *files = &dataset->files;
	struct text_list names = {0};
	struct place member;
	int r = definition_get(definition, at, "dims", JSON_ARRAY, &member, err);

	files->lead = -1;
	if (r == 0 && json_count(&member.value) > 0)
		r = load_texts(definition, &member, &names, err);
	if (r < 0)
		return r;
	if (names.n > DATASET_DIMS_MAX)
		return definition_fail(definition, &member, err, "has too many dimensions");
	for (size_t i = 0; i < names.n; i++) {
		int dim = dataset_dim(dataset, names.items[i]);

		if (dim < 0 || (uint32_t)dim == dataset->append || !dataset->dims[dim].labels ||
		    dataset->dims[dim].chunk != 1)
			return definition_fail(definition, &member, err,
					       "'%s' is no dimension with labels and chunks of 1",
					       names.items[i]);
		files->dims[files->n_dims++] = (uint32_t)dim;
	}
	r = definition_get(definition, at, "lead", JSON_STRING, &member, err);
	if (r != 0)
		return r < 0 ? r : 0;
	for (uint32_t i = 0; i < files->n_dims; i++)
		if (json_is_text(&member.value, dataset->dims[files->dims[i]].name))
			files->lead = (int)files->dims[i];
	if (files->lead < 0 || !dataset->dims[files->lead].durations)
		return definition_fail(definition, &member, err,
				       "is none of the files' dimensions that holds durations");
	return 0;
}

static int load_type(const struct definition *definition, const struct place *at,
		     struct dataset_files *files, struct error *err)
{
	struct source_type *type = &files->types[files->n_types];
	struct place member;
	int r;

	if (at->value.type != JSON_OBJECT)
		return definition_fail(definition, at, err, "is not an object");
	r = definition_members(definition, at, "name text lead", err);
	if (r == 0)
		r = definition_need(definition, at, "name", JSON_STRING, &member, err);
	if (r == 0)
		r = definition_text(definition, &member, &type->name, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < files->n_types; i++)
		if (strcmp(files->types[i].name, type->name) == 0)
			return definition_fail(definition, &member, err, "repeats '%s'",
					       type->name);
	type->text = type->name;
	type->probe = -1;
	r = definition_get(definition, at, "text", JSON_STRING, &member, err);
	if (r == 0)
		r = definition_text(definition, &member, &type->text, err);
	if (r < 0)
		return r;
	r = definition_get(definition, at, "lead", JSON_STRING, &member, err);
	if (r < 0)
		return r;
	if (r == 0) {
		type->has_lead = true;
		r = definition_duration(definition, &member, &type->lead, err);
		if (r < 0)
			return r;
		if (files->lead >= 0)
			return definition_fail(definition, &member, err,
					       "the files have a dimension of lead times");
	}
	files->n_types++;
	return 0;
}

static int load_types(const struct definition *definition, const struct place *at,
		      struct dataset_files *files, struct error *err)
{
	struct place list;
	size_t n;
	int r = definition_need(definition, at, "types", JSON_ARRAY, &list, err);

	if (r < 0)
		return r;
	n = json_count(&list.value);
	if (n == 0 || n > FILE_TYPES_MAX)
		return definition_fail(definition, &list, err, "has not 1 to %d types",
				       FILE_TYPES_MAX);
	files->types = arena_zalloc(definition->arena, n, sizeof(*files->types), err);
	if (!files->types)
		return ERR_MEMORY;
	for (size_t i = 0; i < n && r == 0; i++) {
		struct place item = definition_item(&list, i);

		r = load_type(definition, &item, files, err);
	}
	return r;
}

static int load_pattern(const struct definition *definition, const struct place *at,
			const struct dataset_files *files, struct pattern *ret_pattern,
			struct error *err)
{
	struct error cause = ERROR_INIT;
	const char *text;
	int r = definition_text(definition, at, &text, err);

	if (r < 0)
		return r;
	r = pattern_parse(slice_text(text), files->names, files->n_names, definition->arena,
			  ret_pattern, &cause);
	if (r < 0)
		return definition_fail(definition, at, err, "%s", cause.text);
	return 0;
}

static int load_url(const struct definition *definition, const struct scope *scope,
		    const struct dataset_files *files, struct pattern *ret_url, struct error *err)
{
	struct place member;
	const struct piece *first;
	size_t n = strlen(files->container);
	int r = scope_get(definition, scope, "url", JSON_STRING, &member, err);

	if (r == DEFINITION_ABSENT)
		return definition_fail(definition, scope->base, err, "has no member 'url'");
	if (r == 0)
		r = load_pattern(definition, &member, files, ret_url, err);
	if (r < 0)
		return r;
	first = ret_url->pieces;
	if (ret_url->n_pieces == 0 || first->kind != PIECE_TEXT || first->text.size < n ||
	    memcmp(first->text.data, files->container, n) != 0)
		return definition_fail(definition, &member, err, "does not begin with '%s'",
				       files->container);
	if (pattern_uses(ret_url, PIECE_URL) || pattern_uses(ret_url, PIECE_LEVEL))
		return definition_fail(definition, &member, err,
				       "a file's URL has no {url} and no {level}");
	return 0;
}

static int load_file_era(const struct definition *definition, const struct scope *scope,
			 const struct dataset_files *files, struct file_era *era, struct error *err)
{
	bool needs_index = files->kind == SOURCE_NOAA_IDX || files->kind == SOURCE_ECMWF_INDEX;
	struct place member;
	int r = load_url(definition, scope, files, &era->url, err);

	if (r < 0)
		return r;
	era->from = scope->from;
	era->until = scope->until;
	r = scope_get(definition, scope, "index_url", JSON_STRING, &member, err);
	if (r < 0)
		return r;
	if ((r == 0) != needs_index)
		return definition_fail(definition, scope->base, err,
				       needs_index ? "has no member 'index_url'"
						   : "files of this kind have no index");
	return r == 0 ? load_pattern(definition, &member, files, &era->index_url, err) : 0;
}

static int load_file_eras(const struct definition *definition, const struct place *at,
			  struct dataset_files *files, struct error *err)
{
	struct scope *scopes;
	size_t n;
	int r = load_scopes(definition, at, "url index_url", &scopes, &n, err);

	if (r < 0)
		return r;
	files->eras = arena_zalloc(definition->arena, n, sizeof(*files->eras), err);
	if (!files->eras)
		return ERR_MEMORY;
	for (size_t i = 0; i < n; i++) {
		r = load_file_era(definition, &scopes[i], files, &files->eras[i], err);
		if (r < 0)
			return r;
	}
	files->n_eras = n;
	return 0;
}

static int load_extras(const struct definition *definition, const struct place *at,
		       struct dataset_files *files, struct error *err)
{
	struct place list;
	size_t n;
	int r = definition_get(definition, at, "extra", JSON_ARRAY, &list, err);

	if (r != 0)
		return r < 0 ? r : 0;
	if (files->kind != SOURCE_NOAA_IDX)
		return definition_fail(definition, &list, err, "belongs to indexes of NOAA");
	n = json_count(&list.value);
	files->extras = arena_zalloc(definition->arena, n + 1, sizeof(*files->extras), err);
	if (!files->extras)
		return ERR_MEMORY;
	for (size_t i = 0; i < n; i++) {
		struct place item = definition_item(&list, i);

		r = load_pattern(definition, &item, files, &files->extras[i], err);
		if (r < 0)
			return r;
	}
	files->n_extras = n;
	return 0;
}

static int load_run(const struct definition *definition, const struct place *at,
		    struct dataset_files *files, struct error *err)
{
	const struct {
		const char *key;
		const char **text;
	} texts[] = {{"class", &files->class},
		     {"stream", &files->stream},
		     {"type", &files->type},
		     {"expver", &files->expver}};
	struct place run, member;
	int r = definition_get(definition, at, "run", JSON_OBJECT, &run, err);

	if (r != 0)
		return r < 0 ? r : 0;
	if (files->kind != SOURCE_ECMWF_INDEX)
		return definition_fail(definition, &run, err, "belongs to indexes of ECMWF");
	r = definition_members(definition, &run, "class stream type expver", err);
	for (size_t i = 0; i < ARRAY_LEN(texts) && r == 0; i++) {
		r = definition_get(definition, &run, texts[i].key, JSON_STRING, &member, err);
		if (r == 0)
			r = definition_text(definition, &member, texts[i].text, err);
		if (r == DEFINITION_ABSENT)
			r = 0;
	}
	return r;
}

int load_files(const struct definition *definition, const struct place *root,
	       struct dataset *dataset, struct error *err)
{
	static const char *const kinds[] = {"noaa_idx",	    "ecmwf_index", "header_scan",
					    "whole_object", "zarr_chunks", NULL};
	static const char *const ways[] = {"listing", "html", "probe", NULL};
	struct dataset_files *files = &dataset->files;
	struct place at, member;
	int word = 0, r;

	r = definition_need(definition, root, "files", JSON_OBJECT, &at, err);
	if (r == 0)
		r = definition_members(definition, &at,
				       "kind discovery container dims lead names url index_url "
				       "extra run types eras",
				       err);
	if (r == 0)
		r = definition_need(definition, &at, "kind", JSON_STRING, &member, err);
	if (r == 0)
		r = definition_word(definition, &member, kinds, &word, err);
	if (r < 0)
		return r;
	files->kind = (enum source_kind)word;
	word = 0;
	r = definition_get(definition, &at, "discovery", JSON_STRING, &member, err);
	if (r == 0)
		r = definition_word(definition, &member, ways, &word, err);
	if (r < 0)
		return r;
	files->discovery = (enum discovery_way)word;
	r = definition_need(definition, &at, "container", JSON_STRING, &member, err);
	if (r == 0)
		r = definition_text(definition, &member, &files->container, err);
	if (r == 0 && !text_ends(files->container, "/"))
		return definition_fail(definition, &member, err, "does not end in '/'");
	if (r == 0)
		r = load_names(definition, &at, dataset, err);
	if (r == 0)
		r = load_file_dims(definition, &at, dataset, err);
	if (r == 0)
		r = load_types(definition, &at, files, err);
	if (r == 0)
		r = load_file_eras(definition, &at, files, err);
	if (r == 0)
		r = load_extras(definition, &at, files, err);
	if (r == 0)
		r = load_run(definition, &at, files, err);
	return r;
}
