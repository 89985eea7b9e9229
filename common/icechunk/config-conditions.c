/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "icechunk/config-internal.h"

/* The condition of a repository without configuration (formats, section 8.4). */
static const char default_preload[] =
	"{\"and\":[{\"num_refs\":{\"from\":\"Unbounded\",\"to\":{\"Included\":1000}}},{\"or\":["
	"{\"name_matches\":{\"regex\":\"^\\\\bt\\\\b$|^(time|min|hour|day|week|month|year)[0-9]*$"
	"\"}},"
	"{\"name_matches\":{\"regex\":\"^(z|nav_lev|gdep|lv_|[o]*lev|bottom_top|sigma|h(ei)?ght|"
	"altitude|depth|isobaric|pres|isotherm)[a-z_]*[0-9]*$\"}},"
	"{\"name_matches\":{\"regex\":\"^(y|j|nlat|rlat|nj)$\"}},"
	"{\"name_matches\":{\"regex\":\"^y?(nav_lat|lat|gphi)[a-z0-9]*$\"}},"
	"{\"name_matches\":{\"regex\":\"^x?(nav_lon|lon|glam)[a-z0-9]*$\"}},"
	"{\"name_matches\":{\"regex\":\"^(x|i|nlon|rlon|ni)$\"}}]}]}";

/* A pattern that is none is kept as NULL: it never matches. */
static int compile(struct config *config, const struct json *value, struct regex **ret_regex,
		   struct error *err)
{
	struct error ignored = ERROR_INIT;
	struct regex *regex;
	const char *pattern;
	int r;

	r = config_text(config, value, &pattern, err);
	if (r < 0)
		return r;
	*ret_regex = NULL;
	r = regex_new(slice_text(pattern), &regex, &ignored);
	if (r == ERR_MEMORY)
		return error_memory(err);
	if (r < 0)
		return 0;
	r = regexes_push(&config->regexes, regex, err);
	if (r < 0) {
		regex_free(regex);
		return r;
	}
	*ret_regex = regex;
	return 0;
}

static int parse_pattern(struct config *config, const struct json *value,
			 struct condition *condition, struct error *err)
{
	struct json regex;

	if (config_get(value, "regex", &regex) != 0)
		return error_set(err, ERR_FORMAT, "condition without regex");
	return compile(config, &regex, &condition->regex, err);
}

/* One end of a range; @step is what an excluded bound moves by. */
static int parse_bound(struct config *config, const struct json *record, const char *name, int step,
		       uint64_t *bound, bool *ret_empty, struct error *err)
{
	struct json value, number;
	const char *variant;
	int r;

	if (config_get(record, name, &value) != 0)
		return 0;
	r = config_variant(config, &value, &variant, &number, err);
	if (r < 0 || strcmp(variant, "Unbounded") == 0)
		return r;
	if (strcmp(variant, "Included") != 0 && strcmp(variant, "Excluded") != 0)
		return error_set(err, ERR_FORMAT, "unknown bound '%s'", variant);
	r = json_u64(&number, bound, err);
	if (r < 0 || variant[0] == 'I')
		return r;
	*ret_empty |= step < 0 ? *bound == 0 : *bound == UINT64_MAX;
	*bound += (uint64_t)(int64_t)step;
	return 0;
}

static int parse_range(struct config *config, const struct json *record,
		       struct condition *condition, struct error *err)
{
	bool empty = false;
	int r;

	condition->from = 0;
	condition->to = UINT64_MAX;
	r = parse_bound(config, record, "from", 1, &condition->from, &empty, err);
	if (r == 0)
		r = parse_bound(config, record, "to", -1, &condition->to, &empty, err);
	if (r == 0 && empty)
		condition->kind = CONDITION_NEVER;
	return r < 0 ? error_prefix(err, "num_refs") : 0;
}

static int parse_condition(struct config *config, const struct json *value, unsigned int depth,
			   struct condition *ret_condition, struct error *err);

static int parse_children(struct config *config, const struct json *list, unsigned int depth,
			  struct condition *condition, struct error *err)
{
	struct json item;
	int r;

	if (list->type != JSON_ARRAY)
		return error_set(err, ERR_FORMAT, "condition without a list");
	if (depth >= CONFIG_DEPTH_MAX)
		return error_set(err, ERR_FORMAT, "conditions are too deep");
	condition->children = arena_zalloc(&config->arena, json_count(list) + 1,
					   sizeof(*condition->children), err);
	if (!condition->children)
		return ERR_MEMORY;
	JSON_EACH (list, NULL, item) {
		r = parse_condition(config, &item, depth + 1,
				    &condition->children[condition->n_children], err);
		if (r < 0)
			return r;
		condition->n_children++;
	}
	return 0;
}

