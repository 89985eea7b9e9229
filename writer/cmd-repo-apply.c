/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/json.h"
#include "base/vec.h"
#include "icechunk/config.h"
#include "writer/cmd-repo.h"
#include "zarr/grid.h"

#define INPUT_MAX (UINT64_C(64) << 30)
#define FILE_MAX_BYTES (UINT64_C(4) << 30)
#define BATCH 4096 /* references handed over at once */

struct apply {
	struct transaction *transaction;
	uint32_t threshold; /* chunks up to it are stored inline, and write nothing before the
			       commit */
	bool checks_only;   /* larger chunks are looked at, not written */
	bool was_checked;   /* ... and there was one */
	size_t line;
};

static int missing(const char *member, struct error *err)
{
	return error_set(err, ERR_ARGUMENT, "member \"%s\" is missing", member);
}

/* A text member; the caller frees it. */
static int get_text(const struct json *op, const char *name, char **ret_text, struct error *err)
{
	struct json value;
	int r;

	if (json_get(op, name, &value) != 0)
		return missing(name, err);
	r = json_dup(&value, ret_text, err);
	return r < 0 ? error_prefix(err, "member \"%s\"", name) : 0;
}

/* "a/b" is taken for "/a/b". */
static int get_path(const struct json *op, const char *name, char **ret_path, struct error *err)
{
	CLEANUP(freep) char *text = NULL;
	size_t skip, size;
	int r = get_text(op, name, &text, err);

	if (r < 0)
		return r;
	skip = strspn(text, "/");
	size = strlen(text + skip);
	while (size && text[skip + size - 1] == '/')
		size--;
	*ret_path = malloc(size + 2);
	if (!*ret_path)
		return error_memory(err);
	(*ret_path)[0] = '/';
	memcpy(*ret_path + 1, text + skip, size);
	(*ret_path)[size + 1] = '\0';
	return 0;
}

/* The bytes that a put writes, in one of the ways to give them. */
static int get_bytes(const struct json *op, struct buf *out, struct error *err)
{
	CLEANUP(freep) char *text = NULL;
	struct json value;
	int r;

	if (json_get(op, "json", &value) == 0)
		return buf_append_slice(out, value.span, err);
	if (json_get(op, "text", &value) == 0)
		return json_text(&value, out, err);
	if (json_get(op, "base64", &value) == 0) {
		r = json_dup(&value, &text, err);
		return r < 0 ? r : base64_decode(slice_text(text), out, err);
	}
	if (json_get(op, "file", &value) == 0) {
		r = json_dup(&value, &text, err);
		return r < 0 ? r : read_input(text, FILE_MAX_BYTES, out, err);
	}
	return error_set(err, ERR_ARGUMENT,
			 "none of \"json\", \"text\", \"base64\" and \"file\" is there");
}

static int put_chunk(struct apply *apply, const struct zarr_key *key, struct slice bytes,
		     struct error *err)
{
	if (apply->checks_only && bytes.size > apply->threshold) {
		apply->was_checked = true;
		return transaction_check_chunk(apply->transaction, key->path, key->index,
					       key->n_dims, err);
	}
	return transaction_put_chunk(apply->transaction, key->path, key->index, key->n_dims, bytes,
				     err);
}

static int apply_put(struct apply *apply, const struct json *op, struct error *err)
{
	CLEANUP(zarr_key_done) struct zarr_key key = {0};
	CLEANUP(buf_done) struct buf bytes = BUF_INIT(FILE_MAX_BYTES);
	CLEANUP(freep) char *text = NULL;
	int r;

	r = get_text(op, "key", &text, err);
	if (r == 0)
		r = zarr_key_split(text, &key, err);
	if (r == 0)
		r = get_bytes(op, &bytes, err);
	if (r < 0)
		return r;
	if (key.is_document)
		return transaction_put_document(apply->transaction, key.path, buf_slice(&bytes),
						err);
	return put_chunk(apply, &key, buf_slice(&bytes), err);
}

