/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/fuse.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/text.h"
#include "fusefs/fs.h"
#include "harness/make-repo.h"
#include "store/drivers.h"
#include "test.h"

/*
 * The kernel's side of the protocol (linux/fuse.h), without a mount: requests go through a socket
 * to a session that takes it for /dev/fuse.  Odd requests get an answer, and nothing breaks.
 */

#define REPLY_MAX (1 << 21)

struct kernel {
	char sources[64];
	struct store *store;
	struct repo *repo;
	struct checkout *checkout;
	struct reader *reader;
	struct fs *fs;
	struct fuse_session *session;
	pthread_t thread;
	int fd; /* our end */
	uint64_t unique, random;
	uint8_t *reply;
	size_t reply_size; /* without its header */
	int error;
};

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static ssize_t io_writev(int fd, struct iovec *parts, int n, void *argument)
{
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = (size_t)n};

	(void)argument;
	return sendmsg(fd, &message, MSG_NOSIGNAL);
}

static ssize_t io_read(int fd, void *bytes, size_t size, void *argument)
{
	ssize_t n = recv(fd, bytes, size, 0);

	(void)argument;
	if (n == 0) {
		errno = ENODEV; /* as after an unmount */
		return -1;
	}
	return n;
}

static void *loop(void *argument)
{
	fuse_session_loop(argument);
	return NULL;
}

/* Reads answers until that to request @unique; notifications are not for us. */
static void await(struct kernel *k, uint64_t unique)
{
	struct fuse_out_header head;

	do {
		struct pollfd wait = {.fd = k->fd, .events = POLLIN};
		ssize_t n;

		if (poll(&wait, 1, 20000) != 1)
			fail_msg("no answer to request %llu", (unsigned long long)unique);
		n = recv(k->fd, k->reply, REPLY_MAX, 0);
		assert_true(n >= (ssize_t)sizeof(head));
		memcpy(&head, k->reply, sizeof(head));
		/* A reply is whole. */
		assert_int_equal(head.len, n);
	} while (head.unique != unique);
	k->error = -head.error;
	k->reply_size = head.len - sizeof(head);
	memmove(k->reply, k->reply + sizeof(head), k->reply_size);
}

static void send_request(struct kernel *k, uint32_t opcode, uint64_t node, const void *argument,
			 size_t size, bool answered)
{
	uint8_t bytes[8192];
	struct fuse_in_header head = {
		.len = (uint32_t)(sizeof(head) + size),
		.opcode = opcode,
		.unique = ++k->unique,
		.nodeid = node,
		.pid = 1,
	};

	memcpy(bytes, &head, sizeof(head));
	if (size)
		memcpy(bytes + sizeof(head), argument, size);
	assert_int_equal(send(k->fd, bytes, sizeof(head) + size, 0), sizeof(head) + size);
	if (answered)
		await(k, k->unique);
}

static void kernel_open(struct kernel *k)
{
	struct error err = ERROR_INIT;
	const struct repo_at at = {0};
	struct allowance allow = {.credential = "anonymous"};
	struct reader_options options = {.sources = {.allow = &allow, .n_allow = 1}};
	CLEANUP(freep) char *prefix = NULL;
	struct id12 id;

	snprintf(k->sources, sizeof(k->sources), "/tmp/refmt-protocol-XXXXXX");
	assert_non_null(mkdtemp(k->sources));
	prefix = text_printf(&err, "file://%s/", k->sources);
	allow.prefix = prefix;
	assert_ok(store_memory_new(&k->store, &err), &err);
	assert_ok(make_repo(k->store, k->sources, &err), &err);
	assert_ok(repo_open(k->store, NULL, &k->repo, &err), &err);
	assert_ok(repo_resolve(k->repo, &at, &id, &err), &err);
	assert_ok(repo_checkout(k->repo, &id, &k->checkout, &err), &err);
	assert_ok(reader_new(k->repo, &options, &k->reader, &err), &err);
}

