/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/log.h"
#include "base/pool.h"
#include "base/time.h"

/* Standard error goes to a file while @run runs; @ret_text gets what it wrote. */
static void capture(void (*run)(void), char *ret_text, size_t size)
{
	CLEANUP(closep) int saved = dup(STDERR_FILENO);
	FILE *file = tmpfile();
	size_t n;

	assert_non_null(file);
	assert_true(dup2(fileno(file), STDERR_FILENO) >= 0);
	run();
	assert_true(dup2(saved, STDERR_FILENO) >= 0);
	rewind(file);
	n = fread(ret_text, 1, size - 1, file);
	ret_text[n] = '\0';
	fclose(file);
}

static void log_each_level(void)
{
	log_event(LOG_ERROR, "e", "an error in '%s'", "a\nb\x1b[1m");
	log_event(LOG_WARNING, "w", "a warning");
	log_event(LOG_INFO, "i", "a fact");
	log_event(LOG_DEBUG, "d", "a detail");
}

static void test_text(void **state)
{
	char text[1000];

	(void)state;
	log_setup(LOG_WARNING, LOG_TEXT);
	capture(log_each_level, text, sizeof(text));
	assert_string_equal(text, "error: an error in 'a?b?[1m'\nwarning: a warning\n");
	assert_true(log_enabled(LOG_WARNING));
	assert_false(log_enabled(LOG_INFO));
}

static void log_with_fields(void)
{
	const struct log_field fields[] = {
		{"snapshot", "ABC\"", 0},
		{"references", NULL, UINT64_MAX},
		{NULL, NULL, 0},
	};

	errno = EINTR;
	log_fields(LOG_INFO, "commit", fields, "committed '%s'", "x\n\xff");
	assert_int_equal(errno, EINTR);
}

static void test_json(void **state)
{
	struct error err = ERROR_INIT;
	struct json root, value;
	char text[1000];
	CLEANUP(freep) char *when = NULL;
	uint64_t number;
	int64_t time;

	(void)state;
	log_setup(LOG_DEBUG, LOG_JSON);
	capture(log_with_fields, text, sizeof(text));
	assert_ok(json_parse(slice_text(text), &root, &err), &err);
	assert_true(text[strlen(text) - 1] == '\n' && !memchr(text, '\n', strlen(text) - 1));
	assert_int_equal(json_count(&root), 6);
	assert_int_equal(json_get(&root, "time", &value), 0);
	assert_ok(json_dup(&value, &when, &err), &err);
	assert_ok(time_parse(when, 0, &time, &err), &err);
	assert_int_equal(json_get(&root, "level", &value), 0);
	assert_true(json_is_text(&value, "info"));
	assert_int_equal(json_get(&root, "event", &value), 0);
	assert_true(json_is_text(&value, "commit"));
	assert_int_equal(json_get(&root, "message", &value), 0);
	assert_true(json_is_text(&value, "committed 'x\n\xef\xbf\xbd'"));
	assert_int_equal(json_get(&root, "snapshot", &value), 0);
	assert_true(json_is_text(&value, "ABC\""));
	assert_int_equal(json_get(&root, "references", &value), 0);
	assert_ok(json_u64(&value, &number, &err), &err);
	assert_true(number == UINT64_MAX);
}

static void log_much(void)
{
	char name[3000];

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	log_event(LOG_ERROR, "e", "%s", name);
}

static void test_a_long_message_is_cut(void **state)
{
	char text[4000];

	(void)state;
	log_setup(LOG_ERROR, LOG_TEXT);
	capture(log_much, text, sizeof(text));
	assert_int_equal(strlen(text), strlen("error: ") + 1023 + 1);
}

static int log_many(void *argument, size_t i, struct error *err)
{
	(void)argument;
	(void)err;
	log_event(LOG_ERROR, "e", "%05zu from a thread", i);
	return 0;
}

static void log_in_parallel(void)
{
	parallel_for(4, 400, log_many, NULL, NULL);
}

static void test_lines_are_whole(void **state)
{
	static char text[20000];

	(void)state;
	log_setup(LOG_ERROR, LOG_TEXT);
	capture(log_in_parallel, text, sizeof(text));
	assert_int_equal(strlen(text), 400 * strlen("error: 00000 from a thread\n"));
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		assert_string_equal(line + strlen("error: 00000"), " from a thread");
}

static void clear_progress(void)
{
	assert_int_equal(write(STDERR_FILENO, "<clear>", 7), 7);
}

static void test_the_terminal_is_cleared_first(void **state)
{
	char text[1000];

	(void)state;
	log_setup(LOG_ERROR, LOG_TEXT);
	log_before(clear_progress);
	capture(log_each_level, text, sizeof(text));
	log_before(NULL);
	assert_string_equal(text, "<clear>error: an error in 'a?b?[1m'\n");
}

/* A pipe that nobody reads: nobody waits, and what was lost is counted. */
static void test_never_waits(void **state)
{
	CLEANUP(closep) int saved = dup(STDERR_FILENO);
	char text[70000];
	unsigned int n = 0, lost = 0;
	const char *told;
	ssize_t size;
	int ends[2];

	(void)state;
	log_setup(LOG_WARNING, LOG_TEXT);
	log_never_wait();
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_true(dup2(ends[1], STDERR_FILENO) >= 0);
	for (int i = 0; i < 2000; i++)
		log_event(LOG_WARNING, "w", "%0100d", i);
	size = read(ends[0], text, sizeof(text) - 1);
	log_event(LOG_WARNING, "w", "again");
	assert_true(dup2(saved, STDERR_FILENO) >= 0);
	assert_true(size > 0);
	for (ssize_t i = 0; i < size; i++)
		n += text[i] == '\n';
	size = read(ends[0], text, sizeof(text) - 1);
	assert_true(size > 0);
	text[size] = '\0';
	told = strstr(text, "warning: ");
	assert_non_null(told);
	assert_int_equal(sscanf(told, "warning: %u lines were lost", &lost), 1);
	assert_int_equal(n + lost, 2000);
	assert_non_null(strstr(told, "\nwarning: again\n"));
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_a_long_message_is_cut),
		cmocka_unit_test(test_lines_are_whole),
		cmocka_unit_test(test_the_terminal_is_cleared_first),
		cmocka_unit_test(test_never_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
