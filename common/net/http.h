/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * HTTP requests that end well or say why not
 *
 * One call is one request in the caller's sense: tried again after trouble with full jitter, by
 * the other side's Retry-After, doubled when a read is overdue, redirected where that is wanted,
 * signed anew each time, and checked against what was asked for.  It blocks the caller, never
 * longer than its deadline.
 *
 * What must never pass for data: a short body, another range than the one asked for, an encoded
 * body, an answer whose end cannot be told from a broken connection.
 *
 * Hosts whose addresses are not public are refused unless allowed.  Behind a proxy the name is
 * resolved here as well, and refused if it cannot be: the proxy would connect to anything.
 *
 * Each try is one line of the log at the debug level ("request"), without secrets.
 *
 * Threads: any may call; a site is shared, a request belongs to one call.
 */

#include <stdbool.h>
#include <stdint.h>

#include "net/engine.h"

struct lane;

enum http_verdict {
	HTTP_DONE,	/* the caller deals with it */
	HTTP_AGAIN,	/* passing trouble */
	HTTP_THROTTLED, /* fewer requests, please */
	HTTP_RENEW,	/* the credentials have expired */
};

/* How one bucket (or host) is talked to. */
struct http_site {
	struct lane *lane;
	bool allow_private;
	bool http2;
	bool direct;	     /* never through a proxy: metadata services */
	bool trusted_name;   /* the provider's host, or the user's word: a proxy may resolve it */
	uint32_t timeout_ms; /* of a call, all tries included */
	uint32_t stall_ms;   /* without progress; 0 = 15 000 */
	uint32_t connect_ms; /* 0 = 5000 */
	uint32_t tries;	     /* at most; 0 = 12 */
	/*
	 * Adds what the other side wants to see (Authorization ...), called before each try;
	 * NULL adds nothing.  @renew: what was sent before is no longer accepted.
	 */
	int (*sign)(void *argument, bool renew, const char *method, const char *url,
		    struct slice body, struct http_lines *headers, struct error *err);
	/* What a complete answer means; NULL: by its status alone, as http_judge(). */
	enum http_verdict (*judge)(void *argument, const struct attempt *answer);
	void *argument;
};

struct http_request {
	const char *method;
	const char *url;
	const struct http_lines *headers; /* may be NULL */
	struct slice body;
	bool ranged; /* bytes [offset, offset + length); length UINT64_MAX: to the end */
	uint64_t offset, length;
	bool hedge;		/* a read that may be sent twice at once */
	unsigned int redirects; /* followed at most */
	/*
	 * Memory to receive into, if it is empty and has some: fresh pages cost more than the
	 * network does.  It comes back as the answer's body, or is freed.  May be NULL.
	 */
	struct buf *into;
	size_t answer_max; /* bytes of a good answer's body; 0 = 64 MiB */
};

struct http_answer {
	struct attempt attempt; /* status, head and body of the last try */
	uint64_t total;		/* bytes of the whole object, UINT64_MAX if not said */
	unsigned int tries;	/* all that were sent, second ones too */
	char *url;		/* owned; where it came from after redirects */
};

/*
 * Sends @request until an answer is HTTP_DONE, whatever its status, or no try is left.  Good
 * answers (2xx) have been checked.  Errors: TEMPORARY (no connection, broken or stalled ones, or
 * HTTP 5xx in every try), TIMEOUT, THROTTLED, NETWORK (certificates, redirects without end), FORMAT
 * (answers that break the protocol), DENIED (address, redirect), INTERRUPTED, MEMORY, and those of
 * sign().
 */
int http_call(const struct http_site *site, const struct http_request *request,
	      struct http_answer *ret_answer, struct error *err);
/* Did a call end without an answer?  A write may then have been done all the same. */
bool http_is_unanswered(int result);
void http_answer_done(struct http_answer *answer);

/* The verdict by status: 429 and 503 with Retry-After throttle, 408 and 5xx are tried again. */
enum http_verdict http_judge(const struct attempt *answer);
/* Header of the answer, or NULL. */
const char *http_header(const struct http_answer *answer, const char *name);
/* Time of a header in microseconds since 1970, 0 if there is none. */
int64_t http_header_time(const struct http_answer *answer, const char *name);

/*
 * Takes apart a Content-Range "bytes 5-9/100" (RFC 9110, section 14.4); the total is UINT64_MAX
 * for "*".  @text may be NULL.  ERR_FORMAT.
 */
int http_parse_range(const char *text, uint64_t *ret_first, uint64_t *ret_last, uint64_t *ret_total,
		     struct error *err);
/* Microseconds since 1970 of an HTTP date, 0 for what is none. */
int64_t http_date_time(const char *text);

/*
 * The error that a status means which nobody expected: DENIED for 401 and 403, ABSENT for 404 and
 * 410, CHANGED for 412, FORMAT for 416, THROTTLED for 429, else NETWORK.  @detail (may be NULL)
 * is what the other side says.
 */
int http_status_error(int status, const char *detail, struct error *err);
