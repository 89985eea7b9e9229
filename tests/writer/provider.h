/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A small provider and a small dataset of it, in a folder of their own
 *
 * The dataset "small" has 4 leads and two types of files: sfc with the variables a and b (b only
 * from lead 1 on), prs with t at two levels.  Messages are 32 bytes that begin like a GRIB message:
 * the engine looks at no more.
 */

#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "base/time.h"
#include "store/drivers.h"
#include "test.h"
#include "writer/backfill.h"
#include "writer/update.h"

#define SMALL_LEADS 4
#define MESSAGE_SIZE 32

/* What a test changes in the definition. */
struct small {
	const char *completeness; /* "tolerant" */
	const char *withhold;	  /* "none" */
	const char *url;	  /* pattern of the files' URLs */
	const char *discovery;	  /* "listing" */
	const char *extra;	  /* more members of the object, beginning with a comma */
	const char *a_extra;	  /* more members of the variable a */
	int x;			  /* points along x */
};

struct provider {
	char folder[32]; /* of everything */
	char *source, *store, *replica, *datasets;
	struct dataset *dataset;
	struct selection selection;
	struct site site;
	struct site_mirror mirror;
	const char *replicas[1];
};

static int provider_remove(const char *path, const struct stat *info, int kind, struct FTW *ftw)
{
	(void)info;
	(void)kind;
	(void)ftw;
	return remove(path);
}

static void write_text(const char *path, const void *text, size_t size)
{
	FILE *file = fopen(path, "wb");

	if (!file)
		fail_msg("cannot write %s", path);
	assert_int_equal(fwrite(text, 1, size, file), size);
	fclose(file);
}

