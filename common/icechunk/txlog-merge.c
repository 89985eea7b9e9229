/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/arena.h"
#include "icechunk/manifest.h"
#include "icechunk/txlog.h"

/* Coordinates that one of the two logs lends. */
struct lent_coords {
	const uint32_t *coords;
	uint32_t n;
};

DEFINE_VEC(lent_list, struct lent_coords);
DEFINE_VEC(chunks_list, struct draft_chunks);
DEFINE_VEC(moves_list, struct txlog_move);

struct merger {
	const struct txlog *older, *newer;
	struct arena arena;
	struct chunks_list chunks;
	struct lent_list lent; /* of all arrays, one after the other */
	struct moves_list moves;
	struct error *err;
};

/* Where the coordinates of one array begin in the list of all. */
struct lent_run {
	const struct merger *merger;
	size_t start;
};

static const uint32_t *next_lent(void *argument, size_t i, uint32_t *ret_n)
{
	const struct lent_run *run = argument;
	const struct lent_coords *lent = &run->merger->lent.items[run->start + i];

	*ret_n = lent->n;
	return lent->coords;
}

/* United and sorted ids of one list. */
static int merge_ids(struct merger *m, enum txlog_list list, const struct id8 **ret_ids,
		     uint32_t *ret_n)
{
	uint32_t n_a, n_b, a = 0, b = 0, n = 0;
	const struct id8 *as = txlog_ids(m->older, list, &n_a);
	const struct id8 *bs = txlog_ids(m->newer, list, &n_b);
	struct id8 *ids = arena_zalloc(&m->arena, (size_t)n_a + n_b + 1, sizeof(*ids), m->err);

	if (!ids)
		return ERR_MEMORY;
	while (a < n_a || b < n_b) {
		int order = a == n_a ? 1 : b == n_b ? -1 : id8_compare(&as[a], &bs[b]);

		ids[n++] = order <= 0 ? as[a] : bs[b];
		a += order <= 0;
		b += order >= 0;
	}
	*ret_ids = ids;
	*ret_n = n;
	return 0;
}

static int compare_lent(const struct lent_coords *a, const struct lent_coords *b)
{
	int order = index_compare(a->coords, b->coords, a->n < b->n ? a->n : b->n);

	return order ? order : (a->n > b->n) - (a->n < b->n);
}

static struct lent_coords lend_chunk(const struct txlog *log, uint32_t array, uint32_t i)
{
	struct lent_coords lent;

	lent.coords = txlog_chunk(log, array, i, &lent.n);
	return lent;
}

/* Arrays @i of the older and @j of the newer log, UINT32_MAX for none. */
static int merge_chunks(struct merger *m, const struct id8 *node, uint32_t i, uint32_t j)
{
	struct lent_run *run = arena_alloc(&m->arena, sizeof(*run), m->err);
	struct draft_chunks chunks = {.node = *node, .next = next_lent, .argument = run};
	uint32_t n_a = 0, n_b = 0, a = 0, b = 0;
	int r = 0;

	if (!run)
		return ERR_MEMORY;
	*run = (struct lent_run){m, m->lent.n};
	if (i != UINT32_MAX)
		(void)txlog_array(m->older, i, &n_a);
	if (j != UINT32_MAX)
		(void)txlog_array(m->newer, j, &n_b);
	while (r == 0 && (a < n_a || b < n_b)) {
		struct lent_coords x = {0}, y = {0};
		int order;

		if (a < n_a)
			x = lend_chunk(m->older, i, a);
		if (b < n_b)
			y = lend_chunk(m->newer, j, b);
		order = a == n_a ? 1 : b == n_b ? -1 : compare_lent(&x, &y);
		r = lent_list_push(&m->lent, order <= 0 ? x : y, m->err);
		a += order <= 0;
		b += order >= 0;
	}
	chunks.n_chunks = m->lent.n - run->start;
	return r < 0 ? r : chunks_list_push(&m->chunks, chunks, m->err);
}

