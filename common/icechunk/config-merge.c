/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "icechunk/config-internal.h"
#include "icechunk/flat.h"
#include "icechunk/members.h"
#include "icechunk/value.h"

/* Records that replace as a whole, by the names of the members that lead there. */
static bool replaces_whole(const char *record, const struct json *key)
{
	if (!record)
		return json_is_text(key, "virtual_chunk_containers");
	return strcmp(record, "manifest") == 0 &&
	       (json_is_text(key, "preload") || json_is_text(key, "splitting"));
}

static int put_member(struct buf *out, bool *first, const struct json *key, struct error *err)
{
	int r = *first ? 0 : buf_append_byte(out, ',', err);

	*first = false;
	if (r == 0)
		r = buf_append_slice(out, key->span, err);
	return r < 0 ? r : buf_append_byte(out, ':', err);
}

static int get_by_key(const struct json *object, const struct json *key, struct json *ret_value,
		      struct error *err)
{
	char *name;
	int r = json_dup(key, &name, err);

	if (r < 0)
		return r;
	r = json_get(object, name, ret_value);
	free(name);
	return r;
}

static int merge_records(const struct json *base, const struct json *over, const char *record,
			 struct buf *out, struct error *err);

/* The value of a member that both or only @base has. */
static int merge_value(const struct json *key, const struct json *base, const struct json *over,
		       const char *record, struct buf *out, struct error *err)
{
	const char *inner = !record && json_is_text(key, "manifest") ? "manifest" : "";

	if (!over || over->type == JSON_NULL)
		return buf_append_slice(out, base->span, err);
	if (base->type != JSON_OBJECT || over->type != JSON_OBJECT || replaces_whole(record, key))
		return buf_append_slice(out, over->span, err);
	return merge_records(base, over, inner, out, err);
}

static int merge_base(const struct json *base, const struct json *over, const char *record,
		      struct buf *out, bool *first, struct error *err)
{
	struct json key, value, other;
	int r;

