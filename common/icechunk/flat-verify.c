/* SPDX-License-Identifier: Apache-2.0 */
#include "icechunk/flat.h"

#include "base/text.h"

#define DEPTH_MAX 64 /* as the public library's verifier */
#define TABLES_MAX (UINT64_C(500) << 20)
#define VISITED_MAX (UINT64_C(1) << 31) /* shared parts count each time */

struct verifier {
	struct slice buf;
	const struct flat_schema *schema; /* for messages */
	const struct flat_field *field;
	uint64_t visited;
	uint64_t tables;
	unsigned int depth;
	bool shallow;
	struct error *err;
};

static int wrong(struct verifier *v, const char *what)
{
	return error_set(v->err, ERR_FORMAT, "%s%s%s: %s", v->schema->name, v->field ? "." : "",
			 v->field ? v->field->name : "", what);
}

/* May @size bytes at @pos, aligned to @align, be read? */
static int check_range(struct verifier *v, uint64_t pos, uint64_t size, unsigned int align)
{
	if (pos > v->buf.size || size > v->buf.size - pos)
		return wrong(v, "beyond the end");
	if (pos % align)
		return wrong(v, "not aligned");
	v->visited += size;
	if (v->visited > VISITED_MAX)
		return wrong(v, "too much shared data");
	return 0;
}

static int check_offset(struct verifier *v, uint64_t pos, uint32_t *ret_target)
{
	uint64_t target;
	int r;

	r = check_range(v, pos, 4, 4);
	if (r < 0)
		return r;
	target = pos + flat_u32(v->buf, (uint32_t)pos);
	if (target == pos || target >= v->buf.size)
		return wrong(v, "offset leads nowhere");
	*ret_target = (uint32_t)target;
	return 0;
}

static int check_vector(struct verifier *v, uint32_t pos, unsigned int size, unsigned int align)
{
	int r;

	r = check_range(v, pos, 4, 4);
	if (r < 0)
		return r;
	/* Some builders align only what is there. */
	if (flat_u32(v->buf, pos) == 0)
		return 0;
	return check_range(v, (uint64_t)pos + 4, (uint64_t)flat_u32(v->buf, pos) * size, align);
}

static int check_string(struct verifier *v, uint32_t pos)
{
	int r;

	r = check_vector(v, pos, 1, 1);
	if (r < 0)
		return r;
	if (!text_is_utf8(slice_of(v->buf.data + pos + 4, flat_u32(v->buf, pos))))
		return wrong(v, "not UTF-8");
	return 0;
}

static int check_strings(struct verifier *v, uint32_t pos)
{
	uint32_t target = 0;
	int r;

	r = check_vector(v, pos, 4, 4);
	for (uint32_t i = 0; r == 0 && i < flat_u32(v->buf, pos); i++) {
		r = check_offset(v, (uint64_t)pos + 4 + 4 * (uint64_t)i, &target);
		if (r == 0)
			r = check_string(v, target);
	}
	return r;
}

static int check_table(struct verifier *v, uint32_t pos, const struct flat_schema *schema);

static int check_child(struct verifier *v, uint32_t pos, const struct flat_schema *schema)
{
	const struct flat_schema *outer = v->schema;
	const struct flat_field *field = v->field;
	int r;

	if (v->shallow)
		return 0;
	r = check_table(v, pos, schema);
	v->schema = outer;
	v->field = field;
	return r;
}

static int check_tables(struct verifier *v, uint32_t pos, const struct flat_schema *schema)
{
	uint32_t target = 0;
	int r;

	r = check_vector(v, pos, 4, 4);
	for (uint32_t i = 0; r == 0 && !v->shallow && i < flat_u32(v->buf, pos); i++) {
		r = check_offset(v, (uint64_t)pos + 4 + 4 * (uint64_t)i, &target);
		if (r == 0)
			r = check_child(v, target, schema);
	}
	return r;
}

