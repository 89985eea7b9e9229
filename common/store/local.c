/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/random.h"
#include "base/text.h"
#include "base/time.h"
#include "base/vec.h"
#include "store/beneath.h"
#include "store/check.h"
#include "store/drivers.h"

enum {
	LOCAL_LOCK_SECONDS = 60,
	LOCAL_LOCK_PAUSE_US = 2000,
	LOCAL_HASH_TEXT = 7 + 2 * SHA256_SIZE + 1, /* "sha256:" and the digits */
};

struct store_local {
	struct store store;
	char *path;	      /* absolute: programs that mount change their directory */
	pthread_mutex_t lock; /* recursive: store_locked() around store_replace() */
	int lock_depth;
	int lock_fd;
};

static struct store_local *local(struct store *store)
{
	return (struct store_local *)store;
}

/* A key that no file can have would be read as another one's name. */
static int local_check_key(const char *key, struct error *err)
{
	for (const char *segment = key;; segment++) {
		size_t size = strcspn(segment, "/");

		if (size == 0)
			return error_set(err, ERR_ARGUMENT,
					 "the key has an empty segment, which no file can have");
		if ((size == 1 && segment[0] == '.') ||
		    (size == 2 && segment[0] == '.' && segment[1] == '.'))
			return error_set(err, ERR_DENIED,
					 "the key has the segment '%.*s', which no file can have",
					 (int)size, segment);
		segment += size;
		if (!*segment)
			return 0;
	}
}

static int local_path_error(int errnum, struct error *err)
{
	if (errnum == EXDEV || errnum == ELOOP)
		return error_set(err, ERR_DENIED, "a symbolic link leads out of the folder");
	if (errnum == ENOTDIR)
		return error_set(err, ERR_ARGUMENT, "a part of the path is a file, not a folder");
	return error_set_errno(err, errnum, "cannot open the file");
}

static int local_make_root(const char *path, struct error *err)
{
	CLEANUP(freep) char *copy = text_dup(path, err);

	if (!copy)
		return ERR_MEMORY;
	for (char *at = copy + 1;; at++) {
		char kept = *at;

		if (kept != '/' && kept != '\0')
			continue;
		*at = '\0';
		if (mkdir(copy, 0777) < 0 && errno != EEXIST)
			return error_set_errno(err, errno, "cannot make the folder '%s'", copy);
		if (kept == '\0')
			return 0;
		*at = kept;
	}
}

