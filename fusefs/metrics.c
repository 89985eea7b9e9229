/* SPDX-License-Identifier: Apache-2.0 */
#include "fusefs/metrics.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/pool.h"
#include "base/text.h"
#include "fusefs/status.h"

#define TEXT_MAX (UINT64_C(1) << 20)
#define FILE_PERIOD_MS 10000
#define CLIENT_MS 2000 /* how long one client may take */

struct metrics {
	struct fs *fs;
	char *file; /* NULL: served on @listener */
	int listener;
	int stop; /* readable when the thread must end */
	pthread_t thread;
};

/* ---- a file ---- */

static int write_file(struct metrics *metrics, struct error *err)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT(TEXT_MAX);
	CLEANUP(freep) char *fresh = text_printf(err, "%s.new", metrics->file);
	FILE *out;
	bool written;
	int r;

	if (!fresh)
		return ERR_MEMORY;
	r = status_write_stats(metrics->fs, &text, err);
	if (r < 0)
		return r;
	out = fopen(fresh, "we");
	if (!out)
		return error_set_errno(err, errno, "cannot write metrics to '%s'", fresh);
	written = fwrite(text.data, text.size, 1, out) == 1;
	written = fclose(out) == 0 && written;
	if (!written || rename(fresh, metrics->file) < 0)
		return error_set_errno(err, errno, "cannot write metrics to '%s'", metrics->file);
	return 0;
}

static void *write_on(void *argument)
{
	struct metrics *metrics = argument;
	struct pollfd stop = {.fd = metrics->stop, .events = POLLIN};
	struct error err;

	while (poll(&stop, 1, FILE_PERIOD_MS) == 0)
		if (write_file(metrics, &err) < 0)
			log_event(LOG_DEBUG, "metrics", "%s", err.text);
	return NULL;
}

/* ---- HTTP ---- */

/* Reads until the request's empty line; what it asks for makes no difference. */
static bool request_ends(int client)
{
	char request[4096];
	size_t n = 0;
	ssize_t got;

	while (n < sizeof(request) - 1 &&
	       (got = recv(client, request + n, sizeof(request) - 1 - n, 0)) > 0) {
		n += (size_t)got;
		request[n] = '\0';
		if (strstr(request, "\r\n\r\n") || strstr(request, "\n\n"))
			return true;
	}
	return false;
}

static void send_all(int client, struct slice bytes)
{
	while (bytes.size) {
		ssize_t n = send(client, bytes.data, bytes.size, MSG_NOSIGNAL);

		if (n <= 0)
			return;
		bytes = slice_sub(bytes, (size_t)n, bytes.size);
	}
}

static void answer(struct metrics *metrics, int client)
{
	const struct timeval limit = {.tv_sec = CLIENT_MS / 1000};
	CLEANUP(buf_done) struct buf text = BUF_INIT(TEXT_MAX);
	CLEANUP(buf_done) struct buf reply = BUF_INIT(TEXT_MAX + 4096);

	setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	if (!request_ends(client) || status_write_stats(metrics->fs, &text, NULL) < 0)
		return;
	if (buf_printf(&reply, NULL,
		       "HTTP/1.0 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\n"
		       "Content-Length: %zu\r\nConnection: close\r\n\r\n",
		       text.size) == 0 &&
	    buf_append_slice(&reply, buf_slice(&text), NULL) == 0)
		send_all(client, buf_slice(&reply));
}

static void *serve(void *argument)
{
	struct metrics *metrics = argument;

	for (;;) {
		struct pollfd fds[] = {
			{.fd = metrics->stop, .events = POLLIN},
			{.fd = metrics->listener, .events = POLLIN},
		};
		int client;

		if (poll(fds, ARRAY_LEN(fds), -1) < 0 && errno != EINTR)
			return NULL;
		if (fds[0].revents)
			return NULL;
		client = accept4(metrics->listener, NULL, NULL, SOCK_CLOEXEC);
		if (client < 0)
			continue;
		answer(metrics, client);
		close(client);
	}
}

static int listen_on(const struct addrinfo *address)
{
	const int on = 1;
	int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, address->ai_addr, address->ai_addrlen) < 0 || listen(fd, 16) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static int metrics_listen(struct metrics *metrics, const char *where, struct error *err)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
				       .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
	const char *colon = strrchr(where, ':');
	CLEANUP(freep) char *host = NULL;
	struct addrinfo *found;
	size_t n;

	if (!colon || !colon[1])
		return error_set(err, ERR_ARGUMENT,
				 "metrics address '%s' is neither HOST:PORT nor a path with '/'",
				 where);
	n = (size_t)(colon - where);
	/* IPv6 addresses come in brackets. */
	if (n >= 2 && where[0] == '[' && where[n - 1] == ']')
		host = slice_dup(slice_of(where + 1, n - 2), err);
	else
		host = n ? slice_dup(slice_of(where, n), err) : text_dup("127.0.0.1", err);
	if (!host)
		return ERR_MEMORY;
	if (getaddrinfo(host, colon + 1, &hints, &found) != 0)
		return error_set(err, ERR_ARGUMENT, "metrics address '%s' is no numeric address",
				 where);
	metrics->listener = listen_on(found);
	freeaddrinfo(found);
	if (metrics->listener < 0)
		return error_set_errno(err, errno, "cannot serve metrics at '%s'", where);
	return 0;
}

/* ---- both ---- */

static int metrics_start(struct metrics *metrics, const char *where, struct error *err)
{
	int r;

	metrics->stop = eventfd(0, EFD_CLOEXEC);
	if (metrics->stop < 0)
		return error_set_errno(err, errno, "cannot start metrics");
	if (strchr(where, '/')) {
		metrics->file = text_dup(where, err);
		r = metrics->file ? write_file(metrics, err) : ERR_MEMORY;
	} else {
		r = metrics_listen(metrics, where, err);
	}
	if (r < 0)
		return r;
	return thread_start(&metrics->thread, metrics->file ? write_on : serve, metrics, err);
}

static void metrics_close(struct metrics *metrics)
{
	if (metrics->listener >= 0)
		close(metrics->listener);
	if (metrics->stop >= 0)
		close(metrics->stop);
	free(metrics->file);
	free(metrics);
}

int metrics_new(struct fs *fs, const char *where, struct metrics **ret_metrics, struct error *err)
{
	struct metrics *metrics = malloc(sizeof(*metrics));
	int r;

	if (!metrics)
		return error_memory(err);
	*metrics = (struct metrics){.fs = fs, .listener = -1, .stop = -1};
	r = metrics_start(metrics, where, err);
	if (r < 0) {
		metrics_close(metrics);
		return r;
	}
	*ret_metrics = metrics;
	return 0;
}

struct metrics *metrics_free(struct metrics *metrics)
{
	const uint64_t one = 1;

	if (!metrics)
		return NULL;
	while (write(metrics->stop, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	pthread_join(metrics->thread, NULL);
	metrics_close(metrics);
	return NULL;
}
