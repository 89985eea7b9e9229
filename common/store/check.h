/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What several drivers check alike: ranges, recorded validators
 *
 * Threads: any.
 */

#include "store/store.h"

/*
 * Checks [@offset, @offset + *@length) against an object of @size bytes; STORE_TO_END becomes
 * the bytes that are left.  ERR_FORMAT if the object is shorter: never absence.
 */
int store_check_range(uint64_t offset, uint64_t *length, uint64_t size, struct error *err);

/*
 * Is the state @info the one that @condition (NULL: none) demands?  ERR_CHANGED says what differs.
 * A demand that the store cannot answer (no ETag, no time) is ERR_CHANGED as well.
 */
int store_check_condition(const struct store_condition *condition, const struct store_info *info,
			  struct error *err);

/* Strong comparison of RFC 9110, section 8.8.3.2, quotes or none on either side. */
bool store_etag_equal(const char *a, const char *b);
