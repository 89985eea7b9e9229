/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <stdalign.h>
#include <stddef.h>
#include <stdlib.h>

#define ARENA_BLOCK 65536

struct arena_block {
	struct arena_block *next;
	size_t size;
	alignas(max_align_t) unsigned char bytes[];
};

void arena_done(struct arena *arena)
{
	while (arena->head) {
		struct arena_block *next = arena->head->next;

		free(arena->head);
		arena->head = next;
	}
	*arena = ARENA_INIT;
}

static int arena_grow(struct arena *arena, size_t size, struct error *err)
{
	struct arena_block *block;
	size_t bytes;

	if (size < ARENA_BLOCK)
		size = ARENA_BLOCK;
	if (__builtin_add_overflow(sizeof(*block), size, &bytes))
		return error_memory(err);
	block = malloc(bytes);
	if (!block)
		return error_memory(err);
	block->next = arena->head;
	block->size = size;
	arena->head = block;
	arena->used = 0;
	arena->total += bytes;
	return 0;
}

void *arena_alloc(struct arena *arena, size_t size, struct error *err)
{
	const size_t align = alignof(max_align_t);
	unsigned char *bytes;

	if (size > SIZE_MAX - align) {
		error_memory(err);
		return NULL;
	}
	size = (size + align - 1) / align * align;
	if (!arena->head || size > arena->head->size - arena->used) {
		if (arena_grow(arena, size, err) < 0)
			return NULL;
	}
	bytes = arena->head->bytes + arena->used;
	arena->used += size;
	return bytes;
}

void *arena_zalloc(struct arena *arena, size_t n, size_t size, struct error *err)
{
	size_t bytes;
	void *items;

	if (__builtin_mul_overflow(n, size, &bytes)) {
		error_memory(err);
		return NULL;
	}
	items = arena_alloc(arena, bytes, err);
	if (items)
		memset(items, 0, bytes);
	return items;
}

char *arena_dup(struct arena *arena, struct slice bytes, struct error *err)
{
	char *text = bytes.size == SIZE_MAX ? NULL : arena_alloc(arena, bytes.size + 1, err);

	if (!text)
		return NULL;
	if (bytes.size)
		memcpy(text, bytes.data, bytes.size);
	text[bytes.size] = '\0';
	return text;
}
