/* SPDX-License-Identifier: Apache-2.0 */
#include <openssl/evp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/hash.h"
#include "base/pool.h"
#include "base/text.h"
#include "base/time.h"
#include "net/aws.h"
#include "net/http.h"
#include "net/lane.h"
#include "net/sigv4.h"
#include "net/url.h"
#include "net/xml.h"
#include "store/cloud.h"
#include "store/drivers.h"
#include "store/explain.h"

enum {
	S3_PUT_MAX = 16 * 1024 * 1024, /* larger objects go in parts */
	S3_PART = 8 * 1024 * 1024,
	S3_PARTS_MAX = 10000,
	S3_PARTS_AT_ONCE = 4,
	S3_BATCH = 1000, /* keys of one request to delete */
	S3_PAGE_MAX = 16 * 1024 * 1024,
	S3_REGION_MAX = 64,
};

#define S3_KEEP "-._~" /* bytes that S3 keeps when it encodes a key */

struct store_s3 {
	struct store store;
	char *bucket;
	char *prefix;	/* "" or ending in '/' */
	char *endpoint; /* origin and perhaps a path, no final '/'; NULL: Amazon's by region */
	char *profile;	/* that was asked for, NULL */
	const char *endpoint_source, *region_source; /* for people */
	bool path_style;
	bool requester_pays;
	struct keyring *keyring; /* NULL: anonymous */
	struct http_site site;
	pthread_mutex_t lock;	    /* guards the region */
	char region[S3_REGION_MAX]; /* "" while unknown */
	atomic_bool bucket_seen;    /* it exists: a 404 can only mean the key */
};

static struct store_s3 *s3(struct store *store)
{
	return (struct store_s3 *)store;
}

/* --- names --- */

static void s3_get_region(struct store_s3 *self, char region[S3_REGION_MAX])
{
	pthread_mutex_lock(&self->lock);
	snprintf(region, S3_REGION_MAX, "%s", self->region[0] ? self->region : "us-east-1");
	pthread_mutex_unlock(&self->lock);
}

/* "https://bucket.s3.region.amazonaws.com" or "https://host/bucket" */
static int s3_bucket_url(struct store_s3 *self, struct buf *out, struct error *err)
{
	char region[S3_REGION_MAX];
	bool known;

	if (self->endpoint && self->path_style)
		return buf_printf(out, err, "%s/%s", self->endpoint, self->bucket);
	if (self->endpoint) {
		const char *host = strstr(self->endpoint, "://") + 3;

		return buf_printf(out, err, "%.*s%s.%s", (int)(host - self->endpoint),
				  self->endpoint, self->bucket, host);
	}
	pthread_mutex_lock(&self->lock);
	known = self->region[0] != '\0';
	pthread_mutex_unlock(&self->lock);
	s3_get_region(self, region);
	return buf_printf(out, err, "https://%s%ss3%s%s.amazonaws.com%s%s%s",
			  self->path_style ? "" : self->bucket, self->path_style ? "" : ".",
			  known ? "." : "", known ? region : "",
			  text_starts(region, "cn-") ? ".cn" : "", self->path_style ? "/" : "",
			  self->path_style ? self->bucket : "");
}

/* URL of the object @key below the prefix; NULL means the bucket itself.  @query may be NULL. */
static char *s3_url(struct store_s3 *self, const char *key, const char *query, struct error *err)
{
	CLEANUP(buf_done) struct buf url = BUF_INIT(1 << 20);
	int r = s3_bucket_url(self, &url, err);

	if (r == 0)
		r = buf_append_byte(&url, '/', err);
	if (r == 0 && key)
		r = text_percent_encode(slice_text(self->prefix), S3_KEEP "/", &url, err);
	if (r == 0 && key)
		r = text_percent_encode(slice_text(key), S3_KEEP "/", &url, err);
	if (r == 0 && query)
		r = buf_printf(&url, err, "?%s", query);
	return r < 0 ? NULL : slice_dup(buf_slice(&url), err);
}

/* --- signing and judging --- */

static int s3_sign(void *argument, bool renew, const char *method, const char *url,
		   struct slice body, struct http_lines *headers, struct error *err)
{
	struct store_s3 *self = argument;
	CLEANUP(credentials_unrefp) struct credentials *credentials = NULL;
	CLEANUP(url_done) struct url parts = {0};
	CLEANUP(freep) char *origin = NULL;
	char region[S3_REGION_MAX], hash[65];
	size_t path;
	int r;

	r = keyring_get(self->keyring, renew, &credentials, err);
	if (r == CREDENTIALS_NONE)
		return error_set(
			err, ERR_DENIED,
			"no AWS credentials were found (for public buckets use --anonymous)");
	if (r == 0)
		r = url_parse(url, &parts, err);
	if (r == 0)
		r = sigv4_hash(body, hash, err);
	if (r < 0)
		return r;
	origin = url_origin(&parts, err);
	if (!origin)
		return ERR_MEMORY;
	r = http_lines_add(headers, err, "Host: %s", strstr(origin, "://") + 3);
	if (r == 0)
		r = http_lines_add(headers, err, "x-amz-content-sha256: %s", hash);
	if (r == 0 && self->requester_pays)
		r = http_lines_add(headers, err, "x-amz-request-payer: requester");
	if (r < 0)
		return r;
	s3_get_region(self, region);
	path = strcspn(parts.target, "?");
	struct sigv4_key key = {credentials->id, credentials->secret, credentials->token};
	struct sigv4_request request = {
		.method = method,
		.path = slice_of(parts.target, path),
		.query = slice_text(parts.target + path + (parts.target[path] == '?')),
		.body_hash = hash,
		.region = region,
		.service = "s3",
		.time = time_now(),
		.plain_path = true,
	};
	return sigv4_sign(&request, &key, headers, err);
}

