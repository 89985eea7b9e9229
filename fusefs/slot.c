/* SPDX-License-Identifier: Apache-2.0 */
#include "fusefs/slot.h"

#include <pthread.h>
#include <stdlib.h>
#include <uthash.h>

#include "base/hash.h"

#define SLOTS_MAX (UINT32_C(1) << (63 - NUMBER_BITS))

/* Numbers within a slot of a view. */
enum { NUMBER_FOLDER = 0, NUMBER_DOCUMENT = 1, NUMBER_GRID = 2 };

struct slot_key {
	uint64_t tree;
	enum slot_kind kind;
	uint32_t epoch;	  /* of a view's folder; else the status_folder */
	uint8_t path[16]; /* of a view's folder: enough of its SHA-256 */
};

struct entry {
	struct slot slot; /* first: a slot is its entry */
	struct slot_key key;
	char *path;
	UT_hash_handle hh;
};

struct slots {
	pthread_mutex_t mutex;
	struct entry **places; /* by place; NULL where free.  Place 0 is never used. */
	uint32_t n, capacity;
	uint32_t free_from; /* no free place is below */
	uint32_t used;
	struct entry *by_key; /* texts are not in it: each lookup of one is a file of its own */
};

int slots_new(struct slots **ret_slots, struct error *err)
{
	struct slots *slots = calloc(1, sizeof(*slots));

	if (!slots)
		return error_memory(err);
	pthread_mutex_init(&slots->mutex, NULL);
	slots->n = 1;
	slots->free_from = 1;
	*ret_slots = slots;
	return 0;
}

static void entry_free(struct entry *entry)
{
	content_free(entry->slot.text);
	free(entry->slot.chunks);
	free(entry->path);
	free(entry);
}

struct slots *slots_free(struct slots *slots)
{
	if (!slots)
		return NULL;
	HASH_CLEAR(hh, slots->by_key);
	for (uint32_t i = 1; i < slots->n; i++)
		if (slots->places[i])
			entry_free(slots->places[i]);
	free(slots->places);
	pthread_mutex_destroy(&slots->mutex);
	free(slots);
	return NULL;
}

struct slot *slots_get(struct slots *slots, uint64_t ino, uint64_t *ret_number)
{
	uint64_t place = ino >> NUMBER_BITS, number = ino & NUMBER_MAX;
	struct entry *entry = NULL;

	pthread_mutex_lock(&slots->mutex);
	if (place < slots->n && place > 0)
		entry = slots->places[place];
	pthread_mutex_unlock(&slots->mutex);
	if (!entry)
		return NULL;
	if (entry->slot.kind != SLOT_VIEW ? number > 0 : number >= NUMBER_GRID + entry->slot.total)
		return NULL;
	*ret_number = number;
	return &entry->slot;
}

uint64_t slot_ino(const struct slot *slot, uint64_t number)
{
	return (uint64_t)slot->place << NUMBER_BITS | number;
}

/* SplitMix64's finaliser (Steele, Lea, Flood 2014): every bit of the input reaches every bit. */
static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

uint64_t slot_st_ino(const struct slot *slot, uint64_t number)
{
	uint64_t ino = mix(slot->seed + number);

	/* 0 hides an entry from readdir, 1 is the root. */
	return ino < 2 ? ino + 2 : ino;
}

static int place_find(struct slots *slots, uint32_t *ret_place, struct error *err)
{
	uint32_t place = slots->free_from;

	while (place < slots->n && slots->places[place])
		place++;
	if (place >= SLOTS_MAX)
		return error_set(err, ERR_MEMORY, "more than %u folders in use", SLOTS_MAX);
	if (place >= slots->capacity) {
		uint32_t capacity = slots->capacity ? slots->capacity * 2 : 256;
		struct entry **places = realloc(slots->places, capacity * sizeof(*places));

		if (!places)
			return error_memory(err);
		memset(places + slots->capacity, 0, (capacity - slots->capacity) * sizeof(*places));
		slots->places = places;
		slots->capacity = capacity;
	}
	slots->free_from = place + 1;
	*ret_place = place;
	return 0;
}

