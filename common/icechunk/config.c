/* SPDX-License-Identifier: Apache-2.0 */
#include "icechunk/config.h"

#include <stdlib.h>

#include "icechunk/config-internal.h"
#include "icechunk/value.h"

int config_get(const struct json *record, const char *name, struct json *ret_value)
{
	struct json value;

	if (json_get(record, name, &value) != 0 || value.type == JSON_NULL)
		return JSON_ABSENT;
	*ret_value = value;
	return 0;
}

int config_text(struct config *config, const struct json *value, const char **ret_text,
		struct error *err)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT(CONFIG_TEXT_MAX);
	const char *copy;
	int r;

	r = json_text(value, &text, err);
	if (r < 0)
		return r;
	if (text.size && memchr(text.data, '\0', text.size))
		return error_set(err, ERR_FORMAT, "text with a NUL in it");
	copy = arena_dup(&config->arena, buf_slice(&text), err);
	if (!copy)
		return ERR_MEMORY;
	*ret_text = copy;
	return 0;
}

int config_variant(struct config *config, const struct json *value, const char **ret_name,
		   struct json *ret_value, struct error *err)
{
	struct json_iter iter = json_iter(value);
	struct json key = *value;

	*ret_value = (struct json){.type = JSON_NULL};
	if (value->type == JSON_OBJECT && json_count(value) == 1)
		json_next(&iter, &key, ret_value);
	if (key.type != JSON_STRING)
		return error_set(err, ERR_FORMAT, "neither a name nor an object of one member");
	return config_text(config, &key, ret_name, err);
}

/* Members that hold one value, and where it goes. */
enum field_kind { FIELD_U8, FIELD_U16, FIELD_U32, FIELD_U64, FIELD_I32, FIELD_BOOL, FIELD_TEXT };

struct field {
	const char *path[3]; /* names of members from the record down */
	enum field_kind kind;
	bool positive;
	size_t offset; /* in struct config_values */
};

#define AT(member) offsetof(struct config_values, member)

