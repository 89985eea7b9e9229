/* SPDX-License-Identifier: Apache-2.0 */
#include "net/azure.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/hash.h"
#include "base/text.h"
#include "base/vec.h"
#include "net/oauth.h"

#define AZURE_RESOURCE "https://storage.azure.com/"

/* --- credentials --- */

char *azure_connection_member(const char *name)
{
	const char *text = credentials_env("AZURE_STORAGE_CONNECTION_STRING");
	size_t size = strlen(name);

	while (text && *text) {
		size_t length = strcspn(text, ";");

		if (length > size && text[size] == '=' && strncasecmp(text, name, size) == 0)
			return slice_dup(slice_of(text + size + 1, length - size - 1), NULL);
		text += length + (text[length] == ';');
	}
	return NULL;
}

static const char *azure_env(const char *const *names)
{
	for (; *names; names++)
		if (credentials_env(*names))
			return credentials_env(*names);
	return NULL;
}

static int azure_from_key(const char *account, struct buf *story,
			  struct credentials **ret_credentials, struct error *err)
{
	static const char *const names[] = {"AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_KEY",
					    "AZURE_STORAGE_ACCESS_KEY", NULL};
	CLEANUP(freep) char *member = azure_connection_member("AccountKey");
	const char *key = azure_env(names);

	story_tell(story, "account key: %s", key || member ? "set" : "not in the environment");
	if (!key)
		key = member;
	if (!key)
		return CREDENTIALS_NONE;
	return credentials_new(account, key, NULL, INT64_MAX, "the account key", ret_credentials,
			       err);
}

static int azure_from_sas(struct buf *story, struct credentials **ret_credentials,
			  struct error *err)
{
	static const char *const names[] = {"AZURE_STORAGE_SAS_TOKEN", "AZURE_STORAGE_SAS_KEY",
					    NULL};
	CLEANUP(freep) char *member = azure_connection_member("SharedAccessSignature");
	const char *sas = azure_env(names);

	story_tell(story, "shared access signature: %s",
		   sas || member ? "set" : "not in the environment");
	if (!sas)
		sas = member;
	if (!sas)
		return CREDENTIALS_NONE;
	return credentials_new(NULL, sas + (sas[0] == '?'), NULL, INT64_MAX,
			       "a shared access signature", ret_credentials, err);
}

/* A token for the storage service, for what is in @form besides. */
static int azure_ask_authority(const char *tenant, struct buf *form, const char *source,
			       struct credentials **ret_credentials, struct error *err)
{
	const char *authority = credentials_env("AZURE_AUTHORITY_HOST");
	CLEANUP(freep) char *url = NULL;
	struct oauth_request request = {.source = source, .allow_private = authority != NULL};
	int r;

	if (!authority)
		authority = "https://login.microsoftonline.com";
	url = text_printf(err, "%.*s/%s/oauth2/v2.0/token",
			  (int)(strlen(authority) - text_ends(authority, "/")), authority, tenant);
	if (!url)
		return ERR_MEMORY;
	r = oauth_form_add(form, "grant_type", "client_credentials", err);
	if (r == 0)
		r = oauth_form_add(form, "scope", AZURE_RESOURCE ".default", err);
	request.url = url;
	request.form = buf_slice(form);
	return r < 0 ? r : oauth_ask(&request, ret_credentials, err);
}

static int azure_read_assertion(const char *path, struct buf *token, struct error *err)
{
	int r = credentials_read_file(path, token, err);

	if (r == CREDENTIALS_NONE)
		return error_set(err, ERR_DENIED, "workload identity: '%s' is not there", path);
	while (token->size && token->data[token->size - 1] == '\n')
		token->size--;
	return r < 0 || buf_text(token, err) ? r : ERR_MEMORY;
}

static int azure_from_identity(struct buf *story, struct credentials **ret_credentials,
			       struct error *err)
{
	const char *file = credentials_env("AZURE_FEDERATED_TOKEN_FILE");
	const char *secret = credentials_env("AZURE_CLIENT_SECRET");
	const char *client = credentials_env("AZURE_CLIENT_ID");
	const char *tenant = credentials_env("AZURE_TENANT_ID");
	CLEANUP(buf_done) struct buf token = BUF_INIT(1 << 20);
	CLEANUP(buf_done) struct buf form = BUF_INIT(1 << 21);
	int r;

