/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Loading the manifests that the configuration names when a snapshot is opened (formats, 8.4)
 *
 * A thread in the background goes through the first arrays in the order of paths and loads one
 * manifest after the other, until the configuration's limits or half of the cache are used up.
 * Nobody waits for it but who needs the very manifest that it is loading, and the end of the repo.
 *
 * Threads: any may start; one ends.
 */

struct checkout;
struct repo;

/* Does nothing while the manifests of another snapshot are being loaded. */
void preload_start(struct checkout *checkout);
/* Waits for the manifest that is being loaded; the rest is not. */
void preload_end(struct repo *repo);
