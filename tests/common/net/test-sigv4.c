/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <ctype.h>
#include <dirent.h>

#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "base/time.h"
#include "net/sigv4.h"

/* The published vectors of the AWS signing test suite, one folder a case (data/sigv4). */

struct vector {
	const char *name;
	char folder[4096 + 512];
};

static struct vector vectors[64];
static size_t n_vectors;

static void read_part(const struct vector *vector, const char *name, struct buf *out)
{
	char path[8192], bytes[4096];
	struct error err = ERROR_INIT;
	FILE *file;
	size_t n;

	snprintf(path, sizeof(path), "%s/%s", vector->folder, name);
	file = fopen(path, "rb");
	if (!file)
		fail_msg("cannot open %s", path);
	while ((n = fread(bytes, 1, sizeof(bytes), file)) > 0)
		assert_ok(buf_append(out, bytes, n, &err), &err);
	fclose(file);
	/* An editor's last line break is not part of the text. */
	while (out->size && out->data[out->size - 1] == '\n')
		out->size--;
}

struct parsed {
	struct buf text;
	char *method;
	char *path;
	char *query;
	struct http_lines headers;
	const char *body;
};

static void parsed_done(struct parsed *parsed)
{
	buf_done(&parsed->text);
	http_lines_free(&parsed->headers);
}

/* "GET /path?query HTTP/1.1", headers with continuation lines, an empty line, the body. */
static void parse_request(const struct vector *vector, struct parsed *parsed)
{
	struct error err = ERROR_INIT;
	char *line, *end;

	parsed->text.max = BUF_NO_LIMIT;
	read_part(vector, "request.txt", &parsed->text);
	line = (char *)buf_text(&parsed->text, &err);
	end = strchr(line, '\n');
	parsed->body = "";
	if (end)
		*end = '\0';
	parsed->method = line;
	parsed->path = strchr(line, ' ');
	*parsed->path++ = '\0';
	*strstr(parsed->path, " HTTP/") = '\0';
	parsed->query = strchr(parsed->path, '?');
	if (parsed->query)
		*parsed->query++ = '\0';
	else
		parsed->query = parsed->path + strlen(parsed->path);
	for (line = end ? end + 1 : NULL; line && *line && *line != '\n';) {
		char *next = strchr(line, '\n');

		while (next && (next[1] == ' ' || next[1] == '\t'))
			next = strchr(next + 1, '\n');
		if (next)
			*next = '\0';
		assert_ok(http_lines_add(&parsed->headers, &err, "%s", line), &err);
		line = next ? next + 1 : NULL;
	}
	if (line && *line == '\n')
		parsed->body = line + 1;
}

static char *member(const struct json *context, const char *name)
{
	struct json value;
	struct error err = ERROR_INIT;
	char *text = NULL;

	if (json_get(context, name, &value) == JSON_ABSENT)
		return NULL;
	assert_ok(json_dup(&value, &text, &err), &err);
	return text;
}

static bool flag(const struct json *context, const char *name)
{
	struct json value;
	struct error err = ERROR_INIT;
	bool set = false;

	if (json_get(context, name, &value) == 0)
		assert_ok(json_bool(&value, &set, &err), &err);
	return set;
}

static void assert_part(const struct vector *vector, const char *name, struct slice got)
{
	CLEANUP(buf_done) struct buf want = BUF_INIT(BUF_NO_LIMIT);

	read_part(vector, name, &want);
	if (!slice_equal(buf_slice(&want), got))
		fail_msg("%s: %s\nwant: %.*s\ngot: %.*s", vector->name, name, (int)want.size,
			 (const char *)want.data, (int)got.size, (const char *)got.data);
}

