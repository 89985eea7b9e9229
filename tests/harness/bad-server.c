/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/bad-server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/time.h"

struct bad_connection {
	struct bad_server *server;
	struct bad_connection *next;
	pthread_t thread;
	int fd;
	SSL *tls;
	bool closed; /* by the script */
	bool head;   /* the request was a HEAD */
};

struct bad_server {
	bad_script script;
	void *argument;
	int fd;
	unsigned int port;
	pthread_t thread;
	pthread_mutex_t lock;
	struct bad_connection *connections;
	atomic_uint requests;
	atomic_bool stopping;
	SSL_CTX *tls;
	char *ca;
};

/* --- certificates --- */

static X509 *certificate_new(const char *name, EVP_PKEY *key, X509 *issuer, EVP_PKEY *issuer_key)
{
	static atomic_long serial = 1;
	X509 *certificate = X509_new();
	X509_EXTENSION *extension;
	char text[300];

	X509_set_version(certificate, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(certificate), atomic_fetch_add(&serial, 1));
	X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
	X509_gmtime_adj(X509_getm_notAfter(certificate), 86400);
	X509_set_pubkey(certificate, key);
	X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
				   (const unsigned char *)name, -1, -1, 0);
	X509_set_issuer_name(certificate, X509_get_subject_name(issuer ? issuer : certificate));
	snprintf(text, sizeof(text), "%s", issuer ? "CA:FALSE" : "critical,CA:TRUE");
	extension = X509V3_EXT_conf_nid(NULL, NULL, NID_basic_constraints, text);
	X509_add_ext(certificate, extension, -1);
	X509_EXTENSION_free(extension);
	if (issuer) {
		snprintf(text, sizeof(text), "DNS:%s", name);
		extension = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, text);
		X509_add_ext(certificate, extension, -1);
		X509_EXTENSION_free(extension);
	}
	X509_sign(certificate, issuer_key ? issuer_key : key, EVP_sha256());
	return certificate;
}

static char *certificate_pem(X509 *certificate)
{
	BIO *bio = BIO_new(BIO_s_mem());
	char *data, *copy;
	long size;

	PEM_write_bio_X509(bio, certificate);
	size = BIO_get_mem_data(bio, &data);
	copy = slice_dup(slice_of(data, (size_t)size), NULL);
	BIO_free(bio);
	return copy;
}

static void server_set_up_tls(struct bad_server *server, const char *name)
{
	EVP_PKEY *ca_key = EVP_EC_gen("P-256");
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *ca = certificate_new("test authority", ca_key, NULL, NULL);
	X509 *certificate = certificate_new(name, key, ca, ca_key);

	server->tls = SSL_CTX_new(TLS_server_method());
	SSL_CTX_use_certificate(server->tls, certificate);
	SSL_CTX_use_PrivateKey(server->tls, key);
	server->ca = certificate_pem(ca);
	X509_free(certificate);
	X509_free(ca);
	EVP_PKEY_free(key);
	EVP_PKEY_free(ca_key);
}

/* --- connections --- */

static ssize_t connection_read(struct bad_connection *connection, char *data, size_t size)
{
	if (connection->tls)
		return SSL_read(connection->tls, data, (int)size);
	return recv(connection->fd, data, size, 0);
}

void bad_send(struct bad_connection *connection, const void *data, size_t size)
{
	const char *at = data;

	while (size > 0 && !connection->closed) {
		ssize_t n = connection->tls ? SSL_write(connection->tls, at, (int)size)
					    : send(connection->fd, at, size, MSG_NOSIGNAL);

		if (n <= 0)
			return;
		at += n;
		size -= (size_t)n;
	}
}

void bad_send_text(struct bad_connection *connection, const char *text)
{
	bad_send(connection, text, strlen(text));
}

void bad_close(struct bad_connection *connection, bool reset)
{
	struct linger linger = {.l_onoff = 1};

	if (connection->closed)
		return;
	if (reset)
		setsockopt(connection->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	connection->closed = true;
	/* The descriptor stays until the thread ends, unless a reset has to go out now. */
	if (!reset)
		shutdown(connection->fd, SHUT_RDWR);
}

void bad_stall(struct bad_connection *connection, unsigned int ms)
{
	int64_t until = time_monotonic() + (int64_t)ms * 1000;

	while (time_monotonic() < until && !connection->server->stopping) {
		struct pollfd poll_fd = {.fd = connection->fd, .events = POLLRDHUP};

		if (poll(&poll_fd, 1, 20) > 0)
			return;
	}
}

/* Carries what has come from one side to the other; false at the end. */
static bool carry(int from, int to)
{
	char bytes[16384];
	ssize_t n = recv(from, bytes, sizeof(bytes), 0);

	return n > 0 && send(to, bytes, (size_t)n, MSG_NOSIGNAL) == n;
}

void bad_tunnel(struct bad_connection *connection, unsigned int port)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_port = htons((uint16_t)port),
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	CLEANUP(closep) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct pollfd ends[2] = {{.fd = connection->fd, .events = POLLIN},
				 {.fd = fd, .events = POLLIN}};
	bool open = connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0;

	if (open)
		bad_send_text(connection, "HTTP/1.1 200 Connection established\r\n\r\n");
	while (open && !connection->server->stopping) {
		if (poll(ends, 2, 20) <= 0)
			continue;
		for (int i = 0; i < 2 && open; i++)
			if (ends[i].revents)
				open = carry(ends[i].fd, ends[1 - i].fd);
	}
	bad_close(connection, false);
}