static bool s3_is_one_of(const char *code, const char *const *codes)
{
	for (; code && *codes; codes++)
		if (strcmp(code, *codes) == 0)
			return true;
	return false;
}

static char *s3_code(const struct attempt *answer)
{
	return xml_text(buf_slice(&answer->body), "Error/Code");
}

static enum http_verdict s3_judge(void *argument, const struct attempt *answer)
{
	static const char *const expired[] = {"ExpiredToken", "ExpiredTokenException",
					      "TokenRefreshRequired", "InvalidToken", NULL};
	static const char *const slow[] = {"SlowDown",
					   "Throttling",
					   "ThrottlingException",
					   "RequestThrottled",
					   "RequestLimitExceeded",
					   "TooManyRequests",
					   "BandwidthLimitExceeded",
					   NULL};
	static const char *const passing[] = {"InternalError",	    "RequestTimeout",
					      "ServiceUnavailable", "OperationAborted",
					      "BadDigest",	    NULL};
	const struct store_s3 *self = argument;
	CLEANUP(freep) char *code = NULL;

	/* Copies and multipart uploads may say 200 first and fail then. */
	if (answer->status < 300 && (strcmp(answer->method, "GET") == 0 ||
				     strcmp(answer->method, "HEAD") == 0 || !answer->body.size))
		return HTTP_DONE;
	code = s3_code(answer);
	if (s3_is_one_of(code, slow))
		return HTTP_THROTTLED;
	if (s3_is_one_of(code, passing))
		return HTTP_AGAIN;
	/* Refused credentials may just have been replaced; anonymous requests have none. */
	if (self->keyring && (s3_is_one_of(code, expired) || answer->status == 403))
		return HTTP_RENEW;
	return http_judge(answer);
}

/* The error of an answer that nobody expected. */
static int s3_error(const struct http_answer *answer, struct error *err)
{
	CLEANUP(freep) char *code = s3_code(&answer->attempt);
	CLEANUP(freep) char *message = xml_text(buf_slice(&answer->attempt.body), "Error/Message");
	char detail[300];
	int status = answer->attempt.status;

	snprintf(detail, sizeof(detail), "%.100s%s%.180s", code ? code : "",
		 code && message ? ", " : "", message ? message : "");
	if (code && (strcmp(code, "ExpiredToken") == 0 || strcmp(code, "NotImplemented") == 0))
		status = code[0] == 'E' ? 403 : 501;
	return http_status_error(status < 300 ? 500 : status, detail, err);
}

/* Takes over the region that the answer names: true if the request is worth repeating. */
static bool s3_learn_region(struct store_s3 *self, const struct http_answer *answer)
{
	const char *header = http_header(answer, "x-amz-bucket-region");
	CLEANUP(freep) char *element = NULL;
	bool learned;
	int status = answer->attempt.status;

	if (status != 301 && status != 307 && status != 400 && status != 403)
		return false;
	if (!header) {
		element = xml_text(buf_slice(&answer->attempt.body), "Error/Region");
		header = element;
	}
	if (!header || !header[0] || strlen(header) >= S3_REGION_MAX ||
	    header[strspn(header, "abcdefghijklmnopqrstuvwxyz0123456789-")])
		return false;
	pthread_mutex_lock(&self->lock);
	learned = strcmp(self->region, header) != 0;
	if (learned)
		snprintf(self->region, sizeof(self->region), "%s", header);
	pthread_mutex_unlock(&self->lock);
	return learned;
}

struct s3_call {
	const char *method;
	const char *key; /* NULL: the bucket */
	const char *query;
	const struct http_lines *headers;
	struct slice body;
	size_t answer_max;
	uint32_t stall_ms; /* 0: as the store */
};

static int s3_call_once(struct store_s3 *self, const struct s3_call *call,
			struct http_answer *ret_answer, struct error *err)
{
	CLEANUP(freep) char *url = s3_url(self, call->key, call->query, err);
	struct http_site site = self->site;
	struct http_request request = {
		.method = call->method,
		.url = url,
		.headers = call->headers,
		.body = call->body,
		.hedge = strcmp(call->method, "HEAD") == 0,
		.answer_max = call->answer_max,
	};

	if (!url)
		return ERR_MEMORY;
	if (call->stall_ms)
		site.stall_ms = call->stall_ms;
	return http_call(&site, &request, ret_answer, err);
}

static int s3_call(struct store_s3 *self, const struct s3_call *call,
		   struct http_answer *ret_answer, struct error *err)
{
	int r = s3_call_once(self, call, ret_answer, err);

	if (r == 0 && s3_learn_region(self, ret_answer)) {
		http_answer_done(ret_answer);
		r = s3_call_once(self, call, ret_answer, err);
	}
	if (r == 0 && ret_answer->attempt.status < 300)
		self->bucket_seen = true;
	return r;
}

/* --- reading --- */

