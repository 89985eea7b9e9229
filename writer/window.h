/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Times as NOAA's indexes spell them
 *
 * Threads: any.
 */

#include <stdint.h>

#include "base/error.h"
#include "writer/dataset.h"

#define WINDOW_TEXT_MAX 96

/*
 * Writes the time text of a variable of @step whose window resets every @reset (0: no window,
 * TIME_FOREVER: never) at @lead: "anl", "7 hour fcst", "6-9 hour acc fcst", "0-1 day acc fcst".
 * Leads that are no whole hours count in minutes.  ERR_ARGUMENT: a lead below 0 or of seconds, a
 * variable that is not instant and has no window.
 */
int window_text(enum step_type step, int64_t reset, int64_t lead, char out[WINDOW_TEXT_MAX],
		struct error *err);
