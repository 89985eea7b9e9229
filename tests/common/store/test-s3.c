/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The S3 driver against answers that real services give on bad days.  Codes and statuses: the
 * error table of the S3 API reference; write ids: formats/icechunk, "Storage requirements".
 */
#include "scripted.h"

#include <unistd.h>

#include "base/text.h"
#include "net/engine.h"

struct script {
	const char *name;
	bad_script run;
	int (*act)(struct store *store, struct error *err);
	int want;
	unsigned int requests_least, requests_most;
	const char *text; /* in the error */
	char first_id[4096];
	unsigned int seen;
};

static int act_head(struct store *store, struct error *err)
{
	struct store_info info;

	return store_head(store, "key", &info, err);
}

static int act_replace(struct store *store, struct error *err)
{
	struct version version = {.text = "\"old\""}, written = {0};
	int r = store_replace(store, "key", &version, slice_text("new"), &written, err);

	if (r == 0 && strcmp(written.text, "\"ours\"") != 0)
		return error_set(err, ERR_FORMAT, "version %s", written.text);
	return r;
}

static int list_nothing(void *argument, const struct store_entry *entry, struct error *err)
{
	(void)argument;
	(void)entry;
	(void)err;
	return 0;
}

static int act_list(struct store *store, struct error *err)
{
	return store_list(store, "", false, list_nothing, NULL, err);
}

static void good(struct bad_connection *c, const struct bad_request *q)
{
	bad_serve(c, q, slice_text("0123456789"));
}

#define ERROR_XML(code) "<?xml version=\"1.0\"?><Error><Code>" code "</Code></Error>"

static void expired_400_once(void *argument, struct bad_connection *c, const struct bad_request *q)
{
	(void)argument;
	if (q->number == 1)
		bad_reply_text(c, 400, "", ERROR_XML("ExpiredToken"));
	else
		good(c, q);
}

static void expired_400(void *argument, struct bad_connection *c, const struct bad_request *q)
{
	(void)argument;
	(void)q;
	bad_reply_text(c, 400, "", ERROR_XML("ExpiredToken"));
}

static void denied_once(void *argument, struct bad_connection *c, const struct bad_request *q)
{
	(void)argument;
	if (q->number == 1)
		bad_reply_text(c, 403, "", ERROR_XML("AccessDenied"));
	else
		good(c, q);
}

static void denied(void *argument, struct bad_connection *c, const struct bad_request *q)
{
	(void)argument;
	(void)q;
	bad_reply_text(c, 403, "", ERROR_XML("AccessDenied"));
}

static void no_key(void *argument, struct bad_connection *c, const struct bad_request *q)
{
	(void)argument;
	(void)q;
	bad_reply_text(c, 404, "", ERROR_XML("NoSuchKey"));
}

static void no_bucket(void *argument, struct bad_connection *c, const struct bad_request *q)
{
	(void)argument;
	(void)q;
	bad_reply_text(c, 404, "", ERROR_XML("NoSuchBucket"));
}

static void slow_down_once(void *argument, struct bad_connection *c, const struct bad_request *q)
{
	(void)argument;
	if (q->number == 1)
		bad_reply_text(c, 503, "", ERROR_XML("SlowDown"));
	else
		good(c, q);
}

static void slow_down(void *argument, struct bad_connection *c, const struct bad_request *q)
{
	(void)argument;
	(void)q;
	bad_reply_text(c, 503, "", ERROR_XML("SlowDown"));
}

static void shorter_now(void *argument, struct bad_connection *c, const struct bad_request *q)
{
	(void)argument;
	(void)q;
	bad_reply_text(c, 416, "", ERROR_XML("InvalidRange"));
}

static void other_region(void *argument, struct bad_connection *c, const struct bad_request *q)
{
	char authorization[4096];

	(void)argument;
	bad_header(q, "Authorization", authorization);
	if (strstr(authorization, "/eu-north-1/"))
		good(c, q);
	else
		bad_reply_text(c, 301, "x-amz-bucket-region: eu-north-1\r\n",
			       ERROR_XML("PermanentRedirect"));
}

static void garbage(void *argument, struct bad_connection *c, const struct bad_request *q)
{
	(void)argument;
	(void)q;
	bad_reply_text(c, 200, "", "<ListBucketResult><Contents><Key>a</Ke");
}

