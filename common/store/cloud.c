/* SPDX-License-Identifier: Apache-2.0 */
#include "store/cloud.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/random.h"
#include "base/text.h"
#include "base/time.h"
#include "net/lane.h"
#include "store/check.h"

enum { CLOUD_LIST_TRIES = 3 };

int write_id_new(struct write_id *ret_id, struct error *err)
{
	uint8_t b[16];
	char hex[33];
	int r = random_bytes(b, sizeof(b), err);

	if (r < 0)
		return r;
	b[6] = (b[6] & 0x0f) | 0x40;
	b[8] = (b[8] & 0x3f) | 0x80;
	text_hex(b, sizeof(b), hex);
	snprintf(ret_id->text, sizeof(ret_id->text), "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8,
		 hex + 12, hex + 16, hex + 20);
	return 0;
}

int cloud_site(const char *scheme, const char *origin, const char *bucket,
	       const struct store_options *options, struct http_site *ret_site, struct error *err)
{
	CLEANUP(freep) char *name = text_printf(err, "%s %s %s", scheme, origin, bucket);

	if (!name)
		return ERR_MEMORY;
	*ret_site = (struct http_site){
		.lane = lane_get(name, err),
		.allow_private = options->allow_private,
		.timeout_ms = options->timeout_ms,
		.stall_ms = options->stall_ms,
	};
	return ret_site->lane ? 0 : ERR_MEMORY;
}

int cloud_read_size(const char *text, uint64_t *ret_size, struct error *err)
{
	if (text_u64(slice_text(text), ret_size, NULL) == 0)
		return 0;
	return error_set(err, ERR_FORMAT, "an object with size '%.60s'", text);
}

int cloud_read_time(const char *text, int64_t *ret_time, struct error *err)
{
	if (time_parse(text, 0, ret_time, NULL) == 0)
		return 0;
	return error_set(err, ERR_FORMAT, "an object with time '%.60s'", text);
}

void cloud_info(const struct http_answer *answer, struct store_info *ret_info)
{
	const char *etag = http_header(answer, "etag");
	uint64_t size = answer->total;

	if (size == UINT64_MAX)
		size = answer->attempt.content_length;
	if (size == UINT64_MAX)
		size = answer->attempt.body.size;
	*ret_info = (struct store_info){
		.size = size,
		.last_modified = http_header_time(answer, "last-modified"),
	};
	if (etag && strlen(etag) < sizeof(ret_info->version.text))
		snprintf(ret_info->version.text, sizeof(ret_info->version.text), "%s", etag);
}

struct slice cloud_bare_etag(const char *etag)
{
	struct slice bare = slice_text(etag);

	if (bare.size >= 2 && bare.data[0] == '"' && bare.data[bare.size - 1] == '"')
		return slice_sub(bare, 1, bare.size - 2);
	return bare;
}

void cloud_http_date(int64_t seconds, char text[32])
{
	static const char *const days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
	static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
					     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
	time_t when = (time_t)seconds;
	struct tm tm;

	/* Not strftime(): its names follow the locale. */
	if (!gmtime_r(&when, &tm))
		gmtime_r(&(time_t){0}, &tm);
	snprintf(text, 32, "%s, %02u %s %04u %02u:%02u:%02u GMT", days[tm.tm_wday % 7],
		 (unsigned int)tm.tm_mday % 100, months[tm.tm_mon % 12],
		 (unsigned int)(tm.tm_year + 1900) % 10000, (unsigned int)tm.tm_hour % 100,
		 (unsigned int)tm.tm_min % 100, (unsigned int)tm.tm_sec % 100);
}

/*
 * The time is not sent along: servers that keep fractions of a second would refuse the very object
 * whose time was recorded in whole ones.  It is compared with the answer's.
 */
int cloud_add_condition(const struct store_condition *condition, struct http_lines *headers,
			struct error *err)
{
	struct slice bare;

	if (!condition || !condition->etag || text_starts(condition->etag, "W/"))
		return 0;
	if (strcmp(condition->etag, "*") == 0)
		return http_lines_add(headers, err, "If-Match: *");
	bare = cloud_bare_etag(condition->etag);
	return http_lines_add(headers, err, "If-Match: \"%.*s\"", (int)bare.size,
			      (const char *)bare.data);
}

/* The bytes change hands without a copy where @out is still empty. */
static int cloud_take_body(struct http_answer *answer, struct buf *out, struct error *err)
{
	struct buf *body = &answer->attempt.body;

	if (out->size)
		return buf_append_slice(out, buf_slice(body), err);
	if (body->size > out->max)
		return error_set(err, ERR_FORMAT, "larger than %zu bytes", out->max);
	free(out->data);
	out->data = body->data;
	out->size = body->size;
	out->capacity = body->capacity;
	*body = (struct buf){0};
	return 0;
}

static int cloud_describe(const struct http_answer *answer, const struct store_condition *condition,
			  struct store_info *ret_info, struct error *err)
{
	cloud_info(answer, ret_info);
	return store_check_condition(condition, ret_info, err);
}

static int cloud_take_answer(const struct cloud_dialect *dialect, struct http_answer *answer,
			     const struct store_condition *condition, struct buf *out,
			     struct store_info *ret_info, struct error *err)
{
	struct store_info info;
	int status = answer->attempt.status;
	int r;

	if (status == 412 || status == 304)
		return error_set(err, ERR_CHANGED, "the object is not the one recorded (HTTP %d)",
				 status);
	if (status != 200 && status != 206)
		return dialect->explain(dialect->argument, answer, err);
	r = (dialect->describe ? dialect->describe : cloud_describe)(answer, condition, &info, err);
	if (r == 0)
		r = cloud_take_body(answer, out, err);
	if (r == 0 && ret_info)
		*ret_info = info;
	return r;
}

