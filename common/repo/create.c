/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "repo/location.h"
#include "repo/publish.h"

#define INITIAL_MESSAGE "Repository initialized"
#define INITIAL_METADATA "{\"__icechunk\":{\"is_root\":true}}"
#define OTHER_THINGS_SHOWN 80

struct creation {
	struct store *store;
	int spec;
	const struct config *config; /* NULL = nothing to store */
	uint64_t now;
	bool has_snapshot, has_config;
	char other[OTHER_THINGS_SHOWN]; /* a key that does not belong to an unfinished creation */
};

/* What a creation that was cut short may have left: everything but the root object. */
static bool creation_knows(struct creation *creation, const char *key)
{
	char snapshot[KEY_MAX], log[KEY_MAX];

	key_format(snapshot, "snapshots", &ID12_INITIAL_SNAPSHOT);
	key_format(log, "transactions", &ID12_INITIAL_SNAPSHOT);
	if (strcmp(key, snapshot) == 0)
		return creation->has_snapshot = true;
	if (strcmp(key, CONFIG1_KEY) == 0)
		return creation->has_config = true;
	return key_is_temporary(key) || strcmp(key, log) == 0;
}

enum { LOOK_ENOUGH = ERR_INTERRUPTED };

static int creation_look(void *argument, const struct store_entry *entry, struct error *err)
{
	struct creation *creation = argument;

	(void)err;
	if (entry->is_prefix || creation_knows(creation, entry->key))
		return 0;
	snprintf(creation->other, sizeof(creation->other), "%s", entry->key);
	return LOOK_ENOUGH;
}

/* Is there a repository?  The listing may end at another key first. */
static int creation_has_repo(const struct creation *creation, struct error *err)
{
	static const char *const keys[] = {REPO_KEY, "refs/branch.main/ref.json"};
	struct store_info info;

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		int r = store_head(creation->store, keys[i], &info, err);

		if (r <= 0)
			return r < 0 ? r : 1;
	}
	return 0;
}

static int creation_check_empty(struct creation *creation, struct error *err)
{
	int r;

	r = creation_has_repo(creation, err);
	if (r > 0)
		return error_set(err, ERR_CONFLICT, "there is a repository at '%s' already",
				 creation->store->url);
	if (r < 0)
		return r;
	r = store_list(creation->store, "", false, creation_look, creation, err);
	/* A configuration alone is somebody's file: ours would come after the snapshot. */
	if (creation->has_config && !(creation->has_snapshot && creation->spec == SPEC_1))
		snprintf(creation->other, sizeof(creation->other), CONFIG1_KEY);
	if (creation->other[0])
		return error_set(err, ERR_CONFLICT, "'%s' holds other things, such as '%s'",
				 creation->store->url, creation->other);
	return r;
}

/* The public library refuses to create at the top of a bucket, and so would lose ours. */
static int creation_check_place(const struct creation *creation, struct error *err)
{
	struct location place;

	if (!store_is_writable(creation->store))
		return error_set(err, ERR_READ_ONLY, "'%s' cannot be written to",
				 creation->store->url);
	if (location_split(slice_text(creation->store->url), &place, NULL) < 0)
		return 0;
	while (place.key.size && place.key.data[place.key.size - 1] == '/')
		place.key.size--;
	if (place.key.size == 0 &&
	    (location_scheme_is(&place, "s3") || location_scheme_is(&place, "gs")))
		return error_set(err, ERR_ARGUMENT,
				 "a repository needs a prefix in its bucket: '%s/NAME'",
				 creation->store->url);
	return 0;
}

static int creation_put(struct creation *creation, const char *folder, enum file_type type,
			struct slice payload, bool proves, struct error *err)
{
	CLEANUP(buf_done) struct buf file = BUF_INIT(OBJECT_MAX);
	struct envelope_options options = {.spec = (enum spec)creation->spec};
	char key[KEY_MAX];
	int r;

	key_format(key, folder, &ID12_INITIAL_SNAPSHOT);
	r = envelope_seal(&payload, 1, type, &options, &file, err);
	if (r < 0)
		return r;
	if (proves && !conditions_are_proven(creation->store))
		return conditions_prove(creation->store, key, buf_slice(&file), err);
	return store_put(creation->store, key, buf_slice(&file), err);
}

static int creation_put_snapshot(struct creation *creation, struct error *err)
{
	CLEANUP(buf_done) struct buf payload = BUF_INIT(SNAPSHOT_PAYLOAD_MAX);
	struct json metadata;
	struct snapshot_draft draft = {
		.id = ID12_INITIAL_SNAPSHOT,
		.flushed_at = creation->now,
		.message = slice_text(INITIAL_MESSAGE),
		.metadata = &metadata,
	};
	int r;

	r = json_parse(slice_text(INITIAL_METADATA), &metadata, err);
	if (r == 0)
		r = snapshot_encode(&draft, (enum spec)creation->spec, &payload, err);
	if (r < 0)
		return r;
	/* In spec 1 this is the first object; a killed creation may have left one of another time.
	 */
	return creation_put(creation, "snapshots", FILE_SNAPSHOT, buf_slice(&payload),
			    creation->spec == SPEC_1, err);
}

