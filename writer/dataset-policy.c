/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/dataset-load.h"

#include "base/regex.h"
#include "base/text.h"
#include "base/time.h"
#include "writer/schedule.h"

/* Whole seconds as a duration. */
static int load_seconds(const struct definition *definition, const struct place *at,
			const char *key, int64_t otherwise, int64_t *ret_duration,
			struct error *err)
{
	struct place member;
	uint64_t seconds;
	int r = definition_get(definition, at, key, JSON_NUMBER, &member, err);

	if (r < 0)
		return r;
	if (r == DEFINITION_ABSENT && otherwise < 0)
		return definition_fail(definition, at, err, "has no member '%s'", key);
	if (r == DEFINITION_ABSENT) {
		*ret_duration = otherwise;
		return 0;
	}
	r = definition_u64(definition, &member, UINT64_C(1) << 32, &seconds, err);
	if (r == 0)
		*ret_duration = (int64_t)seconds * TIME_SECOND;
	return r;
}

static int load_word(const struct definition *definition, const struct scope *scope,
		     const char *key, const char *const *words, int *ret_word, struct error *err)
{
	struct place member;
	int r = scope_get(definition, scope, key, JSON_STRING, &member, err);

	*ret_word = 0;
	if (r != 0)
		return r < 0 ? r : 0;
	return definition_word(definition, &member, words, ret_word, err);
}

/* Indexes of variables named in a list. */
static int load_variable_list(const struct definition *definition, const struct place *at,
			      const struct dataset *dataset, uint32_t **ret_list, size_t *ret_n,
			      struct error *err)
{
	struct text_list names;
	uint32_t *list;
	int r = load_texts(definition, at, &names, err);

	if (r < 0)
		return r;
	list = arena_zalloc(definition->arena, names.n, sizeof(*list), err);
	if (!list)
		return ERR_MEMORY;
	for (size_t i = 0; i < names.n; i++) {
		int variable = dataset_variable(dataset, names.items[i]);

		if (variable < 0)
			return definition_fail(definition, at, err, "'%s' is no variable",
					       names.items[i]);
		list[i] = (uint32_t)variable;
	}
	*ret_list = list;
	*ret_n = names.n;
	return 0;
}

static int source_type_named(const struct dataset *dataset, const char *name)
{
	for (size_t i = 0; i < dataset->files.n_types; i++)
		if (strcmp(dataset->files.types[i].name, name) == 0)
			return (int)i;
	return -1;
}

/* A probe must be in every file of its type: it decides whether a file counts as ingested. */
static int check_probe(const struct definition *definition, const struct place *at, int type,
		       const struct dataset_variable *variable, struct error *err)
{
	for (size_t i = 0; i < variable->n_eras; i++) {
		const struct variable_era *era = &variable->eras[i];

		if (era->type != type)
			return definition_fail(definition, at, err,
					       "no file of an era can hold '%s'", variable->path);
		if (era->first_lead > 0 || era->last_lead != TIME_FOREVER ||
		    era->no_reference_at_lead_0)
			return definition_fail(definition, at, err, "not every lead has '%s'",
					       variable->path);
	}
	return 0;
}

static int load_probes(const struct definition *definition, const struct place *root,
		       struct dataset *dataset, struct error *err)
{
	struct place at;
	struct json key, value;
	int r = definition_get(definition, root, "probe", JSON_OBJECT, &at, err);

	if (r != 0)
		return r < 0 ? r : 0;
	JSON_EACH (&at.value, &key, value) {
		struct place name = {.up = &at, .value = key}, member = {.up = &at, .value = value};
		const char *path;
		int type, variable;

		r = definition_text(definition, &name, &member.key, err);
		if (r < 0)
			return r;
		type = source_type_named(dataset, member.key);
		if (type < 0)
			return definition_fail(definition, &member, err, "is no type of file");
		r = definition_text(definition, &member, &path, err);
		if (r < 0)
			return r;
		variable = dataset_variable(dataset, path);
		if (variable < 0)
			return definition_fail(definition, &member, err, "'%s' is no variable",
					       path);
		r = check_probe(definition, &member, type, &dataset->variables[variable], err);
		if (r < 0)
			return r;
		dataset->files.types[type].probe = variable;
	}
	return 0;
}

static int load_known_missing(const struct definition *definition, const struct place *root,
			      struct dataset *dataset, struct error *err)
{
	struct place list;
	size_t n;
	int r = definition_get(definition, root, "known_missing", JSON_ARRAY, &list, err);

