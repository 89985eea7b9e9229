/* SPDX-License-Identifier: Apache-2.0 */
#include "repo/refs.h"

#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "repo/publish.h"

/* One change of one branch or tag, for the update functions. */
struct ref_change {
	struct repo *repo;
	const char *name;
	const struct id12 *to;
	const struct id12 *expected;
};

static int no_snapshot(const struct id12 *id, struct error *err)
{
	char text[ID12_TEXT_LEN + 1];

	id12_format(id, text);
	return error_set(err, ERR_ABSENT, "there is no snapshot %s", text);
}

static int no_ref(const char *kind, const char *name, struct error *err)
{
	return error_set(err, ERR_ABSENT, "there is no %s '%s'", kind, name);
}

static int not_main(const char *verb, const char *name, struct error *err)
{
	return error_set(err, ERR_ARGUMENT, "branch '%s' cannot be %s", name, verb);
}

static int elsewhere(const char *name, const struct id12 *actual, const struct id12 *expected,
		     struct error *err)
{
	char is[ID12_TEXT_LEN + 1], should[ID12_TEXT_LEN + 1];

	id12_format(actual, is);
	id12_format(expected, should);
	return error_set(err, ERR_CONFLICT, "branch '%s' is at %s, not at %s", name, is, should);
}

static int publish_change(struct repo *repo, publish_fn update, struct ref_change *change,
			  struct error *err)
{
	struct publication publication = {.update = update, .argument = change};
	int r = publish(repo, &publication, err);

	return r < 0 ? r : 0;
}

static int branch_create2(void *argument, struct repo_info *info, uint64_t now,
			  struct repo_update *ret_update, struct error *err)
{
	struct ref_change *change = argument;
	struct slice name = slice_text(change->name);
	uint32_t snapshot, i;

	(void)now;
	if (repo_info_find_branch(info, name, &i) == 0)
		return error_set(err, ERR_CONFLICT, "branch '%s' exists already", change->name);
	if (repo_info_find_snapshot(info, change->to, &snapshot) != 0)
		return no_snapshot(change->to, err);
	*ret_update = (struct repo_update){.type = UPDATE_BRANCH_CREATED, .name = name};
	return repo_info_set_branch(info, name, snapshot, err);
}

/* Writes a reference file that must not exist yet. */
static int ref1_create(struct repo *repo, enum ref1_kind kind, const char *name,
		       const struct id12 *at, bool tombstone, struct error *err)
{
	CLEANUP(buf_done) struct buf file = BUF_INIT(REF1_FILE_MAX);
	CLEANUP(freep) char *key = NULL;
	int r;

	r = ref1_new_key(repo, kind, name, tombstone, &key, err);
	if (r == 0 && !tombstone)
		r = ref1_encode(at, &file, err);
	if (r == 0)
		r = store_replace(repo->store, key, NULL, buf_slice(&file), NULL, err);
	return r;
}

/* A reference is only made to a snapshot that can be read. */
static int ref1_create_checked(struct repo *repo, enum ref1_kind kind, const char *name,
			       const struct id12 *at, struct error *err)
{
	CLEANUP(snapshot_freep) struct snapshot *snapshot = NULL;
	int r;

	r = snapshot_load(repo->store, at, &snapshot, err);
	if (r < 0)
		return r;
	r = ref1_create(repo, kind, name, at, false, err);
	if (r == STORE_CHANGED)
		return error_set(err, ERR_CONFLICT, "%s '%s' exists already%s",
				 kind == REF1_BRANCH ? "branch" : "tag", name,
				 kind == REF1_TAG ? ", or existed" : "");
	return r;
}

static int check_writable(struct repo *repo, struct error *err)
{
	CLEANUP(state_freep) struct state *state = repo_state(repo);

	return state_check_writable(repo, state, err);
}

int repo_branch_create(struct repo *repo, const char *name, const struct id12 *at,
		       struct error *err)
{
	struct ref_change change = {.repo = repo, .name = name, .to = at};
	int r;

	if (repo->spec == SPEC_2)
		return publish_change(repo, branch_create2, &change, err);
	r = check_writable(repo, err);
	return r < 0 ? r : ref1_create_checked(repo, REF1_BRANCH, name, at, err);
}

static int branch_delete2(void *argument, struct repo_info *info, uint64_t now,
			  struct repo_update *ret_update, struct error *err)
{
	struct ref_change *change = argument;
	uint32_t i;

