/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The parts of a configuration, shared by the files that implement it
 */

#include "base/arena.h"
#include "base/json.h"
#include "base/regex.h"
#include "base/vec.h"
#include "icechunk/config.h"

#define CONFIG_DEPTH_MAX 64

enum condition_kind {
	CONDITION_OR,
	CONDITION_AND,
	CONDITION_PATH,
	CONDITION_NAME,
	CONDITION_ANY, /* also "true" */
	CONDITION_NEVER,
	CONDITION_N_REFS,
};

/* On arrays: for splitting, and for preloading, which alone counts references. */
struct condition {
	enum condition_kind kind;
	struct regex *regex; /* NULL: a pattern that is none, which never matches */
	struct condition *children;
	size_t n_children;
	uint64_t from, to; /* references, both included; none if from > to */
};

enum axis_kind { AXIS_NUMBER, AXIS_NAME, AXIS_ANY };

struct axis_rule {
	enum axis_kind kind;
	uint64_t number;
	struct regex *regex;
	uint32_t size; /* chunks a window */
};

struct split_rule {
	struct condition condition;
	struct axis_rule *axes;
	size_t n_axes;
};

DEFINE_VEC(regexes, struct regex *);

enum config_form { CONFIG_JSON, CONFIG_YAML, CONFIG_FLEX };

struct config {
	struct arena arena;
	struct buf text; /* the record as JSON */
	struct json root;
	enum config_form form; /* that it was read in */
	struct buf raw;	       /* the bytes of that form */
	struct config_values values;
	bool has_splitting;
	struct split_rule *rules;
	size_t n_rules;
	struct condition preload;
	struct regexes regexes; /* all of them, to free */
};

/* Member @name of a record: 0, or JSON_ABSENT if it is not there or null. */
int config_get(const struct json *record, const char *name, struct json *ret_value);
/* Text of a JSON string in the configuration's memory.  ERR_FORMAT. */
int config_text(struct config *config, const struct json *value, const char **ret_text,
		struct error *err);
/* An enum in JSON: a string, or an object of one member.  @ret_value: that member's, else null. */
int config_variant(struct config *config, const struct json *value, const char **ret_name,
		   struct json *ret_value, struct error *err);

/* Parts of parsing. */
int config_parse_containers(struct config *config, struct error *err);
int config_parse_splitting(struct config *config, const struct json *splitting, struct error *err);
int config_parse_preload(struct config *config, const struct json *condition, struct error *err);

/* As config_from_json() for a record that came from a repository, whatever a newer library put
 * there. */
int config_from_record(struct slice json, struct config **ret_config, struct error *err);
/* Appends @json with the members added that the public library cannot do without. */
int config_complete(struct slice json, struct buf *out, struct error *err);

/* YAML to JSON text and back. */
int config_yaml_to_json(struct slice yaml, struct buf *out, struct error *err);
int config_json_to_yaml(const struct json *record, struct buf *out, struct error *err);
