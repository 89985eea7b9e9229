/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "base/time.h"
#include "base/vec.h"
#include "store/check.h"
#include "store/drivers.h"

struct memory_object {
	char *key;
	uint8_t *data;
	size_t size;
	uint64_t generation;
	int64_t modified;
};

DEFINE_VEC(memory_objects, struct memory_object);

/* Objects sorted by key; shared by every store of one name. */
struct memory_shelf {
	struct memory_shelf *next;
	char *name; /* NULL: belongs to one store alone */
	pthread_mutex_t lock;
	struct memory_objects objects;
	uint64_t generation;
};

struct store_memory {
	struct store store;
	struct memory_shelf *shelf;
};

static pthread_mutex_t shelves_lock = PTHREAD_MUTEX_INITIALIZER;
static struct memory_shelf *shelves;

static void unlockp(pthread_mutex_t **lock)
{
	pthread_mutex_unlock(*lock);
}

#define WITH_SHELF(store)                                                          \
	CLEANUP(unlockp)                                                           \
	pthread_mutex_t *locked_ = &((struct store_memory *)(store))->shelf->lock; \
	pthread_mutex_lock(locked_)

static struct memory_shelf *memory_shelf(struct store *store)
{
	return ((struct store_memory *)store)->shelf;
}

/* Where @key is, or would be inserted. */
static size_t shelf_position(const struct memory_shelf *shelf, const char *key, bool *ret_found)
{
	size_t low = 0, high = shelf->objects.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(shelf->objects.items[middle].key, key);

		if (order == 0) {
			*ret_found = true;
			return middle;
		}
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	*ret_found = false;
	return low;
}

static struct memory_object *shelf_find(struct memory_shelf *shelf, const char *key)
{
	bool found;
	size_t at = shelf_position(shelf, key, &found);

	return found ? &shelf->objects.items[at] : NULL;
}

static void memory_info(const struct memory_object *object, struct store_info *ret_info)
{
	*ret_info = (struct store_info){.size = object->size, .last_modified = object->modified};
	snprintf(ret_info->version.text, sizeof(ret_info->version.text), "\"%llu\"",
		 (unsigned long long)object->generation);
}

static bool memory_is(const struct memory_object *object, const struct version *version)
{
	struct store_info info;

	memory_info(object, &info);
	return strcmp(info.version.text, version->text) == 0;
}

static int memory_get(struct store *store, const char *key, uint64_t offset, uint64_t length,
		      const struct store_condition *condition, struct buf *out,
		      struct store_info *ret_info, struct error *err)
{
	struct memory_object *object;
	struct store_info info;
	int r;

	WITH_SHELF(store);
	object = shelf_find(memory_shelf(store), key);
	if (!object)
		return STORE_ABSENT;
	memory_info(object, &info);
	r = store_check_condition(condition, &info, err);
	if (r < 0)
		return r;
	r = store_check_range(offset, &length, object->size, err);
	if (r < 0)
		return r;
	r = buf_append(out, object->data + offset, length, err);
	if (r < 0)
		return r;
	if (ret_info)
		*ret_info = info;
	return 0;
}

static int memory_head(struct store *store, const char *key, struct store_info *ret_info,
		       struct error *err)
{
	struct memory_object *object;

	(void)err;
	WITH_SHELF(store);
	object = shelf_find(memory_shelf(store), key);
	if (!object)
		return STORE_ABSENT;
	memory_info(object, ret_info);
	return 0;
}

/* Makes room at the key's place; the new object is empty. */
static int shelf_insert(struct memory_shelf *shelf, const char *key, struct error *err)
{
	CLEANUP(freep) char *copy = text_dup(key, err);
	struct memory_objects *objects = &shelf->objects;
	bool found;
	size_t at = shelf_position(shelf, key, &found);
	int r;

	if (found)
		return 0;
	if (!copy)
		return ERR_MEMORY;
	r = memory_objects_push(objects, (struct memory_object){0}, err);
	if (r < 0)
		return r;
	memmove(objects->items + at + 1, objects->items + at,
		(objects->n - 1 - at) * sizeof(objects->items[0]));
	objects->items[at] = (struct memory_object){.key = TAKE(copy)};
	return 0;
}