	if ((!file && !secret) || !client || !tenant) {
		story_tell(story,
			   "workload identity: AZURE_FEDERATED_TOKEN_FILE, AZURE_CLIENT_ID and "
			   "AZURE_TENANT_ID are not all set");
		return CREDENTIALS_NONE;
	}
	story_tell(story, "%s: client %s", file ? "workload identity" : "client secret", client);
	r = oauth_form_add(&form, "client_id", client, err);
	if (r == 0 && file)
		r = azure_read_assertion(file, &token, err);
	if (r == 0 && file)
		r = oauth_form_add(&form, "client_assertion_type",
				   "urn:ietf:params:oauth:client-assertion-type:jwt-bearer", err);
	if (r == 0 && file)
		r = oauth_form_add(&form, "client_assertion", (const char *)token.data, err);
	if (r == 0 && !file)
		r = oauth_form_add(&form, "client_secret", secret, err);
	if (r < 0)
		return r;
	return azure_ask_authority(tenant, &form, file ? "workload identity" : "the client secret",
				   ret_credentials, err);
}

static int azure_from_machine(struct buf *story, struct credentials **ret_credentials,
			      struct error *err)
{
	CLEANUP(http_lines_free) struct http_lines headers = {0};
	const char *endpoint = credentials_env("IDENTITY_ENDPOINT");
	const char *header = credentials_env("IDENTITY_HEADER");
	const char *host = credentials_env("AZURE_POD_IDENTITY_AUTHORITY_HOST");
	const char *client = credentials_env("AZURE_CLIENT_ID");
	CLEANUP(freep) char *url = NULL;
	struct oauth_request request = {
		.headers = &headers, .source = "the managed identity", .machine = true};
	bool service = endpoint && header;
	int r;

	if (service)
		url = text_printf(err, "%s?api-version=2019-08-01&resource=%s%s%s", endpoint,
				  "https%3A%2F%2Fstorage.azure.com%2F", client ? "&client_id=" : "",
				  client ? client : "");
	else
		url = text_printf(err,
				  "%s/metadata/identity/oauth2/token?api-version=2018-02-01"
				  "&resource=%s%s%s",
				  host ? host : "http://169.254.169.254",
				  "https%3A%2F%2Fstorage.azure.com%2F", client ? "&client_id=" : "",
				  client ? client : "");
	if (!url)
		return ERR_MEMORY;
	r = service ? http_lines_add(&headers, err, "X-IDENTITY-HEADER: %s", header)
		    : http_lines_add(&headers, err, "Metadata: true");
	request.url = url;
	if (r == 0)
		r = oauth_ask(&request, ret_credentials, err);
	story_tell(story, "managed identity: %s", r == 0 ? "there" : "none");
	return r;
}

static int azure_fetch(void *argument, struct buf *story, struct credentials **ret_credentials,
		       struct error *err)
{
	int r = azure_from_key(argument, story, ret_credentials, err);

	if (r == CREDENTIALS_NONE)
		r = azure_from_sas(story, ret_credentials, err);
	if (r == CREDENTIALS_NONE)
		r = azure_from_identity(story, ret_credentials, err);
	if (r == CREDENTIALS_NONE)
		r = azure_from_machine(story, ret_credentials, err);
	return r;
}

int azure_keyring_new(const char *account, struct keyring **ret_keyring, struct error *err)
{
	char *copy = text_dup(account, err);
	int r;

	if (!copy)
		return ERR_MEMORY;
	r = keyring_new(azure_fetch, copy, free, ret_keyring, err);
	if (r < 0)
		free(copy);
	return r;
}

int azure_explain(const char *account, struct buf *story, struct credentials **ret_credentials,
		  struct error *err)
{
	return azure_fetch((void *)account, story, ret_credentials, err);
}

/* --- signing --- */

static const char *azure_header(const struct http_lines *headers, const char *name)
{
	size_t size = strlen(name);

	for (size_t i = 0; i < headers->n; i++)
		if (strncasecmp(headers->items[i], name, size) == 0 &&
		    headers->items[i][size] == ':')
			return headers->items[i] + size + 1 + (headers->items[i][size + 1] == ' ');
	return "";
}

