/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/dataset.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "base/time.h"
#include "writer/dataset-load.h"

#define ROOT_MEMBERS                                                                               \
	"format id version attributes append dims groups coordinates variable_defaults variables " \
	"files completeness probe withhold known_missing record containers splits storage "        \
	"schedule validators kubernetes eras"

static int read_file(const char *path, struct buf *out, struct error *err)
{
	CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return error_set_errno(err, errno, "cannot read '%s'", path);
	for (;;) {
		uint8_t block[1 << 16];
		ssize_t n = read(fd, block, sizeof(block));
		int r;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_set_errno(err, errno, "cannot read '%s'", path);
		if (n == 0)
			return 0;
		r = buf_append(out, block, (size_t)n, err);
		if (r < 0)
			return error_prefix(err, "cannot read '%s'", path);
	}
}

static int by_from(const void *a, const void *b)
{
	const struct scope *x = a, *y = b;

	return (x->from > y->from) - (x->from < y->from);
}

static int load_era(const struct definition *definition, const struct place *base,
		    const struct place *list, size_t i, const char *names, struct scope *ret_scope,
		    struct error *err)
{
	struct scope scope = {.base = base,
			      .has_era = true,
			      .era = definition_item(list, i),
			      .from = TIME_NEVER,
			      .until = TIME_FOREVER};
	CLEANUP(freep) char *allowed = NULL;
	struct place member;
	int r;

	if (scope.era.value.type != JSON_OBJECT)
		return definition_fail(definition, &scope.era, err, "is not an object");
	allowed = text_printf(err, "from until %s", names);
	if (!allowed)
		return ERR_MEMORY;
	r = definition_members(definition, &scope.era, allowed, err);
	if (r < 0)
		return r;
	r = definition_get(definition, &scope.era, "from", JSON_STRING, &member, err);
	if (r == 0)
		r = definition_time(definition, &member, &scope.from, err);
	if (r < 0)
		return r;
	r = definition_get(definition, &scope.era, "until", JSON_STRING, &member, err);
	if (r == 0)
		r = definition_time(definition, &member, &scope.until, err);
	if (r < 0)
		return r;
	if (scope.from >= scope.until)
		return definition_fail(definition, &scope.era, err, "ends before it begins");
	*ret_scope = scope;
	return 0;
}

int load_scopes(const struct definition *definition, const struct place *base, const char *names,
		struct scope **ret_scopes, size_t *ret_n, struct error *err)
{
	struct place *list = arena_zalloc(definition->arena, 1, sizeof(*list), err);
	struct scope *eras, *scopes;
	size_t n_eras = 0, n = 0;
	int64_t at = TIME_NEVER;
	int r;

	if (!list)
		return ERR_MEMORY;
	r = definition_get(definition, base, "eras", JSON_ARRAY, list, err);
	if (r < 0)
		return r;
	if (r == 0)
		n_eras = json_count(&list->value);
	eras = arena_zalloc(definition->arena, n_eras + 1, sizeof(*eras), err);
	scopes = arena_zalloc(definition->arena, 2 * n_eras + 1, sizeof(*scopes), err);
	if (!eras || !scopes)
		return ERR_MEMORY;
	for (size_t i = 0; i < n_eras; i++) {
		r = load_era(definition, base, list, i, names, &eras[i], err);
		if (r < 0)
			return r;
	}
	qsort(eras, n_eras, sizeof(*eras), by_from);
	for (size_t i = 0; i < n_eras; i++) {
		if (eras[i].from < at)
			return definition_fail(definition, &eras[i].era, err,
					       "overlaps another era");
		if (eras[i].from > at)
			scopes[n++] =
				(struct scope){.base = base, .from = at, .until = eras[i].from};
		scopes[n++] = eras[i];
		at = eras[i].until;
	}
	if (at != TIME_FOREVER)
		scopes[n++] = (struct scope){.base = base, .from = at, .until = TIME_FOREVER};
	*ret_scopes = scopes;
	*ret_n = n;
	return 0;
}

int scope_get(const struct definition *definition, const struct scope *scope, const char *key,
	      enum json_type type, struct place *ret_place, struct error *err)
{
	struct json ignored;

	if (scope->has_era && json_get(&scope->era.value, key, &ignored) == 0)
		return definition_get(definition, &scope->era, key, type, ret_place, err);
	return definition_get(definition, scope->base, key, type, ret_place, err);
}

