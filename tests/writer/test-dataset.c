/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/dataset.h"

#include "provider.h"

/* Each row changes one spot of the small definition; "@" in the error stands for its path. */
static struct bad_case {
	const char *name;
	const char *from, *to;
	const char *error;
} cases[] = {
	{"no JSON", "{\"format\"", "{format", "cannot read '@': byte 1: "},
	{"another format", "\"format\": 1", "\"format\": 2",
	 "cannot read '@': /format: format 2, this program knows 1"},
	{"unknown member", "\"version\"", "\"colour\": 1, \"version\"",
	 "cannot read '@': /colour: unknown member"},
	{"member twice", "\"version\"", "\"version\": \"2\", \"version\"",
	 "cannot read '@': /version: is there twice"},
	{"member missing", "\"version\": \"1\",", "",
	 "cannot read '@': /: has no member 'version'"},
	{"id of another folder", "\"id\": \"small\"", "\"id\": \"large\"",
	 "cannot read '@': /attributes: dataset_id is not 'large'"},
	{"start is no time", "\"start\": \"2025-01-01\"", "\"start\": \"soon\"",
	 "cannot read '@': /append/start: 'soon' is not a time"},
	{"start is an age", "\"start\": \"2025-01-01\"", "\"start\": \"7d\"",
	 "cannot read '@': /append/start: '7d' is not a time"},
	{"step of nothing", "\"step\": \"6h\"", "\"step\": \"0h\"",
	 "cannot read '@': /append/step: is not positive"},
	{"size is no number", "\"y\": {\"size\": 2}", "\"y\": {\"size\": \"2\"}",
	 "cannot read '@': /dims/y/size: is not a number"},
	{"size of 0", "\"y\": {\"size\": 2}", "\"y\": {\"size\": 0}",
	 "cannot read '@': /dims/y/size: is 0"},
	{"no append dimension", "\"dim\": \"init_time\"", "\"dim\": \"time\"",
	 "cannot read '@': /dims/init_time: has no member 'size'"},
	{"dimension that is none", "\"y\", \"x\"]},", "\"y\", \"z\"]},",
	 "cannot read '@': /groups/0/dims/3: 'z' is no dimension"},
	{"coordinate without values", "\"values\": {\"kind\": \"append\"},", "",
	 "cannot read '@': /coordinates/0: has no member 'values'"},
	{"values of another size", "[1000, 0.5e3]", "[1000]",
	 "cannot read '@': /coordinates/2/values: the values do not fit the dimensions of 'level'"},
	{"variable twice", "\"path\": \"b\"", "\"path\": \"a\"",
	 "cannot read '@': /variables/1/path: repeats 'a'"},
	{"variable in no group", "\"path\": \"level/t\"", "\"path\": \"other/t\"",
	 "cannot read '@': /variables/2/path: is in no group"},
	{"variable named as a coordinate", "\"path\": \"a\"", "\"path\": \"lead_time\"",
	 "cannot read '@': /variables/1/path: is the name of a coordinate"},
	{"type of file that is none", "\"file\": \"prs\"", "\"file\": \"nat\"",
	 "cannot read '@': /variables/2/file: 'nat' is no type of file"},
	{"no match", "\"match\": {\"element\": \"BBB\", \"level\": \"surface\"},", "",
	 "cannot read '@': /variables/0: has no member 'match'"},
	{"window unknown", "\"reset\": \"never\", ", "",
	 "cannot read '@': /variables/0: has no member 'reset', and is not instant"},
	{"eras overlap", "\"reset\": \"never\",",
	 "\"reset\": \"never\", \"eras\": [{\"until\": \"2026-01-01\"}, {\"from\": "
	 "\"2025-06-01\"}],",
	 "cannot read '@': /variables/0/eras/1: overlaps another era"},
	{"era of nothing", "\"reset\": \"never\",",
	 "\"reset\": \"never\", \"eras\": [{\"from\": \"2026-01-01\", \"until\": \"2025-01-01\"}],",
	 "cannot read '@': /variables/0/eras/0: ends before it begins"},
	{"unknown member of an era", "\"reset\": \"never\",",
	 "\"reset\": \"never\", \"eras\": [{\"until\": \"2026-01-01\", \"path\": \"c\"}],",
	 "cannot read '@': /variables/0/eras/0/path: unknown member"},
	{"spelling without text", "\"level\": \"surface\"",
	 "\"level\": [\"ground\", {\"eras\": []}]",
	 "cannot read '@': /variables/0/match/level/1: has no member 'text'"},
	{"unknown member of a spelling", "\"level\": \"surface\"",
	 "\"level\": {\"text\": \"surface\", \"colour\": 1}",
	 "cannot read '@': /variables/0/match/level/colour: unknown member"},
	{"spelling of an era is a number", "\"level\": \"surface\"",
	 "\"level\": {\"text\": \"surface\", \"eras\": [{\"until\": \"2026-01-01\", \"text\": 1}]}",
	 "cannot read '@': /variables/0/match/level/eras/0/text: is not a text"},
	{"era without a spelling", "\"level\": \"surface\"",
	 "\"level\": [{\"text\": \"surface\", \"eras\": [{\"until\": \"2026-01-01\", \"text\": "
	 "null}]}]",
	 "cannot read '@': /variables/0/match/level: leaves an era without a text"},
	{"eras of a spelling overlap", "\"level\": \"surface\"",
	 "\"level\": {\"text\": \"surface\", \"eras\": [{\"until\": \"2026-01-01\"}, {\"from\": "
	 "\"2025-06-01\"}]}",
	 "cannot read '@': /variables/0/match/level/eras/1: overlaps another era"},
	{"name with a label too few", "\"types\"",
	 "\"names\": {\"n\": {\"dim\": \"lead_time\", \"texts\": [\"a\"]}}, \"types\"",
	 "cannot read '@': /files/names/n/texts: has 1 texts, 'lead_time' has 4 labels"},
	{"name without texts outside its era", "\"types\"",
	 "\"names\": {\"n\": {\"dim\": \"level\", \"eras\": [{\"from\": \"2026-01-01\", \"texts\": "
	 "[\"a\", null]}]}}, \"types\"",
	 "cannot read '@': /files/names/n: has no member 'texts'"},
	{"text of a name is a number", "\"types\"",
	 "\"names\": {\"n\": {\"dim\": \"level\", \"texts\": [\"a\", null], \"eras\": [{\"from\": "
	 "\"2026-01-01\", \"texts\": [\"a\", 2]}]}}, \"types\"",
	 "cannot read '@': /files/names/n/eras/0/texts/1: is not a text"},
	{"unknown member of a name's era", "\"types\"",
	 "\"names\": {\"n\": {\"dim\": \"level\", \"texts\": [\"a\", null], \"eras\": [{\"dim\": "
	 "\"level\"}]}}, \"types\"",
	 "cannot read '@': /files/names/n/eras/0/dim: unknown member"},
	{"kind that is none", "\"kind\": \"noaa_idx\"", "\"kind\": \"telex\"",
	 "cannot read '@': /files/kind: 'telex' is not understood"},
	{"URL outside its container", "\"url\": \"s3://small/", "\"url\": \"s3://large/",
	 "cannot read '@': /files/url: does not begin with 's3://small/'"},
	{"field that is none", "{lead:02}", "{colour}",
	 "cannot read '@': /files/url: {colour} is no field"},
	{"format that is none", "{init:%Y%m%d}", "{init:%y}",
	 "cannot read '@': /files/url: the format of {init:%y} is not understood"},
	{"container that is not registered", "\"prefix\": \"s3://small/\"",
	 "\"prefix\": \"s3://smaller/\"",
	 "cannot read '@': /containers: none covers 's3://small/'"},
	{"split that is no pattern", "\"^/level/\"", "\"(\"", "cannot read '@': /splits/0/0: "},
	{"split of 0", "[null, 3]", "[null, 0]", "cannot read '@': /splits/1/1: is 0"},
	{"schedule that is none", "\"30 0,6,12,18 * * *\"", "\"hourly\"",
	 "cannot read '@': /schedule/update: 'hourly' is not a schedule of the form \"M H * * *\""},
	{"probe that is no variable", "\"withhold\"", "\"probe\": {\"sfc\": \"c\"}, \"withhold\"",
	 "cannot read '@': /probe/sfc: 'c' is no variable"},
	{"probe that not every lead has", "\"withhold\"",
	 "\"probe\": {\"sfc\": \"b\"}, \"withhold\"",
	 "cannot read '@': /probe/sfc: not every lead has 'b'"},
	{"probe of another file", "\"withhold\"", "\"probe\": {\"sfc\": \"level/t\"}, \"withhold\"",
	 "cannot read '@': /probe/sfc: no file of an era can hold 'level/t'"},
	{"check that is none", "\"withhold\"",
	 "\"validators\": [{\"check\": \"taste\"}], \"withhold\"",
	 "cannot read '@': /validators/0/check: 'taste' is not understood"},
	{"fractions that accept holes for ever", "\"withhold\"",
	 "\"validators\": [{\"check\": \"manifest_completeness\", \"min_present_fraction\": "
	 "[0.5]}], "
	 "\"withhold\"",
	 "cannot read '@': /validators/0/min_present_fraction: does not end in 1"},
	{"variable of a check that is none", "\"withhold\"",
	 "\"validators\": [{\"check\": \"decode_health\", \"allow_all_nan_variables\": [\"c\"]}], "
	 "\"withhold\"",
	 "cannot read '@': /validators/0/allow_all_nan_variables: 'c' is no variable"},
};