static inline void write_definition(struct provider *p, const struct small *small)
{
	struct error err = ERROR_INIT;
	CLEANUP(freep) char *path = text_printf(&err, "%s/small", p->datasets);
	CLEANUP(freep) char *file = text_printf(&err, "%s/dataset.json", path);
	CLEANUP(freep)
	char *text = text_printf(
		&err,
		"{\"format\": 1, \"id\": \"small\", \"version\": \"1\",\n"
		"\"attributes\": {\"dataset_id\": \"small\", \"dataset_version\": \"1\"},\n"
		"\"append\": {\"dim\": \"init_time\", \"start\": \"2025-01-01\", \"step\": "
		"\"6h\"},\n"
		"\"dims\": {\"init_time\": {\"chunk\": 1}, \"lead_time\": {\"size\": 4, \"chunk\": "
		"1},\n"
		"  \"y\": {\"size\": 2}, \"x\": {\"size\": %d}, \"level\": {\"size\": 2, "
		"\"chunk\": 1}},\n"
		"\"groups\": [{\"path\": \"\", \"dims\": [\"init_time\", \"lead_time\", \"y\", "
		"\"x\"]},\n"
		"  {\"path\": \"level\", \"dims\": [\"init_time\", \"lead_time\", \"y\", \"x\", "
		"\"level\"]}],\n"
		"\"coordinates\": [\n"
		"  {\"name\": \"init_time\", \"dims\": [\"init_time\"], \"data_type\": \"int64\",\n"
		"   \"chunks\": [100], \"fill_value\": 0, \"values\": {\"kind\": \"append\"},\n"
		"   \"attributes\": {\"units\": \"seconds since 1970-01-01\"}},\n"
		"  {\"name\": \"lead_time\", \"dims\": [\"lead_time\"], \"data_type\": "
		"\"float64\",\n"
		"   \"chunks\": [4], \"fill_value\": \"NaN\",\n"
		"   \"values\": {\"kind\": \"range\", \"start\": 0, \"step\": 3600},\n"
		"   \"attributes\": {\"units\": \"seconds\", \"dtype\": \"timedelta64[us]\"}},\n"
		"  {\"name\": \"level\", \"dims\": [\"level\"], \"data_type\": \"int64\", "
		"\"chunks\": [2],\n"
		"   \"fill_value\": -1, \"values\": {\"kind\": \"list\", \"values\": [1000, "
		"0.5e3]},\n"
		"   \"attributes\": {}}],\n"
		"\"variables\": [\n"
		"  {\"path\": \"b\", \"file\": \"sfc\", \"match\": {\"element\": \"BBB\", "
		"\"level\": \"surface\"},\n"
		"   \"reset\": \"never\", \"leads\": {\"first\": \"1h\"}, \"fill_value\": "
		"\"NaN\",\n"
		"   \"data_type\": \"float64\", \"attributes\": {\"step_type\": \"accum\"}},\n"
		"  {\"path\": \"a\", \"file\": \"sfc\", \"match\": {\"element\": [\"AAA\", "
		"\"AAAold\"],\n"
		"   \"level\": \"surface\"}, \"fill_value\": \"NaN\", \"data_type\": \"float64\",\n"
		"   \"attributes\": {\"step_type\": \"instant\"}%s},\n"
		"  {\"path\": \"level/t\", \"file\": \"prs\", \"match\": {\"element\": \"TMP\",\n"
		"   \"level\": \"{level} mb\"}, \"fill_value\": \"NaN\", \"data_type\": "
		"\"float64\",\n"
		"   \"attributes\": {\"step_type\": \"instant\"}}],\n"
		"\"files\": {\"kind\": \"noaa_idx\", \"container\": \"s3://small/\",\n"
		"  \"dims\": [\"lead_time\"], \"lead\": \"lead_time\",\n"
		"  \"url\": \"%s\",\n"
		"  \"index_url\": \"{url}.idx\", \"discovery\": \"%s\", \"types\": [{\"name\": "
		"\"prs\"}, {\"name\": "
		"\"sfc\"}]},\n"
		"\"completeness\": \"%s\", \"withhold\": \"%s\",\n"
		"\"containers\": [{\"prefix\": \"s3://small/\", \"store\": {\"s3\": {\"region\":\n"
		"  \"us-east-1\", \"anonymous\": true, \"allow_http\": false}}}],\n"
		"\"splits\": [[\"^/level/\", 2], [null, 3]],\n"
		"\"schedule\": {\"update\": \"30 0,6,12,18 * * *\", \"deadline_s\": 3600,\n"
		"  \"window_s\": 64800, \"tick_s\": 1}%s}\n",
		small->x ? small->x : 3, small->a_extra ? small->a_extra : "",
		small->url ? small->url : "s3://small/{init:%Y%m%d}/t{init:%H}z.{type}f{lead:02}",
		small->discovery ? small->discovery : "listing",
		small->completeness ? small->completeness : "tolerant",
		small->withhold ? small->withhold : "none", small->extra ? small->extra : "");

	mkdir(p->datasets, 0777);
	mkdir(path, 0777);
	write_text(file, text, strlen(text));
	dataset_free(p->dataset);
	selection_done(&p->selection);
	p->dataset = NULL;
	assert_ok(dataset_find(p->datasets, "small", &p->dataset, &err), &err);
	assert_ok(selection_init(p->dataset, NULL, 0, &p->selection, &err), &err);
}

static inline void provider_init(struct provider *p, const struct small *small)
{
	struct error err = ERROR_INIT;

	*p = (struct provider){.folder = "/tmp/refmt-test-XXXXXX"};
	assert_non_null(mkdtemp(p->folder));
	p->source = text_printf(&err, "%s/source", p->folder);
	p->store = text_printf(&err, "%s/store", p->folder);
	p->replica = text_printf(&err, "%s/replica", p->folder);
	p->datasets = text_printf(&err, "%s/datasets", p->folder);
	mkdir(p->source, 0777);
	write_definition(p, small);
	p->mirror = (struct site_mirror){"s3://small/", p->source};
	p->site = (struct site){.primary = p->store, .mirrors = &p->mirror, .n_mirrors = 1};
}

