/* SPDX-License-Identifier: Apache-2.0 */
#include "fusefs/status.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "base/time.h"
#include "reader/array.h"
#include "repo/refs.h"

#define TEXT_MAX (UINT64_C(64) << 20)

/* ---- the texts ---- */

static int write_member_id(struct buf *out, const char *name, const struct id12 *id,
			   struct error *err)
{
	char text[ID12_TEXT_LEN + 1];

	id12_format(id, text);
	return buf_printf(out, err, "\"%s\": \"%s\"", name, text);
}

/* One entry of the history as a JSON object. */
static int write_history_entry(struct buf *out, const struct history_entry *entry,
			       struct error *err)
{
	char time[TIME_TEXT_MAX];
	int r;

	time_format_micros(entry->written_at, time);
	r = buf_append_text(out, "{", err);
	if (r == 0)
		r = write_member_id(out, "id", &entry->id, err);
	if (r == 0)
		r = buf_append_text(out, ", ", err);
	if (r == 0)
		r = entry->has_parent ? write_member_id(out, "parent", &entry->parent, err)
				      : buf_append_text(out, "\"parent\": null", err);
	if (r == 0)
		r = buf_printf(out, err, ", \"written_at\": \"%s\", \"message\": ", time);
	if (r == 0)
		r = json_write_text(out, slice_text(entry->message), err);
	if (r == 0)
		r = buf_append_text(out, ", \"metadata\": ", err);
	if (r == 0)
		r = entry->metadata.size ? buf_append_slice(out, entry->metadata, err)
					 : buf_append_text(out, "{}", err);
	if (r == 0)
		r = buf_append_text(out, "}\n", err);
	return r;
}

struct history {
	struct buf *out;
	bool only_first;
};

/* Ends a walk that has what it wants; no error kind has this value. */
#define HISTORY_ENOUGH (-1000)

static int each_history(void *argument, const struct history_entry *entry, struct error *err)
{
	struct history *history = argument;
	int r = write_history_entry(history->out, entry, err);

	return r == 0 && history->only_first ? HISTORY_ENOUGH : r;
}

static int write_history(struct fs *fs, struct buf *out, bool only_first, struct error *err)
{
	CLEANUP(shown_freep) struct shown *shown = fs_shown(fs);
	struct history history = {out, only_first};
	int r;

	r = repo_history(fs_repo(fs), checkout_id(view_checkout(shown_view(shown))), each_history,
			 &history, err);
	return r == HISTORY_ENOUGH ? 0 : r;
}

static int write_snapshot(struct fs *fs, struct buf *out, struct error *err)
{
	return write_history(fs, out, true, err);
}

static int write_log(struct fs *fs, struct buf *out, struct error *err)
{
	return write_history(fs, out, false, err);
}

