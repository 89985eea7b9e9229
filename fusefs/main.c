/* SPDX-License-Identifier: Apache-2.0 */
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/log.h"
#include "base/time.h"
#include "cli/main.h"
#include "cli/signals.h"
#include "fusefs/mount.h"
#include "fusefs/options.h"
#include "fusefs/plain.h"
#include "grib/worker.h"
#include "net/url.h"

#define PROGRAM "refmtfs"

struct mount {
	struct view_options view;
	const char *url, *mountpoint;
	bool foreground;
	struct cli_list options; /* of -o: those that are not ours are libfuse's */
	struct cli_u64 uid, gid;
	const char *umask;
	struct cli_double follow; /* seconds */
	bool consolidated, preload;
	const char *metrics;
};

/* Shortest and longest time between two looks at a branch. */
#define FOLLOW_MIN 0.1
#define FOLLOW_MAX 86400

/* What .refmt/config shows: how this mount was asked for, no secrets. */
static int mount_config(const struct mount *mount, const char *url, struct buf *out,
			struct error *err)
{
	int r;

	r = buf_append_text(out, "{\"url\": ", err);
	if (r == 0)
		r = json_write_text(out, slice_text(url), err);
	if (r == 0)
		r = buf_printf(out, err,
			       ", \"view\": \"%s\", \"decode\": \"%s\", \"timeout\": %llu, "
			       "\"cache_size\": %llu, \"follow\": %g, \"consolidated\": %s}",
			       mount->view.view == VIEW_STORED ? "stored" : "decoded",
			       decode_choices[mount->view.decode],
			       (unsigned long long)(mount->view.timeout.given
							    ? mount->view.timeout.value
							    : 60),
			       (unsigned long long)(mount->view.cache_size.given
							    ? mount->view.cache_size.value
							    : UINT64_C(256) << 20),
			       mount->follow.value, mount->consolidated ? "true" : "false");
	return r;
}

static int mount_umask(const struct mount *mount, uint32_t *ret_umask, struct error *err)
{
	unsigned long value;
	char *end;

	*ret_umask = 0;
	if (!mount->umask)
		return 0;
	value = strtoul(mount->umask, &end, 8);
	if (*end || end == mount->umask || value > 0777)
		return error_set(err, ERR_ARGUMENT, "umask '%s' is no octal number up to 0777",
				 mount->umask);
	*ret_umask = (uint32_t)value;
	return 0;
}

/* The options of -o that are left, as libfuse reads them. */
static int mount_fuse_options(const struct mount *mount, struct buf *out, struct error *err)
{
	int r = 0;

	for (size_t i = 0; i < mount->options.n && r == 0; i++)
		r = buf_printf(out, err, "%s%s", i ? "," : "", mount->options.items[i]);
	if (r == 0 && !buf_text(out, err))
		r = ERR_MEMORY;
	return r;
}

/* A profile may name a program that gives credentials; anonymous access needs none. */
static bool may_start_programs(const struct mount *mount)
{
	const struct cli_common *common = &mount->view.common;

	if (!common->anonymous && strstr(mount->url, "://") &&
	    strncmp(mount->url, "file:", 5) != 0 && strncmp(mount->url, "http", 4) != 0)
		return true;
	for (size_t i = 0; i < common->allow.n; i++)
		if (common->allow.items[i].value &&
		    strcmp(common->allow.items[i].value, "anonymous") != 0)
			return true;
	return false;
}

static int mount_fs_options(const struct mount *mount, const struct open_options *open,
			    struct slice config, struct fs_options *ret_options, struct error *err)
{
	struct fs_options options = {
		.at = open->at,
		.mode = (enum view_mode)mount->view.view,
		.consolidated = mount->consolidated,
		.follow_ms = (uint32_t)(mount->follow.value * 1000),
		.uid = mount->uid.given ? (uint32_t)mount->uid.value : getuid(),
		.gid = mount->gid.given ? (uint32_t)mount->gid.value : getgid(),
		.memory = 2 * open->reader.cache_size,
		.timeout_ms = open->reader.timeout_ms,
		.config = config,
		.metrics = mount->metrics,
	};
	int r = mount_umask(mount, &options.umask, err);

	if (r == 0)
		*ret_options = options;
	return r;
}

/*
 * Decoded fields are buffers of megabytes that come and go.  Pages that the heap keeps for the next
 * one cost less than a fault for each; few heaps keep little.
 */
static void tame_malloc(void)
{
	mallopt(M_ARENA_MAX, 2);
	mallopt(M_MMAP_THRESHOLD, 32 << 20);
	mallopt(M_TRIM_THRESHOLD, 64 << 20);
}

static int open_and_serve(struct cli *cli, const struct mount *mount,
			  struct mount_options *mounting, int *ready, struct error *err)
{
	CLEANUP(grib_workers_freep) struct grib_workers *workers = NULL;
	CLEANUP(opened_done) struct opened opened = {0};
	CLEANUP(fs_freep) struct fs *fs = NULL;
	CLEANUP(buf_done) struct buf config = BUF_INIT(BUF_NO_LIMIT);
	CLEANUP(buf_done) struct buf fuse_options = BUF_INIT(BUF_NO_LIMIT);
	/* One a core: eccodes keeps its core busy. */
	const struct grib_worker_options worker_options = {
		.n = (unsigned int)sysconf(_SC_NPROCESSORS_ONLN),
		.time_limit = (int64_t)mount->view.timeout.value * TIME_SECOND,
	};
	struct open_options open;
	struct fs_options options;
	int r;

