/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A pattern, a line feed, and the text to search
 */

#include "base/regex.h"
#include "fuzz.h"

#define TEXT_MAX 256 /* the match limit holds for each place in the text */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(regex_freep) struct regex *regex = NULL;
	const uint8_t *end = size ? memchr(data, '\n', size) : NULL;
	size_t n = end ? (size_t)(end - data) : size;
	bool found;

	if (regex_new(slice_of(data, n), &regex, NULL) < 0)
		return 0;
	regex_search(regex, slice_sub(slice_of(data, size), n + 1, TEXT_MAX), &found, NULL);
	return 0;
}
