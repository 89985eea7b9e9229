/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/dataset-load.h"

#include <math.h>
#include <stdlib.h>

#include "base/time.h"
#include "zarr/time.h"

#define CHUNK_MAX (UINT64_C(1) << 40)
/* Labels are held in memory. */
#define LABELS_MAX (UINT64_C(1) << 24)

static int load_append(const struct definition *definition, const struct place *root,
		       const char **ret_dim, struct dataset *dataset, struct error *err)
{
	struct place append, member;
	int r;

	r = definition_need(definition, root, "append", JSON_OBJECT, &append, err);
	if (r == 0)
		r = definition_members(definition, &append, "dim start step", err);
	if (r == 0)
		r = definition_need(definition, &append, "dim", JSON_STRING, &member, err);
	if (r == 0)
		r = definition_text(definition, &member, ret_dim, err);
	if (r == 0)
		r = definition_need(definition, &append, "start", JSON_STRING, &member, err);
	if (r == 0)
		r = definition_time(definition, &member, &dataset->start, err);
	if (r == 0)
		r = definition_need(definition, &append, "step", JSON_STRING, &member, err);
	if (r == 0)
		r = definition_duration(definition, &member, &dataset->step, err);
	if (r == 0 && dataset->step <= 0)
		return definition_fail(definition, &member, err, "is not positive");
	return r;
}

static int load_dim(const struct definition *definition, const struct place *at, bool is_append,
		    struct dataset_dim *dim, struct error *err)
{
	struct place member;
	int r = definition_members(definition, at, is_append ? "chunk" : "size chunk", err);

	if (r < 0)
		return r;
	if (!is_append) {
		r = definition_need(definition, at, "size", JSON_NUMBER, &member, err);
		if (r == 0)
			r = definition_u64(definition, &member, LABELS_MAX, &dim->size, err);
		if (r == 0 && dim->size == 0)
			return definition_fail(definition, &member, err, "is 0");
		if (r < 0)
			return r;
	}
	dim->chunk = is_append ? 1 : dim->size;
	r = definition_get(definition, at, "chunk", JSON_NUMBER, &member, err);
	if (r == 0)
		r = definition_u64(definition, &member, CHUNK_MAX, &dim->chunk, err);
	if (r == 0 && dim->chunk == 0)
		return definition_fail(definition, &member, err, "is 0");
	return r < 0 ? r : 0;
}

static int load_dims(const struct definition *definition, const struct place *root,
		     const char *append, struct dataset *dataset, struct error *err)
{
	struct place dims;
	struct json key, value;
	bool found = false;
	int r = definition_need(definition, root, "dims", JSON_OBJECT, &dims, err);

	if (r < 0)
		return r;
	if (json_count(&dims.value) > DATASET_DIMS_MAX)
		return definition_fail(definition, &dims, err, "has more than %d dimensions",
				       DATASET_DIMS_MAX);
	dataset->dims =
		arena_zalloc(definition->arena, DATASET_DIMS_MAX, sizeof(*dataset->dims), err);
	if (!dataset->dims)
		return ERR_MEMORY;
	JSON_EACH (&dims.value, &key, value) {
		struct dataset_dim *dim = &dataset->dims[dataset->n_dims];
		struct place name = {.up = &dims, .value = key};
		struct place at = {.up = &dims, .value = value};

		r = definition_text(definition, &name, &dim->name, err);
		if (r < 0)
			return r;
		at.key = dim->name;
		if (value.type != JSON_OBJECT)
			return definition_fail(definition, &at, err, "is not an object");
		r = load_dim(definition, &at, strcmp(dim->name, append) == 0, dim, err);
		if (r < 0)
			return r;
		if (strcmp(dim->name, append) == 0) {
			dataset->append = dataset->n_dims;
			found = true;
		}
		dataset->n_dims++;
	}
	if (!found)
		return definition_fail(definition, &dims, err,
				       "does not have the append dimension '%s'", append);
	return 0;
}