/* Puts a filled entry into the table.  Under the mutex. */
static int entry_place(struct slots *slots, struct entry *entry, struct error *err)
{
	int r = place_find(slots, &entry->slot.place, err);

	if (r < 0)
		return r;
	slots->places[entry->slot.place] = entry;
	if (entry->slot.place >= slots->n)
		slots->n = entry->slot.place + 1;
	slots->used++;
	return 0;
}

/* The grid of a view's folder, if it is an array's. */
static int entry_grid(struct entry *entry, const struct view *view, struct error *err)
{
	struct slot *slot = &entry->slot;
	struct node node;
	uint64_t length;

	if (!view_node(view, slot->folder, &node) || !node.is_array)
		return 0;
	slot->n_dims = node.n_dims;
	slot->chunks = calloc(node.n_dims + 1u, sizeof(*slot->chunks));
	if (!slot->chunks)
		return error_memory(err);
	for (uint32_t dim = 0; dim < node.n_dims; dim++)
		checkout_dim(view_checkout(view), &node, dim, &length, &slot->chunks[dim]);
	return number_total(slot->chunks, slot->n_dims, &slot->total, err);
}

static int entry_fill(struct entry *entry, const struct slot_key *key, const struct view *view,
		      uint32_t folder, struct error *err)
{
	struct slot *slot = &entry->slot;

	entry->key = *key;
	slot->kind = key->kind;
	if (key->kind == SLOT_STATUS) {
		slot->status = (enum status_folder)key->epoch;
		slot->seed = mix(UINT64_C(0x7265666d74) + key->epoch);
		return 0;
	}
	slot->tree = key->tree;
	slot->epoch = key->epoch;
	slot->snapshot = *checkout_id(view_checkout(view));
	slot->folder = folder;
	entry->path = slice_dup(view_path(view, folder), err);
	if (!entry->path)
		return ERR_MEMORY;
	slot->path = slice_text(entry->path);
	memcpy(&slot->seed, key->path, sizeof(slot->seed));
	/* Another epoch is another file: whoever has the old one open keeps reading it. */
	slot->seed ^= mix(key->tree + key->epoch);
	return entry_grid(entry, view, err);
}

static int slots_find(struct slots *slots, const struct slot_key *key, const struct view *view,
		      uint32_t folder, uint64_t n, struct slot **ret_slot, struct error *err)
{
	struct entry *entry;
	int r = 0;

	pthread_mutex_lock(&slots->mutex);
	HASH_FIND(hh, slots->by_key, key, sizeof(*key), entry);
	if (!entry) {
		entry = calloc(1, sizeof(*entry));
		r = entry ? entry_fill(entry, key, view, folder, err) : error_memory(err);
		if (r == 0)
			r = entry_place(slots, entry, err);
		if (r < 0) {
			if (entry)
				entry_free(entry);
			pthread_mutex_unlock(&slots->mutex);
			return r;
		}
		HASH_ADD(hh, slots->by_key, key, sizeof(entry->key), entry);
	}
	entry->slot.lookups += n;
	*ret_slot = &entry->slot;
	pthread_mutex_unlock(&slots->mutex);
	return 0;
}

int slots_view(struct slots *slots, uint64_t tree, uint32_t epoch, const struct view *view,
	       uint32_t folder, uint64_t n, struct slot **ret_slot, struct error *err)
{
	uint8_t digest[SHA256_SIZE];
	struct slot_key key;
	int r;

	memset(&key, 0, sizeof(key));
	key.tree = tree;
	key.kind = SLOT_VIEW;
	key.epoch = epoch;
	r = sha256(view_path(view, folder), digest, err);
	if (r < 0)
		return r;
	memcpy(key.path, digest, sizeof(key.path));
	return slots_find(slots, &key, view, folder, n, ret_slot, err);
}

int slots_status(struct slots *slots, enum status_folder folder, uint64_t n, struct slot **ret_slot,
		 struct error *err)
{
	struct slot_key key;

	memset(&key, 0, sizeof(key));
	key.kind = SLOT_STATUS;
	key.epoch = folder;
	return slots_find(slots, &key, NULL, 0, n, ret_slot, err);
}

