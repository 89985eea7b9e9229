/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The Zarr tree of a dataset, rendered from its definition
 *
 * The same bytes serve for the tree on disk beside the definition, for a new store, for growing one
 * and for refreshing its metadata: documents depend on the definition and the number of append
 * labels alone, coordinate chunks on the same and the compressor.
 *
 * Threads: a template may be shared.
 */

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "writer/dataset.h"

struct template;

enum template_node { TEMPLATE_GROUP, TEMPLATE_COORDINATE, TEMPLATE_VARIABLE };

/* A node of the tree, rendered for one length of the append dimension. */
struct template_node_info {
	enum template_node kind;
	const char *path; /* "/", "/a", "/g/a" */
	uint32_t group;	  /* number in the dataset */
	uint32_t item;	  /* coordinate or variable in the dataset; groups: 0 */
	bool spans_append;
	struct slice document;
	uint32_t n_dims;
	uint64_t shape[DATASET_DIMS_MAX];
	uint64_t chunk_shape[DATASET_DIMS_MAX];
};

/* Renders all documents for @n append labels.  Borrows @dataset, which must outlive it. */
int template_new(const struct dataset *dataset, uint64_t n, struct template **ret_template,
		 struct error *err);
struct template *template_free(struct template *template);
DEFINE_CLEANUP(struct template *, template_free)

/* Nodes: each group before what is in it, the root first; in a group sorted by name. */
size_t template_n_nodes(const struct template *template);
const struct template_node_info *template_node(const struct template *template, size_t i);
/* Node of a variable. */
const struct template_node_info *template_variable(const struct template *template,
						   uint32_t variable);
uint64_t template_length(const struct template *template);
const struct dataset *template_dataset(const struct template *template);

/* Appends the root's document with consolidated metadata of all nodes. */
int template_consolidated(const struct template *template, struct buf *out, struct error *err);

/*
 * Calls @each for every chunk of the coordinate @node with its index and its stored bytes.  Chunks
 * that a longer append dimension shares hold the fill value beyond it.  A coordinate that several
 * groups have is encoded once.
 */
int template_chunks(struct template *template, const struct template_node_info *node,
		    int (*each)(void *argument, const uint32_t *index, struct slice stored,
				struct error *err),
		    void *argument, struct error *err);

/*
 * Writes the tree below @folder, the root with consolidated metadata, one append label long.
 * Files that are there are replaced.
 */
int template_write(const struct dataset *dataset, const char *folder, struct error *err);

enum { TEMPLATE_DIFFERS = 1 };

/*
 * Compares the tree below @folder with the rendered one: documents by bytes, coordinate chunks by
 * their decoded values.  Chunks of projected coordinates, which are large and computed, may be
 * missing.  Returns 0, TEMPLATE_DIFFERS after @each was called with every difference
 * ("x/zarr.json", "differs"), or an error.
 */
int template_check(const struct dataset *dataset, const char *folder,
		   void (*each)(void *argument, const char *key, const char *what), void *argument,
		   struct error *err);
