/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Pages of listings: S3's, Google's, Azure's, and the indexes of web servers
 */

#include <stdlib.h>

#include "base/cleanup.h"
#include "fuzz.h"
#include "store/cloud.h"
#include "store/web-index.h"

static void try_page(int (*read)(struct cloud_page *page, struct slice body, struct error *err),
		     struct slice body)
{
	CLEANUP(cloud_page_done) struct cloud_page page = {0};

	read(&page, body, NULL);
	for (size_t i = 0; i < page.items.n; i++)
		if (!page.items.items[i].key)
			abort();
}

/* Names of the folder itself, each once; nothing leads out. */
static void try_index(struct slice body)
{
	CLEANUP(web_names_free) struct web_names names = {0};
	const char *last = "";

	if (web_index_read("/a/folder/", body, &names, NULL) < 0)
		return;
	for (size_t i = 0; i < names.n; i++) {
		const char *slash = strchr(names.items[i], '/');

		if (names.items[i][0] == '.' || names.items[i][0] == '/' || (slash && slash[1]) ||
		    strcmp(last, names.items[i]) >= 0)
			abort();
		last = names.items[i];
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice body = slice_of(data, size);

	try_page(cloud_read_s3, body);
	try_page(cloud_read_gcs, body);
	try_page(cloud_read_azure, body);
	try_index(body);
	return 0;
}
