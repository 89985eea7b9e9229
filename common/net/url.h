/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * http and https URLs: taking apart, escaping, hiding secrets, choosing a proxy
 *
 * Threads: any; each struct url belongs to one.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"

struct url {
	bool tls;   /* https */
	char *host; /* owned; lower case; an IPv6 address without brackets */
	uint16_t port;
	char *target; /* owned; path and query as sent, at least "/" */
};

/*
 * Takes apart an absolute http(s) URL.  A fragment is dropped.  ERR_ARGUMENT for other schemes,
 * for user names in the URL, and for hosts that cannot be one.
 */
int url_parse(const char *text, struct url *ret_url, struct error *err);
void url_done(struct url *url);

/* "https://host:port", the port only if it is not the scheme's; NULL and ERR_MEMORY. */
char *url_origin(const struct url *url, struct error *err);
bool url_same_origin(const struct url *a, const struct url *b);

/*
 * The URL that @reference (a Location header) means, seen from @base: RFC 3986, section 5.2, for
 * absolute URLs and absolute or relative paths.  The caller frees it.
 */
int url_resolve(const struct url *base, const char *reference, char **ret_text, struct error *err);

/* Appends @text with the bytes that no URL may have as %XX; '%', '?' and '&' stay. */
int url_escape_illegal(struct slice text, struct buf *out, struct error *err);

/* New text with user names, and the values of query members that look secret, hidden. */
char *url_redact(const char *text, struct error *err);

/*
 * The proxy for @url by http_proxy, https_proxy, all_proxy and no_proxy as curl reads them
 * (HTTP_PROXY in capitals is not read: CGI programs get it from clients).  "" for none; the
 * caller frees it; NULL and ERR_MEMORY.
 */
char *url_proxy(const struct url *url, struct error *err);