static int shelf_store(struct memory_shelf *shelf, const char *key, struct slice bytes,
		       struct version *ret_version, struct error *err)
{
	CLEANUP(freep) uint8_t *data = malloc(bytes.size ? bytes.size : 1);
	struct memory_object *object;
	struct store_info info;
	int r;

	if (!data)
		return error_memory(err);
	if (bytes.size)
		memcpy(data, bytes.data, bytes.size);
	r = shelf_insert(shelf, key, err);
	if (r < 0)
		return r;
	object = shelf_find(shelf, key);
	free(object->data);
	object->data = TAKE(data);
	object->size = bytes.size;
	object->generation = ++shelf->generation;
	object->modified = time_now();
	memory_info(object, &info);
	if (ret_version)
		*ret_version = info.version;
	return 0;
}

static int memory_put(struct store *store, const char *key, struct slice bytes, struct error *err)
{
	WITH_SHELF(store);
	return shelf_store(memory_shelf(store), key, bytes, NULL, err);
}

static int memory_replace(struct store *store, const char *key, const struct version *version,
			  struct slice bytes, struct version *ret_version, struct error *err)
{
	struct memory_object *object;

	WITH_SHELF(store);
	object = shelf_find(memory_shelf(store), key);
	if (version ? !object || !memory_is(object, version) : object != NULL)
		return STORE_CHANGED;
	return shelf_store(memory_shelf(store), key, bytes, ret_version, err);
}

static int memory_copy(struct store *store, const char *from, const struct version *version,
		       const char *to, struct error *err)
{
	CLEANUP(buf_done) struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
	struct memory_object *object;
	int r;

	WITH_SHELF(store);
	object = shelf_find(memory_shelf(store), from);
	if (!object)
		return STORE_ABSENT;
	if (version && !memory_is(object, version))
		return STORE_CHANGED;
	r = buf_append(&bytes, object->data, object->size, err);
	if (r < 0)
		return r;
	return shelf_store(memory_shelf(store), to, buf_slice(&bytes), NULL, err);
}

static int memory_remove(struct store *store, const char *key, struct error *err)
{
	struct memory_objects *objects = &memory_shelf(store)->objects;
	size_t at;
	bool found;

	(void)err;
	WITH_SHELF(store);
	at = shelf_position(memory_shelf(store), key, &found);
	if (!found)
		return 0;
	free(objects->items[at].key);
	free(objects->items[at].data);
	memmove(objects->items + at, objects->items + at + 1,
		(objects->n - 1 - at) * sizeof(objects->items[0]));
	objects->n--;
	return 0;
}

struct memory_entry {
	char *key;
	struct store_info info;
};

DEFINE_VEC(memory_entries, struct memory_entry);

static void memory_entries_free(struct memory_entries *entries)
{
	for (size_t i = 0; i < entries->n; i++)
		free(entries->items[i].key);
	memory_entries_done(entries);
}

/* Copies what matches, so that the callback may use the store. */
static int memory_collect(struct store *store, const char *prefix, struct memory_entries *entries,
			  struct error *err)
{
	struct memory_shelf *shelf = memory_shelf(store);
	bool found;

	WITH_SHELF(store);
	for (size_t i = shelf_position(shelf, prefix, &found); i < shelf->objects.n; i++) {
		const struct memory_object *object = &shelf->objects.items[i];
		struct memory_entry entry = {0};
		int r;

		if (!text_starts(object->key, prefix))
			break;
		memory_info(object, &entry.info);
		entry.key = text_dup(object->key, err);
		if (!entry.key)
			return ERR_MEMORY;
		r = memory_entries_push(entries, entry, err);
		if (r < 0) {
			free(entry.key);
			return r;
		}
	}
	return 0;
}

