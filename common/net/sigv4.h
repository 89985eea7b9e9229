/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * AWS Signature Version 4 in the Authorization header
 *
 * Source: "Signature Version 4 signing process" in the AWS General Reference.  S3 differs in one
 * point: its paths are taken as they are sent, not normalised and not encoded again.
 *
 * Threads: any.
 */

#include <stdbool.h>
#include <stdint.h>

#include "net/engine.h"

#define SIGV4_EMPTY_BODY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

struct sigv4_key {
	const char *access_key;
	const char *secret_key;
	const char *session_token; /* NULL or "" for none */
};

struct sigv4_request {
	const char *method;
	struct slice path;		  /* as sent */
	struct slice query;		  /* as sent, without '?' */
	const struct http_lines *headers; /* all that are signed; Host must be there */
	const char *body_hash;		  /* SHA-256 in hexadecimal */
	const char *region;
	const char *service;
	int64_t time;
	bool plain_path; /* S3 */
	bool as_given;	 /* normalise nothing in the path, but encode it */
};

/* SHA-256 of a body in hexadecimal. */
int sigv4_hash(struct slice body, char ret_hash[65], struct error *err);

/* Appends the canonical request, and the names of the signed headers to @names. */
int sigv4_canonical(const struct sigv4_request *request, struct buf *out, struct buf *names,
		    struct error *err);
/* Appends the string to sign for a canonical request. */
int sigv4_string_to_sign(const struct sigv4_request *request, struct slice canonical,
			 struct buf *out, struct error *err);
/* Signs: 64 hexadecimal digits and a NUL. */
int sigv4_signature(const struct sigv4_request *request, const char *secret_key, struct slice text,
		    char ret_signature[65], struct error *err);

/*
 * Adds X-Amz-Date, X-Amz-Security-Token and Authorization to @headers, which has all that is to
 * be signed; User-Agent and Accept-Encoding in it are left out, because proxies change them.
 */
int sigv4_sign(const struct sigv4_request *request, const struct sigv4_key *key,
	       struct http_lines *headers, struct error *err);
