/* SPDX-License-Identifier: Apache-2.0 */
#include "grib/grid.h"

#include <inttypes.h>
#include <math.h>

/*
 * Latitude/longitude axes by multiplication, never by adding up; projections by the inverse
 * formulas of Snyder, "Map Projections: A Working Manual" (USGS Professional Paper 1395, 1987),
 * sections 7, 15 and 21.
 */

#define RADIANS (M_PI / 180)
#define DEGREES (180 / M_PI)

enum {
	GRID_LATLON = 0,
	GRID_MERCATOR = 10,
	GRID_POLAR = 20,
	GRID_LAMBERT = 30,
	GRID_GAUSSIAN_1 = 4, /* edition 1 */
};

/* Evenly spaced coordinates: first + step * i. */
struct axis {
	double first, step;
	uint32_t n;
};

struct axes {
	struct axis latitude, longitude;
};

static bool is_projected(const struct grib_message *m)
{
	return m->edition == 2 && (m->grid.kind == GRID_MERCATOR || m->grid.kind == GRID_POLAR ||
				   m->grid.kind == GRID_LAMBERT);
}

static struct axes axes_edition_2(const struct grib_message *m)
{
	struct slice s3 = m->section[3];
	double di = be32(OCTET(s3, 64)) * 1e-6, dj = be32(OCTET(s3, 68)) * 1e-6;

	return (struct axes){
		.latitude = {(double)be_signed(OCTET(s3, 47), 4) * 1e-6,
			     m->grid.scan & SCAN_J_POSITIVE ? dj : -dj, m->grid.nj},
		/* Unsigned, also where the producer meant a sign. */
		.longitude = {be32(OCTET(s3, 51)) * 1e-6, m->grid.scan & SCAN_I_NEGATIVE ? -di : di,
			      m->grid.ni},
	};
}

static struct axes axes_edition_1(const struct grib_message *m)
{
	struct slice gds = m->section[3];
	double first = (double)be_signed(OCTET(gds, 11), 3) / 1000.0;
	double last = (double)be_signed(OCTET(gds, 18), 3) / 1000.0;
	double di = be16(OCTET(gds, 24)) / 1000.0, dj = be16(OCTET(gds, 26)) / 1000.0;
	struct axes axes = {
		.latitude = {first, m->grid.scan & SCAN_J_POSITIVE ? dj : -dj, m->grid.nj},
		.longitude = {(double)be_signed(OCTET(gds, 14), 3) / 1000.0,
			      m->grid.scan & SCAN_I_NEGATIVE ? -di : di, m->grid.ni},
	};

	if (m->grid.kind == GRID_GAUSSIAN_1)
		axes.latitude.step = m->grid.nj > 1 ? (last - first) / (double)(m->grid.nj - 1) : 0;
	return axes;
}

static double axis_at(const struct axis *axis, uint32_t i)
{
	double offset = axis->step * i;

	return axis->first + offset;
}

/* Brought into 0 to 360 once, but not when the producer counts from below 0. */
static double longitude_at(const struct axis *axis, uint32_t i)
{
	double longitude = axis_at(axis, i);

	if (longitude >= 360)
		return longitude - 360;
	if (longitude < 0 && axis->first >= 0)
		return longitude + 360;
	return longitude;
}

static double wrap(double longitude)
{
	return longitude >= 180 ? longitude - 360 : longitude;
}

/* Whether the longitudes go eastward round the earth, so that a rotation only moves the seam. */
static bool is_round(const struct axis *axis)
{
	double step;

	if (axis->n < 2)
		return false;
	step = longitude_at(axis, 1) - longitude_at(axis, 0);
	return step > 0 && fabs(step * axis->n - 360) < step / 4;
}

/* The column of the westernmost longitude in [-180, 180). */
static uint32_t first_column(const struct axis *axis)
{
	double least = INFINITY;
	uint32_t column = 0;

	for (uint32_t i = 0; i < axis->n; i++) {
		double longitude = wrap(longitude_at(axis, i));

		if (longitude < least) {
			least = longitude;
			column = i;
		}
	}
	return column;
}

static int check_shape(const struct grib_message *m, struct error *err)
{
	uint8_t shape = *OCTET(m->section[3], 15);

	if (shape == 0 || shape == 1 || shape == 5 || shape == 6)
		return 0;
	return error_set(err, ERR_UNSUPPORTED,
			 "section 3 at offset %zu: shape of the earth %u, known are 0, 1, 5 and 6",
			 grib_section_offset(m, 3), shape);
}

