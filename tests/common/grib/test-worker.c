/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Whatever happens to a worker is the error of one message: crash, hang, memory, and forbidden
 * things.  The hook acts on a word behind the message, where the decoder does not look.
 */

#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/time.h"
#include "grib/worker.h"
#include "harness/make-grib.h"

enum { N = 4096, THREADS = 8, ROUNDS = 200 };

/* A message of IEEE numbers (5.4), which only eccodes decodes, then @word. */
static void make_message(const char *word, struct buf *out)
{
	struct make_grib spec = {
		.year = 2026, .month = 1, .day = 1, .grid = make_grid_global(N, 1)};
	CLEANUP(buf_done) struct buf s7 = BUF_INIT(BUF_NO_LIMIT);
	struct error err = ERROR_INIT;

	for (int i = 0; i < N; i++) {
		float value = (float)i * 0.5F;
		uint32_t bits;

		memcpy(&bits, &value, sizeof(bits));
		assert_ok(make_be(&s7, bits, 4, &err), &err);
	}
	assert_ok(make_grib_around(&spec, N, slice_of("\0\4\1", 3), slice_of("", 0), buf_slice(&s7),
				   out, &err),
		  &err);
	assert_ok(buf_append_text(out, word, &err), &err);
}

static bool ends_with(struct slice message, const char *word)
{
	size_t n = strlen(word);

	return message.size > n && memcmp(message.data + message.size - n, word, n) == 0;
}

static void use_up_memory(void)
{
	/* Written to, or the pages would not count under every sanitizer. */
	for (size_t i = 0; i < 64; i++) {
		char *block = malloc((size_t)1 << 26);

		if (!block)
			abort();
		memset(block, 1, (size_t)1 << 26);
	}
	abort();
}

static bool has_landlock; /* of the kernel */

/* Ends the worker with status 99 when something forbidden works, 98 when it can read what it must
 * not. */
static void try_forbidden(void)
{
	char *const argv[] = {(char *)(uintptr_t) "true", NULL};

	if (socket(AF_UNIX, SOCK_STREAM, 0) >= 0 || socket(AF_INET, SOCK_STREAM, 0) >= 0 ||
	    open("/tmp/refmt-worker-wrote-this", O_WRONLY | O_CREAT, 0600) >= 0 ||
	    open("/dev/null", O_RDWR) >= 0 || execv("/bin/true", argv) == 0 || fork() >= 0)
		_exit(99);
	/* eccodes's definition files can be read, or the message would not decode. */
	if ((open("/etc/passwd", O_RDONLY) >= 0) == has_landlock)
		_exit(98);
}

static void before(struct slice message)
{
	if (ends_with(message, "crash"))
		raise(SIGSEGV);
	if (ends_with(message, "abort"))
		abort();
	if (ends_with(message, "leave"))
		_exit(3);
	if (ends_with(message, "hang"))
		for (;;)
			pause();
	if (ends_with(message, "memory"))
		use_up_memory();
	if (ends_with(message, "forbidden"))
		try_forbidden();
}

static struct grib_workers *start(unsigned int n, int64_t time_limit)
{
	struct grib_worker_options options = {
		.n = n, .time_limit = time_limit, .memory_max = 1 << 30, .before = before};
	struct grib_workers *workers = NULL;
	struct error err = ERROR_INIT;

	assert_ok(grib_workers_start(&options, &workers, &err), &err);
	return workers;
}

static int decode(struct grib_workers *workers, const char *word, int64_t deadline,
		  struct error *err)
{
	const struct grib_decode_options options = {.mode = GRIB_WMO};
	CLEANUP(buf_done) struct buf message = BUF_INIT(BUF_NO_LIMIT);
	double values[N];
	int r;

	make_message(word, &message);
	r = grib_workers_decode(workers, buf_slice(&message), &options, deadline, values, N, err);
	for (int i = 0; r == 0 && i < N; i++)
		if (values[i] != i * 0.5)
			return error_set(err, ERR_FORMAT, "value %d is %g", i, values[i]);
	return r;
}

static struct fate_case {
	const char *name;
	const char *word;
	int want;
	const char *error; /* its beginning */
} fates[] = {
	{"nothing", "fine", 0, .error = ""},
	{"crash", "crash", ERR_FORMAT,
	 .error = "the decoder ended over this message: Segmentation fault"},
	{"abort", "abort", ERR_FORMAT, .error = "the decoder ended over this message: Aborted"},
	{"exit", "leave", ERR_FORMAT, .error = "the decoder ended over this message with status 3"},
	{"hang", "hang", ERR_TIMEOUT, .error = "decoding took too long"},
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	/* Sanitizers use too many addresses for a limit. */
	{"memory", "memory", ERR_FORMAT, .error = "the decoder ended over this message"},
#endif
	{"forbidden things fail in the worker", "forbidden", 0, .error = ""},
};

