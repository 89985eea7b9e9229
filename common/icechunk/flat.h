/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * FlatBuffers: a reader that cannot leave its buffer, a verifier driven by schemas, and a builder
 *
 * Internal to this folder.  Little-endian, 32-bit offsets (FlatBuffers, "Internals").
 *
 * Positions are bytes from the start of the buffer; 0 stands for "absent", since the root offset is
 * there.  Readers of verified buffers need no further checks; flat_verify_table() verifies one
 * table where only some are looked at.
 *
 * Threads: reading, any; a builder, one at a time.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/vec.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "views lend little-endian numbers");

#define FLAT_MAX (UINT64_C(1) << 31) /* no buffer is as large */

static inline uint32_t flat_u32(struct slice buf, uint32_t pos)
{
	uint32_t value;

	memcpy(&value, buf.data + pos, sizeof(value));
	return value;
}

static inline uint16_t flat_u16(struct slice buf, uint32_t pos)
{
	uint16_t value;

	memcpy(&value, buf.data + pos, sizeof(value));
	return value;
}

static inline uint64_t flat_u64(struct slice buf, uint32_t pos)
{
	uint64_t value;

	memcpy(&value, buf.data + pos, sizeof(value));
	return value;
}

/* Schema of a field, for the verifier. */
enum flat_kind {
	FLAT_NONE,   /* slot is not looked at */
	FLAT_SCALAR, /* size bytes, or a struct of size bytes and that alignment */
	FLAT_STRING,
	FLAT_VECTOR,  /* of scalars or structs */
	FLAT_STRINGS, /* vector of strings */
	FLAT_TABLE,
	FLAT_TABLES, /* vector of tables */
	FLAT_UNION,  /* this slot is the type, the next one the value */
};

struct flat_schema;

struct flat_field {
	uint8_t slot;
	uint8_t kind;
	uint8_t size;  /* of a scalar, struct or element */
	uint8_t align; /* 0: as size */
	bool required;
	const struct flat_schema *table; /* FLAT_TABLE, FLAT_TABLES */
	const struct flat_schema *const
		*unions; /* FLAT_UNION: by tag, NULL for tags that have none */
	uint8_t n_unions;
	const char *name;
};

struct flat_schema {
	const char *name;
	const struct flat_field *fields;
	uint8_t n_fields;
};

/* Verifies a whole buffer from its root on; ERR_FORMAT names table and field. */
int flat_verify(struct slice buf, const struct flat_schema *root, struct error *err);
/* Verifies the root table alone: tables that its fields lead to are not looked at. */
int flat_verify_root(struct slice buf, const struct flat_schema *root, struct error *err);
/* The same for the table that item @i of the (verified) vector at @vector leads to. */
int flat_verify_item(struct slice buf, uint32_t vector, uint32_t i,
		     const struct flat_schema *schema, struct error *err);

/* Moves the bytes out of @buf, which is empty afterwards. */
static inline struct buf flat_take(struct buf *buf)
{
	struct buf taken = *buf;

	buf->data = NULL;
	buf->size = buf->capacity = 0;
	return taken;
}

/* Readers of verified buffers. */
static inline uint32_t flat_root(struct slice buf)
{
	return flat_u32(buf, 0);
}

/* Position of a field in its table, 0 if absent. */
static inline uint32_t flat_field(struct slice buf, uint32_t table, unsigned int slot)
{
	uint32_t vtable = table - flat_u32(buf, table);
	uint32_t at = 4 + 2 * slot;

	if (at + 2 > flat_u16(buf, vtable))
		return 0;
	at = flat_u16(buf, vtable + at);
	return at ? table + at : 0;
}

/* Position that the offset at @field leads to; 0 for an absent field. */
static inline uint32_t flat_target(struct slice buf, uint32_t field)
{
	return field ? field + flat_u32(buf, field) : 0;
}

static inline uint32_t flat_child(struct slice buf, uint32_t table, unsigned int slot)
{
	return flat_target(buf, flat_field(buf, table, slot));
}

static inline uint8_t flat_get_u8(struct slice buf, uint32_t table, unsigned int slot,
				  uint8_t otherwise)
{
	uint32_t field = flat_field(buf, table, slot);

	return field ? buf.data[field] : otherwise;
}