static const char *status_words(int status)
{
	return status == 200 ? "OK" : status == 206 ? "Partial Content" : "Something";
}

void bad_reply(struct bad_connection *connection, int status, const char *headers,
	       struct slice body)
{
	char head[16384];
	int n = snprintf(head, sizeof(head), "HTTP/1.1 %d %s\r\nContent-Length: %zu\r\n%s\r\n",
			 status, status_words(status), body.size, headers);

	/* In one piece, as servers that care for speed do. */
	if (!connection->head && body.size && body.size + (size_t)n <= sizeof(head)) {
		memcpy(head + n, body.data, body.size);
		bad_send(connection, head, (size_t)n + body.size);
		return;
	}
	bad_send(connection, head, (size_t)n);
	if (!connection->head)
		bad_send(connection, body.data, body.size);
}

void bad_reply_text(struct bad_connection *connection, int status, const char *headers,
		    const char *body)
{
	bad_reply(connection, status, headers, slice_text(body));
}

void bad_serve_tagged(struct bad_connection *connection, const struct bad_request *request,
		      struct slice object, const char *tag)
{
	uint64_t first, last;
	char headers[300], range[100] = "";
	bool ranged = bad_range(request, &first, &last);

	if (ranged && first >= object.size) {
		bad_reply_text(connection, 416, "", "");
		return;
	}
	if (ranged && last >= object.size)
		last = object.size - 1;
	if (ranged)
		snprintf(range, sizeof(range), "Content-Range: bytes %llu-%llu/%zu\r\n",
			 (unsigned long long)first, (unsigned long long)last, object.size);
	snprintf(headers, sizeof(headers),
		 "%sETag: \"%s\"\r\nLast-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n", range, tag);
	bad_reply(connection, ranged ? 206 : 200, headers,
		  ranged ? slice_sub(object, first, last - first + 1) : object);
}

void bad_serve(struct bad_connection *connection, const struct bad_request *request,
	       struct slice object)
{
	bad_serve_tagged(connection, request, object, "e");
}

/* --- requests --- */

const char *bad_header(const struct bad_request *request, const char *name, char out[4096])
{
	size_t size = strlen(name), length;
	const char *line = request->head;

	out[0] = '\0';
	for (; *line; line += length + strspn(line + length, "\r\n")) {
		const char *value = line + size + 1;

		length = strcspn(line, "\r");
		if (length <= size || strncasecmp(line, name, size) != 0 || line[size] != ':')
			continue;
		value += strspn(value, " ");
		snprintf(out, 4096, "%.*s", (int)strcspn(value, "\r"), value);
	}
	return out;
}

bool bad_range(const struct bad_request *request, uint64_t *ret_first, uint64_t *ret_last)
{
	char text[4096];
	unsigned long long first, last = UINT64_MAX;

	if (sscanf(bad_header(request, "Range", text), "bytes=%llu-%llu", &first, &last) < 1)
		return false;
	*ret_first = first;
	*ret_last = last;
	return true;
}

/* Bytes that came with an earlier read and were not used yet. */
struct pending {
	char data[65536];
	size_t size;
};

static bool pending_fill(struct bad_connection *connection, struct pending *pending)
{
	ssize_t n;

	if (pending->size == sizeof(pending->data))
		return false;
	n = connection_read(connection, pending->data + pending->size,
			    sizeof(pending->data) - pending->size);
	if (n <= 0)
		return false;
	pending->size += (size_t)n;
	return true;
}

static void pending_drop(struct pending *pending, size_t size)
{
	memmove(pending->data, pending->data + size, pending->size - size);
	pending->size -= size;
}

static bool read_body(struct bad_connection *connection, struct pending *pending,
		      struct bad_request *request)
{
	struct error ignored = ERROR_INIT;
	char text[4096];
	size_t left = strtoul(bad_header(request, "Content-Length", text), NULL, 10);

	buf_clear(&request->body);
	request->body.max = BUF_NO_LIMIT;
	while (left > 0) {
		size_t n = pending->size < left ? pending->size : left;

		if (n == 0 && !pending_fill(connection, pending))
			return false;
		buf_append(&request->body, pending->data, n, &ignored);
		pending_drop(pending, n);
		left -= n;
	}
	return true;
}

