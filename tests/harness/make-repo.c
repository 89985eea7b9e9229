/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/make-repo.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "harness/make-grib.h"
#include "repo/transaction.h"
#include "zarr/codec.h"
#include "zarr/metadata.h"

#define N_FIELDS 5

#define ARRAY(data_type, shape, chunks, separator, fill, codecs)                                   \
	"{\"shape\":" shape ",\"data_type\":\"" data_type                                          \
	"\",\"chunk_grid\":{\"name\":\"regular\",\"configuration\":{\"chunk_shape\":" chunks       \
	"}},\"chunk_key_encoding\":{\"name\":\"default\",\"configuration\":{\"separator\":"        \
	"\"" separator "\"}},\"fill_value\":" fill ",\"codecs\":" codecs                           \
	",\"attributes\":{},\"zarr_format\":3,\"node_type\":\"array\",\"storage_transformers\":[]" \
	"}"
#define GROUP "{\"attributes\":{},\"zarr_format\":3,\"node_type\":\"group\"}"
#define BYTES "{\"name\":\"bytes\",\"configuration\":{\"endian\":\"little\"}}"
#define BYTES_ZSTD \
	"[" BYTES ",{\"name\":\"zstd\",\"configuration\":{\"level\":0,\"checksum\":false}}]"
#define GRIBBERISH "{\"name\":\"gribberish\",\"configuration\":{\"var\":\"TMP\"}}"
#define GRIBBERISH_UP \
	"{\"name\":\"gribberish\",\"configuration\":{\"var\":\"TMP\",\"north_up\":true}}"
#define CELSIUS "{\"name\":\"scale_offset\",\"configuration\":{\"offset\":-273.15}}"

static const struct {
	const char *path, *document;
} nodes[] = {
	{"/", GROUP},
	{"/native", ARRAY("int32", "[10,4]", "[4,4]", "/", "-7", BYTES_ZSTD)},
	{"/a/b/deep", ARRAY("float32", "[3]", "[1]", ".", "0.0", "[" BYTES "]")},
	{"/scalar", ARRAY("float64", "[]", "[]", "/", "0.0", "[" BYTES "]")},
	{"/grib", GROUP},
	{"/grib/t",
	 ARRAY("float64", "[2,3,7,12]", "[1,1,7,12]", "/", "\"NaN\"", "[" GRIBBERISH "]")},
	{"/grib/c", ARRAY("float32", "[2,7,12]", "[1,7,12]", "/", "\"NaN\"",
			  "[" CELSIUS "," GRIBBERISH_UP "]")},
	{"/odd", ARRAY("float64", "[2]", "[1]", "/", "0.0",
		       "[" CELSIUS "," BYTES ",{\"name\":\"mystery\"}]")},
};

float make_repo_value(int k, int j, int i)
{
	return 250.0f + (float)k + (float)j * 0.5f + (float)i * 0.1f;
}

static int write_sources(const char *sources, uint64_t offsets[N_FIELDS + 1], struct error *err)
{
	CLEANUP(buf_done) struct buf file = BUF_INIT(BUF_NO_LIMIT);
	CLEANUP(freep) char *path = text_printf(err, "%s/fields.grib2", sources);
	struct make_grib spec = {
		.level = {.type = 103, .value = 2},
		.year = 2025,
		.month = 8,
		.day = 1,
		.grid = make_grid_global(MAKE_NI, MAKE_NJ),
		.packing = MAKE_SIMPLE,
		.decimal_scale = 1,
	};
	float values[MAKE_NI * MAKE_NJ];
	FILE *out;
	int r = 0;

	if (!path)
		return ERR_MEMORY;
	for (int k = 0; k < N_FIELDS && r == 0; k++) {
		for (int p = 0; p < MAKE_NI * MAKE_NJ; p++)
			values[p] = make_repo_value(k, p / MAKE_NI, p % MAKE_NI);
		offsets[k] = file.size;
		r = make_grib_field(&spec, values, &file, err);
	}
	if (r < 0)
		return r;
	offsets[N_FIELDS] = file.size;
	out = fopen(path, "we");
	if (!out || fwrite(file.data, file.size, 1, out) != 1 || fclose(out) != 0)
		return error_set(err, ERR_NETWORK, "cannot write '%s'", path);
	return 0;
}

/* Puts a chunk through the array's own codecs. */
static int put(struct transaction *transaction, const char *path, const uint32_t *index,
	       uint32_t n_dims, const uint64_t *shape, const void *values, size_t size,
	       struct error *err)
{
	CLEANUP(buf_done) struct buf document = BUF_INIT(BUF_NO_LIMIT);
	CLEANUP(buf_done) struct buf encoded = BUF_INIT(BUF_NO_LIMIT);
	CLEANUP(zarr_metadata_freep) struct zarr_metadata *metadata = NULL;
	CLEANUP(zarr_chain_freep) struct zarr_chain *chain = NULL;
	int r;