static const struct field fields[] = {
	{{"inline_chunk_threshold_bytes"}, FIELD_U16, false, AT(inline_chunk_threshold)},
	{{"get_partial_values_concurrency"}, FIELD_U16, false, AT(get_partial_values_concurrency)},
	{{"compression", "level"}, FIELD_U8, false, AT(compression_level)},
	{{"max_concurrent_requests"}, FIELD_U16, false, AT(max_concurrent_requests)},
	{{"caching", "num_snapshot_nodes"}, FIELD_U64, false, AT(cache_snapshot_nodes)},
	{{"caching", "num_chunk_refs"}, FIELD_U64, false, AT(cache_chunk_refs)},
	{{"caching", "num_transaction_changes"}, FIELD_U64, false, AT(cache_transaction_changes)},
	{{"caching", "num_bytes_attributes"}, FIELD_U64, false, AT(cache_bytes_attributes)},
	{{"caching", "num_bytes_chunks"}, FIELD_U64, false, AT(cache_bytes_chunks)},
	{{"storage", "concurrency", "max_concurrent_requests_for_object"},
	 FIELD_U16,
	 true,
	 AT(storage_max_requests_per_object)},
	{{"storage", "concurrency", "ideal_concurrent_request_size"},
	 FIELD_U64,
	 true,
	 AT(storage_ideal_request_size)},
	{{"storage", "retries", "max_tries"}, FIELD_U16, true, AT(storage_retries.max_tries)},
	{{"storage", "retries", "initial_backoff_ms"},
	 FIELD_U32,
	 false,
	 AT(storage_retries.initial_backoff_ms)},
	{{"storage", "retries", "max_backoff_ms"},
	 FIELD_U32,
	 false,
	 AT(storage_retries.max_backoff_ms)},
	{{"storage", "timeouts", "connect_timeout_ms"}, FIELD_U32, false, AT(connect_timeout_ms)},
	{{"storage", "timeouts", "read_timeout_ms"}, FIELD_U32, false, AT(read_timeout_ms)},
	{{"storage", "timeouts", "operation_timeout_ms"},
	 FIELD_U32,
	 false,
	 AT(operation_timeout_ms)},
	{{"storage", "timeouts", "operation_attempt_timeout_ms"},
	 FIELD_U32,
	 false,
	 AT(operation_attempt_timeout_ms)},
	{{"storage", "unsafe_use_conditional_update"}, FIELD_BOOL, false, AT(conditional_update)},
	{{"storage", "unsafe_use_conditional_create"}, FIELD_BOOL, false, AT(conditional_create)},
	{{"storage", "unsafe_use_metadata"}, FIELD_BOOL, false, AT(use_metadata)},
	{{"storage", "storage_class"}, FIELD_TEXT, false, AT(storage_class)},
	{{"storage", "metadata_storage_class"}, FIELD_TEXT, false, AT(metadata_storage_class)},
	{{"storage", "chunks_storage_class"}, FIELD_TEXT, false, AT(chunks_storage_class)},
	{{"storage", "minimum_size_for_multipart_upload"}, FIELD_U64, false, AT(multipart_from)},
	{{"manifest", "preload", "max_total_refs"}, FIELD_U32, false, AT(preload_max_refs)},
	{{"manifest", "preload", "max_arrays_to_scan"}, FIELD_U32, false, AT(preload_max_arrays)},
	{{"manifest", "virtual_chunk_location_compression", "min_num_chunks"},
	 FIELD_U16,
	 false,
	 AT(locations.min_refs)},
	{{"manifest", "virtual_chunk_location_compression", "dictionary_max_training_samples"},
	 FIELD_U16,
	 false,
	 AT(locations.max_samples)},
	{{"manifest", "virtual_chunk_location_compression", "dictionary_max_size_bytes"},
	 FIELD_U32,
	 false,
	 AT(locations.max_dictionary)},
	{{"manifest", "virtual_chunk_location_compression", "compression_level"},
	 FIELD_I32,
	 false,
	 AT(locations.location_level)},
	{{"manifest", "max_concurrent_manifest_fetches_during_commit"},
	 FIELD_U16,
	 false,
	 AT(manifest_fetches_during_commit)},
	{{"repo_update_retries", "default", "max_tries"},
	 FIELD_U16,
	 true,
	 AT(update_retries.max_tries)},
	{{"repo_update_retries", "default", "initial_backoff_ms"},
	 FIELD_U32,
	 false,
	 AT(update_retries.initial_backoff_ms)},
	{{"repo_update_retries", "default", "max_backoff_ms"},
	 FIELD_U32,
	 false,
	 AT(update_retries.max_backoff_ms)},
	{{"num_updates_per_repo_info_file"}, FIELD_U16, false, AT(updates_per_file)},
};

/* Defaults of a repository without configuration (formats, section 8.2). */
static const struct config_values defaults = {
	.inline_chunk_threshold = 512,
	.get_partial_values_concurrency = 10,
	.compression_level = 3,
	.max_concurrent_requests = 256,
	.cache_snapshot_nodes = 500000,
	.cache_chunk_refs = 15000000,
	.storage_max_requests_per_object = 18,
	.storage_ideal_request_size = 12 << 20,
	.storage_retries = {10, 100, 180000},
	.conditional_update = true,
	.conditional_create = true,
	.use_metadata = true,
	.multipart_from = 100 << 20,
	.locations = {.compress_locations = true,
		      .min_refs = 1000,
		      .max_samples = 100,
		      .max_dictionary = 2048,
		      .location_level = 3},
	.manifest_fetches_during_commit = 1,
	.update_retries = {100, 50, 30000},
	.updates_per_file = 1000,
	.preload_max_refs = 10000,
	.preload_max_arrays = 50,
};

static int check_range(const struct field *field, uint64_t number, uint64_t most, struct error *err)
{
	if (number > most || (field->positive && number == 0))
		return error_set(err, ERR_FORMAT, "%llu is out of range",
				 (unsigned long long)number);
	return 0;
}

static int store_u64(const struct field *field, const struct json *value, void *at,
		     struct error *err)
{
	uint64_t number;
	int r;

