/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <strings.h>

#include "base/text.h"
#include "icechunk/config-internal.h"

static const char *const kind_names[] = {
	[CONTAINER_MEMORY] = "in_memory",
	[CONTAINER_LOCAL] = "local_file_system",
	[CONTAINER_HTTP] = "http",
	[CONTAINER_S3] = "s3",
	[CONTAINER_S3_COMPATIBLE] = "s3_compatible",
	[CONTAINER_TIGRIS] = "tigris",
	[CONTAINER_GCS] = "gcs",
	[CONTAINER_AZURE] = "azure",
};

/* Schemes that go with a kind of store; the first eight characters of a prefix decide. */
static const struct {
	enum container_kind kind;
	const char *scheme;
} schemes[] = {
	{CONTAINER_S3, "s3"},	      {CONTAINER_S3_COMPATIBLE, "s3"}, {CONTAINER_TIGRIS, "s3"},
	{CONTAINER_TIGRIS, "tigris"}, {CONTAINER_GCS, "gcs"},	       {CONTAINER_GCS, "gs"},
	{CONTAINER_AZURE, "az"},      {CONTAINER_AZURE, "azure"},      {CONTAINER_AZURE, "abfs"},
	{CONTAINER_HTTP, "http"},     {CONTAINER_HTTP, "https"},       {CONTAINER_LOCAL, "file"},
};

static enum container_kind kind_of(const char *name)
{
	for (unsigned int kind = 0; kind < ARRAY_LEN(kind_names); kind++)
		if (strcmp(kind_names[kind], name) == 0)
			return kind;
	return CONTAINER_UNKNOWN;
}

static bool scheme_fits(enum container_kind kind, const char *prefix, size_t size)
{
	for (size_t i = 0; i < ARRAY_LEN(schemes); i++)
		if (schemes[i].kind == kind && strlen(schemes[i].scheme) == size &&
		    strncasecmp(schemes[i].scheme, prefix, size) == 0)
			return true;
	return false;
}

static bool has_dot_segment(const char *path)
{
	while (*path) {
		size_t n = strcspn(path, "/");

		if ((n == 1 && path[0] == '.') || (n == 2 && path[0] == '.' && path[1] == '.'))
			return true;
		path += n + (path[n] == '/');
	}
	return false;
}

/* Why the public library would not use the container, or NULL. */
static const char *find_fault(const struct container *container)
{
	const char *rest = strstr(container->url_prefix, "://");
	const char *name = container->name;

	if (name && (!name[0] || strchr(name, '/')))
		return "its name is empty or has a '/'";
	if (container->kind == CONTAINER_UNKNOWN)
		return "its store is of an unknown kind";
	if (!rest)
		return "its prefix is no URL";
	if (!scheme_fits(container->kind, container->url_prefix,
			 (size_t)(rest - container->url_prefix)))
		return "the scheme of its prefix does not go with its store";
	rest += 3;
	if (container->kind == CONTAINER_LOCAL)
		return has_dot_segment(rest) ? "its prefix has a segment '.' or '..'"
		       : rest[0] != '/'	     ? "its prefix has no absolute path"
					     : NULL;
	return rest[0] == '/' || rest[0] == '?' || rest[0] == '#' ? "its prefix names no host"
								  : NULL;
}

static int optional_text(struct config *config, const struct json *record, const char *name,
			 const char **ret_text, struct error *err)
{
	struct json value;
	int r;

	if (config_get(record, name, &value) != 0)
		return 0;
	r = config_text(config, &value, ret_text, err);
	return r < 0 ? error_prefix(err, "%s", name) : 0;
}

static int optional_bool(const struct json *record, const char *name, bool *ret_bool,
			 struct error *err)
{
	struct json value;
	int r;

	if (config_get(record, name, &value) != 0)
		return 0;
	r = json_bool(&value, ret_bool, err);
	return r < 0 ? error_prefix(err, "%s", name) : 0;
}

static int parse_s3(struct config *config, const struct json *options, struct container *container,
		    struct error *err)
{
	struct json timeout;
	uint64_t seconds;
	int r;

	r = optional_text(config, options, "region", &container->region, err);
	if (r == 0)
		r = optional_text(config, options, "endpoint_url", &container->endpoint_url, err);
	if (r == 0)
		r = optional_text(config, options, "checksum_algorithm",
				  &container->checksum_algorithm, err);
	if (r == 0)
		r = optional_bool(options, "anonymous", &container->anonymous, err);
	if (r == 0)
		r = optional_bool(options, "allow_http", &container->allow_http, err);
	if (r == 0)
		r = optional_bool(options, "force_path_style", &container->force_path_style, err);
	if (r == 0)
		r = optional_bool(options, "requester_pays", &container->requester_pays, err);
	if (r < 0 || config_get(options, "network_stream_timeout_seconds", &timeout) != 0)
		return r;
	r = json_u64(&timeout, &seconds, err);
	if (r == 0 && seconds > UINT32_MAX)
		r = error_set(err, ERR_FORMAT, "out of range");
	if (r < 0)
		return error_prefix(err, "network_stream_timeout_seconds");
	container->network_stream_timeout = (uint32_t)seconds;
	return 0;
}

