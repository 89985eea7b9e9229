/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Log: one structured line an event, on standard error
 *
 * Text for people ("level: message"), or JSON objects for machines ("time", "level", "event",
 * "message", then the fields).  Libraries log at debug level only; programs report a failure once.
 * Logging cannot fail: a message is cut at 1 KiB, and what cannot be written is lost.
 *
 * Threads: any; a line is written whole.
 */

#include <stdbool.h>
#include <stdint.h>

enum log_level { LOG_ERROR, LOG_WARNING, LOG_INFO, LOG_DEBUG };
enum log_format { LOG_TEXT, LOG_JSON };

/* One member of a line for machines; people read the message.  @text NULL: the number counts. */
struct log_field {
	const char *name;
	const char *text;
	uint64_t number;
};

/* Sets what is shown; call before threads start.  Default: LOG_WARNING as text. */
void log_setup(enum log_level most, enum log_format format);
/* Calls @clear, unless NULL, before each line is written: what else stands on the terminal goes. */
void log_before(void (*clear)(void));
/*
 * From now on nobody waits for standard error, as for a pipe that is not read: a line that it does
 * not take at once is lost, and counted; the next one that it takes follows a line with the count.
 * Call before threads start.
 */
void log_never_wait(void);
bool log_enabled(enum log_level level);
bool log_is_json(void);
/* @event names the kind of event ("commit", "mount"); the rest is the sentence. */
void log_event(enum log_level level, const char *event, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* As log_event() with fields; a NULL name ends them. */
void log_fields(enum log_level level, const char *event, const struct log_field *fields,
		const char *format, ...) __attribute__((format(printf, 4, 5)));
