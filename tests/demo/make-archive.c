/* SPDX-License-Identifier: Apache-2.0 */

/*
 * make-archive FOLDER YYYYMMDD HH LEADS
 *
 * Writes the surface files of one HRRR forecast below FOLDER, named as in the provider's bucket,
 * for the leads 0 to LEADS hours, with the index beside each.  Grid, product sections, packing
 * and index lines are those of the real files; there are ten fields instead of 170.
 */

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "harness/make-grib.h"
#include "weather.h"

enum { LEADS_MAX = 48 };

enum window { INSTANT, SINCE_START, LAST_HOUR };

struct field {
	const char *element; /* as the index names it */
	const char *level;
	enum window window;
	uint8_t category, number; /* FM 92, code table 4.2, discipline 0 */
	struct make_level surface;
	int decimals;
};

static const struct field fields[] = {
	{"REFC", "entire atmosphere", INSTANT, 16, 196, {10, 0, 0}, 1},
	{"GUST", "surface", INSTANT, 2, 22, {1, 0, 0}, 1},
	{"MSLMA", "mean sea level", INSTANT, 3, 198, {101, 0, 0}, 0},
	{"TMP", "2 m above ground", INSTANT, 0, 0, {103, 0, 2}, 2},
	{"DPT", "2 m above ground", INSTANT, 0, 6, {103, 0, 2}, 2},
	{"UGRD", "10 m above ground", INSTANT, 2, 2, {103, 0, 10}, 2},
	{"VGRD", "10 m above ground", INSTANT, 2, 3, {103, 0, 10}, 2},
	{"APCP", "surface", SINCE_START, 1, 8, {1, 0, 0}, 2},
	{"APCP", "surface", LAST_HOUR, 1, 8, {1, 0, 0}, 2},
	{"TCDC", "entire atmosphere", INSTANT, 6, 1, {10, 0, 0}, 0},
};

struct run {
	const char *folder;
	long date; /* YYYYMMDD */
	long hour;
	struct weather *weather;
	float *rain_total; /* since the start */
};

static FILE *file_close(FILE *file)
{
	if (file)
		fclose(file);
	return NULL;
}
DEFINE_CLEANUP(FILE *, file_close)

static const float *values_of(const struct run *run, const struct field *field)
{
	const struct weather *weather = run->weather;
	const struct {
		const char *element;
		const float *values;
	} table[] = {
		{"REFC", weather->reflectivity},
		{"GUST", weather->gust},
		{"MSLMA", weather->pressure},
		{"TMP", weather->temperature},
		{"DPT", weather->dew_point},
		{"UGRD", weather->wind_u},
		{"VGRD", weather->wind_v},
		{"APCP", field->window == SINCE_START ? run->rain_total : weather->rain},
		{"TCDC", weather->cloud},
	};

	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		if (strcmp(table[i].element, field->element) == 0)
			return table[i].values;
	abort();
}

static long window_start(const struct field *field, long lead)
{
	if (field->window == INSTANT)
		return lead;
	return field->window == LAST_HOUR ? lead - 1 : 0;
}

static int encode(const struct run *run, const struct field *field, long lead, struct buf *message,
		  struct error *err)
{
	struct make_grib spec = {
		.category = field->category,
		.number = field->number,
		.level = field->surface,
		.level2 = {.type = 255},
		.year = (int)(run->date / 10000),
		.month = (int)(run->date / 100 % 100),
		.day = (int)(run->date % 100),
		.hour = (int)run->hour,
		.lead_minutes = (int32_t)lead * 60,
		.has_window = field->window != INSTANT,
		.window_minutes = (int32_t)(lead - window_start(field, lead)) * 60,
		.statistic = MAKE_ACCUMULATION,
		.grid = make_grid_hrrr,
		.packing = MAKE_SPATIAL,
		.decimal_scale = field->decimals,
	};

	buf_clear(message);
	return make_grib_field(&spec, values_of(run, field), message, err);
}

/* The window as wgrib2 words it in its index. */
static void format_window(const struct field *field, long lead, char *text, size_t size)
{
	if (field->window == INSTANT && lead == 0)
		snprintf(text, size, "anl");
	else if (field->window == INSTANT)
		snprintf(text, size, "%ld hour fcst", lead);
	else if (lead == 0)
		snprintf(text, size, "0-0 day acc fcst");
	else if (field->window == SINCE_START && lead % 24 == 0)
		snprintf(text, size, "0-%ld day acc fcst", lead / 24);
	else
		snprintf(text, size, "%ld-%ld hour acc fcst", window_start(field, lead), lead);
}

