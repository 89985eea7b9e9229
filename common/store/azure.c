/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Azure Blob Storage.  The version of a blob is its ETag.
 */
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/pool.h"
#include "base/text.h"
#include "base/time.h"
#include "net/address.h"
#include "net/azure.h"
#include "net/http.h"
#include "net/url.h"
#include "net/xml.h"
#include "store/cloud.h"
#include "store/drivers.h"
#include "store/explain.h"

enum {
	AZ_PUT_MAX = 16 * 1024 * 1024, /* larger blobs go in blocks */
	AZ_BLOCK = 8 * 1024 * 1024,
	AZ_BLOCKS_MAX = 50000,
	AZ_BLOCKS_AT_ONCE = 4,
	AZ_PAGE = 1000,
	AZ_PAGE_MAX = 64 * 1024 * 1024,
	AZ_COPY_WAITS = 600,
	AZ_COPY_WAIT_US = 100000,
};

#define AZ_VERSION "2021-08-06"

struct store_az {
	struct store store;
	char *account;
	char *container;
	char *prefix;
	char *base;		 /* URL of the container, no final '/' */
	uint32_t page;		 /* entries of a listing at once */
	struct keyring *keyring; /* NULL: anonymous */
	struct http_site site;
};

static struct store_az *az(struct store *store)
{
	return (struct store_az *)store;
}

/* --- names, signing, judging --- */

static char *az_url(struct store_az *self, const char *key, const char *query, struct error *err)
{
	CLEANUP(buf_done) struct buf url = BUF_INIT(1 << 20);
	int r = buf_append_text(&url, self->base, err);

	/* It would be another blob's name there. */
	if (key && strchr(key, '\\')) {
		error_set(err, ERR_ARGUMENT, "Azure takes a backslash in a name for a slash");
		return NULL;
	}

	if (r == 0 && key)
		r = buf_append_byte(&url, '/', err);
	if (r == 0 && key)
		r = text_percent_encode(slice_text(self->prefix), "-._~/", &url, err);
	if (r == 0 && key)
		r = text_percent_encode(slice_text(key), "-._~/", &url, err);
	if (r == 0 && query)
		r = buf_printf(&url, err, "?%s", query);
	return r < 0 ? NULL : slice_dup(buf_slice(&url), err);
}

static int az_add_common(struct http_lines *headers, struct error *err)
{
	char date[32];
	int r;

	cloud_http_date(time_now() / TIME_SECOND, date);
	r = http_lines_add(headers, err, "x-ms-date: %s", date);
	return r < 0 ? r : http_lines_add(headers, err, "x-ms-version: " AZ_VERSION);
}

static int az_sign(void *argument, bool renew, const char *method, const char *url,
		   struct slice body, struct http_lines *headers, struct error *err)
{
	struct store_az *self = argument;
	CLEANUP(credentials_unrefp) struct credentials *credentials = NULL;
	CLEANUP(url_done) struct url parts = {0};
	int r;

	r = az_add_common(headers, err);
	if (r < 0 || !self->keyring)
		return r;
	r = keyring_get(self->keyring, renew, &credentials, err);
	if (r == CREDENTIALS_NONE)
		return error_set(
			err, ERR_DENIED,
			"no Azure credentials were found (for public containers use --anonymous)");
	if (r < 0)
		return r;
	if (credentials->token)
		return http_lines_add(headers, err, "Authorization: Bearer %s", credentials->token);
	/* A signature in the query is in the URL already. */
	if (!credentials->id)
		return 0;
	r = url_parse(url, &parts, err);
	return r < 0 ? r : azure_sign(credentials, method, parts.target, body, headers, err);
}

static char *az_code(const struct attempt *answer)
{
	const char *header = attempt_header(answer, "x-ms-error-code");

	if (header)
		return text_dup(header, NULL);
	return xml_text(buf_slice(&answer->body), "Error/Code");
}

static enum http_verdict az_judge(void *argument, const struct attempt *answer)
{
	const struct store_az *self = argument;
	CLEANUP(freep) char *code = NULL;

