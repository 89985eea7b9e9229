/* SPDX-License-Identifier: Apache-2.0 */
#include "fusefs/supervise.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"

enum { SAY_MOUNTED = 'm', SAY_GONE = 'g' };

struct watch {
	const char *mountpoint;
	pid_t child, lister;
	int said, signals; /* what the child says; signalfd */
	char device[32];   /* of the mount; empty before it was made */
};

/* ---- mounts ---- */

/* Undoes the octal escapes of /proc/self/mountinfo in place. */
static void unescape(char *text)
{
	char *out = text;

	for (; *text; text++) {
		unsigned int code;

		if (text[0] == '\\' && sscanf(text + 1, "%3o", &code) == 1) {
			*out++ = (char)code;
			text += 3;
		} else {
			*out++ = *text;
		}
	}
	*out = '\0';
}

void mount_find(const char *path, char type[64], char device[32])
{
	CLEANUP(freep) char *line = NULL;
	FILE *table = fopen("/proc/self/mountinfo", "re");
	size_t capacity = 0;

	type[0] = device[0] = '\0';
	while (table && getline(&line, &capacity, table) > 0) {
		char at[4096], found[64], number[32];
		const char *dash = strstr(line, " - ");

		if (!dash || sscanf(line, "%*s %*s %31s %*s %4095s", number, at) != 2 ||
		    sscanf(dash, " - %63s", found) != 1)
			continue;
		unescape(at);
		if (strcmp(at, path) != 0)
			continue;
		memcpy(type, found, sizeof(found));
		memcpy(device, number, sizeof(number));
	}
	if (table)
		fclose(table);
}

static bool run_fusermount(const char *path, bool lazy)
{
	const char *const argv[] = {"fusermount3", lazy ? "-uz" : "-uq", "--", path, NULL};
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		sigset_t none;

		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		execvp(argv[0], (char *const *)argv);
		_exit(127);
	}
	if (pid < 0)
		return false;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return false;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool mount_remove(const char *path, bool lazy)
{
	if (umount2(path, UMOUNT_NOFOLLOW | (lazy ? MNT_DETACH : 0)) == 0)
		return true;
	return errno == EPERM && run_fusermount(path, lazy);
}

int mount_list(const char *path)
{
	DIR *folder = opendir(path);
	int failed;

	if (!folder)
		return errno;
	errno = 0;
	while (readdir(folder))
		;
	failed = errno;
	closedir(folder);
	return failed;
}

/* ---- the service manager ---- */

/* The protocol of sd_notify(3): one datagram to the socket that the service manager names. */
static void notify_manager(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t n = path ? strlen(path) : 0;
	int fd;

	if (n == 0 || n >= sizeof(address.sun_path))
		return;
	memcpy(address.sun_path, path, n);
	if (path[0] == '@')
		address.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	/* A manager that does not listen is not our trouble. */
	(void)!sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&address,
		      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n));
	close(fd);
}

/* ---- the supervisor ---- */

static bool still_mounted(const struct watch *watch)
{
	char type[64], device[32];

	if (!watch->device[0])
		return false;
	mount_find(watch->mountpoint, type, device);
	return strcmp(device, watch->device) == 0;
}

static void unmount(const struct watch *watch)
{
	if (!still_mounted(watch) || mount_remove(watch->mountpoint, false))
		return;
	if (mount_remove(watch->mountpoint, true))
		log_event(LOG_WARNING, "mount",
			  "'%s' is busy; it is detached and goes when the last process has left it",
			  watch->mountpoint);
	else
		log_event(LOG_ERROR, "mount", "cannot unmount '%s'", watch->mountpoint);
}

/* A process that ends well once the root can be listed. */
static void start_lister(struct watch *watch)
{
	if (!getenv("NOTIFY_SOCKET"))
		return;
	watch->lister = fork();
	if (watch->lister == 0)
		_exit(mount_list(watch->mountpoint) != 0);
}

