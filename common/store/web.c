/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any web server, read only.  Folders are listed where the server shows an index of them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/text.h"
#include "net/http.h"
#include "net/url.h"
#include "store/cloud.h"
#include "store/drivers.h"
#include "store/explain.h"
#include "store/web-index.h"

enum {
	WEB_INDEX_MAX = 64 * 1024 * 1024,
	WEB_DEPTH_MAX = 32,
};

struct store_web {
	struct store store;
	char *base;	/* up to and with the last '/' */
	char *query;	/* "?..." that every request carries (a signature), or "" */
	bool as_stored; /* keys are paths and queries of URLs, not names */
	struct http_site site;
};

static struct store_web *web(struct store *store)
{
	return (struct store_web *)store;
}

static char *web_url(struct store_web *self, const char *key, struct error *err)
{
	CLEANUP(buf_done) struct buf url = BUF_INIT(1 << 20);
	int r = buf_append_text(&url, self->base, err);

	if (r == 0 && self->as_stored)
		r = url_escape_illegal(slice_text(key), &url, err);
	else if (r == 0)
		r = text_percent_encode(slice_text(key), "-._~/!$'()*,;:@=", &url, err);
	if (r == 0)
		r = buf_append_text(&url, self->query, err);
	return r < 0 ? NULL : slice_dup(buf_slice(&url), err);
}

static int web_explain(void *argument, const struct http_answer *answer, struct error *err)
{
	int status = answer->attempt.status;

	(void)argument;
	if (status == 404 || status == 410)
		return STORE_ABSENT;
	return http_status_error(status, NULL, err);
}

static const struct cloud_dialect web_dialect = {.explain = web_explain};

static int web_get(struct store *store, const char *key, uint64_t offset, uint64_t length,
		   const struct store_condition *condition, struct buf *out,
		   struct store_info *ret_info, struct error *err)
{
	struct store_web *self = web(store);
	CLEANUP(freep) char *url = NULL;

	if (length == 0)
		return cloud_get_nothing(store, key, offset, condition, ret_info, err);
	url = web_url(self, key, err);
	if (!url)
		return ERR_MEMORY;
	return cloud_get(&self->site, url, offset, length, condition, out, ret_info, &web_dialect,
			 err);
}

/* Servers without HEAD: one byte of the object tells as much. */
static int web_head_by_get(struct store_web *self, const char *url, struct store_info *ret_info,
			   struct error *err)
{
	CLEANUP(buf_done) struct buf byte = BUF_INIT(1);
	int r = cloud_get(&self->site, url, 0, 1, NULL, &byte, ret_info, &web_dialect, err);

	/* An empty object has no first byte. */
	if (r == ERR_FORMAT)
		r = cloud_get(&self->site, url, 0, STORE_TO_END, NULL, &byte, ret_info,
			      &web_dialect, err);
	return r;
}

static int web_head(struct store *store, const char *key, struct store_info *ret_info,
		    struct error *err)
{
	struct store_web *self = web(store);
	CLEANUP(freep) char *url = web_url(self, key, err);
	CLEANUP(http_answer_done) struct http_answer answer = {0};
	struct http_request request = {.method = "HEAD", .url = url, .hedge = true, .redirects = 5};
	int r;

	if (!url)
		return ERR_MEMORY;
	r = http_call(&self->site, &request, &answer, err);
	if (r < 0)
		return r;
	if (answer.attempt.status == 405 || answer.attempt.status == 501 ||
	    (answer.attempt.status == 200 && answer.attempt.content_length == UINT64_MAX))
		return web_head_by_get(self, url, ret_info, err);
	if (answer.attempt.status != 200)
		return web_explain(self, &answer, err);
	cloud_info(&answer, ret_info);
	return 0;
}

/* --- indexes --- */

static bool text_holds(struct slice text, const char *words)
{
	size_t size = strlen(words);

	for (size_t i = 0; i + size <= text.size; i++)
		if (strncasecmp((const char *)text.data + i, words, size) == 0)
			return true;
	return false;
}

/* An index, not a page about something else? */
static bool web_is_index(const struct http_answer *answer)
{
	const char *type = http_header(answer, "content-type");
	struct slice body = buf_slice(&answer->attempt.body);

	return type && strncasecmp(type, "text/html", 9) == 0 &&
	       (text_holds(body, "index of") || text_holds(body, "directory listing") ||
		text_holds(body, "parent directory") || text_holds(body, "href=\"../\""));
}

/* Names in the folder @key ("" or ending in '/'): 0, STORE_ABSENT, or an error. */
static int web_read_folder(struct store_web *self, const char *key, struct web_names *names,
			   struct error *err)
{
	CLEANUP(freep) char *url = web_url(self, key, err);
	CLEANUP(http_answer_done) struct http_answer answer = {0};
	CLEANUP(url_done) struct url parts = {0};
	struct http_request request = {
		.method = "GET", .url = url, .redirects = 5, .answer_max = WEB_INDEX_MAX};
	int r;

