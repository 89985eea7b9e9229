/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A web server in the test's own process that does what its script says, right or wrong
 *
 * One thread a connection; every request is handed to the script, which answers with the
 * functions below.  The server listens on a free port of 127.0.0.1.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct bad_server;
struct bad_connection;

struct bad_request {
	char method[16];
	char target[8192]; /* path and query */
	char head[32768];  /* header lines with their line ends */
	struct buf body;
	unsigned int number; /* of the request at this server, from 1 */
};

typedef void (*bad_script)(void *argument, struct bad_connection *connection,
			   const struct bad_request *request);

/* Starts a server; @tls_name: speak TLS with a certificate for this name (NULL: plain). */
struct bad_server *bad_server_start(bad_script script, void *argument, const char *tls_name);
/* Stops accepting, breaks all connections, waits for the threads. */
void bad_server_stop(struct bad_server *server);
void bad_server_stopp(struct bad_server **server);
unsigned int bad_server_port(const struct bad_server *server);
/* Requests so far. */
unsigned int bad_server_requests(const struct bad_server *server);
/* The certificate of the authority that signed the server's, as PEM. */
const char *bad_server_ca(const struct bad_server *server);

/* Copies a header of the request; "" if there is none. */
const char *bad_header(const struct bad_request *request, const char *name, char out[4096]);
/* First and last byte of "Range: bytes=a-b"; false if there is none. */
bool bad_range(const struct bad_request *request, uint64_t *ret_first, uint64_t *ret_last);

/* Sends a whole answer with Content-Length; @headers are lines with "\r\n", may be "". */
void bad_reply(struct bad_connection *connection, int status, const char *headers,
	       struct slice body);
void bad_reply_text(struct bad_connection *connection, int status, const char *headers,
		    const char *body);
/* Answers a GET or HEAD of an object with these bytes, ranges and ETag as they should be. */
void bad_serve(struct bad_connection *connection, const struct bad_request *request,
	       struct slice object);
/* The same with another ETag, which is "e" otherwise; @tag without quotes. */
void bad_serve_tagged(struct bad_connection *connection, const struct bad_request *request,
		      struct slice object, const char *tag);
/* Sends bytes as they are. */
void bad_send(struct bad_connection *connection, const void *data, size_t size);
void bad_send_text(struct bad_connection *connection, const char *text);
/* Sends nothing for a while, or until the server stops or the client goes away. */
void bad_stall(struct bad_connection *connection, unsigned int ms);
/* Accepts a CONNECT: carries bytes between the client and @port of this machine until one ends. */
void bad_tunnel(struct bad_connection *connection, unsigned int port);
/* Ends the connection; with a reset if @reset. */
void bad_close(struct bad_connection *connection, bool reset);
