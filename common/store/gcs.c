/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Google Cloud Storage through its JSON API.  The version of an object is its generation.
 */
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "base/time.h"
#include "net/google.h"
#include "net/http.h"
#include "net/url.h"
#include "store/check.h"
#include "store/cloud.h"
#include "store/drivers.h"
#include "store/explain.h"

enum {
	GCS_PAGE = 1000,
	GCS_PAGE_MAX = 64 * 1024 * 1024,
	GCS_REWRITE_STEPS = 1000,
	GCS_SLOW_MS = 10 * 60 * 1000,
};

#define GCS_HOST "https://storage.googleapis.com"

struct store_gcs {
	struct store store;
	char *bucket;
	char *prefix;
	char *endpoint;		 /* origin */
	uint32_t page;		 /* entries of a listing at once */
	struct keyring *keyring; /* NULL: anonymous */
	struct http_site site;
};

static struct store_gcs *gcs(struct store *store)
{
	return (struct store_gcs *)store;
}

/* --- names, signing, judging --- */

static int gcs_add_name(struct buf *url, const char *prefix, const char *key, struct error *err)
{
	int r = text_percent_encode(slice_text(prefix), "-._~", url, err);

	return r < 0 ? r : text_percent_encode(slice_text(key), "-._~", url, err);
}

/* ".../storage/v1/b/BUCKET/o/KEY" and what follows; NULL key: the bucket's objects. */
static char *gcs_url(struct store_gcs *self, const char *key, const char *rest, struct error *err)
{
	CLEANUP(buf_done) struct buf url = BUF_INIT(1 << 20);
	int r = buf_printf(&url, err, "%s/storage/v1/b/%s/o%s", self->endpoint, self->bucket,
			   key ? "/" : "");

	if (r == 0 && key)
		r = gcs_add_name(&url, self->prefix, key, err);
	if (r == 0)
		r = buf_append_text(&url, rest, err);
	return r < 0 ? NULL : slice_dup(buf_slice(&url), err);
}

static int gcs_sign(void *argument, bool renew, const char *method, const char *url,
		    struct slice body, struct http_lines *headers, struct error *err)
{
	struct store_gcs *self = argument;
	CLEANUP(credentials_unrefp) struct credentials *credentials = NULL;
	int r = keyring_get(self->keyring, renew, &credentials, err);

	(void)method;
	(void)url;
	(void)body;
	if (r == CREDENTIALS_NONE)
		return error_set(
			err, ERR_DENIED,
			"no Google credentials were found (for public buckets use --anonymous)");
	return r < 0 ? r
		     : http_lines_add(headers, err, "Authorization: Bearer %s", credentials->token);
}

/* error.message and error.errors[0].reason of the JSON that errors come with. */
static char *gcs_error_text(const struct attempt *answer, bool reason)
{
	struct error ignored = ERROR_INIT;
	struct json root, list, first, value;
	char *text = NULL;

	if (json_parse(buf_slice(&answer->body), &root, &ignored) < 0)
		return NULL;
	if (reason) {
		if (json_path(&root, &list, "error", "errors", NULL) != 0 ||
		    json_at(&list, 0, &first) != 0 || json_get(&first, "reason", &value) != 0)
			return NULL;
	} else if (json_path(&root, &value, "error", "message", NULL) != 0) {
		return NULL;
	}
	return json_dup(&value, &text, &ignored) == 0 ? text : NULL;
}

static enum http_verdict gcs_judge(void *argument, const struct attempt *answer)
{
	const struct store_gcs *self = argument;
	CLEANUP(freep) char *reason = NULL;

	if (answer->status == 401 && self->keyring)
		return HTTP_RENEW;
	if (answer->status != 403)
		return http_judge(answer);
	reason = gcs_error_text(answer, true);
	if (reason && strcasestr(reason, "rateLimitExceeded"))
		return HTTP_THROTTLED;
	return self->keyring ? HTTP_RENEW : HTTP_DONE;
}

static int gcs_error(const struct http_answer *answer, struct error *err)
{
	CLEANUP(freep) char *message = gcs_error_text(&answer->attempt, false);

	return http_status_error(answer->attempt.status, message, err);
}

