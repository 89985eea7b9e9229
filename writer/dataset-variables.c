/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/dataset-load.h"

#include "base/text.h"

#define ERA_MEMBERS "file match leads no_reference_at_lead_0"

/* What variables have that do not say otherwise. */
struct defaults {
	struct slice data_type, fill_value; /* JSON, may be empty */
	struct json codec;		    /* options of the decoder, may have an empty span */
};

static int load_defaults(const struct definition *definition, const struct place *root,
			 struct defaults *defaults, struct error *err)
{
	struct place at, member;
	struct json value;
	int r = definition_get(definition, root, "variable_defaults", JSON_OBJECT, &at, err);

	*defaults = (struct defaults){0};
	if (r != 0)
		return r < 0 ? r : 0;
	r = definition_members(definition, &at, "data_type fill_value codec", err);
	if (r < 0)
		return r;
	r = definition_get(definition, &at, "data_type", JSON_STRING, &member, err);
	if (r == 0)
		defaults->data_type = member.value.span;
	if (r < 0)
		return r;
	r = definition_get(definition, &at, "codec", JSON_OBJECT, &member, err);
	if (r == 0)
		defaults->codec = member.value;
	if (r < 0)
		return r;
	if (json_get(&at.value, "fill_value", &value) == 0)
		defaults->fill_value = value.span;
	return 0;
}

/*
 * A spelling at append label @at_label: a text, or an object with a text and eras of it.  *@text is
 * NULL where the spelling is not in use; *@until is lowered to where its era ends.
 */
static int load_spelling(const struct definition *definition, const struct place *at,
			 int64_t at_label, const char **text, int64_t *until, struct error *err)
{
	struct scope *scope;
	struct place member;
	struct json value;
	size_t n;
	int r;

	*text = NULL;
	if (at->value.type != JSON_OBJECT)
		return definition_text(definition, at, text, err);
	r = definition_members(definition, at, "text eras", err);
	if (r == 0)
		r = load_scopes(definition, at, "text", &scope, &n, err);
	if (r < 0)
		return r;
	while (at_label >= scope->until)
		scope++;
	if (scope->until < *until)
		*until = scope->until;
	member = scope->has_era ? scope->era : *at;
	if ((json_get(&member.value, "text", &value) == 0 ||
	     json_get(&at->value, "text", &value) == 0) &&
	    value.type == JSON_NULL)
		return 0;
	r = scope_get(definition, scope, "text", JSON_STRING, &member, err);
	if (r == DEFINITION_ABSENT)
		return definition_fail(definition, at, err, "has no member 'text'");
	return r < 0 ? r : definition_text(definition, &member, text, err);
}

/* A spelling, or a list of them, as of append label @at_label. */
static int load_spellings(const struct definition *definition, const struct place *at,
			  int64_t at_label, struct text_list *list, int64_t *until,
			  struct error *err)
{
	bool is_list = at->value.type == JSON_ARRAY;
	size_t n = is_list ? json_count(&at->value) : 1;

	list->n = 0;
	list->items = arena_zalloc(definition->arena, n + 1, sizeof(*list->items), err);
	if (!list->items)
		return ERR_MEMORY;
	for (size_t i = 0; i < n; i++) {
		struct place item = is_list ? definition_item(at, i) : *at;
		int r = load_spelling(definition, &item, at_label, &list->items[list->n], until,
				      err);

		if (r < 0)
			return r;
		list->n += list->items[list->n] != NULL;
	}
	if (list->n == 0)
		return definition_fail(definition, at, err,
				       n ? "leaves an era without a text" : "is empty");
	return 0;
}

