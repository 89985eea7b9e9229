/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The engine under every HTTP request: curl's multi interface on a thread of its own
 *
 * An attempt is one request and its answer, or the way it failed.  The engine knows no retries
 * and no meaning of status codes; net/http.h does.
 *
 * Threads: any may start attempts; the waiter that an attempt reports to belongs to one thread.
 * There is one engine a process, made when first needed, made anew after fork().
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/vec.h"

/* Header lines "Name: value". */
DEFINE_VEC(http_lines, char *);

int http_lines_add(struct http_lines *lines, struct error *err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void http_lines_free(struct http_lines *lines);

enum attempt_outcome {
	ATTEMPT_RUNNING,
	ATTEMPT_ANSWERED,  /* a whole answer arrived */
	ATTEMPT_REJECTED,  /* on_head refused it; see error */
	ATTEMPT_CONNECT,   /* no connection: nothing was sent */
	ATTEMPT_BROKEN,	   /* the connection broke before the answer was whole */
	ATTEMPT_STALLED,   /* no bytes, or too few, for too long */
	ATTEMPT_LATE,	   /* the deadline passed */
	ATTEMPT_FORBIDDEN, /* the address is not public */
	ATTEMPT_TLS,	   /* the other side could not prove who it is */
	ATTEMPT_CANCELLED,
	ATTEMPT_FAILED /* our own trouble: memory, options */
};

/* Where finished attempts are announced. */
struct waiter {
	pthread_mutex_t lock;
	pthread_cond_t changed; /* CLOCK_MONOTONIC */
	unsigned int finished;	/* attempts that ended since the waiter began */
	bool cancelled;
};

/* Sleeps until @waiter changes or @until (monotonic microseconds); the caller holds its lock. */
void waiter_sleep(struct waiter *waiter, int64_t until);
void waiter_init(struct waiter *waiter);
void waiter_done(struct waiter *waiter);

struct attempt {
	/* What to send; everything is lent until the attempt has ended. */
	const char *method;
	const char *url;
	const struct http_lines *headers;
	struct slice upload;
	const char *proxy;  /* "" for none */
	bool allow_private; /* may talk to addresses that are not public */
	bool http2;
	bool name_only; /* connects to nobody: ATTEMPT_ANSWERED if all of the host's addresses are
			   public */
	uint32_t connect_ms;
	uint32_t stall_ms;
	int64_t deadline; /* monotonic microseconds */
	/*
	 * Called on the engine's thread when status and headers are complete; sets body.max, skip
	 * and want, and refuses the answer with a negative result.
	 */
	int (*on_head)(struct attempt *attempt, struct error *err);
	void *argument;

	/* The answer. */
	int status;
	struct buf head; /* header lines, each with a NUL after it */
	struct buf body;
	uint64_t content_length; /* UINT64_MAX: not said */
	bool framed;		 /* its end is told by more than the end of the connection */
	uint64_t skip;		 /* bytes of the body to drop first */
	uint64_t want;		 /* bytes to keep then; the rest is not waited for */
	enum attempt_outcome outcome;
	struct error error;
	char address[64]; /* of the other side */
	int64_t started, first_byte, ended;
	bool reused; /* the connection was there before */

	/* The engine's own. */
	struct waiter *waiter;
	struct engine_task *task;
	struct attempt *next;
};

/* Starts @attempt; it reports to @waiter when it has ended.  Fails only for lack of memory. */
int attempt_start(struct attempt *attempt, struct waiter *waiter, struct error *err);
/* Ends a running attempt and waits until the engine has let go of it.  Ended ones are fine. */
void attempt_cancel(struct attempt *attempt);
/* Value of a header of the answer, or NULL; lent by the attempt. */
const char *attempt_header(const struct attempt *attempt, const char *name);
/* Frees the answer. */
void attempt_done(struct attempt *attempt);

/* Bytes and requests so far, for statistics. */
struct engine_counts {
	uint64_t attempts, connections, bytes_in, bytes_out;
};
struct engine_counts engine_counts(void);
