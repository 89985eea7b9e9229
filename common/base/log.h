/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Log: one structured line an event, on standard error
 *
 * Text for people ("level: message"), or JSON objects for machines ("time", "level", "event",
 * then the fields).  Libraries log at debug level only; programs report a failure once.
 *
 * Threads: any; a line is written whole.
 */

#include <stdbool.h>

enum log_level { LOG_ERROR, LOG_WARNING, LOG_INFO, LOG_DEBUG };
enum log_format { LOG_TEXT, LOG_JSON };

/* Sets what is shown; call before threads start.  Default: LOG_WARNING as text. */
void log_setup(enum log_level most, enum log_format format);
bool log_enabled(enum log_level level);
/* @event names the kind of event ("commit", "mount"); the rest is the sentence. */
void log_event(enum log_level level, const char *event, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
