/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/policy.h"

#include "base/json.h"

/* As the reference system sets them: 180 bytes a virtual reference, and overlapping fetches. */
#define NUM_CHUNK_REFS "1000000"
#define MANIFEST_FETCHES "16"

static int write_container(const struct dataset_container *container, struct buf *out,
			   struct error *err)
{
	struct slice prefix = slice_text(container->prefix);
	int r = json_write_text(out, prefix, err);

	if (r == 0)
		r = buf_append_text(out, ": {\"name\": null, \"url_prefix\": ", err);
	if (r == 0)
		r = json_write_text(out, prefix, err);
	if (r == 0)
		r = buf_append_text(out, ", \"store\": ", err);
	if (r == 0)
		r = buf_append_slice(out, container->store, err);
	return r < 0 ? r : buf_append_text(out, "}", err);
}

static int write_split(const struct dataset *dataset, const struct dataset_split *split,
		       struct buf *out, struct error *err)
{
	int r;

	if (split->regex) {
		r = buf_append_text(out, "[{\"path_matches\": {\"regex\": ", err);
		if (r == 0)
			r = json_write_text(out, slice_text(split->regex), err);
		if (r == 0)
			r = buf_append_text(out, "}}", err);
	} else {
		r = buf_append_text(out, "[\"any_array\"", err);
	}
	if (r == 0)
		r = buf_append_text(out, ", [{\"condition\": {\"DimensionName\": ", err);
	if (r == 0)
		r = json_write_text(out, slice_text(dataset->dims[dataset->append].name), err);
	if (r == 0)
		r = buf_printf(out, err, "}, \"num_chunks\": %llu}]]",
			       (unsigned long long)split->size);
	return r;
}

int policy_write(const struct dataset *dataset, struct buf *out, struct error *err)
{
	int r = buf_append_text(out, "{\"virtual_chunk_containers\": {", err);

	for (size_t i = 0; i < dataset->n_containers && r == 0; i++) {
		r = buf_append_text(out, i ? ", " : "", err);
		if (r == 0)
			r = write_container(&dataset->containers[i], out, err);
	}
	if (r == 0)
		r = buf_append_text(
			out,
			"}, \"caching\": {\"num_chunk_refs\": " NUM_CHUNK_REFS "}, \"manifest\": {"
			"\"max_concurrent_manifest_fetches_during_commit\": " MANIFEST_FETCHES
			", \"splitting\": {\"split_sizes\": [",
			err);
	for (size_t i = 0; i < dataset->n_splits && r == 0; i++) {
		r = buf_append_text(out, i ? ", " : "", err);
		if (r == 0)
			r = write_split(dataset, &dataset->splits[i], out, err);
	}
	return r < 0 ? r : buf_append_text(out, "]}}}", err);
}

static bool is_replaced_whole(struct slice key)
{
	return slice_is(key, "\"virtual_chunk_containers\"") || slice_is(key, "\"splitting\"");
}

static int merge(const struct json *stored, const struct json *policy, struct buf *out,
		 struct error *err);

static int merge_member(const struct json *key, const struct json *stored,
			const struct json *policy, struct buf *out, bool *is_first,
			struct error *err)
{
	int r = buf_append_text(out, *is_first ? "" : ", ", err);

	*is_first = false;
	if (r == 0)
		r = buf_append_slice(out, key->span, err);
	if (r == 0)
		r = buf_append_text(out, ": ", err);
	if (r < 0)
		return r;
	if (!policy || !stored || is_replaced_whole(key->span))
		return buf_append_slice(out, policy ? policy->span : stored->span, err);
	return merge(stored, policy, out, err);
}

/* The member of @object with the key @key, quotes included; keys of configurations hold no escapes.
 */
static bool find_member(const struct json *object, const struct json *key, struct json *ret_value)
{
	struct json at, value;

	JSON_EACH (object, &at, value) {
		if (slice_equal(at.span, key->span)) {
			*ret_value = value;
			return true;
		}
	}
	return false;
}

static int merge(const struct json *stored, const struct json *policy, struct buf *out,
		 struct error *err)
{
	struct json key, value, other;
	bool is_first = true;
	int r;

	if (stored->type != JSON_OBJECT || policy->type != JSON_OBJECT)
		return buf_append_slice(out, policy->span, err);
	r = buf_append_text(out, "{", err);
	JSON_EACH (stored, &key, value) {
		bool both = find_member(policy, &key, &other);

		if (r == 0)
			r = merge_member(&key, &value, both ? &other : NULL, out, &is_first, err);
	}
	JSON_EACH (policy, &key, value) {
		if (r == 0 && !find_member(stored, &key, &other))
			r = merge_member(&key, NULL, &value, out, &is_first, err);
	}
	return r < 0 ? r : buf_append_text(out, "}", err);
}

int policy_merge(struct slice stored, struct slice policy, struct buf *out, struct error *err)
{
	struct json a, b;
	int r = json_parse(stored, &a, err);

	if (r == 0)
		r = json_parse(policy, &b, err);
	return r < 0 ? r : merge(&a, &b, out, err);
}
