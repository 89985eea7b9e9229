/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
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
static bool never_waits;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t lost; /* lines since one was written; under the lock */

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

void log_never_wait(void)
{
	never_waits = true;
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

/* Does standard error take PIPE_BUF bytes now? */
static bool is_writable(void)
{
	struct pollfd error = {.fd = STDERR_FILENO, .events = POLLOUT};

	return poll(&error, 1, 0) == 1 && (error.revents & POLLOUT);
}

/* False if all or some of it is lost.  Under the lock. */
static bool write_now(struct slice line)
{
	while (line.size > 0) {
		size_t size = never_waits && line.size > PIPE_BUF ? PIPE_BUF : line.size;
		ssize_t n;

		if (never_waits && !is_writable())
			return false;
		n = write(STDERR_FILENO, line.data, size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		line = slice_sub(line, (size_t)n, SIZE_MAX);
	}
	return true;
}

/* Without memory the message alone has to do. */
static struct slice make_line(struct buf *line, enum log_level level, const char *event,
			      const struct log_field *fields, char *message)
{
	int r;

	if (line_format == LOG_TEXT)
		r = print_text(line, level, message);
	else
		r = print_json(line, level, event, message, fields);
	return r < 0 ? slice_text(message) : buf_slice(line);
}

/* Makes up for lines that were lost, if it can.  Under the lock. */
static void tell_lost(void)
{
	CLEANUP(buf_done) struct buf line = BUF_INIT(LINE_MAX_BYTES);
	char message[MESSAGE_MAX];

	snprintf(message, sizeof(message),
		 "%llu lines were lost, as standard error did not take them",
		 (unsigned long long)lost);
	if (write_now(make_line(&line, LOG_WARNING, "log", NULL, message)))
		lost = 0;
}

static void write_line(struct slice line)
{
	pthread_mutex_lock(&lock);
	if (clear_terminal)
		clear_terminal();
	if (lost)
		tell_lost();
	if (lost || !write_now(line))
		lost++;
	pthread_mutex_unlock(&lock);
}

static void log_line(enum log_level level, const char *event, const struct log_field *fields,
		     const char *format, va_list args)
{
	CLEANUP(buf_done) struct buf line = BUF_INIT(LINE_MAX_BYTES);
	int saved = errno;
	char message[MESSAGE_MAX];

	vsnprintf(message, sizeof(message), format, args);
	write_line(make_line(&line, level, event, fields, message));
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
