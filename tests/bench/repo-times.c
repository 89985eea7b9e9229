/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <zstd.h>

#include "base/cleanup.h"
#include "bench/bench.h"
#include "icechunk/envelope.h"
#include "repo/repo.h"
#include "repo/transaction.h"

/*
 * Times of the repository layer for bench-repo, one line {"name":...,"seconds":...} each:
 *
 *	repo-times write FOLDER N     set N references of an empty array, commit
 *	repo-times append FOLDER N    N more behind those that are there
 *	repo-times nodes FOLDER N     make N arrays, then open and list them
 *	repo-times lookup FOLDER N    one chunk cold (beside unpacking its manifest), then warm
 *
 * The references are those of repo-peer.py: 4 dimensions, 170 to a location.
 */

#define PREFIX "s3://example-bucket/data/"
#define TO_A_LOCATION 170
#define ROW 1000
#define WARM 1000000

static const char *config_text =
	"{\"virtual_chunk_containers\":{\"" PREFIX "\":{\"url_prefix\":\"" PREFIX
	"\",\"store\":{\"s3\":{\"region\":\"us-east-1\",\"anonymous\":true,"
	"\"allow_http\":false}}}}}";

static const char *array_text =
	"{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[20000,1000,1,1],"
	"\"data_type\":\"uint8\",\"chunk_grid\":{\"name\":\"regular\",\"configuration\":"
	"{\"chunk_shape\":[1,1,1,1]}},\"fill_value\":0,\"codecs\":[{\"name\":\"bytes\"}],"
	"\"attributes\":{}}";

/* References as a caller has them before anything is measured. */
struct input {
	struct virtual_ref *refs;
	uint32_t *indices;
	char *texts;
	size_t n;
};

static void input_done(struct input *input)
{
	free(input->refs);
	free(input->indices);
	free(input->texts);
}

static int input_make(struct input *input, size_t first, size_t n, struct error *err)
{
	size_t n_texts = n / TO_A_LOCATION + 2;

	input->n = n;
	input->refs = calloc(n, sizeof(*input->refs));
	input->indices = calloc(4 * n, sizeof(uint32_t));
	input->texts = calloc(n_texts, 96);
	if (!input->refs || !input->indices || !input->texts)
		return error_memory(err);
	for (size_t i = 0; i < n; i++) {
		size_t number = first + i, file = number / TO_A_LOCATION;
		char *text = input->texts + (file - first / TO_A_LOCATION) * 96;

		snprintf(text, 96, PREFIX "forecast/%04zu/file-%06zu.grib2", file / 100, file);
		input->indices[4 * i] = (uint32_t)(number / ROW);
		input->indices[4 * i + 1] = (uint32_t)(number % ROW);
		input->refs[i] = (struct virtual_ref){
			.index = &input->indices[4 * i],
			.location = slice_text(text),
			.offset = number % TO_A_LOCATION * 1000000,
			.length = 900000 + number * 7919 % 100000,
		};
	}
	return 0;
}

static size_t peak(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (size_t)usage.ru_maxrss * 1024;
}

static int commit(struct transaction *transaction, struct error *err)
{
	struct commit_options options = {.message = "bench"};
	struct id12 id;

	return transaction_commit(transaction, &options, &id, NULL, err);
}

static int make_repo(const char *folder, struct store **ret_store, struct repo **ret_repo,
		     struct error *err)
{
	CLEANUP(transaction_freep) struct transaction *transaction = NULL;
	int r = store_open(folder, NULL, ret_store, err);

	if (r == 0)
		r = repo_create(*ret_store, 2, slice_text(config_text), err);
	if (r == 0)
		r = repo_open(*ret_store, NULL, ret_repo, err);
	if (r == 0)
		r = transaction_begin(*ret_repo, NULL, NULL, &transaction, err);
	if (r == 0)
		r = transaction_put_document(transaction, "/a", slice_text(array_text), err);
	return r < 0 ? r : commit(transaction, err);
}

static int time_commit(const char *name, struct repo *repo, const struct input *input,
		       struct error *err)
{
	CLEANUP(transaction_freep) struct transaction *transaction = NULL;
	size_t before = peak();
	double start = bench_now();
	int r;