static void test_refused(void **state)
{
	const struct bad_case *c = *state;
	const struct small small = {0};
	CLEANUP(freep) char *path = NULL, *changed = NULL, *want = NULL;
	struct error err = ERROR_INIT;
	struct dataset *dataset = NULL;
	struct provider p;
	char *spot;

	provider_init(&p, &small);
	path = text_printf(&err, "%s/small/dataset.json", p.datasets);
	{
		CLEANUP(freep) char *text = slice_dup(p.dataset->text, &err);

		spot = strstr(text, c->from);
		assert_non_null(spot);
		changed = text_printf(&err, "%.*s%s%s", (int)(spot - text), text, c->to,
				      spot + strlen(c->from));
	}
	write_text(path, changed, strlen(changed));
	assert_int_equal(dataset_find(p.datasets, "small", &dataset, &err), ERR_FORMAT);
	assert_null(dataset);
	spot = strchr(c->error, '@');
	want = text_printf(&err, "%.*s%s%s", (int)(spot - c->error), c->error, path, spot + 1);
	if (strncmp(err.text, want, strlen(want)) != 0)
		assert_string_equal(err.text, want);
	provider_done(&p);
}

static void test_names(void **state)
{
	static const char *const names[] = {"large", "../datasets/small", "", ".", "small/"};
	const struct small small = {0};
	struct error err = ERROR_INIT;
	struct dataset *dataset = NULL;
	struct provider p;

	(void)state;
	provider_init(&p, &small);
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		assert_int_equal(dataset_find(p.datasets, names[i], &dataset, &err), ERR_ARGUMENT);
	provider_done(&p);
}