/* 404 with a body says whether the key or the bucket is not there. */
static int s3_not_found(struct store_s3 *self, const struct http_answer *answer, struct error *err)
{
	CLEANUP(freep) char *code = s3_code(&answer->attempt);

	if (code && strcmp(code, "NoSuchBucket") == 0)
		return error_set(err, ERR_ABSENT, "there is no bucket '%s'", self->bucket);
	if (code && strcmp(code, "NoSuchKey") == 0) {
		self->bucket_seen = true;
		return STORE_ABSENT;
	}
	/* A server that says nothing, or that it has no such thing. */
	if (!code || strcmp(code, "NotFound") == 0 || strcmp(code, "NoSuchVersion") == 0)
		return STORE_ABSENT;
	return s3_error(answer, err);
}

static int s3_explain(void *argument, const struct http_answer *answer, struct error *err)
{
	int status = answer->attempt.status;

	if (status == 404 || status == 410)
		return s3_not_found(argument, answer, err);
	return s3_error(answer, err);
}

static int s3_head(struct store *store, const char *key, struct store_info *ret_info,
		   struct error *err);

struct s3_reader {
	struct store_s3 *self;
	bool again; /* the region was wrong */
};

static int s3_explain_get(void *argument, const struct http_answer *answer, struct error *err)
{
	struct s3_reader *reader = argument;

	if (!reader->again && s3_learn_region(reader->self, answer)) {
		reader->again = true;
		return STORE_CHANGED;
	}
	reader->again = false;
	return s3_explain(reader->self, answer, err);
}

static int s3_get(struct store *store, const char *key, uint64_t offset, uint64_t length,
		  const struct store_condition *condition, struct buf *out,
		  struct store_info *ret_info, struct error *err)
{
	struct store_s3 *self = s3(store);
	struct s3_reader reader = {.self = self};
	const struct cloud_dialect dialect = {.explain = s3_explain_get, .argument = &reader};
	int r;

	if (length == 0)
		return cloud_get_nothing(store, key, offset, condition, ret_info, err);
	do {
		CLEANUP(freep) char *url = s3_url(self, key, NULL, err);

		if (!url)
			return ERR_MEMORY;
		r = cloud_get(&self->site, url, offset, length, condition, out, ret_info, &dialect,
			      err);
	} while (r == STORE_CHANGED && reader.again);
	if (r == 0)
		self->bucket_seen = true;
	return r;
}

/* HEAD has no body to tell a missing key from a missing bucket: asks once more with GET. */
static int s3_head_absent(struct store_s3 *self, const char *key, struct error *err)
{
	CLEANUP(http_answer_done) struct http_answer answer = {0};
	struct s3_call call = {.method = "GET", .key = key, .answer_max = 1};
	int r;

	if (self->bucket_seen)
		return STORE_ABSENT;
	r = s3_call(self, &call, &answer, err);
	if (r == 0 && answer.attempt.status == 404)
		return s3_not_found(self, &answer, err);
	/* It has been made in the meantime, or the question itself failed. */
	return r < 0 ? r : STORE_ABSENT;
}

static int s3_head_answer(struct store_s3 *self, const char *key, struct http_answer *answer,
			  struct error *err)
{
	struct s3_call call = {.method = "HEAD", .key = key};
	int r = s3_call(self, &call, answer, err);

	if (r < 0)
		return r;
	if (answer->attempt.status == 404)
		return s3_head_absent(self, key, err);
	return answer->attempt.status == 200 ? 0 : s3_error(answer, err);
}

static int s3_head(struct store *store, const char *key, struct store_info *ret_info,
		   struct error *err)
{
	CLEANUP(http_answer_done) struct http_answer answer = {0};
	int r = s3_head_answer(s3(store), key, &answer, err);

	if (r != 0)
		return r;
	if (answer.attempt.content_length == UINT64_MAX)
		return error_set(err, ERR_FORMAT, "answer without the object's size");
	cloud_info(&answer, ret_info);
	return 0;
}

/* --- writing --- */

/* A write, and what it demands. */
struct s3_write {
	const char *key;
	struct slice bytes;
	bool conditional;
	const struct version *version; /* NULL: must not exist */
	struct write_id id;
};

static int s3_add_write_condition(const struct s3_write *write, struct http_lines *headers,
				  struct error *err)
{
	struct slice bare;

	if (!write->conditional)
		return 0;
	if (!write->version)
		return http_lines_add(headers, err, "If-None-Match: *");
	bare = cloud_bare_etag(write->version->text);
	return http_lines_add(headers, err, "If-Match: \"%.*s\"", (int)bare.size,
			      (const char *)bare.data);
}

static int s3_add_write_id(const struct s3_write *write, struct http_lines *headers,
			   struct error *err)
{
	if (!write->conditional)
		return 0;
	return http_lines_add(headers, err, "x-amz-meta-icechunk_write_id: %s", write->id.text);
}

/* Is what is there now ours?  Then its ETag is the new version. */
static int s3_read_back(struct store_s3 *self, const struct s3_write *write,
			struct version *ret_version, struct error *err)
{
	CLEANUP(http_answer_done) struct http_answer answer = {0};
	const char *id;
	int r = s3_head_answer(self, write->key, &answer, err);

	if (r == STORE_ABSENT)
		return STORE_CHANGED;
	if (r < 0)
		return error_prefix(err, "reading back after a conflict");
	id = http_header(&answer, "x-amz-meta-icechunk_write_id");
	if (!id || strcmp(id, write->id.text) != 0)
		return STORE_CHANGED;
	return ret_version ? cloud_take_version(&answer, ret_version, err) : 0;
}