	if (r != 0)
		return r < 0 ? r : 0;
	n = json_count(&list.value);
	dataset->known_missing =
		arena_zalloc(definition->arena, n + 1, sizeof(*dataset->known_missing), err);
	if (!dataset->known_missing)
		return ERR_MEMORY;
	for (size_t i = 0; i < n; i++) {
		struct known_missing *known = &dataset->known_missing[i];
		struct place item = definition_item(&list, i), member;

		if (item.value.type != JSON_OBJECT)
			return definition_fail(definition, &item, err, "is not an object");
		r = definition_members(definition, &item, "url variables", err);
		if (r == 0)
			r = definition_need(definition, &item, "url", JSON_STRING, &member, err);
		if (r == 0)
			r = definition_text(definition, &member, &known->url, err);
		if (r == 0)
			r = definition_need(definition, &item, "variables", JSON_ARRAY, &member,
					    err);
		if (r == 0)
			r = load_variable_list(definition, &member, dataset, &known->variables,
					       &known->n_variables, err);
		if (r < 0)
			return r;
	}
	dataset->n_known_missing = n;
	return 0;
}

static int load_containers(const struct definition *definition, const struct place *root,
			   struct dataset *dataset, struct error *err)
{
	struct place list;
	bool covered = false;
	size_t n;
	int r = definition_need(definition, root, "containers", JSON_ARRAY, &list, err);

	if (r < 0)
		return r;
	n = json_count(&list.value);
	dataset->containers =
		arena_zalloc(definition->arena, n + 1, sizeof(*dataset->containers), err);
	if (!dataset->containers)
		return ERR_MEMORY;
	for (size_t i = 0; i < n; i++) {
		struct dataset_container *container = &dataset->containers[i];
		struct place item = definition_item(&list, i), member;

		if (item.value.type != JSON_OBJECT)
			return definition_fail(definition, &item, err, "is not an object");
		r = definition_members(definition, &item, "prefix store", err);
		if (r == 0)
			r = definition_need(definition, &item, "prefix", JSON_STRING, &member, err);
		if (r == 0)
			r = definition_text(definition, &member, &container->prefix, err);
		if (r == 0 && !text_ends(container->prefix, "/"))
			return definition_fail(definition, &member, err, "does not end in '/'");
		if (r == 0)
			r = definition_need(definition, &item, "store", JSON_OBJECT, &member, err);
		if (r < 0)
			return r;
		container->store = member.value.span;
		covered |= text_starts(dataset->files.container, container->prefix);
	}
	dataset->n_containers = n;
	if (!covered)
		return definition_fail(definition, &list, err, "none covers '%s'",
				       dataset->files.container);
	return 0;
}

static int load_split(const struct definition *definition, const struct place *at,
		      struct dataset_split *split, struct error *err)
{
	CLEANUP(regex_freep) struct regex *regex = NULL;
	struct error cause = ERROR_INIT;
	struct place pattern, size;
	int r;

	if (at->value.type != JSON_ARRAY || json_count(&at->value) != 2)
		return definition_fail(definition, at, err, "is not [pattern or null, size]");
	size = definition_item(at, 1);
	r = definition_u64(definition, &size, UINT32_MAX, &split->size, err);
	if (r == 0 && split->size == 0)
		return definition_fail(definition, &size, err, "is 0");
	if (r < 0)
		return r;
	pattern = definition_item(at, 0);
	if (pattern.value.type == JSON_NULL)
		return 0;
	r = definition_text(definition, &pattern, &split->regex, err);
	if (r < 0)
		return r;
	if (regex_new(slice_text(split->regex), &regex, &cause) < 0)
		return definition_fail(definition, &pattern, err, "%s", cause.text);
	return 0;
}

static int load_splits(const struct definition *definition, const struct place *root,
		       struct dataset *dataset, struct error *err)
{
	struct place list;
	size_t n;
	int r = definition_get(definition, root, "splits", JSON_ARRAY, &list, err);

	if (r != 0)
		return r < 0 ? r : 0;
	n = json_count(&list.value);
	dataset->splits = arena_zalloc(definition->arena, n + 1, sizeof(*dataset->splits), err);
	if (!dataset->splits)
		return ERR_MEMORY;
	for (size_t i = 0; i < n && r == 0; i++) {
		struct place item = definition_item(&list, i);

		r = load_split(definition, &item, &dataset->splits[i], err);
	}
	dataset->n_splits = n;
	return r;
}

static int load_storage(const struct definition *definition, const struct place *root,
			struct dataset *dataset, struct error *err)
{
	struct place at, member;
	int r = definition_get(definition, root, "storage", JSON_OBJECT, &at, err);

