/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Credentials, and the keyring that keeps them fresh
 *
 * A keyring asks its source when it has none, ahead of their expiry, and when the other side no
 * longer accepts them; one request at a time, while the others go on with what there is.
 *
 * Threads: a keyring may be shared; credentials do not change and are counted.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"

struct credentials {
	atomic_uint references;
	char *id;	 /* access key or account; NULL if there is none */
	char *secret;	 /* its key */
	char *token;	 /* session or bearer token */
	char *source;	 /* where they came from, for people */
	int64_t expires; /* microseconds since 1970; INT64_MAX never */
	int64_t fetched; /* monotonic microseconds */
};

enum { CREDENTIALS_NONE = 1 };

/* Copies the texts; NULLs stay. */
int credentials_new(const char *id, const char *secret, const char *token, int64_t expires,
		    const char *source, struct credentials **ret_credentials, struct error *err);
struct credentials *credentials_unref(struct credentials *credentials);
DEFINE_CLEANUP(struct credentials *, credentials_unref)

/*
 * Gets new credentials: 0, CREDENTIALS_NONE if this source has none, or an error.  @story, unless
 * NULL, gets a line for everything that was looked at, without secrets.
 */
typedef int (*credentials_fetch)(void *argument, struct buf *story,
				 struct credentials **ret_credentials, struct error *err);

struct keyring;

/* @free_argument may be NULL. */
int keyring_new(credentials_fetch fetch, void *argument, void (*free_argument)(void *argument),
		struct keyring **ret_keyring, struct error *err);
struct keyring *keyring_free(struct keyring *keyring);
DEFINE_CLEANUP(struct keyring *, keyring_free)

/*
 * Credentials that are good now; @renew: those got before are refused by the other side.  Free
 * them with credentials_unref().  CREDENTIALS_NONE if the source has none.
 */
int keyring_get(struct keyring *keyring, bool renew, struct credentials **ret_credentials,
		struct error *err);

/* Appends a line to @story, which may be NULL. */
void story_tell(struct buf *story, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Reads a small file of settings or secrets: 0, CREDENTIALS_NONE if it is not there. */
int credentials_read_file(const char *path, struct buf *out, struct error *err);
/* A member of a JSON object as text; NULL if absent or no text.  The caller frees it. */
char *credentials_json_text(struct slice document, const char *name);
/* RFC 3339 time of a member, INT64_MAX if absent, ERR_FORMAT if it is no time. */
int credentials_json_time(struct slice document, const char *name, int64_t *ret_time,
			  struct error *err);
/* Value of an environment variable, NULL when unset or empty. */
const char *credentials_env(const char *name);