static int gcs_explain(void *argument, const struct http_answer *answer, struct error *err)
{
	struct store_gcs *self = argument;
	CLEANUP(freep) char *message = NULL;

	if (answer->attempt.status != 404 && answer->attempt.status != 410)
		return gcs_error(answer, err);
	message = gcs_error_text(&answer->attempt, false);
	if (message && strcasestr(message, "bucket does not exist"))
		return error_set(err, ERR_ABSENT, "there is no bucket '%s'", self->bucket);
	return STORE_ABSENT;
}

static int gcs_call(struct store_gcs *self, const struct http_request *request,
		    struct http_answer *ret_answer, struct error *err)
{
	return request->url ? http_call(&self->site, request, ret_answer, err) : ERR_MEMORY;
}

/* --- reading --- */

/* The MD5 of "crc32c=...,md5=BASE64" in hexadecimal: the ETag of the XML API for most objects. */
static bool gcs_md5(const struct http_answer *answer, char hex[33])
{
	CLEANUP(buf_done) struct buf bytes = BUF_INIT(16);
	const char *line = (const char *)answer->attempt.head.data;
	const char *end = line + answer->attempt.head.size;

	for (; line < end; line += strlen(line) + 1) {
		const char *md5 =
			strncasecmp(line, "x-goog-hash:", 12) == 0 ? strstr(line, "md5=") : NULL;

		if (!md5)
			continue;
		md5 += 4;
		if (base64_decode(slice_of(md5, strcspn(md5, ", ")), &bytes, NULL) < 0 ||
		    bytes.size != 16)
			return false;
		text_hex(bytes.data, 16, hex);
		return true;
	}
	return false;
}

static int gcs_describe(const struct http_answer *answer, const struct store_condition *condition,
			struct store_info *ret_info, struct error *err)
{
	const char *generation = http_header(answer, "x-goog-generation");
	struct store_condition time_only = {0};
	struct store_info info;
	char md5[33];

	cloud_info(answer, &info);
	*ret_info = info;
	snprintf(ret_info->version.text, sizeof(ret_info->version.text), "%s",
		 generation ? generation : "");
	/* References record the ETag of the XML API, of the JSON API, or the generation. */
	if (condition && condition->etag &&
	    (store_etag_equal(condition->etag, ret_info->version.text) ||
	     (gcs_md5(answer, md5) && store_etag_equal(condition->etag, md5)))) {
		time_only.not_modified_after = condition->not_modified_after;
		condition = &time_only;
	}
	return store_check_condition(condition, &info, err);
}

static int gcs_get(struct store *store, const char *key, uint64_t offset, uint64_t length,
		   const struct store_condition *condition, struct buf *out,
		   struct store_info *ret_info, struct error *err)
{
	struct store_gcs *self = gcs(store);
	const struct cloud_dialect dialect = {
		.explain = gcs_explain,
		.describe = gcs_describe,
		.argument = self,
		.no_if_match = true,
	};
	CLEANUP(freep) char *url = NULL;

	if (length == 0)
		return cloud_get_nothing(store, key, offset, condition, ret_info, err);
	url = gcs_url(self, key, "?alt=media", err);
	if (!url)
		return ERR_MEMORY;
	return cloud_get(&self->site, url, offset, length, condition, out, ret_info, &dialect, err);
}

/* "size", "generation" and "updated" of an object's metadata. */
static int gcs_read_info(struct slice document, struct store_info *ret_info, struct error *err)
{
	CLEANUP(freep) char *size = credentials_json_text(document, "size");
	CLEANUP(freep) char *generation = credentials_json_text(document, "generation");
	CLEANUP(freep) char *updated = credentials_json_text(document, "updated");
	struct store_info info = {0};
	int r;

	if (!size || !generation || strlen(generation) >= sizeof(info.version.text))
		return error_set(err, ERR_FORMAT, "an object without size or generation");
	r = cloud_read_size(size, &info.size, err);
	if (r == 0 && updated)
		r = cloud_read_time(updated, &info.last_modified, err);
	if (r < 0)
		return r;
	snprintf(info.version.text, sizeof(info.version.text), "%s", generation);
	*ret_info = info;
	return 0;
}

static int gcs_metadata(struct store_gcs *self, const char *key, struct http_answer *answer,
			struct error *err)
{
	CLEANUP(freep) char *url = gcs_url(self, key, "", err);
	struct http_request request = {.method = "GET", .url = url, .hedge = true};
	int r = gcs_call(self, &request, answer, err);

	if (r < 0 || answer->attempt.status == 200)
		return r;
	return gcs_explain(self, answer, err);
}