int cloud_get(const struct http_site *site, const char *url, uint64_t offset, uint64_t length,
	      const struct store_condition *condition, struct buf *out, struct store_info *ret_info,
	      const struct cloud_dialect *dialect, struct error *err)
{
	CLEANUP(http_lines_free) struct http_lines headers = {0};
	CLEANUP(http_answer_done) struct http_answer answer = {0};
	struct http_request request = {
		.method = "GET",
		.url = url,
		.headers = &headers,
		.ranged = offset != 0 || length != STORE_TO_END,
		.offset = offset,
		.length = length,
		.hedge = true,
		.redirects = site->sign ? 0 : 5,
		.into = out,
		/* 0 would mean the default. */
		.answer_max = out->max > out->size ? out->max - out->size : 1,
	};
	uint64_t end;
	int r = 0;

	if (length != STORE_TO_END && __builtin_add_overflow(offset, length, &end))
		return error_set(err, ERR_FORMAT, "the range ends beyond all objects");
	if (!dialect->no_if_match)
		r = cloud_add_condition(condition, &headers, err);
	if (r == 0)
		r = http_call(site, &request, &answer, err);
	return r < 0 ? r : cloud_take_answer(dialect, &answer, condition, out, ret_info, err);
}

int cloud_get_nothing(struct store *store, const char *key, uint64_t offset,
		      const struct store_condition *condition, struct store_info *ret_info,
		      struct error *err)
{
	struct store_info info;
	uint64_t length = 0;
	int r = store->ops->head(store, key, &info, err);

	if (r != 0)
		return r;
	r = store_check_condition(condition, &info, err);
	if (r == 0)
		r = store_check_range(offset, &length, info.size, err);
	if (r == 0 && ret_info)
		*ret_info = info;
	return r;
}

int cloud_take_version(const struct http_answer *answer, struct version *ret_version,
		       struct error *err)
{
	const char *etag = http_header(answer, "etag");

	if (!etag || strlen(etag) >= sizeof(ret_version->text))
		return error_set(err, ERR_FORMAT, "answer without a usable ETag");
	snprintf(ret_version->text, sizeof(ret_version->text), "%s", etag);
	return 0;
}

void cloud_page_done(struct cloud_page *page)
{
	for (size_t i = 0; i < page->items.n; i++)
		free(page->items.items[i].key);
	cloud_items_done(&page->items);
	free(page->token);
	*page = (struct cloud_page){0};
}

int cloud_page_add(struct cloud_page *page, struct cloud_item item, struct error *err)
{
	int r;

	if (!item.key)
		return error_set(err, ERR_FORMAT, "a listing with an entry without a key");
	r = cloud_items_push(&page->items, item, err);
	if (r < 0)
		free(item.key);
	return r;
}

static int cloud_show_page(const char *root, const struct cloud_page *page, store_list_fn each,
			   void *argument, struct error *err)
{
	for (size_t i = 0; i < page->items.n; i++) {
		const struct cloud_item *item = &page->items.items[i];
		struct store_entry entry = {.is_prefix = item->is_prefix, .info = item->info};
		int r;

		if (!text_starts(item->key, root))
			return error_set(err, ERR_FORMAT, "a listing with '%s', not asked for",
					 item->key);
		entry.key = item->key + strlen(root);
		/* The marker of the folder itself is no object of ours. */
		if (!entry.key[0])
			continue;
		r = each(argument, &entry, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* A garbled page is as likely a passing fault as a broken connection. */
static int cloud_try_page(struct store *store, cloud_load_page load, const char *prefix,
			  bool delimiter, const char *token, struct cloud_page *page,
			  struct error *err)
{
	int r = ERR_FORMAT;

	for (int i = 0; i < CLOUD_LIST_TRIES && r == ERR_FORMAT; i++) {
		cloud_page_done(page);
		r = load(store, prefix, delimiter, token, page, err);
	}
	return r;
}

int cloud_list(struct store *store, const char *root, cloud_load_page load, const char *prefix,
	       bool delimiter, store_list_fn each, void *argument, struct error *err)
{
	CLEANUP(freep) char *whole = text_printf(err, "%s%s", root, prefix);
	CLEANUP(freep) char *token = NULL;
	CLEANUP(freep) char *mark = NULL; /* of page 1, 2, 4 ...: a circle comes by again */

	if (!whole)
		return ERR_MEMORY;
	for (uint64_t n = 1;; n++) {
		CLEANUP(cloud_page_done) struct cloud_page page = {0};
		int r = cloud_try_page(store, load, whole, delimiter, token, &page, err);

		if (r == 0)
			r = cloud_show_page(root, &page, each, argument, err);
		if (r < 0 || !page.token || !page.token[0])
			return r;
		if (mark && strcmp(mark, page.token) == 0)
			return error_set(err, ERR_FORMAT, "a listing that goes round in a circle");
		free(token);
		token = TAKE(page.token);
		if ((n & (n - 1)) != 0)
			continue;
		free(mark);
		mark = text_dup(token, err);
		if (!mark)
			return ERR_MEMORY;
	}
}

char *cloud_prefix(const char *path, struct error *err)
{
	size_t size;

	while (*path == '/')
		path++;
	size = strlen(path);
	while (size > 0 && path[size - 1] == '/')
		size--;
	return text_printf(err, "%.*s%s", (int)size, path, size ? "/" : "");
}
