/* SPDX-License-Identifier: Apache-2.0 */
#include "icechunk/refs1.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/text.h"

/* What stores other than S3 leave as it is, beside letters and digits. */
#define KEPT " !$&'()+,-.:;=@_"

int ref1_parse(struct slice text, struct id12 *ret_snapshot, struct error *err)
{
	CLEANUP(freep) char *id = NULL;
	struct json root, snapshot;
	int r;

	r = json_parse(text, &root, err);
	if (r < 0)
		return r;
	if (json_get(&root, "snapshot", &snapshot) != 0)
		return error_set(err, ERR_FORMAT, "reference without a snapshot");
	r = json_dup(&snapshot, &id, err);
	if (r == 0)
		r = id12_parse_lenient(id, ret_snapshot, err);
	/* The text came from outside: no caller of ours got an argument wrong. */
	return r < 0 ? error_set(err, ERR_FORMAT, "snapshot of a reference is no id") : 0;
}

int ref1_encode(const struct id12 *snapshot, struct buf *out, struct error *err)
{
	char text[ID12_TEXT_LEN + 1];

	id12_format(snapshot, text);
	return buf_printf(out, err, "{\"snapshot\":\"%s\"}", text);
}

static bool take_prefix(struct slice *text, const char *prefix)
{
	size_t n = strlen(prefix);

	if (text->size < n || memcmp(text->data, prefix, n) != 0)
		return false;
	*text = slice_sub(*text, n, SIZE_MAX);
	return true;
}

int ref1_key_parse(struct slice key, struct ref1_key *ret_key)
{
	struct ref1_key parsed = {0};
	const uint8_t *slash;
	struct slice file;

	if (!take_prefix(&key, "refs/"))
		return REF1_OTHER;
	if (take_prefix(&key, "branch."))
		parsed.kind = REF1_BRANCH;
	else if (take_prefix(&key, "tag."))
		parsed.kind = REF1_TAG;
	else
		return REF1_OTHER;
	slash = key.size ? memchr(key.data, '/', key.size) : NULL;
	if (!slash || slash == key.data)
		return REF1_OTHER;
	parsed.name = slice_of(key.data, (size_t)(slash - key.data));
	file = slice_sub(key, parsed.name.size + 1, SIZE_MAX);
	parsed.tombstone = parsed.kind == REF1_TAG && slice_is(file, "ref.json.deleted");
	if (!parsed.tombstone && !slice_is(file, "ref.json"))
		return REF1_OTHER;
	*ret_key = parsed;
	return 0;
}

int ref1_key_format(enum ref1_kind kind, struct slice name, bool encode, bool tombstone,
		    struct buf *out, struct error *err)
{
	int r;

	if (name.size == 0 || memchr(name.data, '/', name.size))
		return error_set(err, ERR_ARGUMENT, "name '%.*s' is empty or has a '/'",
				 (int)name.size, (const char *)name.data);
	r = buf_append_text(out, kind == REF1_BRANCH ? "refs/branch." : "refs/tag.", err);
	if (r == 0)
		r = encode ? text_percent_encode(name, KEPT, out, err)
			   : buf_append_slice(out, name, err);
	if (r == 0)
		r = buf_append_text(out, tombstone ? "/ref.json.deleted" : "/ref.json", err);
	return r;
}

static int hex_digit(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int ref1_name_decode(struct slice spelled, struct buf *out, struct error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < spelled.size; i++) {
		const uint8_t *at = spelled.data + i;
		int byte = -1;

		if (*at == '%' && spelled.size - i > 2 && hex_digit(at[1]) >= 0 &&
		    hex_digit(at[2]) >= 0)
			byte = hex_digit(at[1]) << 4 | hex_digit(at[2]);
		r = buf_append_byte(out, byte < 0 ? *at : (uint8_t)byte, err);
		i += byte < 0 ? 0 : 2;
	}
	return r;
}

bool ref1_name_needs_encoding(struct slice name)
{
	for (size_t i = 0; i < name.size; i++) {
		uint8_t c = name.data[i];
		bool plain = (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');

		if (!plain && (c == '\0' || c >= 0x80 || !strchr(KEPT, c)))
			return true;
	}
	return false;
}
