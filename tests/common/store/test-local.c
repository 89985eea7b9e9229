/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/beneath.h"
#include "store/drivers.h"
#include "temp.h"

struct fixture {
	char folder[TEMP_MAX];
	char root[TEMP_MAX + 8];
	char path[2 * TEMP_MAX];
	struct store *store;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct error err = ERROR_INIT;

	temp_make(f->folder);
	snprintf(f->root, sizeof(f->root), "%s/root", f->folder);
	*state = f;
	return store_local_new(f->root, &f->store, &err);
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	store_free(f->store);
	temp_remove(f->folder);
	free(f);
	beneath_without_openat2 = false;
	return 0;
}

static const char *path_of(struct fixture *f, const char *name)
{
	snprintf(f->path, sizeof(f->path), "%s/%s", f->root, name);
	return f->path;
}

static void put(struct fixture *f, const char *key, const char *text)
{
	struct error err = ERROR_INIT;

	assert_ok(store_put(f->store, key, slice_text(text), &err), &err);
}

static int get(struct fixture *f, const char *key, struct error *err)
{
	CLEANUP(buf_done) struct buf got = BUF_INIT(1000);

	return store_get_all(f->store, key, &got, NULL, err);
}

static void test_no_folder_is_an_empty_store(void **state)
{
	struct fixture *f = *state;
	struct error err = ERROR_INIT;

	assert_int_equal(get(f, "a", &err), STORE_ABSENT);
	assert_ok(store_remove(f->store, "a", &err), &err);
	assert_int_equal(access(f->root, F_OK), -1);
}

static void test_a_file_is_no_store(void **state)
{
	struct fixture *f = *state;
	struct error err = ERROR_INIT;

	close(open(f->root, O_WRONLY | O_CREAT, 0600));
	assert_int_equal(get(f, "a", &err), ERR_ABSENT);
	assert_non_null(strstr(err.text, "is not a folder"));
	assert_true(store_put(f->store, "a", slice_text("x"), &err) < 0);
	assert_true(store_replace(f->store, "a", NULL, slice_text("x"), NULL, &err) < 0);
}

static void test_a_file_where_a_folder_should_be(void **state)
{
	struct fixture *f = *state;
	struct error err = ERROR_INIT;

	put(f, "a", "file");
	assert_int_equal(get(f, "a/b", &err), STORE_ABSENT);
	assert_int_equal(store_put(f->store, "a/b", slice_text("x"), &err), ERR_ARGUMENT);
	put(f, "folder/b", "x");
	assert_int_equal(get(f, "folder", &err), STORE_ABSENT);
	assert_true(store_put(f->store, "folder", slice_text("x"), &err) < 0);
}

