/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Chunk grids and chunk keys
 *
 * A grid says which chunks an array has and how large each is; a key encoding turns the index of
 * a chunk into its key below the array and back.  Chunk indexes are 32-bit per dimension, as in
 * Icechunk; a chunk further out cannot be named.
 *
 * Source: Zarr core specification v3.1, "Chunk grids", "Chunk key encoding"; rectilinear grids:
 * zarr-extensions, chunk-grids/rectilinear.
 *
 * Threads: any may read a grid.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/json.h"

#define ZARR_DIMS_MAX 32

/* Neighbouring chunks of one size along a rectilinear dimension. */
struct zarr_run {
	uint64_t size;	/* elements of each chunk */
	uint64_t first; /* number of the first chunk */
	uint64_t start; /* first element of that chunk */
};

struct zarr_dim {
	uint64_t length;       /* elements */
	uint64_t chunk;	       /* elements of every chunk, also the last; 0 if they differ */
	uint64_t n_chunks;     /* 0 if the dimension is empty */
	struct zarr_run *runs; /* owned; NULL if all chunks have one size */
	size_t n_runs;
};

struct zarr_grid {
	bool is_regular; /* by its name; a rectilinear grid may still have one size per dimension */
	size_t n_dims;
	struct zarr_dim dims[ZARR_DIMS_MAX];
};

/*
 * Reads the members shape and chunk_grid.  ERR_FORMAT if malformed, of different rank, or if the
 * chunks do not cover the shape; ERR_UNSUPPORTED for another grid and more than ZARR_DIMS_MAX
 * dimensions.
 */
int zarr_grid_init(struct zarr_grid *grid, const struct json *shape, const struct json *chunk_grid,
		   struct error *err);
/* Frees what the grid owns; it is then a grid of no dimensions. */
void zarr_grid_done(struct zarr_grid *grid);
/* Number of chunks; UINT64_MAX if it does not fit.  1 for a scalar. */
uint64_t zarr_grid_n_chunks(const struct zarr_grid *grid);
/* Is there such a chunk?  @index has n_dims coordinates. */
bool zarr_grid_holds(const struct zarr_grid *grid, const uint32_t *index);
/* Shape of a chunk as it is stored (edge chunks of a regular grid are whole); @index is in the
 * grid. */
void zarr_grid_chunk_shape(const struct zarr_grid *grid, const uint32_t *index,
			   uint64_t ret_shape[ZARR_DIMS_MAX]);
/* First element and size of chunk @i (below n_chunks) along one dimension. */
void zarr_dim_chunk(const struct zarr_dim *dim, uint64_t i, uint64_t *ret_start,
		    uint64_t *ret_size);
/* Number of the chunk with @element (below length) along one dimension. */
uint64_t zarr_dim_find(const struct zarr_dim *dim, uint64_t element);
/* Product of @shape and @item_size; ERR_FORMAT if it does not fit into size_t. */
int zarr_shape_bytes(size_t n_dims, const uint64_t *shape, size_t item_size, size_t *ret_bytes,
		     struct error *err);

struct zarr_keys {
	bool is_v2;	/* "0.1", a scalar is "0"; else "c/0/1", a scalar is "c" */
	char separator; /* '/' or '.' */
};

enum { ZARR_NO_KEY = 1 };

/* Reads the member chunk_key_encoding; NULL means "default".  ERR_FORMAT, ERR_UNSUPPORTED. */
int zarr_keys_parse(const struct json *chunk_key_encoding, struct zarr_keys *ret_keys,
		    struct error *err);
/* Appends the key of a chunk, below its array. */
int zarr_key_write(const struct zarr_keys *keys, size_t n_dims, const uint32_t *index,
		   struct buf *out, struct error *err);
/*
 * Reads a key below the array.  Only the text that zarr_key_write() gives is a key: no sign, no
 * leading zero.  Returns 0 and fills @ret_index (n_dims coordinates, not checked against a grid),
 * or ZARR_NO_KEY.
 */
int zarr_key_parse(const struct zarr_keys *keys, size_t n_dims, struct slice key,
		   uint32_t *ret_index);
/* One coordinate of a key: 0 or ZARR_NO_KEY. */
int zarr_coordinate_parse(struct slice text, uint32_t *ret_coordinate);
/* How many path components a key has: 3 for "c/0/1", 1 for "0.1". */
size_t zarr_key_depth(const struct zarr_keys *keys, size_t n_dims);
