/* SPDX-License-Identifier: Apache-2.0 */
#include "icechunk/intern.h"

#include <stdlib.h>

void intern_done(struct intern *intern)
{
	arena_done(&intern->arena);
	interned_texts_done(&intern->texts);
	free(intern->slots);
	*intern = INTERN_INIT;
}

/* Eight bytes a step; texts come from one writer, and a bad spread costs time only. */
static uint32_t hash_text(struct slice text)
{
	uint64_t hash = text.size * UINT64_C(0x9e3779b97f4a7c15);
	uint64_t word = 0;
	size_t at = 0;

	for (; text.size - at >= 8; at += 8) {
		memcpy(&word, text.data + at, 8);
		hash = (hash ^ word) * UINT64_C(0xff51afd7ed558ccd);
		hash ^= hash >> 32;
	}
	word = 0;
	if (text.size > at)
		memcpy(&word, text.data + at, text.size - at);
	hash = (hash ^ word) * UINT64_C(0xc4ceb9fe1a85ec53);
	return (uint32_t)(hash >> 32);
}

/* The slot of @text, or the empty one where it belongs. */
static uint32_t *find_slot(const struct intern *intern, struct slice text, uint32_t hash)
{
	uint32_t mask = intern->n_slots - 1;

	for (uint32_t i = hash & mask;; i = (i + 1) & mask) {
		uint32_t *slot = &intern->slots[i];
		const struct interned_text *entry;

		if (*slot == 0)
			return slot;
		entry = &intern->texts.items[*slot - 1];
		if (entry->hash == hash && slice_equal(entry->text, text))
			return slot;
	}
}

static int grow_slots(struct intern *intern, struct error *err)
{
	uint32_t n_slots = intern->n_slots ? intern->n_slots * 2 : 256;
	uint32_t *slots;

	if (intern->texts.n < intern->n_slots / 2)
		return 0;
	if (intern->n_slots > UINT32_MAX / 2)
		return error_memory(err);
	slots = calloc(n_slots, sizeof(*slots));
	if (!slots)
		return error_memory(err);
	free(intern->slots);
	intern->slots = slots;
	intern->n_slots = n_slots;
	for (uint32_t i = 0; i < intern->texts.n; i++) {
		const struct interned_text *entry = &intern->texts.items[i];

		*find_slot(intern, entry->text, entry->hash) = i + 1;
	}
	return 0;
}

static int add_text(struct intern *intern, struct slice text, uint32_t hash, uint32_t *slot,
		    struct error *err)
{
	struct interned_text entry = {.hash = hash};
	char *copy = arena_dup(&intern->arena, text, err);
	int r;

	if (!copy)
		return ERR_MEMORY;
	entry.text = slice_of(copy, text.size);
	r = interned_texts_push(&intern->texts, entry, err);
	if (r < 0)
		return r;
	*slot = (uint32_t)intern->texts.n;
	return 0;
}

int intern_text(struct intern *intern, struct slice text, uint32_t *ret_number, struct error *err)
{
	uint32_t *slot;
	uint32_t hash;
	int r = 0;

	/* Neighbours mostly lie in the same object. */
	if (intern->texts.n > 0 && slice_equal(intern->texts.items[intern->last].text, text)) {
		*ret_number = intern->last;
		return 0;
	}
	r = grow_slots(intern, err);
	if (r < 0)
		return r;
	hash = hash_text(text);
	slot = find_slot(intern, text, hash);
	if (*slot == 0)
		r = add_text(intern, text, hash, slot, err);
	if (r < 0)
		return r;
	intern->last = *slot - 1;
	*ret_number = intern->last;
	return 0;
}

void intern_forget_last(struct intern *intern)
{
	const struct interned_text *entry = &intern->texts.items[intern->texts.n - 1];

	/* Nothing was put behind it, so nothing is found through its slot. */
	*find_slot(intern, entry->text, entry->hash) = 0;
	intern->texts.n--;
	intern->last = 0;
}

size_t intern_memory(const struct intern *intern)
{
	return intern->arena.total + intern->texts.capacity * sizeof(struct interned_text) +
	       intern->n_slots * sizeof(uint32_t);
}