static int apply_delete(struct apply *apply, const struct json *op, struct error *err)
{
	CLEANUP(zarr_key_done) struct zarr_key key = {0};
	CLEANUP(freep) char *text = NULL;
	struct json value;
	int r;

	if (json_get(op, "key", &value) != 0) {
		r = get_path(op, "path", &text, err);
		return r < 0 ? r : transaction_delete_node(apply->transaction, text, err);
	}
	r = get_text(op, "key", &text, err);
	if (r == 0)
		r = zarr_key_split(text, &key, err);
	if (r < 0)
		return r;
	if (key.is_document)
		return transaction_delete_node(apply->transaction, key.path, err);
	return transaction_delete_chunk(apply->transaction, key.path, key.index, key.n_dims, err);
}

static int apply_resize(struct apply *apply, const struct json *op, struct error *err)
{
	CLEANUP(freep) char *path = NULL;
	uint64_t shape[ZARR_DIMS_MAX];
	struct json value, item;
	uint32_t n = 0;
	int r;

	r = get_path(op, "array", &path, err);
	if (r < 0)
		return r;
	if (json_get(op, "shape", &value) != 0 || value.type != JSON_ARRAY ||
	    json_count(&value) > ZARR_DIMS_MAX)
		return error_set(err, ERR_ARGUMENT, "member \"shape\" is no list of lengths");
	JSON_EACH (&value, NULL, item) {
		r = json_u64(&item, &shape[n++], err);
		if (r < 0)
			return error_prefix(err, "member \"shape\"");
	}
	return transaction_resize(apply->transaction, path, shape, n, err);
}

static int apply_move(struct apply *apply, const struct json *op, struct error *err)
{
	CLEANUP(freep) char *from = NULL;
	CLEANUP(freep) char *to = NULL;
	int r;

	r = get_path(op, "path", &from, err);
	if (r == 0)
		r = get_path(op, "to", &to, err);
	return r < 0 ? r : transaction_move(apply->transaction, from, to, err);
}

/* References on their way into the transaction; texts and indices live in the arena. */
struct batch {
	struct arena arena;
	struct virtual_ref refs[BATCH];
	size_t n;
	uint32_t n_dims;
};

static int batch_index(struct batch *batch, const struct json *value, struct virtual_ref *ref,
		       struct error *err)
{
	uint32_t n = (uint32_t)json_count(value), *index, i = 0;
	struct json item;

	if (value->type != JSON_ARRAY)
		return error_set(err, ERR_ARGUMENT, "\"index\" is no list of numbers");
	if (batch->n && n != batch->n_dims)
		return error_set(err, ERR_ARGUMENT, "\"index\" has %u numbers, the one before %u",
				 n, batch->n_dims);
	batch->n_dims = n;
	index = arena_zalloc(&batch->arena, (size_t)n + 1, sizeof(*index), err);
	if (!index)
		return ERR_MEMORY;
	JSON_EACH (value, NULL, item) {
		uint64_t number;
		int r = json_u64(&item, &number, err);

		if (r == 0 && number > UINT32_MAX)
			r = error_set(err, ERR_ARGUMENT, "%" PRIu64 " is too large", number);
		if (r < 0)
			return error_prefix(err, "\"index\"");
		index[i++] = (uint32_t)number;
	}
	ref->index = index;
	return 0;
}

/* Text without escapes, which is usual, is lent from the line. */
static int batch_text(struct batch *batch, const struct json *value, struct slice *ret_text,
		      struct error *err)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT(1 << 20);
	struct slice inner = slice_sub(value->span, 1, value->span.size - 2);
	char *copy;
	int r;

	if (value->type == JSON_STRING && !memchr(inner.data, '\\', inner.size)) {
		*ret_text = inner;
		return 0;
	}
	r = json_text(value, &text, err);
	if (r < 0)
		return r;
	copy = arena_dup(&batch->arena, buf_slice(&text), err);
	if (!copy)
		return ERR_MEMORY;
	*ret_text = slice_of(copy, text.size);
	return 0;
}