	r = transaction_begin(repo, NULL, NULL, &transaction, err);
	if (r == 0)
		r = transaction_set_refs(transaction, "/a", input->refs, input->n, 4, err);
	if (r == 0)
		r = commit(transaction, err);
	if (r == 0)
		printf("{\"name\":\"%s\",\"seconds\":%.6f,\"bytes_a_reference\":%.1f}\n", name,
		       bench_now() - start, (double)(peak() - before) / (double)input->n);
	return r;
}

static int run_write(const char *folder, size_t n, struct error *err)
{
	CLEANUP(store_freep) struct store *store = NULL;
	CLEANUP(repo_freep) struct repo *repo = NULL;
	CLEANUP(input_done) struct input input = {0};
	int r = make_repo(folder, &store, &repo, err);

	if (r == 0)
		r = input_make(&input, 0, n, err);
	return r < 0 ? r : time_commit("write", repo, &input, err);
}

static int run_append(const char *folder, size_t n, struct error *err)
{
	CLEANUP(store_freep) struct store *store = NULL;
	CLEANUP(repo_freep) struct repo *repo = NULL;
	CLEANUP(input_done) struct input input = {0};
	int r = store_open(folder, NULL, &store, err);

	if (r == 0)
		r = repo_open(store, NULL, &repo, err);
	if (r == 0)
		r = input_make(&input, 1000000, n, err);
	return r < 0 ? r : time_commit("append", repo, &input, err);
}

static int make_nodes(struct repo *repo, size_t n, struct error *err)
{
	CLEANUP(transaction_freep) struct transaction *transaction = NULL;
	int r = transaction_begin(repo, NULL, NULL, &transaction, err);

	for (size_t i = 0; r == 0 && i < n; i++) {
		char path[64];

		snprintf(path, sizeof(path), "/group-%02zu/array-%05zu", i % 100, i);
		r = transaction_put_document(transaction, path, slice_text(array_text), err);
	}
	return r < 0 ? r : commit(transaction, err);
}

static int list_nodes(struct store *store, uint64_t *ret_total, struct error *err)
{
	CLEANUP(repo_freep) struct repo *repo = NULL;
	CLEANUP(checkout_freep) struct checkout *checkout = NULL;
	struct id12 id;
	int r = repo_open(store, NULL, &repo, err);

	if (r == 0)
		r = repo_resolve(repo, &(struct repo_at){0}, &id, err);
	if (r == 0)
		r = repo_checkout(repo, &id, &checkout, err);
	for (uint32_t i = 0; r == 0 && i < checkout_n_nodes(checkout); i++) {
		struct node node;

		checkout_node(checkout, i, &node);
		*ret_total += node.path.size + node.document.size;
	}
	return r;
}

static int run_nodes(const char *folder, size_t n, struct error *err)
{
	CLEANUP(store_freep) struct store *store = NULL;
	CLEANUP(repo_freep) struct repo *repo = NULL;
	double times[9];
	uint64_t total = 0;
	int r = make_repo(folder, &store, &repo, err);

	if (r == 0)
		r = make_nodes(repo, n, err);
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(times); i++) {
		double start = bench_now();

		r = list_nodes(store, &total, err);
		times[i] = bench_now() - start;
	}
	if (r == 0)
		printf("{\"name\":\"nodes\",\"seconds\":%.6f,\"bytes\":%" PRIu64 "}\n",
		       bench_median(times, ARRAY_LEN(times)), total);
	return r;
}

/* What reading a chunk for the first time cannot do without: the manifest's zstd frame. */
static int time_unpacking(struct store *store, const struct id12 *manifest, double *ret_seconds,
			  struct error *err)
{
	CLEANUP(buf_done) struct buf file = BUF_INIT(1 << 30);
	char name[ID12_TEXT_LEN + 1], key[64];
	ZSTD_DCtx *context = ZSTD_createDCtx();
	ZSTD_outBuffer out = {malloc(1 << 29), 1 << 29, 0};
	ZSTD_inBuffer in;
	double start;
	int r;