/* A list of names of dimensions, without repetition. */
static int load_dim_list(const struct definition *definition, const struct place *at,
			 const struct dataset *dataset, uint32_t dims[DATASET_DIMS_MAX],
			 uint32_t *ret_n, struct error *err)
{
	size_t n = json_count(&at->value);

	if (n > DATASET_DIMS_MAX)
		return definition_fail(definition, at, err, "has more than %d dimensions",
				       DATASET_DIMS_MAX);
	for (size_t i = 0; i < n; i++) {
		struct place item = definition_item(at, i);
		const char *name;
		int dim, r = definition_text(definition, &item, &name, err);

		if (r < 0)
			return r;
		dim = dataset_dim(dataset, name);
		if (dim < 0)
			return definition_fail(definition, &item, err, "'%s' is no dimension",
					       name);
		for (size_t k = 0; k < i; k++)
			if (dims[k] == (uint32_t)dim)
				return definition_fail(definition, &item, err, "repeats '%s'",
						       name);
		dims[i] = (uint32_t)dim;
	}
	*ret_n = (uint32_t)n;
	return 0;
}

static bool has_dim(uint32_t dim, const uint32_t *dims, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (dims[i] == dim)
			return true;
	return false;
}

/* A group's dimensions are the root's and one of its own. */
static int find_level(const struct definition *definition, const struct place *at,
		      const struct dataset_group *root, struct dataset_group *group,
		      struct error *err)
{
	group->level = -1;
	for (uint32_t i = 0; i < group->n_dims; i++)
		if (!has_dim(group->dims[i], root->dims, root->n_dims))
			group->level = (int)group->dims[i];
	if (group == root)
		return 0;
	if (group->level < 0 || group->n_dims != root->n_dims + 1)
		return definition_fail(definition, at, err,
				       "does not have the root's dimensions and one more");
	for (uint32_t i = 0; i < root->n_dims; i++)
		if (!has_dim(root->dims[i], group->dims, group->n_dims))
			return definition_fail(definition, at, err,
					       "does not have the root's dimensions and one more");
	return 0;
}

static int load_group(const struct definition *definition, const struct place *at,
		      struct dataset *dataset, struct error *err)
{
	struct dataset_group *group = &dataset->groups[dataset->n_groups];
	struct place member;
	int r;

	if (at->value.type != JSON_OBJECT)
		return definition_fail(definition, at, err, "is not an object");
	r = definition_members(definition, at, "path dims", err);
	if (r == 0)
		r = definition_need(definition, at, "path", JSON_STRING, &member, err);
	if (r == 0)
		r = definition_text(definition, &member, &group->path, err);
	if (r < 0)
		return r;
	if ((dataset->n_groups == 0) != (group->path[0] == '\0'))
		return definition_fail(definition, &member, err,
				       "the first group is the root, '', and no other is");
	if (strchr(group->path, '/'))
		return definition_fail(definition, &member, err, "groups are one level deep");
	r = definition_need(definition, at, "dims", JSON_ARRAY, &member, err);
	if (r == 0)
		r = load_dim_list(definition, &member, dataset, group->dims, &group->n_dims, err);
	if (r == 0)
		r = find_level(definition, &member, dataset->groups, group, err);
	if (r < 0)
		return r;
	if (!has_dim(dataset->append, group->dims, group->n_dims))
		return definition_fail(definition, &member, err, "lacks the append dimension");
	dataset->n_groups++;
	return 0;
}

static int load_groups(const struct definition *definition, const struct place *root,
		       struct dataset *dataset, struct error *err)
{
	struct place groups;
	size_t n;
	int r = definition_need(definition, root, "groups", JSON_ARRAY, &groups, err);

	if (r < 0)
		return r;
	n = json_count(&groups.value);
	if (n == 0)
		return definition_fail(definition, &groups, err, "is empty");
	dataset->groups = arena_zalloc(definition->arena, n, sizeof(*dataset->groups), err);
	if (!dataset->groups)
		return ERR_MEMORY;
	for (size_t i = 0; i < n && r == 0; i++) {
		struct place at = definition_item(&groups, i);

		r = load_group(definition, &at, dataset, err);
	}
	return r;
}

