/* SPDX-License-Identifier: Apache-2.0 */
#include "icechunk/id.h"

#include <stddef.h>

#include "base/random.h"

static const char alphabet[32] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

const struct id12 ID12_INITIAL_SNAPSHOT = {
	{0x0b, 0x1c, 0xc8, 0xd6, 0x78, 0x75, 0x80, 0xf0, 0xe3, 0x3a, 0x65, 0x34}};

static int digit(char c)
{
	for (int i = 0; i < 32; i++)
		if (alphabet[i] == c)
			return i;
	return -1;
}

static int digit_lenient(char c)
{
	if (c >= 'a' && c <= 'z')
		c = (char)(c - 'a' + 'A');
	if (c == 'I' || c == 'L')
		c = '1';
	if (c == 'O')
		c = '0';
	return digit(c);
}

/* Appends 5 bits a character; what does not fill a byte at the end must be zero unless lenient. */
static int decode(const char *text, size_t text_len, bool lenient, uint8_t *bytes,
		  struct error *err)
{
	unsigned int bits = 0, n_bits = 0;
	size_t len = strlen(text), n = 0;

	if (len != text_len)
		return error_set(err, ERR_ARGUMENT, "id '%s' is %zu characters, not %zu", text, len,
				 text_len);
	for (size_t i = 0; i < len; i++) {
		int value = lenient ? digit_lenient(text[i]) : digit(text[i]);

		if (value < 0)
			return error_set(err, ERR_ARGUMENT, "id '%s' has '%c' in it", text,
					 text[i]);
		bits = bits << 5 | (unsigned int)value;
		n_bits += 5;
		if (n_bits >= 8) {
			n_bits -= 8;
			bytes[n++] = (uint8_t)(bits >> n_bits);
			bits &= (1U << n_bits) - 1;
		}
	}
	if (bits != 0 && !lenient)
		return error_set(err, ERR_ARGUMENT, "id '%s' does not end as ids do", text);
	return 0;
}

static void encode(const uint8_t *bytes, size_t n, char *text)
{
	unsigned int bits = 0, n_bits = 0;

	for (size_t i = 0; i < n; i++) {
		bits = bits << 8 | bytes[i];
		n_bits += 8;
		while (n_bits >= 5) {
			n_bits -= 5;
			*text++ = alphabet[bits >> n_bits & 31];
		}
		bits &= (1U << n_bits) - 1;
	}
	if (n_bits > 0)
		*text++ = alphabet[bits << (5 - n_bits) & 31];
	*text = '\0';
}

int id12_parse(const char *text, struct id12 *ret_id, struct error *err)
{
	struct id12 id;
	int r;

	r = decode(text, ID12_TEXT_LEN, false, id.bytes, err);
	if (r < 0)
		return r;
	*ret_id = id;
	return 0;
}

int id8_parse(const char *text, struct id8 *ret_id, struct error *err)
{
	struct id8 id;
	int r;

	r = decode(text, ID8_TEXT_LEN, false, id.bytes, err);
	if (r < 0)
		return r;
	*ret_id = id;
	return 0;
}

int id12_parse_lenient(const char *text, struct id12 *ret_id, struct error *err)
{
	struct id12 id;
	int r;

	r = decode(text, ID12_TEXT_LEN, true, id.bytes, err);
	if (r < 0)
		return r;
	*ret_id = id;
	return 0;
}

void id12_format(const struct id12 *id, char text[ID12_TEXT_LEN + 1])
{
	encode(id->bytes, sizeof(id->bytes), text);
}

void id8_format(const struct id8 *id, char text[ID8_TEXT_LEN + 1])
{
	encode(id->bytes, sizeof(id->bytes), text);
}

int id12_new(struct id12 *ret_id, struct error *err)
{
	return random_bytes(ret_id->bytes, sizeof(ret_id->bytes), err);
}

int id8_new(struct id8 *ret_id, struct error *err)
{
	return random_bytes(ret_id->bytes, sizeof(ret_id->bytes), err);
}
