/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store.h"

#include <stdlib.h>

#include "base/pool.h"
#include "base/text.h"
#include "net/url.h"
#include "store/drivers.h"

enum { STORE_REMOVALS_AT_ONCE = 16 };

static int store_open_memory(const char *url, struct store **ret_store, struct error *err)
{
	return store_memory_open(url + strlen("memory:"), ret_store, err);
}

static int store_open_file(const char *url, struct store **ret_store, struct error *err)
{
	const char *path = url;

	if (text_starts(url, "file://")) {
		path += strlen("file://");
		if (path[0] != '/')
			return error_set(err, ERR_ARGUMENT,
					 "cannot open '%s': a file URL is file:///path", url);
	}
	return store_local_new(path, ret_store, err);
}

/* The part of a URL that names its scheme, "" for a path. */
static struct slice store_scheme(const char *url)
{
	const char *end = strstr(url, "://");

	if (text_starts(url, "memory:"))
		return slice_text("memory");
	return slice_of(url, end ? (size_t)(end - url) : 0);
}

static int store_open_scheme(const char *url, const struct store_options *options,
			     struct store **ret_store, struct error *err)
{
	struct slice scheme = store_scheme(url);

	if (scheme.size == 0 || slice_is(scheme, "file"))
		return store_open_file(url, ret_store, err);
	if (slice_is(scheme, "memory"))
		return store_open_memory(url, ret_store, err);
	if (slice_is(scheme, "s3") || slice_is(scheme, "tigris"))
		return store_s3_new(url, options, ret_store, err);
	if (slice_is(scheme, "gs") || slice_is(scheme, "gcs"))
		return store_gcs_new(url, options, ret_store, err);
	if (slice_is(scheme, "az") || slice_is(scheme, "azure") || slice_is(scheme, "abfs"))
		return store_azure_new(url, options, ret_store, err);
	if (slice_is(scheme, "http") || slice_is(scheme, "https"))
		return store_http_new(url, false, options, ret_store, err);
	return error_set(err, ERR_ARGUMENT, "cannot open '%s': unknown scheme '%.*s'", url,
			 (int)scheme.size, (const char *)scheme.data);
}

int store_open(const char *url, const struct store_options *options, struct store **ret_store,
	       struct error *err)
{
	static const struct store_options defaults;
	struct store *store = NULL;
	int r;

	if (!options)
		options = &defaults;
	if (!url[0])
		return error_set(err, ERR_ARGUMENT, "the URL of the store is empty");
	r = store_open_scheme(url, options, &store, err);
	if (r < 0)
		return r;
	store->read_only = options->read_only;
	*ret_store = store;
	return 0;
}

struct store *store_free(struct store *store)
{
	char *url;

	if (!store)
		return NULL;
	url = store->url;
	store->ops->free(store);
	free(url);
	return NULL;
}

bool store_is_writable(const struct store *store)
{
	return store->ops->replace && !store->read_only;
}

/* Puts the object's name in front, once: a wrapper's error already has it. */
static int store_failed(struct store *store, const char *verb, const char *key, struct error *err)
{
	const char *url = store->url;
	const char *slash = url[0] && !text_ends(url, "/") && key[0] ? "/" : "";
	CLEANUP(freep) char *name = NULL;
	CLEANUP(freep) char *shown = NULL;

	if (store->ops->wrapper)
		return err ? err->kind : ERR_NETWORK;
	name = text_printf(NULL, "%s%s%s", url, slash, key);
	/* The key may be a path with a signed query. */
	if (name && text_starts(url, "http"))
		shown = url_redact(name, NULL);
	return error_prefix(err, "cannot %s '%s'", verb, shown ? shown : name ? name : url);
}

static int store_refuse_write(struct store *store, struct error *err)
{
	return error_set(err, ERR_READ_ONLY, "'%s' is read only", store->url);
}

int store_get(struct store *store, const char *key, uint64_t offset, uint64_t length,
	      const struct store_condition *condition, struct buf *out, struct store_info *ret_info,
	      struct error *err)
{
	int r = store->ops->get(store, key, offset, length, condition, out, ret_info, err);

	return r < 0 ? store_failed(store, "read", key, err) : r;
}

int store_get_all(struct store *store, const char *key, struct buf *out,
		  struct store_info *ret_info, struct error *err)
{
	return store_get(store, key, 0, STORE_TO_END, NULL, out, ret_info, err);
}

int store_head(struct store *store, const char *key, struct store_info *ret_info, struct error *err)
{
	int r = store->ops->head(store, key, ret_info, err);

	return r < 0 ? store_failed(store, "look up", key, err) : r;
}

int store_put(struct store *store, const char *key, struct slice bytes, struct error *err)
{
	int r;

	if (!store->ops->put || store->read_only)
		return store_refuse_write(store, err);
	r = store->ops->put(store, key, bytes, err);
	return r < 0 ? store_failed(store, "write", key, err) : r;
}

int store_replace(struct store *store, const char *key, const struct version *version,
		  struct slice bytes, struct version *ret_version, struct error *err)
{
	int r;

	if (!store->ops->replace || store->read_only)
		return store_refuse_write(store, err);
	r = store->ops->replace(store, key, version, bytes, ret_version, err);
	return r < 0 ? store_failed(store, version ? "replace" : "create", key, err) : r;
}

int store_copy(struct store *store, const char *from, const struct version *version, const char *to,
	       struct error *err)
{
	int r;

	if (!store->ops->copy || store->read_only)
		return store_refuse_write(store, err);
	r = store->ops->copy(store, from, version, to, err);
	return r < 0 ? store_failed(store, "copy", from, err) : r;
}

int store_list(struct store *store, const char *prefix, bool delimiter, store_list_fn each,
	       void *argument, struct error *err)
{
	int r;

	if (!store->ops->list)
		return error_set(err, ERR_UNSUPPORTED, "'%s' cannot be listed", store->url);
	r = store->ops->list(store, prefix, delimiter, each, argument, err);
	return r < 0 ? store_failed(store, "list", prefix, err) : r;
}

int store_remove(struct store *store, const char *key, struct error *err)
{
	int r;

	if (!store->ops->remove || store->read_only)
		return store_refuse_write(store, err);
	r = store->ops->remove(store, key, err);
	return r < 0 ? store_failed(store, "remove", key, err) : r;
}

struct store_removal {
	struct store *store;
	const char *const *keys;
};

static int store_remove_one(void *argument, size_t i, struct error *err)
{
	const struct store_removal *removal = argument;

	return store_remove(removal->store, removal->keys[i], err);
}

int store_remove_many(struct store *store, const char *const *keys, size_t n, struct error *err)
{
	struct store_removal removal = {store, keys};
	int r;

	if (!store->ops->remove || store->read_only)
		return store_refuse_write(store, err);
	if (!store->ops->remove_many)
		return parallel_for(STORE_REMOVALS_AT_ONCE, n, store_remove_one, &removal, err);
	r = store->ops->remove_many(store, keys, n, err);
	return r < 0 ? store_failed(store, "remove objects of", "", err) : r;
}

int store_locked(struct store *store, int (*critical)(void *argument, struct error *err),
		 void *argument, struct error *err)
{
	if (!store->ops->locked)
		return critical(argument, err);
	return store->ops->locked(store, critical, argument, err);
}