static inline void provider_done(struct provider *p)
{
	dataset_free(p->dataset);
	selection_done(&p->selection);
	nftw(p->folder, provider_remove, 16, FTW_DEPTH | FTW_PHYS);
	free(p->source);
	free(p->store);
	free(p->replica);
	free(p->datasets);
}

/* Lines of the index of a file, the messages one after another; "{}" stands for number and offset.
 */
static void index_text(const char *day, int hour, int lead, bool is_sfc, struct buf *out)
{
	struct error err = ERROR_INIT;
	char time[32], window[32];

	snprintf(time, sizeof(time), lead ? "%d hour fcst" : "anl", lead);
	snprintf(window, sizeof(window), "0-%d hour acc fcst", lead);
	if (!is_sfc) {
		for (int l = 0; l < 2; l++)
			assert_ok(buf_printf(out, &err, "%d:%d:d=%s%02d:TMP:%s mb:%s:\n", l + 1,
					     l * MESSAGE_SIZE, day, hour, l ? "500" : "1000", time),
				  &err);
		return;
	}
	assert_ok(buf_printf(out, &err, "1:0:d=%s%02d:AAA:surface:%s:\n", day, hour, time), &err);
	if (lead)
		assert_ok(buf_printf(out, &err, "2:%d:d=%s%02d:BBB:surface:%s:\n", MESSAGE_SIZE,
				     day, hour, window),
			  &err);
}

static inline char *source_path(struct provider *p, const char *day, int hour, int lead,
				bool is_sfc, const char *ending)
{
	struct error err = ERROR_INIT;

	return text_printf(&err, "%s/%s/t%02dz.%sf%02d%s", p->source, day, hour,
			   is_sfc ? "sfc" : "prs", lead, ending);
}

/* Writes @n messages; each says the length it has. */
static inline void publish_data(struct provider *p, const char *day, int hour, int lead,
				bool is_sfc, int n)
{
	CLEANUP(freep) char *path = source_path(p, day, hour, lead, is_sfc, "");
	CLEANUP(freep) char *folder = text_dup(path, NULL);
	uint8_t messages[8 * MESSAGE_SIZE] = {0};

	*strrchr(folder, '/') = '\0';
	mkdir(folder, 0777);
	for (int i = 0; i < n; i++) {
		memcpy(messages + i * MESSAGE_SIZE, "GRIB\0\0\0\2", 8);
		messages[i * MESSAGE_SIZE + 15] = MESSAGE_SIZE;
	}
	write_text(path, messages, (size_t)n * MESSAGE_SIZE);
}

static inline void publish_index(struct provider *p, const char *day, int hour, int lead,
				 bool is_sfc, const char *text)
{
	CLEANUP(freep) char *path = source_path(p, day, hour, lead, is_sfc, ".idx");
	CLEANUP(buf_done) struct buf lines = BUF_INIT(1 << 16);

	if (text) {
		write_text(path, text, strlen(text));
		return;
	}
	index_text(day, hour, lead, is_sfc, &lines);
	write_text(path, lines.data, lines.size);
}

static inline void publish(struct provider *p, const char *day, int hour, int lead, bool is_sfc)
{
	publish_data(p, day, hour, lead, is_sfc, is_sfc && lead == 0 ? 1 : 2);
	publish_index(p, day, hour, lead, is_sfc, NULL);
}

static inline void publish_all(struct provider *p, const char *day, int hour)
{
	for (int lead = 0; lead < SMALL_LEADS; lead++) {
		publish(p, day, hour, lead, true);
		publish(p, day, hour, lead, false);
	}
}

static inline int64_t at(const char *text)
{
	struct error err = ERROR_INIT;
	int64_t time;

	assert_ok(time_parse(text, 0, &time, &err), &err);
	return time;
}

