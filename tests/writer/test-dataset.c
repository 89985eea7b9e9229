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

int main(void)
{
	const struct CMUnitTest more[] = {cmocka_unit_test(test_names)};

	return RUN_CASES(test_refused, cases) + cmocka_run_group_tests(more, NULL, NULL);
}
