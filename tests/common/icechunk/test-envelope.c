/* SPDX-License-Identifier: Apache-2.0 */
#include "icechunk/envelope.h"

#include <zstd.h>

#include "base/text.h"
#include "test.h"

static struct error err;

/* The first bytes of a snapshot by the public library's 0.1.3 (formats, section 12.2). */
static const uint8_t head[] = {0x49, 0x43, 0x45, 0xf0, 0x9f, 0xa7, 0x8a, 0x43, 0x48, 0x55,
			       0x4e, 0x4b, 'i',	 'c',  '-',  '0',  '.',	 '1',  '.',  '3',
			       ' ',  ' ',  ' ',	 ' ',  ' ',  ' ',  ' ',	 ' ',  ' ',  ' ',
			       ' ',  ' ',  ' ',	 ' ',  ' ',  ' ',  1,	 1,    1};

/* A whole file with one frame around @payload, made by zstd itself. */
static struct buf make_file(struct slice payload)
{
	struct buf file = BUF_INIT(BUF_NO_LIMIT);
	size_t bound = ZSTD_compressBound(payload.size);
	uint8_t *at;

	assert_ok(buf_append(&file, head, sizeof(head), &err), &err);
	assert_ok(buf_extend(&file, bound, &at, &err), &err);
	file.size -= bound - ZSTD_compress(at, bound, payload.data, payload.size, 1);
	return file;
}

static void test_header_of_another_writer(void **state)
{
	CLEANUP(buf_done) struct buf file = make_file(slice_text("content"));
	CLEANUP(buf_done) struct buf payload = BUF_INIT(100);
	struct envelope envelope;

	(void)state;
	assert_ok(envelope_open(buf_slice(&file), FILE_SNAPSHOT, &payload, &envelope, &err), &err);
	assert_true(slice_is(buf_slice(&payload), "content"));
	assert_int_equal(envelope.spec, SPEC_1);
	assert_string_equal(envelope.writer, "ic-0.1.3");
}

static struct header_case {
	const char *name;
	size_t at;
	uint8_t value;
	int want;
	const char *error;
} headers[] = {
	{"magic", 0, 'X', ERR_FORMAT, "not an Icechunk file"},
	{"newer specification", 36, 3, ERR_UNSUPPORTED,
	 "specification version 3, newest known is 2"},
	{"specification 0", 36, 0, ERR_FORMAT, "specification version 0"},
	{"other type", 37, 2, ERR_FORMAT, "file type 2, not 1 (snapshot)"},
	{"no compression", 38, 0, ERR_FORMAT, "compression 0, known is 1 (zstd)"},
	{"no zstd", 39, 0, ERR_FORMAT,
	 "payload is no zstd data or cut short: Unknown frame descriptor"},
};

static void test_header(void **state)
{
	const struct header_case *c = *state;
	CLEANUP(buf_done) struct buf file = make_file(slice_text("content"));
	CLEANUP(buf_done) struct buf payload = BUF_INIT(100);

	file.data[c->at] = c->value;
	assert_int_equal(envelope_open(buf_slice(&file), FILE_SNAPSHOT, &payload, NULL, &err),
			 c->want);
	assert_string_equal(err.text, c->error);
}

static void test_repo_object_is_of_spec_2(void **state)
{
	CLEANUP(buf_done) struct buf file = make_file(slice_text("content"));
	CLEANUP(buf_done) struct buf payload = BUF_INIT(100);

	(void)state;
	file.data[37] = FILE_REPO;
	assert_int_equal(envelope_open(buf_slice(&file), FILE_REPO, &payload, NULL, &err),
			 ERR_FORMAT);
	assert_string_equal(err.text, "specification version 1 has no repo object");
}