/* What the answer to a write means: 0, STORE_CHANGED or an error. */
static int s3_write_answer(struct store_s3 *self, const struct s3_write *write,
			   const struct http_answer *answer, struct version *ret_version,
			   struct error *err)
{
	CLEANUP(freep) char *code = NULL;
	int status = answer->attempt.status;

	code = s3_code(&answer->attempt);
	if (status < 300 && !code)
		return ret_version ? cloud_take_version(answer, ret_version, err) : 0;
	if (status == 404 && code && strcmp(code, "NoSuchBucket") == 0)
		return error_set(err, ERR_ABSENT, "there is no bucket '%s'", self->bucket);
	if (write->conditional && (status == 412 || status == 409 || status == 404 ||
				   (code && (strcmp(code, "PreconditionFailed") == 0 ||
					     strcmp(code, "ConditionalRequestConflict") == 0 ||
					     strcmp(code, "ConcurrentModification") == 0))))
		return s3_read_back(self, write, ret_version, err);
	return s3_error(answer, err);
}

/* After an error nobody knows whether the write arrived; only our own name proves it. */
static int s3_rescue(struct store_s3 *self, const struct s3_write *write, int failed,
		     struct version *ret_version, struct error *err)
{
	struct error ignored = ERROR_INIT;

	if (!write->conditional || !http_is_unanswered(failed))
		return failed;
	if (s3_read_back(self, write, ret_version, &ignored) == 0)
		return 0;
	return err ? err->kind : failed;
}

static int s3_put_single(struct store_s3 *self, const struct s3_write *write,
			 struct version *ret_version, struct error *err)
{
	CLEANUP(http_lines_free) struct http_lines headers = {0};
	CLEANUP(http_answer_done) struct http_answer answer = {0};
	struct s3_call call = {
		.method = "PUT",
		.key = write->key,
		.headers = &headers,
		.body = write->bytes,
	};
	int r;

	r = s3_add_write_condition(write, &headers, err);
	if (r == 0)
		r = s3_add_write_id(write, &headers, err);
	if (r == 0)
		r = s3_call(self, &call, &answer, err);
	if (r < 0)
		return s3_rescue(self, write, r, ret_version, err);
	return s3_write_answer(self, write, &answer, ret_version, err);
}

struct s3_upload {
	struct store_s3 *self;
	const struct s3_write *write;
	char *id; /* percent-encoded */
	size_t part;
	size_t n;
	struct version *etags;
};

static void s3_upload_done(struct s3_upload *upload)
{
	free(upload->id);
	free(upload->etags);
}

static int s3_start_upload(struct s3_upload *upload, struct error *err)
{
	CLEANUP(http_lines_free) struct http_lines headers = {0};
	CLEANUP(http_answer_done) struct http_answer answer = {0};
	CLEANUP(buf_done) struct buf encoded = BUF_INIT(1 << 16);
	CLEANUP(freep) char *id = NULL;
	struct s3_call call = {
		.method = "POST",
		.key = upload->write->key,
		.query = "uploads=",
		.headers = &headers,
	};
	int r;

	r = s3_add_write_id(upload->write, &headers, err);
	if (r == 0)
		r = s3_call(upload->self, &call, &answer, err);
	if (r < 0)
		return r;
	if (answer.attempt.status != 200)
		return s3_write_answer(upload->self, &(struct s3_write){0}, &answer, NULL, err);
	id = xml_text(buf_slice(&answer.attempt.body), "InitiateMultipartUploadResult/UploadId");
	if (!id || !id[0])
		return error_set(err, ERR_FORMAT, "answer without an upload id");
	r = text_percent_encode(slice_text(id), S3_KEEP, &encoded, err);
	if (r == 0)
		upload->id = slice_dup(buf_slice(&encoded), err);
	return upload->id ? 0 : ERR_MEMORY;
}

static int s3_send_part(void *argument, size_t i, struct error *err)
{
	struct s3_upload *upload = argument;
	CLEANUP(http_answer_done) struct http_answer answer = {0};
	CLEANUP(freep)
	char *query = text_printf(err, "partNumber=%zu&uploadId=%s", i + 1, upload->id);
	struct s3_call call = {
		.method = "PUT",
		.key = upload->write->key,
		.query = query,
		.body = slice_sub(upload->write->bytes, i * upload->part, upload->part),
	};
	int r;

	if (!query)
		return ERR_MEMORY;
	r = s3_call(upload->self, &call, &answer, err);
	if (r < 0)
		return r;
	if (answer.attempt.status != 200)
		return s3_error(&answer, err);
	return cloud_take_version(&answer, &upload->etags[i], err);
}

static void s3_abort_upload(struct s3_upload *upload)
{
	CLEANUP(http_answer_done) struct http_answer answer = {0};
	struct error ignored = ERROR_INIT;
	CLEANUP(freep) char *query = text_printf(&ignored, "uploadId=%s", upload->id);
	struct s3_call call = {
		.method = "DELETE",
		.key = upload->write->key,
		.query = query,
	};

	if (query)
		s3_call(upload->self, &call, &answer, &ignored);
}

static int s3_complete_body(const struct s3_upload *upload, struct buf *body, struct error *err)
{
	int r = buf_append_text(body, "<CompleteMultipartUpload>", err);

	for (size_t i = 0; i < upload->n && r == 0; i++) {
		r = buf_printf(body, err, "<Part><PartNumber>%zu</PartNumber><ETag>", i + 1);
		if (r == 0)
			r = xml_escape(slice_text(upload->etags[i].text), body, err);
		if (r == 0)
			r = buf_append_text(body, "</ETag></Part>", err);
	}
	return r < 0 ? r : buf_append_text(body, "</CompleteMultipartUpload>", err);
}

