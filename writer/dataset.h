/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Dataset definitions
 *
 * A definition is one JSON object: structure, variables, source files, schedule, validators of one
 * virtual dataset (docs, "Dataset definitions").  Loading checks all of it, so that whatever uses
 * it afterwards meets no surprise.
 *
 * Times are microseconds since 1970 (UTC), durations microseconds.  A struct dataset is constant
 * once loaded; everything in it lives until dataset_free().  Threads: any may read.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/json.h"
#include "writer/pattern.h"

#define DATASET_DIMS_MAX 8
#define DATASET_FILE_MAX (16U << 20)
#define FILE_TYPES_MAX 32
#define TIME_FOREVER INT64_MAX
#define TIME_NEVER INT64_MIN

struct dataset_dim {
	const char *name;
	uint64_t size;	/* 0 for the append dimension */
	uint64_t chunk; /* of data variables */
	/* Labels, from the coordinate of the same name; NULL for the append dimension, and where
	 * there is no such coordinate. */
	const double *labels;
	/* The same in microseconds where the coordinate holds durations, else NULL. */
	const int64_t *durations;
};

struct dataset_group {
	const char *path; /* "" is the root, else one name */
	uint32_t n_dims;
	uint32_t dims[DATASET_DIMS_MAX];
	int level; /* the dimension that the root does not have, or -1 */
};

enum coordinate_kind {
	COORDINATE_APPEND,	/* the label of the append dimension */
	COORDINATE_APPEND_PLUS, /* the same plus the duration of another dimension */
	COORDINATE_BY_APPEND,	/* a number that depends on the append label */
	COORDINATE_RANGE,	/* start + i * step */
	COORDINATE_LIST,	/* the numbers themselves */
	COORDINATE_PROJECTED	/* latitude or longitude of a projected grid */
};

/* A number from an append label on. */
struct dated_value {
	int64_t from, until;
	double value;
};

struct dataset_coordinate {
	const char *name;
	uint32_t n_dims;
	uint32_t dims[DATASET_DIMS_MAX];
	uint64_t chunks[DATASET_DIMS_MAX];
	struct slice data_type, fill_value, codecs, attributes; /* JSON */
	enum coordinate_kind kind;
	double start, step;   /* range */
	const double *values; /* list */
	size_t n_values;
	uint32_t plus;		   /* append_plus: the other dimension */
	struct dated_value *dated; /* by_append, in order, covering all time */
	size_t n_dated;
	bool is_longitude;				  /* projected */
	double radius, origin_latitude, origin_longitude; /* projected; metres, degrees */
};

struct text_list {
	const char **items;
	size_t n;
};

/* How an index names a variable's messages: any text of each list, the first is the usual one. */
struct dataset_match {
	struct text_list elements; /* NOAA element, ECMWF param */
	struct text_list levels;   /* may hold "{level}"; ECMWF levtype */
	struct text_list times; /* NOAA: empty means that lead and window decide; ECMWF: levelist */
};

/* What holds of a variable for append labels in [from, until). */
struct variable_era {
	int64_t from, until;
	int type; /* of the files that have it, or -1: none */
	struct dataset_match match;
	int64_t first_lead, last_lead;
	bool no_reference_at_lead_0;
};

enum step_type { STEP_INSTANT, STEP_ACCUM, STEP_AVG, STEP_MAX, STEP_MIN };

struct dataset_variable {
	const char *path; /* "temperature", "pressure_level/temperature" */
	const char *name;
	uint32_t group;
	struct slice data_type, fill_value, codecs, attributes; /* JSON */
	enum step_type step;
	int64_t reset;		   /* of the window; 0 = no window, TIME_FOREVER = never */
	struct variable_era *eras; /* in order, covering all time */
	size_t n_eras;
};

enum source_kind {
	SOURCE_NOAA_IDX,
	SOURCE_ECMWF_INDEX,
	SOURCE_HEADER_SCAN,
	SOURCE_WHOLE_OBJECT,
	SOURCE_ZARR_CHUNKS
};

enum discovery_way { DISCOVER_LISTING, DISCOVER_HTML, DISCOVER_PROBE };

struct source_type {
	const char *name;
	const char *text; /* in URLs */
	bool has_lead;	  /* all files of this type are of one lead */
	int64_t lead;
	int probe; /* variable that stands for such a file, -1 = by rule */
};

/* What holds of the source files for append labels in [from, until). */
struct file_era {
	int64_t from, until;
	struct pattern url;
	struct pattern index_url; /* no pieces: there is no index */
};

struct dataset_files {
	enum source_kind kind;
	enum discovery_way discovery;
	const char *container; /* prefix of all URLs, ending in '/' */
	uint32_t n_dims; /* that a file has one label of, the append dimension not among them */
	uint32_t dims[DATASET_DIMS_MAX];
	int lead; /* the dimension that holds lead times, or -1 */
	struct source_type *types;
	size_t n_types;
	struct pattern_name *names;
	size_t n_names;
	struct pattern *extras; /* NOAA: texts allowed behind the time; none = the empty one */
	size_t n_extras;
	const char *class, *stream, *type, *expver; /* ECMWF rows; NULL = not compared */
	struct file_era *eras;
	size_t n_eras;
};

