/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/discover.h"

#include "provider.h"

/* A store that remembers what was asked of it; objects are those of @inner. */
struct spy {
	struct store store;
	struct store *inner;
	const char *page; /* what a folder answers; NULL: nothing */
	char asked[4096]; /* listings: prefixes; pages and heads: keys; one a line */
};

static void remember(struct spy *spy, const char *what, const char *key)
{
	size_t used = strlen(spy->asked);

	snprintf(spy->asked + used, sizeof(spy->asked) - used, "%s %s\n", what, key);
}

static int spy_get(struct store *store, const char *key, uint64_t offset, uint64_t length,
		   const struct store_condition *condition, struct buf *out,
		   struct store_info *ret_info, struct error *err)
{
	struct spy *spy = (struct spy *)store;

	(void)offset;
	(void)length;
	(void)condition;
	(void)ret_info;
	remember(spy, "get", key);
	return spy->page ? buf_append_text(out, spy->page, err) : STORE_ABSENT;
}

static int spy_head(struct store *store, const char *key, struct store_info *ret_info,
		    struct error *err)
{
	struct spy *spy = (struct spy *)store;

	remember(spy, "head", key);
	return store_head(spy->inner, key, ret_info, err);
}

static int spy_list(struct store *store, const char *prefix, bool delimiter, store_list_fn each,
		    void *argument, struct error *err)
{
	struct spy *spy = (struct spy *)store;

	remember(spy, "list", prefix);
	return store_list(spy->inner, prefix, delimiter, each, argument, err);
}

static const struct store_ops spy_ops = {
	.name = "spy", .get = spy_get, .head = spy_head, .list = spy_list};

static char url[] = "spy:";

/* Looks for the files of the positions 2025-01-01T00 to T06; marks in the order of the list. */
static void look(struct provider *p, struct spy *spy, char *ret_found, size_t size)
{
	CLEANUP(source_files_done) struct source_files files = {0};
	CLEANUP(freep) size_t *pending = NULL;
	CLEANUP(freep) bool *ready = NULL;
	struct error err = ERROR_INIT;

	assert_ok(store_local_new(p->source, &spy->inner, &err), &err);
	spy->store = (struct store){.ops = &spy_ops, .url = url};
	assert_ok(source_files_generate(p->dataset, &p->selection, 0, 2, &files, &err), &err);
	pending = calloc(files.n, sizeof(*pending));
	ready = calloc(files.n, sizeof(*ready));
	for (size_t i = 0; i < files.n; i++)
		pending[i] = i;
	assert_ok(discover(p->dataset, &spy->store, &files, pending, files.n, ready, &err), &err);
	ret_found[0] = '\0';
	for (size_t i = 0; i < files.n; i++) {
		size_t used = strlen(ret_found);

		if (ready[i])
			snprintf(ret_found + used, size - used, "%s %llu\n",
				 strrchr(files.items[i].url, '/') + 1,
				 (unsigned long long)files.items[i].size);
	}
	store_free(spy->inner);
}

/* One listing for each folder and position; data without index and index without data wait. */
static void test_listing(void **state)
{
	const struct small small = {0};
	struct provider p;
	struct spy spy = {0};
	char found[1024];

	(void)state;
	provider_init(&p, &small);
	publish(&p, "20250101", 0, 1, true);
	publish(&p, "20250101", 6, 0, false);
	publish_data(&p, "20250101", 6, 1, true, 2);
	publish_index(&p, "20250101", 6, 2, true, NULL);
	look(&p, &spy, found, sizeof(found));
	assert_string_equal(found, "t00z.sfcf01 64\nt06z.prsf00 64\n");
	/* The two may be asked for in either order. */
	assert_non_null(strstr(spy.asked, "list 20250101/t00z.\n"));
	assert_non_null(strstr(spy.asked, "list 20250101/t06z.\n"));
	assert_int_equal(strlen(spy.asked), strlen("list 20250101/t00z.\n") * 2);
	provider_done(&p);
}

/* Links as file servers write them: absolute, escaped, with a query, in either quote. */
static void test_html(void **state)
{
	const struct small small = {.discovery = "html"};
	struct provider p;
	struct spy spy = {
		.page = "<a href=\"../\">up</a><a href='?C=N'>name</a>"
			"<a href=\"t00z.sfcf01\">x</a><a href='t00z.sfcf01.idx'>x</a>"
			"<a href=\"/a/20250101/t06z%2Eprsf00\">x</a>"
			"<a href=\"t06z.prsf00.idx?x=1\">x</a><a href=\"t06z.sfcf01\">x</a>"
			"<a href=\"t00z.sfcf02\">gone</a><a href=\"t00z.sfcf02.idx\">x</a>"
			"<a href=\"unfinished"};
	char found[1024];

	(void)state;
	provider_init(&p, &small);
	publish(&p, "20250101", 0, 1, true);
	publish(&p, "20250101", 6, 0, false);
	look(&p, &spy, found, sizeof(found));
	assert_string_equal(found, "t00z.sfcf01 64\nt06z.prsf00 64\n");
	assert_non_null(strstr(spy.asked, "get 20250101/\n"));
	assert_null(strstr(spy.asked, ".idx"));
	provider_done(&p);
}

static void test_probe(void **state)
{
	const struct small small = {.discovery = "probe"};
	struct provider p;
	struct spy spy = {0};
	char found[1024];

	(void)state;
	provider_init(&p, &small);
	publish(&p, "20250101", 0, 1, true);
	publish_data(&p, "20250101", 6, 1, true, 2);
	look(&p, &spy, found, sizeof(found));
	assert_string_equal(found, "t00z.sfcf01 64\n");
	assert_null(strstr(spy.asked, "list"));
	provider_done(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_listing),
		cmocka_unit_test(test_html),
		cmocka_unit_test(test_probe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