static void test_fate(void **state)
{
	const struct fate_case *c = *state;
	/* A busy machine takes long to start a worker, and only one of these waits for the limit.
	 */
	int64_t limit = (c->want == ERR_TIMEOUT ? 3 : 60) * TIME_SECOND;
	CLEANUP(grib_workers_freep) struct grib_workers *workers = start(1, limit);
	struct error err = ERROR_INIT;

	assert_ok(decode(workers, "fine", 0, &err), &err);
	assert_int_equal(decode(workers, c->word, 0, &err), c->want);
	if (c->want < 0 && strncmp(err.text, c->error, strlen(c->error)) != 0)
		fail_msg("error: %s", err.text);
	assert_ok(decode(workers, "fine", 0, &err), &err);
	assert_true(grib_workers_counts(workers).started >= (c->want ? 2 : 1));
	assert_int_not_equal(access("/tmp/refmt-worker-wrote-this", F_OK), 0);
}

static void test_deadline_of_the_caller(void **state)
{
	CLEANUP(grib_workers_freep) struct grib_workers *workers = start(1, 60 * TIME_SECOND);
	int64_t begin = time_monotonic();
	struct error err = ERROR_INIT;

	(void)state;
	assert_int_equal(decode(workers, "hang", begin + TIME_SECOND / 5, &err), ERR_TIMEOUT);
	assert_true(time_monotonic() - begin < 20 * TIME_SECOND);
}

struct crowd {
	struct grib_workers *workers;
	int seed;
	int failures;
};

static void *decode_many(void *argument)
{
	static const char *const words[] = {"fine", "fine", "fine", "fine", "crash", "fine"};
	struct crowd *crowd = argument;

	for (int i = 0; i < ROUNDS; i++) {
		const char *word = words[(i + crowd->seed) % 6];
		struct error err = ERROR_INIT;
		int r = decode(crowd->workers, word, 0, &err);

		if (r != (strcmp(word, "crash") == 0 ? ERR_FORMAT : 0))
			crowd->failures++;
	}
	return NULL;
}

static void test_many_threads(void **state)
{
	CLEANUP(grib_workers_freep) struct grib_workers *workers = start(3, 60 * TIME_SECOND);
	struct crowd crowds[THREADS];
	pthread_t threads[THREADS];

	(void)state;
	for (int i = 0; i < THREADS; i++) {
		crowds[i] = (struct crowd){.workers = workers, .seed = i};
		assert_int_equal(pthread_create(&threads[i], NULL, decode_many, &crowds[i]), 0);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(crowds[i].failures, 0);
	}
	assert_true(grib_workers_counts(workers).crashed >= THREADS * (ROUNDS / 6));
}

static void test_direct_packings_need_no_worker(void **state)
{
	struct make_grib spec = {.year = 2026,
				 .month = 1,
				 .day = 1,
				 .grid = make_grid_global(4, 3),
				 .packing = MAKE_SIMPLE,
				 .decimal_scale = 1};
	const float field[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
	CLEANUP(grib_workers_freep) struct grib_workers *workers = start(1, 0);
	CLEANUP(buf_done) struct buf message = BUF_INIT(BUF_NO_LIMIT);
	const struct grib_decode_options options = {.mode = GRIB_WMO};
	struct error err = ERROR_INIT;
	double values[12];

	(void)state;
	assert_ok(make_grib_field(&spec, field, &message, &err), &err);
	assert_ok(grib_workers_decode(workers, buf_slice(&message), &options, 0, values, 12, &err),
		  &err);
	assert_true(values[11] == 11);
	assert_int_equal(grib_workers_counts(workers).started, 0);
	assert_int_equal(
		grib_workers_decode(workers, buf_slice(&message), &options, 0, values, 11, &err),
		ERR_FORMAT);
	assert_string_equal(err.text, "the message has 12 values, not 11");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_deadline_of_the_caller),
		cmocka_unit_test(test_many_threads),
		cmocka_unit_test(test_direct_packings_need_no_worker),
	};
	int failed;

	has_landlock =
		syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) > 0;
	failed = RUN_CASES(test_fate, fates);

	return cmocka_run_group_tests(tests, NULL, NULL) || failed;
}
