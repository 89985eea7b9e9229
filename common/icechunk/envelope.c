/* SPDX-License-Identifier: Apache-2.0 */
#include "icechunk/envelope.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/cleanup.h"
#include "icechunk/flat.h"

#define WRITER_AT 12
#define SPEC_AT 36
#define TYPE_AT 37
#define COMPRESSION_AT 38

#define COMPRESSION_ZSTD 1
#define ENVELOPE_WRITER "refmt-" REFMT_VERSION
#define LEVEL_DEFAULT 3
#define LARGE_PAYLOAD (8U << 20)

static const uint8_t magic[12] = {0x49, 0x43, 0x45, 0xf0, 0x9f, 0xa7,
				  0x8a, 0x43, 0x48, 0x55, 0x4e, 0x4b};

_Static_assert(sizeof(ENVELOPE_WRITER) - 1 <= ENVELOPE_WRITER_MAX, "the name fits its field");

static void cctx_freep(ZSTD_CCtx **context)
{
	ZSTD_freeCCtx(*context);
}

static void dctx_freep(ZSTD_DCtx **context)
{
	ZSTD_freeDCtx(*context);
}

const char *file_type_name(enum file_type type)
{
	switch (type) {
	case FILE_SNAPSHOT:
		return "snapshot";
	case FILE_MANIFEST:
		return "manifest";
	case FILE_TRANSACTION_LOG:
		return "transaction log";
	case FILE_REPO:
		return "repo object";
	}
	return "unknown file";
}

static void read_writer(const uint8_t *field, char writer[ENVELOPE_WRITER_MAX + 1])
{
	size_t n = ENVELOPE_WRITER_MAX;

	while (n > 0 && (field[n - 1] == ' ' || field[n - 1] == '\0'))
		n--;
	memcpy(writer, field, n);
	writer[n] = '\0';
}

static int check_header(struct slice file, enum file_type type, struct error *err)
{
	if (file.size < ENVELOPE_HEADER_SIZE)
		return error_set(err, ERR_FORMAT, "%zu bytes are no Icechunk file", file.size);
	if (memcmp(file.data, magic, sizeof(magic)) != 0)
		return error_set(err, ERR_FORMAT, "not an Icechunk file");
	if (file.data[SPEC_AT] > SPEC_2)
		return error_set(err, ERR_UNSUPPORTED,
				 "specification version %d, newest known is %d", file.data[SPEC_AT],
				 SPEC_2);
	if (file.data[SPEC_AT] < SPEC_1)
		return error_set(err, ERR_FORMAT, "specification version %d", file.data[SPEC_AT]);
	if (file.data[TYPE_AT] != type)
		return error_set(err, ERR_FORMAT, "file type %d, not %d (%s)", file.data[TYPE_AT],
				 type, file_type_name(type));
	if (type == FILE_REPO && file.data[SPEC_AT] != SPEC_2)
		return error_set(err, ERR_FORMAT, "specification version %d has no repo object",
				 file.data[SPEC_AT]);
	if (file.data[COMPRESSION_AT] != COMPRESSION_ZSTD)
		return error_set(err, ERR_FORMAT, "compression %d, known is %d (zstd)",
				 file.data[COMPRESSION_AT], COMPRESSION_ZSTD);
	return 0;
}

/*
 * Most bytes that a frame can decompress to, from its block headers (RFC 8878, 3.1.1): the content
 * size is mostly missing, and may be a lie.  The frame is one that ZSTD_findFrameCompressedSize()
 * knows.
 */
static size_t frame_bound(const uint8_t *frame, size_t size)
{
	static const uint8_t dictionary_sizes[4] = {0, 1, 2, 4};
	static const uint8_t content_sizes[4] = {0, 2, 4, 8};
	bool single = frame[4] & 0x20;
	size_t content_size = content_sizes[frame[4] >> 6] + (size_t)(single && frame[4] < 0x40);
	size_t at = 5 + !single + dictionary_sizes[frame[4] & 3] + content_size;
	size_t bound = 0;

	for (;;) {
		uint32_t header, length;

		if (size < 3 || at > size - 3)
			return bound;
		header = (uint32_t)(frame[at] | frame[at + 1] << 8 | frame[at + 2] << 16);
		/* A block of type 1 repeats the one byte that follows. */
		length = (header >> 1 & 3) == 1 ? 1 : header >> 3;
		bound += (header >> 1 & 3) == 2 ? ZSTD_BLOCKSIZE_MAX : header >> 3;
		at += 3 + (size_t)length;
		if (header & 1)
			return bound;
	}
}

static bool is_skippable(const uint8_t *frame)
{
	return (frame[0] & 0xf0) == 0x50 && frame[1] == 0x2a && frame[2] == 0x4d &&
	       frame[3] == 0x18;
}

/* Large payloads are written once from start to end: fewer and larger pages save a third of the
 * time. */
static void prefer_large_pages(struct buf *buf)
{
	uintptr_t page = 4096, start = ((uintptr_t)buf->data + page - 1) & ~(page - 1);
	uintptr_t end = ((uintptr_t)buf->data + buf->capacity) & ~(page - 1);

	if (buf->capacity >= LARGE_PAYLOAD)
		(void)madvise((void *)start, end - start, MADV_HUGEPAGE);
}

/*
 * One call a frame with room for all that it can hold avoids the copy that streaming makes.  Room
 * that is never written to costs nothing.
 */
static int decompress_frame(ZSTD_DCtx *context, const uint8_t *frame, size_t size, struct buf *out,
			    struct error *err)
{
	unsigned long long told = ZSTD_getFrameContentSize(frame, size);
	size_t bound = frame_bound(frame, size);
	size_t left = out->max - out->size;
	size_t n;
	int r;