static int load_list_values(const struct definition *definition, const struct place *at,
			    struct dataset_coordinate *coordinate, struct error *err)
{
	size_t n = json_count(&at->value);
	double *values = arena_zalloc(definition->arena, n + 1, sizeof(*values), err);

	if (!values)
		return ERR_MEMORY;
	for (size_t i = 0; i < n; i++) {
		struct place item = definition_item(at, i);
		int r = definition_number(definition, &item, &values[i], err);

		if (r < 0)
			return r;
	}
	coordinate->values = values;
	coordinate->n_values = n;
	return 0;
}

static int load_dated(const struct definition *definition, const struct place *at,
		      struct dataset_coordinate *coordinate, struct error *err)
{
	struct scope *scopes;
	size_t n;
	int r = load_scopes(definition, at, "value", &scopes, &n, err);

	if (r < 0)
		return r;
	coordinate->dated = arena_zalloc(definition->arena, n, sizeof(*coordinate->dated), err);
	if (!coordinate->dated)
		return ERR_MEMORY;
	for (size_t i = 0; i < n; i++) {
		struct dated_value *dated = &coordinate->dated[i];
		struct place member;

		r = scope_get(definition, &scopes[i], "value", JSON_NUMBER, &member, err);
		if (r == DEFINITION_ABSENT)
			return definition_fail(definition, at, err, "has no member 'value'");
		if (r == 0)
			r = definition_number(definition, &member, &dated->value, err);
		if (r < 0)
			return r;
		dated->from = scopes[i].from;
		dated->until = scopes[i].until;
	}
	coordinate->n_dated = n;
	return 0;
}

static int load_projection(const struct definition *definition, const struct place *at,
			   struct dataset_coordinate *coordinate, struct error *err)
{
	static const char *const axes[] = {"latitude", "longitude", NULL};
	static const char *const projections[] = {"lambert_conformal_sphere", NULL};
	const struct {
		const char *key;
		double *value;
	} numbers[] = {
		{"radius", &coordinate->radius},
		{"origin_latitude", &coordinate->origin_latitude},
		{"origin_longitude", &coordinate->origin_longitude},
	};
	struct place member;
	int word, r;

	r = definition_need(definition, at, "axis", JSON_STRING, &member, err);
	if (r == 0)
		r = definition_word(definition, &member, axes, &word, err);
	if (r < 0)
		return r;
	coordinate->is_longitude = word == 1;
	r = definition_need(definition, at, "projection", JSON_STRING, &member, err);
	if (r == 0)
		r = definition_word(definition, &member, projections, &word, err);
	for (size_t i = 0; i < ARRAY_LEN(numbers) && r == 0; i++) {
		r = definition_need(definition, at, numbers[i].key, JSON_NUMBER, &member, err);
		if (r == 0)
			r = definition_number(definition, &member, numbers[i].value, err);
	}
	if (r == 0 && !(coordinate->radius > 0 && fabs(coordinate->origin_latitude) < 90 &&
			coordinate->origin_latitude != 0))
		return definition_fail(definition, at, err, "is no projection of the earth");
	return r;
}

static int load_plus(const struct definition *definition, const struct place *at,
		     const struct dataset *dataset, struct dataset_coordinate *coordinate,
		     struct error *err)
{
	struct place member;
	const char *name;
	int dim, r = definition_need(definition, at, "dim", JSON_STRING, &member, err);

	if (r == 0)
		r = definition_text(definition, &member, &name, err);
	if (r < 0)
		return r;
	dim = dataset_dim(dataset, name);
	if (dim < 0 || !has_dim((uint32_t)dim, coordinate->dims, coordinate->n_dims))
		return definition_fail(definition, &member, err,
				       "'%s' is no dimension of the coordinate", name);
	coordinate->plus = (uint32_t)dim;
	return 0;
}