static int gcs_head(struct store *store, const char *key, struct store_info *ret_info,
		    struct error *err)
{
	CLEANUP(http_answer_done) struct http_answer answer = {0};
	int r = gcs_metadata(gcs(store), key, &answer, err);

	return r == 0 ? gcs_read_info(buf_slice(&answer.attempt.body), ret_info, err) : r;
}

/* --- writing --- */

struct gcs_write {
	const char *key;
	struct slice bytes;
	bool conditional;
	const struct version *version;
	struct write_id id;
};

static char *gcs_upload_url(struct store_gcs *self, const struct gcs_write *write,
			    struct error *err)
{
	CLEANUP(buf_done) struct buf url = BUF_INIT(1 << 20);
	int r = buf_printf(&url, err, "%s/upload/storage/v1/b/%s/o?uploadType=%s", self->endpoint,
			   self->bucket, write->conditional ? "multipart" : "media&name=");

	if (r == 0 && !write->conditional)
		r = gcs_add_name(&url, self->prefix, write->key, err);
	if (r == 0 && write->conditional)
		r = buf_printf(&url, err, "&ifGenerationMatch=%s",
			       write->version ? write->version->text : "0");
	return r < 0 ? NULL : slice_dup(buf_slice(&url), err);
}

/* Metadata and content in one body; the write id is the boundary, which no content can know. */
static int gcs_related_body(struct store_gcs *self, const struct gcs_write *write, struct buf *out,
			    struct error *err)
{
	CLEANUP(freep) char *name = text_printf(err, "%s%s", self->prefix, write->key);
	int r;

	if (!name)
		return ERR_MEMORY;
	r = buf_printf(out, err,
		       "--%s\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n"
		       "{\"name\":",
		       write->id.text);
	if (r == 0)
		r = json_write_text(out, slice_text(name), err);
	if (r == 0)
		r = buf_printf(out, err,
			       ",\"metadata\":{\"icechunk_write_id\":\"%s\"}}\r\n--%s\r\n"
			       "Content-Type: application/octet-stream\r\n\r\n",
			       write->id.text, write->id.text);
	if (r == 0)
		r = buf_append_slice(out, write->bytes, err);
	return r < 0 ? r : buf_printf(out, err, "\r\n--%s--\r\n", write->id.text);
}

static int gcs_version(struct slice document, struct version *ret_version, struct error *err)
{
	struct store_info info;
	int r = gcs_read_info(document, &info, err);

	if (r == 0)
		*ret_version = info.version;
	return r;
}

static int gcs_read_back(struct store_gcs *self, const struct gcs_write *write,
			 struct version *ret_version, struct error *err)
{
	CLEANUP(http_answer_done) struct http_answer answer = {0};
	struct slice body;
	struct json root, id;
	int r = gcs_metadata(self, write->key, &answer, err);

	if (r == STORE_ABSENT)
		return STORE_CHANGED;
	if (r < 0)
		return error_prefix(err, "reading back after a conflict");
	body = buf_slice(&answer.attempt.body);
	r = json_parse(body, &root, err);
	if (r < 0)
		return r;
	if (json_path(&root, &id, "metadata", "icechunk_write_id", NULL) != 0 ||
	    !json_is_text(&id, write->id.text))
		return STORE_CHANGED;
	return ret_version ? gcs_version(body, ret_version, err) : 0;
}

static int gcs_write_answer(struct store_gcs *self, const struct gcs_write *write,
			    const struct http_answer *answer, struct version *ret_version,
			    struct error *err)
{
	int status = answer->attempt.status, r;

	if (status == 200 &&
	    (!ret_version || gcs_version(buf_slice(&answer->attempt.body), ret_version, NULL) == 0))
		return 0;
	/* Written, but the answer does not say as what; or perhaps written by a lost try of ours.
	 */
	if (write->conditional && (status == 200 || status == 412 || status == 409))
		return gcs_read_back(self, write, ret_version, err);
	r = gcs_explain(self, answer, err);
	if (r == STORE_ABSENT && write->conditional && write->version)
		return STORE_CHANGED;
	return r == STORE_ABSENT ? gcs_error(answer, err) : r;
}

