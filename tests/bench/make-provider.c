/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	make-provider DATASETS ID POSITION FILES TYPE FOLDER
 *
 * Publishes the first FILES files of a dataset from append position POSITION on, all of them or
 * those of TYPE ("all"), below FOLDER, readable for everyone who asks a server of that folder.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "provider.h"

static int publish(const char *datasets, const char *id, uint64_t position, uint64_t n,
		   const char *type, const char *folder, struct error *err)
{
	CLEANUP(dataset_freep) struct dataset *dataset = NULL;
	CLEANUP(selection_done) struct selection selection = {0};
	int r = dataset_find(datasets, id, &dataset, err);

	if (r == 0)
		r = selection_init(dataset, NULL, 0, &selection, err);
	if (r == 0)
		r = provider_share(folder, err);
	for (; r == 0 && n > 0; position++) {
		CLEANUP(source_files_done) struct source_files files = {0};

		r = source_files_generate(dataset, &selection, position, position + 1, &files, err);
		for (size_t i = 0; r == 0 && i < files.n && n > 0; i++) {
			const char *name = dataset->files.types[files.items[i].type].name;

			if (strcmp(type, "all") != 0 && strcmp(type, name) != 0)
				continue;
			r = provider_publish(dataset, &files.items[i], folder, err);
			n--;
		}
	}
	return r;
}

int main(int argc, char **argv)
{
	struct error err = ERROR_INIT;
	int r;

	if (argc != 7) {
		fputs("usage: make-provider DATASETS ID POSITION FILES TYPE FOLDER\n", stderr);
		return 2;
	}
	r = publish(argv[1], argv[2], strtoull(argv[3], NULL, 10), strtoull(argv[4], NULL, 10),
		    argv[5], argv[6], &err);
	if (r < 0)
		fprintf(stderr, "make-provider: %s\n", err.text);
	return r < 0;
}