/* Shapes that the kinds of values can fill. */
static int check_dims(const struct definition *definition, const struct place *at,
		      const struct dataset *dataset, const struct dataset_coordinate *coordinate,
		      struct error *err)
{
	bool spans_append = has_dim(dataset->append, coordinate->dims, coordinate->n_dims);
	uint32_t n = coordinate->n_dims;
	bool fits = false;

	switch (coordinate->kind) {
	case COORDINATE_APPEND:
	case COORDINATE_BY_APPEND:
		fits = n == 1 && spans_append;
		break;
	case COORDINATE_APPEND_PLUS:
		fits = n == 2 && coordinate->dims[0] == dataset->append;
		break;
	case COORDINATE_RANGE:
		fits = n == 1 && !spans_append;
		break;
	case COORDINATE_LIST:
		fits = !spans_append && n <= 1 &&
		       coordinate->n_values == (n ? dataset->dims[coordinate->dims[0]].size : 1);
		break;
	case COORDINATE_PROJECTED:
		fits = n == 2 && !spans_append;
		break;
	}
	if (!fits)
		return definition_fail(definition, at, err,
				       "the values do not fit the dimensions of '%s'",
				       coordinate->name);
	return 0;
}

static int load_values(const struct definition *definition, const struct place *coordinate_at,
		       const struct dataset *dataset, struct dataset_coordinate *coordinate,
		       struct error *err)
{
	static const char *const kinds[] = {"append", "append_plus", "by_append", "range",
					    "list",   "projected",   NULL};
	static const char *const members[] = {
		"kind",
		"kind dim",
		"kind value eras",
		"kind start step",
		"kind values",
		"kind axis projection radius origin_latitude origin_longitude",
	};
	struct place at, member;
	int kind, r;

	r = definition_need(definition, coordinate_at, "values", JSON_OBJECT, &at, err);
	if (r == 0)
		r = definition_need(definition, &at, "kind", JSON_STRING, &member, err);
	if (r == 0)
		r = definition_word(definition, &member, kinds, &kind, err);
	if (r == 0)
		r = definition_members(definition, &at, members[kind], err);
	if (r < 0)
		return r;
	coordinate->kind = (enum coordinate_kind)kind;
	switch (coordinate->kind) {
	case COORDINATE_APPEND:
		break;
	case COORDINATE_APPEND_PLUS:
		r = load_plus(definition, &at, dataset, coordinate, err);
		break;
	case COORDINATE_BY_APPEND:
		r = load_dated(definition, &at, coordinate, err);
		break;
	case COORDINATE_RANGE:
		r = definition_need(definition, &at, "start", JSON_NUMBER, &member, err);
		if (r == 0)
			r = definition_number(definition, &member, &coordinate->start, err);
		if (r == 0)
			r = definition_need(definition, &at, "step", JSON_NUMBER, &member, err);
		if (r == 0)
			r = definition_number(definition, &member, &coordinate->step, err);
		break;
	case COORDINATE_LIST:
		r = definition_need(definition, &at, "values", JSON_ARRAY, &member, err);
		if (r == 0)
			r = load_list_values(definition, &member, coordinate, err);
		break;
	case COORDINATE_PROJECTED:
		r = load_projection(definition, &at, coordinate, err);
		break;
	}
	if (r < 0)
		return r;
	return check_dims(definition, &at, dataset, coordinate, err);
}

/* The codecs of a coordinate that names none: little-endian bytes, blosc with zstd level 3. */
static int default_codecs(const struct definition *definition, const struct place *at,
			  struct dataset_coordinate *coordinate, struct error *err)
{
	struct json data_type = {.type = JSON_STRING, .span = coordinate->data_type};
	CLEANUP(buf_done) struct buf text = BUF_INIT(1024);
	struct zarr_type type;
	char *copy;
	int r = zarr_type_parse(&data_type, &type, err);