static int memory_list(struct store *store, const char *prefix, bool delimiter, store_list_fn each,
		       void *argument, struct error *err)
{
	CLEANUP(memory_entries_free) struct memory_entries entries = {0};
	const char *shown = NULL; /* the common prefix that was shown last */
	size_t skip = strlen(prefix), shown_size = 0;
	int r;

	r = memory_collect(store, prefix, &entries, err);
	for (size_t i = 0; i < entries.n && r >= 0; i++) {
		char *key = entries.items[i].key;
		char *slash = delimiter ? strchr(key + skip, '/') : NULL;
		struct store_entry entry = {.key = key, .info = entries.items[i].info};

		if (slash) {
			if (shown && strncmp(shown, key, shown_size) == 0)
				continue;
			slash[1] = '\0';
			shown = key;
			shown_size = strlen(key);
			entry = (struct store_entry){.key = key, .is_prefix = true};
		}
		r = each(argument, &entry, err);
	}
	return r < 0 ? r : 0;
}

static void shelf_free(struct memory_shelf *shelf)
{
	for (size_t i = 0; i < shelf->objects.n; i++) {
		free(shelf->objects.items[i].key);
		free(shelf->objects.items[i].data);
	}
	memory_objects_done(&shelf->objects);
	pthread_mutex_destroy(&shelf->lock);
	free(shelf->name);
	free(shelf);
}

static void memory_free(struct store *store)
{
	/* A named shelf keeps its objects for the next one who opens it. */
	if (!memory_shelf(store)->name)
		shelf_free(memory_shelf(store));
	free(store);
}

static const struct store_ops memory_ops = {
	.name = "memory",
	.get = memory_get,
	.head = memory_head,
	.put = memory_put,
	.replace = memory_replace,
	.copy = memory_copy,
	.list = memory_list,
	.remove = memory_remove,
	.free = memory_free,
};

static struct memory_shelf *shelf_new(struct error *err)
{
	struct memory_shelf *shelf = calloc(1, sizeof(*shelf));

	if (!shelf) {
		error_memory(err);
		return NULL;
	}
	pthread_mutex_init(&shelf->lock, NULL);
	return shelf;
}

static int memory_new(struct memory_shelf *shelf, struct store **ret_store, struct error *err)
{
	struct store_memory *memory = calloc(1, sizeof(*memory));

	if (!memory)
		return error_memory(err);
	memory->store.ops = &memory_ops;
	memory->store.url = text_printf(err, "memory:%s", shelf->name ? shelf->name : "");
	if (!memory->store.url) {
		free(memory);
		return ERR_MEMORY;
	}
	memory->shelf = shelf;
	*ret_store = &memory->store;
	return 0;
}

int store_memory_new(struct store **ret_store, struct error *err)
{
	struct memory_shelf *shelf = shelf_new(err);
	int r;

	if (!shelf)
		return ERR_MEMORY;
	r = memory_new(shelf, ret_store, err);
	if (r < 0)
		shelf_free(shelf);
	return r;
}

/* The caller holds shelves_lock. */
static struct memory_shelf *shelf_named(const char *name, struct error *err)
{
	struct memory_shelf *shelf;

	for (shelf = shelves; shelf; shelf = shelf->next)
		if (strcmp(shelf->name, name) == 0)
			return shelf;
	shelf = shelf_new(err);
	if (!shelf)
		return NULL;
	shelf->name = text_dup(name, err);
	if (!shelf->name) {
		shelf_free(shelf);
		return NULL;
	}
	shelf->next = shelves;
	shelves = shelf;
	return shelf;
}

int store_memory_open(const char *name, struct store **ret_store, struct error *err)
{
	struct memory_shelf *shelf;

	pthread_mutex_lock(&shelves_lock);
	shelf = shelf_named(name, err);
	pthread_mutex_unlock(&shelves_lock);
	return shelf ? memory_new(shelf, ret_store, err) : ERR_MEMORY;
}
