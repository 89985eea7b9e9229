/* SPDX-License-Identifier: Apache-2.0 */
#include "net/credentials.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/text.h"
#include "base/time.h"

#define KEYRING_AHEAD (5 * 60 * TIME_SECOND)	 /* renew so long before they expire */
#define KEYRING_JUST_NOW (5 * TIME_SECOND)	 /* as new as can be had */
#define KEYRING_AFTER_FAILURE (30 * TIME_SECOND) /* no new try while the old ones still work */

enum { CREDENTIALS_FILE_MAX = 1024 * 1024 };

struct keyring {
	pthread_mutex_t lock;
	pthread_cond_t fetched;
	credentials_fetch fetch;
	void *argument;
	void (*free_argument)(void *argument);
	struct credentials *current;
	bool fetching;
	unsigned int waiting;
	int last_result;
	struct error last_error;
	int64_t not_before; /* monotonic: of the next try ahead of expiry */
};

static int text_copy(const char *text, char **ret_copy, struct error *err)
{
	if (!text)
		return 0;
	*ret_copy = text_dup(text, err);
	return *ret_copy ? 0 : ERR_MEMORY;
}

int credentials_new(const char *id, const char *secret, const char *token, int64_t expires,
		    const char *source, struct credentials **ret_credentials, struct error *err)
{
	CLEANUP(credentials_unrefp) struct credentials *credentials = NULL;
	int r;

	/* They go into header lines. */
	if ((id && strpbrk(id, "\r\n")) || (token && strpbrk(token, "\r\n")))
		return error_set(err, ERR_FORMAT, "credentials from %s with a line end in them",
				 source);
	credentials = calloc(1, sizeof(*credentials));
	if (!credentials)
		return error_memory(err);
	credentials->references = 1;
	credentials->expires = expires;
	credentials->fetched = time_monotonic();
	r = text_copy(id, &credentials->id, err);
	if (r == 0)
		r = text_copy(secret, &credentials->secret, err);
	if (r == 0)
		r = text_copy(token, &credentials->token, err);
	if (r == 0)
		r = text_copy(source, &credentials->source, err);
	if (r == 0)
		*ret_credentials = TAKE(credentials);
	return r;
}

static void secret_free(char *text)
{
	if (text)
		explicit_bzero(text, strlen(text));
	free(text);
}

struct credentials *credentials_unref(struct credentials *credentials)
{
	if (!credentials || atomic_fetch_sub(&credentials->references, 1) > 1)
		return NULL;
	free(credentials->id);
	secret_free(credentials->secret);
	secret_free(credentials->token);
	free(credentials->source);
	free(credentials);
	return NULL;
}

int keyring_new(credentials_fetch fetch, void *argument, void (*free_argument)(void *argument),
		struct keyring **ret_keyring, struct error *err)
{
	struct keyring *keyring = calloc(1, sizeof(*keyring));

	if (!keyring)
		return error_memory(err);
	pthread_mutex_init(&keyring->lock, NULL);
	pthread_cond_init(&keyring->fetched, NULL);
	keyring->fetch = fetch;
	keyring->argument = argument;
	keyring->free_argument = free_argument;
	*ret_keyring = keyring;
	return 0;
}

struct keyring *keyring_free(struct keyring *keyring)
{
	if (!keyring)
		return NULL;
	credentials_unref(keyring->current);
	if (keyring->free_argument)
		keyring->free_argument(keyring->argument);
	pthread_cond_destroy(&keyring->fetched);
	pthread_mutex_destroy(&keyring->lock);
	free(keyring);
	return NULL;
}

/* Asks the source with the lock open; the caller holds it before and after. */
static int keyring_fetch(struct keyring *keyring, struct error *err)
{
	struct credentials *fresh = NULL;
	struct error error = ERROR_INIT;
	int r;

	keyring->fetching = true;
	pthread_mutex_unlock(&keyring->lock);
	r = keyring->fetch(keyring->argument, NULL, &fresh, &error);
	pthread_mutex_lock(&keyring->lock);
	keyring->fetching = false;
	keyring->last_result = r;
	keyring->last_error = error;
	if (r == 0) {
		credentials_unref(keyring->current);
		keyring->current = fresh;
	} else {
		keyring->not_before = time_monotonic() + KEYRING_AFTER_FAILURE;
	}
	pthread_cond_broadcast(&keyring->fetched);
	if (r < 0 && err)
		*err = error;
	return r;
}