	if (answer->status < 400)
		return HTTP_DONE;
	code = az_code(answer);
	if (code && strcmp(code, "ServerBusy") == 0)
		return HTTP_THROTTLED;
	if (code && (strcmp(code, "OperationTimedOut") == 0 || strcmp(code, "InternalError") == 0))
		return HTTP_AGAIN;
	if ((answer->status == 401 || answer->status == 403) && self->keyring)
		return HTTP_RENEW;
	return http_judge(answer);
}

static int az_error(const struct http_answer *answer, struct error *err)
{
	CLEANUP(freep) char *code = az_code(&answer->attempt);

	return http_status_error(answer->attempt.status, code, err);
}

static int az_explain(void *argument, const struct http_answer *answer, struct error *err)
{
	struct store_az *self = argument;
	CLEANUP(freep) char *code = NULL;

	if (answer->attempt.status != 404 && answer->attempt.status != 410)
		return az_error(answer, err);
	code = az_code(&answer->attempt);
	if (code &&
	    (strcmp(code, "ContainerNotFound") == 0 || strcmp(code, "ContainerBeingDeleted") == 0))
		return error_set(err, ERR_ABSENT, "there is no container '%s'", self->container);
	if (code && strcmp(code, "ResourceNotFound") == 0)
		return error_set(err, ERR_ABSENT, "there is no such account or container");
	return STORE_ABSENT;
}

/* A shared access signature goes into the query. */
static int az_call(struct store_az *self, const char *key, const char *query,
		   struct http_request *request, struct http_answer *ret_answer, struct error *err)
{
	CLEANUP(credentials_unrefp) struct credentials *credentials = NULL;
	CLEANUP(freep) char *signed_query = NULL;
	CLEANUP(freep) char *url = NULL;
	int r = self->keyring ? keyring_get(self->keyring, false, &credentials, err) : 0;

	if (r < 0)
		return r;
	if (credentials && !credentials->id && !credentials->token) {
		signed_query = text_printf(err, "%s%s%s", query ? query : "", query ? "&" : "",
					   credentials->secret);
		if (!signed_query)
			return ERR_MEMORY;
		query = signed_query;
	}
	url = az_url(self, key, query, err);
	if (!url)
		return err ? err->kind : ERR_MEMORY;
	request->url = url;
	r = http_call(&self->site, request, ret_answer, err);
	request->url = NULL;
	return r;
}

/* --- reading --- */

static int az_get(struct store *store, const char *key, uint64_t offset, uint64_t length,
		  const struct store_condition *condition, struct buf *out,
		  struct store_info *ret_info, struct error *err)
{
	struct store_az *self = az(store);
	const struct cloud_dialect dialect = {.explain = az_explain, .argument = self};
	CLEANUP(credentials_unrefp) struct credentials *credentials = NULL;
	CLEANUP(freep) char *url = NULL;
	bool signature;
	int r;

	if (length == 0)
		return cloud_get_nothing(store, key, offset, condition, ret_info, err);
	r = self->keyring ? keyring_get(self->keyring, false, &credentials, err) : 0;
	if (r < 0)
		return r;
	signature = credentials && !credentials->id && !credentials->token;
	url = az_url(self, key, signature ? credentials->secret : NULL, err);
	if (!url)
		return err ? err->kind : ERR_MEMORY;
	return cloud_get(&self->site, url, offset, length, condition, out, ret_info, &dialect, err);
}

static int az_head_answer(struct store_az *self, const char *key, struct http_answer *answer,
			  struct error *err)
{
	struct http_request request = {.method = "HEAD", .hedge = true};
	int r = az_call(self, key, NULL, &request, answer, err);

	if (r < 0 || answer->attempt.status == 200)
		return r;
	return az_explain(self, answer, err);
}

static int az_head(struct store *store, const char *key, struct store_info *ret_info,
		   struct error *err)
{
	CLEANUP(http_answer_done) struct http_answer answer = {0};
	int r = az_head_answer(az(store), key, &answer, err);

