/* SPDX-License-Identifier: Apache-2.0 */
#include "fusefs/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text.h"
#include "fusefs/confine.h"

#define TYPE "fuse.refmtfs"
#define READ_THREADS 4
/* How long what is under way may take after the mount is gone. */
#define DRAIN_SECONDS 1
/* How long a failed start may take to end, milliseconds. */
#define END_MS 5000

/* ---- the mountpoint ---- */

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

/* Has the process behind a mount gone?  Attributes may be cached, figures of the whole are not. */
static bool is_dead(const char *path)
{
	struct statfs st;

	return statfs(path, &st) < 0 && errno == ENOTCONN;
}

static int remove_dead(const char *mountpoint, const char *path, const char *type,
		       struct error *err)
{
	if (strcmp(type, TYPE) != 0)
		return error_set(
			err, ERR_CONFLICT,
			"on '%s' lies a dead mount of type %s, which is not ours to remove",
			mountpoint, type[0] ? type : "unknown");
	if (!mount_remove(path, true))
		return error_set(err, ERR_DENIED, "cannot remove the dead mount on '%s'",
				 mountpoint);
	log_event(LOG_WARNING, "mount", "removed a dead mount on '%s'", mountpoint);
	return 0;
}

/* @path is the mountpoint as the mount table spells it. */
static int prepare(const char *mountpoint, const char *path, struct error *err)
{
	char type[64], device[32];
	struct stat st;
	int r;

	mount_find(path, type, device);
	while (is_dead(path)) {
		r = remove_dead(mountpoint, path, type, err);
		if (r < 0)
			return r;
		mount_find(path, type, device);
	}
	if (strcmp(type, TYPE) == 0)
		return error_set(err, ERR_CONFLICT, "a refmtfs is mounted on '%s' already",
				 mountpoint);
	if (stat(path, &st) < 0)
		return error_set_errno(err, errno, "cannot use mountpoint '%s'", mountpoint);
	if (!S_ISDIR(st.st_mode))
		return error_set(err, ERR_ARGUMENT, "mountpoint '%s' is not a folder", mountpoint);
	return 0;
}

int mount_prepare(const char *mountpoint, char **ret_path, struct error *err)
{
	CLEANUP(freep) char *path = absolute(mountpoint, err);
	int r;

	if (!path)
		return err->kind;
	r = prepare(mountpoint, path, err);
	if (r == 0)
		*ret_path = TAKE(path);
	return r;
}

/* ---- readiness ---- */

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

/* Whoever hears of a failure finds nothing mounted; what is stuck is waited for a while only. */
static void wait_for_end(pid_t child)
{
	const struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};

	for (int i = 0; i < END_MS / 10 && waitpid(child, NULL, WNOHANG) == 0; i++)
		nanosleep(&pause, NULL);
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
		failed = mount_list(mountpoint);
		if (failed) {
			error_set_errno(&err, failed, "cannot list '%s'", mountpoint);
			kill(child, SIGTERM);
		}
	}
	if (err.kind) {
		fprintf(stderr, "%s: %s\n", program, err.text);
		wait_for_end(child);
	}
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
	/* Leak checkers listen to _exit(), and all that is in use now is a leak to them. */
	syscall(SYS_exit_group, 0);
}

/* What is stuck on a dead network must not keep the process: the mount is gone already. */
static void limit_drain(void)
{
	const struct sigaction action = {.sa_handler = end_now};

	sigaction(SIGALRM, &action, NULL);
	alarm(DRAIN_SECONDS);
}

/* The handlers of the command line end the process at once; libfuse's end the session. */
static int take_signals(struct fuse_session *session, struct error *err)
{
	static const int ending[] = {SIGTERM, SIGINT, SIGHUP};
	const struct sigaction normal = {.sa_handler = SIG_DFL};

	for (size_t i = 0; i < ARRAY_LEN(ending); i++)
		sigaction(ending[i], &normal, NULL);
	if (fuse_set_signal_handlers(session) < 0)
		return error_set(err, ERR_NETWORK, "cannot install signal handlers");
	return 0;
}

/* @ret_signal: the signal that ended it, 0 when the mount is gone. */
static int loop(struct fuse_session *session, const struct mount_options *options, int *ret_signal,
		struct error *err)
{
	struct fuse_loop_config *config = fuse_loop_cfg_create();
	int r;

	if (!config)
		return error_memory(err);
	fuse_loop_cfg_set_max_threads(config, READ_THREADS);
	fuse_loop_cfg_set_idle_threads(config, READ_THREADS);
	/* Negative is an errno; positive the signal that ended the loop. */
	r = fuse_session_loop_mt(session, config);
	fuse_loop_cfg_destroy(config);
	if (r < 0)
		return error_set_errno(err, -r, "the mount on '%s' ended", options->mountpoint);
	*ret_signal = r;
	return 0;
}

static int serve(struct fs *fs, struct fuse_session *session, const struct mount_options *options,
		 int ready, struct error *err)
{
	int signal = 0;
	int r;

	r = confine(options->may_start_programs, err);
	if (r == 0)
		r = fs_start(fs, session, err);
	if (r < 0)
		return r;
	mount_ready(ready, NULL);
	r = loop(session, options, &signal, err);
	limit_drain();
	/* Somebody unmounted it; a connection that was aborted leaves a dead mount. */
	if (r == 0 && signal == 0 && !is_dead(options->mountpoint))
		supervisor_gone(&options->supervisor);
	fuse_session_exit(session);
	fs_stop(fs);
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
	r = take_signals(session, err);
	if (r == 0 && fuse_session_mount(session, options->mountpoint) < 0)
		r = error_set(err, ERR_DENIED, "cannot mount on '%s'", options->mountpoint);
	if (r == 0) {
		supervisor_mounted(&options->supervisor);
		/* The supervisor unmounts. */
		r = serve(fs, session, options, ready, err);
	}
	fuse_remove_signal_handlers(session);
	fuse_session_destroy(session);
	return r;
}
