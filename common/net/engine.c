/* SPDX-License-Identifier: Apache-2.0 */
#include "net/engine.h"

#include <curl/curl.h>
#include <errno.h>
#include <netdb.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/text.h"
#include "base/time.h"
#include "net/address.h"

enum {
	ENGINE_EVENTS = 64,
	ENGINE_TICK_MS = 20, /* how often deadlines and stalls are looked at */
	ENGINE_IDLE_MS = 30000,
	ENGINE_CANCEL_US = 1000, /* before a withdrawal is tried again */
	ENGINE_SPARE_HANDLES = 256,
	ENGINE_CONNECTIONS = 512, /* kept open when idle */
	ENGINE_RECEIVE = 256 * 1024,
	ENGINE_HEAD_MAX = 256 * 1024,
	/* Fewer bytes than this in one stall period is a stall too: a slow drip never ends. */
	ENGINE_DRIP_BYTES = 1024,
};

/* What belongs to one running attempt and is reused for the next. */
struct engine_task {
	CURL *easy;
	struct curl_slist *headers;
	struct attempt *attempt;
	struct engine *engine;
	struct engine_task *next, *previous; /* running, or next spare one */
	uint64_t received;
	uint64_t window_bytes;
	int64_t window_start;
	bool cancel;
	bool head_done; /* what follows are trailers */
	bool forbidden;
	bool found;    /* the host has an address */
	bool complete; /* all wanted bytes are here; the transfer was cut on purpose */
	char trouble[CURL_ERROR_SIZE];
};

struct engine {
	pid_t pid;
	pthread_t thread;
	pthread_mutex_t lock; /* guards what follows up to the blank line */
	struct attempt *queue;
	struct attempt **queue_end;
	bool cancels;
	pthread_cond_t released;

	CURLM *multi;
	int epoll;
	int wake;
	int64_t timer; /* when curl wants to be called, monotonic microseconds; -1 never */
	int64_t next_tick;
	struct engine_task *running;
	struct engine_task *spare;
	unsigned int n_spare;
	atomic_uint_fast64_t attempts, connections, bytes_in, bytes_out;
};

static pthread_mutex_t engine_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(struct engine *) the_engine;

int http_lines_add(struct http_lines *lines, struct error *err, const char *format, ...)
{
	va_list args;
	char *line;
	int n, r;

	va_start(args, format);
	n = vasprintf(&line, format, args);
	va_end(args);
	if (n < 0)
		return error_memory(err);
	r = http_lines_push(lines, line, err);
	if (r < 0)
		free(line);
	return r;
}

void http_lines_free(struct http_lines *lines)
{
	for (size_t i = 0; i < lines->n; i++)
		free(lines->items[i]);
	http_lines_done(lines);
}

void waiter_init(struct waiter *waiter)
{
	pthread_condattr_t attributes;

	*waiter = (struct waiter){0};
	pthread_mutex_init(&waiter->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&waiter->changed, &attributes);
	pthread_condattr_destroy(&attributes);
}

void waiter_sleep(struct waiter *waiter, int64_t until)
{
	struct timespec ts = {until / TIME_SECOND, until % TIME_SECOND * 1000};

	pthread_cond_timedwait(&waiter->changed, &waiter->lock, &ts);
}

void waiter_done(struct waiter *waiter)
{
	pthread_cond_destroy(&waiter->changed);
	pthread_mutex_destroy(&waiter->lock);
}

const char *attempt_header(const struct attempt *attempt, const char *name)
{
	const char *line = (const char *)attempt->head.data;
	const char *end = line + attempt->head.size;
	const char *found = NULL;
	size_t size = strlen(name);

	/* Of a repeated header the last counts. */
	for (; line < end; line += strlen(line) + 1) {
		if (strncasecmp(line, name, size) != 0 || line[size] != ':')
			continue;
		found = line + size + 1;
		found += strspn(found, " \t");
	}
	return found;
}

