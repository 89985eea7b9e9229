/* SPDX-License-Identifier: Apache-2.0 */
#include "zarr/grid.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "zarr/metadata.h"

static uint64_t ceil_div(uint64_t a, uint64_t b)
{
	return a / b + (a % b != 0);
}

/* A chunk of 0 elements makes no chunks, as in the public icechunk library. */
static void uniform_dim(struct zarr_dim *dim, uint64_t chunk)
{
	dim->chunk = chunk;
	dim->n_chunks = chunk ? ceil_div(dim->length, chunk) : 0;
}

static int regular_grid(struct zarr_grid *grid, const struct json *configuration, struct error *err)
{
	struct json sizes, item;
	uint64_t size;
	int r;

	if (json_get(configuration, "chunk_shape", &sizes) != 0 || sizes.type != JSON_ARRAY)
		return error_set(err, ERR_FORMAT, "chunk_grid has no chunk_shape");
	if (json_count(&sizes) != grid->n_dims)
		return error_set(err, ERR_FORMAT, "chunk_shape has %zu dimensions, shape has %zu",
				 json_count(&sizes), grid->n_dims);
	for (size_t d = 0; d < grid->n_dims; d++) {
		json_at(&sizes, d, &item);
		r = json_u64(&item, &size, err);
		if (r < 0)
			return error_prefix(err, "chunk_shape");
		uniform_dim(&grid->dims[d], size);
	}
	return 0;
}

/* One item of a rectilinear dimension: a size, or [size, count]. */
static int read_run(const struct json *item, uint64_t *ret_size, uint64_t *ret_count,
		    struct error *err)
{
	struct json part;
	int r;

	*ret_count = 1;
	if (item->type != JSON_ARRAY) {
		r = json_u64(item, ret_size, err);
	} else {
		if (json_count(item) != 2)
			return error_set(err, ERR_FORMAT,
					 "chunk_shapes: a run is not [size, count]");
		json_at(item, 1, &part);
		r = json_u64(&part, ret_count, err);
		if (r == 0) {
			json_at(item, 0, &part);
			r = json_u64(&part, ret_size, err);
		}
	}
	if (r < 0)
		return error_prefix(err, "chunk_shapes");
	if (*ret_size == 0 || *ret_count == 0)
		return error_set(err, ERR_FORMAT, "chunk_shapes: a chunk of no elements");
	return 0;
}

static int add_run(struct zarr_dim *dim, uint64_t size, uint64_t count, uint64_t *covered,
		   struct error *err)
{
	uint64_t elements;

	dim->runs[dim->n_runs++] = (struct zarr_run){size, dim->n_chunks, *covered};
	if (__builtin_mul_overflow(size, count, &elements) ||
	    __builtin_add_overflow(*covered, elements, covered) ||
	    __builtin_add_overflow(dim->n_chunks, count, &dim->n_chunks))
		return error_set(err, ERR_FORMAT, "chunk_shapes: more than 2^64 elements");
	return 0;
}

static int rectilinear_dim(struct zarr_dim *dim, const struct json *sizes, struct error *err)
{
	struct json key, item;
	uint64_t covered = 0;
	uint64_t size, count;
	int r;

	if (json_count(sizes) == 0)
		return error_set(err, ERR_FORMAT, "chunk_shapes: a dimension without chunks");
	dim->runs = calloc(json_count(sizes), sizeof(*dim->runs));
	if (!dim->runs)
		return error_memory(err);

	JSON_EACH (sizes, &key, item) {
		r = read_run(&item, &size, &count, err);
		if (r == 0)
			r = add_run(dim, size, count, &covered, err);
		if (r < 0)
			return r;
	}
	if (covered < dim->length)
		return error_set(err, ERR_FORMAT, "chunk_shapes cover %ju of %ju elements",
				 (uintmax_t)covered, (uintmax_t)dim->length);
	return 0;
}

static int rectilinear_grid(struct zarr_grid *grid, const struct json *configuration,
			    struct error *err)
{
	struct json shapes, item;
	uint64_t size;
	int r;

	if (json_get(configuration, "chunk_shapes", &shapes) != 0 || shapes.type != JSON_ARRAY)
		return error_set(err, ERR_FORMAT, "chunk_grid has no chunk_shapes");
	if (json_count(&shapes) != grid->n_dims)
		return error_set(err, ERR_FORMAT, "chunk_shapes has %zu dimensions, shape has %zu",
				 json_count(&shapes), grid->n_dims);
	for (size_t d = 0; d < grid->n_dims; d++) {
		json_at(&shapes, d, &item);
		if (item.type == JSON_ARRAY) {
			r = rectilinear_dim(&grid->dims[d], &item, err);
		} else { /* one size, repeated */
			r = json_u64(&item, &size, err);
			if (r == 0 && size == 0)
				r = error_set(err, ERR_FORMAT, "a chunk of no elements");
			if (r == 0)
				uniform_dim(&grid->dims[d], size);
			else
				error_prefix(err, "chunk_shapes");
		}
		if (r < 0)
			return r;
	}
	return 0;
}

