/* SPDX-License-Identifier: Apache-2.0 */
#include "repo/source.h"

#include <stdlib.h>

#include "base/text.h"
#include "base/vec.h"
#include "repo/internal.h"
#include "repo/location.h"
#include "store/container.h"

/* A store that was opened for a source, kept for all that lie in it. */
struct kept_store {
	char *name; /* URL, endpoint and credential */
	struct store *store;
};
DEFINE_VEC(kept_stores, struct kept_store);

/* Own copies of the options' lists. */
struct pair {
	char *prefix;
	char *value;
};
DEFINE_VEC(pairs, struct pair);

struct sources {
	struct repo *repo;
	struct source_options options; /* the lists are those below */
	struct pairs allow, mirrors;
	pthread_mutex_t mutex; /* of stores */
	struct kept_stores stores;
};

static int pairs_add(struct pairs *pairs, const char *prefix, const char *value, struct error *err)
{
	struct pair pair = {text_dup(prefix, err), text_dup(value ? value : "anonymous", err)};
	int r = ERR_MEMORY;

	if (pair.prefix && pair.value)
		r = pairs_push(pairs, pair, err);
	if (r < 0) {
		free(pair.prefix);
		free(pair.value);
	}
	return r;
}

static void pairs_free(struct pairs *pairs)
{
	for (size_t i = 0; i < pairs->n; i++) {
		free(pairs->items[i].prefix);
		free(pairs->items[i].value);
	}
	pairs_done(pairs);
}

int sources_new(struct repo *repo, const struct source_options *options,
		struct sources **ret_sources, struct error *err)
{
	CLEANUP(sources_freep) struct sources *sources = calloc(1, sizeof(*sources));
	int r = 0;

	if (!sources)
		return error_memory(err);
	sources->repo = repo;
	sources->options = *options;
	pthread_mutex_init(&sources->mutex, NULL);
	for (size_t i = 0; i < options->n_allow && r == 0; i++)
		r = pairs_add(&sources->allow, options->allow[i].prefix,
			      options->allow[i].credential, err);
	for (size_t i = 0; i < options->n_mirrors && r == 0; i++)
		r = pairs_add(&sources->mirrors, options->mirrors[i].prefix,
			      options->mirrors[i].url, err);
	if (r < 0)
		return r;
	*ret_sources = TAKE(sources);
	return 0;
}

struct sources *sources_free(struct sources *sources)
{
	if (!sources)
		return NULL;
	for (size_t i = 0; i < sources->stores.n; i++) {
		store_free(sources->stores.items[i].store);
		free(sources->stores.items[i].name);
	}
	kept_stores_done(&sources->stores);
	pairs_free(&sources->allow);
	pairs_free(&sources->mirrors);
	pthread_mutex_destroy(&sources->mutex);
	free(sources);
	return NULL;
}

/* ---- which container, and may it be followed ---- */

/* The longest valid prefix that covers @url. */
static const struct container *container_covering(const struct config_values *values,
						  struct slice url)
{
	const struct container *best = NULL;

	for (uint32_t i = 0; i < values->n_containers; i++) {
		const struct container *container = &values->containers[i];

		if (container->invalid || !location_covers(slice_text(container->url_prefix), url))
			continue;
		if (!best || strlen(container->url_prefix) > strlen(best->url_prefix))
			best = container;
	}
	return best;
}

static const struct pair *pair_covering(const struct pairs *pairs, struct slice url)
{
	const struct pair *best = NULL;

	for (size_t i = 0; i < pairs->n; i++) {
		if (!location_covers(slice_text(pairs->items[i].prefix), url))
			continue;
		if (!best || strlen(pairs->items[i].prefix) > strlen(best->prefix))
			best = &pairs->items[i];
	}
	return best;
}

/* vcc://NAME/REST to the prefix of the container of that name and REST; others as they are. */
static int location_expand(const struct config_values *values, struct slice text, struct buf *out,
			   struct error *err)
{
	struct location location;
	int r;

	r = location_split(text, &location, err);
	if (r < 0)
		return r;
	if (!location_scheme_is(&location, "vcc"))
		return buf_append_slice(out, text, err);
	for (uint32_t i = 0; i < values->n_containers; i++) {
		const struct container *container = &values->containers[i];

		if (container->invalid || !container->name ||
		    !slice_is(location.authority, container->name))
			continue;
		r = buf_append_text(out, container->url_prefix, err);
		return r < 0 ? r : buf_append_slice(out, location.key, err);
	}
	return error_set(err, ERR_DENIED, "no container of the repository has the name '%.*s'",
			 (int)location.authority.size, (const char *)location.authority.data);
}