void attempt_done(struct attempt *attempt)
{
	buf_done(&attempt->head);
	buf_done(&attempt->body);
}

/* --- curl's callbacks, all on the engine's thread --- */

static int engine_socket_changed(CURL *easy, curl_socket_t fd, int what, void *argument,
				 void *known)
{
	struct engine *engine = argument;
	struct epoll_event event = {.data.fd = fd};

	(void)easy;
	if (what == CURL_POLL_REMOVE) {
		epoll_ctl(engine->epoll, EPOLL_CTL_DEL, fd, NULL);
		return 0;
	}
	if (what & CURL_POLL_IN)
		event.events |= EPOLLIN;
	if (what & CURL_POLL_OUT)
		event.events |= EPOLLOUT;
	if (known && epoll_ctl(engine->epoll, EPOLL_CTL_MOD, fd, &event) == 0)
		return 0;
	if (epoll_ctl(engine->epoll, EPOLL_CTL_ADD, fd, &event) < 0 && errno == EEXIST)
		epoll_ctl(engine->epoll, EPOLL_CTL_MOD, fd, &event);
	curl_multi_assign(engine->multi, fd, engine);
	return 0;
}

static int engine_timer_changed(CURLM *multi, long timeout_ms, void *argument)
{
	struct engine *engine = argument;

	(void)multi;
	engine->timer = timeout_ms < 0 ? -1 : time_monotonic() + timeout_ms * 1000;
	return 0;
}

/* The guard: names are judged by what they resolve to, at the moment of connecting. */
static curl_socket_t engine_open_socket(void *argument, curlsocktype purpose,
					struct curl_sockaddr *address)
{
	struct engine_task *task = argument;
	struct attempt *attempt = task->attempt;
	struct sockaddr_storage target = {0};

