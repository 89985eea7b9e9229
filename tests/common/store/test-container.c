/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/bad-server.h"
#include "store/container.h"
#include "temp.h"

static struct root_case {
	const char *name;
	const char *location;
	size_t root;
} root_cases[] = {
	{"S3", "s3://bucket/a/b", 12},
	{"bucket alone", "s3://bucket", 11},
	{"empty key part", "s3://bucket//x", 12},
	{"Google", "gs://bucket/x", 12},
	{"Google by its long name", "gcs://bucket/x", 13},
	{"Azure", "az://container/x", 15},
	{"web", "https://host:8/a?b", 15},
	{"file", "file:///a/b", 8},
	{"file with a host", "file://host/a", 0},
	{"no bucket", "s3:///x", 0},
	{"a query without a path", "https://host?x", 0},
	{"a path", "/a/b", 0},
	{"unknown scheme", "ftp://host/x", 0},
};

static void test_root(void **state)
{
	const struct root_case *c = *state;

	assert_int_equal(store_location_root(c->location), c->root);
}

struct fixture {
	char folder[TEMP_MAX];
	char url[2 * TEMP_MAX];
};

static void put(const char *folder, const char *name, const char *text)
{
	char path[3 * TEMP_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	char path[2 * TEMP_MAX];

	temp_make(f->folder);
	snprintf(path, sizeof(path), "%s/data", f->folder);
	mkdir(path, 0700);
	put(path, "a b", "blank");
	put(path, "a%20b", "escape");
	put(path, "c", "c");
	put(path, "c#1", "hash");
	put(path, "q", "q");
	put(path, "q?x", "query");
	snprintf(path, sizeof(path), "%s/database", f->folder);
	mkdir(path, 0700);
	put(path, "secret", "secret");
	snprintf(path, sizeof(path), "%s/data/link", f->folder);
	assert_int_equal(symlink("../database/secret", path), 0);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	temp_remove(f->folder);
	free(f);
	return 0;
}

static int get(const char *prefix, const char *mapped, const char *location, struct buf *out)
{
	struct store_options options = {0};
	CLEANUP(store_freep) struct store *store = NULL;
	struct error err = ERROR_INIT;

	buf_clear(out);
	assert_ok(store_open_container(prefix, mapped, &options, &store, &err), &err);
	return store_get_all(store, location + store_location_root(location), out, NULL, &err);
}

/* Field case "icechunk 1": exactly the named object, or an error. */
static void test_a_location_is_a_name(void **state)
{
	static const char *const names[][2] = {
		{"a b", "blank"}, {"a%20b", "escape"}, {"c#1", "hash"}, {"q?x", "query"}};
	struct fixture *f = *state;
	CLEANUP(buf_done) struct buf got = BUF_INIT(100);
	char location[3 * TEMP_MAX], data[2 * TEMP_MAX];

	snprintf(f->url, sizeof(f->url), "file://%s/data", f->folder);
	snprintf(data, sizeof(data), "%s/data", f->folder);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		snprintf(location, sizeof(location), "%s/%s", f->url, names[i][0]);
		assert_int_equal(get(f->url, NULL, location, &got), 0);
		assert_true(slice_is(buf_slice(&got), names[i][1]));
		snprintf(location, sizeof(location), "s3://bucket/x/%s", names[i][0]);
		assert_int_equal(get("s3://bucket/x", data, location, &got), 0);
		assert_true(slice_is(buf_slice(&got), names[i][1]));
	}
}

/* Field case "icechunk 2" and decision 7. */
static void test_a_prefix_ends_at_a_boundary_and_is_never_left(void **state)
{
	struct fixture *f = *state;
	CLEANUP(buf_done) struct buf got = BUF_INIT(100);
	char location[3 * TEMP_MAX];

	snprintf(f->url, sizeof(f->url), "file://%s/data", f->folder);
	snprintf(location, sizeof(location), "file://%s/database/secret", f->folder);
	assert_int_equal(get(f->url, NULL, location, &got), ERR_DENIED);
	snprintf(location, sizeof(location), "%s/../database/secret", f->url);
	assert_int_equal(get(f->url, NULL, location, &got), ERR_DENIED);
	snprintf(location, sizeof(location), "%s/link", f->url);
	assert_int_equal(get(f->url, NULL, location, &got), ERR_DENIED);
	snprintf(location, sizeof(location), "%s/none", f->url);
	assert_int_equal(get(f->url, NULL, location, &got), STORE_ABSENT);
}

