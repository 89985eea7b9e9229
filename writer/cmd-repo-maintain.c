/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/json.h"
#include "cli/progress.h"
#include "programs/options.h"
#include "repo/maintain.h"
#include "writer/cmd-repo.h"

#define OUT_MAX (UINT64_C(1) << 32)

/* verify */

struct verifying {
	struct cli *cli;
	bool json, any;
	uint64_t done;
	struct buf line;
};

static int finding_json(struct verifying *verifying, const struct finding *finding,
			struct error *err)
{
	struct buf *line = &verifying->line;
	int r;

	r = buf_printf(line, err,
		       "%s{\"severity\":\"%s\",\"object\":", verifying->any ? ",\n " : "",
		       finding->is_error ? "error" : "remark");
	if (r == 0)
		r = json_write_text(line, slice_text(finding->object), err);
	if (r == 0)
		r = buf_append_text(line, ",\"text\":", err);
	if (r == 0)
		r = json_write_text(line, slice_text(finding->text), err);
	if (r == 0)
		r = buf_append_byte(line, '}', err);
	output_drain(verifying->cli->out, line);
	return r;
}

static int show_finding(void *argument, const struct finding *finding, struct error *err)
{
	struct verifying *verifying = argument;
	int r = 0;

	if (verifying->json)
		r = finding_json(verifying, finding, err);
	else
		output_printf(verifying->cli->out, "%s: %s: %s\n",
			      finding->is_error ? "error" : "remark", finding->object,
			      finding->text);
	verifying->any = true;
	return r;
}

static void show_progress(void *argument, uint64_t done, uint64_t total)
{
	struct verifying *verifying = argument;

	progress_total(total);
	progress_add(done - verifying->done, 0, 0);
	verifying->done = done;
}

static void show_result(const struct verifying *verifying, const struct verify_result *result)
{
	struct output *out = verifying->cli->out;

	if (verifying->json)
		output_printf(out,
			      "],\"n_errors\":%" PRIu64 ",\"n_remarks\":%" PRIu64
			      ",\"n_snapshots\":%" PRIu64 ",\"n_manifests\":%" PRIu64
			      ",\"n_refs\":%" PRIu64 ",\"n_orphans\":%" PRIu64 "}\n",
			      result->n_errors, result->n_remarks, result->n_snapshots,
			      result->n_manifests, result->n_refs, result->n_orphans);
	else
		output_printf(out,
			      "%" PRIu64 " errors, %" PRIu64 " remarks; %" PRIu64
			      " snapshots, %" PRIu64 " manifests, %" PRIu64 " references\n",
			      result->n_errors, result->n_remarks, result->n_snapshots,
			      result->n_manifests, result->n_refs);
}

static int run_verify(struct verifying *verifying, const struct maintain_options *options,
		      struct opened *opened, struct error *err)
{
	CLEANUP(arena_done) struct arena arena = ARENA_INIT;
	CLEANUP(sources_freep) struct sources *sources = NULL;
	struct verify_options verify = {
		.each = show_finding, .progress = show_progress, .argument = verifying};
	struct verify_result result;
	struct open_options open;
	int r = 0;

	if (options->deep) {
		r = common_open_options(&options->common, &arena, &open, err);
		if (r == 0)
			r = sources_new(opened->repo, &open.reader.sources, &sources, err);
		verify.deep = sources;
	}
	if (r < 0)
		return r;
	if (verifying->json)
		output_text(verifying->cli->out, "{\"findings\":[");
	progress_start("verify", 0, verifying->cli->show_progress);
	r = repo_verify(opened->repo, &verify, &result, err);
	progress_finish();
	if (r < 0)
		return r;
	show_result(verifying, &result);
	return result.n_errors ? CLI_FOUND_SOMETHING : 0;
}

int cmd_repo_verify(struct cli *cli, const void *argument, struct error *err)
{
	const struct maintain_options *options = argument;
	CLEANUP(opened_done) struct opened opened = {0};
	struct verifying verifying = {.cli = cli, .json = options->json, .line = BUF_INIT(OUT_MAX)};
	int r;

	r = open_repo(options->url, &options->common, &opened, err);
	if (r == 0)
		r = run_verify(&verifying, options, &opened, err);
	buf_done(&verifying.line);
	return r;
}

/* diff */

static int print_nodes(struct cli *cli, const struct json *diff, const char *member,
		       const char *label, struct error *err)
{
	struct json list, item;

	if (json_get(diff, member, &list) != 0)
		return 0;
	JSON_EACH (&list, NULL, item) {
		CLEANUP(freep) char *path = NULL;
		int r = json_dup(&item, &path, err);

		if (r < 0)
			return r;
		output_printf(cli->out, "%s %s\n", label, path);
	}
	return 0;
}

