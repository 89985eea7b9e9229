/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/discover.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/pool.h"
#include "base/text.h"
#include "store/container.h"

#define LISTINGS_AT_ONCE 16
#define PROBES_AT_ONCE 64
/* An index page of a folder with 100,000 files. */
#define PAGE_MAX (64U << 20)

/* A key that is waited for. */
struct wanted {
	const char *key;
	size_t folder; /* bytes of the key up to and including its last '/' */
	uint64_t position;
	size_t i; /* among the pending files */
	bool is_index;
	bool found;
};

/* Neighbours in the sorted list that one listing covers. */
struct group {
	size_t first, end;
};

struct discovery {
	struct store *source;
	struct source_files *files;
	const size_t *pending;
	struct wanted *wanted;
	size_t n_wanted;
	struct group *groups;
	size_t n_groups;
};

const char *discover_key(const char *url)
{
	return url + store_location_root(url);
}

static int by_folder_and_position(const void *a, const void *b)
{
	const struct wanted *x = a, *y = b;
	size_t n = x->folder < y->folder ? x->folder : y->folder;
	int order = memcmp(x->key, y->key, n);

	if (order == 0 && x->folder != y->folder)
		order = x->folder < y->folder ? -1 : 1;
	if (order == 0 && x->position != y->position)
		order = x->position < y->position ? -1 : 1;
	return order ? order : strcmp(x->key, y->key);
}

static bool same_group(const struct wanted *a, const struct wanted *b)
{
	return a->folder == b->folder && a->position == b->position &&
	       memcmp(a->key, b->key, a->folder) == 0;
}

static size_t common_prefix(const char *a, const char *b)
{
	size_t n = 0;

	while (a[n] && a[n] == b[n])
		n++;
	return n;
}

static void add_wanted(const struct source_file *file, const char *url, size_t i, bool is_index,
		       struct discovery *discovery)
{
	struct wanted *wanted = &discovery->wanted[discovery->n_wanted++];
	const char *slash;

	wanted->key = discover_key(url);
	slash = strrchr(wanted->key, '/');
	wanted->folder = slash ? (size_t)(slash - wanted->key) + 1 : 0;
	wanted->position = file->position;
	wanted->i = i;
	wanted->is_index = is_index;
}

static void note(struct discovery *discovery, struct wanted *wanted, const struct store_info *info)
{
	struct source_file *file = &discovery->files->items[discovery->pending[wanted->i]];

	wanted->found = true;
	if (wanted->is_index) {
		file->index_size = info->size;
		file->index_last_modified = info->last_modified;
		return;
	}
	file->size = info->size;
	file->last_modified = info->last_modified;
	snprintf(file->etag, sizeof(file->etag), "%.*s", (int)sizeof(file->etag) - 1,
		 info->version.text);
}

struct listing {
	struct discovery *discovery;
	struct group group;
};

static int listed(void *argument, const struct store_entry *entry, struct error *err)
{
	struct listing *listing = argument;
	struct wanted *wanted = listing->discovery->wanted;
	size_t low = listing->group.first, high = listing->group.end;

	(void)err;
	/* All keys of a group begin with one folder: their order is that of the whole keys. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(wanted[middle].key, entry->key);

		if (order == 0) {
			note(listing->discovery, &wanted[middle], &entry->info);
			return 0;
		}
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return 0;
}

static int list_group(void *argument, size_t i, struct error *err)
{
	struct discovery *discovery = argument;
	struct listing listing = {discovery, discovery->groups[i]};
	const char *first = discovery->wanted[listing.group.first].key;
	const char *last = discovery->wanted[listing.group.end - 1].key;
	char prefix[4096];

	/* In a sorted list the first and the last have in common what all have. */
	snprintf(prefix, sizeof(prefix), "%.*s", (int)common_prefix(first, last), first);
	return store_list(discovery->source, prefix, false, listed, &listing, err);
}

/* Marks the wanted keys of a group that end in @name. */
static void name_listed(struct discovery *discovery, const struct group *group, struct slice name)
{
	for (size_t i = group->first; i < group->end; i++) {
		struct wanted *wanted = &discovery->wanted[i];

		if (slice_is(name, wanted->key + wanted->folder))
			wanted->found = true;
	}
}

/* The last path component that a link names; empty for queries, anchors and parents. */
static struct slice link_name(struct slice link)
{
	size_t end = 0, start = 0;

	while (end < link.size && link.data[end] != '?' && link.data[end] != '#')
		end++;
	for (size_t i = 0; i < end; i++)
		if (link.data[i] == '/')
			start = i + 1;
	return slice_sub(link, start, end - start);
}

/* Every href of the page, quoted either way. */
static int read_links(struct discovery *discovery, const struct group *group, struct slice page,
		      struct error *err)
{
	static const char mark[] = "href=";
	const uint8_t *at = page.data, *end = page.data + page.size;