static bool keyring_is_good(const struct keyring *keyring, bool renew)
{
	const struct credentials *current = keyring->current;

	if (!current || current->expires <= time_now())
		return false;
	return !renew || time_monotonic() - current->fetched < KEYRING_JUST_NOW;
}

/* Good but not for long, and nobody sees to it. */
static bool keyring_is_ageing(const struct keyring *keyring)
{
	return keyring->current->expires != INT64_MAX &&
	       keyring->current->expires - time_now() < KEYRING_AHEAD && !keyring->fetching &&
	       time_monotonic() >= keyring->not_before;
}

static int keyring_lend(struct keyring *keyring, struct credentials **ret_credentials)
{
	atomic_fetch_add(&keyring->current->references, 1);
	*ret_credentials = keyring->current;
	return 0;
}

static int keyring_get_locked(struct keyring *keyring, bool renew,
			      struct credentials **ret_credentials, struct error *err)
{
	int r;

	if (keyring_is_good(keyring, renew)) {
		if (keyring_is_ageing(keyring))
			keyring_fetch(keyring, NULL);
		/* The source may have given what is already too old. */
		if (keyring_is_good(keyring, false))
			return keyring_lend(keyring, ret_credentials);
	}
	if (keyring->fetching) {
		while (keyring->fetching)
			pthread_cond_wait(&keyring->fetched, &keyring->lock);
		r = keyring->last_result;
		if (r < 0 && err)
			*err = keyring->last_error;
	} else {
		r = keyring_fetch(keyring, err);
	}
	if (r != 0)
		return r;
	if (keyring->current->expires <= time_now())
		return error_set(err, ERR_DENIED, "the credentials of %s have expired",
				 keyring->current->source);
	return keyring_lend(keyring, ret_credentials);
}

int keyring_get(struct keyring *keyring, bool renew, struct credentials **ret_credentials,
		struct error *err)
{
	int r;

	pthread_mutex_lock(&keyring->lock);
	r = keyring_get_locked(keyring, renew, ret_credentials, err);
	pthread_mutex_unlock(&keyring->lock);
	return r;
}

void story_tell(struct buf *story, const char *format, ...)
{
	struct error ignored = ERROR_INIT;
	char line[512];
	va_list args;

	if (!story)
		return;
	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	buf_printf(story, &ignored, "%s\n", line);
}

const char *credentials_env(const char *name)
{
	const char *value = getenv(name);

	return value && value[0] ? value : NULL;
}

int credentials_read_file(const char *path, struct buf *out, struct error *err)
{
	CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	char bytes[4096];
	int r = 0;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return CREDENTIALS_NONE;
	if (fd < 0)
		return error_set_errno(err, errno, "cannot open '%s'", path);
	while (r == 0) {
		ssize_t n = read(fd, bytes, sizeof(bytes));

		if (n < 0)
			r = error_set_errno(err, errno, "cannot read '%s'", path);
		else if (n == 0)
			break;
		else if (out->size + (size_t)n > CREDENTIALS_FILE_MAX)
			r = error_set(err, ERR_FORMAT, "'%s' is too large", path);
		else
			r = buf_append(out, bytes, (size_t)n, err);
	}
	explicit_bzero(bytes, sizeof(bytes));
	return r;
}

char *credentials_json_text(struct slice document, const char *name)
{
	struct json root, value;
	struct error ignored = ERROR_INIT;
	char *text = NULL;

	if (json_parse(document, &root, &ignored) < 0 || json_get(&root, name, &value) != 0 ||
	    json_dup(&value, &text, &ignored) < 0)
		return NULL;
	return text;
}

int credentials_json_time(struct slice document, const char *name, int64_t *ret_time,
			  struct error *err)
{
	CLEANUP(freep) char *text = credentials_json_text(document, name);

	if (!text) {
		*ret_time = INT64_MAX;
		return 0;
	}
	if (time_parse(text, time_now(), ret_time, err) < 0)
		return error_set(err, ERR_FORMAT, "expiry '%s' is no time", text);
	return 0;
}