static int load_match(const struct definition *definition, const struct place *at,
		      enum source_kind kind, int64_t at_label, struct dataset_match *match,
		      int64_t *until, struct error *err)
{
	const char *time = kind == SOURCE_ECMWF_INDEX ? "levelist" : "time";
	const struct {
		const char *key;
		struct text_list *list;
	} lists[] = {
		{"element", &match->elements}, {"level", &match->levels}, {time, &match->times}};
	int r;

	if (at->value.type != JSON_OBJECT)
		return definition_fail(definition, at, err, "is not an object");
	r = definition_members(
		definition, at,
		kind == SOURCE_ECMWF_INDEX ? "element level levelist" : "element level time", err);
	for (size_t i = 0; i < ARRAY_LEN(lists) && r == 0; i++) {
		struct place member = {.up = at, .key = lists[i].key};

		if (json_get(&at->value, lists[i].key, &member.value) == 0)
			r = load_spellings(definition, &member, at_label, lists[i].list, until,
					   err);
		else if (i < 2)
			return definition_fail(definition, at, err, "has no member '%s'",
					       lists[i].key);
	}
	return r;
}

static int load_leads(const struct definition *definition, const struct scope *scope,
		      struct variable_era *era, struct error *err)
{
	struct place at, member;
	int r = scope_get(definition, scope, "leads", JSON_OBJECT, &at, err);

	era->first_lead = TIME_NEVER;
	era->last_lead = TIME_FOREVER;
	if (r != 0)
		return r < 0 ? r : 0;
	r = definition_members(definition, &at, "first last", err);
	if (r < 0)
		return r;
	r = definition_get(definition, &at, "first", JSON_STRING, &member, err);
	if (r == 0)
		r = definition_duration(definition, &member, &era->first_lead, err);
	if (r < 0)
		return r;
	r = definition_get(definition, &at, "last", JSON_STRING, &member, err);
	if (r == 0)
		r = definition_duration(definition, &member, &era->last_lead, err);
	if (r < 0)
		return r;
	if (era->first_lead > era->last_lead)
		return definition_fail(definition, &at, err, "no lead is in it");
	return 0;
}

static int load_type(const struct definition *definition, const struct scope *scope,
		     const struct dataset *dataset, struct variable_era *era, struct error *err)
{
	struct place member;
	struct json value;
	const char *name;
	int r;

	era->type = -1;
	if (scope->has_era && json_get(&scope->era.value, "file", &value) == 0 &&
	    value.type == JSON_NULL)
		return 0;
	r = scope_get(definition, scope, "file", JSON_STRING, &member, err);
	if (r == DEFINITION_ABSENT)
		return definition_fail(definition, scope->base, err, "has no member 'file'");
	if (r == 0)
		r = definition_text(definition, &member, &name, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < dataset->files.n_types; i++)
		if (strcmp(dataset->files.types[i].name, name) == 0)
			era->type = (int)i;
	if (era->type < 0)
		return definition_fail(definition, &member, err, "'%s' is no type of file", name);
	return 0;
}

/* The era from @from on; it ends with the scope, or where a spelling changes. */
static int load_era(const struct definition *definition, const struct scope *scope, int64_t from,
		    const struct dataset *dataset, struct variable_era *era, struct error *err)
{
	bool is_named = dataset->files.kind != SOURCE_WHOLE_OBJECT &&
			dataset->files.kind != SOURCE_ZARR_CHUNKS;
	struct place member;
	int r;

	era->from = from;
	era->until = scope->until;
	r = load_type(definition, scope, dataset, era, err);
	if (r == 0)
		r = load_leads(definition, scope, era, err);
	if (r < 0)
		return r;
	r = scope_get(definition, scope, "no_reference_at_lead_0", JSON_BOOL, &member, err);
	if (r == 0)
		r = json_bool(&member.value, &era->no_reference_at_lead_0, err);
	if (r < 0)
		return r;
	r = scope_get(definition, scope, "match", JSON_OBJECT, &member, err);
	if (r == 0)
		return load_match(definition, &member, dataset->files.kind, from, &era->match,
				  &era->until, err);
	if (r == DEFINITION_ABSENT && is_named)
		return definition_fail(definition, scope->base, err, "has no member 'match'");
	return r < 0 ? r : 0;
}

