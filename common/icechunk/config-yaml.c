/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <stdlib.h>
#include <strings.h>
#include <yaml.h>

#include "base/text.h"
#include "icechunk/config-internal.h"

/*
 * Reading: plain scalars are resolved as YAML 1.2's core schema does; a local tag (!s3) makes an
 * object of one member, or a text where it stands alone.
 */
struct reader {
	yaml_document_t document;
	struct buf *out;
	unsigned int depth;
	struct error *err;
};

static int write_node(struct reader *r, int index);

static bool is_one_of(const char *text, const char *const *words)
{
	for (; *words; words++)
		if (strcmp(text, *words) == 0)
			return true;
	return false;
}

static bool is_null(const char *text)
{
	static const char *const words[] = {"", "~", "null", "Null", "NULL", NULL};

	return is_one_of(text, words);
}

/* Digits without superfluous zeros in front, so that the text is a JSON number as well. */
static bool is_integer(const char *text)
{
	text += *text == '-';
	if (text[0] == '0')
		return text[1] == '\0';
	return *text && text[strspn(text, "0123456789")] == '\0';
}

static int write_plain(struct reader *r, const char *text)
{
	static const char *const yes[] = {"true", "True", "TRUE", NULL};
	static const char *const no[] = {"false", "False", "FALSE", NULL};
	static const char *const infinite[] = {".inf", ".Inf", ".INF", "+.inf", NULL};
	static const char *const undefined[] = {".nan", ".NaN", ".NAN", NULL};
	double number;

	if (is_null(text))
		return buf_append_text(r->out, "null", r->err);
	if (is_one_of(text, yes) || is_one_of(text, no))
		return buf_append_text(r->out, is_one_of(text, yes) ? "true" : "false", r->err);
	if (is_integer(text))
		return buf_append_text(r->out, text, r->err);
	if (is_one_of(text, infinite))
		return buf_append_text(r->out, "Infinity", r->err);
	if (is_one_of(text, undefined))
		return buf_append_text(r->out, "NaN", r->err);
	if (text[strspn(text, "0123456789+-.eE")] == '\0' && strpbrk(text, ".eE") &&
	    text_double(slice_text(text), &number, NULL) == 0)
		return json_write_double(r->out, number, r->err);
	return json_write_text(r->out, slice_text(text), r->err);
}

static int write_scalar(struct reader *r, const yaml_node_t *node)
{
	struct slice text = slice_of(node->data.scalar.value, node->data.scalar.length);

	if (node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
	    strlen((const char *)text.data) == text.size)
		return write_plain(r, (const char *)text.data);
	return json_write_text(r->out, text, r->err);
}

static int write_sequence(struct reader *r, const yaml_node_t *node)
{
	const yaml_node_item_t *item = node->data.sequence.items.start;
	int ret = buf_append_byte(r->out, '[', r->err);

	for (; ret == 0 && item < node->data.sequence.items.top; item++) {
		if (item > node->data.sequence.items.start)
			ret = buf_append_byte(r->out, ',', r->err);
		if (ret == 0)
			ret = write_node(r, *item);
	}
	return ret < 0 ? ret : buf_append_byte(r->out, ']', r->err);
}

static int write_key(struct reader *r, int index)
{
	const yaml_node_t *node = yaml_document_get_node(&r->document, index);

	if (!node || node->type != YAML_SCALAR_NODE)
		return error_set(r->err, ERR_FORMAT, "a key that is no text");
	return json_write_text(r->out, slice_of(node->data.scalar.value, node->data.scalar.length),
			       r->err);
}

static int write_mapping(struct reader *r, const yaml_node_t *node)
{
	const yaml_node_pair_t *pair = node->data.mapping.pairs.start;
	int ret = buf_append_byte(r->out, '{', r->err);

	for (; ret == 0 && pair < node->data.mapping.pairs.top; pair++) {
		if (pair > node->data.mapping.pairs.start)
			ret = buf_append_byte(r->out, ',', r->err);
		if (ret == 0)
			ret = write_key(r, pair->key);
		if (ret == 0)
			ret = buf_append_byte(r->out, ':', r->err);
		if (ret == 0)
			ret = write_node(r, pair->value);
	}
	return ret < 0 ? ret : buf_append_byte(r->out, '}', r->err);
}

static int write_untagged(struct reader *r, const yaml_node_t *node)
{
	switch (node->type) {
	case YAML_SCALAR_NODE:
		return write_scalar(r, node);
	case YAML_SEQUENCE_NODE:
		return write_sequence(r, node);
	case YAML_MAPPING_NODE:
		return write_mapping(r, node);
	default:
		return error_set(r->err, ERR_FORMAT, "an empty node");
	}
}

/* "!variant value" */
static int write_variant(struct reader *r, const yaml_node_t *node, struct slice name)
{
	int ret;

	if (node->type == YAML_SCALAR_NODE && node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
	    is_null((const char *)node->data.scalar.value))
		return json_write_text(r->out, name, r->err);
	ret = buf_append_byte(r->out, '{', r->err);
	if (ret == 0)
		ret = json_write_text(r->out, name, r->err);
	if (ret == 0)
		ret = buf_append_byte(r->out, ':', r->err);
	if (ret == 0)
		ret = write_untagged(r, node);
	return ret < 0 ? ret : buf_append_byte(r->out, '}', r->err);
}