	if (r != 0)
		return r < 0 ? r : 0;
	r = definition_members(definition, &at, "primary replicas", err);
	if (r == 0)
		r = definition_need(definition, &at, "primary", JSON_STRING, &member, err);
	if (r == 0)
		r = definition_text(definition, &member, &dataset->primary, err);
	if (r < 0)
		return r;
	r = definition_get(definition, &at, "replicas", JSON_ARRAY, &member, err);
	if (r == 0 && json_count(&member.value) > 0)
		r = load_texts(definition, &member, &dataset->replicas, err);
	return r < 0 ? r : 0;
}

static int load_schedule(const struct definition *definition, const struct place *root,
			 struct dataset *dataset, struct error *err)
{
	struct dataset_schedule *schedule = &dataset->schedule;
	struct error cause = ERROR_INIT;
	struct schedule parsed;
	struct place at, member;
	int r = definition_get(definition, root, "schedule", JSON_OBJECT, &at, err);

	if (r != 0)
		return r < 0 ? r : 0;
	r = definition_members(definition, &at, "update deadline_s grace_s window_s tick_s", err);
	if (r == 0)
		r = definition_need(definition, &at, "update", JSON_STRING, &member, err);
	if (r == 0)
		r = definition_text(definition, &member, &schedule->update, err);
	if (r < 0)
		return r;
	if (schedule_parse(schedule->update, &parsed, &cause) < 0)
		return definition_fail(definition, &member, err, "%s", cause.text);
	r = load_seconds(definition, &at, "deadline_s", -1, &schedule->deadline, err);
	if (r == 0)
		r = load_seconds(definition, &at, "grace_s", 180 * TIME_SECOND, &schedule->grace,
				 err);
	if (r == 0)
		r = load_seconds(definition, &at, "window_s", -1, &schedule->window, err);
	if (r == 0)
		r = load_seconds(definition, &at, "tick_s", TIME_SECOND, &schedule->tick, err);
	if (r == 0 && schedule->grace >= schedule->deadline)
		return definition_fail(definition, &at, err, "the grace is not below the deadline");
	return r;
}

static int load_fractions(const struct definition *definition, const struct place *at,
			  struct dataset_check *check, struct error *err)
{
	size_t n = json_count(&at->value);
	double *fractions = arena_zalloc(definition->arena, n + 1, sizeof(*fractions), err);

	if (!fractions)
		return ERR_MEMORY;
	for (size_t i = 0; i < n; i++) {
		struct place item = definition_item(at, i);
		int r = definition_number(definition, &item, &fractions[i], err);

		if (r < 0)
			return r;
		if (!(fractions[i] >= 0 && fractions[i] <= 1))
			return definition_fail(definition, &item, err, "is not from 0 to 1");
	}
	/* The last holds for every older position: anything less would accept holes for ever. */
	if (n == 0 || fractions[n - 1] != 1)
		return definition_fail(definition, at, err, "does not end in 1");
	check->fractions = fractions;
	check->n_fractions = n;
	return 0;
}

static int load_completeness_check(const struct definition *definition, const struct place *at,
				   const struct dataset *dataset, struct dataset_check *check,
				   struct error *err)
{
	static const double whole[] = {1};
	struct text_list names = {0};
	struct place member;
	int r = definition_get(definition, at, "min_present_fraction", JSON_ARRAY, &member, err);

	check->fractions = whole;
	check->n_fractions = 1;
	if (r == 0)
		r = load_fractions(definition, &member, check, err);
	if (r < 0)
		return r;
	r = definition_get(definition, at, "files", JSON_ARRAY, &member, err);
	if (r == 0)
		r = load_texts(definition, &member, &names, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < names.n; i++) {
		int type = source_type_named(dataset, names.items[i]);

		if (type < 0)
			return definition_fail(definition, &member, err, "'%s' is no type of file",
					       names.items[i]);
		check->types |= UINT32_C(1) << type;
	}
	return 0;
}

static int load_decode_check(const struct definition *definition, const struct place *at,
			     const struct dataset *dataset, struct dataset_check *check,
			     struct error *err)
{
	const struct {
		const char *key;
		uint64_t *value, otherwise;
	} counts[] = {{"positions", &check->positions, 1},
		      {"sampled_leads", &check->leads, 5},
		      {"sampled_levels", &check->levels, 3}};
	struct place member;
	uint32_t *list = NULL;
	int r = 0;

	for (size_t i = 0; i < ARRAY_LEN(counts) && r >= 0; i++) {
		*counts[i].value = counts[i].otherwise;
		r = definition_get(definition, at, counts[i].key, JSON_NUMBER, &member, err);
		if (r == 0)
			r = definition_u64(definition, &member, 1000000, counts[i].value, err);
		if (r == 0 && *counts[i].value == 0)
			return definition_fail(definition, &member, err, "is 0");
	}
	if (r < 0)
		return r;
	r = definition_get(definition, at, "allow_all_nan_variables", JSON_ARRAY, &member, err);
	if (r == 0)
		r = load_variable_list(definition, &member, dataset, &list, &check->n_all_nan, err);
	check->all_nan = list;
	return r < 0 ? r : 0;
}

