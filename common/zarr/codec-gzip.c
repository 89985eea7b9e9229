/* SPDX-License-Identifier: Apache-2.0 */

/*
 * "gzip": RFC 1952, one member or several; zeros behind the last one are padding
 */

#include <limits.h>
#include <stdlib.h>
#include <zlib.h>

#include "zarr/chain.h"

#define GZIP_WINDOW (15 + 16) /* the largest, with a gzip header */
#define GZIP_MEMORY 8	      /* zlib's default */

static const char *const keys[] = {"level", NULL};

static int gzip_configure(const struct json *configuration, const struct zarr_array *array,
			  const struct zarr_registry *registry, void *context, void **ret_state,
			  struct error *err)
{
	CLEANUP(freep) int *level = malloc(sizeof(*level));
	int r;

	(void)array;
	(void)registry;
	(void)context;
	if (!level)
		return error_memory(err);
	*level = 5; /* the public package's default */
	r = zarr_configuration_check(configuration, keys, err);
	if (r < 0)
		return r;
	r = zarr_configuration_int(configuration, "level", 0, 9, level, err);
	if (r < 0)
		return r;
	*ret_state = TAKE(level);
	return 0;
}

static uInt at_most_uint(size_t n)
{
	return n < UINT_MAX ? (uInt)n : UINT_MAX;
}

static bool is_padding(const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (bytes[i] != 0)
			return false;
	return true;
}

/* Inflates one member; @encoded and @out move on. */
static int inflate_member(z_stream *stream, struct slice *encoded, uint8_t **out, size_t *room,
			  struct error *err)
{
	int z = Z_OK;

	while (z != Z_STREAM_END) {
		uInt in = at_most_uint(encoded->size);
		uInt space = at_most_uint(*room);

		stream->next_in = (Bytef *)encoded->data;
		stream->avail_in = in;
		stream->next_out = *out;
		stream->avail_out = space;
		z = inflate(stream, Z_NO_FLUSH);
		if (z != Z_OK && z != Z_STREAM_END && z != Z_BUF_ERROR)
			return error_set(err, ERR_FORMAT, "%s",
					 stream->msg ? stream->msg : "damaged stream");
		*encoded = slice_sub(*encoded, in - stream->avail_in, encoded->size);
		*out += space - stream->avail_out;
		*room -= space - stream->avail_out;
		if (z == Z_BUF_ERROR ||
		    (z == Z_OK && in == stream->avail_in && space == stream->avail_out))
			return error_set(err, ERR_FORMAT, "%s",
					 encoded->size == 0 ? "the stream is cut short"
							    : "more bytes than a chunk has");
	}
	return 0;
}

static int inflate_all(z_stream *stream, struct slice encoded, uint8_t *out, size_t room,
		       size_t *ret_size, struct error *err)
{
	uint8_t *begin = out;

	do {
		int r = inflate_member(stream, &encoded, &out, &room, err);

		if (r < 0)
			return r;
		inflateReset(stream);
	} while (!is_padding(encoded.data, encoded.size));
	*ret_size = (size_t)(out - begin);
	return 0;
}

static int gzip_decode(const void *state, const struct zarr_array *array, struct slice encoded,
		       uint8_t *out, size_t room, size_t *ret_size, struct error *err)
{
	z_stream stream = {0};
	uint8_t nothing;
	int r;

	(void)state;
	(void)array;
	if (inflateInit2(&stream, GZIP_WINDOW) != Z_OK)
		return error_memory(err);
	r = inflate_all(&stream, encoded, out ? out : &nothing, room, ret_size, err);
	inflateEnd(&stream);
	return r;
}

static int deflate_all(z_stream *stream, struct slice decoded, struct buf *out, struct error *err)
{
	int z = Z_OK;

	while (z != Z_STREAM_END) {
		uInt in = at_most_uint(decoded.size);
		size_t space = decoded.size / 2 + 4096;
		uint8_t *to;
		int r;

		r = buf_extend(out, space, &to, err);
		if (r < 0)
			return r;
		stream->next_in = (Bytef *)decoded.data;
		stream->avail_in = in;
		stream->next_out = to;
		stream->avail_out = at_most_uint(space);
		z = deflate(stream, in == decoded.size ? Z_FINISH : Z_NO_FLUSH);
		decoded = slice_sub(decoded, in - stream->avail_in, decoded.size);
		out->size -= space - (size_t)(stream->next_out - to);
		if (z != Z_OK && z != Z_STREAM_END && z != Z_BUF_ERROR)
			return error_set(err, ERR_MEMORY, "deflate fails");
	}
	return 0;
}

static int gzip_encode(const void *state, const struct zarr_array *array, struct slice decoded,
		       struct buf *out, struct error *err)
{
	z_stream stream = {0};
	int r;

	(void)array;
	if (deflateInit2(&stream, *(const int *)state, Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return error_memory(err);
	r = deflate_all(&stream, decoded, out, err);
	deflateEnd(&stream);
	return r;
}

const struct zarr_codec_ops zarr_codec_gzip = {
	.name = "gzip",
	.kind = ZARR_BYTES_TO_BYTES,
	.configure = gzip_configure,
	.free = free,
	.encoded_size = zarr_compressed_size,
	.decode = gzip_decode,
	.encode = gzip_encode,
};
