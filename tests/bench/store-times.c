/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads from a server on loopback: throughput beside a parallel curl, small requests beside
 * Python's obstore, and the processor time of a small request.
 *
 * usage: store-times [OBSTORE-COMMAND]     which gets URL, size, count, at once; prints seconds
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/pool.h"
#include "bench/bench.h"
#include "harness/bad-server.h"
#include "store/store.h"

enum {
	OBJECT_SIZE = 64 << 20,
	BIG = 1 << 20,
	BIG_READS = 1024, /* or starting curl would count */
	BIG_REPEAT = 11,  /* both sides share two processors with their server: times scatter */
	BIG_AT_ONCE = 8,
	SMALL = 4096,
	SMALL_READS = 10000,
	SMALL_AT_ONCE = 64,
	REPEAT = 5,
};

struct work {
	struct store *store;
	size_t size;
	size_t n, at_once;
	/* Readers use their memory again, as curl does when it writes to /dev/null. */
	struct buf buffers[SMALL_AT_ONCE];
	atomic_bool taken[SMALL_AT_ONCE];
};

static void serve(void *argument, struct bad_connection *connection,
		  const struct bad_request *request)
{
	bad_serve(connection, request, *(struct slice *)argument);
}

/* A server in a process of its own, so that its time is not counted as ours. */
static pid_t start_server(unsigned int *ret_port)
{
	int pipes[2];
	pid_t child;

	if (pipe(pipes) < 0 || (child = fork()) < 0)
		exit(1);
	if (child == 0) {
		struct slice object = {calloc(1, OBJECT_SIZE), OBJECT_SIZE};
		unsigned int port;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		memset((void *)object.data, 7, OBJECT_SIZE);
		port = bad_server_port(bad_server_start(serve, &object, NULL));
		if (write(pipes[1], &port, sizeof(port)) < 0)
			_exit(1);
		for (;;)
			pause();
	}
	if (read(pipes[0], ret_port, sizeof(*ret_port)) != sizeof(*ret_port))
		exit(1);
	return child;
}

static int read_one(void *argument, size_t i, struct error *err)
{
	struct work *work = argument;
	uint64_t offset = i * work->size % (OBJECT_SIZE - work->size);
	size_t at = 0;
	int r;

	while (atomic_exchange(&work->taken[at], true))
		at = (at + 1) % work->at_once;
	buf_clear(&work->buffers[at]);
	work->buffers[at].max = work->size;
	r = store_get(work->store, "object", offset, work->size, NULL, &work->buffers[at], NULL,
		      err);
	work->taken[at] = false;
	return r;
}

static void work_done(struct work *work)
{
	for (size_t i = 0; i < SMALL_AT_ONCE; i++)
		buf_done(&work->buffers[i]);
}

static int read_all(void *argument, struct error *err)
{
	struct work *work = argument;

	return parallel_for(work->at_once, work->n, read_one, work, err);
}

/* The same ranges by one curl with as many transfers at once. */
static int curl_all(void *argument, struct error *err)
{
	const char *command = argument;

	if (system(command) != 0)
		return error_set(err, ERR_NETWORK, "curl failed");
	return 0;
}

static void write_curl_config(const char *path, unsigned int port)
{
	FILE *file = fopen(path, "w");

	if (!file)
		exit(1);
	for (size_t i = 0; i < BIG_READS; i++) {
		size_t offset = i * BIG % (OBJECT_SIZE - BIG);

		fprintf(file,
			"%surl = http://127.0.0.1:%u/object\nrange = %zu-%zu\noutput = /dev/null\n",
			i ? "next\n" : "", port, offset, offset + BIG - 1);
	}
	fclose(file);
}

static int bench_throughput(struct store *store, unsigned int port, struct error *err)
{
	CLEANUP(work_done)
	struct work work = {.store = store, .size = BIG, .n = BIG_READS, .at_once = BIG_AT_ONCE};
	char path[] = "/tmp/refmt-bench-curl-XXXXXX", command[300];
	struct bench bench = {
		.name = "1 MiB ranges",
		.floor_name = "curl --parallel",
		.ours = read_all,
		.floor = curl_all,
		.ours_argument = &work,
		.floor_argument = command,
		.warm_up = 1,
		.n = BIG_REPEAT,
		.per = BIG_READS,
		.target = 1 / 0.9,
	};
	int r;

	close(mkstemp(path));
	write_curl_config(path, port);
	snprintf(command, sizeof(command),
		 "curl --silent --fail --no-progress-meter --parallel --parallel-max %d -K %s",
		 BIG_AT_ONCE, path);
	r = bench_run(&bench, err);
	unlink(path);
	return r;
}

static double peer_seconds(const char *peer, unsigned int port)
{
	char command[1000], line[64] = "";
	FILE *output;

	snprintf(command, sizeof(command), "%s http://127.0.0.1:%u %d %d %d", peer, port, SMALL,
		 SMALL_READS, SMALL_AT_ONCE);
	output = popen(command, "r");
	if (!output || !fgets(line, sizeof(line), output))
		line[0] = '\0';
	if (output)
		pclose(output);
	return atof(line);
}

static int bench_small(struct store *store, unsigned int port, const char *peer, struct error *err)
{
	CLEANUP(work_done)
	struct work work = {
		.store = store, .size = SMALL, .n = SMALL_READS, .at_once = SMALL_AT_ONCE};
	double ours[REPEAT], theirs[REPEAT];

	for (int i = -1; i < REPEAT; i++) {
		double start = bench_now();
		int r = read_all(&work, err);

		if (r < 0)
			return r;
		ours[i < 0 ? 0 : i] = bench_now() - start;
		theirs[i < 0 ? 0 : i] = peer ? peer_seconds(peer, port) : 0;
	}
	if (bench_median(theirs, REPEAT) > 0)
		bench_report("4 KiB range", bench_median(ours, REPEAT) / SMALL_READS, "obstore",
			     bench_median(theirs, REPEAT) / SMALL_READS, 0.5);
	else
		printf("4 KiB range: %.0f requests a second (no obstore here to compare with)\n",
		       SMALL_READS / bench_median(ours, REPEAT));
	return 0;
}

static double processor_seconds(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static int bench_processor(struct store *store, struct error *err)
{
	CLEANUP(work_done)
	struct work work = {
		.store = store, .size = SMALL, .n = SMALL_READS, .at_once = SMALL_AT_ONCE};
	double times[REPEAT];

	for (int i = 0; i < REPEAT; i++) {
		double start = processor_seconds();
		int r = read_all(&work, err);

		if (r < 0)
			return r;
		times[i] = (processor_seconds() - start) / SMALL_READS;
	}
	bench_report("processor time of a small GET", bench_median(times, REPEAT), "limit", 60e-6,
		     1);
	return 0;
}

int main(int argc, char **argv)
{
	CLEANUP(store_freep) struct store *store = NULL;
	struct store_options options = {.allow_private = true};
	struct error err = ERROR_INIT;
	unsigned int port;
	char url[100];
	pid_t server = start_server(&port);
	int r;

	snprintf(url, sizeof(url), "http://127.0.0.1:%u", port);
	r = store_open(url, &options, &store, &err);
	if (r == 0)
		r = bench_throughput(store, port, &err);
	if (r == 0)
		r = bench_small(store, port, argc > 1 ? argv[1] : NULL, &err);
	if (r == 0)
		r = bench_processor(store, &err);
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	if (r < 0)
		fprintf(stderr, "store-times: %s\n", err.text);
	return r < 0;
}