	if (r == 0 && answer.attempt.content_length == UINT64_MAX)
		return error_set(err, ERR_FORMAT, "answer without the blob's size");
	if (r == 0)
		cloud_info(&answer, ret_info);
	return r;
}

/* --- writing --- */

struct az_write {
	const char *key;
	struct slice bytes;
	bool conditional;
	const struct version *version;
	struct write_id id;
};

static int az_write_headers(const struct az_write *write, struct http_lines *headers,
			    struct error *err)
{
	int r = 0;

	if (write->conditional && write->version)
		r = http_lines_add(headers, err, "If-Match: %s", write->version->text);
	else if (write->conditional)
		r = http_lines_add(headers, err, "If-None-Match: *");
	if (r == 0 && write->conditional)
		r = http_lines_add(headers, err, "x-ms-meta-icechunk_write_id: %s", write->id.text);
	return r;
}

static int az_read_back(struct store_az *self, const struct az_write *write,
			struct version *ret_version, struct error *err)
{
	CLEANUP(http_answer_done) struct http_answer answer = {0};
	const char *id;
	int r = az_head_answer(self, write->key, &answer, err);

	if (r == STORE_ABSENT)
		return STORE_CHANGED;
	if (r < 0)
		return error_prefix(err, "reading back after a conflict");
	id = http_header(&answer, "x-ms-meta-icechunk_write_id");
	if (!id || strcmp(id, write->id.text) != 0)
		return STORE_CHANGED;
	return ret_version ? cloud_take_version(&answer, ret_version, err) : 0;
}

static int az_write_answer(struct store_az *self, const struct az_write *write,
			   const struct http_answer *answer, struct version *ret_version,
			   struct error *err)
{
	int status = answer->attempt.status, r;

	if (status == 201)
		return ret_version ? cloud_take_version(answer, ret_version, err) : 0;
	if (write->conditional && (status == 412 || status == 409))
		return az_read_back(self, write, ret_version, err);
	r = az_explain(self, answer, err);
	if (r == STORE_ABSENT && write->conditional && write->version)
		return STORE_CHANGED;
	return r == STORE_ABSENT ? az_error(answer, err) : r;
}

/* Sends what makes the blob visible, and finds out what became of it. */
static int az_finish_write(struct store_az *self, const struct az_write *write, const char *query,
			   struct http_request *request, struct version *ret_version,
			   struct error *err)
{
	CLEANUP(http_answer_done) struct http_answer answer = {0};
	struct error ignored = ERROR_INIT;
	int r = az_call(self, write->key, query, request, &answer, err);

	if (r == 0)
		return az_write_answer(self, write, &answer, ret_version, err);
	if (write->conditional && http_is_unanswered(r) &&
	    az_read_back(self, write, ret_version, &ignored) == 0)
		return 0;
	return r;
}

static int az_put_single(struct store_az *self, const struct az_write *write,
			 struct version *ret_version, struct error *err)
{
	CLEANUP(http_lines_free) struct http_lines headers = {0};
	struct http_request request = {.method = "PUT", .headers = &headers, .body = write->bytes};
	int r = http_lines_add(&headers, err, "x-ms-blob-type: BlockBlob");

	if (r == 0)
		r = az_write_headers(write, &headers, err);
	return r < 0 ? r : az_finish_write(self, write, NULL, &request, ret_version, err);
}

struct az_upload {
	struct store_az *self;
	const struct az_write *write;
	size_t block;
	size_t n;
};

/* Names of blocks are base64 and all of one length; ours carry the write's own name. */
static int az_block_id(const struct az_upload *upload, size_t i, struct buf *out, struct error *err)
{
	char name[64];

	snprintf(name, sizeof(name), "%s-%08zu", upload->write->id.text, i);
	return base64_encode(slice_text(name), out, err);
}

