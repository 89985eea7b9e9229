/* SPDX-License-Identifier: Apache-2.0 */

/*
 * serve-faults FOLDER CONTROL: serves the files in FOLDER on 127.0.0.1, as wrongly as the word in
 * the file CONTROL says at the time of each request
 *
 * Prints its port, then serves until its standard input ends.  Words: none; slow (right, after
 * 300 ms); and the faults
 *
 *   404, 403, 503, busy (503 for an hour)
 *   reset, stall   nothing comes
 *   short          half of what the header promises
 *   wrong          other bytes
 *   corrupt        lengths inside a GRIB message are damaged
 *   changed        another object, the file "changed" beside the one asked for, with its own ETag
 *
 * A fault with "-later" spares the objects named "0"; one with "-middle" comes after half of the
 * bytes.
 */

#include <fcntl.h>
#include <stdbool.h>
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

/* What a request is answered with. */
struct answer {
	char fault[16];
	bool middle; /* the fault comes after half of the bytes */
};

static bool answer_is(const struct answer *answer, const char *fault)
{
	return strcmp(answer->fault, fault) == 0;
}

static struct answer answer_of(const char *word, const char *target)
{
	struct answer answer = {0};
	const char *name = strrchr(target, '/');

	snprintf(answer.fault, sizeof(answer.fault), "%.15s", word);
	answer.fault[strcspn(answer.fault, "-\n")] = '\0';
	answer.middle = strstr(word, "-middle");
	if (strstr(word, "-later") && name && strcmp(name, "/0") == 0)
		strcpy(answer.fault, "none");
	return answer;
}

/* The header and the first half of a right answer; the rest of it is @ret_rest. */
static void serve_half(struct bad_connection *connection, const struct bad_request *request,
		       struct slice object, struct slice *ret_rest)
{
	uint64_t first = 0, last = object.size - 1;
	struct slice body;
	char head[256];

	bad_range(request, &first, &last);
	body = slice_sub(object, first, last - first + 1);
	snprintf(head, sizeof(head),
		 "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes %llu-%llu/%zu\r\n"
		 "Content-Length: %zu\r\nETag: \"e\"\r\n\r\n",
		 (unsigned long long)first, (unsigned long long)last, object.size, body.size);
	bad_send_text(connection, head);
	bad_send(connection, body.data, body.size / 2);
	*ret_rest = slice_sub(body, body.size / 2, body.size);
}

static void damage(struct buf *object, size_t from, size_t to, uint8_t mask)
{
	for (size_t i = from; i < to && i < object->size; i++)
		object->data[i] ^= mask;
}

/* The bytes of an object as the fault has them. */
static void spoil(const struct answer *answer, const char *path, struct buf *object)
{
	char other[4200];

	if (answer_is(answer, "wrong"))
		damage(object, answer->middle ? object->size / 2 : 0, object->size, 0x5a);
	/* Section 1's length, and the end of the message. */
	if (answer_is(answer, "corrupt"))
		damage(object, answer->middle ? object->size - 4 : 16, object->size, 0x80);
	if (answer_is(answer, "changed")) {
		snprintf(other, sizeof(other), "%.*s/changed", (int)(strrchr(path, '/') - path),
			 path);
		buf_clear(object);
		load(other, object);
	}
}

static void serve(struct bad_connection *connection, const struct bad_request *request,
		  const struct answer *answer, struct slice object)
{
	struct slice rest = {0};
	bool is_short = answer_is(answer, "short");

	if (answer->middle || is_short)
		serve_half(connection, request, object, &rest);
	if (answer_is(answer, "reset") || is_short)
		bad_close(connection, !is_short);
	else if (answer_is(answer, "stall"))
		bad_stall(connection, 3600 * 1000);
	else if (answer->middle)
		bad_send(connection, rest.data, rest.size);
	else if (answer_is(answer, "changed"))
		bad_serve_tagged(connection, request, object, "changed");
	else
		bad_serve(connection, request, object);
}

static void script(void *argument, struct bad_connection *connection,
		   const struct bad_request *request)
{
	const struct served *served = argument;
	CLEANUP(buf_done) struct buf object = BUF_INIT(OBJECT_MAX);
	CLEANUP(buf_done) struct buf word = BUF_INIT(64);
	struct answer answer;
	char path[4096];

	load(served->control, &word);
	answer = answer_of(word.size ? buf_text(&word, NULL) : "404", request->target);
	snprintf(path, sizeof(path), "%s%.*s", served->folder, (int)strcspn(request->target, "?"),
		 request->target);
	if (strstr(request->target, "..") || load(path, &object) < 0 || answer_is(&answer, "404"))
		bad_reply_text(connection, 404, "", "not here");
	else if (answer_is(&answer, "403"))
		bad_reply_text(connection, 403, "", "not for you");
	else if (answer_is(&answer, "503"))
		bad_reply_text(connection, 503, "", "slow down");
	else if (answer_is(&answer, "busy"))
		bad_reply_text(connection, 503, "Retry-After: 3600\r\n", "come back later");
	else {
		if (answer_is(&answer, "slow"))
			bad_stall(connection, 300);
		spoil(&answer, path, &object);
		serve(connection, request, &answer, buf_slice(&object));
	}
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
