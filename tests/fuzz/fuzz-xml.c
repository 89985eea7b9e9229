/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The XML of object stores.  Escaped text reads back the same; no document makes elements nest
 * deeper than the reader's limit.
 */

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "fuzz.h"
#include "net/xml.h"

enum { DEPTH_MAX = 32 };

static int see(void *argument, const char *path, const char *text, struct error *err)
{
	size_t depth = 1;

	(void)argument;
	(void)text;
	(void)err;
	for (; *path; path++)
		depth += *path == '/';
	if (depth > DEPTH_MAX)
		abort();
	return 0;
}

static void try_escape(struct slice text)
{
	CLEANUP(buf_done) struct buf document = BUF_INIT(BUF_NO_LIMIT);
	CLEANUP(freep) char *plain = slice_dup(text, NULL);
	CLEANUP(freep) char *again = NULL;

	/* XML has no way to write these. */
	if (!plain || !text_is_utf8(text) || strlen(plain) != text.size ||
	    strstr(plain, "\xef\xbf") || strchr(plain, '\r'))
		return;
	buf_append_text(&document, "<a>", NULL);
	if (xml_escape(text, &document, NULL) < 0)
		return;
	buf_append_text(&document, "</a>", NULL);
	again = xml_text(buf_slice(&document), "a");
	if (!again || strcmp(again, plain) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice document = slice_of(data, size);
	CLEANUP(freep) char *text = xml_text(document, "Error/Code");

	/* What is escaped in a document is longer than what it means. */
	if (text && strlen(text) > size)
		abort();
	xml_parse(document, see, NULL, NULL);
	try_escape(document);
	return 0;
}
