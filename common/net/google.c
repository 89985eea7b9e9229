/* SPDX-License-Identifier: Apache-2.0 */
#include "net/google.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "base/time.h"
#include "net/oauth.h"

#define GOOGLE_SCOPE "https://www.googleapis.com/auth/devstorage.read_write"
#define GOOGLE_TOKEN_URL "https://oauth2.googleapis.com/token"
#define GOOGLE_TOKEN_LIFE (3600 * TIME_SECOND)

/* Tests point it at a server of their own; the key file of a service account names its own. */
static const char *google_token_url(const char *own)
{
	return own ? own : GOOGLE_TOKEN_URL;
}

static int google_claims(struct slice document, const char *audience, struct buf *out,
			 struct error *err)
{
	CLEANUP(freep) char *email = credentials_json_text(document, "client_email");
	int64_t now = time_now() / TIME_SECOND;
	int r;

	if (!email)
		return error_set(err, ERR_DENIED, "the service account's file has no client_email");
	r = buf_append_text(out, "{\"iss\":", err);
	if (r == 0)
		r = json_write_text(out, slice_text(email), err);
	if (r == 0)
		r = buf_append_text(out, ",\"scope\":\"" GOOGLE_SCOPE "\",\"aud\":", err);
	if (r == 0)
		r = json_write_text(out, slice_text(audience), err);
	if (r == 0)
		r = buf_printf(out, err, ",\"iat\":%" PRId64 ",\"exp\":%" PRId64 "}", now,
			       now + GOOGLE_TOKEN_LIFE / TIME_SECOND);
	return r < 0 || buf_text(out, err) ? r : ERR_MEMORY;
}

static int google_from_service_account(struct slice document, struct credentials **ret_credentials,
				       struct error *err)
{
	CLEANUP(freep) char *pem = credentials_json_text(document, "private_key");
	CLEANUP(freep) char *own_url = credentials_json_text(document, "token_uri");
	CLEANUP(buf_done) struct buf claims = BUF_INIT(1 << 16);
	CLEANUP(buf_done) struct buf jwt = BUF_INIT(1 << 17);
	CLEANUP(buf_done) struct buf form = BUF_INIT(1 << 18);
	struct oauth_request request = {
		.url = google_token_url(own_url),
		.source = "the service account's key",
		.allow_private = own_url != NULL,
	};
	int r;

	if (!pem)
		return error_set(err, ERR_DENIED, "the service account's file has no private_key");
	r = google_claims(document, request.url, &claims, err);
	if (r == 0)
		r = oauth_jwt("{\"alg\":\"RS256\",\"typ\":\"JWT\"}", (const char *)claims.data, pem,
			      &jwt, err);
	explicit_bzero(pem, strlen(pem));
	if (r == 0 && !buf_text(&jwt, err))
		r = ERR_MEMORY;
	if (r == 0)
		r = oauth_form_add(&form, "grant_type",
				   "urn:ietf:params:oauth:grant-type:jwt-bearer", err);
	if (r == 0)
		r = oauth_form_add(&form, "assertion", (const char *)jwt.data, err);
	request.form = buf_slice(&form);
	return r < 0 ? r : oauth_ask(&request, ret_credentials, err);
}

static int google_from_refresh_token(struct slice document, struct credentials **ret_credentials,
				     struct error *err)
{
	static const char *const names[] = {"client_id", "client_secret", "refresh_token"};
	CLEANUP(freep) char *own_url = credentials_json_text(document, "token_uri");
	CLEANUP(buf_done) struct buf form = BUF_INIT(1 << 18);
	struct oauth_request request = {
		.url = google_token_url(own_url),
		.source = "the user's refresh token",
		.allow_private = own_url != NULL,
	};
	int r = oauth_form_add(&form, "grant_type", "refresh_token", err);

	for (size_t i = 0; i < ARRAY_LEN(names) && r == 0; i++) {
		CLEANUP(freep) char *value = credentials_json_text(document, names[i]);

		if (!value)
			return error_set(err, ERR_DENIED, "the user's credentials have no %s",
					 names[i]);
		r = oauth_form_add(&form, names[i], value, err);
	}
	request.form = buf_slice(&form);
	return r < 0 ? r : oauth_ask(&request, ret_credentials, err);
}

