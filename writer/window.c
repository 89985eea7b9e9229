/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/window.h"

#include <stdio.h>

#include "base/time.h"

#define MINUTE (60 * TIME_SECOND)

static const char *const statistics[] = {[STEP_INSTANT] = "",
					 [STEP_ACCUM] = "acc",
					 [STEP_AVG] = "ave",
					 [STEP_MAX] = "max",
					 [STEP_MIN] = "min"};

/* Where the window began that is running at @lead. */
static int64_t window_start(int64_t reset, int64_t lead)
{
	if (reset == TIME_FOREVER || lead == 0)
		return 0;
	return lead % reset != 0 ? lead - lead % reset : lead - reset;
}

int window_text(enum step_type step, int64_t reset, int64_t lead, char out[WINDOW_TEXT_MAX],
		struct error *err)
{
	const char *statistic = statistics[step];
	int64_t start, unit = lead % TIME_HOUR == 0 ? TIME_HOUR : MINUTE;

	if (lead < 0 || lead % MINUTE != 0)
		return error_set(err, ERR_ARGUMENT, "a lead time of %lld s has no text",
				 (long long)(lead / TIME_SECOND));
	if (reset == 0 && lead == 0) {
		snprintf(out, WINDOW_TEXT_MAX, "anl");
		return 0;
	}
	if (reset == 0 && step != STEP_INSTANT)
		return error_set(err, ERR_ARGUMENT, "a window that never began has no text");
	if (reset == 0) {
		snprintf(out, WINDOW_TEXT_MAX, "%lld %s fcst", (long long)(lead / unit),
			 unit == TIME_HOUR ? "hour" : "min");
		return 0;
	}
	start = window_start(reset, lead);
	if (start % unit != 0)
		unit = MINUTE;
	/* The largest unit that divides both ends; only windows from 0 on come as whole days. */
	if (start == 0 && lead % TIME_DAY == 0)
		snprintf(out, WINDOW_TEXT_MAX, "0-%lld day %s fcst", (long long)(lead / TIME_DAY),
			 statistic);
	else
		snprintf(out, WINDOW_TEXT_MAX, "%lld-%lld %s %s fcst", (long long)(start / unit),
			 (long long)(lead / unit), unit == TIME_HOUR ? "hour" : "min", statistic);
	return 0;
}