	(void)purpose;
	if (address->addrlen > sizeof(target))
		return CURL_SOCKET_BAD;
	memcpy(&target, &address->addr, address->addrlen);
	/* With a proxy this is the proxy's address, which the user chose. */
	if (!attempt->allow_private && !attempt->proxy[0] &&
	    !address_is_public((struct sockaddr *)&target)) {
		task->forbidden = true;
		getnameinfo((struct sockaddr *)&target, address->addrlen, attempt->address,
			    sizeof(attempt->address), NULL, 0, NI_NUMERICHOST);
		return CURL_SOCKET_BAD;
	}
	task->found = true;
	/* The next address is then tried, so each is judged. */
	if (attempt->name_only)
		return CURL_SOCKET_BAD;
	task->engine->connections++;
	return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

/* Connections are reused, also those that somebody with more rights has opened. */
static int engine_before_request(void *argument, char *remote, char *own, int remote_port,
				 int own_port)
{
	struct engine_task *task = argument;
	struct attempt *attempt = task->attempt;

	(void)own;
	(void)remote_port;
	(void)own_port;
	snprintf(attempt->address, sizeof(attempt->address), "%s", remote ? remote : "");
	if (attempt->allow_private || attempt->proxy[0] ||
	    (remote && address_text_is_public(remote)))
		return CURL_PREREQFUNC_OK;
	task->forbidden = true;
	return CURL_PREREQFUNC_ABORT;
}

static int engine_head_complete(struct engine_task *task)
{
	struct attempt *attempt = task->attempt;
	const char *length = attempt_header(attempt, "content-length");
	const char *coding = attempt_header(attempt, "transfer-encoding");
	long version = 0;
	int r;

	attempt->content_length = UINT64_MAX;
	if (length && text_u64(slice_text(length), &attempt->content_length, NULL) < 0) {
		return error_set(&attempt->error, ERR_FORMAT, "answer with Content-Length '%s'",
				 length);
	}
	curl_easy_getinfo(task->easy, CURLINFO_HTTP_VERSION, &version);
	attempt->framed = length || (coding && strcasecmp(coding, "chunked") == 0) ||
			  version >= CURL_HTTP_VERSION_2_0;
	attempt->skip = 0;
	attempt->want = UINT64_MAX;
	r = attempt->on_head ? attempt->on_head(attempt, &attempt->error) : 0;
	if (r < 0)
		return r;
	if (attempt->want == UINT64_MAX && attempt->content_length != UINT64_MAX &&
	    attempt->content_length <= attempt->body.max && strcmp(attempt->method, "HEAD") != 0)
		return buf_reserve(&attempt->body, attempt->content_length, &attempt->error);
	return 0;
}

static int engine_head_line(struct attempt *attempt, const char *line, size_t size)
{
	int r;

	if (attempt->head.size + size > ENGINE_HEAD_MAX)
		return error_set(&attempt->error, ERR_FORMAT, "answer with too many headers");
	r = buf_append(&attempt->head, line, size, &attempt->error);
	return r < 0 ? r : buf_append_byte(&attempt->head, '\0', &attempt->error);
}

/* One header line, or the empty one that ends the headers. */
static size_t engine_header(char *line, size_t size, size_t n, void *argument)
{
	struct engine_task *task = argument;
	struct attempt *attempt = task->attempt;
	size_t length = size * n;
	long status = 0;
	int r;

	if (!attempt->first_byte)
		attempt->first_byte = time_monotonic();
	task->received += length;
	if (task->head_done)
		return size * n;
	while (length && (line[length - 1] == '\r' || line[length - 1] == '\n' ||
			  line[length - 1] == ' ' || line[length - 1] == '\t'))
		length--;
	/* A new status line: what came before was an interim answer. */
	if (length > 5 && strncmp(line, "HTTP/", 5) == 0) {
		buf_clear(&attempt->head);
		return size * n;
	}
	/* A NUL would hide what follows it. */
	if (memchr(line, '\0', length)) {
		error_set(&attempt->error, ERR_FORMAT, "answer with a NUL in a header");
		return 0;
	}
	curl_easy_getinfo(task->easy, CURLINFO_RESPONSE_CODE, &status);
	if (length == 0 && status < 200)
		return size * n;
	if (length == 0) {
		attempt->status = (int)status;
		task->head_done = true;
		r = engine_head_complete(task);
	} else {
		r = engine_head_line(attempt, line, length);
	}
	return r < 0 ? 0 : size * n;
}

static size_t engine_body(char *data, size_t size, size_t n, void *argument)
{
	struct engine_task *task = argument;
	struct attempt *attempt = task->attempt;
	struct slice bytes = slice_of(data, size * n);
	int r;

	task->received += bytes.size;
	if (attempt->skip) {
		uint64_t dropped = attempt->skip < bytes.size ? attempt->skip : bytes.size;

		attempt->skip -= dropped;
		bytes = slice_sub(bytes, dropped, bytes.size);
	}
	if (attempt->want != UINT64_MAX && bytes.size > attempt->want - attempt->body.size)
		bytes.size = attempt->want - attempt->body.size;
	r = buf_append_slice(&attempt->body, bytes, &attempt->error);
	if (r < 0)
		return 0;
	if (attempt->want != UINT64_MAX && attempt->body.size == attempt->want) {
		task->complete = true;
		return 0;
	}
	return size * n;
}

/* --- tasks --- */

static const char *engine_ca_file(void)
{
	static const char *const names[] = {"SSL_CERT_FILE", "CURL_CA_BUNDLE", "AWS_CA_BUNDLE",
					    "REQUESTS_CA_BUNDLE"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const char *value = getenv(names[i]);

		if (value && value[0])
			return value;
	}
	return NULL;
}

static void engine_set_tls(CURL *easy)
{
	const char *file = engine_ca_file();
	const char *folder = getenv("SSL_CERT_DIR");

	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L);
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L);
	if (file)
		curl_easy_setopt(easy, CURLOPT_CAINFO, file);
	if (folder && folder[0])
		curl_easy_setopt(easy, CURLOPT_CAPATH, folder);
}