/* Appends an era; the room for them doubles. */
static int add_era(const struct definition *definition, struct dataset_variable *variable,
		   const struct variable_era *era, struct error *err)
{
	size_t n = variable->n_eras;

	if ((n & (n - 1)) == 0) {
		struct variable_era *eras =
			arena_zalloc(definition->arena, n ? 2 * n : 1, sizeof(*eras), err);

		if (!eras)
			return ERR_MEMORY;
		if (n > 0)
			memcpy(eras, variable->eras, n * sizeof(*eras));
		variable->eras = eras;
	}
	variable->eras[variable->n_eras++] = *era;
	return 0;
}

static int load_eras(const struct definition *definition, const struct place *at,
		     const struct dataset *dataset, struct dataset_variable *variable,
		     struct error *err)
{
	struct scope *scopes;
	size_t n;
	int r = load_scopes(definition, at, ERA_MEMBERS, &scopes, &n, err);

	for (size_t i = 0; r == 0 && i < n; i++) {
		for (int64_t from = scopes[i].from; r == 0 && from < scopes[i].until;) {
			struct variable_era era = {0};

			r = load_era(definition, &scopes[i], from, dataset, &era, err);
			if (r == 0)
				r = add_era(definition, variable, &era, err);
			from = era.until;
		}
	}
	return r;
}

/* The filters, then the decoder with the variable's options, or the defaults and its element. */
static int write_codecs(const struct place *at, const struct defaults *defaults,
			const char *element, struct buf *out, struct error *err)
{
	struct json filters, codec = {0}, key, value;
	int r = buf_append_text(out, "[", err);

	if (r == 0 && json_get(&at->value, "filters", &filters) == 0) {
		JSON_EACH (&filters, NULL, value) {
			if (r == 0)
				r = buf_append_slice(out, value.span, err);
			if (r == 0)
				r = buf_append_text(out, ", ", err);
		}
	}
	if (r == 0)
		r = buf_append_text(out, "{\"name\": \"gribberish\", \"configuration\": ", err);
	if (r < 0)
		return r;
	if (json_get(&at->value, "codec", &codec) == 0) {
		r = buf_append_slice(out, codec.span, err);
	} else {
		r = buf_append_text(out, "{\"var\": ", err);
		if (r == 0)
			r = json_write_text(out, slice_text(element), err);
		codec = defaults->codec;
		JSON_EACH (&codec, &key, value) {
			if (r == 0)
				r = buf_printf(out, err, ", %.*s: %.*s", (int)key.span.size,
					       (const char *)key.span.data, (int)value.span.size,
					       (const char *)value.span.data);
		}
		if (r == 0)
			r = buf_append_text(out, "}", err);
	}
	return r < 0 ? r : buf_append_text(out, "}]", err);
}

static int load_codecs(const struct definition *definition, const struct place *at,
		       const struct defaults *defaults, struct dataset_variable *variable,
		       struct error *err)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT(1U << 16);
	const char *element = variable->name;
	struct place member;
	char *copy;
	int r;

	r = definition_get(definition, at, "filters", JSON_ARRAY, &member, err);
	if (r < 0)
		return r;
	r = definition_get(definition, at, "codec", JSON_OBJECT, &member, err);
	if (r < 0)
		return r;
	r = definition_get(definition, at, "codecs", JSON_ARRAY, &member, err);
	if (r == 0)
		variable->codecs = member.value.span;
	if (r != DEFINITION_ABSENT)
		return r;
	for (size_t i = variable->n_eras; i-- > 0;)
		if (variable->eras[i].match.elements.n > 0)
			element = variable->eras[i].match.elements.items[0];
	r = write_codecs(at, defaults, element, &text, err);
	if (r < 0)
		return r;
	copy = arena_dup(definition->arena, buf_slice(&text), err);
	if (!copy)
		return ERR_MEMORY;
	variable->codecs = slice_of(copy, text.size);
	return 0;
}