int load_texts(const struct definition *definition, const struct place *at,
	       struct text_list *ret_list, struct error *err)
{
	bool is_list = at->value.type == JSON_ARRAY;
	size_t n = is_list ? json_count(&at->value) : 1;
	struct text_list list = {.n = n};
	int r;

	if (n == 0)
		return definition_fail(definition, at, err, "is empty");
	list.items = arena_zalloc(definition->arena, n, sizeof(*list.items), err);
	if (!list.items)
		return ERR_MEMORY;
	for (size_t i = 0; i < n; i++) {
		struct place item = is_list ? definition_item(at, i) : *at;

		r = definition_text(definition, &item, &list.items[i], err);
		if (r < 0)
			return r;
	}
	*ret_list = list;
	return 0;
}

/* The folder's name is how people ask for the dataset; another id would be a copy half renamed. */
static int load_identity(const struct definition *definition, const struct place *root,
			 struct dataset *dataset, struct error *err)
{
	struct place member;
	struct json value;
	uint64_t format;
	int r;

	r = definition_need(definition, root, "format", JSON_NUMBER, &member, err);
	if (r == 0)
		r = definition_u64(definition, &member, UINT64_MAX, &format, err);
	if (r == 0 && format != 1)
		return definition_fail(definition, &member, err,
				       "format %llu, this program knows 1",
				       (unsigned long long)format);
	if (r == 0)
		r = definition_need(definition, root, "id", JSON_STRING, &member, err);
	if (r == 0)
		r = definition_text(definition, &member, &dataset->id, err);
	if (r == 0)
		r = definition_need(definition, root, "version", JSON_STRING, &member, err);
	if (r == 0)
		r = definition_text(definition, &member, &dataset->version, err);
	if (r == 0)
		r = definition_need(definition, root, "attributes", JSON_OBJECT, &member, err);
	if (r < 0)
		return r;
	dataset->attributes = member.value.span;
	if (json_get(&member.value, "dataset_id", &value) != 0 ||
	    !json_is_text(&value, dataset->id))
		return definition_fail(definition, &member, err, "dataset_id is not '%s'",
				       dataset->id);
	if (json_get(&member.value, "dataset_version", &value) != 0 ||
	    !json_is_text(&value, dataset->version))
		return definition_fail(definition, &member, err, "dataset_version is not '%s'",
				       dataset->version);
	return 0;
}

static int load_parts(const struct definition *definition, struct dataset *dataset,
		      struct error *err)
{
	struct place root = {.value = dataset->root};
	int r;

	if (dataset->root.type != JSON_OBJECT)
		return definition_fail(definition, &root, err, "is not an object");
	r = definition_members(definition, &root, ROOT_MEMBERS, err);
	if (r == 0)
		r = load_identity(definition, &root, dataset, err);
	if (r == 0)
		r = load_structure(definition, &root, dataset, err);
	if (r == 0)
		r = load_files(definition, &root, dataset, err);
	if (r == 0)
		r = load_variables(definition, &root, dataset, err);
	if (r == 0)
		r = load_policy(definition, &root, dataset, err);
	return r;
}

int dataset_load(const char *folder, struct dataset **ret_dataset, struct error *err)
{
	CLEANUP(freep) char *path = text_printf(err, "%s/dataset.json", folder);
	CLEANUP(buf_done) struct buf file = BUF_INIT(DATASET_FILE_MAX);
	CLEANUP(dataset_freep) struct dataset *dataset = NULL;
	struct definition definition = {.file = path};
	char *text;
	int r;

	if (!path)
		return ERR_MEMORY;
	r = read_file(path, &file, err);
	if (r < 0)
		return r;
	dataset = calloc(1, sizeof(*dataset));
	if (!dataset)
		return error_memory(err);
	dataset->arena = ARENA_INIT;
	definition.arena = &dataset->arena;
	text = arena_dup(&dataset->arena, buf_slice(&file), err);
	dataset->folder = arena_dup(&dataset->arena, slice_text(folder), err);
	if (!text || !dataset->folder)
		return ERR_MEMORY;
	dataset->text = slice_of(text, file.size);
	r = json_parse(dataset->text, &dataset->root, err);
	if (r < 0)
		return error_prefix(err, "cannot read '%s'", path);
	r = load_parts(&definition, dataset, err);
	if (r < 0)
		return r;
	*ret_dataset = TAKE(dataset);
	return 0;
}

struct dataset *dataset_free(struct dataset *dataset)
{
	if (dataset) {
		arena_done(&dataset->arena);
		free(dataset);
	}
	return NULL;
}

