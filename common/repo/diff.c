/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/json.h"
#include "repo/internal.h"
#include "repo/maintain.h"

DEFINE_VEC(log_ids, struct id12);

/* What the two snapshots call the nodes that the logs know by id. */
struct named {
	struct id8 id;
	struct slice path;
};
DEFINE_VEC(named_list, struct named);

struct diff {
	struct repo *repo;
	struct snapshot *from, *to;
	struct named_list old_names, new_names; /* sorted by id */
	struct log_ids logs;			/* oldest first */
	struct txlog *all;			/* their union; NULL while there is none */
};

static void diff_done(struct diff *diff)
{
	snapshot_free(diff->from);
	snapshot_free(diff->to);
	named_list_done(&diff->old_names);
	named_list_done(&diff->new_names);
	log_ids_done(&diff->logs);
	txlog_free(diff->all);
}

static int named_compare(const void *a, const void *b)
{
	return id8_compare(&((const struct named *)a)->id, &((const struct named *)b)->id);
}

static int names_fill(const struct snapshot *snapshot, struct named_list *names, struct error *err)
{
	for (uint32_t i = 0; i < snapshot_n_nodes(snapshot); i++) {
		struct snapshot_node node = snapshot_node(snapshot, i);
		struct named named = {node.id, node.path};
		int r = named_list_push(names, named, err);

		if (r < 0)
			return r;
	}
	if (names->n)
		qsort(names->items, names->n, sizeof(struct named), named_compare);
	return 0;
}

static const struct named *names_find(const struct named_list *names, const struct id8 *id)
{
	struct named key = {.id = *id};

	return names->n ? bsearch(&key, names->items, names->n, sizeof(key), named_compare) : NULL;
}

static int not_ancestor(const struct id12 *from, const struct id12 *to, struct error *err)
{
	char a[ID12_TEXT_LEN + 1], b[ID12_TEXT_LEN + 1];

	id12_format(from, a);
	id12_format(to, b);
	return error_set(err, ERR_ARGUMENT, "snapshot %s is no ancestor of %s", a, b);
}

/* Newest first. */
static int collect2(struct diff *diff, const struct repo_info *info, const struct id12 *from,
		    const struct id12 *to, struct error *err)
{
	uint32_t i;

	if (repo_info_find_snapshot(info, to, &i) != 0)
		return not_ancestor(from, to, err);
	for (;;) {
		const struct repo_snapshot *at = &info->snapshots.items[i];
		int r;

		if (id12_equal(&at->id, from))
			return 0;
		r = log_ids_push(&diff->logs, at->id, err);
		for (uint32_t p = at->n_pruned; r == 0 && p-- > 0;)
			r = log_ids_push(&diff->logs, at->pruned[p], err);
		if (r < 0)
			return r;
		if (at->parent < 0)
			return not_ancestor(from, to, err);
		i = (uint32_t)at->parent;
	}
}

struct collecting1 {
	struct diff *diff;
	const struct id12 *from;
	bool found;
};

enum { COLLECTED = ERR_INTERRUPTED };

static int collect1_entry(void *argument, const struct history_entry *entry, struct error *err)
{
	struct collecting1 *collecting = argument;

	if (id12_equal(&entry->id, collecting->from)) {
		collecting->found = true;
		return COLLECTED;
	}
	return log_ids_push(&collecting->diff->logs, entry->id, err);
}

static int diff_collect(struct diff *diff, const struct id12 *from, const struct id12 *to,
			struct error *err)
{
	CLEANUP(state_freep) struct state *state = repo_state(diff->repo);
	struct collecting1 collecting = {diff, from, false};
	int r;

	if (state->info)
		return collect2(diff, state->info, from, to, err);
	r = repo_history(diff->repo, to, collect1_entry, &collecting, err);
	if (collecting.found)
		return 0;
	return r < 0 ? r : not_ancestor(from, to, err);
}