static int task_set_method(struct engine_task *task, const struct attempt *attempt)
{
	CURL *easy = task->easy;

	if (strcmp(attempt->method, "HEAD") == 0)
		return curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
	if (strcmp(attempt->method, "GET") == 0)
		return curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
	if (strcmp(attempt->method, "DELETE") != 0 || attempt->upload.size) {
		curl_easy_setopt(easy, CURLOPT_POST, 1L);
		curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)0);
	}
	return curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, attempt->method);
}

static int task_set_headers(struct engine_task *task, const struct attempt *attempt, bool has_body)
{
	/* curl's own additions; what the signature covers must be what is sent. */
	static const char *const none[] = {"Accept:", "Expect:", "Content-Type:"};
	struct curl_slist *list = NULL, *longer;

	for (size_t i = 0; i < attempt->headers->n; i++) {
		longer = curl_slist_append(list, attempt->headers->items[i]);
		if (!longer)
			goto failed;
		list = longer;
	}
	for (size_t i = 0; i < (has_body ? 2 : 1); i++) {
		longer = curl_slist_append(list, none[i]);
		if (!longer)
			goto failed;
		list = longer;
	}
	for (size_t i = 0; has_body && i <= attempt->headers->n; i++) {
		if (i < attempt->headers->n &&
		    strncasecmp(attempt->headers->items[i], "content-type:", 13) == 0)
			break;
		if (i < attempt->headers->n)
			continue;
		longer = curl_slist_append(list, none[2]);
		if (!longer)
			goto failed;
		list = longer;
	}
	task->headers = list;
	return curl_easy_setopt(task->easy, CURLOPT_HTTPHEADER, list);
failed:
	curl_slist_free_all(list);
	return CURLE_OUT_OF_MEMORY;
}

static void task_set_callbacks(struct engine_task *task)
{
	CURL *easy = task->easy;

	curl_easy_setopt(easy, CURLOPT_PRIVATE, task);
	curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, engine_header);
	curl_easy_setopt(easy, CURLOPT_HEADERDATA, task);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, engine_body);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, task);
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, engine_open_socket);
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, task);
	curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, engine_before_request);
	curl_easy_setopt(easy, CURLOPT_PREREQDATA, task);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, task->trouble);
	task->trouble[0] = '\0';
}

static int task_prepare(struct engine_task *task, const struct attempt *attempt)
{
	CURL *easy = task->easy;
	bool has_body;
	int r;

	curl_easy_reset(easy);
	task_set_callbacks(task);
	engine_set_tls(easy);
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(easy, CURLOPT_HTTP_CONTENT_DECODING, 0L);
	curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
	curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, (long)ENGINE_RECEIVE);
	curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(easy, CURLOPT_DNS_SHUFFLE_ADDRESSES, 1L);
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)attempt->connect_ms);
	/* Empty would make curl read the variables itself; the guard must know what applies. */
	curl_easy_setopt(easy, CURLOPT_PROXY, attempt->proxy);
	curl_easy_setopt(easy, CURLOPT_NOPROXY, "");
	/* A connection that is open would need no address. */
	curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, attempt->name_only ? 1L : 0L);
	curl_easy_setopt(easy, CURLOPT_HTTP_VERSION,
			 (long)(attempt->http2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1));
	r = curl_easy_setopt(easy, CURLOPT_URL, attempt->url);
	if (r == CURLE_OK)
		r = task_set_method(task, attempt);
	has_body = strcmp(attempt->method, "PUT") == 0 || strcmp(attempt->method, "POST") == 0 ||
		   attempt->upload.size;
	if (r == CURLE_OK && has_body) {
		curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
				 (curl_off_t)attempt->upload.size);
		curl_easy_setopt(easy, CURLOPT_POSTFIELDS,
				 attempt->upload.size ? (const char *)attempt->upload.data : "");
	}
	return r == CURLE_OK ? task_set_headers(task, attempt, has_body) : r;
}

static struct engine_task *task_get(struct engine *engine)
{
	struct engine_task *task = engine->spare;

