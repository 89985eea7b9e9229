/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "net/address.h"
#include "net/url.h"

static struct parse_case {
	const char *name;
	const char *text;
	const char *origin; /* NULL: refused */
	const char *target;
} parse_cases[] = {
	{"plain", "http://Host.Example/a/b?c=d#e", "http://host.example", "/a/b?c=d"},
	{"port", "https://h:8443", "https://h:8443", "/"},
	{"default port", "https://h:443/", "https://h", "/"},
	{"query without a path", "http://h?x", "http://h", "/?x"},
	{"IPv6", "http://[::1]:80/x", "http://[::1]", "/x"},
	{"user name", "http://user:pass@h/", NULL, NULL},
	{"other scheme", "ftp://h/", NULL, NULL},
	{"no host", "http:///x", NULL, NULL},
	{"port too large", "http://h:65536/", NULL, NULL},
	{"port that is none", "http://h:8x/", NULL, NULL},
	{"blank in the host", "http://a b/", NULL, NULL},
	{"backslash", "http://h\\@evil/", NULL, NULL},
};

static void test_parse(void **state)
{
	const struct parse_case *c = *state;
	CLEANUP(url_done) struct url url = {0};
	CLEANUP(freep) char *origin = NULL;
	struct error err = ERROR_INIT;
	int r = url_parse(c->text, &url, &err);

	if (!c->origin) {
		assert_int_equal(r, ERR_ARGUMENT);
		assert_null(strstr(err.text, "pass"));
		return;
	}
	assert_ok(r, &err);
	origin = url_origin(&url, &err);
	assert_string_equal(origin, c->origin);
	assert_string_equal(url.target, c->target);
}

/* RFC 3986, section 5.4.1, as far as Location headers need it. */
static struct resolve_case {
	const char *name;
	const char *reference, *want;
} resolve_cases[] = {
	{"absolute", "https://other/x", "https://other/x"},
	{"without scheme", "//other/x", "http://other/x"},
	{"path", "/g?y", "http://a/g?y"},
	{"relative", "g", "http://a/b/c/g"},
	{"other scheme", "ftp://x/", NULL},
};

static void test_resolve(void **state)
{
	const struct resolve_case *c = *state;
	CLEANUP(url_done) struct url base = {0};
	CLEANUP(freep) char *got = NULL;
	struct error err = ERROR_INIT;

	assert_ok(url_parse("http://a/b/c/d?q", &base, &err), &err);
	if (!c->want) {
		assert_int_equal(url_resolve(&base, c->reference, &got, &err), ERR_DENIED);
		return;
	}
	assert_ok(url_resolve(&base, c->reference, &got, &err), &err);
	assert_string_equal(got, c->want);
}

static struct redact_case {
	const char *name;
	const char *text, *want;
} redact_cases[] = {
	{"nothing to hide", "https://h/a?x=1&y=2", "https://h/a?x=1&y=2"},
	{"user name", "https://user:pass@h/a", "https://***@h/a"},
	{"S3 signature", "https://h/a?X-Amz-Credential=c&X-Amz-Signature=s&X-Amz-Date=d",
	 "https://h/a?X-Amz-Credential=***&X-Amz-Signature=***&X-Amz-Date=d"},
	{"Azure signature", "https://h/a?sv=1&sig=abc", "https://h/a?sv=1&sig=***"},
	{"escaped name", "https://h/a?s%69g=abc&sv=1", "https://h/a?s%69g=***&sv=1"},
	{"CloudFront", "https://h/a?Policy=p&Signature=s&Key-Pair-Id=k",
	 "https://h/a?Policy=***&Signature=***&Key-Pair-Id=***"},
};

static void test_redact(void **state)
{
	const struct redact_case *c = *state;
	struct error err = ERROR_INIT;
	CLEANUP(freep) char *got = url_redact(c->text, &err);

	assert_string_equal(got, c->want);
}

