/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Schedules of updates: "M H * * *", UTC
 *
 * M is a minute; H is '*', a step "*" "/n", a range with a step "a-b/n", or hours separated by
 * commas.  All else is refused.  Threads: any; plain values.
 */

#include <stdint.h>

#include "base/error.h"

struct schedule {
	int minute;
	uint32_t hours; /* bit h is set if there is a fire in hour h */
};

/* ERR_ARGUMENT names the text and what is wrong. */
int schedule_parse(const char *text, struct schedule *ret_schedule, struct error *err);
/* The latest fire that is not after @now; a fire itself is its own. */
int64_t schedule_fire(const struct schedule *schedule, int64_t now);