	id12_format(manifest, name);
	snprintf(key, sizeof(key), "manifests/%s", name);
	start = bench_now();
	r = store_get_all(store, key, &file, NULL, err);
	in = (ZSTD_inBuffer){file.data, file.size, ENVELOPE_HEADER_SIZE};
	while (r == 0 && in.pos < in.size) {
		if (!context || !out.dst || ZSTD_isError(ZSTD_decompressStream(context, &out, &in)))
			r = error_set(err, ERR_FORMAT, "cannot unpack");
	}
	*ret_seconds = bench_now() - start;
	ZSTD_freeDCtx(context);
	free(out.dst);
	return r;
}

static int cold(struct repo *repo, struct checkout *checkout, struct chunk *chunk, double *ret_cold,
		struct error *err)
{
	uint32_t index[] = {500, 500, 0, 0};
	double start = bench_now();
	struct node node;
	int r;

	(void)repo;
	checkout_find(checkout, "/a", &node);
	r = checkout_locate(checkout, &node, index, chunk, err);
	*ret_cold = bench_now() - start;
	return r;
}

static int warm(struct checkout *checkout, struct chunk *chunk, double *ret_warm, struct error *err)
{
	double start = bench_now();
	struct node node;
	int r = 0;

	checkout_find(checkout, "/a", &node);
	for (uint32_t i = 0; r == 0 && i < WARM; i++) {
		uint32_t number = i * 7919u % 1000000u,
			 index[] = {number / ROW, number % ROW, 0, 0};

		r = checkout_locate(checkout, &node, index, chunk, err);
		if (r == 0)
			chunk_done(chunk);
	}
	*ret_warm = (bench_now() - start) / WARM;
	return r;
}

static int lookup_once(struct store *store, double *ret_cold, double *ret_unpack, double *ret_warm,
		       struct error *err)
{
	CLEANUP(repo_freep) struct repo *repo = NULL;
	CLEANUP(checkout_freep) struct checkout *checkout = NULL;
	CLEANUP(freep) struct chunk *chunk = calloc(1, sizeof(*chunk));
	struct id12 id;
	int r = chunk ? repo_open(store, NULL, &repo, err) : error_memory(err);

	if (r == 0)
		r = repo_resolve(repo, &(struct repo_at){0}, &id, err);
	if (r == 0)
		r = repo_checkout(repo, &id, &checkout, err);
	if (r == 0)
		r = cold(repo, checkout, chunk, ret_cold, err);
	if (r != 0)
		return r;
	r = time_unpacking(store, &chunk->manifest, ret_unpack, err);
	chunk_done(chunk);
	return r < 0 ? r : warm(checkout, chunk, ret_warm, err);
}

static int run_lookup(const char *folder, size_t n, struct error *err)
{
	CLEANUP(store_freep) struct store *store = NULL;
	double colds[5], unpacks[5], warms[5];
	int r = store_open(folder, NULL, &store, err);

	(void)n;
	for (int i = 0; r == 0 && i < 5; i++)
		r = lookup_once(store, &colds[i], &unpacks[i], &warms[i], err);
	if (r == 0)
		printf("{\"name\":\"lookup\",\"cold\":%.6f,\"unpack\":%.6f,\"warm\":%.9f}\n",
		       bench_median(colds, 5), bench_median(unpacks, 5), bench_median(warms, 5));
	return r;
}

static const struct {
	const char *name;
	int (*run)(const char *folder, size_t n, struct error *err);
} works[] = {
	{"write", run_write}, {"append", run_append}, {"nodes", run_nodes}, {"lookup", run_lookup}};

int main(int argc, char **argv)
{
	struct error err = ERROR_INIT;

	for (size_t i = 0; argc == 4 && i < ARRAY_LEN(works); i++) {
		if (strcmp(argv[1], works[i].name) != 0)
			continue;
		if (works[i].run(argv[2], strtoul(argv[3], NULL, 10), &err) != 0) {
			fprintf(stderr, "repo-times %s: %s\n", argv[1], err.text);
			return 1;
		}
		return 0;
	}
	fprintf(stderr, "usage: repo-times write|append|nodes|lookup FOLDER N\n");
	return 2;
}