int status_write_stats(struct fs *fs, struct buf *out, struct error *err)
{
	const struct fs_counters counters = fs_counters(fs);
	const struct reader_counters reader = reader_counters(fs_reader(fs));
	const struct repo_counters repo = repo_counters(fs_repo(fs));
	const struct {
		const char *name, *type, *help;
		uint64_t value;
	} rows[] = {
		{"lookups_total", "counter", "Lookups asked by the kernel", counters.lookups},
		{"reads_total", "counter", "Reads asked by the kernel", counters.reads},
		{"read_bytes_total", "counter", "Bytes given to the kernel", counters.read_bytes},
		{"errors_total", "counter", "Requests answered with an error", counters.errors},
		{"timeouts_total", "counter", "Reads whose time was over", counters.timeouts},
		{"pushed_bytes_total", "counter", "Bytes pushed into the page cache",
		 counters.pushed_bytes},
		{"switches_total", "counter", "Times that the root showed a new snapshot",
		 counters.switches},
		{"folders", "gauge", "Folders that the kernel remembers", counters.slots},
		{"fetches_total", "counter", "Requests to sources and chunk objects",
		 reader.fetches},
		{"fetched_bytes_total", "counter", "Bytes fetched from them", reader.fetched_bytes},
		{"decodes_total", "counter", "GRIB messages decoded", reader.decodes},
		{"cache_hits_total", "counter", "Loads answered by the cache", reader.cache_hits},
		{"joined_total", "counter", "Loads that joined one under way", reader.joined},
		{"failures_total", "counter", "Loads that failed", reader.failures},
		{"cache_bytes", "gauge", "Bytes of content kept", reader.cache_bytes},
		{"memory_bytes", "gauge", "Bytes of content and buffers in use",
		 reader.memory_bytes},
		{"manifest_loads_total", "counter", "Manifests loaded", repo.manifest_loads},
		{"manifest_hits_total", "counter", "Lookups in loaded manifests",
		 repo.manifest_hits},
		{"manifest_bytes", "gauge", "Bytes of manifests kept", repo.manifest_bytes},
	};
	int r = 0;

	for (size_t i = 0; i < ARRAY_LEN(rows) && r == 0; i++)
		r = buf_printf(out, err,
			       "# HELP refmtfs_%s %s\n# TYPE refmtfs_%s %s\nrefmtfs_%s %llu\n",
			       rows[i].name, rows[i].help, rows[i].name, rows[i].type, rows[i].name,
			       (unsigned long long)rows[i].value);
	return r;
}

struct failures {
	struct buf *out;
	struct error *err;
	int64_t newest;
	int r;
};

static void each_failure(void *argument, const struct fs_failure *failure)
{
	struct failures *failures = argument;
	char time[TIME_TEXT_MAX];

	failures->newest = failure->time;
	if (!failures->out || failures->r < 0)
		return;
	time_format_micros(failure->time, time);
	failures->r = buf_printf(failures->out, failures->err, "%s %s %s: %s\n", time,
				 strerrorname_np(failure->errnum),
				 failure->path ? failure->path : "?", failure->text);
}

static int write_errors(struct fs *fs, struct buf *out, struct error *err)
{
	struct failures failures = {.out = out, .err = err};

	fs_failures(fs, each_failure, &failures);
	return failures.r;
}

/* "ok", or how long ago the last failure was. */
static int write_health(struct fs *fs, struct buf *out, struct error *err)
{
	struct failures failures = {0};
	int64_t ago;

	fs_failures(fs, each_failure, &failures);
	ago = (time_now() - failures.newest) / TIME_SECOND;
	if (failures.newest == 0 || ago > 60)
		return buf_append_text(out, "ok\n", err);
	return buf_printf(out, err, "failing: last error %lld s ago, see errors\n", (long long)ago);
}

static int write_config(struct fs *fs, struct buf *out, struct error *err)
{
	int r = buf_append_slice(out, fs_options(fs)->config, err);

	return r == 0 ? buf_append_text(out, "\n", err) : r;
}

static const struct status_file {
	const char *name;
	int (*write)(struct fs *fs, struct buf *out, struct error *err);
	bool may_wait; /* on the network */
} files[] = {
	{"config", write_config, false},	 {"errors", write_errors, false},
	{"health", write_health, false},	 {"log", write_log, true},
	{"snapshot.json", write_snapshot, true}, {"stats", status_write_stats, false},
};

static const struct {
	const char *name;
	enum status_folder folder;
} folders[] = {
	{"branches", STATUS_BRANCHES},
	{"snapshots", STATUS_SNAPSHOTS},
	{"tags", STATUS_TAGS},
};

/* ---- lookup ---- */

static int file_text(struct fs *fs, const struct status_file *file, struct content **ret_text,
		     struct error *err)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT(TEXT_MAX);
	uint8_t *bytes;
	size_t size;
	int r;

	r = file->write(fs, &text, err);
	if (r < 0)
		return r;
	bytes = buf_take(&text, &size);
	*ret_text = content_new(bytes, size, err);
	if (!*ret_text) {
		free(bytes);
		return ERR_MEMORY;
	}
	return 0;
}

