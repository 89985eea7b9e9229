/* SPDX-License-Identifier: Apache-2.0 */

/*
 * `refmt grib` (the program at REFMT) on a file by its path, as a file: URL and behind a web
 * server, which counts what is read: the listing takes headers, decoding one message
 */

#include "test.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "grib/grib.h"
#include "harness/bad-server.h"
#include "harness/make-grib.h"

enum {
	NI = 300,
	NJ = 200,
	MESSAGES = 5,
	HEADERS_MAX = 8192, /* bytes read for one message's place in a listing */
};

static const char *refmt;
static struct buf file = BUF_INIT(BUF_NO_LIMIT);
static size_t starts[MESSAGES + 1];

struct traffic {
	_Atomic uint64_t gets, bytes;
};

static void serve(void *argument, struct bad_connection *connection,
		  const struct bad_request *request)
{
	struct traffic *traffic = argument;
	uint64_t first = 0, last = file.size - 1;

	if (strcmp(request->target, "/folder/f006.grib2") != 0) {
		bad_reply_text(connection, 404, "", "");
		return;
	}
	if (strcmp(request->method, "GET") == 0) {
		bad_range(request, &first, &last);
		traffic->gets++;
		traffic->bytes += last - first + 1;
	}
	bad_serve(connection, request, buf_slice(&file));
}

/* Values that do not compress to nothing: each message is much longer than its headers. */
static void make_file(void)
{
	static float values[NI * NJ];
	struct error err = ERROR_INIT;

	for (int number = 0; number < MESSAGES; number++) {
		struct make_grib spec = {
			.number = (uint8_t)number,
			.level = {.type = 103, .value = 2},
			.year = 2025,
			.month = 8,
			.day = 1,
			.grid = make_grid_global(NI, NJ),
			.packing = MAKE_SIMPLE,
		};

		for (int i = 0; i < NI * NJ; i++)
			values[i] = (float)((i * 7919 + number) % 1000);
		starts[number] = file.size;
		assert_ok(make_grib_field(&spec, values, &file, &err), &err);
	}
	starts[MESSAGES] = file.size;
	assert_true(file.size > (size_t)MESSAGES * 4 * HEADERS_MAX);
}

/* What the program prints; its exit status. */
static int run(const char *arguments, struct buf *out)
{
	CLEANUP(freep) char *command = text_printf(NULL, "'%s' grib %s 2>&1", refmt, arguments);
	uint8_t bytes[65536];
	FILE *pipe;
	size_t n;

	assert_non_null(command);

	pipe = popen(command, "r");
	assert_non_null(pipe);
	while ((n = fread(bytes, 1, sizeof(bytes), pipe)) > 0)
		assert_int_equal(buf_append(out, bytes, n, NULL), 0);
	return pclose(pipe);
}

static int append_line(void *context, const struct grib_entry *entry, struct error *err)
{
	return grib_write_idx_line(entry, context, err);
}

static void assert_listed(const char *name)
{
	CLEANUP(buf_done) struct buf want = BUF_INIT(BUF_NO_LIMIT), have = BUF_INIT(BUF_NO_LIMIT);
	CLEANUP(freep) char *arguments = text_printf(NULL, "scan --idx '%s'", name);
	struct slice bytes = buf_slice(&file);
	struct grib_source source = grib_source_memory(&bytes);
	struct error err = ERROR_INIT;

	assert_ok(grib_scan(&source, append_line, &want, &err), &err);
	assert_int_equal(run(arguments, &have), 0);
	assert_string_equal(buf_text(&have, NULL), buf_text(&want, NULL));
}

static void assert_decoded(const char *name, int number)
{
	const struct grib_decode_options options = {.mode = GRIB_WMO};
	CLEANUP(buf_done) struct buf have = BUF_INIT(BUF_NO_LIMIT);
	CLEANUP(freep)
	char *arguments = text_printf(NULL, "decode --message %d '%s'", number, name);
	static double want[NI * NJ];
	struct error err = ERROR_INIT;
	struct slice message = slice_sub(buf_slice(&file), starts[number - 1],
					 starts[number] - starts[number - 1]);

	assert_ok(grib_decode(message, &options, want, NI * NJ, &err), &err);
	assert_int_equal(run(arguments, &have), 0);
	assert_int_equal(have.size, sizeof(want));
	assert_memory_equal(have.data, want, sizeof(want));
}