static const struct {
	const char *name;
	enum condition_kind kind;
} condition_names[] = {
	{"or", CONDITION_OR},
	{"and", CONDITION_AND},
	{"path_matches", CONDITION_PATH},
	{"name_matches", CONDITION_NAME},
	{"any_array", CONDITION_ANY},
	{"true", CONDITION_ANY},
	{"false", CONDITION_NEVER},
	{"num_refs", CONDITION_N_REFS},
};

static int find_kind(const char *name, enum condition_kind *ret_kind, struct error *err)
{
	for (size_t i = 0; i < ARRAY_LEN(condition_names); i++) {
		if (strcmp(condition_names[i].name, name) != 0)
			continue;
		*ret_kind = condition_names[i].kind;
		return 0;
	}
	return error_set(err, ERR_FORMAT, "unknown condition '%s'", name);
}

static int parse_condition(struct config *config, const struct json *value, unsigned int depth,
			   struct condition *ret_condition, struct error *err)
{
	struct condition condition = {0};
	const char *name;
	struct json inner;
	int r;

	if (value->type == JSON_BOOL) { /* YAML reads the variants true and false so */
		ret_condition->kind =
			slice_is(value->span, "true") ? CONDITION_ANY : CONDITION_NEVER;
		return 0;
	}
	r = config_variant(config, value, &name, &inner, err);
	if (r == 0)
		r = find_kind(name, &condition.kind, err);
	if (r < 0)
		return r;
	if (condition.kind == CONDITION_OR || condition.kind == CONDITION_AND)
		r = parse_children(config, &inner, depth, &condition, err);
	else if (condition.kind == CONDITION_PATH || condition.kind == CONDITION_NAME)
		r = parse_pattern(config, &inner, &condition, err);
	else if (condition.kind == CONDITION_N_REFS)
		r = parse_range(config, &inner, &condition, err);
	if (r < 0)
		return r;
	*ret_condition = condition;
	return 0;
}

static int parse_axis_kind(struct config *config, const struct json *value, struct axis_rule *rule,
			   struct error *err)
{
	const char *name;
	struct json inner;
	int r;

	r = config_variant(config, value, &name, &inner, err);
	if (r < 0)
		return r;
	if (strcmp(name, "Any") == 0) {
		rule->kind = AXIS_ANY;
		return 0;
	}
	if (strcmp(name, "Axis") == 0) {
		rule->kind = AXIS_NUMBER;
		return json_u64(&inner, &rule->number, err);
	}
	if (strcmp(name, "DimensionName") == 0) {
		rule->kind = AXIS_NAME;
		return compile(config, &inner, &rule->regex, err);
	}
	return error_set(err, ERR_FORMAT, "unknown dimension condition '%s'", name);
}

static int parse_axis(struct config *config, const struct json *record, struct axis_rule *rule,
		      struct error *err)
{
	struct json condition, size;
	uint64_t n;
	int r;

	if (config_get(record, "condition", &condition) != 0 ||
	    config_get(record, "num_chunks", &size) != 0)
		return error_set(err, ERR_FORMAT, "dimension without condition or num_chunks");
	r = parse_axis_kind(config, &condition, rule, err);
	if (r == 0)
		r = json_u64(&size, &n, err);
	if (r < 0)
		return r;
	if (n == 0 || n > UINT32_MAX)
		return error_set(err, ERR_FORMAT, "num_chunks is out of range");
	rule->size = (uint32_t)n;
	return 0;
}

static int parse_rule(struct config *config, const struct json *pair, struct split_rule *rule,
		      struct error *err)
{
	struct json condition, axes, axis;
	int r;

	if (json_count(pair) != 2 || json_at(pair, 0, &condition) != 0 ||
	    json_at(pair, 1, &axes) != 0 || axes.type != JSON_ARRAY)
		return error_set(err, ERR_FORMAT, "rule is no pair of condition and list");
	r = parse_condition(config, &condition, 0, &rule->condition, err);
	if (r < 0)
		return r;
	rule->axes = arena_zalloc(&config->arena, json_count(&axes) + 1, sizeof(*rule->axes), err);
	if (!rule->axes)
		return ERR_MEMORY;
	JSON_EACH (&axes, NULL, axis) {
		r = parse_axis(config, &axis, &rule->axes[rule->n_axes], err);
		if (r < 0)
			return r;
		rule->n_axes++;
	}
	return 0;
}

