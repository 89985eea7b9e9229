/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/hash.h"
#include "base/text.h"

#define TEXT(literal)                                           \
	{                                                       \
		(const uint8_t *)(literal), sizeof(literal) - 1 \
	}

/* FIPS 180-2 appendix B; RFC 4231 cases 1, 2 and 6; the empty ones from CPython's hashlib. */
static struct digest_case {
	const char *name;
	struct slice key; /* of HMAC; no data: SHA-256 */
	struct slice bytes;
	const char *want;
} digest_cases[] = {
	{"sha256 empty",
	 {NULL, 0},
	 {NULL, 0},
	 "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
	{"sha256 abc",
	 {NULL, 0},
	 TEXT("abc"),
	 "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
	{"sha256 two blocks",
	 {NULL, 0},
	 TEXT("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
	 "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
	{"hmac empty",
	 TEXT(""),
	 {NULL, 0},
	 "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"},
	{"hmac 1",
	 TEXT("\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b"),
	 TEXT("Hi There"), "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
	{"hmac 2", TEXT("Jefe"), TEXT("what do ya want for nothing?"),
	 "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
};

static void test_digest(void **state)
{
	const struct digest_case *c = *state;
	struct error err = ERROR_INIT;
	uint8_t digest[SHA256_SIZE];
	char text[2 * SHA256_SIZE + 1];

	if (c->key.data)
		assert_ok(hmac_sha256(c->key, c->bytes, digest, &err), &err);
	else
		assert_ok(sha256(c->bytes, digest, &err), &err);
	text_hex(digest, sizeof(digest), text);
	assert_string_equal(text, c->want);
}

static void test_hmac_of_a_long_key(void **state)
{
	const char *text = "Test Using Larger Than Block-Size Key - Hash Key First";
	struct error err = ERROR_INIT;
	uint8_t key[131], mac[SHA256_SIZE];
	char hex[2 * SHA256_SIZE + 1];

	(void)state;
	memset(key, 0xaa, sizeof(key));
	assert_ok(hmac_sha256(slice_of(key, sizeof(key)), slice_text(text), mac, &err), &err);
	text_hex(mac, sizeof(mac), hex);
	assert_string_equal(hex,
			    "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

static void assert_crc(const uint8_t *bytes, size_t size, uint32_t want)
{
	assert_int_equal(crc32c(slice_of(bytes, size)), want);
	assert_int_equal(crc32c_portable(slice_of(bytes, size)), want);
}

/* RFC 3720 appendix B.4, and the check value of the catalogues of CRCs. */
static void test_crc32c(void **state)
{
	uint8_t bytes[32] = {0};

	(void)state;
	assert_crc(bytes, 32, 0x8a9136aa);
	memset(bytes, 0xff, 32);
	assert_crc(bytes, 32, 0x62a8ab43);
	for (uint8_t i = 0; i < 32; i++)
		bytes[i] = i;
	assert_crc(bytes, 32, 0x46dd794e);
	for (uint8_t i = 0; i < 32; i++)
		bytes[i] = 31 - i;
	assert_crc(bytes, 32, 0x113fdb5c);
	assert_crc((const uint8_t *)"123456789", 9, 0xe3069283);
	assert_crc(NULL, 0, 0);
}

/* The definition bit by bit, against every length and alignment. */
static uint32_t crc32c_by_bits(const uint8_t *bytes, size_t size)
{
	uint32_t crc = UINT32_MAX;

	for (size_t i = 0; i < size; i++) {
		crc ^= bytes[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
	}
	return ~crc;
}

static void test_crc32c_of_any_length_and_place(void **state)
{
	uint8_t bytes[80];

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 37 + 11);
	for (size_t from = 0; from < 9; from++) {
		for (size_t size = 0; from + size <= sizeof(bytes); size++)
			assert_crc(bytes + from, size, crc32c_by_bits(bytes + from, size));
	}
}

/* RFC 4648 section 10. */
static struct base64_case {
	const char *name; /* the bytes */
	const char *text;
} base64_cases[] = {
	{"", ""},
	{"f", "Zg=="},
	{"fo", "Zm8="},
	{"foo", "Zm9v"},
	{"foob", "Zm9vYg=="},
	{"fooba", "Zm9vYmE="},
	{"foobar", "Zm9vYmFy"},
	{"\xff\xef\xbe", "/+++"},
};

static void test_base64(void **state)
{
	const struct base64_case *c = *state;
	CLEANUP(buf_done) struct buf out = BUF_INIT(100);
	struct error err = ERROR_INIT;

	assert_ok(base64_encode(slice_text(c->name), &out, &err), &err);
	assert_true(slice_is(buf_slice(&out), c->text));
	buf_clear(&out);
	assert_ok(base64_decode(slice_text(c->text), &out, &err), &err);
	assert_true(slice_is(buf_slice(&out), c->name));
}

static struct no_base64_case {
	const char *name; /* the text */
	const char *error;
} no_base64_cases[] = {
	{"Zg", "base64 text of 2 characters"}, {"=", "base64 text of 1 characters"},
	{"====", "byte 0: no base64"},	       {"Z===", "byte 0: no base64"},
	{"Zg==Zg==", "byte 0: no base64"},     {"Zh==", "byte 0: no base64"},
	{"Zm9=", "byte 0: no base64"},	       {"Zm9vZm 8", "byte 4: no base64"},
	{"Zm9v\nZm8", "byte 4: no base64"},    {"Zm-_", "byte 0: no base64"},
	{"Z=g=", "byte 0: no base64"},
};

static void test_no_base64(void **state)
{
	const struct no_base64_case *c = *state;
	CLEANUP(buf_done) struct buf out = BUF_INIT(100);
	struct error err = ERROR_INIT;

	assert_int_equal(base64_decode(slice_text(c->name), &out, &err), ERR_FORMAT);
	assert_string_equal(err.text, c->error);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hmac_of_a_long_key),
		cmocka_unit_test(test_crc32c),
		cmocka_unit_test(test_crc32c_of_any_length_and_place),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	failed += RUN_CASES(test_digest, digest_cases);
	failed += RUN_CASES(test_base64, base64_cases);
	failed += RUN_CASES(test_no_base64, no_base64_cases);
	return failed;
}
