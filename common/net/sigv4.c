/* SPDX-License-Identifier: Apache-2.0 */
#include "net/sigv4.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/hash.h"
#include "base/text.h"
#include "base/time.h"

#define SIGV4_UNRESERVED "-._~"

/* A name and its value, of a header or a query member. */
struct pair {
	char *name;
	char *value;
};

DEFINE_VEC(pairs, struct pair);

static void pairs_free(struct pairs *pairs)
{
	for (size_t i = 0; i < pairs->n; i++) {
		free(pairs->items[i].name);
		free(pairs->items[i].value);
	}
	pairs_done(pairs);
}

static int pairs_add(struct pairs *pairs, char *name, char *value, struct error *err)
{
	struct pair pair = {name, value};
	int r = name && value ? pairs_push(pairs, pair, err) : ERR_MEMORY;

	if (r < 0) {
		free(name);
		free(value);
	}
	return r;
}

static int pair_order(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : strcmp(x->value, y->value);
}

/* --- path --- */

/* Removes "." and ".." segments and doubled slashes. */
static int path_normalise(struct slice path, struct buf *out, struct error *err)
{
	bool folder = true; /* ends in a slash */

	for (size_t i = 0; i < path.size;) {
		const uint8_t *segment = path.data + i;
		size_t size = 0;
		int r;

		while (i + size < path.size && segment[size] != '/')
			size++;
		i += size + 1;
		folder = i <= path.size;
		if (size == 0 || (size == 1 && segment[0] == '.'))
			continue;
		if (size == 2 && segment[0] == '.' && segment[1] == '.') {
			while (out->size && out->data[out->size - 1] != '/')
				out->size--;
			out->size -= out->size > 0;
			continue;
		}
		r = buf_append_byte(out, '/', err);
		if (r == 0)
			r = buf_append(out, segment, size, err);
		if (r < 0)
			return r;
	}
	return folder || !out->size ? buf_append_byte(out, '/', err) : 0;
}

static int canonical_path(const struct sigv4_request *request, struct buf *out, struct error *err)
{
	CLEANUP(buf_done) struct buf path = BUF_INIT(BUF_NO_LIMIT);
	int r;

	if (request->plain_path)
		return buf_append_slice(out, request->path, err);
	if (request->as_given)
		r = buf_append_slice(&path, request->path, err);
	else
		r = path_normalise(request->path, &path, err);
	return r < 0 ? r : text_percent_encode(buf_slice(&path), SIGV4_UNRESERVED "/", out, err);
}

/* --- query --- */

/* Undone and done again, so that every way to write a byte becomes the same one. */
static char *query_part(struct slice text, struct error *err)
{
	CLEANUP(buf_done) struct buf plain = BUF_INIT(BUF_NO_LIMIT);
	CLEANUP(buf_done) struct buf encoded = BUF_INIT(BUF_NO_LIMIT);

	if (text_percent_decode(text, &plain, err) < 0 ||
	    text_percent_encode(buf_slice(&plain), SIGV4_UNRESERVED, &encoded, err) < 0)
		return NULL;
	return slice_dup(buf_slice(&encoded), err);
}

static int query_split(struct slice query, struct pairs *pairs, struct error *err)
{
	for (size_t i = 0; i < query.size;) {
		const uint8_t *start = query.data + i;
		const uint8_t *end = memchr(start, '&', query.size - i);
		size_t size = end ? (size_t)(end - start) : query.size - i;
		const uint8_t *equals = memchr(start, '=', size);
		size_t name = equals ? (size_t)(equals - start) : size;
		size_t value = equals ? name + 1 : size;
		int r;

		i += size + 1;
		if (size == 0)
			continue;
		r = pairs_add(pairs, query_part(slice_of(start, name), err),
			      query_part(slice_of(start + value, size - value), err), err);
		if (r < 0)
			return r;
	}
	if (pairs->n)
		qsort(pairs->items, pairs->n, sizeof(pairs->items[0]), pair_order);
	return 0;
}

static int canonical_query(struct slice query, struct buf *out, struct error *err)
{
	CLEANUP(pairs_free) struct pairs pairs = {0};
	int r = query_split(query, &pairs, err);

	for (size_t i = 0; i < pairs.n && r == 0; i++)
		r = buf_printf(out, err, "%s%s=%s", i ? "&" : "", pairs.items[i].name,
			       pairs.items[i].value);
	return r;
}

/* --- headers --- */

static bool header_is_signed(const char *name)
{
	return strcmp(name, "user-agent") != 0 && strcmp(name, "accept-encoding") != 0 &&
	       strcmp(name, "authorization") != 0;
}