	if (task) {
		engine->spare = task->next;
		engine->n_spare--;
		task->next = NULL;
		return task;
	}
	task = calloc(1, sizeof(*task));
	if (!task)
		return NULL;
	task->engine = engine;
	task->easy = curl_easy_init();
	if (!task->easy) {
		free(task);
		return NULL;
	}
	return task;
}

static void task_put(struct engine *engine, struct engine_task *task)
{
	curl_slist_free_all(task->headers);
	task->headers = NULL;
	task->attempt = NULL;
	if (engine->n_spare >= ENGINE_SPARE_HANDLES) {
		curl_easy_cleanup(task->easy);
		free(task);
		return;
	}
	task->next = engine->spare;
	task->previous = NULL;
	engine->spare = task;
	engine->n_spare++;
}

/* Hands the attempt back; it must not be touched afterwards. */
static void engine_report(struct engine *engine, struct attempt *attempt,
			  enum attempt_outcome outcome)
{
	struct waiter *waiter = attempt->waiter;

	attempt->ended = time_monotonic();
	pthread_mutex_lock(&engine->lock);
	attempt->task = NULL;
	pthread_mutex_unlock(&engine->lock);
	pthread_mutex_lock(&waiter->lock);
	attempt->outcome = outcome;
	waiter->finished++;
	pthread_cond_broadcast(&waiter->changed);
	pthread_mutex_unlock(&waiter->lock);
}

static void task_link(struct engine *engine, struct engine_task *task)
{
	task->previous = NULL;
	task->next = engine->running;
	if (engine->running)
		engine->running->previous = task;
	engine->running = task;
}

static void task_unlink(struct engine *engine, struct engine_task *task)
{
	if (task->previous)
		task->previous->next = task->next;
	else
		engine->running = task->next;
	if (task->next)
		task->next->previous = task->previous;
	task->next = task->previous = NULL;
}

static void task_end(struct engine *engine, struct engine_task *task, enum attempt_outcome outcome)
{
	struct attempt *attempt = task->attempt;
	curl_off_t sent = 0;

	curl_easy_getinfo(task->easy, CURLINFO_SIZE_UPLOAD_T, &sent);
	engine->bytes_in += task->received;
	engine->bytes_out += (uint64_t)sent;
	curl_multi_remove_handle(engine->multi, task->easy);
	task_unlink(engine, task);
	task_put(engine, task);
	engine_report(engine, attempt, outcome);
}

static enum attempt_outcome task_trouble(struct engine_task *task, CURLcode code)
{
	struct attempt *attempt = task->attempt;
	const char *text = task->trouble[0] ? task->trouble : curl_easy_strerror(code);

	if (code == CURLE_OK || task->complete)
		return ATTEMPT_ANSWERED;
	if (task->forbidden) {
		error_set(&attempt->error, ERR_DENIED,
			  "the host's address %s is not public (allow it explicitly to go there)",
			  attempt->address);
		return ATTEMPT_FORBIDDEN;
	}
	if (attempt->name_only && task->found)
		return ATTEMPT_ANSWERED;
	/* The callbacks have already said what is wrong. */
	if (attempt->error.kind)
		return ATTEMPT_REJECTED;
	switch (code) {
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_RESOLVE_PROXY:
	case CURLE_COULDNT_CONNECT:
	case CURLE_OPERATION_TIMEDOUT: /* only connecting has a timeout of curl's */
		error_set(&attempt->error, ERR_TEMPORARY, "%s", text);
		return ATTEMPT_CONNECT;
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_SSL_ISSUER_ERROR:
	case CURLE_SSL_CERTPROBLEM:
		error_set(&attempt->error, ERR_NETWORK, "%s", text);
		return ATTEMPT_TLS;
	case CURLE_OUT_OF_MEMORY:
		error_memory(&attempt->error);
		return ATTEMPT_FAILED;
	case CURLE_UNSUPPORTED_PROTOCOL: /* ours is not: what came was no HTTP */
		error_set(&attempt->error, ERR_FORMAT, "%s", text);
		return ATTEMPT_REJECTED;
	case CURLE_URL_MALFORMAT:
		error_set(&attempt->error, ERR_ARGUMENT, "%s", text);
		return ATTEMPT_FAILED;
	default:
		error_set(&attempt->error, ERR_TEMPORARY, "%s", text);
		return ATTEMPT_BROKEN;
	}
}