static int lookup_top(struct fs *fs, const char *name, bool may_wait,
		      struct status_entry *ret_entry, struct error *err)
{
	for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
		if (strcmp(name, folders[i].name) != 0)
			continue;
		*ret_entry = (struct status_entry){
			.kind = STATUS_FOLDER,
			.folder = folders[i].folder,
		};
		return 0;
	}
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		if (strcmp(name, files[i].name) != 0)
			continue;
		if (files[i].may_wait && !may_wait)
			return VIEW_WOULD_WAIT;
		*ret_entry = (struct status_entry){.kind = STATUS_FILE, .mtime = time_now()};
		return file_text(fs, &files[i], &ret_entry->text, err);
	}
	return VIEW_ABSENT;
}

/* The name of a branch or tag as a folder entry: '/', '%' and what cannot stand there as %XX. */
static int ref_entry_name(const char *name, struct buf *out, struct error *err)
{
	if (strcmp(name, ".") == 0)
		return buf_append_text(out, "%2E", err);
	if (strcmp(name, "..") == 0)
		return buf_append_text(out, "%2E%2E", err);
	for (; *name; name++) {
		int r = *name == '/' || *name == '%'
				? buf_printf(out, err, "%%%02X", (unsigned int)*name)
				: buf_append_byte(out, (uint8_t)*name, err);

		if (r < 0)
			return r;
	}
	return 0;
}

/*
 * One snapshot may be reached by several names.  The kernel wants each folder at one place, so each
 * of them is a tree with a number of its own.
 */
static int tree_number(enum status_folder folder, const char *name, const struct id12 *id,
		       uint64_t *ret_tree, struct error *err)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT(BUF_NO_LIMIT);
	uint8_t digest[SHA256_SIZE];
	int r;

	r = buf_printf(&text, err, "%d/%s/", (int)folder, name);
	if (r == 0)
		r = buf_append(&text, id->bytes, sizeof(id->bytes), err);
	if (r == 0)
		r = sha256(buf_slice(&text), digest, err);
	if (r < 0)
		return r;
	memcpy(ret_tree, digest, sizeof(*ret_tree));
	*ret_tree |= 1; /* none is the root's */
	return 0;
}

static int open_tree(struct fs *fs, enum status_folder folder, const char *name,
		     const struct id12 *id, struct status_entry *ret_entry, struct error *err)
{
	int r;

	*ret_entry = (struct status_entry){.kind = STATUS_TREE};
	r = tree_number(folder, name, id, &ret_entry->tree, err);
	return r < 0 ? r : fs_snapshot_view(fs, id, true, &ret_entry->view, err);
}

/* Branches or tags as they are now; they end with repo_summary_done(). */
static int read_refs(struct fs *fs, bool tags, struct repo_summary *ret_summary,
		     const struct ref_entry **ret_refs, size_t *ret_n, struct error *err)
{
	int r;

	r = repo_refresh(fs_repo(fs), err);
	if (r == 0)
		r = repo_summary(fs_repo(fs), ret_summary, err);
	if (r < 0)
		return r;
	*ret_refs = tags ? ret_summary->tags : ret_summary->branches;
	*ret_n = tags ? ret_summary->n_tags : ret_summary->n_branches;
	return 0;
}

static int lookup_ref(struct fs *fs, bool tags, const char *name, struct status_entry *ret_entry,
		      struct error *err)
{
	struct repo_summary summary;
	const struct ref_entry *refs;
	bool found = false;
	struct id12 id;
	size_t n;
	int r;

	r = read_refs(fs, tags, &summary, &refs, &n, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n && !found && r == 0; i++) {
		CLEANUP(buf_done) struct buf entry = BUF_INIT(TEXT_MAX);

		r = ref_entry_name(refs[i].name, &entry, err);
		found = r == 0 && slice_is(buf_slice(&entry), name);
		if (found)
			id = refs[i].id;
	}
	repo_summary_done(&summary);
	if (r < 0)
		return r;
	if (!found)
		return VIEW_ABSENT;
	return open_tree(fs, tags ? STATUS_TAGS : STATUS_BRANCHES, name, &id, ret_entry, err);
}

