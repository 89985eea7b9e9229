/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "repo/internal.h"

static int key_new(enum ref1_kind kind, const char *name, bool encode, bool tombstone,
		   char **ret_key, struct error *err)
{
	CLEANUP(buf_done) struct buf key = BUF_INIT(8192);
	int r;

	r = ref1_key_format(kind, slice_text(name), encode, tombstone, &key, err);
	if (r < 0)
		return r;
	*ret_key = slice_dup(buf_slice(&key), err);
	return *ret_key ? 0 : ERR_MEMORY;
}

int ref1_new_key(struct repo *repo, enum ref1_kind kind, const char *name, bool tombstone,
		 char **ret_key, struct error *err)
{
	return key_new(kind, name, repo->encodes_refs, tombstone, ret_key, err);
}

/* Reads the reference at one spelling of its key. */
static int ref1_load_key(struct repo *repo, const char *key, struct id12 *ret_id,
			 struct version *ret_version, struct error *err)
{
	CLEANUP(buf_done) struct buf file = BUF_INIT(REF1_FILE_MAX);
	struct store_info info = {0};
	int r;

	r = store_get_all(repo->store, key, &file, &info, err);
	if (r == STORE_ABSENT)
		return REPO_ABSENT;
	if (r < 0)
		return r;
	r = ref1_parse(buf_slice(&file), ret_id, err);
	if (r < 0)
		return error_prefix(err, "cannot read '%s'", key);
	*ret_version = info.version;
	return 0;
}

static int ref1_is_deleted(struct repo *repo, const char *name, bool encode, struct error *err)
{
	CLEANUP(freep) char *key = NULL;
	struct store_info info;
	int r;

	r = key_new(REF1_TAG, name, encode, true, &key, err);
	if (r < 0)
		return r;
	r = store_head(repo->store, key, &info, err);
	if (r < 0)
		return r;
	return r == STORE_ABSENT ? 0 : 1;
}

int ref1_load(struct repo *repo, enum ref1_kind kind, const char *name, struct id12 *ret_id,
	      struct version *ret_version, char **ret_key, struct error *err)
{
	/* The spelling that this store's writers use, then the other: folders get copied about. */
	bool differs = ref1_name_needs_encoding(slice_text(name));
	struct version version = {0};
	struct id12 id;
	int r = REPO_ABSENT;

	for (int i = 0; i < (differs ? 2 : 1); i++) {
		bool encode = repo->encodes_refs != (i == 1);
		CLEANUP(freep) char *key = NULL;

		r = key_new(kind, name, encode, false, &key, err);
		if (r == 0)
			r = ref1_load_key(repo, key, &id, &version, err);
		if (r < 0)
			return r;
		if (r == REPO_ABSENT)
			continue;
		if (kind == REF1_TAG) {
			r = ref1_is_deleted(repo, name, encode, err);
			if (r != 0)
				return r < 0 ? r : REPO_ABSENT;
		}
		if (ret_id)
			*ret_id = id;
		if (ret_version)
			*ret_version = version;
		if (ret_key)
			*ret_key = TAKE(key);
		return 0;
	}
	return r;
}

void ref1_list_free(struct ref1_list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		free(list->items[i].name);
		free(list->items[i].key);
	}
	ref1_list_done(list);
}

struct listing {
	struct repo *repo;
	struct ref1_list *list;
};

static int ref1_list_add(void *argument, const struct store_entry *entry, struct error *err)
{
	struct listing *listing = argument;
	CLEANUP(buf_done) struct buf name = BUF_INIT(8192);
	CLEANUP(freep) char *text = NULL;
	CLEANUP(freep) char *copy = NULL;
	struct ref1_key key;
	struct ref1 ref;
	int r;

	if (entry->is_prefix || ref1_key_parse(slice_text(entry->key), &key) != 0)
		return 0;
	if (listing->repo->encodes_refs)
		r = ref1_name_decode(key.name, &name, err);
	else
		r = buf_append_slice(&name, key.name, err);
	if (r < 0)
		return r;
	text = slice_dup(buf_slice(&name), err);
	copy = text_dup(entry->key, err);
	if (!text || !copy)
		return ERR_MEMORY;
	ref = (struct ref1){key.kind, text, copy, key.tombstone};
	r = ref1_list_push(listing->list, ref, err);
	if (r < 0)
		return r;
	(void)TAKE(text);
	(void)TAKE(copy);
	return 0;
}

static int ref1_compare(const void *a, const void *b)
{
	const struct ref1 *x = a, *y = b;
	int order = (int)x->kind - (int)y->kind;

	if (order == 0)
		order = strcmp(x->name, y->name);
	/* The reference comes before its tombstone. */
	return order ? order : (int)x->deleted - (int)y->deleted;
}

/* A tombstone marks the entry before it and goes. */
static void ref1_list_fold(struct ref1_list *list)
{
	size_t kept = 0;

	for (size_t i = 0; i < list->n; i++) {
		struct ref1 *ref = &list->items[i];

		if (ref->deleted) {
			if (kept && list->items[kept - 1].kind == ref->kind &&
			    strcmp(list->items[kept - 1].name, ref->name) == 0)
				list->items[kept - 1].deleted = true;
			free(ref->name);
			free(ref->key);
			continue;
		}
		list->items[kept++] = *ref;
	}
	list->n = kept;
}

int ref1_list_load(struct repo *repo, struct ref1_list *ret_list, struct error *err)
{
	CLEANUP(ref1_list_free) struct ref1_list list = {0};
	struct listing listing = {repo, &list};
	int r;

	r = store_list(repo->store, "refs/", false, ref1_list_add, &listing, err);
	if (r < 0)
		return error_prefix(err, "cannot list branches and tags");
	if (list.n)
		qsort(list.items, list.n, sizeof(*list.items), ref1_compare);
	ref1_list_fold(&list);
	*ret_list = list;
	list = (struct ref1_list){0};
	return 0;
}
