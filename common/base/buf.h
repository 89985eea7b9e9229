/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Byte buffers with a ceiling, and lent slices
 *
 * A buf owns its bytes and never grows beyond the ceiling it was made with: what comes from
 * outside has a limit before it is read.  A slice lends bytes that somebody else owns.
 *
 * Threads: one at a time.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"

struct slice {
	const uint8_t *data;
	size_t size;
};

struct buf {
	uint8_t *data; /* NULL while nothing was stored */
	size_t size;
	size_t capacity;
	size_t max; /* ceiling for size */
};

#define BUF_INIT(ceiling) ((struct buf){.max = (ceiling)})
#define BUF_NO_LIMIT SIZE_MAX

/* Frees the bytes; the buf is empty and usable again.  For CLEANUP(buf_done). */
void buf_done(struct buf *buf);

/* Room for @extra more bytes.  ERR_FORMAT beyond the ceiling ("larger than N bytes"), ERR_MEMORY.
 */
int buf_reserve(struct buf *buf, size_t extra, struct error *err);
int buf_append(struct buf *buf, const void *data, size_t size, struct error *err);
int buf_append_slice(struct buf *buf, struct slice slice, struct error *err);
int buf_append_text(struct buf *buf, const char *text, struct error *err);
int buf_append_byte(struct buf *buf, uint8_t byte, struct error *err);
int buf_printf(struct buf *buf, struct error *err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Appends @size bytes that the caller fills in; @ret_bytes lends them until the next change. */
int buf_extend(struct buf *buf, size_t size, uint8_t **ret_bytes, struct error *err);
/* Forgets the content, keeps the memory. */
void buf_clear(struct buf *buf);
/* The bytes with a NUL after them (not counted in size); NULL and ERR_MEMORY. */
const char *buf_text(struct buf *buf, struct error *err);
/* Moves the bytes out; the caller frees them. */
uint8_t *buf_take(struct buf *buf, size_t *ret_size);

static inline struct slice buf_slice(const struct buf *buf)
{
	return (struct slice){buf->data, buf->size};
}

static inline struct slice slice_of(const void *data, size_t size)
{
	return (struct slice){data, size};
}

static inline struct slice slice_text(const char *text)
{
	return (struct slice){(const uint8_t *)text, strlen(text)};
}

static inline bool slice_equal(struct slice a, struct slice b)
{
	return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static inline bool slice_is(struct slice a, const char *text)
{
	return slice_equal(a, slice_text(text));
}

/* Order of plain bytes; a prefix comes first. */
int slice_compare(struct slice a, struct slice b);
/* New NUL-terminated copy, or NULL with ERR_MEMORY; the caller frees it. */
char *slice_dup(struct slice slice, struct error *err);

/* @slice from @offset on, at most @size bytes; never beyond its end. */
static inline struct slice slice_sub(struct slice slice, size_t offset, size_t size)
{
	if (slice.size == 0)
		return slice;
	if (offset > slice.size)
		offset = slice.size;
	if (size > slice.size - offset)
		size = slice.size - offset;
	return (struct slice){slice.data + offset, size};
}
