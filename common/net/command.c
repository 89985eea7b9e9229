/* SPDX-License-Identifier: Apache-2.0 */
#include "net/command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/time.h"

extern char **environ;

static int command_start(const char *command, int output, pid_t *ret_pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	char shell[] = "/bin/sh", option[] = "-c";
	char *argv[] = {shell, option, (char *)command, NULL};
	sigset_t none;
	int r;

	sigemptyset(&none);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
	posix_spawnattr_setsigmask(&attributes, &none);
	r = posix_spawn(ret_pid, shell, &actions, &attributes, argv, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return r;
}

static int command_read(int fd, int64_t deadline, struct buf *out, struct error *err)
{
	char bytes[4096];

	for (;;) {
		struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
		int64_t left = deadline - time_monotonic();
		ssize_t n;
		int r;

		if (left <= 0 || poll(&poll_fd, 1, (int)(left / 1000) + 1) == 0)
			return error_set(err, ERR_TIMEOUT, "the program did not end in time");
		n = read(fd, bytes, sizeof(bytes));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_set_errno(err, errno, "cannot read the program's output");
		if (n == 0)
			return 0;
		r = buf_append(out, bytes, (size_t)n, err);
		if (r < 0)
			return r;
	}
}

int command_output(const char *command, unsigned int timeout_ms, struct buf *out, struct error *err)
{
	CLEANUP(closep) int output = -1;
	int64_t deadline = time_monotonic() + (int64_t)timeout_ms * 1000;
	int pipes[2], status = 0, r;
	pid_t pid;

	if (pipe2(pipes, O_CLOEXEC) < 0)
		return error_set_errno(err, errno, "cannot make a pipe");
	output = pipes[0];
	r = command_start(command, pipes[1], &pid);
	close(pipes[1]);
	if (r != 0)
		return error_set_errno(err, r, "cannot start the program");
	r = command_read(output, deadline, out, err);
	if (r < 0)
		kill(-pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (r < 0)
		return r;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return error_set(err, ERR_DENIED, "the program failed (status %d)",
				 WIFEXITED(status) ? WEXITSTATUS(status) : status);
	return 0;
}
