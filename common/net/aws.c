/* SPDX-License-Identifier: Apache-2.0 */
#include "net/aws.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/text.h"
#include "base/time.h"
#include "net/address.h"
#include "net/command.h"
#include "net/http.h"
#include "net/ini.h"
#include "net/lane.h"
#include "net/oauth.h"
#include "net/sigv4.h"
#include "net/url.h"
#include "net/xml.h"

enum {
	AWS_PROCESS_MS = 60000,
	AWS_METADATA_MS = 4000,
	AWS_METADATA_CONNECT_MS = 1000,
	AWS_METADATA_TRIES = 2,
	AWS_STS_MS = 30000,
	AWS_ROLES_MAX = 5, /* profiles that lead from one to another */
};

#define AWS_CONTAINER_HOST "http://169.254.170.2"
#define AWS_METADATA_HOST "http://169.254.169.254"

/* The shared files and the profile that counts. */
struct aws_files {
	struct buf config, credentials;
	char *profile;
	bool explicit; /* the profile was asked for */
};

struct aws_chain {
	char *profile; /* of the options, NULL */
	char *region;
};

static void aws_files_done(struct aws_files *files)
{
	buf_done(&files->config);
	buf_done(&files->credentials);
	free(files->profile);
}

static char *aws_file_path(const char *variable, const char *name, struct error *err)
{
	const char *path = credentials_env(variable);
	const char *home = credentials_env("HOME");

	if (path && text_starts(path, "~/") && home)
		return text_printf(err, "%s%s", home, path + 1);
	if (path)
		return text_dup(path, err);
	return text_printf(err, "%s/.aws/%s", home ? home : "", name);
}

static int aws_read_file(const char *variable, const char *name, struct buf *out, struct buf *story,
			 struct error *err)
{
	CLEANUP(freep) char *path = aws_file_path(variable, name, err);
	int r;

	if (!path)
		return ERR_MEMORY;
	r = credentials_read_file(path, out, err);
	if (r == CREDENTIALS_NONE)
		story_tell(story, "file %s: not there", path);
	else if (r == 0)
		story_tell(story, "file %s: read", path);
	if (r == 0 && !buf_text(out, err))
		return ERR_MEMORY;
	return r < 0 ? r : 0;
}

static int aws_files_read(const char *profile, struct aws_files *files, struct buf *story,
			  struct error *err)
{
	const char *named = profile ? profile : credentials_env("AWS_PROFILE");
	int r;

	*files = (struct aws_files){0};
	files->config.max = files->credentials.max = BUF_NO_LIMIT;
	files->explicit = named != NULL;
	files->profile = text_dup(named ? named : "default", err);
	if (!files->profile)
		return ERR_MEMORY;
	r = aws_read_file("AWS_CONFIG_FILE", "config", &files->config, story, err);
	return r < 0 ? r
		     : aws_read_file("AWS_SHARED_CREDENTIALS_FILE", "credentials",
				     &files->credentials, story, err);
}

/* "[profile name]" in the configuration, "[name]" in the credentials; these win. */
static char *aws_profile_get(const struct aws_files *files, const char *profile, const char *key)
{
	char *value = ini_get(buf_slice(&files->credentials), profile, key);
	char section[256];

	if (value)
		return value;
	snprintf(section, sizeof(section), "profile %s", profile);
	value = ini_get(buf_slice(&files->config), section, key);
	if (!value && strcmp(profile, "default") == 0)
		value = ini_get(buf_slice(&files->config), "default", key);
	return value;
}

static bool aws_profile_exists(const struct aws_files *files, const char *profile)
{
	char section[256];

	snprintf(section, sizeof(section), "profile %s", profile);
	return ini_has_section(buf_slice(&files->credentials), profile) ||
	       ini_has_section(buf_slice(&files->config), section) ||
	       (strcmp(profile, "default") == 0 &&
		ini_has_section(buf_slice(&files->config), "default"));
}

static int aws_from_environment(struct buf *story, struct credentials **ret_credentials,
				struct error *err)
{
	const char *id = credentials_env("AWS_ACCESS_KEY_ID");
	const char *secret = credentials_env("AWS_SECRET_ACCESS_KEY");