static int batch_checksums(struct batch *batch, const struct json *object, struct virtual_ref *ref,
			   struct error *err)
{
	uint64_t seconds = 0;
	struct json value;
	int r = 0;

	if (json_get(object, "etag", &value) == 0 && value.type != JSON_NULL)
		r = batch_text(batch, &value, &ref->etag, err);
	if (r == 0 && json_get(object, "last_modified", &value) == 0 && value.type != JSON_NULL)
		r = json_u64(&value, &seconds, err);
	if (r < 0)
		return r;
	if (seconds > UINT32_MAX)
		return error_set(err, ERR_ARGUMENT, "\"last_modified\" is no time in Unix seconds");
	ref->last_modified = (uint32_t)seconds;
	return 0;
}

static int batch_add(struct batch *batch, const struct json *object, struct error *err)
{
	struct virtual_ref *ref = &batch->refs[batch->n];
	struct json value;
	int r;

	*ref = (struct virtual_ref){0};
	if (json_get(object, "index", &value) != 0)
		return missing("index", err);
	r = batch_index(batch, &value, ref, err);
	if (r < 0)
		return r;
	if (json_get(object, "location", &value) != 0)
		return missing("location", err);
	r = batch_text(batch, &value, &ref->location, err);
	if (r == 0 && json_get(object, "offset", &value) == 0)
		r = json_u64(&value, &ref->offset, err);
	if (r < 0)
		return r;
	if (json_get(object, "length", &value) != 0)
		return missing("length", err);
	r = json_u64(&value, &ref->length, err);
	if (r == 0)
		r = batch_checksums(batch, object, ref, err);
	if (r == 0)
		batch->n++;
	return r;
}

static int batch_flush(struct apply *apply, struct batch *batch, const char *path,
		       struct error *err)
{
	int r = 0;

	if (batch->n)
		r = transaction_set_refs(apply->transaction, path, batch->refs, batch->n,
					 batch->n_dims, err);
	arena_done(&batch->arena);
	batch->arena = ARENA_INIT;
	batch->n = 0;
	return r;
}

/* An empty list says nothing of an array that is not there. */
static int check_exists(struct apply *apply, const char *path, struct error *err)
{
	CLEANUP(buf_done) struct buf document = BUF_INIT(INPUT_MAX);
	int r = transaction_get_document(apply->transaction, path, &document, err);

	return r == REPO_ABSENT ? error_set(err, ERR_ABSENT, "there is no '%s'", path) : r;
}

static int set_all(struct apply *apply, struct batch *batch, const char *path,
		   const struct json *refs, struct error *err)
{
	struct json item;
	bool any = false;

	JSON_EACH (refs, NULL, item) {
		int r = batch_add(batch, &item, err);

		any = true;
		if (r == 0 && batch->n == BATCH)
			r = batch_flush(apply, batch, path, err);
		if (r < 0)
			return r;
	}
	return any ? batch_flush(apply, batch, path, err) : check_exists(apply, path, err);
}

static int apply_set_refs(struct apply *apply, const struct json *op, struct error *err)
{
	CLEANUP(freep) char *path = NULL;
	struct batch *batch;
	struct json refs;
	int r;

	r = get_path(op, "array", &path, err);
	if (r < 0)
		return r;
	if (json_get(op, "refs", &refs) != 0 || refs.type != JSON_ARRAY)
		return error_set(err, ERR_ARGUMENT, "member \"refs\" is no list");
	batch = calloc(1, sizeof(*batch));
	if (!batch)
		return error_memory(err);
	r = set_all(apply, batch, path, &refs, err);
	arena_done(&batch->arena);
	free(batch);
	return r;
}

static const struct {
	const char *name;
	int (*run)(struct apply *apply, const struct json *op, struct error *err);
} operations[] = {
	{"put", apply_put},	  {"set_refs", apply_set_refs}, {"delete", apply_delete},
	{"resize", apply_resize}, {"move", apply_move},
};

