/* SPDX-License-Identifier: Apache-2.0 */
#include "repo/chunkset.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

#define BLOCK_BITS 12
#define BLOCK_RECORDS ((size_t)1 << BLOCK_BITS)
#define FIRST_RECORDS ((size_t)8)
#define ORDER_BITS 3
#define ARRIVED_MAX (UINT32_MAX >> ORDER_BITS)
#define INSERTION_MAX ((size_t)16)
#define RECORD_MAX (sizeof(struct change) + 64 * sizeof(uint32_t))

void chunkset_init(struct chunkset *set, uint32_t n_dims)
{
	size_t stride = sizeof(struct change) + n_dims * sizeof(uint32_t);

	*set = (struct chunkset){.n_dims = n_dims, .stride = (stride + 7) & ~(size_t)7};
}

void chunkset_done(struct chunkset *set)
{
	for (size_t i = 0; i < set->n_blocks; i++)
		free(set->blocks[i]);
	free(set->blocks);
	free(set->runs);
	chunkset_init(set, set->n_dims);
}

struct change *chunkset_at(const struct chunkset *set, size_t i)
{
	uint8_t *block = set->blocks[i >> BLOCK_BITS];

	return (struct change *)(block + (i & (BLOCK_RECORDS - 1)) * set->stride);
}

static int chunkset_grow_first(struct chunkset *set, struct error *err)
{
	size_t capacity = set->first_capacity ? set->first_capacity * 2 : FIRST_RECORDS;
	uint8_t *block;

	if (set->n_blocks == 0) {
		int r = vec_reserve((void **)&set->blocks, &set->blocks_capacity, 1,
				    sizeof(*set->blocks), err);

		if (r < 0)
			return r;
		set->blocks[0] = NULL;
		set->n_blocks = 1;
	}
	block = realloc(set->blocks[0], capacity * set->stride);
	if (!block)
		return error_memory(err);
	set->blocks[0] = block;
	set->first_capacity = capacity;
	return 0;
}

static int chunkset_add_block(struct chunkset *set, struct error *err)
{
	uint8_t *block;
	int r;

	r = vec_reserve((void **)&set->blocks, &set->blocks_capacity, set->n_blocks + 1,
			sizeof(*set->blocks), err);
	if (r < 0)
		return r;
	block = malloc(BLOCK_RECORDS * set->stride);
	if (!block)
		return error_memory(err);
	set->blocks[set->n_blocks++] = block;
	return 0;
}

static int chunkset_reserve(struct chunkset *set, struct error *err)
{
	if (set->n < BLOCK_RECORDS)
		return set->n < set->first_capacity ? 0 : chunkset_grow_first(set, err);
	if (set->n < set->n_blocks << BLOCK_BITS)
		return 0;
	return chunkset_add_block(set, err);
}

int chunkset_add(struct chunkset *set, uint64_t window, const uint32_t *index,
		 enum change_kind kind, struct change **ret_change, struct error *err)
{
	struct change *change;
	int r;

	if (set->arrived == ARRIVED_MAX)
		return error_set(err, ERR_MEMORY, "more than %u chunk changes of one array",
				 set->arrived);
	r = chunkset_reserve(set, err);
	if (r < 0)
		return r;
	change = chunkset_at(set, set->n++);
	memset(change, 0, sizeof(*change));
	change->window = window;
	change->order = (uint32_t)kind | set->arrived++ << ORDER_BITS;
	if (set->n_dims)
		memcpy(change->index, index, set->n_dims * sizeof(*index));
	*ret_change = change;
	return 0;
}

size_t chunkset_memory(const struct chunkset *set)
{
	size_t records = set->n_blocks > 1 ? set->n_blocks << BLOCK_BITS : set->first_capacity;

	return records * set->stride + set->blocks_capacity * sizeof(*set->blocks) +
	       set->runs_capacity * sizeof(*set->runs);
}

void chunkset_truncate(struct chunkset *set, size_t n)
{
	set->n = n;
}

static int change_compare_key(const struct change *a, uint64_t window, const uint32_t *index,
			      uint32_t n_dims)
{
	if (a->window != window)
		return a->window < window ? -1 : 1;
	for (uint32_t i = 0; i < n_dims; i++) {
		if (a->index[i] != index[i])
			return a->index[i] < index[i] ? -1 : 1;
	}
	return 0;
}