static void echo_target(void *argument, struct bad_connection *c, const struct bad_request *q)
{
	char authorization[4096];

	(void)argument;
	bad_header(q, "Authorization", authorization);
	bad_reply_text(c, authorization[0] ? 400 : 200, "ETag: \"1\"\r\n", q->target);
}

static struct mapping {
	const char *name;
	const char *prefix, *path; /* of the server's URL; NULL: not mapped */
	const char *location;
	const char *target;
} mappings[] = {
	{"S3 at an endpoint", "s3://bucket/", "/bucket/", "s3://bucket/a b/c%20d?e#f",
	 "/bucket/a%20b/c%2520d%3Fe%23f"},
	{"S3 below a prefix", "s3://bucket/x", "/other/y/", "s3://bucket/x/k", "/other/y/k"},
	{"Google at an endpoint", "gs://bucket", "/bucket/", "gs://bucket/a/b",
	 "/storage/v1/b/bucket/o/a%2Fb?alt=media"},
	{"Azure at an endpoint", "az://container/", "/account/container/", "az://container/a b",
	 "/account/container/a%20b"},
	{"web at another place", "https://host.example/d/", "/mirror/",
	 "https://host.example/d/a b%20c?q=1&r=%2F", "/mirror/a%20b%20c?q=1&r=%2F"},
};

static void test_mapping(void **state)
{
	const struct mapping *c = *state;
	CLEANUP(bad_server_stopp)
	struct bad_server *server = bad_server_start(echo_target, NULL, NULL);
	CLEANUP(buf_done) struct buf got = BUF_INIT(1000);
	char mapped[200];

	/* Neither credentials nor endpoints of the environment concern a container. */
	setenv("AWS_ACCESS_KEY_ID", "AKIA", 1);
	setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
	setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9", 1);
	snprintf(mapped, sizeof(mapped), "http://127.0.0.1:%u%s", bad_server_port(server), c->path);
	assert_int_equal(get(c->prefix, mapped, c->location, &got), 0);
	if (!slice_is(buf_slice(&got), c->target))
		fail_msg("%.*s", (int)got.size, (const char *)got.data);
}

/* A repository may name an endpoint for its containers: not one inside of our network. */
static void test_endpoints_of_a_repository_are_public(void **state)
{
	CLEANUP(bad_server_stopp)
	struct bad_server *server = bad_server_start(echo_target, NULL, NULL);
	CLEANUP(store_freep) struct store *store = NULL;
	CLEANUP(buf_done) struct buf got = BUF_INIT(1000);
	struct error err = ERROR_INIT;
	char endpoint[100];
	struct store_options options = {.endpoint_url = endpoint, .anonymous = true};

	(void)state;
	snprintf(endpoint, sizeof(endpoint), "http://127.0.0.1:%u", bad_server_port(server));
	assert_ok(store_open_container("s3://bucket/", NULL, &options, &store, &err), &err);
	assert_int_equal(store_get_all(store, "key", &got, NULL, &err), ERR_DENIED);
	assert_int_equal(bad_server_requests(server), 0);
}

static void test_private_hosts_need_a_mapping(void **state)
{
	CLEANUP(bad_server_stopp)
	struct bad_server *server = bad_server_start(echo_target, NULL, NULL);
	CLEANUP(buf_done) struct buf got = BUF_INIT(1000);
	char location[200];

	(void)state;
	snprintf(location, sizeof(location), "http://127.0.0.1:%u/x", bad_server_port(server));
	assert_int_equal(get(location, NULL, location, &got), ERR_DENIED);
	assert_int_equal(bad_server_requests(server), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_location_is_a_name, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_prefix_ends_at_a_boundary_and_is_never_left,
						set_up, tear_down),
		cmocka_unit_test(test_endpoints_of_a_repository_are_public),
		cmocka_unit_test(test_private_hosts_need_a_mapping),
	};
	int failed = RUN_CASES(test_root, root_cases);

	failed += RUN_CASES(test_mapping, mappings);
	return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
