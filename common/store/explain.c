/* SPDX-License-Identifier: Apache-2.0 */
#include "store/explain.h"

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "base/time.h"
#include "net/address.h"
#include "net/url.h"

enum { EXPLAIN_ADDRESSES_MAX = 8 };

int store_explain(struct store *store, struct buf *out, struct error *err)
{
	int r = buf_printf(out, err, "store: %s\ndriver: %s%s\n", store->url, store->ops->name,
			   store_is_writable(store) ? "" : " (read only)");

	if (r < 0 || !store->ops->explain)
		return r;
	return store->ops->explain(store, out, err);
}

static int explain_address(const struct addrinfo *address, bool allow_private, struct buf *out,
			   struct error *err)
{
	bool public = address_is_public(address->ai_addr);
	char text[100];

	if (getnameinfo(address->ai_addr, address->ai_addrlen, text, sizeof(text), NULL, 0,
			NI_NUMERICHOST) != 0)
		return 0;
	return buf_printf(out, err, "address: %s (%s)\n", text,
			  public	  ? "public"
			  : allow_private ? "private, which is allowed here"
					  : "private: refused");
}

static int explain_addresses(const char *host, bool allow_private, struct buf *out,
			     struct error *err)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	struct addrinfo *found = NULL;
	int trouble = getaddrinfo(host, NULL, &hints, &found), n = 0, r = 0;

	if (trouble != 0)
		return buf_printf(out, err, "address: '%s' cannot be resolved: %s\n", host,
				  gai_strerror(trouble));
	for (struct addrinfo *a = found; a && n < EXPLAIN_ADDRESSES_MAX && r == 0;
	     a = a->ai_next, n++)
		r = explain_address(a, allow_private, out, err);
	freeaddrinfo(found);
	return r;
}

int explain_endpoint(const char *text, bool allow_private, struct buf *out, struct error *err)
{
	CLEANUP(url_done) struct url url = {0};
	CLEANUP(freep) char *proxy = NULL;
	CLEANUP(freep) char *shown = NULL;
	int r = url_parse(text, &url, err);

	if (r < 0)
		return r;
	proxy = url_proxy(&url, err);
	shown = proxy ? url_redact(proxy, err) : NULL;
	if (!shown)
		return ERR_MEMORY;
	if (proxy[0])
		return buf_printf(out, err, "proxy: %s (it resolves the name)\n", shown);
	return explain_addresses(url.host, allow_private, out, err);
}

static int explain_story(struct slice story, struct buf *out, struct error *err)
{
	int r = 0;

	while (story.size && r == 0) {
		const uint8_t *end = memchr(story.data, '\n', story.size);
		size_t size = end ? (size_t)(end - story.data) : story.size;

		r = buf_printf(out, err, "looked at: %.*s\n", (int)size, (const char *)story.data);
		story = slice_sub(story, size + 1, story.size);
	}
	return r;
}

/* The start of an access key is public (it appears in URLs); the rest is not shown. */
static int explain_found(const struct credentials *credentials, struct buf *out, struct error *err)
{
	char expires[TIME_TEXT_MAX] = "never";

	if (credentials->expires != INT64_MAX)
		time_format_seconds(credentials->expires, expires);
	return buf_printf(out, err, "credentials: from %s%s%.4s%s, expire %s\n",
			  credentials->source, credentials->id ? ", id " : "",
			  credentials->id ? credentials->id : "", credentials->id ? "..." : "",
			  expires);
}

int explain_credentials(int result, struct slice story, const struct credentials *credentials,
			const char *order, const struct error *trouble, struct buf *out,
			struct error *err)
{
	int r = explain_story(story, out, err);

	if (r < 0)
		return r;
	if (result == 0)
		r = explain_found(credentials, out, err);
	else if (result == CREDENTIALS_NONE)
		r = buf_printf(out, err, "credentials: none found\n");
	else
		r = buf_printf(out, err, "credentials: %s\n", trouble->text);
	return r < 0 ? r : buf_printf(out, err, "order: %s\n", order);
}
