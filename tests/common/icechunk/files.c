/* SPDX-License-Identifier: Apache-2.0 */
#include "files.h"

#include <unistd.h>

#include "json-equal.h"
#include "test.h"

struct buf read_file(const char *path)
{
	struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
	struct error err = ERROR_INIT;
	FILE *file = fopen(path, "rb");
	uint8_t *room;
	size_t n;

	if (!file)
		fail_msg("cannot open %s", path);
	do {
		assert_ok(buf_extend(&bytes, 65536, &room, &err), &err);
		n = fread(room, 1, 65536, file);
		bytes.size -= 65536 - n;
	} while (n > 0);
	fclose(file);
	return bytes;
}

bool file_exists(const char *path)
{
	return access(path, R_OK) == 0;
}

struct buf read_payload(const char *path, enum file_type type, struct envelope *ret_envelope)
{
	CLEANUP(buf_done) struct buf file = read_file(path);
	struct buf payload = BUF_INIT(1 << 28);
	struct error err = ERROR_INIT;

	if (envelope_open(buf_slice(&file), type, &payload, ret_envelope, &err) < 0)
		fail_msg("%s: %s", path, err.text);
	return payload;
}

void assert_json_equal(struct slice got, struct slice want)
{
	if (!json_texts_equal(got.data, got.size, want.data, want.size))
		fail_msg("JSON differs, see above");
}