int slots_text(struct slots *slots, struct content *text, int64_t mtime, uint64_t n,
	       struct slot **ret_slot, struct error *err)
{
	struct entry *entry = calloc(1, sizeof(*entry));
	int r;

	if (!entry) {
		content_free(text);
		return error_memory(err);
	}
	entry->slot.kind = SLOT_TEXT;
	entry->slot.text = text;
	entry->slot.mtime = mtime;
	entry->slot.lookups = n;
	pthread_mutex_lock(&slots->mutex);
	r = entry_place(slots, entry, err);
	pthread_mutex_unlock(&slots->mutex);
	if (r < 0) {
		entry_free(entry);
		return r;
	}
	entry->slot.seed = mix(UINT64_C(0x74657874) + entry->slot.place);
	*ret_slot = &entry->slot;
	return 0;
}

void slots_again(struct slots *slots, struct slot *slot)
{
	pthread_mutex_lock(&slots->mutex);
	slot->lookups++;
	pthread_mutex_unlock(&slots->mutex);
}

/* Takes the slot at @place out of the table if nobody knows it any more.  Under the mutex. */
static struct entry *place_clear(struct slots *slots, uint32_t place)
{
	struct entry *entry = slots->places[place];

	if (entry->slot.lookups || entry->slot.holds)
		return NULL;
	slots->places[place] = NULL;
	slots->used--;
	if (place < slots->free_from)
		slots->free_from = place;
	if (entry->slot.kind != SLOT_TEXT)
		HASH_DEL(slots->by_key, entry);
	return entry;
}

void slots_forget(struct slots *slots, uint64_t ino, uint64_t n)
{
	uint64_t place = ino >> NUMBER_BITS;
	struct entry *entry = NULL;

	pthread_mutex_lock(&slots->mutex);
	if (place > 0 && place < slots->n)
		entry = slots->places[place];
	if (entry) {
		entry->slot.lookups -= n < entry->slot.lookups ? n : entry->slot.lookups;
		entry = place_clear(slots, (uint32_t)place);
	}
	pthread_mutex_unlock(&slots->mutex);
	if (entry)
		entry_free(entry);
}

void slots_hold(struct slots *slots, struct slot *slot)
{
	pthread_mutex_lock(&slots->mutex);
	slot->holds++;
	slot->lookups--;
	pthread_mutex_unlock(&slots->mutex);
}

void slots_release(struct slots *slots, struct slot *slot)
{
	struct entry *entry;

	pthread_mutex_lock(&slots->mutex);
	slot->holds--;
	entry = place_clear(slots, slot->place);
	pthread_mutex_unlock(&slots->mutex);
	if (entry)
		entry_free(entry);
}

uint32_t slots_count(struct slots *slots)
{
	uint32_t used;

	pthread_mutex_lock(&slots->mutex);
	used = slots->used;
	pthread_mutex_unlock(&slots->mutex);
	return used;
}

bool slot_holds(const struct slot *slot, const struct view_file *file)
{
	if (file->kind == VIEW_FOLDER || file->kind == VIEW_DOCUMENT)
		return true;
	if (!slot->chunks || file->depth > slot->n_dims)
		return false;
	for (uint32_t dim = 0; dim < file->depth; dim++)
		if (file->index[dim] >= slot->chunks[dim])
			return false;
	return true;
}

uint64_t slot_number(const struct slot *slot, const struct view_file *file)
{
	switch (file->kind) {
	case VIEW_FOLDER:
		return NUMBER_FOLDER;
	case VIEW_DOCUMENT:
		return NUMBER_DOCUMENT;
	default:
		return NUMBER_GRID +
		       number_of(slot->chunks, slot->n_dims, file->index, file->depth);
	}
}

struct view_file slot_file(const struct slot *slot, uint64_t number)
{
	struct view_file file = {.kind = VIEW_FOLDER, .folder = slot->folder};

	if (number == NUMBER_DOCUMENT)
		file.kind = VIEW_DOCUMENT;
	if (number >= NUMBER_GRID) {
		number_split(slot->chunks, slot->n_dims, number - NUMBER_GRID, file.index,
			     &file.depth);
		file.kind = file.depth == slot->n_dims ? VIEW_CHUNK : VIEW_GRID;
	}
	return file;
}
