/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "cli/output.h"
#include "cli/table.h"

static void read_back(FILE *file, char *text, size_t size)
{
	size_t n;

	rewind(file);
	n = fread(text, 1, size - 1, file);
	text[n] = '\0';
}

static void test_everything_arrives_in_order(void **state)
{
	CLEANUP(buf_done) struct buf buf = BUF_INIT(100);
	static char large[200000], got[500000];
	static struct output out;
	struct error err = ERROR_INIT;
	FILE *file = tmpfile();
	size_t n = 0;

	(void)state;
	memset(large, 'x', sizeof(large));
	output_init(&out, fileno(file), false);
	for (int i = 0; i < 10000; i++)
		output_printf(&out, "%05d\n", i);
	output_bytes(&out, slice_of(large, sizeof(large)));
	output_style(&out, STYLE_RED);
	buf_append_text(&buf, "drained", &err);
	output_drain(&out, &buf);
	output_bytes(&out, (struct slice){NULL, 0});
	output_text(&out, "|");
	assert_ok(output_flush(&out, &err), &err);
	assert_int_equal(buf.size, 0);
	output_text(&out, "never seen");
	output_discard(&out);
	assert_ok(output_flush(&out, &err), &err);
	read_back(file, got, sizeof(got));
	fclose(file);
	for (int i = 0; i < 10000; i++, n += 6) {
		char want[10];

		snprintf(want, sizeof(want), "%05d\n", i);
		assert_memory_equal(got + n, want, 6);
	}
	assert_memory_equal(got + n, large, sizeof(large));
	assert_string_equal(got + n + sizeof(large), "drained|");
}

static void test_a_full_disk_is_told(void **state)
{
	CLEANUP(closep) int fd = open("/dev/full", O_WRONLY);
	static struct output out;
	struct error err = ERROR_INIT;

	(void)state;
	output_init(&out, fd, false);
	output_text(&out, "x");
	assert_false(output_failed(&out));
	assert_int_equal(output_flush(&out, &err), ERR_NETWORK);
	assert_string_equal(err.text, "cannot write to standard output: No space left on device");
	output_text(&out, "y");
	assert_true(output_failed(&out));
	assert_int_equal(output_flush(&out, &err), ERR_NETWORK);
}

static void test_a_closed_pipe_is_told(void **state)
{
	static struct output out;
	struct error err = ERROR_INIT;
	int fds[2];

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe(fds), 0);
	close(fds[0]);
	output_init(&out, fds[1], false);
	for (int i = 0; i < 20000; i++)
		output_text(&out, "0123456789\n");
	assert_true(output_failed(&out));
	assert_int_equal(output_flush(&out, &err), ERR_NETWORK);
	assert_string_equal(err.text, "cannot write to standard output: Broken pipe");
	close(fds[1]);
}

static void print_sample(struct table *table)
{
	const char *rows[][3] = {
		{"NAME", "SIZE", "NOTE"},
		{"caf\xc3\xa9", "7", "a\nb\x1b[1m"},
		{"temperature", "1,000", ""},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		for (size_t j = 0; j < 3; j++)
			table_cell(table, "%s", rows[i][j]);
	}
}

static void test_table(void **state)
{
	CLEANUP(table_done) struct table table = TABLE_INIT("lrl");
	static struct output out;
	struct error err = ERROR_INIT;
	FILE *file = tmpfile();
	char got[500];

	(void)state;
	output_init(&out, fileno(file), true);
	print_sample(&table);
	output_style(&out, STYLE_BOLD);
	assert_ok(table_print(&table, &out, &err), &err);
	output_style(&out, STYLE_PLAIN);
	assert_ok(output_flush(&out, &err), &err);
	read_back(file, got, sizeof(got));
	fclose(file);
	assert_string_equal(got, "\x1b[1m"
				 "NAME          SIZE  NOTE\n"
				 "caf\xc3\xa9             7  a?b?[1m\n"
				 "temperature  1,000\n"
				 "\x1b[0m");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_everything_arrives_in_order),
		cmocka_unit_test(test_a_full_disk_is_told),
		cmocka_unit_test(test_a_closed_pipe_is_told),
		cmocka_unit_test(test_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