static int creation_put_log(struct creation *creation, struct error *err)
{
	CLEANUP(buf_done) struct buf payload = BUF_INIT(TXLOG_PAYLOAD_MAX);
	struct txlog_draft draft = {.id = ID12_INITIAL_SNAPSHOT};
	int r;

	r = txlog_encode(&draft, &payload, err);
	if (r < 0)
		return r;
	return creation_put(creation, "transactions", FILE_TRANSACTION_LOG, buf_slice(&payload),
			    true, err);
}

/* The last write; whoever makes it has created the repository. */
static int creation_put_root(struct creation *creation, const char *key, struct slice bytes,
			     struct error *err)
{
	CLEANUP(buf_done) struct buf there = BUF_INIT(OBJECT_MAX);
	int r;

	r = store_replace(creation->store, key, NULL, bytes, NULL, err);
	if (r != STORE_CHANGED)
		return r;
	/* Ours, if a first try was answered by silence. */
	if (store_get_all(creation->store, key, &there, NULL, err) == 0 &&
	    slice_equal(buf_slice(&there), bytes))
		return 0;
	return error_set(err, ERR_CONFLICT, "somebody else created a repository at '%s'",
			 creation->store->url);
}

static int create1(struct creation *creation, struct error *err)
{
	CLEANUP(buf_done) struct buf config = BUF_INIT(CONFIG_TEXT_MAX);
	CLEANUP(buf_done) struct buf ref = BUF_INIT(REF1_FILE_MAX);
	int r;

	r = creation_put_snapshot(creation, err);
	if (r == 0 && creation->config)
		r = config_to_yaml(creation->config, &config, err);
	if (r == 0 && creation->config)
		r = store_put(creation->store, CONFIG1_KEY, buf_slice(&config), err);
	/* Left by an earlier try with another configuration. */
	else if (r == 0)
		r = store_remove(creation->store, CONFIG1_KEY, err);
	if (r == 0)
		r = ref1_encode(&ID12_INITIAL_SNAPSHOT, &ref, err);
	if (r < 0)
		return r;
	return creation_put_root(creation, "refs/branch.main/ref.json", buf_slice(&ref), err);
}

static int creation_root2(struct creation *creation, struct buf *out, struct error *err)
{
	CLEANUP(buf_done) struct buf flex = BUF_INIT(CONFIG_TEXT_MAX);
	CLEANUP(buf_done) struct buf value = BUF_INIT(4096);
	CLEANUP(buf_done) struct buf payload = BUF_INIT(REPO_PAYLOAD_MAX);
	CLEANUP(repo_info_freep) struct repo_info *info = NULL;
	struct envelope_options options = {.spec = SPEC_2};
	struct metadata_item item = {.name = slice_text("__icechunk")};
	struct repo_snapshot root = {
		.id = ID12_INITIAL_SNAPSHOT,
		.parent = -1,
		.flushed_at = creation->now,
		.message = slice_text(INITIAL_MESSAGE),
		.metadata = &item,
		.n_metadata = 1,
	};
	struct json is_root;
	struct slice piece;
	int r;

	r = json_parse(slice_text("{\"is_root\":true}"), &is_root, err);
	if (r == 0)
		r = json_to_metadata_value(SPEC_2, &is_root, &value, err);
	if (r == 0 && creation->config)
		r = config_to_flex(creation->config, &flex, err);
	if (r < 0)
		return r;
	item.value = buf_slice(&value);
	r = repo_info_new(&root, buf_slice(&flex), creation->now + 1, &info, err);
	if (r == 0)
		r = repo_info_encode(info, &payload, err);
	if (r < 0)
		return r;
	piece = buf_slice(&payload);
	return envelope_seal(&piece, 1, FILE_REPO, &options, out, err);
}

static int create2(struct creation *creation, struct error *err)
{
	CLEANUP(buf_done) struct buf root = BUF_INIT(OBJECT_MAX);
	int r;

	r = creation_root2(creation, &root, err);
	if (r == 0)
		r = creation_put_log(creation, err);
	if (r == 0)
		r = creation_put_snapshot(creation, err);
	if (r < 0)
		return r;
	return creation_put_root(creation, REPO_KEY, buf_slice(&root), err);
}

static int creation_run(void *argument, struct error *err)
{
	struct creation *creation = argument;
	int r;

	r = creation_check_empty(creation, err);
	if (r < 0)
		return r;
	return creation->spec == SPEC_1 ? create1(creation, err) : create2(creation, err);
}

int repo_create(struct store *store, int spec, struct slice config, struct error *err)
{
	CLEANUP(config_freep) struct config *parsed = NULL;
	CLEANUP(config_freep) struct config *nothing = NULL;
	struct creation creation = {.store = store, .spec = spec, .now = (uint64_t)time_now()};
	bool is_default = true;
	int r;

	if (spec != SPEC_1 && spec != SPEC_2)
		return error_set(err, ERR_ARGUMENT, "specification %d is neither 1 nor 2", spec);
	r = creation_check_place(&creation, err);
	if (r == 0)
		r = config_new(&nothing, err);
	if (r == 0 && config.size)
		r = config_from_json(config, &parsed, err);
	if (r == 0 && parsed)
		r = config_equal(parsed, nothing, &is_default, err);
	if (r < 0)
		return r;
	creation.config = is_default ? NULL : parsed;
	return store_locked(store, creation_run, &creation, err);
}