static void page_of_a_portal(void *argument, struct bad_connection *c, const struct bad_request *q)
{
	(void)argument;
	(void)q;
	bad_reply_text(c, 200, "", "<html><body>Please log in</body></html>");
}

static void bomb(void *argument, struct bad_connection *c, const struct bad_request *q)
{
	(void)argument;
	(void)q;
	bad_reply_text(
		c, 200, "",
		"<!DOCTYPE x [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;\">"
		"<!ENTITY c \"&b;&b;&b;&b;&b;&b;&b;&b;\">]><ListBucketResult>&c;&c;&c;"
		"</ListBucketResult>");
}

static void endless_list(void *argument, struct bad_connection *c, const struct bad_request *q)
{
	(void)argument;
	(void)q;
	bad_reply_text(c, 200, "",
		       "<ListBucketResult><IsTruncated>true</IsTruncated>"
		       "<NextContinuationToken>x</NextContinuationToken></ListBucketResult>");
}

static void cut_list(void *argument, struct bad_connection *c, const struct bad_request *q)
{
	(void)argument;
	(void)q;
	bad_reply_text(c, 200, "",
		       "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>");
}

static void error_in_200(void *argument, struct bad_connection *c, const struct bad_request *q)
{
	(void)argument;
	if (q->number == 1)
		bad_reply_text(c, 200, "", ERROR_XML("InternalError"));
	else
		bad_reply_text(c, 200, "", "<CopyObjectResult><ETag>x</ETag></CopyObjectResult>");
}

/* The write is done, its answer lost; the second try meets what the first has written. */
static void lost_answer(void *argument, struct bad_connection *c, const struct bad_request *q)
{
	struct script *script = argument;
	char headers[5000];

	if (strcmp(q->method, "PUT") == 0 && script->seen++ == 0) {
		bad_header(q, "x-amz-meta-icechunk_write_id", script->first_id);
		bad_close(c, true);
	} else if (strcmp(q->method, "PUT") == 0) {
		bad_reply_text(c, 412, "", ERROR_XML("PreconditionFailed"));
	} else {
		snprintf(headers, sizeof(headers),
			 "ETag: \"ours\"\r\nx-amz-meta-icechunk_write_id: %s\r\n",
			 script->first_id);
		bad_reply_text(c, 200, headers, "new");
	}
}

static void lost_for_good(void *argument, struct bad_connection *c, const struct bad_request *q)
{
	struct script *script = argument;
	char headers[5000];

	if (strcmp(q->method, "PUT") == 0) {
		bad_header(q, "x-amz-meta-icechunk_write_id", script->first_id);
		bad_close(c, true);
		return;
	}
	snprintf(headers, sizeof(headers), "ETag: \"ours\"\r\nx-amz-meta-icechunk_write_id: %s\r\n",
		 script->first_id);
	bad_reply_text(c, 200, headers, "new");
}

static void conflict(void *argument, struct bad_connection *c, const struct bad_request *q)
{
	(void)argument;
	if (strcmp(q->method, "PUT") == 0)
		bad_reply_text(c, 412, "", ERROR_XML("PreconditionFailed"));
	else
		bad_reply_text(c, 200,
			       "ETag: \"theirs\"\r\nx-amz-meta-icechunk_write_id: somebody\r\n",
			       "x");
}

static void conflict_409(void *argument, struct bad_connection *c, const struct bad_request *q)
{
	(void)argument;
	if (strcmp(q->method, "PUT") == 0)
		bad_reply_text(c, 409, "", ERROR_XML("ConditionalRequestConflict"));
	else
		bad_reply_text(c, 200, "ETag: \"theirs\"\r\n", "x");
}

static void not_implemented(void *argument, struct bad_connection *c, const struct bad_request *q)
{
	(void)argument;
	(void)q;
	bad_reply_text(c, 501, "", ERROR_XML("NotImplemented"));
}