	(void)now;
	if (repo_info_find_branch(info, slice_text(change->name), &i) != 0)
		return no_ref("branch", change->name, err);
	*ret_update = (struct repo_update){
		.type = UPDATE_BRANCH_DELETED,
		.name = slice_text(change->name),
		.previous = info->snapshots.items[info->branches.items[i].snapshot].id,
	};
	return repo_info_delete_branch(info, slice_text(change->name), err);
}

static int branch_delete1(struct repo *repo, const char *name, struct error *err)
{
	CLEANUP(freep) char *key = NULL;
	int r;

	r = check_writable(repo, err);
	if (r == 0)
		r = ref1_load(repo, REF1_BRANCH, name, NULL, NULL, &key, err);
	if (r == REPO_ABSENT)
		return no_ref("branch", name, err);
	return r < 0 ? r : store_remove(repo->store, key, err);
}

int repo_branch_delete(struct repo *repo, const char *name, struct error *err)
{
	struct ref_change change = {.repo = repo, .name = name};

	if (strcmp(name, MAIN_BRANCH) == 0)
		return not_main("deleted", name, err);
	if (repo->spec == SPEC_1)
		return branch_delete1(repo, name, err);
	return publish_change(repo, branch_delete2, &change, err);
}

static int branch_reset2(void *argument, struct repo_info *info, uint64_t now,
			 struct repo_update *ret_update, struct error *err)
{
	struct ref_change *change = argument;
	struct id12 previous;
	uint32_t i, snapshot;

	(void)now;
	if (repo_info_find_branch(info, slice_text(change->name), &i) != 0)
		return no_ref("branch", change->name, err);
	previous = info->snapshots.items[info->branches.items[i].snapshot].id;
	if (change->expected && !id12_equal(&previous, change->expected))
		return elsewhere(change->name, &previous, change->expected, err);
	if (repo_info_find_snapshot(info, change->to, &snapshot) != 0)
		return no_snapshot(change->to, err);
	*ret_update = (struct repo_update){
		.type = UPDATE_BRANCH_RESET,
		.name = slice_text(change->name),
		.previous = previous,
	};
	return repo_info_set_branch(info, slice_text(change->name), snapshot, err);
}

static int branch_reset1(struct repo *repo, const char *name, const struct id12 *to,
			 const struct id12 *expected, struct error *err)
{
	CLEANUP(snapshot_freep) struct snapshot *snapshot = NULL;
	struct id12 tip, actual;
	int r;

	r = check_writable(repo, err);
	if (r == 0)
		r = snapshot_load(repo->store, to, &snapshot, err);
	if (r == 0)
		r = ref1_load(repo, REF1_BRANCH, name, &tip, NULL, NULL, err);
	if (r == REPO_ABSENT)
		return no_ref("branch", name, err);
	if (r < 0)
		return r;
	/* Where it is already is no proof that it was where the caller believes. */
	if (expected && !id12_equal(&tip, expected))
		return elsewhere(name, &tip, expected, err);
	r = publish_branch1(repo, name, &tip, to, &actual, err);
	return r == PUBLISH_LOST ? elsewhere(name, &actual, &tip, err) : r;
}

int repo_branch_reset(struct repo *repo, const char *name, const struct id12 *to,
		      const struct id12 *expected, struct error *err)
{
	struct ref_change change = {repo, name, to, expected};

	if (repo->spec == SPEC_1)
		return branch_reset1(repo, name, to, expected, err);
	return publish_change(repo, branch_reset2, &change, err);
}

static int feature_off(const char *what, struct error *err)
{
	return error_set(err, ERR_DENIED, "this repository has the feature '%s' switched off",
			 what);
}

static int tag_create2(void *argument, struct repo_info *info, uint64_t now,
		       struct repo_update *ret_update, struct error *err)
{
	struct ref_change *change = argument;
	uint32_t snapshot;

	(void)now;
	if (!repo_info_feature(info, FEATURE_CREATE_TAG))
		return feature_off("create_tag", err);
	if (repo_info_find_snapshot(info, change->to, &snapshot) != 0)
		return no_snapshot(change->to, err);
	*ret_update =
		(struct repo_update){.type = UPDATE_TAG_CREATED, .name = slice_text(change->name)};
	return repo_info_create_tag(info, slice_text(change->name), snapshot, err);
}