	if (r < 0)
		return r;
	if (type.kind != ZARR_INT && type.kind != ZARR_UINT && type.kind != ZARR_FLOAT)
		return definition_fail(definition, at, err, "has no number as its data type");
	r = buf_printf(&text, err,
		       "[{\"name\": \"bytes\", \"configuration\": {\"endian\": \"little\"}}, "
		       "{\"name\": \"blosc\", \"configuration\": {\"typesize\": %u, "
		       "\"cname\": \"zstd\", \"clevel\": 3, \"shuffle\": \"shuffle\", "
		       "\"blocksize\": 0}}]",
		       type.size);
	if (r < 0)
		return r;
	copy = arena_dup(definition->arena, buf_slice(&text), err);
	if (!copy)
		return ERR_MEMORY;
	coordinate->codecs = slice_of(copy, text.size);
	return 0;
}

static int load_encoding(const struct definition *definition, const struct place *at,
			 struct dataset_coordinate *coordinate, struct error *err)
{
	struct place member;
	int r = definition_need(definition, at, "data_type", JSON_STRING, &member, err);

	if (r < 0)
		return r;
	coordinate->data_type = member.value.span;
	r = definition_need(definition, at, "attributes", JSON_OBJECT, &member, err);
	if (r < 0)
		return r;
	coordinate->attributes = member.value.span;
	if (json_get(&at->value, "fill_value", &member.value) != 0)
		return definition_fail(definition, at, err, "has no member 'fill_value'");
	coordinate->fill_value = member.value.span;
	r = definition_get(definition, at, "codecs", JSON_ARRAY, &member, err);
	if (r == 0)
		coordinate->codecs = member.value.span;
	if (r == DEFINITION_ABSENT)
		r = default_codecs(definition, at, coordinate, err);
	return r;
}

static int load_chunks(const struct definition *definition, const struct place *at,
		       struct dataset_coordinate *coordinate, struct error *err)
{
	struct place chunks;
	int r = definition_need(definition, at, "chunks", JSON_ARRAY, &chunks, err);

	if (r < 0)
		return r;
	if (json_count(&chunks.value) != coordinate->n_dims)
		return definition_fail(definition, &chunks, err, "has not one number a dimension");
	for (uint32_t i = 0; i < coordinate->n_dims; i++) {
		struct place item = definition_item(&chunks, i);

		r = definition_u64(definition, &item, LABELS_MAX, &coordinate->chunks[i], err);
		if (r == 0 && coordinate->chunks[i] == 0)
			return definition_fail(definition, &item, err, "is 0");
		if (r < 0)
			return r;
	}
	return 0;
}

static int load_coordinate(const struct definition *definition, const struct place *at,
			   struct dataset *dataset, struct error *err)
{
	struct dataset_coordinate *coordinate = &dataset->coordinates[dataset->n_coordinates];
	struct place member;
	int r;

	if (at->value.type != JSON_OBJECT)
		return definition_fail(definition, at, err, "is not an object");
	r = definition_members(definition, at,
			       "name dims data_type chunks fill_value codecs attributes values",
			       err);
	if (r == 0)
		r = definition_need(definition, at, "name", JSON_STRING, &member, err);
	if (r == 0)
		r = definition_text(definition, &member, &coordinate->name, err);
	if (r == 0)
		r = definition_need(definition, at, "dims", JSON_ARRAY, &member, err);
	if (r == 0)
		r = load_dim_list(definition, &member, dataset, coordinate->dims,
				  &coordinate->n_dims, err);
	if (r == 0)
		r = load_chunks(definition, at, coordinate, err);
	if (r == 0)
		r = load_encoding(definition, at, coordinate, err);
	if (r == 0)
		r = load_values(definition, at, dataset, coordinate, err);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < dataset->n_coordinates; i++)
		if (strcmp(dataset->coordinates[i].name, coordinate->name) == 0)
			return definition_fail(definition, at, err, "repeats '%s'",
					       coordinate->name);
	dataset->n_coordinates++;
	return 0;
}

