/* SPDX-License-Identifier: Apache-2.0 */
#include "weather.h"

#include <math.h>
#include <stdlib.h>

enum { N_FIELDS = 9, N_WAVES = 7 };

/* Waves that do not repeat within the grid, so that fields look rough and pack like real ones. */
struct roughness {
	double by_x[N_WAVES][WEATHER_NX];
	double by_y[N_WAVES][WEATHER_NY];
};

int weather_new(struct weather **ret_weather, struct error *err)
{
	CLEANUP(weather_freep) struct weather *weather = calloc(1, sizeof(*weather));
	float *all;

	if (!weather)
		return error_memory(err);
	all = calloc((size_t)N_FIELDS * WEATHER_POINTS, sizeof(*all));
	if (!all)
		return error_memory(err);

	weather->temperature = all;
	weather->dew_point = all + (size_t)1 * WEATHER_POINTS;
	weather->pressure = all + (size_t)2 * WEATHER_POINTS;
	weather->wind_u = all + (size_t)3 * WEATHER_POINTS;
	weather->wind_v = all + (size_t)4 * WEATHER_POINTS;
	weather->gust = all + (size_t)5 * WEATHER_POINTS;
	weather->rain = all + (size_t)6 * WEATHER_POINTS;
	weather->reflectivity = all + (size_t)7 * WEATHER_POINTS;
	weather->cloud = all + (size_t)8 * WEATHER_POINTS;
	*ret_weather = TAKE(weather);
	return 0;
}

struct weather *weather_free(struct weather *weather)
{
	if (weather)
		free(weather->temperature); /* the one block that all fields lie in */
	free(weather);
	return NULL;
}

static void roughness_draw(struct roughness *rough, double hours)
{
	for (int k = 0; k < N_WAVES; k++) {
		double step = 0.011 * pow(1.83, k);

		for (int i = 0; i < WEATHER_NX; i++)
			rough->by_x[k][i] = sin(i * step + 1.3 * k - hours * (0.2 + 0.1 * k));
		for (int j = 0; j < WEATHER_NY; j++)
			rough->by_y[k][j] = cos(j * step * 1.21 + 0.7 * k + hours * 0.15);
	}
}

/* About -1 to 1. */
static double roughness_at(const struct roughness *rough, int i, int j)
{
	double sum = 0;

	for (int k = 0; k < N_WAVES; k++)
		sum += rough->by_x[k][i] * rough->by_y[k][(j + i / 3) % WEATHER_NY] / (1.5 + k);
	return sum / 1.6;
}

/* The rain of two spiral arms around the low, in kg/m2 an hour. */
static double rain_of(double distance, double angle, double rough)
{
	double arm = cos(2 * angle + 9 * sqrt(distance) + 1.2 * rough);
	double rain = 14 * exp(-distance * 5) * (arm + 0.55 * rough - 0.45);

	return rain > 0 ? rain : 0;
}

static void draw_point(struct weather *weather, const struct roughness *rough, double hours, int i,
		       int j)
{
	size_t at = (size_t)j * WEATHER_NX + (size_t)i;
	double noise = roughness_at(rough, i, j);
	double north = (double)j / WEATHER_NY;
	double x = (double)i / WEATHER_NY - (0.55 + 0.02 * hours);
	double y = north - (0.55 + 0.006 * hours);
	double distance = sqrt(x * x + y * y) + 1e-6;
	double spin = 48 * distance * exp(-distance * 4) * 2.7;
	double warm = 7 * tanh(6 * (x + 0.25 * y)) * exp(-3 * distance * distance);
	double rain = rain_of(distance, atan2(y, x), noise);
	double humid = exp(-2.5 * distance) + 0.25 * noise;
	double temperature = 303 - 27 * north + warm + 1.8 * noise - 0.25 * rain;
	double u = -spin * y / distance + 3 + 1.5 * noise;
	double v = spin * x / distance + 1.2 * noise;

	weather->pressure[at] =
		(float)(101700 - 2900 * exp(-distance * distance * 14) + 120 * noise);
	weather->temperature[at] = (float)temperature;
	weather->dew_point[at] = (float)(temperature - fmax(0.3, 14 * (1 - humid)));
	weather->wind_u[at] = (float)u;
	weather->wind_v[at] = (float)v;
	weather->gust[at] = (float)(1.45 * hypot(u, v) + fabs(noise));
	weather->rain[at] = (float)rain;
	weather->reflectivity[at] =
		(float)(rain > 0.02 ? fmin(10 * log10(200 * pow(rain, 1.6)), 65) : -10);
	weather->cloud[at] = (float)fmin(fmax(120 * humid - 10 + (rain > 0 ? 40 : 0), 0), 100);
}

void weather_draw(struct weather *weather, double hours)
{
	static struct roughness rough;

	roughness_draw(&rough, hours);
	for (int j = 0; j < WEATHER_NY; j++)
		for (int i = 0; i < WEATHER_NX; i++)
			draw_point(weather, &rough, hours, i, j);
}