static int text_order(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void texts_free(struct http_lines *texts)
{
	http_lines_free(texts);
}

static int azure_sorted(struct http_lines *texts, struct buf *out, const char *before,
			const char *after, struct error *err)
{
	int r = 0;

	if (texts->n)
		qsort(texts->items, texts->n, sizeof(texts->items[0]), text_order);
	for (size_t i = 0; i < texts->n && r == 0; i++)
		r = buf_printf(out, err, "%s%s%s", before, texts->items[i], after);
	return r;
}

/* "x-ms-date:..." and all others of that kind, by name. */
static int azure_canonical_headers(const struct http_lines *headers, struct buf *out,
				   struct error *err)
{
	CLEANUP(texts_free) struct http_lines texts = {0};
	int r = 0;

	for (size_t i = 0; i < headers->n && r == 0; i++) {
		const char *line = headers->items[i];
		size_t size = strcspn(line, ":");

		if (strncasecmp(line, "x-ms-", 5) != 0)
			continue;
		r = http_lines_add(&texts, err, "%.*s:%s", (int)size, line,
				   line + size + 1 + (line[size + 1] == ' '));
		for (size_t j = 0; r == 0 && j < size; j++)
			texts.items[texts.n - 1][j] =
				(char)tolower((unsigned char)texts.items[texts.n - 1][j]);
	}
	return r < 0 ? r : azure_sorted(&texts, out, "", "\n", err);
}

static int azure_add_member(const char *text, size_t size, struct http_lines *texts,
			    struct error *err)
{
	CLEANUP(buf_done) struct buf value = BUF_INIT(1 << 20);
	const char *equals = memchr(text, '=', size);
	size_t name = equals ? (size_t)(equals - text) : size;
	int r = 0;

	if (equals)
		r = text_percent_decode(slice_of(equals + 1, size - name - 1), &value, err);
	if (r < 0)
		return r;
	return http_lines_add(texts, err, "%.*s:%.*s", (int)name, text, (int)value.size,
			      (const char *)value.data);
}

/* "/account/path" and the members of the query by name, decoded. */
static int azure_canonical_resource(const char *account, const char *target, struct buf *out,
				    struct error *err)
{
	CLEANUP(texts_free) struct http_lines texts = {0};
	size_t path = strcspn(target, "?");
	int r = buf_printf(out, err, "/%s%.*s", account, (int)path, target);

	for (const char *at = target + path + (target[path] == '?'); r == 0 && *at;) {
		size_t size = strcspn(at, "&");

		r = azure_add_member(at, size, &texts, err);
		at += size + (at[size] == '&');
	}
	return r < 0 ? r : azure_sorted(&texts, out, "\n", "", err);
}

static int azure_string_to_sign(const char *account, const char *method, const char *target,
				struct slice body, const struct http_lines *headers,
				struct buf *out, struct error *err)
{
	char length[24] = "";
	int r;

	if (body.size)
		snprintf(length, sizeof(length), "%zu", body.size);
	r = buf_printf(out, err, "%s\n\n\n%s\n%s\n%s\n\n\n%s\n%s\n%s\n%s\n", method, length,
		       azure_header(headers, "Content-MD5"), azure_header(headers, "Content-Type"),
		       azure_header(headers, "If-Match"), azure_header(headers, "If-None-Match"),
		       azure_header(headers, "If-Unmodified-Since"),
		       azure_header(headers, "Range"));
	if (r == 0)
		r = azure_canonical_headers(headers, out, err);
	return r < 0 ? r : azure_canonical_resource(account, target, out, err);
}

int azure_sign(const struct credentials *credentials, const char *method, const char *target,
	       struct slice body, struct http_lines *headers, struct error *err)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT(1 << 20);
	CLEANUP(buf_done) struct buf key = BUF_INIT(4096);
	CLEANUP(buf_done) struct buf signature = BUF_INIT(256);
	uint8_t mac[SHA256_SIZE];
	int r;

	r = base64_decode(slice_text(credentials->secret), &key, err);
	if (r < 0)
		return error_set(err, ERR_DENIED, "the account key is not base64");
	r = azure_string_to_sign(credentials->id, method, target, body, headers, &text, err);
	if (r == 0)
		r = hmac_sha256(buf_slice(&key), buf_slice(&text), mac, err);
	if (r == 0)
		r = base64_encode(slice_of(mac, sizeof(mac)), &signature, err);
	if (r < 0)
		return r;
	return http_lines_add(headers, err, "Authorization: SharedKey %s:%.*s", credentials->id,
			      (int)signature.size, (const char *)signature.data);
}
