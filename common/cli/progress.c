/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/progress.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/log.h"
#include "base/time.h"

#define REDRAW_AFTER (TIME_SECOND / 10)
#define WIDTH_MAX 160
#define CLEAR_LINE "\r\x1b[K"

static struct {
	pthread_mutex_t lock;
	bool active, shown;
	const char *what;
	struct progress_counts counts;
	uint64_t total;
	int64_t started, drawn; /* monotonic */
	bool visible;		/* the line stands on the terminal */
} progress = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* "21,500" */
static void print_grouped(uint64_t number, char text[32])
{
	char digits[24];
	int n = snprintf(digits, sizeof(digits), "%" PRIu64, number);

	for (int i = 0; i < n; i++) {
		if (i > 0 && (n - i) % 3 == 0)
			*text++ = ',';
		*text++ = digits[i];
	}
	*text = '\0';
}

static void print_bytes(uint64_t bytes, char text[32])
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double value = (double)bytes;
	int unit = 0;

	for (; value >= 1024 && unit < 6; unit++)
		value /= 1024;
	snprintf(text, 32, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
}

/* "0:08", "2:05:00" */
static void print_left(int64_t seconds, char text[32])
{
	if (seconds >= 3600)
		snprintf(text, 32, "%" PRId64 ":%02d:%02d", seconds / 3600,
			 (int)(seconds / 60 % 60), (int)(seconds % 60));
	else
		snprintf(text, 32, "%d:%02d", (int)(seconds / 60), (int)(seconds % 60));
}

/* A line that is built piece by piece and cut at its width. */
struct line {
	char *text;
	size_t n, width;
};

static void add(struct line *line, const char *before, const char *piece, const char *after)
{
	const char *parts[] = {before, piece, after};

	for (size_t i = 0; i < 3; i++) {
		for (const char *c = parts[i]; *c && line->n < line->width; c++)
			line->text[line->n++] = *c;
	}
	line->text[line->n] = '\0';
}

static void add_files(struct line *line, uint64_t files, uint64_t total)
{
	char done[32], all[32];

	print_grouped(files, done);
	print_grouped(total, all);
	add(line, "  ", done, total ? "" : " files");
	if (total)
		add(line, "/", all, " files");
}

static void add_rate(struct line *line, uint64_t files, int64_t elapsed)
{
	double rate = (double)files * (double)TIME_SECOND / (double)elapsed;
	char text[32];

	snprintf(text, sizeof(text), rate < 10 ? "%.1f" : "%.0f", rate);
	add(line, "  ", text, " files/s");
}

static void add_left(struct line *line, uint64_t files, uint64_t total, int64_t elapsed)
{
	double left = (double)elapsed / (double)files * (double)(total - files);
	char text[32];

	/* Beyond a month it is no estimate. */
	if (left > 30.0 * TIME_DAY)
		return;
	print_left((int64_t)(left / TIME_SECOND), text);
	add(line, "  ", text, " left");
}

void progress_format(const char *what, const struct progress_counts *counts, uint64_t total,
		     int64_t elapsed, size_t width, char *text)
{
	struct line line = {text, 0, width};
	char number[32];

	add(&line, what, "", "");
	add_files(&line, counts->files, total);
	if (counts->refs) {
		print_grouped(counts->refs, number);
		add(&line, "  ", number, " refs");
	}
	if (counts->bytes) {
		print_bytes(counts->bytes, number);
		add(&line, "  ", number, "");
	}
	if (counts->files == 0 || elapsed <= 0)
		return;
	add_rate(&line, counts->files, elapsed);
	if (total > counts->files)
		add_left(&line, counts->files, total, elapsed);
}

/* Blanks at the end of a narrow terminal wrap, so one column stays free. */
static size_t terminal_width(void)
{
	struct winsize size;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col < 2)
		return 79;
	return size.ws_col <= WIDTH_MAX ? size.ws_col - 1u : WIDTH_MAX;
}

/* What cannot be written is of no concern: the line is only for whoever looks. */
static void put(const char *text)
{
	if (write(STDERR_FILENO, text, strlen(text)) < 0)
		return;
}

static void clear_line(void)
{
	if (progress.visible)
		put(CLEAR_LINE);
	progress.visible = false;
}

static void draw(int64_t now)
{
	char text[sizeof(CLEAR_LINE) + WIDTH_MAX];

	strcpy(text, CLEAR_LINE);
	progress_format(progress.what, &progress.counts, progress.total, now - progress.started,
			terminal_width(), text + strlen(text));
	put(text);
	progress.visible = true;
	progress.drawn = now;
}

/* Called by the log, before each of its lines. */
static void make_room(void)
{
	pthread_mutex_lock(&progress.lock);
	clear_line();
	pthread_mutex_unlock(&progress.lock);
}

void progress_start(const char *what, uint64_t total, bool shown)
{
	pthread_mutex_lock(&progress.lock);
	progress.active = true;
	progress.shown = shown;
	progress.what = what;
	progress.counts = (struct progress_counts){0};
	progress.total = total;
	progress.started = time_monotonic();
	progress.drawn = progress.started - REDRAW_AFTER;
	pthread_mutex_unlock(&progress.lock);
	if (shown)
		log_before(make_room);
}

void progress_add(uint64_t files, uint64_t refs, uint64_t bytes)
{
	int64_t now;

	pthread_mutex_lock(&progress.lock);
	progress.counts.files += files;
	progress.counts.refs += refs;
	progress.counts.bytes += bytes;
	now = time_monotonic();
	if (progress.active && progress.shown && now - progress.drawn >= REDRAW_AFTER)
		draw(now);
	pthread_mutex_unlock(&progress.lock);
}

void progress_total(uint64_t total)
{
	pthread_mutex_lock(&progress.lock);
	progress.total = total;
	pthread_mutex_unlock(&progress.lock);
}

void progress_finish(void)
{
	log_before(NULL);
	pthread_mutex_lock(&progress.lock);
	clear_line();
	progress.active = false;
	pthread_mutex_unlock(&progress.lock);
}