static inline uint16_t flat_get_u16(struct slice buf, uint32_t table, unsigned int slot)
{
	uint32_t field = flat_field(buf, table, slot);

	return field ? flat_u16(buf, field) : 0;
}

static inline uint32_t flat_get_u32(struct slice buf, uint32_t table, unsigned int slot)
{
	uint32_t field = flat_field(buf, table, slot);

	return field ? flat_u32(buf, field) : 0;
}

static inline uint64_t flat_get_u64(struct slice buf, uint32_t table, unsigned int slot)
{
	uint32_t field = flat_field(buf, table, slot);

	return field ? flat_u64(buf, field) : 0;
}

/* Bytes of a string or byte vector; data NULL if absent. */
static inline struct slice flat_get_bytes(struct slice buf, uint32_t table, unsigned int slot)
{
	uint32_t at = flat_child(buf, table, slot);

	return at ? slice_of(buf.data + at + 4, flat_u32(buf, at)) : (struct slice){0};
}

/* Elements of the vector at @vector; 0 if absent. */
static inline uint32_t flat_count(struct slice buf, uint32_t vector)
{
	return vector ? flat_u32(buf, vector) : 0;
}

/* Table or string @i of a vector of offsets. */
static inline uint32_t flat_item(struct slice buf, uint32_t vector, uint32_t i)
{
	return flat_target(buf, vector + 4 + 4 * i);
}

/*
 * Builder: writes from the end of the buffer to its start, children first.  Handles are distances
 * from the end.  The first failure sticks and is reported by flat_builder_end().
 */
#define FLAT_SLOTS_MAX 24

DEFINE_VEC(flat_handles, uint32_t);

struct flat_builder {
	uint8_t *data;
	size_t capacity;
	size_t size; /* bytes used at the end of data */
	size_t align;
	struct flat_handles vtables;
	struct flat_handles gathered; /* of vectors whose items are being written */
	size_t table_start;
	uint32_t slots[FLAT_SLOTS_MAX];
	unsigned int n_slots;
	struct error err;
};

#define FLAT_BUILDER_INIT ((struct flat_builder){.align = 1})

void flat_builder_done(struct flat_builder *builder);
/* Takes room for @size bytes at once, where a caller knows what is coming. */
void flat_builder_reserve(struct flat_builder *builder, size_t size);
/* Strings get a NUL after them. */
uint32_t flat_put_string(struct flat_builder *builder, struct slice text);
/* @n elements of @size bytes, aligned to @align. */
uint32_t flat_put_vector(struct flat_builder *builder, const void *items, size_t n, size_t size,
			 size_t align);
/* Remembers the handle of an item; the items of vectors within vectors come to lie on top. */
void flat_gather(struct flat_builder *builder, uint32_t handle);
/* Vector of offsets to what was gathered since gathered.n was @base, which is forgotten. */
uint32_t flat_put_gathered(struct flat_builder *builder, size_t base);
void flat_table_begin(struct flat_builder *builder);
void flat_add(struct flat_builder *builder, unsigned int slot, const void *value, size_t size,
	      size_t align);
void flat_add_u8(struct flat_builder *builder, unsigned int slot, uint8_t value);
void flat_add_u16(struct flat_builder *builder, unsigned int slot, uint16_t value);
void flat_add_u32(struct flat_builder *builder, unsigned int slot, uint32_t value);
void flat_add_u64(struct flat_builder *builder, unsigned int slot, uint64_t value);
/* A handle of 0 is left out. */
void flat_add_offset(struct flat_builder *builder, unsigned int slot, uint32_t handle);
uint32_t flat_table_end(struct flat_builder *builder);
/*
 * A table whose one field, in slot 0, is a vector of @n numbers, as one piece: the millions of
 * entries of a transaction log.
 */
uint32_t flat_put_numbers_table(struct flat_builder *builder, const uint32_t *numbers, uint32_t n);
/* Ends with the root table @handle and the identifier "Ichk"; appends the buffer to @out. */
int flat_builder_end(struct flat_builder *builder, uint32_t handle, struct buf *out,
		     struct error *err);