/* Clouds and TLS, at addresses that the store checks to be public. */
static bool is_public_scheme(const struct location *location)
{
	static const char *const schemes[] = {"s3",    "gs",   "gcs",	"az",
					      "azure", "abfs", "https", "tigris"};

	for (size_t i = 0; i < ARRAY_LEN(schemes); i++)
		if (location_scheme_is(location, schemes[i]))
			return true;
	return false;
}

/* Refuses to follow @url, which may have a signature in its query. */
static int refuse(struct slice url, const char *why, struct error *err)
{
	CLEANUP(freep) char *shown = store_location_shown(url);

	return error_set(err, ERR_DENIED, "'%s' %s", shown ? shown : "", why);
}

/* The allowance for @url: a pair, NULL for the default one (anonymous, public), or ERR_DENIED. */
static int permit(const struct sources *sources, const struct location *location, struct slice url,
		  const struct pair **ret_pair, struct error *err)
{
	const struct pair *pair = pair_covering(&sources->allow, url);

	if (!pair && (sources->options.no_default_allow || !is_public_scheme(location)))
		return refuse(url, "may not be followed without --allow for its container", err);
	*ret_pair = pair;
	return 0;
}

/* ---- stores ---- */

/* The store of the container @prefix, whose objects are really at @mapped (NULL: where it says). */
static int stores_open(struct sources *sources, const char *prefix, const char *mapped,
		       const struct store_options *options, struct store **ret_store,
		       struct error *err)
{
	CLEANUP(freep)
	char *name = text_printf(err, "%s %s %s %s %s %s", prefix, mapped ? mapped : "",
				 options->endpoint_url ? options->endpoint_url : "",
				 options->account ? options->account : "",
				 options->anonymous ? "anonymous"
				 : options->profile ? options->profile
						    : "",
				 options->allow_private ? "private" : "");
	struct kept_store kept = {0};
	int r = 0;

	if (!name)
		return ERR_MEMORY;
	pthread_mutex_lock(&sources->mutex);
	for (size_t i = 0; i < sources->stores.n && !kept.store; i++)
		if (strcmp(sources->stores.items[i].name, name) == 0)
			kept = sources->stores.items[i];
	if (!kept.store) {
		r = store_open_container(prefix, mapped, options, &kept.store, err);
		kept.name = name;
		if (r == 0)
			r = kept_stores_push(&sources->stores, kept, err);
		if (r == 0)
			name = NULL;
		else
			kept.store = store_free(kept.store);
	}
	pthread_mutex_unlock(&sources->mutex);
	*ret_store = kept.store;
	return r;
}

static void credential_options(const struct pair *pair, struct store_options *options)
{
	if (!pair || strcmp(pair->value, "anonymous") == 0)
		options->anonymous = true;
	else if (text_starts(pair->value, "profile:"))
		options->profile = pair->value + strlen("profile:");
	options->allow_private = pair != NULL;
}

/* Of the map that Google's and Azure's containers keep, the first of these that is there. */
static const char *container_option(const struct container *container, const char *const *names)
{
	for (; *names; names++)
		for (uint32_t i = 0; i < container->n_options; i++)
			if (strcmp(container->options[i].name, *names) == 0)
				return container->options[i].value;
	return NULL;
}

/* Azure's names of containers say nothing about the account: the map has it, or the environment. */
static int azure_options(const struct container *container, struct store_options *options,
			 struct error *err)
{
	static const char *const accounts[] = {"account", "account_name",
					       "azure_storage_account_name", NULL};
	static const char *const endpoints[] = {"endpoint", "azure_endpoint",
						"azure_storage_endpoint", NULL};

	options->account = container_option(container, accounts);
	options->endpoint_url = container_option(container, endpoints);
	if (!options->account)
		options->account = getenv("AZURE_STORAGE_ACCOUNT");
	if (!options->account)
		options->account = getenv("AZURE_STORAGE_ACCOUNT_NAME");
	if (options->account)
		return 0;
	return error_set(
		err, ERR_FORMAT,
		"the container '%s' names no account, and AZURE_STORAGE_ACCOUNT is not set",
		container->url_prefix);
}

