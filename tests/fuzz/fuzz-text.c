/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Texts of numbers, times, escapes and base64.  What was read and is written reads back the same.
 */

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/text.h"
#include "base/time.h"
#include "fuzz.h"

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void try_numbers(struct slice text)
{
	uint64_t u64, size;
	int64_t i64;
	double number;

	if (text_u64(text, &u64, NULL) == 0) {
		require(text_size(text, &size, NULL) == 0 && size == u64);
		require(text_double(text, &number, NULL) == 0);
	}
	if (text_i64(text, &i64, NULL) == 0)
		require(text_double(text, &number, NULL) == 0);
	text_size(text, &size, NULL);
}

static void try_double(double value)
{
	char text[32];
	double again;

	text_repr(value, text);
	if (value - value != 0)
		return;
	require(text_double(slice_text(text), &again, NULL) == 0);
	require(memcmp(&value, &again, sizeof(value)) == 0);
}

static void try_time(const char *text)
{
	char shown[TIME_TEXT_MAX];
	int64_t time, again;

	duration_parse(text, &time, NULL);
	if (time_parse(text, 0, &time, NULL) < 0)
		return;
	time_format_micros(time, shown);
	/* An age may lead to years that RFC 3339 does not have. */
	if (shown[0] == '-' || strlen(shown) > strlen("2026-01-02T03:04:05.678901Z"))
		return;
	require(time_parse(shown, 0, &again, NULL) == 0 && again == time);
}

static void try_escapes(struct slice text)
{
	CLEANUP(buf_done) struct buf escaped = BUF_INIT(BUF_NO_LIMIT);
	CLEANUP(buf_done) struct buf plain = BUF_INIT(BUF_NO_LIMIT);

	require(text_percent_encode(text, "/-_.~", &escaped, NULL) == 0);
	require(text_percent_decode(buf_slice(&escaped), &plain, NULL) == 0);
	require(slice_equal(buf_slice(&plain), text));
	text_percent_decode(text, &plain, NULL);
	text_is_utf8(text);
}

static void try_base64(struct slice text)
{
	CLEANUP(buf_done) struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
	CLEANUP(buf_done) struct buf again = BUF_INIT(BUF_NO_LIMIT);

	if (base64_decode(text, &bytes, NULL) < 0)
		return;
	require(base64_encode(buf_slice(&bytes), &again, NULL) == 0);
	require(slice_equal(buf_slice(&again), text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice text = slice_of(data, size);
	CLEANUP(freep) char *copy = slice_dup(text, NULL);
	double value;

	require(copy != NULL);
	try_numbers(text);
	try_time(copy);
	try_escapes(text);
	try_base64(text);
	for (; size >= sizeof(value); size -= sizeof(value), data += sizeof(value)) {
		memcpy(&value, data, sizeof(value));
		try_double(value);
	}
	require(crc32c(text) == crc32c_portable(text));
	return 0;
}
