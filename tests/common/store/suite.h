/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What every store must do, whatever is behind it
 *
 * The same tests run against the local and memory stores here and against real servers from
 * tests/interop.  The expected outcomes are the contract in store/store.h.
 */

#include "store/store.h"

/* A store to test: empty and writable, and how its like is opened once more. */
struct store_suite {
	const char *url;	      /* for other processes; each opens it anew */
	struct store_options options; /* as the first was opened */
	struct store *store;
	bool plain_names; /* keys are file names: no "//", no trailing '/' */
};

/* Runs all tests; the result of the program. */
int store_suite_run(struct store_suite *suite);

/* If this process was started by the suite for a race: runs it, returns true and its status. */
bool store_suite_child(int argc, char **argv, const struct store_options *options, int *ret_status);