static int change_compare(const struct change *a, const struct change *b, uint32_t n_dims)
{
	int order = change_compare_key(a, b->window, b->index, n_dims);

	if (order)
		return order;
	return (a->order > b->order) - (a->order < b->order);
}

static void chunkset_copy(const struct chunkset *set, size_t to, size_t from)
{
	if (to != from)
		memcpy(chunkset_at(set, to), chunkset_at(set, from), set->stride);
}

static void chunkset_swap(const struct chunkset *set, size_t a, size_t b)
{
	uint8_t spare[RECORD_MAX];

	if (a == b)
		return;
	memcpy(spare, chunkset_at(set, a), set->stride);
	memcpy(chunkset_at(set, a), chunkset_at(set, b), set->stride);
	memcpy(chunkset_at(set, b), spare, set->stride);
}

static bool chunkset_less(const struct chunkset *set, size_t a, size_t b)
{
	return change_compare(chunkset_at(set, a), chunkset_at(set, b), set->n_dims) < 0;
}

static void chunkset_insertion_sort(const struct chunkset *set, size_t begin, size_t end)
{
	for (size_t i = begin + 1; i < end; i++) {
		for (size_t j = i; j > begin && chunkset_less(set, j, j - 1); j--)
			chunkset_swap(set, j, j - 1);
	}
}

static void chunkset_sift(const struct chunkset *set, size_t begin, size_t n, size_t root)
{
	for (;;) {
		size_t child = 2 * root + 1;

		if (child >= n)
			return;
		if (child + 1 < n && chunkset_less(set, begin + child, begin + child + 1))
			child++;
		if (!chunkset_less(set, begin + root, begin + child))
			return;
		chunkset_swap(set, begin + root, begin + child);
		root = child;
	}
}

static void chunkset_heap_sort(const struct chunkset *set, size_t begin, size_t end)
{
	size_t n = end - begin;

	for (size_t i = n / 2; i-- > 0;)
		chunkset_sift(set, begin, n, i);
	for (size_t i = n; i-- > 1;) {
		chunkset_swap(set, begin, begin + i);
		chunkset_sift(set, begin, i, 0);
	}
}

/* Hoare's partition around the median of three; records are distinct by their order of arrival. */
static size_t chunkset_partition(const struct chunkset *set, size_t begin, size_t end)
{
	uint8_t pivot_bytes[RECORD_MAX] __attribute__((aligned(8)));
	const struct change *pivot = (const struct change *)pivot_bytes;
	size_t middle = begin + (end - begin) / 2, last = end - 1, i = begin, j = last;

	if (chunkset_less(set, middle, begin))
		chunkset_swap(set, middle, begin);
	if (chunkset_less(set, last, begin))
		chunkset_swap(set, last, begin);
	if (chunkset_less(set, last, middle))
		chunkset_swap(set, last, middle);
	memcpy(pivot_bytes, chunkset_at(set, middle), set->stride);
	for (;;) {
		while (change_compare(chunkset_at(set, i), pivot, set->n_dims) < 0)
			i++;
		while (change_compare(pivot, chunkset_at(set, j), set->n_dims) < 0)
			j--;
		if (i >= j)
			return j + 1;
		chunkset_swap(set, i++, j--);
	}
}

/* Quicksort; a range that keeps splitting badly goes to the heap, so that no input is slow. */
static void chunkset_sort(const struct chunkset *set, size_t begin, size_t end, unsigned int depth)
{
	while (end - begin > INSERTION_MAX) {
		size_t middle;

		if (depth-- == 0) {
			chunkset_heap_sort(set, begin, end);
			return;
		}
		middle = chunkset_partition(set, begin, end);
		if (middle - begin < end - middle) {
			chunkset_sort(set, begin, middle, depth);
			begin = middle;
		} else {
			chunkset_sort(set, middle, end, depth);
			end = middle;
		}
	}
	chunkset_insertion_sort(set, begin, end);
}

static bool chunkset_same_key(const struct chunkset *set, size_t a, size_t b)
{
	const struct change *other = chunkset_at(set, b);

	return change_compare_key(chunkset_at(set, a), other->window, other->index, set->n_dims) ==
	       0;
}