/* A name becomes a path: nothing but one plain component. */
static bool is_plain_name(const char *id)
{
	return id[0] && id[0] != '.' && !strchr(id, '/');
}

int dataset_find(const char *datasets, const char *id, struct dataset **ret_dataset,
		 struct error *err)
{
	CLEANUP(freep) char *folder = text_printf(err, "%s/%s", datasets, id);
	CLEANUP(freep) char *file = text_printf(err, "%s/%s/dataset.json", datasets, id);
	CLEANUP(dataset_freep) struct dataset *dataset = NULL;
	int r;

	if (!folder || !file)
		return ERR_MEMORY;
	if (!is_plain_name(id) || access(file, F_OK) < 0)
		return error_set(err, ERR_ARGUMENT, "there is no dataset '%s'", id);
	r = dataset_load(folder, &dataset, err);
	if (r < 0)
		return r;
	if (strcmp(dataset->id, id) != 0)
		return error_set(err, ERR_FORMAT, "cannot read '%s': /id: is not the folder's name",
				 file);
	*ret_dataset = TAKE(dataset);
	return 0;
}

int dataset_default_folder(char **ret_path, struct error *err)
{
	static const char *const beside[] = {"../share/refmt/datasets", "../writer/datasets"};
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	/* An installed program finds its own data even when the whole tree was moved. */
	if (n > 0) {
		self[n] = '\0';
		slash = strrchr(self, '/');
		if (slash)
			*slash = '\0';
		for (size_t i = 0; i < ARRAY_LEN(beside); i++) {
			CLEANUP(freep) char *path = text_printf(err, "%s/%s", self, beside[i]);

			if (!path)
				return ERR_MEMORY;
			if (access(path, F_OK) == 0) {
				*ret_path = TAKE(path);
				return 0;
			}
		}
	}
	*ret_path = text_dup(access(REFMT_SOURCE_DATASETS, F_OK) == 0 ? REFMT_SOURCE_DATASETS
								      : REFMT_DATASETS,
			     err);
	return *ret_path ? 0 : ERR_MEMORY;
}

static int is_listed(const struct dirent *entry)
{
	return is_plain_name(entry->d_name);
}

int dataset_each(const char *datasets,
		 int (*each)(void *argument, const char *id, struct error *err), void *argument,
		 struct error *err)
{
	struct dirent **entries;
	int n = scandir(datasets, &entries, is_listed, alphasort);
	int r = 0;

	if (n < 0)
		return error_set_errno(err, errno, "cannot list '%s'", datasets);
	for (int i = 0; i < n; i++) {
		CLEANUP(freep) char *file = NULL;

		if (r == 0) {
			file = text_printf(err, "%s/%s/dataset.json", datasets, entries[i]->d_name);
			if (!file)
				r = ERR_MEMORY;
			else if (access(file, F_OK) == 0)
				r = each(argument, entries[i]->d_name, err);
		}
		free(entries[i]);
	}
	free(entries);
	return r;
}

int64_t dataset_label(const struct dataset *dataset, uint64_t i)
{
	return dataset->start + (int64_t)i * dataset->step;
}

uint64_t dataset_positions(const struct dataset *dataset, int64_t end)
{
	if (end <= dataset->start)
		return 0;
	return ((uint64_t)(end - dataset->start) + (uint64_t)dataset->step - 1) /
	       (uint64_t)dataset->step;
}

const struct variable_era *variable_era(const struct dataset_variable *variable, int64_t label)
{
	size_t i = 0;

	while (i + 1 < variable->n_eras && label >= variable->eras[i].until)
		i++;
	return &variable->eras[i];
}

const struct dataset_era *dataset_era(const struct dataset *dataset, int64_t label)
{
	size_t i = 0;

	while (i + 1 < dataset->n_eras && label >= dataset->eras[i].until)
		i++;
	return &dataset->eras[i];
}

const struct file_era *file_era(const struct dataset *dataset, int64_t label)
{
	size_t i = 0;

	while (i + 1 < dataset->files.n_eras && label >= dataset->files.eras[i].until)
		i++;
	return &dataset->files.eras[i];
}

int dataset_variable(const struct dataset *dataset, const char *path)
{
	for (uint32_t i = 0; i < dataset->n_variables; i++)
		if (strcmp(dataset->variables[i].path, path) == 0)
			return (int)i;
	return -1;
}

int dataset_dim(const struct dataset *dataset, const char *name)
{
	for (uint32_t i = 0; i < dataset->n_dims; i++)
		if (strcmp(dataset->dims[i].name, name) == 0)
			return (int)i;
	return -1;
}