	r = json_u64(value, &number, err);
	if (r == 0)
		r = check_range(field, number, UINT64_MAX, err);
	if (r < 0)
		return r;
	memcpy(at, &number, sizeof(number));
	return 0;
}

/* Numbers of up to 32 bits, which have 32 in struct config_values. */
static int store_u32(const struct field *field, const struct json *value, void *at,
		     struct error *err)
{
	static const uint32_t most[] = {UINT8_MAX, UINT16_MAX, UINT32_MAX};
	uint64_t number;
	uint32_t narrow;
	int r;

	r = json_u64(value, &number, err);
	if (r == 0)
		r = check_range(field, number, most[field->kind], err);
	if (r < 0)
		return r;
	narrow = (uint32_t)number;
	memcpy(at, &narrow, sizeof(narrow));
	return 0;
}

static int store_i32(const struct json *value, void *at, struct error *err)
{
	int64_t number;
	int32_t narrow;
	int r;

	r = json_i64(value, &number, err);
	if (r < 0)
		return r;
	if (number < INT32_MIN || number > INT32_MAX)
		return error_set(err, ERR_FORMAT, "%lld is out of range", (long long)number);
	narrow = (int32_t)number;
	memcpy(at, &narrow, sizeof(narrow));
	return 0;
}

static int store_field(struct config *config, const struct field *field, const struct json *value,
		       struct error *err)
{
	void *at = (uint8_t *)config + offsetof(struct config, values) + field->offset;

	switch (field->kind) {
	case FIELD_BOOL:
		return json_bool(value, at, err);
	case FIELD_TEXT:
		return config_text(config, value, at, err);
	case FIELD_I32:
		return store_i32(value, at, err);
	case FIELD_U64:
		return store_u64(field, value, at, err);
	default:
		return store_u32(field, value, at, err);
	}
}

static int parse_field(struct config *config, const struct field *field, struct error *err)
{
	struct json value = config->root;
	unsigned int i = 0;
	int r;

	for (; i < ARRAY_LEN(field->path) && field->path[i]; i++) {
		if (value.type != JSON_OBJECT)
			return error_set(err, ERR_FORMAT, "%s is no record", field->path[i - 1]);
		if (config_get(&value, field->path[i], &value) != 0)
			return 0;
	}
	r = store_field(config, field, &value, err);
	return r < 0 ? error_prefix(err, "%s", field->path[i - 1]) : 0;
}

static int parse_compression(struct config *config, struct error *err)
{
	struct json compression, level, algorithm;

	if (config_get(&config->root, "compression", &compression) != 0)
		return 0;
	config->values.compression_level_is_set = config_get(&compression, "level", &level) == 0;
	if (config_get(&compression, "algorithm", &algorithm) != 0)
		return 0;
	if (json_is_text(&algorithm, "zstd"))
		return 0;
	return error_set(err, ERR_UNSUPPORTED, "compression algorithm %.*s",
			 (int)algorithm.span.size, (const char *)algorithm.span.data);
}

static int parse_manifest(struct config *config, struct error *err)
{
	struct json manifest, value, condition;
	int r = 0;

	if (config_get(&config->root, "manifest", &manifest) != 0)
		return config_parse_preload(config, NULL, err);
	config->values.manifest_fetches_is_set =
		config_get(&manifest, "max_concurrent_manifest_fetches_during_commit", &value) == 0;
	if (config_get(&manifest, "splitting", &value) == 0)
		r = config_parse_splitting(config, &value, err);
	if (r < 0)
		return error_prefix(err, "splitting");
	if (config_get(&manifest, "preload", &value) == 0 &&
	    config_get(&value, "preload_if", &condition) == 0)
		r = config_parse_preload(config, &condition, err);
	else
		r = config_parse_preload(config, NULL, err);
	return r < 0 ? error_prefix(err, "preload_if") : 0;
}

