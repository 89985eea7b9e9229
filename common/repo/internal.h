/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the parts of the repository layer share.  Internal to this folder.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "icechunk/config.h"
#include "icechunk/refs1.h"
#include "icechunk/repoinfo.h"
#include "icechunk/snapshot.h"
#include "icechunk/txlog.h"
#include "repo/cache.h"
#include "repo/contention.h"
#include "repo/idset.h"
#include "repo/repo.h"

#define REPO_KEY "repo"
#define CONFIG1_KEY "config.yaml"
#define MAIN_BRANCH "main"
#define OBJECT_MAX (UINT64_C(1) << 31) /* no metadata object is larger */
#define REF1_FILE_MAX 4096

/* Room for "transactions/" and an id. */
#define KEY_MAX 64

/*
 * The mutable state as it was read once; never changes, shared by counting owners.  In spec 1
 * branches and tags are read when they are asked for and info is NULL.
 */
struct state {
	atomic_uint owners;
	struct repo_info *info;
	struct version version;	       /* of the repo object */
	pthread_mutex_t lock;	       /* of config */
	struct config *config;	       /* read when first asked for */
	struct version config_version; /* spec 1: of config.yaml, empty if there is none */
};

/* preload.c */
struct preload {
	uint64_t budget;  /* bytes of decoded manifests at which it ends */
	atomic_bool stop; /* the repo is about to go */
	atomic_bool is_running;
	bool has_thread; /* to be joined */
	pthread_t thread;
};

struct repo {
	struct store *store;
	struct store *slash; /* owned; in front of the caller's store, else NULL */
	struct repo_options options;
	int spec;
	bool encodes_refs;    /* spec 1: names are percent-encoded in keys */
	pthread_mutex_t lock; /* of state */
	struct state *state;
	struct manifest_cache *cache;
	struct contention contention;
	struct preload preload; /* has_thread and thread under lock */
};

struct checkout {
	atomic_uint owners;
	struct repo *repo;
	struct snapshot *snapshot;
	pthread_mutex_t lock; /* of what follows */
	bool shared_is_known;
	struct id_set shared; /* manifests that several nodes refer to */
};

/* state.c */

/* One more owner of the state as it is now. */
struct state *repo_state(struct repo *repo);
struct state *state_free(struct state *state);
DEFINE_CLEANUP(struct state *, state_free)
/* Reads the repo object: 0, REPO_ABSENT, or an error.  @ret_file, unless NULL, gets the stored
 * bytes. */
int state_load(struct store *store, struct state **ret_state, struct error *err);
/* An empty state, for spec 1. */
int state_new(struct state **ret_state, struct error *err);
/* Makes @state (one owner is taken over) the repo's. */
void repo_set_state(struct repo *repo, struct state *state);
/* The configuration of @state, lent; read now if it was not yet. */
int state_config(struct repo *repo, struct state *state, const struct config **ret_config,
		 struct error *err);

/* objects.c: immutable objects by id */

void key_format(char key[KEY_MAX], const char *folder, const struct id12 *id);
/* "name#digits" is a file that a killed writer of the local driver left. */
bool key_is_temporary(const char *key);
/* ERR_ABSENT names the object; a file that holds another id is ERR_FORMAT. */
int snapshot_load(struct store *store, const struct id12 *id, struct snapshot **ret_snapshot,
		  struct error *err);
/* 0, REPO_ABSENT, or an error. */
int txlog_load(struct store *store, const struct id12 *id, struct txlog **ret_log,
	       struct error *err);
/* @info tells size and number of references, both checked; NULL = not known. */
int manifest_load(struct store *store, const struct id12 *id, const struct manifest_info *info,
		  struct manifest **ret_manifest, struct error *err);

/* checkout.c */

/* The manifest that @ref names, pinned. */
int checkout_pin(struct checkout *checkout, const struct manifest_ref *ref,
		 struct manifest_pin **ret_pin, struct error *err);

/* history.c */

/* Spec 1: adds @id and its ancestors to @seen, up to the first that is there already. */
int ancestry1_collect(struct repo *repo, const struct id12 *id, struct id_set *seen,
		      struct error *err);

/* refs1.c: branches and tags of spec 1 */

struct ref1 {
	enum ref1_kind kind;
	char *name; /* as its writer gave it */
	char *key;
	bool deleted; /* a tag with a tombstone */
};
DEFINE_VEC(ref1_list, struct ref1);

/* Reads a branch or tag: 0, REPO_ABSENT (also a deleted tag), or an error.  The outputs may be
 * NULL. */
int ref1_load(struct repo *repo, enum ref1_kind kind, const char *name, struct id12 *ret_id,
	      struct version *ret_version, char **ret_key, struct error *err);
/* All branches and tags, sorted by kind and name. */
int ref1_list_load(struct repo *repo, struct ref1_list *ret_list, struct error *err);
void ref1_list_free(struct ref1_list *list);
/* The key where a new reference of this name belongs; the caller frees it. */
int ref1_new_key(struct repo *repo, enum ref1_kind kind, const char *name, bool tombstone,
		 char **ret_key, struct error *err);
