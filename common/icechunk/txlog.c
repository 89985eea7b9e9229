/* SPDX-License-Identifier: Apache-2.0 */
#include "icechunk/txlog.h"

#include <stdlib.h>

#include "icechunk/manifest.h"
#include "icechunk/schema.h"
#include "icechunk/search.h"

static const struct flat_field coords_fields[] = {
	FIELD_VECTOR(COORDS_COORDS, 4, 4, "coords", true),
};
static const struct flat_schema coords_schema = SCHEMA("ChunkIndices", coords_fields);

static const struct flat_field chunks_fields[] = {
	FIELD_ID8(CHUNKS_NODE_ID, "node_id", true),
	FIELD_TABLES(CHUNKS_CHUNKS, &coords_schema, "chunks", true),
};
static const struct flat_schema chunks_schema = SCHEMA("ArrayUpdatedChunks", chunks_fields);

static const struct flat_field move_fields[] = {
	FIELD_STRING(MOVE_FROM, "from", true),
	FIELD_STRING(MOVE_TO, "to", true),
	FIELD_ID8(MOVE_NODE_ID, "node_id", true),
	FIELD_SCALAR(MOVE_TYPE, 1, "node_type", false),
};
static const struct flat_schema move_schema = SCHEMA("MoveOperation", move_fields);

#define FIELD_IDS(n, w) FIELD_VECTOR(n, 8, 1, w, true)

static const struct flat_field log_fields[] = {
	FIELD_ID12(LOG_ID, "id", true),
	FIELD_IDS(LOG_LISTS + TXLOG_NEW_GROUPS, "new_groups"),
	FIELD_IDS(LOG_LISTS + TXLOG_NEW_ARRAYS, "new_arrays"),
	FIELD_IDS(LOG_LISTS + TXLOG_DELETED_GROUPS, "deleted_groups"),
	FIELD_IDS(LOG_LISTS + TXLOG_DELETED_ARRAYS, "deleted_arrays"),
	FIELD_IDS(LOG_LISTS + TXLOG_UPDATED_ARRAYS, "updated_arrays"),
	FIELD_IDS(LOG_LISTS + TXLOG_UPDATED_GROUPS, "updated_groups"),
	FIELD_TABLES(LOG_CHUNKS, &chunks_schema, "updated_chunks", true),
	FIELD_TABLES(LOG_MOVES, &move_schema, "moved_nodes", false),
};
static const struct flat_schema log_schema = SCHEMA("TransactionLog", log_fields);

struct txlog {
	struct buf payload;
	struct slice flat;
	uint32_t root;
	uint32_t lists[TXLOG_N_LISTS]; /* positions of vectors */
	uint32_t chunks;
	uint32_t moves;
};

/* A prefix sorts first. */
static int compare_coords(const uint32_t *a, uint32_t n_a, const uint32_t *b, uint32_t n_b)
{
	int order = index_compare(a, b, n_a < n_b ? n_a : n_b);

	return order ? order : (n_a > n_b) - (n_a < n_b);
}

static int out_of_order(const char *what, struct error *err)
{
	return error_set(err, ERR_FORMAT, "%s of the transaction log are out of order", what);
}

static int check_lists(const struct txlog *log, struct error *err)
{
	for (enum txlog_list list = 0; list < TXLOG_N_LISTS; list++) {
		uint32_t n;
		const struct id8 *ids = txlog_ids(log, list, &n);

		for (uint32_t i = 1; i < n; i++)
			if (id8_compare(&ids[i - 1], &ids[i]) >= 0)
				return out_of_order("node ids", err);
	}
	return 0;
}

static int check_chunks(const struct txlog *log, uint32_t array, uint32_t n, struct error *err)
{
	const uint32_t *before = NULL;
	uint32_t n_before = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t n_dims;
		const uint32_t *coords = txlog_chunk(log, array, i, &n_dims);

		if (before && compare_coords(before, n_before, coords, n_dims) >= 0)
			return out_of_order("chunks", err);
		before = coords;
		n_before = n_dims;
	}
	return 0;
}

