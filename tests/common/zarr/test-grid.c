/* SPDX-License-Identifier: Apache-2.0 */
#include "zarr-test.h"

#include "zarr/grid.h"

static int read_grid(const char *shape, const char *chunk_grid, struct zarr_grid *grid,
		     struct error *err)
{
	struct json shape_value, grid_value;

	assert_int_equal(json_parse(slice_text(shape), &shape_value, err), 0);
	assert_int_equal(json_parse(slice_text(chunk_grid), &grid_value, err), 0);
	return zarr_grid_init(grid, &shape_value, &grid_value, err);
}

#define REGULAR(chunks) "{\"name\":\"regular\",\"configuration\":{\"chunk_shape\":" chunks "}}"
#define RECTILINEAR(chunks)                                                         \
	"{\"name\":\"rectilinear\",\"configuration\":{\"kind\":\"inline\",\"chunk_" \
	"shapes\":" chunks "}}"

/* Counts follow from the definition, ceil(length / chunk); the rectilinear grid is one that the
 * public icechunk library wrote with 3 and 2 chunks. */
static struct count_case {
	const char *name;
	const char *shape;
	const char *grid;
	size_t n_dims;
	uint64_t counts[3];
	uint64_t total;
	const char *error;
} count_cases[] = {
	{"forecast", "[3,49,1799]", REGULAR("[1,1,1799]"), 3, {3, 49, 1}, 147, NULL},
	{"edge chunks", "[10,7]", REGULAR("[3,2]"), 2, {4, 4}, 16, NULL},
	{"scalar", "[]", REGULAR("[]"), 0, {0}, 1, NULL},
	{"empty", "[0,4]", REGULAR("[2,2]"), 2, {0, 2}, 0, NULL},
	{"chunk of nothing", "[4]", REGULAR("[0]"), 1, {0}, 0, NULL},
	{"largest",
	 "[18446744073709551615]",
	 REGULAR("[2]"),
	 1,
	 {UINT64_C(1) << 63},
	 UINT64_C(1) << 63,
	 NULL},
	{"more chunks than a number holds",
	 "[18446744073709551615,18446744073709551615]",
	 REGULAR("[1,1]"),
	 2,
	 {UINT64_MAX, UINT64_MAX},
	 UINT64_MAX,
	 NULL},
	{"rectilinear", "[6,4]", RECTILINEAR("[[[2,3]],[1,3]]"), 2, {3, 2}, 6, NULL},
	{"rectilinear, one size", "[6,4]", RECTILINEAR("[4,[1,3]]"), 2, {2, 2}, 4, NULL},
	{"rectilinear, chunks beyond the end", "[6]", RECTILINEAR("[[[5,3]]]"), 1, {3}, 3, NULL},
	{"rectilinear, too short", "[6]", RECTILINEAR("[[2,3]]"),
	 .error = "chunk_shapes cover 5 of 6 elements"},
	{"rectilinear, nothing", "[6]", RECTILINEAR("[[[0,9]]]"),
	 .error = "chunk_shapes: a chunk of no elements"},
	{"rectilinear, overflow", "[6]", RECTILINEAR("[[[4294967296,4294967296]]]"),
	 .error = "chunk_shapes: more than 2^64 elements"},
	{"ranks differ", "[6]", REGULAR("[1,1]"),
	 .error = "chunk_shape has 2 dimensions, shape has 1"},
	{"negative", "[-6]", REGULAR("[1]"), .error = "shape: "},
	{"no list", "7", REGULAR("[1]"), .error = "shape is not a list"},
	{"unknown grid", "[6]", "{\"name\":\"hexagonal\"}",
	 .error = "chunk_grid 'hexagonal' is not known"},
	{"no configuration", "[6]", "\"regular\"", .error = "chunk_grid has no chunk_shape"},
	{"too many dimensions",
	 "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", REGULAR("[]"),
	 .error = "33 dimensions, at most 32 are supported"},
};

static void test_grid_counts(void **state)
{
	const struct count_case *c = *state;
	struct error err = ERROR_INIT;
	struct zarr_grid grid;
	int r = read_grid(c->shape, c->grid, &grid, &err);

	if (c->error) {
		assert_true(r < 0);
		assert_memory_equal(err.text, c->error, strlen(c->error));
		return;
	}
	assert_ok(r, &err);
	assert_int_equal(grid.n_dims, c->n_dims);
	for (size_t d = 0; d < c->n_dims; d++)
		assert_int_equal(grid.dims[d].n_chunks, c->counts[d]);
	assert_int_equal(zarr_grid_n_chunks(&grid), c->total);
	zarr_grid_done(&grid);
}