static void engine_begin(struct engine *engine, struct attempt *attempt)
{
	struct engine_task *task = task_get(engine);

	if (!task) {
		error_memory(&attempt->error);
		engine_report(engine, attempt, ATTEMPT_FAILED);
		return;
	}
	task->attempt = attempt;
	task->received = task->window_bytes = 0;
	task->cancel = task->head_done = false;
	task->forbidden = task->found = task->complete = false;
	attempt->started = task->window_start = time_monotonic();
	task_link(engine, task);
	if (task_prepare(task, attempt) != CURLE_OK ||
	    curl_multi_add_handle(engine->multi, task->easy) != CURLM_OK) {
		error_set(&attempt->error, ERR_ARGUMENT, "curl does not accept the request");
		task_unlink(engine, task);
		task_put(engine, task);
		engine_report(engine, attempt, ATTEMPT_FAILED);
		return;
	}
	pthread_mutex_lock(&engine->lock);
	attempt->task = task;
	pthread_mutex_unlock(&engine->lock);
	engine->attempts++;
}

/* --- the loop --- */

static void engine_take_new(struct engine *engine)
{
	struct attempt *attempt, *next;
	bool cancels;

	pthread_mutex_lock(&engine->lock);
	attempt = engine->queue;
	engine->queue = NULL;
	engine->queue_end = &engine->queue;
	cancels = engine->cancels;
	engine->cancels = false;
	pthread_mutex_unlock(&engine->lock);

	for (; attempt; attempt = next) {
		next = attempt->next;
		engine_begin(engine, attempt);
	}
	if (!cancels)
		return;
	for (struct engine_task *task = engine->running, *after; task; task = after) {
		bool cancel;

		after = task->next;
		pthread_mutex_lock(&engine->lock);
		cancel = task->cancel;
		pthread_mutex_unlock(&engine->lock);
		if (cancel)
			task_end(engine, task, ATTEMPT_CANCELLED);
	}
}

static bool task_stalled(struct engine_task *task, int64_t now)
{
	int64_t period = (int64_t)task->attempt->stall_ms * 1000;
	curl_off_t sent = 0;
	uint64_t bytes;
	bool dripping;

	if (now - task->window_start < period)
		return false;
	curl_easy_getinfo(task->easy, CURLINFO_SIZE_UPLOAD_T, &sent);
	bytes = task->received + (uint64_t)sent;
	dripping = bytes < task->window_bytes + ENGINE_DRIP_BYTES;
	task->window_start = now;
	task->window_bytes = bytes;
	return dripping;
}

static void engine_tick(struct engine *engine, int64_t now)
{
	struct engine_task *task, *after;

	if (now < engine->next_tick)
		return;
	engine->next_tick = now + ENGINE_TICK_MS * 1000;
	for (task = engine->running; task; task = after) {
		struct attempt *attempt = task->attempt;

		after = task->next;
		if (now >= attempt->deadline) {
			error_set(&attempt->error, ERR_TIMEOUT, "no whole answer in time");
			task_end(engine, task, ATTEMPT_LATE);
		} else if (task_stalled(task, now)) {
			error_set(&attempt->error, ERR_TIMEOUT,
				  "stalled for %u ms after %llu bytes", attempt->stall_ms,
				  (unsigned long long)attempt->body.size);
			task_end(engine, task, ATTEMPT_STALLED);
		}
	}
}

