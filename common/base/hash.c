/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"

#include <limits.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdbool.h>

/* libcrypto refuses NULL even where there is nothing to read. */
static const uint8_t *bytes_or_empty(struct slice bytes)
{
	return bytes.data ? bytes.data : (const uint8_t *)"";
}

int sha256(struct slice bytes, uint8_t ret_digest[SHA256_SIZE], struct error *err)
{
	uint8_t digest[EVP_MAX_MD_SIZE];

	if (!EVP_Digest(bytes_or_empty(bytes), bytes.size, digest, NULL, EVP_sha256(), NULL))
		return error_set(err, ERR_MEMORY, "cannot compute SHA-256");
	memcpy(ret_digest, digest, SHA256_SIZE);
	return 0;
}

int hmac_sha256(struct slice key, struct slice bytes, uint8_t ret_mac[SHA256_SIZE],
		struct error *err)
{
	uint8_t mac[EVP_MAX_MD_SIZE];

	if (key.size > INT_MAX)
		return error_set(err, ERR_ARGUMENT, "key of %zu bytes", key.size);
	if (!HMAC(EVP_sha256(), bytes_or_empty(key), (int)key.size, bytes_or_empty(bytes),
		  bytes.size, mac, NULL))
		return error_set(err, ERR_MEMORY, "cannot compute HMAC-SHA-256");
	memcpy(ret_mac, mac, SHA256_SIZE);
	return 0;
}

/* Base64, RFC 4648 section 4. */

static const char base64_digits[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

int base64_encode(struct slice bytes, struct buf *out, struct error *err)
{
	size_t groups = bytes.size / 3 + (bytes.size % 3 > 0);
	uint8_t *to;
	int r;

	r = buf_extend(out, groups * 4, &to, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < bytes.size; i += 3) {
		size_t left = bytes.size - i;
		uint32_t group = (uint32_t)bytes.data[i] << 16;

		group |= left > 1 ? (uint32_t)bytes.data[i + 1] << 8 : 0;
		group |= left > 2 ? bytes.data[i + 2] : 0;
		*to++ = base64_digits[group >> 18];
		*to++ = base64_digits[group >> 12 & 63];
		*to++ = left > 1 ? base64_digits[group >> 6 & 63] : '=';
		*to++ = left > 2 ? base64_digits[group & 63] : '=';
	}
	return 0;
}

static int base64_value(uint8_t c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Four digits, of which the last @padding are '='; the bits that no byte takes must be 0. */
static bool base64_group(const uint8_t *text, size_t padding, uint8_t out[3])
{
	uint32_t group = 0;

	for (size_t i = 0; i < 4; i++) {
		int value = i < 4 - padding ? base64_value(text[i]) : 0;

		if (value < 0)
			return false;
		group = group << 6 | (uint32_t)value;
	}
	out[0] = (uint8_t)(group >> 16);
	out[1] = (uint8_t)(group >> 8);
	out[2] = (uint8_t)group;
	return (group & ((UINT32_C(1) << 8 * padding) - 1)) == 0;
}

static size_t base64_padding(struct slice text)
{
	if (text.size == 0 || text.data[text.size - 1] != '=')
		return 0;
	return text.data[text.size - 2] == '=' ? 2 : 1;
}

int base64_decode(struct slice text, struct buf *out, struct error *err)
{
	size_t padding;

	if (text.size % 4 != 0)
		return error_set(err, ERR_FORMAT, "base64 text of %zu characters", text.size);
	padding = base64_padding(text);
	for (size_t i = 0; i < text.size; i += 4) {
		size_t pad = i + 4 == text.size ? padding : 0;
		uint8_t bytes[3];
		int r;

		if (!base64_group(text.data + i, pad, bytes))
			return error_set(err, ERR_FORMAT, "byte %zu: no base64", i);
		r = buf_append(out, bytes, 3 - pad, err);
		if (r < 0)
			return r;
	}
	return 0;
}