static int az_send_block(void *argument, size_t i, struct error *err)
{
	const struct az_upload *upload = argument;
	CLEANUP(http_answer_done) struct http_answer answer = {0};
	CLEANUP(buf_done) struct buf id = BUF_INIT(256);
	CLEANUP(buf_done) struct buf query = BUF_INIT(1024);
	struct http_request request = {
		.method = "PUT",
		.body = slice_sub(upload->write->bytes, i * upload->block, upload->block),
	};
	int r;

	r = az_block_id(upload, i, &id, err);
	if (r == 0)
		r = buf_append_text(&query, "comp=block&blockid=", err);
	if (r == 0)
		r = text_percent_encode(buf_slice(&id), "", &query, err);
	if (r < 0 || !buf_text(&query, err))
		return ERR_MEMORY;
	r = az_call(upload->self, upload->write->key, (const char *)query.data, &request, &answer,
		    err);
	if (r < 0)
		return r;
	return answer.attempt.status == 201 ? 0 : az_error(&answer, err);
}

static int az_block_list(const struct az_upload *upload, struct buf *body, struct error *err)
{
	int r = buf_append_text(body, "<?xml version=\"1.0\" encoding=\"utf-8\"?><BlockList>", err);

	for (size_t i = 0; i < upload->n && r == 0; i++) {
		r = buf_append_text(body, "<Latest>", err);
		if (r == 0)
			r = az_block_id(upload, i, body, err);
		if (r == 0)
			r = buf_append_text(body, "</Latest>", err);
	}
	return r < 0 ? r : buf_append_text(body, "</BlockList>", err);
}

static int az_put_blocks(struct store_az *self, const struct az_write *write,
			 struct version *ret_version, struct error *err)
{
	CLEANUP(http_lines_free) struct http_lines headers = {0};
	CLEANUP(buf_done) struct buf body = BUF_INIT(16 << 20);
	struct az_upload upload = {.self = self, .write = write, .block = AZ_BLOCK};
	struct http_request request = {.method = "PUT", .headers = &headers};
	int r;

	while (write->bytes.size / upload.block >= AZ_BLOCKS_MAX)
		upload.block *= 2;
	upload.n = (write->bytes.size + upload.block - 1) / upload.block;
	r = parallel_for(AZ_BLOCKS_AT_ONCE, upload.n, az_send_block, &upload, err);
	if (r == 0)
		r = az_block_list(&upload, &body, err);
	if (r == 0)
		r = az_write_headers(write, &headers, err);
	if (r < 0)
		return r;
	request.body = buf_slice(&body);
	return az_finish_write(self, write, "comp=blocklist", &request, ret_version, err);
}

static int az_write(struct store_az *self, struct az_write *write, struct version *ret_version,
		    struct error *err)
{
	int r = write_id_new(&write->id, err);

	if (r < 0)
		return r;
	if (write->bytes.size > AZ_PUT_MAX)
		return az_put_blocks(self, write, ret_version, err);
	return az_put_single(self, write, ret_version, err);
}

static int az_put(struct store *store, const char *key, struct slice bytes, struct error *err)
{
	struct az_write write = {.key = key, .bytes = bytes};

	return az_write(az(store), &write, NULL, err);
}

static int az_replace(struct store *store, const char *key, const struct version *version,
		      struct slice bytes, struct version *ret_version, struct error *err)
{
	struct az_write write = {
		.key = key, .bytes = bytes, .conditional = true, .version = version};

	return az_write(az(store), &write, ret_version, err);
}

/* A copy may go on behind the answer. */
static int az_wait_for_copy(struct store_az *self, const char *key, const char *status,
			    struct error *err)
{
	char last[32];

	snprintf(last, sizeof(last), "%s", status ? status : "success");
	for (int i = 0; i < AZ_COPY_WAITS && strcmp(last, "pending") == 0; i++) {
		CLEANUP(http_answer_done) struct http_answer answer = {0};
		int r;

		usleep(AZ_COPY_WAIT_US);
		r = az_head_answer(self, key, &answer, err);
		if (r != 0)
			return r < 0 ? r : error_set(err, ERR_NETWORK, "the copy has vanished");
		status = http_header(&answer, "x-ms-copy-status");
		snprintf(last, sizeof(last), "%s", status ? status : "success");
	}
	return strcmp(last, "success") == 0 ? 0
					    : error_set(err, ERR_NETWORK, "the copy is %s", last);
}

