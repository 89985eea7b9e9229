/* SPDX-License-Identifier: Apache-2.0 */
#include "repo/stringset.h"

#include <stdlib.h>

#include "base/vec.h"

void strings_done(struct strings *strings)
{
	arena_done(&strings->arena);
	free(strings->items);
	free(strings->slots);
	*strings = STRINGS_INIT;
}

size_t strings_memory(const struct strings *strings)
{
	return strings->arena.total + strings->capacity * sizeof(*strings->items) +
	       strings->n_slots * sizeof(*strings->slots);
}

/* Spreads eight bytes at a time; only for the table, never stored. */
static uint64_t strings_hash(struct slice text)
{
	uint64_t hash = 0x9e3779b97f4a7c15u ^ text.size, word;
	size_t i = 0;

	for (; i + 8 <= text.size; i += 8) {
		memcpy(&word, text.data + i, 8);
		hash = (hash ^ word) * 0xff51afd7ed558ccdu;
		hash ^= hash >> 32;
	}
	word = 0;
	if (i < text.size)
		memcpy(&word, text.data + i, text.size - i);
	hash = (hash ^ word) * 0xc4ceb9fe1a85ec53u;
	return hash ^ (hash >> 29);
}

static int strings_grow(struct strings *strings, struct error *err)
{
	size_t n_slots = strings->n_slots ? strings->n_slots * 2 : 64;
	uint32_t *slots = calloc(n_slots, sizeof(*slots));

	if (!slots)
		return error_memory(err);
	for (size_t i = 0; i < strings->n_slots; i++) {
		size_t at;

		if (!strings->slots[i])
			continue;
		at = strings_hash(strings_get(strings, strings->slots[i])) & (n_slots - 1);
		while (slots[at])
			at = (at + 1) & (n_slots - 1);
		slots[at] = strings->slots[i];
	}
	free(strings->slots);
	strings->slots = slots;
	strings->n_slots = n_slots;
	return 0;
}

int strings_append(struct strings *strings, struct slice bytes, uint32_t *ret_number,
		   struct error *err)
{
	char *copy;
	int r;

	if (strings->n >= UINT32_MAX - 1)
		return error_set(err, ERR_MEMORY, "more than %zu distinct locations", strings->n);
	r = vec_reserve((void **)&strings->items, &strings->capacity, strings->n + 1,
			sizeof(*strings->items), err);
	if (r < 0)
		return r;
	copy = arena_dup(&strings->arena, bytes, err);
	if (!copy)
		return ERR_MEMORY;
	strings->items[strings->n++] = slice_of(copy, bytes.size);
	*ret_number = (uint32_t)strings->n;
	return 0;
}

int strings_add(struct strings *strings, struct slice text, uint32_t *ret_number, struct error *err)
{
	size_t at;
	int r;

	if (text.size == 0) {
		*ret_number = 0;
		return 0;
	}
	if (strings->last && slice_equal(strings_get(strings, strings->last), text)) {
		*ret_number = strings->last;
		return 0;
	}
	if ((strings->n + 1) * 4 > strings->n_slots * 3) {
		r = strings_grow(strings, err);
		if (r < 0)
			return r;
	}
	at = strings_hash(text) & (strings->n_slots - 1);
	while (strings->slots[at]) {
		if (slice_equal(strings_get(strings, strings->slots[at]), text)) {
			*ret_number = strings->last = strings->slots[at];
			return 0;
		}
		at = (at + 1) & (strings->n_slots - 1);
	}
	r = strings_append(strings, text, ret_number, err);
	if (r < 0)
		return r;
	strings->slots[at] = strings->last = *ret_number;
	return 0;
}