	if (!url)
		return ERR_MEMORY;
	r = http_call(&self->site, &request, &answer, err);
	if (r < 0)
		return r;
	if (answer.attempt.status != 200)
		return web_explain(self, &answer, err);
	if (!buf_text(&answer.attempt.body, err))
		return ERR_MEMORY;
	if (!web_is_index(&answer))
		return error_set(err, ERR_UNSUPPORTED, "the server shows no index of '%s'", key);
	r = url_parse(answer.url, &parts, err);
	if (r < 0)
		return r;
	parts.target[strcspn(parts.target, "?")] = '\0';
	return web_index_read(parts.target, buf_slice(&answer.attempt.body), names, err);
}

struct web_walk {
	struct store_web *self;
	bool delimiter;
	store_list_fn each;
	void *argument;
};

static int web_walk_folder(const struct web_walk *walk, const char *folder, const char *start,
			   unsigned int depth, struct error *err)
{
	CLEANUP(web_names_free) struct web_names names = {0};
	int r = web_read_folder(walk->self, folder, &names, err);

	/* What is below it would be missing without a word. */
	if (r == STORE_ABSENT && depth > 0)
		return error_set(err, ERR_ABSENT, "the folder '%s' is in an index but not there",
				 folder);
	if (depth > WEB_DEPTH_MAX)
		return error_set(err, ERR_FORMAT, "folders nested too deeply");
	for (size_t i = 0; i < names.n && r == 0; i++) {
		CLEANUP(freep) char *key = NULL;
		struct store_entry entry = {.info.size = UINT64_MAX};
		bool is_folder = text_ends(names.items[i], "/");

		if (!text_starts(names.items[i], start))
			continue;
		key = text_printf(err, "%s%s", folder, names.items[i]);
		if (!key)
			return ERR_MEMORY;
		entry.key = key;
		entry.is_prefix = is_folder;
		if (is_folder && !walk->delimiter)
			r = web_walk_folder(walk, key, "", depth + 1, err);
		else
			r = walk->each(walk->argument, &entry, err);
	}
	return r;
}

static int web_list(struct store *store, const char *prefix, bool delimiter, store_list_fn each,
		    void *argument, struct error *err)
{
	struct web_walk walk = {web(store), delimiter, each, argument};
	const char *slash = strrchr(prefix, '/');
	size_t size = slash ? (size_t)(slash - prefix) + 1 : 0;
	CLEANUP(freep) char *folder = slice_dup(slice_of(prefix, size), err);
	CLEANUP(web_names_free) struct web_names root = {0};
	int r;

	if (!folder)
		return ERR_MEMORY;
	r = web_walk_folder(&walk, folder, prefix + size, 0, err);
	if (r != STORE_ABSENT)
		return r;
	/* Not there: proven only by a server that shows indexes at all. */
	r = folder[0] ? web_read_folder(web(store), "", &root, err) : STORE_ABSENT;
	if (r == STORE_ABSENT)
		return error_set(err, ERR_ABSENT, "the server shows no folder there");
	return r;
}

static void web_free(struct store *store)
{
	free(web(store)->base);
	free(web(store)->query);
	free(store);
}

static int web_explain_store(struct store *store, struct buf *out, struct error *err)
{
	struct store_web *self = web(store);
	int r = buf_printf(out, err, "endpoint: %s\ncredentials: none%s\n", self->base,
			   self->query[0] ? ", but a query goes with every request" : "");

	return r < 0 ? r : explain_endpoint(self->base, self->site.allow_private, out, err);
}

static const struct store_ops web_ops = {
	.name = "http",
	.get = web_get,
	.head = web_head,
	.list = web_list,
	.explain = web_explain_store,
	.free = web_free,
};

static int web_set_up(struct store_web *self, const char *text, const struct store_options *options,
		      struct error *err)
{
	CLEANUP(url_done) struct url url = {0};
	CLEANUP(freep) char *origin = NULL;
	size_t path;
	int r;

	r = url_parse(text, &url, err);
	if (r < 0)
		return r;
	self->store.url = url_redact(text, err);
	origin = url_origin(&url, err);
	if (!self->store.url || !origin)
		return ERR_MEMORY;
	path = strcspn(url.target, "?");
	self->query = text_dup(url.target + path, err);
	while (path > 0 && url.target[path - 1] == '/')
		path--;
	self->base = text_printf(err, "%s%.*s/", origin, (int)path, url.target);
	if (!self->query || !self->base)
		return ERR_MEMORY;
	r = cloud_site("http", origin, "", options, &self->site, err);
	self->site.http2 = true;
	return r;
}

int store_http_new(const char *url, bool as_stored, const struct store_options *options,
		   struct store **ret_store, struct error *err)
{
	struct store_web *self = calloc(1, sizeof(*self));
	int r;

	if (!self)
		return error_memory(err);
	self->store.ops = &web_ops;
	self->as_stored = as_stored;
	r = web_set_up(self, url, options, err);
	if (r < 0) {
		store_free(&self->store);
		return r;
	}
	*ret_store = &self->store;
	return 0;
}