/* curl's manual, "Environment": http_proxy in small letters only, no_proxy by suffix. */
static struct proxy_case {
	const char *name;
	const char *url, *http, *https, *all, *no, *want;
} proxy_cases[] = {
	{"none", "http://h/", NULL, NULL, NULL, NULL, ""},
	{"http", "http://h/", "http://p:1", NULL, NULL, NULL, "http://p:1"},
	{"not for https", "https://h/", "http://p:1", NULL, NULL, NULL, ""},
	{"https", "https://h/", NULL, "http://p:2", NULL, NULL, "http://p:2"},
	{"all", "https://h/", NULL, NULL, "http://p:3", NULL, "http://p:3"},
	{"host excepted", "http://h/", "http://p:1", NULL, NULL, "x,h", ""},
	{"domain excepted", "http://a.b.c/", "http://p:1", NULL, NULL, ".b.c", ""},
	{"not by a part of a name", "http://ab.c/", "http://p:1", NULL, NULL, "b.c", "http://p:1"},
	{"everything excepted", "http://h/", "http://p:1", NULL, NULL, "*", ""},
	{"network excepted", "http://10.1.2.3/", "http://p:1", NULL, NULL, "10.0.0.0/8", ""},
	{"other network", "http://11.1.2.3/", "http://p:1", NULL, NULL, "10.0.0.0/8", "http://p:1"},
};

static void set(const char *name, const char *value)
{
	if (value)
		setenv(name, value, 1);
	else
		unsetenv(name);
}

static void test_proxy(void **state)
{
	const struct proxy_case *c = *state;
	CLEANUP(url_done) struct url url = {0};
	CLEANUP(freep) char *got = NULL;
	struct error err = ERROR_INIT;

	set("http_proxy", c->http);
	set("https_proxy", c->https);
	set("all_proxy", c->all);
	set("no_proxy", c->no);
	unsetenv("HTTPS_PROXY");
	unsetenv("ALL_PROXY");
	unsetenv("NO_PROXY");
	assert_ok(url_parse(c->url, &url, &err), &err);
	got = url_proxy(&url, &err);
	assert_string_equal(got, c->want);
}

static void test_illegal_bytes_are_escaped(void **state)
{
	CLEANUP(buf_done) struct buf got = BUF_INIT(1000);
	struct error err = ERROR_INIT;

	(void)state;
	assert_ok(url_escape_illegal(slice_text("/a b%20c?d=\"e\"&f#g\xc3\xbc"), &got, &err), &err);
	assert_true(slice_is(buf_slice(&got), "/a%20b%20c?d=%22e%22&f%23g%C3%BC"));
}

/* The IANA IPv4 and IPv6 special-purpose address registries. */
static struct address_case {
	const char *name;
	bool public;
} address_cases[] = {
	{"8.8.8.8", true},
	{"1.1.1.1", true},
	{"172.15.255.255", true},
	{"172.32.0.0", true},
	{"2600:1f14::1", true},
	{"64:ff9b::8.8.8.8", true},
	{"0.0.0.0", false},
	{"10.0.0.1", false},
	{"100.64.0.1", false},
	{"127.0.0.1", false},
	{"127.255.255.254", false},
	{"169.254.169.254", false},
	{"172.16.0.1", false},
	{"172.31.255.255", false},
	{"192.168.1.1", false},
	{"198.18.0.1", false},
	{"224.0.0.1", false},
	{"255.255.255.255", false},
	{"::", false},
	{"::1", false},
	{"::ffff:10.0.0.1", false},
	{"64:ff9b::10.0.0.1", false},
	{"2002:7f00:1::", false},
	{"fd00:ec2::254", false},
	{"fe80::1", false},
	{"ff02::1", false},
	{"localhost", false},
	{"127.1", false},
};

static void test_address(void **state)
{
	const struct address_case *c = *state;

	assert_int_equal(address_text_is_public(c->name), c->public);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_illegal_bytes_are_escaped),
	};
	int failed = RUN_CASES(test_parse, parse_cases);

	failed += RUN_CASES(test_resolve, resolve_cases);
	failed += RUN_CASES(test_redact, redact_cases);
	failed += RUN_CASES(test_proxy, proxy_cases);
	failed += RUN_CASES(test_address, address_cases);
	return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
