/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests through a proxy: what it is sent, what it is not, and that it opens no way to private
 * addresses.  The form of the requests: RFC 9110, sections 7.1 and 9.3.6, and RFC 7617.
 */
#include "test.h"

#include <unistd.h>

#include "harness/bad-server.h"
#include "net/http.h"
#include "net/lane.h"

struct proxy {
	unsigned int tunnel_to; /* port that every CONNECT leads to */
	int status;		/* instead of doing it, unless 0 */
	char method[16], target[8192], authorization[4096];
};

static void proxy_script(void *argument, struct bad_connection *c, const struct bad_request *q)
{
	struct proxy *proxy = argument;

	snprintf(proxy->method, sizeof(proxy->method), "%s", q->method);
	snprintf(proxy->target, sizeof(proxy->target), "%s", q->target);
	bad_header(q, "Proxy-Authorization", proxy->authorization);
	if (proxy->status)
		bad_reply_text(c, proxy->status, "", "no");
	else if (strcmp(q->method, "CONNECT") == 0)
		bad_tunnel(c, proxy->tunnel_to);
	else
		bad_serve(c, q, slice_text("0123456789"));
}

static void origin_script(void *argument, struct bad_connection *c, const struct bad_request *q)
{
	snprintf(argument, sizeof(q->head), "%s", q->head);
	bad_serve(c, q, slice_text("0123456789"));
}

static int get(const char *url, bool allow_private, bool trusted_name, struct error *err)
{
	static atomic_uint n;
	CLEANUP(http_answer_done) struct http_answer answer = {0};
	char lane[40];
	struct http_site site = {
		.allow_private = allow_private,
		.trusted_name = trusted_name,
		.timeout_ms = 3000,
		.connect_ms = 500,
	};
	struct http_request request = {
		.method = "GET", .url = url, .ranged = true, .offset = 3, .length = 4};
	int r;

	snprintf(lane, sizeof(lane), "proxied %u", n++);
	site.lane = lane_get(lane, err);
	r = http_call(&site, &request, &answer, err);
	if (r == 0 && answer.attempt.status == 206)
		assert_memory_equal(answer.attempt.body.data, "3456", 4);
	return r < 0 ? r : answer.attempt.status;
}

static void use_proxy(const struct bad_server *server)
{
	char proxy[100];

	snprintf(proxy, sizeof(proxy), "http://reader:pa55word@127.0.0.1:%u",
		 bad_server_port(server));
	setenv("http_proxy", proxy, 1);
	setenv("https_proxy", proxy, 1);
	unsetenv("no_proxy");
}

static void test_plain_requests_name_the_whole_url(void **state)
{
	struct proxy proxy = {0};
	CLEANUP(bad_server_stopp)
	struct bad_server *server = bad_server_start(proxy_script, &proxy, NULL);
	struct error err = ERROR_INIT;

	(void)state;
	use_proxy(server);
	/* A public address: nobody is asked for it but the proxy. */
	assert_int_equal(get("http://93.184.215.14/a%20b?c", false, false, &err), 206);
	assert_string_equal(proxy.target, "http://93.184.215.14/a%20b?c");
	/* "reader:pa55word" */
	assert_string_equal(proxy.authorization, "Basic cmVhZGVyOnBhNTV3b3Jk");
}

static void test_tls_goes_through_a_tunnel(void **state)
{
	static char head[32768];
	CLEANUP(bad_server_stopp)
	struct bad_server *origin = bad_server_start(origin_script, head, "localhost");
	struct proxy proxy = {.tunnel_to = bad_server_port(origin)};
	CLEANUP(bad_server_stopp)
	struct bad_server *server = bad_server_start(proxy_script, &proxy, NULL);
	struct error err = ERROR_INIT;
	char ca[] = "/tmp/refmt-ca-XXXXXX", url[100], want[100];
	int fd = mkstemp(ca);

	(void)state;
	assert_true(write(fd, bad_server_ca(origin), strlen(bad_server_ca(origin))) > 0);
	close(fd);
	setenv("SSL_CERT_FILE", ca, 1);
	use_proxy(server);
	snprintf(url, sizeof(url), "https://localhost:%u/object", bad_server_port(origin));
	snprintf(want, sizeof(want), "localhost:%u", bad_server_port(origin));
	assert_int_equal(get(url, true, false, &err), 206);
	assert_string_equal(proxy.method, "CONNECT");
	assert_string_equal(proxy.target, want);
	assert_string_equal(proxy.authorization, "Basic cmVhZGVyOnBhNTV3b3Jk");
	/* What is the proxy's the origin does not see. */
	assert_null(strcasestr(head, "proxy-"));
	/* The tunnel proves nothing: the certificate is the origin's own. */
	snprintf(url, sizeof(url), "https://elsewhere.test:%u/object", bad_server_port(origin));
	assert_int_equal(get(url, true, false, &err), ERR_NETWORK);
	assert_non_null(strstr(err.text, "certificate"));
	unsetenv("SSL_CERT_FILE");
	unlink(ca);
}