static int google_from_document(struct slice document, const char *where, struct buf *story,
				struct credentials **ret_credentials, struct error *err)
{
	CLEANUP(freep) char *type = credentials_json_text(document, "type");

	story_tell(story, "%s: %s", where, type ? type : "no type");
	if (type && strcmp(type, "authorized_user") == 0)
		return google_from_refresh_token(document, ret_credentials, err);
	if (!type || strcmp(type, "service_account") == 0)
		return google_from_service_account(document, ret_credentials, err);
	return error_set(err, ERR_UNSUPPORTED, "credentials of type '%s'", type);
}

static int google_from_file(const char *path, bool required, struct buf *story,
			    struct credentials **ret_credentials, struct error *err)
{
	CLEANUP(buf_done) struct buf document = BUF_INIT(1 << 20);
	int r = credentials_read_file(path, &document, err);

	if (r == CREDENTIALS_NONE && required)
		return error_set(err, ERR_DENIED, "'%s' is not there", path);
	if (r == CREDENTIALS_NONE)
		story_tell(story, "file %s: not there", path);
	if (r != 0)
		return r;
	r = google_from_document(buf_slice(&document), path, story, ret_credentials, err);
	return r < 0 ? error_prefix(err, "'%s'", path) : r;
}

static int google_from_environment(struct buf *story, struct credentials **ret_credentials,
				   struct error *err)
{
	static const char *const names[] = {"GOOGLE_APPLICATION_CREDENTIALS",
					    "GOOGLE_SERVICE_ACCOUNT",
					    "GOOGLE_SERVICE_ACCOUNT_PATH"};
	const char *key = credentials_env("GOOGLE_SERVICE_ACCOUNT_KEY");

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (credentials_env(names[i])) {
			story_tell(story, "environment: %s is set", names[i]);
			return google_from_file(credentials_env(names[i]), true, story,
						ret_credentials, err);
		}
	if (key)
		return google_from_document(slice_text(key), "GOOGLE_SERVICE_ACCOUNT_KEY", story,
					    ret_credentials, err);
	story_tell(story, "environment: GOOGLE_APPLICATION_CREDENTIALS is not set");
	return CREDENTIALS_NONE;
}

static int google_from_gcloud(struct buf *story, struct credentials **ret_credentials,
			      struct error *err)
{
	const char *folder = credentials_env("CLOUDSDK_CONFIG");
	const char *home = credentials_env("HOME");
	CLEANUP(freep)
	char *path = text_printf(err, "%s%s/application_default_credentials.json",
				 folder ? folder
				 : home ? home
					: "",
				 folder ? "" : "/.config/gcloud");

	return path ? google_from_file(path, false, story, ret_credentials, err) : ERR_MEMORY;
}

static int google_from_metadata(struct buf *story, struct credentials **ret_credentials,
				struct error *err)
{
	CLEANUP(http_lines_free) struct http_lines headers = {0};
	const char *host = credentials_env("GCE_METADATA_HOST");
	char url[600];
	struct oauth_request request = {
		.url = url,
		.headers = &headers,
		.source = "the metadata service",
		.machine = true,
		.must_have = "Metadata-Flavor: Google",
	};
	int r = http_lines_add(&headers, err, "Metadata-Flavor: Google");

	snprintf(url, sizeof(url),
		 "http://%.300s/computeMetadata/v1/instance/service-accounts/default/token",
		 host ? host : "169.254.169.254");
	if (r == 0)
		r = oauth_ask(&request, ret_credentials, err);
	story_tell(story, "metadata service: %s", r == 0 ? "has a service account" : "has none");
	return r;
}

static int google_fetch(void *argument, struct buf *story, struct credentials **ret_credentials,
			struct error *err)
{
	int r = google_from_environment(story, ret_credentials, err);

	(void)argument;
	if (r == CREDENTIALS_NONE)
		r = google_from_gcloud(story, ret_credentials, err);
	if (r == CREDENTIALS_NONE)
		r = google_from_metadata(story, ret_credentials, err);
	return r;
}

int google_keyring_new(struct keyring **ret_keyring, struct error *err)
{
	return keyring_new(google_fetch, NULL, NULL, ret_keyring, err);
}

int google_explain(struct buf *story, struct credentials **ret_credentials, struct error *err)
{
	return google_fetch(NULL, story, ret_credentials, err);
}
