/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A store's documents and coordinates against the definition's
 *
 * Threads: one at a time for each transaction.
 */

#include <stdbool.h>

#include "base/buf.h"
#include "base/error.h"
#include "repo/transaction.h"
#include "writer/dataset.h"
#include "writer/template.h"

/*
 * Refuses what would corrupt the store or break its readers: an array of the store that the
 * definition no longer has, other dimensions, types or chunks, other values of a dimension's
 * coordinate, and, unless @allow_new, arrays that the store does not have.  ERR_CONFLICT lists the
 * first of them.  @template may be of any length.
 */
int metadata_guard(struct template *template, struct checkout *checkout, bool allow_new,
		   struct error *err);

/*
 * Puts into @transaction what differs from @template: documents by bytes, coordinate chunks by
 * their decoded values.  An array that is longer than the template's is ERR_CONFLICT.
 */
int metadata_write(struct template *template, struct transaction *transaction, struct error *err);
