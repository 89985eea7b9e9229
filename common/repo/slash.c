/* SPDX-License-Identifier: Apache-2.0 */
#include "repo/slash.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

struct slash {
	struct store store;
	struct store *inner;
};

static struct store *inner_of(struct store *store)
{
	return ((struct slash *)store)->inner;
}

static char *key_with_slash(const char *key, struct error *err)
{
	return text_printf(err, "/%s", key);
}

static int slash_get(struct store *store, const char *key, uint64_t offset, uint64_t length,
		     const struct store_condition *condition, struct buf *out,
		     struct store_info *ret_info, struct error *err)
{
	CLEANUP(freep) char *real = key_with_slash(key, err);

	if (!real)
		return ERR_MEMORY;
	return store_get(inner_of(store), real, offset, length, condition, out, ret_info, err);
}

static int slash_head(struct store *store, const char *key, struct store_info *ret_info,
		      struct error *err)
{
	CLEANUP(freep) char *real = key_with_slash(key, err);

	return real ? store_head(inner_of(store), real, ret_info, err) : ERR_MEMORY;
}

struct listing {
	store_list_fn each;
	void *argument;
};

static int slash_entry(void *argument, const struct store_entry *entry, struct error *err)
{
	const struct listing *listing = argument;
	struct store_entry bare = *entry;

	bare.key += bare.key[0] == '/';
	return listing->each(listing->argument, &bare, err);
}

static int slash_list(struct store *store, const char *prefix, bool delimiter, store_list_fn each,
		      void *argument, struct error *err)
{
	CLEANUP(freep) char *real = key_with_slash(prefix, err);
	struct listing listing = {each, argument};

	if (!real)
		return ERR_MEMORY;
	return store_list(inner_of(store), real, delimiter, slash_entry, &listing, err);
}

static void slash_free(struct store *store)
{
	free(store);
}

static const struct store_ops slash_ops = {
	.name = "s3", /* names of branches are spelled as there */
	.wrapper = true,
	.get = slash_get,
	.head = slash_head,
	.list = slash_list,
	.free = slash_free,
};

bool slash_is_possible(const struct store *store)
{
	const char *bucket = strstr(store->url, "://");
	const char *slash = bucket ? strchr(bucket + 3, '/') : NULL;

	return bucket && strcmp(store->ops->name, "s3") == 0 && (!slash || !slash[1]);
}

int slash_store_new(struct store *inner, struct store **ret_store, struct error *err)
{
	struct slash *slash = calloc(1, sizeof(*slash));

	if (!slash)
		return error_memory(err);
	slash->inner = inner;
	slash->store.ops = &slash_ops;
	slash->store.read_only = true;
	slash->store.url = text_dup(inner->url, err);
	if (!slash->store.url) {
		free(slash);
		return ERR_MEMORY;
	}
	*ret_store = &slash->store;
	return 0;
}
