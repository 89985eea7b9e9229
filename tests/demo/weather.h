/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Plausible weather for the demonstration: a low that crosses the HRRR grid, with its fronts,
 * wind and rain.  It is a drawing, not a model; the same time always gives the same fields.
 *
 * Points are in the order of HRRR's messages: from west to east, then from south to north.
 */

#include "base/cleanup.h"
#include "base/error.h"

enum {
	WEATHER_NX = 1799,
	WEATHER_NY = 1059,
	WEATHER_POINTS = WEATHER_NX * WEATHER_NY,
};

struct weather {
	float *temperature;  /* K, at 2 m */
	float *dew_point;    /* K, at 2 m */
	float *pressure;     /* Pa, at mean sea level */
	float *wind_u;	     /* m/s, eastward, at 10 m */
	float *wind_v;	     /* m/s, northward */
	float *gust;	     /* m/s */
	float *rain;	     /* kg/m2 in the hour before */
	float *reflectivity; /* dBZ, -10 where nothing is seen */
	float *cloud;	     /* percent */
};

/* Allocates the fields; nothing is in them yet.  ERR_MEMORY. */
int weather_new(struct weather **ret_weather, struct error *err);
/* NULL is fine.  Always returns NULL. */
struct weather *weather_free(struct weather *weather);
DEFINE_CLEANUP(struct weather *, weather_free)

/* Fills all fields for @hours after an arbitrary beginning. */
void weather_draw(struct weather *weather, double hours);
