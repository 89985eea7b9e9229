/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Runs a fuzz target on every file of a folder, and on a bounded number of variants of each that
 * are the same in every run: what once broke something stays tested, and its neighbours with it
 *
 * An input that ends the program is left behind as the file "fuzz-crash" in the current folder.
 */

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"

#define VARIANTS 300	       /* of one file */
#define VARIED_BYTES_MAX 65536 /* larger files are run as they are */

static const uint8_t *current;
static size_t current_size;

static void keep_current(void)
{
	int fd = open("fuzz-crash", O_WRONLY | O_CREAT | O_TRUNC, 0644);

	if (fd < 0 || write(fd, current, current_size) < 0)
		return;
	close(fd);
}

static void on_abort(int number)
{
	(void)number;
	keep_current();
	signal(SIGABRT, SIG_DFL);
	abort();
}

/* There where a sanitizer is linked. */
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

/* In a block of its exact size, so that a read beyond it is seen. */
static void run(const uint8_t *bytes, size_t size)
{
	uint8_t *copy = malloc(size);

	if (size > 0 && !copy)
		abort();
	if (size > 0)
		memcpy(copy, bytes, size);
	current = copy;
	current_size = size;
	LLVMFuzzerTestOneInput(copy, size);
	free(copy);
}

/* xorshift64: any numbers will do, but the same ones each time. */
static uint64_t state;

static size_t pick(size_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (size_t)(state % below);
}

static size_t flip_bit(uint8_t *bytes, size_t size)
{
	bytes[pick(size)] ^= (uint8_t)(1U << pick(8));
	return size;
}

static size_t set_byte(uint8_t *bytes, size_t size)
{
	static const uint8_t values[] = {0x00, 0x01, 0x7f, 0x80, 0xfe, 0xff, ' ', '"', '9', '-'};

	bytes[pick(size)] = values[pick(sizeof(values))];
	return size;
}

static size_t cut(uint8_t *bytes, size_t size)
{
	(void)bytes;
	return pick(size);
}

static size_t take_out(uint8_t *bytes, size_t size)
{
	size_t at = pick(size);
	size_t n = 1 + pick(size - at);

	if (n > 16)
		n = 16;
	memmove(bytes + at, bytes + at + n, size - at - n);
	return size - n;
}

static size_t repeat(uint8_t *bytes, size_t size)
{
	size_t at = pick(size);
	size_t n = 1 + pick(size - at);

	/* The block has room for it. */
	memmove(bytes + at + n, bytes + at, size - at);
	return size + n;
}

/* One to three changes, or each cut of a small file. */
static void run_variant(const uint8_t *bytes, size_t size, unsigned int i, uint8_t *block)
{
	static size_t (*const changes[])(uint8_t *, size_t) = {flip_bit, flip_bit, set_byte,
							       cut,	 take_out, repeat};
	size_t n = size;

	if (size < VARIANTS / 3 && i < size) {
		run(bytes, i);
		return;
	}
	memcpy(block, bytes, size);
	for (size_t left = 1 + pick(3); left > 0 && n > 0 && n <= size; left--)
		n = changes[pick(sizeof(changes) / sizeof(changes[0]))](block, n);
	run(block, n);
}

static void run_variants(const uint8_t *bytes, size_t size)
{
	uint8_t *block = malloc(2 * size);

	if (!block)
		abort();
	state = 0x9e3779b97f4a7c15 ^ size;
	for (unsigned int i = 0; i < VARIANTS; i++)
		run_variant(bytes, size, i, block);
	free(block);
}

static uint8_t *read_file(const char *path, size_t *ret_size)
{
	FILE *file = fopen(path, "rb");
	uint8_t *bytes;
	long size;

	if (!file || fseek(file, 0, SEEK_END) != 0 || (size = ftell(file)) < 0)
		abort();
	rewind(file);
	bytes = malloc((size_t)size + 1);
	if (!bytes || fread(bytes, 1, (size_t)size, file) != (size_t)size)
		abort();
	fclose(file);
	*ret_size = (size_t)size;
	return bytes;
}

static void run_file(const char *folder, const char *name)
{
	char path[4096];
	uint8_t *bytes;
	size_t size;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	bytes = read_file(path, &size);
	run(bytes, size);
	if (size > 0 && size <= VARIED_BYTES_MAX)
		run_variants(bytes, size);
	free(bytes);
}

int main(int argc, char **argv)
{
	DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
	unsigned int n = 0;
	struct dirent *entry;

	if (!folder) {
		fprintf(stderr, "usage: replay FOLDER\n");
		return 2;
	}
	signal(SIGABRT, on_abort);
	if (__sanitizer_set_death_callback)
		__sanitizer_set_death_callback(keep_current);
	run(NULL, 0);
	while ((entry = readdir(folder))) {
		if (entry->d_name[0] == '.')
			continue;
		run_file(argv[1], entry->d_name);
		n++;
	}
	closedir(folder);
	return n > 0 ? 0 : 1;
}