static void test_edges_of_runs(void **state)
{
	struct error err = ERROR_INIT;
	uint64_t start, size, shape[ZARR_DIMS_MAX];
	struct zarr_grid grid;

	(void)state;
	/* Chunks 2 2 2 | 5 | 1 1: elements 0-5, 6-10, 11-12. */
	assert_ok(read_grid("[13,10]", RECTILINEAR("[[[2,3],5,[1,2]],4]"), &grid, &err), &err);
	zarr_dim_chunk(&grid.dims[0], 2, &start, &size);
	assert_int_equal(start, 4);
	assert_int_equal(size, 2);
	zarr_dim_chunk(&grid.dims[0], 5, &start, &size);
	assert_int_equal(start, 12);
	assert_int_equal(size, 1);
	assert_int_equal(zarr_dim_find(&grid.dims[0], 5), 2);
	assert_int_equal(zarr_dim_find(&grid.dims[0], 6), 3);
	assert_int_equal(zarr_dim_find(&grid.dims[0], 12), 5);
	assert_int_equal(zarr_dim_find(&grid.dims[1], 9), 2);
	zarr_grid_chunk_shape(&grid, (uint32_t[]){3, 2}, shape);
	assert_int_equal(shape[0], 5);
	assert_int_equal(shape[1], 4); /* the stored chunk is whole */
	assert_true(zarr_grid_holds(&grid, (uint32_t[]){5, 2}));
	assert_false(zarr_grid_holds(&grid, (uint32_t[]){5, 3}));
	zarr_grid_done(&grid);
}

/* The keys are the examples of the specification, and what is not one of them. */
static struct key_case {
	const char *name;
	struct zarr_keys keys;
	size_t n_dims;
	uint32_t index[3];
	const char *key;
	bool is_key;
	size_t depth;
} key_cases[] = {
	{"default", {false, '/'}, 3, {1, 23, 45}, "c/1/23/45", true, 4},
	{"default with dots", {false, '.'}, 3, {1, 23, 45}, "c.1.23.45", true, 1},
	{"default, scalar", {false, '/'}, 0, {0}, "c", true, 1},
	{"version 2", {true, '.'}, 3, {1, 23, 45}, "1.23.45", true, 1},
	{"version 2 with slashes", {true, '/'}, 2, {1, 23}, "1/23", true, 2},
	{"version 2, scalar", {true, '.'}, 0, {0}, "0", true, 1},
	{"largest", {false, '/'}, 1, {UINT32_MAX}, "c/4294967295", true, 2},
	{"too large", {false, '/'}, 1, {0}, "c/4294967296", false, 2},
	{"leading zero", {false, '/'}, 1, {0}, "c/01", false, 2},
	{"sign", {false, '/'}, 1, {0}, "c/+1", false, 2},
	{"blank", {false, '/'}, 1, {0}, "c/ 1", false, 2},
	{"missing dimension", {false, '/'}, 2, {0}, "c/1", false, 3},
	{"surplus dimension", {false, '/'}, 1, {0}, "c/1/2", false, 2},
	{"slash at the end", {false, '/'}, 1, {0}, "c/1/", false, 2},
	{"no coordinate", {false, '/'}, 1, {0}, "c/", false, 2},
	{"no prefix", {false, '/'}, 1, {0}, "1", false, 2},
	{"other prefix", {false, '/'}, 1, {0}, "cc/1", false, 2},
	{"scalar with a coordinate", {false, '/'}, 0, {0}, "c/0", false, 1},
	{"nothing", {true, '.'}, 1, {0}, "", false, 1},
};

static void test_keys(void **state)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT(BUF_NO_LIMIT);
	const struct key_case *c = *state;
	struct error err = ERROR_INIT;
	uint32_t index[3] = {0};
	int r;

	assert_int_equal(zarr_key_depth(&c->keys, c->n_dims), c->depth);
	r = zarr_key_parse(&c->keys, c->n_dims, slice_text(c->key), index);
	assert_int_equal(r, c->is_key ? 0 : ZARR_NO_KEY);
	if (!c->is_key)
		return;
	assert_memory_equal(index, c->index, sizeof(*index) * c->n_dims);
	assert_ok(zarr_key_write(&c->keys, c->n_dims, c->index, &text, &err), &err);
	assert_true(slice_is(buf_slice(&text), c->key));
}

static struct encoding_case {
	const char *name;
	const char *text;
	int want;
	struct zarr_keys keys;
} encoding_cases[] = {
	{"default", "{\"name\":\"default\"}", 0, {false, '/'}},
	{"name alone", "\"default\"", 0, {false, '/'}},
	{"default with dots",
	 "{\"name\":\"default\",\"configuration\":{\"separator\":\".\"}}",
	 0,
	 {false, '.'}},
	{"version 2", "{\"name\":\"v2\"}", 0, {true, '.'}},
	{"version 2 with slashes",
	 "{\"name\":\"v2\",\"configuration\":{\"separator\":\"/\"}}",
	 0,
	 {true, '/'}},
	{"another separator",
	 "{\"name\":\"v2\",\"configuration\":{\"separator\":\"-\"}}",
	 ERR_FORMAT,
	 {0}},
	{"unknown", "{\"name\":\"fanout\"}", ERR_UNSUPPORTED, {0}},
};

static void test_key_encodings(void **state)
{
	const struct encoding_case *c = *state;
	struct error err = ERROR_INIT;
	struct zarr_keys keys;
	struct json value;

	assert_ok(json_parse(slice_text(c->text), &value, &err), &err);
	assert_int_equal(zarr_keys_parse(&value, &keys, &err), c->want);
	if (c->want < 0)
		return;
	assert_int_equal(keys.is_v2, c->keys.is_v2);
	assert_int_equal(keys.separator, c->keys.separator);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_edges_of_runs),
	};
	int failed = RUN_CASES(test_grid_counts, count_cases);

	failed += RUN_CASES(test_keys, key_cases);
	failed += RUN_CASES(test_key_encodings, encoding_cases);
	return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