static int load_encoding(const struct definition *definition, const struct place *at,
			 const struct defaults *defaults, struct dataset_variable *variable,
			 struct error *err)
{
	struct place member;
	struct json value;
	int r;

	variable->data_type = defaults->data_type;
	variable->fill_value = defaults->fill_value;
	r = definition_get(definition, at, "data_type", JSON_STRING, &member, err);
	if (r == 0)
		variable->data_type = member.value.span;
	if (r < 0)
		return r;
	if (json_get(&at->value, "fill_value", &value) == 0)
		variable->fill_value = value.span;
	if (variable->data_type.size == 0 || variable->fill_value.size == 0)
		return definition_fail(definition, at, err, "has no data_type or no fill_value");
	return load_codecs(definition, at, defaults, variable, err);
}

/* "a" is in the root, "g/a" in the group "g". */
static int load_path(const struct definition *definition, const struct place *at,
		     const struct dataset *dataset, struct dataset_variable *variable,
		     struct error *err)
{
	struct place member;
	const char *slash;
	int r = definition_need(definition, at, "path", JSON_STRING, &member, err);

	if (r == 0)
		r = definition_text(definition, &member, &variable->path, err);
	if (r < 0)
		return r;
	slash = strchr(variable->path, '/');
	variable->name = slash ? slash + 1 : variable->path;
	variable->group = slash ? UINT32_MAX : 0;
	for (uint32_t i = 1; i < dataset->n_groups; i++) {
		size_t n = strlen(dataset->groups[i].path);

		if (slash && (size_t)(slash - variable->path) == n &&
		    memcmp(dataset->groups[i].path, variable->path, n) == 0)
			variable->group = i;
		if (strcmp(dataset->groups[i].path, variable->path) == 0)
			return definition_fail(definition, &member, err, "is the name of a group");
	}
	if (variable->group == UINT32_MAX || variable->name[0] == '\0' ||
	    strchr(variable->name, '/'))
		return definition_fail(definition, &member, err, "is in no group");
	for (uint32_t i = 0; i < dataset->n_coordinates; i++)
		if (strcmp(dataset->coordinates[i].name, variable->name) == 0)
			return definition_fail(definition, &member, err,
					       "is the name of a coordinate");
	if (dataset_variable(dataset, variable->path) >= 0)
		return definition_fail(definition, &member, err, "repeats '%s'", variable->path);
	return 0;
}

static int load_window(const struct definition *definition, const struct place *at,
		       struct dataset_variable *variable, struct error *err)
{
	static const char *const steps[] = {"instant", "accum", "avg", "max", "min", NULL};
	struct place attributes, member;
	int word, r;

	r = definition_need(definition, at, "attributes", JSON_OBJECT, &attributes, err);
	if (r < 0)
		return r;
	variable->attributes = attributes.value.span;
	r = definition_need(definition, &attributes, "step_type", JSON_STRING, &member, err);
	if (r == 0)
		r = definition_word(definition, &member, steps, &word, err);
	if (r < 0)
		return r;
	variable->step = (enum step_type)word;
	r = definition_get(definition, at, "reset", JSON_STRING, &member, err);
	if (r != 0)
		return r < 0 ? r : 0;
	if (json_is_text(&member.value, "never")) {
		variable->reset = TIME_FOREVER;
		return 0;
	}
	r = definition_duration(definition, &member, &variable->reset, err);
	if (r == 0 && variable->reset <= 0)
		return definition_fail(definition, &member, err, "is not positive");
	return r;
}