/* What the child has said by now; false once it cannot say more. */
static bool hear(struct watch *watch)
{
	char type[64], word;

	if (read(watch->said, &word, 1) != 1)
		return false;
	if (word == SAY_MOUNTED) {
		mount_find(watch->mountpoint, type, watch->device);
		start_lister(watch);
	}
	/* Its device number may be the next mount's already. */
	if (word == SAY_GONE)
		watch->device[0] = '\0';
	return true;
}

/* Reaps whoever ended: true once that is the child. */
static bool reap(struct watch *watch, int *ret_status)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid == watch->child) {
			*ret_status = status;
			return true;
		}
		if (pid == watch->lister) {
			watch->lister = 0;
			if (status == 0)
				notify_manager("READY=1");
		}
	}
	return false;
}

/* Signals are for the child; true when it has ended. */
static bool take_signal(struct watch *watch, int *ret_status)
{
	struct signalfd_siginfo info;

	if (read(watch->signals, &info, sizeof(info)) != sizeof(info))
		return false;
	if (info.ssi_signo == SIGCHLD)
		return reap(watch, ret_status);
	notify_manager("STOPPING=1");
	kill(watch->child, (int)info.ssi_signo);
	return false;
}

static _Noreturn void stay_behind(struct watch *watch)
{
	struct pollfd fds[] = {
		{.fd = watch->signals, .events = POLLIN},
		{.fd = watch->said, .events = POLLIN},
	};
	int status = 0;

	for (;;) {
		if (poll(fds, ARRAY_LEN(fds), -1) < 0)
			continue;
		/* First what it said: its end may come in the same moment. */
		if (fds[1].revents && !hear(watch))
			fds[1].fd = -1;
		if (!fds[1].revents && fds[0].revents && take_signal(watch, &status))
			break;
	}
	if (WIFEXITED(status)) {
		unmount(watch);
		_exit(WEXITSTATUS(status));
	}
	log_event(LOG_ERROR, "mount", "ended by signal %d; the dead mount on '%s' stays",
		  WTERMSIG(status), watch->mountpoint);
	_exit(128 + WTERMSIG(status));
}

static void watched_signals(sigset_t *set)
{
	static const int watched[] = {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

	sigemptyset(set);
	for (size_t i = 0; i < ARRAY_LEN(watched); i++)
		sigaddset(set, watched[i]);
}

/* In the child: dies with its supervisor, which may have died already. */
static void follow_parent(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
}

int supervise(const char *mountpoint, int ready, struct supervisor *ret_supervisor,
	      struct error *err)
{
	struct watch watch = {.mountpoint = mountpoint};
	sigset_t signals, before;
	pid_t self = getpid();
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return error_set_errno(err, errno, "cannot start the supervisor");
	watched_signals(&signals);
	sigprocmask(SIG_BLOCK, &signals, &before);
	watch.child = fork();
	if (watch.child < 0) {
		sigprocmask(SIG_SETMASK, &before, NULL);
		close(ends[0]);
		close(ends[1]);
		return error_set_errno(err, errno, "cannot start the supervisor");
	}
	if (watch.child > 0) {
		close(ends[1]);
		if (ready >= 0)
			close(ready);
		watch.said = ends[0];
		watch.signals = signalfd(-1, &signals, SFD_CLOEXEC);
		stay_behind(&watch);
	}
	follow_parent(self);
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(ends[0]);
	ret_supervisor->pipe = ends[1];
	return 0;
}

static void say(const struct supervisor *supervisor, char word)
{
	/* A supervisor that is gone takes this process with it. */
	while (write(supervisor->pipe, &word, 1) < 0 && errno == EINTR)
		;
}

void supervisor_mounted(const struct supervisor *supervisor)
{
	say(supervisor, SAY_MOUNTED);
}

void supervisor_gone(const struct supervisor *supervisor)
{
	say(supervisor, SAY_GONE);
}
