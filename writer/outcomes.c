/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/outcomes.h"

#include <stdio.h>
#include <stdlib.h>
#include <zstd.h>

#include "base/json.h"
#include "base/text.h"
#include "base/time.h"
#include "base/vec.h"

#define OBJECT_MAX (256U << 20)
#define LEVEL 3

struct outcomes {
	struct store *store;
	char *run;
	uint64_t worker, attempt, sequence;
	struct buf lines;
};

int outcomes_new(struct store *store, const char *run, uint64_t worker,
		 struct outcomes **ret_outcomes, struct error *err)
{
	CLEANUP(outcomes_freep) struct outcomes *outcomes = calloc(1, sizeof(*outcomes));

	if (!outcomes)
		return error_memory(err);
	outcomes->store = store;
	outcomes->worker = worker;
	outcomes->lines = BUF_INIT(OBJECT_MAX);
	outcomes->run = text_dup(run, err);
	if (!outcomes->run)
		return ERR_MEMORY;
	*ret_outcomes = TAKE(outcomes);
	return 0;
}

struct outcomes *outcomes_free(struct outcomes *outcomes)
{
	if (outcomes) {
		buf_done(&outcomes->lines);
		free(outcomes->run);
		free(outcomes);
	}
	return NULL;
}

/* @before is what stands in front of the name: a brace or a comma. */
static int write_member(struct buf *out, char before, const char *name, struct slice text,
			struct error *err)
{
	int r = buf_printf(out, err, "%c\"%s\":", before, name);

	return r < 0 ? r : json_write_text(out, text, err);
}

int outcomes_add(struct outcomes *outcomes, const struct dataset *dataset,
		 const struct source_file *file, enum outcome outcome, struct slice detail,
		 int64_t now, struct error *err)
{
	CLEANUP(buf_done) struct buf labels = BUF_INIT(4096);
	char at[TIME_TEXT_MAX];
	int r = source_file_labels(dataset, file, &labels, err);

	time_format_micros(now, at);
	if (r == 0)
		r = write_member(&outcomes->lines, '{', "url", slice_text(file->url), err);
	if (r == 0)
		r = write_member(&outcomes->lines, ',', "out_loc", buf_slice(&labels), err);
	if (r == 0)
		r = write_member(&outcomes->lines, ',', "reason", slice_text(outcome_name(outcome)),
				 err);
	if (r == 0)
		r = write_member(&outcomes->lines, ',', "detail", detail, err);
	if (r == 0)
		r = write_member(&outcomes->lines, ',', "at", slice_text(at), err);
	return r < 0 ? r : buf_append_text(&outcomes->lines, "}\n", err);
}

static int compress(struct slice text, struct buf *out, struct error *err)
{
	size_t bound = ZSTD_compressBound(text.size), n;
	int r = buf_reserve(out, bound, err);

	if (r < 0)
		return r;
	n = ZSTD_compress(out->data, bound, text.data, text.size, LEVEL);
	if (ZSTD_isError(n))
		return error_set(err, ERR_MEMORY, "cannot compress: %s", ZSTD_getErrorName(n));
	out->size = n;
	return 0;
}

static int see_attempt(void *argument, const struct store_entry *entry, struct error *err)
{
	struct outcomes *outcomes = argument;
	const char *name = strrchr(entry->key, '/');
	unsigned long long worker, attempt;

	(void)err;
	if (name && sscanf(name, "/%llu-%llu-", &worker, &attempt) == 2 &&
	    worker == outcomes->worker && attempt >= outcomes->attempt)
		outcomes->attempt = attempt + 1;
	return 0;
}

/* A process that was started again must not meet the objects of the one before it. */
static int find_attempt(struct outcomes *outcomes, struct error *err)
{
	CLEANUP(freep)
	char *prefix = text_printf(err, OUTCOMES_FOLDER "%s/%llu-", outcomes->run,
				   (unsigned long long)outcomes->worker);

	if (!prefix)
		return ERR_MEMORY;
	outcomes->attempt = 0;
	return store_list(outcomes->store, prefix, false, see_attempt, outcomes, err);
}

int outcomes_flush(struct outcomes *outcomes, struct error *err)
{
	CLEANUP(buf_done) struct buf object = BUF_INIT(OBJECT_MAX + (OBJECT_MAX >> 7));
	int r = 0;

	if (outcomes->lines.size == 0)
		return 0;
	if (outcomes->sequence == 0)
		r = find_attempt(outcomes, err);
	if (r == 0)
		r = compress(buf_slice(&outcomes->lines), &object, err);
	while (r == 0) {
		CLEANUP(freep)
		char *key = text_printf(err, OUTCOMES_FOLDER "%s/%llu-%llu-%llu.jsonl.zst",
					outcomes->run, (unsigned long long)outcomes->worker,
					(unsigned long long)outcomes->attempt,
					(unsigned long long)outcomes->sequence);

		if (!key)
			return ERR_MEMORY;
		r = store_replace(outcomes->store, key, NULL, buf_slice(&object), NULL, err);
		if (r != STORE_CHANGED)
			break;
		/* Another process with our identity writes at the same time. */
		outcomes->attempt++;
		r = 0;
	}
	if (r < 0)
		return error_prefix(err, "cannot keep what was skipped");
	outcomes->sequence++;
	buf_clear(&outcomes->lines);
	return 0;
}