	JSON_EACH (base, &key, value) {
		r = get_by_key(over, &key, &other, err);
		if (r < 0)
			return r;
		if (put_member(out, first, &key, err) < 0)
			return ERR_MEMORY;
		r = merge_value(&key, &value, r == 0 ? &other : NULL, record, out, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Members of @over that @base does not have. */
static int merge_new(const struct json *base, const struct json *over, struct buf *out, bool *first,
		     struct error *err)
{
	struct json key, value, other;
	int r;

	JSON_EACH (over, &key, value) {
		r = get_by_key(base, &key, &other, err);
		if (r == 0)
			continue;
		if (r > 0)
			r = put_member(out, first, &key, err);
		if (r == 0)
			r = buf_append_slice(out, value.span, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int merge_records(const struct json *base, const struct json *over, const char *record,
			 struct buf *out, struct error *err)
{
	bool first = true;
	int r = buf_append_byte(out, '{', err);

	if (r == 0)
		r = merge_base(base, over, record, out, &first, err);
	if (r == 0)
		r = merge_new(base, over, out, &first, err);
	return r < 0 ? r : buf_append_byte(out, '}', err);
}

int config_merge(const struct config *base, const struct config *over, struct config **ret_config,
		 struct error *err)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT(CONFIG_TEXT_MAX);
	int r;

	r = merge_records(&base->root, &over->root, NULL, &text, err);
	return r < 0 ? r : config_from_record(buf_slice(&text), ret_config, err);
}

/* A record that lacks members which readers insist on. */
struct incomplete {
	struct json record;
	const char *defaults; /* JSON object of those members */
};

static bool lacks(const struct json *record, const char *name)
{
	struct json value;

	return config_get(record, name, &value) != 0;
}

static bool is_incomplete_s3(const struct json *store, struct incomplete *found)
{
	static const char *const kinds[] = {"s3", "s3_compatible", "tigris"};
	bool s3 = false;

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		s3 = s3 || config_get(store, kinds[i], &found->record) == 0;
	found->defaults = "{\"anonymous\":false,\"allow_http\":false}";
	return s3 && found->record.type == JSON_OBJECT &&
	       (lacks(&found->record, "anonymous") || lacks(&found->record, "allow_http"));
}

static bool find_incomplete_condition(const struct json *condition, unsigned int depth,
				      struct incomplete *found)
{
	struct json list, item;

	if (config_get(condition, "num_refs", &found->record) == 0) {
		found->defaults = "{\"from\":\"Unbounded\",\"to\":\"Unbounded\"}";
		return found->record.type == JSON_OBJECT &&
		       (lacks(&found->record, "from") || lacks(&found->record, "to"));
	}
	if (depth >= CONFIG_DEPTH_MAX ||
	    (config_get(condition, "or", &list) != 0 && config_get(condition, "and", &list) != 0))
		return false;
	JSON_EACH (&list, NULL, item)
		if (find_incomplete_condition(&item, depth + 1, found))
			return true;
	return false;
}

static bool find_incomplete(const struct json *root, struct incomplete *found)
{
	struct json map, container, store, condition;

	if (config_get(root, "virtual_chunk_containers", &map) == 0)
		JSON_EACH (&map, NULL, container)
			if (config_get(&container, "store", &store) == 0 &&
			    is_incomplete_s3(&store, found))
				return true;
	return json_path(root, &condition, "manifest", "preload", "preload_if", NULL) == 0 &&
	       find_incomplete_condition(&condition, 0, found);
}

/* Replaces one record after the other by itself on top of the defaults. */
int config_complete(struct slice json, struct buf *out, struct error *err)
{
	struct incomplete found;
	struct json root, defaults;
	int r;

	r = buf_append_slice(out, json, err);
	while (r == 0) {
		CLEANUP(buf_done) struct buf record = BUF_INIT(CONFIG_TEXT_MAX);
		CLEANUP(buf_done) struct buf before = *out;

		*out = BUF_INIT(CONFIG_TEXT_MAX);
		r = json_parse(buf_slice(&before), &root, err);
		if (r < 0 || !find_incomplete(&root, &found)) {
			*out = flat_take(&before);
			return r;
		}
		r = json_parse(slice_text(found.defaults), &defaults, err);
		if (r == 0)
			r = merge_records(&defaults, &found.record, "", &record, err);
		if (r == 0)
			r = json_edit_replace(buf_slice(&before), &found.record, buf_slice(&record),
					      out, err);
	}
	return r;
}

static int put_without_nulls(const struct json *value, struct arena *arena, struct buf *out,
			     struct error *err);

static int put_members(const struct json *object, struct arena *arena, struct buf *out,
		       struct error *err)
{
	CLEANUP(json_members_done) struct json_members members = {0};
	bool first = true;
	int r;

	/* Of a repeated member the last one counts, also where it is null. */
	r = json_members_sorted(object, arena, &members, err);
	for (size_t i = 0; r == 0 && i < members.n; i++) {
		if (members.items[i].value.type == JSON_NULL)
			continue;
		if (!first)
			r = buf_append_byte(out, ',', err);
		first = false;
		if (r == 0)
			r = json_write_text(out, members.items[i].name, err);
		if (r == 0)
			r = buf_append_byte(out, ':', err);
		if (r == 0)
			r = put_without_nulls(&members.items[i].value, arena, out, err);
	}
	return r;
}

static int put_items(const struct json *array, struct arena *arena, struct buf *out,
		     struct error *err)
{
	struct json item;
	size_t i = 0;
	int r = 0;

	JSON_EACH (array, NULL, item) {
		if (i++ > 0)
			r = buf_append_byte(out, ',', err);
		if (r == 0)
			r = put_without_nulls(&item, arena, out, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* @value without members that are null, at every depth. */
static int put_without_nulls(const struct json *value, struct arena *arena, struct buf *out,
			     struct error *err)
{
	bool object = value->type == JSON_OBJECT;
	int r;

	if (!object && value->type != JSON_ARRAY)
		return buf_append_slice(out, value->span, err);
	r = buf_append_byte(out, object ? '{' : '[', err);
	if (r == 0)
		r = object ? put_members(value, arena, out, err)
			   : put_items(value, arena, out, err);
	return r < 0 ? r : buf_append_byte(out, object ? '}' : ']', err);
}

/* One spelling for all records that say the same: members sorted, numbers by their value. */
static int put_canonical(const struct json *record, struct buf *out, struct error *err)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT(CONFIG_TEXT_MAX);
	CLEANUP(arena_done) struct arena arena = ARENA_INIT;
	struct json stripped;
	int r;

	r = put_without_nulls(record, &arena, &text, err);
	if (r == 0)
		r = json_parse(buf_slice(&text), &stripped, err);
	return r < 0 ? r : json_to_msgpack(&stripped, out, err);
}

int config_equal(const struct config *a, const struct config *b, bool *ret_equal, struct error *err)
{
	CLEANUP(buf_done) struct buf x = BUF_INIT(BUF_NO_LIMIT), y = BUF_INIT(BUF_NO_LIMIT);
	int r;

	r = put_canonical(&a->root, &x, err);
	if (r == 0)
		r = put_canonical(&b->root, &y, err);
	if (r < 0)
		return r;
	*ret_equal = slice_equal(buf_slice(&x), buf_slice(&y));
	return 0;
}
