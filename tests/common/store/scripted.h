/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One operation of a cloud store on a server that follows a script
 */

#include "test.h"

#include "base/time.h"
#include "harness/bad-server.h"
#include "store/store.h"

struct scripted {
	const char *url;
	bool anonymous;
	bad_script run;
	void *argument;
	int (*act)(struct store *store, struct error *err);
	int want;
	unsigned int requests_least, requests_most;
	const char *text; /* in the error, or NULL */
};

static inline int act_get(struct store *store, struct error *err)
{
	CLEANUP(buf_done) struct buf got = BUF_INIT(1000);
	int r = store_get(store, "key", 2, 3, NULL, &got, NULL, err);

	if (r == 0 && !slice_is(buf_slice(&got), "234"))
		return error_set(err, ERR_FORMAT, "wrong bytes");
	return r;
}

static inline int act_copy(struct store *store, struct error *err)
{
	return store_copy(store, "key", NULL, "other", err);
}

/* The right outcome, in time, after as many requests as it takes. */
static inline void scripted_run(const struct scripted *c)
{
	CLEANUP(bad_server_stopp)
	struct bad_server *server = bad_server_start(c->run, c->argument, NULL);
	CLEANUP(store_freep) struct store *store = NULL;
	struct error err = ERROR_INIT;
	char endpoint[100];
	int64_t start = time_monotonic();
	struct store_options options = {.endpoint_url = endpoint,
					.allow_private = true,
					.anonymous = c->anonymous,
					.timeout_ms = 2500,
					.stall_ms = 300};
	unsigned int requests;
	int r;

	snprintf(endpoint, sizeof(endpoint), "http://127.0.0.1:%u", bad_server_port(server));
	assert_ok(store_open(c->url, &options, &store, &err), &err);
	r = c->act(store, &err);
	requests = bad_server_requests(server);
	if (r != c->want)
		fail_msg("result %d, %u requests, error: %s", r, requests, err.text);
	assert_true(time_monotonic() - start < 6000000);
	if (requests < c->requests_least || requests > c->requests_most)
		fail_msg("%u requests", requests);
	if (c->text && !strstr(err.text, c->text))
		fail_msg("error: %s", err.text);
	/* The secret key of the AWS documentation, which test-s3 uses. */
	assert_null(strstr(err.text, "wJalrXUtnFEMI"));
}