/* Replaces one spot of the definition and loads it anew. */
static void change(struct provider *p, const char *from, const char *to)
{
	struct error err = ERROR_INIT;
	CLEANUP(freep) char *path = text_printf(&err, "%s/small/dataset.json", p->datasets);
	CLEANUP(freep) char *text = slice_dup(p->dataset->text, &err);
	char *spot = strstr(text, from);
	CLEANUP(freep) char *changed = NULL;

	assert_non_null(spot);
	changed = text_printf(&err, "%.*s%s%s", (int)(spot - text), text, to, spot + strlen(from));
	write_text(path, changed, strlen(changed));
	p->dataset = dataset_free(p->dataset);
	assert_ok(dataset_find(p->datasets, "small", &p->dataset, &err), &err);
}

static void assert_levels(const struct dataset *dataset, const char *label, const char *levels)
{
	const struct dataset_variable *a = &dataset->variables[dataset_variable(dataset, "a")];
	const struct text_list *list = &variable_era(a, at(label))->match.levels;
	CLEANUP(buf_done) struct buf text = BUF_INIT(1000);
	struct error err = ERROR_INIT;

	for (size_t i = 0; i < list->n; i++)
		assert_ok(buf_printf(&text, &err, "%s,", list->items[i]), &err);
	assert_string_equal(buf_text(&text, &err), levels);
}