static int gcs_write(struct store_gcs *self, struct gcs_write *write, struct version *ret_version,
		     struct error *err)
{
	CLEANUP(http_answer_done) struct http_answer answer = {0};
	CLEANUP(http_lines_free) struct http_lines headers = {0};
	CLEANUP(buf_done) struct buf related = BUF_INIT(BUF_NO_LIMIT);
	CLEANUP(freep) char *url = NULL;
	struct error ignored = ERROR_INIT;
	struct http_request request = {.method = "POST", .headers = &headers, .body = write->bytes};
	int r;

	r = write_id_new(&write->id, err);
	if (r < 0)
		return r;
	url = gcs_upload_url(self, write, err);
	if (write->conditional) {
		r = gcs_related_body(self, write, &related, err);
		if (r == 0)
			r = http_lines_add(&headers, err,
					   "Content-Type: multipart/related; boundary=%s",
					   write->id.text);
		request.body = buf_slice(&related);
	} else {
		r = http_lines_add(&headers, err, "Content-Type: application/octet-stream");
	}
	if (r < 0)
		return r;
	request.url = url;
	r = gcs_call(self, &request, &answer, err);
	if (r == 0)
		return gcs_write_answer(self, write, &answer, ret_version, err);
	/* Nobody knows whether it arrived; only our own name proves it. */
	if (write->conditional && http_is_unanswered(r) &&
	    gcs_read_back(self, write, ret_version, &ignored) == 0)
		return 0;
	return r;
}

static int gcs_put(struct store *store, const char *key, struct slice bytes, struct error *err)
{
	struct gcs_write write = {.key = key, .bytes = bytes};

	return gcs_write(gcs(store), &write, NULL, err);
}

static int gcs_replace(struct store *store, const char *key, const struct version *version,
		       struct slice bytes, struct version *ret_version, struct error *err)
{
	struct gcs_write write = {
		.key = key, .bytes = bytes, .conditional = true, .version = version};

	/* A generation goes into a URL: nothing else may. */
	if (version && !version->text[0])
		return error_set(err, ERR_ARGUMENT, "no version to compare with");
	if (version && version->text[strspn(version->text, "0123456789")])
		return STORE_CHANGED;
	return gcs_write(gcs(store), &write, ret_version, err);
}

/* One step of a copy: big ones take several. */
static int gcs_rewrite(struct store_gcs *self, const char *from, const char *rest, char **token,
		       struct error *err)
{
	CLEANUP(http_answer_done) struct http_answer answer = {0};
	CLEANUP(buf_done) struct buf tail = BUF_INIT(1 << 20);
	CLEANUP(freep) char *url = NULL;
	struct http_site site = self->site;
	struct http_request request = {.method = "POST"};
	int r = buf_append_text(&tail, rest, err);

	if (r == 0 && *token)
		r = buf_append_text(&tail, "&rewriteToken=", err);
	if (r == 0 && *token)
		r = text_percent_encode(slice_text(*token), "-._~", &tail, err);
	if (r < 0 || !buf_text(&tail, err))
		return ERR_MEMORY;
	url = gcs_url(self, from, (const char *)tail.data, err);
	if (!url)
		return ERR_MEMORY;
	request.url = url;
	site.stall_ms = GCS_SLOW_MS;
	r = http_call(&site, &request, &answer, err);
	if (r < 0)
		return r;
	if (answer.attempt.status == 412)
		return STORE_CHANGED;
	if (answer.attempt.status != 200)
		return gcs_explain(self, &answer, err);
	free(*token);
	*token = credentials_json_text(buf_slice(&answer.attempt.body), "rewriteToken");
	if (*token && !(*token)[0]) {
		free(*token);
		*token = NULL;
	}
	return 0;
}

static int gcs_copy(struct store *store, const char *from, const struct version *version,
		    const char *to, struct error *err)
{
	struct store_gcs *self = gcs(store);
	CLEANUP(buf_done) struct buf rest = BUF_INIT(1 << 20);
	CLEANUP(freep) char *token = NULL;
	struct store_info info;
	int r;

	/* Asked for as well as demanded: emulators do not know the demand. */
	r = gcs_head(store, from, &info, err);
	if (r != 0)
		return r;
	if (version && strcmp(version->text, info.version.text) != 0)
		return STORE_CHANGED;
	r = buf_printf(&rest, err, "/rewriteTo/b/%s/o/", self->bucket);
	if (r == 0)
		r = gcs_add_name(&rest, self->prefix, to, err);
	if (r == 0)
		r = buf_printf(&rest, err, "?%s%s",
			       version ? "ifSourceGenerationMatch=" : "alt=json",
			       version ? version->text : "");
	if (r < 0 || !buf_text(&rest, err))
		return ERR_MEMORY;
	for (int i = 0; i < GCS_REWRITE_STEPS; i++) {
		r = gcs_rewrite(self, from, (const char *)rest.data, &token, err);
		if (r != 0 || !token)
			return r;
	}
	return error_set(err, ERR_NETWORK, "the copy does not come to an end");
}