static struct script scripts[] = {
	{"ExpiredToken as 400, then 200", expired_400_once, act_get, 0, 2, 2, NULL},
	{"ExpiredToken for ever", expired_400, act_get, ERR_DENIED, 2, 2, "ExpiredToken"},
	{"403, then 200", denied_once, act_get, 0, 2, 2, NULL},
	{"403 for ever", denied, act_get, ERR_DENIED, 2, 2, "AccessDenied"},
	{"no such key", no_key, act_get, STORE_ABSENT, 1, 1, NULL},
	{"no such key, asked by HEAD", no_key, act_head, STORE_ABSENT, 2, 2, NULL},
	{"no such bucket is no absent object", no_bucket, act_get, ERR_ABSENT, 1, 1, "no bucket"},
	{"no such bucket, asked by HEAD", no_bucket, act_head, ERR_ABSENT, 2, 2, "no bucket"},
	{"SlowDown once", slow_down_once, act_get, 0, 2, 2, NULL},
	{"SlowDown for ever", slow_down, act_get, ERR_THROTTLED, 2, 30, "throttled"},
	{"shorter than the range", shorter_now, act_get, ERR_FORMAT, 1, 1, "shorter"},
	{"another region", other_region, act_get, 0, 2, 2, NULL},
	{"garbage for a listing", garbage, act_list, ERR_FORMAT, 3, 3, "XML"},
	{"a portal's page for a listing", page_of_a_portal, act_list, ERR_FORMAT, 3, 3, "<html"},
	{"an XML bomb", bomb, act_list, ERR_FORMAT, 3, 3, "document type"},
	{"a listing in a circle", endless_list, act_list, ERR_FORMAT, 2, 2, "circle"},
	{"a listing cut off", cut_list, act_list, ERR_FORMAT, 3, 3, "where"},
	{"an error inside a 200", error_in_200, act_copy, 0, 2, 2, NULL},
	{"412 with our own write id", lost_answer, act_replace, 0, 3, 3, NULL},
	{"no answer, but our own write id", lost_for_good, act_replace, 0, 3, 14, NULL},
	{"412 with another's write id", conflict, act_replace, STORE_CHANGED, 2, 2, NULL},
	{"409 in a race", conflict_409, act_replace, STORE_CHANGED, 2, 2, NULL},
	{"no conditional writes", not_implemented, act_replace, ERR_UNSUPPORTED, 1, 1, "501"},
};

static void test_script(void **state)
{
	struct script *c = *state;

	scripted_run(&(struct scripted){
		.url = "s3://bucket/prefix",
		.anonymous = false,
		.run = c->run,
		.argument = c,
		.act = c->act,
		.want = c->want,
		.requests_least = c->requests_least,
		.requests_most = c->requests_most,
		.text = c->text,
	});
}

/* "Checksum headers nobody asked for": what a plain write sends is what is listed here. */
static void note_headers(void *argument, struct bad_connection *c, const struct bad_request *q)
{
	snprintf(argument, 4096, "%.4000s", q->head);
	bad_reply_text(c, 200, "ETag: \"1\"\r\n", "");
}

static void test_no_checksum_headers_nobody_asked_for(void **state)
{
	char head[4096] = "";
	CLEANUP(bad_server_stopp)
	struct bad_server *server = bad_server_start(note_headers, head, NULL);
	CLEANUP(store_freep) struct store *store = NULL;
	struct error err = ERROR_INIT;
	char endpoint[100];
	struct store_options options = {
		.endpoint_url = endpoint, .allow_private = true, .requester_pays = true};

	(void)state;
	snprintf(endpoint, sizeof(endpoint), "http://127.0.0.1:%u", bad_server_port(server));
	assert_ok(store_open("s3://bucket", &options, &store, &err), &err);
	assert_ok(store_put(store, "key", slice_text("x"), &err), &err);
	assert_null(strcasestr(head, "checksum"));
	assert_null(strcasestr(head, "md5"));
	assert_null(strcasestr(head, "expect:"));
	assert_null(strcasestr(head, "write_id"));
	assert_non_null(strcasestr(head, "x-amz-request-payer: requester"));
	assert_non_null(strcasestr(head, "x-amz-request-payer,"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_checksum_headers_nobody_asked_for),
	};
	int failed;

	/* The example key of the AWS documentation. */
	setenv("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE", 1);
	setenv("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", 1);
	unsetenv("AWS_REGION");
	unsetenv("AWS_DEFAULT_REGION");
	setenv("AWS_CONFIG_FILE", "/nonexistent", 1);
	setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent", 1);
	failed = RUN_CASES(test_script, scripts);
	return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