/* Adds one log to the union.  A pruned one that is gone is skipped, as the public library does. */
static int diff_add_log(struct diff *diff, const struct id12 *id, struct error *err)
{
	CLEANUP(txlog_freep) struct txlog *log = NULL;
	CLEANUP(buf_done) struct buf payload = BUF_INIT(TXLOG_PAYLOAD_MAX);
	struct txlog *merged;
	int r;

	r = txlog_load(diff->repo->store, id, &log, err);
	if (r != 0)
		return r == REPO_ABSENT ? 0 : r;
	if (!diff->all) {
		diff->all = TAKE(log);
		return 0;
	}
	r = txlog_merge(id, diff->all, log, &payload, err);
	if (r == 0)
		r = txlog_open(&payload, &merged, err);
	if (r < 0)
		return r;
	txlog_free(diff->all);
	diff->all = merged;
	return 0;
}

static int slice_sort(const void *a, const void *b)
{
	return slice_compare(*(const struct slice *)a, *(const struct slice *)b);
}

DEFINE_VEC(slices, struct slice);

/* One list of nodes by path, as far as the snapshots know them. */
static int diff_list(const struct diff *diff, enum txlog_list list, const struct named_list *names,
		     const char *member, struct buf *out, struct error *err)
{
	CLEANUP(slices_done) struct slices paths = {0};
	const struct id8 *ids;
	uint32_t n = 0;
	int r;

	ids = diff->all ? txlog_ids(diff->all, list, &n) : NULL;
	for (uint32_t i = 0; i < n; i++) {
		const struct named *named = names_find(names, &ids[i]);

		r = named ? slices_push(&paths, named->path, err) : 0;
		if (r < 0)
			return r;
	}
	if (paths.n)
		qsort(paths.items, paths.n, sizeof(struct slice), slice_sort);
	r = buf_printf(out, err, ",\"%s\":[", member);
	for (size_t i = 0; r == 0 && i < paths.n; i++) {
		if (i)
			r = buf_append_byte(out, ',', err);
		if (r == 0)
			r = json_write_text(out, paths.items[i], err);
	}
	return r < 0 ? r : buf_append_byte(out, ']', err);
}

static int diff_chunk(const struct txlog *log, uint32_t array, uint32_t chunk, struct buf *out,
		      struct error *err)
{
	uint32_t n_dims;
	const uint32_t *index = txlog_chunk(log, array, chunk, &n_dims);
	int r = buf_append_text(out, chunk ? ",[" : "[", err);

	for (uint32_t i = 0; r == 0 && i < n_dims; i++)
		r = buf_printf(out, err, "%s%" PRIu32, i ? "," : "", index[i]);
	return r < 0 ? r : buf_append_byte(out, ']', err);
}

/* An array with chunk changes: its path, and its number in the log. */
struct changed {
	struct slice path;
	uint32_t array;
};
DEFINE_VEC(changed_list, struct changed);

static int changed_compare(const void *a, const void *b)
{
	return slice_compare(((const struct changed *)a)->path, ((const struct changed *)b)->path);
}

static int changed_fill(const struct diff *diff, struct changed_list *list, struct error *err)
{
	uint32_t n = diff->all ? txlog_n_arrays(diff->all) : 0, n_chunks;

	for (uint32_t i = 0; i < n; i++) {
		struct id8 id = txlog_array(diff->all, i, &n_chunks);
		const struct named *named = names_find(&diff->new_names, &id);
		struct changed changed = {.array = i};
		int r;

		if (!named)
			named = names_find(&diff->old_names, &id);
		if (!named)
			continue;
		changed.path = named->path;
		r = changed_list_push(list, changed, err);
		if (r < 0)
			return r;
	}
	if (list->n)
		qsort(list->items, list->n, sizeof(struct changed), changed_compare);
	return 0;
}

static int diff_array(const struct diff *diff, const struct changed *changed, struct buf *out,
		      struct error *err)
{
	uint32_t n_chunks;
	int r = buf_append_text(out, "{\"path\":", err);

