/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What one decode allocates, at most at one time: a tenth of its output, for JPEG 2000 beside what
 * eccodes takes for the same message
 *
 * Counted in the allocator, so that libraries count too: sanitizers have hooks there, and without
 * them this program's functions come before the C library's.
 */

#include "test.h"

#include <eccodes.h>
#include <malloc.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "files.h"
#include "grib/grib.h"

/* Tables of fixed size, of libpng, libaec and zlib. */
enum { ALWAYS = 128 << 10 };

static atomic_long in_use, most;

static void count(long bytes)
{
	long now = atomic_fetch_add(&in_use, bytes) + bytes;

	if (now > most)
		most = now;
}

static void restart(void)
{
	in_use = most = 0;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_HOOKS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_HOOKS 1
#endif
#endif

#ifdef HAS_HOOKS
/* Of <sanitizer/allocator_interface.h>, which gcc does not install. */
int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void *, size_t),
					      void (*on_free)(const volatile void *));
size_t __sanitizer_get_allocated_size(const volatile void *block);

static void on_malloc(const volatile void *block, size_t size)
{
	(void)block;
	count((long)size);
}

static void on_free(const volatile void *block)
{
	if (block)
		count(-(long)__sanitizer_get_allocated_size(block));
}

static void start_counting(void)
{
	assert_true(__sanitizer_install_malloc_and_free_hooks(on_malloc, on_free) > 0);
}
#else
#define EXPORTED __attribute__((visibility("default")))

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *block, size_t size);
void __libc_free(void *block);

static void *counted(void *block)
{
	count((long)malloc_usable_size(block));
	return block;
}

EXPORTED void *malloc(size_t size)
{
	return counted(__libc_malloc(size));
}

EXPORTED void *calloc(size_t n, size_t size)
{
	return counted(__libc_calloc(n, size));
}

EXPORTED void *realloc(void *block, size_t size)
{
	count(-(long)malloc_usable_size(block));
	return counted(__libc_realloc(block, size));
}

EXPORTED void free(void *block)
{
	count(-(long)malloc_usable_size(block));
	__libc_free(block);
}

static void start_counting(void)
{
}
#endif

static struct memory_case {
	const char *name;
	const char *file;
	struct grib_decode_options options;
	bool jpeg;
} cases[] = {
	{"5.0", .file = "hrrr.t06z.wrfsfcf01-UGRD.grib2"},
	{"5.0 with missing values", .file = "hrrr.t06z.wrfsfcf01-missing-zeros.grib2"},
	{"5.0 float32", .file = "hrrr.t06z.wrfsfcf01-UGRD.grib2", .options.type = GRIB_F32},
	{"5.3", .file = "hrrr.t06z.wrfsfcf01-TMP.grib2"},
	{"5.3 rows from the north", .file = "hrrr.t06z.wrfsfcf01-TMP.grib2",
	 .options.north_up = true},
	{"5.3 float32", .file = "hrrr.t06z.wrfsfcf01-TMP.grib2", .options.type = GRIB_F32},
	{"5.3 with a bitmap", .file = "hrrr.t00z.wrfprsf00-space.grib2"},
	{"5.3 with missing values", .file = "nbm-multilevel-tcdc.grib2"},
	{"a constant", .file = "hrrr.t06z.wrfsfcf01-CFRZR.grib2"},
	{"5.42", .file = "aifs-single-t500.grib2"},
	{"5.42 float32", .file = "aifs-single-t500.grib2", .options.type = GRIB_F32},
	{"5.42 columns from 180 W", .file = "aifs-single-t500.grib2",
	 .options.adjust_longitude_range = true},
	{"5.42 with a bitmap", .file = "meteofrance.mfwam.arome-SWELL.grib2"},
	{"5.41", .file = "MRMS_MergedReflectivityQCComposite_00.50_20220704-110040.grib2"},
	{"5.40", .file = "gfswave.t18z.atlocn.0p16.f001.grib2", .jpeg = true},
	{"5.40 turned", .file = "gfswave.t18z.atlocn.0p16.f001.grib2", .options.north_up = true,
	 .options.adjust_longitude_range = true, .jpeg = true},
	{"5.40 float32", .file = "gfswave.t18z.atlocn.0p16.f001.grib2", .options.type = GRIB_F32,
	 .jpeg = true},
	{"edition 1", .file = "era5-levels-members.grib"},
};

static int take_first(void *context, const struct grib_entry *entry, struct error *err)
{
	struct slice *message = context;

	if (entry->message == 1)
		*message = slice_sub(*message, entry->offset, entry->length);
	return entry->message == 1 ? 0 : error_set(err, ERR_INTERRUPTED, "found");
}

static struct slice first_message(const struct buf *file)
{
	struct slice bytes = buf_slice(file), message = bytes;
	struct grib_source source = grib_source_memory(&bytes);

	grib_scan(&source, take_first, &message, NULL);
	return message;
}

/* What eccodes takes, its tables being there. */
static long eccodes_peak(struct slice message, double *values, size_t n)
{
	for (int i = 0; i < 2; i++) {
		codes_handle *handle;

		restart();
		handle = codes_handle_new_from_message(NULL, message.data, message.size);
		assert_non_null(handle);
		assert_int_equal(codes_get_double_array(handle, "values", values, &n), 0);
		codes_handle_delete(handle);
	}
	return most;
}

static void test_peak(void **state)
{
	const struct memory_case *c = *state;
	CLEANUP(buf_done) struct buf file = BUF_INIT(BUF_NO_LIMIT);
	CLEANUP(freep) void *values = NULL;
	struct error err = ERROR_INIT;
	char name[256];
	struct slice message;
	long allowed;
	uint64_t n;

	snprintf(name, sizeof(name), "grib/%s", c->file);
	assert_ok(test_read_file(test_data(name), &file, &err), &err);
	message = first_message(&file);
	assert_ok(grib_value_count(message, &c->options, &n, &err), &err);
	values = malloc(n * sizeof(double));
	assert_non_null(values);
	allowed = ALWAYS + (long)(n * grib_type_size(c->options.type) / 10);
	if (c->jpeg)
		allowed += eccodes_peak(message, values, n);
	if (c->jpeg && c->options.type == GRIB_F32)
		allowed += (long)(n * sizeof(double)); /* eccodes gives nothing else */
	/* Tables that stay are made by the first. */
	for (int i = 0; i < 2; i++) {
		restart();
		assert_ok(grib_decode(message, &c->options, values, n, &err), &err);
	}
	if (most > allowed)
		fail_msg("%ld bytes at one time, at most %ld should be", (long)most, allowed);
}

static void test_counting(void **state)
{
	void *volatile block;

	(void)state;
	restart();
	block = malloc(1000000);
	free(block);
	block = calloc(1, 2000000);
	block = realloc(block, 3000000);
	free(block);
	assert_in_range(most, 3000000, 5100000);
	assert_in_range(in_use + 1000, 0, 2000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_counting)};

	start_counting();
	if (cmocka_run_group_tests(tests, NULL, NULL))
		return 1;
	if (!test_data("grib"))
		test_skip("no real messages, REFMT_TEST_DATA names no folder with them");
	return RUN_CASES(test_peak, cases);
}
