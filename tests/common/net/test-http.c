/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTP engine against a server that does every wrong thing.  Expected outcomes: the contract
 * in net/http.h and the field cases of stores; requests are counted, so that neither hammering nor
 * giving up early passes.
 */
#include "test.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <unistd.h>

#include "base/random.h"
#include "base/text.h"
#include "base/time.h"
#include "harness/bad-server.h"
#include "net/cancel.h"
#include "net/http.h"
#include "net/lane.h"

enum { OBJECT_SIZE = 100000 };

static uint8_t object_bytes[OBJECT_SIZE];

static struct slice object(void)
{
	if (!object_bytes[1])
		for (size_t i = 0; i < OBJECT_SIZE; i++)
			object_bytes[i] = (uint8_t)(i * 31 + i / 251);
	return slice_of(object_bytes, OBJECT_SIZE);
}

static struct http_site test_site(void)
{
	static atomic_uint n;
	struct error err = ERROR_INIT;
	char name[40];

	snprintf(name, sizeof(name), "test %u", n++);
	return (struct http_site){
		.lane = lane_get(name, &err),
		.allow_private = true,
		.timeout_ms = 3000,
		.stall_ms = 300,
		.connect_ms = 500,
	};
}

/* --- one answer wrong, what happens then --- */

struct wrong {
	const char *name;
	bad_script script;
	bool whole; /* the whole object, not a range */
	int want;
	unsigned int requests_least, requests_most;
	const char *text; /* in the error */
};

static void rst_before(void *argument, struct bad_connection *c, const struct bad_request *q)
{
	(void)argument;
	if (q->number == 1)
		bad_close(c, true);
	else
		bad_serve(c, q, object());
}

static void rst_always(void *argument, struct bad_connection *c, const struct bad_request *q)
{
	(void)argument;
	(void)q;
	bad_close(c, true);
}

static void rst_in_body(void *argument, struct bad_connection *c, const struct bad_request *q)
{
	(void)argument;
	if (q->number > 1) {
		bad_serve(c, q, object());
		return;
	}
	bad_send_text(c, "HTTP/1.1 206 x\r\nContent-Length: 1000\r\n"
			 "Content-Range: bytes 500-1499/100000\r\n\r\n");
	bad_send(c, object_bytes + 500, 400);
	bad_close(c, true);
}

static void rst_after(void *argument, struct bad_connection *c, const struct bad_request *q)
{
	(void)argument;
	bad_serve(c, q, object());
	/* Let the answer arrive before the reset overtakes it. */
	usleep(20000);
	bad_close(c, true);
}

static void short_body(void *argument, struct bad_connection *c, const struct bad_request *q)
{
	(void)argument;
	(void)q;
	bad_send_text(c, "HTTP/1.1 206 x\r\nContent-Length: 1000\r\n"
			 "Content-Range: bytes 500-1499/100000\r\n\r\n");
	bad_send(c, object_bytes + 500, 999);
	bad_close(c, false);
}

static void short_range(void *argument, struct bad_connection *c, const struct bad_request *q)
{
	(void)argument;
	(void)q;
	bad_reply(c, 206, "Content-Range: bytes 500-1398/100000\r\n",
		  slice_of(object_bytes + 500, 899));
}

static void lying_range(void *argument, struct bad_connection *c, const struct bad_request *q)
{
	(void)argument;
	(void)q;
	bad_reply(c, 206, "Content-Range: bytes 500-1499/100000\r\n",
		  slice_of(object_bytes + 500, 899));
}

static void other_range(void *argument, struct bad_connection *c, const struct bad_request *q)
{
	(void)argument;
	(void)q;
	bad_reply(c, 206, "Content-Range: bytes 0-999/100000\r\n", slice_of(object_bytes, 1000));
}

static void other_range_once(void *argument, struct bad_connection *c, const struct bad_request *q)
{
	if (q->number == 1)
		other_range(argument, c, q);
	else
		bad_serve(c, q, object());
}