static int gcs_remove(struct store *store, const char *key, struct error *err)
{
	CLEANUP(http_answer_done) struct http_answer answer = {0};
	CLEANUP(freep) char *url = gcs_url(gcs(store), key, "", err);
	struct http_request request = {.method = "DELETE", .url = url};
	int r = gcs_call(gcs(store), &request, &answer, err);

	if (r < 0 || answer.attempt.status < 300)
		return r;
	r = gcs_explain(gcs(store), &answer, err);
	return r < 0 ? r : 0;
}

/* --- listing --- */

int cloud_read_gcs(struct cloud_page *page, struct slice body, struct error *err)
{
	struct json root, kind, list, item, name, ignored;
	int r = json_parse(body, &root, err);

	if (r < 0)
		return r;
	/* Another page that came with status 200 would pass for an empty bucket. */
	if (json_get(&root, "kind", &kind) != 0 || !json_is_text(&kind, "storage#objects"))
		return error_set(err, ERR_FORMAT, "a listing that is not one");
	if (json_get(&root, "items", &list) == 0)
		JSON_EACH (&list, &ignored, item) {
			struct cloud_item entry = {0};

			r = gcs_read_info(item.span, &entry.info, err);
			if (r == 0 && json_get(&item, "name", &name) == 0)
				r = json_dup(&name, &entry.key, err);
			if (r == 0)
				r = cloud_page_add(page, entry, err);
			if (r < 0)
				return r;
		}
	if (json_get(&root, "prefixes", &list) == 0)
		JSON_EACH (&list, &ignored, item) {
			struct cloud_item entry = {.is_prefix = true};

			r = json_dup(&item, &entry.key, err);
			if (r == 0)
				r = cloud_page_add(page, entry, err);
			if (r < 0)
				return r;
		}
	if (json_get(&root, "nextPageToken", &item) == 0)
		r = json_dup(&item, &page->token, err);
	return r;
}

static int gcs_load_page(struct store *store, const char *prefix, bool delimiter, const char *token,
			 struct cloud_page *page, struct error *err)
{
	struct store_gcs *self = gcs(store);
	CLEANUP(http_answer_done) struct http_answer answer = {0};
	CLEANUP(buf_done) struct buf query = BUF_INIT(1 << 20);
	CLEANUP(freep) char *url = NULL;
	struct http_request request = {.method = "GET", .hedge = true, .answer_max = GCS_PAGE_MAX};
	int r;

	r = buf_printf(&query, err, "?maxResults=%u%s&prefix=", self->page,
		       delimiter ? "&delimiter=%2F" : "");
	if (r == 0)
		r = text_percent_encode(slice_text(prefix), "-._~", &query, err);
	if (r == 0 && token)
		r = buf_append_text(&query, "&pageToken=", err);
	if (r == 0 && token)
		r = text_percent_encode(slice_text(token), "-._~", &query, err);
	if (r < 0 || !buf_text(&query, err))
		return ERR_MEMORY;
	url = gcs_url(self, NULL, (const char *)query.data, err);
	request.url = url;
	r = gcs_call(self, &request, &answer, err);
	if (r < 0)
		return r;
	if (answer.attempt.status == 404)
		return error_set(err, ERR_ABSENT, "there is no bucket '%s'", self->bucket);
	if (answer.attempt.status != 200)
		return gcs_error(&answer, err);
	r = cloud_read_gcs(page, buf_slice(&answer.attempt.body), err);
	return r < 0 ? error_prefix(err, "the store's answer") : 0;
}

static int gcs_list(struct store *store, const char *prefix, bool delimiter, store_list_fn each,
		    void *argument, struct error *err)
{
	return cloud_list(store, gcs(store)->prefix, gcs_load_page, prefix, delimiter, each,
			  argument, err);
}

/* --- the store --- */

