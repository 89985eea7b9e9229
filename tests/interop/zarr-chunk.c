/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Chunks and documents of Zarr, for tests against the public package
 *
 * Reads lines "decode|encode DOCUMENT INDEX FILE OUT" (INDEX as "0,1", "-" for a scalar; FILE is
 * the stored or the decoded chunk) and "shown|layout DOCUMENT OUT" with paths that have no blanks,
 * and answers each with "ok" or one line of error.
 */

#include <stdio.h>
#include <stdlib.h>

#include "files.h"
#include "zarr/codec.h"
#include "zarr/document.h"
#include "zarr/view.h"

#define FILE_MAX (1U << 26)

static int parse_index(const struct zarr_metadata *array, const char *text, uint32_t *index,
		       struct error *err)
{
	char *end = (char *)text;

	for (size_t d = 0; d < array->grid.n_dims; d++) {
		index[d] = (uint32_t)strtoul(end, &end, 10);
		end += *end == ',';
	}
	if (!zarr_grid_holds(&array->grid, index))
		return error_set(err, ERR_ARGUMENT, "there is no chunk %s", text);
	return 0;
}

static int recode(const char *what, const struct zarr_metadata *array, const char *index_text,
		  const char *path, struct buf *out, struct error *err)
{
	CLEANUP(zarr_chain_freep) struct zarr_chain *chain = NULL;
	CLEANUP(buf_done) struct buf in = BUF_INIT(FILE_MAX);
	uint32_t index[ZARR_DIMS_MAX];
	uint64_t shape[ZARR_DIMS_MAX];
	uint8_t *bytes;
	size_t size;
	int r;

	if ((r = parse_index(array, index_text, index, err)) < 0 ||
	    (r = test_read_file(path, &in, err)) < 0 ||
	    (r = zarr_chain_new(array, NULL, &chain, err)) < 0)
		return r;
	zarr_grid_chunk_shape(&array->grid, index, shape);
	if (strcmp(what, "encode") == 0)
		return zarr_chain_encode(chain, shape, buf_slice(&in), out, err);
	if ((r = zarr_chain_chunk_bytes(chain, shape, &size, err)) < 0 ||
	    (r = buf_extend(out, size, &bytes, err)) < 0)
		return r;
	return zarr_chain_decode(chain, shape, buf_slice(&in), bytes, size, err);
}

static int answer(char *line, struct error *err)
{
	CLEANUP(zarr_metadata_freep) struct zarr_metadata *metadata = NULL;
	CLEANUP(buf_done) struct buf document = BUF_INIT(FILE_MAX);
	CLEANUP(buf_done) struct buf out = BUF_INIT(FILE_MAX);
	char *words[5] = {0};
	size_t n = 0;
	int r;

	for (char *word = strtok(line, " \n"); word && n < 5; word = strtok(NULL, " \n"))
		words[n++] = word;
	if (n != 3 && n != 5)
		return error_set(err, ERR_ARGUMENT, "%zu words", n);
	if ((r = test_read_file(words[1], &document, err)) < 0 ||
	    (r = zarr_metadata_new(buf_slice(&document), &metadata, err)) < 0)
		return r;
	if (n == 5)
		r = recode(words[0], metadata, words[2], words[3], &out, err);
	else if (strcmp(words[0], "shown") == 0)
		r = zarr_decoded_document(metadata, NULL, &out, NULL, err);
	else
		r = zarr_json_layout(&metadata->root, 0, &out, err);
	return r < 0 ? r : test_write_file(words[n - 1], buf_slice(&out), err);
}

int main(void)
{
	char line[16384];

	while (fgets(line, sizeof(line), stdin)) {
		struct error err = ERROR_INIT;

		puts(answer(line, &err) < 0 ? err.text : "ok");
	}
	return 0;
}
