/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the drivers for object stores on HTTP have in common
 *
 * Threads: any.
 */

#include "base/vec.h"
#include "net/http.h"
#include "store/store.h"

/* A name that a write carries, to know its own work again after a lost answer (UUID 4). */
struct write_id {
	char text[37];
};

int write_id_new(struct write_id *ret_id, struct error *err);

/* Defaults, timeouts and permissions of @options; the lane is named by host and bucket. */
int cloud_site(const char *scheme, const char *origin, const char *bucket,
	       const struct store_options *options, struct http_site *ret_site, struct error *err);

/* The size or RFC 3339 time (as microseconds) in a listing; ERR_FORMAT for what is none. */
int cloud_read_size(const char *text, uint64_t *ret_size, struct error *err);
int cloud_read_time(const char *text, int64_t *ret_time, struct error *err);

/* Size, time and ETag from the headers; @size of the whole object if the answer says it. */
void cloud_info(const struct http_answer *answer, struct store_info *ret_info);

/* If-Match for the ETag of @condition (may be NULL). */
int cloud_add_condition(const struct store_condition *condition, struct http_lines *headers,
			struct error *err);

/* How one kind of store words its answers. */
struct cloud_dialect {
	/*
	 * Turns an answer that is no success into an error, STORE_ABSENT, or an outcome that the
	 * driver knows.
	 */
	int (*explain)(void *argument, const struct http_answer *answer, struct error *err);
	/*
	 * Fills in what the answer says of the object and compares it with @condition; NULL: ETag
	 * and Last-Modified.
	 */
	int (*describe)(const struct http_answer *answer, const struct store_condition *condition,
			struct store_info *ret_info, struct error *err);
	void *argument;
	bool no_if_match; /* recorded ETags are not those of this protocol */
};

/*
 * A read: range, hedging and ceiling as they should be, 304 and 412 are ERR_CHANGED, recorded
 * validators are compared with the answer too, the bytes go to @out.
 */
int cloud_get(const struct http_site *site, const char *url, uint64_t offset, uint64_t length,
	      const struct store_condition *condition, struct buf *out, struct store_info *ret_info,
	      const struct cloud_dialect *dialect, struct error *err);

/* A read of no bytes, but of an object that is there and long enough. */
int cloud_get_nothing(struct store *store, const char *key, uint64_t offset,
		      const struct store_condition *condition, struct store_info *ret_info,
		      struct error *err);

/* Takes the ETag as the new version.  ERR_FORMAT if there is none. */
int cloud_take_version(const struct http_answer *answer, struct version *ret_version,
		       struct error *err);

/* An entry of a listing and a page of them. */
struct cloud_item {
	char *key;
	bool is_prefix;
	struct store_info info;
};

DEFINE_VEC(cloud_items, struct cloud_item);

struct cloud_page {
	struct cloud_items items;
	char *token; /* where the next page begins, NULL or "" at the end */
};

void cloud_page_done(struct cloud_page *page);
/* Takes over the key, also when it fails. */
int cloud_page_add(struct cloud_page *page, struct cloud_item item, struct error *err);

/* Loads one page: @prefix is the whole one, @token NULL at first.  ERR_FORMAT is tried again. */
typedef int (*cloud_load_page)(struct store *store, const char *prefix, bool delimiter,
			       const char *token, struct cloud_page *page, struct error *err);

/*
 * Adds what a page of a listing holds and sets its token, as each store writes them; ERR_FORMAT for
 * anything else, after which some may have been added.
 */
int cloud_read_s3(struct cloud_page *page, struct slice body, struct error *err);
int cloud_read_gcs(struct cloud_page *page, struct slice body, struct error *err);
int cloud_read_azure(struct cloud_page *page, struct slice body, struct error *err);

/* Lists below @root ("" or ending in '/'), page by page. */
int cloud_list(struct store *store, const char *root, cloud_load_page load, const char *prefix,
	       bool delimiter, store_list_fn each, void *argument, struct error *err);

/* ETag without quotes and weak marks, as it goes into conditions that want it bare. */
struct slice cloud_bare_etag(const char *etag);

/* "prefix/" from what follows the bucket in a URL: no slash in front, one behind unless empty. */
char *cloud_prefix(const char *path, struct error *err);

/* "Sun, 06 Nov 1994 08:49:37 GMT" */
void cloud_http_date(int64_t seconds, char text[32]);