static void engine_finish(struct engine *engine)
{
	struct CURLMsg *message;
	int left;

	while ((message = curl_multi_info_read(engine->multi, &left))) {
		CURLcode code = message->data.result;
		struct engine_task *task = NULL;
		long reused = 0;

		if (message->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&task);
		curl_easy_getinfo(message->easy_handle, CURLINFO_NUM_CONNECTS, &reused);
		task->attempt->reused = reused == 0;
		task_end(engine, task, task_trouble(task, code));
	}
}

static int engine_wait_ms(const struct engine *engine, int64_t now)
{
	int64_t until = now + (engine->running ? ENGINE_TICK_MS : ENGINE_IDLE_MS) * 1000;

	if (engine->timer >= 0 && engine->timer < until)
		until = engine->timer;
	return until <= now ? 0 : (int)((until - now + 999) / 1000);
}

static void engine_dispatch(struct engine *engine, const struct epoll_event *event)
{
	int running, mask = 0;
	uint64_t woken;

	if (event->data.fd == engine->wake) {
		if (read(engine->wake, &woken, sizeof(woken)) < 0)
			return;
		return;
	}
	if (event->events & (EPOLLIN | EPOLLHUP))
		mask |= CURL_CSELECT_IN;
	if (event->events & EPOLLOUT)
		mask |= CURL_CSELECT_OUT;
	if (event->events & EPOLLERR)
		mask |= CURL_CSELECT_ERR;
	curl_multi_socket_action(engine->multi, event->data.fd, mask, &running);
}

static void *engine_run(void *argument)
{
	struct engine *engine = argument;
	struct epoll_event events[ENGINE_EVENTS];
	int running;

	for (;;) {
		int n = epoll_wait(engine->epoll, events, ENGINE_EVENTS,
				   engine_wait_ms(engine, time_monotonic()));

		for (int i = 0; i < n; i++)
			engine_dispatch(engine, &events[i]);
		engine_take_new(engine);
		if (engine->timer >= 0 && time_monotonic() >= engine->timer) {
			engine->timer = -1;
			curl_multi_socket_action(engine->multi, CURL_SOCKET_TIMEOUT, 0, &running);
		}
		engine_finish(engine);
		engine_tick(engine, time_monotonic());
	}
	return NULL;
}

static int engine_start_thread(struct engine *engine)
{
	sigset_t all, old;
	int r;

	/* Signals belong to the program's threads; a broken TLS connection must not raise SIGPIPE.
	 */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = pthread_create(&engine->thread, NULL, engine_run, engine);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return r;
}

static int engine_set_up(struct engine *engine)
{
	struct epoll_event event = {.events = EPOLLIN};

	engine->pid = getpid();
	engine->queue_end = &engine->queue;
	engine->timer = -1;
	pthread_mutex_init(&engine->lock, NULL);
	pthread_cond_init(&engine->released, NULL);
	engine->epoll = epoll_create1(EPOLL_CLOEXEC);
	engine->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	engine->multi = curl_multi_init();
	if (engine->epoll < 0 || engine->wake < 0 || !engine->multi)
		return -1;
	event.data.fd = engine->wake;
	if (epoll_ctl(engine->epoll, EPOLL_CTL_ADD, engine->wake, &event) < 0)
		return -1;
	curl_multi_setopt(engine->multi, CURLMOPT_SOCKETFUNCTION, engine_socket_changed);
	curl_multi_setopt(engine->multi, CURLMOPT_SOCKETDATA, engine);
	curl_multi_setopt(engine->multi, CURLMOPT_TIMERFUNCTION, engine_timer_changed);
	curl_multi_setopt(engine->multi, CURLMOPT_TIMERDATA, engine);
	curl_multi_setopt(engine->multi, CURLMOPT_MAXCONNECTS, (long)ENGINE_CONNECTIONS);
	return engine_start_thread(engine);
}

static void engine_free(struct engine *engine)
{
	if (engine->multi)
		curl_multi_cleanup(engine->multi);
	closep(&engine->epoll);
	closep(&engine->wake);
	free(engine);
}

static struct engine *engine_make(struct error *err)
{
	struct engine *engine = the_engine;