/* Without a window or a spelled time there is no way to tell a windowed message from others. */
static int check_window(const struct definition *definition, const struct place *at,
			const struct dataset *dataset, const struct dataset_variable *variable,
			struct error *err)
{
	if (dataset->files.kind != SOURCE_NOAA_IDX || variable->reset != 0 ||
	    variable->step == STEP_INSTANT)
		return 0;
	for (size_t i = 0; i < variable->n_eras; i++)
		if (variable->eras[i].type >= 0 && variable->eras[i].match.times.n == 0)
			return definition_fail(definition, at, err,
					       "has no member 'reset', and is not instant");
	return 0;
}

static int load_variable(const struct definition *definition, const struct place *at,
			 const struct defaults *defaults, struct dataset *dataset,
			 struct error *err)
{
	struct dataset_variable *variable = &dataset->variables[dataset->n_variables];
	int r;

	if (at->value.type != JSON_OBJECT)
		return definition_fail(definition, at, err, "is not an object");
	r = definition_members(definition, at,
			       "path attributes data_type fill_value filters codec codecs reset "
			       "eras " ERA_MEMBERS,
			       err);
	if (r == 0)
		r = load_path(definition, at, dataset, variable, err);
	if (r == 0)
		r = load_window(definition, at, variable, err);
	if (r == 0)
		r = load_eras(definition, at, dataset, variable, err);
	if (r == 0)
		r = check_window(definition, at, dataset, variable, err);
	if (r == 0)
		r = load_encoding(definition, at, defaults, variable, err);
	if (r == 0)
		dataset->n_variables++;
	return r;
}

static bool overlaps(const struct variable_era *a, const struct variable_era *b)
{
	return a->type >= 0 && a->type == b->type && a->from < b->until && b->from < a->until &&
	       a->first_lead <= b->last_lead && b->first_lead <= a->last_lead;
}

static bool share_a_file(const struct dataset_variable *a, const struct dataset_variable *b)
{
	for (size_t i = 0; i < a->n_eras; i++)
		for (size_t k = 0; k < b->n_eras; k++)
			if (overlaps(&a->eras[i], &b->eras[k]))
				return true;
	return false;
}

/* A whole object is one chunk: of one variable, at one level. */
static int check_whole(const struct definition *definition, const struct place *list,
		       const struct dataset *dataset, struct error *err)
{
	const struct dataset_files *files = &dataset->files;

	if (files->kind != SOURCE_WHOLE_OBJECT && files->kind != SOURCE_ZARR_CHUNKS)
		return 0;
	for (uint32_t v = 0; v < dataset->n_variables; v++) {
		int level = dataset->groups[dataset->variables[v].group].level;
		bool pinned = level < 0;
		struct place at = definition_item(list, v);

		for (uint32_t d = 0; d < files->n_dims; d++)
			pinned |= (int)files->dims[d] == level;
		if (!pinned)
			return definition_fail(definition, &at, err,
					       "one object cannot hold all of its levels");
		for (uint32_t w = 0; w < v; w++)
			if (share_a_file(&dataset->variables[v], &dataset->variables[w]))
				return definition_fail(definition, &at, err,
						       "is in the same object as '%s'",
						       dataset->variables[w].path);
	}
	return 0;
}

int load_variables(const struct definition *definition, const struct place *root,
		   struct dataset *dataset, struct error *err)
{
	struct defaults defaults;
	struct place list;
	size_t n;
	int r = load_defaults(definition, root, &defaults, err);

	if (r == 0)
		r = definition_need(definition, root, "variables", JSON_ARRAY, &list, err);
	if (r < 0)
		return r;
	n = json_count(&list.value);
	if (n == 0)
		return definition_fail(definition, &list, err, "is empty");
	dataset->variables = arena_zalloc(definition->arena, n, sizeof(*dataset->variables), err);
	if (!dataset->variables)
		return ERR_MEMORY;
	for (size_t i = 0; i < n && r == 0; i++) {
		struct place at = definition_item(&list, i);

		r = load_variable(definition, &at, &defaults, dataset, err);
	}
	return r < 0 ? r : check_whole(definition, &list, dataset, err);
}