static int read_shape(struct zarr_grid *grid, const struct json *shape, struct error *err)
{
	struct json key, item;
	int r;

	if (shape->type != JSON_ARRAY)
		return error_set(err, ERR_FORMAT, "shape is not a list");
	if (json_count(shape) > ZARR_DIMS_MAX)
		return error_set(err, ERR_UNSUPPORTED, "%zu dimensions, at most %d are supported",
				 json_count(shape), ZARR_DIMS_MAX);
	JSON_EACH (shape, &key, item) {
		r = json_u64(&item, &grid->dims[grid->n_dims++].length, err);
		if (r < 0)
			return error_prefix(err, "shape");
	}
	return 0;
}

static int read_grid(struct zarr_grid *grid, const struct json *shape,
		     const struct json *chunk_grid, struct error *err)
{
	struct json configuration;
	struct slice name;
	int r;

	r = read_shape(grid, shape, err);
	if (r < 0)
		return r;
	r = zarr_extension_parse(chunk_grid, &name, &configuration, err);
	if (r < 0)
		return error_prefix(err, "chunk_grid");

	grid->is_regular = slice_is(name, "regular");
	if (grid->is_regular)
		return regular_grid(grid, &configuration, err);
	if (slice_is(name, "rectilinear"))
		return rectilinear_grid(grid, &configuration, err);
	return error_set(err, ERR_UNSUPPORTED, "chunk_grid '%.*s' is not known", (int)name.size,
			 (const char *)name.data);
}

int zarr_grid_init(struct zarr_grid *grid, const struct json *shape, const struct json *chunk_grid,
		   struct error *err)
{
	int r;

	*grid = (struct zarr_grid){0};
	r = read_grid(grid, shape, chunk_grid, err);
	if (r < 0)
		zarr_grid_done(grid);
	return r;
}

void zarr_grid_done(struct zarr_grid *grid)
{
	for (size_t d = 0; d < grid->n_dims; d++)
		free(grid->dims[d].runs);
	*grid = (struct zarr_grid){0};
}

uint64_t zarr_grid_n_chunks(const struct zarr_grid *grid)
{
	uint64_t n = 1;

	for (size_t d = 0; d < grid->n_dims; d++)
		if (grid->dims[d].n_chunks == 0)
			return 0;
	for (size_t d = 0; d < grid->n_dims; d++)
		if (__builtin_mul_overflow(n, grid->dims[d].n_chunks, &n))
			return UINT64_MAX;
	return n;
}

bool zarr_grid_holds(const struct zarr_grid *grid, const uint32_t *index)
{
	for (size_t d = 0; d < grid->n_dims; d++)
		if (index[d] >= grid->dims[d].n_chunks)
			return false;
	return true;
}

void zarr_grid_chunk_shape(const struct zarr_grid *grid, const uint32_t *index,
			   uint64_t ret_shape[ZARR_DIMS_MAX])
{
	uint64_t start;

	for (size_t d = 0; d < grid->n_dims; d++)
		zarr_dim_chunk(&grid->dims[d], index[d], &start, &ret_shape[d]);
}

/* The last run that begins at or before chunk (or element) @at. */
static const struct zarr_run *find_run(const struct zarr_dim *dim, uint64_t at, bool by_element)
{
	size_t low = 0;
	size_t high = dim->n_runs;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		uint64_t begin = by_element ? dim->runs[middle].start : dim->runs[middle].first;

		if (begin <= at)
			low = middle;
		else
			high = middle;
	}
	return &dim->runs[low];
}

void zarr_dim_chunk(const struct zarr_dim *dim, uint64_t i, uint64_t *ret_start, uint64_t *ret_size)
{
	const struct zarr_run *run;

	if (!dim->runs) {
		*ret_start = i * dim->chunk;
		*ret_size = dim->chunk;
		return;
	}
	run = find_run(dim, i, false);
	*ret_start = run->start + (i - run->first) * run->size;
	*ret_size = run->size;
}

uint64_t zarr_dim_find(const struct zarr_dim *dim, uint64_t element)
{
	const struct zarr_run *run;

	if (!dim->runs)
		return dim->chunk ? element / dim->chunk : 0;
	run = find_run(dim, element, true);
	return run->first + (element - run->start) / run->size;
}

