/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Stores behind the locations of virtual references
 *
 * A location is a name: a root ("s3://bucket/", "https://host/", "file:///") and the key that
 * follows it byte for byte.  A container is all below a prefix, at a path boundary; its objects
 * may really be fetched from somewhere else.
 */

#include "store/store.h"

/*
 * How many bytes of @location name the root; what follows is the key.  0 for what is no location
 * of a known scheme (s3, tigris, gs, gcs, az, azure, abfs, http, https, file).
 */
size_t store_location_root(const char *location);

/* New text of @location for messages: no secrets of a query; the caller frees it.  NULL: no memory.
 */
char *store_location_shown(struct slice location);

/*
 * Opens the container @prefix.  The store's keys are those of locations under the same root;
 * a key outside of the prefix is ERR_DENIED.  It is read only.
 *
 * @mapped (NULL: nothing) says where the objects really are, the prefix replaced by it: a path
 * or file URL is a folder; for a prefix of a cloud scheme an http(s) URL is an endpoint with the
 * bucket in its path ("http://127.0.0.1:9000/bucket/", for Azurite
 * "http://127.0.0.1:10000/account/container/"), spoken to in that scheme's protocol,
 * anonymously; anything else is a store URL.  It is the user's word: private addresses are
 * allowed there.
 *
 * Without @mapped: s3, gs, az as @options say, never with an endpoint from the environment;
 * http(s) paths and queries are sent as stored, illegal bytes escaped; file stays in its folder.
 */
int store_open_container(const char *prefix, const char *mapped,
			 const struct store_options *options, struct store **ret_store,
			 struct error *err);