/* Whether the grid is one that flags and coordinates are defined for. */
static int check_grid(const struct grib_message *m, struct error *err)
{
	size_t least = m->grid.kind == GRID_LAMBERT ? 81 : 72;

	if (m->edition == 1) {
		if (m->grid.kind == GRID_LATLON || m->grid.kind == GRID_GAUSSIAN_1)
			return 0;
		return error_set(err, ERR_UNSUPPORTED,
				 "grid type %d of edition 1 has no known orientation",
				 m->grid.kind);
	}
	if (m->grid.kind != GRID_LATLON && !is_projected(m))
		return error_set(err, ERR_UNSUPPORTED,
				 "section 3 at offset %zu: grid 3.%d has no known orientation",
				 grib_section_offset(m, 3), m->grid.kind);
	if (m->grid.kind == GRID_POLAR)
		least = 65;
	if (m->section[3].size < least)
		return error_set(err, ERR_FORMAT, "section 3 at offset %zu has %zu octets, not %zu",
				 grib_section_offset(m, 3), m->section[3].size, least);
	return is_projected(m) ? check_shape(m, err) : 0;
}

/* Octets of the row distance of a projected grid. */
static uint32_t projected_dy(const struct grib_message *m)
{
	return be32(OCTET(m->section[3], m->grid.kind == GRID_MERCATOR ? 69 : 60));
}

static bool rows_ascend(const struct grib_message *m)
{
	if (is_projected(m))
		return (m->grid.scan & SCAN_J_POSITIVE) && projected_dy(m) != 0;
	return (m->edition == 2 ? axes_edition_2(m) : axes_edition_1(m)).latitude.step > 0;
}

static uint32_t rotation(const struct grib_message *m)
{
	struct axis longitude = (m->edition == 2 ? axes_edition_2(m) : axes_edition_1(m)).longitude;

	return is_round(&longitude) ? first_column(&longitude) : 0;
}

int grib_layout_of(const struct grib_message *m, const struct grib_decode_options *options,
		   struct grib_layout *ret_layout, struct error *err)
{
	struct grib_layout layout = {.ni = m->grid.ni, .nj = m->grid.nj};
	bool any_flag = options->north_up || options->adjust_longitude_range;
	int r;

	if (any_flag) {
		r = check_grid(m, err);
		if (r < 0)
			return r;
	}
	if (layout.ni * layout.nj != m->n_points || m->n_points == 0) {
		*ret_layout = (struct grib_layout){.ni = m->n_points, .nj = 1};
		return 0;
	}
	if (options->mode == GRIB_WMO) {
		layout.columns = m->grid.scan & SCAN_J_CONSECUTIVE;
		layout.alternating = m->grid.scan & SCAN_ALTERNATING;
	}
	if (options->north_up)
		layout.reverse_rows = rows_ascend(m);
	if (options->adjust_longitude_range && !is_projected(m))
		layout.rotate = rotation(m);
	*ret_layout = layout;
	return 0;
}

/*
 * A projected grid: where the first point lies on the plane, and how to get back to the sphere or
 * ellipsoid.  Metres and radians.
 */
struct projection {
	int kind;
	double a, e; /* radius and eccentricity */
	double n, f; /* Lambert: cone constant and scale; others: scale in f */
	double lon0; /* central meridian */
	bool south;  /* polar stereographic: the plane touches the South Pole */
	double x0, y0, dx, dy;
};

/* Snyder's m (14-15). */
static double snyder_m(double e, double lat)
{
	double s = e * sin(lat);

	return cos(lat) / sqrt(1 - s * s);
}

/* Snyder's t (15-9). */
static double snyder_t(double e, double lat)
{
	double s = e * sin(lat);

	return tan(M_PI / 4 - lat / 2) / pow((1 - s) / (1 + s), e / 2);
}

/* The latitude for t, by iteration on an ellipsoid (7-9). */
static double latitude_of_t(double e, double t)
{
	double lat = M_PI / 2 - 2 * atan(t);

	for (int i = 0; e > 0 && i < 15; i++) {
		double s = e * sin(lat);
		double next = M_PI / 2 - 2 * atan(t * pow((1 - s) / (1 + s), e / 2));

		if (fabs(next - lat) < 1e-14)
			return next;
		lat = next;
	}
	return lat;
}

