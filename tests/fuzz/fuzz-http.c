/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What HTTP servers say in one line: URLs to go to, ranges, dates
 */

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "fuzz.h"
#include "net/http.h"
#include "net/url.h"

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void try_url(const char *text)
{
	CLEANUP(url_done) struct url url = {0};
	CLEANUP(url_done) struct url same = {0};
	CLEANUP(freep) char *origin = NULL;
	CLEANUP(freep) char *proxy = NULL;

	if (url_parse(text, &url, NULL) < 0)
		return;
	origin = url_origin(&url, NULL);
	require(origin && url_parse(origin, &same, NULL) == 0 && url_same_origin(&url, &same));
	require(url.target[0] == '/');
	proxy = url_proxy(&url, NULL);
	require(proxy != NULL);
}

static void try_redirect(const char *location)
{
	CLEANUP(url_done) struct url from = {0};
	CLEANUP(url_done) struct url to = {0};
	CLEANUP(freep) char *text = NULL;

	require(url_parse("https://host:1/a/b?c", &from, NULL) == 0);
	if (url_resolve(&from, location, &text, NULL) == 0)
		url_parse(text, &to, NULL);
}

/* The value of a member that looks secret is gone, whatever stands around it. */
static void try_redact(const char *text)
{
	CLEANUP(freep) char *shown = url_redact(text, NULL);
	CLEANUP(freep) char *again = shown ? url_redact(shown, NULL) : NULL;
	CLEANUP(freep) char *whole = text_printf(NULL, "https://h/a?%s&sig=53cr3t&%s", text, text);
	CLEANUP(freep) char *hidden = whole ? url_redact(whole, NULL) : NULL;

	require(again && strcmp(shown, again) == 0);
	require(hidden && (strstr(text, "53cr3t") || !strstr(hidden, "53cr3t")));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(freep) char *text = slice_dup(slice_of(data, size), NULL);
	CLEANUP(buf_done) struct buf escaped = BUF_INIT(BUF_NO_LIMIT);
	uint64_t first, last, total;

	require(text != NULL);
	try_url(text);
	try_redirect(text);
	try_redact(text);
	require(http_date_time(text) >= 0);
	http_parse_range(text, &first, &last, &total, NULL);
	require(url_escape_illegal(slice_text(text), &escaped, NULL) == 0);
	return 0;
}
