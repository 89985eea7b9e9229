/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <signal.h>

#include "base/time.h"
#include "capture.h"
#include "cli/signals.h"

static int be_told(void *argument)
{
	int number = *(int *)argument;

	cli_signals_init();
	raise(number);
	return 0;
}

static void test_who_does_not_watch_is_ended(void **state)
{
	int numbers[] = {SIGTERM, SIGINT};
	struct captured got;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		capture(be_told, &numbers[i], -1, &got);
		assert_int_equal(got.status, 75);
	}
}

static void test_a_closed_pipe_is_no_end(void **state)
{
	struct captured got;
	int number = SIGPIPE;

	(void)state;
	capture(be_told, &number, -1, &got);
	assert_int_equal(got.status, 0);
}

static int watch(void *argument)
{
	(void)argument;
	cli_signals_init();
	cli_watch_interrupts();
	if (cli_interrupted() || cli_sleep(1000))
		return 1;
	raise(SIGTERM);
	if (!cli_interrupted() || !cli_sleep(INT64_C(3600) * TIME_SECOND))
		return 2;
	raise(SIGTERM);
	return 3;
}

static void test_a_second_signal_ends_who_watches(void **state)
{
	struct captured got;

	(void)state;
	capture(watch, NULL, -1, &got);
	assert_int_equal(got.status, 75);
}

static int sleep_until_told(void *argument)
{
	pid_t child;

	(void)argument;
	cli_signals_init();
	cli_watch_interrupts();
	child = fork();
	if (child == 0) {
		usleep(20000);
		kill(getppid(), SIGINT);
		_exit(0);
	}
	return cli_sleep(INT64_C(60) * TIME_SECOND) ? 7 : 1;
}

static void test_a_signal_ends_the_sleep(void **state)
{
	struct captured got;

	(void)state;
	capture(sleep_until_told, NULL, -1, &got);
	assert_int_equal(got.status, 7);
}

/* The parent of the process that goes on, told to end, passes that on and ends with its status. */
static int go_on(void *argument)
{
	const char *how = argument;

	cli_go_on_in_child();
	if (strcmp(how, "status") == 0)
		return 42;
	if (strcmp(how, "killed") == 0)
		raise(SIGKILL);
	cli_signals_init();
	cli_watch_interrupts();
	kill(getppid(), SIGTERM);
	return cli_sleep(INT64_C(60) * TIME_SECOND) ? 9 : 1;
}

static struct child_case {
	const char *name;
	int status;
} child_cases[] = {
	{"status", 42},
	{"killed", 128 + SIGKILL},
	{"told", 9},
};

static void test_the_parent_stays_behind(void **state)
{
	const struct child_case *c = *state;
	struct captured got;

	capture(go_on, (void *)(uintptr_t)c->name, -1, &got);
	assert_int_equal(got.status, c->status);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_does_not_watch_is_ended),
		cmocka_unit_test(test_a_closed_pipe_is_no_end),
		cmocka_unit_test(test_a_second_signal_ends_who_watches),
		cmocka_unit_test(test_a_signal_ends_the_sleep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) +
	       RUN_CASES(test_the_parent_stays_behind, child_cases);
}