static void test_path_and_file_url(void **state)
{
	char folder[] = "/tmp/refmt-grib-XXXXXX";
	CLEANUP(freep) char *path = NULL, *url = NULL;
	FILE *stream;

	(void)state;
	assert_non_null(mkdtemp(folder));
	path = text_printf(NULL, "%s/f006.grib2", folder);
	url = text_printf(NULL, "file://%s", path);
	stream = fopen(path, "wb");
	assert_non_null(stream);
	assert_int_equal(fwrite(file.data, 1, file.size, stream), file.size);
	assert_int_equal(fclose(stream), 0);
	assert_listed(path);
	assert_listed(url);
	assert_decoded(path, 2);
	assert_decoded(url, MESSAGES);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(folder), 0);
}

static void test_listing_by_http_reads_headers(void **state)
{
	struct traffic traffic = {0};
	CLEANUP(bad_server_stopp)
	struct bad_server *server = bad_server_start(serve, &traffic, NULL);
	CLEANUP(freep)
	char *url =
		text_printf(NULL, "http://127.0.0.1:%u/folder/f006.grib2", bad_server_port(server));

	(void)state;
	assert_listed(url);
	assert_true(traffic.gets <= MESSAGES + 1);
	assert_true(traffic.bytes <= MESSAGES * HEADERS_MAX);
}

static void test_decoding_by_http_reads_one_message(void **state)
{
	size_t length = starts[MESSAGES] - starts[MESSAGES - 1];
	struct traffic traffic = {0};
	CLEANUP(bad_server_stopp)
	struct bad_server *server = bad_server_start(serve, &traffic, NULL);
	CLEANUP(freep)
	char *url =
		text_printf(NULL, "http://127.0.0.1:%u/folder/f006.grib2", bad_server_port(server));

	(void)state;
	assert_decoded(url, MESSAGES);
	assert_true(traffic.bytes >= length);
	assert_true(traffic.bytes <= length + MESSAGES * HEADERS_MAX);
}

static void test_absent_object(void **state)
{
	struct traffic traffic = {0};
	CLEANUP(bad_server_stopp)
	struct bad_server *server = bad_server_start(serve, &traffic, NULL);
	CLEANUP(buf_done) struct buf out = BUF_INIT(BUF_NO_LIMIT);
	CLEANUP(freep)
	char *arguments = text_printf(NULL, "scan http://127.0.0.1:%u/folder/other.grib2",
				      bad_server_port(server));

	(void)state;
	assert_int_not_equal(run(arguments, &out), 0);
	assert_non_null(strstr(buf_text(&out, NULL), "no object at 'http://127.0.0.1:"));
	assert_int_equal(traffic.gets, 0);
}

static void test_no_file_to_read(void **state)
{
	static const char *const arguments[] = {"scan /", "scan --json /dev/null", "decode /"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(arguments); i++) {
		CLEANUP(buf_done) struct buf out = BUF_INIT(BUF_NO_LIMIT);
		int status = run(arguments[i], &out);

		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 1);
		assert_non_null(strstr(buf_text(&out, NULL), "is not a regular file"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_path_and_file_url),
		cmocka_unit_test(test_listing_by_http_reads_headers),
		cmocka_unit_test(test_decoding_by_http_reads_one_message),
		cmocka_unit_test(test_absent_object),
		cmocka_unit_test(test_no_file_to_read),
	};
	int failed;

	refmt = getenv("REFMT");
	if (!refmt || access(refmt, X_OK) != 0)
		test_skip("REFMT does not name a program");
	make_file();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	buf_done(&file);
	return failed;
}