/* Lookups are by binary search: in the wrong order some changes would not be seen. */
static int check_order(const struct txlog *log, struct error *err)
{
	struct id8 before = {0};
	int r;

	r = check_lists(log, err);
	for (uint32_t i = 0; r == 0 && i < txlog_n_arrays(log); i++) {
		uint32_t n;
		struct id8 node = txlog_array(log, i, &n);

		if (i > 0 && id8_compare(&before, &node) >= 0)
			return out_of_order("arrays", err);
		before = node;
		r = check_chunks(log, i, n, err);
	}
	return r;
}

int txlog_open(struct buf *payload, struct txlog **ret_log, struct error *err)
{
	CLEANUP(txlog_freep) struct txlog *log = calloc(1, sizeof(*log));
	int r;

	if (!log)
		return error_memory(err);
	log->payload = flat_take(payload);
	log->flat = buf_slice(&log->payload);
	r = flat_verify(log->flat, &log_schema, err);
	if (r < 0)
		return r;
	log->root = flat_root(log->flat);
	for (unsigned int i = 0; i < TXLOG_N_LISTS; i++)
		log->lists[i] = flat_child(log->flat, log->root, LOG_LISTS + i);
	log->chunks = flat_child(log->flat, log->root, LOG_CHUNKS);
	log->moves = flat_child(log->flat, log->root, LOG_MOVES);
	r = check_order(log, err);
	if (r < 0)
		return r;
	*ret_log = TAKE(log);
	return 0;
}

struct txlog *txlog_free(struct txlog *log)
{
	if (!log)
		return NULL;
	buf_done(&log->payload);
	free(log);
	return NULL;
}

const struct id12 *txlog_id(const struct txlog *log)
{
	return (const struct id12 *)(log->flat.data + flat_field(log->flat, log->root, LOG_ID));
}

const struct id8 *txlog_ids(const struct txlog *log, enum txlog_list list, uint32_t *ret_n)
{
	*ret_n = flat_count(log->flat, log->lists[list]);
	return (const struct id8 *)(log->flat.data + log->lists[list] + 4);
}

static int compare_ids(const void *a, const void *b)
{
	return id8_compare(a, b);
}

bool txlog_has(const struct txlog *log, enum txlog_list list, const struct id8 *id)
{
	uint32_t n;
	const struct id8 *ids = txlog_ids(log, list, &n);

	return bsearch(id, ids, n, sizeof(*ids), compare_ids) != NULL;
}

uint32_t txlog_n_arrays(const struct txlog *log)
{
	return flat_count(log->flat, log->chunks);
}

struct id8 txlog_array(const struct txlog *log, uint32_t i, uint32_t *ret_n_chunks)
{
	uint32_t table = flat_item(log->flat, log->chunks, i);
	struct id8 node;

	memcpy(&node, log->flat.data + flat_field(log->flat, table, CHUNKS_NODE_ID), sizeof(node));
	*ret_n_chunks = flat_count(log->flat, flat_child(log->flat, table, CHUNKS_CHUNKS));
	return node;
}

const uint32_t *txlog_chunk(const struct txlog *log, uint32_t i, uint32_t chunk,
			    uint32_t *ret_n_dims)
{
	uint32_t array = flat_item(log->flat, log->chunks, i);
	uint32_t table = flat_item(log->flat, flat_child(log->flat, array, CHUNKS_CHUNKS), chunk);
	uint32_t coords = flat_child(log->flat, table, COORDS_COORDS);

	*ret_n_dims = flat_count(log->flat, coords);
	return (const uint32_t *)(const void *)(log->flat.data + coords + 4);
}

static int compare_array(const void *log, uint32_t i, const void *id)
{
	uint32_t n;
	struct id8 node = txlog_array(log, i, &n);

	return id8_compare(&node, id);
}

int txlog_find_array(const struct txlog *log, const struct id8 *id, uint32_t *ret_i)
{
	return search_sorted(log, txlog_n_arrays(log), id, compare_array, ret_i) ? 0
										 : SNAPSHOT_ABSENT;
}

struct sought_chunk {
	uint32_t array;
	const uint32_t *index;
	uint32_t n_dims;
};

