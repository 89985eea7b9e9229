/* SPDX-License-Identifier: Apache-2.0 */
#include "fusefs/mount.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text.h"

#define TYPE "fuse.refmtfs"
#define READ_THREADS 4
/* How long what is under way may take after the mount is gone. */
#define DRAIN_SECONDS 1

/* ---- the mountpoint ---- */

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

/* Type of the file system mounted last at @path; empty if none is. */
static void mounted_type(const char *path, char *type, size_t size)
{
	CLEANUP(freep) char *line = NULL;
	FILE *table = fopen("/proc/self/mountinfo", "re");
	size_t capacity = 0;

	type[0] = '\0';
	if (!table)
		return;
	while (getline(&line, &capacity, table) > 0) {
		char at[4096], found[64];
		const char *dash = strstr(line, " - ");

		if (!dash || sscanf(line, "%*s %*s %*s %*s %4095s", at) != 1 ||
		    sscanf(dash, " - %63s", found) != 1)
			continue;
		unescape(at);
		if (strcmp(at, path) == 0)
			snprintf(type, size, "%s", found);
	}
	fclose(table);
}

/* The mountpoint as the mount table spells it; the folder itself may be dead. */
static char *absolute(const char *path, struct error *err)
{
	CLEANUP(freep) char *copy = text_dup(path, err);
	CLEANUP(freep) char *folder = NULL;
	char *base, *slash;

	if (!copy)
		return NULL;
	for (size_t n = strlen(copy); n > 1 && copy[n - 1] == '/'; n--)
		copy[n - 1] = '\0';
	slash = strrchr(copy, '/');
	base = slash ? slash + 1 : copy;
	if (slash)
		*slash = '\0';
	folder = realpath(!slash ? "." : slash == copy ? "/" : copy, NULL);
	if (!folder) {
		error_set_errno(err, errno, "cannot use mountpoint '%s'", path);
		return NULL;
	}
	return text_printf(err, "%s/%s", strcmp(folder, "/") == 0 ? "" : folder, base);
}

static int unmount(const char *path)
{
	const char *const argv[] = {"fusermount3", "-u", "-z", "--", path, NULL};
	int status = 0;
	pid_t pid;

	if (umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW) == 0)
		return 0;
	pid = fork();
	if (pid == 0) {
		execvp(argv[0], (char *const *)argv);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return -1;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

int mount_prepare(const char *mountpoint, struct error *err)
{
	CLEANUP(freep) char *path = absolute(mountpoint, err);
	char type[64];
	struct stat st;

	if (!path)
		return err ? err->kind : ERR_ARGUMENT;
	if (stat(path, &st) == 0) {
		if (!S_ISDIR(st.st_mode))
			return error_set(err, ERR_ARGUMENT, "mountpoint '%s' is not a folder",
					 mountpoint);
		mounted_type(path, type, sizeof(type));
		if (strcmp(type, TYPE) == 0)
			return error_set(err, ERR_CONFLICT, "a refmtfs is mounted on '%s' already",
					 mountpoint);
		return 0;
	}
	if (errno != ENOTCONN)
		return error_set_errno(err, errno, "cannot use mountpoint '%s'", mountpoint);
	mounted_type(path, type, sizeof(type));
	if (strcmp(type, TYPE) != 0)
		return error_set(
			err, ERR_CONFLICT,
			"on '%s' lies a dead mount of type %s, which is not ours to remove",
			mountpoint, type[0] ? type : "unknown");
	if (unmount(path) < 0)
		return error_set(err, ERR_DENIED, "cannot remove the dead mount on '%s'",
				 mountpoint);
	log_event(LOG_WARNING, "mount", "removed a dead mount on '%s'", mountpoint);
	return 0;
}

/* ---- readiness ---- */

/* 0 once the root answers a listing. */
static int list_root(const char *mountpoint)
{
	DIR *folder = opendir(mountpoint);
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

void mount_ready(int ready, const struct error *err)
{
	struct error none = ERROR_INIT;

	if (ready < 0)
		return;
	/* A parent that is gone needs no answer. */
	if (write(ready, err ? err : &none, sizeof(none)) < 0)
		log_event(LOG_DEBUG, "mount", "nobody waits");
	close(ready);
}

static _Noreturn void parent_wait(int ready, pid_t child, const char *mountpoint,
				  const char *program)
{
	struct error err = ERROR_INIT;
	ssize_t n;
	int failed;

	do {
		n = read(ready, &err, sizeof(err));
	} while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(err))
		error_set(&err, ERR_NETWORK, "the background process ended early");
	if (err.kind == 0) {
		failed = list_root(mountpoint);
		if (failed) {
			error_set_errno(&err, failed, "cannot list '%s'", mountpoint);
			kill(child, SIGTERM);
		}
	}
	if (err.kind)
		fprintf(stderr, "%s: %s\n", program, err.text);
	_exit(error_exit_status(err.kind));
}

int mount_background(const char *mountpoint, const char *program, int *ret_ready, struct error *err)
{
	int ends[2], null;
	pid_t child;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return error_set_errno(err, errno, "cannot go into the background");
	child = fork();
	if (child < 0)
		return error_set_errno(err, errno, "cannot go into the background");
	if (child > 0) {
		close(ends[1]);
		parent_wait(ends[0], child, mountpoint, program);
	}
	close(ends[0]);
	setsid();
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
		if (null > STDERR_FILENO)
			close(null);
	}
	*ret_ready = ends[1];
	return 0;
}

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
	if (sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&address,
		   (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n)) < 0)
		log_event(LOG_WARNING, "mount", "cannot tell the service manager");
	close(fd);
}