static int write_fields(const struct run *run, long lead, FILE *file, FILE *index,
			struct error *err)
{
	CLEANUP(buf_done) struct buf message = BUF_INIT(BUF_NO_LIMIT);
	size_t offset = 0;
	int n = 0;

	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		const struct field *field = &fields[i];
		char window[64];
		int r;

		/* The real files have no window of the last hour at the start either. */
		if (field->window == LAST_HOUR && lead == 0)
			continue;
		r = encode(run, field, lead, &message, err);
		if (r < 0)
			return error_prefix(err, "cannot encode %s", field->element);
		if (fwrite(message.data, 1, message.size, file) != message.size)
			return error_set_errno(err, errno, "cannot write %s", field->element);
		format_window(field, lead, window, sizeof(window));
		fprintf(index, "%d:%zu:d=%ld%02ld:%s:%s:%s:\n", ++n, offset, run->date, run->hour,
			field->element, field->level, window);
		offset += message.size;
	}
	if (fflush(file) != 0 || fflush(index) != 0)
		return error_set_errno(err, errno, "cannot write below '%s'", run->folder);
	return 0;
}

static int open_file(const char *path, FILE **ret_file, struct error *err)
{
	FILE *file = fopen(path, "w");

	if (!file)
		return error_set_errno(err, errno, "cannot write '%s'", path);
	*ret_file = file;
	return 0;
}

static int write_lead(const struct run *run, long lead, struct error *err)
{
	CLEANUP(file_closep) FILE *file = NULL;
	CLEANUP(file_closep) FILE *index = NULL;
	char path[PATH_MAX];
	char beside[PATH_MAX + sizeof(".idx")];
	int r;

	snprintf(path, sizeof(path), "%s/hrrr.%ld/conus/hrrr.t%02ldz.wrfsfcf%02ld.grib2",
		 run->folder, run->date, run->hour, lead);
	snprintf(beside, sizeof(beside), "%s.idx", path);
	r = open_file(path, &file, err);
	if (r < 0)
		return r;
	r = open_file(beside, &index, err);
	if (r < 0)
		return r;
	return write_fields(run, lead, file, index, err);
}

static int make_folders(const struct run *run, struct error *err)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/hrrr.%ld/conus", run->folder, run->date);

	if (n < 0 || (size_t)n + 64 > sizeof(path))
		return error_set(err, ERR_ARGUMENT, "the folder's name is too long");
	for (char *slash = strchr(path + 1, '/');; slash = strchr(slash + 1, '/')) {
		if (slash)
			*slash = '\0';
		if (mkdir(path, 0777) < 0 && errno != EEXIST)
			return error_set_errno(err, errno, "cannot make '%s'", path);
		if (!slash)
			return 0;
		*slash = '/';
	}
}

static int write_run(const char *folder, long date, long hour, long leads, struct error *err)
{
	CLEANUP(weather_freep) struct weather *weather = NULL;
	CLEANUP(freep) float *rain_total = calloc(WEATHER_POINTS, sizeof(*rain_total));
	struct run run = {.folder = folder, .date = date, .hour = hour, .rain_total = rain_total};
	int r;

	if (!rain_total)
		return error_memory(err);
	r = weather_new(&weather, err);
	if (r < 0)
		return r;
	run.weather = weather;
	r = make_folders(&run, err);
	if (r < 0)
		return r;

	for (long lead = 0; lead <= leads; lead++) {
		weather_draw(weather, (double)(hour + lead));
		for (size_t i = 0; lead > 0 && i < WEATHER_POINTS; i++)
			run.rain_total[i] += weather->rain[i];
		r = write_lead(&run, lead, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static bool parse_number(const char *text, long min, long max, long *ret_number)
{
	char *end;
	long number;

	errno = 0;
	number = strtol(text, &end, 10);
	if (errno || end == text || *end || number < min || number > max)
		return false;
	*ret_number = number;
	return true;
}

int main(int argc, char **argv)
{
	struct error err = ERROR_INIT;
	long date, hour, leads;

	if (argc != 5 || !parse_number(argv[2], 19000101, 29991231, &date) ||
	    !parse_number(argv[3], 0, 23, &hour) || !parse_number(argv[4], 0, LEADS_MAX, &leads)) {
		fprintf(stderr, "usage: make-archive FOLDER YYYYMMDD HH LEADS\n");
		return 2;
	}
	if (write_run(argv[1], date, hour, leads, &err) < 0) {
		fprintf(stderr, "make-archive: %s\n", err.text);
		return error_exit_status(err.kind);
	}
	return 0;
}