static int compare_chunk(const void *items, uint32_t i, const void *key)
{
	const struct sought_chunk *sought = key;
	uint32_t n;
	const uint32_t *coords = txlog_chunk(items, sought->array, i, &n);

	return compare_coords(coords, n, sought->index, sought->n_dims);
}

bool txlog_has_chunk(const struct txlog *log, uint32_t i, const uint32_t *index, uint32_t n_dims)
{
	struct sought_chunk sought = {.array = i, .index = index, .n_dims = n_dims};
	uint32_t n, found;

	(void)txlog_array(log, i, &n);
	return search_sorted(log, n, &sought, compare_chunk, &found);
}

uint32_t txlog_n_moves(const struct txlog *log)
{
	return flat_count(log->flat, log->moves);
}

struct txlog_move txlog_move(const struct txlog *log, uint32_t i)
{
	uint32_t table = flat_item(log->flat, log->moves, i);
	struct txlog_move move = {
		.from = flat_get_bytes(log->flat, table, MOVE_FROM),
		.to = flat_get_bytes(log->flat, table, MOVE_TO),
		.type = flat_get_u8(log->flat, table, MOVE_TYPE, NODE_GROUP) == NODE_ARRAY
				? NODE_ARRAY
				: NODE_GROUP,
	};

	memcpy(&move.node, log->flat.data + flat_field(log->flat, table, MOVE_NODE_ID),
	       sizeof(move.node));
	return move;
}

bool txlog_is_empty(const struct txlog *log)
{
	for (unsigned int i = 0; i < TXLOG_N_LISTS; i++)
		if (flat_count(log->flat, log->lists[i]))
			return false;
	return txlog_n_arrays(log) == 0 && txlog_n_moves(log) == 0;
}

int path_compare_segments(struct slice a, struct slice b)
{
	size_t n = a.size < b.size ? a.size : b.size;

	for (size_t i = 0; i < n; i++) {
		if (a.data[i] == b.data[i])
			continue;
		/* The path whose segment ends here comes first. */
		if (a.data[i] == '/' || b.data[i] == '/')
			return a.data[i] == '/' ? -1 : 1;
		return a.data[i] < b.data[i] ? -1 : 1;
	}
	return (a.size > b.size) - (a.size < b.size);
}

/* What the public library's verifier takes: tables, and bytes it visits, about 30 beside
 * coordinates. */
#define TABLES_MAX 50000000
#define VISITED_PER_CHUNK 30

static int check_size(const struct txlog_draft *draft, struct error *err)
{
	uint64_t tables = 1 + (uint64_t)draft->n_moves, visited = 0;

	for (uint32_t i = 0; i < draft->n_chunks; i++) {
		uint64_t per_chunk = VISITED_PER_CHUNK + 4 * (uint64_t)draft->chunks[i].n_dims;

		tables += 1 + (uint64_t)draft->chunks[i].n_chunks;
		visited += per_chunk * draft->chunks[i].n_chunks;
	}
	if (tables > TABLES_MAX || visited >= FLAT_MAX)
		return error_set(err, ERR_UNSUPPORTED,
				 "%llu chunks in one transaction log, which readers refuse: commit "
				 "fewer at once",
				 (unsigned long long)tables - draft->n_chunks - draft->n_moves - 1);
	return 0;
}

static int check_draft(const struct txlog_draft *draft, struct error *err)
{
	for (unsigned int list = 0; list < TXLOG_N_LISTS; list++)
		for (uint32_t i = 1; i < draft->lists[list].n; i++)
			if (id8_compare(&draft->lists[list].ids[i - 1],
					&draft->lists[list].ids[i]) >= 0)
				return error_set(err, ERR_ARGUMENT, "node ids are not sorted");
	for (uint32_t i = 1; i < draft->n_chunks; i++)
		if (id8_compare(&draft->chunks[i - 1].node, &draft->chunks[i].node) >= 0)
			return error_set(err, ERR_ARGUMENT, "arrays are not sorted by id");
	for (uint32_t i = 1; i < draft->n_moves; i++)
		if (path_compare_segments(draft->moves[i - 1].to, draft->moves[i].to) >= 0)
			return error_set(err, ERR_ARGUMENT, "moves are not sorted by target");
	return check_size(draft, err);
}