static int s3_complete_upload(struct s3_upload *upload, struct version *ret_version,
			      struct error *err)
{
	CLEANUP(http_lines_free) struct http_lines headers = {0};
	CLEANUP(http_answer_done) struct http_answer answer = {0};
	CLEANUP(buf_done) struct buf body = BUF_INIT(1 << 22);
	CLEANUP(freep) char *query = text_printf(err, "uploadId=%s", upload->id);
	struct s3_call call = {
		.method = "POST",
		.key = upload->write->key,
		.query = query,
		.headers = &headers,
		/* Putting the parts together may take minutes without a byte. */
		.stall_ms = 10 * 60 * 1000,
	};
	char *etag;
	int r;

	if (!query)
		return ERR_MEMORY;
	r = s3_complete_body(upload, &body, err);
	if (r == 0)
		r = s3_add_write_condition(upload->write, &headers, err);
	if (r < 0)
		return r;
	call.body = buf_slice(&body);
	r = s3_call(upload->self, &call, &answer, err);
	if (r < 0)
		return s3_rescue(upload->self, upload->write, r, ret_version, err);
	r = s3_write_answer(upload->self, upload->write, &answer, NULL, err);
	if (r != 0 || !ret_version)
		return r;
	etag = xml_text(buf_slice(&answer.attempt.body), "CompleteMultipartUploadResult/ETag");
	/* Read back as ours: the answer itself is about a conflict. */
	if (!etag)
		return s3_read_back(upload->self, upload->write, ret_version, err);
	snprintf(ret_version->text, sizeof(ret_version->text), "%s", etag);
	free(etag);
	return 0;
}

static int s3_put_parts(struct store_s3 *self, const struct s3_write *write,
			struct version *ret_version, struct error *err)
{
	CLEANUP(s3_upload_done) struct s3_upload upload = {.self = self, .write = write};
	int r;

	upload.part = S3_PART;
	while (write->bytes.size / upload.part >= S3_PARTS_MAX)
		upload.part *= 2;
	upload.n = (write->bytes.size + upload.part - 1) / upload.part;
	upload.etags = calloc(upload.n, sizeof(upload.etags[0]));
	if (!upload.etags)
		return error_memory(err);
	r = s3_start_upload(&upload, err);
	if (r < 0)
		return r;
	r = parallel_for(S3_PARTS_AT_ONCE, upload.n, s3_send_part, &upload, err);
	if (r == 0)
		r = s3_complete_upload(&upload, ret_version, err);
	if (r != 0)
		s3_abort_upload(&upload);
	return r;
}

static int s3_write(struct store_s3 *self, struct s3_write *write, struct version *ret_version,
		    struct error *err)
{
	int r = 0;

	if (write->conditional)
		r = write_id_new(&write->id, err);
	if (r < 0)
		return r;
	if (write->bytes.size > S3_PUT_MAX)
		return s3_put_parts(self, write, ret_version, err);
	return s3_put_single(self, write, ret_version, err);
}

static int s3_put(struct store *store, const char *key, struct slice bytes, struct error *err)
{
	struct s3_write write = {.key = key, .bytes = bytes};

	return s3_write(s3(store), &write, NULL, err);
}

static int s3_replace(struct store *store, const char *key, const struct version *version,
		      struct slice bytes, struct version *ret_version, struct error *err)
{
	struct s3_write write = {
		.key = key, .bytes = bytes, .conditional = true, .version = version};

	return s3_write(s3(store), &write, ret_version, err);
}

static int s3_copy_headers(struct store_s3 *self, const char *from, const struct version *version,
			   struct http_lines *headers, struct error *err)
{
	CLEANUP(buf_done) struct buf source = BUF_INIT(1 << 16);
	struct slice bare;
	int r;

	r = buf_printf(&source, err, "%s/", self->bucket);
	if (r == 0)
		r = text_percent_encode(slice_text(self->prefix), S3_KEEP "/", &source, err);
	if (r == 0)
		r = text_percent_encode(slice_text(from), S3_KEEP "/", &source, err);
	if (r == 0)
		r = http_lines_add(headers, err, "x-amz-copy-source: %.*s", (int)source.size,
				   (const char *)source.data);
	if (r == 0 && version) {
		bare = cloud_bare_etag(version->text);
		r = http_lines_add(headers, err, "x-amz-copy-source-if-match: %.*s", (int)bare.size,
				   (const char *)bare.data);
	}
	return r;
}

static int s3_copy(struct store *store, const char *from, const struct version *version,
		   const char *to, struct error *err)
{
	CLEANUP(http_lines_free) struct http_lines headers = {0};
	CLEANUP(http_answer_done) struct http_answer answer = {0};
	struct s3_call call = {
		.method = "PUT",
		.key = to,
		.headers = &headers,
		.stall_ms = 10 * 60 * 1000,
	};
	CLEANUP(freep) char *code = NULL;
	int r;

	r = s3_copy_headers(s3(store), from, version, &headers, err);
	if (r == 0)
		r = s3_call(s3(store), &call, &answer, err);
	if (r < 0)
		return r;
	code = s3_code(&answer.attempt);
	if (answer.attempt.status == 200 && !code)
		return 0;
	if (answer.attempt.status == 412 || (code && strcmp(code, "PreconditionFailed") == 0))
		return STORE_CHANGED;
	return s3_explain(s3(store), &answer, err);
}