/* Keys of the objects, newest runs last as far as names tell. */
struct search {
	struct store *store;
	const char *url, *record;
	char **keys;
	size_t n, capacity;
	bool found;
	struct outcome_found best;
};

static int see_key(void *argument, const struct store_entry *entry, struct error *err)
{
	struct search *search = argument;
	int r = vec_reserve((void **)&search->keys, &search->capacity, search->n + 1,
			    sizeof(*search->keys), err);

	if (r < 0)
		return r;
	search->keys[search->n] = text_dup(entry->key, err);
	return search->keys[search->n++] ? 0 : ERR_MEMORY;
}

static int decompress(struct slice object, struct buf *out, struct error *err)
{
	unsigned long long size = ZSTD_getFrameContentSize(object.data, object.size);
	uint8_t *bytes;
	size_t n;
	int r;

	if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN || size > OBJECT_MAX)
		return error_set(err, ERR_FORMAT, "is no list of outcomes");
	r = buf_extend(out, (size_t)size, &bytes, err);
	if (r < 0)
		return r;
	n = ZSTD_decompress(bytes, (size_t)size, object.data, object.size);
	if (ZSTD_isError(n) || n != size)
		return error_set(err, ERR_FORMAT, "is damaged");
	return 0;
}

/* Is @record among "a,b[1],c", or is the text no list of records? */
static bool concerns(const char *reason, const char *detail, const char *record)
{
	size_t n = strlen(record);

	if (strcmp(reason, "not_in_file") != 0 && strcmp(reason, "not_meaningful") != 0)
		return true;
	for (const char *at = detail; (at = strstr(at, record)); at += n)
		if ((at == detail || at[-1] == ',') && (at[n] == ',' || at[n] == '\0'))
			return true;
	return false;
}

static int take_line(struct search *search, const struct json *line, struct error *err)
{
	CLEANUP(freep) char *reason = NULL, *detail = NULL, *at = NULL;
	struct json value;
	int r = 0;

	if (json_get(line, "url", &value) != 0 || !json_is_text(&value, search->url))
		return 0;
	if (json_get(line, "reason", &value) == 0)
		r = json_dup(&value, &reason, err);
	if (r == 0 && json_get(line, "detail", &value) == 0)
		r = json_dup(&value, &detail, err);
	if (r == 0 && json_get(line, "at", &value) == 0)
		r = json_dup(&value, &at, err);
	if (r < 0 || !reason || !detail || !at)
		return r;
	if (!concerns(reason, detail, search->record) ||
	    (search->found && strcmp(at, search->best.at) < 0))
		return 0;
	free(search->best.detail);
	search->best.detail = TAKE(detail);
	snprintf(search->best.reason, sizeof(search->best.reason), "%s", reason);
	snprintf(search->best.at, sizeof(search->best.at), "%s", at);
	search->found = true;
	return 0;
}

static int search_object(struct search *search, const char *key, struct error *err)
{
	CLEANUP(buf_done) struct buf object = BUF_INIT(OBJECT_MAX);
	CLEANUP(buf_done) struct buf lines = BUF_INIT(OBJECT_MAX);
	int r = store_get_all(search->store, key, &object, NULL, err);
	const uint8_t *at, *end;

	/* Old objects may be removed at any time. */
	if (r != 0)
		return r < 0 ? r : 0;
	r = decompress(buf_slice(&object), &lines, err);
	if (r < 0)
		return error_prefix(err, "'%s'", key);
	at = lines.data;
	end = at + lines.size;
	while (at < end && r == 0) {
		const uint8_t *feed = memchr(at, '\n', (size_t)(end - at));
		struct slice line = slice_of(at, (size_t)((feed ? feed : end) - at));
		struct json json;

		at += line.size + 1;
		r = json_parse(line, &json, err);
		if (r == 0)
			r = take_line(search, &json, err);
	}
	return r < 0 ? error_prefix(err, "'%s'", key) : 0;
}

int outcomes_find(struct store *store, const char *url, const char *record,
		  struct outcome_found *ret_found, struct error *err)
{
	struct search search = {.store = store, .url = url, .record = record};
	int r = store_list(store, OUTCOMES_FOLDER, false, see_key, &search, err);

	for (size_t i = 0; i < search.n; i++) {
		if (r == 0)
			r = search_object(&search, search.keys[i], err);
		free(search.keys[i]);
	}
	free(search.keys);
	if (r < 0 || !search.found) {
		outcome_found_done(&search.best);
		return r < 0 ? r : 1;
	}
	*ret_found = search.best;
	return 0;
}

void outcome_found_done(struct outcome_found *found)
{
	free(found->detail);
	*found = (struct outcome_found){0};
}