static int az_copy(struct store *store, const char *from, const struct version *version,
		   const char *to, struct error *err)
{
	struct store_az *self = az(store);
	CLEANUP(http_lines_free) struct http_lines headers = {0};
	CLEANUP(http_answer_done) struct http_answer answer = {0};
	CLEANUP(freep) char *source = az_url(self, from, NULL, err);
	struct http_request request = {.method = "PUT", .headers = &headers};
	int r;

	if (!source)
		return err ? err->kind : ERR_MEMORY;
	r = http_lines_add(&headers, err, "x-ms-copy-source: %s", source);
	if (r == 0 && version)
		r = http_lines_add(&headers, err, "x-ms-source-if-match: %s", version->text);
	if (r == 0)
		r = az_call(self, to, NULL, &request, &answer, err);
	if (r < 0)
		return r;
	if (answer.attempt.status == 201 || answer.attempt.status == 202)
		return az_wait_for_copy(self, to, http_header(&answer, "x-ms-copy-status"), err);
	if (answer.attempt.status == 412)
		return STORE_CHANGED;
	return az_explain(self, &answer, err);
}

static int az_remove(struct store *store, const char *key, struct error *err)
{
	CLEANUP(http_answer_done) struct http_answer answer = {0};
	struct http_request request = {.method = "DELETE"};
	int r = az_call(az(store), key, NULL, &request, &answer, err);

	if (r < 0 || answer.attempt.status < 300)
		return r;
	r = az_explain(az(store), &answer, err);
	return r < 0 ? r : 0;
}

/* --- listing --- */

struct az_page {
	struct cloud_page *page;
	struct cloud_item next;
	bool complete;
};

static int az_replace_text(char **text, const char *with, struct error *err)
{
	free(*text);
	*text = text_dup(with, err);
	return *text ? 0 : ERR_MEMORY;
}

static int az_page_push(struct az_page *page, bool is_prefix, struct error *err)
{
	struct cloud_item item = page->next;

	item.is_prefix = is_prefix;
	page->next = (struct cloud_item){0};
	return cloud_page_add(page->page, item, err);
}

/* Listings give ETags without the quotes that every other answer has. */
static void az_take_etag(struct cloud_item *item, const char *text)
{
	const char *quote = text[0] == '"' ? "" : "\"";

	snprintf(item->info.version.text, sizeof(item->info.version.text), "%s%.180s%s", quote,
		 text, quote);
}

static int az_page_element(void *argument, const char *path, const char *text, struct error *err)
{
	struct az_page *page = argument;
	struct cloud_item *item = &page->next;
	const char *name = path + strcspn(path, "/");

	if (!text_starts(path, "EnumerationResults"))
		return error_set(err, ERR_FORMAT, "a listing that begins with <%.60s>", path);
	page->complete |= strcmp(path, "EnumerationResults") == 0;
	if (strcmp(name, "/Blobs/Blob/Name") == 0 || strcmp(name, "/Blobs/BlobPrefix/Name") == 0)
		return az_replace_text(&item->key, text, err);
	if (strcmp(name, "/Blobs/Blob/Properties/Content-Length") == 0)
		return cloud_read_size(text, &item->info.size, err);
	if (strcmp(name, "/Blobs/Blob/Properties/Etag") == 0)
		az_take_etag(item, text);
	if (strcmp(name, "/Blobs/Blob/Properties/Last-Modified") == 0)
		item->info.last_modified = http_date_time(text);
	if (strcmp(name, "/Blobs/Blob") == 0)
		return az_page_push(page, false, err);
	if (strcmp(name, "/Blobs/BlobPrefix") == 0)
		return az_page_push(page, true, err);
	if (strcmp(name, "/NextMarker") == 0)
		return az_replace_text(&page->page->token, text, err);
	return 0;
}