/* Opens the folder itself: 0, or STORE_ABSENT if it does not exist and @create is false. */
static int local_root(struct store *store, bool create, int *ret_fd, struct error *err)
{
	const char *path = local(store)->path;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r;

	if (fd < 0 && errno == ENOENT && create) {
		r = local_make_root(path, err);
		if (r < 0)
			return r;
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	if (fd < 0 && errno == ENOENT && !create)
		return STORE_ABSENT;
	if (fd < 0 && errno == ENOTDIR)
		return error_set(err, ERR_ABSENT, "'%s' is not a folder", path);
	if (fd < 0)
		return error_set_errno(err, errno, "cannot open the folder '%s'", path);
	*ret_fd = fd;
	return 0;
}

/* Opens the object: 0, STORE_ABSENT if there is no such file, or an error. */
static int local_open(int root, const char *key, int *ret_fd, struct stat *ret_st,
		      struct error *err)
{
	/* Not blocking: a FIFO must not hang us. */
	CLEANUP(closep) int fd = beneath_open(root, key, O_RDONLY | O_NONBLOCK, 0);

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return STORE_ABSENT;
	if (fd < 0)
		return local_path_error(errno, err);
	if (fstat(fd, ret_st) < 0)
		return error_set_errno(err, errno, "cannot read the file's attributes");
	if (S_ISDIR(ret_st->st_mode))
		return STORE_ABSENT;
	if (!S_ISREG(ret_st->st_mode))
		return error_set(err, ERR_UNSUPPORTED, "it is not a regular file");
	*ret_fd = fd;
	fd = -1;
	return 0;
}

static int64_t stat_micros(const struct stat *st)
{
	return st->st_mtim.tv_sec * TIME_SECOND + st->st_mtim.tv_nsec / 1000;
}

/* The same text as the local files' ETag in the public icechunk library. */
static void local_info(const struct stat *st, struct store_info *ret_info)
{
	*ret_info = (struct store_info){
		.size = (uint64_t)st->st_size,
		.last_modified = stat_micros(st),
	};
	snprintf(ret_info->version.text, sizeof(ret_info->version.text),
		 "\"%" PRIx64 "-%" PRIx64 "-%" PRIx64 "\"", (uint64_t)st->st_ino,
		 (uint64_t)stat_micros(st), (uint64_t)st->st_size);
}

static int local_hash(struct slice bytes, struct version *ret_version, struct error *err)
{
	uint8_t digest[SHA256_SIZE];
	char text[2 * SHA256_SIZE + 1];
	int r = sha256(bytes, digest, err);

	if (r < 0)
		return r;
	text_hex(digest, sizeof(digest), text);
	snprintf(ret_version->text, sizeof(ret_version->text), "sha256:%s", text);
	return 0;
}

static int local_read(int fd, uint64_t offset, uint64_t length, struct buf *out, struct error *err)
{
	size_t before = out->size;
	uint8_t *bytes;
	int r = buf_extend(out, length, &bytes, err);

	while (r == 0 && length > 0) {
		ssize_t n = pread(fd, bytes, length, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			r = error_set_errno(err, errno, "cannot read at byte %" PRIu64, offset);
		else if (n == 0)
			r = error_set(err, ERR_FORMAT, "the file became shorter while it was read");
		else {
			bytes += n;
			offset += (uint64_t)n;
			length -= (uint64_t)n;
		}
	}
	if (r < 0)
		out->size = before;
	return r;
}

static int local_read_object(int root, const char *key, uint64_t offset, uint64_t length,
			     const struct store_condition *condition, struct buf *out,
			     struct store_info *ret_info, struct error *err)
{
	CLEANUP(closep) int fd = -1;
	size_t before = out->size;
	bool whole = offset == 0 && length == STORE_TO_END;
	struct store_info info;
	struct stat st;
	int r;

	r = local_open(root, key, &fd, &st, err);
	if (r != 0)
		return r;
	local_info(&st, &info);
	r = store_check_condition(condition, &info, err);
	if (r < 0)
		return r;
	r = store_check_range(offset, &length, info.size, err);
	if (r < 0)
		return r;
	r = local_read(fd, offset, length, out, err);
	if (r < 0 || !ret_info)
		return r;
	if (whole)
		r = local_hash(slice_of(out->data + before, length), &info.version, err);
	*ret_info = info;
	return r;
}

static int local_get(struct store *store, const char *key, uint64_t offset, uint64_t length,
		     const struct store_condition *condition, struct buf *out,
		     struct store_info *ret_info, struct error *err)
{
	CLEANUP(closep) int root = -1;
	int r;

	r = local_check_key(key, err);
	if (r < 0)
		return r;
	r = local_root(store, false, &root, err);
	if (r != 0)
		return r;
	return local_read_object(root, key, offset, length, condition, out, ret_info, err);
}

static int local_head(struct store *store, const char *key, struct store_info *ret_info,
		      struct error *err)
{
	CLEANUP(closep) int root = -1;
	CLEANUP(closep) int fd = -1;
	struct stat st;
	int r;

	r = local_check_key(key, err);
	if (r < 0)
		return r;
	r = local_root(store, false, &root, err);
	if (r != 0)
		return r;
	r = local_open(root, key, &fd, &st, err);
	if (r == 0)
		local_info(&st, ret_info);
	return r;
}

/* Makes one folder below @parent and puts its name on the disk. */
static int local_make_folder(int parent, const char *name, struct error *err)
{
	if (mkdirat(parent, name, 0777) < 0) {
		if (errno == EEXIST)
			return 0;
		return error_set_errno(err, errno, "cannot make the folder '%s'", name);
	}
	if (fsync(parent) < 0)
		return error_set_errno(err, errno, "cannot sync the folder");
	return 0;
}

static int local_open_folder(int root, const char *path, bool create, int *ret_fd,
			     struct error *err);

static int local_make_folders(int root, const char *path, struct error *err)
{
	CLEANUP(freep) char *copy = text_dup(path, err);
	CLEANUP(closep) int parent = -1;
	char *slash;
	int r;

	if (!copy)
		return ERR_MEMORY;
	slash = strrchr(copy, '/');
	if (!slash)
		return local_make_folder(root, copy, err);
	*slash = '\0';
	r = local_open_folder(root, copy, true, &parent, err);
	if (r < 0)
		return r;
	return local_make_folder(parent, slash + 1, err);
}

/* Opens a folder below the root, made with its parents if @create. */
static int local_open_folder(int root, const char *path, bool create, int *ret_fd,
			     struct error *err)
{
	int fd = beneath_open(root, path, O_RDONLY | O_DIRECTORY, 0);
	int r;

	if (fd < 0 && errno == ENOENT && create) {
		r = local_make_folders(root, path, err);
		if (r < 0)
			return r;
		fd = beneath_open(root, path, O_RDONLY | O_DIRECTORY, 0);
	}
	if (fd < 0 && !create && (errno == ENOENT || errno == ENOTDIR))
		return STORE_ABSENT;
	if (fd < 0)
		return local_path_error(errno, err);
	*ret_fd = fd;
	return 0;
}

/* Opens the folder that holds @key and finds the name within it. */
static int local_open_parent(int root, const char *key, bool create, int *ret_fd,
			     const char **ret_name, struct error *err)
{
	const char *slash = strrchr(key, '/');
	CLEANUP(freep) char *folder = NULL;
	int r;

	folder = slash ? slice_dup(slice_of(key, (size_t)(slash - key)), err) : text_dup(".", err);
	if (!folder)
		return ERR_MEMORY;
	r = local_open_folder(root, folder, create, ret_fd, err);
	if (r == 0)
		*ret_name = slash ? slash + 1 : key;
	return r;
}

/* A file that is being written; removed unless it was given its real name. */
struct temp_file {
	int folder;
	char name[NAME_MAX + 32]; /* "" when there is none */
};

static void temp_file_done(struct temp_file *temp)
{
	if (temp->name[0])
		unlinkat(temp->folder, temp->name, 0);
	temp->name[0] = '\0';
}

static int local_name_temp(struct temp_file *temp, int folder, const char *name, struct error *err)
{
	uint64_t number;
	int r = random_bytes(&number, sizeof(number), err);

	if (r < 0)
		return r;
	if (strlen(name) > NAME_MAX)
		return error_set(err, ERR_ARGUMENT, "a segment of the key is longer than %d bytes",
				 NAME_MAX);
	temp->folder = folder;
	snprintf(temp->name, sizeof(temp->name), "%s#%" PRIu64, name, number % 10000000000);
	return 0;
}

static int local_write_all(int fd, struct slice bytes, struct error *err)
{
	while (bytes.size > 0) {
		ssize_t n = write(fd, bytes.data, bytes.size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_set_errno(err, errno, "cannot write the file");
		bytes = slice_sub(bytes, (size_t)n, bytes.size);
	}
	if (fsync(fd) < 0)
		return error_set_errno(err, errno, "cannot sync the file");
	return 0;
}

static int local_write_temp(struct temp_file *temp, int folder, const char *name,
			    struct slice bytes, struct error *err)
{
	CLEANUP(closep) int fd = -1;
	int r = local_name_temp(temp, folder, name, err);

	if (r < 0) {
		temp->name[0] = '\0';
		return r;
	}
	fd = openat(folder, temp->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	if (fd < 0) {
		temp->name[0] = '\0';
		return error_set_errno(err, errno, "cannot make a temporary file");
	}
	return local_write_all(fd, bytes, err);
}

static int local_sync_folder(int folder, struct error *err)
{
	if (fsync(folder) < 0)
		return error_set_errno(err, errno, "cannot sync the folder");
	return 0;
}

/* Gives the file its name, whatever had it before. */
static int local_publish(struct temp_file *temp, const char *name, struct error *err)
{
	if (renameat(temp->folder, temp->name, temp->folder, name) < 0)
		return error_set_errno(err, errno, "cannot rename the temporary file");
	temp->name[0] = '\0';
	return local_sync_folder(temp->folder, err);
}

/* Gives the file its name unless something has it: 0 or STORE_CHANGED. */
static int local_publish_new(struct temp_file *temp, const char *name, struct error *err)
{
	int folder = temp->folder;

	if (linkat(folder, temp->name, folder, name, 0) == 0)
		return local_sync_folder(folder, err);
	if (errno == EEXIST)
		return STORE_CHANGED;
	/* File systems without hard links. */
	if (renameat2(folder, temp->name, folder, name, RENAME_NOREPLACE) < 0) {
		if (errno == EEXIST)
			return STORE_CHANGED;
		return error_set_errno(err, errno, "cannot create the file without replacing one");
	}
	temp->name[0] = '\0';
	return local_sync_folder(folder, err);
}

static int local_put(struct store *store, const char *key, struct slice bytes, struct error *err)
{
	CLEANUP(closep) int root = -1;
	CLEANUP(closep) int folder = -1;
	CLEANUP(temp_file_done) struct temp_file temp = {0};
	const char *name = NULL;
	int r;

	r = local_check_key(key, err);
	if (r < 0)
		return r;
	r = local_root(store, true, &root, err);
	if (r < 0)
		return r;
	r = local_open_parent(root, key, true, &folder, &name, err);
	if (r < 0)
		return r;
	r = local_write_temp(&temp, folder, name, bytes, err);
	if (r < 0)
		return r;
	return local_publish(&temp, name, err);
}

static int local_flock(int fd, struct error *err)
{
	int64_t deadline = time_monotonic() + LOCAL_LOCK_SECONDS * TIME_SECOND;

	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return error_set_errno(
				err, errno,
				"cannot lock the folder, so no safe commit is possible");
		if (time_monotonic() > deadline)
			return error_set(err, ERR_TIMEOUT,
					 "another process held the folder's lock for %d s",
					 LOCAL_LOCK_SECONDS);
		usleep((useconds_t)(LOCAL_LOCK_PAUSE_US * random_unit()) + 100);
	}
	return 0;
}

static int local_lock(struct store *store, struct error *err)
{
	struct store_local *self = local(store);
	struct timespec deadline;
	int r = 0;

	/* pthread_mutex_clocklock() would be better, but thread sanitizers do not know it. */
	clock_gettime(CLOCK_REALTIME, &deadline);
	deadline.tv_sec += LOCAL_LOCK_SECONDS;
	if (pthread_mutex_timedlock(&self->lock, &deadline) != 0)
		return error_set(err, ERR_TIMEOUT, "another thread held the folder's lock for %d s",
				 LOCAL_LOCK_SECONDS);
	if (self->lock_depth == 0) {
		r = local_root(store, true, &self->lock_fd, err);
		if (r == 0)
			r = local_flock(self->lock_fd, err);
		if (r < 0) {
			closep(&self->lock_fd);
			self->lock_fd = -1;
			pthread_mutex_unlock(&self->lock);
			return r;
		}
	}
	self->lock_depth++;
	return 0;
}

static void local_unlock(struct store *store)
{
	struct store_local *self = local(store);

	if (--self->lock_depth == 0) {
		close(self->lock_fd);
		self->lock_fd = -1;
	}
	pthread_mutex_unlock(&self->lock);
}

static int local_locked(struct store *store, int (*critical)(void *argument, struct error *err),
			void *argument, struct error *err)
{
	int r = local_lock(store, err);

	if (r < 0)
		return r;
	r = critical(argument, err);
	local_unlock(store);
	return r;
}

/* Is the object in the state @version: 0, STORE_ABSENT or STORE_CHANGED.  Under the lock. */
static int local_compare(int root, const char *key, const struct version *version,
			 struct error *err)
{
	CLEANUP(buf_done) struct buf content = BUF_INIT(BUF_NO_LIMIT);
	CLEANUP(closep) int fd = -1;
	struct store_info info;
	struct stat st;
	int r;

	r = local_open(root, key, &fd, &st, err);
	if (r != 0)
		return r;
	local_info(&st, &info);
	if (text_starts(version->text, "sha256:")) {
		r = local_read(fd, 0, info.size, &content, err);
		if (r < 0)
			return r;
		r = local_hash(buf_slice(&content), &info.version, err);
		if (r < 0)
			return r;
	}
	return strcmp(info.version.text, version->text) == 0 ? 0 : STORE_CHANGED;
}

struct local_change {
	struct store *store;
	const char *key;
	const char *to; /* of a copy */
	const struct version *version;
	struct slice bytes;
	struct version *ret_version;
};

static int local_replace_locked(void *argument, struct error *err)
{
	const struct local_change *change = argument;
	CLEANUP(closep) int folder = -1;
	CLEANUP(temp_file_done) struct temp_file temp = {0};
	struct version version;
	const char *name = NULL;
	int root = local(change->store)->lock_fd;
	int r;

	if (change->version) {
		r = local_compare(root, change->key, change->version, err);
		if (r != 0)
			return r < 0 ? r : STORE_CHANGED;
	}
	r = local_open_parent(root, change->key, true, &folder, &name, err);
	if (r < 0)
		return r;
	r = local_hash(change->bytes, &version, err);
	if (r < 0)
		return r;
	r = local_write_temp(&temp, folder, name, change->bytes, err);
	if (r < 0)
		return r;
	r = change->version ? local_publish(&temp, name, err) : local_publish_new(&temp, name, err);
	if (r == 0 && change->ret_version)
		*change->ret_version = version;
	return r;
}

static int local_replace(struct store *store, const char *key, const struct version *version,
			 struct slice bytes, struct version *ret_version, struct error *err)
{
	struct local_change change = {
		.store = store,
		.key = key,
		.version = version,
		.bytes = bytes,
		.ret_version = ret_version,
	};
	int r = local_check_key(key, err);

	return r < 0 ? r : local_locked(store, local_replace_locked, &change, err);
}

/* A second name for the same bytes; nobody changes a file in place. */
static int local_link(int root, const char *from, int folder, const char *name, struct error *err)
{
	CLEANUP(temp_file_done) struct temp_file temp = {0};
	CLEANUP(buf_done) struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
	CLEANUP(closep) int source = -1;
	const char *source_name;
	struct stat st;
	int r;

	r = local_open_parent(root, from, false, &source, &source_name, err);
	if (r != 0)
		return r;
	r = local_name_temp(&temp, folder, name, err);
	if (r == 0 && fstatat(source, source_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISREG(st.st_mode) && linkat(source, source_name, folder, temp.name, 0) == 0) {
		/* rename() leaves both names if they are already the same file. */
		if (renameat(folder, temp.name, folder, name) < 0)
			return error_set_errno(err, errno, "cannot rename the link");
		return local_sync_folder(folder, err);
	}
	temp.name[0] = '\0';
	if (r == 0)
		r = local_read_object(root, from, 0, STORE_TO_END, NULL, &bytes, NULL, err);
	if (r == 0)
		r = local_write_temp(&temp, folder, name, buf_slice(&bytes), err);
	return r == 0 ? local_publish(&temp, name, err) : r;
}

static int local_copy_locked(void *argument, struct error *err)
{
	const struct local_change *change = argument;
	CLEANUP(closep) int folder = -1;
	CLEANUP(closep) int fd = -1;
	const char *name = NULL;
	int root = local(change->store)->lock_fd;
	struct stat st;
	int r;

	r = local_open(root, change->key, &fd, &st, err);
	if (r == 0 && change->version)
		r = local_compare(root, change->key, change->version, err);
	if (r != 0)
		return r;
	r = local_open_parent(root, change->to, true, &folder, &name, err);
	if (r < 0)
		return r;
	return local_link(root, change->key, folder, name, err);
}

static int local_copy(struct store *store, const char *from, const struct version *version,
		      const char *to, struct error *err)
{
	struct local_change change = {.store = store, .key = from, .to = to, .version = version};
	int r = local_check_key(from, err);

	if (r == 0)
		r = local_check_key(to, err);
	return r < 0 ? r : local_locked(store, local_copy_locked, &change, err);
}

static int local_remove(struct store *store, const char *key, struct error *err)
{
	CLEANUP(closep) int root = -1;
	CLEANUP(closep) int folder = -1;
	const char *name = NULL;
	int r;

	r = local_check_key(key, err);
	if (r < 0)
		return r;
	r = local_root(store, false, &root, err);
	if (r == 0)
		r = local_open_parent(root, key, false, &folder, &name, err);
	if (r != 0)
		return r < 0 ? r : 0;
	/* EISDIR: a folder is no object. */
	if (unlinkat(folder, name, 0) < 0 && errno != ENOENT && errno != EISDIR)
		return error_set_errno(err, errno, "cannot remove the file");
	return 0;
}

/* One name in a folder that is being listed. */
struct local_name {
	const char *sort; /* of a folder with its '/', which is the order of keys */
	bool is_folder;
	struct store_info info;
};

DEFINE_VEC(local_names, struct local_name);

struct local_walk {
	int root;
	bool delimiter;
	store_list_fn each;
	void *argument;
};

static int local_name_order(const void *a, const void *b)
{
	return strcmp(((const struct local_name *)a)->sort, ((const struct local_name *)b)->sort);
}

/* What the name is, links followed as far as they stay inside; false if it has just gone. */
static int local_examine(const struct local_walk *walk, int folder, const char *path,
			 const char *name, struct stat *ret_st, bool *ret_linked, struct error *err)
{
	CLEANUP(freep) char *key = NULL;
	CLEANUP(closep) int fd = -1;

	if (fstatat(folder, name, ret_st, AT_SYMLINK_NOFOLLOW) < 0) {
		if (errno == ENOENT)
			return STORE_ABSENT;
		return error_set_errno(err, errno, "cannot look at '%s%s'", path, name);
	}
	*ret_linked = S_ISLNK(ret_st->st_mode);
	if (!*ret_linked)
		return 0;
	key = text_printf(err, "%s%s", path, name);
	if (!key)
		return ERR_MEMORY;
	fd = beneath_open(walk->root, key, O_PATH, 0);
	if (fd < 0 && errno == ENOENT)
		return STORE_ABSENT;
	/* A link that leads out stays listed; reading it says why it cannot be read. */
	if (fd >= 0 && fstat(fd, ret_st) < 0)
		return error_set_errno(err, errno, "cannot look at '%s'", key);
	return 0;
}

static int local_add_name(const struct local_walk *walk, int folder, const char *path,
			  const char *name, struct arena *arena, struct local_names *names,
			  struct error *err)
{
	struct local_name entry = {0};
	bool linked;
	struct stat st;
	char *sort;
	int r = local_examine(walk, folder, path, name, &st, &linked, err);

	if (r != 0)
		return r < 0 ? r : 0;
	entry.is_folder = S_ISDIR(st.st_mode);
	/* Like find(1), a full walk enters no linked folder: it may lead in a circle. */
	if (entry.is_folder && linked && !walk->delimiter)
		return 0;
	sort = arena_alloc(arena, strlen(name) + 2, err);
	if (!sort)
		return ERR_MEMORY;
	snprintf(sort, strlen(name) + 2, "%s%s", name, entry.is_folder ? "/" : "");
	entry.sort = sort;
	local_info(&st, &entry.info);
	return local_names_push(names, entry, err);
}

static void closedirp(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

/* Reads the names in the folder @path ("" or ending in '/') that begin with @start. */
static int local_read_names(const struct local_walk *walk, const char *path, const char *start,
			    struct arena *arena, struct local_names *names, struct error *err)
{
	CLEANUP(closedirp) DIR *dir = NULL;
	int fd = beneath_open(walk->root, path[0] ? path : ".", O_RDONLY | O_DIRECTORY, 0);
	struct dirent *entry;
	int r;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (fd < 0)
		return local_path_error(errno, err);
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return error_memory(err);
	}
	for (;;) {
		errno = 0;
		entry = readdir(dir);
		if (!entry && errno)
			return error_set_errno(err, errno, "cannot list the folder '%s'", path);
		if (!entry)
			return 0;
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
		    !text_starts(entry->d_name, start))
			continue;
		r = local_add_name(walk, dirfd(dir), path, entry->d_name, arena, names, err);
		if (r < 0)
			return r;
	}
}

static int local_walk_folder(const struct local_walk *walk, const char *path, const char *start,
			     struct error *err);

static int local_found_one(void *argument, const struct store_entry *entry, struct error *err)
{
	(void)entry;
	(void)err;
	*(bool *)argument = true;
	return ERR_INTERRUPTED;
}

/* A folder without any file is no common prefix of anything. */
static int local_holds_files(const struct local_walk *walk, const char *path, bool *ret_holds,
			     struct error *err)
{
	struct local_walk look = {
		.root = walk->root, .each = local_found_one, .argument = ret_holds};
	int r;

	*ret_holds = false;
	r = local_walk_folder(&look, path, "", err);
	return *ret_holds ? 0 : r;
}

static int local_show(const struct local_walk *walk, const char *key, const struct local_name *name,
		      struct error *err)
{
	struct store_entry entry = {.key = key, .info = name->info};
	bool holds;
	int r;

	if (!name->is_folder)
		return walk->each(walk->argument, &entry, err);
	if (!walk->delimiter)
		return local_walk_folder(walk, key, "", err);
	r = local_holds_files(walk, key, &holds, err);
	if (r < 0 || !holds)
		return r;
	entry = (struct store_entry){.key = key, .is_prefix = true};
	return walk->each(walk->argument, &entry, err);
}

static int local_walk_folder(const struct local_walk *walk, const char *path, const char *start,
			     struct error *err)
{
	CLEANUP(arena_done) struct arena arena = ARENA_INIT;
	CLEANUP(local_names_done) struct local_names names = {0};
	int r;

	r = local_read_names(walk, path, start, &arena, &names, err);
	if (r < 0)
		return r;
	if (names.n)
		qsort(names.items, names.n, sizeof(names.items[0]), local_name_order);
	for (size_t i = 0; i < names.n; i++) {
		CLEANUP(freep) char *key = text_printf(err, "%s%s", path, names.items[i].sort);

		if (!key)
			return ERR_MEMORY;
		r = local_show(walk, key, &names.items[i], err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Could a key begin like this?  "a//" and "../" begin no file's name. */
static bool local_prefix_can_match(const char *folder)
{
	struct error ignored = ERROR_INIT;
	CLEANUP(freep) char *name = NULL;

	if (!folder[0])
		return true;
	name = slice_dup(slice_of(folder, strlen(folder) - 1), &ignored);
	return name && local_check_key(name, &ignored) == 0;
}

static int local_list(struct store *store, const char *prefix, bool delimiter, store_list_fn each,
		      void *argument, struct error *err)
{
	struct local_walk walk = {.delimiter = delimiter, .each = each, .argument = argument};
	const char *slash = strrchr(prefix, '/');
	size_t size = slash ? (size_t)(slash - prefix) + 1 : 0;
	CLEANUP(freep) char *folder = slice_dup(slice_of(prefix, size), err);
	CLEANUP(closep) int root = -1;
	int r;

	if (!folder)
		return ERR_MEMORY;
	if (!local_prefix_can_match(folder))
		return 0;
	r = local_root(store, false, &root, err);
	if (r != 0)
		return r < 0 ? r : 0;
	walk.root = root;
	return local_walk_folder(&walk, folder, prefix + size, err);
}

static void local_free(struct store *store)
{
	pthread_mutex_destroy(&local(store)->lock);
	free(local(store)->path);
	free(store);
}

static const struct store_ops local_ops = {
	.name = "local",
	.get = local_get,
	.head = local_head,
	.put = local_put,
	.replace = local_replace,
	.copy = local_copy,
	.list = local_list,
	.remove = local_remove,
	.locked = local_locked,
	.free = local_free,
};

/* The path from the root, without final slashes. */
static char *local_absolute(const char *path, struct error *err)
{
	CLEANUP(freep) char *here = NULL;
	char *whole;
	size_t size;

	if (path[0] == '/') {
		whole = text_dup(path, err);
	} else {
		here = getcwd(NULL, 0);
		if (!here) {
			error_set_errno(err, errno, "cannot find the working directory");
			return NULL;
		}
		whole = text_printf(err, "%s/%s", here, path);
	}
	if (!whole)
		return NULL;
	for (size = strlen(whole); size > 1 && whole[size - 1] == '/'; size--)
		whole[size - 1] = '\0';
	return whole;
}

static void local_init_lock(struct store_local *self)
{
	pthread_mutexattr_t attributes;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&self->lock, &attributes);
	pthread_mutexattr_destroy(&attributes);
	self->lock_fd = -1;
}

int store_local_new(const char *path, struct store **ret_store, struct error *err)
{
	CLEANUP(freep) char *absolute = local_absolute(path, err);
	CLEANUP(freep) char *url = text_dup(path, err);
	struct store_local *self;

	if (!absolute || !url)
		return err ? err->kind : ERR_MEMORY;
	self = calloc(1, sizeof(*self));
	if (!self)
		return error_memory(err);
	self->store.ops = &local_ops;
	self->store.url = TAKE(url);
	self->path = TAKE(absolute);
	local_init_lock(self);
	*ret_store = &self->store;
	return 0;
}

bool store_local_is_there(const struct store *store)
{
	const struct store_local *self = (const struct store_local *)store;

	return store->ops != &local_ops || access(self->path, F_OK) == 0;
}
