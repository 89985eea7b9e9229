/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/open.h"

static int opened_fill(struct opened *opened, const char *url, const struct open_options *options,
		       struct error *err)
{
	struct id12 id;
	int r;

	r = store_open(url, &options->store, &opened->store, err);
	if (r < 0)
		return r;
	r = repo_open(opened->store, &options->repo, &opened->repo, err);
	if (r < 0)
		return r;
	r = repo_resolve(opened->repo, &options->at, &id, err);
	if (r < 0)
		return r;
	r = repo_checkout(opened->repo, &id, &opened->checkout, err);
	if (r < 0)
		return r;
	return reader_new(opened->repo, &options->reader, &opened->reader, err);
}

int opened_init(struct opened *opened, const char *url, const struct open_options *options,
		struct error *err)
{
	int r;

	*opened = (struct opened){0};
	r = opened_fill(opened, url, options, err);
	if (r < 0)
		opened_done(opened);
	return r;
}

void opened_done(struct opened *opened)
{
	opened->reader = reader_free(opened->reader);
	opened->checkout = checkout_free(opened->checkout);
	opened->repo = repo_free(opened->repo);
	opened->store = store_free(opened->store);
}