/* Tip of main of the store at @url. */
static inline void open_main(const char *url, struct store **ret_store, struct repo **ret_repo,
			     struct checkout **ret_checkout)
{
	const struct repo_at main_branch = {0};
	struct error err = ERROR_INIT;
	struct id12 id;

	assert_ok(store_open(url, NULL, ret_store, &err), &err);
	assert_ok(repo_open(*ret_store, NULL, ret_repo, &err), &err);
	assert_ok(repo_resolve(*ret_repo, &main_branch, &id, &err), &err);
	assert_ok(repo_checkout(*ret_repo, &id, ret_checkout, &err), &err);
}

static inline void tip_of(const char *url, char text[ID12_TEXT_LEN + 1])
{
	CLEANUP(store_freep) struct store *store = NULL;
	CLEANUP(repo_freep) struct repo *repo = NULL;
	CLEANUP(checkout_freep) struct checkout *checkout = NULL;

	open_main(url, &store, &repo, &checkout);
	id12_format(checkout_id(checkout), text);
}

/*
 * Appends everything that readers of main see, one line each: nodes with their documents, chunks
 * with their place or bytes.  Two stores with equal texts are the same archive.
 */
static inline void describe(const char *url, struct buf *out)
{
	CLEANUP(store_freep) struct store *store = NULL;
	CLEANUP(repo_freep) struct repo *repo = NULL;
	CLEANUP(checkout_freep) struct checkout *checkout = NULL;
	struct error err = ERROR_INIT;

	open_main(url, &store, &repo, &checkout);
	for (uint32_t i = 0; i < checkout_n_nodes(checkout); i++) {
		CLEANUP(chunk_iter_freep) struct chunk_iter *iter = NULL;
		const uint32_t *index;
		const struct chunk *chunk;
		struct node node;

		checkout_node(checkout, i, &node);
		assert_ok(buf_append_slice(out, node.path, &err), &err);
		assert_ok(buf_append_slice(out, node.document, &err), &err);
		if (!node.is_array)
			continue;
		assert_ok(chunk_iter_new(checkout, &node, NULL, 0, &iter, &err), &err);
		while (chunk_iter_next(iter, &index, &chunk, &err) == 0) {
			for (uint32_t d = 0; d < node.n_dims; d++)
				assert_ok(buf_printf(out, &err, "%u ", index[d]), &err);
			assert_ok(buf_append_slice(out, chunk->ref.location, &err), &err);
			for (size_t k = 0; k < chunk->ref.data.size; k++)
				assert_ok(buf_printf(out, &err, "%02x", chunk->ref.data.data[k]),
					  &err);
			assert_ok(buf_printf(out, &err, " %llu %llu\n",
					     (unsigned long long)chunk->ref.offset,
					     (unsigned long long)chunk->ref.length),
				  &err);
		}
	}
}

/* References of all arrays but coordinates, in the store at @url. */
static inline size_t count_refs_of(const char *url)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT(1 << 26);
	struct error err = ERROR_INIT;
	const char *at_text;
	size_t n = 0;

	describe(url, &text);
	at_text = buf_text(&text, &err);
	while ((at_text = strstr(at_text, "s3://small/"))) {
		at_text++;
		n++;
	}
	return n;
}

static inline void append_file(const char *path, struct buf *out)
{
	struct error err = ERROR_INIT;
	FILE *file = fopen(path, "rb");
	uint8_t block[65536];
	size_t n;

	assert_non_null(file);
	while ((n = fread(block, 1, sizeof(block), file)) > 0)
		assert_ok(buf_append(out, block, n, &err), &err);
	fclose(file);
}

/* @text, which is freed, with the first @from replaced. */
static inline char *replaced(char *text, const char *from, const char *to)
{
	struct error err = ERROR_INIT;
	char *spot = strstr(text, from), *changed;

	assert_non_null(spot);
	changed = text_printf(&err, "%.*s%s%s", (int)(spot - text), text, to, spot + strlen(from));
	free(text);
	return changed;
}