static int parse_record(struct config *config, struct error *err)
{
	int r;

	if (config->root.type != JSON_OBJECT)
		return error_set(err, ERR_FORMAT, "no record");
	config->values = defaults;
	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		r = parse_field(config, &fields[i], err);
		if (r < 0)
			return r;
	}
	r = parse_compression(config, err);
	if (r == 0)
		r = config_parse_containers(config, err);
	return r < 0 ? r : parse_manifest(config, err);
}

static struct config *alloc_config(enum config_form form, struct error *err)
{
	struct config *config = calloc(1, sizeof(*config));

	if (!config) {
		error_memory(err);
		return NULL;
	}
	config->arena = ARENA_INIT;
	config->text = BUF_INIT(CONFIG_TEXT_MAX);
	config->raw = BUF_INIT(CONFIG_TEXT_MAX);
	config->form = form;
	return config;
}

/* Parses the JSON text that stands in the configuration. */
static int finish(struct config *config, struct error *err)
{
	int r;

	r = json_parse(buf_slice(&config->text), &config->root, err);
	if (r == 0)
		r = parse_record(config, err);
	return r < 0 ? error_prefix(err, "cannot parse configuration") : 0;
}

static int copy_json(struct slice json, struct buf *out, struct error *err)
{
	return buf_append_slice(out, json, err);
}

static int config_from(enum config_form form, struct slice bytes,
		       int (*to_json)(struct slice bytes, struct buf *out, struct error *err),
		       struct config **ret_config, struct error *err)
{
	CLEANUP(config_freep) struct config *config = alloc_config(form, err);
	int r;

	if (!config)
		return ERR_MEMORY;
	r = buf_append_slice(&config->raw, bytes, err);
	if (r == 0)
		r = to_json(bytes, &config->text, err);
	if (r < 0)
		return error_prefix(err, "cannot parse configuration");
	r = finish(config, err);
	if (r < 0)
		return r;
	*ret_config = TAKE(config);
	return 0;
}

int config_new(struct config **ret_config, struct error *err)
{
	return config_from_json(slice_text("{}"), ret_config, err);
}

int config_from_yaml(struct slice yaml, struct config **ret_config, struct error *err)
{
	return config_from(CONFIG_YAML, yaml, config_yaml_to_json, ret_config, err);
}

int config_from_flex(struct slice flex, struct config **ret_config, struct error *err)
{
	return config_from(CONFIG_FLEX, flex, flex_to_json, ret_config, err);
}

int config_from_record(struct slice json, struct config **ret_config, struct error *err)
{
	return config_from(CONFIG_JSON, json, copy_json, ret_config, err);
}

int config_from_json(struct slice json, struct config **ret_config, struct error *err)
{
	CLEANUP(config_freep) struct config *config = NULL;
	int r;

	r = config_from(CONFIG_JSON, json, config_complete, &config, err);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < config->values.n_containers; i++)
		if (config->values.containers[i].kind == CONTAINER_UNKNOWN)
			return error_set(err, ERR_FORMAT,
					 "cannot parse configuration: unknown kind of store '%s'",
					 config->values.containers[i].kind_name);
	*ret_config = TAKE(config);
	return 0;
}

struct config *config_free(struct config *config)
{
	if (!config)
		return NULL;
	for (size_t i = 0; i < config->regexes.n; i++)
		regex_free(config->regexes.items[i]);
	regexes_done(&config->regexes);
	buf_done(&config->text);
	buf_done(&config->raw);
	arena_done(&config->arena);
	free(config);
	return NULL;
}

const struct config_values *config_values(const struct config *config)
{
	return &config->values;
}

struct slice config_json(const struct config *config)
{
	return config->root.span;
}

int config_to_yaml(const struct config *config, struct buf *out, struct error *err)
{
	if (config->form == CONFIG_YAML)
		return buf_append_slice(out, buf_slice(&config->raw), err);
	return config_json_to_yaml(&config->root, out, err);
}

int config_to_flex(const struct config *config, struct buf *out, struct error *err)
{
	if (config->form == CONFIG_FLEX)
		return buf_append_slice(out, buf_slice(&config->raw), err);
	return json_to_flex(&config->root, out, err);
}
