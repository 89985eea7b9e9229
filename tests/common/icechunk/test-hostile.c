/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Damaged files: every file of the test repositories cut short, and with bits turned over, both
 * before and after decompression.  Whatever comes of it, nothing reads outside (the sanitizers see
 * that) and what is accepted holds together (walk.c).
 */

#include <dirent.h>

#include "base/text.h"
#include "files.h"
#include "test.h"
#include "walk.h"

#define VARIANTS 40 /* of one file: as many cuts, as many turned bits */

static struct error err;

static struct hostile_case {
	const char *name; /* of the folder in the test data */
	const char *files;
	enum file_type type;
	void (*walk)(struct slice payload);
} cases[] = {
	{"test-repo-v1", "snapshots", FILE_SNAPSHOT, walk_snapshot},
	{"test-repo-v1", "manifests", FILE_MANIFEST, walk_manifest},
	{"test-repo-v1", "transactions", FILE_TRANSACTION_LOG, walk_txlog},
	{"split-repo-v2", "snapshots", FILE_SNAPSHOT, walk_snapshot},
	{"split-repo-v2", "manifests", FILE_MANIFEST, walk_manifest},
	{"generated/features-v2", "snapshots", FILE_SNAPSHOT, walk_snapshot},
	{"generated/features-v2", "manifests", FILE_MANIFEST, walk_manifest},
	{"generated/features-v2", "transactions", FILE_TRANSACTION_LOG, walk_txlog},
	{"generated/features-v2", "", FILE_REPO, walk_repo},
	{"generated/foreign-writer-v1", "snapshots", FILE_SNAPSHOT, walk_snapshot},
	{"generated/foreign-writer-v2", "manifests", FILE_MANIFEST, walk_manifest},
	{"generated/opslog-v2", "transactions", FILE_TRANSACTION_LOG, walk_txlog},
	{"generated/opslog-v2", "", FILE_REPO, walk_repo},
	{"expire-repo-v2-by-working-copy", "", FILE_REPO, walk_repo},
};

/* In a block of its own size, so that one byte too far is seen. */
static void walk_copy(void (*walk)(struct slice bytes), const uint8_t *bytes, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);

	memcpy(copy, bytes, size);
	walk(slice_of(copy, size));
	free(copy);
}

static void walk_damaged(void (*walk)(struct slice bytes), struct buf *bytes)
{
	uint32_t random = 1;

	walk_copy(walk, bytes->data, bytes->size);
	for (size_t i = 0; i < VARIANTS; i++)
		walk_copy(walk, bytes->data, bytes->size * i / VARIANTS);
	for (size_t i = 0; i < VARIANTS; i++) {
		size_t at;
		uint8_t before;

		random = random * 1664525 + 1013904223;
		at = (size_t)((uint64_t)(random >> 8) * bytes->size >> 24);
		before = bytes->data[at];
		bytes->data[at] ^= (uint8_t)(1U << (i % 8));
		walk_copy(walk, bytes->data, bytes->size);
		bytes->data[at] = before;
	}
}

static void walk_file(const struct hostile_case *c, const char *path)
{
	CLEANUP(buf_done) struct buf file = read_file(path);
	CLEANUP(buf_done) struct buf payload = read_payload(path, c->type, NULL);

	walk_damaged(walk_envelope, &file);
	walk_damaged(c->walk, &payload);
}

static void test_hostile(void **state)
{
	const struct hostile_case *c = *state;
	CLEANUP(freep)
	char *folder = text_printf(&err, "%s/%s/%s", test_data("icechunk"), c->name, c->files);
	struct dirent *entry;
	DIR *dir = opendir(folder);
	int n = 0;

	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		CLEANUP(freep) char *path = text_printf(&err, "%s/%s", folder, entry->d_name);

		if (entry->d_name[0] == '.' || (!c->files[0] && strcmp(entry->d_name, "repo") != 0))
			continue;
		walk_file(c, path);
		n++;
	}
	closedir(dir);
	assert_true(n > 0);
}

int main(void)
{
	if (!test_data("icechunk"))
		test_skip("no test data");
	return RUN_CASES(test_hostile, cases);
}
