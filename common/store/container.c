/* SPDX-License-Identifier: Apache-2.0 */
#include "store/container.h"

#include <stdlib.h>

#include "base/text.h"
#include "net/address.h"
#include "net/url.h"
#include "store/drivers.h"

enum container_kind { KIND_NONE, KIND_S3, KIND_GS, KIND_AZ, KIND_WEB, KIND_FILE };

static const struct container_scheme {
	const char *start;
	enum container_kind kind;
} schemes[] = {
	{"s3://", KIND_S3},	{"tigris://", KIND_S3}, {"gs://", KIND_GS},   {"gcs://", KIND_GS},
	{"az://", KIND_AZ},	{"azure://", KIND_AZ},	{"abfs://", KIND_AZ}, {"http://", KIND_WEB},
	{"https://", KIND_WEB}, {"file://", KIND_FILE},
};

struct store_container {
	struct store store;
	struct store *inner;
	char *prefix; /* start of every key, "" or ending in '/' */
	size_t strip; /* bytes of it that the store inside does not want */
};

static struct store_container *container(struct store *store)
{
	return (struct store_container *)store;
}

static const struct container_scheme *container_scheme(const char *location)
{
	for (size_t i = 0; i < ARRAY_LEN(schemes); i++)
		if (text_starts(location, schemes[i].start))
			return &schemes[i];
	return NULL;
}

size_t store_location_root(const char *location)
{
	const struct container_scheme *scheme = container_scheme(location);
	size_t start, host;

	if (!scheme)
		return 0;
	start = strlen(scheme->start);
	host = strcspn(location + start, "/?#");
	/* file:///path has no host, all others have one. */
	if ((scheme->kind == KIND_FILE) != (host == 0))
		return 0;
	if (location[start + host] == '/')
		return start + host + 1;
	/* "https://host?x": the query belongs to the key. */
	return location[start + host] ? 0 : start + host;
}

char *store_location_shown(struct slice location)
{
	CLEANUP(freep) char *text = slice_dup(location, NULL);

	return text ? url_redact(text, NULL) : NULL;
}

/* The key below the prefix, or NULL with ERR_DENIED. */
static const char *container_key(struct store *store, const char *key, struct error *err)
{
	if (text_starts(key, container(store)->prefix))
		return key + container(store)->strip;
	error_set(err, ERR_DENIED, "it is not below the container's prefix");
	return NULL;
}

static int container_get(struct store *store, const char *key, uint64_t offset, uint64_t length,
			 const struct store_condition *condition, struct buf *out,
			 struct store_info *ret_info, struct error *err)
{
	struct store *inner = container(store)->inner;
	const char *rest = container_key(store, key, err);

	if (!rest)
		return ERR_DENIED;
	return inner->ops->get(inner, rest, offset, length, condition, out, ret_info, err);
}

static int container_head(struct store *store, const char *key, struct store_info *ret_info,
			  struct error *err)
{
	struct store *inner = container(store)->inner;
	const char *rest = container_key(store, key, err);

	return rest ? inner->ops->head(inner, rest, ret_info, err) : ERR_DENIED;
}

struct container_listing {
	struct slice strip;
	store_list_fn each;
	void *argument;
};

static int container_entry(void *argument, const struct store_entry *entry, struct error *err)
{
	const struct container_listing *listing = argument;
	CLEANUP(freep)
	char *key = text_printf(err, "%.*s%s", (int)listing->strip.size,
				(const char *)listing->strip.data, entry->key);
	struct store_entry shown = *entry;

	if (!key)
		return ERR_MEMORY;
	shown.key = key;
	return listing->each(listing->argument, &shown, err);
}

static int container_list(struct store *store, const char *prefix, bool delimiter,
			  store_list_fn each, void *argument, struct error *err)
{
	struct store *inner = container(store)->inner;
	struct container_listing listing = {
		slice_of(container(store)->prefix, container(store)->strip), each, argument};
	const char *rest = container_key(store, prefix, err);

	if (!rest)
		return ERR_DENIED;
	if (!inner->ops->list)
		return error_set(err, ERR_UNSUPPORTED, "it cannot be listed");
	return inner->ops->list(inner, rest, delimiter, container_entry, &listing, err);
}