static void gcs_free(struct store *store)
{
	struct store_gcs *self = gcs(store);

	keyring_free(self->keyring);
	free(self->bucket);
	free(self->prefix);
	free(self->endpoint);
	free(self);
}

static int gcs_explain_store(struct store *store, struct buf *out, struct error *err)
{
	struct store_gcs *self = gcs(store);
	CLEANUP(credentials_unrefp) struct credentials *credentials = NULL;
	CLEANUP(buf_done) struct buf story = BUF_INIT(1 << 20);
	struct error trouble = ERROR_INIT;
	int r = buf_printf(out, err, "bucket: %s, prefix '%s'\nendpoint: %s\n", self->bucket,
			   self->prefix, self->endpoint);

	if (r == 0)
		r = explain_endpoint(self->endpoint, self->site.allow_private, out, err);
	if (r < 0)
		return r;
	if (!self->keyring)
		return buf_printf(out, err, "credentials: none, requests are anonymous\n");
	r = google_explain(&story, &credentials, &trouble);
	return explain_credentials(r, buf_slice(&story), credentials,
				   "environment, application default credentials, metadata service",
				   &trouble, out, err);
}

static const struct store_ops gcs_ops = {
	.name = "gcs",
	.get = gcs_get,
	.head = gcs_head,
	.put = gcs_put,
	.replace = gcs_replace,
	.copy = gcs_copy,
	.list = gcs_list,
	.remove = gcs_remove,
	.explain = gcs_explain_store,
	.free = gcs_free,
};

/* STORAGE_EMULATOR_HOST is "host:port" or a URL, as Google's own libraries read it. */
static int gcs_find_endpoint(struct store_gcs *self, const struct store_options *options,
			     bool *ret_emulator, struct error *err)
{
	const char *emulator =
		options->no_environment ? NULL : credentials_env("STORAGE_EMULATOR_HOST");
	size_t size;

	*ret_emulator = !options->endpoint_url && emulator;
	if (options->endpoint_url)
		self->endpoint = text_dup(options->endpoint_url, err);
	else if (emulator)
		self->endpoint = text_printf(err, "%s%s", strstr(emulator, "://") ? "" : "http://",
					     emulator);
	else
		self->endpoint = text_dup(GCS_HOST, err);
	if (!self->endpoint)
		return ERR_MEMORY;
	for (size = strlen(self->endpoint); size && self->endpoint[size - 1] == '/'; size--)
		self->endpoint[size - 1] = '\0';
	return 0;
}

static int gcs_set_up(struct store_gcs *self, const char *url, const struct store_options *options,
		      struct error *err)
{
	CLEANUP(url_done) struct url endpoint = {0};
	const char *bucket = strstr(url, "://") + 3;
	size_t size = strcspn(bucket, "/");
	struct store_options own = *options;
	bool emulator;
	int r;

	if (size == 0 || strcspn(bucket, "?#@:%\\ ") < size)
		return error_set(err, ERR_ARGUMENT, "'%s' names no bucket", url);
	self->store.url = text_dup(url, err);
	self->bucket = slice_dup(slice_of(bucket, size), err);
	self->prefix = cloud_prefix(bucket + size, err);
	if (!self->store.url || !self->bucket || !self->prefix)
		return ERR_MEMORY;
	r = gcs_find_endpoint(self, options, &emulator, err);
	if (r == 0)
		r = url_parse(self->endpoint, &endpoint, err);
	if (r == 0 && !options->anonymous && !emulator)
		r = google_keyring_new(&self->keyring, err);
	if (r < 0)
		return r;
	own.allow_private |= emulator;
	r = cloud_site("gcs", self->endpoint, self->bucket, &own, &self->site, err);
	self->site.http2 = true;
	self->page = options->page ? options->page : GCS_PAGE;
	self->site.sign = self->keyring ? gcs_sign : NULL;
	self->site.judge = gcs_judge;
	self->site.trusted_name = !emulator && !options->endpoint_url;
	self->site.argument = self;
	return r;
}

int store_gcs_new(const char *url, const struct store_options *options, struct store **ret_store,
		  struct error *err)
{
	struct store_gcs *self = calloc(1, sizeof(*self));
	int r;

	if (!self)
		return error_memory(err);
	self->store.ops = &gcs_ops;
	r = gcs_set_up(self, url, options, err);
	if (r < 0) {
		store_free(&self->store);
		return r;
	}
	*ret_store = &self->store;
	return 0;
}
