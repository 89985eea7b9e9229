/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Regular expressions of repository configurations and dataset definitions (PCRE2)
 *
 * The syntax is that of Rust's regex crate, with Unicode classes and '$' at the very end only.
 * Refused are what that crate does not have (look-around, back-references, recursion, conditions,
 * callouts, \K ...) and what PCRE2 would read in another way (a++, classes in classes, set
 * operations, flag x, property classes without regard to case).  Patterns come from outside:
 * their size, matching steps, depth and memory are limited.
 *
 * Threads: a compiled pattern may be shared.
 */

#include <stdbool.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"

struct regex;

/* ERR_FORMAT names pattern, place and cause. */
int regex_new(struct slice pattern, struct regex **ret_regex, struct error *err);
struct regex *regex_free(struct regex *regex);
DEFINE_CLEANUP(struct regex *, regex_free)
/* Unanchored search; @ret_found says whether.  ERR_FORMAT when the match limit is hit. */
int regex_search(const struct regex *regex, struct slice text, bool *ret_found, struct error *err);
