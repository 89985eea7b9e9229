/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Metrics for Prometheus: the text of .refmt/stats over HTTP, or in a file
 *
 * Threads: one at a time.
 */

#include "fusefs/fs.h"

struct metrics;

/*
 * @where with a '/' in it is a file, written anew every ten seconds by an atomic replacement; else
 * "[HOST]:PORT", where every GET is answered (HOST empty: loopback).  ERR_ARGUMENT, ERR_NETWORK.
 */
int metrics_new(struct fs *fs, const char *where, struct metrics **ret_metrics, struct error *err);
/* NULL is fine.  Always returns NULL. */
struct metrics *metrics_free(struct metrics *metrics);
DEFINE_CLEANUP(struct metrics *, metrics_free)