static void kernel_start(struct kernel *k)
{
	static const struct fuse_custom_io io = {.writev = io_writev, .read = io_read};
	const struct fs_options options = {.data_threads = 4, .config = slice_text("{}")};
	struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
	struct fuse_init_in init = {
		.major = FUSE_KERNEL_VERSION,
		.minor = FUSE_KERNEL_MINOR_VERSION,
		.max_readahead = 1 << 20,
		.flags = FUSE_ASYNC_READ | FUSE_NO_OPEN_SUPPORT | FUSE_DO_READDIRPLUS |
			 FUSE_READDIRPLUS_AUTO | FUSE_PARALLEL_DIROPS | FUSE_MAX_PAGES,
	};
	struct error err = ERROR_INIT;
	int ends[2], size = 4 << 20;

	*k = (struct kernel){.random = 1};
	k->reply = malloc(REPLY_MAX);
	assert_non_null(k->reply);
	kernel_open(k);
	assert_ok(fs_new(k->repo, k->reader, k->checkout, &options, &k->fs, &err), &err);
	assert_int_equal(fuse_opt_add_arg(&args, "test"), 0);
	k->session = fuse_session_new(&args, &fs_ops, sizeof(fs_ops), k->fs);
	assert_non_null(k->session);
	fuse_opt_free_args(&args);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	for (int i = 0; i < 2; i++)
		setsockopt(ends[i], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	k->fd = ends[0];
	assert_int_equal(fuse_session_custom_io(k->session, &io, ends[1]), 0);
	assert_ok(fs_start(k->fs, k->session, &err), &err);
	assert_int_equal(pthread_create(&k->thread, NULL, loop, k->session), 0);
	send_request(k, FUSE_INIT, 0, &init, sizeof(init), true);
	assert_int_equal(k->error, 0);
}

static void kernel_stop(struct kernel *k)
{
	shutdown(k->fd, SHUT_RDWR);
	pthread_join(k->thread, NULL);
	fs_free(k->fs);
	fuse_session_destroy(k->session);
	close(k->fd);
	reader_free(k->reader);
	checkout_free(k->checkout);
	repo_free(k->repo);
	store_free(k->store);
	free(k->reply);
	nftw(k->sources, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* SplitMix64: the same walk in every run. */
static uint64_t next(struct kernel *k)
{
	uint64_t z = (k->random += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* Looks a path up from the root; 0 if it is not there. */
static uint64_t walk(struct kernel *k, const char *path)
{
	uint64_t node = FUSE_ROOT_ID;

	while (*path && node) {
		char name[256];
		size_t n = strcspn(path, "/");
		struct fuse_entry_out entry;

		memcpy(name, path, n);
		name[n] = '\0';
		send_request(k, FUSE_LOOKUP, node, name, n + 1, true);
		if (k->error)
			return 0;
		memcpy(&entry, k->reply, sizeof(entry));
		node = entry.nodeid;
		path += n;
		path += *path == '/';
	}
	return node;
}

static const char *const known_paths[] = {
	"zarr.json",	    "native/c/0/0",   "native/c",	  "grib/t/c/0/1/0/0",
	"grib/t/c/1/1/0/0", "a/b/deep/c.1",   "scalar/c",	  ".refmt",
	".refmt/stats",	    "odd/c/0",	      ".refmt/branches",  ".refmt/branches/main/zarr.json",
	"grib/t/c/0/0/0/0", "grib/c/c/0/0/0", ".refmt/snapshots", ".refmt/log",
};

/* A number that we got once, its neighbour, or any. */
static uint64_t some_node(struct kernel *k, const uint64_t *nodes, size_t n)
{
	uint64_t node = nodes[next(k) % n];

	switch (next(k) % 8) {
	case 0:
		return next(k);
	case 1:
		return node + next(k) % 100;
	case 2:
		return node ^ (UINT64_C(1) << next(k) % 64);
	default:
		return node;
	}
}

static uint64_t odd_number(struct kernel *k)
{
	static const uint64_t numbers[] = {
		0,	   1,	       4095,	  4096,	      1 << 20,
		INT32_MAX, UINT32_MAX, INT64_MAX, UINT64_MAX, UINT64_C(1) << 63};

	return next(k) % 2 ? numbers[next(k) % ARRAY_LEN(numbers)] : next(k) % 2000;
}

static void odd_lookup(struct kernel *k, uint64_t node)
{
	static const char *const names[] = {"",	      ".",  "..",	  "c",
					    "0",      "00", "4294967296", "zarr.json",
					    ".refmt", "-1", "c.0",	  "\xff\xfe"};
	char name[300];

	snprintf(name, sizeof(name), "%s", names[next(k) % ARRAY_LEN(names)]);
	if (next(k) % 8 == 0) {
		memset(name, 'x', sizeof(name));
		name[sizeof(name) - 1] = '\0';
	}
	send_request(k, FUSE_LOOKUP, node, name, strlen(name) + 1, true);
}

static void odd_read(struct kernel *k, uint64_t node)
{
	struct fuse_read_in in = {
		.offset = odd_number(k),
		.size = (uint32_t)(next(k) % 4 ? next(k) % 4096 : next(k) % (1 << 20)),
	};

	send_request(k, FUSE_READ, node, &in, sizeof(in), true);
	if (k->error == 0)
		assert_true(k->reply_size <= in.size);
}

/* A folder listed from odd offsets. */
static void odd_listing(struct kernel *k, uint64_t node)
{
	struct fuse_open_in open_in = {0};
	struct fuse_open_out opened;
	struct fuse_release_in release = {0};

	send_request(k, FUSE_OPENDIR, node, &open_in, sizeof(open_in), true);
	if (k->error)
		return;
	memcpy(&opened, k->reply, sizeof(opened));
	for (int i = 0; i < 3; i++) {
		struct fuse_read_in in = {
			.fh = opened.fh,
			.offset = odd_number(k) & INT64_MAX,
			.size = (uint32_t)(next(k) % 8192),
		};

		/* An offset far behind the end is a walk to the end, not a loop. */
		send_request(k, next(k) % 2 ? FUSE_READDIR : FUSE_READDIRPLUS, node, &in,
			     sizeof(in), true);
		if (k->error == 0)
			assert_true(k->reply_size <= in.size);
	}
	release.fh = opened.fh;
	send_request(k, FUSE_RELEASEDIR, node, &release, sizeof(release), true);
}

static void odd_xattr(struct kernel *k, uint64_t node)
{
	static const char *const names[] = {"user.refmt.kind",	"user.refmt.nothing",
					    "user.other",	"security.selinux",
					    "user.refmt.state", "user.refmt."};
	const char *name = names[next(k) % ARRAY_LEN(names)];
	struct fuse_getxattr_in in = {.size = (uint32_t)(next(k) % 3 ? next(k) % 300 : 0)};
	uint8_t bytes[256];

	memcpy(bytes, &in, sizeof(in));
	memcpy(bytes + sizeof(in), name, strlen(name) + 1);
	if (next(k) % 3 == 0)
		send_request(k, FUSE_LISTXATTR, node, &in, sizeof(in), true);
	else
		send_request(k, FUSE_GETXATTR, node, bytes, sizeof(in) + strlen(name) + 1, true);
}

static void odd_forget(struct kernel *k, uint64_t node)
{
	struct fuse_forget_in in = {.nlookup = odd_number(k)};

	send_request(k, FUSE_FORGET, node, &in, sizeof(in), false);
}

static void odd_other(struct kernel *k, uint64_t node)
{
	struct fuse_getattr_in in = {0};

	switch (next(k) % 3) {
	case 0:
		send_request(k, FUSE_STATFS, node, NULL, 0, true);
		break;
	case 1:
		send_request(k, FUSE_GETATTR, node, &in, sizeof(in), true);
		break;
	default:
		/* Not in our table. */
		send_request(k, FUSE_UNLINK, node, "zarr.json", 10, true);
		assert_int_not_equal(k->error, 0);
		break;
	}
}

static void test_odd_requests_are_answered(void **state)
{
	static void (*const odd[])(struct kernel *, uint64_t) = {
		odd_lookup, odd_read, odd_listing, odd_xattr, odd_forget, odd_other,
	};
	uint64_t nodes[ARRAY_LEN(known_paths) + 1] = {FUSE_ROOT_ID};
	struct kernel k;

	(void)state;
	kernel_start(&k);
	for (size_t round = 0; round < 200; round++) {
		/* What was forgotten is looked up again. */
		for (size_t i = 0; i < ARRAY_LEN(known_paths); i++) {
			nodes[i + 1] = walk(&k, known_paths[i]);
			assert_int_not_equal(nodes[i + 1], 0);
		}
		for (size_t i = 0; i < 100; i++)
			odd[next(&k) % ARRAY_LEN(odd)](&k, some_node(&k, nodes, ARRAY_LEN(nodes)));
	}
	/* It still tells the truth. */
	assert_int_not_equal(walk(&k, "native/c/0/0"), 0);
	assert_int_equal(walk(&k, "native/c/2/0"), 0);
	kernel_stop(&k);
}

static uint64_t st_ino(struct kernel *k, const char *path)
{
	struct fuse_attr_out attr;
	struct fuse_getattr_in in = {0};

	send_request(k, FUSE_GETATTR, walk(k, path), &in, sizeof(in), true);
	assert_int_equal(k->error, 0);
	memcpy(&attr, k->reply, sizeof(attr));
	return attr.attr.ino;
}

/* A number that the kernel forgot means nothing, but stat shows the same inode again. */
static void test_forgotten_numbers_are_stale(void **state)
{
	struct fuse_getattr_in in = {0};
	struct fuse_forget_in all = {.nlookup = 1000};
	uint64_t node, before;
	struct kernel k;

	(void)state;
	kernel_start(&k);
	before = st_ino(&k, "scalar/c");
	node = walk(&k, "scalar/c");
	send_request(&k, FUSE_FORGET, node, &all, sizeof(all), false);
	send_request(&k, FUSE_GETATTR, node, &in, sizeof(in), true);
	assert_int_equal(k.error, ESTALE);
	assert_int_equal(st_ino(&k, "scalar/c"), before);
	kernel_stop(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_odd_requests_are_answered),
		cmocka_unit_test(test_forgotten_numbers_are_stale),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