/* Several frames, one to be skipped, with and without content size and checksum. */
static void test_several_frames(void **state)
{
	static const uint8_t skipped[] = {0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 'a', 'b', 'c'};
	CLEANUP(buf_done) struct buf file = make_file(slice_text("one "));
	CLEANUP(buf_done) struct buf payload = BUF_INIT(100);
	ZSTD_CCtx *context = ZSTD_createCCtx();
	uint8_t frame[100];

	(void)state;
	assert_ok(buf_append(&file, skipped, sizeof(skipped), &err), &err);
	ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
	ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0);
	assert_ok(buf_append(&file, frame, ZSTD_compress2(context, frame, sizeof(frame), "two", 3),
			     &err),
		  &err);
	ZSTD_freeCCtx(context);
	assert_ok(envelope_open(buf_slice(&file), FILE_SNAPSHOT, &payload, NULL, &err), &err);
	assert_true(slice_is(buf_slice(&payload), "one two"));
}

/* 64 MiB of zeros in some kilobytes, with and without their size in the header. */
static void test_bomb(void **state)
{
	size_t size = 64 << 20;
	uint8_t *zeros = calloc(size, 1);

	(void)state;
	for (int told = 0; told < 2; told++) {
		CLEANUP(buf_done) struct buf payload = BUF_INIT(1 << 20);
		CLEANUP(buf_done) struct buf file = BUF_INIT(BUF_NO_LIMIT);
		ZSTD_CCtx *context = ZSTD_createCCtx();
		uint8_t *at;

		assert_ok(buf_append(&file, head, sizeof(head), &err), &err);
		assert_ok(buf_extend(&file, 1 << 20, &at, &err), &err);
		ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, told);
		file.size -= (1 << 20) - ZSTD_compress2(context, at, 1 << 20, zeros, size);
		ZSTD_freeCCtx(context);
		assert_int_equal(
			envelope_open(buf_slice(&file), FILE_SNAPSHOT, &payload, NULL, &err),
			ERR_FORMAT);
		assert_string_equal(err.text, "payload is larger than 1048576 bytes");
		assert_true(payload.capacity <= 1 << 20);
	}
	free(zeros);
}

static struct seal_case {
	const char *name;
	size_t n;
	unsigned int workers;
} seals[] = {
	{"nothing", 0, 0},
	{"little", 100, 0},
	{"two megabytes", 2 << 20, 0},
	{"threads", 9 << 20, 2},
};

static void test_seal(void **state)
{
	const struct seal_case *c = *state;
	CLEANUP(buf_done) struct buf file = BUF_INIT(BUF_NO_LIMIT), again = BUF_INIT(16 << 20);
	struct envelope_options options = {SPEC_2, 0, c->workers};
	uint8_t *bytes = malloc(c->n + 1);
	struct slice pieces[3];
	struct envelope envelope;
	uint32_t random = 1;

	for (size_t i = 0; i < c->n; i++) {
		random = random * 1664525 + 1013904223;
		bytes[i] = (uint8_t)(random >> 28);
	}
	pieces[0] = slice_of(bytes, c->n / 3);
	pieces[1] = slice_of(bytes + c->n / 3, 0);
	pieces[2] = slice_of(bytes + c->n / 3, c->n - c->n / 3);
	assert_ok(envelope_seal(pieces, 3, FILE_MANIFEST, &options, &file, &err), &err);
	assert_ok(envelope_open(buf_slice(&file), FILE_MANIFEST, &again, &envelope, &err), &err);
	assert_true(slice_equal(buf_slice(&again), slice_of(bytes, c->n)));
	assert_true(text_starts(envelope.writer, "refmt-"));
	free(bytes);
}

static void test_level_that_zstd_does_not_have(void **state)
{
	CLEANUP(buf_done) struct buf file = BUF_INIT(BUF_NO_LIMIT);
	struct envelope_options options = {SPEC_2, 99, 0};
	struct slice piece = slice_text("x");

	(void)state;
	assert_int_equal(envelope_seal(&piece, 1, FILE_MANIFEST, &options, &file, &err),
			 ERR_ARGUMENT);
	assert_string_equal(err.text, "zstd has no compression level 99");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_header_of_another_writer),
		cmocka_unit_test(test_repo_object_is_of_spec_2),
		cmocka_unit_test(test_several_frames),
		cmocka_unit_test(test_bomb),
		cmocka_unit_test(test_level_that_zstd_does_not_have),
	};
	int failed = RUN_CASES(test_header, headers);

	failed += RUN_CASES(test_seal, seals);
	return failed + cmocka_run_group_tests_name("envelope", tests, NULL, NULL);
}