static int s3_remove(struct store *store, const char *key, struct error *err)
{
	CLEANUP(http_answer_done) struct http_answer answer = {0};
	struct s3_call call = {.method = "DELETE", .key = key};
	int r;

	r = s3_call(s3(store), &call, &answer, err);
	if (r < 0)
		return r;
	if (answer.attempt.status < 300)
		return 0;
	r = s3_explain(s3(store), &answer, err);
	return r < 0 ? r : 0;
}

/* --- deleting many --- */

static int s3_batch_body(struct store_s3 *self, const char *const *keys, size_t n, struct buf *body,
			 struct error *err)
{
	int r = buf_append_text(body, "<Delete><Quiet>true</Quiet>", err);

	for (size_t i = 0; i < n && r == 0; i++) {
		r = buf_append_text(body, "<Object><Key>", err);
		if (r == 0)
			r = xml_escape(slice_text(self->prefix), body, err);
		if (r == 0)
			r = xml_escape(slice_text(keys[i]), body, err);
		if (r == 0)
			r = buf_append_text(body, "</Key></Object>", err);
	}
	return r < 0 ? r : buf_append_text(body, "</Delete>", err);
}

/* The one request for which S3 wants a checksum of the body. */
static int s3_add_md5(struct slice body, struct http_lines *headers, struct error *err)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT(64);
	uint8_t digest[EVP_MAX_MD_SIZE];
	unsigned int size;
	int r;

	if (!EVP_Digest(body.data, body.size, digest, &size, EVP_md5(), NULL))
		return error_set(err, ERR_UNSUPPORTED, "MD5 is not available");
	r = base64_encode(slice_of(digest, size), &text, err);
	if (r < 0)
		return r;
	return http_lines_add(headers, err, "Content-MD5: %.*s", (int)text.size,
			      (const char *)text.data);
}

static int s3_remove_batch(struct store_s3 *self, const char *const *keys, size_t n,
			   struct error *err)
{
	CLEANUP(http_lines_free) struct http_lines headers = {0};
	CLEANUP(http_answer_done) struct http_answer answer = {0};
	CLEANUP(buf_done) struct buf body = BUF_INIT(64 << 20);
	CLEANUP(freep) char *code = NULL;
	CLEANUP(freep) char *key = NULL;
	struct s3_call call = {.method = "POST", .query = "delete=", .headers = &headers};
	int r;

	r = s3_batch_body(self, keys, n, &body, err);
	if (r == 0)
		r = s3_add_md5(buf_slice(&body), &headers, err);
	if (r < 0)
		return r;
	call.body = buf_slice(&body);
	r = s3_call(self, &call, &answer, err);
	if (r < 0)
		return r;
	if (answer.attempt.status != 200)
		return s3_explain(self, &answer, err) < 0 ? err->kind : 0;
	code = xml_text(buf_slice(&answer.attempt.body), "DeleteResult/Error/Code");
	key = xml_text(buf_slice(&answer.attempt.body), "DeleteResult/Error/Key");
	if (!code || strcmp(code, "NoSuchKey") == 0)
		return 0;
	return error_set(err, strcmp(code, "AccessDenied") == 0 ? ERR_DENIED : ERR_NETWORK,
			 "'%s' was not deleted: %s", key ? key : "", code);
}

static int s3_remove_many(struct store *store, const char *const *keys, size_t n, struct error *err)
{
	for (size_t i = 0; i < n; i += S3_BATCH) {
		size_t count = n - i < S3_BATCH ? n - i : S3_BATCH;
		int r = s3_remove_batch(s3(store), keys + i, count, err);

		/* Names that XML cannot hold, and servers without this request: one by one. */
		for (size_t j = 0; j < count && (r == ERR_ARGUMENT || r == ERR_UNSUPPORTED); j++)
			if (s3_remove(store, keys[i + j], err) < 0)
				return err->kind;
		if (r < 0 && r != ERR_ARGUMENT && r != ERR_UNSUPPORTED)
			return r;
	}
	return 0;
}

/* --- listing --- */

struct s3_page {
	struct cloud_page *page;
	struct cloud_item next; /* being read */
	bool encoded, truncated, complete;
};

static int s3_replace_text(char **text, const char *with, struct error *err)
{
	free(*text);
	*text = text_dup(with, err);
	return *text ? 0 : ERR_MEMORY;
}

static int s3_page_push(struct s3_page *page, bool is_prefix, struct error *err)
{
	struct cloud_item item = page->next;

	item.is_prefix = is_prefix;
	page->next = (struct cloud_item){0};
	return cloud_page_add(page->page, item, err);
}