static int check_union(struct verifier *v, uint32_t table, uint32_t type_at)
{
	const struct flat_field *field = v->field;
	uint32_t value_at = flat_field(v->buf, table, field->slot + 1U);
	uint32_t target;
	uint8_t type = 0;
	int r;

	if (type_at) {
		r = check_range(v, type_at, 1, 1);
		if (r < 0)
			return r;
		type = v->buf.data[type_at];
	}
	if (!type != !value_at)
		return wrong(v, "union of a type without value or the reverse");
	if (!type)
		return field->required ? wrong(v, "missing") : 0;
	r = check_offset(v, value_at, &target);
	if (r < 0)
		return r;
	if (type >= field->n_unions || !field->unions[type])
		return wrong(v, "unknown kind");
	return check_child(v, target, field->unions[type]);
}

static int check_field(struct verifier *v, uint32_t table)
{
	const struct flat_field *field = v->field;
	uint32_t at = flat_field(v->buf, table, field->slot);
	uint32_t target = 0;
	int r;

	if (field->kind == FLAT_UNION)
		return check_union(v, table, at);
	if (!at)
		return field->required ? wrong(v, "missing") : 0;
	if (field->kind == FLAT_SCALAR)
		return check_range(v, at, field->size, field->align ? field->align : field->size);
	r = check_offset(v, at, &target);
	if (r < 0)
		return r;
	switch (field->kind) {
	case FLAT_STRING:
		return check_string(v, target);
	case FLAT_STRINGS:
		return check_strings(v, target);
	case FLAT_VECTOR:
		return check_vector(v, target, field->size,
				    field->align ? field->align : field->size);
	case FLAT_TABLE:
		return check_child(v, target, field->table);
	default:
		return check_tables(v, target, field->table);
	}
}

/* The vtable must lie in the buffer before any field can be looked up. */
static int check_vtable(struct verifier *v, uint32_t pos)
{
	int64_t vtable;
	uint16_t size;
	int r;

	r = check_range(v, pos, 4, 4);
	if (r < 0)
		return r;
	vtable = (int64_t)pos - (int32_t)flat_u32(v->buf, pos);
	if (vtable < 0)
		return wrong(v, "table without field list");
	r = check_range(v, (uint64_t)vtable, 4, 2);
	if (r < 0)
		return r;
	size = flat_u16(v->buf, (uint32_t)vtable);
	if (size < 4 || size % 2)
		return wrong(v, "table with a broken field list");
	return check_range(v, (uint64_t)vtable, size, 2);
}

static int check_table(struct verifier *v, uint32_t pos, const struct flat_schema *schema)
{
	int r;

	v->schema = schema;
	v->field = NULL;
	if (++v->tables > TABLES_MAX || v->depth >= DEPTH_MAX)
		return wrong(v, "too many or too deep tables");
	v->depth++;
	r = check_vtable(v, pos);
	for (unsigned int i = 0; r == 0 && i < schema->n_fields; i++) {
		v->field = &schema->fields[i];
		r = check_field(v, pos);
	}
	v->depth--;
	return r;
}

static int verify_root(struct verifier *v, const struct flat_schema *root)
{
	uint32_t pos = 0;
	int r;

	v->schema = root;
	if (v->buf.size >= FLAT_MAX)
		return wrong(v, "2 GiB or larger");
	r = check_offset(v, 0, &pos);
	if (r < 0)
		return r;
	return check_table(v, pos, root);
}

int flat_verify(struct slice buf, const struct flat_schema *root, struct error *err)
{
	struct verifier v = {.buf = buf, .err = err};

	return verify_root(&v, root);
}

int flat_verify_root(struct slice buf, const struct flat_schema *root, struct error *err)
{
	struct verifier v = {.buf = buf, .shallow = true, .err = err};

	return verify_root(&v, root);
}

int flat_verify_item(struct slice buf, uint32_t vector, uint32_t i,
		     const struct flat_schema *schema, struct error *err)
{
	struct verifier v = {.buf = buf, .schema = schema, .shallow = true, .err = err};
	uint32_t pos = 0;
	int r;

	r = check_offset(&v, (uint64_t)vector + 4 + 4 * (uint64_t)i, &pos);
	if (r < 0)
		return r;
	return check_table(&v, pos, schema);
}