static bool read_request(struct bad_connection *connection, struct pending *pending,
			 struct bad_request *request)
{
	char *end, *line_end;
	size_t size;

	while (!(end = memmem(pending->data, pending->size, "\r\n\r\n", 4)))
		if (!pending_fill(connection, pending))
			return false;
	*end = '\0';
	line_end = strstr(pending->data, "\r\n");
	if (sscanf(pending->data, "%15s %8191s", request->method, request->target) != 2)
		return false;
	snprintf(request->head, sizeof(request->head), "%s\r\n", line_end ? line_end + 2 : "");
	size = (size_t)(end - pending->data) + 4;
	pending_drop(pending, size);
	if (strcasestr(request->head, "expect: 100-continue"))
		bad_send_text(connection, "HTTP/1.1 100 Continue\r\n\r\n");
	return read_body(connection, pending, request);
}

static bool connection_greet(struct bad_connection *connection)
{
	if (!connection->server->tls)
		return true;
	connection->tls = SSL_new(connection->server->tls);
	SSL_set_fd(connection->tls, connection->fd);
	return SSL_accept(connection->tls) == 1;
}

static void *connection_run(void *argument)
{
	struct bad_connection *connection = argument;
	struct bad_server *server = connection->server;
	struct pending *pending = calloc(1, sizeof(*pending));
	struct bad_request *request = calloc(1, sizeof(*request));
	bool good = connection_greet(connection);

	while (good && !connection->closed && !server->stopping &&
	       read_request(connection, pending, request)) {
		request->number = atomic_fetch_add(&server->requests, 1) + 1;
		connection->head = strcmp(request->method, "HEAD") == 0;
		server->script(server->argument, connection, request);
	}
	if (connection->tls)
		SSL_free(connection->tls);
	pthread_mutex_lock(&server->lock);
	close(connection->fd);
	connection->fd = -1;
	pthread_mutex_unlock(&server->lock);
	buf_done(&request->body);
	free(request);
	free(pending);
	return NULL;
}

/* --- the server --- */

static void server_accept(struct bad_server *server, int fd)
{
	struct bad_connection *connection = calloc(1, sizeof(*connection));
	int one = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	connection->server = server;
	connection->fd = fd;
	pthread_mutex_lock(&server->lock);
	connection->next = server->connections;
	server->connections = connection;
	pthread_create(&connection->thread, NULL, connection_run, connection);
	pthread_mutex_unlock(&server->lock);
}

static void *server_run(void *argument)
{
	struct bad_server *server = argument;

	while (!server->stopping) {
		struct pollfd poll_fd = {.fd = server->fd, .events = POLLIN};
		int fd;

		if (poll(&poll_fd, 1, 50) <= 0)
			continue;
		fd = accept4(server->fd, NULL, NULL, SOCK_CLOEXEC);
		if (fd >= 0)
			server_accept(server, fd);
	}
	return NULL;
}

struct bad_server *bad_server_start(bad_script script, void *argument, const char *tls_name)
{
	struct bad_server *server = calloc(1, sizeof(*server));
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);

	/* TLS writes with write(2). */
	signal(SIGPIPE, SIG_IGN);
	server->script = script;
	server->argument = argument;
	pthread_mutex_init(&server->lock, NULL);
	if (tls_name)
		server_set_up_tls(server, tls_name);
	server->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(server->fd, (struct sockaddr *)&address, size) < 0 ||
	    listen(server->fd, 1024) < 0 ||
	    getsockname(server->fd, (struct sockaddr *)&address, &size) < 0)
		abort();
	server->port = ntohs(address.sin_port);
	pthread_create(&server->thread, NULL, server_run, server);
	return server;
}

void bad_server_stop(struct bad_server *server)
{
	struct bad_connection *connection, *next;

	server->stopping = true;
	/* Wakes the thread that waits for connections. */
	shutdown(server->fd, SHUT_RDWR);
	pthread_join(server->thread, NULL);
	close(server->fd);
	pthread_mutex_lock(&server->lock);
	for (connection = server->connections; connection; connection = connection->next)
		if (connection->fd >= 0)
			shutdown(connection->fd, SHUT_RDWR);
	pthread_mutex_unlock(&server->lock);
	for (connection = server->connections; connection; connection = next) {
		next = connection->next;
		pthread_join(connection->thread, NULL);
		free(connection);
	}
	pthread_mutex_destroy(&server->lock);
	if (server->tls)
		SSL_CTX_free(server->tls);
	free(server->ca);
	free(server);
}

void bad_server_stopp(struct bad_server **server)
{
	if (*server)
		bad_server_stop(*server);
	*server = NULL;
}

unsigned int bad_server_port(const struct bad_server *server)
{
	return server->port;
}

unsigned int bad_server_requests(const struct bad_server *server)
{
	return server->requests;
}

const char *bad_server_ca(const struct bad_server *server)
{
	return server->ca;
}
