/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>

#include "base/json.h"
#include "writer/cmd-repo.h"

#define OUT_MAX (UINT64_C(64) << 20)

static int parse_id(const char *text, struct id12 *ret_id, struct error *err)
{
	return id12_parse_lenient(text, ret_id, err);
}

static int need_name(const struct ref_options *options, struct error *err)
{
	return options->name ? 0 : error_set(err, ERR_ARGUMENT, "argument NAME is missing");
}

/* Where a new reference is to point: --at, else the tip of main. */
static int ref_target(const struct ref_options *options, struct repo *repo, struct id12 *ret_id,
		      struct error *err)
{
	struct repo_at at = {.snapshot = options->at};

	return repo_resolve(repo, &at, ret_id, err);
}

static int list_json(struct cli *cli, const struct ref_entry *entries, size_t n, struct error *err)
{
	CLEANUP(buf_done) struct buf out = BUF_INIT(OUT_MAX);
	int r = refs_object(entries, n, &out, err);

	if (r == 0)
		r = buf_append_byte(&out, '\n', err);
	output_drain(cli->out, &out);
	return r;
}

static int list_refs(struct cli *cli, const struct ref_options *options, bool tags,
		     struct error *err)
{
	CLEANUP(opened_done) struct opened opened = {0};
	CLEANUP(repo_summary_done) struct repo_summary summary = {0};
	const struct ref_entry *entries;
	size_t n;
	int r;

	r = open_repo(options->url, &options->common, &opened, err);
	if (r == 0)
		r = repo_summary(opened.repo, &summary, err);
	if (r < 0)
		return r;
	entries = tags ? summary.tags : summary.branches;
	n = tags ? summary.n_tags : summary.n_branches;
	if (options->json)
		return list_json(cli, entries, n, err);
	for (size_t i = 0; i < n; i++) {
		char id[ID12_TEXT_LEN + 1];

		id12_format(&entries[i].id, id);
		output_printf(cli->out, "%s  %s\n", id, entries[i].name);
	}
	return 0;
}

int cmd_branch_list(struct cli *cli, const void *options, struct error *err)
{
	return list_refs(cli, options, false, err);
}

int cmd_tag_list(struct cli *cli, const void *options, struct error *err)
{
	return list_refs(cli, options, true, err);
}

typedef int (*create_fn)(struct repo *repo, const char *name, const struct id12 *at,
			 struct error *err);
typedef int (*delete_fn)(struct repo *repo, const char *name, struct error *err);

static int create_ref(const struct ref_options *options, create_fn create, struct error *err)
{
	CLEANUP(opened_done) struct opened opened = {0};
	struct id12 id;
	int r;

	r = need_name(options, err);
	if (r == 0)
		r = open_repo(options->url, &options->common, &opened, err);
	if (r == 0)
		r = ref_target(options, opened.repo, &id, err);
	return r < 0 ? r : create(opened.repo, options->name, &id, err);
}

static int delete_ref(const struct ref_options *options, delete_fn delete, struct error *err)
{
	CLEANUP(opened_done) struct opened opened = {0};
	int r;

	r = need_name(options, err);
	if (r == 0)
		r = open_repo(options->url, &options->common, &opened, err);
	return r < 0 ? r : delete (opened.repo, options->name, err);
}

int cmd_branch_create(struct cli *cli, const void *options, struct error *err)
{
	(void)cli;
	return create_ref(options, repo_branch_create, err);
}

int cmd_branch_delete(struct cli *cli, const void *options, struct error *err)
{
	(void)cli;
	return delete_ref(options, repo_branch_delete, err);
}

int cmd_tag_create(struct cli *cli, const void *options, struct error *err)
{
	(void)cli;
	return create_ref(options, repo_tag_create, err);
}

int cmd_tag_delete(struct cli *cli, const void *options, struct error *err)
{
	(void)cli;
	return delete_ref(options, repo_tag_delete, err);
}

int cmd_branch_reset(struct cli *cli, const void *argument, struct error *err)
{
	const struct ref_options *options = argument;
	CLEANUP(opened_done) struct opened opened = {0};
	struct id12 to, expected;
	int r;

	(void)cli;
	r = need_name(options, err);
	if (r == 0 && !options->at)
		r = error_set(err, ERR_ARGUMENT,
			      "--at ID is missing: where to reset the branch to");
	if (r == 0)
		r = open_repo(options->url, &options->common, &opened, err);
	if (r == 0)
		r = ref_target(options, opened.repo, &to, err);
	if (r == 0 && options->if_at)
		r = parse_id(options->if_at, &expected, err);
	if (r < 0)
		return r;
	return repo_branch_reset(opened.repo, options->name, &to, options->if_at ? &expected : NULL,
				 err);
}

/* config */

int cmd_config_get(struct cli *cli, const void *argument, struct error *err)
{
	const struct ref_options *options = argument;
	CLEANUP(opened_done) struct opened opened = {0};
	CLEANUP(buf_done) struct buf out = BUF_INIT(OUT_MAX);
	int r;

	r = open_repo(options->url, &options->common, &opened, err);
	if (r == 0)
		r = repo_config_get(opened.repo, &out, err);
	if (r == 0)
		r = buf_append_byte(&out, '\n', err);
	output_drain(cli->out, &out);
	return r;
}

int cmd_config_set(struct cli *cli, const void *argument, struct error *err)
{
	const struct ref_options *options = argument;
	CLEANUP(opened_done) struct opened opened = {0};
	CLEANUP(buf_done) struct buf json = BUF_INIT(OUT_MAX);
	int r;

	(void)cli;
	r = read_input(options->name, OUT_MAX, &json, err);
	if (r == 0)
		r = open_repo(options->url, &options->common, &opened, err);
	if (r < 0)
		return r;
	r = repo_config_set(opened.repo, buf_slice(&json), err);
	return r == ERR_FORMAT || r == ERR_ARGUMENT ? error_prefix(err, "'%s'", options->name) : r;
}