/* A level that changed its spelling twice, beside one that came late. */
static void test_eras_of_a_spelling(void **state)
{
	const struct small small = {0};
	struct provider p;

	(void)state;
	provider_init(&p, &small);
	change(&p, "\"AAAold\"],\n   \"level\": \"surface\"",
	       "\"AAAold\"], \"level\": [{\"text\": \"surface\", \"eras\": [{\"until\": "
	       "\"2025-01-02\", \"text\": \"ground\"}, {\"from\": \"2025-01-04\", \"text\": "
	       "null}]}, "
	       "{\"text\": null, \"eras\": [{\"from\": \"2025-01-03\", \"text\": \"sfc\"}]}]");
	assert_levels(p.dataset, "2025-01-01", "ground,");
	assert_levels(p.dataset, "2025-01-02", "surface,");
	assert_levels(p.dataset, "2025-01-03", "surface,sfc,");
	assert_levels(p.dataset, "2025-01-04", "sfc,");
	provider_done(&p);
}

static size_t count_files(struct provider *p, uint64_t position, const char *last)
{
	CLEANUP(source_files_done) struct source_files files = {0};
	struct error err = ERROR_INIT;

	assert_ok(source_files_generate(p->dataset, &p->selection, position, position + 1, &files,
					&err),
		  &err);
	assert_string_equal(files.items[files.n - 1].url, last);
	return files.n;
}

/* Members that come, and that are renamed: what an era has no name for is no file. */
static void test_eras_of_a_name(void **state)
{
	const struct small small = {.url = "s3://small/{init:%H}.{type}.{lead:01}"};
	const uint32_t third[DATASET_DIMS_MAX] = {0, 2};
	struct error err = ERROR_INIT;
	struct source_file file;
	struct provider p;

	(void)state;
	provider_init(&p, &small);
	change(&p, "\"types\"",
	       "\"names\": {\"n\": {\"dim\": \"lead_time\", \"texts\": [\"k\", \"l\", \"m\", "
	       "\"n\"],"
	       "\"eras\": [{\"until\": \"2025-01-01T06:00\", \"texts\": [\"k\", \"l\", null, "
	       "null]},"
	       "{\"from\": \"2025-01-01T12:00\", \"texts\": [\"k\", \"l\", \"m\", \"o\"]}]}}, "
	       "\"types\"");
	change(&p, "{lead:01}", "{n}");
	assert_int_equal(count_files(&p, 0, "s3://small/00.sfc.l"), 4);
	assert_int_equal(count_files(&p, 1, "s3://small/06.sfc.n"), 8);
	assert_int_equal(count_files(&p, 2, "s3://small/12.sfc.o"), 8);
	assert_int_equal(dataset_dim(p.dataset, "lead_time"), 1);
	assert_int_equal(source_file_of(p.dataset, 0, 0, third, &file, &err), 1);
	assert_ok(source_file_of(p.dataset, 0, 1, third, &file, &err), &err);
	source_file_done(&file);
	provider_done(&p);
}

int main(void)
{
	const struct CMUnitTest more[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_eras_of_a_spelling),
		cmocka_unit_test(test_eras_of_a_name),
	};

	return RUN_CASES(test_refused, cases) + cmocka_run_group_tests(more, NULL, NULL);
}
