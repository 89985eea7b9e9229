/* SPDX-License-Identifier: Apache-2.0 */
#include "net/oauth.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdlib.h>
#include <strings.h>

#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "base/time.h"
#include "net/http.h"
#include "net/lane.h"

enum {
	OAUTH_MS = 30000,
	OAUTH_MACHINE_MS = 4000,
	OAUTH_CONNECT_MS = 1000,
	OAUTH_MACHINE_TRIES = 3,
	OAUTH_ANSWER_MAX = 1 << 20,
};

int oauth_form_add(struct buf *form, const char *name, const char *value, struct error *err)
{
	int r = buf_printf(form, err, "%s%s=", form->size ? "&" : "", name);

	return r < 0 ? r : text_percent_encode(slice_text(value), "-._~", form, err);
}

/* "expires_in" is a number, or a text with one (Azure's metadata service). */
static int oauth_expiry(struct slice body, int64_t *ret_expires, struct error *err)
{
	CLEANUP(freep) char *text = credentials_json_text(body, "expires_in");
	struct json root, value;
	uint64_t seconds = 0;
	int r;

	*ret_expires = INT64_MAX;
	if (json_parse(body, &root, err) < 0)
		return ERR_FORMAT;
	if (json_get(&root, "expires_in", &value) != 0)
		return 0;
	r = text ? text_u64(slice_text(text), &seconds, err) : json_u64(&value, &seconds, err);
	if (r < 0 || seconds > 1000000000)
		return error_set(err, ERR_FORMAT, "a token with an expiry that is no number");
	*ret_expires = time_now() + (int64_t)seconds * TIME_SECOND;
	return 0;
}

static int oauth_read_answer(const struct oauth_request *request, const struct http_answer *answer,
			     struct credentials **ret_credentials, struct error *err)
{
	struct slice body = buf_slice(&answer->attempt.body);
	CLEANUP(freep) char *token = credentials_json_text(body, "access_token");
	CLEANUP(freep) char *trouble = credentials_json_text(body, "error");
	int64_t expires;
	int r;

	if (answer->attempt.status != 200)
		return http_status_error(
			answer->attempt.status == 400 ? 403 : answer->attempt.status, trouble, err);
	if (!token || !token[0])
		return error_set(err, ERR_FORMAT, "an answer without a token");
	r = oauth_expiry(body, &expires, err);
	if (r < 0)
		return r;
	return credentials_new(NULL, NULL, token, expires, request->source, ret_credentials, err);
}

static bool oauth_is_the_service(const struct oauth_request *request,
				 const struct http_answer *answer)
{
	const char *colon = request->must_have ? strchr(request->must_have, ':') : NULL;
	char name[64];
	const char *value;

	if (!colon)
		return true;
	snprintf(name, sizeof(name), "%.*s", (int)(colon - request->must_have), request->must_have);
	value = http_header(answer, name);
	return value && strcmp(value, colon + 2) == 0;
}

int oauth_ask(const struct oauth_request *request, struct credentials **ret_credentials,
	      struct error *err)
{
	CLEANUP(http_answer_done) struct http_answer answer = {0};
	CLEANUP(http_lines_free) struct http_lines headers = {0};
	struct http_site site = {
		.lane = lane_get(request->machine ? "metadata service" : "token service", err),
		.allow_private = request->machine || request->allow_private,
		.direct = request->machine,
		.trusted_name = true,
		.timeout_ms = request->machine ? OAUTH_MACHINE_MS : OAUTH_MS,
		.connect_ms = request->machine ? OAUTH_CONNECT_MS : 0,
		.tries = request->machine ? OAUTH_MACHINE_TRIES : 0,
	};
	struct http_request http = {
		.method = request->form.size ? "POST" : "GET",
		.url = request->url,
		.headers = &headers,
		.body = request->form,
		.answer_max = OAUTH_ANSWER_MAX,
	};
	int r = site.lane ? 0 : ERR_MEMORY;

	for (size_t i = 0; request->headers && i < request->headers->n && r == 0; i++)
		r = http_lines_add(&headers, err, "%s", request->headers->items[i]);
	if (r == 0 && request->form.size)
		r = http_lines_add(&headers, err,
				   "Content-Type: application/x-www-form-urlencoded");
	if (r == 0)
		r = http_call(&site, &http, &answer, err);
	if (request->machine && http_is_unanswered(r))
		return CREDENTIALS_NONE;
	if (r < 0)
		return error_prefix(err, "%s", request->source);
	if (request->machine &&
	    (answer.attempt.status == 404 || !oauth_is_the_service(request, &answer)))
		return CREDENTIALS_NONE;
	r = oauth_read_answer(request, &answer, ret_credentials, err);
	return r < 0 ? error_prefix(err, "%s", request->source) : 0;
}

/* Base64 with the letters of URLs and no padding (RFC 7515, section 2). */
static int base64url(struct slice bytes, struct buf *out, struct error *err)
{
	size_t start = out->size;
	int r = base64_encode(bytes, out, err);

	if (r < 0)
		return r;
	for (size_t i = start; i < out->size; i++) {
		if (out->data[i] == '+')
			out->data[i] = '-';
		else if (out->data[i] == '/')
			out->data[i] = '_';
	}
	while (out->size > start && out->data[out->size - 1] == '=')
		out->size--;
	return 0;
}

static int rsa_sign(const char *pem, struct slice text, struct buf *signature, struct error *err)
{
	BIO *bio = BIO_new_mem_buf(pem, -1);
	EVP_PKEY *key = bio ? PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL) : NULL;
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	uint8_t *bytes;
	size_t size = 0;
	int r;

	if (!key || EVP_PKEY_get_base_id(key) != EVP_PKEY_RSA || !context ||
	    EVP_DigestSignInit(context, NULL, EVP_sha256(), NULL, key) != 1 ||
	    EVP_DigestSign(context, NULL, &size, text.data, text.size) != 1)
		r = error_set(err, ERR_DENIED, "the private key is not usable");
	else
		r = buf_extend(signature, size, &bytes, err);
	if (r == 0 && EVP_DigestSign(context, bytes, &size, text.data, text.size) != 1)
		r = error_set(err, ERR_DENIED, "the private key does not sign");
	EVP_MD_CTX_free(context);
	EVP_PKEY_free(key);
	BIO_free(bio);
	return r;
}

int oauth_jwt(const char *header, const char *claims, const char *pem, struct buf *out,
	      struct error *err)
{
	CLEANUP(buf_done) struct buf signature = BUF_INIT(1 << 16);
	size_t start = out->size;
	int r;

	r = base64url(slice_text(header), out, err);
	if (r == 0)
		r = buf_append_byte(out, '.', err);
	if (r == 0)
		r = base64url(slice_text(claims), out, err);
	if (r == 0)
		r = rsa_sign(pem, slice_of(out->data + start, out->size - start), &signature, err);
	if (r == 0)
		r = buf_append_byte(out, '.', err);
	return r < 0 ? r : base64url(buf_slice(&signature), out, err);
}
