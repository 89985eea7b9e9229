/* SPDX-License-Identifier: Apache-2.0 */
#include "store/web-index.h"

#include <stdlib.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/text.h"

void web_names_free(struct web_names *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->items[i]);
	web_names_done(names);
}

/* &amp; and the like, in place. */
static void web_undo_entities(char *text)
{
	static const struct {
		const char *entity;
		char byte;
	} known[] = {{"&amp;", '&'},  {"&lt;", '<'},	{"&gt;", '>'}, {"&quot;", '"'},
		     {"&#39;", '\''}, {"&#x27;", '\''}, {"&#34;", '"'}};
	char *to = text;

	while (*text) {
		size_t i = 0;

		while (i < ARRAY_LEN(known) && !text_starts(text, known[i].entity))
			i++;
		*to++ = i < ARRAY_LEN(known) ? known[i].byte : *text;
		text += i < ARRAY_LEN(known) ? strlen(known[i].entity) : 1;
	}
	*to = '\0';
}

/* The one name below the folder at @path that a link means, "" if it leads elsewhere. */
static int web_link_name(const char *path, char *link, struct buf *out, struct error *err)
{
	size_t size = strlen(path), end;

	web_undo_entities(link);
	if (text_starts(link, path))
		link += size;
	else if (text_starts(link, "./"))
		link += 2;
	end = strcspn(link, "?#");
	if (end == 0 || link[end] || link[0] == '/' || link[0] == '.')
		return 0;
	size = strcspn(link, "/");
	if (link[size] && link[size + 1])
		return 0;
	if (memchr(link, ':', size))
		return 0;
	return text_percent_decode(slice_text(link), out, err);
}

/* Escapes may have hidden a way out of the folder, or further in. */
static bool web_is_name(struct slice name)
{
	return name.data[0] != '.' && name.data[0] != '/' && !memchr(name.data, '\0', name.size) &&
	       !memchr(name.data, '/', name.size - 1);
}

static int web_add_link(const char *path, struct slice link, struct web_names *names,
			struct error *err)
{
	CLEANUP(freep) char *text = slice_dup(link, err);
	CLEANUP(buf_done) struct buf name = BUF_INIT(1 << 16);
	char *copy;
	int r;

	if (!text)
		return ERR_MEMORY;
	/* A link that cannot be read is not one of the index's. */
	if (web_link_name(path, text, &name, err) < 0 || !name.size)
		return 0;
	if (!web_is_name(buf_slice(&name)))
		return 0;
	copy = slice_dup(buf_slice(&name), err);
	if (!copy)
		return ERR_MEMORY;
	r = web_names_push(names, copy, err);
	if (r < 0)
		free(copy);
	return r;
}

static int web_find_links(const char *path, struct slice page, struct web_names *names,
			  struct error *err)
{
	for (size_t i = 0; i + 6 < page.size; i++) {
		size_t end;
		char quote;
		int r;

		if (strncasecmp((const char *)page.data + i, "href=", 5) != 0)
			continue;
		quote = (char)page.data[i + 5];
		if (quote != '"' && quote != '\'')
			continue;
		i += 6;
		for (end = i; end < page.size && page.data[end] != (uint8_t)quote;)
			end++;
		r = web_add_link(path, slice_of(page.data + i, end - i), names, err);
		if (r < 0)
			return r;
		i = end;
	}
	return 0;
}

static int web_name_order(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Pages link to an object from its picture and its name. */
static void web_names_drop_repeated(struct web_names *names)
{
	size_t kept = 0;

	for (size_t i = 0; i < names->n; i++) {
		if (kept && strcmp(names->items[kept - 1], names->items[i]) == 0)
			free(names->items[i]);
		else
			names->items[kept++] = names->items[i];
	}
	names->n = kept;
}

int web_index_read(const char *path, struct slice page, struct web_names *names, struct error *err)
{
	int r = web_find_links(path, page, names, err);

	if (r < 0 || !names->n)
		return r;
	qsort(names->items, names->n, sizeof(names->items[0]), web_name_order);
	web_names_drop_repeated(names);
	return 0;
}