static int s3_page_element(void *argument, const char *path, const char *text, struct error *err)
{
	struct s3_page *page = argument;
	struct store_info *info = &page->next.info;
	const char *name = path + strcspn(path, "/");

	if (!text_starts(path, "ListBucketResult"))
		return error_set(err, ERR_FORMAT, "a listing that begins with <%.60s>", path);
	page->complete |= strcmp(path, "ListBucketResult") == 0;
	if (strcmp(name, "/Contents/Key") == 0 || strcmp(name, "/CommonPrefixes/Prefix") == 0)
		return s3_replace_text(&page->next.key, text, err);
	if (strcmp(name, "/Contents/Size") == 0)
		return cloud_read_size(text, &info->size, err);
	if (strcmp(name, "/Contents/ETag") == 0)
		snprintf(info->version.text, sizeof(info->version.text), "%s", text);
	if (strcmp(name, "/Contents/LastModified") == 0)
		return cloud_read_time(text, &info->last_modified, err);
	if (strcmp(name, "/Contents") == 0)
		return s3_page_push(page, false, err);
	if (strcmp(name, "/CommonPrefixes") == 0)
		return s3_page_push(page, true, err);
	if (strcmp(name, "/EncodingType") == 0)
		page->encoded = strcasecmp(text, "url") == 0;
	if (strcmp(name, "/IsTruncated") == 0)
		page->truncated = strcasecmp(text, "true") == 0;
	if (strcmp(name, "/NextContinuationToken") == 0)
		return s3_replace_text(&page->page->token, text, err);
	return 0;
}

/* S3 writes a blank as '+' in the "url" encoding. */
static int s3_decode_key(char **key, struct error *err)
{
	CLEANUP(buf_done) struct buf plain = BUF_INIT(1 << 16);
	int r;

	for (char *c = *key; *c; c++)
		if (*c == '+')
			*c = ' ';
	r = text_percent_decode(slice_text(*key), &plain, NULL);
	if (r < 0 || (plain.size && memchr(plain.data, '\0', plain.size)))
		return error_set(err, ERR_FORMAT, "a listing with the key '%.200s'", *key);
	if (!buf_text(&plain, err))
		return ERR_MEMORY;
	return s3_replace_text(key, (const char *)plain.data, err);
}

int cloud_read_s3(struct cloud_page *page, struct slice body, struct error *err)
{
	struct s3_page reader = {.page = page};
	int r = xml_parse(body, s3_page_element, &reader, err);

	free(reader.next.key);
	if (r == 0 && !reader.complete)
		r = error_set(err, ERR_FORMAT, "a listing that is not one");
	if (r == 0 && reader.truncated && (!page->token || !page->token[0]))
		r = error_set(err, ERR_FORMAT, "a listing that goes on but does not say where");
	for (size_t i = 0; reader.encoded && i < page->items.n && r == 0; i++)
		r = s3_decode_key(&page->items.items[i].key, err);
	if (r == 0 && !reader.truncated) {
		free(page->token);
		page->token = NULL;
	}
	return r < 0 ? error_prefix(err, "the store's answer") : 0;
}

static char *s3_list_query(const char *prefix, bool delimiter, const char *token, struct error *err)
{
	CLEANUP(buf_done) struct buf query = BUF_INIT(1 << 17);
	int r = 0;

	if (token) {
		r = buf_append_text(&query, "continuation-token=", err);
		if (r == 0)
			r = text_percent_encode(slice_text(token), S3_KEEP, &query, err);
		if (r == 0)
			r = buf_append_byte(&query, '&', err);
	}
	if (r == 0)
		r = buf_printf(&query, err, "%sencoding-type=url&list-type=2&prefix=",
			       delimiter ? "delimiter=%2F&" : "");
	if (r == 0)
		r = text_percent_encode(slice_text(prefix), S3_KEEP, &query, err);
	return r < 0 ? NULL : slice_dup(buf_slice(&query), err);
}

static int s3_load_page(struct store *store, const char *prefix, bool delimiter, const char *token,
			struct cloud_page *page, struct error *err)
{
	struct store_s3 *self = s3(store);
	CLEANUP(http_answer_done) struct http_answer answer = {0};
	CLEANUP(freep) char *query = s3_list_query(prefix, delimiter, token, err);
	struct s3_call call = {.method = "GET", .query = query, .answer_max = S3_PAGE_MAX};
	int r;

	if (!query)
		return ERR_MEMORY;
	r = s3_call(self, &call, &answer, err);
	if (r < 0)
		return r;
	if (answer.attempt.status == 404)
		return error_set(err, ERR_ABSENT, "there is no bucket '%s'", self->bucket);
	if (answer.attempt.status != 200)
		return s3_error(&answer, err);
	return cloud_read_s3(page, buf_slice(&answer.attempt.body), err);
}

static int s3_list(struct store *store, const char *prefix, bool delimiter, store_list_fn each,
		   void *argument, struct error *err)
{
	return cloud_list(store, s3(store)->prefix, s3_load_page, prefix, delimiter, each, argument,
			  err);
}

/* --- the store --- */

static void s3_free(struct store *store)
{
	struct store_s3 *self = s3(store);

	keyring_free(self->keyring);
	pthread_mutex_destroy(&self->lock);
	free(self->bucket);
	free(self->prefix);
	free(self->endpoint);
	free(self->profile);
	free(self);
}

static int s3_explain_credentials(struct store_s3 *self, struct buf *out, struct error *err)
{
	struct aws_options aws = {.profile = self->profile};
	CLEANUP(credentials_unrefp) struct credentials *credentials = NULL;
	CLEANUP(buf_done) struct buf story = BUF_INIT(1 << 20);
	struct error trouble = ERROR_INIT;
	int r;

	if (!self->keyring)
		return buf_printf(out, err, "credentials: none, requests are anonymous\n");
	r = aws_explain(&aws, &story, &credentials, &trouble);
	return explain_credentials(
		r, buf_slice(&story), credentials,
		"environment, web identity, profile, container, instance metadata", &trouble, out,
		err);
}

