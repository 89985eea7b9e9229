/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REFMT_H
#define REFMT_H

/*
 * librefmt: read any Icechunk repository, virtual GRIB chunks included
 *
 * A struct refmt_dataset is one snapshot of one repository: it never changes.  Arrays come as the
 * user of Zarr sees them: every codec undone, in the array's data type, C order, native bytes.
 * A chunk that a loaded manifest proves to be absent reads as the fill value; any failure is an
 * error, never a fill value.
 *
 * Results: 0 done, REFMT_ABSENT for "not there, proven", negative an error kind described in the
 * last parameter (which may be NULL).
 *
 * Threads: a dataset may be used from many threads at once; each call uses the caller's thread
 * and the library's own.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define REFMT_API __attribute__((visibility("default")))
#else
#define REFMT_API
#endif

enum refmt_error_kind {
	REFMT_ERR_ARGUMENT = -1,
	REFMT_ERR_FORMAT = -2,
	REFMT_ERR_ABSENT = -3,
	REFMT_ERR_DENIED = -4,
	REFMT_ERR_CHANGED = -5,
	REFMT_ERR_TIMEOUT = -6,
	REFMT_ERR_THROTTLED = -7,
	REFMT_ERR_NETWORK = -8,
	REFMT_ERR_UNSUPPORTED = -9,
	REFMT_ERR_CONFLICT = -10,
	REFMT_ERR_READ_ONLY = -11,
	REFMT_ERR_MEMORY = -12,
	REFMT_ERR_INTERRUPTED = -13,
	REFMT_ERR_TEMPORARY = -14 /* tried again and again in vain; later it may be otherwise */
};

enum { REFMT_ABSENT = 1 };

/* What went wrong: one line, no line feed. */
struct refmt_error {
	int kind; /* 0 or a refmt_error_kind */
	char text[512];
};

/* A container prefix that virtual references may be followed under. */
struct refmt_allowance {
	const char *prefix;
	const char *credential; /* "anonymous" (also NULL), "env", "profile:NAME" */
};

/* A container prefix and where its objects are really fetched from. */
struct refmt_mirror {
	const char *prefix;
	const char *url;
};

enum refmt_decode {
	REFMT_DECODE_WMO,	/* the value that the WMO's FM 92 defines */
	REFMT_DECODE_GRIBBERISH /* what gribberish 1.9.0 gives, its departures included */
};

/* Zeroed: branch "main", defaults everywhere.  Nothing is kept of it after refmt_open(). */
struct refmt_options {
	const char *branch, *tag, *snapshot; /* at most one */
	const char *as_of; /* RFC 3339 time or an age such as "7d"; along @branch */
	const struct refmt_allowance *allow;
	size_t n_allow;
	const struct refmt_mirror *mirrors;
	size_t n_mirrors;
	bool no_default_allow;	/* follow only what @allow names */
	bool no_virtual;	/* follow no virtual reference */
	bool percent_locations; /* object names of references are percent-decoded first */
	enum refmt_decode decode;
	const char *endpoint_url, *region, *profile; /* of the repository's own store */
	bool anonymous, path_style;
	uint64_t cache_size; /* bytes of decoded chunks and manifests kept, 0 = 256 MiB */
	uint32_t timeout_ms; /* for one read, everything included; 0 = 60 000 */
};

struct refmt_dataset;

/* Opens the repository at @url (a path, file://, s3://, gs://, az://, http(s)://). */
REFMT_API int refmt_open(const char *url, const struct refmt_options *options,
			 struct refmt_dataset **ret_dataset, struct refmt_error *err);
/* NULL is fine. */
REFMT_API void refmt_close(struct refmt_dataset *dataset);

/* The snapshot's id, 20 characters; lent by the dataset. */
REFMT_API const char *refmt_snapshot(const struct refmt_dataset *dataset);

struct refmt_node {
	const char *path; /* "/", "/a/b"; lent by the dataset */
	bool is_array;
	uint32_t n_dims;       /* 0 for groups and scalars */
	const uint64_t *shape; /* n_dims numbers, lent */
	const char *data_type; /* as in zarr.json, "float64"; NULL for groups */
	size_t item_size;      /* bytes of one element; 0 when the data type is not understood */
};

/* Number of nodes, and node @number below it, in the order of the bytes of their paths. */
REFMT_API size_t refmt_n_nodes(const struct refmt_dataset *dataset);
REFMT_API int refmt_node(struct refmt_dataset *dataset, size_t number, struct refmt_node *ret_node,
			 struct refmt_error *err);
/* 0, or REFMT_ABSENT. */
REFMT_API int refmt_find(struct refmt_dataset *dataset, const char *path,
			 struct refmt_node *ret_node, struct refmt_error *err);
/* The stored zarr.json of a node, @ret_size bytes; the caller frees with free(). */
REFMT_API int refmt_document(struct refmt_dataset *dataset, const char *path, char **ret_text,
			     size_t *ret_size, struct refmt_error *err);

enum refmt_chunk_kind { REFMT_CHUNK_INLINE, REFMT_CHUNK_NATIVE, REFMT_CHUNK_VIRTUAL };

struct refmt_chunk {
	enum refmt_chunk_kind kind;
	char *location;		 /* URL of a virtual chunk, id of a native one, else NULL; free with
				    refmt_chunk_done() */
	uint64_t offset, length; /* bytes */
	char *etag;		 /* recorded with the reference, or NULL */
	uint32_t last_modified;	 /* Unix seconds, 0 if not recorded */
};

/* Where the chunk at @index (chunk numbers, one a dimension) lies: 0, or REFMT_ABSENT. */
REFMT_API int refmt_locate(struct refmt_dataset *dataset, const char *path, const uint32_t *index,
			   struct refmt_chunk *ret_chunk, struct refmt_error *err);
REFMT_API void refmt_chunk_done(struct refmt_chunk *chunk);

/* The stored bytes of a chunk; free with free().  0, or REFMT_ABSENT. */
REFMT_API int refmt_fetch(struct refmt_dataset *dataset, const char *path, const uint32_t *index,
			  uint8_t **ret_bytes, size_t *ret_size, struct refmt_error *err);
/* The chunk decoded: chunk shape x item size bytes; free with free().  0, or REFMT_ABSENT. */
REFMT_API int refmt_read_chunk(struct refmt_dataset *dataset, const char *path,
			       const uint32_t *index, uint8_t **ret_bytes, size_t *ret_size,
			       struct refmt_error *err);
/*
 * The block of @count elements from @start on (n_dims numbers each), in C order, into @out of
 * exactly product(@count) x item size bytes.  Absent chunks give the fill value.
 */
REFMT_API int refmt_read(struct refmt_dataset *dataset, const char *path, const uint64_t *start,
			 const uint64_t *count, void *out, size_t out_size,
			 struct refmt_error *err);

#ifdef __cplusplus
}
#endif

#endif