static int load_check(const struct definition *definition, const struct place *at,
		      const struct dataset *dataset, struct dataset_check *check, struct error *err)
{
	static const char *const kinds[] = {"current_data", "manifest_completeness",
					    "decode_health", NULL};
	static const char *const members[] = {
		"check max_delay_s",
		"check min_present_fraction files",
		"check positions sampled_leads sampled_levels allow_all_nan_variables",
	};
	struct place member;
	int kind, r;

	if (at->value.type != JSON_OBJECT)
		return definition_fail(definition, at, err, "is not an object");
	r = definition_need(definition, at, "check", JSON_STRING, &member, err);
	if (r == 0)
		r = definition_word(definition, &member, kinds, &kind, err);
	if (r == 0)
		r = definition_members(definition, at, members[kind], err);
	if (r < 0)
		return r;
	check->kind = (enum check_kind)kind;
	check->name = kinds[kind];
	switch (check->kind) {
	case CHECK_CURRENT_DATA:
		return load_seconds(definition, at, "max_delay_s", -1, &check->max_delay, err);
	case CHECK_COMPLETENESS:
		return load_completeness_check(definition, at, dataset, check, err);
	case CHECK_DECODE_HEALTH:
		break;
	}
	return load_decode_check(definition, at, dataset, check, err);
}

static int load_checks(const struct definition *definition, const struct place *root,
		       struct dataset *dataset, struct error *err)
{
	struct place list;
	size_t n;
	int r = definition_get(definition, root, "validators", JSON_ARRAY, &list, err);

	if (r != 0)
		return r < 0 ? r : 0;
	n = json_count(&list.value);
	dataset->checks = arena_zalloc(definition->arena, n + 1, sizeof(*dataset->checks), err);
	if (!dataset->checks)
		return ERR_MEMORY;
	for (size_t i = 0; i < n && r == 0; i++) {
		struct place item = definition_item(&list, i);

		r = load_check(definition, &item, dataset, &dataset->checks[i], err);
	}
	dataset->n_checks = n;
	return r;
}

static int load_eras(const struct definition *definition, const struct place *root,
		     struct dataset *dataset, struct error *err)
{
	static const char *const completeness[] = {"required", "tolerant", NULL};
	static const char *const withhold[] = {"none", "until_lead_zero", "whole_position", NULL};
	struct scope *scopes;
	size_t n;
	int r = load_scopes(definition, root, "completeness withhold", &scopes, &n, err);

	if (r < 0)
		return r;
	dataset->eras = arena_zalloc(definition->arena, n, sizeof(*dataset->eras), err);
	if (!dataset->eras)
		return ERR_MEMORY;
	for (size_t i = 0; i < n && r == 0; i++) {
		struct dataset_era *era = &dataset->eras[i];
		int word = 0;

		era->from = scopes[i].from;
		era->until = scopes[i].until;
		r = load_word(definition, &scopes[i], "completeness", completeness, &word, err);
		era->completeness = (enum completeness)word;
		if (r == 0)
			r = load_word(definition, &scopes[i], "withhold", withhold, &word, err);
		era->withhold = (enum withholding)word;
	}
	dataset->n_eras = n;
	return r;
}

int load_policy(const struct definition *definition, const struct place *root,
		struct dataset *dataset, struct error *err)
{
	static const char *const record[] = {"none", "last_modified", "etag", NULL};
	const struct scope whole = {.base = root};
	struct place kubernetes;
	int word, r = load_eras(definition, root, dataset, err);

	if (r == 0)
		r = load_word(definition, &whole, "record", record, &word, err);
	if (r < 0)
		return r;
	dataset->record = (enum recording)word;
	r = load_probes(definition, root, dataset, err);
	if (r == 0)
		r = load_known_missing(definition, root, dataset, err);
	if (r == 0)
		r = load_containers(definition, root, dataset, err);
	if (r == 0)
		r = load_splits(definition, root, dataset, err);
	if (r == 0)
		r = load_storage(definition, root, dataset, err);
	if (r == 0)
		r = load_schedule(definition, root, dataset, err);
	if (r == 0)
		r = load_checks(definition, root, dataset, err);
	if (r < 0)
		return r;
	r = definition_get(definition, root, "kubernetes", JSON_OBJECT, &kubernetes, err);
	if (r == 0)
		dataset->kubernetes = kubernetes.value;
	return r < 0 ? r : 0;
}