int cloud_read_azure(struct cloud_page *page, struct slice body, struct error *err)
{
	/* The byte order mark that Azure puts in front. */
	bool marked = body.size >= 3 && memcmp(body.data, "\xef\xbb\xbf", 3) == 0;
	struct az_page reader = {.page = page};
	int r = xml_parse(slice_sub(body, marked ? 3 : 0, body.size), az_page_element, &reader,
			  err);

	free(reader.next.key);
	if (r == 0 && !reader.complete)
		r = error_set(err, ERR_FORMAT, "a listing that is not one");
	return r < 0 ? error_prefix(err, "the store's answer") : 0;
}

static int az_load_page(struct store *store, const char *prefix, bool delimiter, const char *token,
			struct cloud_page *page, struct error *err)
{
	struct store_az *self = az(store);
	CLEANUP(http_answer_done) struct http_answer answer = {0};
	CLEANUP(buf_done) struct buf query = BUF_INIT(1 << 20);
	struct http_request request = {.method = "GET", .hedge = true, .answer_max = AZ_PAGE_MAX};
	int r;

	r = buf_printf(&query, err,
		       "restype=container&comp=list&maxresults=%u%s&prefix=", self->page,
		       delimiter ? "&delimiter=%2F" : "");
	if (r == 0)
		r = text_percent_encode(slice_text(prefix), "-._~", &query, err);
	if (r == 0 && token)
		r = buf_append_text(&query, "&marker=", err);
	if (r == 0 && token)
		r = text_percent_encode(slice_text(token), "-._~", &query, err);
	if (r < 0 || !buf_text(&query, err))
		return ERR_MEMORY;
	r = az_call(self, NULL, (const char *)query.data, &request, &answer, err);
	if (r < 0)
		return r;
	if (answer.attempt.status == 404)
		return error_set(err, ERR_ABSENT, "there is no container '%s'", self->container);
	if (answer.attempt.status != 200)
		return az_error(&answer, err);
	return cloud_read_azure(page, buf_slice(&answer.attempt.body), err);
}

static int az_list(struct store *store, const char *prefix, bool delimiter, store_list_fn each,
		   void *argument, struct error *err)
{
	return cloud_list(store, az(store)->prefix, az_load_page, prefix, delimiter, each, argument,
			  err);
}

/* --- the store --- */

static void az_free(struct store *store)
{
	struct store_az *self = az(store);

	keyring_free(self->keyring);
	free(self->account);
	free(self->container);
	free(self->prefix);
	free(self->base);
	free(self);
}

static int az_explain_store(struct store *store, struct buf *out, struct error *err)
{
	struct store_az *self = az(store);
	CLEANUP(credentials_unrefp) struct credentials *credentials = NULL;
	CLEANUP(buf_done) struct buf story = BUF_INIT(1 << 20);
	struct error trouble = ERROR_INIT;
	int r = buf_printf(out, err, "account: %s\ncontainer: %s, prefix '%s'\nendpoint: %s\n",
			   self->account, self->container, self->prefix, self->base);

	if (r == 0)
		r = explain_endpoint(self->base, self->site.allow_private, out, err);
	if (r < 0)
		return r;
	if (!self->keyring)
		return buf_printf(out, err, "credentials: none, requests are anonymous\n");
	r = azure_explain(self->account, &story, &credentials, &trouble);
	return explain_credentials(r, buf_slice(&story), credentials,
				   "account key, shared access signature, workload identity, "
				   "managed identity",
				   &trouble, out, err);
}

static const struct store_ops az_ops = {
	.name = "azure",
	.get = az_get,
	.head = az_head,
	.put = az_put,
	.replace = az_replace,
	.copy = az_copy,
	.list = az_list,
	.remove = az_remove,
	.explain = az_explain_store,
	.free = az_free,
};

static char *az_default_account(const struct store_options *options)
{
	static const char *const names[] = {"AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_ACCOUNT_NAME"};

	if (options->account)
		return text_dup(options->account, NULL);
	for (size_t i = 0; i < ARRAY_LEN(names) && !options->no_environment; i++)
		if (credentials_env(names[i]))
			return text_dup(credentials_env(names[i]), NULL);
	return options->no_environment ? NULL : azure_connection_member("AccountName");
}

/*
 * "container/prefix" where the options name the account; else "account/container/prefix", or
 * "container/prefix" where the environment knows an account that is not the first.
 */
