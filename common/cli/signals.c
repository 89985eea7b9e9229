/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/time.h"

static atomic_bool watching;
static atomic_bool interrupted;
static int wake_fds[2] = {-1, -1}; /* a byte comes out of the first when a signal came */

static void handle(int number)
{
	int saved = errno;

	(void)number;
	if (!watching || interrupted)
		_exit(error_exit_status(ERR_INTERRUPTED));
	interrupted = true;
	if (write(wake_fds[1], "", 1) < 0) {
		/* The pipe is full, so whoever waits is awake. */
	}
	errno = saved;
}

static void set_handler(int number, void (*handler)(int))
{
	struct sigaction action = {.sa_handler = handler};

	sigaction(number, &action, NULL);
}

void cli_signals_init(void)
{
	if (wake_fds[0] < 0 && pipe2(wake_fds, O_CLOEXEC | O_NONBLOCK) < 0)
		wake_fds[0] = wake_fds[1] = -1;
	set_handler(SIGPIPE, SIG_IGN);
	set_handler(SIGTERM, handle);
	set_handler(SIGINT, handle);
}

void cli_watch_interrupts(void)
{
	watching = true;
}

bool cli_interrupted(void)
{
	return interrupted;
}

bool cli_sleep(int64_t duration)
{
	int64_t end = time_monotonic() + duration;
	int64_t left;

	while (!interrupted && (left = end - time_monotonic()) > 0) {
		struct timespec wait = {left / TIME_SECOND, left % TIME_SECOND * 1000};
		struct pollfd wake = {.fd = wake_fds[0], .events = POLLIN};

		ppoll(&wake, 1, &wait, NULL);
	}
	return interrupted;
}

/* What is passed on to the child. */
static const int passed_on[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

/* Reaps whoever ended; the exit status once that is @child, -1 before. */
static int reap(pid_t child)
{
	int result = -1;
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid == child)
			result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	}
	return result;
}

static _Noreturn void stay_behind(pid_t child, const sigset_t *signals)
{
	int result = -1;

	while (result < 0) {
		siginfo_t info;
		int number = sigwaitinfo(signals, &info);

		if (number == SIGCHLD)
			result = reap(child);
		else if (number > 0)
			kill(child, number);
	}
	_exit(result);
}

void cli_go_on_in_child(void)
{
	sigset_t signals, before;
	pid_t child;

	sigemptyset(&signals);
	sigaddset(&signals, SIGCHLD);
	for (size_t i = 0; i < ARRAY_LEN(passed_on); i++)
		sigaddset(&signals, passed_on[i]);
	sigprocmask(SIG_BLOCK, &signals, &before);
	child = fork();
	if (child > 0)
		stay_behind(child, &signals);
	/* Without a child, the program does its work as it is. */
	sigprocmask(SIG_SETMASK, &before, NULL);
}

void cli_leave_process_1(void)
{
	if (getpid() == 1)
		cli_go_on_in_child();
}