	while (at < end && (at = memmem(at, (size_t)(end - at), mark, sizeof(mark) - 1))) {
		CLEANUP(buf_done) struct buf name = BUF_INIT(4096);
		const uint8_t *close;
		struct error broken = ERROR_INIT;

		at += sizeof(mark) - 1;
		if (at == end || (*at != '"' && *at != '\''))
			continue;
		close = memchr(at + 1, *at, (size_t)(end - at - 1));
		if (!close)
			return 0;
		if (text_percent_decode(link_name(slice_of(at + 1, (size_t)(close - at) - 1)),
					&name, &broken) == 0)
			name_listed(discovery, group, buf_slice(&name));
		else if (broken.kind == ERR_MEMORY)
			return error_memory(err);
		at = close;
	}
	return 0;
}

/* The index page of a folder names files, but neither size nor time: those are asked for. */
static int read_page(void *argument, size_t i, struct error *err)
{
	struct discovery *discovery = argument;
	const struct group *group = &discovery->groups[i];
	const struct wanted *first = &discovery->wanted[group->first];
	CLEANUP(buf_done) struct buf page = BUF_INIT(PAGE_MAX);
	CLEANUP(freep) char *folder = text_printf(err, "%.*s", (int)first->folder, first->key);
	int r;

	if (!folder)
		return ERR_MEMORY;
	r = store_get_all(discovery->source, folder, &page, NULL, err);
	/* A folder that is not there yet has no files. */
	if (r != 0)
		return r < 0 ? r : 0;
	return read_links(discovery, group, buf_slice(&page), err);
}

static int measure_key(void *argument, size_t i, struct error *err)
{
	struct discovery *discovery = argument;
	struct wanted *wanted = &discovery->wanted[i];
	struct store_info info;
	int r;

	if (!wanted->found || wanted->is_index)
		return 0;
	r = store_head(discovery->source, wanted->key, &info, err);
	wanted->found = r == 0;
	if (r == 0)
		note(discovery, wanted, &info);
	return r < 0 ? r : 0;
}

static int probe_key(void *argument, size_t i, struct error *err)
{
	struct discovery *discovery = argument;
	struct store_info info;
	int r = store_head(discovery->source, discovery->wanted[i].key, &info, err);

	if (r == 0)
		note(discovery, &discovery->wanted[i], &info);
	return r < 0 ? r : 0;
}

static void make_groups(struct discovery *discovery)
{
	qsort(discovery->wanted, discovery->n_wanted, sizeof(*discovery->wanted),
	      by_folder_and_position);
	for (size_t i = 0; i < discovery->n_wanted; i++) {
		if (i > 0 && same_group(&discovery->wanted[i - 1], &discovery->wanted[i]))
			discovery->groups[discovery->n_groups - 1].end = i + 1;
		else
			discovery->groups[discovery->n_groups++] = (struct group){i, i + 1};
	}
}

static int find(struct discovery *discovery, enum discovery_way way, struct error *err)
{
	int r;

	if (way == DISCOVER_PROBE)
		return parallel_for(PROBES_AT_ONCE, discovery->n_wanted, probe_key, discovery, err);
	make_groups(discovery);
	if (way == DISCOVER_LISTING)
		return parallel_for(LISTINGS_AT_ONCE, discovery->n_groups, list_group, discovery,
				    err);
	r = parallel_for(LISTINGS_AT_ONCE, discovery->n_groups, read_page, discovery, err);
	return r < 0 ? r
		     : parallel_for(PROBES_AT_ONCE, discovery->n_wanted, measure_key, discovery,
				    err);
}

static void mark_ready(const struct discovery *discovery, bool needs_index, size_t n_pending,
		       bool *ready)
{
	memset(ready, 0, n_pending * sizeof(*ready));
	/* Data and index: both must have been found. */
	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < discovery->n_wanted; i++) {
			const struct wanted *wanted = &discovery->wanted[i];

			if (pass == 0 && !wanted->is_index)
				ready[wanted->i] = wanted->found;
			if (pass == 1 && needs_index && wanted->is_index && !wanted->found)
				ready[wanted->i] = false;
		}
	}
}

int discover(const struct dataset *dataset, struct store *source, struct source_files *files,
	     const size_t *pending, size_t n_pending, bool *ready, struct error *err)
{
	CLEANUP(freep) struct wanted *wanted = calloc(2 * n_pending + 1, sizeof(*wanted));
	CLEANUP(freep) struct group *groups = calloc(2 * n_pending + 1, sizeof(*groups));
	struct discovery discovery = {.source = source,
				      .files = files,
				      .pending = pending,
				      .wanted = wanted,
				      .groups = groups};
	bool needs_index = false;
	int r;

	if (!wanted || !groups)
		return error_memory(err);
	for (size_t i = 0; i < n_pending; i++) {
		const struct source_file *file = &files->items[pending[i]];

		add_wanted(file, file->url, i, false, &discovery);
		if (file->index_url) {
			add_wanted(file, file->index_url, i, true, &discovery);
			needs_index = true;
		}
	}
	r = find(&discovery, dataset->files.discovery, err);
	if (r < 0)
		return error_prefix(err, "cannot look for source files");
	mark_ready(&discovery, needs_index, n_pending, ready);
	return 0;
}
