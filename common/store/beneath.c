/* SPDX-License-Identifier: Apache-2.0 */
#include "store/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

enum { BENEATH_TRIES = 32 };

bool beneath_without_openat2;

static int beneath_openat2(int root, const char *path, int flags, mode_t mode)
{
	struct open_how how = {
		.flags = (unsigned int)(flags | O_CLOEXEC),
		.mode = flags & O_CREAT ? mode : 0,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
	};
	int fd = -1;

	/* EAGAIN: somebody renamed something while the kernel looked for a way out. */
	for (int i = 0; i < BENEATH_TRIES; i++) {
		fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
		if (fd >= 0 || errno != EAGAIN)
			return fd;
	}
	return fd;
}

/* One step without following links; a link must not look like a missing file. */
static int beneath_step(int folder, const char *name, int flags, mode_t mode)
{
	int fd = openat(folder, name, flags | O_NOFOLLOW | O_CLOEXEC, mode);
	int errnum = errno;
	struct stat st;

	if (fd >= 0 || (errnum != ENOTDIR && errnum != ELOOP))
		return fd;
	if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode))
		errnum = EXDEV;
	errno = errnum;
	return -1;
}

static int beneath_walk(int root, const char *path, int flags, mode_t mode)
{
	CLEANUP(closep) int folder = dup(root);
	char name[NAME_MAX + 1];

	if (folder < 0)
		return -1;
	for (;;) {
		size_t size = strcspn(path, "/");
		int next;

		if (size > NAME_MAX) {
			errno = ENAMETOOLONG;
			return -1;
		}
		memcpy(name, path, size);
		name[size] = '\0';
		if (strcmp(name, "..") == 0) {
			errno = EXDEV;
			return -1;
		}
		if (!path[size])
			return beneath_step(folder, name, flags, mode);
		next = beneath_step(folder, name, O_PATH | O_DIRECTORY, 0);
		if (next < 0)
			return -1;
		close(folder);
		folder = next;
		path += size + 1;
	}
}

int beneath_open(int root, const char *path, int flags, mode_t mode)
{
	int fd;

	if (beneath_without_openat2)
		return beneath_walk(root, path, flags, mode);
	fd = beneath_openat2(root, path, flags, mode);
	/* Older container runtimes answer EPERM for calls that they do not know. */
	if (fd >= 0 || (errno != ENOSYS && errno != EPERM))
		return fd;
	return beneath_walk(root, path, flags, mode);
}
