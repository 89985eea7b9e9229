/* SPDX-License-Identifier: Apache-2.0 */

/*
 * serve-faults FOLDER CONTROL: serves the files in FOLDER on 127.0.0.1, as wrongly as the word in
 * the file CONTROL says at the time of each request
 *
 * Prints its port, then serves until its standard input ends.  Words: none, 404, 403, 503, busy
 * (503 for an hour), reset, stall, short, wrong, changed.
 */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "harness/bad-server.h"

#define OBJECT_MAX (1 << 24)

struct served {
	const char *folder, *control;
};

static int load(const char *path, struct buf *out)
{
	CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint8_t bytes[65536];
	ssize_t n = -1;

	while (fd >= 0 && (n = read(fd, bytes, sizeof(bytes))) > 0)
		buf_append(out, bytes, (size_t)n, NULL);
	return n == 0 ? 0 : -1;
}

/* Half of what was asked for, under a header that promises all. */
static void serve_short(struct bad_connection *connection, const struct bad_request *request,
			struct slice object)
{
	uint64_t first = 0, last = object.size - 1;
	char head[256];

	bad_range(request, &first, &last);
	snprintf(head, sizeof(head),
		 "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes %llu-%llu/%zu\r\n"
		 "Content-Length: %llu\r\n\r\n",
		 (unsigned long long)first, (unsigned long long)last, object.size,
		 (unsigned long long)(last - first + 1));
	bad_send_text(connection, head);
	bad_send(connection, object.data + first, (size_t)(last - first + 1) / 2);
	bad_close(connection, false);
}

static void serve_wrong(struct bad_connection *connection, const struct bad_request *request,
			struct buf *object)
{
	for (size_t i = 0; i < object->size; i++)
		object->data[i] ^= 0x5a;
	bad_serve(connection, request, buf_slice(object));
}

static void script(void *argument, struct bad_connection *connection,
		   const struct bad_request *request)
{
	const struct served *served = argument;
	CLEANUP(buf_done) struct buf object = BUF_INIT(OBJECT_MAX);
	CLEANUP(buf_done) struct buf word = BUF_INIT(64);
	char path[4096];
	const char *fault;

	load(served->control, &word);
	fault = buf_text(&word, NULL);
	snprintf(path, sizeof(path), "%s%.*s", served->folder, (int)strcspn(request->target, "?"),
		 request->target);
	if (!fault || strstr(request->target, "..") || load(path, &object) < 0 ||
	    strncmp(fault, "404", 3) == 0)
		bad_reply_text(connection, 404, "", "not here");
	else if (strncmp(fault, "403", 3) == 0)
		bad_reply_text(connection, 403, "", "not for you");
	else if (strncmp(fault, "503", 3) == 0)
		bad_reply_text(connection, 503, "", "slow down");
	else if (strncmp(fault, "busy", 4) == 0)
		bad_reply_text(connection, 503, "Retry-After: 3600\r\n", "come back later");
	else if (strncmp(fault, "reset", 5) == 0)
		bad_close(connection, true);
	else if (strncmp(fault, "stall", 5) == 0)
		bad_stall(connection, 3600 * 1000);
	else if (strncmp(fault, "short", 5) == 0)
		serve_short(connection, request, buf_slice(&object));
	else if (strncmp(fault, "wrong", 5) == 0)
		serve_wrong(connection, request, &object);
	else
		bad_serve(connection, request, buf_slice(&object));
}

int main(int argc, char **argv)
{
	struct served served;
	struct bad_server *server;
	char byte;

	if (argc != 3) {
		fprintf(stderr, "usage: serve-faults FOLDER CONTROL\n");
		return 2;
	}
	served = (struct served){argv[1], argv[2]};
	server = bad_server_start(script, &served, NULL);
	printf("%u\n", bad_server_port(server));
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	bad_server_stop(server);
	return 0;
}
