/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "repo/internal.h"

bool key_is_temporary(const char *key)
{
	const char *hash = strrchr(key, '#');

	if (!hash || !hash[1])
		return false;
	for (const char *c = hash + 1; *c; c++) {
		if (!isdigit((unsigned char)*c))
			return false;
	}
	return true;
}

void key_format(char key[KEY_MAX], const char *folder, const struct id12 *id)
{
	char name[ID12_TEXT_LEN + 1];

	id12_format(id, name);
	snprintf(key, KEY_MAX, "%s/%s", folder, name);
}

/* Reads one object whole and unpacks it.  0, STORE_ABSENT, or an error that names the key. */
static int object_load(struct store *store, const char *key, enum file_type type, uint64_t size,
		       struct buf *payload, struct envelope *ret_envelope, struct error *err)
{
	CLEANUP(buf_done) struct buf file = BUF_INIT(OBJECT_MAX);
	struct store_info info = {0};
	int r;

	if (size == 0)
		r = store_get_all(store, key, &file, &info, err);
	else
		r = store_get(store, key, 0, size, NULL, &file, &info, err);
	if (r == STORE_ABSENT)
		return r;
	if (r < 0)
		return r;
	if (size != 0 && info.size != size)
		return error_set(err, ERR_FORMAT, "'%s' has %llu bytes, its snapshot says %llu",
				 key, (unsigned long long)info.size, (unsigned long long)size);
	r = envelope_open(buf_slice(&file), type, payload, ret_envelope, err);
	return r < 0 ? error_prefix(err, "cannot open '%s'", key) : 0;
}

int snapshot_load(struct store *store, const struct id12 *id, struct snapshot **ret_snapshot,
		  struct error *err)
{
	CLEANUP(buf_done) struct buf payload = BUF_INIT(SNAPSHOT_PAYLOAD_MAX);
	CLEANUP(snapshot_freep) struct snapshot *snapshot = NULL;
	struct envelope envelope;
	char key[KEY_MAX];
	int r;

	key_format(key, "snapshots", id);
	r = object_load(store, key, FILE_SNAPSHOT, 0, &payload, &envelope, err);
	if (r == STORE_ABSENT)
		return error_set(err, ERR_ABSENT, "'%s' is listed but missing", key);
	if (r < 0)
		return r;
	r = snapshot_open(&payload, envelope.spec, &snapshot, err);
	if (r < 0)
		return error_prefix(err, "cannot decode '%s'", key);
	/* A copied or renamed file decodes perfectly and answers for the wrong snapshot. */
	if (!id12_equal(snapshot_id(snapshot), id))
		return error_set(err, ERR_FORMAT, "'%s' holds a different id", key);
	*ret_snapshot = TAKE(snapshot);
	return 0;
}

int txlog_load(struct store *store, const struct id12 *id, struct txlog **ret_log,
	       struct error *err)
{
	CLEANUP(buf_done) struct buf payload = BUF_INIT(TXLOG_PAYLOAD_MAX);
	CLEANUP(txlog_freep) struct txlog *log = NULL;
	char key[KEY_MAX];
	int r;

	key_format(key, "transactions", id);
	r = object_load(store, key, FILE_TRANSACTION_LOG, 0, &payload, NULL, err);
	if (r == STORE_ABSENT)
		return REPO_ABSENT;
	if (r < 0)
		return r;
	r = txlog_open(&payload, &log, err);
	if (r < 0)
		return error_prefix(err, "cannot decode '%s'", key);
	if (!id12_equal(txlog_id(log), id))
		return error_set(err, ERR_FORMAT, "'%s' holds a different id", key);
	*ret_log = TAKE(log);
	return 0;
}

int manifest_load(struct store *store, const struct id12 *id, const struct manifest_info *info,
		  struct manifest **ret_manifest, struct error *err)
{
	CLEANUP(buf_done) struct buf payload = BUF_INIT(MANIFEST_PAYLOAD_MAX);
	CLEANUP(manifest_freep) struct manifest *manifest = NULL;
	char key[KEY_MAX];
	int r;

	key_format(key, "manifests", id);
	if (info && info->size > OBJECT_MAX)
		return error_set(err, ERR_FORMAT, "'%s' is listed with %llu bytes", key,
				 (unsigned long long)info->size);
	r = object_load(store, key, FILE_MANIFEST, info ? info->size : 0, &payload, NULL, err);
	if (r == STORE_ABSENT)
		return error_set(err, ERR_ABSENT, "'%s' is listed but missing", key);
	if (r < 0)
		return r;
	r = manifest_open(&payload, &manifest, err);
	if (r < 0)
		return error_prefix(err, "cannot decode '%s'", key);
	if (!id12_equal(manifest_id(manifest), id))
		return error_set(err, ERR_FORMAT, "'%s' holds a different id", key);
	*ret_manifest = TAKE(manifest);
	return 0;
}
