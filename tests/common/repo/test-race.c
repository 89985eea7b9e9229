/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/wait.h>
#include <unistd.h>

#include "common/repo/fixture.h"

/*
 * Processes commit to one branch of one local repository at the same time.  Disjoint chunks: every
 * commit lands and none is lost.  One chunk: all but one get a conflict.
 */

struct race {
	const char *name;
	int spec;
	uint32_t processes;
	bool same_chunk;
};

static struct race races[] = {
	{"2 processes", 2, 2, false},
	{"8 processes", 2, 8, false},
	{"32 processes", 2, 32, false},
	{"8 processes, specification 1", 1, 8, false},
	{"8 processes, one chunk", 2, 8, true},
	{"8 processes, one chunk, specification 1", 1, 8, true},
};

enum { EXIT_LANDED = 0, EXIT_CONFLICT = 10, EXIT_FAILED = 11 };

static int race_run(const char *folder, const struct race *race, uint32_t who, int start)
{
	CLEANUP(store_freep) struct store *store = NULL;
	CLEANUP(repo_freep) struct repo *repo = NULL;
	CLEANUP(transaction_freep) struct transaction *transaction = NULL;
	struct error err = ERROR_INIT;
	char name[16], byte;
	int r;

	snprintf(name, sizeof(name), "%u", who);
	r = store_local_new(folder, &store, &err);
	if (r == 0)
		r = repo_open(store, NULL, &repo, &err);
	if (r == 0)
		r = transaction_begin(repo, NULL, NULL, &transaction, &err);
	if (r == 0)
		r = fixture_set(transaction, race->same_chunk ? 0 : who / 4,
				race->same_chunk ? 0 : who % 4, name, &err);
	/* All have the same base before the first one goes on. */
	if (r < 0 || read(start, &byte, 1) != 1)
		return EXIT_FAILED;
	r = fixture_commit(transaction, REBASE_DETECT, &err);
	if (r < 0 && r != ERR_CONFLICT)
		fprintf(stderr, "process %u: %s\n", who, err.text);
	return r == 0 ? EXIT_LANDED : r == ERR_CONFLICT ? EXIT_CONFLICT : EXIT_FAILED;
}

static void race_start(const char *folder, const struct race *race, int pipe_fds[2])
{
	for (uint32_t i = 0; i < race->processes; i++) {
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (pid == 0) {
			close(pipe_fds[1]);
			_exit(race_run(folder, race, i, pipe_fds[0]));
		}
	}
}

static void race_finish(const struct race *race, int pipe_fds[2], uint32_t *ret_landed,
			uint32_t *ret_conflicts)
{
	char bytes[64] = {0};

	usleep(300000);
	assert_int_equal(write(pipe_fds[1], bytes, race->processes), race->processes);
	for (uint32_t i = 0; i < race->processes; i++) {
		int status;

		assert_true(wait(&status) > 0);
		assert_true(WIFEXITED(status));
		*ret_landed += WEXITSTATUS(status) == EXIT_LANDED;
		*ret_conflicts += WEXITSTATUS(status) == EXIT_CONFLICT;
	}
}

static void check_chunks(struct repo *repo, const struct race *race)
{
	char location[256], want[256];

	for (uint32_t i = 0; !race->same_chunk && i < race->processes; i++) {
		fixture_get(repo, i / 4, i % 4, location);
		snprintf(want, sizeof(want), "s3://bucket/%u", i);
		assert_string_equal(location, want);
	}
}

static void test_race(void **state)
{
	const struct race *race = *state;
	CLEANUP(store_freep) struct store *store = NULL;
	CLEANUP(repo_freep) struct repo *repo = NULL;
	struct error err = ERROR_INIT;
	uint32_t landed = 0, conflicts = 0;
	char folder[256];
	int pipe_fds[2];

	fixture_folder(folder);
	assert_ok(store_local_new(folder, &store, &err), &err);
	assert_ok(fixture_create(store, race->spec, &err), &err);
	assert_int_equal(pipe(pipe_fds), 0);
	race_start(folder, race, pipe_fds);
	race_finish(race, pipe_fds, &landed, &conflicts);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	assert_int_equal(landed, race->same_chunk ? 1 : race->processes);
	assert_int_equal(conflicts, race->same_chunk ? race->processes - 1 : 0);
	repo = fixture_open(store);
	assert_int_equal(fixture_n_commits(repo), 2 + landed);
	check_chunks(repo, race);
	fixture_verify(repo);
	fixture_remove(folder);
}

int main(void)
{
	return RUN_CASES(test_race, races);
}
