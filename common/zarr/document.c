/* SPDX-License-Identifier: Apache-2.0 */
#include "zarr/document.h"

#include "base/cleanup.h"
#include "zarr/metadata.h"
#include "zarr/utf8.h"

static int new_line(unsigned int depth, struct buf *out, struct error *err)
{
	int r = buf_append_byte(out, '\n', err);

	for (unsigned int i = 0; i < depth && r == 0; i++)
		r = buf_append_text(out, "  ", err);
	return r;
}

static int layout_escape(uint32_t code, struct buf *out, struct error *err)
{
	static const char shorts[] = "\"\\\b\f\n\r\t";
	static const char letters[] = "\"\\bfnrt";
	const char *found = code > 0 && code < 0x80 ? strchr(shorts, (int)code) : NULL;

	if (found)
		return buf_printf(out, err, "\\%c", letters[found - shorts]);
	if (code >= 0x10000) {
		code -= 0x10000;
		return buf_printf(out, err, "\\u%04x\\u%04x", 0xd800 + (code >> 10),
				  0xdc00 + (code & 0x3ff));
	}
	return buf_printf(out, err, "\\u%04x", code);
}

static int layout_text(const struct json *value, struct buf *out, struct error *err)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT(BUF_NO_LIMIT);
	struct slice rest;
	uint32_t code;
	int r;

	r = json_text(value, &text, err);
	if (r < 0)
		return r;
	rest = buf_slice(&text);
	r = buf_append_byte(out, '"', err);
	while (r == 0 && utf8_next(&rest, &code)) {
		if (code >= 0x20 && code < 0x7f && code != '"' && code != '\\')
			r = buf_append_byte(out, (uint8_t)code, err);
		else
			r = layout_escape(code, out, err);
	}
	return r < 0 ? r : buf_append_byte(out, '"', err);
}

/* Whole numbers keep their digits, however many; floats become their repr. */
static int layout_number(const struct json *value, struct buf *out, struct error *err)
{
	bool is_float = false;
	double number;
	int r;

	for (size_t i = 0; i < value->span.size; i++)
		is_float |= strchr(".eENI", value->span.data[i]) != NULL;
	if (!is_float) /* Python reads -0 as 0 */
		return slice_is(value->span, "-0") ? buf_append_byte(out, '0', err)
						   : buf_append_slice(out, value->span, err);
	r = json_double(value, &number, err);
	return r < 0 ? r : json_write_double(out, number, err);
}

static int layout_members(const struct json *value, unsigned int depth, struct buf *out,
			  struct error *err)
{
	bool is_object = value->type == JSON_OBJECT;
	struct json key, item;
	bool is_first = true;
	int r;

	JSON_EACH (value, &key, item) {
		if ((!is_first && (r = buf_append_byte(out, ',', err)) < 0) ||
		    (r = new_line(depth + 1, out, err)) < 0)
			return r;
		if (is_object && ((r = layout_text(&key, out, err)) < 0 ||
				  (r = buf_append_text(out, ": ", err)) < 0))
			return r;
		r = zarr_json_layout(&item, depth + 1, out, err);
		if (r < 0)
			return r;
		is_first = false;
	}
	return new_line(depth, out, err);
}

int zarr_json_layout(const struct json *value, unsigned int depth, struct buf *out,
		     struct error *err)
{
	const char *brackets = value->type == JSON_OBJECT ? "{}" : "[]";
	int r;

	if (value->type == JSON_STRING)
		return layout_text(value, out, err);
	if (value->type == JSON_NUMBER)
		return layout_number(value, out, err);
	if (value->type != JSON_OBJECT && value->type != JSON_ARRAY)
		return buf_append_slice(out, value->span, err);
	if (json_count(value) == 0)
		return buf_append_text(out, brackets, err);
	if ((r = buf_append_byte(out, (uint8_t)brackets[0], err)) < 0 ||
	    (r = layout_members(value, depth, out, err)) < 0)
		return r;
	return buf_append_byte(out, (uint8_t)brackets[1], err);
}

/* Appends a part of a document that a caller gives as JSON text. */
static int add_part(const char *name, struct slice part, struct buf *out, struct error *err)
{
	struct json value;
	int r;

	r = json_parse(part, &value, err);
	if (r < 0)
		return error_prefix(err, "%s", name);
	return buf_append_slice(out, value.span, err);
}

static int add_member(const char *name, struct slice part, struct buf *out, struct error *err)
{
	int r = buf_printf(out, err, ",\"%s\":", name);

	return r < 0 ? r : add_part(name, part, out, err);
}

static int add_numbers(const uint64_t *numbers, size_t n, struct buf *out, struct error *err)
{
	int r = buf_append_byte(out, '[', err);

	for (size_t i = 0; i < n && r == 0; i++)
		r = buf_printf(out, err, i > 0 ? ",%ju" : "%ju", (uintmax_t)numbers[i]);
	return r < 0 ? r : buf_append_byte(out, ']', err);
}

/* Lays a whole document out. */
static int layout_document(const struct buf *compact, struct buf *out, struct error *err)
{
	struct json root;
	int r;

	r = json_parse(buf_slice(compact), &root, err);
	return r < 0 ? r : zarr_json_layout(&root, 0, out, err);
}

static struct slice or_empty_object(struct slice attributes)
{
	return attributes.size > 0 ? attributes : slice_text("{}");
}

static int compose_array(const struct zarr_array_document *document, struct buf *out,
			 struct error *err)
{
	int r;

