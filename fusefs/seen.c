/* SPDX-License-Identifier: Apache-2.0 */
#include "fusefs/seen.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "base/pool.h"
#include "base/text.h"
#include "base/vec.h"

#define THREADS 16
#define SILENT_MAX 3 /* answers that failed to come, in a row */

/* "https://host", "s3://bucket": what objects at one place share. */
struct host {
	atomic_uint silent;
	uint64_t n_skipped;
	UT_hash_handle hh;
	char name[];
};

struct object {
	struct host *host;
	uint64_t end; /* furthest byte that a reference needs */
	uint64_t n_refs;
	bool skipped;
	char *finding; /* NULL: all is well */
	UT_hash_handle hh;
	char location[];
};
DEFINE_VEC(objects, struct object *);

struct seen {
	struct host *hosts;
	struct object *by_location;
	struct objects objects;
	struct sources *sources; /* while they are asked for */
};

int seen_new(struct seen **ret_seen, struct error *err)
{
	*ret_seen = calloc(1, sizeof(**ret_seen));
	return *ret_seen ? 0 : error_memory(err);
}

struct seen *seen_free(struct seen *seen)
{
	struct host *host, *next;

	if (!seen)
		return NULL;
	HASH_CLEAR(hh, seen->by_location);
	for (size_t i = 0; i < seen->objects.n; i++) {
		free(seen->objects.items[i]->finding);
		free(seen->objects.items[i]);
	}
	objects_done(&seen->objects);
	HASH_ITER(hh, seen->hosts, host, next)
	{
		HASH_DEL(seen->hosts, host);
		free(host);
	}
	free(seen);
	return NULL;
}

static size_t host_length(const char *location)
{
	const char *name = strstr(location, "://");

	name = name ? name + 3 : location;
	return (size_t)(name - location) + strcspn(name, "/?#");
}

static struct host *find_host(struct seen *seen, const char *location)
{
	size_t n = host_length(location);
	struct host *host;

	HASH_FIND(hh, seen->hosts, location, n, host);
	if (host)
		return host;
	host = calloc(1, sizeof(*host) + n + 1);
	if (!host)
		return NULL;
	memcpy(host->name, location, n);
	HASH_ADD(hh, seen->hosts, name, n, host);
	return host;
}

static int object_new(struct seen *seen, const char *location, struct object **ret_object,
		      struct error *err)
{
	size_t n = strlen(location);
	struct object *object = calloc(1, sizeof(*object) + n + 1);
	int r;

	if (!object)
		return error_memory(err);
	memcpy(object->location, location, n);
	object->host = find_host(seen, location);
	r = object->host ? objects_push(&seen->objects, object, err) : error_memory(err);
	if (r < 0) {
		free(object);
		return r;
	}
	HASH_ADD(hh, seen->by_location, location, n, object);
	*ret_object = object;
	return 0;
}

int seen_add(struct seen *seen, const char *location, uint64_t offset, uint64_t length,
	     struct error *err)
{
	struct object *object;
	uint64_t end;
	int r;

	if (__builtin_add_overflow(offset, length, &end))
		end = UINT64_MAX;
	HASH_FIND(hh, seen->by_location, location, strlen(location), object);
	if (!object) {
		r = object_new(seen, location, &object, err);
		if (r < 0)
			return r;
	}
	object->n_refs++;
	if (end > object->end)
		object->end = end;
	return 0;
}

/* No answer, or none about the object.  What is wrong with one local file says nothing of others.
 */
static bool is_silence(const struct object *object, int r)
{
	return (r == ERR_NETWORK || r == ERR_TEMPORARY || r == ERR_TIMEOUT || r == ERR_THROTTLED) &&
	       strncmp(object->location, "file:", 5) != 0;
}

static int find_fault(const struct object *object, int r, const struct store_info *info,
		      struct error *why)
{
	if (r == STORE_ABSENT)
		return error_set(why, ERR_ABSENT, "does not exist; %llu references point at it",
				 (unsigned long long)object->n_refs);
	if (r == 0 && info->size < object->end)
		return error_set(why, ERR_FORMAT, "%llu bytes, references reach to %llu",
				 (unsigned long long)info->size, (unsigned long long)object->end);
	return r;
}

static int look(void *argument, size_t i, struct error *err)
{
	struct seen *seen = argument;
	struct object *object = seen->objects.items[i];
	CLEANUP(freep) char *key = NULL;
	struct error why = ERROR_INIT;
	struct source source = {0};
	struct store_info info;
	int r;

	object->skipped = atomic_load(&object->host->silent) >= SILENT_MAX;
	if (object->skipped)
		return 0;
	r = sources_find(seen->sources, slice_text(object->location), &source, &why);
	key = source.key;
	if (r == 0) {
		r = store_head(source.store, key, &info, &why);
		if (is_silence(object, r))
			atomic_fetch_add(&object->host->silent, 1);
		else
			atomic_store(&object->host->silent, 0);
	}
	if (find_fault(object, r, &info, &why) == 0)
		return 0;
	object->finding = text_dup(why.text, err);
	return object->finding ? 0 : ERR_MEMORY;
}

int seen_check(struct seen *seen, struct sources *sources,
	       void (*say)(void *argument, const char *what, const char *text), void *argument,
	       struct error *err)
{
	struct host *host, *next;
	int r;

	seen->sources = sources;
	r = parallel_for(THREADS, seen->objects.n, look, seen, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < seen->objects.n; i++) {
		const struct object *object = seen->objects.items[i];

		object->host->n_skipped += object->skipped;
		if (object->finding)
			say(argument, object->location, object->finding);
	}
	HASH_ITER(hh, seen->hosts, host, next)
	{
		char text[100];

		if (!host->n_skipped)
			continue;
		snprintf(text, sizeof(text),
			 "does not answer; %llu more objects were not asked for",
			 (unsigned long long)host->n_skipped);
		say(argument, host->name, text);
	}
	return 0;
}
