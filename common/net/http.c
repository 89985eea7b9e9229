/* SPDX-License-Identifier: Apache-2.0 */
#include "net/http.h"

#include <curl/curl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/log.h"
#include "base/random.h"
#include "base/text.h"
#include "base/time.h"
#include "net/address.h"
#include "net/cancel.h"
#include "net/lane.h"
#include "net/url.h"

enum {
	HTTP_TRIES = 12,
	HTTP_TRIES_WRONG = 3,	/* answers that break the protocol do so again and again */
	HTTP_TRIES_CONNECT = 5, /* nobody is there */
	HTTP_STALL_MS = 15000,
	HTTP_CONNECT_MS = 5000,
	HTTP_TIMEOUT_MS = 60000,
	HTTP_ERROR_BODY = 64 * 1024,
	HTTP_ANSWER_MAX = 64 * 1024 * 1024,
	/* How far into an unasked-for whole object we read to get at a range. */
	HTTP_SLICE_MAX = 256 * 1024 * 1024,
	HTTP_UPLOAD_BYTES_A_SECOND = 256 * 1024, /* slower uploads than this may time out */
};

#define HTTP_PAUSE_FIRST INT64_C(50000)
#define HTTP_PAUSE_MAX INT64_C(5000000)
#define HTTP_PAUSE_LONGEST (86400 * TIME_SECOND) /* that anybody may ask for */
#define HTTP_THROTTLE_FIRST INT64_C(200000)
#define HTTP_THROTTLE_MAX INT64_C(10000000)

/* One of the two requests that may be under way at once. */
struct http_slot {
	struct attempt attempt;
	struct http_lines headers;
	int64_t started;
	unsigned int number; /* of the try, from 1 */
	bool used;
	bool judged;
};

struct http_run {
	const struct http_site *site;
	const struct http_request *request;
	struct waiter waiter;
	struct http_slot slots[2];
	char *url;
	char *proxy;
	bool stranger; /* redirected to another host: no credentials go there */
	bool allow_private;
	int64_t deadline;
	unsigned int tries, redirects;
	unsigned int bad, wrong, unconnected, throttled;
	bool renew, renewed;
	bool hedged;
	int64_t retry_after; /* microseconds, of the last throttling answer */
	uint64_t total;
	struct error last; /* why the last try was not the last */
};

/* What one finished try means for the call. */
enum http_step {
	STEP_DONE,  /* this is the answer */
	STEP_AGAIN, /* another try may help; run->last says what happened */
	STEP_FAIL,  /* it cannot help */
	STEP_MOVED, /* the URL has changed */
};

/* --- checks of the answer's head, on the engine's thread --- */

static int head_check_coding(const struct attempt *attempt, struct error *err)
{
	const char *coding = attempt_header(attempt, "content-encoding");

	/* aws-chunked describes how the object was once uploaded, not these bytes. */
	if (!coding || !coding[0] || strcasecmp(coding, "identity") == 0 ||
	    strcasecmp(coding, "aws-chunked") == 0)
		return 0;
	return error_set(err, ERR_FORMAT, "answer encoded as '%s', which nobody asked for", coding);
}

int http_parse_range(const char *text, uint64_t *ret_first, uint64_t *ret_last, uint64_t *ret_total,
		     struct error *err)
{
	const char *dash, *slash;

	if (text && strncasecmp(text, "bytes ", 6) == 0) {
		text += 6;
		dash = strchr(text, '-');
		slash = dash ? strchr(dash, '/') : NULL;
		*ret_total = UINT64_MAX;
		if (slash &&
		    text_u64(slice_of(text, (size_t)(dash - text)), ret_first, NULL) == 0 &&
		    text_u64(slice_of(dash + 1, (size_t)(slash - dash - 1)), ret_last, NULL) == 0 &&
		    (strcmp(slash + 1, "*") == 0 ||
		     text_u64(slice_text(slash + 1), ret_total, NULL) == 0))
			return 0;
	}
	return error_set(err, ERR_FORMAT, "answer with Content-Range '%s'", text ? text : "(none)");
}

