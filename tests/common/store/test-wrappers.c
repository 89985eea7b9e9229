/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <sys/wait.h>
#include <unistd.h>

#include "store/drivers.h"

static struct store *memory_with(const char *key, const char *text)
{
	struct store *store = NULL;
	struct error err = ERROR_INIT;

	assert_ok(store_memory_new(&store, &err), &err);
	assert_ok(store_put(store, key, slice_text(text), &err), &err);
	return store;
}

static void test_counter_counts_operations_and_bytes(void **state)
{
	CLEANUP(store_freep) struct store *memory = memory_with("a", "12345");
	CLEANUP(store_freep) struct store *store = NULL;
	CLEANUP(buf_done) struct buf got = BUF_INIT(100);
	struct error err = ERROR_INIT;
	struct store_counts counts;
	struct store_info info;

	(void)state;
	assert_ok(store_counter_new(memory, &store, &err), &err);
	assert_ok(store_get(store, "a", 1, 3, NULL, &got, &info, &err), &err);
	assert_int_equal(store_get_all(store, "b", &got, NULL, &err), STORE_ABSENT);
	assert_ok(store_head(store, "a", &info, &err), &err);
	assert_ok(store_replace(store, "a", &info.version, slice_text("1234"), NULL, &err), &err);
	assert_ok(store_copy(store, "a", NULL, "c", &err), &err);
	counts = store_counter_get(store);
	assert_int_equal(counts.get, 2);
	assert_int_equal(counts.head, 1);
	assert_int_equal(counts.replace, 1);
	assert_int_equal(counts.copy, 1);
	assert_int_equal(counts.put, 0);
	assert_int_equal(counts.bytes_read, 3);
	assert_int_equal(counts.bytes_written, 4);
	store_counter_reset(store);
	assert_int_equal(store_counter_get(store).get, 0);
}

static void test_fault_before_has_done_nothing(void **state)
{
	CLEANUP(store_freep) struct store *memory = memory_with("a", "1");
	CLEANUP(store_freep) struct store *store = NULL;
	CLEANUP(buf_done) struct buf got = BUF_INIT(100);
	struct error err = ERROR_INIT;

	(void)state;
	assert_ok(store_fault_new(memory, 2, FAULT_FAIL_BEFORE, &store, &err), &err);
	assert_ok(store_put(store, "a", slice_text("2"), &err), &err);
	assert_int_equal(store_put(store, "a", slice_text("3"), &err), ERR_NETWORK);
	assert_ok(store_get_all(store, "a", &got, NULL, &err), &err);
	assert_true(slice_is(buf_slice(&got), "2"));
	assert_int_equal(store_fault_count(store), 3);
}

static void test_fault_after_loses_the_answer(void **state)
{
	CLEANUP(store_freep) struct store *memory = memory_with("a", "1");
	CLEANUP(store_freep) struct store *store = NULL;
	CLEANUP(buf_done) struct buf got = BUF_INIT(100);
	struct error err = ERROR_INIT;

	(void)state;
	assert_ok(store_fault_new(memory, 1, FAULT_FAIL_AFTER, &store, &err), &err);
	assert_int_equal(store_put(store, "a", slice_text("2"), &err), ERR_NETWORK);
	assert_ok(store_get_all(memory, "a", &got, NULL, &err), &err);
	assert_true(slice_is(buf_slice(&got), "2"));
}

static void test_fault_ends_the_process(void **state)
{
	CLEANUP(store_freep) struct store *memory = memory_with("a", "1");
	CLEANUP(store_freep) struct store *store = NULL;
	struct error err = ERROR_INIT;
	int status = 0;
	pid_t child;

	(void)state;
	assert_ok(store_fault_new(memory, 1, FAULT_EXIT, &store, &err), &err);
	child = fork();
	if (child == 0) {
		store_put(store, "a", slice_text("2"), &err);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(WEXITSTATUS(status), 99);
}

static void test_errors_name_the_object_once(void **state)
{
	CLEANUP(store_freep) struct store *memory = memory_with("a", "1");
	CLEANUP(store_freep) struct store *store = NULL;
	CLEANUP(buf_done) struct buf got = BUF_INIT(100);
	struct error err = ERROR_INIT;

	(void)state;
	assert_ok(store_counter_new(memory, &store, &err), &err);
	assert_int_equal(store_get(store, "a", 0, 2, NULL, &got, NULL, &err), ERR_FORMAT);
	assert_string_equal(
		err.text,
		"cannot read 'memory:/a': the object has 1 bytes, wanted 2 from byte 0 on");
}

static void test_one_memory_store_a_name(void **state)
{
	CLEANUP(store_freep) struct store *first = NULL;
	CLEANUP(store_freep) struct store *second = NULL;
	CLEANUP(store_freep) struct store *other = NULL;
	CLEANUP(buf_done) struct buf got = BUF_INIT(100);
	struct error err = ERROR_INIT;

	(void)state;
	assert_ok(store_open("memory:x", NULL, &first, &err), &err);
	assert_ok(store_put(first, "a", slice_text("1"), &err), &err);
	first = store_free(first);
	assert_ok(store_open("memory:x", NULL, &second, &err), &err);
	assert_ok(store_get_all(second, "a", &got, NULL, &err), &err);
	assert_ok(store_open("memory:y", NULL, &other, &err), &err);
	assert_int_equal(store_get_all(other, "a", &got, NULL, &err), STORE_ABSENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counter_counts_operations_and_bytes),
		cmocka_unit_test(test_fault_before_has_done_nothing),
		cmocka_unit_test(test_fault_after_loses_the_answer),
		cmocka_unit_test(test_fault_ends_the_process),
		cmocka_unit_test(test_errors_name_the_object_once),
		cmocka_unit_test(test_one_memory_store_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