	r = transaction_get_document(transaction, path, &document, err);
	if (r == 0)
		r = zarr_metadata_new(buf_slice(&document), &metadata, err);
	if (r == 0)
		r = zarr_chain_new(metadata, NULL, &chain, err);
	if (r == 0)
		r = zarr_chain_encode(chain, shape, slice_of(values, size), &encoded, err);
	if (r == 0)
		r = transaction_put_chunk(transaction, path, index, n_dims, buf_slice(&encoded),
					  err);
	return r;
}

static int put_native(struct transaction *transaction, struct error *err)
{
	const uint64_t shape[] = {4, 4};
	int32_t first[16], second[16];
	int r;

	for (int p = 0; p < 16; p++) {
		first[p] = p / 4 * 100 + p % 4;
		second[p] = (p / 4 + 4) * 100 + p % 4;
	}
	r = put(transaction, "/native", (uint32_t[]){0, 0}, 2, shape, first, sizeof(first), err);
	if (r == 0)
		r = put(transaction, "/native", (uint32_t[]){1, 0}, 2, shape, second,
			sizeof(second), err);
	return r;
}

static int put_small(struct transaction *transaction, struct error *err)
{
	const uint64_t shape[] = {1};
	double scalar = 42;
	int r;

	r = put(transaction, "/scalar", NULL, 0, NULL, &scalar, sizeof(scalar), err);
	for (uint32_t i = 0; i < 3 && r == 0; i++) {
		float value = (float)i + 0.5f;

		r = put(transaction, "/a/b/deep", &i, 1, shape, &value, sizeof(value), err);
	}
	if (r == 0)
		r = transaction_put_chunk(transaction, "/odd", (uint32_t[]){0}, 1,
					  slice_text("whatever"), err);
	return r;
}

static int put_refs(struct transaction *transaction, const char *sources,
		    const uint64_t offsets[N_FIELDS + 1], struct error *err)
{
	CLEANUP(freep) char *location = text_printf(err, "file://%s/fields.grib2", sources);
	CLEANUP(freep) char *gone = text_printf(err, "file://%s/gone.grib2", sources);
	static const uint32_t t[][4] = {{0, 0}, {0, 1}, {1, 0}, {1, 1}, {1, 2}};
	static const uint32_t c[][3] = {{0}, {1}};
	struct virtual_ref refs[5];
	int r;

	if (!location || !gone)
		return ERR_MEMORY;
	for (size_t k = 0; k < 5; k++)
		refs[k] = (struct virtual_ref){
			.index = t[k],
			.location = slice_text(k == 3 ? gone : location),
			.offset = offsets[k],
			.length = offsets[k + 1] - offsets[k] - (k == 4 ? 20 : 0),
		};
	r = transaction_set_refs(transaction, "/grib/t", refs, 5, 4, err);
	for (size_t k = 0; k < 2; k++)
		refs[k].index = c[k];
	if (r == 0)
		r = transaction_set_refs(transaction, "/grib/c", refs, 2, 3, err);
	return r;
}

static int fill(struct transaction *transaction, const char *sources, struct error *err)
{
	uint64_t offsets[N_FIELDS + 1];
	int r;

	r = write_sources(sources, offsets, err);
	for (size_t i = 0; i < ARRAY_LEN(nodes) && r == 0; i++)
		r = transaction_put_document(transaction, nodes[i].path,
					     slice_text(nodes[i].document), err);
	if (r == 0)
		r = put_native(transaction, err);
	if (r == 0)
		r = put_small(transaction, err);
	if (r == 0)
		r = put_refs(transaction, sources, offsets, err);
	return r;
}

int make_repo(struct store *store, const char *sources, struct error *err)
{
	CLEANUP(repo_freep) struct repo *repo = NULL;
	CLEANUP(transaction_freep) struct transaction *transaction = NULL;
	CLEANUP(freep)
	char *config = text_printf(
		err,
		"{\"inline_chunk_threshold_bytes\":40,\"virtual_chunk_containers\":{\"file://%s/\":"
		"{\"name\":null,\"url_prefix\":\"file://%s/"
		"\",\"store\":{\"local_file_system\":\"%s\"}}}}",
		sources, sources, sources);
	struct commit_options commit = {.message = "made"};
	struct id12 id;
	int r;

	if (!config)
		return ERR_MEMORY;
	r = repo_create(store, 2, slice_text(config), err);
	if (r == 0)
		r = repo_open(store, NULL, &repo, err);
	if (r == 0)
		r = transaction_begin(repo, NULL, NULL, &transaction, err);
	if (r == 0)
		r = fill(transaction, sources, err);
	if (r == 0)
		r = transaction_commit(transaction, &commit, &id, NULL, err);
	return r;
}
