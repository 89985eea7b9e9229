/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many reads at once from a server with a bad day: how fast they end, how they give way.
 */
#include "test.h"

#include <math.h>
#include <pthread.h>
#include <unistd.h>

#include "base/pool.h"
#include "base/random.h"
#include "base/time.h"
#include "harness/bad-server.h"
#include "net/http.h"
#include "net/lane.h"

enum {
	READS = 5000,
	READERS = 32,
	RANGE = 4096,
	OBJECT_SIZE = 4 * 1024 * 1024,
};

static uint8_t object_bytes[OBJECT_SIZE];

/* What the server does wrong. */
struct weather {
	_Atomic double errors, stalls; /* shares of the requests */
	atomic_bool throttle;
	atomic_uint answered[100]; /* requests in each tenth of a second since @start */
	int64_t start;
};

static void serve(void *argument, struct bad_connection *c, const struct bad_request *q)
{
	struct weather *weather = argument;
	int64_t tenth = (time_monotonic() - weather->start) / 100000;
	double dice = random_unit();

	if (tenth >= 0 && tenth < 100)
		weather->answered[tenth]++;
	usleep((useconds_t)(20000 + 20000 * random_unit())); /* 30 +- 10 ms */
	if (weather->throttle)
		bad_reply_text(c, 503, "", "<Error><Code>SlowDown</Code></Error>");
	else if (dice < weather->errors)
		bad_reply_text(c, 503, "", "<Error><Code>InternalError</Code></Error>");
	else if (dice < weather->errors + weather->stalls)
		bad_stall(c, 30000);
	else
		bad_serve(c, q, slice_of(object_bytes, sizeof(object_bytes)));
}

struct load {
	struct http_site site;
	char url[100];
	int64_t took[READS];
};

static enum http_verdict judge(void *argument, const struct attempt *answer)
{
	(void)argument;
	if (answer->status == 503 && memmem(answer->body.data, answer->body.size, "SlowDown", 8))
		return HTTP_THROTTLED;
	return http_judge(answer);
}

static int read_one(void *argument, size_t i, struct error *err)
{
	struct load *load = argument;
	CLEANUP(http_answer_done) struct http_answer answer = {0};
	uint64_t offset = i * 7919 % (OBJECT_SIZE - RANGE);
	struct http_request request = {
		.method = "GET",
		.url = load->url,
		.ranged = true,
		.offset = offset,
		.length = RANGE,
		.hedge = true,
	};
	int64_t start = time_monotonic();
	int r;

	r = http_call(&load->site, &request, &answer, err);
	load->took[i] = time_monotonic() - start;
	if (r < 0)
		return r;
	if (answer.attempt.body.size != RANGE ||
	    memcmp(answer.attempt.body.data, object_bytes + offset, RANGE) != 0)
		return error_set(err, ERR_FORMAT, "wrong bytes at %llu",
				 (unsigned long long)offset);
	return 0;
}

static int took_order(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static int64_t p99(struct load *load)
{
	qsort(load->took, READS, sizeof(load->took[0]), took_order);
	return load->took[READS * 99 / 100];
}

static void set_up_load(struct load *load, const char *lane, const struct bad_server *server)
{
	struct error err = ERROR_INIT;

	memset(load, 0, sizeof(*load));
	load->site = (struct http_site){
		.lane = lane_get(lane, &err),
		.allow_private = true,
		.timeout_ms = 60000,
		.stall_ms = 10000,
		.judge = judge,
	};
	snprintf(load->url, sizeof(load->url), "http://127.0.0.1:%u/object",
		 bad_server_port(server));
}

static void test_reads_in_bad_weather(void **state)
{
	static struct weather weather;
	static struct load clean, bad;
	CLEANUP(bad_server_stopp)
	struct bad_server *server = bad_server_start(serve, &weather, NULL);
	struct error err = ERROR_INIT;
	int64_t clean_p99, bad_p99, hedge;
	struct lane_counts counts;

	(void)state;
	for (size_t i = 0; i < sizeof(object_bytes); i++)
		object_bytes[i] = (uint8_t)(i * 2654435761u >> 11);
	set_up_load(&clean, "clean", server);
	assert_ok(parallel_for(READERS, READS, read_one, &clean, &err), &err);
	clean_p99 = p99(&clean);
	weather.errors = 0.1;
	weather.stalls = 0.01;
	set_up_load(&bad, "bad", server);
	assert_ok(parallel_for(READERS, READS, read_one, &bad, &err), &err);
	bad_p99 = p99(&bad);
	hedge = lane_overdue(bad.site.lane, RANGE);
	counts = lane_counts(bad.site.lane);
	if (bad_p99 > 2 * clean_p99 + hedge)
		fail_msg("p99 %lld us, clean %lld us, hedge after %lld us, %llu hedges",
			 (long long)bad_p99, (long long)clean_p99, (long long)hedge,
			 (unsigned long long)counts.hedges);
	/* Every error once more, and not more than one request in twenty sent twice. */
	assert_in_range(counts.requests, READS, READS * 130 / 100);
	assert_in_range(counts.hedges, READS / 200, READS / 15);
	assert_int_equal(counts.in_flight, 0);
}

static void *run_load(void *argument)
{
	struct error err = ERROR_INIT;

	if (parallel_for(READERS, READS, read_one, argument, &err) < 0)
		fprintf(stderr, "%s\n", err.text);
	return err.kind ? argument : NULL;
}

static unsigned int answered(struct weather *weather, size_t from, size_t to)
{
	unsigned int n = 0;

	for (size_t i = from; i < to; i++)
		n += weather->answered[i];
	return n;
}

/* SlowDown from the second second to the fourth: that bucket gives way, the other does not. */
static void test_a_throttling_bucket_slows_itself_alone(void **state)
{
	static struct weather slow, other;
	static struct load slow_load, other_load;
	CLEANUP(bad_server_stopp)
	struct bad_server *slow_server = bad_server_start(serve, &slow, NULL);
	CLEANUP(bad_server_stopp)
	struct bad_server *other_server = bad_server_start(serve, &other, NULL);
	pthread_t threads[2];
	void *failed[2];

	(void)state;
	set_up_load(&slow_load, "slow", slow_server);
	set_up_load(&other_load, "other", other_server);
	slow.start = other.start = time_monotonic();
	pthread_create(&threads[0], NULL, run_load, &slow_load);
	pthread_create(&threads[1], NULL, run_load, &other_load);
	usleep(1500000);
	slow.throttle = true;
	usleep(3000000);
	slow.throttle = false;
	/* All of it is read in the end. */
	pthread_join(threads[0], &failed[0]);
	pthread_join(threads[1], &failed[1]);
	assert_null(failed[0]);
	assert_null(failed[1]);
	/* The second before, and the one that begins 2 s after the first SlowDown. */
	if (answered(&slow, 35, 45) * 2 > answered(&slow, 5, 15))
		fail_msg("%u requests a second, before %u", answered(&slow, 35, 45),
			 answered(&slow, 5, 15));
	/* As many as before, or more since the machine has more time for it. */
	if (answered(&other, 20, 40) < answered(&other, 5, 15))
		fail_msg("the other bucket: %u in two seconds, before %u in one",
			 answered(&other, 20, 40), answered(&other, 5, 15));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads_in_bad_weather),
		cmocka_unit_test(test_a_throttling_bucket_slows_itself_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
