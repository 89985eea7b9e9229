/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Which credentials, region, endpoint and address a store uses, and why, in lines for people;
 * never a secret
 *
 * Threads: any.
 */

#include "net/credentials.h"
#include "store/store.h"

/*
 * Appends the lines for @store.  Asks the sources of credentials and resolves names, but sends
 * nothing to the store itself.
 */
int store_explain(struct store *store, struct buf *out, struct error *err);

/* For drivers: where requests to @url go: proxy, addresses, certificates. */
int explain_endpoint(const char *url, bool allow_private, struct buf *out, struct error *err);
/* For drivers: what a chain of credentials has told, and what came of it (@result as fetched). */
int explain_credentials(int result, struct slice story, const struct credentials *credentials,
			const char *order, const struct error *trouble, struct buf *out,
			struct error *err);
