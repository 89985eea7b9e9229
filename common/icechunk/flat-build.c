/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "icechunk/flat.h"

void flat_builder_done(struct flat_builder *builder)
{
	free(builder->data);
	flat_handles_done(&builder->vtables);
	flat_handles_done(&builder->gathered);
	*builder = FLAT_BUILDER_INIT;
}

/* Moves what is there to the end of a larger block. */
static int enlarge(struct flat_builder *b, size_t capacity)
{
	uint8_t *data = malloc(capacity);

	if (!data)
		return error_memory(&b->err);
	if (b->size)
		memcpy(data + capacity - b->size, b->data + b->capacity - b->size, b->size);
	free(b->data);
	b->data = data;
	b->capacity = capacity;
	return 0;
}

/* Makes room in front of what is there. */
static int grow(struct flat_builder *b, size_t extra)
{
	size_t capacity = b->capacity ? b->capacity * 2 : 1024;

	if (b->err.kind)
		return b->err.kind;
	if (extra >= FLAT_MAX || b->size + extra >= FLAT_MAX)
		return error_set(&b->err, ERR_UNSUPPORTED,
				 "a metadata object of 2 GiB or more, which readers refuse");
	if (b->size + extra <= b->capacity)
		return 0;
	while (capacity < b->size + extra)
		capacity *= 2;
	return enlarge(b, capacity);
}

void flat_builder_reserve(struct flat_builder *b, size_t size)
{
	if (b->err.kind == 0 && size < FLAT_MAX && b->size + size > b->capacity)
		(void)enlarge(b, b->size + size);
}

/* Zero bytes in front so that @size more bytes end up aligned; then room for them, lent. */
static uint8_t *push(struct flat_builder *b, size_t size, size_t align)
{
	size_t pad = -(b->size + size) & (align - 1);

	if (grow(b, size + pad) < 0)
		return NULL;
	if (align > b->align)
		b->align = align;
	b->size += pad;
	if (pad)
		memset(b->data + b->capacity - b->size, 0, pad);
	b->size += size;
	return b->data + b->capacity - b->size;
}

static void push_u32(struct flat_builder *b, uint32_t value)
{
	uint8_t *at = push(b, 4, 4);

	if (at)
		memcpy(at, &value, 4);
}

/* An offset in a slot of 4 bytes about to be pushed, to what @handle stands for. */
static void push_offset(struct flat_builder *b, uint32_t handle)
{
	uint8_t *at = push(b, 4, 4);
	uint32_t offset = (uint32_t)b->size - handle;

	if (at)
		memcpy(at, &offset, 4);
}

/* Pads so that after @size bytes more, and a count of 4 bytes, everything is aligned. */
static void align_vector(struct flat_builder *b, size_t size, size_t align)
{
	size_t pad;

	if (align < 4)
		align = 4;
	pad = -(b->size + size) & (align - 1);
	if (grow(b, pad) < 0)
		return;
	if (align > b->align)
		b->align = align;
	b->size += pad;
	if (pad)
		memset(b->data + b->capacity - b->size, 0, pad);
}

uint32_t flat_put_string(struct flat_builder *b, struct slice text)
{
	uint8_t *at;

	if (text.size >= FLAT_MAX) {
		(void)grow(b, text.size);
		return 0;
	}
	align_vector(b, text.size + 1, 4);
	at = push(b, text.size + 1, 1);
	if (!at)
		return 0;
	if (text.size)
		memcpy(at, text.data, text.size);
	at[text.size] = '\0';
	push_u32(b, (uint32_t)text.size);
	return (uint32_t)b->size;
}

uint32_t flat_put_vector(struct flat_builder *b, const void *items, size_t n, size_t size,
			 size_t align)
{
	size_t bytes;
	uint8_t *at;

	if (__builtin_mul_overflow(n, size, &bytes) || bytes >= FLAT_MAX) {
		(void)grow(b, FLAT_MAX);
		return 0;
	}
	align_vector(b, bytes, align);
	at = push(b, bytes, 1);
	if (!at)
		return 0;
	if (bytes)
		memcpy(at, items, bytes);
	push_u32(b, (uint32_t)n);
	return (uint32_t)b->size;
}

/* Vector of offsets to what the @n handles stand for. */
static uint32_t put_offsets(struct flat_builder *b, const uint32_t *handles, size_t n)
{
	if (n >= FLAT_MAX / 4) {
		(void)grow(b, FLAT_MAX);
		return 0;
	}
	align_vector(b, 4 * n, 4);
	for (size_t i = n; i > 0; i--)
		push_offset(b, handles[i - 1]);
	push_u32(b, (uint32_t)n);
	return (uint32_t)b->size;
}

void flat_gather(struct flat_builder *b, uint32_t handle)
{
	if (b->err.kind == 0)
		(void)flat_handles_push(&b->gathered, handle, &b->err);
}

uint32_t flat_put_gathered(struct flat_builder *b, size_t base)
{
	uint32_t handle;

	if (b->err.kind)
		return 0;
	if (b->gathered.n == base)
		return put_offsets(b, NULL, 0);
	handle = put_offsets(b, &b->gathered.items[base], b->gathered.n - base);
	b->gathered.n = base;
	return handle;
}

