/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Repository configuration: the stored record and what follows from it
 *
 * The record is kept as JSON text with every member that it came with, also those that nobody here
 * knows; absent and null members mean the default.  Spec 1 stores it as YAML, spec 2 as
 * FlexBuffers.
 *
 * Threads: a parsed configuration never changes and may be shared.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "icechunk/manifest.h"
#include "icechunk/snapshot.h"

#define CONFIG_TEXT_MAX (UINT64_C(16) << 20)

enum container_kind {
	CONTAINER_MEMORY,
	CONTAINER_LOCAL,
	CONTAINER_HTTP,
	CONTAINER_S3,
	CONTAINER_S3_COMPATIBLE,
	CONTAINER_TIGRIS,
	CONTAINER_GCS,
	CONTAINER_AZURE,
	CONTAINER_UNKNOWN, /* a kind that this version does not know */
};

struct config_option {
	const char *name;
	const char *value;
};

/* A container for virtual chunks. */
struct container {
	enum container_kind kind;
	const char *kind_name;	/* as stored: "s3_compatible" */
	const char *name;	/* NULL if it has none */
	const char *url_prefix; /* ends in '/', added if it was missing */
	const char *invalid;	/* why the public library ignores it, or NULL */
	const char *path;	/* local */
	/* S3 and its relatives */
	const char *region;	  /* NULL if none */
	const char *endpoint_url; /* NULL if none */
	bool anonymous, allow_http, force_path_style, requester_pays;
	uint32_t network_stream_timeout; /* seconds, 0 for none */
	const char *checksum_algorithm;	 /* NULL if none */
	/* http, gcs, azure: the map as stored; of http without its headers */
	const struct config_option *options;
	uint32_t n_options;
	const struct config_option *headers; /* http */
	uint32_t n_headers;
};

struct config_retries {
	uint32_t max_tries, initial_backoff_ms, max_backoff_ms;
};

/* Effective values: what the record says, else the default. */
struct config_values {
	uint32_t inline_chunk_threshold; /* bytes; chunks up to it are stored inline */
	uint32_t get_partial_values_concurrency;
	int compression_level;
	bool compression_level_is_set; /* or the default */
	uint32_t max_concurrent_requests;
	uint64_t cache_snapshot_nodes, cache_chunk_refs, cache_transaction_changes;
	uint64_t cache_bytes_attributes, cache_bytes_chunks;
	uint32_t storage_max_requests_per_object;
	uint64_t storage_ideal_request_size; /* bytes */
	struct config_retries storage_retries;
	uint32_t connect_timeout_ms, read_timeout_ms, operation_timeout_ms; /* 0 for none */
	uint32_t operation_attempt_timeout_ms;
	bool conditional_update, conditional_create, use_metadata;
	const char *storage_class, *metadata_storage_class, *chunks_storage_class; /* NULL: none */
	uint64_t multipart_from;						   /* bytes */
	struct manifest_options locations; /* spec is not set here */
	uint32_t manifest_fetches_during_commit;
	bool manifest_fetches_is_set; /* or the default */
	struct config_retries update_retries;
	uint32_t updates_per_file;
	uint32_t preload_max_refs, preload_max_arrays;
	const struct container *containers; /* sorted by the bytes of the prefix, valid or not */
	uint32_t n_containers;
};

struct config;

/* The record with nothing in it. */
int config_new(struct config **ret_config, struct error *err);
/* Parses a stored record, checking every member it knows.  ERR_FORMAT names the member. */
int config_from_yaml(struct slice yaml, struct config **ret_config, struct error *err);
int config_from_flex(struct slice flex, struct config **ret_config, struct error *err);
/*
 * The same for a record that somebody wrote to be stored.  Members that the public library insists
 * on (anonymous and allow_http of S3 stores, both ends of num_refs) are added; ERR_FORMAT for a
 * kind of store that it does not know, since it would not open the repository any more.
 */
int config_from_json(struct slice json, struct config **ret_config, struct error *err);
struct config *config_free(struct config *config);
DEFINE_CLEANUP(struct config *, config_free)

const struct config_values *config_values(const struct config *config);
/* The record as JSON text; lent. */
struct slice config_json(const struct config *config);

/*
 * Appends the record as it is stored.  A configuration that was read in the same form gives the
 * bytes it was read from.
 */
int config_to_yaml(const struct config *config, struct buf *out, struct error *err);
int config_to_flex(const struct config *config, struct buf *out, struct error *err);

/*
 * A new configuration: @over on top of @base.  Records merge member by member; preload, splitting
 * and the map of containers replace as a whole; null members of @over do nothing.
 */
int config_merge(const struct config *base, const struct config *over, struct config **ret_config,
		 struct error *err);
/* Do both records say the same, null and absent members being alike? */
int config_equal(const struct config *a, const struct config *b, bool *ret_equal,
		 struct error *err);

/*
 * How an array is split into manifests: on axis i the windows [0, s), [s, 2s) ... of s =
 * @ret_sizes[i] chunks, the last one shorter.  Rules are tried in order; the first that decides an
 * axis counts.
 * @names[i] has data NULL for an unnamed axis; @names may be NULL.  An axis that no rule decides
 * has one window: size UINT32_MAX.
 */
int config_split(const struct config *config, struct slice path, const struct slice *names,
		 uint32_t n_dims, uint32_t *ret_sizes, struct error *err);

/* Does the preload condition hold for a manifest of @n_refs references of the array at @path? */
int config_preloads(const struct config *config, struct slice path, uint32_t n_refs, bool *ret_yes,
		    struct error *err);