/* Blanks at the ends go, runs of them within become one. */
static char *header_value(const char *text, struct error *err)
{
	char *value = text_dup(text, err);
	char *to = value;

	if (!value)
		return NULL;
	for (const char *from = text; *from; from++) {
		bool blank = isspace((unsigned char)*from);

		if (!blank)
			*to++ = *from;
		else if (to > value && to[-1] != ' ')
			*to++ = ' ';
	}
	while (to > value && to[-1] == ' ')
		to--;
	*to = '\0';
	return value;
}

static char *header_name(const char *line, size_t size, struct error *err)
{
	char *name = slice_dup(slice_of(line, size), err);

	for (char *c = name; c && *c; c++)
		*c = (char)tolower((unsigned char)*c);
	return name;
}

static int headers_split(const struct http_lines *lines, struct pairs *pairs, struct error *err)
{
	for (size_t i = 0; i < lines->n; i++) {
		const char *line = lines->items[i];
		const char *colon = strchr(line, ':');
		char *name;
		int r;

		if (!colon)
			continue;
		name = header_name(line, (size_t)(colon - line), err);
		if (!name)
			return ERR_MEMORY;
		if (!header_is_signed(name)) {
			free(name);
			continue;
		}
		r = pairs_add(pairs, name, header_value(colon + 1, err), err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* By name, those of one name in their order: repeated values are joined as they came. */
static void headers_sort(struct pairs *pairs)
{
	for (size_t i = 1; i < pairs->n; i++) {
		struct pair moved = pairs->items[i];
		size_t at = i;

		for (; at > 0 && strcmp(pairs->items[at - 1].name, moved.name) > 0; at--)
			pairs->items[at] = pairs->items[at - 1];
		pairs->items[at] = moved;
	}
}

static int canonical_headers(const struct http_lines *lines, struct buf *out, struct buf *names,
			     struct error *err)
{
	CLEANUP(pairs_free) struct pairs pairs = {0};
	int r = headers_split(lines, &pairs, err);

	headers_sort(&pairs);
	for (size_t i = 0; i < pairs.n && r == 0; i++) {
		const struct pair *pair = &pairs.items[i];
		bool repeated = i > 0 && strcmp(pair->name, pairs.items[i - 1].name) == 0;

		if (repeated) {
			r = buf_printf(out, err, ",%s", pair->value);
			continue;
		}
		r = buf_printf(out, err, "%s%s:%s", i ? "\n" : "", pair->name, pair->value);
		if (r == 0)
			r = buf_printf(names, err, "%s%s", i ? ";" : "", pair->name);
	}
	return r < 0 ? r : buf_append_byte(out, '\n', err);
}

/* --- the three steps --- */

int sigv4_canonical(const struct sigv4_request *request, struct buf *out, struct buf *names,
		    struct error *err)
{
	int r;

	r = buf_printf(out, err, "%s\n", request->method);
	if (r == 0)
		r = canonical_path(request, out, err);
	if (r == 0)
		r = buf_append_byte(out, '\n', err);
	if (r == 0)
		r = canonical_query(request->query, out, err);
	if (r == 0)
		r = buf_append_byte(out, '\n', err);
	if (r == 0)
		r = canonical_headers(request->headers, out, names, err);
	if (r == 0)
		r = buf_append_byte(out, '\n', err);
	if (r == 0)
		r = buf_append_slice(out, buf_slice(names), err);
	return r < 0 ? r : buf_printf(out, err, "\n%s", request->body_hash);
}

int sigv4_hash(struct slice body, char ret_hash[65], struct error *err)
{
	uint8_t digest[SHA256_SIZE];
	int r;

	if (!body.size) {
		memcpy(ret_hash, SIGV4_EMPTY_BODY, sizeof(SIGV4_EMPTY_BODY));
		return 0;
	}
	r = sha256(body, digest, err);
	if (r == 0)
		text_hex(digest, sizeof(digest), ret_hash);
	return r;
}

static void sigv4_date(int64_t time, char date[20])
{
	struct civil civil = time_civil(time);

	snprintf(date, 20, "%04u%02u%02uT%02u%02u%02uZ", (unsigned int)(civil.year % 10000),
		 (unsigned int)civil.month % 100, (unsigned int)civil.day % 100,
		 (unsigned int)civil.hour % 100, (unsigned int)civil.minute % 100,
		 (unsigned int)civil.second % 100);
}

int sigv4_string_to_sign(const struct sigv4_request *request, struct slice canonical,
			 struct buf *out, struct error *err)
{
	uint8_t digest[SHA256_SIZE];
	char hex[2 * SHA256_SIZE + 1], date[20];
	int r = sha256(canonical, digest, err);

	if (r < 0)
		return r;
	text_hex(digest, sizeof(digest), hex);
	sigv4_date(request->time, date);
	return buf_printf(out, err, "AWS4-HMAC-SHA256\n%s\n%.8s/%s/%s/aws4_request\n%s", date, date,
			  request->region, request->service, hex);
}

/* The key of one day, region and service; a thread mostly signs for one. */
struct day_key {
	char scope[256];
	char secret[256];
	uint8_t key[SHA256_SIZE];
};

static _Thread_local struct day_key last_key;

static int sigv4_derive(const struct sigv4_request *request, const char *secret_key,
			uint8_t ret_key[SHA256_SIZE], struct error *err)
{
	CLEANUP(freep) char *first = text_printf(err, "AWS4%s", secret_key);
	char date[20];
	uint8_t key[SHA256_SIZE];
	int r;

	if (!first)
		return ERR_MEMORY;
	sigv4_date(request->time, date);
	r = hmac_sha256(slice_text(first), slice_of(date, 8), key, err);
	if (r == 0)
		r = hmac_sha256(slice_of(key, sizeof(key)), slice_text(request->region), key, err);
	if (r == 0)
		r = hmac_sha256(slice_of(key, sizeof(key)), slice_text(request->service), key, err);
	if (r == 0)
		r = hmac_sha256(slice_of(key, sizeof(key)), slice_text("aws4_request"), ret_key,
				err);
	return r;
}

static int sigv4_day_key(const struct sigv4_request *request, const char *secret_key,
			 uint8_t ret_key[SHA256_SIZE], struct error *err)
{
	char date[20], scope[sizeof(last_key.scope)];
	int n, r;

	sigv4_date(request->time, date);
	n = snprintf(scope, sizeof(scope), "%.8s/%s/%s", date, request->region, request->service);
	if (n >= (int)sizeof(scope) || strlen(secret_key) >= sizeof(last_key.secret))
		return sigv4_derive(request, secret_key, ret_key, err);
	if (strcmp(last_key.scope, scope) != 0 || strcmp(last_key.secret, secret_key) != 0) {
		last_key.scope[0] = '\0';
		r = sigv4_derive(request, secret_key, last_key.key, err);
		if (r < 0)
			return r;
		snprintf(last_key.scope, sizeof(last_key.scope), "%s", scope);
		snprintf(last_key.secret, sizeof(last_key.secret), "%s", secret_key);
	}
	memcpy(ret_key, last_key.key, SHA256_SIZE);
	return 0;
}

int sigv4_signature(const struct sigv4_request *request, const char *secret_key, struct slice text,
		    char ret_signature[65], struct error *err)
{
	uint8_t key[SHA256_SIZE], mac[SHA256_SIZE];
	int r = sigv4_day_key(request, secret_key, key, err);

	if (r == 0)
		r = hmac_sha256(slice_of(key, sizeof(key)), text, mac, err);
	if (r == 0)
		text_hex(mac, sizeof(mac), ret_signature);
	return r;
}

int sigv4_sign(const struct sigv4_request *request, const struct sigv4_key *key,
	       struct http_lines *headers, struct error *err)
{
	CLEANUP(buf_done) struct buf canonical = BUF_INIT(BUF_NO_LIMIT);
	CLEANUP(buf_done) struct buf names = BUF_INIT(BUF_NO_LIMIT);
	CLEANUP(buf_done) struct buf text = BUF_INIT(BUF_NO_LIMIT);
	struct sigv4_request complete = *request;
	char date[20], signature[65];
	int r;

	complete.headers = headers;
	sigv4_date(request->time, date);
	r = http_lines_add(headers, err, "X-Amz-Date: %s", date);
	if (r == 0 && key->session_token && key->session_token[0])
		r = http_lines_add(headers, err, "X-Amz-Security-Token: %s", key->session_token);
	if (r == 0)
		r = sigv4_canonical(&complete, &canonical, &names, err);
	if (r == 0)
		r = sigv4_string_to_sign(&complete, buf_slice(&canonical), &text, err);
	if (r == 0)
		r = sigv4_signature(&complete, key->secret_key, buf_slice(&text), signature, err);
	if (r < 0)
		return r;
	return http_lines_add(
		headers, err,
		"Authorization: AWS4-HMAC-SHA256 Credential=%s/%.8s/%s/%s/aws4_request, "
		"SignedHeaders=%.*s, Signature=%s",
		key->access_key, date, request->region, request->service, (int)names.size,
		(const char *)names.data, signature);
}