int zarr_shape_bytes(size_t n_dims, const uint64_t *shape, size_t item_size, size_t *ret_bytes,
		     struct error *err)
{
	uint64_t bytes = item_size;

	for (size_t d = 0; d < n_dims; d++)
		if (shape[d] == 0)
			bytes = 0;
	for (size_t d = 0; d < n_dims; d++)
		if (__builtin_mul_overflow(bytes, shape[d], &bytes) || bytes > PTRDIFF_MAX)
			return error_set(err, ERR_FORMAT, "a chunk of more than 2^63 bytes");
	*ret_bytes = bytes;
	return 0;
}

int zarr_keys_parse(const struct json *chunk_key_encoding, struct zarr_keys *ret_keys,
		    struct error *err)
{
	struct zarr_keys keys = {.separator = '/'};
	struct json configuration, separator;
	struct slice name;
	int r;

	if (!chunk_key_encoding) {
		*ret_keys = keys;
		return 0;
	}
	r = zarr_extension_parse(chunk_key_encoding, &name, &configuration, err);
	if (r < 0)
		return error_prefix(err, "chunk_key_encoding");

	keys.is_v2 = slice_is(name, "v2");
	if (!keys.is_v2 && !slice_is(name, "default"))
		return error_set(err, ERR_UNSUPPORTED, "chunk_key_encoding '%.*s' is not known",
				 (int)name.size, (const char *)name.data);
	keys.separator = keys.is_v2 ? '.' : '/';
	if (zarr_has(&configuration) && json_get(&configuration, "separator", &separator) == 0) {
		keys.separator = json_is_text(&separator, ".") ? '.' : '/';
		if (keys.separator == '/' && !json_is_text(&separator, "/"))
			return error_set(
				err, ERR_FORMAT,
				"chunk_key_encoding: the separator is neither '/' nor '.'");
	}
	*ret_keys = keys;
	return 0;
}

int zarr_key_write(const struct zarr_keys *keys, size_t n_dims, const uint32_t *index,
		   struct buf *out, struct error *err)
{
	int r = 0;

	if (!keys->is_v2)
		r = buf_append_byte(out, 'c', err);
	else if (n_dims == 0)
		r = buf_append_byte(out, '0', err);
	for (size_t d = 0; d < n_dims && r == 0; d++) {
		if (!keys->is_v2 || d > 0)
			r = buf_append_byte(out, (uint8_t)keys->separator, err);
		if (r == 0)
			r = buf_printf(out, err, "%u", index[d]);
	}
	return r;
}

int zarr_coordinate_parse(struct slice text, uint32_t *ret_coordinate)
{
	uint64_t value = 0;

	if (text.size == 0 || text.size > 10 || (text.data[0] == '0' && text.size > 1))
		return ZARR_NO_KEY;
	for (size_t i = 0; i < text.size; i++) {
		if (text.data[i] < '0' || text.data[i] > '9')
			return ZARR_NO_KEY;
		value = value * 10 + (uint64_t)(text.data[i] - '0');
	}
	if (value > UINT32_MAX)
		return ZARR_NO_KEY;
	*ret_coordinate = (uint32_t)value;
	return 0;
}

/* Takes the text up to @separator, or all, off the front of @rest. */
static struct slice next_part(struct slice *rest, char separator)
{
	const uint8_t *end = rest->size ? memchr(rest->data, separator, rest->size) : NULL;
	struct slice part = *rest;

	if (!end) {
		*rest = slice_sub(*rest, rest->size, 0);
		return part;
	}
	part.size = (size_t)(end - rest->data);
	*rest = slice_sub(*rest, part.size + 1, rest->size);
	return part;
}

int zarr_key_parse(const struct zarr_keys *keys, size_t n_dims, struct slice key,
		   uint32_t *ret_index)
{
	size_t n_separators = 0;

	for (size_t i = 0; i < key.size; i++)
		n_separators += key.data[i] == keys->separator;

	if (n_dims == 0)
		return slice_is(key, keys->is_v2 ? "0" : "c") ? 0 : ZARR_NO_KEY;
	if (n_separators != n_dims - keys->is_v2)
		return ZARR_NO_KEY;
	if (!keys->is_v2 && !slice_is(next_part(&key, keys->separator), "c"))
		return ZARR_NO_KEY;
	for (size_t d = 0; d < n_dims; d++)
		if (zarr_coordinate_parse(next_part(&key, keys->separator), &ret_index[d]) != 0)
			return ZARR_NO_KEY;
	return 0;
}

size_t zarr_key_depth(const struct zarr_keys *keys, size_t n_dims)
{
	if (keys->separator != '/' || n_dims == 0)
		return 1;
	return n_dims + !keys->is_v2;
}
