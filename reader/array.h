/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What decoding the chunks of one array needs: its document, read, and its codec chain
 *
 * Internal to the reader.  Threads: constant once made, may be shared.
 */

#include "reader/reader.h"
#include "zarr/codec.h"
#include "zarr/metadata.h"

#define ARRAY_IDENTITY_SIZE 32

struct array {
	struct node node; /* lends from the checkout it was made from */
	struct zarr_metadata *metadata;
	struct zarr_chain *chain; /* NULL when @cannot_decode says why */
	struct error cannot_decode;
	bool must_decode;	   /* its chain holds a codec that plain Zarr readers lack */
	const char *unknown_codec; /* name of a codec nobody knows; NULL if all are known */
	/* SHA-256 of all that the meaning of stored bytes depends on, chunk shape aside. */
	uint8_t identity[ARRAY_IDENTITY_SIZE];
};

/*
 * Reads the document of @node.  An array whose chunks cannot be decoded is no error here: see
 * cannot_decode and unknown_codec.  ERR_FORMAT and ERR_UNSUPPORTED name the path.
 */
int array_new(struct reader *reader, const struct node *node, struct array **ret_array,
	      struct error *err);
/* NULL is fine.  Always returns NULL. */
struct array *array_free(struct array *array);
DEFINE_CLEANUP(struct array *, array_free)

enum chunk_form {
	CHUNK_STORED, /* the stored bytes: of a virtual chunk, the source's */
	CHUNK_DECODED /* every codec undone */
};

/*
 * Content of the chunk of @array at @index (within the grid): 0, REPO_ABSENT if that is proven, or
 * an error.  Answers from the cache, joins a load under way, or fetches and decodes.  A failure is
 * remembered for a second under the chunk's identity.  @deadline as in view_load().
 */
int reader_load(struct reader *reader, struct checkout *checkout, const struct array *array,
		const uint32_t *index, enum chunk_form form, int64_t deadline,
		struct content **ret_content, struct error *err);
/* The same without waiting: REPO_WOULD_LOAD when the cache cannot answer. */
int reader_try_load(struct reader *reader, struct checkout *checkout, const struct array *array,
		    const uint32_t *index, enum chunk_form form, struct content **ret_content,
		    struct error *err);
/* 0, or why the source of a virtual chunk may not be followed; no network. */
int reader_permits(struct reader *reader, const struct chunk *chunk, struct error *err);
/* The failure remembered for this chunk: its kind with the text in @err, or 0. */
int reader_failure(struct reader *reader, const struct array *array, const struct chunk *chunk,
		   const uint32_t *index, enum chunk_form form, struct error *err);
/* Codecs that join the chains: gribberish. */
const struct zarr_registry *reader_registry(const struct reader *reader);
/* New content that takes over @data (malloc'ed) of @size bytes. */
struct content *content_new(uint8_t *data, size_t size, struct error *err);