int repo_tag_create(struct repo *repo, const char *name, const struct id12 *at, struct error *err)
{
	struct ref_change change = {.repo = repo, .name = name, .to = at};
	int r;

	if (repo->spec == SPEC_2)
		return publish_change(repo, tag_create2, &change, err);
	r = check_writable(repo, err);
	return r < 0 ? r : ref1_create_checked(repo, REF1_TAG, name, at, err);
}

static int tag_delete2(void *argument, struct repo_info *info, uint64_t now,
		       struct repo_update *ret_update, struct error *err)
{
	struct ref_change *change = argument;
	uint32_t i;

	(void)now;
	if (!repo_info_feature(info, FEATURE_DELETE_TAG))
		return feature_off("delete_tag", err);
	if (repo_info_find_tag(info, slice_text(change->name), &i) != 0)
		return no_ref("tag", change->name, err);
	*ret_update = (struct repo_update){
		.type = UPDATE_TAG_DELETED,
		.name = slice_text(change->name),
		.previous = info->snapshots.items[info->tags.items[i].snapshot].id,
	};
	return repo_info_delete_tag(info, slice_text(change->name), err);
}

static int tag_delete1(struct repo *repo, const char *name, struct error *err)
{
	int r;

	r = check_writable(repo, err);
	if (r == 0)
		r = ref1_load(repo, REF1_TAG, name, NULL, NULL, NULL, err);
	if (r == 0)
		r = ref1_create(repo, REF1_TAG, name, NULL, true, err);
	/* A tombstone that is there already: somebody else was first. */
	return r == REPO_ABSENT || r == STORE_CHANGED ? no_ref("tag", name, err) : r;
}

int repo_tag_delete(struct repo *repo, const char *name, struct error *err)
{
	struct ref_change change = {.repo = repo, .name = name};

	if (repo->spec == SPEC_1)
		return tag_delete1(repo, name, err);
	return publish_change(repo, tag_delete2, &change, err);
}

int repo_config_get(struct repo *repo, struct buf *out, struct error *err)
{
	CLEANUP(state_freep) struct state *state = repo_state(repo);
	const struct config *config;
	int r;

	r = state_config(repo, state, &config, err);
	if (r < 0)
		return r;
	return buf_append_slice(out, config_json(config), err);
}

static int config_set2(void *argument, struct repo_info *info, uint64_t now,
		       struct repo_update *ret_update, struct error *err)
{
	const struct config *config = argument;
	CLEANUP(config_freep) struct config *old = NULL;
	CLEANUP(buf_done) struct buf flex = BUF_INIT(CONFIG_TEXT_MAX);
	bool same = false;
	int r;

	(void)now;
	r = info->config.data ? config_from_flex(info->config, &old, err) : config_new(&old, err);
	/* An unreadable configuration is replaced, not compared with. */
	if (r == 0)
		r = config_equal(old, config, &same, err);
	if (r == 0 && same)
		return PUBLISH_NOTHING;
	if (r == ERR_MEMORY)
		return r;
	r = config_to_flex(config, &flex, err);
	if (r < 0)
		return r;
	info->config = repo_info_dup(info, buf_slice(&flex), err);
	*ret_update = (struct repo_update){.type = UPDATE_CONFIG_CHANGED};
	return info->config.data ? 0 : ERR_MEMORY;
}

struct config_write1 {
	struct repo *repo;
	const struct config *config;
};

static int config_write1(void *argument, struct error *err)
{
	struct config_write1 *write = argument;
	struct store *store = write->repo->store;
	CLEANUP(buf_done) struct buf old = BUF_INIT(CONFIG_TEXT_MAX);
	CLEANUP(buf_done) struct buf yaml = BUF_INIT(CONFIG_TEXT_MAX);
	struct store_info info = {0};
	char backup[64], key[96];
	bool exists;
	int r;

	r = config_to_yaml(write->config, &yaml, err);
	if (r < 0)
		return r;
	r = store_get_all(store, CONFIG1_KEY, &old, &info, err);
	if (r < 0 || (r == 0 && slice_equal(buf_slice(&old), buf_slice(&yaml))))
		return r;
	exists = r == 0;
	if (exists) {
		r = backup_name(CONFIG1_KEY, time_now(), backup, sizeof(backup), err);
		if (r < 0)
			return r;
		snprintf(key, sizeof(key), "overwritten/%s", backup);
		r = store_copy(store, CONFIG1_KEY, &info.version, key, err);
		if (r != 0)
			return r;
	}
	return store_replace(store, CONFIG1_KEY, exists ? &info.version : NULL, buf_slice(&yaml),
			     NULL, err);
}