/* Labels of a dimension are the values of the coordinate of its name. */
static int find_labels(const struct definition *definition, const struct place *at,
		       const struct dataset_coordinate *coordinate, struct dataset_dim *dim,
		       struct error *err)
{
	struct json attributes = {.type = JSON_OBJECT, .span = coordinate->attributes};
	double *labels = arena_zalloc(definition->arena, dim->size, sizeof(*labels), err);
	struct zarr_time time;
	int64_t *durations;
	int r;

	if (!labels)
		return ERR_MEMORY;
	for (uint64_t i = 0; i < dim->size; i++)
		labels[i] = coordinate->kind == COORDINATE_LIST
				    ? coordinate->values[i]
				    : coordinate->start + (double)i * coordinate->step;
	dim->labels = labels;
	r = zarr_time_parse(&attributes, &time, err);
	if (r < 0)
		return definition_fail(definition, at, err, "the units are not understood");
	if (r == ZARR_NO_TIME || !time.is_duration)
		return 0;
	durations = arena_zalloc(definition->arena, dim->size, sizeof(*durations), err);
	if (!durations)
		return ERR_MEMORY;
	for (uint64_t i = 0; i < dim->size; i++)
		durations[i] = llround(labels[i] * (double)time.unit);
	dim->durations = durations;
	return 0;
}

static int by_name(const void *a, const void *b)
{
	const struct dataset_coordinate *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static int check_append_coordinate(const struct definition *definition, const struct place *at,
				   const struct dataset *dataset, struct error *err)
{
	for (uint32_t i = 0; i < dataset->n_coordinates; i++)
		if (dataset->coordinates[i].kind == COORDINATE_APPEND &&
		    strcmp(dataset->coordinates[i].name, dataset->dims[dataset->append].name) == 0)
			return 0;
	return definition_fail(definition, at, err, "does not have the append dimension's labels");
}

static int load_coordinates(const struct definition *definition, const struct place *root,
			    struct dataset *dataset, struct error *err)
{
	struct place list;
	size_t n;
	int r = definition_need(definition, root, "coordinates", JSON_ARRAY, &list, err);

	if (r < 0)
		return r;
	n = json_count(&list.value);
	dataset->coordinates =
		arena_zalloc(definition->arena, n + 1, sizeof(*dataset->coordinates), err);
	if (!dataset->coordinates)
		return ERR_MEMORY;
	for (size_t i = 0; i < n; i++) {
		struct place at = definition_item(&list, i);
		const struct dataset_coordinate *coordinate = &dataset->coordinates[i];
		int dim;

		r = load_coordinate(definition, &at, dataset, err);
		if (r < 0)
			return r;
		dim = dataset_dim(dataset, coordinate->name);
		if (dim >= 0 && coordinate->n_dims == 1 && coordinate->dims[0] == (uint32_t)dim &&
		    (coordinate->kind == COORDINATE_LIST || coordinate->kind == COORDINATE_RANGE)) {
			r = find_labels(definition, &at, coordinate, &dataset->dims[dim], err);
			if (r < 0)
				return r;
		}
	}
	for (uint32_t i = 0; i < dataset->n_coordinates; i++)
		if (dataset->coordinates[i].kind == COORDINATE_APPEND_PLUS &&
		    !dataset->dims[dataset->coordinates[i].plus].durations)
			return definition_fail(definition, &list, err,
					       "'%s' adds a dimension that holds no durations",
					       dataset->coordinates[i].name);
	qsort(dataset->coordinates, n, sizeof(*dataset->coordinates), by_name);
	return check_append_coordinate(definition, &list, dataset, err);
}

int load_structure(const struct definition *definition, const struct place *root,
		   struct dataset *dataset, struct error *err)
{
	const char *append;
	int r = load_append(definition, root, &append, dataset, err);

	if (r == 0)
		r = load_dims(definition, root, append, dataset, err);
	if (r == 0)
		r = load_groups(definition, root, dataset, err);
	if (r == 0)
		r = load_coordinates(definition, root, dataset, err);
	return r;
}