static void set_earth(struct slice s3, struct projection *p)
{
	const double flattening = 1 / 298.257223563;

	p->e = 0;
	switch (*OCTET(s3, 15)) {
	case 0:
		p->a = 6367470;
		break;
	case 1:
		p->a = be32(OCTET(s3, 17)) * pow(10, -(double)be_signed(OCTET(s3, 16), 1));
		break;
	case 5:
		p->a = 6378137;
		p->e = sqrt(flattening * (2 - flattening));
		break;
	default:
		p->a = 6371229;
	}
}

static double angle(const uint8_t *p)
{
	return (double)be_signed(p, 4) * 1e-6 * RADIANS;
}

static void forward(const struct projection *p, double lat, double lon, double *ret_x,
		    double *ret_y)
{
	double theta, rho;

	switch (p->kind) {
	case GRID_MERCATOR:
		*ret_x = p->f * (lon - p->lon0);
		*ret_y = -p->f * log(snyder_t(p->e, lat));
		return;
	case GRID_POLAR:
		lat = p->south ? -lat : lat;
		theta = p->south ? p->lon0 - lon : lon - p->lon0;
		rho = p->f * snyder_t(p->e, lat);
		*ret_x = rho * sin(theta);
		*ret_y = -rho * cos(theta);
		if (p->south) {
			*ret_x = -*ret_x;
			*ret_y = -*ret_y;
		}
		return;
	default:
		/* The short way round from the central meridian. */
		theta = p->n * remainder(lon - p->lon0, 2 * M_PI);
		rho = p->f * pow(snyder_t(p->e, lat), p->n);
		*ret_x = rho * sin(theta);
		*ret_y = -rho * cos(theta);
	}
}

static void inverse(const struct projection *p, double x, double y, double *ret_lat,
		    double *ret_lon)
{
	double sign = 1;

	switch (p->kind) {
	case GRID_MERCATOR:
		*ret_lat = latitude_of_t(p->e, exp(-y / p->f));
		*ret_lon = p->lon0 + x / p->f;
		return;
	case GRID_POLAR:
		sign = p->south ? -1 : 1;
		*ret_lat = sign * latitude_of_t(p->e, hypot(x, y) / p->f);
		*ret_lon = p->lon0 + sign * atan2(sign * x, -sign * y);
		return;
	default:
		sign = p->n < 0 ? -1 : 1;
		*ret_lat = latitude_of_t(p->e, pow(sign * hypot(x, y) / p->f, 1 / p->n));
		*ret_lon = p->lon0 + atan2(sign * x, -sign * y) / p->n;
	}
}

static void set_lambert(struct slice s3, struct projection *p)
{
	double lat1 = angle(OCTET(s3, 66)), lat2 = angle(OCTET(s3, 70));
	double m1 = snyder_m(p->e, lat1), t1 = snyder_t(p->e, lat1);

	p->n = fabs(lat1 - lat2) < 1e-10
		       ? sin(lat1)
		       : log(m1 / snyder_m(p->e, lat2)) / log(t1 / snyder_t(p->e, lat2));
	p->f = p->a * m1 / (p->n * pow(t1, p->n));
	p->lon0 = angle(OCTET(s3, 52));
}

static void set_polar(struct slice s3, struct projection *p)
{
	double lat;

	p->south = *OCTET(s3, 64) & 0x80;
	lat = fabs(angle(OCTET(s3, 48)));
	p->lon0 = angle(OCTET(s3, 52));
	if (fabs(lat - M_PI / 2) < 1e-10)
		p->f = 2 * p->a / sqrt(pow(1 + p->e, 1 + p->e) * pow(1 - p->e, 1 - p->e));
	else
		p->f = p->a * snyder_m(p->e, lat) / snyder_t(p->e, lat);
}

static struct projection projection_parse(const struct grib_message *m)
{
	struct slice s3 = m->section[3];
	struct projection p = {.kind = m->grid.kind};
	unsigned int distances = p.kind == GRID_MERCATOR ? 65 : 56;
	double lon1 = angle(OCTET(s3, 43));

	set_earth(s3, &p);
	if (p.kind == GRID_LAMBERT) {
		set_lambert(s3, &p);
	} else if (p.kind == GRID_POLAR) {
		set_polar(s3, &p);
	} else {
		p.f = p.a * snyder_m(p.e, angle(OCTET(s3, 48)));
		p.lon0 = lon1;
	}
	forward(&p, angle(OCTET(s3, 39)), lon1, &p.x0, &p.y0);
	p.dx = be32(OCTET(s3, distances)) * 1e-3;
	p.dy = be32(OCTET(s3, distances + 4)) * 1e-3;
	if (m->grid.scan & SCAN_I_NEGATIVE)
		p.dx = -p.dx;
	if (!(m->grid.scan & SCAN_J_POSITIVE))
		p.dy = -p.dy;
	return p;
}