	r = view_open_options(&mount->view, cli->memory, &open, err);
	if (r == 0)
		r = mount_config(mount, mounting->source, &config, err);
	if (r == 0)
		r = mount_fuse_options(mount, &fuse_options, err);
	if (r == 0)
		r = mount_fs_options(mount, &open, buf_slice(&config), &options, err);
	/* Before threads: what is forked is a copy of this process. */
	if (r == 0)
		r = grib_workers_start(&worker_options, &workers, err);
	open.reader.workers = workers;
	open.repo.preload = mount->preload;
	if (r == 0)
		r = opened_init(&opened, mount->url, &open, err);
	if (r == 0)
		r = fs_new(opened.repo, opened.reader, opened.checkout, &options, &fs, err);
	if (r < 0)
		return r;
	mounting->fuse_options = (const char *)fuse_options.data;
	r = mount_serve(fs, mounting, *ready, err);
	/* Told already, unless it failed before the mount was there. */
	if (r == 0)
		*ready = -1;
	return r;
}

static int mount_check(const struct mount *mount, struct error *err)
{
	const struct cli_common *common = &mount->view.common;

	if (!mount->url || !mount->mountpoint)
		return error_set(err, ERR_ARGUMENT, "a URL and a mountpoint are needed");
	if (!mount->follow.given)
		return 0;
	if (!(mount->follow.value >= FOLLOW_MIN && mount->follow.value <= FOLLOW_MAX))
		return error_set(err, ERR_ARGUMENT, "follow takes %g to %d seconds", FOLLOW_MIN,
				 FOLLOW_MAX);
	if (common->tag || common->snapshot || common->as_of.given)
		return error_set(err, ERR_ARGUMENT,
				 "only a branch can be followed, not a tag, snapshot or time");
	return 0;
}

static int mount_run(struct cli *cli, const void *options, struct error *err)
{
	const struct mount *mount = options;
	CLEANUP(freep) char *path = NULL;
	CLEANUP(freep) char *shown = NULL;
	struct mount_options mounting = {
		.may_start_programs = may_start_programs(mount),
	};
	int ready = -1;
	int r;

	/* Whoever reads standard error may stop, or be gone: a mount goes on. */
	log_never_wait();
	signal(SIGPIPE, SIG_IGN);
	r = mount_check(mount, err);
	if (r == 0) {
		mounting.source = shown = url_redact(mount->url, err);
		r = shown ? 0 : ERR_MEMORY;
	}
	if (r == 0)
		r = mount_prepare(mount->mountpoint, &path, err);
	mounting.mountpoint = path;
	/* Before anything that forking breaks: threads, TLS, eccodes. */
	if (r == 0 && !mount->foreground)
		r = mount_background(path, PROGRAM, &ready, err);
	if (r == 0)
		r = supervise(path, ready, &mounting.supervisor, err);
	tame_malloc();
	if (r == 0)
		r = open_and_serve(cli, mount, &mounting, &ready, err);
	if (r < 0 && ready >= 0) {
		/* The parent says it. */
		mount_ready(ready, err);
		_exit(error_exit_status(err->kind));
	}
	return r;
}

static const struct cli_option mount_options[] = {
	{CLI_ARGUMENT, "URL", CLI_AT(struct mount, url), .required = true},
	{CLI_ARGUMENT, "MOUNTPOINT", CLI_AT(struct mount, mountpoint), .required = true},
	{CLI_FLAG, "foreground", CLI_AT(struct mount, foreground), .letter = 'f',
	 .help = "stay in the foreground"},
	{CLI_SUBOPTIONS, "options", CLI_AT(struct mount, options), .letter = 'o', .value = "OPT,…",
	 .help = "any of these options as name=value, and libfuse's own, such as allow_other"},
	{CLI_DOUBLE, "follow", CLI_AT(struct mount, follow), .value = "SECONDS",
	 .help = "look at the branch so often and show its newest snapshot"},
	{CLI_FLAG, "consolidated", CLI_AT(struct mount, consolidated),
	 .help = "show consolidated metadata in the root's zarr.json"},
	{CLI_FLAG, "preload", CLI_AT(struct mount, preload),
	 .help = "load the manifests that the repository's configuration names beforehand"},
	{CLI_TEXT, "metrics", CLI_AT(struct mount, metrics), .value = "ADDRESS|FILE",
	 .help = "serve .refmt/stats at HOST:PORT, or write it to a file"},
	{CLI_U64, "uid", CLI_AT(struct mount, uid), .value = "NUMBER",
	 .help = "owner of all files (default: yours)"},
	{CLI_U64, "gid", CLI_AT(struct mount, gid), .value = "NUMBER",
	 .help = "group of all files (default: yours)"},
	{CLI_TEXT, "umask", CLI_AT(struct mount, umask), .value = "OCTAL",
	 .help = "rights to take from 0555 and 0444"},
	{CLI_GROUP, .group = &view_group, CLI_AT(struct mount, view)},
	{CLI_END},
};

static const struct cli_command program = {
	.name = PROGRAM,
	.help = "mount an Icechunk repository as a read-only Zarr directory tree",
	.options = mount_options,
	.size = sizeof(struct mount),
	.run = mount_run,
	.commands = plain_commands,
};

int main(int argc, char **argv)
{
	return cli_main(&program, REFMT_VERSION, argc, argv);
}