static int config_set1(struct repo *repo, const struct config *config, struct error *err)
{
	struct config_write1 write = {repo, config};
	int r;

	r = check_writable(repo, err);
	if (r == 0)
		r = store_locked(repo->store, config_write1, &write, err);
	if (r > 0)
		return error_set(err, ERR_CONFLICT,
				 "somebody else changed the configuration at the same time");
	return r < 0 ? r : repo_refresh(repo, err);
}

int repo_config_set(struct repo *repo, struct slice json, struct error *err)
{
	CLEANUP(config_freep) struct config *config = NULL;
	struct publication publication = {.update = config_set2};
	int r;

	r = config_from_json(json, &config, err);
	if (r < 0)
		return r;
	if (repo->spec == SPEC_1)
		return config_set1(repo, config, err);
	publication.argument = config;
	r = publish(repo, &publication, err);
	return r < 0 ? r : 0;
}

/* Status, features and metadata of spec 2 */

static int only2(const struct repo *repo, struct error *err)
{
	if (repo->spec == SPEC_2)
		return 0;
	return error_set(err, ERR_UNSUPPORTED,
			 "repositories of specification 1 have no status, features or metadata");
}

static int publish_any(struct repo *repo, publish_fn update, void *argument, bool any_status,
		       struct error *err)
{
	struct publication publication = {
		.update = update, .argument = argument, .any_status = any_status};
	int r = only2(repo, err);

	if (r == 0)
		r = publish(repo, &publication, err);
	return r < 0 ? r : 0;
}

static int status_update(void *argument, struct repo_info *info, uint64_t now,
			 struct repo_update *ret_update, struct error *err)
{
	const struct repo_status *wanted = argument;
	struct repo_status status = {.availability = wanted->availability, .set_at = now};

	if (wanted->reason.data) {
		status.reason = repo_info_dup(info, wanted->reason, err);
		if (!status.reason.data)
			return ERR_MEMORY;
	}
	info->status = status;
	*ret_update = (struct repo_update){
		.type = UPDATE_REPO_STATUS_CHANGED, .has_status = true, .status = status};
	return 0;
}

int repo_set_status(struct repo *repo, const char *status, const char *reason, struct error *err)
{
	static const enum repo_availability known[] = {REPO_ONLINE, REPO_STATUS_READ_ONLY,
						       REPO_OFFLINE};
	struct repo_status wanted = {0};

	if (reason && reason[0])
		wanted.reason = slice_text(reason);
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		wanted.availability = known[i];
		if (strcmp(repo_availability_name(known[i]), status) == 0)
			return publish_any(repo, status_update, &wanted, true, err);
	}
	return error_set(err, ERR_ARGUMENT, "'%s' is none of online, read_only and offline",
			 status);
}

struct feature_change {
	uint16_t feature;
	const bool *value;
};

static int feature_update(void *argument, struct repo_info *info, uint64_t now,
			  struct repo_update *ret_update, struct error *err)
{
	const struct feature_change *change = argument;
	bool value = change->value && *change->value;

	(void)now;
	*ret_update = (struct repo_update){
		.type = UPDATE_FEATURE_FLAG_CHANGED,
		.flag = change->feature,
		.flag_value = value,
		.flag_is_set = change->value != NULL,
	};
	return repo_info_set_feature(info, change->feature, change->value != NULL, value, err);
}

int repo_set_feature(struct repo *repo, uint16_t feature, const bool *value, struct error *err)
{
	struct feature_change change = {feature, value};

	return publish_any(repo, feature_update, &change, false, err);
}

static int metadata_update(void *argument, struct repo_info *info, uint64_t now,
			   struct repo_update *ret_update, struct error *err)
{
	(void)now;
	*ret_update = (struct repo_update){.type = UPDATE_METADATA_CHANGED};
	return repo_info_set_metadata(info, argument, err);
}

int repo_set_metadata(struct repo *repo, struct slice json, struct error *err)
{
	struct json object;
	int r = json_parse(json, &object, err);

	if (r == 0 && object.type != JSON_OBJECT)
		r = error_set(err, ERR_ARGUMENT, "metadata is no JSON object");
	return r < 0 ? r : publish_any(repo, metadata_update, &object, false, err);
}
