/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a dataset's repositories are configured to: containers, manifest splits, caches
 *
 * Threads: any.
 */

#include "base/buf.h"
#include "base/error.h"
#include "writer/dataset.h"

/* Appends the members of the configuration that the definition decides, as a JSON object. */
int policy_write(const struct dataset *dataset, struct buf *out, struct error *err);

/*
 * Appends @stored (a JSON object) with the policy's members in place of its own.  Containers and
 * split sizes are replaced whole, everything else member by member; members that the policy does
 * not have stay.
 */
int policy_merge(struct slice stored, struct slice policy, struct buf *out, struct error *err);