/* Compared with the request: a cache's short answer agrees with itself. */
static int head_check_range(struct attempt *attempt, const struct http_request *request,
			    struct error *err)
{
	uint64_t first, last, total;
	bool to_end = request->length == UINT64_MAX;
	int r;

	r = http_parse_range(attempt_header(attempt, "content-range"), &first, &last, &total, err);
	if (r < 0)
		return r;
	if (first != request->offset || last < first ||
	    (to_end ? total != UINT64_MAX && last + 1 != total
		    : last - first + 1 != request->length))
		return error_set(err, ERR_FORMAT,
				 "answer with bytes %" PRIu64 "-%" PRIu64 ", asked for %" PRIu64
				 " from byte %" PRIu64,
				 first, last, request->length, request->offset);
	if (attempt->content_length != UINT64_MAX && attempt->content_length != last - first + 1)
		return error_set(err, ERR_FORMAT,
				 "answer of %" PRIu64 " bytes for a range of %" PRIu64,
				 attempt->content_length, last - first + 1);
	return 0;
}

/* The whole object came though a range was asked for: cut the range out. */
static int head_slice(struct attempt *attempt, const struct http_request *request,
		      struct error *err)
{
	uint64_t end = 0;
	uint64_t length = request->length == UINT64_MAX ? 0 : request->length;

	if (__builtin_add_overflow(request->offset, length, &end) || end > HTTP_SLICE_MAX)
		return error_set(err, ERR_UNSUPPORTED,
				 "the server sends whole objects instead of ranges");
	if (attempt->content_length != UINT64_MAX && attempt->content_length < end)
		return error_set(err, ERR_FORMAT,
				 "the object has %" PRIu64 " bytes, wanted up to byte %" PRIu64,
				 attempt->content_length, end);
	attempt->skip = request->offset;
	if (request->length != UINT64_MAX)
		attempt->want = request->length;
	return 0;
}

static int http_on_head(struct attempt *attempt, struct error *err)
{
	const struct http_request *request = attempt->argument;
	int r;

	if (attempt->status < 200 || attempt->status > 299 ||
	    strcmp(request->method, "HEAD") == 0) {
		attempt->body.max = attempt->want = HTTP_ERROR_BODY;
		return 0;
	}
	if (strcmp(request->method, "GET") != 0)
		return 0;
	r = head_check_coding(attempt, err);
	if (r < 0)
		return r;
	if (!attempt->framed)
		return error_set(err, ERR_FORMAT, "answer whose end cannot be told");
	if (request->ranged && attempt->status == 206)
		return head_check_range(attempt, request, err);
	if (request->ranged && attempt->status == 200)
		return head_slice(attempt, request, err);
	if (attempt->status == 206)
		return error_set(err, ERR_FORMAT, "part of an object, asked for the whole");
	return 0;
}

/* --- one try --- */

