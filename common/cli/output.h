/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Standard output of a command
 *
 * Buffered.  The first failure (a full disk, a closed pipe) sticks, what is written later is
 * dropped, and output_flush() tells it; cli_main() flushes at the end, so that no failure is lost.
 * Loops that write much ask output_failed() now and then.
 *
 * Threads: one at a time.
 */

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"

#define OUTPUT_BUFFER 65536

struct output {
	int fd;
	bool color; /* may text be styled? */
	struct error err;
	size_t n;
	uint8_t bytes[OUTPUT_BUFFER];
};

enum output_style { STYLE_PLAIN, STYLE_BOLD, STYLE_DIM, STYLE_RED, STYLE_GREEN, STYLE_YELLOW };

void output_init(struct output *out, int fd, bool color);
void output_bytes(struct output *out, struct slice bytes);
void output_text(struct output *out, const char *text);
void output_printf(struct output *out, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Writes the bytes of @buf and empties it. */
void output_drain(struct output *out, struct buf *buf);
/* Switches the style, where that is wanted. */
void output_style(struct output *out, enum output_style style);
bool output_failed(const struct output *out);
/* Hands everything to the system: 0, or the first failure. */
int output_flush(struct output *out, struct error *err);
/* Forgets what was not flushed yet. */
void output_discard(struct output *out);
