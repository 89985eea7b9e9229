/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Runs a fuzz target on every file of a folder: what once broke something stays tested
 */

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "fuzz.h"

/* The bytes in a block of their exact size, so that a read beyond them is seen. */
static uint8_t *read_file(const char *path, size_t *ret_size)
{
	FILE *file = fopen(path, "rb");
	uint8_t *bytes;
	long size;

	if (!file || fseek(file, 0, SEEK_END) != 0 || (size = ftell(file)) < 0)
		abort();
	rewind(file);
	bytes = malloc((size_t)size);
	if (size > 0 && (!bytes || fread(bytes, 1, (size_t)size, file) != (size_t)size))
		abort();
	fclose(file);
	*ret_size = (size_t)size;
	return bytes;
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
	while ((entry = readdir(folder))) {
		char path[4096];
		uint8_t *bytes;
		size_t size;

		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", argv[1], entry->d_name);
		bytes = read_file(path, &size);
		LLVMFuzzerTestOneInput(bytes, size);
		free(bytes);
		n++;
	}
	closedir(folder);
	return n > 0 ? 0 : 1;
}
