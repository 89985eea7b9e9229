/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "repo/publish.h"

/* The stores that passed in this process, by URL. */
static struct {
	pthread_mutex_t lock;
	char **urls;
	size_t n, capacity;
} proven = {.lock = PTHREAD_MUTEX_INITIALIZER};

bool conditions_are_proven(const struct store *store)
{
	bool found = false;

	pthread_mutex_lock(&proven.lock);
	for (size_t i = 0; i < proven.n && !found; i++)
		found = strcmp(proven.urls[i], store->url) == 0;
	pthread_mutex_unlock(&proven.lock);
	return found;
}

static int conditions_remember(const struct store *store, struct error *err)
{
	char *url = text_dup(store->url, err);
	int r;

	if (!url)
		return ERR_MEMORY;
	pthread_mutex_lock(&proven.lock);
	r = vec_reserve((void **)&proven.urls, &proven.capacity, proven.n + 1, sizeof(char *), err);
	if (r == 0)
		proven.urls[proven.n++] = url;
	pthread_mutex_unlock(&proven.lock);
	if (r < 0)
		free(url);
	return r;
}

/* Another version of the same form: a digit of it differs. */
static void version_spoil(struct version *version)
{
	size_t i = strlen(version->text);

	while (i-- > 0) {
		char *c = &version->text[i];

		if (*c >= '0' && *c <= '9') {
			*c = *c == '9' ? '1' : (char)(*c + 1);
			return;
		}
		if ((*c >= 'a' && *c <= 'f') || (*c >= 'A' && *c <= 'F')) {
			*c = '0';
			return;
		}
	}
	snprintf(version->text, sizeof(version->text), "\"00000000000000000000000000000000\"");
}

/* Writes under conditions that do not hold; 0 when both were refused. */
static int conditions_try(struct store *store, const char *key, struct slice bytes,
			  struct error *err)
{
	struct store_info info = {0};
	int r;

	r = store_replace(store, key, NULL, bytes, NULL, err);
	if (r == 0)
		return error_set(err, ERR_UNSUPPORTED,
				 "the store replaces objects that must not exist (If-None-Match)");
	if (r < 0)
		return r;
	r = store_head(store, key, &info, err);
	if (r < 0)
		return r;
	if (r == STORE_ABSENT)
		return error_set(err, ERR_NETWORK, "'%s' is gone right after it was written", key);
	if (strncmp(info.version.text, "W/", 2) == 0)
		return error_set(err, ERR_UNSUPPORTED,
				 "the store gives weak ETags, which prove nothing");
	version_spoil(&info.version);
	r = store_replace(store, key, &info.version, bytes, NULL, err);
	if (r == 0)
		return error_set(err, ERR_UNSUPPORTED,
				 "the store replaces objects that changed (If-Match)");
	return r < 0 ? r : 0;
}

int conditions_prove(struct store *store, const char *key, struct slice bytes, struct error *err)
{
	struct error ignored = ERROR_INIT;
	int r;

	r = store_replace(store, key, NULL, bytes, NULL, err);
	if (r >= 0)
		r = conditions_try(store, key, bytes, err);
	if (r == 0)
		return conditions_remember(store, err);
	if (r == ERR_UNSUPPORTED)
		error_prefix(err, "'%s' cannot hold a repository that is written to", store->url);
	if (store_remove(store, key, &ignored) < 0)
		error_prefix(err, "'%s' was left behind", key);
	return r;
}
