/* SPDX-License-Identifier: Apache-2.0 */
#include "repo/idset.h"

#include <stdlib.h>

void id_set_done(struct id_set *set)
{
	free(set->slots);
	free(set->used);
	*set = ID_SET_INIT;
}

/* Where @id is, or the free slot where it belongs. */
static size_t id_set_slot(const struct id_set *set, const struct id12 *id)
{
	uint64_t hash;
	size_t at;

	memcpy(&hash, id->bytes, sizeof(hash));
	hash *= 0x9e3779b97f4a7c15u;
	for (at = hash >> 32 & (set->n_slots - 1); set->used[at];
	     at = (at + 1) & (set->n_slots - 1)) {
		if (id12_equal(&set->slots[at], id))
			break;
	}
	return at;
}

static int id_set_grow(struct id_set *set, struct error *err)
{
	struct id_set grown = {.n_slots = set->n_slots ? set->n_slots * 2 : 64, .n = set->n};

	grown.slots = calloc(grown.n_slots, sizeof(*grown.slots));
	grown.used = calloc(grown.n_slots, sizeof(*grown.used));
	if (!grown.slots || !grown.used) {
		id_set_done(&grown);
		return error_memory(err);
	}
	for (size_t i = 0; i < set->n_slots; i++) {
		size_t at;

		if (!set->used[i])
			continue;
		at = id_set_slot(&grown, &set->slots[i]);
		grown.slots[at] = set->slots[i];
		grown.used[at] = true;
	}
	id_set_done(set);
	*set = grown;
	return 0;
}

bool id_set_has(const struct id_set *set, const struct id12 *id)
{
	return set->n_slots && set->used[id_set_slot(set, id)];
}

int id_set_add(struct id_set *set, const struct id12 *id, struct error *err)
{
	size_t at;

	if ((set->n + 1) * 4 > set->n_slots * 3) {
		int r = id_set_grow(set, err);

		if (r < 0)
			return r;
	}
	at = id_set_slot(set, id);
	if (set->used[at])
		return 0;
	set->slots[at] = *id;
	set->used[at] = true;
	set->n++;
	return 1;
}
