/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/coordinate.h"

#include <math.h>

#include "zarr/time.h"

static int store_integer(const struct zarr_type *type, int64_t value, uint8_t *out, size_t i)
{
	switch (type->size) {
	case 1:
		out[i] = (uint8_t)value;
		return (int8_t)value == value;
	case 2:
		memcpy(out + i * 2, &(int16_t){(int16_t)value}, 2);
		return (int16_t)value == value;
	case 4:
		memcpy(out + i * 4, &(int32_t){(int32_t)value}, 4);
		return (int32_t)value == value;
	default:
		memcpy(out + i * 8, &value, 8);
		return 1;
	}
}

static int store_number(const struct zarr_type *type, double value, uint8_t *out, size_t i,
			struct error *err)
{
	if (type->kind == ZARR_FLOAT && type->size == 4) {
		float narrow = (float)value;

		memcpy(out + i * 4, &narrow, 4);
		return 0;
	}
	if (type->kind == ZARR_FLOAT && type->size == 8) {
		memcpy(out + i * 8, &value, 8);
		return 0;
	}
	/* 2^62 stands for "near the limits": no coordinate comes there. */
	if (type->kind != ZARR_INT || !(fabs(value) < 0x1p62) || value != floor(value) ||
	    !store_integer(type, (int64_t)value, out, i))
		return error_set(err, ERR_FORMAT, "a coordinate's value %g does not fit its type",
				 value);
	return 0;
}

/* Inverse Lambert conformal conic on a sphere, both standard parallels at the origin.
 * Snyder, Map Projections (USGS 1395), equations 14-1 to 14-11 and 15-1 to 15-5. */
struct cone {
	double radius, longitude, n, c, rho0;
};

static struct cone cone_of(const struct dataset_coordinate *coordinate)
{
	const double degree = M_PI / 180;
	double phi = coordinate->origin_latitude * degree;
	struct cone cone = {.radius = coordinate->radius,
			    .longitude = coordinate->origin_longitude,
			    .n = sin(phi)};

	cone.c = cos(phi) * pow(tan(M_PI / 4 + phi / 2), cone.n) / cone.n;
	cone.rho0 = cone.c * pow(tan(M_PI / 4 + phi / 2), -cone.n);
	return cone;
}

static double cone_degrees(const struct cone *cone, bool is_longitude, double x, double y)
{
	const double degree = M_PI / 180;
	double across = x / cone->radius, down = cone->rho0 - y / cone->radius;

	if (is_longitude)
		return atan2(across, down) / cone->n / degree + cone->longitude;
	return (2 * atan(pow(cone->c / hypot(across, down), 1 / cone->n)) - M_PI / 2) / degree;
}

static int fill_projected(const struct dataset *dataset,
			  const struct dataset_coordinate *coordinate, const struct zarr_type *type,
			  const uint64_t *start, const uint64_t *shape, const uint64_t *length,
			  uint8_t *out, struct error *err)
{
	const double *y = dataset->dims[coordinate->dims[0]].labels;
	const double *x = dataset->dims[coordinate->dims[1]].labels;
	struct cone cone = cone_of(coordinate);

	for (uint64_t j = 0; j < shape[0] && start[0] + j < length[0]; j++) {
		for (uint64_t i = 0; i < shape[1] && start[1] + i < length[1]; i++) {
			double value = cone_degrees(&cone, coordinate->is_longitude,
						    x[start[1] + i], y[start[0] + j]);
			int r = store_number(type, value, out, (size_t)(j * shape[1] + i), err);

			if (r < 0)
				return r;
		}
	}
	return 0;
}

static double dated(const struct dataset_coordinate *coordinate, int64_t label)
{
	size_t i = 0;

	while (i + 1 < coordinate->n_dated && label >= coordinate->dated[i].until)
		i++;
	return coordinate->dated[i].value;
}

static int fill_times(const struct dataset *dataset, const struct dataset_coordinate *coordinate,
		      const struct zarr_type *type, const uint64_t *start, const uint64_t *shape,
		      const uint64_t *length, uint8_t *out, struct error *err)
{
	struct json attributes = {.type = JSON_OBJECT, .span = coordinate->attributes};
	bool has_plus = coordinate->kind == COORDINATE_APPEND_PLUS;
	uint64_t columns = has_plus ? shape[1] : 1;
	struct zarr_time time;
	int r = zarr_time_parse(&attributes, &time, err);

	if (r < 0)
		return r;
	if (r == ZARR_NO_TIME || time.is_duration)
		return error_set(err, ERR_FORMAT, "coordinate '%s' has no units of time",
				 coordinate->name);
	for (uint64_t j = 0; j < shape[0] && start[0] + j < length[0]; j++) {
		int64_t label = dataset_label(dataset, start[0] + j);

		for (uint64_t i = 0; i < columns; i++) {
			int64_t plus = 0;

			if (has_plus && start[1] + i >= length[1])
				break;
			if (has_plus)
				plus = dataset->dims[coordinate->plus].durations[start[1] + i];
			r = zarr_time_encode(&time, type, label + plus, out,
					     (size_t)(j * columns + i), err);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

static int fill_numbers(const struct dataset *dataset, const struct dataset_coordinate *coordinate,
			const struct zarr_type *type, uint64_t start, uint64_t n, uint64_t length,
			uint8_t *out, struct error *err)
{
	for (uint64_t i = 0; i < n && start + i < length; i++) {
		double value = coordinate->kind == COORDINATE_LIST ? coordinate->values[start + i]
			       : coordinate->kind == COORDINATE_BY_APPEND
				       ? dated(coordinate, dataset_label(dataset, start + i))
				       : coordinate->start + (double)(start + i) * coordinate->step;
		int r = store_number(type, value, out, (size_t)i, err);

		if (r < 0)
			return r;
	}
	return 0;
}

int coordinate_fill(const struct dataset *dataset, const struct dataset_coordinate *coordinate,
		    const struct zarr_type *type, const uint64_t *start, const uint64_t *shape,
		    const uint64_t *length, uint8_t *out, struct error *err)
{
	switch (coordinate->kind) {
	case COORDINATE_APPEND:
	case COORDINATE_APPEND_PLUS:
		return fill_times(dataset, coordinate, type, start, shape, length, out, err);
	case COORDINATE_PROJECTED:
		return fill_projected(dataset, coordinate, type, start, shape, length, out, err);
	case COORDINATE_BY_APPEND:
	case COORDINATE_RANGE:
	case COORDINATE_LIST:
		break;
	}
	if (coordinate->n_dims == 0)
		return fill_numbers(dataset, coordinate, type, 0, 1, 1, out, err);
	return fill_numbers(dataset, coordinate, type, start[0], shape[0], length[0], out, err);
}