	if (told < bound)
		bound = (size_t)told;
	r = buf_reserve(out, bound < left ? bound : left, err);
	if (r < 0)
		return r;
	prefer_large_pages(out);
	n = ZSTD_decompressDCtx(context, out->data ? out->data + out->size : NULL,
				out->capacity - out->size, frame, size);
	if (ZSTD_getErrorCode(n) == ZSTD_error_dstSize_tooSmall && bound > left)
		return error_set(err, ERR_FORMAT, "payload is larger than %zu bytes", out->max);
	if (ZSTD_isError(n))
		return error_set(err, ERR_FORMAT, "cannot decompress payload: %s",
				 ZSTD_getErrorName(n));
	out->size += n;
	return 0;
}

static int decompress(struct slice frames, struct buf *out, struct error *err)
{
	CLEANUP(dctx_freep) ZSTD_DCtx *context = ZSTD_createDCtx();
	size_t size;
	int r;

	if (!context)
		return error_memory(err);
	if (frames.size == 0)
		return error_set(err, ERR_FORMAT, "no payload");
	for (; frames.size > 0; frames.data += size, frames.size -= size) {
		size = ZSTD_findFrameCompressedSize(frames.data, frames.size);
		if (ZSTD_isError(size))
			return error_set(err, ERR_FORMAT,
					 "payload is no zstd data or cut short: %s",
					 ZSTD_getErrorName(size));
		if (is_skippable(frames.data))
			continue;
		r = decompress_frame(context, frames.data, size, out, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Payloads are kept for long; the bound that they were read into may be far above their size. */
static void trim(struct buf *buf)
{
	uint8_t *data;

	if (buf->size == 0 || buf->capacity - buf->size <= buf->size / 8)
		return;
	data = realloc(buf->data, buf->size);
	if (!data)
		return;
	buf->data = data;
	buf->capacity = buf->size;
}

int envelope_open(struct slice file, enum file_type type, struct buf *payload,
		  struct envelope *ret_envelope, struct error *err)
{
	int r;

	r = check_header(file, type, err);
	if (r < 0)
		return r;
	r = decompress(slice_sub(file, ENVELOPE_HEADER_SIZE, SIZE_MAX), payload, err);
	if (r < 0)
		return r;
	trim(payload);
	if (ret_envelope) {
		ret_envelope->spec = file.data[SPEC_AT];
		read_writer(file.data + WRITER_AT, ret_envelope->writer);
	}
	return 0;
}

static int append_header(enum file_type type, enum spec spec, struct buf *out, struct error *err)
{
	uint8_t *header;
	int r;

	r = buf_extend(out, ENVELOPE_HEADER_SIZE, &header, err);
	if (r < 0)
		return r;
	memcpy(header, magic, sizeof(magic));
	memset(header + WRITER_AT, ' ', ENVELOPE_WRITER_MAX);
	memcpy(header + WRITER_AT, ENVELOPE_WRITER, sizeof(ENVELOPE_WRITER) - 1);
	header[SPEC_AT] = (uint8_t)spec;
	header[TYPE_AT] = (uint8_t)type;
	header[COMPRESSION_AT] = COMPRESSION_ZSTD;
	return 0;
}

static int set_up(ZSTD_CCtx *context, const struct envelope_options *options, size_t size,
		  struct error *err)
{
	int level = options->level ? options->level : LEVEL_DEFAULT;

	if (level < ZSTD_minCLevel() || level > ZSTD_maxCLevel())
		return error_set(err, ERR_ARGUMENT, "zstd has no compression level %d", level);
	if (ZSTD_isError(ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level)) ||
	    ZSTD_isError(ZSTD_CCtx_setPledgedSrcSize(context, size)))
		return error_set(err, ERR_ARGUMENT, "zstd refuses compression level %d", level);
	/* A zstd built without threads refuses, and compresses all the same. */
	(void)ZSTD_CCtx_setParameter(context, ZSTD_c_nbWorkers, (int)options->workers);
	return 0;
}

static int compress_piece(ZSTD_CCtx *context, struct slice piece, ZSTD_EndDirective end,
			  struct buf *out, struct error *err)
{
	ZSTD_inBuffer in = {piece.data, piece.size, 0};
	size_t left;
	int r;

	do {
		ZSTD_outBuffer dst;

		r = buf_reserve(out, ZSTD_CStreamOutSize(), err);
		if (r < 0)
			return r;
		dst = (ZSTD_outBuffer){out->data, out->capacity, out->size};
		left = ZSTD_compressStream2(context, &dst, &in, end);
		if (ZSTD_isError(left))
			return error_set(err, ERR_MEMORY, "cannot compress: %s",
					 ZSTD_getErrorName(left));
		out->size = dst.pos;
	} while (end == ZSTD_e_end ? left > 0 : in.pos < in.size);
	return 0;
}

int envelope_seal(const struct slice *pieces, size_t n, enum file_type type,
		  const struct envelope_options *options, struct buf *out, struct error *err)
{
	CLEANUP(cctx_freep) ZSTD_CCtx *context = ZSTD_createCCtx();
	size_t size = 0;
	int r;

	if (!context)
		return error_memory(err);
	for (size_t i = 0; i < n; i++)
		size += pieces[i].size;
	if (size >= FLAT_MAX)
		return error_set(err, ERR_UNSUPPORTED,
				 "%s of %zu bytes is larger than its readers take",
				 file_type_name(type), size);
	r = append_header(type, options->spec, out, err);
	if (r < 0)
		return r;
	r = set_up(context, options, size, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++) {
		r = compress_piece(context, pieces[i], i + 1 < n ? ZSTD_e_continue : ZSTD_e_end,
				   out, err);
		if (r < 0)
			return r;
	}
	return 0;
}