	txlog_array(diff->all, changed->array, &n_chunks);
	if (r == 0)
		r = json_write_text(out, changed->path, err);
	if (r == 0)
		r = buf_printf(out, err, ",\"n_chunks\":%" PRIu32 ",\"chunks\":[", n_chunks);
	for (uint32_t c = 0; r == 0 && c < n_chunks; c++)
		r = diff_chunk(diff->all, changed->array, c, out, err);
	return r < 0 ? r : buf_append_text(out, "]}", err);
}

static int diff_chunks(const struct diff *diff, struct buf *out, struct error *err)
{
	CLEANUP(changed_list_done) struct changed_list list = {0};
	int r;

	r = changed_fill(diff, &list, err);
	if (r == 0)
		r = buf_append_text(out, ",\"updated_chunks\":[", err);
	for (size_t i = 0; r == 0 && i < list.n; i++) {
		if (i)
			r = buf_append_byte(out, ',', err);
		if (r == 0)
			r = diff_array(diff, &list.items[i], out, err);
	}
	return r < 0 ? r : buf_append_byte(out, ']', err);
}

static int diff_moves(const struct diff *diff, struct buf *out, struct error *err)
{
	uint32_t n = diff->all ? txlog_n_moves(diff->all) : 0;
	int r = buf_append_text(out, ",\"moved_nodes\":[", err);

	for (uint32_t i = 0; r == 0 && i < n; i++) {
		struct txlog_move move = txlog_move(diff->all, i);

		r = buf_append_text(out, i ? ",{\"from\":" : "{\"from\":", err);
		if (r == 0)
			r = json_write_text(out, move.from, err);
		if (r == 0)
			r = buf_append_text(out, ",\"to\":", err);
		if (r == 0)
			r = json_write_text(out, move.to, err);
		if (r == 0)
			r = buf_append_byte(out, '}', err);
	}
	return r < 0 ? r : buf_append_byte(out, ']', err);
}

static int diff_write(const struct diff *diff, const struct id12 *from, const struct id12 *to,
		      struct buf *out, struct error *err)
{
	const struct named_list *old_names = &diff->old_names, *new_names = &diff->new_names;
	char a[ID12_TEXT_LEN + 1], b[ID12_TEXT_LEN + 1];
	int r;

	id12_format(from, a);
	id12_format(to, b);
	r = buf_printf(out, err, "{\"from\":\"%s\",\"to\":\"%s\"", a, b);
	if (r == 0)
		r = diff_list(diff, TXLOG_NEW_GROUPS, new_names, "new_groups", out, err);
	if (r == 0)
		r = diff_list(diff, TXLOG_NEW_ARRAYS, new_names, "new_arrays", out, err);
	if (r == 0)
		r = diff_list(diff, TXLOG_DELETED_GROUPS, old_names, "deleted_groups", out, err);
	if (r == 0)
		r = diff_list(diff, TXLOG_DELETED_ARRAYS, old_names, "deleted_arrays", out, err);
	if (r == 0)
		r = diff_list(diff, TXLOG_UPDATED_GROUPS, new_names, "updated_groups", out, err);
	if (r == 0)
		r = diff_list(diff, TXLOG_UPDATED_ARRAYS, new_names, "updated_arrays", out, err);
	if (r == 0)
		r = diff_chunks(diff, out, err);
	if (r == 0)
		r = diff_moves(diff, out, err);
	return r < 0 ? r : buf_append_byte(out, '}', err);
}

int repo_diff(struct repo *repo, const struct id12 *from, const struct id12 *to, struct buf *out,
	      struct error *err)
{
	CLEANUP(diff_done) struct diff diff = {.repo = repo};
	int r;

	r = diff_collect(&diff, from, to, err);
	if (r == 0)
		r = snapshot_load(repo->store, from, &diff.from, err);
	if (r == 0)
		r = snapshot_load(repo->store, to, &diff.to, err);
	if (r == 0)
		r = names_fill(diff.from, &diff.old_names, err);
	if (r == 0)
		r = names_fill(diff.to, &diff.new_names, err);
	for (size_t i = diff.logs.n; r == 0 && i-- > 0;)
		r = diff_add_log(&diff, &diff.logs.items[i], err);
	return r < 0 ? r : diff_write(&diff, from, to, out, err);
}