static int apply_line(struct apply *apply, struct slice line, struct error *err)
{
	struct json op, name;
	int r;

	r = json_parse(line, &op, err);
	if (r < 0)
		return r;
	if (json_get(&op, "op", &name) != 0)
		return missing("op", err);
	for (size_t i = 0; i < ARRAY_LEN(operations); i++) {
		if (json_is_text(&name, operations[i].name))
			return operations[i].run(apply, &op, err);
	}
	return error_set(err, ERR_ARGUMENT, "unknown operation %.*s", (int)name.span.size,
			 (const char *)name.span.data);
}

static bool is_blank(struct slice line)
{
	for (size_t i = 0; i < line.size; i++) {
		if (!strchr(" \t\r", line.data[i]))
			return false;
	}
	return true;
}

static int apply_lines(struct apply *apply, struct slice input, struct error *err)
{
	apply->line = 0;
	while (input.size) {
		const uint8_t *end = memchr(input.data, '\n', input.size);
		size_t size = end ? (size_t)(end - input.data) : input.size;
		struct slice line = slice_sub(input, 0, size);
		int r = 0;

		apply->line++;
		if (!is_blank(line))
			r = apply_line(apply, line, err);
		if (r < 0)
			return error_prefix(err, "line %zu", apply->line);
		input = slice_sub(input, size + 1, SIZE_MAX);
	}
	return 0;
}

static int apply_begin(struct apply *apply, const struct apply_options *options, struct repo *repo,
		       const struct id12 *base, struct error *err)
{
	int r = transaction_begin(repo, options->branch, base, &apply->transaction, err);

	if (r == 0)
		apply->threshold = transaction_inline_threshold(apply->transaction);
	return r;
}

/*
 * Nothing may be written before every line is known to be good.  Chunks that become objects of
 * their own are only looked at in a first pass; if there were any, all is done again, for good.
 */
static int apply_input(struct apply *apply, const struct apply_options *options, struct repo *repo,
		       const struct id12 *base, struct slice input, struct error *err)
{
	struct id12 start;
	int r;

	r = apply_begin(apply, options, repo, base, err);
	if (r < 0)
		return r;
	apply->checks_only = true;
	r = apply_lines(apply, input, err);
	if (r < 0 || !apply->was_checked)
		return r;
	start = *checkout_id(transaction_base(apply->transaction));
	apply->transaction = transaction_free(apply->transaction);
	apply->checks_only = false;
	r = apply_begin(apply, options, repo, &start, err);
	return r < 0 ? r : apply_lines(apply, input, err);
}

static int apply_commit(struct cli *cli, const struct apply_options *options,
			struct transaction *transaction, struct error *err)
{
	static const enum rebase_mode modes[] = {REBASE_DETECT, REBASE_OURS, REBASE_THEIRS,
						 REBASE_NO};
	struct commit_options commit = {
		.message = options->message,
		.rebase = modes[options->rebase],
	};
	char text[ID12_TEXT_LEN + 1];
	struct id12 id;
	int r;

	r = transaction_commit(transaction, &commit, &id, NULL, err);
	if (r < 0)
		return r;
	id12_format(&id, text);
	output_printf(cli->out, "%s\n", text);
	return 0;
}

int cmd_repo_apply(struct cli *cli, const void *argument, struct error *err)
{
	const struct apply_options *options = argument;
	CLEANUP(opened_done) struct opened opened = {0};
	CLEANUP(buf_done) struct buf input = BUF_INIT(INPUT_MAX);
	struct apply apply = {0};
	struct id12 base;
	int r;

	r = options->base ? id12_parse_lenient(options->base, &base, err) : 0;
	if (r == 0)
		r = open_repo(options->url, &options->common, &opened, err);
	if (r == 0)
		r = read_input(options->file, INPUT_MAX, &input, err);
	if (r == 0)
		r = apply_input(&apply, options, opened.repo, options->base ? &base : NULL,
				buf_slice(&input), err);
	if (r == 0)
		r = apply_commit(cli, options, apply.transaction, err);
	/* The command line is right, a line of the input is not, or there is none. */
	if (r == ERR_ARGUMENT && apply.transaction)
		cli->error_status = 1;
	transaction_free(apply.transaction);
	return r;
}