static void *ready_run(void *mountpoint)
{
	if (list_root(mountpoint) == 0)
		notify_manager("READY=1");
	return NULL;
}

/* ---- serving ---- */

/* Options of the mount: read-only, and nothing in it runs or has rights of its own. */
static int mount_arguments(const struct mount_options *options, struct fuse_args *args,
			   struct error *err)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT(BUF_NO_LIMIT);
	const char *joined;
	int r;

	r = buf_append_text(
		&text, "ro,nosuid,nodev,noexec,default_permissions,subtype=refmtfs,fsname=", err);
	for (const char *c = options->source; *c && r == 0; c++) {
		if (*c == ',' || *c == '\\')
			r = buf_append_byte(&text, '\\', err);
		if (r == 0)
			r = buf_append_byte(&text, (uint8_t)*c, err);
	}
	if (r == 0 && options->fuse_options && options->fuse_options[0])
		r = buf_printf(&text, err, ",%s", options->fuse_options);
	joined = r == 0 ? buf_text(&text, err) : NULL;
	if (!joined)
		return r < 0 ? r : ERR_MEMORY;
	if (fuse_opt_add_arg(args, "refmtfs") < 0 || fuse_opt_add_arg(args, "-o") < 0 ||
	    fuse_opt_add_arg(args, joined) < 0)
		return error_memory(err);
	return 0;
}

static void end_now(int signal)
{
	(void)signal;
	_exit(0);
}

/* What is stuck on a dead network must not keep the process: the mount is gone already. */
static void limit_drain(void)
{
	const struct sigaction action = {.sa_handler = end_now};

	sigaction(SIGALRM, &action, NULL);
	alarm(DRAIN_SECONDS);
}

static int serve(struct fs *fs, struct fuse_session *session, const struct mount_options *options,
		 int ready, struct error *err)
{
	struct fuse_loop_config *config = fuse_loop_cfg_create();
	pthread_t lister;
	int r;

	if (!config)
		return error_memory(err);
	fuse_loop_cfg_set_max_threads(config, READ_THREADS);
	r = fs_start(fs, err);
	if (r == 0) {
		mount_ready(ready, NULL);
		if (pthread_create(&lister, NULL, ready_run, (void *)options->mountpoint) == 0)
			pthread_detach(lister);
		/* Negative is an errno; positive the signal that ended the loop. */
		r = fuse_session_loop_mt(session, config);
		if (r < 0)
			r = error_set_errno(err, -r, "the mount on '%s' ended",
					    options->mountpoint);
		else
			r = 0;
		notify_manager("STOPPING=1");
	}
	fuse_loop_cfg_destroy(config);
	return r;
}

int mount_serve(struct fs *fs, const struct mount_options *options, int ready, struct error *err)
{
	struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
	struct fuse_session *session = NULL;
	int r;

	r = mount_arguments(options, &args, err);
	if (r == 0) {
		session = fuse_session_new(&args, &fs_ops, sizeof(fs_ops), fs);
		if (!session)
			r = error_set(err, ERR_ARGUMENT, "libfuse does not take the mount options");
	}
	fuse_opt_free_args(&args);
	if (r < 0)
		return r;
	if (fuse_set_signal_handlers(session) < 0) {
		r = error_set(err, ERR_NETWORK, "cannot install signal handlers");
	} else if (fuse_session_mount(session, options->mountpoint) < 0) {
		r = error_set(err, ERR_DENIED, "cannot mount on '%s'", options->mountpoint);
	} else {
		r = serve(fs, session, options, ready, err);
		fuse_session_unmount(session);
		limit_drain();
	}
	fuse_remove_signal_handlers(session);
	fuse_session_destroy(session);
	return r;
}
