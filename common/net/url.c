/* SPDX-License-Identifier: Apache-2.0 */
#include "net/url.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/text.h"

enum { URL_HOST_MAX = 255 };

static bool url_host_byte(char c, bool bracketed)
{
	return isalnum((unsigned char)c) || c == '-' || c == '.' || c == '_' ||
	       (bracketed && c == ':');
}

static int url_refuse(const char *text, const char *why, struct error *err)
{
	struct error ignored = ERROR_INIT;
	CLEANUP(freep) char *shown = url_redact(text, &ignored);

	return error_set(err, ERR_ARGUMENT, "URL '%s' %s", shown ? shown : "", why);
}

static int url_parse_host(const char *text, struct slice authority, struct url *url,
			  struct error *err)
{
	bool bracketed = authority.size > 0 && authority.data[0] == '[';
	const char *start = (const char *)authority.data + bracketed;
	const char *end = (const char *)authority.data + authority.size;
	const char *host_end = start;
	uint64_t port = url->tls ? 443 : 80;

	while (host_end < end && url_host_byte(*host_end, bracketed))
		host_end++;
	if (host_end == start || host_end - start > URL_HOST_MAX)
		return url_refuse(text, "has no usable host name", err);
	url->host = slice_dup(slice_of(start, (size_t)(host_end - start)), err);
	if (!url->host)
		return ERR_MEMORY;
	for (char *c = url->host; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	if (bracketed && (host_end == end || *host_end++ != ']'))
		return url_refuse(text, "has no usable host name", err);
	if (host_end < end && *host_end == ':' && host_end + 1 < end) {
		host_end++;
		if (text_u64(slice_of(host_end, (size_t)(end - host_end)), &port, err) < 0 ||
		    port == 0 || port > UINT16_MAX)
			return url_refuse(text, "has no usable port", err);
		host_end = end;
	} else if (host_end < end && *host_end == ':') {
		host_end = end;
	}
	if (host_end != end)
		return url_refuse(text, "has no usable host name", err);
	url->port = (uint16_t)port;
	return 0;
}

static int url_parse_into(const char *text, struct url *url, struct error *err)
{
	const char *at, *end;
	int r;

	if (strncasecmp(text, "https://", 8) == 0)
		url->tls = true;
	else if (strncasecmp(text, "http://", 7) != 0)
		return url_refuse(text, "is not http or https", err);
	at = text + (url->tls ? 8 : 7);
	end = at + strcspn(at, "/?#");
	if (memchr(at, '@', (size_t)(end - at)))
		return url_refuse(text, "has a user name in it", err);
	r = url_parse_host(text, slice_of(at, (size_t)(end - at)), url, err);
	if (r < 0)
		return r;
	url->target =
		text_printf(err, "%s%.*s", *end == '/' ? "" : "/", (int)strcspn(end, "#"), end);
	return url->target ? 0 : ERR_MEMORY;
}

int url_parse(const char *text, struct url *ret_url, struct error *err)
{
	struct url url = {0};
	int r = url_parse_into(text, &url, err);

	if (r < 0) {
		url_done(&url);
		return r;
	}
	*ret_url = url;
	return 0;
}

void url_done(struct url *url)
{
	free(url->host);
	free(url->target);
	*url = (struct url){0};
}

char *url_origin(const struct url *url, struct error *err)
{
	bool v6 = strchr(url->host, ':') != NULL;
	char port[8] = "";

	if (url->port != (url->tls ? 443 : 80))
		snprintf(port, sizeof(port), ":%u", url->port);
	return text_printf(err, "http%s://%s%s%s%s", url->tls ? "s" : "", v6 ? "[" : "", url->host,
			   v6 ? "]" : "", port);
}

bool url_same_origin(const struct url *a, const struct url *b)
{
	return a->tls == b->tls && a->port == b->port && strcmp(a->host, b->host) == 0;
}

int url_resolve(const struct url *base, const char *reference, char **ret_text, struct error *err)
{
	CLEANUP(freep) char *origin = url_origin(base, err);
	size_t path = strcspn(base->target, "?");
	char *text;

	if (!origin)
		return ERR_MEMORY;
	if (strncasecmp(reference, "http://", 7) == 0 || strncasecmp(reference, "https://", 8) == 0)
		text = text_dup(reference, err);
	else if (text_starts(reference, "//"))
		text = text_printf(err, "http%s:%s", base->tls ? "s" : "", reference);
	else if (reference[0] == '/')
		text = text_printf(err, "%s%s", origin, reference);
	else if (strstr(reference, "://"))
		return error_set(err, ERR_DENIED, "redirected to another scheme");
	else {
		while (path > 0 && base->target[path - 1] != '/')
			path--;
		text = text_printf(err, "%s%.*s%s", origin, (int)path, base->target, reference);
	}
	if (!text)
		return ERR_MEMORY;
	*ret_text = text;
	return 0;
}

int url_escape_illegal(struct slice text, struct buf *out, struct error *err)
{
	static const char hex[] = "0123456789ABCDEF";

	for (size_t i = 0; i < text.size; i++) {
		uint8_t c = text.data[i];
		char escaped[4] = {'%', hex[c >> 4], hex[c & 15], '\0'};
		int r;

		if (c <= ' ' || c >= 0x7f || strchr("\"#<>\\^`{|}", c))
			r = buf_append_text(out, escaped, err);
		else
			r = buf_append_byte(out, c, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Names whose values may open something: better one hidden too many. */
static bool url_member_is_secret(const char *name, size_t size)
{
	static const char *const marks[] = {"sig",  "token", "key",  "secret", "pass",	 "cred",
					    "auth", "code",  "hmac", "jwt",    "policy", "session"};
	char lower[64];
	size_t n = size < sizeof(lower) - 1 ? size : sizeof(lower) - 1;

	for (size_t i = 0; i < n; i++)
		lower[i] = (char)tolower((unsigned char)name[i]);
	lower[n] = '\0';
	/* Who knows what an escaped name means to the server. */
	if (strchr(lower, '%'))
		return true;
	for (size_t i = 0; i < ARRAY_LEN(marks); i++)
		if (strstr(lower, marks[i]))
			return true;
	return false;
}

static int url_redact_into(const char *text, struct buf *out, struct error *err)
{
	const char *scheme = strstr(text, "://");
	const char *host = scheme ? scheme + 3 : text;
	const char *host_end = host + strcspn(host, "/?#");
	const char *at = scheme ? memrchr(host, '@', (size_t)(host_end - host)) : NULL;
	const char *query = strchr(host, '?');
	int r;

	r = buf_append(out, text, (size_t)(host - text), err);
	if (r == 0 && at)
		r = buf_append_text(out, "***@", err);
	if (at)
		host = at + 1;
	if (r < 0 || !query)
		return r < 0 ? r : buf_append_text(out, host, err);
	r = buf_append(out, host, (size_t)(query + 1 - host), err);
	for (const char *member = query + 1; r == 0 && *member;) {
		size_t size = strcspn(member, "&");
		const char *equals = memchr(member, '=', size);
		bool secret = equals && url_member_is_secret(member, (size_t)(equals - member));

		r = buf_append(out, member, secret ? (size_t)(equals + 1 - member) : size, err);
		if (r == 0 && secret)
			r = buf_append_text(out, "***", err);
		member += size;
		if (r == 0 && *member)
			r = buf_append_byte(out, (uint8_t)*member++, err);
	}
	return r;
}

char *url_redact(const char *text, struct error *err)
{
	CLEANUP(buf_done) struct buf out = BUF_INIT(BUF_NO_LIMIT);

	if (url_redact_into(text, &out, err) < 0)
		return NULL;
	return slice_dup(buf_slice(&out), err);
}

static const char *environment(const char *lower, const char *upper)
{
	const char *value = getenv(lower);

	if ((!value || !value[0]) && upper)
		value = getenv(upper);
	return value && value[0] ? value : NULL;
}

/* "10.0.0.0/8" and the like. */
static bool url_host_in_network(const char *host, struct slice network)
{
	const uint8_t *slash = memchr(network.data, '/', network.size);
	uint8_t a[16], b[16];
	char base[64];
	uint64_t bits;
	size_t size;
	int family = strchr(host, ':') ? AF_INET6 : AF_INET;

	size = slash ? (size_t)(slash - network.data) : network.size;
	if (!slash || size >= sizeof(base) || inet_pton(family, host, a) != 1)
		return false;
	memcpy(base, network.data, size);
	base[size] = '\0';
	if (inet_pton(family, base, b) != 1 ||
	    text_u64(slice_sub(network, size + 1, network.size), &bits, NULL) < 0 ||
	    bits > (family == AF_INET ? 32 : 128))
		return false;
	for (size_t i = 0; i < bits; i++)
		if ((a[i / 8] ^ b[i / 8]) & (0x80 >> (i % 8)))
			return false;
	return true;
}

static bool url_host_matches(const char *host, struct slice entry)
{
	size_t size = strlen(host);

	if (slice_is(entry, "*") || url_host_in_network(host, entry))
		return true;
	while (entry.size && entry.data[0] == '.')
		entry = slice_sub(entry, 1, entry.size);
	if (entry.size > 2 && entry.data[0] == '[' && entry.data[entry.size - 1] == ']')
		entry = slice_sub(entry, 1, entry.size - 2);
	if (!entry.size || entry.size > size ||
	    strncasecmp(host + size - entry.size, (const char *)entry.data, entry.size) != 0)
		return false;
	return entry.size == size || host[size - entry.size - 1] == '.';
}

static bool url_goes_direct(const char *host)
{
	const char *list = environment("no_proxy", "NO_PROXY");

	while (list && *list) {
		size_t size = strcspn(list, ", ");

		if (size && url_host_matches(host, slice_of(list, size)))
			return true;
		list += size;
		list += strspn(list, ", ");
	}
	return false;
}

char *url_proxy(const struct url *url, struct error *err)
{
	const char *proxy = url->tls ? environment("https_proxy", "HTTPS_PROXY")
				     : environment("http_proxy", NULL);

	if (!proxy)
		proxy = environment("all_proxy", "ALL_PROXY");
	if (!proxy || url_goes_direct(url->host))
		proxy = "";
	return text_dup(proxy, err);
}