static bool chunkset_in_order(const struct chunkset *set, size_t begin, size_t end)
{
	for (size_t i = begin + 1; i < end; i++) {
		const struct change *next = chunkset_at(set, i);

		if (change_compare_key(chunkset_at(set, i - 1), next->window, next->index,
				       set->n_dims) >= 0)
			return false;
	}
	return true;
}

/* Sorts the tail [@begin, n) and keeps the newest change of each chunk. */
static void chunkset_sort_tail(struct chunkset *set, size_t begin)
{
	unsigned int depth = 2 * (unsigned int)(64 - __builtin_clzll(set->n - begin + 1));
	size_t kept = begin;

	if (chunkset_in_order(set, begin, set->n))
		return;
	chunkset_sort(set, begin, set->n, depth);
	for (size_t i = begin; i < set->n; i++) {
		if (i + 1 < set->n && chunkset_same_key(set, i, i + 1))
			continue;
		chunkset_copy(set, kept++, i);
	}
	set->n = kept;
}

static int chunkset_push_run(struct chunkset *set, size_t begin, struct error *err)
{
	int r = vec_reserve((void **)&set->runs, &set->runs_capacity, set->n_runs + 1,
			    sizeof(*set->runs), err);

	if (r < 0)
		return r;
	set->runs[set->n_runs++] = begin;
	return 0;
}

/* Makes the tail a run; runs of like size are joined, so that there are never many. */
static int chunkset_seal(struct chunkset *set, struct error *err)
{
	size_t begin = set->n_sorted;
	int r;

	if (begin == set->n)
		return 0;
	chunkset_sort_tail(set, begin);
	if (begin == 0 || !chunkset_in_order(set, begin - 1, begin + 1)) {
		r = chunkset_push_run(set, begin, err);
		if (r < 0)
			return r;
	}
	set->n_sorted = set->n;
	while (set->n_runs > 1) {
		size_t last = set->runs[set->n_runs - 1], before = set->runs[set->n_runs - 2];

		if ((set->n - last) * 2 < last - before)
			break;
		set->n_runs--;
		chunkset_sort_tail(set, before);
		set->n_sorted = set->n;
	}
	return 0;
}

static struct change *chunkset_search(const struct chunkset *set, size_t begin, size_t end,
				      uint64_t window, const uint32_t *index)
{
	while (begin < end) {
		size_t middle = begin + (end - begin) / 2;
		struct change *change = chunkset_at(set, middle);
		int order = change_compare_key(change, window, index, set->n_dims);

		if (order == 0)
			return change;
		if (order < 0)
			begin = middle + 1;
		else
			end = middle;
	}
	return NULL;
}

int chunkset_find(struct chunkset *set, uint64_t window, const uint32_t *index,
		  struct change **ret_change, struct error *err)
{
	size_t end;
	int r;

	r = chunkset_seal(set, err);
	if (r < 0)
		return r;
	*ret_change = NULL;
	end = set->n;
	for (size_t run = set->n_runs; run-- > 0; end = set->runs[run]) {
		struct change *change = chunkset_search(set, set->runs[run], end, window, index);

		if (change) {
			*ret_change = change_kind(change) == CHANGE_DROPPED ? NULL : change;
			return 0;
		}
	}
	return 0;
}

static void chunkset_sweep(struct chunkset *set)
{
	size_t kept = 0;

	for (size_t i = 0; i < set->n; i++) {
		if (change_kind(chunkset_at(set, i)) != CHANGE_DROPPED)
			chunkset_copy(set, kept++, i);
	}
	set->n = kept;
}

int chunkset_settle(struct chunkset *set, struct error *err)
{
	chunkset_sort_tail(set, 0);
	chunkset_sweep(set);
	set->n_sorted = set->n;
	set->n_runs = 0;
	return set->n ? chunkset_push_run(set, 0, err) : 0;
}

int chunkset_renumber(struct chunkset *set,
		      int (*window_of)(void *argument, const uint32_t *index, uint64_t *ret_window),
		      void *argument, struct error *err)
{
	int r;

	r = chunkset_settle(set, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < set->n; i++) {
		struct change *change = chunkset_at(set, i);

		if (window_of(argument, change->index, &change->window) < 0) {
			change->window = WINDOW_OUTSIDE;
			change->order &= ~(uint32_t)7;
			change->order |= CHANGE_DELETE;
		}
	}
	return chunkset_settle(set, err);
}