enum completeness { COMPLETE_REQUIRED, COMPLETE_TOLERANT };
enum withholding { WITHHOLD_NONE, WITHHOLD_UNTIL_LEAD_ZERO, WITHHOLD_WHOLE_POSITION };
/* What holds of the whole for append labels in [from, until). */
struct dataset_era {
	int64_t from, until;
	enum completeness completeness;
	enum withholding withhold;
};

enum recording { RECORD_NONE, RECORD_LAST_MODIFIED, RECORD_ETAG };

/* Records that one named file was published without. */
struct known_missing {
	const char *url;
	uint32_t *variables;
	size_t n_variables;
};

enum check_kind { CHECK_CURRENT_DATA, CHECK_COMPLETENESS, CHECK_DECODE_HEALTH };

struct dataset_check {
	enum check_kind kind;
	const char *name;
	int64_t max_delay;	 /* current_data */
	const double *fractions; /* manifest_completeness: newest position first */
	size_t n_fractions;
	uint32_t types;			   /* manifest_completeness: bits of file types, 0 = all */
	uint64_t positions, leads, levels; /* decode_health: how many are sampled */
	const uint32_t *all_nan; /* decode_health: variables that may be missing everywhere */
	size_t n_all_nan;
};

struct dataset_split {
	const char *regex; /* of array paths, NULL = any */
	uint64_t size;	   /* append labels a manifest */
};

struct dataset_container {
	const char *prefix;
	struct slice store; /* JSON, as the repository's configuration has it */
};

struct dataset_schedule {
	const char *update; /* "M H * * *", UTC */
	int64_t deadline, grace, window, tick;
};

struct dataset {
	struct arena arena;
	const char *folder; /* of the definition */
	const char *id, *version;
	struct slice text;
	struct json root;
	struct slice attributes; /* JSON */
	uint32_t append;	 /* dimension */
	int64_t start, step;	 /* of the append dimension */
	struct dataset_dim *dims;
	uint32_t n_dims;
	struct dataset_group *groups; /* the root first */
	uint32_t n_groups;
	struct dataset_coordinate *coordinates; /* sorted by name */
	uint32_t n_coordinates;
	struct dataset_variable *variables; /* in the order of the definition */
	uint32_t n_variables;
	struct dataset_files files;
	struct dataset_era *eras; /* in order, covering all time */
	size_t n_eras;
	enum recording record;
	int probe; /* variable that stands for its file, -1 = by rule */
	struct known_missing *known_missing;
	size_t n_known_missing;
	struct dataset_container *containers;
	size_t n_containers;
	struct dataset_split *splits; /* in the order of matching */
	size_t n_splits;
	const char *primary; /* URL of the published store */
	struct text_list replicas;
	struct dataset_schedule schedule;
	struct dataset_check *checks;
	size_t n_checks;
	struct json kubernetes; /* empty span if there is none */
};

/*
 * Loads FOLDER/dataset.json.  ERR_FORMAT names file, JSON pointer and reason: malformed members,
 * unknown ones, names that nothing else defines, eras that overlap, a probe that no file of an era
 * can hold.  ERR_ABSENT: there is no such file.
 */
int dataset_load(const char *folder, struct dataset **ret_dataset, struct error *err);
/* NULL is fine.  Always returns NULL. */
struct dataset *dataset_free(struct dataset *dataset);
DEFINE_CLEANUP(struct dataset *, dataset_free)

/*
 * Loads the definition @id of the folder @datasets.  ERR_ARGUMENT lists nothing but the name when
 * there is no such dataset.
 */
int dataset_find(const char *datasets, const char *id, struct dataset **ret_dataset,
		 struct error *err);

/* The folder of the definitions that come with this program; the caller frees it. */
int dataset_default_folder(char **ret_path, struct error *err);

/* Calls @each with the name of every folder in @datasets that has a definition, sorted. */
int dataset_each(const char *datasets,
		 int (*each)(void *argument, const char *id, struct error *err), void *argument,
		 struct error *err);

/* Label of append position @i. */
int64_t dataset_label(const struct dataset *dataset, uint64_t i);
/* Number of positions with a label before @end: positions are [0, n). */
uint64_t dataset_positions(const struct dataset *dataset, int64_t end);
/* Era of a variable, of the whole, and of the files, at an append label. */
const struct variable_era *variable_era(const struct dataset_variable *variable, int64_t label);
const struct dataset_era *dataset_era(const struct dataset *dataset, int64_t label);
const struct file_era *file_era(const struct dataset *dataset, int64_t label);
/* Variable by its path; -1 if there is none. */
int dataset_variable(const struct dataset *dataset, const char *path);
/* Dimension by its name; -1 if there is none. */
int dataset_dim(const struct dataset *dataset, const char *name);
