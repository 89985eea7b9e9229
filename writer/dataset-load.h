/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The parts of loading a dataset definition, in the order in which they run
 *
 * Each reads its members of the root object into the dataset and relies on those before it.
 * Threads: one at a time.
 */

#include "writer/dataset.h"
#include "writer/definition.h"

/* A stretch of append labels and the object, if any, whose members hold instead of the base's. */
struct scope {
	const struct place *base;
	bool has_era;
	struct place era;
	int64_t from, until;
};

/*
 * Reads the member "eras" of @base: scopes in order that cover all time, those between eras too.
 * @names are the members that an era may have beside from and until.
 */
int load_scopes(const struct definition *definition, const struct place *base, const char *names,
		struct scope **ret_scopes, size_t *ret_n, struct error *err);
/* As definition_get(), the era's member winning over the base's. */
int scope_get(const struct definition *definition, const struct scope *scope, const char *key,
	      enum json_type type, struct place *ret_place, struct error *err);
/* A text, or a list of texts of at least one. */
int load_texts(const struct definition *definition, const struct place *at,
	       struct text_list *ret_list, struct error *err);

int load_structure(const struct definition *definition, const struct place *root,
		   struct dataset *dataset, struct error *err);
int load_files(const struct definition *definition, const struct place *root,
	       struct dataset *dataset, struct error *err);
int load_variables(const struct definition *definition, const struct place *root,
		   struct dataset *dataset, struct error *err);
int load_policy(const struct definition *definition, const struct place *root,
		struct dataset *dataset, struct error *err);
