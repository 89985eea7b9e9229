/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void output_init(struct output *out, int fd, bool color)
{
	out->fd = fd;
	out->color = color;
	out->err = ERROR_INIT;
	out->n = 0;
}

static void write_all(struct output *out, struct slice bytes)
{
	while (bytes.size > 0 && out->err.kind == 0) {
		ssize_t n = write(out->fd, bytes.data, bytes.size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			error_set_errno(&out->err, errno, "cannot write to standard output");
		else
			bytes = slice_sub(bytes, (size_t)n, SIZE_MAX);
	}
}

static void empty(struct output *out)
{
	write_all(out, slice_of(out->bytes, out->n));
	out->n = 0;
}

void output_bytes(struct output *out, struct slice bytes)
{
	if (bytes.size > sizeof(out->bytes) - out->n)
		empty(out);
	if (bytes.size > sizeof(out->bytes)) {
		write_all(out, bytes);
		return;
	}
	if (bytes.size)
		memcpy(out->bytes + out->n, bytes.data, bytes.size);
	out->n += bytes.size;
}

void output_text(struct output *out, const char *text)
{
	output_bytes(out, slice_text(text));
}

void output_printf(struct output *out, const char *format, ...)
{
	va_list args;
	char *text;
	int n;

	va_start(args, format);
	n = vasprintf(&text, format, args);
	va_end(args);
	if (n < 0) {
		error_memory(&out->err);
		return;
	}
	output_bytes(out, slice_of(text, (size_t)n));
	free(text);
}

void output_drain(struct output *out, struct buf *buf)
{
	output_bytes(out, buf_slice(buf));
	buf_clear(buf);
}

void output_style(struct output *out, enum output_style style)
{
	static const char *const codes[] = {"\x1b[0m",	"\x1b[1m",  "\x1b[2m",
					    "\x1b[31m", "\x1b[32m", "\x1b[33m"};

	if (out->color)
		output_text(out, codes[style]);
}

bool output_failed(const struct output *out)
{
	return out->err.kind != 0;
}

int output_flush(struct output *out, struct error *err)
{
	empty(out);
	if (out->err.kind && err)
		*err = out->err;
	return out->err.kind;
}

void output_discard(struct output *out)
{
	out->n = 0;
}