	if ((r = buf_append_text(out, "{\"shape\":", err)) < 0 ||
	    (r = add_numbers(document->shape, document->n_dims, out, err)) < 0 ||
	    (r = add_member("data_type", document->data_type, out, err)) < 0 ||
	    (r = buf_append_text(out,
				 ",\"chunk_grid\":{\"name\":\"regular\",\"configuration\":"
				 "{\"chunk_shape\":",
				 err)) < 0 ||
	    (r = add_numbers(document->chunk_shape, document->n_dims, out, err)) < 0 ||
	    (r = buf_append_text(out,
				 "}},\"chunk_key_encoding\":{\"name\":\"default\","
				 "\"configuration\":{\"separator\":\"/\"}}",
				 err)) < 0 ||
	    (r = add_member("fill_value", document->fill_value, out, err)) < 0 ||
	    (r = add_member("codecs", document->codecs, out, err)) < 0 ||
	    (r = add_member("attributes", or_empty_object(document->attributes), out, err)) < 0)
		return r;
	if (document->dimension_names.size > 0) {
		r = add_member("dimension_names", document->dimension_names, out, err);
		if (r < 0)
			return r;
	}
	return buf_append_text(
		out, ",\"zarr_format\":3,\"node_type\":\"array\",\"storage_transformers\":[]}",
		err);
}

int zarr_array_document_write(const struct zarr_array_document *document, struct buf *out,
			      struct error *err)
{
	CLEANUP(buf_done) struct buf compact = BUF_INIT(BUF_NO_LIMIT);
	int r;

	r = compose_array(document, &compact, err);
	return r < 0 ? r : layout_document(&compact, out, err);
}

static int compose_consolidated(const struct zarr_member *members, size_t n_members, bool verbatim,
				struct buf *out, struct error *err);

/* @members is NULL for a group without consolidated metadata. */
static int compose_group(struct slice attributes, const struct zarr_member *members,
			 size_t n_members, struct buf *out, struct error *err)
{
	int r;

	if ((r = buf_append_text(out, "{\"attributes\":", err)) < 0 ||
	    (r = add_part("attributes", or_empty_object(attributes), out, err)) < 0 ||
	    (r = buf_append_text(out, ",\"zarr_format\":3", err)) < 0)
		return r;
	if (members && ((r = buf_append_text(out, ",\"consolidated_metadata\":", err)) < 0 ||
			(r = compose_consolidated(members, n_members, false, out, err)) < 0))
		return r;
	return buf_append_text(out, ",\"node_type\":\"group\"}", err);
}

/* A member as the public package lists it: a group among them says that it lists nothing itself. */
static int compose_member(const struct zarr_member *member, struct buf *out, struct error *err)
{
	CLEANUP(zarr_metadata_freep) struct zarr_metadata *metadata = NULL;
	int r;

	r = zarr_metadata_new(member->document, &metadata, err);
	if (r < 0)
		return error_prefix(err, "document of '%.*s'", (int)member->path.size,
				    (const char *)member->path.data);
	if (metadata->node == ZARR_ARRAY)
		return buf_append_slice(out, metadata->root.span, err);
	return compose_group(metadata->attributes.span, member, 0, out, err);
}

static int compose_consolidated(const struct zarr_member *members, size_t n_members, bool verbatim,
				struct buf *out, struct error *err)
{
	int r;

	r = buf_append_text(out, "{\"kind\":\"inline\",\"must_understand\":false,\"metadata\":{",
			    err);
	for (size_t i = 0; i < n_members && r == 0; i++) {
		if ((i > 0 && (r = buf_append_byte(out, ',', err)) < 0) ||
		    (r = json_write_text(out, members[i].path, err)) < 0 ||
		    (r = buf_append_byte(out, ':', err)) < 0)
			return r;
		r = verbatim ? buf_append_slice(out, members[i].document, err)
			     : compose_member(&members[i], out, err);
	}
	return r < 0 ? r : buf_append_text(out, "}}", err);
}

int zarr_group_document_write(struct slice attributes, const struct zarr_member *members,
			      size_t n_members, struct buf *out, struct error *err)
{
	CLEANUP(buf_done) struct buf compact = BUF_INIT(BUF_NO_LIMIT);
	int r;

	r = compose_group(attributes, members, n_members, &compact, err);
	return r < 0 ? r : layout_document(&compact, out, err);
}

int zarr_consolidate(struct slice group, const struct zarr_member *members, size_t n_members,
		     struct buf *out, struct error *err)
{
	CLEANUP(buf_done) struct buf metadata = BUF_INIT(BUF_NO_LIMIT);
	struct json root, old;
	struct slice before, after;
	int r;

	r = json_parse(group, &root, err);
	if (r < 0)
		return r;
	if (root.type != JSON_OBJECT)
		return error_set(err, ERR_FORMAT, "the document is not an object");
	r = compose_consolidated(members, n_members, true, &metadata, err);
	if (r < 0)
		return r;
	if (json_get(&root, "consolidated_metadata", &old) == 0)
		return json_edit_replace(group, &old, buf_slice(&metadata), out, err);

	/* In front of the closing brace. */
	before = slice_sub(group, 0, (size_t)(root.span.data - group.data) + root.span.size - 1);
	after = slice_sub(group, before.size, group.size);
	if ((r = buf_append_slice(out, before, err)) < 0 ||
	    (r = buf_append_text(out,
				 json_count(&root) > 0 ? ",\"consolidated_metadata\":"
						       : "\"consolidated_metadata\":",
				 err)) < 0 ||
	    (r = buf_append_slice(out, buf_slice(&metadata), err)) < 0)
		return r;
	return buf_append_slice(out, after, err);
}
