/* SPDX-License-Identifier: Apache-2.0 */
#include "icechunk/value.h"

#include "base/cleanup.h"
#include "icechunk/members.h"

int metadata_value_to_json(enum spec spec, struct slice value, struct buf *out, struct error *err)
{
	return spec == SPEC_1 ? msgpack_to_json(value, out, err) : flex_to_json(value, out, err);
}

int json_to_metadata_value(enum spec spec, const struct json *value, struct buf *out,
			   struct error *err)
{
	return spec == SPEC_1 ? json_to_msgpack(value, out, err) : json_to_flex(value, out, err);
}

int metadata_items_json(enum spec spec, const struct metadata_item *items, uint32_t n,
			struct buf *out, struct error *err)
{
	int r = buf_append_byte(out, '{', err);

	for (uint32_t i = 0; r == 0 && i < n; i++) {
		if (i > 0)
			r = buf_append_byte(out, ',', err);
		if (r == 0)
			r = json_write_text(out, items[i].name, err);
		if (r == 0)
			r = buf_append_byte(out, ':', err);
		if (r == 0)
			r = metadata_value_to_json(spec, items[i].value, out, err);
		if (r < 0)
			return error_prefix(err, "metadata '%.*s'", (int)items[i].name.size,
					    (const char *)items[i].name.data);
	}
	return r < 0 ? r : buf_append_byte(out, '}', err);
}

static int encode_item(enum spec spec, const struct json_member *member, struct arena *arena,
		       struct metadata_item *ret_item, struct error *err)
{
	CLEANUP(buf_done) struct buf value = BUF_INIT(BUF_NO_LIMIT);
	char *bytes;
	int r;

	r = json_to_metadata_value(spec, &member->value, &value, err);
	if (r < 0)
		return error_prefix(err, "metadata '%.*s'", (int)member->name.size,
				    (const char *)member->name.data);
	bytes = arena_dup(arena, buf_slice(&value), err);
	if (!bytes)
		return ERR_MEMORY;
	*ret_item = (struct metadata_item){member->name, slice_of(bytes, value.size)};
	return 0;
}

int metadata_items_encode(enum spec spec, const struct json *object, struct arena *arena,
			  struct metadata_items *out, struct error *err)
{
	CLEANUP(json_members_done) struct json_members members = {0};
	struct metadata_item item = {0};
	int r = 0;

	if (object && object->type != JSON_OBJECT)
		return error_set(err, ERR_ARGUMENT, "metadata is no JSON object");
	if (object)
		r = json_members_sorted(object, arena, &members, err);
	for (size_t i = 0; r == 0 && i < members.n; i++) {
		r = encode_item(spec, &members.items[i], arena, &item, err);
		if (r == 0)
			r = metadata_items_push(out, item, err);
	}
	return r;
}