static void container_free(struct store *store)
{
	store_free(container(store)->inner);
	free(container(store)->prefix);
	free(store);
}

static const struct store_ops container_ops = {
	.name = "container",
	.get = container_get,
	.head = container_head,
	.list = container_list,
	.free = container_free,
};

/* "http://host:9000/bucket/prefix" as a URL of the scheme, with the endpoint apart. */
static int container_endpoint(enum container_kind kind, const char *mapped, char **ret_url,
			      char **ret_endpoint, struct error *err)
{
	static const char *const starts[] = {
		[KIND_S3] = "s3://", [KIND_GS] = "gs://", [KIND_AZ] = "az://"};
	CLEANUP(url_done) struct url url = {0};
	CLEANUP(freep) char *origin = NULL;
	CLEANUP(freep) char *whole = NULL;
	bool in_path;
	int r = url_parse(mapped, &url, err);

	if (r < 0)
		return r;
	origin = url_origin(&url, err);
	/* Azure's own host names begin with the account; emulators have it in the path. */
	in_path = kind != KIND_AZ || address_is_literal(url.host) || !strchr(url.host, '.');
	if (in_path)
		whole = text_printf(err, "%s%s", starts[kind], url.target + 1);
	else
		whole = text_printf(err, "%s%.*s%s", starts[kind], (int)strcspn(url.host, "."),
				    url.host, url.target);
	if (!origin || !whole)
		return ERR_MEMORY;
	*ret_url = TAKE(whole);
	*ret_endpoint = TAKE(origin);
	return 0;
}

static int container_open_mapped(enum container_kind kind, const char *mapped,
				 const struct store_options *options, struct store **ret_store,
				 struct error *err)
{
	struct store_options own = *options;
	CLEANUP(freep) char *url = NULL;
	CLEANUP(freep) char *endpoint = NULL;
	bool web = text_starts(mapped, "http://") || text_starts(mapped, "https://");
	int r;

	own.allow_private = true;
	own.no_environment = true;
	if (web && kind != KIND_WEB && kind != KIND_FILE) {
		r = container_endpoint(kind, mapped, &url, &endpoint, err);
		if (r < 0)
			return r;
		own.endpoint_url = endpoint;
		own.anonymous = true;
		own.path_style = true;
		return store_open(url, &own, ret_store, err);
	}
	if (web)
		return store_http_new(mapped, true, &own, ret_store, err);
	return store_open(mapped, &own, ret_store, err);
}

/* At the root, so that the key goes on as it stands; only a folder has to be closed at its prefix.
 */
static int container_open_plain(enum container_kind kind, struct store_container *self,
				const char *prefix, const struct store_options *options,
				struct error *err)
{
	struct store_options own = *options;

	own.no_environment = true;
	if (kind == KIND_FILE)
		return store_open(prefix, &own, &self->inner, err);
	self->strip = 0;
	if (kind == KIND_WEB)
		return store_http_new(self->store.url, true, &own, &self->inner, err);
	return store_open(self->store.url, &own, &self->inner, err);
}

int store_open_container(const char *prefix, const char *mapped,
			 const struct store_options *options, struct store **ret_store,
			 struct error *err)
{
	const struct container_scheme *scheme = container_scheme(prefix);
	size_t root = store_location_root(prefix);
	struct store_container *self;
	const char *path = prefix + root;
	int r;

	if (!scheme || !root || strpbrk(path, "?#"))
		return error_set(err, ERR_ARGUMENT, "'%s' is no prefix of a container", prefix);
	self = calloc(1, sizeof(*self));
	if (!self)
		return error_memory(err);
	self->store.ops = &container_ops;
	/* Messages name objects as the references do. */
	self->store.url = slice_dup(slice_of(prefix, root), err);
	self->prefix = text_printf(err, "%s%s", path, path[0] && !text_ends(path, "/") ? "/" : "");
	r = self->store.url && self->prefix ? 0 : ERR_MEMORY;
	if (r == 0) {
		self->strip = strlen(self->prefix);
		r = mapped ? container_open_mapped(scheme->kind, mapped, options, &self->inner, err)
			   : container_open_plain(scheme->kind, self, prefix, options, err);
	}
	if (r < 0) {
		store_free(&self->store);
		return r;
	}
	self->store.read_only = true;
	*ret_store = &self->store;
	return 0;
}
