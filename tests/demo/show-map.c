/* SPDX-License-Identifier: Apache-2.0 */

/*
 * show-map FILE ROWS COLUMNS WIDTH [TITLE]
 *
 * Draws a field of little-endian float64 values, north first, WIDTH characters wide: two rows a
 * line in colours on a terminal, else characters from light to dark.  FILE may be '-'.
 */

#include <endian.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"

enum { SIDE_MAX = 20000, WIDTH_MAX = 400 };

struct field {
	double *values;
	size_t rows, columns;
	double min, max, mean;
	size_t missing;
};

static int field_read(const char *path, struct field *field, struct error *err)
{
	size_t n = field->rows * field->columns;
	CLEANUP(freep) double *values = malloc(n * sizeof(*values));
	FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");
	size_t got;

	if (!values)
		return error_memory(err);
	if (!file)
		return error_set_errno(err, errno, "cannot open '%s'", path);
	errno = 0;
	got = fread(values, sizeof(*values), n, file);
	if (ferror(file))
		return error_set_errno(err, errno, "cannot read '%s'", path);
	if (got != n || fgetc(file) != EOF)
		return error_set(err, ERR_FORMAT, "'%s' is not %zu values", path, n);
	if (file != stdin)
		fclose(file);

	for (size_t i = 0; i < n; i++) {
		uint64_t bits;

		memcpy(&bits, &values[i], sizeof(bits));
		bits = le64toh(bits);
		memcpy(&values[i], &bits, sizeof(bits));
	}
	field->values = TAKE(values);
	return 0;
}

static void field_summarize(struct field *field)
{
	size_t n = field->rows * field->columns;
	double sum = 0;

	field->min = INFINITY;
	field->max = -INFINITY;
	for (size_t i = 0; i < n; i++) {
		double value = field->values[i];

		if (isnan(value)) {
			field->missing++;
			continue;
		}
		field->min = fmin(field->min, value);
		field->max = fmax(field->max, value);
		sum += value;
	}
	field->mean = sum / (double)(n - field->missing);
}

/* The mean of the points that one cell of a @width by @height picture covers, from 0 to 1. */
static double cell(const struct field *field, size_t x, size_t y, size_t width, size_t height)
{
	size_t top = y * field->rows / height;
	size_t bottom = (y + 1) * field->rows / height;
	size_t left = x * field->columns / width;
	size_t right = (x + 1) * field->columns / width;
	double sum = 0;
	size_t n = 0;

	for (size_t j = top; j < bottom; j++) {
		for (size_t i = left; i < right; i++) {
			double value = field->values[j * field->columns + i];

			if (!isnan(value)) {
				sum += value;
				n++;
			}
		}
	}
	if (n == 0)
		return NAN;
	if (field->max <= field->min)
		return 0.5;
	return (sum / (double)n - field->min) / (field->max - field->min);
}

/* Blue, cyan, green, yellow, red in the colour cube of 256-colour terminals; grey for missing. */
static int colour(double level)
{
	static const int ramp[] = {17, 18,  19,	 20,  26,  32,	38,  44,  43,  42,  41,
				   76, 112, 148, 184, 220, 214, 208, 202, 196, 160, 124};

	if (isnan(level))
		return 240;
	return ramp[(size_t)fmin(level * ARRAY_LEN(ramp), ARRAY_LEN(ramp) - 1)];
}

static void draw_colours(const struct field *field, size_t width, size_t height)
{
	for (size_t y = 0; y < height; y++) {
		for (size_t x = 0; x < width; x++)
			printf("\033[38;5;%d;48;5;%dm\u2580",
			       colour(cell(field, x, 2 * y, width, 2 * height)),
			       colour(cell(field, x, 2 * y + 1, width, 2 * height)));
		printf("\033[0m\n");
	}
}

static void draw_characters(const struct field *field, size_t width, size_t height)
{
	static const char ramp[] = " .:-=+*#%@";

	for (size_t y = 0; y < height; y++) {
		for (size_t x = 0; x < width; x++) {
			double level = cell(field, x, y, width, height);
			size_t step = (size_t)fmin(level * (sizeof(ramp) - 1), sizeof(ramp) - 2);

			putchar(isnan(level) ? '?' : ramp[step]);
		}
		putchar('\n');
	}
}

static bool parse_number(const char *text, size_t max, size_t *ret_number)
{
	char *end;
	unsigned long number = strtoul(text, &end, 10);

	if (end == text || *end || number < 1 || number > max)
		return false;
	*ret_number = number;
	return true;
}

int main(int argc, char **argv)
{
	struct error err = ERROR_INIT;
	struct field field = {0};
	size_t width, height;

	if (argc < 5 || !parse_number(argv[2], SIDE_MAX, &field.rows) ||
	    !parse_number(argv[3], SIDE_MAX, &field.columns) ||
	    !parse_number(argv[4], WIDTH_MAX, &width)) {
		fprintf(stderr, "usage: show-map FILE ROWS COLUMNS WIDTH [TITLE]\n");
		return 2;
	}
	if (field_read(argv[1], &field, &err) < 0) {
		fprintf(stderr, "show-map: %s\n", err.text);
		return error_exit_status(err.kind);
	}
	field_summarize(&field);

	/* A character is about twice as high as it is wide. */
	height = width * field.rows / field.columns / 2;
	if (isatty(STDOUT_FILENO))
		draw_colours(&field, width, height ? height : 1);
	else
		draw_characters(&field, width, height ? height : 1);
	printf("%s%slowest %.2f, highest %.2f, mean %.2f, %zu missing of %zu points\n",
	       argc > 5 ? argv[5] : "", argc > 5 ? ": " : "", field.min, field.max, field.mean,
	       field.missing, field.rows * field.columns);
	free(field.values);
	return 0;
}
