/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Bearer tokens by OAuth 2.0, as Google and Azure give them (RFC 6749, RFC 7523)
 *
 * Threads: any.
 */

#include "net/credentials.h"
#include "net/engine.h"

/* Appends "&name=value", the value percent-encoded. */
int oauth_form_add(struct buf *form, const char *name, const char *value, struct error *err);

struct oauth_request {
	const char *url;
	struct slice form;		  /* posted; empty: a GET */
	const struct http_lines *headers; /* may be NULL */
	const char *source;		  /* for people */
	bool machine;			  /* a metadata service: direct, short, private addresses */
	bool allow_private;
	const char *must_have; /* header line that the answer must have, or NULL */
};

/*
 * Asks for a token: 0, CREDENTIALS_NONE where a metadata service does not answer or knows none,
 * or an error.
 */
int oauth_ask(const struct oauth_request *request, struct credentials **ret_credentials,
	      struct error *err);

/* A JWT of these two JSON texts, signed with the RSA key in @pem (RS256); appended to @out. */
int oauth_jwt(const char *header, const char *claims, const char *pem, struct buf *out,
	      struct error *err);