static void test_unreadable_is_not_absent(void **state)
{
	struct fixture *f = *state;
	struct error err = ERROR_INIT;
	int status = -1;
	pid_t child;

	put(f, "locked/a", "x");
	assert_int_equal(chmod(path_of(f, "locked"), 0), 0);
	assert_int_equal(chmod(f->folder, 0755), 0);
	child = fork();
	if (child == 0) {
		/* Root may read everything, so the test becomes somebody else. */
		if (geteuid() == 0 && setuid(65534) < 0)
			_exit(1);
		_exit(get(f, "locked/a", &err) == ERR_DENIED &&
				      store_list(f->store, "", false, NULL, NULL, &err) ==
					      ERR_DENIED &&
				      store_put(f->store, "b", slice_text("x"), &err) == ERR_DENIED
			      ? 0
			      : 2);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(chmod(path_of(f, "locked"), 0700), 0);
	assert_int_equal(geteuid() == 0 ? WEXITSTATUS(status) : 0, 0);
}

static void assert_links_stay_inside(struct fixture *f)
{
	struct error err = ERROR_INIT;
	char secret[TEMP_MAX + 16];

	snprintf(secret, sizeof(secret), "%s/secret", f->folder);
	close(open(secret, O_WRONLY | O_CREAT, 0600));
	put(f, "real/a", "inside");
	symlink(secret, path_of(f, "absolute"));
	symlink("../secret", path_of(f, "relative"));
	symlink("..", path_of(f, "up"));
	symlink("nowhere", path_of(f, "dangling"));
	assert_int_equal(get(f, "absolute", &err), ERR_DENIED);
	assert_int_equal(get(f, "relative", &err), ERR_DENIED);
	assert_int_equal(get(f, "up/secret", &err), ERR_DENIED);
	assert_int_equal(get(f, "../secret", &err), ERR_DENIED);
	assert_int_equal(get(f, "real/../../secret", &err), ERR_DENIED);
	assert_true(store_put(f->store, "up/secret", slice_text("x"), &err) < 0);
	assert_true(store_remove(f->store, "up/secret", &err) < 0);
	assert_int_equal(access(secret, F_OK), 0);
}

static void test_links_that_leave_the_folder(void **state)
{
	struct fixture *f = *state;
	struct error err = ERROR_INIT;

	assert_links_stay_inside(f);
	symlink("real", path_of(f, "link"));
	assert_ok(get(f, "link/a", &err), &err);
	assert_int_equal(get(f, "dangling", &err), STORE_ABSENT);
}

static void test_links_on_kernels_without_openat2(void **state)
{
	struct fixture *f = *state;
	struct error err = ERROR_INIT;

	beneath_without_openat2 = true;
	assert_links_stay_inside(f);
	symlink("real", path_of(f, "link"));
	/* Refused, because it cannot be told apart: but never taken for a missing file. */
	assert_int_equal(get(f, "link/a", &err), ERR_DENIED);
	assert_int_equal(get(f, "dangling", &err), ERR_DENIED);
	assert_int_equal(get(f, "none/a", &err), STORE_ABSENT);
	assert_ok(get(f, "real/a", &err), &err);
	put(f, "new/folder/b", "x");
}

static int count_entry(void *argument, const struct store_entry *entry, struct error *err)
{
	(void)entry;
	(void)err;
	++*(int *)argument;
	return 0;
}

static int count_all(struct fixture *f)
{
	struct error err = ERROR_INIT;
	int n = 0;

	assert_ok(store_list(f->store, "", false, count_entry, &n, &err), &err);
	return n;
}

static void test_a_circle_of_links_is_walked_once(void **state)
{
	struct fixture *f = *state;

	put(f, "a/b", "x");
	symlink("..", path_of(f, "a/circle"));
	symlink("b", path_of(f, "a/file"));
	assert_int_equal(count_all(f), 2);
}

static void test_a_fifo_does_not_hang(void **state)
{
	struct fixture *f = *state;
	struct error err = ERROR_INIT;

	put(f, "a", "x");
	assert_int_equal(mkfifo(path_of(f, "fifo"), 0600), 0);
	assert_int_equal(get(f, "fifo", &err), ERR_UNSUPPORTED);
}

static void test_replacing_leaves_hard_links_alone(void **state)
{
	struct fixture *f = *state;
	struct error err = ERROR_INIT;
	struct store_info info = {0};
	CLEANUP(buf_done) struct buf got = BUF_INIT(100);

	put(f, "repo", "one");
	assert_ok(store_get_all(f->store, "repo", &got, &info, &err), &err);
	assert_ok(store_copy(f->store, "repo", &info.version, "overwritten/repo.1", &err), &err);
	assert_ok(store_copy(f->store, "repo", &info.version, "overwritten/repo.1", &err), &err);
	assert_ok(store_replace(f->store, "repo", &info.version, slice_text("two"), NULL, &err),
		  &err);
	buf_clear(&got);
	assert_ok(store_get_all(f->store, "overwritten/repo.1", &got, NULL, &err), &err);
	assert_true(slice_is(buf_slice(&got), "one"));
	assert_int_equal(count_all(f), 2);
}

static void test_both_kinds_of_version_are_compared(void **state)
{
	struct fixture *f = *state;
	struct error err = ERROR_INIT;
	struct store_info info = {0};

	put(f, "a", "one");
	assert_ok(store_head(f->store, "a", &info, &err), &err);
	put(f, "a", "two");
	assert_int_equal(store_replace(f->store, "a", &info.version, slice_text("x"), NULL, &err),
			 STORE_CHANGED);
	assert_ok(store_head(f->store, "a", &info, &err), &err);
	assert_ok(store_replace(f->store, "a", &info.version, slice_text("x"), NULL, &err), &err);
}

/* The limit of the file size stands in for a full disk: write() fails half way. */
static void test_a_full_disk_leaves_the_old_object(void **state)
{
	struct fixture *f = *state;
	struct error err = ERROR_INIT;
	CLEANUP(buf_done) struct buf got = BUF_INIT(100);
	struct rlimit old, low;
	static uint8_t big[100000];
	int r;

	put(f, "a", "old");
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	low = old;
	low.rlim_cur = 4096;
	setrlimit(RLIMIT_FSIZE, &low);
	r = store_put(f->store, "a", slice_of(big, sizeof(big)), &err);
	setrlimit(RLIMIT_FSIZE, &old);
	assert_int_equal(r, ERR_NETWORK);
	assert_ok(store_get_all(f->store, "a", &got, NULL, &err), &err);
	assert_true(slice_is(buf_slice(&got), "old"));
	assert_int_equal(count_all(f), 1);
}

/* With a real file system of 64 KiB, where we may mount one. */
static void test_a_full_file_system_leaves_the_old_object(void **state)
{
	struct fixture *f = *state;
	struct error err = ERROR_INIT;
	CLEANUP(buf_done) struct buf got = BUF_INIT(100);
	static uint8_t big[100000];
	int r;

	put(f, "x", "x");
	if (mount("tmpfs", f->root, "tmpfs", 0, "size=64k") < 0)
		return;
	r = store_put(f->store, "a", slice_text("old"), &err);
	if (r == 0)
		r = store_put(f->store, "a", slice_of(big, sizeof(big)), &err);
	if (r == ERR_NETWORK)
		r = store_get_all(f->store, "a", &got, NULL, &err) == 0 ? ERR_NETWORK : 0;
	umount(f->root);
	assert_int_equal(r, ERR_NETWORK);
	assert_true(slice_is(buf_slice(&got), "old"));
}

static int crash(void *argument, struct error *err)
{
	(void)argument;
	(void)err;
	_exit(0);
}

static void test_a_crash_releases_the_lock(void **state)
{
	struct fixture *f = *state;
	struct error err = ERROR_INIT;
	int status = -1;
	pid_t child = fork();

	if (child == 0)
		_exit(store_locked(f->store, crash, NULL, &err) != 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_ok(store_replace(f->store, "a", NULL, slice_text("x"), NULL, &err), &err);
}

/* A process that is killed while it writes again and again leaves whole objects only. */
static void test_a_killed_writer_leaves_whole_objects(void **state)
{
	struct fixture *f = *state;
	struct error err = ERROR_INIT;
	static uint8_t bytes[300000];

	memset(bytes, 1, sizeof(bytes));
	assert_ok(store_put(f->store, "a", slice_of(bytes, sizeof(bytes)), &err), &err);
	for (int i = 0; i < 20; i++) {
		CLEANUP(buf_done) struct buf got = BUF_INIT(sizeof(bytes));
		pid_t child = fork();

		if (child == 0) {
			for (uint8_t value = 0;; value++) {
				memset(bytes, value, sizeof(bytes));
				store_put(f->store, "a", slice_of(bytes, sizeof(bytes)), &err);
			}
		}
		usleep((useconds_t)(1000 + i * 700));
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		assert_ok(store_get_all(f->store, "a", &got, NULL, &err), &err);
		assert_int_equal(got.size, sizeof(bytes));
		for (size_t at = 1; at < got.size; at++)
			assert_int_equal(got.data[at], got.data[0]);
	}
}

static int replace_inside(void *argument, struct error *err)
{
	return store_replace(argument, "inside", NULL, slice_text("x"), NULL, err);
}

static void test_replace_within_the_lock(void **state)
{
	struct fixture *f = *state;
	struct error err = ERROR_INIT;

	assert_ok(store_locked(f->store, replace_inside, f->store, &err), &err);
	assert_ok(get(f, "inside", &err), &err);
}

static void test_relative_paths_survive_a_change_of_folder(void **state)
{
	struct fixture *f = *state;
	struct error err = ERROR_INIT;
	CLEANUP(store_freep) struct store *store = NULL;
	CLEANUP(freep) char *here = getcwd(NULL, 0);

	assert_int_equal(chdir(f->folder), 0);
	assert_ok(store_open("root/", NULL, &store, &err), &err);
	assert_int_equal(chdir("/"), 0);
	put(f, "a", "x");
	assert_ok(store_put(store, "b", slice_text("x"), &err), &err);
	assert_int_equal(count_all(f), 2);
	assert_int_equal(chdir(here), 0);
}

static void test_unusable_urls(void **state)
{
	struct error err = ERROR_INIT;
	struct store *store = NULL;

	(void)state;
	assert_int_equal(store_open("", NULL, &store, &err), ERR_ARGUMENT);
	assert_int_equal(store_open("ftp://host/x", NULL, &store, &err), ERR_ARGUMENT);
	assert_int_equal(store_open("file://host/x", NULL, &store, &err), ERR_ARGUMENT);
	assert_null(store);
}

#define LOCAL_TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		LOCAL_TEST(test_no_folder_is_an_empty_store),
		LOCAL_TEST(test_a_file_is_no_store),
		LOCAL_TEST(test_a_file_where_a_folder_should_be),
		LOCAL_TEST(test_unreadable_is_not_absent),
		LOCAL_TEST(test_links_that_leave_the_folder),
		LOCAL_TEST(test_links_on_kernels_without_openat2),
		LOCAL_TEST(test_a_circle_of_links_is_walked_once),
		LOCAL_TEST(test_a_fifo_does_not_hang),
		LOCAL_TEST(test_replacing_leaves_hard_links_alone),
		LOCAL_TEST(test_both_kinds_of_version_are_compared),
		LOCAL_TEST(test_a_full_disk_leaves_the_old_object),
		LOCAL_TEST(test_a_full_file_system_leaves_the_old_object),
		LOCAL_TEST(test_a_crash_releases_the_lock),
		LOCAL_TEST(test_a_killed_writer_leaves_whole_objects),
		LOCAL_TEST(test_replace_within_the_lock),
		LOCAL_TEST(test_relative_paths_survive_a_change_of_folder),
		LOCAL_TEST(test_unusable_urls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