static void no_content_range(void *argument, struct bad_connection *c, const struct bad_request *q)
{
	(void)argument;
	(void)q;
	bad_reply(c, 206, "", slice_of(object_bytes + 500, 1000));
}

static void garbage_content_range(void *argument, struct bad_connection *c,
				  const struct bad_request *q)
{
	(void)argument;
	(void)q;
	bad_reply(c, 206, "Content-Range: bytes 500-x/1\r\n", slice_of(object_bytes + 500, 1000));
}

static void whole_instead(void *argument, struct bad_connection *c, const struct bad_request *q)
{
	(void)argument;
	(void)q;
	bad_reply(c, 200, "", object());
}

static void whole_but_short(void *argument, struct bad_connection *c, const struct bad_request *q)
{
	(void)argument;
	(void)q;
	bad_reply(c, 200, "", slice_of(object_bytes, 1400));
}

static void whole_chunked(void *argument, struct bad_connection *c, const struct bad_request *q)
{
	(void)argument;
	(void)q;
	bad_send_text(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n186a0\r\n");
	bad_send(c, object_bytes, OBJECT_SIZE);
	bad_send_text(c, "\r\n0\r\nX-Trailer: 1\r\n\r\n");
}

static void chunked_broken(void *argument, struct bad_connection *c, const struct bad_request *q)
{
	(void)argument;
	(void)q;
	bad_send_text(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3e8\r\n");
	bad_send(c, object_bytes, 1000);
	bad_send_text(c, "\r\n");
	bad_close(c, false);
}

static void until_close(void *argument, struct bad_connection *c, const struct bad_request *q)
{
	(void)argument;
	(void)q;
	bad_send_text(c, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
	bad_send(c, object_bytes, 70000);
	bad_close(c, false);
}

static void gzipped(void *argument, struct bad_connection *c, const struct bad_request *q)
{
	(void)argument;
	(void)q;
	bad_reply(c, 206, "Content-Range: bytes 500-1499/100000\r\nContent-Encoding: gzip\r\n",
		  slice_of(object_bytes + 500, 1000));
}

static void part_instead(void *argument, struct bad_connection *c, const struct bad_request *q)
{
	(void)argument;
	(void)q;
	bad_reply(c, 206, "Content-Range: bytes 0-999/100000\r\n", slice_of(object_bytes, 1000));
}

static void stall_before(void *argument, struct bad_connection *c, const struct bad_request *q)
{
	(void)argument;
	if (q->number == 1)
		bad_stall(c, 10000);
	bad_serve(c, q, object());
}

static void stall_in_head(void *argument, struct bad_connection *c, const struct bad_request *q)
{
	(void)argument;
	if (q->number == 1) {
		bad_send_text(c, "HTTP/1.1 206 x\r\nContent-Le");
		bad_stall(c, 10000);
	}
	bad_serve(c, q, object());
}

static void stall_in_body(void *argument, struct bad_connection *c, const struct bad_request *q)
{
	(void)argument;
	if (q->number == 1) {
		bad_send_text(c, "HTTP/1.1 206 x\r\nContent-Length: 1000\r\n"
				 "Content-Range: bytes 500-1499/100000\r\n\r\n");
		bad_send(c, object_bytes + 500, 400);
		bad_stall(c, 10000);
		return;
	}
	bad_serve(c, q, object());
}

static void stall_always(void *argument, struct bad_connection *c, const struct bad_request *q)
{
	(void)argument;
	(void)q;
	bad_stall(c, 20000);
}

/* One byte every 10 ms: never silent, never done. */
static void drip(void *argument, struct bad_connection *c, const struct bad_request *q)
{
	(void)argument;
	if (q->number > 1) {
		bad_serve(c, q, object());
		return;
	}
	bad_send_text(c, "HTTP/1.1 206 x\r\nContent-Length: 1000\r\n"
			 "Content-Range: bytes 500-1499/100000\r\n\r\n");
	for (size_t i = 0; i < 1000; i++) {
		bad_send(c, object_bytes + 500 + i, 1);
		bad_stall(c, 10);
	}
}

static void error_500_once(void *argument, struct bad_connection *c, const struct bad_request *q)
{
	(void)argument;
	if (q->number == 1)
		bad_reply_text(c, 500, "", "<Error><Code>InternalError</Code></Error>");
	else
		bad_serve(c, q, object());
}

static void error_500(void *argument, struct bad_connection *c, const struct bad_request *q)
{
	(void)argument;
	(void)q;
	bad_reply_text(c, 500, "", "no");
}

static void throttled_once(void *argument, struct bad_connection *c, const struct bad_request *q)
{
	(void)argument;
	if (q->number == 1)
		bad_reply_text(c, 429, "", "");
	else
		bad_serve(c, q, object());
}

static void retry_after_1(void *argument, struct bad_connection *c, const struct bad_request *q)
{
	(void)argument;
	if (q->number == 1)
		bad_reply_text(c, 503, "Retry-After: 1\r\n", "");
	else
		bad_serve(c, q, object());
}

static void retry_after_long(void *argument, struct bad_connection *c, const struct bad_request *q)
{
	(void)argument;
	(void)q;
	bad_reply_text(c, 429, "Retry-After: 3600\r\n", "");
}

static void not_http(void *argument, struct bad_connection *c, const struct bad_request *q)
{
	(void)argument;
	(void)q;
	bad_send_text(c, "SSH-2.0-OpenSSH_9.2\r\n");
	bad_close(c, false);
}

static void endless_head(void *argument, struct bad_connection *c, const struct bad_request *q)
{
	(void)argument;
	(void)q;
	bad_send_text(c, "HTTP/1.1 200 OK\r\n");
	for (int i = 0; i < 20000; i++)
		bad_send_text(c, "X-Filler: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n");
	bad_close(c, false);
}

static void bad_length(void *argument, struct bad_connection *c, const struct bad_request *q)
{
	(void)argument;
	(void)q;
	bad_send_text(c, "HTTP/1.1 200 OK\r\nContent-Length: 12x\r\n\r\nabc");
	bad_close(c, false);
}

static struct wrong wrongs[] = {
	{"reset before the answer", rst_before, false, 0, 2, 2, NULL},
	{"reset before every answer", rst_always, false, ERR_TEMPORARY, 5, 14, "tries"},
	{"reset in the middle", rst_in_body, false, 0, 2, 2, NULL},
	{"reset after the answer", rst_after, false, 0, 1, 1, NULL},
	{"body shorter than its length", short_body, false, ERR_TEMPORARY, 2, 14, NULL},
	{"less than asked, consistently", short_range, false, ERR_FORMAT, 3, 3, "500-1398"},
	{"less than the range says", lying_range, false, ERR_FORMAT, 3, 3, "899 bytes"},
	{"another range", other_range, false, ERR_FORMAT, 3, 3, "bytes 0-999"},
	{"another range once", other_range_once, false, 0, 2, 2, NULL},
	{"206 without its range", no_content_range, false, ERR_FORMAT, 3, 3, "(none)"},
	{"206 with garbage", garbage_content_range, false, ERR_FORMAT, 3, 3, "500-x"},
	{"200 for a range", whole_instead, false, 0, 1, 1, NULL},
	{"200 for a range, too short", whole_but_short, false, ERR_FORMAT, 3, 3, "1400 bytes"},
	{"200 in chunks for a range", whole_chunked, false, 0, 1, 1, NULL},
	{"chunks for the whole", whole_chunked, true, 0, 1, 1, NULL},
	{"chunks that end early", chunked_broken, true, ERR_TEMPORARY, 2, 14, NULL},
	{"end of connection as the end", until_close, true, ERR_FORMAT, 3, 3, "cannot be told"},
	{"compressed", gzipped, false, ERR_FORMAT, 3, 3, "gzip"},
	{"part of the whole", part_instead, true, ERR_FORMAT, 3, 3, "part of an object"},
	{"stall before the answer", stall_before, false, 0, 2, 2, NULL},
	{"stall in the headers", stall_in_head, false, 0, 2, 2, NULL},
	{"stall in the body", stall_in_body, false, 0, 2, 2, NULL},
	{"stall for ever", stall_always, false, ERR_TIMEOUT, 2, 20, "stalled"},
	{"slow drip", drip, false, 0, 2, 2, NULL},
	{"500 once", error_500_once, false, 0, 2, 2, NULL},
	{"500 always", error_500, false, ERR_TEMPORARY, 5, 13, "HTTP 500"},
	{"429 once", throttled_once, false, 0, 2, 2, NULL},
	{"503 with Retry-After", retry_after_1, false, 0, 2, 2, NULL},
	{"429 with a Retry-After beyond the deadline", retry_after_long, false, ERR_THROTTLED, 1, 1,
	 "3600 s"},
	{"not HTTP at all", not_http, false, ERR_FORMAT, 3, 3, NULL},
	{"headers without end", endless_head, true, ERR_FORMAT, 2, 14, NULL},
	{"length that is no number", bad_length, true, ERR_FORMAT, 1, 14, NULL},
};

static void assert_bytes(const struct wrong *c, const struct http_answer *answer)
{
	const struct buf *body = &answer->attempt.body;

	if (c->whole) {
		assert_int_equal(body->size, OBJECT_SIZE);
		assert_memory_equal(body->data, object_bytes, OBJECT_SIZE);
		return;
	}
	assert_int_equal(body->size, 1000);
	assert_memory_equal(body->data, object_bytes + 500, 1000);
}

static void test_wrong(void **state)
{
	const struct wrong *c = *state;
	CLEANUP(bad_server_stopp) struct bad_server *server = NULL;
	CLEANUP(http_answer_done) struct http_answer answer = {0};
	struct http_site site = test_site();
	struct error err = ERROR_INIT;
	char url[100];
	int64_t start;
	int r;

	object();
	server = bad_server_start(c->script, NULL, NULL);
	snprintf(url, sizeof(url), "http://127.0.0.1:%u/x", bad_server_port(server));
	struct http_request request = {
		.method = "GET",
		.url = url,
		.ranged = !c->whole,
		.offset = 500,
		.length = 1000,
	};
	start = time_monotonic();
	r = http_call(&site, &request, &answer, &err);
	if (r != c->want)
		fail_msg("result %d, %u requests, error: %s", r, bad_server_requests(server),
			 err.text);
	assert_true(time_monotonic() - start < 3600000);
	if (bad_server_requests(server) < c->requests_least ||
	    bad_server_requests(server) > c->requests_most)
		fail_msg("%u requests", bad_server_requests(server));
	if (c->text && !strstr(err.text, c->text))
		fail_msg("error: %s", err.text);
	if (r == 0)
		assert_bytes(c, &answer);
}

/* --- redirects --- */

struct redirect {
	const char *location;
	int status;
	char seen[4096]; /* Authorization of the last request */
};

static void redirect_script(void *argument, struct bad_connection *c, const struct bad_request *q)
{
	struct redirect *redirect = argument;
	char headers[1024];

	bad_header(q, "Authorization", redirect->seen);
	if (strcmp(q->target, "/start") != 0) {
		bad_serve(c, q, object());
		return;
	}
	snprintf(headers, sizeof(headers), "Location: %s\r\n", redirect->location);
	bad_reply_text(c, redirect->status, headers, "moved");
}

static int sign_secret(void *argument, bool renew, const char *method, const char *url,
		       struct slice body, struct http_lines *headers, struct error *err)
{
	(void)argument;
	(void)renew;
	(void)method;
	(void)url;
	(void)body;
	return http_lines_add(headers, err, "Authorization: secret");
}

static int get_redirected(struct redirect *redirect, bool allow_private, struct error *err)
{
	CLEANUP(bad_server_stopp) struct bad_server *server = NULL;
	CLEANUP(http_answer_done) struct http_answer answer = {0};
	struct http_site site = test_site();
	char url[100];
	struct http_request request = {.method = "GET", .url = url, .redirects = 3};
	int r;

	site.sign = sign_secret;
	site.allow_private = allow_private;
	server = bad_server_start(redirect_script, redirect, NULL);
	snprintf(url, sizeof(url), "http://127.0.0.1:%u/start", bad_server_port(server));
	r = http_call(&site, &request, &answer, err);
	return r < 0 ? r : answer.attempt.status;
}

static void test_redirect_on_the_same_host_keeps_credentials(void **state)
{
	struct redirect redirect = {.location = "/there", .status = 307};
	struct error err = ERROR_INIT;

	(void)state;
	assert_int_equal(get_redirected(&redirect, true, &err), 200);
	assert_string_equal(redirect.seen, "secret");
}

static void test_redirect_to_another_host_gets_no_credentials(void **state)
{
	struct redirect other = {.location = "/never"};
	CLEANUP(bad_server_stopp)
	struct bad_server *stranger = bad_server_start(redirect_script, &other, NULL);
	struct redirect redirect = {.status = 301};
	struct error err = ERROR_INIT;
	char location[100];

	(void)state;
	snprintf(location, sizeof(location), "http://127.0.0.1:%u/x", bad_server_port(stranger));
	redirect.location = location;
	assert_int_equal(get_redirected(&redirect, true, &err), 200);
	assert_int_equal(bad_server_requests(stranger), 1);
	assert_string_equal(other.seen, "");
}

static struct redirect_case {
	const char *name;
	const char *location;
	int want;
} redirect_cases[] = {
	{"private address", "http://10.0.0.1/x", ERR_DENIED},
	{"metadata service", "http://169.254.169.254/latest/meta-data/", ERR_DENIED},
	{"name of the machine", "http://localhost:1/x", ERR_DENIED},
	{"IPv6 loopback", "http://[::1]/x", ERR_DENIED},
	{"IPv4 inside IPv6", "http://[::ffff:127.0.0.1]/x", ERR_DENIED},
	{"another scheme", "file:///etc/passwd", ERR_DENIED},
	{"in a circle", "/start", ERR_NETWORK},
};

static void test_redirects_that_are_refused(void **state)
{
	const struct redirect_case *c = *state;
	struct redirect redirect = {.location = c->location, .status = 302};
	struct error err = ERROR_INIT;
	int r = get_redirected(&redirect, true, &err);

	if (r != c->want)
		fail_msg("result %d, error: %s", r, err.text);
}

static void test_private_addresses_need_permission(void **state)
{
	struct redirect redirect = {.location = "/there", .status = 307};
	struct error err = ERROR_INIT;

	(void)state;
	assert_int_equal(get_redirected(&redirect, false, &err), ERR_DENIED);
	assert_non_null(strstr(err.text, "not public"));
}

/* The name resolves to loopback: only the guard at the socket can know. */
static void test_names_are_judged_by_their_address(void **state)
{
	struct redirect redirect = {.location = "/there", .status = 307};
	CLEANUP(bad_server_stopp)
	struct bad_server *server = bad_server_start(redirect_script, &redirect, NULL);
	CLEANUP(http_answer_done) struct http_answer first = {0};
	CLEANUP(http_answer_done) struct http_answer second = {0};
	struct http_site site = test_site();
	struct error err = ERROR_INIT;
	char url[100];
	struct http_request request = {.method = "GET", .url = url};

	(void)state;
	snprintf(url, sizeof(url), "http://localhost:%u/x", bad_server_port(server));
	site.allow_private = false;
	assert_int_equal(http_call(&site, &request, &first, &err), ERR_DENIED);
	assert_int_equal(bad_server_requests(server), 0);
	/* A connection that somebody with permission has opened must not help. */
	site.allow_private = true;
	assert_ok(http_call(&site, &request, &first, &err), &err);
	site.allow_private = false;
	assert_int_equal(http_call(&site, &request, &second, &err), ERR_DENIED);
	assert_int_equal(bad_server_requests(server), 1);
}

/* --- TLS --- */

static void write_text(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	fputs(text, file);
	fclose(file);
}

static int get_tls(const char *certificate_name, bool trusted, struct error *err)
{
	struct redirect redirect = {0};
	CLEANUP(bad_server_stopp)
	struct bad_server *server = bad_server_start(redirect_script, &redirect, certificate_name);
	CLEANUP(http_answer_done) struct http_answer answer = {0};
	struct http_site site = test_site();
	char url[100], path[] = "/tmp/refmt-ca-XXXXXX";
	struct http_request request = {.method = "GET", .url = url};
	int r;

	close(mkstemp(path));
	write_text(path, bad_server_ca(server));
	if (trusted)
		setenv("SSL_CERT_FILE", path, 1);
	snprintf(url, sizeof(url), "https://localhost:%u/x", bad_server_port(server));
	r = http_call(&site, &request, &answer, err);
	unsetenv("SSL_CERT_FILE");
	unlink(path);
	return r < 0 ? r : answer.attempt.status;
}

static void test_tls_is_verified(void **state)
{
	struct error err = ERROR_INIT;

	(void)state;
	assert_int_equal(get_tls("localhost", true, &err), 200);
	assert_int_equal(get_tls("elsewhere.test", true, &err), ERR_NETWORK);
	assert_non_null(strstr(err.text, "certificate"));
	assert_int_equal(get_tls("localhost", false, &err), ERR_NETWORK);
	assert_non_null(strstr(err.text, "certificate"));
}

/* --- cancelling, deadlines, hedging --- */

static void *fire_later(void *argument)
{
	usleep(100000);
	cancel_fire(argument);
	return NULL;
}

static int get_stalled(struct http_site *site, struct error *err)
{
	CLEANUP(bad_server_stopp)
	struct bad_server *server = bad_server_start(stall_always, NULL, NULL);
	CLEANUP(http_answer_done) struct http_answer answer = {0};
	char url[100];
	struct http_request request = {.method = "GET", .url = url};

	site->stall_ms = 20000;
	snprintf(url, sizeof(url), "http://127.0.0.1:%u/x", bad_server_port(server));
	return http_call(site, &request, &answer, err);
}

static void test_cancelling(void **state)
{
	struct http_site site = test_site();
	struct error err = ERROR_INIT;
	struct cancel cancel;
	int64_t start = time_monotonic();
	pthread_t thread;

	(void)state;
	cancel_enter(&cancel, 0);
	pthread_create(&thread, NULL, fire_later, &cancel);
	assert_int_equal(get_stalled(&site, &err), ERR_INTERRUPTED);
	pthread_join(thread, NULL);
	assert_int_equal(get_stalled(&site, &err), ERR_INTERRUPTED);
	cancel_leave(&cancel);
	assert_true(time_monotonic() - start < 1000000);
}

static void test_deadlines(void **state)
{
	struct http_site site = test_site();
	struct error err = ERROR_INIT;
	struct cancel cancel;
	int64_t start = time_monotonic();

	(void)state;
	site.timeout_ms = 300;
	assert_int_equal(get_stalled(&site, &err), ERR_TIMEOUT);
	assert_true(time_monotonic() - start < 800000);
	site.timeout_ms = 20000;
	start = time_monotonic();
	cancel_enter(&cancel, start + 300000);
	assert_int_equal(get_stalled(&site, &err), ERR_TIMEOUT);
	cancel_leave(&cancel);
	assert_true(time_monotonic() - start < 800000);
}

static void stall_number_101(void *argument, struct bad_connection *c, const struct bad_request *q)
{
	(void)argument;
	if (q->number == 101)
		bad_stall(c, 5000);
	bad_serve(c, q, object());
}

static void test_overdue_reads_are_sent_twice(void **state)
{
	CLEANUP(bad_server_stopp)
	struct bad_server *server = bad_server_start(stall_number_101, NULL, NULL);
	struct http_site site = test_site();
	struct error err = ERROR_INIT;
	char url[100];
	struct http_request request = {
		.method = "GET",
		.url = url,
		.ranged = true,
		.offset = 500,
		.length = 1000,
		.hedge = true,
	};
	int64_t start = time_monotonic();

	(void)state;
	object();
	site.stall_ms = 4000;
	snprintf(url, sizeof(url), "http://127.0.0.1:%u/x", bad_server_port(server));
	for (int i = 0; i < 110; i++) {
		CLEANUP(http_answer_done) struct http_answer answer = {0};

		assert_ok(http_call(&site, &request, &answer, &err), &err);
		assert_memory_equal(answer.attempt.body.data, object_bytes + 500, 1000);
	}
	assert_true(time_monotonic() - start < 3000000);
	/* The stalled one, and perhaps a few that the machine itself delayed. */
	assert_in_range(lane_counts(site.lane).hedges, 1, 12);
}

static void test_nobody_there(void **state)
{
	CLEANUP(http_answer_done) struct http_answer answer = {0};
	struct http_site site = test_site();
	struct error err = ERROR_INIT;
	struct http_request request = {.method = "GET", .url = "http://127.0.0.1:9/"};

	(void)state;
	assert_int_equal(http_call(&site, &request, &answer, &err), ERR_TEMPORARY);
	assert_non_null(strstr(err.text, "5 tries"));
}

/* A server that accepts connections and neither reads nor writes. */
static int silent_server(unsigned int *ret_port)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
	assert_int_equal(listen(fd, 64), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
	*ret_port = ntohs(address.sin_port);
	return fd;
}

static void test_a_silent_server_holds_nobody(void **state)
{
	CLEANUP(http_answer_done) struct http_answer answer = {0};
	CLEANUP(freep) uint8_t *upload = calloc(1, 16 << 20);
	struct http_site site = test_site();
	struct error err = ERROR_INIT;
	unsigned int port;
	CLEANUP(closep) int fd = silent_server(&port);
	char url[100];
	struct http_request request = {.method = "GET", .url = url};
	int64_t start = time_monotonic();

	(void)state;
	(void)fd; /* only to be held open */
	/* The greeting of TLS belongs to connecting. */
	site.connect_ms = 200;
	snprintf(url, sizeof(url), "https://127.0.0.1:%u/x", port);
	assert_int_equal(http_call(&site, &request, &answer, &err), ERR_TEMPORARY);
	assert_non_null(strstr(err.text, "5 tries"));
	/* More than the buffers between hold: its sending stalls. */
	site.tries = 3;
	snprintf(url, sizeof(url), "http://127.0.0.1:%u/x", port);
	request.method = "PUT";
	request.body = slice_of(upload, 16 << 20);
	assert_int_equal(http_call(&site, &request, &answer, &err), ERR_TEMPORARY);
	assert_non_null(strstr(err.text, "stalled"));
	assert_true(time_monotonic() - start < 8000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_redirect_on_the_same_host_keeps_credentials),
		cmocka_unit_test(test_redirect_to_another_host_gets_no_credentials),
		cmocka_unit_test(test_private_addresses_need_permission),
		cmocka_unit_test(test_names_are_judged_by_their_address),
		cmocka_unit_test(test_tls_is_verified),
		cmocka_unit_test(test_cancelling),
		cmocka_unit_test(test_deadlines),
		cmocka_unit_test(test_overdue_reads_are_sent_twice),
		cmocka_unit_test(test_nobody_there),
		cmocka_unit_test(test_a_silent_server_holds_nobody),
	};
	int failed = RUN_CASES(test_wrong, wrongs);

	failed += RUN_CASES(test_redirects_that_are_refused, redirect_cases);
	return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
