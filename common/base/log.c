/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/text.h"
#include "base/time.h"

#define MESSAGE_MAX 1024
#define LINE_MAX_BYTES 65536

static enum log_level most_shown = LOG_WARNING;
static enum log_format line_format = LOG_TEXT;
static void (*clear_terminal)(void);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void log_setup(enum log_level most, enum log_format format)
{
	most_shown = most;
	line_format = format;
}

void log_before(void (*clear)(void))
{
	pthread_mutex_lock(&lock);
	clear_terminal = clear;
	pthread_mutex_unlock(&lock);
}

bool log_enabled(enum log_level level)
{
	return level <= most_shown;
}

bool log_is_json(void)
{
	return line_format == LOG_JSON;
}

static const char *level_name(enum log_level level)
{
	static const char *const names[] = {"error", "warning", "info", "debug"};

	return names[level];
}

static int print_text(struct buf *line, enum log_level level, char *message)
{
	text_sanitize(message);
	return buf_printf(line, NULL, "%s: %s\n", level_name(level), message);
}

static int print_member(struct buf *line, const char *name, const char *text)
{
	int r = buf_append_byte(line, line->size ? ',' : '{', NULL);

	if (r == 0)
		r = json_write_text(line, slice_text(name), NULL);
	if (r == 0)
		r = buf_append_byte(line, ':', NULL);
	return r < 0 ? r : json_write_text(line, slice_text(text), NULL);
}

static int print_field(struct buf *line, const struct log_field *field)
{
	if (field->text)
		return print_member(line, field->name, field->text);
	return buf_printf(line, NULL, ",\"%s\":%llu", field->name,
			  (unsigned long long)field->number);
}

static int print_json(struct buf *line, enum log_level level, const char *event,
		      const char *message, const struct log_field *fields)
{
	char now[TIME_TEXT_MAX];
	int r;

	time_format_micros(time_now(), now);
	r = print_member(line, "time", now);
	if (r == 0)
		r = print_member(line, "level", level_name(level));
	if (r == 0)
		r = print_member(line, "event", event);
	if (r == 0)
		r = print_member(line, "message", message);
	for (; r == 0 && fields && fields->name; fields++)
		r = print_field(line, fields);
	return r < 0 ? r : buf_append_text(line, "}\n", NULL);
}

static void write_line(struct slice line)
{
	pthread_mutex_lock(&lock);
	if (clear_terminal)
		clear_terminal();
	while (line.size > 0) {
		ssize_t n = write(STDERR_FILENO, line.data, line.size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		line = slice_sub(line, (size_t)n, SIZE_MAX);
	}
	pthread_mutex_unlock(&lock);
}

static void log_line(enum log_level level, const char *event, const struct log_field *fields,
		     const char *format, va_list args)
{
	CLEANUP(buf_done) struct buf line = BUF_INIT(LINE_MAX_BYTES);
	int saved = errno;
	char message[MESSAGE_MAX];
	int r;

	vsnprintf(message, sizeof(message), format, args);
	if (line_format == LOG_TEXT)
		r = print_text(&line, level, message);
	else
		r = print_json(&line, level, event, message, fields);
	/* Without memory the message alone has to do. */
	write_line(r < 0 ? slice_text(message) : buf_slice(&line));
	errno = saved;
}

void log_event(enum log_level level, const char *event, const char *format, ...)
{
	va_list args;

	if (!log_enabled(level))
		return;
	va_start(args, format);
	log_line(level, event, NULL, format, args);
	va_end(args);
}

void log_fields(enum log_level level, const char *event, const struct log_field *fields,
		const char *format, ...)
{
	va_list args;

	if (!log_enabled(level))
		return;
	va_start(args, format);
	log_line(level, event, fields, format, args);
	va_end(args);
}