/* A map of texts; other values are left out. */
static int parse_options(struct config *config, const struct json *map,
			 const struct config_option **ret_options, uint32_t *ret_n,
			 struct error *err)
{
	struct config_option *options =
		arena_zalloc(&config->arena, json_count(map) + 1, sizeof(*options), err);
	struct json key, value;
	uint32_t n = 0;
	int r;

	if (!options)
		return ERR_MEMORY;
	JSON_EACH (map, &key, value) {
		if (value.type != JSON_STRING)
			continue;
		r = config_text(config, &key, &options[n].name, err);
		if (r == 0)
			r = config_text(config, &value, &options[n].value, err);
		if (r < 0)
			return r;
		n++;
	}
	*ret_options = options;
	*ret_n = n;
	return 0;
}

static int parse_http(struct config *config, const struct json *options,
		      struct container *container, struct error *err)
{
	struct json headers;
	int r;

	r = parse_options(config, options, &container->options, &container->n_options, err);
	if (r < 0 || config_get(options, "headers", &headers) != 0)
		return r;
	return parse_options(config, &headers, &container->headers, &container->n_headers, err);
}

static int parse_store(struct config *config, const struct json *store, struct container *container,
		       struct error *err)
{
	struct json options;
	int r;

	r = config_variant(config, store, &container->kind_name, &options, err);
	if (r < 0)
		return r;
	container->kind = kind_of(container->kind_name);
	switch (container->kind) {
	case CONTAINER_LOCAL:
		return config_text(config, &options, &container->path, err);
	case CONTAINER_HTTP:
		return parse_http(config, &options, container, err);
	case CONTAINER_S3:
	case CONTAINER_S3_COMPATIBLE:
	case CONTAINER_TIGRIS:
		return parse_s3(config, &options, container, err);
	case CONTAINER_GCS:
	case CONTAINER_AZURE:
		return parse_options(config, &options, &container->options, &container->n_options,
				     err);
	default:
		return 0;
	}
}

static int parse_prefix(struct config *config, const struct json *record,
			struct container *container, struct error *err)
{
	const char *text;
	struct json value;
	char *prefix;
	size_t size;
	int r;

	if (config_get(record, "url_prefix", &value) != 0)
		return error_set(err, ERR_FORMAT, "no url_prefix");
	r = config_text(config, &value, &text, err);
	if (r < 0)
		return error_prefix(err, "url_prefix");
	size = strlen(text);
	prefix = arena_zalloc(&config->arena, size + 2, 1, err);
	if (!prefix)
		return ERR_MEMORY;
	memcpy(prefix, text, size);
	if (size == 0 || prefix[size - 1] != '/')
		prefix[size] = '/';
	container->url_prefix = prefix;
	return 0;
}

static int parse_container(struct config *config, const struct json *record,
			   struct container *container, struct error *err)
{
	struct json store;
	int r;

	r = parse_prefix(config, record, container, err);
	if (r == 0)
		r = optional_text(config, record, "name", &container->name, err);
	if (r < 0)
		return r;
	if (config_get(record, "store", &store) != 0)
		return error_set(err, ERR_FORMAT, "no store");
	r = parse_store(config, &store, container, err);
	if (r < 0)
		return error_prefix(err, "store");
	container->invalid = find_fault(container);
	return 0;
}

static int compare_containers(const void *a, const void *b)
{
	return strcmp(((const struct container *)a)->url_prefix,
		      ((const struct container *)b)->url_prefix);
}

int config_parse_containers(struct config *config, struct error *err)
{
	struct container *containers;
	struct json map, key, record;
	uint32_t n = 0;
	int r;

	if (config_get(&config->root, "virtual_chunk_containers", &map) != 0)
		return 0;
	if (map.type != JSON_OBJECT)
		return error_set(err, ERR_FORMAT, "virtual_chunk_containers is no record");
	containers = arena_zalloc(&config->arena, json_count(&map) + 1, sizeof(*containers), err);
	if (!containers)
		return ERR_MEMORY;
	JSON_EACH (&map, &key, record) {
		r = parse_container(config, &record, &containers[n], err);
		if (r < 0)
			return error_prefix(err, "container %.*s", (int)key.span.size,
					    (const char *)key.span.data);
		n++;
	}
	if (n > 1)
		qsort(containers, n, sizeof(*containers), compare_containers);
	config->values.containers = containers;
	config->values.n_containers = n;
	return 0;
}
