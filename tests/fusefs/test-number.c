/* SPDX-License-Identifier: Apache-2.0 */
#include "fusefs/number.h"

#include "test.h"

/* Totals are sums of products, worked out by hand: 1 + 2 + 2*3 = 9. */
static struct grid_case {
	const char *name;
	uint32_t n_dims;
	uint32_t chunks[4];
	int want;
	uint64_t total;
} grids[] = {
	{"a scalar", 0, {0}, 0, 1},
	{"one dimension", 1, {5}, 0, 6},
	{"two dimensions", 2, {2, 3}, 0, 9},
	{"an empty dimension", 2, {0, 3}, 0, 1},
	{"a thousand million chunks", 2, {100000, 10000}, 0, 1 + 100000 + UINT64_C(1000000000)},
	{"more than fit", 2, {UINT32_MAX, UINT32_MAX}, ERR_UNSUPPORTED, 0},
	{"more than 64 bits",
	 4,
	 {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX},
	 ERR_UNSUPPORTED,
	 0},
};

static void test_totals(void **state)
{
	const struct grid_case *c = *state;
	struct error err = ERROR_INIT;
	uint64_t total = 0;

	assert_int_equal(number_total(c->chunks, c->n_dims, &total, &err), c->want);
	if (c->want == 0)
		assert_int_equal(total, c->total);
}

/* Every number is one entry, and every entry has its number. */
static void test_numbers_and_entries_are_one_to_one(void **state)
{
	static const uint32_t chunks[] = {2, 3, 4};
	struct error err = ERROR_INIT;
	uint64_t total;

	(void)state;
	assert_int_equal(number_total(chunks, 3, &total, &err), 0);
	assert_int_equal(total, 1 + 2 + 6 + 24);
	for (uint64_t number = 0; number < total; number++) {
		uint32_t index[3] = {0}, depth;

		number_split(chunks, 3, number, index, &depth);
		assert_int_equal(number_of(chunks, 3, index, depth), number);
		for (uint32_t dim = 0; dim < depth; dim++)
			assert_true(index[dim] < chunks[dim]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers_and_entries_are_one_to_one),
	};
	int failed = RUN_CASES(test_totals, grids);

	return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
