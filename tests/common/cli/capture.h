/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Runs a function in a child process and keeps its exit status and what it wrote
 */

#include "test.h"

#include <sys/wait.h>
#include <unistd.h>

struct captured {
	int status; /* exit status, or 128 + the signal */
	char out[8192], err[8192];
};

static inline void capture_read(FILE *file, char *text, size_t size)
{
	size_t n;

	rewind(file);
	n = fread(text, 1, size - 1, file);
	text[n] = '\0';
	fclose(file);
}

/* @stdout_fd: where standard output goes instead of being kept, or -1. */
static inline void capture(int (*run)(void *argument), void *argument, int stdout_fd,
			   struct captured *ret_captured)
{
	FILE *out = tmpfile();
	FILE *err = tmpfile();
	int status;
	pid_t pid;

	assert_true(out && err);
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		dup2(stdout_fd >= 0 ? stdout_fd : fileno(out), STDOUT_FILENO);
		dup2(fileno(err), STDERR_FILENO);
		_exit(run(argument));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	ret_captured->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	capture_read(out, ret_captured->out, sizeof(ret_captured->out));
	capture_read(err, ret_captured->err, sizeof(ret_captured->err));
}