static int container_store(struct sources *sources, const struct container *container,
			   const struct pair *pair, struct store **ret_store, struct error *err)
{
	struct store_options options = {
		.endpoint_url = container->endpoint_url,
		.region = container->region,
		.path_style = container->force_path_style,
		.requester_pays = container->requester_pays,
		.read_only = true,
		.timeout_ms = sources->options.timeout_ms,
	};

	credential_options(pair, &options);
	if (container->kind == CONTAINER_AZURE && azure_options(container, &options, err) < 0)
		return ERR_FORMAT;
	return stores_open(sources, container->url_prefix, NULL, &options, ret_store, err);
}

/* Opens what @url lies in: its key is what follows the root, byte for byte. */
static int find_key(struct slice url, struct store *store, struct source *ret_source,
		    struct error *err)
{
	CLEANUP(freep) char *text = slice_dup(url, err);
	struct source source = {.store = store};

	if (!text)
		return ERR_MEMORY;
	source.key = text_dup(text + store_location_root(text), err);
	if (!source.key)
		return ERR_MEMORY;
	/* Asked for the object without a name, some stores answer with a listing of all others. */
	if (!*source.key) {
		free(source.key);
		return error_set(err, ERR_FORMAT, "'%s' names no object", text);
	}
	*ret_source = source;
	return 0;
}

static int find_mirror(struct sources *sources, const struct pair *mirror, struct slice url,
		       struct source *ret_source, struct error *err)
{
	const struct store_options options = {
		.anonymous = true,
		.read_only = true,
		.timeout_ms = sources->options.timeout_ms,
	};
	struct store *store = NULL;
	int r = stores_open(sources, mirror->prefix, mirror->value, &options, &store, err);

	return r < 0 ? r : find_key(url, store, ret_source, err);
}

static int find_container(struct sources *sources, const struct container *container,
			  const struct location *location, struct slice url,
			  struct source *ret_source, struct error *err)
{
	const struct pair *pair = NULL;
	struct store *store = NULL;
	int r;

	r = permit(sources, location, url, &pair, err);
	if (r == 0)
		r = container_store(sources, container, pair, &store, err);
	return r < 0 ? r : find_key(url, store, ret_source, err);
}

static int find_expanded(struct sources *sources, const struct config_values *values,
			 struct slice url, struct source *ret_source, struct error *err)
{
	const struct container *container = container_covering(values, url);
	const struct pair *mirror;
	struct location location;
	int r;

	r = location_split(url, &location, err);
	if (r < 0)
		return r;
	if (!container)
		return refuse(url, "lies in no container that the repository registers", err);
	/* Naming a mirror is a permission for what it names. */
	mirror = pair_covering(&sources->mirrors, url);
	if (mirror)
		return find_mirror(sources, mirror, url, ret_source, err);
	return find_container(sources, container, &location, url, ret_source, err);
}

int sources_find(struct sources *sources, struct slice location, struct source *ret_source,
		 struct error *err)
{
	CLEANUP(state_freep) struct state *state = repo_state(sources->repo);
	CLEANUP(buf_done) struct buf url = BUF_INIT(BUF_NO_LIMIT);
	CLEANUP(buf_done) struct buf decoded = BUF_INIT(BUF_NO_LIMIT);
	const struct config *config;
	struct slice name;
	int r;

	if (sources->options.no_virtual)
		return error_set(err, ERR_DENIED,
				 "virtual references are not followed (--no-virtual)");
	r = state_config(sources->repo, state, &config, err);
	if (r == 0)
		r = location_expand(config_values(config), location, &url, err);
	if (r < 0)
		return r;
	name = buf_slice(&url);
	if (sources->options.percent_locations) {
		r = text_percent_decode(name, &decoded, err);
		if (r < 0)
			return error_prefix(err, "location '%.*s'", (int)name.size,
					    (const char *)name.data);
		name = buf_slice(&decoded);
	}
	/* Names end at a NUL for every store. */
	if (name.size && memchr(name.data, '\0', name.size))
		return error_set(err, ERR_FORMAT, "location holds a NUL byte");
	return find_expanded(sources, config_values(config), name, ret_source, err);
}
