/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the drivers for object stores on HTTP have in common
 *
 * Threads: any.
 */

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

/* Size, time and ETag from the headers; @size of the whole object if the answer says it. */
void cloud_info(const struct http_answer *answer, struct store_info *ret_info);

/* If-Match for the ETag of @condition (may be NULL). */
int cloud_add_condition(const struct store_condition *condition, struct http_lines *headers,
			struct error *err);

/*
 * A read: sets range, hedging and ceiling of @request, calls, and deals with what all stores
 * mean alike: 404 and 410 are STORE_ABSENT, 304 and 412 ERR_CHANGED, the recorded validators are
 * compared with the answer too, the bytes go to @out.  What else the store says is left to
 * @explain, which turns an unexpected answer into an error or STORE_ABSENT.
 */
typedef int (*cloud_explain)(void *argument, const struct http_answer *answer, struct error *err);
int cloud_get(const struct http_site *site, const char *url, uint64_t offset, uint64_t length,
	      const struct store_condition *condition, struct buf *out, struct store_info *ret_info,
	      cloud_explain explain, void *argument, struct error *err);

/* ETag without quotes and weak marks, as it goes into conditions that want it bare. */
struct slice cloud_bare_etag(const char *etag);

/* "prefix/" from what follows the bucket in a URL: no slash in front, one behind unless empty. */
char *cloud_prefix(const char *path, struct error *err);

/* "Sun, 06 Nov 1994 08:49:37 GMT" */
void cloud_http_date(int64_t seconds, char text[32]);