	if (engine && engine->pid == getpid())
		return engine;
	curl_global_init(CURL_GLOBAL_DEFAULT);
	/* After fork() the old one's thread is not here; its memory stays with it. */
	engine = calloc(1, sizeof(*engine));
	if (!engine) {
		error_memory(err);
		return NULL;
	}
	engine->epoll = engine->wake = -1;
	if (engine_set_up(engine) != 0) {
		error_set(err, ERR_MEMORY, "cannot start the network thread");
		engine_free(engine);
		return NULL;
	}
	the_engine = engine;
	return engine;
}

static struct engine *engine_get(struct error *err)
{
	struct engine *engine = the_engine;

	if (engine && engine->pid == getpid())
		return engine;
	pthread_mutex_lock(&engine_lock);
	engine = engine_make(err);
	pthread_mutex_unlock(&engine_lock);
	return engine;
}

static void engine_wake(struct engine *engine)
{
	uint64_t one = 1;

	/* Fails only when the counter is full, and then the thread is awake. */
	if (write(engine->wake, &one, sizeof(one)) < 0)
		return;
}

int attempt_start(struct attempt *attempt, struct waiter *waiter, struct error *err)
{
	struct engine *engine = engine_get(err);
	bool first;

	if (!engine)
		return ERR_MEMORY;
	attempt->waiter = waiter;
	attempt->outcome = ATTEMPT_RUNNING;
	attempt->error = ERROR_INIT;
	attempt->task = NULL;
	attempt->next = NULL;
	attempt->head.max = 2 * ENGINE_HEAD_MAX;
	pthread_mutex_lock(&engine->lock);
	first = !engine->queue;
	*engine->queue_end = attempt;
	engine->queue_end = &attempt->next;
	pthread_mutex_unlock(&engine->lock);
	if (first)
		engine_wake(engine);
	return 0;
}

static bool attempt_is_running(struct attempt *attempt)
{
	bool running;

	pthread_mutex_lock(&attempt->waiter->lock);
	running = attempt->outcome == ATTEMPT_RUNNING;
	pthread_mutex_unlock(&attempt->waiter->lock);
	return running;
}

/* Marks a running attempt, or takes a waiting one out of the queue: then true. */
static bool engine_withdraw(struct engine *engine, struct attempt *attempt)
{
	bool withdrawn = false;

	pthread_mutex_lock(&engine->lock);
	for (struct attempt **at = &engine->queue; *at; at = &(*at)->next) {
		if (*at != attempt)
			continue;
		*at = attempt->next;
		withdrawn = true;
		break;
	}
	if (withdrawn) {
		engine->queue_end = &engine->queue;
		while (*engine->queue_end)
			engine->queue_end = &(*engine->queue_end)->next;
	} else if (attempt->task) {
		attempt->task->cancel = true;
		engine->cancels = true;
	}
	pthread_mutex_unlock(&engine->lock);
	return withdrawn;
}

void attempt_cancel(struct attempt *attempt)
{
	struct engine *engine = the_engine;
	struct waiter *waiter = attempt->waiter;

	if (!engine || !waiter)
		return;
	/* Between queue and task it is neither; then the mark is set a moment later. */
	while (attempt_is_running(attempt)) {
		if (engine_withdraw(engine, attempt)) {
			attempt->outcome = ATTEMPT_CANCELLED;
			return;
		}
		engine_wake(engine);
		pthread_mutex_lock(&waiter->lock);
		if (attempt->outcome == ATTEMPT_RUNNING)
			waiter_sleep(waiter, time_monotonic() + ENGINE_CANCEL_US);
		pthread_mutex_unlock(&waiter->lock);
	}
}

struct engine_counts engine_counts(void)
{
	struct engine *engine = the_engine;

	if (!engine)
		return (struct engine_counts){0};
	return (struct engine_counts){
		.attempts = engine->attempts,
		.connections = engine->connections,
		.bytes_in = engine->bytes_in,
		.bytes_out = engine->bytes_out,
	};
}