	if (!id && !secret) {
		story_tell(story, "environment: AWS_ACCESS_KEY_ID is not set");
		return CREDENTIALS_NONE;
	}
	if (!id || !secret)
		return error_set(err, ERR_DENIED,
				 "environment: only one of AWS_ACCESS_KEY_ID and "
				 "AWS_SECRET_ACCESS_KEY is set");
	story_tell(story, "environment: AWS_ACCESS_KEY_ID is set");
	return credentials_new(id, secret, credentials_env("AWS_SESSION_TOKEN"), INT64_MAX,
			       "the environment", ret_credentials, err);
}

/* Credentials in a JSON document; the names of the session token differ. */
static int aws_from_json(struct slice document, const char *token_name, const char *source,
			 struct credentials **ret_credentials, struct error *err)
{
	CLEANUP(freep) char *id = credentials_json_text(document, "AccessKeyId");
	CLEANUP(freep) char *secret = credentials_json_text(document, "SecretAccessKey");
	CLEANUP(freep) char *token = credentials_json_text(document, token_name);
	int64_t expires;

	if (!id || !secret)
		return error_set(err, ERR_DENIED, "%s gave no credentials", source);
	if (credentials_json_time(document, "Expiration", &expires, err) < 0)
		return error_prefix(err, "%s", source);
	return credentials_new(id, secret, token, expires, source, ret_credentials, err);
}

static int aws_from_process(const char *command, struct buf *story,
			    struct credentials **ret_credentials, struct error *err)
{
	CLEANUP(buf_done) struct buf output = BUF_INIT(1 << 20);
	int r;

	story_tell(story, "credential_process: running the program of the profile");
	r = command_output(command, AWS_PROCESS_MS, &output, err);
	if (r < 0)
		return error_prefix(err, "credential_process");
	r = aws_from_json(buf_slice(&output), "SessionToken", "credential_process", ret_credentials,
			  err);
	explicit_bzero(output.data, output.size);
	return r;
}

/* --- requests to services of the machine --- */

static int aws_site(const char *lane, unsigned int timeout_ms, struct http_site *site,
		    struct error *err)
{
	*site = (struct http_site){
		.lane = lane_get(lane, err),
		.allow_private = true,
		.direct = true,
		.timeout_ms = timeout_ms,
		.connect_ms = AWS_METADATA_CONNECT_MS,
		.tries = AWS_METADATA_TRIES,
	};
	return site->lane ? 0 : ERR_MEMORY;
}

/* The text of a 200 answer; CREDENTIALS_NONE for 404 and where nobody answers. */
static int aws_ask(const struct http_site *site, const char *method, const char *url,
		   const struct http_lines *headers, struct buf *out, struct error *err)
{
	CLEANUP(http_answer_done) struct http_answer answer = {0};
	struct http_request request = {
		.method = method, .url = url, .headers = headers, .answer_max = 1 << 20};
	int r = http_call(site, &request, &answer, err);

	if (r < 0)
		return r;
	if (answer.attempt.status == 404)
		return CREDENTIALS_NONE;
	if (answer.attempt.status != 200)
		return http_status_error(answer.attempt.status, NULL, err);
	return buf_append_slice(out, buf_slice(&answer.attempt.body), err);
}

/* The container's token may go to the machine itself or over TLS, nowhere else. */
static int aws_check_container_url(const char *text, struct error *err)
{
	CLEANUP(url_done) struct url url = {0};
	int r = url_parse(text, &url, err);

	if (r < 0)
		return r;
	if (url.tls || strcmp(url.host, "localhost") == 0 || strcmp(url.host, "::1") == 0 ||
	    text_starts(url.host, "127.") || strcmp(url.host, "169.254.170.2") == 0 ||
	    strcmp(url.host, "169.254.170.23") == 0 || strcmp(url.host, "fd00:ec2::23") == 0)
		return 0;
	return error_set(err, ERR_DENIED,
			 "AWS_CONTAINER_CREDENTIALS_FULL_URI is neither https nor on this machine");
}