void flat_table_begin(struct flat_builder *b)
{
	b->table_start = b->size;
	b->n_slots = 0;
	memset(b->slots, 0, sizeof(b->slots));
}

static void mark_slot(struct flat_builder *b, unsigned int slot)
{
	b->slots[slot] = (uint32_t)b->size;
	if (slot >= b->n_slots)
		b->n_slots = slot + 1;
}

void flat_add(struct flat_builder *b, unsigned int slot, const void *value, size_t size,
	      size_t align)
{
	uint8_t *at = push(b, size, align);

	if (!at)
		return;
	memcpy(at, value, size);
	mark_slot(b, slot);
}

void flat_add_u8(struct flat_builder *b, unsigned int slot, uint8_t value)
{
	flat_add(b, slot, &value, sizeof(value), sizeof(value));
}

void flat_add_u16(struct flat_builder *b, unsigned int slot, uint16_t value)
{
	flat_add(b, slot, &value, sizeof(value), sizeof(value));
}

void flat_add_u32(struct flat_builder *b, unsigned int slot, uint32_t value)
{
	flat_add(b, slot, &value, sizeof(value), sizeof(value));
}

void flat_add_u64(struct flat_builder *b, unsigned int slot, uint64_t value)
{
	flat_add(b, slot, &value, sizeof(value), sizeof(value));
}

void flat_add_offset(struct flat_builder *b, unsigned int slot, uint32_t handle)
{
	if (handle == 0)
		return;
	push_offset(b, handle);
	mark_slot(b, slot);
}

/* A vtable equal to @vtable that was written before, as a handle, or 0. */
static uint32_t find_vtable(const struct flat_builder *b, const uint16_t *vtable)
{
	for (size_t i = 0; i < b->vtables.n; i++) {
		const uint8_t *at = b->data + b->capacity - b->vtables.items[i];

		if (memcmp(at, vtable, 2) == 0 && memcmp(at, vtable, vtable[0]) == 0)
			return b->vtables.items[i];
	}
	return 0;
}

/* The handle of @vtable, which is written unless an equal one was; 0 on failure. */
static uint32_t put_vtable(struct flat_builder *b, const uint16_t *vtable)
{
	uint32_t found = find_vtable(b, vtable);
	uint8_t *at;

	if (found)
		return found;
	at = push(b, vtable[0], 2);
	if (!at)
		return 0;
	memcpy(at, vtable, vtable[0]);
	if (flat_handles_push(&b->vtables, (uint32_t)b->size, &b->err) < 0)
		return 0;
	return (uint32_t)b->size;
}

uint32_t flat_put_numbers_table(struct flat_builder *b, const uint32_t *numbers, uint32_t n)
{
	static const uint16_t vtable[] = {6, 8, 4};
	uint32_t shared = put_vtable(b, vtable);
	uint32_t head[3] = {0, 4, n}; /* to the vtable, to the vector, count */
	uint8_t *at = shared ? push(b, sizeof(head) + 4 * (size_t)n, 4) : NULL;

	if (!at)
		return 0;
	head[0] = shared - (uint32_t)b->size;
	memcpy(at, head, sizeof(head));
	if (n)
		memcpy(at + sizeof(head), numbers, 4 * (size_t)n);
	return (uint32_t)b->size;
}

uint32_t flat_table_end(struct flat_builder *b)
{
	uint16_t vtable[2 + FLAT_SLOTS_MAX];
	uint32_t table, found;
	int32_t offset;

	push_u32(b, 0);
	if (b->err.kind)
		return 0;
	table = (uint32_t)b->size;
	vtable[0] = (uint16_t)(4 + 2 * b->n_slots);
	vtable[1] = (uint16_t)(table - b->table_start);
	for (unsigned int i = 0; i < b->n_slots; i++)
		vtable[2 + i] = (uint16_t)(b->slots[i] ? table - b->slots[i] : 0);
	found = put_vtable(b, vtable);
	if (!found)
		return 0;
	offset = (int32_t)(found - table);
	memcpy(b->data + b->capacity - table, &offset, 4);
	return table;
}

/* A large object is not copied where @out is empty: its memory moves there. */
static int hand_over(struct flat_builder *b, struct buf *out, struct error *err)
{
	const uint8_t *start = b->data + b->capacity - b->size;

	if (out->data || b->capacity > out->max)
		return buf_append(out, start, b->size, err);
	memmove(b->data, start, b->size);
	out->data = TAKE(b->data);
	out->size = b->size;
	out->capacity = b->capacity;
	b->capacity = b->size = 0;
	return 0;
}

int flat_builder_end(struct flat_builder *b, uint32_t handle, struct buf *out, struct error *err)
{
	static const char identifier[4] = {'I', 'c', 'h', 'k'};
	uint8_t *at;

	/* Offsets are from the end: what is aligned to it is aligned to the start as well only if
	 * the whole is a multiple of the largest alignment. */
	at = push(b, 8, b->align < 8 ? 8 : b->align);
	if (at) {
		uint32_t root = (uint32_t)b->size - handle;

		memcpy(at, &root, 4);
		memcpy(at + 4, identifier, 4);
	}
	if (b->err.kind)
		return error_set(err, b->err.kind, "%s", b->err.text);
	return hand_over(b, out, err);
}
