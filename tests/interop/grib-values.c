/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Values of messages, for tests against the public packages: thousands of decodes, one process
 *
 * Reads lines "MESSAGE MODE TYPE VAR FLAGS OUT" (a file with one message; TYPE f4 or f8; VAR "-",
 * latitude or longitude; FLAGS of the letters a(djust) and n(orth), "-" for none), writes the
 * values to OUT, and answers each line with "ok" or one line of error.
 */

#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "files.h"
#include "grib/grib.h"

#define FILE_MAX (1U << 28)

enum { WORDS = 6 };

static int decode(char *words[WORDS], struct error *err)
{
	CLEANUP(buf_done) struct buf message = BUF_INIT(FILE_MAX);
	struct grib_decode_options options = {
		.type = strcmp(words[2], "f4") == 0 ? GRIB_F32 : GRIB_F64,
		.var = grib_var_from_text(words[3]),
		.adjust_longitude_range = strchr(words[4], 'a'),
		.north_up = strchr(words[4], 'n'),
	};
	CLEANUP(freep) void *values = NULL;
	size_t size;
	uint64_t n;
	int r;

	if ((r = grib_mode_from_text(words[1], &options.mode, err)) < 0 ||
	    (r = test_read_file(words[0], &message, err)) < 0 ||
	    (r = grib_value_count(buf_slice(&message), &options, &n, err)) < 0)
		return r;
	size = n * grib_type_size(options.type);
	values = malloc(size ? size : 1);
	if (!values)
		return error_memory(err);
	r = grib_decode(buf_slice(&message), &options, values, n, err);
	return r < 0 ? r : test_write_file(words[5], slice_of(values, size), err);
}

int main(void)
{
	char line[16384];

	while (fgets(line, sizeof(line), stdin)) {
		struct error err = ERROR_INIT;
		char *words[WORDS] = {0};
		size_t n = 0;

		for (char *word = strtok(line, " \n"); word && n < WORDS;
		     word = strtok(NULL, " \n"))
			words[n++] = word;
		if (n < WORDS)
			error_set(&err, ERR_ARGUMENT, "%zu words", n);
		puts(n < WORDS || decode(words, &err) < 0 ? err.text : "ok");
		fflush(stdout);
	}
	return 0;
}
