/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "bench/bench.h"
#include "repo/repo.h"
#include "repo/transaction.h"

/*
 *	repo-race URL PROCESSES COMMITS
 *
 * Processes commit disjoint manifest windows of one array to one branch of a new repository at
 * URL, COMMITS in all, and a line {"commits_a_second":...} tells how it went.  A URL in the cloud
 *is reached as the environment says.
 */

#define PREFIX "s3://example-bucket/data/"
#define COMMITS_MAX 4096

static const char *config_text =
	"{\"virtual_chunk_containers\":{\"" PREFIX "\":{\"url_prefix\":\"" PREFIX
	"\",\"store\":{\"s3\":{\"region\":\"us-east-1\",\"anonymous\":true,"
	"\"allow_http\":false}}}},\"manifest\":{\"splitting\":{\"split_sizes\":[[\"any_array\","
	"[{\"condition\":{\"Axis\":0},\"num_chunks\":1}]]]}}}";

static const char *array_text =
	"{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[4096,100],"
	"\"data_type\":\"uint8\",\"chunk_grid\":{\"name\":\"regular\",\"configuration\":"
	"{\"chunk_shape\":[1,1]}},\"fill_value\":0,\"codecs\":[{\"name\":\"bytes\"}],"
	"\"attributes\":{}}";

struct outcome {
	double seconds;
	unsigned int rebases, manifests;
};

static int open_url(const char *url, struct store **ret_store, struct repo **ret_repo,
		    struct error *err)
{
	struct store_options options = {.allow_private = true};
	int r = store_open(url, &options, ret_store, err);

	return r < 0 || !ret_repo ? r : repo_open(*ret_store, NULL, ret_repo, err);
}

static int commit_with(struct transaction *transaction, enum rebase_mode mode,
		       struct commit_counters *counters, struct error *err)
{
	struct commit_options options = {.message = "race", .rebase = mode};
	struct id12 id;

	return transaction_commit(transaction, &options, &id, counters, err);
}

static int prepare(const char *url, struct error *err)
{
	CLEANUP(store_freep) struct store *store = NULL;
	CLEANUP(repo_freep) struct repo *repo = NULL;
	CLEANUP(transaction_freep) struct transaction *transaction = NULL;
	int r = open_url(url, &store, NULL, err);

	if (r == 0)
		r = repo_create(store, 2, slice_text(config_text), err);
	if (r == 0)
		r = repo_open(store, NULL, &repo, err);
	if (r == 0)
		r = transaction_begin(repo, NULL, NULL, &transaction, err);
	if (r == 0)
		r = transaction_put_document(transaction, "/a", slice_text(array_text), err);
	return r < 0 ? r : commit_with(transaction, REBASE_NO, NULL, err);
}

static int commit_window(struct repo *repo, uint32_t window, struct outcome *outcome,
			 struct error *err)
{
	CLEANUP(transaction_freep) struct transaction *transaction = NULL;
	struct commit_counters counters = {0};
	double start;
	int r = transaction_begin(repo, NULL, NULL, &transaction, err);

	for (uint32_t j = 0; r == 0 && j < 100; j++) {
		uint32_t index[] = {window, j};
		struct virtual_ref ref = {.index = index,
					  .location = slice_text(PREFIX "some/file.grib2"),
					  .offset = j,
					  .length = 1};

		r = transaction_set_refs(transaction, "/a", &ref, 1, 2, err);
	}
	start = bench_now();
	if (r == 0)
		r = commit_with(transaction, REBASE_DETECT, &counters, err);
	outcome->seconds = bench_now() - start;
	outcome->rebases = counters.rebases;
	outcome->manifests = (unsigned int)counters.manifests_written;
	return r;
}

static int racer(const char *url, unsigned int who, unsigned int processes, unsigned int commits,
		 int start, int out)
{
	CLEANUP(store_freep) struct store *store = NULL;
	CLEANUP(repo_freep) struct repo *repo = NULL;
	struct error err = ERROR_INIT;
	char byte;
	int r = open_url(url, &store, &repo, &err);

	if (r == 0 && read(start, &byte, 1) != 1)
		return 1;
	for (unsigned int i = who; r == 0 && i < commits; i += processes) {
		struct outcome outcome = {0};

		r = commit_window(repo, i, &outcome, &err);
		if (r == 0 && write(out, &outcome, sizeof(outcome)) != sizeof(outcome))
			return 1;
	}
	if (r < 0)
		fprintf(stderr, "repo-race: process %u: %s\n", who, err.text);
	return r < 0;
}

static void report(const double *seconds, unsigned int n, unsigned int processes, double total,
		   unsigned int rebases, unsigned int manifests)
{
	double sorted[COMMITS_MAX];

	memcpy(sorted, seconds, n * sizeof(*sorted));
	printf("{\"processes\":%u,\"commits\":%u,\"commits_a_second\":%.2f,\"median\":%.4f,",
	       processes, n, n / total, n ? bench_median(sorted, n) : 0.0);
	printf("\"p99\":%.4f,\"manifests\":%u,\"rebases\":%u}\n",
	       n ? sorted[(n - 1) * 99 / 100] : 0.0, manifests, rebases);
}

int main(int argc, char **argv)
{
	static double seconds[COMMITS_MAX];
	struct error err = ERROR_INIT;
	unsigned int processes, commits, n = 0, rebases = 0, manifests = 0, failed = 0;
	struct outcome outcome;
	char bytes[256] = {0};
	int start[2], out[2], status;
	double begin;

	if (argc < 4)
		return 2;
	processes = (unsigned int)strtoul(argv[2], NULL, 10);
	commits = (unsigned int)strtoul(argv[3], NULL, 10);
	if (processes > 255 || commits > COMMITS_MAX || pipe(start) < 0 || pipe(out) < 0)
		return 2;
	for (unsigned int i = 0; i < processes; i++) {
		if (i == 0) {
			/* In a child too: a network engine does not survive a fork. */
			pid_t pid = fork();

			if (pid == 0) {
				if (prepare(argv[1], &err) < 0)
					fprintf(stderr, "repo-race: %s\n", err.text);
				_exit(err.kind != 0);
			}
			if (waitpid(pid, &status, 0) != pid || status != 0)
				return 1;
		}
		if (fork() == 0) {
			close(out[0]);
			_exit(racer(argv[1], i, processes, commits, start[0], out[1]));
		}
	}
	close(out[1]);
	usleep(500000);
	begin = bench_now();
	if (write(start[1], bytes, processes) != (ssize_t)processes)
		return 1;
	while (read(out[0], &outcome, sizeof(outcome)) == sizeof(outcome)) {
		seconds[n++] = outcome.seconds;
		rebases += outcome.rebases;
		manifests += outcome.manifests;
	}
	for (unsigned int i = 0; i < processes; i++) {
		if (wait(&status) > 0 && status != 0)
			failed++;
	}
	report(seconds, n, processes, bench_now() - begin, rebases, manifests);
	return failed != 0 || n != commits;
}