static int lookup_snapshot(struct fs *fs, const char *name, struct status_entry *ret_entry,
			   struct error *err)
{
	const struct repo_at at = {.snapshot = name};
	struct id12 id;
	int r;

	if (id12_parse(name, &id, NULL) < 0)
		return VIEW_ABSENT;
	r = repo_resolve(fs_repo(fs), &at, &id, err);
	if (r == ERR_ABSENT)
		return VIEW_ABSENT;
	return r < 0 ? r : open_tree(fs, STATUS_SNAPSHOTS, name, &id, ret_entry, err);
}

int status_lookup(struct fs *fs, enum status_folder folder, const char *name, bool may_wait,
		  struct status_entry *ret_entry, struct error *err)
{
	if (folder == STATUS_TOP)
		return lookup_top(fs, name, may_wait, ret_entry, err);
	if (!may_wait)
		return VIEW_WOULD_WAIT;
	if (folder == STATUS_SNAPSHOTS)
		return lookup_snapshot(fs, name, ret_entry, err);
	return lookup_ref(fs, folder == STATUS_TAGS, name, ret_entry, err);
}

/* ---- listing ---- */

typedef int (*each_name_fn)(void *argument, const char *name, bool is_folder, struct error *err);

static int list_refs(struct fs *fs, bool tags, each_name_fn each, void *argument, struct error *err)
{
	struct repo_summary summary;
	const struct ref_entry *refs;
	size_t n;
	int r;

	r = read_refs(fs, tags, &summary, &refs, &n, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n && r == 0; i++) {
		CLEANUP(buf_done) struct buf entry = BUF_INIT(TEXT_MAX);
		const char *name;

		r = ref_entry_name(refs[i].name, &entry, err);
		/* A name that no folder entry can have is reached by its snapshot. */
		if (r < 0 || entry.size == 0 || entry.size > VIEW_NAME_MAX)
			continue;
		name = buf_text(&entry, err);
		r = name ? each(argument, name, true, err) : ERR_MEMORY;
	}
	repo_summary_done(&summary);
	return r;
}

struct list_snapshots {
	each_name_fn each;
	void *argument;
};

static int each_snapshot(void *argument, const struct history_entry *entry, struct error *err)
{
	const struct list_snapshots *list = argument;
	char name[ID12_TEXT_LEN + 1];

	id12_format(&entry->id, name);
	return list->each(list->argument, name, true, err);
}

/* The history of what the root shows; others are reached by name all the same. */
static int list_snapshots(struct fs *fs, each_name_fn each, void *argument, struct error *err)
{
	CLEANUP(shown_freep) struct shown *shown = fs_shown(fs);
	struct list_snapshots list = {each, argument};

	return repo_history(fs_repo(fs), checkout_id(view_checkout(shown_view(shown))),
			    each_snapshot, &list, err);
}

static int list_top(each_name_fn each, void *argument, struct error *err)
{
	int r = 0;

	for (size_t i = 0; i < ARRAY_LEN(folders) && r == 0; i++)
		r = each(argument, folders[i].name, true, err);
	for (size_t i = 0; i < ARRAY_LEN(files) && r == 0; i++)
		r = each(argument, files[i].name, false, err);
	return r;
}

int status_list(struct fs *fs, enum status_folder folder, each_name_fn each, void *argument,
		struct error *err)
{
	switch (folder) {
	case STATUS_BRANCHES:
	case STATUS_TAGS:
		return list_refs(fs, folder == STATUS_TAGS, each, argument, err);
	case STATUS_SNAPSHOTS:
		return list_snapshots(fs, each, argument, err);
	default:
		return list_top(each, argument, err);
	}
}