static void test_vector(void **state)
{
	const struct vector *vector = *state;
	CLEANUP(buf_done) struct buf text = BUF_INIT(BUF_NO_LIMIT);
	CLEANUP(buf_done) struct buf canonical = BUF_INIT(BUF_NO_LIMIT);
	CLEANUP(buf_done) struct buf names = BUF_INIT(BUF_NO_LIMIT);
	CLEANUP(buf_done) struct buf to_sign = BUF_INIT(BUF_NO_LIMIT);
	CLEANUP(parsed_done) struct parsed parsed = {0};
	CLEANUP(freep) char *region = NULL;
	CLEANUP(freep) char *service = NULL;
	CLEANUP(freep) char *access = NULL;
	CLEANUP(freep) char *secret = NULL;
	CLEANUP(freep) char *token = NULL;
	CLEANUP(freep) char *timestamp = NULL;
	struct error err = ERROR_INIT;
	struct json context, credentials;
	uint8_t digest[SHA256_SIZE];
	char body_hash[65], signature[65];

	read_part(vector, "context.json", &text);
	assert_ok(json_parse(buf_slice(&text), &context, &err), &err);
	assert_ok(json_get(&context, "credentials", &credentials), &err);
	parse_request(vector, &parsed);
	region = member(&context, "region");
	service = member(&context, "service");
	access = member(&credentials, "access_key_id");
	secret = member(&credentials, "secret_access_key");
	token = member(&credentials, "token");
	timestamp = member(&context, "timestamp");
	assert_ok(sha256(slice_text(parsed.body), digest, &err), &err);
	text_hex(digest, sizeof(digest), body_hash);

	struct sigv4_request request = {
		.method = parsed.method,
		.path = slice_text(parsed.path),
		.query = slice_text(parsed.query),
		.headers = &parsed.headers,
		.body_hash = body_hash,
		.region = region,
		.service = service,
		.as_given = !flag(&context, "normalize"),
	};
	struct sigv4_key key = {access, secret, token};

	assert_ok(time_parse(timestamp, 0, &request.time, &err), &err);
	if (flag(&context, "sign_body"))
		assert_ok(
			http_lines_add(&parsed.headers, &err, "x-amz-content-sha256:%s", body_hash),
			&err);
	if (flag(&context, "omit_session_token"))
		key.session_token = NULL;
	assert_ok(sigv4_sign(&request, &key, &parsed.headers, &err), &err);
	assert_ok(sigv4_canonical(&request, &canonical, &names, &err), &err);
	assert_part(vector, "header-canonical-request.txt", buf_slice(&canonical));
	assert_ok(sigv4_string_to_sign(&request, buf_slice(&canonical), &to_sign, &err), &err);
	assert_part(vector, "header-string-to-sign.txt", buf_slice(&to_sign));
	assert_ok(sigv4_signature(&request, secret, buf_slice(&to_sign), signature, &err), &err);
	assert_part(vector, "header-signature.txt", slice_text(signature));
	assert_non_null(strstr(parsed.headers.items[parsed.headers.n - 1], signature));
}

/* The example "GET Object" of the S3 API reference, "Authenticating requests: header". */
static void test_s3_example(void **state)
{
	CLEANUP(http_lines_free) struct http_lines headers = {0};
	struct error err = ERROR_INIT;
	struct sigv4_request request = {
		.method = "GET",
		.path = slice_text("/test.txt"),
		.body_hash = SIGV4_EMPTY_BODY,
		.region = "us-east-1",
		.service = "s3",
		.plain_path = true,
	};
	struct sigv4_key key = {"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
				NULL};

	(void)state;
	assert_ok(time_parse("2013-05-24T00:00:00Z", 0, &request.time, &err), &err);
	assert_ok(http_lines_add(&headers, &err, "Host: examplebucket.s3.amazonaws.com"), &err);
	assert_ok(http_lines_add(&headers, &err, "Range: bytes=0-9"), &err);
	assert_ok(http_lines_add(&headers, &err, "User-Agent: any"), &err);
	assert_ok(http_lines_add(&headers, &err, "x-amz-content-sha256: " SIGV4_EMPTY_BODY), &err);
	assert_ok(sigv4_sign(&request, &key, &headers, &err), &err);
	assert_non_null(strstr(
		headers.items[headers.n - 1],
		"SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
		"Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"));
}

static void find_vectors(const char *root)
{
	DIR *dir = opendir(root);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		struct vector *vector = &vectors[n_vectors];

		if (entry->d_name[0] == '.' || n_vectors == ARRAY_LEN(vectors))
			continue;
		snprintf(vector->folder, sizeof(vector->folder), "%s/%s", root, entry->d_name);
		vector->name = strrchr(vector->folder, '/') + 1;
		n_vectors++;
	}
	if (dir)
		closedir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_s3_example)};
	const char *root = test_data("sigv4/v4");
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	if (!root)
		test_skip("no test data (REFMT_TEST_DATA)");
	find_vectors(root);
	if (n_vectors < 30)
		return 1;
	return failed +
	       test_run_cases("vectors", test_vector, vectors, sizeof(vectors[0]), n_vectors);
}
