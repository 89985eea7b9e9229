/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/slab.h"

#include <stdlib.h>

#include "base/pool.h"
#include "zarr/grid.h"

struct slab {
	struct reader *reader;
	struct checkout *checkout;
	const struct array *array;
	const uint64_t *start, *count;
	uint8_t *out;
	uint8_t *fill;		       /* one element */
	uint64_t first[ZARR_DIMS_MAX]; /* chunk numbers that the block touches */
	uint64_t n_chunks[ZARR_DIMS_MAX];
};

/* The part of one chunk that lies in the block. */
struct part {
	uint64_t size[ZARR_DIMS_MAX];  /* elements */
	uint64_t from[ZARR_DIMS_MAX];  /* first element within the chunk */
	uint64_t to[ZARR_DIMS_MAX];    /* first element within the block */
	uint64_t shape[ZARR_DIMS_MAX]; /* of the chunk */
};

static void fill_run(const struct slab *slab, uint8_t *out, uint64_t n)
{
	size_t size = slab->array->metadata->type.size;

	for (uint64_t i = 0; i < n; i++)
		memcpy(out + i * size, slab->fill, size);
}

/* Copies, or fills where @chunk is NULL, row by row of the last dimension. */
static void part_copy(const struct slab *slab, const struct part *part, const uint8_t *chunk)
{
	uint32_t n = slab->array->node.n_dims;
	size_t size = slab->array->metadata->type.size;
	uint64_t at[ZARR_DIMS_MAX] = {0};
	uint64_t row = n ? part->size[n - 1] : 1;
	uint32_t dim;

	do {
		uint64_t from = 0, to = 0;

		for (dim = 0; dim < n; dim++) {
			from = from * part->shape[dim] + part->from[dim] + at[dim];
			to = to * slab->count[dim] + part->to[dim] + at[dim];
		}
		if (chunk)
			memcpy(slab->out + to * size, chunk + from * size, row * size);
		else
			fill_run(slab, slab->out + to * size, row);
		for (dim = n ? n - 1 : 0; dim-- > 0;) {
			if (++at[dim] < part->size[dim])
				break;
			at[dim] = 0;
		}
	} while (n > 1 && dim != UINT32_MAX);
}

static void part_init(const struct slab *slab, const uint32_t *index, struct part *part)
{
	const struct zarr_grid *grid = &slab->array->metadata->grid;

	zarr_grid_chunk_shape(grid, index, part->shape);
	for (uint32_t dim = 0; dim < slab->array->node.n_dims; dim++) {
		uint64_t chunk_start, chunk_size, low, high;

		zarr_dim_chunk(&grid->dims[dim], index[dim], &chunk_start, &chunk_size);
		low = slab->start[dim] > chunk_start ? slab->start[dim] : chunk_start;
		high = slab->start[dim] + slab->count[dim];
		if (high > chunk_start + chunk_size)
			high = chunk_start + chunk_size;
		part->size[dim] = high - low;
		part->from[dim] = low - chunk_start;
		part->to[dim] = low - slab->start[dim];
	}
}

/* Loads chunk @i of those that the block touches, in C order, and copies its part. */
static int slab_chunk(void *argument, size_t i, struct error *err)
{
	CLEANUP(content_freep) struct content *content = NULL;
	const struct slab *slab = argument;
	uint32_t index[ZARR_DIMS_MAX];
	struct part part;
	int r;

	for (uint32_t dim = slab->array->node.n_dims; dim-- > 0;) {
		index[dim] = (uint32_t)(slab->first[dim] + i % slab->n_chunks[dim]);
		i /= slab->n_chunks[dim];
	}
	part_init(slab, index, &part);
	r = reader_load(slab->reader, slab->checkout, slab->array, index, CHUNK_DECODED, 0,
			&content, err);
	if (r < 0)
		return error_prefix(err, "cannot read array '%.*s'",
				    (int)slab->array->node.path.size,
				    (const char *)slab->array->node.path.data);
	part_copy(slab, &part, content ? content->bytes.data : NULL);
	return 0;
}

/* Which chunks the block touches; @ret_n is 0 for an empty block. */
static int slab_init(struct slab *slab, size_t *ret_n, struct error *err)
{
	const struct zarr_grid *grid = &slab->array->metadata->grid;
	size_t n = 1;

	for (uint32_t dim = 0; dim < slab->array->node.n_dims; dim++) {
		const struct zarr_dim *d = &grid->dims[dim];
		uint64_t start = slab->start[dim], count = slab->count[dim], last;

		if (count > d->length || start > d->length - count)
			return error_set(err, ERR_ARGUMENT,
					 "elements %llu to %llu of dimension %u, which has %llu",
					 (unsigned long long)start,
					 (unsigned long long)(start + count), dim,
					 (unsigned long long)d->length);
		if (count == 0) {
			*ret_n = 0;
			return 0;
		}
		slab->first[dim] = zarr_dim_find(d, start);
		last = zarr_dim_find(d, start + count - 1);
		slab->n_chunks[dim] = last - slab->first[dim] + 1;
		if (last > UINT32_MAX || __builtin_mul_overflow(n, slab->n_chunks[dim], &n))
			return error_set(err, ERR_ARGUMENT, "more chunks than can be counted");
	}
	*ret_n = n;
	return 0;
}

int slab_read(struct reader *reader, struct checkout *checkout, const struct array *array,
	      const uint64_t *start, const uint64_t *count, void *out, size_t out_size,
	      size_t threads, struct error *err)
{
	CLEANUP(freep) uint8_t *fill = NULL;
	struct slab slab = {
		.reader = reader,
		.checkout = checkout,
		.array = array,
		.start = start,
		.count = count,
		.out = out,
	};
	size_t size, n;
	int r;

	r = zarr_metadata_check(array->metadata, err);
	if (r < 0)
		return r;
	r = zarr_shape_bytes(array->node.n_dims, count, array->metadata->type.size, &size, err);
	if (r < 0)
		return r;
	if (size != out_size)
		return error_set(err, ERR_ARGUMENT, "room for %zu bytes, the block has %zu",
				 out_size, size);
	r = slab_init(&slab, &n, err);
	if (r < 0 || n == 0)
		return r;
	fill = malloc(array->metadata->type.size);
	if (!fill)
		return error_memory(err);
	r = zarr_metadata_fill(array->metadata, fill, err);
	if (r < 0)
		return r;
	slab.fill = fill;
	return parallel_for(threads, n, slab_chunk, &slab, err);
}