static bool header_is_secret(const char *line)
{
	static const char *const names[] = {"authorization:", "cookie:", "x-amz-", "x-ms-",
					    "x-goog-"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strncasecmp(line, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

static int run_build_headers(struct http_run *run, struct http_lines *headers, struct error *err)
{
	const struct http_request *request = run->request;
	const struct http_site *site = run->site;
	int r = 0;

	for (size_t i = 0; request->headers && i < request->headers->n && r == 0; i++)
		if (!run->stranger || !header_is_secret(request->headers->items[i]))
			r = http_lines_add(headers, err, "%s", request->headers->items[i]);
	if (r == 0 && strcmp(request->method, "GET") == 0)
		r = http_lines_add(headers, err, "Accept-Encoding: identity");
	if (r == 0 && request->ranged && request->length == UINT64_MAX)
		r = http_lines_add(headers, err, "Range: bytes=%" PRIu64 "-", request->offset);
	else if (r == 0 && request->ranged)
		r = http_lines_add(headers, err, "Range: bytes=%" PRIu64 "-%" PRIu64,
				   request->offset, request->offset + request->length - 1);
	if (r == 0)
		r = http_lines_add(headers, err, "User-Agent: refmt");
	if (r == 0 && site->sign && !run->stranger)
		r = site->sign(site->argument, run->renew, request->method, run->url, request->body,
			       headers, err);
	return r;
}

static void slot_done(struct http_slot *slot)
{
	attempt_done(&slot->attempt);
	http_lines_free(&slot->headers);
	*slot = (struct http_slot){0};
}

/* The caller's memory goes to the first who comes. */
static struct buf run_take_memory(struct http_run *run)
{
	struct buf *into = run->request->into;
	struct buf memory = {0};

	if (into && !into->size) {
		memory = *into;
		into->data = NULL;
		into->capacity = 0;
	}
	return memory;
}

/* Starts a try in @slot; a turn of the lane has been taken. */
static int run_start(struct http_run *run, struct http_slot *slot, struct error *err)
{
	const struct http_site *site = run->site;
	const struct http_request *request = run->request;
	int r;

	slot_done(slot);
	r = run_build_headers(run, &slot->headers, err);
	if (r < 0)
		return r;
	run->renew = false;
	slot->attempt = (struct attempt){
		.method = request->method,
		.url = run->url,
		.headers = &slot->headers,
		.upload = request->body,
		.proxy = run->proxy,
		.allow_private = run->allow_private,
		.http2 = site->http2,
		.connect_ms = site->connect_ms ? site->connect_ms : HTTP_CONNECT_MS,
		.stall_ms = site->stall_ms ? site->stall_ms : HTTP_STALL_MS,
		.deadline = run->deadline,
		.on_head = http_on_head,
		.argument = (void *)request,
	};
	slot->attempt.body = run_take_memory(run);
	slot->attempt.body.max = request->answer_max ? request->answer_max : HTTP_ANSWER_MAX;
	slot->started = time_monotonic();
	r = attempt_start(&slot->attempt, &run->waiter, err);
	if (r < 0)
		return r;
	slot->used = true;
	slot->number = ++run->tries;
	return 0;
}

/* --- waiting --- */

static struct http_slot *run_finished_slot(struct http_run *run)
{
	for (size_t i = 0; i < ARRAY_LEN(run->slots); i++) {
		struct http_slot *slot = &run->slots[i];

		if (slot->used && !slot->judged && slot->attempt.outcome != ATTEMPT_RUNNING)
			return slot;
	}
	return NULL;
}

/* Waits for a try to end, at most until @until: NULL then, and when cancelled. */
static struct http_slot *run_wait(struct http_run *run, int64_t until)
{
	struct http_slot *slot;

	pthread_mutex_lock(&run->waiter.lock);
	for (;;) {
		slot = run_finished_slot(run);
		if (slot || run->waiter.cancelled || time_monotonic() >= until)
			break;
		waiter_sleep(&run->waiter, until);
	}
	pthread_mutex_unlock(&run->waiter.lock);
	return slot;
}

static bool run_is_cancelled(struct http_run *run)
{
	bool cancelled;

	pthread_mutex_lock(&run->waiter.lock);
	cancelled = run->waiter.cancelled;
	pthread_mutex_unlock(&run->waiter.lock);
	return cancelled;
}

/* Sleeps until @until; false when cancelled. */
static bool run_sleep(struct http_run *run, int64_t until)
{
	while (time_monotonic() < until && !run_is_cancelled(run))
		run_wait(run, until);
	return !run_is_cancelled(run);
}

static uint64_t run_size(const struct http_run *run)
{
	return run->request->ranged && run->request->length != UINT64_MAX ? run->request->length
									  : 0;
}

/* One line about a try that has ended. */
static void slot_log(const struct http_run *run, const struct http_slot *slot)
{
	const struct attempt *attempt = &slot->attempt;
	const struct http_request *request = run->request;
	CLEANUP(freep) char *url = NULL;
	int64_t took = time_monotonic() - slot->started;
	const char *error =
		attempt->outcome == ATTEMPT_CANCELLED ? "given up" : attempt->error.text;
	char range[50] = "";

	if (!log_enabled(LOG_DEBUG))
		return;
	url = url_redact(attempt->url, NULL);
	if (request->ranged && request->length == UINT64_MAX)
		snprintf(range, sizeof(range), "%" PRIu64 "-", request->offset);
	else if (request->ranged)
		snprintf(range, sizeof(range), "%" PRIu64 "-%" PRIu64, request->offset,
			 request->offset + request->length - 1);
	const struct log_field fields[] = {
		{.name = "method", .text = request->method},
		{.name = "url", .text = url ? url : ""},
		{.name = "range", .text = range},
		{.name = "status", .number = (uint64_t)attempt->status},
		{.name = "bytes", .number = attempt->body.size},
		{.name = "microseconds", .number = (uint64_t)took},
		{.name = "attempt", .number = slot->number},
		{.name = "error", .text = error},
		{0},
	};
	log_fields(LOG_DEBUG, "request", fields,
		   "%s %s%s%s: HTTP %d, %zu bytes in %.1f ms, attempt %u%s%s", request->method,
		   url ? url : "", range[0] ? " bytes " : "", range, attempt->status,
		   attempt->body.size, (double)took / 1000, slot->number, error[0] ? ": " : "",
		   error);
}

/* The turn of a finished or given up try goes back. */
static void slot_leave(struct http_run *run, struct http_slot *slot, enum lane_result result)
{
	slot->judged = true;
	lane_leave(run->site->lane, result);
}

static void slot_measure(struct http_run *run, const struct http_slot *slot)
{
	if (run->request->hedge)
		lane_measure(run->site->lane, run_size(run), time_monotonic() - slot->started);
}

/* Gives up all that is still under way, but for @but. */
static void run_cancel_rest(struct http_run *run, const struct attempt *but)
{
	for (size_t i = 0; i < ARRAY_LEN(run->slots); i++) {
		struct http_slot *slot = &run->slots[i];

		if (!slot->used || slot->judged || &slot->attempt == but)
			continue;
		attempt_cancel(&slot->attempt);
		slot_log(run, slot);
		/* As slow as this at least; leaving it out would make the measure ever smaller. */
		slot_measure(run, slot);
		slot_leave(run, slot, LANE_BAD);
	}
}

static struct http_slot *run_free_slot(struct http_run *run)
{
	for (size_t i = 0; i < ARRAY_LEN(run->slots); i++)
		if (!run->slots[i].used || run->slots[i].judged)
			return &run->slots[i];
	return NULL;
}

static bool run_is_busy(const struct http_run *run)
{
	for (size_t i = 0; i < ARRAY_LEN(run->slots); i++)
		if (run->slots[i].used && !run->slots[i].judged)
			return true;
	return false;
}

/* The first try is overdue: sends a second beside it, if the lane has room. */
static void run_hedge(struct http_run *run)
{
	struct http_slot *slot = run_free_slot(run);
	struct error ignored = ERROR_INIT;

	run->hedged = true;
	if (!slot || !lane_take_hedge(run->site->lane) || !lane_try_enter(run->site->lane))
		return;
	if (run_start(run, slot, &ignored) < 0)
		lane_leave(run->site->lane, LANE_BAD);
}

static int run_fail(struct http_run *run, struct error *err)
{
	if (run_is_cancelled(run))
		return error_set(err, ERR_INTERRUPTED, "cancelled");
	if (!run->last.kind)
		return error_set(err, ERR_TIMEOUT, "no answer in time");
	if (run->tries > 1)
		return error_set(err, run->last.kind, "%s (%u tries)", run->last.text, run->tries);
	return error_set(err, run->last.kind, "%s", run->last.text);
}

/* --- what a finished try means --- */

static int http_retry_after(const struct attempt *attempt, int64_t *ret_pause)
{
	const char *text = attempt_header(attempt, "retry-after");
	uint64_t seconds;
	int64_t date;

	*ret_pause = 0;
	if (!text)
		return 0;
	if (text_u64(slice_text(text), &seconds, NULL) == 0) {
		*ret_pause = seconds < HTTP_PAUSE_LONGEST / TIME_SECOND
				     ? (int64_t)seconds * TIME_SECOND
				     : HTTP_PAUSE_LONGEST;
		return 1;
	}
	date = http_date_time(text);
	if (date > time_now())
		*ret_pause = date - time_now();
	if (*ret_pause > HTTP_PAUSE_LONGEST)
		*ret_pause = HTTP_PAUSE_LONGEST;
	return date > 0;
}

enum http_verdict http_judge(const struct attempt *answer)
{
	int64_t pause;

	switch (answer->status) {
	case 429:
		return HTTP_THROTTLED;
	case 503:
		return http_retry_after(answer, &pause) ? HTTP_THROTTLED : HTTP_AGAIN;
	case 408:
	case 500:
	case 502:
	case 504:
	case 509:
		return HTTP_AGAIN;
	default:
		return HTTP_DONE;
	}
}

/* Is the body of a good answer all of what was asked for? */
static int run_check_body(struct http_run *run, const struct attempt *attempt, struct error *err)
{
	const struct http_request *request = run->request;
	uint64_t first, last;

	run->total = UINT64_MAX;
	if (attempt->status < 200 || attempt->status > 299 || strcmp(request->method, "GET") != 0)
		return 0;
	run->total = attempt->content_length;
	if (!request->ranged)
		return 0;
	if (attempt->status == 206 && http_parse_range(attempt_header(attempt, "content-range"),
						       &first, &last, &run->total, err) < 0)
		return ERR_FORMAT;
	if (request->length != UINT64_MAX && attempt->body.size != request->length)
		return error_set(err, ERR_FORMAT, "%zu bytes came, asked for %" PRIu64,
				 attempt->body.size, request->length);
	if (attempt->skip)
		return error_set(err, ERR_FORMAT, "the object ends before byte %" PRIu64,
				 request->offset);
	return 0;
}

/* The answer breaks the protocol, or the bytes: a cache between may do better next time. */
static enum http_step run_wrong(struct http_run *run, const struct error *error)
{
	run->last = *error;
	if (error->kind == ERR_MEMORY || error->kind == ERR_UNSUPPORTED)
		return STEP_FAIL;
	run->bad++;
	return ++run->wrong >= HTTP_TRIES_WRONG ? STEP_FAIL : STEP_AGAIN;
}

static bool http_is_redirect(int status)
{
	return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

/*
 * Is the host that a proxy is to connect to a public one, as far as anybody can tell here?  A name
 * that only the proxy can resolve is as likely as not one of its own network.
 */
static int run_judge_name(struct http_run *run, const char *url, const char *host,
			  struct error *err)
{
	const struct http_lines none = {0};
	struct attempt attempt = {
		.method = "HEAD",
		.url = url,
		.headers = &none,
		.proxy = "",
		.name_only = true,
		.connect_ms = HTTP_CONNECT_MS,
		.stall_ms = HTTP_STALL_MS,
		.deadline = run->deadline,
	};
	int r = attempt_start(&attempt, &run->waiter, err);

	if (r < 0)
		return r;
	pthread_mutex_lock(&run->waiter.lock);
	while (attempt.outcome == ATTEMPT_RUNNING && !run->waiter.cancelled &&
	       time_monotonic() < run->deadline)
		waiter_sleep(&run->waiter, run->deadline);
	pthread_mutex_unlock(&run->waiter.lock);
	attempt_cancel(&attempt);
	attempt_done(&attempt);
	if (attempt.outcome == ATTEMPT_ANSWERED)
		return 0;
	if (attempt.outcome == ATTEMPT_FORBIDDEN)
		return error_set(err, attempt.error.kind, "%s", attempt.error.text);
	if (attempt.outcome == ATTEMPT_CANCELLED || attempt.outcome == ATTEMPT_LATE)
		return run_fail(run, err);
	return error_set(err, ERR_DENIED,
			 "'%s' cannot be resolved here, so it may not be public, and there is a "
			 "proxy (allow it explicitly to go there)",
			 host);
}

/* Sets where the next try goes, with the guards that need no resolved name. */
static int run_set_url(struct http_run *run, const char *text, struct error *err)
{
	CLEANUP(url_done) struct url url = {0};
	char *proxy;
	int r = url_parse(text, &url, err);

	if (r < 0)
		return r;
	proxy = run->site->direct ? text_dup("", err) : url_proxy(&url, err);
	if (!proxy)
		return ERR_MEMORY;
	free(run->proxy);
	run->proxy = proxy;
	/* Without a proxy the engine judges the address at the moment of connecting. */
	if (proxy[0] && !run->allow_private && (!run->site->trusted_name || run->stranger)) {
		r = run_judge_name(run, text, url.host, err);
		if (r < 0)
			return r;
	}
	if (text != run->url) {
		char *copy = text_dup(text, err);

		if (!copy)
			return ERR_MEMORY;
		free(run->url);
		run->url = copy;
	}
	return 0;
}

static int run_redirect(struct http_run *run, const struct attempt *attempt, struct error *err)
{
	CLEANUP(url_done) struct url from = {0};
	CLEANUP(url_done) struct url to = {0};
	CLEANUP(freep) char *text = NULL;
	const char *location = attempt_header(attempt, "location");
	int r;

	if (!location)
		return error_set(err, ERR_FORMAT, "redirect (HTTP %d) without a Location",
				 attempt->status);
	if (run->redirects++ >= run->request->redirects)
		return error_set(err, ERR_NETWORK, "redirected more than %u times",
				 run->request->redirects);
	r = url_parse(run->url, &from, err);
	if (r == 0)
		r = url_resolve(&from, location, &text, err);
	if (r == 0)
		r = url_parse(text, &to, err);
	if (r < 0)
		return r;
	if (from.tls && !to.tls)
		return error_set(err, ERR_DENIED, "redirected from https to http at '%s'", to.host);
	if (!url_same_origin(&from, &to))
		run->stranger = true;
	/* The permission was for the host that was named, not for those it names. */
	if (strcmp(from.host, to.host) != 0)
		run->allow_private = false;
	r = run_set_url(run, text, err);
	return r < 0 ? error_prefix(err, "redirected") : 0;
}

static enum http_step run_answered(struct http_run *run, struct attempt *attempt)
{
	const struct http_site *site = run->site;
	struct error error = ERROR_INIT;
	enum http_verdict verdict;

	if (run_check_body(run, attempt, &error) < 0)
		return run_wrong(run, &error);
	if (run->request->redirects && http_is_redirect(attempt->status)) {
		/* The other one was lent the URL that changes now. */
		run_cancel_rest(run, attempt);
		if (run_redirect(run, attempt, &run->last) < 0)
			return STEP_FAIL;
		return STEP_MOVED;
	}
	verdict = site->judge ? site->judge(site->argument, attempt) : http_judge(attempt);
	http_retry_after(attempt, &run->retry_after);
	switch (verdict) {
	case HTTP_DONE:
		return STEP_DONE;
	case HTTP_THROTTLED:
		error_set(&run->last, ERR_THROTTLED,
			  "throttled: the store asks for fewer requests (HTTP %d)",
			  attempt->status);
		run->throttled++;
		return STEP_AGAIN;
	case HTTP_RENEW:
		/* Once: with fresh credentials refused again, they are not what is wrong. */
		if (run->renewed)
			return STEP_DONE;
		run->renew = run->renewed = true;
		error_set(&run->last, ERR_DENIED, "credentials refused (HTTP %d)", attempt->status);
		return STEP_AGAIN;
	default:
		error_set(&run->last, ERR_TEMPORARY, "HTTP %d", attempt->status);
		run->bad++;
		return STEP_AGAIN;
	}
}

static enum http_step run_judge(struct http_run *run, struct attempt *attempt)
{
	switch (attempt->outcome) {
	case ATTEMPT_ANSWERED:
		return run_answered(run, attempt);
	case ATTEMPT_REJECTED:
		return run_wrong(run, &attempt->error);
	case ATTEMPT_CONNECT:
		run->last = attempt->error;
		run->bad++;
		if (++run->unconnected >= HTTP_TRIES_CONNECT)
			return STEP_FAIL;
		break;
	case ATTEMPT_BROKEN:
	case ATTEMPT_STALLED:
		run->last = attempt->error;
		run->bad++;
		break;
	default:
		run->last = attempt->error;
		return STEP_FAIL;
	}
	return STEP_AGAIN;
}

/* --- the call --- */

/* How long to wait before the next try: full jitter, so that many callers do not march in step. */
static int64_t run_pause(struct http_run *run)
{
	int64_t most, pause;

	if (run->last.kind == ERR_THROTTLED) {
		most = HTTP_THROTTLE_FIRST << (run->throttled < 8 ? run->throttled : 8);
		if (most > HTTP_THROTTLE_MAX)
			most = HTTP_THROTTLE_MAX;
		pause = (int64_t)(random_unit() * (double)most);
		return run->retry_after > 0 ? run->retry_after + pause / 4 : pause;
	}
	if (run->bad <= 1)
		return 0;
	most = HTTP_PAUSE_FIRST << (run->bad < 10 ? run->bad - 2 : 8);
	if (most > HTTP_PAUSE_MAX)
		most = HTTP_PAUSE_MAX;
	return (int64_t)(random_unit() * (double)most);
}

static bool run_has_tries(const struct http_run *run)
{
	unsigned int most = run->site->tries ? run->site->tries : HTTP_TRIES;

	/* Throttling is no trouble of this request: it waits as long as the deadline allows. */
	return run->bad + (run->renewed ? 1 : 0) < most;
}

/* Waits before the next try; fails if there is to be none. */
static int run_rest(struct http_run *run, struct error *err)
{
	int64_t now = time_monotonic();
	int64_t pause = run_pause(run);

	if (run->last.kind == ERR_THROTTLED && run->retry_after > 0)
		lane_pause(run->site->lane, run->retry_after);
	if (!run_has_tries(run)) {
		/* Each try stalled, but there was time left: no deadline has passed. */
		if (run->last.kind == ERR_TIMEOUT)
			run->last.kind = ERR_TEMPORARY;
		return run_fail(run, err);
	}
	if (now + pause >= run->deadline) {
		if (run->retry_after > 0)
			return error_set(err, run->last.kind,
					 "%s; it may be tried again in %" PRId64 " s",
					 run->last.text, run->retry_after / TIME_SECOND);
		return run_fail(run, err);
	}
	if (pause && !run_sleep(run, now + pause))
		return run_fail(run, err);
	return 0;
}

static enum lane_result run_lane_result(const struct http_run *run, enum http_step step)
{
	if (step == STEP_DONE || step == STEP_MOVED)
		return LANE_GOOD;
	return run->last.kind == ERR_THROTTLED ? LANE_THROTTLED : LANE_BAD;
}

/*
 * Waits until something ends, sending a second request when the first is overdue.  Returns the
 * slot, or NULL at the deadline and when cancelled.
 */
static struct http_slot *run_watch(struct http_run *run)
{
	int64_t overdue = run->deadline;
	struct http_slot *slot;

	if (run->request->hedge && !run->hedged)
		overdue = time_monotonic() + lane_overdue(run->site->lane, run_size(run));
	slot = run_wait(run, overdue < run->deadline ? overdue : run->deadline);
	if (slot || run_is_cancelled(run) || overdue >= run->deadline)
		return slot;
	run_hedge(run);
	/* The engine reports what is late; a little longer, so that its words are heard. */
	return run_wait(run, run->deadline + TIME_SECOND / 10);
}

/* One round: a turn, a try, perhaps a second one; the step says how to go on. */
static int run_round(struct http_run *run, enum http_step *ret_step, struct http_slot **ret_slot,
		     struct error *err)
{
	struct http_slot *slot;
	int r;

	if (!run_is_busy(run)) {
		r = lane_enter(run->site->lane, run->deadline, err);
		if (r < 0)
			return run->last.kind ? run_fail(run, err) : r;
		r = run_start(run, run_free_slot(run), err);
		if (r < 0) {
			lane_leave(run->site->lane, LANE_BAD);
			return r;
		}
	}
	slot = run_watch(run);
	if (!slot)
		return run_fail(run, err);
	/* Before the judgement, which may change the URL. */
	slot_log(run, slot);
	*ret_step = run_judge(run, &slot->attempt);
	if (*ret_step == STEP_DONE)
		slot_measure(run, slot);
	slot_leave(run, slot, run_lane_result(run, *ret_step));
	*ret_slot = slot;
	return 0;
}

static void run_take_answer(struct http_run *run, struct http_slot *slot,
			    struct http_answer *ret_answer)
{
	*ret_answer = (struct http_answer){
		.attempt = slot->attempt,
		.total = run->total,
		.tries = run->tries,
		.url = TAKE(run->url),
	};
	/* Lent things do not outlive the call. */
	ret_answer->attempt.headers = NULL;
	ret_answer->attempt.url = ret_answer->url;
	ret_answer->attempt.proxy = "";
	ret_answer->attempt.waiter = NULL;
	slot->attempt = (struct attempt){0};
}

static int run_all(struct http_run *run, struct http_answer *ret_answer, struct error *err)
{
	enum http_step step = STEP_FAIL;
	struct http_slot *slot = NULL;
	int r;

	for (;;) {
		r = run_round(run, &step, &slot, err);
		if (r < 0)
			return r;
		if (step == STEP_DONE) {
			run_cancel_rest(run, NULL);
			run_take_answer(run, slot, ret_answer);
			return 0;
		}
		if (step == STEP_FAIL)
			return run_fail(run, err);
		if (step == STEP_MOVED)
			continue;
		/* The other one is still under way and may do: no pause. */
		if (run_is_busy(run) && run_has_tries(run))
			continue;
		run->hedged = false;
		r = run_rest(run, err);
		if (r < 0)
			return r;
	}
}

static void run_done(struct http_run *run)
{
	run_cancel_rest(run, NULL);
	cancel_watch(NULL);
	for (size_t i = 0; i < ARRAY_LEN(run->slots); i++)
		slot_done(&run->slots[i]);
	waiter_done(&run->waiter);
	free(run->url);
	free(run->proxy);
}

int http_call(const struct http_site *site, const struct http_request *request,
	      struct http_answer *ret_answer, struct error *err)
{
	CLEANUP(run_done)
	struct http_run run = {
		.site = site, .request = request, .allow_private = site->allow_private};
	int64_t timeout = (int64_t)(site->timeout_ms ? site->timeout_ms : HTTP_TIMEOUT_MS) * 1000;
	int r;

	timeout += (int64_t)(request->body.size / HTTP_UPLOAD_BYTES_A_SECOND) * TIME_SECOND;
	run.deadline = cancel_deadline(time_monotonic() + timeout);
	waiter_init(&run.waiter);
	cancel_watch(&run.waiter);
	r = run_set_url(&run, request->url, err);
	if (r < 0)
		return r;
	return run_all(&run, ret_answer, err);
}

bool http_is_unanswered(int result)
{
	return result == ERR_TEMPORARY || result == ERR_TIMEOUT || result == ERR_NETWORK;
}

void http_answer_done(struct http_answer *answer)
{
	attempt_done(&answer->attempt);
	free(answer->url);
	*answer = (struct http_answer){0};
}

const char *http_header(const struct http_answer *answer, const char *name)
{
	return attempt_header(&answer->attempt, name);
}

int64_t http_date_time(const char *text)
{
	time_t date = curl_getdate(text, NULL);

	return date > 0 && date <= INT64_MAX / TIME_SECOND ? date * TIME_SECOND : 0;
}

int64_t http_header_time(const struct http_answer *answer, const char *name)
{
	const char *text = http_header(answer, name);

	return text ? http_date_time(text) : 0;
}

int http_status_error(int status, const char *detail, struct error *err)
{
	const char *colon = detail && detail[0] ? ": " : "";

	if (!detail)
		detail = "";
	switch (status) {
	case 401:
	case 403:
		return error_set(err, ERR_DENIED, "access denied (HTTP %d)%s%s", status, colon,
				 detail);
	case 404:
	case 410:
		return error_set(err, ERR_ABSENT, "not there (HTTP %d)%s%s", status, colon, detail);
	case 412:
		return error_set(err, ERR_CHANGED, "not in the expected state (HTTP %d)%s%s",
				 status, colon, detail);
	case 416:
		return error_set(err, ERR_FORMAT,
				 "the object is shorter than the range asked for (HTTP %d)%s%s",
				 status, colon, detail);
	case 429:
		return error_set(err, ERR_THROTTLED, "throttled (HTTP %d)%s%s", status, colon,
				 detail);
	case 501:
		return error_set(err, ERR_UNSUPPORTED, "not implemented there (HTTP %d)%s%s",
				 status, colon, detail);
	default:
		return error_set(err, ERR_NETWORK, "unexpected answer (HTTP %d)%s%s", status, colon,
				 detail);
	}
}