static int aws_container_token(struct http_lines *headers, struct error *err)
{
	CLEANUP(buf_done) struct buf token = BUF_INIT(1 << 16);
	const char *text = credentials_env("AWS_CONTAINER_AUTHORIZATION_TOKEN");
	const char *file = credentials_env("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
	int r;

	if (file) {
		r = credentials_read_file(file, &token, err);
		if (r != 0)
			return r < 0 ? r : error_set(err, ERR_DENIED, "'%s' is not there", file);
		while (token.size && (token.data[token.size - 1] == '\n'))
			token.size--;
		text = buf_text(&token, err);
	}
	if (!text)
		return 0;
	if (strpbrk(text, "\r\n"))
		return error_set(err, ERR_DENIED, "the container's token has a line break in it");
	return http_lines_add(headers, err, "Authorization: %s", text);
}

static int aws_from_container(struct buf *story, struct credentials **ret_credentials,
			      struct error *err)
{
	CLEANUP(http_lines_free) struct http_lines headers = {0};
	CLEANUP(buf_done) struct buf document = BUF_INIT(1 << 20);
	CLEANUP(freep) char *url = NULL;
	const char *relative = credentials_env("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
	const char *full = credentials_env("AWS_CONTAINER_CREDENTIALS_FULL_URI");
	struct http_site site;
	int r;

	if (!relative && !full) {
		story_tell(story, "container: AWS_CONTAINER_CREDENTIALS_*_URI are not set");
		return CREDENTIALS_NONE;
	}
	url = relative ? text_printf(err, AWS_CONTAINER_HOST "%s", relative) : text_dup(full, err);
	if (!url)
		return ERR_MEMORY;
	story_tell(story, "container: asking the endpoint of the environment");
	r = aws_check_container_url(url, err);
	if (r == 0)
		r = aws_container_token(&headers, err);
	if (r == 0)
		r = aws_site("aws container credentials", AWS_METADATA_MS, &site, err);
	if (r == 0)
		r = aws_ask(&site, "GET", url, &headers, &document, err);
	if (r == CREDENTIALS_NONE)
		r = error_set(err, ERR_DENIED, "the endpoint knows none");
	if (r == 0)
		r = aws_from_json(buf_slice(&document), "Token", "the container endpoint",
				  ret_credentials, err);
	return r < 0 ? error_prefix(err, "container credentials") : 0;
}

/* IMDSv2: a token first, then the role, then its credentials. */
static int aws_ask_metadata(const struct http_site *site, const char *host, struct buf *document,
			    struct error *err)
{
	CLEANUP(http_lines_free) struct http_lines lifetime = {0};
	CLEANUP(http_lines_free) struct http_lines headers = {0};
	CLEANUP(buf_done) struct buf token = BUF_INIT(4096);
	CLEANUP(buf_done) struct buf role = BUF_INIT(4096);
	char url[1024];
	int r;

	snprintf(url, sizeof(url), "%s/latest/api/token", host);
	r = http_lines_add(&lifetime, err, "X-aws-ec2-metadata-token-ttl-seconds: 21600");
	if (r == 0)
		r = aws_ask(site, "PUT", url, &lifetime, &token, err);
	if (r != 0)
		return r;
	r = http_lines_add(&headers, err, "X-aws-ec2-metadata-token: %.*s", (int)token.size,
			   (const char *)token.data);
	snprintf(url, sizeof(url), "%s/latest/meta-data/iam/security-credentials/", host);
	if (r == 0)
		r = aws_ask(site, "GET", url, &headers, &role, err);
	if (r == 0 && !buf_text(&role, err))
		r = ERR_MEMORY;
	if (r != 0)
		return r;
	snprintf(url, sizeof(url), "%s/latest/meta-data/iam/security-credentials/%.*s", host,
		 (int)strcspn((const char *)role.data, "\r\n"), (const char *)role.data);
	return aws_ask(site, "GET", url, &headers, document, err);
}

static int aws_from_metadata(struct buf *story, struct credentials **ret_credentials,
			     struct error *err)
{
	CLEANUP(buf_done) struct buf document = BUF_INIT(1 << 20);
	const char *host = credentials_env("AWS_EC2_METADATA_SERVICE_ENDPOINT");
	const char *disabled = credentials_env("AWS_EC2_METADATA_DISABLED");
	struct error trouble = ERROR_INIT;
	char base[512];
	struct http_site site;
	int r;

	if (disabled && strcasecmp(disabled, "true") == 0) {
		story_tell(story, "instance metadata: switched off by AWS_EC2_METADATA_DISABLED");
		return CREDENTIALS_NONE;
	}
	snprintf(base, sizeof(base), "%s", host ? host : AWS_METADATA_HOST);
	if (text_ends(base, "/"))
		base[strlen(base) - 1] = '\0';
	r = aws_site("aws instance metadata", AWS_METADATA_MS, &site, err);
	if (r < 0)
		return r;
	r = aws_ask_metadata(&site, base, &document, &trouble);
	/* Outside of Amazon's machines nobody answers there. */
	if (http_is_unanswered(r) || r == CREDENTIALS_NONE) {
		story_tell(story, "instance metadata: %s",
			   r == CREDENTIALS_NONE ? "no role" : trouble.text);
		return CREDENTIALS_NONE;
	}
	if (r == 0) {
		story_tell(story, "instance metadata: has a role");
		r = aws_from_json(buf_slice(&document), "Token", "the instance metadata",
				  ret_credentials, &trouble);
	}
	if (r < 0)
		return error_set(err, trouble.kind, "instance metadata: %s", trouble.text);
	return r;
}

/* --- the security token service --- */

static char *aws_sts_url(const char *region, struct error *err)
{
	const char *endpoint = credentials_env("AWS_ENDPOINT_URL_STS");
	const char *china = text_starts(region, "cn-") ? ".cn" : "";

	if (endpoint)
		return text_printf(err, "%s%s", endpoint, text_ends(endpoint, "/") ? "" : "/");
	return text_printf(err, "https://sts.%s.amazonaws.com%s/", region, china);
}

/* @action is the answer's root, such as "AssumeRole". */
static int aws_from_sts_answer(const struct http_answer *answer, const char *action,
			       struct credentials **ret_credentials, struct error *err)
{
	static const char *const names[] = {"AccessKeyId", "SecretAccessKey", "SessionToken",
					    "Expiration"};
	struct slice body = buf_slice(&answer->attempt.body);
	char *texts[4] = {NULL};
	int64_t expires = INT64_MAX;
	char path[256];
	int r = 0;

	if (answer->attempt.status != 200) {
		CLEANUP(freep) char *code = xml_text(body, "ErrorResponse/Error/Code");

		return http_status_error(
			answer->attempt.status == 400 ? 403 : answer->attempt.status, code, err);
	}
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		snprintf(path, sizeof(path), "%sResponse/%sResult/Credentials/%s", action, action,
			 names[i]);
		texts[i] = xml_text(body, path);
	}
	if (!texts[0] || !texts[1] || !texts[2])
		r = error_set(err, ERR_FORMAT, "an answer without credentials");
	if (r == 0 && texts[3] && time_parse(texts[3], time_now(), &expires, NULL) < 0)
		r = error_set(err, ERR_FORMAT, "expiry '%.60s' is no time", texts[3]);
	if (r == 0)
		r = credentials_new(texts[0], texts[1], texts[2], expires,
				    "the security token service", ret_credentials, err);
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		free(texts[i]);
	return r;
}

struct aws_sts_signer {
	const struct credentials *credentials;
	const char *region;
};

static int aws_sts_sign(void *argument, bool renew, const char *method, const char *url,
			struct slice body, struct http_lines *headers, struct error *err)
{
	const struct aws_sts_signer *signer = argument;
	CLEANUP(url_done) struct url parts = {0};
	CLEANUP(freep) char *origin = NULL;
	struct sigv4_key key = {signer->credentials->id, signer->credentials->secret,
				signer->credentials->token};
	char hash[65];
	int r;

	(void)renew;
	r = url_parse(url, &parts, err);
	if (r == 0)
		r = sigv4_hash(body, hash, err);
	if (r < 0)
		return r;
	origin = url_origin(&parts, err);
	if (!origin)
		return ERR_MEMORY;
	r = http_lines_add(headers, err, "Host: %s", strstr(origin, "://") + 3);
	if (r < 0)
		return r;
	struct sigv4_request request = {
		.method = method,
		.path = slice_text(parts.target),
		.body_hash = hash,
		.region = signer->region,
		.service = "sts",
		.time = time_now(),
	};
	return sigv4_sign(&request, &key, headers, err);
}

static int aws_ask_sts(const char *action, struct slice form, const char *region,
		       const struct credentials *signer_credentials,
		       struct credentials **ret_credentials, struct error *err)
{
	CLEANUP(http_answer_done) struct http_answer answer = {0};
	CLEANUP(http_lines_free) struct http_lines headers = {0};
	CLEANUP(freep) char *url = aws_sts_url(region, err);
	struct aws_sts_signer signer = {signer_credentials, region};
	struct http_site site = {
		.trusted_name = true,
		.allow_private = credentials_env("AWS_ENDPOINT_URL_STS") != NULL,
		.timeout_ms = AWS_STS_MS,
		.sign = signer_credentials ? aws_sts_sign : NULL,
		.argument = &signer,
	};
	struct http_request request = {
		.method = "POST", .url = url, .headers = &headers, .body = form};
	int r;

	site.lane = lane_get("aws security token service", err);
	if (!url || !site.lane)
		return ERR_MEMORY;
	r = http_lines_add(&headers, err,
			   "Content-Type: application/x-www-form-urlencoded; charset=utf-8");
	if (r == 0)
		r = http_call(&site, &request, &answer, err);
	if (r == 0)
		r = aws_from_sts_answer(&answer, action, ret_credentials, err);
	return r < 0 ? error_prefix(err, "security token service, %s", action) : 0;
}

static int aws_assume_with_token(const char *role, const char *token_file, const char *session,
				 const char *region, struct credentials **ret_credentials,
				 struct error *err)
{
	CLEANUP(buf_done) struct buf token = BUF_INIT(1 << 20);
	CLEANUP(buf_done) struct buf form = BUF_INIT(1 << 21);
	int r = credentials_read_file(token_file, &token, err);

	if (r == CREDENTIALS_NONE)
		return error_set(err, ERR_DENIED, "web identity: '%s' is not there", token_file);
	while (token.size && token.data[token.size - 1] == '\n')
		token.size--;
	if (r == 0)
		r = oauth_form_add(&form, "Action", "AssumeRoleWithWebIdentity", err);
	if (r == 0)
		r = oauth_form_add(&form, "Version", "2011-06-15", err);
	if (r == 0)
		r = oauth_form_add(&form, "RoleArn", role, err);
	if (r == 0)
		r = oauth_form_add(&form, "RoleSessionName", session ? session : "refmt", err);
	if (r == 0 && !buf_text(&token, err))
		r = ERR_MEMORY;
	if (r == 0)
		r = oauth_form_add(&form, "WebIdentityToken", (const char *)token.data, err);
	if (r < 0)
		return r;
	return aws_ask_sts("AssumeRoleWithWebIdentity", buf_slice(&form), region, NULL,
			   ret_credentials, err);
}

static int aws_from_web_identity(const char *region, struct buf *story,
				 struct credentials **ret_credentials, struct error *err)
{
	const char *file = credentials_env("AWS_WEB_IDENTITY_TOKEN_FILE");
	const char *role = credentials_env("AWS_ROLE_ARN");

	if (!file || !role) {
		story_tell(story, "web identity: AWS_WEB_IDENTITY_TOKEN_FILE is not set");
		return CREDENTIALS_NONE;
	}
	story_tell(story, "web identity: role %s with the token in %s", role, file);
	return aws_assume_with_token(role, file, credentials_env("AWS_ROLE_SESSION_NAME"), region,
				     ret_credentials, err);
}

/* --- profiles --- */

static int aws_from_profile(const struct aws_files *files, const char *profile, const char *region,
			    unsigned int depth, struct buf *story,
			    struct credentials **ret_credentials, struct error *err);

static int aws_from_credential_source(const char *source, struct buf *story,
				      struct credentials **ret_credentials, struct error *err)
{
	if (strcmp(source, "Environment") == 0)
		return aws_from_environment(story, ret_credentials, err);
	if (strcmp(source, "EcsContainer") == 0)
		return aws_from_container(story, ret_credentials, err);
	if (strcmp(source, "Ec2InstanceMetadata") == 0)
		return aws_from_metadata(story, ret_credentials, err);
	return error_set(err, ERR_UNSUPPORTED, "credential_source '%s' is unknown", source);
}

static int aws_assume_role(const struct aws_files *files, const char *profile, const char *role,
			   const char *region, unsigned int depth, struct buf *story,
			   struct credentials **ret_credentials, struct error *err)
{
	CLEANUP(credentials_unrefp) struct credentials *base = NULL;
	CLEANUP(buf_done) struct buf form = BUF_INIT(1 << 20);
	CLEANUP(freep) char *from = aws_profile_get(files, profile, "source_profile");
	CLEANUP(freep) char *source = aws_profile_get(files, profile, "credential_source");
	CLEANUP(freep) char *session = aws_profile_get(files, profile, "role_session_name");
	CLEANUP(freep) char *external = aws_profile_get(files, profile, "external_id");
	int r;

	story_tell(story, "profile %s: role %s", profile, role);
	if (from)
		r = aws_from_profile(files, from, region, depth + 1, story, &base, err);
	else if (source)
		r = aws_from_credential_source(source, story, &base, err);
	else
		return error_set(
			err, ERR_DENIED,
			"profile '%s' has a role but no source_profile or credential_source",
			profile);
	if (r == CREDENTIALS_NONE)
		return error_set(err, ERR_DENIED,
				 "profile '%s': the role's source has no credentials", profile);
	if (r == 0)
		r = oauth_form_add(&form, "Action", "AssumeRole", err);
	if (r == 0)
		r = oauth_form_add(&form, "Version", "2011-06-15", err);
	if (r == 0)
		r = oauth_form_add(&form, "RoleArn", role, err);
	if (r == 0)
		r = oauth_form_add(&form, "RoleSessionName", session ? session : "refmt", err);
	if (r == 0 && external)
		r = oauth_form_add(&form, "ExternalId", external, err);
	if (r < 0)
		return r;
	return aws_ask_sts("AssumeRole", buf_slice(&form), region, base, ret_credentials, err);
}

static int aws_from_profile_keys(const struct aws_files *files, const char *profile,
				 struct buf *story, struct credentials **ret_credentials,
				 struct error *err)
{
	CLEANUP(freep) char *id = aws_profile_get(files, profile, "aws_access_key_id");
	CLEANUP(freep) char *secret = aws_profile_get(files, profile, "aws_secret_access_key");
	CLEANUP(freep) char *token = aws_profile_get(files, profile, "aws_session_token");
	char source[300];

	if (!id || !secret)
		return CREDENTIALS_NONE;
	snprintf(source, sizeof(source), "profile %.200s", profile);
	story_tell(story, "profile %s: has keys", profile);
	return credentials_new(id, secret, token, INT64_MAX, source, ret_credentials, err);
}

static int aws_from_profile(const struct aws_files *files, const char *profile, const char *region,
			    unsigned int depth, struct buf *story,
			    struct credentials **ret_credentials, struct error *err)
{
	CLEANUP(freep) char *role = aws_profile_get(files, profile, "role_arn");
	CLEANUP(freep)
	char *token_file = aws_profile_get(files, profile, "web_identity_token_file");
	CLEANUP(freep) char *process = aws_profile_get(files, profile, "credential_process");
	CLEANUP(freep) char *self = aws_profile_get(files, profile, "source_profile");
	bool own_source = self && strcmp(self, profile) == 0;
	int r;

	if (depth > AWS_ROLES_MAX)
		return error_set(err, ERR_DENIED, "profiles lead from one to another without end");
	if (role && token_file)
		return aws_assume_with_token(role, token_file, NULL, region, ret_credentials, err);
	/* A profile may be its own source: its keys then are what the role is taken with. */
	if (role && !(own_source && depth > 0))
		return aws_assume_role(files, profile, role, region, depth, story, ret_credentials,
				       err);
	r = aws_from_profile_keys(files, profile, story, ret_credentials, err);
	if (r != CREDENTIALS_NONE)
		return r;
	if (process)
		return aws_from_process(process, story, ret_credentials, err);
	story_tell(story, "profile %s: %s", profile,
		   aws_profile_exists(files, profile) ? "says nothing about credentials"
						      : "does not exist");
	return CREDENTIALS_NONE;
}

/* --- the chain --- */

static int aws_fetch(void *argument, struct buf *story, struct credentials **ret_credentials,
		     struct error *err)
{
	const struct aws_chain *chain = argument;
	CLEANUP(aws_files_done) struct aws_files files = {0};
	struct aws_options options = {chain->profile, chain->region};
	CLEANUP(freep) char *found = aws_region(&options, NULL);
	const char *region = found ? found : "us-east-1";
	int r = CREDENTIALS_NONE;

	if (!chain->profile) {
		r = aws_from_environment(story, ret_credentials, err);
		if (r == CREDENTIALS_NONE)
			r = aws_from_web_identity(region, story, ret_credentials, err);
	}
	if (r != CREDENTIALS_NONE)
		return r;
	r = aws_files_read(chain->profile, &files, story, err);
	if (r < 0)
		return r;
	r = aws_from_profile(&files, files.profile, region, 0, story, ret_credentials, err);
	if (r == CREDENTIALS_NONE && files.explicit)
		return error_set(err, ERR_DENIED, "profile '%s' %s", files.profile,
				 aws_profile_exists(&files, files.profile)
					 ? "has no credentials"
					 : "is not in the shared AWS files");
	if (r == CREDENTIALS_NONE)
		r = aws_from_container(story, ret_credentials, err);
	if (r == CREDENTIALS_NONE)
		r = aws_from_metadata(story, ret_credentials, err);
	return r;
}

static void aws_chain_free(void *argument)
{
	struct aws_chain *chain = argument;

	free(chain->profile);
	free(chain->region);
	free(chain);
}

int aws_keyring_new(const struct aws_options *options, struct keyring **ret_keyring,
		    struct error *err)
{
	struct aws_chain *chain = calloc(1, sizeof(*chain));
	int r = 0;

	if (!chain)
		return error_memory(err);
	chain->profile = options->profile ? text_dup(options->profile, err) : NULL;
	chain->region = options->region ? text_dup(options->region, err) : NULL;
	if ((options->profile && !chain->profile) || (options->region && !chain->region))
		r = ERR_MEMORY;
	if (r == 0)
		r = keyring_new(aws_fetch, chain, aws_chain_free, ret_keyring, err);
	if (r < 0)
		aws_chain_free(chain);
	return r;
}

int aws_explain(const struct aws_options *options, struct buf *story,
		struct credentials **ret_credentials, struct error *err)
{
	struct aws_chain chain = {(char *)options->profile, (char *)options->region};

	return aws_fetch(&chain, story, ret_credentials, err);
}

static char *aws_setting(const struct aws_options *options, const char *const *variables,
			 const char *key, const char **ret_source)
{
	CLEANUP(aws_files_done) struct aws_files files = {0};
	struct error ignored = ERROR_INIT;
	const char *unused;

	if (!ret_source)
		ret_source = &unused;
	for (size_t i = 0; variables[i]; i++) {
		*ret_source = variables[i];
		if (credentials_env(variables[i]))
			return text_dup(credentials_env(variables[i]), &ignored);
	}
	*ret_source = "the profile";
	if (aws_files_read(options->profile, &files, NULL, &ignored) < 0)
		return NULL;
	return aws_profile_get(&files, files.profile, key);
}

char *aws_region(const struct aws_options *options, const char **ret_source)
{
	static const char *const variables[] = {"AWS_REGION", "AWS_DEFAULT_REGION", NULL};
	struct error ignored = ERROR_INIT;

	if (options->region) {
		if (ret_source)
			*ret_source = "the option";
		return text_dup(options->region, &ignored);
	}
	return aws_setting(options, variables, "region", ret_source);
}

char *aws_endpoint(const struct aws_options *options, const char **ret_source)
{
	static const char *const variables[] = {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", NULL};
	const char *ignore = credentials_env("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS");

	if (ignore && strcasecmp(ignore, "true") == 0)
		return NULL;
	return aws_setting(options, variables, "endpoint_url", ret_source);
}