static const uint32_t *chunk_coords(const struct draft_chunks *chunks, size_t i, uint32_t *ret_n)
{
	if (chunks->next)
		return chunks->next(chunks->argument, i, ret_n);
	*ret_n = chunks->n_dims;
	return chunks->n_dims ? &chunks->coords[i * chunks->n_dims] : NULL;
}

static void put_chunks(struct flat_builder *flat, const struct draft_chunks *chunks)
{
	size_t base = flat->gathered.n;
	uint32_t vector;

	for (size_t i = 0; i < chunks->n_chunks; i++) {
		uint32_t n;
		const uint32_t *coords = chunk_coords(chunks, i, &n);

		flat_gather(flat, flat_put_numbers_table(flat, coords, n));
	}
	vector = flat_put_gathered(flat, base);
	flat_table_begin(flat);
	flat_add_offset(flat, CHUNKS_CHUNKS, vector);
	flat_add(flat, CHUNKS_NODE_ID, chunks->node.bytes, sizeof(chunks->node.bytes), 1);
	flat_gather(flat, flat_table_end(flat));
}

static void put_move(struct flat_builder *flat, const struct txlog_move *move)
{
	uint32_t from = flat_put_string(flat, move->from);
	uint32_t to = flat_put_string(flat, move->to);

	flat_table_begin(flat);
	flat_add_offset(flat, MOVE_FROM, from);
	flat_add_offset(flat, MOVE_TO, to);
	flat_add(flat, MOVE_NODE_ID, move->node.bytes, sizeof(move->node.bytes), 1);
	flat_add_u8(flat, MOVE_TYPE, (uint8_t)move->type);
	flat_gather(flat, flat_table_end(flat));
}

static uint32_t put_log(struct flat_builder *flat, const struct txlog_draft *draft)
{
	uint32_t lists[TXLOG_N_LISTS], chunks, moves;

	for (uint32_t i = 0; i < draft->n_chunks; i++)
		put_chunks(flat, &draft->chunks[i]);
	chunks = flat_put_gathered(flat, 0);
	for (uint32_t i = 0; i < draft->n_moves; i++)
		put_move(flat, &draft->moves[i]);
	moves = flat_put_gathered(flat, 0);
	for (unsigned int i = 0; i < TXLOG_N_LISTS; i++)
		lists[i] = flat_put_vector(flat, draft->lists[i].ids, draft->lists[i].n,
					   sizeof(struct id8), 1);
	flat_table_begin(flat);
	for (unsigned int i = 0; i < TXLOG_N_LISTS; i++)
		flat_add_offset(flat, LOG_LISTS + i, lists[i]);
	flat_add_offset(flat, LOG_CHUNKS, chunks);
	flat_add_offset(flat, LOG_MOVES, moves);
	flat_add(flat, LOG_ID, draft->id.bytes, sizeof(draft->id.bytes), 1);
	return flat_table_end(flat);
}

#define CHUNK_BYTES 16	/* of an entry beside its coordinates */
#define ARRAY_BYTES 256 /* of an array, and of all else, generously */

/* Memory for everything at once: a log of millions of chunks is not copied while it grows. */
static void reserve(struct flat_builder *flat, const struct txlog_draft *draft)
{
	size_t size = ARRAY_BYTES;

	for (uint32_t i = 0; i < draft->n_chunks; i++)
		size += ARRAY_BYTES + draft->chunks[i].n_chunks *
					      (CHUNK_BYTES + 4 * (size_t)draft->chunks[i].n_dims);
	flat_builder_reserve(flat, size);
}

int txlog_encode(const struct txlog_draft *draft, struct buf *out, struct error *err)
{
	CLEANUP(flat_builder_done) struct flat_builder flat = FLAT_BUILDER_INIT;
	int r;

	r = check_draft(draft, err);
	if (r < 0)
		return r;
	reserve(&flat, draft);
	return flat_builder_end(&flat, put_log(&flat, draft), out, err);
}
