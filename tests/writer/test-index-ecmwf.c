/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/index.h"

#include "base/time.h"
#include "test.h"

#define RUN                                                                                 \
	"\"date\": \"20250301\", \"time\": \"0600\", \"class\": \"ai\", \"type\": \"fc\", " \
	"\"stream\": \"oper\", \"step\": \"6\", "

/* Members and their spellings: ECMWF's open data indexes; numbers instead of texts: MARS extracts.
 */
static struct row_case {
	const char *name;
	const char *text;
	const char *error; /* NULL: parses, and the last row is */
	uint64_t offset, length;
	const char *param, *levtype, *levelist, *number;
	size_t n_rows;
	const char *other_run;
} cases[] = {
	{"surface",
	 "{" RUN "\"levtype\": \"sfc\", \"param\": \"2t\", \"_offset\": 5, \"_length\": 7}\n", NULL,
	 5, 7, "2t", "sfc", "", "", 1, ""},
	{"level, other order of members",
	 "{\"_length\": 7, \"_offset\": 5, \"levelist\": \"500\", \"param\": \"t\", " RUN
	 "\"levtype\": \"pl\"}\n",
	 NULL, 5, 7, "t", "pl", "500", "", 1, ""},
	{"numbers",
	 "{\"type\": \"fc\", \"step\": 6, \"levtype\": \"pl\", \"levelist\": 500, "
	 "\"number\": 1, \"param\": \"z\", \"_offset\": 0, \"_length\": 1}",
	 NULL, 0, 1, "z", "pl", "500", "1", 1, ""},
	{"numbers with fractions of zero",
	 "{\"step\": 6.0, \"levtype\": \"pl\", \"levelist\": 500.0, "
	 "\"param\": \"z\", \"_offset\": 0, \"_length\": 1}",
	 NULL, 0, 1, "z", "pl", "500", "", 1, ""},
	{"control member", "{\"number\": 0, \"param\": \"z\", \"_offset\": 0, \"_length\": 1}",
	 NULL, 0, 1, "z", "", "", "", 1, ""},
	{"time without zeros", "{\"time\": 600, \"param\": \"z\", \"_offset\": 0, \"_length\": 1}",
	 NULL, 0, 1, "z", "", "", "", 1, ""},
	{"another step is left out",
	 "{\"step\": \"0\", \"param\": \"t\", \"_offset\": 0, \"_length\": 1}\n"
	 "{\"step\": \"6\", \"param\": \"z\", \"_offset\": 1, \"_length\": 1}\n",
	 NULL, 1, 1, "z", "", "", "", 1, "step=0"},
	{"another class", "{\"class\": \"od\", \"param\": \"t\", \"_offset\": 0, \"_length\": 1}\n",
	 NULL, 0, 0, NULL, NULL, NULL, NULL, 0, "class=od"},
	{"another stream",
	 "{\"stream\": \"enfo\", \"param\": \"t\", \"_offset\": 0, \"_length\": 1}\n", NULL, 0, 0,
	 NULL, NULL, NULL, NULL, 0, "stream=enfo"},
	{"another date",
	 "{\"date\": \"20250302\", \"param\": \"t\", \"_offset\": 0, \"_length\": 1}\n", NULL, 0, 0,
	 NULL, NULL, NULL, NULL, 0, "date=20250302"},
	{"another hour", "{\"time\": \"0000\", \"param\": \"t\", \"_offset\": 0, \"_length\": 1}\n",
	 NULL, 0, 0, NULL, NULL, NULL, NULL, 0, "time=0000"},

	{"two names of one message",
	 "{\"param\": \"t\", \"_offset\": 5, \"_length\": 7}\n"
	 "{\"param\": \"z\", \"_offset\": 5, \"_length\": 7}\n",
	 NULL, 5, 7, "z", "", "", "", 2, ""},

	{"ranges overlap",
	 "{\"param\": \"t\", \"_offset\": 20, \"_length\": 10}\n"
	 "{\"param\": \"z\", \"_offset\": 0, \"_length\": 10}\n"
	 "{\"param\": \"q\", \"_offset\": 9, \"_length\": 11}\n",
	 "cannot parse 'x.index': the ranges at 0 and 9 overlap"},
	{"one range in another",
	 "{\"param\": \"t\", \"_offset\": 5, \"_length\": 10}\n"
	 "{\"param\": \"z\", \"_offset\": 5, \"_length\": 2}\n",
	 "cannot parse 'x.index': the ranges at 5 and 5 overlap"},
	{"empty", "", "cannot parse 'x.index': no line in it"},
	{"cut short", "{\"param\": \"t\", \"_off",
	 "cannot parse 'x.index': line 1: byte 20: ends too early"},
	{"no object", "[1]", "cannot parse 'x.index': line 1: no JSON object"},
	{"no range", "{\"param\": \"t\", \"_offset\": 0}",
	 "cannot parse 'x.index': line 1: no _offset or no _length"},
	{"range of text", "{\"param\": \"t\", \"_offset\": \"0\", \"_length\": 1}",
	 "cannot parse 'x.index': line 1: _offset or _length is no number"},
	{"negative", "{\"param\": \"t\", \"_offset\": -1, \"_length\": 1}",
	 "cannot parse 'x.index': line 1: _offset or _length is no number"},
	{"empty range", "{\"param\": \"t\", \"_offset\": 0, \"_length\": 0}",
	 "cannot parse 'x.index': line 1: the range is empty"},
	{"beyond the file", "{\"param\": \"t\", \"_offset\": 99, \"_length\": 2}",
	 "cannot parse 'x.index': line 1: range at 99 ends beyond the file"},
	{"overflow", "{\"param\": \"t\", \"_offset\": 18446744073709551615, \"_length\": 2}",
	 "cannot parse 'x.index': line 1: range at 18446744073709551615 ends beyond the file"},
};

static void assert_slice(struct slice slice, const char *text)
{
	assert_int_equal(slice.size, strlen(text));
	assert_memory_equal(slice.size ? slice.data : (const uint8_t *)"", text, slice.size);
}

static void test_parse(void **state)
{
	const struct row_case *c = *state;
	CLEANUP(index_rows_done) struct index_rows rows = {0};
	struct index_run run = {
		.has_reference_time = true,
		.class = slice_text("ai"),
		.stream = slice_text("oper"),
		.type = slice_text("fc"),
		.step = slice_text("6"),
	};
	struct index_facts facts;
	struct error err = ERROR_INIT;
	int r;

	assert_ok(time_parse("2025-03-01T06:00Z", 0, &run.reference_time, &err), &err);
	r = ecmwf_index_parse("x.index", slice_text(c->text), 100, &run, &rows, &facts, &err);
	if (c->error) {
		assert_int_equal(r, ERR_FORMAT);
		assert_string_equal(err.text, c->error);
		return;
	}
	assert_ok(r, &err);
	assert_int_equal(rows.n, c->n_rows);
	assert_string_equal(facts.other_run, c->other_run);
	if (rows.n > 0) {
		const struct index_row *row = &rows.items[rows.n - 1];

		assert_int_equal(row->offset, c->offset);
		assert_int_equal(row->length, c->length);
		assert_slice(row->element, c->param);
		assert_slice(row->level, c->levtype);
		assert_slice(row->time, c->levelist);
		assert_slice(row->extra, c->number);
	}
}

int main(void)
{
	return RUN_CASES(test_parse, cases);
}
