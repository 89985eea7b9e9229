/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"

void buf_done(struct buf *buf)
{
	free(buf->data);
	buf->data = NULL;
	buf->size = 0;
	buf->capacity = 0;
}

int buf_reserve(struct buf *buf, size_t extra, struct error *err)
{
	size_t need, capacity;
	uint8_t *data;

	if (extra > buf->max || buf->size > buf->max - extra)
		return error_set(err, ERR_FORMAT, "larger than %zu bytes", buf->max);
	need = buf->size + extra;
	if (need <= buf->capacity)
		return 0;
	capacity = buf->capacity > SIZE_MAX / 2 ? need : buf->capacity * 2;
	if (capacity < 64)
		capacity = 64;
	if (capacity < need)
		capacity = need;
	if (capacity > buf->max)
		capacity = buf->max;
	data = realloc(buf->data, capacity);
	if (!data)
		return error_memory(err);
	buf->data = data;
	buf->capacity = capacity;
	return 0;
}

int buf_append(struct buf *buf, const void *data, size_t size, struct error *err)
{
	int r;

	if (size == 0)
		return 0;
	r = buf_reserve(buf, size, err);
	if (r < 0)
		return r;
	memcpy(buf->data + buf->size, data, size);
	buf->size += size;
	return 0;
}

int buf_append_slice(struct buf *buf, struct slice slice, struct error *err)
{
	return buf_append(buf, slice.data, slice.size, err);
}

int buf_append_text(struct buf *buf, const char *text, struct error *err)
{
	return buf_append(buf, text, strlen(text), err);
}

int buf_append_byte(struct buf *buf, uint8_t byte, struct error *err)
{
	return buf_append(buf, &byte, 1, err);
}

int buf_printf(struct buf *buf, struct error *err, const char *format, ...)
{
	CLEANUP(freep) char *large = NULL;
	char small[256];
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(small, sizeof(small), format, args);
	va_end(args);
	if (n < 0)
		return error_set(err, ERR_ARGUMENT, "cannot format text");
	if ((size_t)n < sizeof(small))
		return buf_append(buf, small, (size_t)n, err);
	va_start(args, format);
	n = vasprintf(&large, format, args);
	va_end(args);
	if (n < 0)
		return error_memory(err);
	return buf_append(buf, large, (size_t)n, err);
}

int buf_extend(struct buf *buf, size_t size, uint8_t **ret_bytes, struct error *err)
{
	int r = buf_reserve(buf, size, err);

	if (r < 0)
		return r;
	*ret_bytes = buf->data ? buf->data + buf->size : NULL;
	buf->size += size;
	return 0;
}

void buf_clear(struct buf *buf)
{
	buf->size = 0;
}

const char *buf_text(struct buf *buf, struct error *err)
{
	if (buf->size == buf->capacity) {
		uint8_t *data = buf->size == SIZE_MAX ? NULL : realloc(buf->data, buf->size + 1);

		if (!data) {
			error_memory(err);
			return NULL;
		}
		buf->data = data;
		buf->capacity = buf->size + 1;
	}
	buf->data[buf->size] = '\0';
	return (const char *)buf->data;
}

uint8_t *buf_take(struct buf *buf, size_t *ret_size)
{
	uint8_t *data = buf->data;

	*ret_size = buf->size;
	buf->data = NULL;
	buf->size = 0;
	buf->capacity = 0;
	return data;
}

int slice_compare(struct slice a, struct slice b)
{
	size_t n = a.size < b.size ? a.size : b.size;
	int order = n ? memcmp(a.data, b.data, n) : 0;

	if (order)
		return order;
	return (a.size > b.size) - (a.size < b.size);
}

char *slice_dup(struct slice slice, struct error *err)
{
	char *text = slice.size == SIZE_MAX ? NULL : malloc(slice.size + 1);

	if (!text) {
		error_memory(err);
		return NULL;
	}
	if (slice.size)
		memcpy(text, slice.data, slice.size);
	text[slice.size] = '\0';
	return text;
}