int config_parse_splitting(struct config *config, const struct json *splitting, struct error *err)
{
	struct json sizes, pair;
	int r;

	if (splitting->type != JSON_OBJECT)
		return error_set(err, ERR_FORMAT, "no record");
	if (config_get(splitting, "split_sizes", &sizes) != 0)
		return 0;
	if (sizes.type != JSON_ARRAY)
		return error_set(err, ERR_FORMAT, "split_sizes is no list");
	config->rules =
		arena_zalloc(&config->arena, json_count(&sizes) + 1, sizeof(*config->rules), err);
	if (!config->rules)
		return ERR_MEMORY;
	JSON_EACH (&sizes, NULL, pair) {
		r = parse_rule(config, &pair, &config->rules[config->n_rules], err);
		if (r < 0)
			return r;
		config->n_rules++;
	}
	return 0;
}

int config_parse_preload(struct config *config, const struct json *condition, struct error *err)
{
	struct json standard;
	int r;

	if (condition)
		return parse_condition(config, condition, 0, &config->preload, err);
	r = json_parse(slice_text(default_preload), &standard, err);
	return r < 0 ? r : parse_condition(config, &standard, 0, &config->preload, err);
}

static struct slice last_component(struct slice path)
{
	const uint8_t *slash = path.size ? memrchr(path.data, '/', path.size) : NULL;

	return slash ? slice_sub(path, (size_t)(slash - path.data) + 1, SIZE_MAX) : path;
}

static int match_pattern(const struct regex *regex, struct slice text, bool *ret_yes,
			 struct error *err)
{
	*ret_yes = false;
	return regex ? regex_search(regex, text, ret_yes, err) : 0;
}

static int evaluate(const struct condition *condition, struct slice path, uint64_t n_refs,
		    bool *ret_yes, struct error *err);

static int evaluate_children(const struct condition *condition, struct slice path, uint64_t n_refs,
			     bool *ret_yes, struct error *err)
{
	bool yes = condition->kind == CONDITION_AND;
	int r;

	for (size_t i = 0; i < condition->n_children; i++) {
		r = evaluate(&condition->children[i], path, n_refs, &yes, err);
		if (r < 0)
			return r;
		if (yes == (condition->kind == CONDITION_OR))
			break;
	}
	*ret_yes = yes;
	return 0;
}

static int evaluate(const struct condition *condition, struct slice path, uint64_t n_refs,
		    bool *ret_yes, struct error *err)
{
	switch (condition->kind) {
	case CONDITION_OR:
	case CONDITION_AND:
		return evaluate_children(condition, path, n_refs, ret_yes, err);
	case CONDITION_PATH:
		return match_pattern(condition->regex, path, ret_yes, err);
	case CONDITION_NAME:
		return match_pattern(condition->regex, last_component(path), ret_yes, err);
	case CONDITION_N_REFS:
		*ret_yes = n_refs >= condition->from && n_refs <= condition->to;
		return 0;
	default:
		*ret_yes = condition->kind == CONDITION_ANY;
		return 0;
	}
}

static int axis_matches(const struct axis_rule *rule, uint32_t axis, struct slice name,
			bool *ret_yes, struct error *err)
{
	*ret_yes = rule->kind == AXIS_ANY || (rule->kind == AXIS_NUMBER && rule->number == axis);
	if (rule->kind != AXIS_NAME || !name.data)
		return 0;
	return match_pattern(rule->regex, name, ret_yes, err);
}

/* The first of the rule's entries that matches decides the axis. */
static int decide_axis(const struct split_rule *rule, uint32_t axis, struct slice name,
		       uint32_t *ret_size, bool *ret_decided, struct error *err)
{
	bool yes = false;
	int r;

	for (size_t i = 0; i < rule->n_axes; i++) {
		r = axis_matches(&rule->axes[i], axis, name, &yes, err);
		if (r < 0)
			return r;
		if (!yes)
			continue;
		*ret_size = rule->axes[i].size;
		*ret_decided = true;
		return 0;
	}
	return 0;
}

static int decide(const struct config *config, struct slice path, uint32_t axis, struct slice name,
		  uint32_t *ret_size, struct error *err)
{
	bool decided = false, yes;
	int r;

	*ret_size = UINT32_MAX;
	for (size_t i = 0; i < config->n_rules && !decided; i++) {
		r = evaluate(&config->rules[i].condition, path, 0, &yes, err);
		if (r == 0 && yes)
			r = decide_axis(&config->rules[i], axis, name, ret_size, &decided, err);
		if (r < 0)
			return r;
	}
	return 0;
}

int config_split(const struct config *config, struct slice path, const struct slice *names,
		 uint32_t n_dims, uint32_t *ret_sizes, struct error *err)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < n_dims; i++)
		r = decide(config, path, i, names ? names[i] : (struct slice){0}, &ret_sizes[i],
			   err);
	return r;
}

int config_preloads(const struct config *config, struct slice path, uint32_t n_refs, bool *ret_yes,
		    struct error *err)
{
	return evaluate(&config->preload, path, n_refs, ret_yes, err);
}