static int write_node(struct reader *r, int index)
{
	const yaml_node_t *node = yaml_document_get_node(&r->document, index);
	const char *tag;
	int ret;

	if (!node)
		return error_set(r->err, ERR_FORMAT, "an empty node");
	/* An alias may lead to what it stands in. */
	if (r->depth >= CONFIG_DEPTH_MAX)
		return error_set(r->err, ERR_FORMAT, "too deep");
	tag = (const char *)node->tag;
	r->depth++;
	if (tag && tag[0] == '!' && tag[1])
		ret = write_variant(r, node, slice_text(tag + 1));
	else
		ret = write_untagged(r, node);
	r->depth--;
	return ret;
}

static int write_document(struct reader *r)
{
	/* Nothing but comments is a record of nothing. */
	if (!yaml_document_get_root_node(&r->document))
		return buf_append_text(r->out, "{}", r->err);
	return write_node(r, 1);
}

int config_yaml_to_json(struct slice yaml, struct buf *out, struct error *err)
{
	struct reader reader = {.out = out, .err = err};
	size_t before = out->size;
	yaml_parser_t parser;
	int r;

	if (!yaml_parser_initialize(&parser))
		return error_memory(err);
	yaml_parser_set_input_string(&parser, yaml.data ? yaml.data : (const uint8_t *)"",
				     yaml.size);
	if (!yaml_parser_load(&parser, &reader.document)) {
		r = error_set(err, ERR_FORMAT, "line %zu: %s", parser.problem_mark.line + 1,
			      parser.problem ? parser.problem : "broken YAML");
		yaml_parser_delete(&parser);
		return r;
	}
	r = write_document(&reader);
	yaml_document_delete(&reader.document);
	yaml_parser_delete(&parser);
	if (r == 0 && slice_is(slice_sub(buf_slice(out), before, SIZE_MAX), "null")) {
		out->size = before;
		r = buf_append_text(out, "{}", err);
	}
	return r;
}

/*
 * Writing: block style as the public library's.  Where the record has an enum, its variant becomes
 * a tag; the kinds below say where those stand.
 */
enum shape {
	SHAPE_PLAIN, /* no enums below */
	SHAPE_ROOT,
	SHAPE_CONTAINERS,
	SHAPE_CONTAINER,
	SHAPE_ENUM, /* an enum whose variants hold nothing of note */
	SHAPE_MANIFEST,
	SHAPE_SPLITTING,
	SHAPE_RULES,
	SHAPE_RULE,
	SHAPE_AXES,
	SHAPE_AXIS,
	SHAPE_PRELOAD,
	SHAPE_CONDITION, /* an enum */
	SHAPE_CONDITIONS,
	SHAPE_BOUNDS,
};

static const struct {
	enum shape shape;
	const char *member; /* NULL: every member or item */
	enum shape inner;
} shapes[] = {
	{SHAPE_ROOT, "virtual_chunk_containers", SHAPE_CONTAINERS},
	{SHAPE_ROOT, "manifest", SHAPE_MANIFEST},
	{SHAPE_CONTAINERS, NULL, SHAPE_CONTAINER},
	{SHAPE_CONTAINER, "store", SHAPE_ENUM},
	{SHAPE_MANIFEST, "splitting", SHAPE_SPLITTING},
	{SHAPE_MANIFEST, "preload", SHAPE_PRELOAD},
	{SHAPE_SPLITTING, "split_sizes", SHAPE_RULES},
	{SHAPE_RULES, NULL, SHAPE_RULE},
	{SHAPE_AXES, NULL, SHAPE_AXIS},
	{SHAPE_AXIS, "condition", SHAPE_ENUM},
	{SHAPE_PRELOAD, "preload_if", SHAPE_CONDITION},
	{SHAPE_CONDITION, "or", SHAPE_CONDITIONS},
	{SHAPE_CONDITION, "and", SHAPE_CONDITIONS},
	{SHAPE_CONDITION, "num_refs", SHAPE_BOUNDS},
	{SHAPE_CONDITIONS, NULL, SHAPE_CONDITION},
	{SHAPE_BOUNDS, NULL, SHAPE_ENUM},
};

struct writer {
	struct buf *out;
	struct error *err;
};

static enum shape shape_of_member(enum shape shape, const struct json *key)
{
	for (size_t i = 0; i < ARRAY_LEN(shapes); i++)
		if (shapes[i].shape == shape &&
		    (!shapes[i].member || (key && json_is_text(key, shapes[i].member))))
			return shapes[i].inner;
	return SHAPE_PLAIN;
}

static enum shape shape_of_item(enum shape shape, size_t i)
{
	if (shape == SHAPE_RULE)
		return i == 0 ? SHAPE_CONDITION : SHAPE_AXES;
	return shape_of_member(shape, NULL);
}