static int merge_arrays(struct merger *m)
{
	uint32_t n_a = txlog_n_arrays(m->older), n_b = txlog_n_arrays(m->newer);
	uint32_t a = 0, b = 0;
	int r = 0;

	while (r == 0 && (a < n_a || b < n_b)) {
		struct id8 x = {0}, y = {0};
		uint32_t n;
		int order;

		if (a < n_a)
			x = txlog_array(m->older, a, &n);
		if (b < n_b)
			y = txlog_array(m->newer, b, &n);
		order = a == n_a ? 1 : b == n_b ? -1 : id8_compare(&x, &y);
		r = merge_chunks(m, order <= 0 ? &x : &y, order <= 0 ? a : UINT32_MAX,
				 order >= 0 ? b : UINT32_MAX);
		a += order <= 0;
		b += order >= 0;
	}
	return r;
}

/* Order by node; of one node the older move, which has the lower address, first. */
static int compare_move_nodes(const void *a, const void *b)
{
	const struct txlog_move *const *x = a, *const *y = b;
	int order = id8_compare(&(*x)->node, &(*y)->node);

	return order ? order : (*x > *y) - (*x < *y);
}

static int compare_targets(const void *a, const void *b)
{
	return path_compare_segments(((const struct txlog_move *)a)->to,
				     ((const struct txlog_move *)b)->to);
}

/* @all holds the moves of both logs, older ones first. */
static int compose_moves(struct merger *m, const struct txlog_move *all, size_t n)
{
	const struct txlog_move **sorted = arena_zalloc(&m->arena, n + 1, sizeof(*sorted), m->err);
	int r = 0;

	if (!sorted)
		return ERR_MEMORY;
	for (size_t i = 0; i < n; i++)
		sorted[i] = &all[i];
	if (n > 0)
		qsort(sorted, n, sizeof(const struct txlog_move *), compare_move_nodes);
	for (size_t i = 0, end; r == 0 && i < n; i = end) {
		struct txlog_move move = *sorted[i];

		for (end = i + 1; end < n && id8_equal(&sorted[end]->node, &move.node); end++)
			move.to = sorted[end]->to;
		if (!slice_equal(move.from, move.to))
			r = moves_list_push(&m->moves, move, m->err);
	}
	if (m->moves.n > 1)
		qsort(m->moves.items, m->moves.n, sizeof(struct txlog_move), compare_targets);
	return r;
}

static int merge_moves(struct merger *m)
{
	uint32_t n_a = txlog_n_moves(m->older), n_b = txlog_n_moves(m->newer);
	size_t n = (size_t)n_a + n_b;
	struct txlog_move *all = arena_zalloc(&m->arena, n + 1, sizeof(*all), m->err);

	if (!all)
		return ERR_MEMORY;
	for (uint32_t i = 0; i < n_a; i++)
		all[i] = txlog_move(m->older, i);
	for (uint32_t i = 0; i < n_b; i++)
		all[n_a + i] = txlog_move(m->newer, i);
	return compose_moves(m, all, n);
}

static int merge(struct merger *m, const struct id12 *id, struct buf *out)
{
	struct txlog_draft draft = {.id = *id};
	int r = 0;

	for (enum txlog_list list = 0; r == 0 && list < TXLOG_N_LISTS; list++)
		r = merge_ids(m, list, &draft.lists[list].ids, &draft.lists[list].n);
	if (r == 0)
		r = merge_arrays(m);
	if (r == 0)
		r = merge_moves(m);
	if (r < 0)
		return r;
	draft.chunks = m->chunks.items;
	draft.n_chunks = (uint32_t)m->chunks.n;
	draft.moves = m->moves.items;
	draft.n_moves = (uint32_t)m->moves.n;
	return txlog_encode(&draft, out, m->err);
}

int txlog_merge(const struct id12 *id, const struct txlog *older, const struct txlog *newer,
		struct buf *out, struct error *err)
{
	struct merger m = {.older = older, .newer = newer, .arena = ARENA_INIT, .err = err};
	int r = merge(&m, id, out);

	arena_done(&m.arena);
	chunks_list_done(&m.chunks);
	lent_list_done(&m.lent);
	moves_list_done(&m.moves);
	return r;
}