static void test_no_proxy_goes_direct(void **state)
{
	static char head[32768];
	CLEANUP(bad_server_stopp)
	struct bad_server *origin = bad_server_start(origin_script, head, NULL);
	struct proxy proxy = {0};
	CLEANUP(bad_server_stopp)
	struct bad_server *server = bad_server_start(proxy_script, &proxy, NULL);
	struct error err = ERROR_INIT;
	char url[100];

	(void)state;
	use_proxy(server);
	setenv("no_proxy", "127.0.0.0/8", 1);
	snprintf(url, sizeof(url), "http://127.0.0.1:%u/object", bad_server_port(origin));
	assert_int_equal(get(url, true, false, &err), 206);
	assert_int_equal(bad_server_requests(server), 0);
	assert_int_equal(bad_server_requests(origin), 1);
	unsetenv("no_proxy");
}

static struct refused_case {
	const char *name;
	const char *url;
} refused_cases[] = {
	{"loopback", "http://127.0.0.1/x"},
	{"metadata service", "http://169.254.169.254/latest/meta-data/"},
	{"private, over TLS", "https://10.0.0.1/x"},
	{"number for an address", "http://2130706433/x"},
	{"IPv4 inside IPv6", "https://[::ffff:127.0.0.1]/x"},
	{"name of the machine", "http://localhost/x"},
	{"name of the machine, as a domain", "https://localhost./x"},
	/* RFC 6761: resolves nowhere; a real one might be known to the proxy alone. */
	{"name that cannot be resolved here", "https://inner.invalid/x"},
};

static void test_private_addresses_are_refused(void **state)
{
	const struct refused_case *c = *state;
	struct proxy proxy = {0};
	CLEANUP(bad_server_stopp)
	struct bad_server *server = bad_server_start(proxy_script, &proxy, NULL);
	struct error err = ERROR_INIT;
	int r;

	use_proxy(server);
	r = get(c->url, false, false, &err);
	/* Where no name server answers, the deadline comes first. */
	if (r != ERR_DENIED && !(strstr(c->url, ".invalid") && r == ERR_TIMEOUT))
		fail_msg("result %d, error: %s", r, err.text);
	assert_int_equal(bad_server_requests(server), 0);
}

static void test_names_of_providers_are_left_to_the_proxy(void **state)
{
	struct proxy proxy = {0};
	CLEANUP(bad_server_stopp)
	struct bad_server *server = bad_server_start(proxy_script, &proxy, NULL);
	struct error err = ERROR_INIT;

	(void)state;
	use_proxy(server);
	assert_int_equal(get("http://bucket.invalid/x", false, true, &err), 206);
	assert_string_equal(proxy.target, "http://bucket.invalid/x");
}

static struct secret_case {
	const char *name;
	const char *url;
	int status; /* of the proxy; 0: nobody is there */
} secret_cases[] = {
	{"refused by the proxy", "https://93.184.215.14/x", 407},
	{"refused without a tunnel", "http://93.184.215.14/x", 407},
	{"tunnel fails", "https://93.184.215.14/x", 502},
	{"no proxy there", "https://93.184.215.14/x", 0},
};

static void test_errors_show_no_password(void **state)
{
	const struct secret_case *c = *state;
	struct proxy proxy = {.status = c->status};
	CLEANUP(bad_server_stopp)
	struct bad_server *server = bad_server_start(proxy_script, &proxy, NULL);
	struct error err = ERROR_INIT;
	int r;

	use_proxy(server);
	if (!c->status)
		bad_server_stopp(&server);
	r = get(c->url, false, false, &err);
	if (r != 407 && r >= 0)
		fail_msg("result %d", r);
	assert_null(strstr(err.text, "pa55word"));
	assert_null(strstr(err.text, "cmVhZGVy"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain_requests_name_the_whole_url),
		cmocka_unit_test(test_tls_goes_through_a_tunnel),
		cmocka_unit_test(test_no_proxy_goes_direct),
		cmocka_unit_test(test_names_of_providers_are_left_to_the_proxy),
	};
	int failed = RUN_CASES(test_private_addresses_are_refused, refused_cases);

	failed += RUN_CASES(test_errors_show_no_password, secret_cases);
	return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
