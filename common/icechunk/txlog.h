/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Transaction logs: what one commit changed
 *
 * A log that was read stays a verified FlatBuffer; a log to write is a draft that lends its parts.
 *
 * Threads: an open log may be shared.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "icechunk/envelope.h"
#include "icechunk/id.h"
#include "icechunk/snapshot.h"

#define TXLOG_PAYLOAD_MAX (UINT64_C(1) << 31)

struct txlog;

enum txlog_list {
	TXLOG_NEW_GROUPS,
	TXLOG_NEW_ARRAYS,
	TXLOG_DELETED_GROUPS,
	TXLOG_DELETED_ARRAYS,
	TXLOG_UPDATED_ARRAYS,
	TXLOG_UPDATED_GROUPS,
	TXLOG_N_LISTS
};

struct txlog_move {
	struct slice from;
	struct slice to;
	struct id8 node;
	enum node_type type;
};

/* Takes over @payload's bytes (left empty) and verifies them.  ERR_FORMAT, ERR_MEMORY. */
int txlog_open(struct buf *payload, struct txlog **ret_log, struct error *err);
struct txlog *txlog_free(struct txlog *log);
DEFINE_CLEANUP(struct txlog *, txlog_free)

const struct id12 *txlog_id(const struct txlog *log);
/* Node ids of a list, sorted; lent. */
const struct id8 *txlog_ids(const struct txlog *log, enum txlog_list list, uint32_t *ret_n);
/* Is @id in @list? */
bool txlog_has(const struct txlog *log, enum txlog_list list, const struct id8 *id);
/* Arrays with chunk changes, sorted by id. */
uint32_t txlog_n_arrays(const struct txlog *log);
struct id8 txlog_array(const struct txlog *log, uint32_t i, uint32_t *ret_n_chunks);
/* Chunk @chunk of array @i of txlog_array(): its coordinates, lent. */
const uint32_t *txlog_chunk(const struct txlog *log, uint32_t i, uint32_t chunk,
			    uint32_t *ret_n_dims);
/* Finds an array by node id: 0 with its number, or SNAPSHOT_ABSENT. */
int txlog_find_array(const struct txlog *log, const struct id8 *id, uint32_t *ret_i);
/* Were the chunk's coordinates touched? @i from txlog_find_array(). */
bool txlog_has_chunk(const struct txlog *log, uint32_t i, const uint32_t *index, uint32_t n_dims);
uint32_t txlog_n_moves(const struct txlog *log);
struct txlog_move txlog_move(const struct txlog *log, uint32_t i);
/* Nothing in any list? */
bool txlog_is_empty(const struct txlog *log);

/* Order of moves: by the segments of their target ("/a" < "/a/b" < "/a-b"). */
int path_compare_segments(struct slice a, struct slice b);

/* Coordinates touched in one array. */
struct draft_chunks {
	struct id8 node;
	size_t n_chunks;
	/*
	 * Coordinates in the order of indices, without repetition: either all at @coords, @n_dims
	 * each, or asked for one by one and in order: @next lends those of chunk @i until the next
	 * call, and @n_dims is what most of them have, so that memory is taken once.
	 */
	uint32_t n_dims;
	const uint32_t *coords;
	const uint32_t *(*next)(void *argument, size_t i, uint32_t *ret_n_dims);
	void *argument;
};

struct txlog_draft {
	struct id12 id;
	struct {
		const struct id8 *ids; /* sorted, without repetition */
		uint32_t n;
	} lists[TXLOG_N_LISTS];
	const struct draft_chunks *chunks; /* sorted by node */
	uint32_t n_chunks;
	const struct txlog_move *moves; /* sorted by path_compare_segments() of the target */
	uint32_t n_moves;
};

/* Appends the FlatBuffer of @draft.  ERR_ARGUMENT for a wrong order; ERR_UNSUPPORTED beyond 2^31
 * bytes. */
int txlog_encode(const struct txlog_draft *draft, struct buf *out, struct error *err);

/*
 * Appends the FlatBuffer of the union of @older and @newer under @id, as an amend needs it: id
 * lists and chunks are united, moves composed per node (first source, last target, none where both
 * are one).
 */
int txlog_merge(const struct id12 *id, const struct txlog *older, const struct txlog *newer,
		struct buf *out, struct error *err);