static int print_chunks(struct cli *cli, const struct json *diff, struct error *err)
{
	struct json list, item;

	json_get(diff, "updated_chunks", &list);
	JSON_EACH (&list, NULL, item) {
		CLEANUP(freep) char *text = NULL;
		struct json path, n;
		int r;

		json_get(&item, "path", &path);
		json_get(&item, "n_chunks", &n);
		r = json_dup(&path, &text, err);
		if (r < 0)
			return r;
		output_printf(cli->out, "chunks  %s (%.*s)\n", text, (int)n.span.size,
			      (const char *)n.span.data);
	}
	return 0;
}

static int print_diff(struct cli *cli, struct slice text, struct error *err)
{
	static const char *const rows[][2] = {
		{"new_groups", "new    "},     {"new_arrays", "new    "},
		{"deleted_groups", "deleted"}, {"deleted_arrays", "deleted"},
		{"updated_groups", "updated"}, {"updated_arrays", "updated"},
	};
	struct json diff;
	int r = json_parse(text, &diff, err);

	for (size_t i = 0; r == 0 && i < ARRAY_LEN(rows); i++)
		r = print_nodes(cli, &diff, rows[i][0], rows[i][1], err);
	return r < 0 ? r : print_chunks(cli, &diff, err);
}

/* A branch, a tag, or a snapshot's id. */
static int resolve_name(struct repo *repo, const char *name, struct id12 *ret_id, struct error *err)
{
	const struct repo_at ways[] = {{.branch = name}, {.tag = name}, {.snapshot = name}};

	for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
		int r = repo_resolve(repo, &ways[i], ret_id, err);

		if (r != ERR_ABSENT && r != ERR_ARGUMENT)
			return r;
	}
	return error_set(err, ERR_ABSENT, "'%s' is no branch, tag or snapshot", name);
}

int cmd_repo_diff(struct cli *cli, const void *argument, struct error *err)
{
	const struct maintain_options *options = argument;
	CLEANUP(opened_done) struct opened opened = {0};
	CLEANUP(buf_done) struct buf out = BUF_INIT(OUT_MAX);
	struct id12 a, b;
	int r;

	r = open_repo(options->url, &options->common, &opened, err);
	if (r == 0)
		r = resolve_name(opened.repo, options->from, &a, err);
	if (r == 0)
		r = resolve_name(opened.repo, options->to, &b, err);
	if (r == 0)
		r = repo_diff(opened.repo, &a, &b, &out, err);
	if (r < 0 || !options->json)
		return r < 0 ? r : print_diff(cli, buf_slice(&out), err);
	output_drain(cli->out, &out);
	output_text(cli->out, "\n");
	return 0;
}

/* gc, expire */

static int show_fate(void *argument, bool goes, const char *name, const char *reason,
		     struct error *err)
{
	struct cli *cli = argument;

	(void)err;
	output_printf(cli->out, "%s  %s  (%s)\n", goes ? "goes " : "stays", name, reason);
	return 0;
}

typedef int (*sweep_fn)(struct repo *repo, const struct sweep_options *options,
			struct sweep_result *ret_result, struct error *err);

static int run_sweep(struct cli *cli, const struct maintain_options *options, sweep_fn sweep,
		     const char *what, struct error *err)
{
	CLEANUP(opened_done) struct opened opened = {0};
	struct sweep_options sweeping = {
		.older_than = options->older_than.value,
		.dry_run = options->dry_run,
		.delete_expired_branches = options->delete_branches,
		.delete_expired_tags = options->delete_tags,
		.each = options->dry_run || options->common.verbose ? show_fate : NULL,
		.argument = cli,
	};
	struct sweep_result result = {0};
	int r;

	r = open_repo(options->url, &options->common, &opened, err);
	if (r < 0)
		return r;
	progress_start(what, 0, cli->show_progress);
	r = sweep(opened.repo, &sweeping, &result, err);
	progress_finish();
	if (r < 0)
		return r;
	output_printf(cli->out,
		      "%s%" PRIu64 " snapshots, %" PRIu64 " transaction logs, %" PRIu64
		      " manifests, %" PRIu64 " chunks, %" PRIu64 " branches, %" PRIu64
		      " tags, %" PRIu64 " unfinished files, %" PRIu64 " bytes\n",
		      options->dry_run ? "would go: " : "gone: ", result.n_snapshots,
		      result.n_transactions, result.n_manifests, result.n_chunks, result.n_branches,
		      result.n_tags, result.n_leftovers, result.bytes);
	return 0;
}

int cmd_repo_gc(struct cli *cli, const void *options, struct error *err)
{
	return run_sweep(cli, options, repo_gc, "gc", err);
}

int cmd_repo_expire(struct cli *cli, const void *options, struct error *err)
{
	return run_sweep(cli, options, repo_expire, "expire", err);
}