static int s3_explain_store(struct store *store, struct buf *out, struct error *err)
{
	struct store_s3 *self = s3(store);
	CLEANUP(freep) char *url = s3_url(self, NULL, NULL, err);
	int r;

	if (!url)
		return ERR_MEMORY;
	r = buf_printf(out, err, "bucket: %s, prefix '%s'\nendpoint: %s (from %s)\n", self->bucket,
		       self->prefix, url,
		       self->endpoint ? self->endpoint_source : "Amazon's names");
	if (r == 0)
		r = buf_printf(out, err, "bucket in the: %s\n",
			       self->path_style ? "path" : "host name");
	if (r == 0 && self->region[0])
		r = buf_printf(out, err, "region: %s (from %s)\n", self->region,
			       self->region_source);
	else if (r == 0)
		r = buf_printf(out, err,
			       "region: not said; us-east-1 until the bucket names its own\n");
	if (r == 0)
		r = explain_endpoint(url, self->site.allow_private, out, err);
	return r < 0 ? r : s3_explain_credentials(self, out, err);
}

static const struct store_ops s3_ops = {
	.name = "s3",
	.get = s3_get,
	.head = s3_head,
	.put = s3_put,
	.replace = s3_replace,
	.copy = s3_copy,
	.list = s3_list,
	.remove = s3_remove,
	.remove_many = s3_remove_many,
	.explain = s3_explain_store,
	.free = s3_free,
};

/* Where and as whom; the environment counts only for the user's own store. */
static int s3_configure(struct store_s3 *self, const struct store_options *options,
			struct error *err)
{
	struct aws_options aws = {.profile = options->profile, .region = options->region};
	CLEANUP(freep) char *region = NULL;
	int r = 0;

	self->endpoint_source = self->region_source = "the option";
	if (options->endpoint_url)
		self->endpoint = text_dup(options->endpoint_url, err);
	else if (!options->no_environment)
		self->endpoint = aws_endpoint(&aws, &self->endpoint_source);
	if (options->profile)
		self->profile = text_dup(options->profile, err);
	/* Tigris is a store of its own that speaks the protocol. */
	if (!self->endpoint && text_starts(self->store.url, "tigris://")) {
		self->endpoint = text_dup("https://t3.storage.dev", err);
		self->endpoint_source = "the scheme";
	}
	if ((options->endpoint_url && !self->endpoint) || (options->profile && !self->profile))
		return ERR_MEMORY;
	region = options->no_environment ? (options->region ? text_dup(options->region, err) : NULL)
					 : aws_region(&aws, &self->region_source);
	snprintf(self->region, sizeof(self->region), "%s", region ? region : "");
	if (!options->anonymous)
		r = aws_keyring_new(&aws, &self->keyring, err);
	return r;
}

static int s3_check_endpoint(struct store_s3 *self, const struct store_options *options,
			     struct error *err)
{
	CLEANUP(url_done) struct url url = {0};
	size_t size;
	int r;

	/* TLS covers one label below the host name, so a bucket with dots goes into the path. */
	self->path_style = options->path_style || strchr(self->bucket, '.') != NULL;
	if (!self->endpoint)
		return 0;
	r = url_parse(self->endpoint, &url, err);
	if (r < 0)
		return error_prefix(err, "the endpoint");
	for (size = strlen(self->endpoint); self->endpoint[size - 1] == '/'; size--)
		self->endpoint[size - 1] = '\0';
	self->path_style |= !text_ends(url.host, ".amazonaws.com");
	return 0;
}

static int s3_set_up(struct store_s3 *self, const char *url, const struct store_options *options,
		     struct error *err)
{
	const char *bucket = strstr(url, "://") + 3;
	size_t size = strcspn(bucket, "/");
	struct store_options own = *options;
	int r;

	if (size == 0 || strcspn(bucket, "?#@:%\\ ") < size)
		return error_set(err, ERR_ARGUMENT, "'%s' names no bucket", url);
	self->store.url = text_dup(url, err);
	self->bucket = slice_dup(slice_of(bucket, size), err);
	self->prefix = cloud_prefix(bucket + size, err);
	if (!self->store.url || !self->bucket || !self->prefix)
		return ERR_MEMORY;
	r = s3_configure(self, options, err);
	if (r == 0)
		r = s3_check_endpoint(self, options, err);
	if (r < 0)
		return r;
	self->requester_pays = options->requester_pays;
	/* An endpoint of the environment is the user's word; one of the options may not be. */
	own.allow_private |= self->endpoint && !options->endpoint_url && !options->no_environment;
	r = cloud_site("s3", self->endpoint ? self->endpoint : "", self->bucket, &own, &self->site,
		       err);
	self->site.sign = self->keyring ? s3_sign : NULL;
	self->site.judge = s3_judge;
	self->site.trusted_name = !self->endpoint;
	self->site.argument = self;
	return r;
}

int store_s3_new(const char *url, const struct store_options *options, struct store **ret_store,
		 struct error *err)
{
	struct store_s3 *self = calloc(1, sizeof(*self));
	int r;

	if (!self)
		return error_memory(err);
	self->store.ops = &s3_ops;
	pthread_mutex_init(&self->lock, NULL);
	r = s3_set_up(self, url, options, err);
	if (r < 0) {
		store_free(&self->store);
		return r;
	}
	*ret_store = &self->store;
	return 0;
}
