/* SPDX-License-Identifier: Apache-2.0 */

/*
 * make-small-repository FOLDER: the repository of make-repo.h at FOLDER/repository, its sources in
 * FOLDER/sources
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/text.h"
#include "harness/make-repo.h"
#include "store/drivers.h"

static int make(const char *folder, struct error *err)
{
	CLEANUP(freep) char *absolute = realpath(folder, NULL);
	CLEANUP(freep) char *repository = NULL;
	CLEANUP(freep) char *sources = NULL;
	CLEANUP(store_freep) struct store *store = NULL;
	int r;

	if (!absolute)
		return error_set_errno(err, errno, "cannot use '%s'", folder);
	repository = text_printf(err, "%s/repository", absolute);
	sources = text_printf(err, "%s/sources", absolute);
	if (!repository || !sources)
		return ERR_MEMORY;
	if (mkdir(sources, 0777) < 0)
		return error_set_errno(err, errno, "cannot make '%s'", sources);
	r = store_local_new(repository, &store, err);
	return r < 0 ? r : make_repo(store, sources, err);
}

int main(int argc, char **argv)
{
	struct error err = ERROR_INIT;

	if (argc != 2) {
		fprintf(stderr, "usage: make-small-repository FOLDER\n");
		return 2;
	}
	if (make(argv[1], &err) < 0) {
		fprintf(stderr, "make-small-repository: %s\n", err.text);
		return error_exit_status(err.kind);
	}
	return 0;
}
