/* SPDX-License-Identifier: Apache-2.0 */
#include "common/repo/fixture.h"

/*
 * Stores that ignore the conditions of a write, or do not know them, are refused at once, and
 * nothing is left behind (decision 12).
 */

enum manner { IGNORES_CREATE, IGNORES_MATCH, KNOWS_NONE, GIVES_WEAK_ETAGS, OBEYS };

struct careless {
	struct store store;
	struct store *inner;
	enum manner manner;
};

static struct careless *careless(struct store *store)
{
	return (struct careless *)store;
}

static int careless_get(struct store *store, const char *key, uint64_t offset, uint64_t length,
			const struct store_condition *condition, struct buf *out,
			struct store_info *ret_info, struct error *err)
{
	return store_get(careless(store)->inner, key, offset, length, condition, out, ret_info,
			 err);
}

static int careless_head(struct store *store, const char *key, struct store_info *ret_info,
			 struct error *err)
{
	int r = store_head(careless(store)->inner, key, ret_info, err);

	if (r == 0 && careless(store)->manner == GIVES_WEAK_ETAGS)
		snprintf(ret_info->version.text, sizeof(ret_info->version.text), "W/\"1\"");
	return r;
}

static int careless_put(struct store *store, const char *key, struct slice bytes, struct error *err)
{
	return store_put(careless(store)->inner, key, bytes, err);
}

static int careless_replace(struct store *store, const char *key, const struct version *version,
			    struct slice bytes, struct version *ret_version, struct error *err)
{
	enum manner manner = careless(store)->manner;

	if (manner == KNOWS_NONE)
		return error_set(err, ERR_UNSUPPORTED, "conditional writes (HTTP 501)");
	if ((manner == IGNORES_CREATE && !version) || (manner == IGNORES_MATCH && version))
		return store_put(careless(store)->inner, key, bytes, err);
	return store_replace(careless(store)->inner, key, version, bytes, ret_version, err);
}

static int careless_list(struct store *store, const char *prefix, bool delimiter,
			 store_list_fn each, void *argument, struct error *err)
{
	return store_list(careless(store)->inner, prefix, delimiter, each, argument, err);
}

static int careless_remove(struct store *store, const char *key, struct error *err)
{
	return store_remove(careless(store)->inner, key, err);
}

static void careless_free(struct store *store)
{
	free(store);
}

static const struct store_ops careless_ops = {
	.name = "careless",
	.get = careless_get,
	.head = careless_head,
	.put = careless_put,
	.replace = careless_replace,
	.list = careless_list,
	.remove = careless_remove,
	.free = careless_free,
};

struct row {
	const char *name;
	enum manner manner;
	const char *text; /* in the error; NULL: accepted */
};

static struct row rows[] = {
	{"ignores If-None-Match", IGNORES_CREATE, "must not exist (If-None-Match)"},
	{"ignores If-Match", IGNORES_MATCH, "objects that changed (If-Match)"},
	{"knows no conditions", KNOWS_NONE, "HTTP 501"},
	{"gives weak ETags", GIVES_WEAK_ETAGS, "weak ETags"},
	{"obeys", OBEYS, NULL},
};

static int count_entry(void *argument, const struct store_entry *entry, struct error *err)
{
	(void)entry;
	(void)err;
	++*(unsigned int *)argument;
	return 0;
}

static struct store *careless_new(struct store *inner, const struct row *row, int spec)
{
	struct careless *store = calloc(1, sizeof(*store));

	assert_non_null(store);
	store->store.ops = &careless_ops;
	store->store.url = malloc(64);
	assert_non_null(store->store.url);
	/* What is proven is remembered by URL. */
	snprintf(store->store.url, 64, "careless:%d-%d", (int)row->manner, spec);
	store->inner = inner;
	store->manner = row->manner;
	return &store->store;
}

static void test_row(void **state)
{
	const struct row *row = *state;

	for (int spec = 1; spec <= 2; spec++) {
		CLEANUP(store_freep) struct store *memory = NULL;
		CLEANUP(store_freep) struct store *store = NULL;
		struct error err = ERROR_INIT;
		unsigned int n = 0;
		int r;

		assert_ok(store_memory_new(&memory, &err), &err);
		store = careless_new(memory, row, spec);
		r = repo_create(store, spec, (struct slice){0}, &err);
		assert_ok(store_list(memory, "", false, count_entry, &n, &(struct error){0}), &err);
		if (!row->text) {
			assert_ok(r, &err);
			continue;
		}
		assert_int_equal(r, ERR_UNSUPPORTED);
		assert_non_null(strstr(err.text, row->text));
		assert_int_equal(n, 0);
	}
}

int main(void)
{
	return RUN_CASES(test_row, rows);
}
