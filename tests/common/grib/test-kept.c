/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Messages that a fuzzer kept: where a direct decoder and eccodes both have values, they have the
 * same bits
 *
 *   test-kept FOLDER     of files with one octet of options, then a message (grib-target.h)
 *
 * eccodes refuses some of them, and may end the process on others, so each is tried in a process of
 * its own.
 */

#include "test.h"

#include <dirent.h>
#include <sys/wait.h>
#include <unistd.h>

#include "files.h"
#include "fuzz/grib-target.h"

enum fate { EQUAL, DIFFERENT, NO_VALUES, REFUSED, FATES };

static const char *folder;

static enum fate compare(struct slice file)
{
	struct grib_decode_options options = grib_target_options(file.data[0]);
	struct slice message = slice_sub(file, 1, SIZE_MAX);
	CLEANUP(freep) void *want = NULL;
	CLEANUP(freep) void *have = NULL;
	size_t size;
	uint64_t n;

	if (options.var != GRIB_VAR_NONE || grib_value_count(message, &options, &n, NULL) < 0 ||
	    n > GRIB_TARGET_POINTS_MAX)
		return NO_VALUES;
	size = (size_t)n * grib_type_size(options.type);
	want = calloc(size + 1, 1);
	have = calloc(size + 1, 1);
	if (!want || !have || grib_decode_direct(message, &options, have, n, NULL) < 0)
		return NO_VALUES;
	if (grib_decode_general(message, &options, want, n, NULL) < 0)
		return REFUSED;
	return memcmp(want, have, size) == 0 ? EQUAL : DIFFERENT;
}

static enum fate compare_apart(struct slice file)
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0) {
		/* What eccodes says about damage is no news. */
		(void)!freopen("/dev/null", "w", stderr);
		_exit(compare(file));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFEXITED(status) && WEXITSTATUS(status) < FATES ? (enum fate)WEXITSTATUS(status)
								: REFUSED;
}

static void test_kept(void **state)
{
	DIR *files = opendir(folder);
	unsigned int counts[FATES] = {0};
	struct dirent *entry;

	(void)state;
	assert_non_null(files);
	while ((entry = readdir(files))) {
		CLEANUP(buf_done) struct buf file = BUF_INIT(BUF_NO_LIMIT);
		struct error err = ERROR_INIT;
		enum fate fate;
		char path[4096];

		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		assert_ok(test_read_file(path, &file, &err), &err);
		if (file.size == 0)
			continue;
		fate = compare_apart(buf_slice(&file));
		if (fate == DIFFERENT)
			print_error("%s: eccodes has other values\n", entry->d_name);
		counts[fate]++;
	}
	closedir(files);
	print_message("%u equal, %u different, %u without values, %u that eccodes refuses\n",
		      counts[EQUAL], counts[DIFFERENT], counts[NO_VALUES], counts[REFUSED]);
	assert_int_equal(counts[DIFFERENT], 0);
	assert_true(counts[EQUAL] > 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_kept)};

	if (argc != 2) {
		fprintf(stderr, "usage: test-kept FOLDER\n");
		return 2;
	}
	folder = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
