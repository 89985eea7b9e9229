/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * `refmt repo`: look at a repository and change it (refmt(1))
 *
 * What the files of the command share, and its table.  Threads: commands run in one.
 */

#include "cli/main.h"
#include "reader/open.h"
#include "repo/refs.h"
#include "repo/transaction.h"
#include "store/store.h"

/* To put in the table of commands. */
extern const struct cli_command cmd_repo;

/* The store at @url with the options of the command line. */
int open_store(const char *url, const struct cli_common *common, struct store **ret_store,
	       struct error *err);
/* Opens store and repository.  @ret_opened begins as zeros and ends with opened_done(), always. */
int open_repo(const char *url, const struct cli_common *common, struct opened *ret_opened,
	      struct error *err);
/* As open_repo(), with the snapshot that the options choose, and a reader. */
int open_checkout(const char *url, const struct cli_common *common, enum reader_decode decode,
		  struct opened *ret_opened, struct error *err);

/* A key of the Zarr tree: a document, or a chunk of an array. */
struct zarr_key {
	char *path; /* of the node, "/a/b"; owned */
	bool is_document;
	uint32_t *index; /* owned */
	uint32_t n_dims;
};

void zarr_key_done(struct zarr_key *key);
/*
 * Splits "a/b/zarr.json" or "a/b/c/0/1", with or without a '/' in front.  ERR_ARGUMENT if it is
 * neither.
 */
int zarr_key_split(const char *text, struct zarr_key *ret_key, struct error *err);

/* Appends a reference as `refmt repo refs` shows it, its last brace left open if @open. */
int ref_json(const struct chunk_ref *ref, const uint32_t *index, uint32_t n_dims, bool open,
	     struct buf *out, struct error *err);

/* Appends {"name":"id",...}. */
int refs_object(const struct ref_entry *entries, size_t n, struct buf *out, struct error *err);
/* Reads a file, or standard input for NULL and "-".  @out gets the ceiling @max. */
int read_input(const char *name, uint64_t max, struct buf *out, struct error *err);

int cmd_repo_info(struct cli *cli, const void *options, struct error *err);
int cmd_repo_log(struct cli *cli, const void *options, struct error *err);
int cmd_repo_ls(struct cli *cli, const void *options, struct error *err);
int cmd_repo_stat(struct cli *cli, const void *options, struct error *err);
int cmd_repo_refs(struct cli *cli, const void *options, struct error *err);
int cmd_repo_cat(struct cli *cli, const void *options, struct error *err);
int cmd_repo_apply(struct cli *cli, const void *options, struct error *err);
int cmd_branch_list(struct cli *cli, const void *options, struct error *err);
int cmd_branch_create(struct cli *cli, const void *options, struct error *err);
int cmd_branch_delete(struct cli *cli, const void *options, struct error *err);
int cmd_branch_reset(struct cli *cli, const void *options, struct error *err);
int cmd_tag_list(struct cli *cli, const void *options, struct error *err);
int cmd_tag_create(struct cli *cli, const void *options, struct error *err);
int cmd_tag_delete(struct cli *cli, const void *options, struct error *err);
int cmd_config_get(struct cli *cli, const void *options, struct error *err);
int cmd_config_set(struct cli *cli, const void *options, struct error *err);
int cmd_repo_verify(struct cli *cli, const void *options, struct error *err);
int cmd_repo_diff(struct cli *cli, const void *options, struct error *err);
int cmd_repo_gc(struct cli *cli, const void *options, struct error *err);
int cmd_repo_expire(struct cli *cli, const void *options, struct error *err);

struct show_options {
	struct cli_common common;
	const char *url, *name; /* name: path, key or array */
	const char *index;
	bool json, decoded;
	int decode; /* index in "wmo", "gribberish" */
};

struct apply_options {
	struct cli_common common;
	const char *url, *file;
	const char *message, *branch, *base;
	int rebase; /* index in "detect", "ours", "theirs", "no" */
	bool json;
};

struct ref_options {
	struct cli_common common;
	const char *url, *name; /* name: branch, tag or configuration file */
	const char *at, *if_at;
	bool json;
};

struct maintain_options {
	struct cli_common common;
	const char *url, *from, *to;
	struct cli_i64 older_than;
	bool json, deep, dry_run, delete_tags, delete_branches;
};