/* The codec leaves Lambert's longitudes where they fall, but for those beyond the date line. */
static double projected_longitude(const struct projection *p, double lon)
{
	double degrees = lon * DEGREES;

	if (p->kind == GRID_LAMBERT)
		return degrees > 180 ? degrees - 360 : degrees;
	degrees = fmod(degrees + 180, 360);
	return degrees < 0 ? degrees + 180 : degrees - 180;
}

static void store(const struct grib_decode_options *options, void *out, uint64_t i, double value)
{
	if (options->type == GRIB_F64)
		((double *)out)[i] = value;
	else
		((float *)out)[i] = (float)value;
}

/* Product templates that the codec understands. */
static bool codec_knows_product(const struct grib_message *m)
{
	static const uint8_t known[] = {0, 1, 2, 5, 6, 8, 9, 10, 11, 12, 103, 107};
	uint32_t product;

	if (m->section[4].size < 9)
		return false;
	product = be16(OCTET(m->section[4], 8));
	for (size_t i = 0; i < sizeof(known); i++)
		if (product == known[i])
			return true;
	return false;
}

int grib_coordinate_points(const struct grib_message *m, const struct grib_decode_options *options,
			   uint64_t *ret_n, struct error *err)
{
	int r;

	r = check_grid(m, err);
	if (r < 0)
		return r;
	if (m->grid.ni == 0 || m->grid.nj == 0)
		return error_set(err, ERR_UNSUPPORTED,
				 "the grid has no fixed number of columns and rows");
	if (m->edition == 2 && options->mode == GRIB_GRIBBERISH && !codec_knows_product(m))
		return error_set(err, ERR_UNSUPPORTED,
				 "section 4: a product template that gribberish does not know");
	if (is_projected(m))
		*ret_n = (uint64_t)m->grid.ni * m->grid.nj;
	else if (options->var == GRIB_VAR_LATITUDE)
		*ret_n = m->grid.nj;
	else
		*ret_n = m->grid.ni;
	return 0;
}

static void decode_projected(const struct grib_message *m,
			     const struct grib_decode_options *options, void *out)
{
	struct projection p = projection_parse(m);
	bool reverse = options->north_up && rows_ascend(m);
	uint64_t at = 0;

	for (uint32_t row = 0; row < m->grid.nj; row++) {
		uint32_t j = reverse ? m->grid.nj - 1 - row : row;

		for (uint32_t i = 0; i < m->grid.ni; i++, at++) {
			double lat, lon;

			inverse(&p, p.x0 + p.dx * i, p.y0 + p.dy * j, &lat, &lon);
			store(options, out, at,
			      options->var == GRIB_VAR_LATITUDE ? lat * DEGREES
								: projected_longitude(&p, lon));
		}
	}
}

static void decode_latitudes(const struct axis *axis, const struct grib_decode_options *options,
			     void *out)
{
	bool reverse = options->north_up && axis->step > 0;

	for (uint32_t j = 0; j < axis->n; j++)
		store(options, out, j, axis_at(axis, reverse ? axis->n - 1 - j : j));
}

static void decode_longitudes(const struct axis *axis, const struct grib_decode_options *options,
			      void *out)
{
	bool adjust = options->adjust_longitude_range && is_round(axis);
	uint32_t first = adjust ? first_column(axis) : 0;

	for (uint32_t i = 0; i < axis->n; i++) {
		uint32_t column = i < axis->n - first ? i + first : i - (axis->n - first);
		double longitude = longitude_at(axis, column);

		store(options, out, i, adjust ? wrap(longitude) : longitude);
	}
}

int grib_coordinate_decode(const struct grib_message *m, const struct grib_decode_options *options,
			   void *out, struct error *err)
{
	struct axes axes;

	(void)err;
	if (is_projected(m)) {
		decode_projected(m, options, out);
		return 0;
	}
	axes = m->edition == 2 ? axes_edition_2(m) : axes_edition_1(m);
	if (options->var == GRIB_VAR_LATITUDE)
		decode_latitudes(&axes.latitude, options, out);
	else
		decode_longitudes(&axes.longitude, options, out);
	return 0;
}
