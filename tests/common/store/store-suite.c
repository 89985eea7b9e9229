/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store-suite URL: the suite against any store
 *
 * "local" means a new folder that is removed afterwards.  Other stores must be empty below the
 * URL; their endpoint and credentials come from the usual environment variables.
 */
#include "test.h"

#include <unistd.h>

#include "base/text.h"
#include "store/drivers.h"
#include "suite.h"
#include "temp.h"

static int run_local(const struct store_options *options)
{
	struct store_suite suite = {.options = *options, .plain_names = true};
	CLEANUP(store_freep) struct store *store = NULL;
	char folder[TEMP_MAX], path[TEMP_MAX + 8];
	struct error err = ERROR_INIT;
	int status;

	temp_make(folder);
	snprintf(path, sizeof(path), "%s/a/b", folder);
	if (store_open(path, options, &store, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	suite.url = path;
	suite.store = store;
	status = store_suite_run(&suite);
	temp_remove(folder);
	return status;
}

static int run_url(const char *url, const struct store_options *options)
{
	struct store_suite suite = {.url = url, .options = *options};
	CLEANUP(store_freep) struct store *store = NULL;
	struct error err = ERROR_INIT;

	if (store_open(url, options, &store, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	suite.store = store;
	if (strcmp(store->ops->name, "memory") == 0)
		suite.url = NULL;
	return store_suite_run(&suite);
}

int main(int argc, char **argv)
{
	/* Emulators on a busy machine may take minutes for what is done at once elsewhere. */
	struct store_options options = {
		.allow_private = true, .timeout_ms = 300000, .stall_ms = 120000};
	int status;

	if (store_suite_child(argc, argv, &options, &status))
		return status;
	if (argc != 2) {
		fprintf(stderr, "usage: store-suite URL|local\n");
		return 2;
	}
	/* Emulators whose writes take the longer the more is there; as many pages, of fewer keys.
	 */
	if (text_starts(argv[1], "gs:") || text_starts(argv[1], "az:"))
		options.page = 100;
	if (strcmp(argv[1], "local") == 0)
		return run_local(&options);
	return run_url(argv[1], &options);
}