static int az_split(struct store_az *self, const char *url, const struct store_options *options,
		    struct error *err)
{
	const char *at = strstr(url, "://") + 3;
	CLEANUP(freep) char *known = az_default_account(options);
	size_t size = strcspn(at, "/");

	if (known && (options->account || strlen(known) != size || strncmp(at, known, size) != 0)) {
		self->account = TAKE(known);
	} else {
		self->account = slice_dup(slice_of(at, size), err);
		at += size + (at[size] == '/');
		size = strcspn(at, "/");
	}
	self->container = slice_dup(slice_of(at, size), err);
	self->prefix = cloud_prefix(at + size, err);
	if (!self->account || !self->container || !self->prefix)
		return ERR_MEMORY;
	if (!self->account[0] || !self->container[0] || strpbrk(self->account, "?#@:%\\ .") ||
	    strpbrk(self->container, "?#@:%\\ "))
		return error_set(err, ERR_ARGUMENT,
				 "'%s' does not name an account and a container "
				 "(az://account/container, or AZURE_STORAGE_ACCOUNT)",
				 url);
	return 0;
}

static char *az_endpoint(const struct store_options *options)
{
	const char *variable =
		options->no_environment ? NULL : credentials_env("AZURE_STORAGE_ENDPOINT");

	if (options->endpoint_url)
		return text_dup(options->endpoint_url, NULL);
	if (variable)
		return text_dup(variable, NULL);
	return options->no_environment ? NULL : azure_connection_member("BlobEndpoint");
}

/* Emulators have the account in the path, Azure in the host name. */
static int az_set_base(struct store_az *self, const struct store_options *options, bool *ret_own,
		       struct error *err)
{
	CLEANUP(freep) char *endpoint = az_endpoint(options);
	CLEANUP(url_done) struct url url = {0};
	size_t size;
	bool in_path;
	int r;

	*ret_own = endpoint != NULL;
	if (!endpoint) {
		self->base = text_printf(err, "https://%s.blob.core.windows.net/%s", self->account,
					 self->container);
		return self->base ? 0 : ERR_MEMORY;
	}
	r = url_parse(endpoint, &url, err);
	if (r < 0)
		return error_prefix(err, "the endpoint");
	for (size = strlen(endpoint); size && endpoint[size - 1] == '/'; size--)
		endpoint[size - 1] = '\0';
	in_path = strcmp(url.target, "/") == 0 &&
		  (address_is_literal(url.host) || !text_starts(url.host, self->account));
	self->base = text_printf(err, "%s%s%s/%s", endpoint, in_path ? "/" : "",
				 in_path ? self->account : "", self->container);
	return self->base ? 0 : ERR_MEMORY;
}

static int az_set_up(struct store_az *self, const char *url, const struct store_options *options,
		     struct error *err)
{
	struct store_options own = *options;
	bool own_endpoint = false;
	int r;

	self->store.url = text_dup(url, err);
	if (!self->store.url)
		return ERR_MEMORY;
	r = az_split(self, url, options, err);
	if (r == 0)
		r = az_set_base(self, options, &own_endpoint, err);
	if (r == 0 && !options->anonymous)
		r = azure_keyring_new(self->account, &self->keyring, err);
	if (r < 0)
		return r;
	own.allow_private |= own_endpoint && !options->endpoint_url && !options->no_environment;
	r = cloud_site("azure", self->base, "", &own, &self->site, err);
	self->site.sign = az_sign;
	self->page = options->page ? options->page : AZ_PAGE;
	self->site.judge = az_judge;
	self->site.trusted_name = !own_endpoint;
	self->site.argument = self;
	return r;
}

int store_azure_new(const char *url, const struct store_options *options, struct store **ret_store,
		    struct error *err)
{
	struct store_az *self = calloc(1, sizeof(*self));
	int r;

	if (!self)
		return error_memory(err);
	self->store.ops = &az_ops;
	r = az_set_up(self, url, options, err);
	if (r < 0) {
		store_free(&self->store);
		return r;
	}
	*ret_store = &self->store;
	return 0;
}