static bool is_enum(enum shape shape)
{
	return shape == SHAPE_ENUM || shape == SHAPE_CONDITION;
}

/* May a text stand without quotes, whatever schema its reader has? */
static bool is_plain_text(struct slice text)
{
	static const char *const words[] = {"null", "true", "false", "yes", "no",  "on",
					    "off",  "y",    "n",     "nan", "inf", NULL};

	if (text.size == 0 || !isalpha(text.data[0]))
		return false;
	for (size_t i = 0; i < text.size; i++)
		if (!isalnum(text.data[i]) && !strchr("_-./", text.data[i]))
			return false;
	for (const char *const *word = words; *word; word++)
		if (text.size == strlen(*word) &&
		    strncasecmp((const char *)text.data, *word, text.size) == 0)
			return false;
	return true;
}

static int put_text(struct writer *w, const struct json *value)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT(CONFIG_TEXT_MAX);
	int r = json_text(value, &text, w->err);

	if (r < 0)
		return r;
	if (is_plain_text(buf_slice(&text)))
		return buf_append_slice(w->out, buf_slice(&text), w->err);
	return json_write_text(w->out, buf_slice(&text), w->err);
}

static int put_scalar(struct writer *w, const struct json *value)
{
	if (value->type == JSON_STRING)
		return put_text(w, value);
	if (slice_is(value->span, "NaN"))
		return buf_append_text(w->out, ".nan", w->err);
	if (slice_is(value->span, "Infinity"))
		return buf_append_text(w->out, ".inf", w->err);
	if (slice_is(value->span, "-Infinity"))
		return buf_append_text(w->out, "-.inf", w->err);
	return buf_append_slice(w->out, value->span, w->err);
}

static int put_indent(struct writer *w, unsigned int indent)
{
	return buf_printf(w->out, w->err, "\n%*s", (int)indent, "");
}

static int put_value(struct writer *w, const struct json *value, enum shape shape,
		     unsigned int indent);

static int put_members(struct writer *w, const struct json *object, enum shape shape,
		       unsigned int indent, bool at_start)
{
	struct json key, value;
	int r = 0;

	JSON_EACH (object, &key, value) {
		if (!at_start)
			r = put_indent(w, indent);
		at_start = false;
		if (r == 0)
			r = put_text(w, &key);
		if (r == 0)
			r = buf_append_byte(w->out, ':', w->err);
		if (r == 0)
			r = put_value(w, &value, shape_of_member(shape, &key), indent + 2);
		if (r < 0)
			return r;
	}
	return 0;
}

static int put_items(struct writer *w, const struct json *list, enum shape shape,
		     unsigned int indent)
{
	struct json item;
	size_t i = 0;
	int r;

	JSON_EACH (list, NULL, item) {
		r = put_indent(w, indent);
		if (r == 0)
			r = buf_append_byte(w->out, '-', w->err);
		if (r == 0)
			r = put_value(w, &item, shape_of_item(shape, i++), indent + 2);
		if (r < 0)
			return r;
	}
	return 0;
}

/* " !variant value" for an object of one member. */
static int put_variant(struct writer *w, const struct json *object, enum shape shape,
		       unsigned int indent)
{
	CLEANUP(buf_done) struct buf name = BUF_INIT(CONFIG_TEXT_MAX);
	struct json_iter iter = json_iter(object);
	struct json key, value;
	int r;

	json_next(&iter, &key, &value);
	r = json_text(&key, &name, w->err);
	if (r == 0)
		r = buf_append_text(w->out, " !", w->err);
	if (r == 0)
		r = text_percent_encode(buf_slice(&name), "_-", w->out, w->err);
	return r < 0 ? r : put_value(w, &value, shape_of_member(shape, &key), indent);
}

/* What follows "key:" or "-". */
static int put_value(struct writer *w, const struct json *value, enum shape shape,
		     unsigned int indent)
{
	int r;

	if (is_enum(shape) && value->type == JSON_OBJECT && json_count(value) == 1)
		return put_variant(w, value, shape, indent);
	if (value->type == JSON_OBJECT && json_count(value) > 0)
		return put_members(w, value, shape, indent, false);
	if (value->type == JSON_ARRAY && json_count(value) > 0)
		return put_items(w, value, shape, indent);
	r = buf_append_byte(w->out, ' ', w->err);
	if (r < 0)
		return r;
	if (value->type == JSON_OBJECT)
		return buf_append_text(w->out, "{}", w->err);
	if (value->type == JSON_ARRAY)
		return buf_append_text(w->out, "[]", w->err);
	return put_scalar(w, value);
}

int config_json_to_yaml(const struct json *record, struct buf *out, struct error *err)
{
	struct writer w = {out, err};
	int r;

	if (json_count(record) == 0)
		return buf_append_text(out, "{}\n", err);
	r = put_members(&w, record, SHAPE_ROOT, 0, true);
	return r < 0 ? r : buf_append_byte(out, '\n', err);
}
